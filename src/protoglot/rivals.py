"""What models that know one text alone need for it as they read it: an n-gram, and PPM, a compressor.

Both are prequential: each character is predicted from those before it, and costs -log2 of its probability.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import ConfigError
from protoglot.ngram import NGram, Smoothing
from protoglot.reader_model import page_of
from protoglot.vocabulary import Vocabulary

NGRAM_ORDER = 7
PPM_ORDER = 6
_PPM_MEMORY = 16 << 20

Floats = NDArray[np.float64]


def ngram_bits(sentences: Sequence[str], *, renewed_every: int = 10) -> Floats:
    """Bits of every character and line feed of a text under a Kneser-Ney n-gram of the sentences before.

    Args:
        sentences: the text.
        renewed_every: sentences after which the n-gram is estimated anew; the first few are followed one by one.
    """
    pieces = [np.zeros(0)]
    start = 0
    while start < len(sentences):
        stop = min(start + max(1, min(start // 2, renewed_every)), len(sentences))
        pieces.append(_ngram_bits(sentences[:start], sentences[start:stop]))
        start = stop
    return np.concatenate(pieces)


def _ngram_bits(learned: Sequence[str], sentences: Sequence[str]) -> Floats:
    vocabulary = Vocabulary.of(learned)
    if learned:
        ngram = NGram.train(learned, vocabulary, order=NGRAM_ORDER, smoothing=Smoothing.KNESER_NEY)
        nats = ngram.nats(sentences)
    else:  # the end of the sentence, or some character
        nats = np.full(len(page_of(sentences)), math.log(2))
    for position, character in enumerate(page_of(sentences)):
        if character != "\n" and character not in vocabulary:
            nats[position] += vocabulary.other_nats(character)
    return np.asarray(nats / math.log(2))


def has_ppm() -> bool:
    """Whether the package ``pyppmd`` is installed."""
    import importlib.util

    return importlib.util.find_spec("pyppmd") is not None


def ppm_bits(text: str, lengths: Sequence[int]) -> list[float]:
    """Bits that PPMd (variant H, order 6) writes for the first characters of a text.

    Args:
        text: any.
        lengths: numbers of characters.

    Raises:
        ConfigError: if ``pyppmd`` is not installed.
    """
    if not has_ppm():
        raise ConfigError("pyppmd: not installed; wanted pip install 'protoglot[ppmd]'")
    import pyppmd

    def size(piece: str) -> int:
        encoder = pyppmd.Ppmd7Encoder(PPM_ORDER, _PPM_MEMORY)
        return len(encoder.encode(piece.encode())) + len(encoder.flush())

    return [8.0 * size(text[:length]) for length in lengths]
