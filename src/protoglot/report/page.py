"""The report as one page of HTML that needs nothing else: no network, no fonts, no files."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protoglot import __version__
from protoglot.report import paper
from protoglot.report.charts import Figure
from protoglot.report.making import makings
from protoglot.report.settings import CONDITIONING_SENTENCES, METHOD_LABELS
from protoglot.report.study import Study
from protoglot.report.tables import Table
from protoglot.text import showable


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

    @property
    def tables(self) -> Iterator[Table]:
        """All tables, those of texts aside, which share one file."""
        yield from (self.averages, self.claims, *self.scores)
        yield from (table for table in (self.rivals, self.cost, self.failures) if table)


def make_page(study: Study, contents: Contents) -> str:
    """The page, whole; every string in it that is not of the template is escaped."""
    environment = Environment(
        loader=PackageLoader("protoglot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_showable,
    )
    script = Markup(environment.get_template("page.js").render())  # noqa: S704  (ours, and nothing is put into it)
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    page = environment.get_template("page.html").render(
        study=study,
        contents=contents,
        makings=makings(study),
        verdicts=Counter(row["ours"].tone for row in contents.claims.rows),
        glossary=_glossary(study),
        citation=paper.CITATION,
        version=__version__,
        script=script,
        script_hash=f"sha256-{digest}",
    )
    return page.lstrip() + "\n"


def _showable(value: object) -> object:
    return showable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _glossary(study: Study) -> dict[str, str]:
    """Labels of this study and what they mean; all of them where it has no score yet."""
    shown = {setting.method for setting in study.measures.settings} or set(METHOD_LABELS)
    methods = dict(entry for method, entry in METHOD_LABELS.items() if method in shown)
    return methods | {name.upper(): sentence for name, sentence in CONDITIONING_SENTENCES.items()}
