"""HTML and SVG that cannot be injected into: every string is escaped unless it was made here."""

import html
import re
from collections.abc import Iterable

VOID = frozenset({"meta", "br", "col", "hr"})  # elements of HTML that have no end tag

# What neither HTML nor XML can hold (controls, lone surrogates), and what turns the direction of the text around
# it: a name made of such characters could rearrange the page that shows it.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | None | Iterable["Child"]


def escape(text: str) -> Markup:
    """Text as markup; what a page cannot show becomes U+FFFD.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return text if isinstance(text, Markup) else Markup(html.escape(showable(text), quote=True))


def showable(text: str) -> str:
    """Text without the characters that no file of ours can hold."""
    return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def join(*children: Child) -> Markup:
    """Children one after the other, escaped where they are plain strings; ``None`` is nothing."""
    return Markup("".join(_pieces(children)))


def element(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An element.

    Attributes that are ``None`` or false are left out. Python's keywords take a trailing underscore, and
    underscores within a name stand for hyphens.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    opening = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{join(*children)}</{name}>")


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f' {name}=""'
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            yield escape(child)
        else:
            yield from _pieces(child)
