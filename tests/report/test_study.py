import statistics

import pytest
from tests.report import made_up

from protoglot.report.settings import few_shot, zero_shot

UNIV = few_shot("univ", "oest")


def test_a_language_s_measure_is_the_mean_over_samples_with_its_error(rows, study):
    for language in made_up.LANGUAGES:
        bits = made_up.bits_of(
            rows, language=language, regime="few-shot", method="univ", conditioning="oest", sentences=100
        )
        measure = study.by_language(UNIV)[language]
        assert len(bits) == measure.number == 3
        assert measure.mean == pytest.approx(statistics.fmean(bits))
        assert measure.standard_error == pytest.approx(statistics.stdev(bits) / 3**0.5)


def test_an_average_counts_every_language_once(study_of):
    rows = [made_up.few("aaa", "univ", "oest", bits, sample=s) for s, bits in enumerate((1.0, 2.0, 3.0))]
    rows += [made_up.few("bbb", "univ", "oest", bits, sample=s) for s, bits in enumerate((8.0, 8.0))]
    average = study_of(rows).average(UNIV, ["aaa", "bbb", "ccc"])
    assert average.mean == pytest.approx(5.0)
    assert average.number == 2
    assert average.standard_error == pytest.approx((1 / 3**0.5) / 2)


def test_one_observation_has_no_error(study_of):
    measure = study_of([made_up.zero("aaa", "univ", "bare", 4.0)]).by_language(zero_shot("univ", "bare"))["aaa"]
    assert (measure.standard_error, measure.number) == (None, 1)


def test_an_observation_counts_once_whichever_units_made_it(study_of):
    row = made_up.few("aaa", "n-gram", None, 2.0)
    other = made_up.few("aaa", "n-gram", None, 4.0, sample=1)
    study = study_of([row, row | {"unit": "another", "seconds": 9.0}, other])
    assert study.by_language(few_shot("n-gram"))["aaa"].mean == pytest.approx(3.0)
    assert study.num_disagreements == 0


def test_units_that_disagree_are_told(study_of):
    rows = [made_up.few("aaa", "n-gram", None, bits, unit=str(bits)) for bits in (2.0, 3.0)]
    study = study_of(rows)
    assert study.by_language(few_shot("n-gram"))["aaa"].mean == pytest.approx(2.5)
    assert study.num_disagreements == 1


@pytest.mark.parametrize(("present", "chosen"), [((10, 100, 300), 100), ((10, 30), 30), ((), 100)])
def test_the_few_shot_table_is_that_of_the_paper_or_the_largest(study_of, present, chosen):
    rows = [made_up.zero("aaa", "univ", "bare", 4.0)]
    rows += [made_up.few("aaa", "univ", "oest", 2.0, sentences=number) for number in present]
    assert study_of(rows).few_shot_sentences == chosen
