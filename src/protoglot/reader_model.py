"""A reader and the uses of it: it needs no PyTorch."""

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from protoglot.completion import Outlook
from protoglot.generation import GenerationConfig, write
from protoglot.own_lines import OwnLines, lines_to_measure
from protoglot.reading.reader import Reader, ReaderMark, Reading
from protoglot.reading.scorer import Scorer
from protoglot.reading.shipped import shipped_scorer
from protoglot.scores import Score
from protoglot.text import LINE_BREAK, normalise_beginning

if TYPE_CHECKING:
    from protoglot.ngram import NGram

Floats = NDArray[np.float64]

_NEXT_MARK = 256
"""Characters after which the typed text is marked, so that taking some back reads at most as many again."""

_LEXICON = 200_000
"""Last characters read whose words are guessed when a text is completed."""

_NUM_GUESSES = 8

_PAIR = 20
"""How much more a word counts that came after the very word before."""

_LEAST = 1e-8
"""Characters that are less probable than this are not looked at."""

_MOST_EXPLORED = 4000
"""Outlooks that are remembered for the next keystroke, at ten kilobytes or less; beyond, those out of reach go."""


PREDICTED, OWN_LINES = "predicted", "own_lines"
"""Where a model's provenance has how well its page was predicted, and what lines of its language cost."""


@dataclass(frozen=True, slots=True)
class ReaderModel:
    """A language as a reader knows it.

    Texts are sentences, each of which is read with the line feed that ends it.
    """

    reader: Reader

    provenance: Mapping[str, object] = field(default_factory=dict)
    """How it was made."""

    @property
    def language(self) -> str:
        """Code or name of the language; may be empty."""
        return self.reader.language

    @property
    def num_characters(self) -> int:
        """Characters read, ends of sentences included."""
        return self.reader.num_characters

    def has_met(self, character: str) -> bool:
        """Whether a character was read before."""
        return character in self.reader.characters

    def sentences_read(self) -> frozenset[str]:
        """The sentences that it has read."""
        return frozenset(self.reader.text.split(LINE_BREAK)) - {""}

    def read(self, sentences: Iterable[str]) -> Iterator[tuple[str, Floats]]:
        """Read on, and change the reader.

        Yields:
            Each sentence of T characters with the nats of these and of its end, (T + 1,).
        """
        return _read(self.reader, sentences)

    def nats_by_sentence(self, sentences: Iterable[str], *, static: bool = False) -> Iterator[tuple[str, Floats]]:
        """Cost of every character and end of sentence; the reader is left as it is.

        Args:
            sentences: a running text.
            static: score each sentence as if it came next, rather than after those before it.

        Yields:
            Each sentence of T characters with its nats, (T + 1,).
        """
        if not static:
            yield from _read(self.reader.copy(), sentences)
            return
        for sentence in sentences:
            yield sentence, self.reader.score(sentence + LINE_BREAK).bits * math.log(2)

    def score(self, sentences: Iterable[str], *, static: bool = False) -> Score:
        """Log loss of a text (see :meth:`nats_by_sentence`)."""
        chosen = list(sentences)
        # One sentence is scored without a copy of the reader.
        nats = [costs for _, costs in self.nats_by_sentence(chosen, static=static or len(chosen) == 1)]
        return Score(math.fsum(float(cost) for costs in nats for cost in costs), sum(map(len, nats)))

    def lookahead(self) -> "ReaderLookahead":
        """Look ahead from where the reader stands."""
        return ReaderLookahead(self.reader)

    def write(self, config: GenerationConfig, *, number: int, seed: int) -> list[str]:
        """Sample texts; the reader learns from each text while it writes it, and forgets it afterwards."""
        texts = ReaderText(self.reader.copy())
        start = None if config.start is None else normalise_beginning(config.start)
        written = []
        for sample in range(number):
            generator = np.random.default_rng([seed, sample])
            written += write(texts, replace(config, start=start), number=1, generator=generator)
            texts.begin_again()
        return [(config.start or "") + text for text in written]

    @property
    def own_lines(self) -> OwnLines | None:
        """What lines cost that it had not read; ``None`` if the page was short, or nobody has measured it.

        Raises:
            StorageError: if the model states something else.
        """
        return OwnLines.from_json(self.provenance.get(OWN_LINES))

    def background_nats(self, sentence: str) -> float:
        """What a sentence costs a reader that has read nothing, in nats."""
        return _fresh(self.reader).read(sentence + LINE_BREAK).total_bits * math.log(2)

    def most_nats(self, sentence: str) -> float:
        """What a sentence may cost if it is in the language: as much as by the background, or what was measured."""
        own_lines = self.own_lines
        share = 1.0 if own_lines is None else own_lines.most_share
        return share * self.background_nats(sentence)

    def ngram(self, order: int) -> "NGram | None":
        """A Kneser-Ney n-gram of all that was read, for other programs; ``None`` if that is nothing.

        Args:
            order: symbols of the longest context, plus one.
        """
        from protoglot.ngram import NGram, Smoothing
        from protoglot.vocabulary import Vocabulary

        sentences = [sentence for sentence in self.reader.text.split(LINE_BREAK) if sentence]
        if not sentences:
            return None
        return NGram.train(sentences, Vocabulary.of(sentences), order=order, smoothing=Smoothing.KNESER_NEY)

    def save(self, path: Path) -> None:
        """Write the reader as one directory of safetensors and JSON, which can be moved, zipped and shared."""
        self.reader.save(path, provenance=self.provenance)

    @classmethod
    def load(cls, path: Path, scorer: Scorer | None = None) -> "ReaderModel":
        """Read what :meth:`save` wrote.

        Args:
            path: its directory.
            scorer: the one it was made with; by default the one that is installed.

        Raises:
            StorageError: if it is damaged, something else, or was made with another scorer.
        """
        reader = Reader.load(path, scorer or shipped_scorer())
        return cls(reader, reader.provenance)


def _read(reader: Reader, sentences: Iterable[str]) -> Iterator[tuple[str, Floats]]:
    for sentence in sentences:
        yield sentence, reader.read(sentence + LINE_BREAK).bits * math.log(2)


def _fresh(reader: Reader) -> Reader:
    """One of the same kind that has read nothing and knows no language."""
    return Reader(reader.scorer, with_letters=reader.with_letters)


def read_page(
    reader: Reader,
    sentences: Sequence[str],
    provenance: Mapping[str, object],
    *,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[ReaderModel, Reading]:
    """Read a page, and measure how well its lines were predicted that had not been read.

    Args:
        reader: which is changed.
        sentences: of the page.
        provenance: how the model is made; what is measured is added.
        on_progress: called with the share of the work that was done since.
    """
    page = page_of(sentences)
    ends = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)])
    measured = list(lines_to_measure(sentences))
    # A line that is predicted by two readers is read twice.
    amount = len(page) + sum(len(sentences[place]) + 1 for place in measured)

    def advance(num_characters: int) -> None:
        if on_progress is not None:
            on_progress(num_characters / amount)

    reading = reader.read(page, on_progress=advance)
    background = _fresh(reader)
    shares = []
    for place in measured:
        bits = math.fsum(reading.bits[ends[place] : ends[place + 1]].tolist())
        shares.append(bits / background.score(sentences[place] + LINE_BREAK).total_bits)
        advance(len(sentences[place]) + 1)
    found: dict[str, object] = {}
    if len(reading.bits):
        found[PREDICTED] = {
            "bits_per_character": reading.bits_per_character,
            "last_quarter": float(reading.bits[-quarter_of(reading) :].mean()),
        }
    if (own_lines := OwnLines.of(shares)) is not None:
        found[OWN_LINES] = own_lines.to_json()
    return ReaderModel(reader, {**provenance, **found}), reading


def quarter_of(reading: Reading) -> int:
    """Characters in a quarter of what was read, at least one."""
    return max(len(reading.bits) // 4, 1)


def page_of(sentences: Iterable[str]) -> str:
    """Sentences as a reader reads them, each with the line feed that ends it."""
    return "".join(sentence + LINE_BREAK for sentence in sentences)


class ReaderText:
    """A text that a reader writes on (:class:`protoglot.generation.Texts`, of one).

    Args:
        reader: which is changed.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._mark = reader.mark()

    def read(self, pieces: Sequence[str]) -> None:
        """Read on."""
        self._reader.read(pieces[0])

    def predict(self) -> tuple[Sequence[str], Floats]:
        """The characters that have a name: those met, and those of other languages."""
        found = self._reader.predict()
        with np.errstate(divide="ignore"):
            return found.characters, np.log(found.probabilities)[None]

    def characters(self) -> Sequence[str]:
        """Those met, but for the line feed."""
        return [character for character in self._reader.characters if character != LINE_BREAK]

    def begin_again(self) -> None:
        """Forget what was written."""
        self._reader.undo(self._mark)


class Lexicon:
    """The words of a text, and how often each came after each other.

    A word is what stands between two blanks or line breaks.

    Args:
        text: begins and ends anywhere.
    """

    def __init__(self, text: str) -> None:
        self._counts: Counter[str] = Counter()
        self._after: dict[str, Counter[str]] = {}
        for line in text.split(LINE_BREAK):
            before = ""
            for word in line.split():
                self._counts[word] += 1
                self._after.setdefault(before, Counter())[word] += 1
                before = word
        self._sorted = sorted(self._counts)
        self._frequent = [word for word, _ in self._counts.most_common(_NUM_GUESSES)]

    def rests(self, typed: str) -> list[str]:
        """Rests of the word that a text ends in, or next words after a blank: of words that are worth a look."""
        line = typed.rsplit(LINE_BREAK, 1)[-1]
        words = line.split()
        begun = words.pop() if words and not line[-1].isspace() else ""
        after = self._after.get(words[-1] if words else "", Counter())
        if begun:
            stop = bisect_left(self._sorted, begun + chr(0x10FFFF))
            known = self._sorted[bisect_left(self._sorted, begun) : stop]
        else:
            known = [*self._frequent, *(word for word, _ in after.most_common(_NUM_GUESSES))]
        best = heapq.nlargest(
            _NUM_GUESSES, set(known), key=lambda word: (_PAIR * after[word] + self._counts[word], word)
        )
        return [word[len(begun) :] for word in best]


class ReaderLookahead:
    """A reader that looks ahead (:class:`protoglot.completion.Lookahead`).

    Args:
        reader: left as it is.
    """

    side_by_side = 1
    most_read = 16

    def __init__(self, reader: Reader) -> None:
        self._reader = reader.copy()
        self._lexicon = Lexicon(reader.text[-_LEXICON:])
        self._text = ""
        self._marks: list[tuple[int, ReaderMark]] = [(0, self._reader.mark())]  # by length of the text before them
        self._here: ReaderMark | None = None  # at the end of the text, from when one looks ahead
        self._beyond = ""  # what the reader has read beyond the text
        self._explored: dict[str, Outlook] = {}  # by the whole text before them

    def go_to(self, text: str) -> None:
        """Stand at the end of a text."""
        self._come_back()
        if self._here is not None:
            self._reader.forget(self._here)
            self._here = None
        if not text.startswith(self._text):
            shared = 0
            while shared < min(len(text), len(self._text)) and text[shared] == self._text[shared]:
                shared += 1
            while self._marks[-1][0] > shared:
                self._reader.undo(self._marks[-1][1])
                self._reader.forget(self._marks.pop()[1])
            length, mark = self._marks[-1]
            self._reader.undo(mark)
            self._text = text[:length]
        while self._text != text:
            piece = text[len(self._text) : self._marks[-1][0] + _NEXT_MARK]
            self._reader.read(piece)
            self._text += piece
            if len(self._text) == self._marks[-1][0] + _NEXT_MARK:
                self._marks.append((len(self._text), self._reader.mark()))
        if len(self._explored) > _MOST_EXPLORED:
            self._explored = {
                before: outlook for before, outlook in self._explored.items() if before.startswith(text)
            }

    def after(self, rests: Sequence[str]) -> list[Outlook]:
        """What may come after each continuation of the text."""
        found = []
        for rest in rests:
            outlook = self._explored.get(self._text + rest)
            if outlook is None:
                self._go_beyond(rest)
                prediction = self._reader.predict()
                kept = np.flatnonzero(prediction.probabilities > _LEAST).tolist()
                outlook = Outlook([prediction.characters[i] for i in kept], prediction.probabilities[kept])
                self._explored[self._text + rest] = outlook
            found.append(outlook)
        return found

    def guesses(self) -> Sequence[tuple[str, float]]:
        """Rests of words that were read before."""
        return [(rest, 2.0 ** -self._bits_of(rest)) for rest in self._lexicon.rests(self._text)]

    def _bits_of(self, rest: str) -> float:
        """Of a continuation of the text."""
        self._come_back()
        self._go_beyond("")
        bits = self._reader.read(rest).total_bits
        self._beyond = rest
        return bits

    def _go_beyond(self, rest: str) -> None:
        if self._here is None:
            self._here = self._reader.mark()
        if not rest.startswith(self._beyond):
            self._come_back()
        self._reader.read(rest[len(self._beyond) :])
        self._beyond = rest

    def _come_back(self) -> None:
        if self._here is not None and self._beyond:
            self._reader.undo(self._here)
            self._beyond = ""
