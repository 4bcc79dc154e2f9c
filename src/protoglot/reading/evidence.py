"""What has been read so far, counted: the state of the compiled kernel, and its evidence for the next character."""

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from protoglot.reading import kernel
from protoglot.reading.characters import Class, base_letter, class_of, folded, is_word_character
from protoglot.reading.kernel import NUM_CHAIN, NUM_CONTEXTS, NUM_COUNTED, PLACE_FEATURES
from protoglot.reading.lexical import END, LONGEST_WORD
from protoglot.reading.lexicons import CHOICES, NUM_RELATIVES, Choice, Lexicons

DISCOUNTS = np.tile(np.array([0.75, 1.1, 1.3]), (NUM_CHAIN + 2, 1))
_CHUNK = 4096
_UNKNOWN = -1  # in place of the symbol that comes next


@dataclass(slots=True)
class Batch:
    """Evidence for the next symbol at some positions."""

    position: np.ndarray
    """(P,) where in the text."""
    base: np.ndarray
    """(P, V + 1) log probabilities of the chain; column 0 is a character not met yet; -inf for symbols not met yet."""
    target: np.ndarray
    """(P,) the column of what came."""
    place: np.ndarray
    """(P, F) features of the place."""
    pointer: np.ndarray
    """(P + 1,) where the entries of each position begin."""
    row: np.ndarray
    """(N,) candidate column of each entry."""
    context: np.ndarray
    """(N,) context of each entry."""
    cell: np.ndarray
    """(N,) which cell of its context each entry falls into, from 0 to contexts times cells."""
    entry: np.ndarray
    """(N, 4) features of each entry."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in what was read, to go back to."""

    num_notes: int
    length: int
    num_met: int
    num_characters: int
    num_folds: int
    sizes: np.ndarray
    place: np.ndarray
    gains: np.ndarray
    costs: np.ndarray
    table: np.ndarray
    """The very table of then: a larger one has taken its place where much was read since."""
    choice: Choice
    shares: np.ndarray
    word: np.ndarray
    is_met: np.ndarray


class Evidence:
    """Counts of all contexts over the text read so far, and what words of other languages say.

    Args:
        lexicons: those words.
        without: codes of languages whose words are not used.
        nearness: how near each language of the lexicons is known to be; it has a say in which are chosen.
    """

    def __init__(
        self,
        lexicons: Lexicons | None = None,
        *,
        without: Collection[str] = (),
        nearness: np.ndarray | None = None,
    ) -> None:
        self.lexicons = Lexicons.none() if lexicons is None else lexicons
        self._without = without
        self.nearness = nearness
        num_letters = len(self.lexicons.characters) + 1
        self.choice = self.lexicons.no_choice()
        self.shares = np.zeros(NUM_RELATIVES)
        self.word = np.zeros(LONGEST_WORD, np.int32)
        self.is_met = np.zeros(num_letters, np.uint8)
        self._room = (
            np.zeros((NUM_RELATIVES, num_letters)), np.zeros((NUM_RELATIVES, num_letters), np.int32),
            np.zeros(NUM_RELATIVES, np.int64), np.zeros((2, num_letters)), np.zeros((2, num_letters), np.int32),
            np.zeros(num_letters),
        )  # fmt: skip
        self.symbols: dict[str, int] = {}
        self.characters: list[str] = []
        self._folds: dict[str, int] = {}
        self.properties = np.zeros((64, kernel.PROPERTY_COLUMNS), np.int32)
        self.text = np.zeros(1024, np.int32)
        self.length = 0
        self.num_symbols = np.array([kernel.NUM_SYMBOLS_AT_START], np.int64)
        self.table = np.zeros(1 << 16, np.int32)
        self.nodes = np.zeros((1 << 14, kernel.NODE_COLUMNS), np.int32)
        self.entries = np.zeros((1 << 14, kernel.ENTRY_COLUMNS), np.int32)
        self.sizes = np.array([1, 0], np.int64)
        self.nodes[0, kernel.HASH_LOW] = 1
        self.nodes[0, kernel.HEAD] = self.nodes[0, kernel.LAST] = self.nodes[0, kernel.LAST_BUT_ONE] = -1
        self.nodes[0, kernel.TOP] = -1
        self.place = np.zeros(kernel.PLACE_COLUMNS, np.int64)
        self.gains = np.zeros((NUM_CONTEXTS, 4))
        self.costs = np.array([3.0, 3.0, 0.0, *[0.0] * kernel.NUM_LAST_COSTS])
        self.journal = np.zeros((1, kernel.JOURNAL_COLUMNS), np.int32)
        self.num_journal = np.array([-1], np.int64)
        self._marks: list[Mark] = []
        for character in "\n ":
            self.symbol_of(character)

    def __copy__(self) -> Self:
        """An independent copy, with no marks."""
        twin = type(self)(self.lexicons, without=self._without, nearness=self.nearness)
        room = twin._room
        for name, value in vars(self).items():
            setattr(twin, name, copy.copy(value))
        num_nodes, num_entries = self.sizes
        twin.nodes = self.nodes[: num_nodes + 1].copy()
        twin.entries = self.entries[: num_entries + 1].copy()
        twin.text = self.text[: self.length + 1].copy()
        twin.journal = np.zeros((1, kernel.JOURNAL_COLUMNS), np.int32)
        twin.num_journal = np.array([-1], np.int64)
        twin._marks = []
        twin._room = room
        twin.lexicons = self.lexicons
        return twin

    def mark(self) -> Mark:
        """Remember this place; until :meth:`forget` is called, changes are noted."""
        if not self._marks:
            self.num_journal[0] = 0
        mark = Mark(
            num_notes=int(self.num_journal[0]),
            length=self.length,
            num_met=int(self.num_symbols[0]),
            num_characters=len(self.characters),
            num_folds=len(self._folds),
            sizes=self.sizes.copy(),
            place=self.place.copy(),
            gains=self.gains.copy(),
            costs=self.costs.copy(),
            table=self.table,
            choice=self.choice,
            shares=self.shares.copy(),
            word=self.word.copy(),
            is_met=self.is_met.copy(),
        )
        self._marks.append(mark)
        return mark

    def forget(self, mark: Mark) -> None:
        """A mark is not needed any more; nothing happens if it is gone already."""
        self._marks = [other for other in self._marks if other is not mark]
        if not self._marks:
            self.num_journal[0] = -1

    def go_back(self, mark: Mark) -> None:
        """Take back all that was read since a mark; the mark stays, later marks are gone.

        Raises:
            ValueError: if the mark was forgotten, is gone, or is of another reader.
        """
        depth = next((i for i, other in enumerate(self._marks) if other is mark), None)
        if depth is None:
            raise ValueError("a mark that was forgotten or is of another reader; wanted one of this reader")
        del self._marks[depth + 1 :]
        kernel.go_back(
            self.table, self.nodes, self.entries, self.journal, mark.num_notes, int(self.num_journal[0]),
            self.table is mark.table,
        )  # fmt: skip
        self.num_journal[0] = mark.num_notes
        self.sizes[:] = mark.sizes
        self.place[:] = mark.place
        self.gains[:] = mark.gains
        self.costs[:] = mark.costs
        self.choice = mark.choice
        self.shares[:] = mark.shares
        self.word[:] = mark.word
        self.is_met[:] = mark.is_met
        self.num_symbols[0] = mark.num_met
        self.length = mark.length
        for character in self.characters[mark.num_characters :]:
            del self.symbols[character]
        del self.characters[mark.num_characters :]
        while len(self._folds) > mark.num_folds:
            self._folds.popitem()
        if self.table is not mark.table:
            self.table[:] = 0
            kernel.rebuild_table(self.table, self.nodes, int(self.sizes[0]))

    def symbol_of(self, character: str) -> int:
        """The number of a character, a new one if it was not met."""
        symbol = self.symbols.get(character)
        if symbol is None:
            symbol = len(self.symbols)
            self.symbols[character] = symbol
            self.characters.append(character)
            if symbol >= len(self.properties):
                self.properties = np.concatenate([self.properties, np.zeros_like(self.properties)])
            kind = class_of(character)
            lower = folded(character)
            fold = self._folds.setdefault(lower, len(self._folds))
            is_vowel = class_of(lower).name in ("VOWEL", "MARK")
            base = self._folds.setdefault(base_letter(character), len(self._folds))
            is_mark = kind == Class.MARK
            letter = self.lexicons.number_of(character)
            self.properties[symbol] = (kind, fold, is_word_character(character), is_vowel, base, is_mark, letter)
        return symbol

    def encode(self, text: str) -> np.ndarray:
        """Symbols of a text."""
        return np.array([self.symbol_of(character) for character in text], np.int32)

    def _make_room(self, num_characters: int) -> None:
        need = self.length + num_characters
        if need > len(self.text):
            self.text = np.concatenate([self.text, np.zeros(max(need, len(self.text)), np.int32)])
        need = int(self.sizes[0]) + (NUM_COUNTED + 1) * num_characters
        if need > len(self.nodes):
            extra = max(need - len(self.nodes), len(self.nodes) // 2)
            self.nodes = np.concatenate([self.nodes, np.empty((extra, kernel.NODE_COLUMNS), np.int32)])
        if 2 * need > len(self.table):
            size = len(self.table)
            while size < 2 * need:
                size *= 2
            self.table = np.zeros(size, np.int32)
            kernel.rebuild_table(self.table, self.nodes, int(self.sizes[0]))
        if self.num_journal[0] >= 0:
            need = int(self.num_journal[0]) + (NUM_COUNTED + 1) * num_characters
            if need > len(self.journal):
                extra = max(need - len(self.journal), len(self.journal) // 2)
                self.journal = np.concatenate([self.journal, np.empty((extra, kernel.JOURNAL_COLUMNS), np.int32)])
        need = int(self.sizes[1]) + (NUM_COUNTED + 1) * num_characters
        if need > len(self.entries):
            extra = max(need - len(self.entries), len(self.entries) // 2)
            self.entries = np.concatenate([self.entries, np.empty((extra, kernel.ENTRY_COLUMNS), np.int32)])

    def _choose_relatives(self) -> int:
        """Choose the languages to follow where it is time to; returns how many characters may be read until then."""
        length = self.length
        if length in CHOICES:
            letters = self.properties[self.text[:length], kernel.LETTER].astype(np.int64)
            letters[letters == END] = -1
            self.choice = self.lexicons.choose(letters, self._without, self.nearness)
            self.shares[: len(self.choice.shares)] = self.choice.shares
        return next((point - length for point in CHOICES if point > length), _CHUNK)

    def _lexical(self) -> tuple[Any, ...]:
        return (
            self.choice.tables, np.array([len(self.choice.languages)]), self.shares, self.word, self.is_met,
            *self._room,
        )  # fmt: skip

    def read(self, text: str, emit: np.ndarray | None = None) -> Batch:
        """Read a text; give the evidence for the characters where ``emit`` is set, as it was before each."""
        symbols = self.encode(text)
        return self.read_symbols(symbols, np.zeros(len(symbols), np.uint8) if emit is None else emit)

    def next(self) -> Batch:
        """The evidence for what comes after all that was read; nothing changes."""
        return self.read_symbols(np.array([_UNKNOWN], np.int32), np.ones(1, np.uint8))

    def read_symbols(self, symbols: np.ndarray, emit: np.ndarray) -> Batch:
        """As :meth:`read`, of symbols."""
        num_positions = int(np.count_nonzero(emit))
        num_entries = int(np.count_nonzero(emit == kernel.WHOLE)) * 400 + 10_000
        width = len(self.symbols) + 1
        batch = Batch(
            position=np.zeros(num_positions, np.int64),
            base=np.empty((num_positions, width), np.float32),
            target=np.zeros(num_positions, np.int64),
            place=np.empty((num_positions, PLACE_FEATURES), np.float32),
            pointer=np.zeros(num_positions + 1, np.int64),
            row=np.empty(num_entries, np.int32),
            context=np.empty(num_entries, np.int16),
            cell=np.empty(num_entries, np.int32),
            entry=np.empty((num_entries, kernel.ENTRY_FEATURES), np.float32),
        )
        sizes = np.zeros(2, np.int64)
        done = 0
        while done < len(symbols):
            size = min(_CHUNK, len(symbols) - done, self._choose_relatives())
            self._make_room(size)
            self.text[self.length : self.length + size] = symbols[done : done + size]
            stop = kernel.read(
                self.text, self.length, self.length + size, emit[done:], self.properties, self.num_symbols,
                self.table, self.nodes, self.entries, self.sizes, self.place, self.gains, self.costs,
                DISCOUNTS, self.journal, self.num_journal, self._lexical(),
                batch.position, batch.base, batch.target, batch.place, batch.pointer, batch.row, batch.context,
                batch.cell, batch.entry, sizes,
            )  # fmt: skip
            if stop < self.length + size:
                extra = len(batch.row)
                batch.row = np.concatenate([batch.row, np.empty(extra, np.int32)])
                batch.context = np.concatenate([batch.context, np.empty(extra, np.int16)])
                batch.cell = np.concatenate([batch.cell, np.empty(extra, np.int32)])
                batch.entry = np.concatenate([batch.entry, np.empty((extra, kernel.ENTRY_FEATURES), np.float32)])
            done += stop - self.length
            if symbols[0] != _UNKNOWN:
                self.length = stop
        n = int(sizes[1])
        batch.row, batch.context, batch.cell, batch.entry = (
            batch.row[:n], batch.context[:n], batch.cell[:n], batch.entry[:n],
        )  # fmt: skip
        return batch
