"""The paper's claims, the tests by which the rows of a study speak for them or against, and tables of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from protoglot.report import paper
from protoglot.report.rows import CONDITIONINGS
from protoglot.report.settings import NETWORKS, Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
from protoglot.report.tables import Cell, Row, Table, number, words
from protoglot.statistics import Correlation, Interval, SignTest, paired_bootstrap, pearson, sign_test

SIGNIFICANCE = 0.05
"""A result as strong as ours, or stronger, would come about by chance less often than this."""

MIN_LANGUAGES = 6
"""With fewer, not even a clean sweep is significant in a two-sided sign test."""

MIN_LANGUAGES_WITHOUT_CORRELATION = 20
"""With fewer, that no correlation is found says little: of one of 0.5, more than a third would go unseen."""

PARITY_MARGIN = 0.1
"""Bits per character that still count as "on a par"."""

_BOOTSTRAP_SEED = 0


class Verdict(StrEnum):
    """What the rows say of a claim."""

    HOLDS = "holds"
    """As claimed, and not by chance."""

    FAILS = "does not hold"
    """No clear difference, or the opposite."""

    UNDECIDED = "not enough rows"
    """Too few languages have both scores."""


_TONES = {Verdict.HOLDS: ("holds", "✓"), Verdict.FAILS: ("fails", "✗"), Verdict.UNDECIDED: ("undecided", "?")}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim that one setting has lower bits per character than another, language by language."""

    statement: str
    lower: Setting
    higher: Setting
    in_paper: str = ""
    """What the paper says in words, where its figures per language do not say it, or say otherwise."""

    margin: float | None = None
    """If given, the claim is only that ``lower`` is on a par or better: its mean is at most this much higher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim tested on the languages that have what it takes."""

    verdict: Verdict
    reason: str
    tally: str = ""
    """Languages for which the claim is true, of those compared."""

    estimate: float | None = None
    """Mean of lower - higher over languages, or a coefficient of correlation, with its 95 % interval."""

    low: float | None = None
    high: float | None = None
    p_value: float | None = None


def paper_claims(sentences: int) -> list[Comparison]:
    """The paper's claims that compare two columns (§6), for a number of few-shot sentences."""
    ninf, few_ninf = zero_shot("ninf", "bare"), few_shot("ninf", "bare", sentences=sentences)
    univ, oest, plat = (zero_shot("univ", kind) for kind in CONDITIONINGS)
    few_univ, few_oest, few_plat = (few_shot("univ", kind, sentences=sentences) for kind in CONDITIONINGS)
    few_fitu = few_shot("fitu", "oest", sentences=sentences)
    beats, joint_oest = "The universal prior beats the uninformative one", joint("oest")
    plat_is_worse = "Generating weights from typology (PLAT) is worse than OEST"
    return [
        Comparison(f"{beats}, zero-shot", univ, ninf),
        Comparison(f"{beats}, zero-shot with typology", oest, ninf),
        Comparison(f"{beats}, few-shot", few_univ, few_ninf),
        Comparison(f"{beats}, few-shot with typology", few_oest, few_ninf),
        Comparison(
            "The universal prior without a sentence is on a par with, or better than, the uninformative one "
            "with a few",
            univ,
            few_ninf,
            margin=PARITY_MARGIN,
        ),
        Comparison("The universal prior beats fine-tuning, few-shot", few_oest, few_fitu),
        Comparison("Typology hurts, zero-shot", univ, oest, "its text says 71 / 77, and leaves out gla"),
        Comparison("Typology helps, few-shot", few_oest, few_univ),
        Comparison("Typology helps, joint", joint_oest, joint("bare")),
        Comparison(f"{plat_is_worse}, zero-shot", oest, plat, "4.691 against 5.479"),
        Comparison(f"{plat_is_worse}, few-shot", few_oest, few_plat, "2.731 against 3.251"),
        Comparison("A few sentences beat none (best model of each)", few_oest, univ),
        Comparison("All of the text beats a few sentences (best model of each)", joint_oest, few_oest),
    ]


def rivalries(study: Study) -> list[Comparison]:
    """Every few-shot method, alone and mixed, against the n-gram of the same sentences; joint against its n-gram."""
    comparisons = []
    for setting in study.settings:
        if setting.regime == "few-shot":
            rival = few_shot("n-gram", sentences=setting.sentences or 0)
        elif setting.regime == "joint":
            rival = joint(None, "n-gram")
        else:
            continue
        wanted = setting.method in (*NETWORKS, "joint", "mixture", "linear-mixture")
        if wanted and study.by_language(rival):
            comparisons.append(Comparison(setting.full_label, setting, rival))
    return comparisons


def compare(claim: Comparison, lower: Mapping[str, float], higher: Mapping[str, float]) -> Finding:
    """Test a claim on the scores of its two settings, by language.

    It holds if the sign test and the interval of the mean difference both speak for it; a claim of parity if the
    whole interval is within the margin.
    """
    languages = sorted(set(lower) & set(higher))
    first, second = [lower[language] for language in languages], [higher[language] for language in languages]
    if len(languages) < MIN_LANGUAGES:
        reason = f"{len(languages)} languages have both scores; {MIN_LANGUAGES} are needed"
        return Finding(verdict=Verdict.UNDECIDED, reason=reason)
    signs = sign_test(first, second)
    difference = paired_bootstrap(first, second, seed=_BOOTSTRAP_SEED, confidence=1 - SIGNIFICANCE)
    verdict, reason = _judge(claim, signs, difference)
    return Finding(
        verdict=verdict,
        reason=reason,
        tally=f"{signs.num_smaller} / {len(languages)}",
        estimate=difference.mean,
        low=difference.low,
        high=difference.high,
        p_value=signs.p_value,
    )


def find(study: Study, claim: Comparison) -> Finding:
    """Test a claim on our rows."""
    return compare(claim, study.means(claim.lower), study.means(claim.higher))


def find_in_paper(claim: Comparison) -> Finding | None:
    """The same test on the paper's own figures, or ``None`` where it gives none by language."""
    scores = paper.paper_scores()
    sides = [claim.lower.as_in_paper, claim.higher.as_in_paper]
    return compare(claim, *(scores[side] for side in sides)) if all(side in scores for side in sides) else None


def correlate_exoticness(
    exoticness: Mapping[str, float], scores: Mapping[str, float], *, expected: bool
) -> Finding:
    """Test the claim that exoticness goes with bits per character (``expected``), or that it does not."""
    languages = sorted(set(exoticness) & set(scores))
    found = pearson([exoticness[language] for language in languages], [scores[language] for language in languages])
    finding = Finding(
        verdict=Verdict.UNDECIDED,
        reason="",
        tally=f"{len(languages)} compared",
        estimate=None if math.isnan(found.coefficient) else found.coefficient,
        p_value=None if math.isnan(found.p_value) else found.p_value,
    )
    needed = MIN_LANGUAGES if expected else MIN_LANGUAGES_WITHOUT_CORRELATION
    if len(languages) < needed or finding.p_value is None:
        reason = f"{len(languages)} languages have a score and counts; {needed} that differ are needed"
        return replace(finding, reason=reason)
    significant = finding.p_value < SIGNIFICANCE
    holds = (significant and found.coefficient > 0) if expected else not significant
    low, high = _fisher_interval(found)
    sign = "positive" if found.coefficient > 0 else "negative"
    return replace(
        finding,
        verdict=Verdict.HOLDS if holds else Verdict.FAILS,
        reason=f"{sign}, {'significant' if significant else 'not significant'}",
        low=low,
        high=high,
    )


def claims_table(study: Study) -> Table:
    """All claims of the paper with the verdict of our rows."""
    rows = []
    for claim in paper_claims(study.few_shot_sentences):
        theirs = find_in_paper(claim)
        in_paper = claim.in_paper
        if theirs is not None and theirs.estimate is not None:
            in_paper = f"{theirs.tally}, {theirs.estimate:+.3f}{f' ({in_paper})' if in_paper else ''}"
        sign = "≤" if claim.margin is not None else "<"
        compared = f"{claim.lower.full_label} {sign} {claim.higher.full_label}"
        rows.append(_row(claim.statement, compared, find(study, claim), in_paper=in_paper))
    for setting, claimed, in_paper in (
        (
            zero_shot("univ", "bare"),
            "Languages with exotic characters are harder, zero-shot",
            "r = 0.53, p < 1e-6",
        ),
        (
            few_shot("univ", "bare", sentences=study.few_shot_sentences),
            "Exotic characters no longer matter, few-shot",
            "r = -0.13, p > 0.2",
        ),
    ):
        scores, expected = study.means(setting), setting.regime == "zero-shot"
        finding = correlate_exoticness(study.exoticness, scores, expected=expected)
        rows.append(
            _row(claimed, f"correlation of exoticness with {setting.full_label}", finding, in_paper=in_paper)
        )
    return Table(
        name="claims",
        title="The paper's claims",
        caption=(
            "The paper's claims, tested on our rows. A claim that one model beats another holds if, over languages, "
            "the sign test (two-sided, p < 0.05) and the 95 % interval of the mean difference (paired bootstrap over "
            f"languages) both say so; “on a par” allows {PARITY_MARGIN} bits per character. The paper's column is the "
            "count of its own figures, with their mean difference. No correction is made for the number of claims."
        ),
        rows=rows,
        prose=True,
    )


def rivals_table(study: Study) -> Table | None:
    """Every method against the n-gram of the same sentences, or ``None`` where there is none to compare."""
    rows = []
    for claim in rivalries(study):
        both = [study.by_language(side) for side in (claim.lower, claim.higher)]
        languages = sorted(set.intersection(*map(set, both)))
        ours, theirs = (study.average(side, languages) for side in (claim.lower, claim.higher))
        ratio = ours.mean / theirs.mean if ours and theirs and theirs.mean else None
        compared = f"{claim.lower.label} < {claim.higher.label}"
        rows.append({**_row(claim.statement, compared, find(study, claim)), "ratio": number(ratio)})
    if not rows:
        return None
    return Table(
        name="against-the-n-gram",
        title="Against the n-gram",
        caption=(
            "Each method against an interpolated n-gram that reads the same sentences and nothing else. “Holds” means "
            "that the method beats it, by the same test as above; ratio is the average of the method over that of "
            "the n-gram."
        ),
        rows=rows,
        prose=True,
    )


def _row(claim: str, compared: str, finding: Finding, *, in_paper: str | None = None) -> Row:
    tone, sign = _TONES[finding.verdict]
    p = finding.p_value
    return {
        "claim": words(claim),
        "compared": words(compared),
        **({} if in_paper is None else {"in the paper": words(in_paper)}),
        "ours": words(f"{sign} {finding.verdict}: {finding.reason}", tone=tone),
        "languages for it": words(finding.tally),
        "mean difference or r": number(finding.estimate),
        "95 % from": number(finding.low),
        "to": number(finding.high),
        "p": Cell() if p is None else Cell(text=f"{p:.3f}" if p >= 0.001 else f"{p:.0e}", value=p),
    }


def _judge(claim: Comparison, signs: SignTest, difference: Interval) -> tuple[Verdict, str]:
    if claim.margin is not None:
        if difference.high <= claim.margin:
            return Verdict.HOLDS, "better" if difference.high < 0 else "on a par"
        return Verdict.FAILS, "worse" if difference.low > 0 else "no parity within the margin"
    by_signs = signs.p_value < SIGNIFICANCE
    if by_signs and signs.num_smaller > signs.num_larger and difference.high < 0:
        return Verdict.HOLDS, "lower"
    if by_signs and signs.num_smaller < signs.num_larger and difference.low > 0:
        return Verdict.FAILS, "the opposite"
    return Verdict.FAILS, "no clear difference"


def _fisher_interval(correlation: Correlation) -> tuple[float, float]:
    coefficient = max(-1 + 1e-12, min(1 - 1e-12, correlation.coefficient))
    half = 1.959963984540054 / math.sqrt(correlation.num_pairs - 3)
    centre = math.atanh(coefficient)
    return math.tanh(centre - half), math.tanh(centre + half)
