"""How well readers predict languages that no part has read, from nothing, from a page, and reading on.

``run`` measures readers beside PPMd and our n-gram on every language (``reading_texts.py`` says how texts are drawn,
``reading_systems.py`` what is measured) and puts one row per language and system into a file; rows that are there
are not made again. ``table`` makes the tables of the documentation and a file of all figures by language from the
rows. ``parts run`` and ``parts table`` weigh the parts of the reader on validation languages. ``curve run`` measures
how the bits of a character fall while 100,000 characters are read, and ``curve plot`` draws it.
"""

import argparse
from pathlib import Path

import reading_curve
import reading_table
from reading_rows import Row, Task, make_rows, read_rows, tasks_left
from reading_systems import BY_DEFAULT, LABELS, NO_CURVE, Setting, measure, trace
from reading_texts import EBIBLE, curve_text, find_sources, read_material, validation_sources

from protoglot.storage import write_atomically

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "reading.jsonl"
PARTS_ROWS = RESULTS / "reading-parts.jsonl"
CURVE_ROWS = RESULTS / "page-curve.jsonl"
GAP = Path(__file__).parent.parent / "docs" / "page-curve-table.md"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "page-curve.svg"
CURVE_SYSTEMS = ("reader", "ppmd", "ngram")


def main() -> None:
    """Run, tabulate or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    add_run(actions.add_parser("run"), ROWS, LABELS, BY_DEFAULT)
    tabulating = actions.add_parser("table")
    tabulating.add_argument("rows", type=Path, nargs="?", default=ROWS)
    tabulating.add_argument("--scorer", default="", help="beginning of its SHA-256 [default: of the last row]")
    tabulating.add_argument("--out", type=Path, help="write the tables here and do not print them")
    tabulating.add_argument(
        "--readme", type=Path, help="also write the small table between the markers of this page"
    )
    tabulating.add_argument("--csv", type=Path, help="figures by language [default: beside the rows]")
    curve = actions.add_parser("curve").add_subparsers(dest="curve_action", required=True)
    allowed = [system for system in LABELS if system not in NO_CURVE]
    add_run(curve.add_parser("run"), CURVE_ROWS, allowed, CURVE_SYSTEMS)
    plotting = curve.add_parser("plot")
    plotting.add_argument("rows", type=Path, nargs="?", default=CURVE_ROWS)
    plotting.add_argument("--scorer", default="", help="beginning of its SHA-256 [default: of the last row]")
    plotting.add_argument("--corpus", default=EBIBLE)
    plotting.add_argument("--text", type=Path, default=GAP, help="page of what lies between the curves")
    plotting.add_argument("--out", type=Path, default=PICTURE, help="an .svg; a .png is put beside it")
    parts = actions.add_parser("parts").add_subparsers(dest="parts_action", required=True)
    weighing = parts.add_parser("run")
    add_run(weighing, PARTS_ROWS, LABELS, ("reader", *reading_table.PARTS))
    listing = parts.add_parser("table")
    listing.add_argument("rows", type=Path, nargs="?", default=PARTS_ROWS)
    listing.add_argument("--scorer", default="", help="beginning of its SHA-256 [default: of the last row]")
    listing.add_argument("--out", type=Path, help="write the table here and do not print it")
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments, allowed=list(LABELS))
    elif arguments.action == "table":
        tabulate(arguments)
    elif arguments.action == "parts":
        weigh(arguments)
    elif arguments.curve_action == "run":
        run(arguments, allowed=allowed)
    else:
        plot(arguments)


def add_run(
    parser: argparse.ArgumentParser, rows: Path, systems: "list[str] | dict[str, str]", chosen: tuple[str, ...]
) -> None:
    """Options of what measures."""
    parser.add_argument("--ebible", type=Path, metavar="PATH", help="folder of the 719 languages")
    parser.add_argument("--bibles", type=Path, metavar="PATH", help="folder of bible77")
    parser.add_argument("--udhr", action="store_true", help="the Declaration too")
    parser.add_argument("--only", default="", help="some corpora or languages, such as udhr,ebible/aau,tur")
    parser.add_argument(
        "--systems", default=",".join(chosen), help=f"some of {', '.join(systems)} [default: %(default)s]"
    )
    parser.add_argument("--scorer", help="directory of another scorer than the installed one")
    parser.add_argument("--anchors", help="compressors.csv, for the figures of paq8px on ebible")
    parser.add_argument("--out", type=Path, default=rows, help="file of the rows [default: %(default)s]")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each [default: 2]")


def run(arguments: argparse.Namespace, allowed: list[str]) -> None:
    """Make the rows that are missing."""
    systems = names(arguments.systems)
    if unknown := [system for system in systems if system not in allowed]:
        raise SystemExit(f"--systems {', '.join(unknown)}: wanted some of {', '.join(allowed)}")
    setting = Setting(arguments.scorer, arguments.anchors)
    if arguments.action == "parts":
        if arguments.ebible is None:
            raise SystemExit("--ebible: missing; wanted the folder with the validation languages")
        sources = validation_sources(arguments.ebible)
    else:
        sources = find_sources(arguments.ebible, arguments.bibles, udhr=arguments.udhr, only=names(arguments.only))
    is_curve = arguments.action == "curve"
    tasks = tasks_left(sources, systems, setting, read_rows(arguments.out))
    make, show = (trace_row, show_trace) if is_curve else (measure_row, show_measures)
    make_rows(tasks, make, setting, arguments.out, jobs=arguments.jobs, show=show)


def measure_row(task: Task, setting: Setting) -> Row | None:
    """All measures of a system on a language."""
    found = measure(task.system, read_material(task.source), setting)
    if found is None:
        return None
    return {"bits": found.bits, "characters": found.characters, "seconds": found.seconds}


def show_measures(row: Row) -> str:
    """A row in short, in bits per character."""
    return ", ".join(
        f"{name} {row['bits'][name] / row['characters'][name]:.3f}"
        for name in ("page", "on", "static100")
        if name in row["bits"]
    )


def trace_row(task: Task, setting: Setting) -> Row:
    """The curve of a system on a language."""
    text = curve_text(task.source.lines())
    points = [0, *(point for point in reading_curve.POINTS if point <= len(text))]
    bits = trace(task.system, text, points, setting, language=task.source.language)
    per_sentence = round(len(text) / max(text.count("\n"), 1), 2)
    return {"points": points, "bits": [round(value, 3) for value in bits], "characters_per_sentence": per_sentence}


def show_trace(row: Row) -> str:
    """A curve in short."""
    return f"{row['bits'][-1] / row['points'][-1]:.3f} bits per character over {row['points'][-1]:,}"


def tabulate(arguments: argparse.Namespace) -> None:
    """Write the tables."""
    rows = reading_table.chosen_rows(read_rows(arguments.rows), arguments.scorer)
    tables = reading_table.make_tables(rows)
    if arguments.out is None:
        print(tables, end="")
    else:
        write_atomically(arguments.out, tables)
        print(f"written {arguments.out}")
    if arguments.readme is not None:
        reading_table.update_readme(arguments.readme, rows)
        print(f"written {arguments.readme}")
    path = arguments.csv or arguments.rows.with_suffix(".csv")
    write_atomically(path, reading_table.make_csv(rows))
    if arguments.out is not None:
        print(f"written {path}")


def weigh(arguments: argparse.Namespace) -> None:
    """Weigh the parts of the reader, or tabulate what they bring."""
    if arguments.parts_action == "run":
        run(arguments, allowed=list(LABELS))
        return
    table = reading_table.table_of_parts(reading_table.chosen_rows(read_rows(arguments.rows), arguments.scorer))
    if arguments.out is None:
        print(table, end="")
    else:
        write_atomically(arguments.out, table)
        print(f"written {arguments.out}")


def plot(arguments: argparse.Namespace) -> None:
    """Draw the curves and say what lies between them."""
    rows = reading_table.chosen_rows(read_rows(arguments.rows), arguments.scorer)
    curves = reading_curve.curves_of([row for row in rows if row["corpus"] == arguments.corpus])
    for path in reading_curve.draw(curves, arguments.out):
        print(f"drawn {path}")
    described = reading_curve.describe_gap(curves)
    print(described, end="")
    write_atomically(arguments.text, described)


def names(text: str) -> list[str]:
    """Of a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    main()
