"""Exoticness of a language's characters against bits per character (appendix A)."""

import math
from collections.abc import Mapping

from protoglot.report.claims import correlate_exoticness
from protoglot.report.figures.figure import Figure, partition_name, partition_style
from protoglot.report.markup import Markup, join
from protoglot.report.settings import Setting, few_shot, zero_shot
from protoglot.report.study import Study
from protoglot.report.svg import (
    LinearScale,
    Panel,
    drawing,
    legend,
    line,
    marker,
    padded_range,
    text,
    text_width,
)
from protoglot.report.tables import Column, Table, number, words
from protoglot.statistics import Correlation

_PANEL_WIDTH, _PANEL_HEIGHT, _GAP = 350.0, 330.0, 80.0
_LEFT, _TOP = 64.0, 64.0
_NUM_NAMED = 10  # points far from the others that are named


def exoticness_scatter(study: Study) -> Figure | None:
    """Two panels, without a sentence and with a few; ``None`` without scores of languages with counts."""
    exotic = study.exoticness
    settings = [
        zero_shot("univ", "bare"),
        few_shot("univ", "bare", sentences=study.measures.few_shot_sentences),
    ]
    scores = {setting: study.measures.means(setting) for setting in settings}
    present = [setting for setting in settings if set(scores[setting]) & set(exotic)]
    if not present:
        return None
    findings = {s: correlate_exoticness(exotic, scores[s], expected=s.regime == "zero-shot") for s in present}
    title = "Exoticness of characters and bits per character"
    said = {setting: _say(setting, findings[setting].correlation) for setting in present}
    parts = [
        _panel(study, setting, index, scores[setting], said[setting]) for index, setting in enumerate(present)
    ]
    partitions = sorted({study.partitions[code] for code in exotic if code in study.partitions})
    entries = [(partition_name(partition), *partition_style(partition)) for partition in partitions]
    parts.append(legend((_LEFT, 22.0), entries, right=_LEFT + 2 * _PANEL_WIDTH))
    languages = sorted({code for setting in present for code in scores[setting] if code in exotic})
    return Figure(
        title=title,
        caption=(
            "Each point is a language: the cosine distance of its counts of characters from the mean of all others, "
            "and its bits per character. Lines are least-squares fits. The paper finds r = 0.53 zero-shot and "
            "r = -0.13 few-shot."
        ),
        drawing=drawing(
            "exoticness",
            _LEFT + len(present) * _PANEL_WIDTH + (len(present) - 1) * _GAP + 16,
            _TOP + _PANEL_HEIGHT + 52,
            title=title,
            description=f"Scatter plot. {'; '.join(said.values())}.",
            content=join(parts),
        ),
        data=Table(
            name="figure-exoticness",
            title=title,
            caption="Exoticness and bits per character of each language.",
            columns=(
                Column(key="code", heading="code", numeric=False),
                Column(key="language", heading="language", numeric=False),
                Column(key="exoticness", heading="exoticness"),
                *(Column(key=f"{s.regime.replace('-', '_')}_{s.key}", heading=s.full_label) for s in present),
            ),
            rows=tuple(
                (
                    words(code),
                    words(study.names.get(code, "")),
                    number(exotic[code]),
                    *(number(scores[setting].get(code)) for setting in present),
                )
                for code in languages
            ),
        ),
    )


def _say(setting: Setting, found: Correlation) -> str:
    if math.isnan(found.p_value):
        return f"{setting.full_label}: {found.num_pairs} languages"
    return f"{setting.full_label}: r = {found.coefficient:.2f}, p = {found.p_value:.2g}"


def _panel(study: Study, setting: Setting, index: int, scores: Mapping[str, float], said: str) -> Markup:
    exotic = study.exoticness
    codes = sorted(set(scores) & set(exotic))
    left = _LEFT + index * (_PANEL_WIDTH + _GAP)
    right, bottom = left + _PANEL_WIDTH, _TOP + _PANEL_HEIGHT
    x = LinearScale(*padded_range(exotic.values()), left, right, num_ticks=5)
    y = LinearScale(*padded_range(scores[code] for code in codes), bottom, _TOP)
    panel = Panel(x=x, y=y, left=left, right=right, top=_TOP, bottom=bottom)
    parts = [panel.axes(title=said, x_label="exoticness (cosine distance)", y_label="bits per character")]
    fit = _least_squares([exotic[code] for code in codes], [scores[code] for code in codes])
    if fit is not None:
        slope, intercept = fit
        values = sorted(exotic[code] for code in codes)
        start, end = ((x(value), y(intercept + slope * value)) for value in (values[0], values[-1]))
        parts.append(line(start, end, colour="#7F7F7F", width=1.5, dash="5 4"))
    for code in codes:
        colour, shape = partition_style(study.partitions.get(code))
        name = f"{study.names.get(code, code)} ({code}): exoticness {exotic[code]:.3f}, {scores[code]:.3f} bits"
        parts.append(marker((x(exotic[code]), y(scores[code])), shape=shape, colour=colour, title=name))
    points = {code: (x(exotic[code]), y(scores[code])) for code in codes}
    parts += _names_of_outliers(points, right)
    return join(parts)


def _names_of_outliers(points: Mapping[str, tuple[float, float]], right: float) -> list[Markup]:
    """Codes beside the points farthest from the middle, as far as they do not overlap."""
    if not points:
        return []
    middle = [math.fsum(point[axis] for point in points.values()) / len(points) for axis in (0, 1)]
    farthest = sorted(points, key=lambda code: (-math.dist(points[code], middle), code))
    taken: list[tuple[float, float, float]] = []
    parts = []
    for code in farthest[:_NUM_NAMED]:
        px, py = points[code]
        width = text_width(code, 10.0)
        start = px - 6 - width if px + 8 + width > right else px + 6
        if any(abs(py - y) < 11 and start < end and start + width > begin for begin, end, y in taken):
            continue
        taken.append((start, start + width, py))
        parts.append(text((start, py + 3.5), code, size=10.0))
    return parts


def _least_squares(xs: list[float], ys: list[float]) -> tuple[float, float] | None:
    """Slope and intercept, or ``None`` where all x are the same."""
    if len(xs) < 2 or min(xs) == max(xs):
        return None
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(xs, ys, strict=True)) / math.fsum(
        (a - mean_x) ** 2 for a in xs
    )
    return slope, mean_y - slope * mean_x
