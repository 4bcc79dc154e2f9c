"""N-grams of all languages that a prior has read, in little space."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.neighbours.packed import PackedNGram
from protoglot.ngram import NGram, Smoothing
from protoglot.vocabulary import Vocabulary

ORDER = 6
LEAST_COUNTS = (1, 1, 1, 2, 3, 4)
"""How often a symbol must have come after a context of 0, 1, ... symbols. What a text has once, another language will
hardly have; and it would take most of the space."""


@dataclass(frozen=True, slots=True)
class Library:
    """The n-gram of each language, by its code; their ids are those of the prior."""

    ngrams: Mapping[str, PackedNGram]

    @classmethod
    def count(
        cls,
        texts: Iterable[tuple[str, Iterable[str]]],
        vocabulary: Vocabulary,
        *,
        on_language: Callable[[str], None] | None = None,
    ) -> "Library":
        """Count the sentences of each language, one language at a time.

        One with more symbols than a byte can tell apart, such as Chinese, is left out, and so is one without text.
        """
        ngrams = {}
        for code, sentences in texts:
            counted = NGram.train(
                sentences, vocabulary, order=ORDER, smoothing=Smoothing.KNESER_NEY, least_counts=LEAST_COUNTS
            )
            packed = PackedNGram.of(counted)
            if packed is not None and len(packed.symbols):
                ngrams[code] = packed
            if on_language is not None:
                on_language(code)
        return cls(ngrams)

    def without(self, codes: Collection[str]) -> "Library":
        """The other languages."""
        return Library({code: ngram for code, ngram in self.ngrams.items() if code not in codes})

    def parts(self) -> dict[str, NDArray[Any]]:
        """All arrays, by language and name."""
        return {
            f"{code}.{part}": array for code, ngram in self.ngrams.items() for part, array in ngram.parts().items()
        }

    @classmethod
    def from_parts(cls, arrays: Mapping[str, NDArray[Any]], *, vocabulary_size: int, name: str) -> "Library":
        """The library that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        by_code: dict[str, dict[str, NDArray[Any]]] = {}
        for key, array in arrays.items():
            code, _, part = key.rpartition(".")
            if not code.isprintable():
                raise StorageError(f"{name}: a language called {code!a}; wanted a code that can be printed")
            by_code.setdefault(code, {})[part] = np.asarray(array)
        return cls(
            {
                code: PackedNGram.from_parts(parts, vocabulary_size=vocabulary_size, name=f"{name}: {code}")
                for code, parts in sorted(by_code.items())
            }
        )
