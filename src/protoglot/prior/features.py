"""The typological vector of a language that a prior may never have heard of."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import TypologyError
from protoglot.model.config import Conditioning
from protoglot.prior.universal import UniversalPrior
from protoglot.typology import Typology


class Features(NamedTuple):
    """A vector, and where it is from."""

    vector: NDArray[np.float32] | None
    """(K,); ``None`` for a prior that reads no typology."""

    source: str
    """In words, for the user."""


def features_for(prior: UniversalPrior, language: str | None) -> Features:
    """The typological vector of a language: the prior's, that of the database, or the mean of the training languages.

    Args:
        prior: its conditioning decides whether there is one.
        language: code or name; ``None`` if unknown.

    Raises:
        TypologyError: for a language that is given and that the database does not know.
    """
    if prior.mean.model.config.conditioning is Conditioning.BARE:
        return Features(None, "the prior reads no typology")
    known = prior.mean.features
    if language is None:
        mean = np.mean([known[code] for code in prior.mean.fold.training], axis=0).astype(np.float32)
        return Features(mean, "language unknown: mean of the training languages")
    if language in known:
        return Features(known[language], f"typology of {language}")
    typology = Typology.installed()
    code = typology.resolve(language)
    vector = typology.vector(code).astype(np.float32)
    if len(vector) != prior.mean.model.num_features:
        raise TypologyError(
            f"{code}: {len(vector)} typological features; wanted {prior.mean.model.num_features}, as the prior has"
        )
    return Features(vector, f"typology of {code}")
