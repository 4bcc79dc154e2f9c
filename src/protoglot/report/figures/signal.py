"""Density of the signal-to-noise ratio of weights, on log-log axes (appendix B)."""

from collections import defaultdict

from protoglot.probing import ALL_LAYERS
from protoglot.report.figures.figure import Figure, partition_name, partition_style
from protoglot.report.markup import Markup, join
from protoglot.report.rows import CONDITIONINGS, SignalToNoiseRow
from protoglot.report.study import Study
from protoglot.report.svg import DASHES, LogScale, Panel, drawing, line, polyline, text
from protoglot.report.tables import Column, Table, number, words

_PANEL_HEIGHT, _GAP = 300.0, 76.0
_LEFT, _TOP = 74.0, 64.0


def signal_chart(study: Study) -> Figure | None:
    """One panel for each conditioning, one line for each partition; ``None`` without densities of all weights."""
    rows = [row for row in study.rows.signal_to_noise if row.layer == ALL_LAYERS and any(row.density)]
    if not rows:
        return None
    panels: defaultdict[str, list[SignalToNoiseRow]] = defaultdict(list)
    for row in rows:
        panels[row.conditioning].append(row)
    present = [conditioning for conditioning in CONDITIONINGS if conditioning in panels]
    edges = [edge for row in rows for edge in _filled_edges(row)]
    densities = [density for row in rows for density in row.density if density > 0]
    x_range = 10.0 ** min(edges), 10.0 ** max(edges)
    y_range = min(densities) / 1.5, max(densities) * 1.5
    width = 720.0 if len(present) == 1 else (900.0 - _GAP * (len(present) - 1)) / len(present)
    parts: list[Markup] = []
    for index, conditioning in enumerate(present):
        left = _LEFT + index * (width + _GAP)
        x = LogScale(*x_range, left, left + width)
        y = LogScale(*y_range, _TOP + _PANEL_HEIGHT, _TOP)
        panel = Panel(x=x, y=y, left=left, right=left + width, top=_TOP, bottom=_TOP + _PANEL_HEIGHT)
        parts.append(
            panel.axes(
                title=f"UNIV {conditioning.upper()}",
                x_label="signal-to-noise ratio |μ| / σ",
                y_label="density of log₁₀" if index == 0 else "",
            )
        )
        if x_range[0] < 1 < x_range[1]:
            parts.append(line((x(1), _TOP), (x(1), _TOP + _PANEL_HEIGHT), colour="#7F7F7F", dash="4 4"))
        for row in panels[conditioning]:
            parts += _line(row, x, y)
    partitions = sorted({row.partition for row in rows}, key=lambda partition: (partition is None, partition or 0))
    for index, partition in enumerate(partitions):
        colour, left = partition_style(partition)[0], _LEFT + index * 130.0
        parts.append(line((left, 20), (left + 28, 20), colour=colour, width=2.0, dash=_dash(partition)))
        parts.append(text((left + 34, 24), partition_name(partition)))
    title = "Signal-to-noise ratio of weights"
    peaks = "; ".join(f"{_name(row)}: most weights near {10 ** _peak(row):.2g}" for row in rows)
    return Figure(
        title=title,
        caption=(
            "Density of the logarithm (to base 10) of |μ| / σ over all weights of each universal prior, on logarithmic "
            "axes. To the right of the dashed line a weight's mean is larger than its standard deviation. Bins "
            "without weights are left out."
        ),
        drawing=drawing(
            "signal",
            _LEFT + len(present) * width + (len(present) - 1) * _GAP + 20,
            _TOP + _PANEL_HEIGHT + 50,
            title=title,
            description=f"Line chart of densities. {peaks}.",
            content=join(parts),
        ),
        data=Table(
            name="figure-signal",
            title=title,
            caption="Density of log10 |μ| / σ in each bin, for all layers.",
            columns=(
                Column(key="conditioning", heading="conditioning", numeric=False),
                Column(key="partition", heading="partition"),
                Column(key="layer", heading="layer", numeric=False),
                Column(key="low", heading="from (log10)"),
                Column(key="high", heading="to (log10)"),
                Column(key="density", heading="density"),
            ),
            rows=tuple(
                (
                    words(row.conditioning),
                    number(row.partition, digits=0),
                    words(row.layer),
                    number(low),
                    number(high),
                    number(density, digits=6),
                )
                for row in study.rows.signal_to_noise
                for low, high, density in zip(row.edges, row.edges[1:], row.density, strict=False)
            ),
        ),
    )


def _line(row: SignalToNoiseRow, x: LogScale, y: LogScale) -> list[Markup]:
    """The density through the middle of bins; it is broken where bins are empty."""
    colour, _ = partition_style(row.partition)
    dash = _dash(row.partition)
    pieces: list[list[tuple[float, float]]] = [[]]
    for low, high, density in zip(row.edges, row.edges[1:], row.density, strict=False):
        if density > 0:
            pieces[-1].append((x(10 ** ((low + high) / 2)), y(density)))
        elif pieces[-1]:
            pieces.append([])
    return [polyline(piece, colour=colour, dash=dash) for piece in pieces if piece]


def _dash(partition: int | None) -> str:
    return DASHES[((partition or 1) - 1) % len(DASHES)]


def _filled_edges(row: SignalToNoiseRow) -> list[float]:
    """Edges of the first and the last bin that is not empty."""
    filled = [index for index, density in enumerate(row.density) if density > 0]
    return [row.edges[filled[0]], row.edges[filled[-1] + 1]]


def _peak(row: SignalToNoiseRow) -> float:
    best = max(range(len(row.density)), key=lambda index: row.density[index])
    return (row.edges[best] + row.edges[best + 1]) / 2


def _name(row: SignalToNoiseRow) -> str:
    return f"{row.conditioning.upper()}, {partition_name(row.partition)}"
