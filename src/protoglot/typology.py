"""What is known of a language's grammar and sounds: 245 features of URIEL, and the user's own.

URIEL (Littell et al. 2017) is read as data from the installed package lang2vec, which is not imported: that
takes seconds and needs a module that setuptools has dropped. The 245 features are those of Ponti et al. (2019).
"""

import csv
import difflib
import importlib.metadata
import importlib.resources
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import TextError, TypologyError
from protoglot.languages import described_name, readings, substitutes
from protoglot.storage import write_atomically
from protoglot.text import read_lines

_DAMAGE = (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, zlib.error)

PREDICTIONS = "feature_predictions.npz"
SOURCES = "features.npz"
UNKNOWN_MARKS = ("", "?", "--")
"""How a file may say that a value is not known; ``--`` is lang2vec's own mark."""

_WANTED_DATA = "wanted the data of lang2vec 1.1.2 (pip install lang2vec==1.1.2)"
_LANGUAGES_A_CHUNK = 100  # 1.2 MB of the 92 MB of URIEL's ten sources
_MAX_HINTS = 5

Values = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Level(StrEnum):
    """Level of linguistic structure that a feature describes."""

    SYNTAX = "syntax"
    """Order of words and clauses, and what is marked by which kind of morpheme (97 features)."""
    PHONOLOGY = "phonology"
    """Classes of sounds, syllables and tone (27)."""
    INVENTORY = "inventory"
    """Single sounds that the language tells apart, and sizes and shapes of its inventory (121)."""

    @classmethod
    def of(cls, feature: str) -> Self:
        """Level of a feature, by the prefix of its name in URIEL."""
        prefix = feature.partition("_")[0]
        return cls({"S": "syntax", "P": "phonology", "INV": "inventory"}[prefix])


class Origin(StrEnum):
    """Where a value comes from."""

    OBSERVED = "observed"
    """Stated by at least one of URIEL's ten sources, or by the user."""
    IMPUTED = "imputed"
    """Predicted by URIEL from the nearest languages in family, geography and typology."""
    FILLED = "filled"
    """Not in the user's file: the mean over other languages stands in."""


@lru_cache(maxsize=1)
def feature_names() -> tuple[str, ...]:
    """Names of the 245 features, in the order of every vector."""
    return tuple(_feature_lists()["features"])


@lru_cache(maxsize=1)
def _feature_lists() -> dict[str, list[str]]:
    text = importlib.resources.files("protoglot").joinpath("data/uriel245.json").read_text(encoding="utf-8")
    lists: dict[str, list[str]] = json.loads(text)
    return lists


def features_of(level: Level | None) -> Mask:
    """Which of the 245 features belong to a level; all of them for ``None``. Shape (K,)."""
    return np.array([level is None or Level.of(feature) is level for feature in feature_names()])


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The features of one language, and where each value comes from. All arrays have shape (K,), K = 245."""

    label: str
    """A code of URIEL, or the path of the user's file."""
    values: Values
    """From 0 (absent) to 1 (present). URIEL's are 0 or 1."""
    observed: Mask
    filled: Mask

    def origin(self, position: int) -> Origin:
        """Where the value at a position comes from."""
        if self.observed[position]:
            return Origin.OBSERVED
        return Origin.FILLED if self.filled[position] else Origin.IMPUTED

    def coverage(self) -> dict[Level, float]:
        """Share of observed values in each level."""
        return {level: float(self.observed[features_of(level)].mean()) for level in Level}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A language and how far it is from another one."""

    code: str
    distance: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A feature in which two languages differ."""

    feature: str
    values: tuple[float, float]
    origins: tuple[Origin, Origin]


class Typology:
    """URIEL's languages and their features.

    Codes are those of URIEL: ISO 639-3 of 2016, with some codes that have been withdrawn since and a few that
    never were in it. Among these are ``alb`` and ``gre``, poorer doubles of ``sqi`` and ``ell``:
    :meth:`vector` gives the row that is asked for, :meth:`resolve` leads to the better one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.languages, self._values = _read_predictions(directory / PREDICTIONS)
        self._rows = {code: row for row, code in enumerate(self.languages)}

    @classmethod
    def installed(cls) -> "Typology":
        """URIEL from the installed lang2vec, read once.

        Raises:
            TypologyError: if lang2vec is not installed or its data are not as expected.
        """
        return _installed()

    @property
    def directory(self) -> Path:
        """Where URIEL's files are."""
        return self._directory

    @cached_property
    def _observed(self) -> Mask:
        # Read when first asked for: a model needs the values only.
        return _read_observed(self._directory / SOURCES, self.languages)

    def knows(self, code: str) -> bool:
        """Whether URIEL has a row of this code."""
        return code in self._rows

    def vector(self, code: str) -> Values:
        """The 245 values of a language, observed or imputed; each is 0 or 1. Shape (K,).

        Raises:
            TypologyError: if URIEL does not have the code; the message names the nearest ones.
        """
        values: Values = self._values[self._row(code)]
        return values.copy()

    def observed(self, code: str) -> Mask:
        """Which of the values are stated by at least one source; URIEL imputed the others. Shape (K,)."""
        observed: Mask = self._observed[self._row(code)]
        return observed.copy()

    def coverage(self, code: str) -> dict[Level, float]:
        """Share of observed values in each level."""
        return self.profile(code).coverage()

    def profile(self, code: str) -> Profile:
        """Values and origins of a language."""
        return Profile(code, self.vector(code), self.observed(code), np.zeros(len(feature_names()), dtype=bool))

    def mean(self, among: Iterable[str] | None = None) -> Values:
        """Mean of each feature over the languages given, or over all of URIEL. Shape (K,)."""
        rows = range(len(self.languages)) if among is None else [self._row(code) for code in sorted(set(among))]
        if not rows:
            raise TypologyError("mean of the features over no language; wanted at least one")
        mean: Values = self._values[rows].mean(axis=0, dtype=np.float64).astype(np.float32)
        return mean

    def nearest(
        self,
        language: str | Profile,
        number: int,
        *,
        within: Iterable[str] | None = None,
        level: Level | None = None,
        min_observed: float = 0.0,
    ) -> list[Neighbour]:
        """The languages most like one, nearest first; at equal distance in the order of their codes.

        The distance is the mean absolute difference of the values. As URIEL's are 0 or 1, it is the share of
        features in which two languages differ: a number one can read, where a cosine would leave out what
        both languages lack. Imputed values count like observed ones; features without a value in the user's
        file do not count. Inventories weigh most, being half of the features: ``level`` restricts the
        comparison.

        Args:
            language: a code, or a profile read from a file.
            number: how many neighbours; fewer are returned where there are no more. The language itself is
                not among them, but languages with identical features are (``usp`` and ``cak``, for one pair).
            within: codes to choose from; all of URIEL if not given.
            level: the only level to compare.
            min_observed: least share of observed values among those compared. A language that URIEL imputes
                from its neighbours is like them by construction: without this, the nearest to French is
                French Sign Language, with an inventory of vowels.

        Raises:
            TypologyError: for an unknown code, a profile without a value to compare, or a share outside 0 to 1.
        """
        if not 0 <= min_observed <= 1:
            raise TypologyError(f"least share of observed values is {min_observed}; wanted a number from 0 to 1")
        profile = self._profile(language)
        codes = sorted(set(self.languages if within is None else within) - {language})
        compared = features_of(level) & ~profile.filled
        if not compared.any():
            raise TypologyError(f"{profile.label}: no value among its {level} features; wanted at least one")
        if min_observed > 0:
            codes = [code for code in codes if self.observed(code)[compared].mean() >= min_observed]
        rows = [self._row(code) for code in codes]
        gaps = np.abs(self._values[rows][:, compared] - profile.values[compared])
        distances = gaps.mean(axis=1, dtype=np.float64)
        nearest = np.argsort(distances, kind="stable")[:number]
        return [Neighbour(codes[place], float(distances[place])) for place in nearest]

    def compare(
        self, first: str | Profile, second: str | Profile, *, level: Level | None = None
    ) -> list[Difference]:
        """Features in which two languages differ, in the order of :func:`feature_names`.

        Features without a value in the user's file are left out.
        """
        one, other = self._profile(first), self._profile(second)
        differ = (one.values != other.values) & features_of(level) & ~one.filled & ~other.filled
        names = feature_names()
        return [
            Difference(
                names[position],
                (float(one.values[position]), float(other.values[position])),
                (one.origin(position), other.origin(position)),
            )
            for position in np.flatnonzero(differ).tolist()
        ]

    def resolve(self, text: str) -> str:
        """Code of the one language that the user can mean: a code of three or two letters, or a name.

        A code in lower case is always read as a code (``fur`` is Friulian); with capitals it may be a name as
        well (``Fur``). Bibliographic codes of ISO 639-2 lead to the language (``alb`` to ``sqi``). Codes are
        never corrected: ``jak`` is Jakun, whatever a corpus means by it.

        Raises:
            TypologyError: if URIEL has no such language, or several; the message names the nearest.
        """
        found = readings(text, self._rows.keys())
        if len(found) == 1:
            return found[0]
        if found:
            raise TypologyError(f"{text!r} may be {_list(found)}; wanted one language, best by its code")
        raise TypologyError(self._describe_unknown(text))

    def _row(self, code: str) -> int:
        if code not in self._rows:
            raise TypologyError(self._describe_unknown(code))
        return self._rows[code]

    def _profile(self, language: str | Profile) -> Profile:
        return language if isinstance(language, Profile) else self.profile(language)

    def _describe_unknown(self, text: str) -> str:
        """Message about a language that URIEL does not have: what it is, and what may be used instead."""
        near = substitutes(text, self._rows.keys())
        name = described_name(text.lower())
        subject = f"{text.lower()} ({name})" if name else repr(text)
        hint = f"nearest: {_list(near)}" if near else "wanted a code of ISO 639-3 or an English name"
        return f"URIEL has no language {subject}; {hint}"


def _list(codes: Sequence[str]) -> str:
    """Codes with their names, as many as fit a message."""
    shown = ", ".join(f"{code} ({described_name(code) or 'no name'})" for code in codes[:_MAX_HINTS])
    return shown + (f" or {len(codes) - _MAX_HINTS} others" if len(codes) > _MAX_HINTS else "")


@lru_cache(maxsize=1)
def _installed() -> Typology:
    # Not by find_spec: lang2vec also installs a script bin/lang2vec.py, and bin/ comes first on the path of the
    # command protoglot, so that the script would be found instead of the package.
    try:
        package = importlib.metadata.distribution("lang2vec")
    except importlib.metadata.PackageNotFoundError as error:
        raise TypologyError(f"package lang2vec: not installed; {_WANTED_DATA}") from error
    return Typology(Path(str(package.locate_file("lang2vec/data"))))


def _read_predictions(path: Path) -> tuple[tuple[str, ...], Values]:
    """Codes of the languages, and their values for the 245 features, observed or imputed (N, K)."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            languages = tuple(str(code) for code in archive["langs"])
            columns = _columns([str(name) for name in archive["feats"]])
            values = np.ascontiguousarray(archive["data"][:, columns, 0], dtype=np.float32)  # (N, K)
        if len(values) != len(languages) or not ((values >= 0) & (values <= 1)).all():
            raise ValueError("values missing or outside 0 to 1")
    except _DAMAGE as error:
        raise TypologyError(f"{path}: cannot be read as URIEL ({error}); {_WANTED_DATA}") from error
    values.setflags(write=False)
    return languages, values


def _read_observed(path: Path, languages: tuple[str, ...]) -> Mask:
    """Which values at least one source states (N, K).

    The file is a stack of ten sources, 92 MB once unpacked, in which -1 marks a missing value. It is read a
    few languages at a time, and only one bit of every ten values is kept.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            columns = _columns([str(name) for name in archive["feats"]])
            if tuple(str(code) for code in archive["langs"]) != languages:
                raise ValueError(f"not the languages of {PREDICTIONS}")
        with zipfile.ZipFile(path) as files, files.open("data.npy") as stream:
            np.lib.format.read_magic(stream)
            shape, _, kind = np.lib.format.read_array_header_1_0(stream)
            rows = math.prod(shape[1:])
            chunks = []
            while data := stream.read(_LANGUAGES_A_CHUNK * rows * kind.itemsize):
                sources = np.frombuffer(data, kind).reshape(-1, *shape[1:])  # (n, 289, 10)
                chunks.append(np.any(sources >= 0, axis=2)[:, columns])
        observed = np.concatenate(chunks)
        if len(observed) != len(languages):
            raise ValueError(f"{len(observed):,} rows for {len(languages):,} languages")
    except _DAMAGE as error:
        raise TypologyError(f"{path}: cannot be read as URIEL ({error}); {_WANTED_DATA}") from error
    observed.setflags(write=False)
    return observed


def _columns(names: list[str]) -> list[int]:
    """Positions of the 245 features among those of a file."""
    positions = {name: position for position, name in enumerate(names)}
    return [positions[feature] for feature in feature_names()]


def is_profile_path(text: str) -> bool:
    """Whether a text names a file: by its form, lest a file called ``eus`` hide Basque."""
    return text.lower().endswith(".csv") or "/" in text or os.sep in text


def read_profile(path: Path, typology: Typology, *, filled_from: Iterable[str] | None = None) -> Profile:
    """Features of a language from the user's CSV file: rows ``feature,value`` or ``feature,value,origin``.

    A header is optional, and so is every feature but one. A value is a number from 0 to 1; one of
    :data:`UNKNOWN_MARKS`, like a feature without a row, means that it is not known. Unknown values are filled
    with the feature's mean over URIEL. The origin, where given, is ``observed`` (the default) or ``imputed``.

    Args:
        path: the file.
        typology: where the means come from.
        filled_from: codes of the languages over which means are taken; all of URIEL if not given.

    Raises:
        TypologyError: for a file that cannot be read, an unknown feature, one that occurs twice, or a value
            that is not a number from 0 to 1; the message gives the line.
    """
    positions = {feature: position for position, feature in enumerate(feature_names())}
    values = typology.mean(filled_from)
    observed, filled = np.zeros(len(positions), dtype=bool), np.ones(len(positions), dtype=bool)
    seen: set[str] = set()
    for place, cells in _read_rows(path):
        feature = cells[0].upper()
        if feature not in positions:
            raise TypologyError(f"{place}: {_describe_unknown_feature(cells[0])}")
        if feature in seen:
            raise TypologyError(f"{place}: feature {feature} a second time; wanted one row a feature")
        seen.add(feature)
        if cells[1] in UNKNOWN_MARKS:
            continue
        values[positions[feature]] = _read_value(place, feature, cells[1])
        observed[positions[feature]] = _read_origin(place, cells[2] if len(cells) == 3 else "") is Origin.OBSERVED
        filled[positions[feature]] = False
    if filled.all():
        raise TypologyError(f"{path}: no feature has a value; wanted rows feature,value, as in S_SVO,1")
    return Profile(str(path), values, observed, filled)


def write_profile(path: Path, profile: Profile) -> None:
    """Write a CSV file that :func:`read_profile` reads back."""
    write_atomically(path, profile_as_csv(profile))


def profile_as_csv(profile: Profile, chosen: Mask | None = None) -> str:
    """The rows of :func:`read_profile`, for all features or those chosen; filled values are left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("feature", "value", "origin"))
    for position, feature in enumerate(feature_names()):
        if chosen is not None and not chosen[position]:
            continue
        if profile.filled[position]:
            writer.writerow((feature, "", ""))
        else:
            # Nine digits give every float32 back exactly.
            writer.writerow((feature, f"{profile.values[position]:.9g}", profile.origin(position)))
    return text.getvalue()


def _read_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield ``(file and line, cells)`` of a CSV file with two or three columns, without header and empty rows."""
    try:
        reader = csv.reader((line for _, line in read_lines(path)), skipinitialspace=True)
        is_first = True
        for raw in reader:
            cells = [cell.strip() for cell in raw]
            place = f"{path}: line {reader.line_num}"
            if not any(cells):
                continue
            if is_first and cells[0].casefold() == "feature":
                is_first = False
                continue
            is_first = False
            if len(cells) not in (2, 3):
                raise TypologyError(f"{place}: {len(cells)} columns; wanted feature,value, as in S_SVO,1")
            yield place, cells
    except TextError as error:
        raise TypologyError(str(error)) from error
    except csv.Error as error:
        raise TypologyError(f"{path}: {error}; wanted comma-separated values") from error


def _read_value(place: str, feature: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise TypologyError(f"{place}: {feature} is {cell!r}; wanted a number from 0 to 1, or ? if not known")
    return value


def _read_origin(place: str, cell: str) -> Origin:
    if cell not in ("", Origin.OBSERVED, Origin.IMPUTED):
        raise TypologyError(f"{place}: origin {cell!r}; wanted observed or imputed")
    return Origin(cell or Origin.OBSERVED)


def _describe_unknown_feature(feature: str) -> str:
    if feature.upper() in _feature_lists()["dropped"]:
        return f"feature {feature} of URIEL is not one of the 245; wanted a file without it"
    near = difflib.get_close_matches(feature.upper(), feature_names(), n=3)
    return f"no feature {feature!r}; " + (f"nearest: {', '.join(near)}" if near else "wanted one as in S_SVO,1")
