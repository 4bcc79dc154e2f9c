"""The report as one page of HTML that needs nothing else: no network, no fonts, no files."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from protoglot import __version__
from protoglot.report import paper
from protoglot.report.claims import Verdict
from protoglot.report.figures.figure import Figure
from protoglot.report.making import environments_section
from protoglot.report.markup import Child, Markup, element, join
from protoglot.report.settings import CONDITIONING_SENTENCES, METHOD_NAMES, METHOD_SENTENCES
from protoglot.report.study import Study
from protoglot.report.tables import Table, as_html

FORMS = ("md", "csv", "tex")
"""Endings of the files of each table."""

_MAX_ROWS_OF_DATA = 400  # of a figure within the page; larger ones are in the files only
_MAX_COLUMNS_OF_DATA = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Everything that the page shows."""

    averages: Table
    claims: Table
    rivals: Table | None
    scores: Sequence[Table]
    figures: Sequence[Figure | str]
    texts: Sequence[Table]
    cost: Table | None
    failures: Table | None

    def tables(self) -> list[Table]:
        """All tables that have files, those of figures included."""
        optional = [self.rivals, self.cost, self.failures]
        return [
            self.averages,
            self.claims,
            *self.scores,
            *self.texts,
            *(table for table in optional if table is not None),
            *(figure.data for figure in self.figures if isinstance(figure, Figure)),
        ]


def make_page(study: Study, contents: Contents) -> str:
    """The page, whole."""
    style, script = (_read(name) for name in ("page.css", "page.js"))
    # Only this style and this script may run, and nothing may be fetched or sent.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    sections = _sections(study, contents)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", "Results of a study by protoglot"),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element(
            "header",
            element("h1", "Languages with next to no text: results of a study"),
            element("p", _lead(study, contents), class_="lead"),
            _nav(sections),
        ),
        element("main", [element("section", content, id=name) for name, _, content in sections]),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _sections(study: Study, contents: Contents) -> list[tuple[str, str, Markup]]:
    """Anchor, heading and content of each section."""
    return [
        _section("averages", "Averages", _with_files(contents.averages), _glossary(study)),
        _section(
            "claims",
            "The paper's claims",
            _with_files(contents.claims),
            [element("h3", "Against the n-gram"), _with_files(contents.rivals)] if contents.rivals else None,
        ),
        _section(
            "scores",
            "Scores by language",
            element(
                "p",
                "Press the head of a column to sort by it. The paper's figures are of its own text (the Bible): they "
                "can be compared with ours as far as our text is the same.",
            ),
            [[element("h3", table.title), _with_files(table)] for table in contents.scores],
        ),
        _section("figures", "Figures", [_figure(figure) for figure in contents.figures]),
        _section("texts", "Generated text", _texts(contents.texts)),
        _section("making", "How it was made", _making(study, contents)),
    ]


def _section(name: str, heading: str, *content: Child) -> tuple[str, str, Markup]:
    return name, heading, join(element("h2", heading), *content)


def _nav(sections: Sequence[tuple[str, str, Markup]]) -> Markup:
    links = [element("li", element("a", heading, href=f"#{name}")) for name, heading, _ in sections]
    return element("nav", element("ul", links), aria_label="Sections")


def _lead(study: Study, contents: Contents) -> str:
    tones = [cell.tone for row in contents.claims.rows for cell in row]
    counts = {
        Verdict.HOLDS: tones.count("holds"),
        Verdict.FAILS: tones.count("fails"),
        Verdict.UNDECIDED: tones.count("undecided"),
    }
    partitions = len(set(study.partitions.values()))
    return (
        f"Languages: {len(study.languages)}; partitions: {partitions}; scores: {len(study.rows.scores):,}; "
        f"failures: {len(study.rows.failures)}. The paper's {sum(counts.values())} claims: "
        + ", ".join(f"{_VERDICT_WORDS[verdict]} {number}" for verdict, number in counts.items())
        + "."
    )


_VERDICT_WORDS = {
    Verdict.HOLDS: "held",
    Verdict.FAILS: "not held",
    Verdict.UNDECIDED: "not to be tested on these rows",
}


def _with_files(table: Table) -> Markup:
    return join(as_html(table), _files(table))


def _files(table: Table) -> Markup:
    links: list[Child] = [[" ", element("a", form, href=f"tables/{table.name}.{form}")] for form in FORMS]
    return element("p", "This table as a file:", links, class_="files")


def _figure(figure: Figure | str) -> Markup:
    if isinstance(figure, str):
        return element("p", figure)
    table = figure.data
    small = len(table.rows) <= _MAX_ROWS_OF_DATA and len(table.columns) <= _MAX_COLUMNS_OF_DATA
    data = element("details", element("summary", "The numbers of this figure"), as_html(table)) if small else None
    return join(
        element("h3", figure.title),
        element(
            "figure",
            element("div", figure.drawing, class_="canvas", tabindex="0", role="region", aria_label=figure.title),
            element("figcaption", figure.caption),
        ),
        data,
        _files(table),
    )


def _texts(tables: Sequence[Table]) -> Markup:
    if not tables:
        return element("p", "No text was generated.")
    return join(
        element("p", "Sampled from the models, nothing chosen. Each model has seen all partitions but its own."),
        [
            element("details", element("summary", table.title), _with_files(table), open=index == 0)
            for index, table in enumerate(tables)
        ],
    )


def _glossary(study: Study) -> Markup:
    """Labels of this study; all of them where it has no score yet."""
    shown = {setting.method for setting in study.measures.settings} or set(METHOD_SENTENCES)
    methods = [(METHOD_NAMES[method], text) for method, text in METHOD_SENTENCES.items() if method in shown]
    conditionings = [(name.upper(), sentence) for name, sentence in CONDITIONING_SENTENCES.items()]
    entries = [[element("dt", term), element("dd", sentence)] for term, sentence in (*methods, *conditionings)]
    return element("details", element("summary", "What the labels mean"), element("dl", entries, class_="facts"))


def _making(study: Study, contents: Contents) -> Markup:
    rows = study.rows
    notes: list[Child] = [
        element(
            "p", f"Made by protoglot {__version__} from {rows.number:,} rows, whose SHA-256 in sorted order is "
        ),
        element("pre", rows.digest),
    ]
    if rows.unknown_kinds:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in rows.unknown_kinds.items())
        notes.append(
            element("p", f"Rows of kinds that this release does not know, and that are not shown: {kinds}.")
        )
    if study.measures.num_disagreements:
        notes.append(
            element(
                "p",
                f"{study.measures.num_disagreements} scores come from several units that disagree; "
                "their means are shown.",
            )
        )
    failures = _with_files(contents.failures) if contents.failures else element("p", "No unit of work has failed.")
    return join(
        notes,
        environments_section(study),
        element("h3", "Failures"),
        failures,
        [element("h3", "What it took"), _with_files(contents.cost)] if contents.cost else None,
        element("h3", "The paper"),
        element("p", paper.CITATION),
    )


def _read(name: str) -> str:
    return resources.files("protoglot.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
