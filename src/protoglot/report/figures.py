"""The figures of a study; where rows for one are missing, a sentence that says so stands for it."""

import math
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean, linear_regression

import matplotlib
import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm

from protoglot.probing import ALL_LAYERS
from protoglot.report import charts
from protoglot.report.charts import Figure, draw_svg, partition_name, partition_style, short
from protoglot.report.claims import correlate_exoticness
from protoglot.report.rows import CONDITIONINGS
from protoglot.report.settings import Setting, few_shot, joint, zero_shot
from protoglot.report.study import Measure, Study
from protoglot.text import showable

# The first of these that have scores are drawn, as many as there are colours; the file has all.
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
_STEP = 0.12  # between the series in a row of the chart of families, so that equal scores do not hide one another
_NUM_NAMED = 10  # points far from the others that are named
_ROOM = 0.05  # of the width and height of the panel, for each name
_MAX_CHARACTERS = 110
_NUM_SHADES = 10
_FLOOR, _CEILING = 1e-5, 0.2  # shares of a text: what is beyond them has the lightest or the darkest shade
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def all_figures(study: Study) -> list[Figure | str]:
    """All figures, in the order of the page."""
    made_by = (sentences_chart, family_chart, exoticness_scatter, character_heat_map, signal_chart)
    return [make(study) for make in made_by]


def sentences_chart(study: Study) -> Figure | str:
    """Bits per character by number of sentences, over the languages that have all of the scores."""
    few = [setting for setting in study.settings if setting.regime == "few-shot"]
    numbers = sorted({setting.sentences for setting in few if setting.sentences})
    methods = list(dict.fromkeys(setting.with_sentences(100) for setting in few))
    methods.sort(key=lambda setting: (_PREFERRED.index(setting) if setting in _PREFERRED else 99, setting.order))
    languages, methods = _common_languages(study, methods, numbers)
    if not languages:
        return "Bits per character by number of sentences: no few-shot scores."
    curves = {method: _curve(study, method, numbers, languages) for method in methods}
    # Random weights are so far off that they would leave no room for all others.
    shown = {
        method: {size: measure for size, measure in curve.items() if size or method.method != "ninf"}
        for method, curve in list(curves.items())[: len(charts.COLOURS)]
    }

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.add_subplot(xlabel="sentences of the language", ylabel="bits per character")
        lines = []
        for index, (method, curve) in enumerate(shown.items()):
            *_, last = curve.values()
            line = axes.errorbar(
                list(curve),
                [measure.mean for measure in curve.values()],
                yerr=[measure.standard_error or 0.0 for measure in curve.values()],
                label=f"{method.label} {last.mean:.2f}",
                color=charts.COLOURS[index],
                marker=charts.MARKERS[index % len(charts.MARKERS)],
                linestyle=charts.DASHES[index // len(charts.MARKERS)],
            )
            lines.append((last.mean, index, line))
        axes.set_xscale("symlog", linthresh=numbers[0])
        ticks = sorted({size for curve in shown.values() for size in curve})
        axes.set_xticks(ticks, labels=[str(size) for size in ticks])
        axes.minorticks_off()
        # In the order in which the lines end, so that each label is near its line.
        figure.legend(handles=[line for _, _, line in sorted(lines, reverse=True)], loc="outside right center")

    ends = "; ".join(
        f"{method.label}: " + ", ".join(f"{measure.mean:.2f} at {size}" for size, measure in curve.items())
        for method, curve in shown.items()
    )
    return Figure(
        name="sentences",
        title="Bits per character by number of sentences",
        caption=(
            f"Average over the {len(languages)} languages that have all of these scores; bars are standard errors over "
            "samples of sentences, where there are several. Without a sentence, whatever starts at the multilingual "
            "weights is the mean of the universal prior. NINF without a sentence, weights drawn at random, is in the "
            "file only. Labels give the score at the last point. The axis is logarithmic, but for 0."
        ),
        description=f"Line chart over {len(languages)} languages. {ends}.",
        drawing=draw_svg("sentences", (9, 5.4), draw),
        records=[
            {
                "method": method.label,
                "sentences": size,
                "languages": len(languages),
                "bits per character": measure.mean,
                "standard error": measure.standard_error,
            }
            for method, curve in curves.items()
            for size, measure in curve.items()
        ],
    )


def _common_languages(study: Study, methods: list[Setting], numbers: list[int]) -> tuple[list[str], list[Setting]]:
    """Languages that have a score of each method drawn at each number of sentences, and these methods."""
    common: set[str] = set()
    drawn: list[Setting] = []
    for method in methods:
        scored = set.intersection(*(set(study.by_language(method.with_sentences(number))) for number in numbers))
        remaining = common & scored if drawn else scored
        if remaining and len(remaining) >= _ENOUGH * len(common):
            common, drawn = remaining, [*drawn, method]
    return sorted(common), drawn


def _curve(study: Study, method: Setting, numbers: list[int], languages: list[str]) -> dict[int, Measure]:
    settings = {number: method.with_sentences(number) for number in numbers}
    start = method.at_zero()
    if start is not None and set(languages) <= set(study.by_language(start)):
        settings = {0: start} | settings
    averages = {size: study.average(setting, languages) for size, setting in settings.items()}
    return {size: average for size, average in averages.items() if average}


def family_chart(study: Study) -> Figure | str:
    """Families as rows, the largest first; the best model of each regime and the n-gram as marks."""
    sentences = study.few_shot_sentences
    wanted = (
        zero_shot("univ", "bare"),
        few_shot("univ", "oest", sentences=sentences),
        few_shot("n-gram", sentences=sentences),
        few_shot("mixture", "oest", network="univ", sentences=sentences),
        joint("oest"),
    )
    settings = [setting for setting in wanted if set(study.by_language(setting)) & set(study.families)]
    scored = {language for setting in settings for language in study.by_language(setting)}
    members: defaultdict[str, list[str]] = defaultdict(list)
    for language, family in sorted(study.families.items()):
        members[family].append(language)
    families = {
        family: languages
        for family, languages in sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
        if not scored.isdisjoint(languages)
    }
    if not families:
        return "Bits per character by family: no scores of languages whose family is known."

    def average(setting: Setting, languages: list[str]) -> float | None:
        found = study.average(setting, languages)
        return found.mean if found else None

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.add_subplot(xlabel="bits per character")
        for index, setting in enumerate(settings):
            scores, shift = study.means(setting), (index - (len(settings) - 1) / 2) * _STEP
            small: list[tuple[float, float]] = []
            large: list[tuple[float, float]] = []
            for row, languages in enumerate(families.values()):
                found = [scores[language] for language in languages if language in scores]
                small += [(score, row + shift) for score in found if len(found) > 1]
                large += [(fmean(found), row + shift)] if found else []
            for points, style in (
                (small, {"alpha": 0.4, "ms": 3, "mew": 0}),
                (large, {"label": setting.full_label}),
            ):
                axes.plot(
                    *np.reshape(points, (-1, 2)).T, charts.MARKERS[index], color=charts.COLOURS[index], **style
                )
        names = [f"{short(family)} ({len(languages)})" for family, languages in families.items()]
        axes.set_yticks(range(len(names)), labels=names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        charts.add_legend(figure)

    everyone = [language for languages in families.values() for language in languages]
    means = "; ".join(f"{setting.full_label}: {average(setting, everyone):.2f}" for setting in settings)
    return Figure(
        name="families",
        title="Bits per character by family",
        caption=(
            "Large marks: the mean of a family; small ones: its languages. In brackets: how many languages of the "
            "family are in the study. Families are as the corpus gives them, the largest first."
        ),
        description=f"Dot chart of {len(families)} families. Averages over all their languages: {means}.",
        drawing=draw_svg("families", (9, 1.4 + 0.3 * len(families)), draw),
        records=[
            {
                "family": family,
                "languages": len(languages),
                **{setting.full_label: average(setting, languages) for setting in settings},
            }
            for family, languages in families.items()
        ],
    )


def exoticness_scatter(study: Study) -> Figure | str:
    """Exoticness of characters against bits per character (appendix A), without a sentence and with a few."""
    exotic = study.exoticness
    few = few_shot("univ", "bare", sentences=study.few_shot_sentences)
    panels: dict[Setting, dict[str, tuple[float, float]]] = {}
    for setting in (zero_shot("univ", "bare"), few):
        points = {code: (exotic[code], y) for code, y in study.means(setting).items() if code in exotic}
        if points:
            panels[setting] = points
    if not panels:
        return "Exoticness and bits per character: no scores of languages whose characters were counted."
    said = {setting: _say_correlation(study, setting) for setting in panels}

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(1, len(panels), squeeze=False)
        for axes, (setting, points) in zip(grid[0], panels.items(), strict=True):
            axes.set(title=said[setting], xlabel="exoticness (cosine distance)", ylabel="bits per character")
            xs, ys = zip(*points.values(), strict=True)
            if min(xs) < max(xs):
                slope, intercept = linear_regression(xs, ys)
                axes.axline((xs[0], intercept + slope * xs[0]), slope=slope, linestyle="--", color="#7F7F7F")
            by_partition: defaultdict[int | None, list[tuple[float, float]]] = defaultdict(list)
            for code, point in points.items():
                by_partition[study.partitions.get(code)].append(point)
            for partition, members in sorted(by_partition.items(), key=lambda item: item[0] or 0):
                colour, marker = partition_style(partition)
                axes.plot(*zip(*members, strict=True), marker, color=colour, label=partition_name(partition))
            _name_outliers(axes, points)
        charts.add_legend(figure)

    return Figure(
        name="exoticness",
        title="Exoticness of characters and bits per character",
        caption=(
            "Each point is a language: the cosine distance of its counts of characters from the mean of all others, "
            "and its bits per character. Lines are least-squares fits. The paper finds r = 0.53 zero-shot and "
            "r = -0.13 few-shot."
        ),
        description=f"Scatter plot. {'; '.join(said.values())}.",
        drawing=draw_svg("exoticness", (1 + 4.2 * len(panels), 4.6), draw),
        records=[
            {
                "code": code,
                "language": study.names.get(code, ""),
                "exoticness": exotic[code],
                **{setting.full_label: study.means(setting).get(code) for setting in panels},
            }
            for code in sorted({code for points in panels.values() for code in points})
        ],
    )


def _say_correlation(study: Study, setting: Setting) -> str:
    means, expected = study.means(setting), setting.regime == "zero-shot"
    found = correlate_exoticness(study.exoticness, means, expected=expected)
    if found.estimate is None or found.p_value is None:
        return f"{setting.full_label}: {found.tally}"
    return f"{setting.full_label}: r = {found.estimate:.2f}, p = {found.p_value:.2g}"


def _name_outliers(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Codes beside the points farthest from the middle, as far as they do not overlap."""
    axes.autoscale_view()  # the limits are not known before
    within = axes.transData + axes.transAxes.inverted()
    places = {code: within.transform(point) for code, point in points.items()}
    middle = np.mean(list(places.values()), axis=0)
    taken: list[np.ndarray] = []
    for code in sorted(places, key=lambda code: (-math.dist(places[code], middle), code))[:_NUM_NAMED]:
        if all(np.max(np.abs(places[code] - other)) > _ROOM for other in taken):
            taken.append(places[code])
            axes.annotate(short(code), points[code], xytext=(5, -3), textcoords="offset points", fontsize=8)


def character_heat_map(study: Study) -> Figure | str:
    """Share of each character in each language (appendix A), the most exotic language on top."""
    shares = {
        row.language: {
            character: count / sum(row.counts.values()) for character, count in row.counts.items() if count
        }
        for row in study.rows.unigrams
        if sum(row.counts.values())
    }
    if not shares:
        return "Characters by language: no counts of characters."
    languages = sorted(shares, key=lambda code: (-study.exoticness.get(code, 0.0), code))
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for found in shares.values():
        for character, share in found.items():
            parts[character].append(share)
    characters = sorted(parts, key=lambda character: (-math.fsum(parts[character]), character))
    shown = characters[:_MAX_CHARACTERS]
    visible = [_visible(character) for character in shown]

    def draw(figure: matplotlib.figure.Figure) -> None:
        table = [[shares[code].get(character, math.nan) for character in shown] for code in languages]
        # Light to dark of one hue: readable in grey and by everyone.
        shades = ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.12, 1, _NUM_SHADES)))
        axes = figure.add_subplot()
        image = axes.imshow(
            table, cmap=shades, norm=LogNorm(_FLOOR, _CEILING), aspect="auto", interpolation="none", resample=False
        )
        axes.grid(visible=False)
        axes.set_xticks(range(len(shown)), labels=visible)
        names = [short(f"{code} {study.names.get(code, '')}", 21) for code in languages]
        axes.set_yticks(range(len(languages)), labels=names)
        axes.tick_params(length=0, labelsize=7, labeltop=True)
        bar = figure.colorbar(
            image, location="top", shrink=0.4, anchor=(1, 0), aspect=30, label="share of the text"
        )
        bar.set_ticks([_FLOOR, 1e-3, _CEILING], labels=["≤ 0.001 %", "0.1 %", "≥ 20 %"])
        bar.minorticks_off()

    return Figure(
        name="characters",
        title="Characters by language",
        caption=(
            "Share of each character (columns, the most frequent first; ␣ is a blank) in each language's training text "
            "(rows, the most exotic on top), in logarithmic shades; white: the character does not occur. Shown are "
            f"the {len(shown)} characters with the largest mean share; the file has all {len(characters):,}."
        ),
        description=(
            f"Heat map of {len(shown)} characters in {len(languages)} languages. Most exotic: "
            f"{', '.join(languages[:3])}. Most frequent characters: {' '.join(visible[:10])}."
        ),
        drawing=draw_svg("characters", (2 + max(0.125 * len(shown), 4), 1.4 + 0.15 * len(languages)), draw),
        records=[
            {
                "character": _visible(character),
                "code point": " ".join(f"U+{ord(point):04X}" for point in character),
            }
            | {code: shares[code].get(character) for code in languages}
            for character in characters
        ],
    )


def _visible(character: str) -> str:
    """A character as one can see it: blanks as an open box, combining marks on a dotted circle."""
    if character == " ":
        return "␣"
    if unicodedata.combining(character[0]):
        return f"◌{character}"
    return showable(character) if character.isprintable() else f"{ord(character[0]):x}"


def signal_chart(study: Study) -> Figure | str:
    """Density of the signal-to-noise ratio of weights (appendix B): conditionings as panels, partitions as lines."""
    rows = [row for row in study.rows.signal_to_noise if row.layer == ALL_LAYERS and any(row.density)]
    if not rows:
        return "Signal-to-noise ratio of weights: no densities."
    present = [kind for kind in CONDITIONINGS if any(row.conditioning == kind for row in rows)]

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(1, len(present), squeeze=False, sharex=True, sharey=True)
        panels = dict(zip(present, grid[0], strict=True))
        for kind, axes in panels.items():
            axes.set(
                title=f"UNIV {kind.upper()}", xlabel="signal-to-noise ratio |μ| / σ", xscale="log", yscale="log"
            )
            axes.xaxis.set_major_formatter(_power)
            axes.yaxis.set_major_formatter(_power)
        for row in rows:
            centres = [10 ** ((low + high) / 2) for low, high in pairwise(row.edges)]
            densities = [density or math.nan for density in row.density]  # an empty bin breaks the line
            panels[row.conditioning].plot(
                centres,
                densities,
                color=partition_style(row.partition)[0],
                linestyle=charts.DASHES[((row.partition or 1) - 1) % len(charts.DASHES)],
                label=partition_name(row.partition),
            )
        for axes in panels.values():
            if axes.get_xlim()[0] < 1 < axes.get_xlim()[1]:
                axes.axvline(1, color="#7F7F7F", linestyle=(0, (4, 4)), lw=1)
        grid[0][0].set_ylabel("density of log₁₀")
        charts.add_legend(figure)

    peaks = "; ".join(
        f"{row.conditioning.upper()}, {partition_name(row.partition)}: most weights near {10**middle:.2g}"
        for row in rows
        for _, middle in [max(zip(row.density, map(fmean, pairwise(row.edges)), strict=True))]
    )
    return Figure(
        name="signal",
        title="Signal-to-noise ratio of weights",
        caption=(
            "Density of the logarithm (to base 10) of |μ| / σ over all weights of each universal prior, on logarithmic "
            "axes. To the right of the dashed line a weight's mean is larger than its standard deviation. Bins "
            "without weights are left out."
        ),
        description=f"Line chart of densities. {peaks}.",
        drawing=draw_svg("signal", (max(7, 1 + 3.5 * len(present)), 4.2), draw),
        records=[
            {
                "conditioning": row.conditioning,
                "partition": row.partition,
                "low": low,
                "high": high,
                "density": density,
            }
            for row in rows
            for (low, high), density in zip(pairwise(row.edges), row.density, strict=True)
        ],
    )


def _power(value: float, _position: int) -> str:
    exponent = round(math.log10(value))
    return f"{value:g}" if -3 <= exponent <= 4 else f"10{str(exponent).translate(_SUPERSCRIPTS)}"
