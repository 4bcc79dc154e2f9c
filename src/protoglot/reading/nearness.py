"""Which languages are near one, by what URIEL knows of it: before a word of it is read, its code is all there is.

Near is a sum of two measures: the logarithm of the kilometres between the places where the languages are spoken, and
the share of the 245 features of :mod:`protoglot.typology` in which they differ. The place comes from the distances to
299 points that lang2vec has of each language; lang2vec is not imported.
"""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import TypologyError
from protoglot.typology import Typology

Nearness = NDArray[np.float64]

DISTANCES = "geocoord_features.npz"

_EARTH = 6371.0  # km, its radius
_NEAR_BY = 300.0  # km that make little difference
# Standard deviations of both measures, and of their sum, over pairs of languages.
_DEVIATION_OF_PLACE = 0.69
_DEVIATION_OF_FEATURES = 0.054
_DEVIATION_OF_SUM = 1.6
_STEPS = 1024  # to one; rounded, so that machines that compute a little differently agree
_DAMAGE = (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, zlib.error)


def nearness(code: str, others: Sequence[str]) -> Nearness | None:
    """How near some languages are to one, (L,), higher is nearer; about 0 in the mean, with a deviation of one.

    Args:
        code: of the language.
        others: codes; one that URIEL does not have is as far as the farthest.

    Returns:
        ``None`` if URIEL has no such code, or none of the others, or is not installed.
    """
    if not code or not others:
        return None
    try:
        typology = Typology.installed()
        known = [other for other in others if typology.knows(other)]
        if not known or not typology.knows(code):
            return None
        features = np.array([np.abs(typology.vector(code) - typology.vector(other)).mean() for other in known])
        place, *places = _places(typology.directory / DISTANCES, [code, *known])
    except TypologyError:
        return None
    cosines = np.array([float(place @ other) for other in places])
    far = np.log1p(_EARTH * np.arccos(np.clip(cosines, -1.0, 1.0)) / _NEAR_BY)
    near = -(far / _DEVIATION_OF_PLACE + features / _DEVIATION_OF_FEATURES) / _DEVIATION_OF_SUM
    found = dict(zip(known, near.tolist(), strict=True))
    values = np.array([found.get(other, float(near.min())) for other in others])
    return np.asarray(np.round(_STEPS * (values - values.mean())) / _STEPS)


@lru_cache(maxsize=1)
def _distances(path: Path) -> tuple[Mapping[str, int], NDArray[np.float32], NDArray[np.float64]]:
    """Rows of the languages, their distances to 299 points (N, 299), and the inverse of these points (299, 3).

    Raises:
        TypologyError: if the file is missing or damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            rows = {str(code): row for row, code in enumerate(archive["langs"])}
            degrees = np.array([[float(part) for part in str(name).split("_")[1:]] for name in archive["feats"]])
            shares = archive["data"][:, :, 0]  # of the longest distance there is
        latitude, longitude = np.radians(degrees.T)
        points = np.stack(
            [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
        )
        if shares.shape != (len(rows), len(points)):
            raise ValueError(f"{shares.shape} distances of {len(rows):,} languages to {len(points)} points")
    except _DAMAGE as error:
        raise TypologyError(
            f"{path}: cannot be read as URIEL ({error}); wanted the data of lang2vec 1.1.2"
        ) from error
    return rows, shares, np.linalg.pinv(points).T


def _places(path: Path, codes: Sequence[str]) -> NDArray[np.float64]:
    """Where languages are, as points on a sphere of radius one, (L, 3).

    Raises:
        TypologyError: if the file is missing or damaged, or does not have one.
    """
    rows, shares, inverse = _distances(path)
    if missing := [code for code in codes if code not in rows]:
        raise TypologyError(f"{path}: no place of {missing[0]}; wanted the data of lang2vec 1.1.2")
    places = np.cos(np.pi * shares[[rows[code] for code in codes]].astype(np.float64)) @ inverse
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True))
