"""Bits per character by language family."""

import math
from collections import defaultdict

from protoglot.report.figures.figure import Figure
from protoglot.report.markup import Markup, element, join
from protoglot.report.settings import Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
from protoglot.report.svg import (
    COLOURS,
    SHAPES,
    LinearScale,
    Panel,
    SlotScale,
    drawing,
    legend,
    marker,
    padded_range,
)
from protoglot.report.tables import Column, Table, number, words

_WIDTH = 860.0
_LEFT, _RIGHT, _TOP = 210.0, 840.0, 64.0
_ROW = 24.0


def family_chart(study: Study) -> Figure | None:
    """Families as rows, the best model of each regime and the n-gram as marks; ``None`` without families or scores."""
    sentences = study.measures.few_shot_sentences
    wanted = [
        zero_shot("univ", "bare"),
        few_shot("univ", "oest", sentences=sentences),
        few_shot("n-gram", sentences=sentences),
        few_shot("mixture", "oest", network="univ", sentences=sentences),
        joint("oest"),
    ]
    members: defaultdict[str, list[str]] = defaultdict(list)
    for language, family in sorted(study.families.items()):
        members[family].append(language)
    settings = [s for s in wanted if set(study.measures.by_language(s)) & set(study.families)]
    families = [
        family
        for family in sorted(members, key=lambda family: (-len(members[family]), family))
        if any(study.measures.of(language, s) for language in members[family] for s in settings)
    ]
    if not settings or not families:
        return None
    title = "Bits per character by family"
    return Figure(
        title=title,
        caption=(
            "Large marks: the mean of a family; small ones: its languages. In brackets: how many languages of the "
            "family are in the study. Families are as the corpus gives them, the largest first."
        ),
        drawing=_draw(study, title, families, members, settings),
        data=Table(
            name="figure-families",
            title=title,
            caption="Average bits per character over the languages of a family that were scored.",
            columns=(
                Column(key="family", heading="family", numeric=False),
                Column(key="languages", heading="languages"),
                *(Column(key=f"{s.regime.replace('-', '_')}_{s.key}", heading=s.full_label) for s in settings),
            ),
            rows=tuple(
                (
                    words(family),
                    number(float(len(members[family])), digits=0),
                    *(
                        number(found.mean, note="" if found.number == len(members[family]) else str(found.number))
                        if found
                        else number(None)
                        for found in (study.measures.average(s, members[family]) for s in settings)
                    ),
                )
                for family in families
            ),
        ),
    )


def _draw(
    study: Study, title: str, families: list[str], members: dict[str, list[str]], settings: list[Setting]
) -> Markup:
    bottom = _TOP + _ROW * len(families)
    values = [
        measure.mean
        for s in settings
        for family in families
        for language in members[family]
        if (measure := study.measures.of(language, s))
    ]
    low, high = padded_range(values)
    x = LinearScale(low, high, _LEFT, _RIGHT, num_ticks=8)
    labels = tuple(f"{_shorten(family)} ({len(members[family])})" for family in families)
    y = SlotScale(labels, _TOP, bottom)
    panel = Panel(x=x, y=y, left=_LEFT, right=_RIGHT, top=_TOP, bottom=bottom)
    parts = [panel.axes(x_label="bits per character", grid_x=True)]
    small, large = [], []
    for index, s in enumerate(settings):
        colour, shape = COLOURS[index], SHAPES[index]
        for row, family in enumerate(families):
            # Series stand a little above or below each other, so that equal scores do not hide one another.
            pixel = y(row) + (index - (len(settings) - 1) / 2) * 2.5
            found = [(language, m.mean) for language in members[family] if (m := study.measures.of(language, s))]
            small += [
                element("circle", cx=x(value), cy=pixel, r=1.8, fill=colour, fill_opacity=0.45)
                for _, value in found
                if len(found) > 1
            ]
            if found:
                mean = math.fsum(value for _, value in found) / len(found)
                name = f"{family}, {s.full_label}: {mean:.3f} ({len(found)} languages)"
                large.append(marker((x(mean), pixel), shape=shape, colour=colour, size=5.0, title=name))
    parts += [*small, *large]
    entries = [(s.full_label, COLOURS[index], SHAPES[index]) for index, s in enumerate(settings)]
    parts.append(legend((16.0, 22.0), entries, right=_WIDTH))
    means = "; ".join(
        f"{s.full_label}: {mean_of_all.mean:.2f}"
        for s in settings
        if (
            mean_of_all := study.measures.average(
                s, [language for family in families for language in members[family]]
            )
        )
    )
    return drawing(
        "families",
        _WIDTH,
        bottom + 50,
        title=title,
        description=f"Dot chart of {len(families)} families. Averages over all their languages: {means}.",
        content=join(parts),
    )


def _shorten(name: str, length: int = 24) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"
