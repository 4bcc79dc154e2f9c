r"""The n-gram of some sentences, together with those of a few languages that are like theirs.

Xhosa is not Zulu, but what follows four letters of Zulu is a good guess at what follows them in Xhosa. For a context
of which the n-gram of the sentences knows the last d symbols,

.. math:: P(c \mid h) = w_{d,0} P_0(c \mid h) + \sum_j w_{d,j} P_j(c \mid h),

where :math:`P_0` is that n-gram and the :math:`P_j` are n-grams of languages that the prior has read. Which languages,
and the weights, make the sentences themselves likeliest: each is predicted by an n-gram of the others (of a long text,
some are). A language that is like no other has no neighbours.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.neighbours.joint import join_ngrams
from protoglot.neighbours.library import Library
from protoglot.neighbours.packed import PackedNGram
from protoglot.ngram import NGram, ids_before
from protoglot.vocabulary import Vocabulary

_FEWEST = 3
"""Different sentences, of which something can be told."""

_NUM_FOLDS = 10
_MANY_CHARACTERS = 60_000
"""Of a longer text, some sentences are held out once; of a shorter one, all in turn."""

_MOST_HELD_OUT = 20_000
"""Characters, or one sentence."""

_LONGEST = 1000
"""Characters of a sentence that are scored, from its begin: some lines hold a whole chapter."""

_CHARACTERS_AT_FIRST = 3000
"""On so many all languages are compared; those that look like it then on all."""

_NUM_AT_FIRST = 8
_MOST = 4
"""Neighbours that a model keeps."""

_LEAST_WEIGHT = 0.01
_STEPS = 50
_CHARACTERS_OF_ALL_DEPTHS = 20.0
"""Weights for one depth start from those for all, as if so many characters had asked for these."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourModel:
    """A few languages and how far each is to be trusted."""

    packed: Mapping[str, PackedNGram]
    """The languages, by code."""

    joint: NGram
    """The same in one, over the vocabulary of the model: see :mod:`protoglot.neighbours.joint`."""

    weights: Floats
    """By length of the context that the model's own n-gram knows, (D, 1 + J): that of its own first, then theirs."""

    @classmethod
    def choose(
        cls, library: Library, sentences: Sequence[str], vocabulary: Vocabulary, own: NGram
    ) -> "NeighbourModel | None":
        """Find the languages that are most like some sentences, if there are any.

        Args:
            library: languages to choose from.
            sentences: of the new language; of one or two nothing can be told.
            vocabulary: whose first ids are those of the library.
            own: the n-gram of the sentences.
        """
        if len(set(sentences)) < _FEWEST or not library.ngrams:
            return None
        scored, costs, depths = _held_out(sentences, vocabulary, own)
        some = _first_sentences(scored, _CHARACTERS_AT_FIRST)
        num_some = sum(len(sentence) + 1 for sentence in some)
        compared = np.stack(
            [
                costs[:num_some],
                *(packed.unpack(vocabulary).nats(some) for packed in library.ngrams.values()),
            ]
        )
        shares = _expectation_maximisation(np.exp(-compared))[1:]
        codes = list(library.ngrams)
        hopeful = [codes[place] for place in np.argsort(-shares)[:_NUM_AT_FIRST]]
        ngrams = {code: library.ngrams[code].unpack(vocabulary) for code in hopeful}
        likelihoods = np.exp(-np.stack([costs, *(ngrams[code].nats(scored) for code in hopeful)]))
        shares = _expectation_maximisation(likelihoods)[1:]
        kept = [place for place in np.argsort(-shares)[:_MOST] if shares[place] >= _LEAST_WEIGHT]
        if not kept:
            return None
        chosen = [hopeful[place] for place in kept]
        likelihoods = likelihoods[[0, *(1 + place for place in kept)]]
        overall = _expectation_maximisation(likelihoods)
        weights = np.tile(overall, (own.order, 1))
        for depth in range(own.order):
            there = likelihoods[:, depths == depth]
            weights[depth] = _expectation_maximisation(there, overall, _CHARACTERS_OF_ALL_DEPTHS)
        return cls(
            packed={code: library.ngrams[code] for code in chosen},
            joint=join_ngrams([ngrams[code] for code in chosen]),
            weights=weights,
        )

    def shares(self) -> dict[str, float]:
        """How far each neighbour is trusted, on average over all depths, the most trusted first."""
        found = dict(zip(self.packed, self.weights.mean(axis=0)[1:].tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def along(self, sentences: Sequence[str], *, positions_at_once: int) -> Iterator[tuple[Floats, ...]]:
        """What each neighbour predicts along a text: (N, V - 1) each, for the next N positions."""
        walks = [
            self.joint.along(sentences, positions_at_once=positions_at_once, root=root)
            for root in range(len(self.packed))
        ]
        yield from zip(*walks, strict=True)

    def after(self, contexts: Sequence[Sequence[int]]) -> tuple[Floats, ...]:
        """What each neighbour predicts after some ids of each of N sentences."""
        before, number = ids_before(contexts, self.joint.order - 1), len(self.packed)
        roots = np.repeat(np.arange(number), len(before))
        return tuple(np.split(self.joint.after(np.tile(before, (number, 1)), roots), number))

    def mix(self, own: Floats, neighbours: Sequence[Floats], depth: Ints) -> Floats:
        """The prediction of all together.

        Args:
            own: of the model's own n-gram, (N, V - 1).
            neighbours: of each neighbour, (N, V - 1).
            depth: length of the context that the own n-gram knows, (N,).
        """
        weights = self.weights[np.minimum(depth, len(self.weights) - 1)]  # (N, 1 + J)
        total: Floats = own * weights[:, :1]
        for number, found in enumerate(neighbours, start=1):
            total += found * weights[:, number : number + 1]
        return total

    def parts(self) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
        """The model as JSON values and arrays."""
        arrays: dict[str, NDArray[Any]] = {"weights": self.weights}
        return {"languages": list(self.packed)}, {**arrays, **Library(self.packed).parts()}

    @classmethod
    def from_parts(
        cls,
        facts: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        vocabulary: Vocabulary,
        *,
        order: int,
        name: str,
    ) -> "NeighbourModel":
        """The model that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        others = dict(arrays)
        weights, codes = others.pop("weights", None), facts.get("languages")
        library = Library.from_parts(others, vocabulary_size=len(vocabulary), name=name)
        if (
            not isinstance(codes, list)
            or not 1 <= len(codes) <= _MOST
            or sorted(map(str, codes)) != sorted(library.ngrams)
            or weights is None
            or weights.dtype != np.float64
            or weights.shape != (order, 1 + len(codes))
            or not (weights >= 0).all()
            or not np.allclose(weights.sum(axis=1), 1)
        ):
            raise StorageError(f"{name}: damaged neighbours; wanted languages and weights that add up to one")
        packed = {str(code): library.ngrams[str(code)] for code in codes}
        joint = join_ngrams([each.unpack(vocabulary) for each in packed.values()])
        return cls(packed=packed, joint=joint, weights=weights)


def _held_out(sentences: Sequence[str], vocabulary: Vocabulary, own: NGram) -> tuple[list[str], Floats, Ints]:
    """Sentences, what n-grams of others pay for each of their symbols, and the lengths of the contexts these know."""
    distinct = list(dict.fromkeys(sentences))  # what is scored must not be learned from
    num_characters = sum(len(sentence) + 1 for sentence in distinct)
    if num_characters > _MANY_CHARACTERS:
        spread = distinct[:: max(num_characters // _MOST_HELD_OUT, 2)]  # from all over the text
        folds = [_first_sentences(spread, _MOST_HELD_OUT)]
    else:
        number = min(_NUM_FOLDS, len(distinct))
        folds = [distinct[first::number] for first in range(number)]
    scored: list[str] = []
    costs, depths = [], []
    for fold in folds:
        held_out = set(fold)
        others = [sentence for sentence in sentences if sentence not in held_out]
        ngram = NGram.train(others, vocabulary, order=own.order, smoothing=own.smoothing)
        begins = [sentence[:_LONGEST] for sentence in fold]
        scored += begins
        costs.append(ngram.nats(begins))
        depths.append(ngram.depths(begins))
    return scored, np.concatenate(costs), np.concatenate(depths)


def _first_sentences(sentences: Sequence[str], num_characters: int) -> list[str]:
    """The first sentences with at least so many characters together, or all."""
    lengths = np.cumsum([len(sentence) + 1 for sentence in sentences])
    return list(sentences[: int(np.searchsorted(lengths, num_characters)) + 1])


def _expectation_maximisation(likelihoods: Floats, start: Floats | None = None, strength: float = 0.0) -> Floats:
    """Weights of a linear mixture that make a text likeliest.

    Args:
        likelihoods: of each symbol by each component, (components, symbols).
        start: weights to start from; even ones if ``None``.
        strength: of a prior at the start, as a number of symbols.
    """
    first = np.full(len(likelihoods), 1 / len(likelihoods)) if start is None else start
    weights = first
    for _ in range(_STEPS):
        shares = likelihoods * weights[:, None]
        shares /= shares.sum(axis=0)
        weights = (shares.sum(axis=1) + strength * first) / (likelihoods.shape[1] + strength)
    found: Floats = weights / weights.sum()
    return found
