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
from itertools import pairwise
from pathlib import Path
from typing import Any

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

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One text scored by one model."""

    language: str
    partition: int | None
    regime: str
    conditioning: str | None
    method: str
    network: str | None
    sentences: int | None
    sample: int | None
    seed: int
    nats: float
    characters: int
    seconds: float
    unit: str

    @property
    def bits_per_character(self) -> float:
        """What the model paid for a character, ends of sentences counted."""
        return Score(self.nats, self.characters).bits_per_character


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """Text that a model generated."""

    language: str
    partition: int | None
    conditioning: str | None
    method: str
    regime: str
    sentences: int | None
    temperature: float
    text: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramRow:
    """Counts of the characters of a language's training text."""

    language: str
    name: str
    family: str
    counts: Mapping[str, int]
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalToNoiseRow:
    """Density of log10 of the signal-to-noise ratio (mean over standard deviation) of the weights of one prior."""

    partition: int | None
    conditioning: str
    layer: str
    edges: tuple[float, ...]
    density: tuple[float, ...]
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """With what, where and when a part of the study was computed."""

    commit: str
    versions: JsonObject
    machine: JsonObject
    config: JsonObject
    started: str
    finished: str
    seconds: float | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
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


def read_rows(path: Path) -> StudyRows:
    """Read the rows of a study.

    A score that is not a finite number (a model that diverged) becomes a failure, and is counted nowhere else.

    Raises:
        StorageError: if the file cannot be read or a row is not as it should be.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in _READERS}
    unknown: dict[str, int] = {}
    canonical = []
    for number, row in _read_objects(path):
        place = f"{path}: line {number:,}"
        canonical.append(json.dumps(row, sort_keys=True))
        kind = row.get("kind")
        if not isinstance(kind, str):
            raise StorageError(f"{place}: kind {kind!r}; wanted one of {', '.join(_READERS)}")
        if kind not in _READERS:
            unknown[kind] = unknown.get(kind, 0) + 1
            continue
        entry = _READERS[kind](_Fields(place, row))
        found["failure" if isinstance(entry, FailureRow) else kind].append(entry)
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
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise StorageError(f"{path}: damaged or cut short ({error}); wanted rows compressed by gzip") from error
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be read ({error.strerror or error}); wanted rows of a study"
        ) from error
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{path}: byte {error.start:,} is not UTF-8; wanted JSON objects, one a line"
        ) from error
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


class _Fields:
    """The values of one row, each checked when it is asked for."""

    def __init__(self, place: str, row: JsonObject) -> None:
        self.place = place
        self.row = row

    def text(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        # Half of a surrogate pair can be written in JSON, but in no file.
        return value.encode("utf-8", "replace").decode("utf-8")

    def text_or_empty(self, key: str) -> str:
        return "" if self._value(key) is None else self.text(key)

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        if self._value(key) not in choices:
            raise self._wrong(key, f"one of {', '.join(choices)}")
        return self.text(key)

    def choice_or_none(self, key: str, choices: tuple[str, ...]) -> str | None:
        return None if self._value(key) is None else self.choice(key, choices)

    def count(self, key: str, *, least: int = 0) -> int:
        value = self._value(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self._wrong(key, f"a whole number from {least}")
        return value

    def count_or_none(self, key: str) -> int | None:
        return None if self._value(key) is None else self.count(key)

    def number(self, key: str) -> float:
        value = self._value(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._wrong(key, "a number")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        return None if self._value(key) is None else self.number(key)

    def numbers(self, key: str) -> tuple[float, ...]:
        value = self._value(key)
        if not isinstance(value, list) or not all(_is_finite_number(item) for item in value):
            raise self._wrong(key, "a list of finite numbers")
        return tuple(float(item) for item in value)

    def mapping(self, key: str) -> JsonObject:
        value = self._value(key)
        if not isinstance(value, dict):
            raise self._wrong(key, "an object")
        return value

    def mapping_or_empty(self, key: str) -> JsonObject:
        return {} if self._value(key) is None else self.mapping(key)

    def _value(self, key: str) -> Any:  # noqa: ANN401  (JSON can hold anything)
        if key not in self.row:
            raise StorageError(f"{self.place}: no {key!r} in a row of kind {self.row['kind']!r}; wanted one")
        return self.row[key]

    def _wrong(self, key: str, wanted: str) -> StorageError:
        return StorageError(f"{self.place}: {key} {_shorten(repr(self.row[key]))}; wanted {wanted}")


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shorten(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[:length]}..."


def _score(fields: _Fields) -> ScoreRow | FailureRow:
    row = ScoreRow(
        language=fields.text("language"),
        partition=fields.count_or_none("partition"),
        regime=fields.choice("regime", REGIMES),
        conditioning=fields.choice_or_none("conditioning", CONDITIONINGS),
        method=fields.choice("method", METHODS),
        network=fields.choice_or_none("network", METHODS),
        sentences=fields.count_or_none("sentences"),
        sample=fields.count_or_none("sample"),
        seed=fields.count("seed"),
        nats=fields.number("nats"),
        characters=fields.count("characters", least=1),
        seconds=fields.number("seconds"),
        unit=fields.text("unit"),
    )
    if math.isfinite(row.nats):
        return row
    labels = (row.language, row.regime, row.method, row.conditioning, row.sentences, row.sample)
    what = " ".join(str(label) for label in labels if label is not None)
    return FailureRow(unit=row.unit, what=what, reason=f"the score is {row.nats}; wanted a finite number")


def _text(fields: _Fields) -> TextRow:
    return TextRow(
        language=fields.text("language"),
        partition=fields.count_or_none("partition"),
        conditioning=fields.choice_or_none("conditioning", CONDITIONINGS),
        method=fields.choice("method", METHODS),
        regime=fields.choice("regime", REGIMES),
        sentences=fields.count_or_none("sentences"),
        temperature=fields.number("temperature"),
        text=fields.text("text"),
        unit=fields.text("unit"),
    )


def _unigram(fields: _Fields) -> UnigramRow:
    counts = fields.mapping("counts")
    if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
        raise StorageError(f"{fields.place}: counts: not all whole numbers from 0; wanted character -> count")
    return UnigramRow(
        language=fields.text("language"),
        name=fields.text_or_empty("name"),
        family=fields.text_or_empty("family"),
        counts={str(key).encode("utf-8", "replace").decode("utf-8"): counts[key] for key in sorted(counts)},
        unit=fields.text("unit"),
    )


def _signal_to_noise(fields: _Fields) -> SignalToNoiseRow:
    edges, density = fields.numbers("edges"), fields.numbers("density")
    if len(edges) != len(density) + 1:
        raise StorageError(
            f"{fields.place}: {len(edges)} edges of {len(density)} densities; wanted {len(density) + 1}"
        )
    if any(low >= high for low, high in pairwise(edges)) or any(abs(edge) > _MAX_EXPONENT for edge in edges):
        raise StorageError(f"{fields.place}: edges; wanted rising powers of ten, at most {_MAX_EXPONENT}")
    if any(value < 0 for value in density):
        raise StorageError(f"{fields.place}: density {min(density)}; wanted none below 0")
    return SignalToNoiseRow(
        partition=fields.count_or_none("partition"),
        conditioning=fields.choice("conditioning", CONDITIONINGS),
        layer=fields.text("layer"),
        edges=edges,
        density=density,
        unit=fields.text("unit"),
    )


def _environment(fields: _Fields) -> EnvironmentRow:
    return EnvironmentRow(
        commit=fields.text_or_empty("commit"),
        versions=fields.mapping_or_empty("versions"),
        machine=fields.mapping_or_empty("machine"),
        config=fields.mapping_or_empty("config"),
        started=fields.text_or_empty("started"),
        finished=fields.text_or_empty("finished"),
        seconds=fields.number_or_none("seconds"),
        unit=fields.text_or_empty("unit"),
    )


def _failure(fields: _Fields) -> FailureRow:
    return FailureRow(unit=fields.text("unit"), what=fields.text("what"), reason=fields.text("reason"))


_READERS: dict[str, Callable[[_Fields], object]] = {
    "score": _score,
    "text": _text,
    "unigram": _unigram,
    "signal-to-noise": _signal_to_noise,
    "environment": _environment,
    "failure": _failure,
}
