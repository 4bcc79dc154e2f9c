"""The rows of a study, read strictly.

A file has one JSON object a line, plain or compressed by gzip; ``kind`` says what an object is. Their order means
nothing: all that is read here comes out sorted.
"""

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import fields

from protoglot.complaints import FINITE, make_struct
from protoglot.errors import StorageError
from protoglot.scores import Score

Regime = Literal["zero-shot", "few-shot", "joint"]
Conditioning = Literal["bare", "oest", "plat"]
Method = Literal[
    "ninf", "fitu", "univ", "l2-sp", "hier", "joint", "n-gram", "mixture", "linear-mixture", "calibrated"
]
REGIMES: tuple[Regime, ...] = get_args(Regime)
CONDITIONINGS: tuple[Conditioning, ...] = get_args(Conditioning)
METHODS: tuple[Method, ...] = get_args(Method)
"""All methods, networks alone first."""

Count = Annotated[int, Meta(ge=0)]
Numbers = tuple[Annotated[float, Meta(gt=-FINITE, lt=FINITE)], ...]

_MAX_EXPONENT = 100  # of ten: a ratio beyond it comes from no weight
_GZIP_MAGIC = b"\x1f\x8b"


class Row(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """One thing that a study found. A row has all keys of its kind; where one has a default, null stands for it."""


class ScoreRow(Row, frozen=True, kw_only=True, tag="score"):
    """One text scored by one model."""

    language: str
    partition: Count | None
    regime: Regime
    conditioning: Conditioning | None
    method: Method
    network: Method | None
    sentences: Count | None
    sample: Count | None
    seed: Count
    nats: float
    characters: Annotated[int, Meta(ge=1)]
    seconds: float
    unit: str

    @property
    def bits_per_character(self) -> float:
        """What the model paid for a character, ends of sentences counted."""
        return Score(self.nats, self.characters).bits_per_character


class TextRow(Row, frozen=True, kw_only=True, tag="text"):
    """Text that a model generated."""

    language: str
    partition: Count | None
    conditioning: Conditioning | None
    method: Method
    regime: Regime
    sentences: Count | None
    temperature: float
    text: str
    unit: str


class UnigramRow(Row, frozen=True, kw_only=True, tag="unigram"):
    """Counts of the characters of a language's training text."""

    language: str
    name: str = ""
    family: str = ""
    counts: dict[str, Count]
    unit: str


class SignalToNoiseRow(Row, frozen=True, kw_only=True, tag="signal-to-noise"):
    """Density of log10 of the signal-to-noise ratio (mean over standard deviation) of the weights of one prior."""

    partition: Count | None
    conditioning: Conditioning
    layer: str
    edges: Numbers
    density: Numbers
    unit: str

    def __post_init__(self) -> None:
        edges, density = self.edges, self.density
        if len(edges) != len(density) + 1:
            raise ValueError(f"{len(edges)} edges of {len(density)} densities; wanted {len(density) + 1}")
        if any(low >= high for low, high in pairwise(edges)) or any(abs(edge) > _MAX_EXPONENT for edge in edges):
            raise ValueError(f"edges; wanted rising powers of ten, at most {_MAX_EXPONENT}")
        if min(density, default=0) < 0:
            raise ValueError(f"density {min(density)}; wanted none below 0")


class EnvironmentRow(Row, frozen=True, kw_only=True, tag="environment"):
    """With what, where and when a part of the study was computed."""

    commit: str = ""
    versions: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    config: dict[str, Any] = {}
    started: str = ""
    finished: str = ""
    seconds: float | None
    unit: str = ""


class FailureRow(Row, frozen=True, kw_only=True, tag="failure"):
    """A unit of work that gave no result."""

    unit: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRows:
    """All rows of a study, each kind sorted."""

    scores: tuple[ScoreRow, ...] = ()
    texts: tuple[TextRow, ...] = ()
    unigrams: tuple[UnigramRow, ...] = ()
    signal_to_noise: tuple[SignalToNoiseRow, ...] = ()
    environments: tuple[EnvironmentRow, ...] = ()
    failures: tuple[FailureRow, ...] = ()

    unknown_kinds: Mapping[str, int]
    """Kinds that this release does not know -> how many rows of them there are."""

    number: int
    """Rows read."""

    digest: str
    """SHA-256 of all rows in a canonical form and order."""


KINDS: dict[str, type[Row]] = {str(kind.__struct_config__.tag): kind for kind in Row.__subclasses__()}
"""What an object of each kind is read into."""


def read_rows(path: Path) -> StudyRows:
    """Read the rows of a study.

    A score that is not a finite number (a model that diverged) becomes a failure, and is counted nowhere else.

    Raises:
        StorageError: if the file cannot be read or a row is not as it should be.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    unknown: dict[str, int] = {}
    canonical = []
    for number, row in _read_objects(path):
        place = f"{path}: line {number:,}"
        canonical.append(json.dumps(row, sort_keys=True))
        kind = row.get("kind")
        if not isinstance(kind, str):
            raise StorageError(f"{place}: kind {kind!r}; wanted one of {', '.join(KINDS)}")
        if kind not in KINDS:
            unknown[kind] = unknown.get(kind, 0) + 1
            continue
        entry = _read_row(place, row, KINDS[kind])
        if isinstance(entry, ScoreRow) and not math.isfinite(entry.nats):
            found["failure"].append(_failure_of(entry))
        else:
            found[kind].append(entry)
    if not canonical:
        raise StorageError(f"{path}: no rows; wanted JSON objects, one a line")
    canonical.sort()
    return StudyRows(
        scores=tuple(sorted(found["score"], key=repr)),
        texts=tuple(sorted(found["text"], key=repr)),
        unigrams=_one_each(path, found["unigram"]),
        signal_to_noise=tuple(sorted(found["signal-to-noise"], key=repr)),
        environments=tuple(sorted(found["environment"], key=lambda row: (row.started, repr(row)))),
        failures=tuple(sorted(set(found["failure"]), key=repr)),
        unknown_kinds=dict(sorted(unknown.items())),
        number=len(canonical),
        digest=hashlib.sha256("\n".join(canonical).encode("ascii")).hexdigest(),
    )


def _read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        wanted = "wanted JSON objects in UTF-8, one a line, plain or compressed by gzip"
        raise StorageError(f"{path}: cannot be read ({error}); {wanted}") from error
    for number, line in enumerate(text.split("\n"), start=1):  # other line separators may stand inside strings
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise StorageError(f"{path}: line {number:,}: not JSON ({error}); wanted one object a line") from error
        if not isinstance(row, dict):
            raise StorageError(f"{path}: line {number:,}: {type(row).__name__}; wanted a JSON object")
        yield number, row


def _one_each(path: Path, rows: list[UnigramRow]) -> tuple[UnigramRow, ...]:
    """One row a language, whichever unit made it."""
    chosen: dict[str, UnigramRow] = {}
    for row in sorted(rows, key=lambda row: (row.language, row.unit, repr(sorted(row.counts.items())))):
        kept = chosen.setdefault(row.language, row)
        if kept.counts != row.counts:
            raise StorageError(
                f"{path}: {row.language}: unigram counts of units {kept.unit} and {row.unit} differ; wanted one text"
            )
    return tuple(chosen.values())


def _read_row(place: str, row: Mapping[str, Any], kind: type[Row]) -> Row:
    # Half of a surrogate pair can be written in JSON, but in no file.
    written = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")
    defaults = {field.name for field in fields(kind) if not field.required}
    values = {key: value for key, value in json.loads(written).items() if value is not None or key not in defaults}
    return make_struct(values, kind, name=place, complaint=StorageError)


def _failure_of(row: ScoreRow) -> FailureRow:
    labels = (row.language, row.regime, row.method, row.conditioning, row.sentences, row.sample)
    what = " ".join(str(label) for label in labels if label is not None)
    return FailureRow(unit=row.unit, what=what, reason=f"the score is {row.nats}; wanted a finite number")
