"""The paper's claims, and the tests by which the rows of a study speak for them or against."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from protoglot.report import paper
from protoglot.report.settings import NETWORKS, Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """A comparison carried out on the languages that have both scores."""

    verdict: Verdict
    reason: str
    num_languages: int
    signs: SignTest | None = None
    difference: Interval | None = None
    """Mean of lower - higher over languages, with an interval over draws of languages."""

    @property
    def tally(self) -> str:
        """Languages for which the claim is true, of those compared."""
        return f"{self.signs.num_smaller} / {self.num_languages}" if self.signs else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationFinding:
    """A correlation of exoticness with bits per character, and whether it is as claimed."""

    verdict: Verdict
    reason: str
    correlation: Correlation
    interval: tuple[float, float] | None
    """Of the coefficient, 95 %, by Fisher's transformation."""


def paper_claims(sentences: int) -> list[Comparison]:
    """The paper's claims that compare two columns (§6), for a number of few-shot sentences."""

    def few(method: str, conditioning: str) -> Setting:
        return few_shot(method, conditioning, sentences=sentences)

    return [
        Comparison(
            statement="The universal prior beats the uninformative one, zero-shot",
            lower=zero_shot("univ", "bare"),
            higher=zero_shot("ninf", "bare"),
        ),
        Comparison(
            statement="The universal prior beats the uninformative one, zero-shot with typology",
            lower=zero_shot("univ", "oest"),
            higher=zero_shot("ninf", "bare"),
        ),
        Comparison(
            statement="The universal prior beats the uninformative one, few-shot",
            lower=few("univ", "bare"),
            higher=few("ninf", "bare"),
        ),
        Comparison(
            statement="The universal prior beats the uninformative one, few-shot with typology",
            lower=few("univ", "oest"),
            higher=few("ninf", "bare"),
        ),
        Comparison(
            statement="The universal prior without a sentence is on a par with, or better than, the uninformative one "
            "with a few",
            lower=zero_shot("univ", "bare"),
            higher=few("ninf", "bare"),
            margin=PARITY_MARGIN,
        ),
        Comparison(
            statement="The universal prior beats fine-tuning, few-shot",
            lower=few("univ", "oest"),
            higher=few("fitu", "oest"),
        ),
        Comparison(
            statement="Typology hurts, zero-shot",
            lower=zero_shot("univ", "bare"),
            higher=zero_shot("univ", "oest"),
            in_paper="its text says 71 / 77, and leaves out gla",
        ),
        Comparison(
            statement="Typology helps, few-shot",
            lower=few("univ", "oest"),
            higher=few("univ", "bare"),
        ),
        Comparison(statement="Typology helps, joint", lower=joint("oest"), higher=joint("bare")),
        Comparison(
            statement="Generating weights from typology (PLAT) is worse than OEST, zero-shot",
            lower=zero_shot("univ", "oest"),
            higher=zero_shot("univ", "plat"),
            in_paper=f"4.691 against {paper.AVERAGES[zero_shot('univ', 'plat')]}",
        ),
        Comparison(
            statement="Generating weights from typology (PLAT) is worse than OEST, few-shot",
            lower=few("univ", "oest"),
            higher=few("univ", "plat"),
            in_paper=f"2.731 against {paper.AVERAGES[few_shot('univ', 'plat')]}",
        ),
        Comparison(
            statement="A few sentences beat none (best model of each)",
            lower=few("univ", "oest"),
            higher=zero_shot("univ", "bare"),
        ),
        Comparison(
            statement="All of the text beats a few sentences (best model of each)",
            lower=joint("oest"),
            higher=few("univ", "oest"),
        ),
    ]


def rivalries(study: Study) -> list[Comparison]:
    """Every few-shot method, alone and mixed, against the n-gram of the same sentences; joint against its n-gram."""
    comparisons = []
    for setting in study.measures.settings:
        if setting.regime == "few-shot":
            rival = few_shot("n-gram", sentences=setting.sentences or 0)
        elif setting.regime == "joint":
            rival = joint(None, "n-gram")
        else:
            continue
        wanted = setting.method in (*NETWORKS, "joint", "mixture", "linear-mixture")
        if wanted and study.measures.by_language(rival):
            comparisons.append(Comparison(statement=setting.full_label, lower=setting, higher=rival))
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
        return Finding(verdict=Verdict.UNDECIDED, reason=reason, num_languages=len(languages))
    signs = sign_test(first, second)
    difference = paired_bootstrap(first, second, seed=_BOOTSTRAP_SEED, confidence=1 - SIGNIFICANCE)
    verdict, reason = _judge(claim, signs, difference)
    return Finding(
        verdict=verdict, reason=reason, num_languages=len(languages), signs=signs, difference=difference
    )


def find(study: Study, claim: Comparison) -> Finding:
    """Test a claim on our rows."""
    return compare(claim, study.measures.means(claim.lower), study.measures.means(claim.higher))


def find_in_paper(claim: Comparison) -> Finding | None:
    """The same test on the paper's own figures, or ``None`` where it gives none by language."""
    scores = paper.paper_scores()
    sides = [claim.lower.as_in_paper, claim.higher.as_in_paper]
    if not all(side in scores for side in sides):
        return None
    return compare(claim, *(scores[side] for side in sides))


def correlate_exoticness(
    exoticness: Mapping[str, float], scores: Mapping[str, float], *, expected: bool
) -> CorrelationFinding:
    """Test the claim that exoticness goes with bits per character (``expected``), or that it does not."""
    languages = sorted(set(exoticness) & set(scores))
    found = pearson([exoticness[language] for language in languages], [scores[language] for language in languages])
    needed = MIN_LANGUAGES if expected else MIN_LANGUAGES_WITHOUT_CORRELATION
    if len(languages) < needed or math.isnan(found.p_value):
        reason = f"{len(languages)} languages have a score and counts; {needed} that differ are needed"
        return CorrelationFinding(verdict=Verdict.UNDECIDED, reason=reason, correlation=found, interval=None)
    significant = found.p_value < SIGNIFICANCE
    holds = (significant and found.coefficient > 0) if expected else not significant
    reason = "significant" if significant else "not significant"
    return CorrelationFinding(
        verdict=Verdict.HOLDS if holds else Verdict.FAILS,
        reason=f"{'positive' if found.coefficient > 0 else 'negative'}, {reason}",
        correlation=found,
        interval=_fisher_interval(found),
    )


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
