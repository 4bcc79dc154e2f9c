"""A model that learns as it reads."""

import copy
import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.errors import StorageError
from protoglot.reading import kernel
from protoglot.reading.characters import NUM_CLASSES, class_of
from protoglot.reading.evidence import Batch, Evidence, Mark
from protoglot.reading.nearness import nearness
from protoglot.reading.scorer import NOT_MET, UNKNOWN, Scorer
from protoglot.reading.scoring import places_forward, score_batch

KIND = "reader"
_ADAPTIVE = ("output_layers", "gradient", "first_moment", "second_moment", "counts")
_PIECE = 256  # characters whose evidence is in memory at once


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, and how surprising each of its characters was."""

    text: str

    bits: NDArray[np.float64]
    """Surprisal of every character, line feeds included, (T,)."""

    @property
    def total_bits(self) -> float:
        """Of the whole text."""
        return math.fsum(self.bits.tolist())

    @property
    def bits_per_character(self) -> float:
        """Mean; not a number for an empty text."""
        return self.total_bits / len(self.bits) if len(self.bits) else math.nan


@dataclass(frozen=True, slots=True)
class Prediction:
    """What comes next."""

    characters: Sequence[str]
    """Those that were met, and those that were not but that other languages have."""

    probabilities: NDArray[np.float64]
    """Of these characters."""

    rest: float
    """Probability of all other characters together."""

    def most_likely(self, number: int) -> list[tuple[str, float]]:
        """The likeliest characters, the likeliest first."""
        order = np.argsort(-self.probabilities, kind="stable")[:number]
        return [(self.characters[i], float(self.probabilities[i])) for i in order]


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A piece of text with its evidence, and what the first layers make of it."""

    text: str
    num_met: int
    """Characters met before it."""

    batch: Batch
    columns: NDArray[np.int64]
    """(P,) candidates of each position."""

    letters: NDArray[np.int64]
    """(V + 1,) of each candidate."""

    kinds: NDArray[np.int64]
    """(V + 1,) class of each candidate."""

    z: NDArray[np.float32]
    """(P, Z) hidden units of the place."""

    queries: NDArray[np.float32]
    """(P, Q + 1) of the network of letters."""


@dataclass(frozen=True, slots=True)
class ReaderMark:
    """A place in what was read, to go back to (:meth:`Reader.undo`)."""

    evidence: Mark
    counts: NDArray[np.float32]
    adaptive: tuple[NDArray[Any], ...]
    """Empty where nothing is learned online."""


class Reader:
    """Predicts a text character by character, and learns from each once it has come.

    A line feed ends a sentence and is a character like any other. Every distribution is over all code points of
    Unicode, lone surrogates included, so any ``str`` can be read.

    Args:
        scorer: what turns evidence into probabilities.
        language: code or name of the language; may be empty. Of a code that URIEL has, near languages are known, whose
            words and letters are expected first (:mod:`protoglot.reading.nearness`).
        with_letters: whether the scorer's network of letters is used; without it, a reader is faster.
        learn_online: whether the corrections of the scorer are learned.
    """

    def __init__(
        self, scorer: Scorer, *, language: str = "", with_letters: bool = True, learn_online: bool = True
    ) -> None:
        self.scorer = scorer
        self.language = language
        self.with_letters = with_letters
        self.learn_online = learn_online
        self.provenance: dict[str, object] = {}
        self._know_near(nearness(language, scorer.lexicons.codes))
        self._counts = np.zeros(64, np.float32)
        self._letters = np.zeros(64, np.int64)
        self._kinds = np.full(64, NUM_CLASSES, np.int64)
        self._letters[0] = NOT_MET
        start = self.scorer.output_layers
        self._adaptive: tuple[NDArray[Any], ...] = (
            start.copy(), np.zeros_like(start), np.zeros_like(start), np.zeros_like(start), np.zeros(2, np.int64),
        )  # fmt: skip
        self._know_new_symbols(0)

    def _know_near(self, near: NDArray[np.float64] | None) -> None:
        """Begin to read, with near languages known or not."""
        self._near = near
        self._change: NDArray[np.float64] | None = None
        if near is not None:
            self._change = self.scorer.lexicons.change_of_frequency(near, self.scorer.first.characters)
        self._evidence = Evidence(self.scorer.lexicons, nearness=near)

    @property
    def num_characters(self) -> int:
        """Characters read so far."""
        return self._evidence.length

    @property
    def text(self) -> str:
        """All that was read."""
        characters = self._evidence.characters
        return "".join([characters[symbol] for symbol in self._evidence.text[: self._evidence.length].tolist()])

    @property
    def characters(self) -> list[str]:
        """The characters met, the first first; line feed and blank are known from the start."""
        return self._evidence.characters[: int(self._evidence.num_symbols[0])]

    def read(self, text: str, *, on_progress: Callable[[int], None] | None = None) -> Reading:
        """Read on: how surprising each character is, and learn from it.

        Args:
            text: any; every character counts as it stands, and a line feed ends a sentence.
            on_progress: called with the number of characters of each piece that was read.
        """
        pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        bits: list[NDArray[np.float64]] = []
        coming: Future[_Gathered] | None = None
        try:
            for number, piece in enumerate(pieces, start=1):
                gathered = self._gather(piece) if coming is None else coming.result()
                coming = None
                if number < len(pieces):
                    coming = _pool(os.getpid()).submit(self._gather, pieces[number])
                bits.append(self._bits_of(gathered))
                if on_progress is not None:
                    on_progress(len(piece))
        finally:
            if coming is not None:  # after an interruption; nobody may go back to a mark meanwhile
                wait([coming])
        return Reading(text, np.concatenate([np.zeros(0), *bits]))

    def score(self, text: str) -> Reading:
        """How surprising a text is if it comes next; the reader is as it was afterwards.

        Within the text, what comes later is predicted with what came earlier.
        """
        mark = self.mark()
        try:
            return self.read(text)
        finally:
            self.undo(mark)
            self.forget(mark)

    def predict(self) -> Prediction:
        """What comes next."""
        met = self.characters
        gathered = self._look(self._evidence.next())
        _, probabilities = self._predict(gathered, is_known=False)
        num_met = len(met)
        known, outside = self._first_probabilities(met, self._last_class(), gathered.queries[0])
        new = np.flatnonzero(np.isfinite(known))
        novel = probabilities[kernel.NOVEL]
        return Prediction(
            characters=[*met, *(self.scorer.first.characters[i] for i in new)],
            probabilities=np.concatenate([probabilities[1 : num_met + 1], novel * np.exp(known[new])]),
            rest=float(novel * math.exp(outside)),
        )

    def predict_met(self) -> NDArray[np.float64]:
        """Probability of each character met, after that of all others together; (V + 1,), quicker than all of it."""
        return self._predict(self._look(self._evidence.next()), is_known=False)[1]

    def fingerprint(self) -> str:
        """SHA-256 of all that decides what comes next: readers that agree in it predict the same."""
        digest = hashlib.sha256(f"{self.scorer.identity} {self.with_letters} {self.learn_online} ".encode())
        if self._near is not None:
            digest.update(b"near")
            digest.update(self._near.tobytes())
        digest.update(self.text.encode("utf-8", "surrogatepass"))
        for array in self._adaptive:
            digest.update(array.tobytes())
        return digest.hexdigest()

    def mark(self) -> ReaderMark:
        """Remember this place."""
        adaptive = tuple(array.copy() for array in self._adaptive) if self.learn_online else ()
        return ReaderMark(self._evidence.mark(), self._counts.copy(), adaptive)

    def undo(self, mark: ReaderMark) -> None:
        """Go back to a mark, as if nothing had been read since; the mark can be used again, later ones are gone.

        Raises:
            ValueError: if the mark was forgotten, is gone, or is of another reader.
        """
        self._evidence.go_back(mark.evidence)
        self._counts[:] = 0
        self._counts[: len(mark.counts)] = mark.counts
        if mark.adaptive:
            for array, before in zip(self._adaptive, mark.adaptive, strict=True):
                array[:] = before

    def forget(self, mark: ReaderMark) -> None:
        """A mark is not needed any more; nothing happens if it is gone already."""
        self._evidence.forget(mark.evidence)

    def __copy__(self) -> Self:
        """A reader that has read the same and goes its own way."""
        twin = type(self)(self.scorer, with_letters=self.with_letters, learn_online=self.learn_online)
        twin.language = self.language
        twin.provenance = dict(self.provenance)
        twin._near = self._near
        twin._change = self._change
        twin._evidence = copy.copy(self._evidence)
        twin._counts = self._counts.copy()
        twin._letters = self._letters.copy()
        twin._kinds = self._kinds.copy()
        twin._adaptive = tuple(array.copy() for array in self._adaptive)
        return twin

    def copy(self) -> Self:
        """A reader that has read the same and goes its own way."""
        return copy.copy(self)

    def save(self, path: str | Path, *, provenance: Mapping[str, object] | None = None) -> None:
        """Write the reader as a directory: what it has read, and its online weights; the scorer is not in it.

        Raises:
            StorageError: if it cannot be written.
        """
        evidence = self._evidence
        read = np.array([ord(character) for character in evidence.characters], np.uint32)
        save_artefact(
            Path(path),
            kind=KIND,
            content={
                "scorer": self.scorer.identity,
                "language": self.language,
                "with_letters": self.with_letters,
                "learn_online": self.learn_online,
                "provenance": dict(self.provenance if provenance is None else provenance),
            },
            tensors={
                "reader": {
                    "characters": read,
                    "text": evidence.text[: evidence.length].astype(np.uint32),
                    "near": np.zeros(0) if self._near is None else self._near,
                    **dict(zip(_ADAPTIVE, self._adaptive, strict=True)),
                }
            },
        )

    @classmethod
    def load(cls, path: str | Path, scorer: Scorer) -> Self:
        """Read what :meth:`save` wrote.

        Args:
            path: the directory.
            scorer: the one that the reader was saved with.

        Raises:
            StorageError: if it is missing or damaged, or was made with another scorer.
        """
        content, files = load_artefact(Path(path), kind=KIND)
        tensors = files.get("reader", {})
        if content.get("scorer") != scorer.identity:
            raise StorageError(
                f"{path}: made with scorer {str(content.get('scorer'))[:12]}, this is {scorer.identity[:12]}; "
                "wanted the same release of protoglot, or the same bundle"
            )
        reader = cls(
            scorer,
            with_letters=content.get("with_letters") is not False,
            learn_online=content.get("learn_online") is not False,
        )
        reader.language = str(content.get("language", ""))
        provenance = content.get("provenance")
        reader.provenance = dict(provenance) if isinstance(provenance, dict) else {}
        try:
            near = tensors.get("near", np.zeros(0))
            if near.shape not in ((0,), (len(scorer.lexicons.codes),)) or not np.isfinite(near).all():
                raise ValueError(f"near of shape {near.shape}; wanted a number for each lexicon")
            reader._know_near(near.astype(np.float64) if len(near) else None)
            characters = [chr(code) for code in tensors["characters"].tolist()]
            text = "".join(characters[symbol] for symbol in tensors["text"].tolist())
            reader._count(text)
            for array, name in zip(reader._adaptive, _ADAPTIVE, strict=True):
                if tensors[name].shape != array.shape:
                    raise ValueError(f"{name} of shape {tensors[name].shape}; wanted {array.shape}")
                array[:] = tensors[name]
        except (KeyError, IndexError, ValueError, OverflowError) as error:
            raise StorageError(f"{path}: not what a reader holds ({error}); wanted a saved reader") from error
        return reader

    def _count(self, text: str) -> None:
        """Take a text into the counts alone."""
        evidence = self._evidence
        num_known = len(evidence.characters)
        symbols = evidence.encode(text)
        self._know_new_symbols(num_known)
        evidence.read_symbols(symbols, np.zeros(len(symbols), np.uint8))
        np.add.at(self._counts, symbols + 1, np.float32(1.0))

    def _gather(self, text: str) -> _Gathered:
        """Evidence of the next piece, and what the first layers make of it; they do not learn, so they may be ahead."""
        evidence = self._evidence
        num_known = len(evidence.characters)
        symbols = evidence.encode(text)
        self._know_new_symbols(num_known)
        num_met = int(evidence.num_symbols[0])
        gathered = self._look(evidence.read_symbols(symbols, np.ones(len(symbols), np.uint8)), text, num_met)
        np.add.at(self._counts, symbols + 1, np.float32(1.0))
        return gathered

    def _look(self, batch: Batch, text: str = "", num_met: int = 0) -> _Gathered:
        num_positions = len(batch.position)
        weights = self.scorer.weights
        gathered = _Gathered(
            text=text,
            num_met=num_met,
            batch=batch,
            columns=np.isfinite(batch.base).sum(axis=1).astype(np.int64),
            letters=self._letters,
            kinds=self._kinds,
            z=np.empty((num_positions, len(weights["p2_bias"])), np.float32),
            queries=np.zeros((num_positions, len(weights["lo_bias"]) + 1), np.float32),
        )
        places_forward(
            self._evidence.text, self.with_letters, gathered.letters, gathered.kinds, self._counts.copy(),
            (batch.position, batch.place, batch.base, gathered.columns), self.scorer.first_layers,
            gathered.z, gathered.queries,
        )  # fmt: skip
        return gathered

    def _predict(self, gathered: _Gathered, *, is_known: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Nats of what came at each position, learned from if it is known, and the last distribution."""
        batch = gathered.batch
        nats, probabilities = np.zeros(len(batch.position)), np.zeros(batch.base.shape[1])
        evidence = (
            batch.base, batch.target, batch.pointer, batch.row, batch.context, batch.cell, batch.entry,
            gathered.columns,
        )  # fmt: skip
        score_batch(
            self.with_letters, gathered.letters, gathered.kinds, evidence, self.scorer.candidate_layers, gathered.z,
            gathered.queries, self._adaptive, is_known, self.learn_online, nats, probabilities,
        )  # fmt: skip
        return nats, probabilities

    def _bits_of(self, gathered: _Gathered) -> NDArray[np.float64]:
        """Bits of a piece."""
        nats, _ = self._predict(gathered, is_known=True)
        batch, num_met = gathered.batch, gathered.num_met
        for i in np.flatnonzero(batch.target == kernel.NOVEL):
            nats[i] += self._first_cost(gathered.text[i], int(batch.position[i]), num_met, gathered.queries[i])
            num_met += 1
        return nats / math.log(2)

    def _know_new_symbols(self, start: int) -> None:
        """Letters and classes of characters that the evidence has numbered."""
        characters = self._evidence.characters
        size = len(self._counts)
        while size < len(characters) + 2:
            size *= 2
        if size > len(self._counts):
            extra = size - len(self._counts)
            self._counts = np.concatenate([self._counts, np.zeros(extra, np.float32)])
            self._letters = np.concatenate([self._letters, np.zeros(extra, np.int64)])
            self._kinds = np.concatenate([self._kinds, np.full(extra, NUM_CLASSES, np.int64)])
        for symbol in range(start, len(characters)):
            self._letters[symbol + 1] = self.scorer.known.get(characters[symbol], UNKNOWN)
            self._kinds[symbol + 1] = class_of(characters[symbol])

    def _last_class(self) -> int:
        evidence = self._evidence
        if evidence.length == 0:
            return NUM_CLASSES
        return int(self._kinds[evidence.text[evidence.length - 1] + 1])

    def _first_probabilities(
        self, met: Sequence[str], before: int, query: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], float]:
        letters = np.zeros(len(self.scorer.first.characters))
        if self.with_letters:
            letters = self.scorer.letter_scores(query)
        return self.scorer.first.log_probabilities(met, before, letters, self._change)

    def _first_cost(self, character: str, position: int, num_met: int, query: NDArray[np.float32]) -> float:
        """Nats of naming a character that comes for the first time."""
        met = self._evidence.characters[:num_met]
        before = NUM_CLASSES if position == 0 else int(self._kinds[self._evidence.text[position - 1] + 1])
        known, outside = self._first_probabilities(met, before, query)
        index = self.scorer.first.index.get(character)
        if index is not None:
            return -float(known[index])
        return -(outside + self.scorer.first.log_share_outside(character, met))


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """A thread of this process that reads ahead; a child process, which inherits none, asks with its own number."""
    return ThreadPoolExecutor(1, thread_name_prefix=f"reader-{process}")
