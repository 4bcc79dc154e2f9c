"""The page curve: bits per character against characters read, and what lies between two such curves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]

POINTS_PER_DECADE = 12
POINTS = tuple(round(10 ** (1 + i / POINTS_PER_DECADE)) for i in range(4 * POINTS_PER_DECADE + 1))
"""Numbers of characters up to which bits are summed, 10 to 100,000."""

DRAWN_PER_DECADE = 3
SENTENCES = (1, 3, 10, 30, 100, 300)
READ = (1_000, 10_000, 100_000)
NAMES = {
    "reader": "reader",
    "fast": "reader --fast",
    "offline": "reader, no online weights",
    "ppmd": "PPMd",
    "ngram": "n-gram (Kneser-Ney 7)",
    "univ": "LSTM, UNIV",
    "univ-online": "LSTM, UNIV with online MAP",
}
# Colour-blind safe (Okabe and Ito), told apart by line style as well.
STYLES = {
    "reader": ("#0072B2", "-"),
    "fast": ("#56B4E9", "-."),
    "offline": ("#CC79A7", ":"),
    "ppmd": ("#D55E00", "--"),
    "ngram": ("#009E73", (0, (3, 1, 1, 1))),
    "univ": ("#E69F00", (0, (1, 1))),
    "univ-online": ("#000000", (0, (5, 1, 1, 1))),
}


@dataclass(frozen=True, slots=True)
class Curve:
    """A system on several languages."""

    system: str
    languages: tuple[str, ...]
    points: NDArray[np.float64]
    """Numbers of characters, from 0, (P,)."""

    bits: NDArray[np.float64]
    """Of so many characters, (languages, P)."""

    characters_per_sentence: float

    def stretches(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Middles of stretches of the logarithmic scale, (S,), and bits per character in them, (languages, S)."""
        step = POINTS_PER_DECADE // DRAWN_PER_DECADE
        ends = np.arange(1, len(self.points), step)  # the first point is 0, which no logarithm has
        points, bits = self.points[ends], self.bits[:, ends]
        return np.sqrt(points[1:] * points[:-1]), np.diff(bits, axis=1) / np.diff(points)


def curves_of(rows: Sequence[Row]) -> dict[str, Curve]:
    """Curves by system, over the languages that all systems have, as far as the shortest text goes.

    Raises:
        SystemExit: if there is no such language.
    """
    systems = [system for system in NAMES if any(row["system"] == system for row in rows)]
    by_system = {s: {row["language"]: row for row in rows if row["system"] == s} for s in systems}
    common = sorted(set.intersection(*(set(found) for found in by_system.values()))) if systems else []
    if not common:
        raise SystemExit("no language has rows of all systems; wanted those of `curve run`")
    shortest = min(len(row["points"]) for found in by_system.values() for row in (found[code] for code in common))
    curves = {}
    for system in systems:
        found = [by_system[system][code] for code in common]
        curves[system] = Curve(
            system,
            tuple(common),
            np.array(found[0]["points"][:shortest], float),
            np.array([row["bits"][:shortest] for row in found]),
            float(np.mean([row["characters_per_sentence"] for row in found])),
        )
    return curves


def saved_bits(ours: Curve, theirs: Curve, characters: float) -> float:
    """Area between two curves: bits that one needs less than the other for the first characters, mean of languages."""
    gap = (theirs.bits - ours.bits).mean(axis=0)
    return float(np.interp(characters, ours.points, gap))


def worth(ours: Curve, theirs: Curve, sentences: float) -> float:
    """Sentences after which the other costs what the one costs after some; infinite if that was not reached.

    Costs are means over languages, between points of the curve on a straight line against the logarithm.
    """
    middles, costs = ours.stretches()
    wanted = float(
        np.interp(math.log(sentences * ours.characters_per_sentence), np.log(middles), costs.mean(axis=0))
    )
    middles, costs = theirs.stretches()
    lowest = np.minimum.accumulate(costs.mean(axis=0))
    if lowest[-1] > wanted:
        return math.inf
    # From the last to the first: np.interp wants costs that rise.
    log_characters = float(np.interp(wanted, lowest[::-1], np.log(middles)[::-1]))
    return math.exp(log_characters) / theirs.characters_per_sentence


def describe_gap(curves: dict[str, Curve]) -> str:
    """The value of the first system over each other one, as Markdown."""
    ours, *rivals = curves.values()
    longest = ours.points[-1]
    counted = [number for number in READ if number <= longest]
    asked = [n for n in SENTENCES if n * ours.characters_per_sentence <= longest]
    lines = [
        f"{len(ours.languages)} languages, {ours.characters_per_sentence:.0f} characters a sentence; "
        f"bits that the {NAMES[ours.system]} needs less, by characters read",
        "",
        f"| than | {' | '.join(f'{number:,}' for number in counted)} |",
        "|---|" + "---:|" * len(counted),
    ]
    for rival in rivals:
        cells = [f"{saved_bits(ours, rival, number):,.0f}" for number in counted]
        lines.append(f"| {NAMES[rival.system]} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Sentences that another needs to predict as well as the {NAMES[ours.system]} does after so many",
        "",
        f"| | {' | '.join(str(number) for number in asked)} |",
        "|---|" + "---:|" * len(asked),
    ]
    for rival in rivals:
        most = longest / rival.characters_per_sentence
        found = [worth(ours, rival, number) for number in asked]
        cells = [f"more than {most:.0f}" if math.isinf(number) else f"{number:.3g}" for number in found]
        lines.append(f"| {NAMES[rival.system]} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def draw(curves: dict[str, Curve], path: Path) -> list[Path]:
    """Mean and band of each system, as .svg and .png."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 11, "svg.hashsalt": "protoglot", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(8, 4.6), constrained_layout=True)
    for system, curve in curves.items():
        colour, style = STYLES[system]
        middles, costs = curve.stretches()
        low, high = np.quantile(costs, [0.1, 0.9], axis=0)
        axes.fill_between(middles, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(middles, costs.mean(axis=0), linestyle=style, color=colour, linewidth=2, label=NAMES[system])
    first = next(iter(curves.values()))
    axes.set_xscale("log")
    axes.set_xlim(10, first.points[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("characters read")
    axes.set_ylabel("bits per character")
    axes.set_title(f"{len(first.languages)} languages that no part has read: mean, and 10 to 90 % of languages")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_suffix(".png")
    figure.savefig(path, format="svg", metadata={"Date": None})
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    plt.close(figure)
    return [path, picture]
