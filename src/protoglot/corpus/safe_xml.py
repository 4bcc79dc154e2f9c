"""XML from any origin, read as a stream of the elements asked for, with one-line errors.

defusedxml refuses entities and external references, by which a small file grows or reads others. Refused here,
with a :class:`CorpusError`, is what makes a file costly beyond its own size: elements nested more than
:data:`MAX_DEPTH` deep, and a sentence longer than in any other corpus. Elements are forgotten as soon as they have
ended.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from protoglot.errors import CorpusError
from protoglot.text import MAX_SENTENCE_CHARACTERS

MAX_DEPTH = 100
"""Deepest nesting accepted; the corpora we read have less than ten levels."""

_GIT_LFS_POINTER = b"version https://git-lfs.github.com/"


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An element of interest, once it has ended."""

    name: str
    """Name without its namespace."""

    attributes: Mapping[str, str]

    text: str
    """All text inside, that of nested elements included, as it stands in the file."""


def read_elements(path: Path, names: Collection[str], *, skipped: Collection[str] = ()) -> Iterator[XmlElement]:
    """Yield the elements with one of some names, in the order of the file.

    Of nested elements with such names only the outermost is yielded. Damage is reported when it is reached:
    what stands before it has been yielded by then.

    Args:
        path: the file.
        names: names of the elements wanted, without namespace.
        skipped: names of elements that are left out with all that they contain.

    Raises:
        CorpusError: for a file that cannot be read, is not well-formed, or is refused (see the module).
    """
    wanted = "wanted well-formed XML"
    try:
        with path.open("rb") as stream:
            if stream.read(len(_GIT_LFS_POINTER)) == _GIT_LFS_POINTER:
                raise CorpusError(f"{path}: a Git LFS pointer; wanted the file itself (git lfs pull)")
            stream.seek(0)
            open_elements: list[Element] = []
            outermost: Element | None = None  # of those wanted or skipped
            element: Element
            for event, element in iterparse(stream, events=("start", "end")):
                name = element.tag.rpartition("}")[2]
                if event == "start":
                    open_elements.append(element)
                    if len(open_elements) > MAX_DEPTH:
                        raise CorpusError(f"{path}: elements nested more than {MAX_DEPTH} deep; {wanted}")
                    if outermost is None and (name in names or name in skipped):
                        outermost = element
                    continue
                open_elements.pop()
                if name in skipped:
                    following = element.tail  # may be there, for elements are made by the block of bytes
                    element.clear()
                    element.tail = following
                if element is outermost:
                    outermost = None
                    if name in names:
                        yield XmlElement(name, element.attrib, _text_of(path, element, name))
                if outermost is None and open_elements:
                    open_elements[-1].remove(element)
    except DefusedXmlException as error:
        raise CorpusError(f"{path}: {type(error).__name__}; wanted XML without entities of its own") from error
    except (ParseError, ValueError, LookupError) as error:
        raise CorpusError(f"{path}: {error}; {wanted}") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error}); wanted an XML file") from error


def _text_of(path: Path, element: Element, name: str) -> str:
    text = "".join(element.itertext())
    if len(text) > MAX_SENTENCE_CHARACTERS:
        raise CorpusError(
            f"{path}: {len(text):,} characters in one <{name}>; wanted at most {MAX_SENTENCE_CHARACTERS:,}"
        )
    return text
