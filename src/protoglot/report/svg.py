"""A small pen for charts: scales, axes, lines, markers and labels, as inline SVG.

All charts are drawn on white with the colours of Okabe and Ito, which people with any common kind of colour
blindness can tell apart; no chart relies on colour alone. Coordinates are in pixels of the drawing, y downwards.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from protoglot.report.markup import Child, Markup, element, join

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#7F7F7F")
"""Blue, vermilion, green, orange, purple, sky blue, black, grey."""

SHAPES = ("circle", "square", "triangle", "diamond", "cross")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3")

INK = "#1a1a1a"
FAINT = "#e3e3e3"
FONT = "system-ui, 'DejaVu Sans', 'Noto Sans', sans-serif"

_CHARACTER_WIDTH = 0.58  # of the font's size: a fair guess for a sans-serif face

Point = tuple[float, float]


class Scale(Protocol):
    """From values to pixels."""

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        ...

    def ticks(self) -> list[tuple[float, str]]:
        """Values to mark, and their labels; an empty label is a tick without one."""
        ...


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Equal steps are equally long; ``low`` is at pixel ``start``, ``high`` at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float
    num_ticks: int = 6

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers, about ``num_ticks`` of them."""
        step = nice_step((self.high - self.low) / self.num_ticks)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(index * step, f"{index * step:.{digits}f}") for index in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class LogScale:
    """Equal ratios are equally long; both ends are positive."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a positive value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten with labels; between two of them, 2 to 9 without, unless there are many decades."""
        first, last = math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high) - 1e-9)
        every = max(1, math.ceil((last - first) / 8))
        found = []
        for exponent in range(first, last + 1):
            found.append((10.0**exponent, _power(exponent) if exponent % every == 0 else ""))
            if every == 1:
                found += [(digit * 10.0**exponent, "") for digit in range(2, 10)]
        slack = 1 + 1e-9
        return [(value, label) for value, label in found if self.low / slack <= value <= self.high * slack]


@dataclass(frozen=True, slots=True)
class SlotScale:
    """Names one after the other, each in the middle of a slot of the same width."""

    labels: tuple[str, ...]
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of the middle of slot number ``value``, counted from 0."""
        return self.start + (value + 0.5) / len(self.labels) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """One for each name."""
        return [(float(index), label) for index, label in enumerate(self.labels)]


def nice_step(rough: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below a number.

    >>> nice_step(0.31)
    0.5
    """
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def padded_range(values: Iterable[float], share: float = 0.05) -> tuple[float, float]:
    """Lowest and highest value with a little room on both sides, never an empty range."""
    found = list(values)
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    room = (high - low) * share or max(abs(high), 1.0) * share
    return low - room, high + room


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A pair of axes; the scales know where it is."""

    x: Scale
    y: Scale
    left: float
    right: float
    top: float
    bottom: float

    def axes(
        self, *, title: str = "", x_label: str = "", y_label: str = "", grid_x: bool = False, grid_y: bool = True
    ) -> Markup:
        """Frame, grid, ticks and their labels."""
        parts: list[Markup] = []
        for value, label in self.x.ticks():
            pixel = self.x(value)
            if grid_x and label:
                parts.append(line((pixel, self.top), (pixel, self.bottom), colour=FAINT))
            parts.append(line((pixel, self.bottom), (pixel, self.bottom + (5 if label else 3))))
            if label:
                parts.append(text((pixel, self.bottom + 18), label, anchor="middle"))
        for value, label in self.y.ticks():
            pixel = self.y(value)
            if grid_y and label:
                parts.append(line((self.left, pixel), (self.right, pixel), colour=FAINT))
            parts.append(line((self.left - (5 if label else 3), pixel), (self.left, pixel)))
            if label:
                parts.append(text((self.left - 8, pixel + 4), label, anchor="end"))
        parts.append(line((self.left, self.bottom), (self.right, self.bottom)))
        parts.append(line((self.left, self.top), (self.left, self.bottom)))
        if x_label:
            parts.append(text(((self.left + self.right) / 2, self.bottom + 38), x_label, anchor="middle"))
        if y_label:
            room = max((text_width(label) for _, label in self.y.ticks()), default=0.0)
            parts.append(turned_text((self.left - room - 16, (self.top + self.bottom) / 2), y_label))
        if title:
            parts.append(text((self.left, self.top - 10), title, weight="bold"))
        return join(parts)


def line(start: Point, end: Point, *, colour: str = INK, width: float = 1.0, dash: str = "") -> Markup:
    """A straight line."""
    return element(
        "line",
        x1=start[0],
        y1=start[1],
        x2=end[0],
        y2=end[1],
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dash or None,
    )


def polyline(points: Sequence[Point], *, colour: str, width: float = 2.0, dash: str = "") -> Markup:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element(
        "polyline",
        points=path,
        fill="none",
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dash or None,
        stroke_linejoin="round",
    )


def text(
    at: Point,
    content: str,
    *,
    anchor: str = "start",
    size: float = 12.0,
    colour: str = INK,
    weight: str | None = None,
) -> Markup:
    """Words."""
    return element(
        "text", content, x=at[0], y=at[1], text_anchor=anchor, font_size=size, fill=colour, font_weight=weight
    )


def turned_text(at: Point, content: str, *, anchor: str = "middle", size: float = 12.0) -> Markup:
    """Words that run upwards."""
    turn = f"rotate(-90 {at[0]:.1f} {at[1]:.1f})"
    return element("text", content, x=at[0], y=at[1], text_anchor=anchor, font_size=size, fill=INK, transform=turn)


def rectangle(corner: Point, width: float, height: float, *, fill: str) -> Markup:
    """A filled rectangle."""
    return element("rect", x=corner[0], y=corner[1], width=width, height=height, fill=fill)


def marker(at: Point, *, shape: str, colour: str, size: float = 4.0, title: str = "") -> Markup:
    """A mark whose shape says what its colour says; ``title`` is shown under the pointer."""
    x, y = at
    name = element("title", title) if title else None
    style: dict[str, str | float] = {"fill": colour, "stroke": "#ffffff", "stroke_width": 0.8}
    if shape == "circle":
        return element("circle", name, cx=x, cy=y, r=size, **style)
    outlines: dict[str, Callable[[float], list[Point]]] = {
        "square": lambda s: [(-s, -s), (s, -s), (s, s), (-s, s)],
        "triangle": lambda s: [(0.0, -1.3 * s), (1.2 * s, 0.9 * s), (-1.2 * s, 0.9 * s)],
        "diamond": lambda s: [(0.0, -1.4 * s), (1.4 * s, 0.0), (0.0, 1.4 * s), (-1.4 * s, 0.0)],
    }
    if shape in outlines:
        points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in outlines[shape](size * 0.9))
        return element("polygon", name, points=points, **style)
    length = 2 * size
    arms = f"M{x - size:.1f} {y - size:.1f}l{length:.1f} {length:.1f}m0 {-length:.1f}l{-length:.1f} {length:.1f}"
    return element("path", name, d=arms, fill="none", stroke=colour, stroke_width=2.0)


def legend(at: Point, entries: Sequence[tuple[str, str, str]], *, right: float, gap: float = 18.0) -> Markup:
    """Marks and their names, (name, colour, shape), side by side and in as many lines as it takes."""
    parts = []
    x, y = at
    for name, colour, shape in entries:
        width = text_width(name) + 32
        if x > at[0] and x + width > right:
            x, y = at[0], y + gap
        parts += [marker((x + 4, y - 4), shape=shape, colour=colour), text((x + 14, y), name)]
        x += width
    return join(parts)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions near those wanted, in the same order, at least ``gap`` apart, with as little moving as is simple.

    >>> spread([10.0, 11.0], 4.0)
    [8.5, 12.5]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    clusters: list[list[int]] = []
    centres: list[float] = []
    for index in order:
        clusters.append([index])
        centres.append(wanted[index])
        while len(clusters) > 1 and centres[-1] - centres[-2] < gap * (len(clusters[-1]) + len(clusters[-2])) / 2:
            merged = clusters[-2] + clusters[-1]
            clusters[-2:] = [merged]
            centres[-2:] = [math.fsum(wanted[member] for member in merged) / len(merged)]
    placed = list(wanted)
    for cluster, centre in zip(clusters, centres, strict=True):
        for place, index in enumerate(cluster):
            placed[index] = centre + (place - (len(cluster) - 1) / 2) * gap
    return placed


def text_width(content: str, size: float = 12.0) -> float:
    """About how wide words are."""
    return len(content) * size * _CHARACTER_WIDTH


def drawing(name: str, width: float, height: float, *, title: str, description: str, content: Child) -> Markup:
    """A whole drawing on white, with a title and a description for those who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-description"),
        rectangle((0.0, 0.0), width, height, fill="#ffffff"),
        content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{name}-title {name}-description",
        font_family=FONT,
    )


def _power(exponent: int) -> str:
    if -3 <= exponent <= 4:
        return f"{10.0**exponent:g}"
    superscripts = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"10{str(exponent).translate(superscripts)}"
