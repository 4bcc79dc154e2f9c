"""The report as one page of HTML that needs nothing else: no network, no fonts, no files."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import partial

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


def make_page(
    study: Study, tables: Sequence[Table], figures: Sequence[Figure | str], texts: Sequence[Table]
) -> str:
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
        tables={table.name: table for table in tables},
        figures=figures,
        texts=texts,
        makings=makings(study),
        methods=METHOD_LABELS,
        conditionings=CONDITIONING_SENTENCES,
        citation=paper.CITATION,
        version=__version__,
        as_json=partial(json.dumps, ensure_ascii=False, sort_keys=True),
        script=script,
        script_hash=f"sha256-{digest}",
    )
    return page.lstrip() + "\n"


def _showable(value: object) -> object:
    return showable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
