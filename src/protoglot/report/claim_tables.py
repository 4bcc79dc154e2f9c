"""Tables of claims and their verdicts."""

import math

from protoglot.report.claims import (
    PARITY_MARGIN,
    Comparison,
    Finding,
    Verdict,
    correlate_exoticness,
    find,
    find_in_paper,
    paper_claims,
    rivalries,
)
from protoglot.report.settings import few_shot, zero_shot
from protoglot.report.study import Study
from protoglot.report.tables import Cell, Column, Table, number, words


def claims_table(study: Study) -> Table:
    """All claims of the paper with the verdict of our rows."""
    sentences = study.measures.few_shot_sentences
    rows = []
    for claim in paper_claims(sentences):
        rows.append(_claim_row(claim, find(study, claim), find_in_paper(claim)))
    rows += [_correlation_row(study, regime) for regime in ("zero-shot", "few-shot")]
    return Table(
        name="claims",
        title="The paper's claims",
        caption=(
            "The paper's claims, tested on our rows. A claim that one model beats another holds if, over languages, "
            "the sign test (two-sided, p < 0.05) and the 95 % interval of the mean difference (paired bootstrap over "
            f"languages) both say so; “on a par” allows {PARITY_MARGIN} bits per character. The paper's column is the "
            "count of its own figures, with their mean difference. No correction is made for the number of claims."
        ),
        columns=_CLAIM_COLUMNS,
        rows=tuple(rows),
        prose=True,
    )


def rivals_table(study: Study) -> Table | None:
    """Every method against the n-gram of the same sentences, or ``None`` where there is none to compare."""
    comparisons = rivalries(study)
    if not comparisons:
        return None
    return Table(
        name="against-the-n-gram",
        title="Against the n-gram",
        caption=(
            "Each method against an interpolated n-gram that reads the same sentences and nothing else. “Holds” means "
            "that the method beats it, by the same test as above; ratio is the average of the method over that of "
            "the n-gram."
        ),
        columns=(*(column for column in _CLAIM_COLUMNS if column.key != "paper"), _RATIO_COLUMN),
        rows=tuple(_rival_row(study, claim) for claim in comparisons),
        prose=True,
    )


_CLAIM_COLUMNS = (
    Column(key="claim", heading="claim", numeric=False),
    Column(key="compared", heading="compared", numeric=False),
    Column(key="paper", heading="in the paper", numeric=False),
    Column(key="verdict", heading="ours", numeric=False),
    Column(key="tally", heading="languages for it", numeric=False),
    Column(key="difference", heading="mean difference or r"),
    Column(key="low", heading="95 % from"),
    Column(key="high", heading="to"),
    Column(key="p_value", heading="p"),
)
_RATIO_COLUMN = Column(key="ratio", heading="ratio")

_TONES = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNDECIDED: "undecided"}
_SIGNS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?"}


def _in_paper_words(claim: Comparison, finding: Finding | None) -> str:
    if finding is None or finding.difference is None:
        return claim.in_paper
    return f"{finding.tally}, {finding.difference.mean:+.3f}{f' ({claim.in_paper})' if claim.in_paper else ''}"


def _verdict_cell(verdict: Verdict, reason: str) -> Cell:
    return words(f"{_SIGNS[verdict]} {verdict}: {reason}", tone=_TONES[verdict])


def _finding_cells(finding: Finding) -> tuple[Cell, ...]:
    difference, signs = finding.difference, finding.signs
    return (
        _verdict_cell(finding.verdict, finding.reason),
        words(finding.tally),
        number(difference.mean if difference else None),
        number(difference.low if difference else None),
        number(difference.high if difference else None),
        _p_cell(signs.p_value if signs else None),
    )


def _claim_row(claim: Comparison, finding: Finding, theirs: Finding | None) -> tuple[Cell, ...]:
    sign = "≤" if claim.margin is not None else "<"
    compared = words(f"{claim.lower.full_label} {sign} {claim.higher.full_label}")
    return (words(claim.statement), compared, words(_in_paper_words(claim, theirs)), *_finding_cells(finding))


def _rival_row(study: Study, claim: Comparison) -> tuple[Cell, ...]:
    finding = find(study, claim)
    languages = sorted(
        set(study.measures.by_language(claim.lower)) & set(study.measures.by_language(claim.higher))
    )
    ours, theirs = (study.measures.average(side, languages) for side in (claim.lower, claim.higher))
    ratio = ours.mean / theirs.mean if ours and theirs and theirs.mean else None
    compared = words(f"{claim.lower.label} < {claim.higher.label}")
    return (words(claim.statement), compared, *_finding_cells(finding), number(ratio))


def _correlation_row(study: Study, regime: str) -> tuple[Cell, ...]:
    expected = regime == "zero-shot"
    setting = (
        zero_shot("univ", "bare")
        if expected
        else few_shot("univ", "bare", sentences=study.measures.few_shot_sentences)
    )
    finding = correlate_exoticness(study.exoticness, study.measures.means(setting), expected=expected)
    r, p = finding.correlation.coefficient, finding.correlation.p_value
    return (
        words(
            "Languages with exotic characters are harder, zero-shot"
            if expected
            else "Exotic characters no longer matter, few-shot"
        ),
        words(f"correlation of exoticness with {setting.full_label}"),
        words("r = 0.53, p < 1e-6" if expected else "r = -0.13, p > 0.2"),
        _verdict_cell(finding.verdict, finding.reason),
        words(f"{finding.correlation.num_pairs} compared"),
        number(None if math.isnan(r) else r),
        number(finding.interval[0] if finding.interval else None),
        number(finding.interval[1] if finding.interval else None),
        _p_cell(None if math.isnan(p) else p),
    )


def _p_cell(value: float | None) -> Cell:
    if value is None:
        return Cell()
    return Cell(text=f"{value:.3f}" if value >= 0.001 else f"{value:.0e}", value=value)
