"""What makes a language hard, and what a prior has learned: the probes of the paper's appendices A and B."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.corpus.interface import Corpus
from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError, StorageError
from protoglot.splits import split_sentences
from protoglot.statistics import Correlation, pearson

ALL_LAYERS = "all"
"""Stands for the weights of all layers together."""

BINS_PER_DECADE = 10

CharacterCounts = Mapping[str, int]
"""How often each character occurs in a text."""

Scores = Mapping[str, Mapping[str, float]]
"""Bits per character by role (training, validation, held_out) and code of the language."""


def count_characters(sentences: Iterable[str]) -> Counter[str]:
    """Unigram counts; blanks within sentences are characters, ends of sentences are not."""
    # As numbers in an array, which is much faster than one by one.
    code_points = np.frombuffer("".join(sentences).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    counts = np.bincount(code_points)
    return Counter({chr(code_point): int(counts[code_point]) for code_point in np.flatnonzero(counts)})


def count_training_characters(corpus: Corpus, code: str) -> Counter[str]:
    """Unigram counts of the training part of a language (see :func:`protoglot.splits.split_sentences`)."""
    return count_characters(split_sentences(corpus.sentences(code)).train)


def exoticness(counts: Mapping[str, CharacterCounts]) -> dict[str, float]:
    r"""Appendix A: how far the characters of each language are from those of the others.

    :math:`1 - \cos(c_\ell, \frac{1}{n - 1} \sum_{k \neq \ell} c_k)`: the cosine distance between the vector of
    counts of a language and the mean of the vectors of all others. These are counts and not shares, as in the
    paper: a language with more text has more say in the mean.

    >>> exoticness({"one": {"a": 3}, "two": {"a": 1}, "odd": {"z": 5}})["odd"]
    1.0

    Args:
        counts: of each language, by its code.

    Returns:
        From 0 (the same distribution) to 1 (no character in common), in the order of ``counts``.

    Raises:
        CorpusError: for fewer than two languages, or one without characters.
    """
    if len(counts) < 2:
        raise CorpusError(f"{len(counts)} language to compare; wanted two or more")
    characters = sorted(set().union(*counts.values()))
    column = {character: position for position, character in enumerate(characters)}
    matrix = np.zeros((len(counts), len(characters)))
    for row, (code, of_language) in enumerate(counts.items()):
        if not any(of_language.values()):
            raise CorpusError(f"{code}: no characters; wanted a text to compare")
        for character, count in of_language.items():
            matrix[row, column[character]] = count
    others = matrix.sum(axis=0) - matrix  # n - 1 times their mean, which has the same direction
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(others, axis=1)
    # Clipped, for sums of floating-point numbers may leave a cosine a little above one.
    distances = np.clip(1 - (matrix * others).sum(axis=1) / lengths, 0.0, 1.0)
    return dict(zip(counts, distances.tolist(), strict=True))


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """Read bits per character from a table with the columns code, role and bits_per_character.

    That is what ``protoglot evaluate --out FILE.csv`` writes. A language may have several roles (in the rows of
    several models, one after the other), and one score in each.

    Raises:
        TextError: for a file that cannot be read as text.
        CorpusError: if it is not such a table, a score is not a number, or a language has two in one role.
    """
    scores: dict[str, dict[str, float]] = {}
    for number, row in read_table(path, columns=("code", "role", "bits_per_character")):
        code, role, text = row["code"], row["role"], row["bits_per_character"]
        try:
            bits = float(text)
        except ValueError:
            bits = np.nan
        if not np.isfinite(bits):
            raise CorpusError(f"{path}: line {number:,}: bits_per_character {text!r}; wanted a number")
        if code in scores.setdefault(role, {}):
            raise CorpusError(f"{path}: line {number:,}: a second score of {code} as {role}; wanted one")
        scores[role][code] = bits
    if not scores:
        raise CorpusError(f"{path}: no scores; wanted a row for each language")
    return scores


def correlate(distances: Mapping[str, float], scores: Scores) -> dict[str, Correlation]:
    """Appendix A: Pearson's correlation of exoticness with bits per character, role by role.

    Languages that have only one of the two are left out.
    """
    found = {}
    for role, of_role in scores.items():
        codes = [code for code in of_role if code in distances]
        found[role] = pearson([distances[code] for code in codes], [of_role[code] for code in codes])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSignal:
    """Signal-to-noise ratios of the weights of one layer, in short."""

    layer: str
    num_weights: int
    num_zero: int
    """Weights whose mean is exactly zero, and so the ratio."""

    low: float
    """5th percentile; like the other figures over all weights, those at zero included."""

    median: float
    high: float
    """95th percentile."""

    share_below_one: float
    """Share of weights whose standard deviation is larger than their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalDensity:
    """Density of the logarithm of the signal-to-noise ratio, in bins, layer by layer.

    Zero has no logarithm: weights at zero are counted in ``num_zero`` and are in no bin. The density is that of
    all weights all the same, so that it sums, times the width of a bin, to the share of weights not at zero.
    """

    edges: NDArray[np.float64]
    """Logarithms to base 10 of the bounds of the bins, (N + 1,), the same for all layers."""

    num_weights: Mapping[str, NDArray[np.int64]]
    """Weights in each bin, (N,), by layer; :data:`ALL_LAYERS` is last."""

    num_zero: Mapping[str, int]

    def density(self, layer: str) -> NDArray[np.float64]:
        """Share of the layer's weights in each bin, per unit of the logarithm, (N,)."""
        counts = self.num_weights[layer]
        density: NDArray[np.float64] = counts / ((counts.sum() + self.num_zero[layer]) * np.diff(self.edges))
        return density


def check_ratios(ratios: Mapping[str, NDArray[Any]], *, name: str) -> None:
    """Refuse what cannot be signal-to-noise ratios; ``name`` says where they were found.

    Raises:
        StorageError: if there are none, or one is negative or not finite.
    """
    if not any(values.size for values in ratios.values()):
        raise StorageError(f"{name}: no weights; wanted some")
    for layer, values in ratios.items():
        if not np.isfinite(values).all() or (values < 0).any():
            raise StorageError(f"{name}: {layer}: ratios negative or not finite; wanted |mean| / deviation")


def summarise_signal(ratios: Mapping[str, NDArray[Any]]) -> list[LayerSignal]:
    """Appendix B: the signal-to-noise ratios of each layer in a few figures, and those of all weights at the end.

    Args:
        ratios: of any shape, by layer (see :meth:`protoglot.prior.universal.UniversalPrior.signal_to_noise`).
    """
    return [_summarise(layer, values) for layer, values in _with_all(ratios).items()]


def signal_density(ratios: Mapping[str, NDArray[Any]], *, bins_per_decade: int = BINS_PER_DECADE) -> SignalDensity:
    """Appendix B: density of log10 of the ratio over whole decades, for each layer and for all weights.

    Args:
        ratios: of any shape, by layer; neither negative nor infinite.
        bins_per_decade: bins of equal width between two powers of ten.
    """
    every = _with_all(ratios)
    logarithms = {layer: np.log10(values[values > 0]) for layer, values in every.items()}
    low, high = 0, 1
    if logarithms[ALL_LAYERS].size:
        low = int(np.floor(logarithms[ALL_LAYERS].min()))
        high = max(int(np.ceil(logarithms[ALL_LAYERS].max())), low + 1)
    edges = np.linspace(low, high, (high - low) * bins_per_decade + 1)
    return SignalDensity(
        edges=edges,
        num_weights={layer: np.histogram(values, edges)[0] for layer, values in logarithms.items()},
        num_zero={layer: int((values == 0).sum()) for layer, values in every.items()},
    )


def _with_all(ratios: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Ratios as vectors, layers without weights left out, and all together at the end."""
    flat = {layer: values.astype(np.float64).ravel() for layer, values in ratios.items() if values.size}
    return {**flat, ALL_LAYERS: np.concatenate(list(flat.values()))}


def _summarise(layer: str, values: NDArray[np.float64]) -> LayerSignal:
    low, median, high = np.percentile(values, [5, 50, 95]).tolist()
    return LayerSignal(
        layer=layer,
        num_weights=values.size,
        num_zero=int((values == 0).sum()),
        low=low,
        median=median,
        high=high,
        share_below_one=float((values < 1).mean()),
    )
