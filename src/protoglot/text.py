"""From bytes of any origin to clean sentences.

Every sentence in protoglot has passed :func:`normalise`; every text file is read by :func:`read_lines`.
What is repaired and what is refused is stated there and nowhere else.
"""

import codecs
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import regex

from protoglot.errors import TextError

MAX_SENTENCE_CHARACTERS = 100_000
"""A longer line is refused: it is a file without line breaks, not a sentence."""

MAX_COMBINING_RUN = 30
"""Longest run of combining marks that is kept (the limit of Unicode's Stream-Safe Text Format).

Longer runs occur in no orthography, and normalising them takes quadratic time.
"""

LINE_BREAK = "\n"
"""What the end of a sentence is shown as."""

_SNIFFED_BYTES = 4096
_BINARY_SHARE = 0.1  # of NUL bytes among the first ones; running text has none
_CHUNK_BYTES = 1 << 20

# Controls that do not separate anything, lone surrogates, and the byte-order mark.
_DROPPED = regex.compile(r"[[\p{Cc}--\s]\p{Cs}\uFEFF]", regex.VERSION1)
# What neither HTML nor XML can hold (controls, lone surrogates, noncharacters), and what turns the direction of the
# text around it: a name made of such characters could rearrange the page that shows it.
_UNSHOWABLE = regex.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_COMBINING_OVERFLOW = regex.compile(rf"(\p{{M}}{{{MAX_COMBINING_RUN}}})\p{{M}}+")


def normalise(text: str) -> str:
    r"""Return text in the one form protoglot works with.

    In this order: controls (``Cc`` other than white space), lone surrogates and byte-order marks are
    dropped; runs of more than :data:`MAX_COMBINING_RUN` combining marks are cut; Unicode NFC; runs of
    white space (line breaks included) become one blank, and none is left at the ends. Nothing is
    lower-cased. Applying it twice changes nothing.

    >>> normalise("  Le\u0301a\t\x00Ünü \n")
    'Léa Ünü'
    """
    if not text.isprintable():  # all that is dropped is not, and looking is ten times faster than replacing
        text = _DROPPED.sub("", text)
    text = _cut_combining_runs(text)
    text = unicodedata.normalize("NFC", text)
    # NFC writes some marks and letters as several, so that a run can be too long once more.
    text = _cut_combining_runs(text)
    return " ".join(text.split())


def showable(text: str) -> str:
    r"""Text for a page: each character that no page can hold, or that turns the text around it, becomes U+FFFD.

    It is not escaped: what writes the page does that.

    >>> showable("a\u202eb\x00")
    'a�b�'
    """
    return str(_UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def normalise_beginning(text: str) -> str:
    r"""The beginning of a text as a model reads it: each line normalised, but for a blank at the very end, which stays.

    >>> normalise_beginning("One  line\r\n\r\nanother \t")
    'One line\nanother '
    """
    lines = text.replace("\r\n", LINE_BREAK).replace("\r", LINE_BREAK).split(LINE_BREAK)
    last = normalise(lines[-1])
    if last and lines[-1][-1].isspace():
        last += " "
    return "".join(f"{line}{LINE_BREAK}" for line in map(normalise, lines[:-1]) if line) + last


def is_read_once(path: Path) -> bool:
    """Whether a path is a pipe or a device, whose content is gone once it was read."""
    return path.exists() and not (path.is_file() or path.is_dir())


def read_lines(path: Path, *, max_characters: int = MAX_SENTENCE_CHARACTERS) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, raw line)`` of a text file, in memory bounded by the longest line.

    UTF-8 is expected; a byte-order mark is dropped, and one of UTF-16 switches to that encoding. Lines
    end at LF, CR LF or CR. Lines are not yet normalised, and their ends are removed.

    Args:
        path: the file.
        max_characters: longest line accepted.

    Raises:
        TextError: for a file that cannot be opened, is a pipe (it is read twice), is not Unicode, looks binary, or
            has a longer line.
    """
    try:
        if is_read_once(path):
            raise TextError(f"{path}: a pipe or device, which cannot be read twice; wanted a text file")
        with path.open("rb") as stream:
            head = stream.read(_SNIFFED_BYTES)
    except OSError as error:
        raise TextError(f"{path}: cannot be read ({error.strerror or error}); wanted a text file") from error
    encoding = _sniff(path, head)
    number = 0
    try:
        with path.open(encoding=encoding, newline=None) as stream_of_text:
            while line := stream_of_text.readline(max_characters + 2):
                number += 1
                ended = line.endswith("\n")
                line = line[:-1] if ended else line
                if len(line) > max_characters:
                    raise TextError(
                        f"{path}: line {number}: more than {max_characters:,} characters; "
                        "wanted one sentence a line"
                    )
                yield number, line
    except UnicodeError as error:
        raise TextError(_describe_invalid(path, encoding, number, error)) from error
    except OSError as error:
        raise TextError(f"{path}: cannot be read ({error.strerror or error}); wanted a text file") from error


def read_sentences(path: Path, *, max_characters: int = MAX_SENTENCE_CHARACTERS) -> Iterator[str]:
    """Yield the normalised, non-empty lines of a text file (see :func:`read_lines`)."""
    for _, line in read_lines(path, max_characters=max_characters):
        sentence = normalise(line)
        if sentence:
            yield sentence


def _cut_combining_runs(text: str) -> str:
    if text.isascii() or not _COMBINING_OVERFLOW.search(text):
        return text
    return str(_COMBINING_OVERFLOW.sub(r"\1", text))


def _sniff(path: Path, head: bytes) -> str:
    """Encoding of a file by its first bytes, refusing what is not text."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise TextError(f"{path}: UTF-32 text; wanted UTF-8")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.count(0) > _BINARY_SHARE * len(head):
        raise TextError(
            f"{path}: {head.count(0):,} NUL bytes among the first {len(head):,} "
            "(binary, or UTF-16 without a byte-order mark); wanted UTF-8 text"
        )
    # "utf-8-sig" would read a file that ends within the mark as an empty one.
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


def _describe_invalid(path: Path, encoding: str, number: int, error: UnicodeError) -> str:
    """Message that names the first offending byte of a file, found by a second, bounded pass."""
    if encoding == "utf-16":
        return f"{path}: after line {number:,}: invalid UTF-16 ({error.args[-1]}); wanted UTF-8 text"
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, after_return = 0, 1, False
    with path.open("rb") as stream:
        while True:
            chunk = stream.read(_CHUNK_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as found:
                position = offset - pending + found.start
                line += _count_line_ends(found.object[: found.start], after_return)
                byte = found.object[found.start]
                return f"{path}: line {line:,}, byte {position:,}: invalid UTF-8 (0x{byte:02x}); wanted UTF-8 text"
            if not chunk:  # the file changed between the two passes
                return f"{path}: invalid UTF-8 ({error.args[-1]}); wanted UTF-8 text"
            line += _count_line_ends(chunk, after_return)
            offset += len(chunk)
            after_return = chunk.endswith(b"\r")


def _count_line_ends(data: bytes, after_return: bool) -> int:
    """Line ends (LF, CR LF or CR) in a piece of a file, given whether the piece before ended with CR."""
    split_pair = after_return and data.startswith(b"\n")
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") - split_pair
