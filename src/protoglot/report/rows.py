"""The rows of a study, read strictly.

A file has one JSON object a line, plain or compressed by gzip; ``kind`` says what an object is. Their order means
nothing: all that is read here comes out sorted.
"""

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_type_hints

from protoglot.errors import StorageError
from protoglot.scores import Score

REGIMES = ("zero-shot", "few-shot", "joint")
CONDITIONINGS = ("bare", "oest", "plat")
METHODS = (
    *("ninf", "fitu", "univ", "l2-sp", "hier", "joint"),
    *("n-gram", "mixture", "linear-mixture", "calibrated"),
)
"""All methods, networks alone first."""

_MAX_EXPONENT = 100  # of ten: a ratio beyond it comes from no weight
_GZIP_MAGIC = b"\x1f\x8b"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("wanted a string")
    # Half of a surrogate pair can be written in JSON, but in no file.
    return value.encode("utf-8", "replace").decode("utf-8")


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("wanted a number")
    return float(value)


def _numbers(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(math.isfinite(_number(item)) for item in value):
        raise ValueError("wanted a list of finite numbers")
    return tuple(float(item) for item in value)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("wanted an object")
    return value


def _count_from(least: int) -> Callable[[object], int]:
    def count(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"wanted a whole number from {least}")
        return value

    return count


def _counts(value: object) -> Mapping[str, int]:
    counts = _object(value)
    return {_text(key): _count_from(0)(counts[key]) for key in sorted(counts)}


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def choice(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"wanted one of {', '.join(choices)}")
        return value

    return choice


# The type of a value, and what checks it when it is read.
Text = Annotated[str, _text]
TextOrEmpty = Annotated[str, lambda value: _text("" if value is None else value)]
Number = Annotated[float, _number]
Numbers = Annotated[tuple[float, ...], _numbers]
Count = Annotated[int, _count_from(0)]
Counts = Annotated[Mapping[str, int], _counts]
JsonObject = Annotated[Mapping[str, Any], lambda value: _object({} if value is None else value)]
Regime = Annotated[str, _one_of(REGIMES)]
Conditioning = Annotated[str, _one_of(CONDITIONINGS)]
Method = Annotated[str, _one_of(METHODS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One text scored by one model."""

    language: Text
    partition: Count | None
    regime: Regime
    conditioning: Conditioning | None
    method: Method
    network: Method | None
    sentences: Count | None
    sample: Count | None
    seed: Count
    nats: Number
    characters: Annotated[int, _count_from(1)]
    seconds: Number
    unit: Text

    @property
    def bits_per_character(self) -> float:
        """What the model paid for a character, ends of sentences counted."""
        return Score(self.nats, self.characters).bits_per_character


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """Text that a model generated."""

    language: Text
    partition: Count | None
    conditioning: Conditioning | None
    method: Method
    regime: Regime
    sentences: Count | None
    temperature: Number
    text: Text
    unit: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramRow:
    """Counts of the characters of a language's training text."""

    language: Text
    name: TextOrEmpty
    family: TextOrEmpty
    counts: Counts
    unit: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalToNoiseRow:
    """Density of log10 of the signal-to-noise ratio (mean over standard deviation) of the weights of one prior."""

    partition: Count | None
    conditioning: Conditioning
    layer: Text
    edges: Numbers
    density: Numbers
    unit: Text

    def __post_init__(self) -> None:
        edges, density = self.edges, self.density
        if len(edges) != len(density) + 1:
            raise ValueError(f"{len(edges)} edges of {len(density)} densities; wanted {len(density) + 1}")
        if any(low >= high for low, high in pairwise(edges)) or any(abs(edge) > _MAX_EXPONENT for edge in edges):
            raise ValueError(f"edges; wanted rising powers of ten, at most {_MAX_EXPONENT}")
        if min(density, default=0) < 0:
            raise ValueError(f"density {min(density)}; wanted none below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """With what, where and when a part of the study was computed."""

    commit: TextOrEmpty
    versions: JsonObject
    machine: JsonObject
    config: JsonObject
    started: TextOrEmpty
    finished: TextOrEmpty
    seconds: Number | None
    unit: TextOrEmpty


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """A unit of work that gave no result."""

    unit: Text
    what: Text
    reason: Text


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


KINDS = {
    "score": ScoreRow,
    "text": TextRow,
    "unigram": UnigramRow,
    "signal-to-noise": SignalToNoiseRow,
    "environment": EnvironmentRow,
    "failure": FailureRow,
}
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


def _read_objects(path: Path) -> Iterator[tuple[int, JsonObject]]:
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


def _read_row(place: str, row: Mapping[str, Any], kind: type) -> object:
    values: dict[str, object] = {}
    for key, (check, optional) in _checks_of(kind).items():
        if key not in row:
            raise StorageError(f"{place}: no {key!r} in a row of kind {row['kind']!r}; wanted one")
        try:
            values[key] = None if optional and row[key] is None else check(row[key])
        except (ValueError, OverflowError) as error:  # a whole number may be too large for a float
            raise StorageError(f"{place}: {key} {_shorten(repr(row[key]))}; {error}") from error
    try:
        return kind(**values)
    except ValueError as error:
        raise StorageError(f"{place}: {error}") from error


@cache
def _checks_of(kind: type) -> dict[str, tuple[Callable[[object], object], bool]]:
    """What checks each field, and whether it may be null, as its annotation says."""
    checks = {}
    for key, wanted in get_type_hints(kind, include_extras=True).items():
        optional = NoneType in get_args(wanted)
        checks[key] = ((get_args(wanted)[0] if optional else wanted).__metadata__[0], optional)
    return checks


def _failure_of(row: ScoreRow) -> FailureRow:
    labels = (row.language, row.regime, row.method, row.conditioning, row.sentences, row.sample)
    what = " ".join(str(label) for label in labels if label is not None)
    return FailureRow(unit=row.unit, what=what, reason=f"the score is {row.nats}; wanted a finite number")


def _shorten(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[:length]}..."
