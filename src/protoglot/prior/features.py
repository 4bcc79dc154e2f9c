"""The typological vector of a language that a prior may never have heard of."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import TypologyError
from protoglot.languages import titled
from protoglot.model.config import Conditioning
from protoglot.prior.universal import UniversalPrior
from protoglot.typology import Typology, is_profile_path, read_profile


class Features(NamedTuple):
    """A vector, and where it is from."""

    vector: NDArray[np.float32] | None
    """(K,); ``None`` for a prior that reads no typology."""

    source: str
    """In words, for the user."""

    language: str = ""
    """To be remembered with a model: a code, or the name of a file without its folder; empty if unknown."""


def features_for(prior: UniversalPrior, language: str | None) -> Features:
    """The typological vector of a language: the prior's, that of the database, or the mean of the training languages.

    Args:
        prior: its conditioning decides whether there is one.
        language: code or name, or a .csv file that describes it; ``None`` if unknown.

    Raises:
        TypologyError: for a language that is given and that the database does not know.
    """
    if prior.mean.model.config.conditioning is Conditioning.BARE:
        label = Path(language).name if language and is_profile_path(language) else language or ""
        return Features(None, "the prior reads no typology", label)
    known = prior.mean.features
    if language is None:
        mean = np.mean([known[code] for code in prior.mean.fold.training], axis=0).astype(np.float32)
        return Features(mean, "language unknown: mean of the training languages")
    # Not by the codes of the prior's corpus: there `ssw` may be Swahili.
    by_iso = {prior.mean.languages[code].iso639_3: code for code in known if code in prior.mean.languages}
    if language in by_iso:
        return Features(known[by_iso[language]], f"typology of {titled(language)}", language)
    typology = Typology.installed()
    if is_profile_path(language):
        profile = read_profile(Path(language).expanduser(), typology)
        given = int((~profile.filled).sum())
        source = f"typology of {language}: {given} of {len(profile.values)} features given"
        return Features(_checked(profile.values, prior, language), source, Path(language).name)
    try:
        code = typology.resolve(language)
    except TypologyError as error:
        raise TypologyError(
            f"{error} (or no language: the mean of the training languages is then used; or a .csv file of features)"
        ) from error
    vector = known[by_iso[code]] if code in by_iso else typology.vector(code)
    imputed = "" if typology.observed(code).any() else " (nothing observed, all imputed from other languages)"
    return Features(_checked(vector, prior, code), f"typology of {titled(code)}{imputed}", code)


def _checked(vector: NDArray[np.float32], prior: UniversalPrior, name: str) -> NDArray[np.float32]:
    wanted = prior.mean.model.num_features
    if len(vector) != wanted:
        raise TypologyError(f"{name}: {len(vector)} typological features; wanted {wanted}, as the prior has")
    return vector.astype(np.float32)
