"""The tables of the reading benchmark, from its rows alone: the same rows always make the same tables."""

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reading_systems import LABELS, MEASURES, NO_WORDS, READERS, TOLD
from reading_texts import BIBLES, CORPORA, EBIBLE, ELD, UDHR, VALIDATION

from protoglot.storage import write_atomically

Row = dict[str, Any]
Figures = Mapping[str, Mapping[str, float]]
"""Bits per character by system and language, of one corpus and measure."""

HEADS = {
    "page": "page",
    "first10": "first 10",
    "first30": "first 30",
    "on": "reading on",
    "static100": "static 100",
    "static30": "static 30",
    "static10": "static 10",
}
RIVALS = ("paq8px", "ppmd", "ngram")
SHORT = {"paq8px": "paq8px", "ppmd": "PPMd", "ngram": "n-gram"}
SUMMARY_SYSTEMS = ("reader", "fast", "paq8px", "ppmd", "ngram")
SUMMARY_MEASURES = {
    "first10": "10 sentences, from nothing",
    "first30": "30 sentences, from nothing",
    "page": "page of 100 sentences, from nothing",
    "on": "100 further sentences, reading on",
    "static100": "the same, each on its own after the page",
}
PARTS = {
    "fast": "network of letters",
    NO_WORDS: "word lists of other languages",
    "offline": "online weights",
    TOLD: "the code of the language",
}
"""What readers are without, or know beside."""

BEGIN, END = "<!-- reading: begin -->", "<!-- reading: end -->"


def chosen_rows(rows: Sequence[Row], scorer: str = "") -> list[Row]:
    """One row for each corpus, language and system: of readers, those of one scorer; of others, the last.

    Args:
        rows: all.
        scorer: beginning of its SHA-256; that of the last row of a reader if empty.

    Raises:
        SystemExit: if no row is of such a scorer, or rows of more than one are.
    """
    of_readers = [row["identity"] for row in rows if row["system"] in READERS]
    wanted = (
        {identity for identity in of_readers if identity.startswith(scorer)} if scorer else set(of_readers[-1:])
    )
    if scorer and len(wanted) != 1:
        raise SystemExit(
            f"--scorer {scorer}: {len(wanted)} scorers have rows; wanted one of {sorted(set(of_readers))}"
        )
    found = {
        (row["corpus"], row["language"], row["system"]): row
        for row in rows
        if row["system"] not in READERS or row["identity"] in wanted
    }
    corpora, systems = list(CORPORA), list(LABELS)
    return [found[key] for key in sorted(found, key=lambda k: (corpora.index(k[0]), k[1], systems.index(k[2])))]


def figures(rows: Sequence[Row], corpus: str, measure: str) -> dict[str, dict[str, float]]:
    """Bits per character by system and language."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["corpus"] == corpus and measure in row["bits"]:
            by_language = found.setdefault(row["system"], {})
            by_language[row["language"]] = row["bits"][measure] / row["characters"][measure]
    return found


def compare(bits: Figures, system: str, rival: str) -> tuple[float, int, int]:
    """Ratio of the means over the languages that both have; in how many it is below; of how many."""
    languages = sorted(bits.get(system, {}).keys() & bits.get(rival, {}).keys())
    if not languages:
        return float("nan"), 0, 0
    ours = [bits[system][language] for language in languages]
    theirs = [bits[rival][language] for language in languages]
    below = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return statistics.fmean(ours) / statistics.fmean(theirs), below, len(languages)


def summary(rows: Sequence[Row]) -> str:
    """Bits per character of the 40 languages in one small table, for the README.

    Raises:
        SystemExit: if no row is of these languages.
    """
    own = [row for row in rows if row["corpus"] == EBIBLE]
    systems = [system for system in SUMMARY_SYSTEMS if any(row["system"] == system for row in own)]
    if "reader" not in systems:
        raise SystemExit("no row of the reader on the 40 languages; wanted those of `reading.py run`")
    heads = [SHORT.get(system, LABELS[system]) for system in systems]
    lines = [f"| bits per character | {' | '.join(heads)} |", "|---|" + "---:|" * len(systems)]
    for measure, name in SUMMARY_MEASURES.items():
        bits = figures(own, EBIBLE, measure)
        means = {system: statistics.fmean(bits[system].values()) for system in systems if system in bits}
        if not means:
            continue
        best = min(means.values())
        cells = [
            "–"
            if system not in means
            else f"**{means[system]:.3f}**"
            if means[system] == best
            else f"{means[system]:.3f}"
            for system in systems
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def update_readme(page: Path, rows: Sequence[Row]) -> None:
    """Write the summary between the markers of a page.

    Raises:
        SystemExit: if it does not have each marker once.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page}: wanted {BEGIN!r} and {END!r}, each once")
    write_atomically(page, f"{before}{BEGIN}\n{summary(rows)}{END}{after}")


def make_tables(rows: Sequence[Row]) -> str:
    """Means, and ratios to the rivals, as Markdown."""
    present = [corpus for corpus in CORPORA if any(row["corpus"] == corpus for row in rows)]
    parts = [table_of_means(rows, corpus) for corpus in present]
    if any(row["system"] in READERS for row in rows):
        parts.append(table_of_ratios(rows, present))
    return "\n".join(parts)


def table_of_means(rows: Sequence[Row], corpus: str) -> str:
    """Bits per character of every system and measure, means over languages."""
    own = [row for row in rows if row["corpus"] == corpus]
    measures = [measure for measure in MEASURES if any(measure in row["bits"] for row in own)]
    bits = {measure: figures(own, corpus, measure) for measure in measures}
    lines = [
        f"{CORPORA[corpus]}: bits per character, means over languages",
        "",
        f"| system | languages | {' | '.join(HEADS[measure] for measure in measures)} |",
        "|---|---:|" + "---:|" * len(measures),
    ]
    for system, label in LABELS.items():
        languages = {row["language"] for row in own if row["system"] == system}
        if languages:
            cells = [
                f"{statistics.fmean(bits[measure][system].values()):.3f}" if system in bits[measure] else "–"
                for measure in measures
            ]
            lines.append(f"| {label} | {len(languages)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def table_of_ratios(rows: Sequence[Row], corpora: Sequence[str]) -> str:
    """Each reader against each rival: ratio of the means, and in how many languages it is below."""
    readers = [system for system in LABELS if system in READERS and any(row["system"] == system for row in rows)]
    lines = [
        "Ratios of these means over the languages that both have (in brackets: in how many the reader is below)",
        "",
        f"| text | measure | of | {' | '.join(LABELS[system] for system in readers)} |",
        "|---|---|---|" + "---:|" * len(readers),
    ]
    for corpus in corpora:
        for measure in MEASURES:
            bits = figures(rows, corpus, measure)
            for rival in RIVALS:
                found = [compare(bits, system, rival) for system in readers]
                if not any(number for _, _, number in found):
                    continue
                cells = [f"{ratio:.3f} ({below} of {number})" if number else "–" for ratio, below, number in found]
                name = {EBIBLE: "Bibles, test", BIBLES: "Bibles, nine", ELD: "news", UDHR: "Declaration"}[corpus]
                lines.append(f"| {name} | {HEADS[measure]} | {SHORT[rival]} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def table_of_parts(rows: Sequence[Row]) -> str:
    """What each part of the reader brings: how many percent more bits it needs without, on validation languages.

    Raises:
        SystemExit: if no row is of the whole reader on them.
    """
    measures = ("first10", "page", "on", "static10", "static100")
    bits = {measure: figures(rows, VALIDATION, measure) for measure in measures}
    if "reader" not in bits["page"]:
        raise SystemExit("no row of the reader on validation languages; wanted those of `parts run`")
    number = len(bits["page"]["reader"])
    lines = [
        f"| percent, {number} languages | {' | '.join(HEADS[measure] for measure in measures)} |",
        "|---|" + "---:|" * len(measures),
    ]
    whole = [f"{statistics.fmean(bits[measure]['reader'].values()):.3f}" for measure in measures]
    lines.append(f"| bits/character of the whole reader | {' | '.join(whole)} |")
    for system, name in PARTS.items():
        if system in bits["page"]:
            cells = [_gain(bits[measure], system) for measure in measures]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _gain(bits: Figures, system: str) -> str:
    """Mean and standard error over languages of the percent that a part saves, or that knowing more does."""
    sign = -1 if system == TOLD else 1
    languages = sorted(bits["reader"].keys() & bits[system].keys())
    gains = [sign * 100 * (bits[system][code] / bits["reader"][code] - 1) for code in languages]
    return f"{statistics.fmean(gains):.2f} ± {statistics.stdev(gains) / len(gains) ** 0.5:.2f}"


def make_csv(rows: Sequence[Row]) -> str:
    """Bits per character by language and system, and how many characters."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["corpus", "language", "system", "characters_page", "characters_test", *MEASURES])
    for row in rows:
        bits, characters = row["bits"], row["characters"]
        cells = [f"{bits[name] / characters[name]:.4f}" if name in bits else "" for name in MEASURES]
        page, test = characters.get("page", ""), characters.get("on", "")
        writer.writerow([row["corpus"], row["language"], row["system"], page, test, *cells])
    return stream.getvalue()
