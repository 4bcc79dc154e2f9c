"""XML from any origin, read as a stream: bounded memory, bounded time, one-line errors.

No tree is built. The parser calls a target that keeps the text of the elements asked for and nothing else,
so that neither the size of the file nor its depth costs memory. Refused, with a :class:`CorpusError`:

* a document type with declarations of its own, entities and external references (a plain
  ``<!DOCTYPE name SYSTEM "...">``, usual in the Corpus Encoding Standard, is accepted and never loaded);
* elements nested more than :data:`MAX_DEPTH` deep;
* more text in one element than ``max_characters``;
* a tag, attribute or comment longer than :data:`MAX_TOKEN_BYTES`, which the parser would have to buffer;
* more than :data:`MAX_NAMES` different names, which the parser would have to remember.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from protoglot.errors import CorpusError
from protoglot.text import MAX_SENTENCE_CHARACTERS

MAX_DEPTH = 100
"""Deepest nesting accepted; the corpora we read have less than ten levels."""

MAX_TOKEN_BYTES = 1 << 20
"""Longest stretch of a file without any tag or text in it."""

MAX_NAMES = 1000
"""Largest number of different names of elements, attributes and namespaces in one file."""

_CHUNK_BYTES = 1 << 14
_GIT_LFS_POINTER = b"version https://git-lfs.github.com/"


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An element of interest, once it has ended."""

    name: str
    """Name without its namespace."""

    attributes: Mapping[str, str]

    text: str
    """All text inside, that of nested elements included, as it stands in the file."""


def read_elements(
    path: Path,
    names: Collection[str],
    *,
    skipped: Collection[str] = (),
    max_characters: int = MAX_SENTENCE_CHARACTERS,
) -> Iterator[XmlElement]:
    """Yield the elements with one of some names, in the order of the file.

    Of nested elements with such names only the outermost is yielded. Damage is reported when it is reached:
    what stands before it has been yielded by then.

    Args:
        path: the file.
        names: names of the elements wanted, without namespace.
        skipped: names of elements that are left out with all that they contain.
        max_characters: longest text of an element accepted.

    Raises:
        CorpusError: for a file that cannot be read, is not well-formed, or is refused (see the module).
    """
    target = _Target(names, skipped, max_characters)
    parser = DefusedXMLParser(target=target, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    parser.parser.StartDoctypeDeclHandler = target.start_doctype
    try:
        with path.open("rb") as stream:
            bytes_without_event = 0
            first = True
            while chunk := stream.read(_CHUNK_BYTES):
                if first and chunk.startswith(_GIT_LFS_POINTER):
                    raise CorpusError(f"{path}: a Git LFS pointer; wanted the file itself (git lfs pull)")
                first = False
                events = target.events
                parser.feed(chunk)
                bytes_without_event = 0 if target.events > events else bytes_without_event + len(chunk)
                if bytes_without_event > MAX_TOKEN_BYTES:
                    raise _RefusedError(f"more than {MAX_TOKEN_BYTES:,} bytes without a tag or text")
                yield from target.take_finished()
            parser.close()
    except _RefusedError as refused:
        line = parser.parser.CurrentLineNumber
        raise CorpusError(f"{path}: line {line:,}: {refused}; wanted a corpus in plain XML") from None
    except DefusedXmlException as error:
        raise CorpusError(f"{path}: {type(error).__name__}; wanted XML without entities of its own") from error
    except (ParseError, ValueError, LookupError) as error:
        raise CorpusError(f"{path}: {error}; wanted well-formed XML") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error}); wanted an XML file") from error


class _RefusedError(Exception):
    """Why a file that may be well-formed is not read on."""


class _Target:
    """What the parser calls: counts everything, keeps the text of wanted elements."""

    def __init__(self, names: Collection[str], skipped: Collection[str], max_characters: int) -> None:
        self.events = 0
        self._wanted = frozenset(names)
        self._skipped = frozenset(skipped)
        self._max_characters = max_characters
        self._names_seen: set[str] = set()
        self._depth = 0
        self._kept_depth = 0  # of the wanted element that is open; 0 if none is
        self._skipped_depth = 0  # of the skipped element that is open; 0 if none is
        self._name = ""
        self._attributes: Mapping[str, str] = {}
        self._pieces: list[str] = []
        self._characters = 0
        self._finished: list[XmlElement] = []

    def take_finished(self) -> list[XmlElement]:
        """Elements that ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def start_doctype(self, name: str, system: str | None, public: str | None, has_declarations: int) -> None:
        """Accept a mere reference to a document type, which is never followed."""
        self.events += 1
        if has_declarations:
            raise _RefusedError(f"a document type {name[:40]!r} with declarations of its own")

    def start_ns(self, prefix: str | None, address: str | None) -> None:
        """Count a namespace."""
        self._remember(f"xmlns:{prefix}", f"{{{address}}}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        self.events += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _RefusedError(f"elements nested more than {MAX_DEPTH} deep")
        self._remember(tag, *attributes)
        if self._skipped_depth:
            return
        name = tag.rpartition("}")[2]
        if name in self._skipped:
            self._skipped_depth = self._depth
        elif not self._kept_depth and name in self._wanted:
            self._kept_depth = self._depth
            self._name, self._attributes, self._pieces, self._characters = name, attributes, [], 0

    def data(self, text: str) -> None:
        """Add to the text of the wanted element that is open."""
        self.events += 1
        if not self._kept_depth or self._skipped_depth:
            return
        self._characters += len(text)
        if self._characters > self._max_characters:
            raise _RefusedError(f"more than {self._max_characters:,} characters in one <{self._name}>")
        self._pieces.append(text)

    def end(self, tag: str) -> None:
        """Close an element."""
        self.events += 1
        if self._depth == self._skipped_depth:
            self._skipped_depth = 0
        elif self._depth == self._kept_depth:
            self._kept_depth = 0
            self._finished.append(XmlElement(self._name, self._attributes, "".join(self._pieces)))
        self._depth -= 1

    def _remember(self, *names: str) -> None:
        self._names_seen.update(names)
        if len(self._names_seen) > MAX_NAMES:
            raise _RefusedError(f"more than {MAX_NAMES:,} different names of elements and attributes")
