"""How matplotlib draws a figure.

Every figure is drawn on white, in the colours of Okabe and Ito, which people with any common kind of colour blindness
can tell apart; no figure relies on colour alone.
"""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib.figure
import matplotlib.style
from markupsafe import Markup

from protoglot.report.tables import Record
from protoglot.text import showable

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#7F7F7F")
"""Blue, vermilion, green, orange, purple, sky blue, black, grey."""

MARKERS = ("o", "s", "^", "D", "X")
DASHES = ("-", "--", ":", "-.", (0, (1, 3)))

_STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "font.sans-serif": ["DejaVu Sans"],
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
    "lines.markeredgecolor": "white",
    "lines.markersize": 7,
    "svg.fonttype": "none",  # words, which can be searched and read aloud, and not outlines of letters
    "text.parse_math": False,  # a dollar in a name is a dollar
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # they change, or refer to other hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing, words for those who cannot see it, and its numbers."""

    name: str
    """Name of the file of its numbers; no two figures have the same."""

    title: str
    caption: str
    description: str
    """What the drawing shows, for those who cannot see it."""

    drawing: Markup
    """An element of HTML, the same for the same numbers."""

    records: Sequence[Record]


def draw_svg(name: str, size: tuple[float, float], draw: Callable[[matplotlib.figure.Figure], None]) -> Markup:
    """What is drawn on an empty figure, whose size is in inches, as an element of HTML."""
    written = io.StringIO()
    with matplotlib.style.context(["default", _STYLE | {"svg.hashsalt": name}]), warnings.catch_warnings():
        # The page's reader has fonts for more scripts than matplotlib, which only measures the words.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(written, format="svg", metadata=_NO_METADATA)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", written.getvalue())  # a page knows what SVG is
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # nothing refers to groups, and all drawings call them the same
    return Markup(svg[svg.index("<svg ") :])  # noqa: S704  (matplotlib escapes)


def add_legend(figure: matplotlib.figure.Figure) -> None:
    """A line or two above the panels, with each label once."""
    named = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(named.values()), list(named), loc="outside upper left", ncols=4)


def short(text: str, length: int = 24) -> str:
    """A string of a row as one short line."""
    line = showable(" ".join(text.split()))
    return line if len(line) <= length else f"{line[: length - 1]}…"


def partition_style(partition: int | None) -> tuple[str, str]:
    """Colour and marker of a partition: blue, red, green and gold as in the paper, in tones all can tell apart."""
    index = -1 if partition is None else (partition - 1) % 4
    return COLOURS[index], MARKERS[index]


def partition_name(partition: int | None) -> str:
    """How a partition is called in legends."""
    return "no partition" if partition is None else f"partition {partition}"
