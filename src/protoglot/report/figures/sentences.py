"""Bits per character against the number of sentences, method by method."""

import math
from dataclasses import dataclass

from protoglot.report.figures.figure import Figure
from protoglot.report.markup import Markup, join
from protoglot.report.measures import Measure
from protoglot.report.settings import Setting, few_shot
from protoglot.report.study import Study
from protoglot.report.svg import (
    COLOURS,
    DASHES,
    SHAPES,
    LinearScale,
    Panel,
    drawing,
    line,
    marker,
    padded_range,
    polyline,
    spread,
    text,
)
from protoglot.report.tables import Column, Table, number, words

# The first of these that have scores are drawn, as many as there are colours; the table has all.
_PREFERRED = (
    few_shot("n-gram"),
    few_shot("univ", "oest"),
    few_shot("univ", "bare"),
    few_shot("ninf", "bare"),
    few_shot("fitu", "oest"),
    few_shot("mixture", "oest", network="univ"),
    few_shot("mixture", "bare", network="univ"),
    few_shot("fitu", "bare"),
)
_ENOUGH = 0.5  # of the languages so far must remain when a method joins the chart

_WIDTH, _HEIGHT = 880.0, 540.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 640.0, 24.0, 480.0


@dataclass(frozen=True, slots=True)
class _Curve:
    setting: Setting
    points: tuple[tuple[int, Measure], ...]


@dataclass(frozen=True, slots=True)
class _SentenceScale:
    """Numbers of sentences in equal ratios; 0, which has no logarithm, one step before the first."""

    numbers: tuple[int, ...]
    start: float
    end: float

    def __call__(self, value: float) -> float:
        present = [number for number in self.numbers if number]
        positions = {number: math.log(number / present[0]) for number in present}
        step = (positions[present[-1]] / (len(present) - 1)) if len(present) > 1 else 1.0
        low = -step if 0 in self.numbers else 0.0
        position = positions[int(value)] if value else -step
        width = positions[present[-1]] - low or 1.0
        return self.start + (position - low) / width * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        return [(float(number), str(number)) for number in self.numbers]


def sentences_chart(study: Study) -> Figure | None:
    """The chart, over the languages that have all of its scores; ``None`` without few-shot scores."""
    measures = study.measures
    few = [setting for setting in measures.settings if setting.regime == "few-shot"]
    numbers = sorted({setting.sentences for setting in few if setting.sentences})
    if not numbers:
        return None
    methods = list(dict.fromkeys(setting.with_sentences(100) for setting in few))
    methods.sort(key=lambda setting: (_PREFERRED.index(setting) if setting in _PREFERRED else 99, setting.order))
    languages, drawn = _common_languages(study, methods, numbers)
    if not drawn:
        return None
    curves = [_curve(study, setting, numbers, languages) for setting in drawn]
    numbers = sorted({number for curve in curves for number, _ in curve.points})
    shown = [_drawn_part(curve) for curve in curves[: len(COLOURS)]]
    title = "Bits per character by number of sentences"
    ends = "; ".join(
        f"{curve.setting.label}: "
        + ", ".join(f"{measure.mean:.2f} at {number}" for number, measure in curve.points)
        for curve in shown
    )
    return Figure(
        title=title,
        caption=(
            f"Average over the {len(languages)} languages that have all of these scores; bars are standard errors over "
            "samples of sentences, where there are several. Without a sentence, whatever starts at the multilingual "
            "weights is the mean of the universal prior. NINF without a sentence, weights drawn at random, is in the "
            "table only. The axis is logarithmic, but for 0."
        ),
        drawing=drawing(
            "sentences",
            _WIDTH,
            _HEIGHT,
            title=title,
            description=f"Line chart over {len(languages)} languages. {ends}.",
            content=_draw(shown),
        ),
        data=Table(
            name="figure-sentences",
            title=title,
            caption=f"Average bits per character over {len(languages)} languages: {', '.join(languages)}.",
            columns=(
                Column(key="method", heading="method", numeric=False),
                *(Column(key=f"sentences_{number}", heading=str(number)) for number in numbers),
            ),
            rows=tuple(
                (
                    words(curve.setting.label),
                    *(
                        number(found.mean, standard_error=found.standard_error) if found else number(None)
                        for found in (dict(curve.points).get(size) for size in numbers)
                    ),
                )
                for curve in curves
            ),
        ),
    )


def _common_languages(study: Study, methods: list[Setting], numbers: list[int]) -> tuple[list[str], list[Setting]]:
    """Languages that have a score of each method drawn at each number of sentences, and these methods."""
    common: set[str] = set()
    drawn: list[Setting] = []
    for method in methods:
        scored = set.intersection(
            *(set(study.measures.by_language(method.with_sentences(number))) for number in numbers)
        )
        remaining = common & scored if drawn else scored
        if remaining and len(remaining) >= _ENOUGH * len(common):
            common, drawn = remaining, [*drawn, method]
    return sorted(common), drawn


def _curve(study: Study, setting: Setting, numbers: list[int], languages: list[str]) -> _Curve:
    points: list[tuple[int, Measure]] = []
    start = setting.at_zero()
    if start is not None:
        measure = study.measures.average(start, languages)
        if measure is not None and measure.number == len(languages):
            points.append((0, measure))
    for number_of_sentences in numbers:
        measure = study.measures.average(setting.with_sentences(number_of_sentences), languages)
        if measure is not None:
            points.append((number_of_sentences, measure))
    return _Curve(setting, tuple(points))


def _drawn_part(curve: _Curve) -> _Curve:
    """The curve without the score of random weights, so far off that it would leave no room for all others."""
    if curve.setting.method != "ninf":
        return curve
    return _Curve(curve.setting, tuple(point for point in curve.points if point[0]))


def _draw(curves: list[_Curve]) -> Markup:
    numbers = tuple(sorted({size for curve in curves for size, _ in curve.points}))
    values = [measure.mean for curve in curves for _, measure in curve.points]
    low, high = padded_range(values)
    x = _SentenceScale(numbers, _LEFT + 24, _RIGHT - 24)
    y = LinearScale(low, high, _BOTTOM, _TOP)
    panel = Panel(x=x, y=y, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM)
    parts = [panel.axes(x_label="sentences of the language", y_label="bits per character")]
    ends = [y(curve.points[-1][1].mean) for curve in curves]
    for index, (curve, label_y) in enumerate(zip(curves, spread(ends, 17.0), strict=True)):
        colour, shape = COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]
        points = [(x(size), y(measure.mean)) for size, measure in curve.points]
        parts.append(polyline(points, colour=colour, dash=DASHES[index // len(SHAPES) % len(DASHES)]))
        for (size, measure), point in zip(curve.points, points, strict=True):
            if measure.standard_error:
                error = measure.standard_error
                ends_of_bar = (point[0], y(measure.mean - error)), (point[0], y(measure.mean + error))
                parts.append(line(*ends_of_bar, colour=colour, width=1.5))
            name = f"{curve.setting.label}, {size} sentences: {measure.mean:.3f}"
            parts.append(marker(point, shape=shape, colour=colour, size=5.0, title=name))
        at = points[-1]
        parts.append(line((at[0] + 8, at[1]), (_RIGHT + 8, label_y), colour=colour, width=0.8))
        label = f"{curve.setting.label} {curve.points[-1][1].mean:.2f}"
        parts.append(marker((_RIGHT + 14, label_y), shape=shape, colour=colour))
        parts.append(text((_RIGHT + 23, label_y + 4), label))
    return join(parts)
