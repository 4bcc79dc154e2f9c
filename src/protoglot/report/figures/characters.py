"""Heat map of characters by language (appendix A)."""

import math
import unicodedata
from collections.abc import Mapping

from protoglot.report.figures.figure import Figure
from protoglot.report.markup import Markup, element, join, showable
from protoglot.report.study import Study
from protoglot.report.svg import drawing, rectangle, text
from protoglot.report.tables import Cell, Column, Table, number, words

_MAX_CHARACTERS = 110
_CELL_WIDTH, _CELL_HEIGHT = 9.0, 11.0
_LEFT, _TOP = 128.0, 62.0
_NAME_LENGTH = 16

# Light to dark of one hue, evenly spaced in lightness: readable in grey and by everyone.
_SHADES = (
    "#eef4fa",
    "#d6e5f2",
    "#b9d3e8",
    "#97bddb",
    "#73a4cc",
    "#5089ba",
    "#336fa4",
    "#1d558a",
    "#0c3c6c",
    "#04254a",
)
_FLOOR = 1e-5  # share of a text below which a character has the lightest shade


def character_heat_map(study: Study) -> Figure | None:
    """Share of each character in each language, the most exotic language on top; ``None`` without counts."""
    shares = {
        row.language: {
            character: count / sum(row.counts.values()) for character, count in row.counts.items() if count
        }
        for row in study.rows.unigrams
        if sum(row.counts.values())
    }
    if not shares:
        return None
    languages = sorted(shares, key=lambda code: (-study.exoticness.get(code, 0.0), code))
    characters = _order_characters(shares)
    shown = characters[:_MAX_CHARACTERS]
    title = "Characters by language"
    left_out = f" Of {len(characters):,} characters the {len(shown)} shown" if len(characters) > len(shown) else ""
    left_out += " are those with the largest mean share; the file has all." if left_out else ""
    return Figure(
        title=title,
        caption=(
            "Share of each character (columns, the most frequent first; ␣ is a blank) in each language's training text "
            f"(rows, the most exotic on top), in logarithmic shades; white: the character does not occur.{left_out}"
        ),
        drawing=_draw(study, title, languages, shown, shares),
        data=Table(
            name="figure-characters",
            title=title,
            caption="Share of each character in each language's training text.",
            columns=(
                Column(key="character", heading="character", numeric=False),
                Column(key="codepoint", heading="code point", numeric=False),
                *(Column(key=code, heading=code) for code in languages),
            ),
            rows=tuple(
                (
                    words(_visible(character)),
                    words(" ".join(f"U+{ord(point):04X}" for point in character)),
                    *(
                        number(shares[code][character], digits=5) if character in shares[code] else Cell()
                        for code in languages
                    ),
                )
                for character in characters
            ),
        ),
    )


def _order_characters(shares: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Characters by their mean share over languages, the largest first."""
    parts: dict[str, list[float]] = {}
    for code in sorted(shares):
        for character, share in shares[code].items():
            parts.setdefault(character, []).append(share)
    return sorted(parts, key=lambda character: (-math.fsum(parts[character]), character))


def _shade(share: float) -> int:
    position = math.log(max(share, _FLOOR) / _FLOOR) / math.log(0.2 / _FLOOR)
    return min(int(position * len(_SHADES)), len(_SHADES) - 1)


def _draw(
    study: Study,
    title: str,
    languages: list[str],
    characters: list[str],
    shares: Mapping[str, Mapping[str, float]],
) -> Markup:
    width, height = _CELL_WIDTH * len(characters), _CELL_HEIGHT * len(languages)
    # One path for each shade, not one element for each cell: the page stays small.
    paths: list[list[str]] = [[] for _ in _SHADES]
    for row, code in enumerate(languages):
        for column, character in enumerate(characters):
            if character in shares[code]:
                corner = f"M{_LEFT + column * _CELL_WIDTH:g} {_TOP + row * _CELL_HEIGHT:g}"
                paths[_shade(shares[code][character])].append(
                    f"{corner}h{_CELL_WIDTH:g}v{_CELL_HEIGHT:g}h{-_CELL_WIDTH:g}z"
                )
    parts = [element("path", d="".join(path), fill=_SHADES[shade]) for shade, path in enumerate(paths) if path]
    for row, code in enumerate(languages):
        name = study.names.get(code, "")
        label = f"{code} {name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + '…'}".strip()
        parts.append(text((_LEFT - 5, _TOP + (row + 0.8) * _CELL_HEIGHT), label, anchor="end", size=9.0))
    for column, character in enumerate(characters):
        at = (_LEFT + (column + 0.5) * _CELL_WIDTH, _TOP - 5)
        parts.append(text(at, _visible(character), anchor="middle", size=9.0))
        parts.append(text((at[0], _TOP + height + 11), _visible(character), anchor="middle", size=9.0))
    parts.append(_legend(_LEFT + max(width, 320.0)))
    exotic = ", ".join(languages[:3])
    return drawing(
        "characters",
        _LEFT + max(width, 320.0) + 12,
        _TOP + height + 22,
        title=title,
        description=(
            f"Heat map of {len(characters)} characters in {len(languages)} languages. Most exotic: {exotic}. "
            f"Most frequent characters: {' '.join(_visible(character) for character in characters[:10])}."
        ),
        content=join(parts),
    )


def _legend(right: float) -> Markup:
    size = 22.0
    left = right - size * len(_SHADES)
    parts = [text((left - 8, 22), "share of the text", anchor="end", size=11.0)]
    for index, shade in enumerate(_SHADES):
        parts.append(rectangle((left + index * size, 12), size, 12, fill=shade))
    for share, label, anchor in (
        (_FLOOR, "≤ 0.001 %", "start"),
        (1e-3, "0.1 %", "middle"),
        (0.2, "≥ 20 %", "end"),
    ):
        position = math.log(share / _FLOOR) / math.log(0.2 / _FLOOR)
        parts.append(text((left + position * size * len(_SHADES), 37), label, anchor=anchor, size=10.0))
    return join(parts)


def _visible(character: str) -> str:
    """A character as one can see it: blanks as an open box, combining marks on a dotted circle."""
    if character == " ":
        return "␣"
    if unicodedata.combining(character[0]):
        return f"◌{character}"
    return showable(character) if character.isprintable() else f"{ord(character[0]):x}"
