"""The figures of the paper: E. M. Ponti et al., "Towards Zero-shot Language Modeling", EMNLP-IJCNLP 2019.

Per language they are in ``data/paper_scores.csv``; of PLAT the paper gives averages only.
"""

import csv
from functools import lru_cache
from importlib import resources

from protoglot.languages import BIBLE_CORPUS_CORRECTIONS
from protoglot.report.settings import Setting, few_shot, joint, zero_shot

CITATION = (
    "E. M. Ponti, I. Vulić, R. Cotterell, R. Reichart and A. Korhonen (2019). Towards Zero-shot Language Modeling. "
    "EMNLP-IJCNLP."
)

COLUMNS: dict[Setting, str] = {
    zero_shot("ninf", "bare"): "zero_ninf_bare",
    zero_shot("univ", "bare"): "zero_univ_bare",
    zero_shot("univ", "oest"): "zero_univ_oest",
    few_shot("ninf", "bare"): "few_ninf_bare",
    few_shot("fitu", "oest"): "few_fitu_oest",
    few_shot("univ", "bare"): "few_univ_bare",
    few_shot("univ", "oest"): "few_univ_oest",
    joint("bare"): "joint_ninf_bare",
    joint("oest"): "joint_ninf_oest",
}
"""The columns of the paper's tables, in their order, and their names in the file."""

AVERAGES: dict[Setting, float] = {zero_shot("univ", "plat"): 5.479, few_shot("univ", "plat"): 3.251}
"""Averages over the 77 languages that the paper gives without the languages' own figures (§6)."""


@lru_cache(maxsize=1)
def paper_scores() -> dict[Setting, dict[str, float]]:
    """Bits per character of each setting and language of the paper's tables, by :func:`paper_code`."""
    table = resources.files("protoglot.data").joinpath("paper_scores.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    return {
        setting: {paper_code(row["code"]): float(row[column]) for row in rows}
        for setting, column in COLUMNS.items()
    }


def paper_code(code: str) -> str:
    """The one code for all spellings of a language in copies of the paper's corpus.

    >>> paper_code("alb") == paper_code("sqi")
    True
    """
    return BIBLE_CORPUS_CORRECTIONS.get(code, code)


def paper_score(language: str, setting: Setting) -> float | None:
    """The paper's figure for a language, or ``None`` where it has none.

    Its few-shot figures are of 100 sentences, and stand beside ours of any number.
    """
    return paper_scores().get(setting.as_in_paper, {}).get(paper_code(language))
