import math

import pytest
from tests.report import made_up

from protoglot.report.claims import (
    Comparison,
    Verdict,
    claims_table,
    compare,
    correlate_exoticness,
    find_in_paper,
    paper_claims,
    rivalries,
    rivals_table,
)
from protoglot.report.making import cost_table
from protoglot.report.settings import few_shot, joint, zero_shot

CLAIM = Comparison(statement="a < b", lower=joint("oest"), higher=joint("bare"))
PARITY = Comparison(statement="a <= b", lower=joint("oest"), higher=joint("bare"), margin=0.1)


def scores(*values):
    return {f"l{place:02}": value for place, value in enumerate(values)}


def claim_of(lower, higher):
    (claim,) = [claim for claim in paper_claims(100) if (claim.lower, claim.higher) == (lower, higher)]
    return claim


@pytest.mark.parametrize(
    ("lower", "higher", "tally"),
    [
        (zero_shot("univ", "bare"), zero_shot("ninf", "bare"), "77 / 77"),
        (zero_shot("univ", "oest"), zero_shot("ninf", "bare"), "77 / 77"),
        (few_shot("univ", "bare"), few_shot("ninf", "bare"), "77 / 77"),
        (few_shot("univ", "oest"), few_shot("ninf", "bare"), "77 / 77"),
        (zero_shot("univ", "bare"), zero_shot("univ", "oest"), "70 / 77"),
        (few_shot("univ", "oest"), few_shot("univ", "bare"), "70 / 77"),
        (joint("oest"), joint("bare"), "76 / 77"),
    ],
)
def test_the_paper_s_claims_hold_on_its_own_figures(lower, higher, tally):
    finding = find_in_paper(claim_of(lower, higher))
    assert (finding.verdict, finding.tally) == (Verdict.HOLDS, tally)


def test_all_of_its_claims_that_can_be_tested_hold_on_its_own_figures():
    findings = [find_in_paper(claim) for claim in paper_claims(100)]
    assert [finding.verdict for finding in findings if finding] == [Verdict.HOLDS] * 11
    assert findings.count(None) == 2  # of PLAT there are averages only


def test_a_clear_difference_holds_and_its_opposite_does_not():
    low, high = scores(1, 1, 1, 1, 1, 1), scores(2, 2, 2, 2, 3, 2)
    finding = compare(CLAIM, low, high)
    assert (finding.verdict, finding.reason, finding.tally) == (Verdict.HOLDS, "lower", "6 / 6")
    assert finding.estimate == pytest.approx(-7 / 6)
    assert finding.high < 0
    assert finding.p_value == pytest.approx(2 / 2**6)
    opposite = compare(CLAIM, high, low)
    assert (opposite.verdict, opposite.reason, opposite.tally) == (Verdict.FAILS, "the opposite", "0 / 6")


def test_signs_and_mean_must_agree():
    # Nine languages gain a little, one loses a lot: the sign test is significant, the mean is on the other side.
    finding = compare(CLAIM, scores(*[1.0] * 9, 9.0), scores(*[1.1] * 9, 1.0))
    assert finding.p_value < 0.05
    assert (finding.verdict, finding.reason) == (Verdict.FAILS, "no clear difference")
    # Five of ten languages gain a lot: the mean is clear, the signs are not.
    finding = compare(CLAIM, scores(*[1.0] * 5, *[2.0] * 5), scores(*[5.0] * 5, *[1.999] * 5))
    assert finding.high < 0
    assert finding.verdict is Verdict.FAILS


def test_five_languages_are_not_enough():
    low, high = scores(1, 1, 1, 1, 1, 1), scores(2, 2, 2, 2, 2)
    finding = compare(CLAIM, low, high)
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.reason == "5 languages have both scores; 6 are needed"
    assert finding.tally == ""


def test_ties_are_no_wins():
    finding = compare(CLAIM, scores(*[1.0] * 12), scores(*[2.0] * 6, *[1.0] * 6))
    assert finding.tally == "6 / 12"
    assert finding.verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("difference", "verdict", "reason"),
    [
        (-0.5, Verdict.HOLDS, "better"),
        (0.05, Verdict.HOLDS, "on a par"),
        (0.2, Verdict.FAILS, "worse"),
    ],
)
def test_parity_allows_a_margin(difference, verdict, reason):
    finding = compare(PARITY, scores(*[2 + difference] * 8), scores(*[2.0] * 8))
    assert (finding.verdict, finding.reason) == (verdict, reason)


def test_parity_must_be_shown():
    wide = [(-1) ** place * 2.0 for place in range(8)]
    finding = compare(PARITY, scores(*[5 + value for value in wide]), scores(*[5.0] * 8))
    assert (finding.verdict, finding.reason) == (Verdict.FAILS, "no parity within the margin")


def test_correlation():
    exotic = scores(*(place / 30 for place in range(30)))
    rising = {code: 3 + value + 0.1 * math.sin(50 * value) for code, value in exotic.items()}
    falling = {code: -value for code, value in rising.items()}
    flat = {code: math.sin(17 * value) for code, value in exotic.items()}
    few = dict(list(rising.items())[:5])

    def verdict(found, expected):
        return correlate_exoticness(exotic, found, expected=expected).verdict

    assert [verdict(found, True) for found in (rising, falling, flat, few)] == [
        *(Verdict.HOLDS, Verdict.FAILS, Verdict.FAILS, Verdict.UNDECIDED)
    ]
    assert [verdict(found, False) for found in (rising, falling, flat, few)] == [
        *(Verdict.FAILS, Verdict.FAILS, Verdict.HOLDS, Verdict.UNDECIDED)
    ]
    found = correlate_exoticness(exotic, flat, expected=True)
    assert found.low < found.estimate < found.high


def test_the_interval_of_a_correlation_is_fisher_s():
    exotic = scores(*range(28))
    other = scores(*((place * 11) % 28 for place in range(28)))
    found = correlate_exoticness(exotic, other, expected=True)
    low, high = math.atanh(found.low), math.atanh(found.high)
    assert (low + high) / 2 == pytest.approx(math.atanh(found.estimate))
    assert high - low == pytest.approx(2 * 1.96 / 5, rel=1e-4)


def test_every_few_shot_method_meets_the_n_gram_of_its_sentences(study):
    met = {(claim.lower, claim.higher) for claim in rivalries(study)}
    assert (few_shot("univ", "oest", sentences=10), few_shot("n-gram", sentences=10)) in met
    assert (few_shot("mixture", "oest", network="univ"), few_shot("n-gram")) in met
    assert len(met) == 3 * (7 + 6)
    assert len(rivals_table(study).rows) == len(met)


def test_the_table_says_what_the_rows_say(study_of):
    rows = []
    for place, language in enumerate(made_up.LANGUAGES):
        rows.append(made_up.joint(language, "oest", 1.5))
        rows.append(made_up.joint(language, "bare", 1.7 + 0.01 * place))
        rows.append(made_up.zero(language, "univ", "bare", 5.0 + 0.01 * place))
        rows.append(made_up.zero(language, "univ", "oest", 4.0))
    table = {row["claim"].text: row for row in claims_table(study_of(rows)).rows}
    joint, few = table["Typology helps, joint"], table["Typology helps, few-shot"]
    assert joint["ours"].text == "✓ holds: lower"
    assert joint["in the paper"].text.startswith("76 / 77, -0.10")
    assert joint["languages for it"].text == "8 / 8"
    assert joint["mean difference or r"].text == "-0.235"
    assert joint["95 % from"].value < -0.235 < joint["to"].value
    assert table["Typology hurts, zero-shot"]["ours"].text == "✗ does not hold: the opposite"
    assert few["ours"].text.startswith("? not enough rows")
    assert few["mean difference or r"].text == "–"
    assert len(table) == 15
    assert rivals_table(study_of(rows)) is None


def test_the_table_of_rivals_says_what_share_of_the_rival_is_paid(study_of):
    rows = []
    for language in ("aaa", "bbb"):
        rows.append(made_up.few(language, "univ", "oest", 2.0))
        rows.append(made_up.few(language, "n-gram", None, 2.5))
    rows.append(made_up.few("ccc", "n-gram", None, 9.0))  # of a language that has no other score
    table = rivals_table(study_of(rows))
    (row,) = [row for row in table.rows if "UNIV OEST" in row["compared"].text]
    assert row["ratio"].text == "0.800"


def test_the_table_of_costs_adds_up(study_of):
    rows = [
        made_up.zero("aaa", "univ", "bare", 2.0, seconds=1.0, characters=100),
        made_up.zero("bbb", "univ", "bare", 2.0, seconds=2.0, characters=300),
        made_up.zero("aaa", "univ", "oest", 2.0, seconds=9.0),
    ]
    cells = [[cell.text for cell in row.values()] for row in cost_table(study_of(rows)).rows]
    assert cells[0][1:] == ["2", "400", "1.50", "3"]
    assert cells[1][1:] == ["1", "1,000", "9.00", "9"]
