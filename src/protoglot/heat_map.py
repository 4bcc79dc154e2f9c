"""Surprisal as a page of HTML: the text itself, each letter on a ground that is the darker the more bits it cost.

The page needs nothing but itself: no network, no script. Its colours differ in lightness alone, so they can be told
apart however one sees colours, and in print. Everything that comes from the text is escaped.
"""

import html
import math
from collections.abc import Callable
from typing import NamedTuple

import regex

from protoglot.surprisal import LineSurprisal, WordSurprisal
from protoglot.text import showable

LONGEST = 200_000
"""Characters that a page shows; browsers do not like longer ones."""

LIMITS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
"""Bits at which the next darker colour begins."""

_HUE, _SATURATION = 215, 0.7
_LIGHTEST, _DARKEST = 0.98, 0.2
_GRAPHEME = regex.compile(r"\X")  # what a reader sees as one letter, which may be several characters
_END = "⏎"


class Shade(NamedTuple):
    """Colours of a letter, as ``#rrggbb``."""

    ground: str
    ink: str


def shade(number: int) -> Shade:
    """Colours of one of the steps of the scale, 0 to ``len(LIMITS)``; the lightness falls in even steps."""
    lightness = _LIGHTEST + (_DARKEST - _LIGHTEST) * number / len(LIMITS)
    chroma = _SATURATION * min(lightness, 1 - lightness)

    def channel(offset: int) -> int:
        place = (offset + _HUE / 30) % 12
        return round(255 * (lightness - chroma * max(-1.0, min(place - 3, 9 - place, 1.0))))

    red, green, blue = channel(0), channel(8), channel(4)
    dark = 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue) < 0.18
    return Shade(f"#{red:02x}{green:02x}{blue:02x}", "#ffffff" if dark else "#000000")


def step_of(bits: float) -> int:
    """The step of the scale that a number of bits belongs to."""
    return sum(bits >= limit for limit in LIMITS)


class HeatMap:
    """A page that is written as the lines come (a :class:`protoglot.surprisal_files.SurprisalFile`).

    Args:
        write: takes the pieces of the page.
        title: heading.
        longest: characters that are shown, in whole lines; how many there are besides is said at the end.
    """

    def __init__(self, write: Callable[[str], object], *, title: str, longest: int = LONGEST) -> None:
        self._write = write
        self._longest = longest
        self._num_shown = self._num_all = 0
        self._total = 0.0
        heading = _escape(title)
        write(
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{heading}</title><style>{_style()}</style></head>\n"
            f"<body><h1>{heading}</h1>{_legend()}<main>\n"
        )

    def add_text(self, name: str) -> None:
        """Begin a text."""
        self._write(f"<h2>{_escape(name)}</h2>\n")

    def add(self, line: LineSurprisal) -> None:
        """Show a line, if there is room."""
        self._num_all += len(line.bits)
        self._total += line.total_bits
        if self._num_all <= self._longest:
            self._num_shown = self._num_all
            self._write(_show_line(line) + "\n")

    def finish(self) -> None:
        """Write the end of the page."""
        number = self._num_all
        mean = f"{self._total / number:.3f} bits per character on average" if number else "no text"
        left_out = f"; only the first {self._num_shown:,} are shown" if self._num_shown < number else ""
        self._write(
            f"</main><p>{number:,} characters, ends of lines included; {mean}{left_out}.</p></body></html>\n"
        )


def _escape(text: str) -> str:
    return html.escape(showable(text))


def _linear(value: int) -> float:
    """Light of a channel of sRGB."""
    share = value / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _style() -> str:
    steps = [shade(number) for number in range(len(LIMITS) + 1)]
    return (
        "body{font:1.1rem/1.9 serif;margin:2rem auto;max-width:60rem;padding:0 1rem;background:#fff;color:#000}"
        "main p{margin:.2rem 0;white-space:pre-wrap;overflow-wrap:anywhere}"
        "i{font-style:normal;border-radius:2px}"
        ".k i{padding:.1rem .6rem;white-space:nowrap}"
        + "".join(f".s{number}{{background:{ground};color:{ink}}}" for number, (ground, ink) in enumerate(steps))
    )


def _legend() -> str:
    bounds = [0.0, *LIMITS]
    labels = [f"{low:g} to {high:g}" for low, high in zip(bounds, LIMITS, strict=False)] + [
        f"{LIMITS[-1]:g} or more"
    ]
    steps = "".join(f'<i class="s{number}">{label}</i> ' for number, label in enumerate(labels))
    return (
        "<p>Bits by which each letter surprised the model, given all before it; point at a letter for the number. "
        f'{_END} is the end of a line.</p><p class="k">{steps}</p>'
    )


def _show_line(line: LineSurprisal) -> str:
    # The direction is that of the line's first letter, as for any text.
    return f'<p dir="auto">{"".join(_show_word(word, line.text) for word in line.words())}</p>'


def _show_word(word: WordSurprisal, line: str) -> str:
    """The letters of a word and what ends it, each with its bits and those of the whole word."""
    whole = f"; word {word.total_bits:.2f}" if len(word.bits) > 1 else ""
    cells = []
    for match in _GRAPHEME.finditer(word.text):
        bits = word.bits[match.start() : match.end()].tolist()
        parts = f" ({' + '.join(f'{value:.2f}' for value in bits)})" if len(bits) > 1 else ""
        cells.append(_cell(match.group(), math.fsum(bits), f"{parts}{whole}"))
    position = word.start + len(word.text)
    cells.append(_cell(line[position : position + 1] or _END, float(word.bits[-1]), whole))
    return "".join(cells)


def _cell(shown: str, bits: float, more: str) -> str:
    return f'<i class="s{step_of(bits)}" title="{bits:.2f} bits{more}">{_escape(shown)}</i>'
