from dataclasses import replace

import pytest

from protoglot.corpus.interface import LanguageRecord
from protoglot.strangers import FEWEST, find_strangers
from test_tuning import make_prior

LINES = [f"{first}{second}" for first in "abdegikl" for second in "abdegikl"]


class Elsewhere:
    """A corpus with other languages than the prior's, two texts of one of them."""

    name = "elsewhere"

    def __init__(self, **texts):
        self.texts = texts

    def languages(self):
        return [
            LanguageRecord(code=code, iso639_3=code[:3], name=code, family="", source="", licence="")
            for code in self.texts
        ]

    def sentences(self, code):
        return iter(self.texts[code])


def names(found):
    return sorted(stranger.code for stranger in found)


def test_languages_that_the_prior_knows_in_any_role_are_no_strangers():
    prior = make_prior()
    known = {record.iso639_3 for record in prior.mean.languages.values()}
    assert known
    corpus = Elsewhere(**dict.fromkeys(known, LINES), xaa=LINES)
    assert names(find_strangers(prior, corpus, 9)) == ["xaa"]
    fold = replace(prior.mean.fold, held_out=("xaa",))
    assert not find_strangers(replace(prior, mean=replace(prior.mean, fold=fold)), corpus, 9)


def test_one_text_of_a_language_is_enough_and_some_are_not_looked_at():
    corpus = Elsewhere(xaa=LINES, xaa_2=LINES, xab=LINES, xac=LINES)
    prior = make_prior()
    assert names(find_strangers(prior, corpus, 9)) == ["xaa", "xab", "xac"]
    assert names(find_strangers(prior, corpus, 9, leave_out=["xab"])) == ["xaa", "xac"]
    assert not find_strangers(prior, corpus, 9, leave_out=["xaa", "xab", "xac"])


def test_a_macrolanguage_and_its_members_are_one():
    prior = make_prior()
    record = LanguageRecord(code="nor", iso639_3="nor", name="", family="", source="", licence="")
    prior = replace(prior, mean=replace(prior.mean, languages={**prior.mean.languages, "nor": record}))
    corpus = Elsewhere(nob=LINES, zlm=LINES, ind=LINES, und=LINES)
    assert names(find_strangers(prior, corpus, 9)) == ["ind", "zlm"]  # nob is nor, and und may be anything
    assert not find_strangers(prior, corpus, 9, leave_out=["msa"])
    assert names(find_strangers(prior, corpus, 9, leave_out=["zlm"])) == ["ind"]  # a sister is another language


def test_other_scripts_and_short_texts_are_left_out():
    prior = make_prior()
    cyrillic = [line.translate(str.maketrans("abdegikl", "абвгдежз")) for line in LINES]
    corpus = Elsewhere(xaa=cyrillic, xab=LINES[: FEWEST - 1], xac=LINES)
    assert names(find_strangers(prior, corpus, 9)) == ["xac"]


@pytest.mark.parametrize("number", [1, 3])
def test_the_draw_depends_on_the_seed_alone(number):
    texts = {f"x{letter}a": LINES for letter in "abcdefgh"}
    prior = make_prior()
    drawn = find_strangers(prior, Elsewhere(**texts), number)
    again = find_strangers(prior, Elsewhere(**dict(reversed(texts.items()))), number)
    assert len(drawn) == number
    assert names(drawn) == names(again)
    others = [names(find_strangers(prior, Elsewhere(**texts), number, seed=seed)) for seed in range(1, 6)]
    assert any(names(drawn) != other for other in others)


@pytest.mark.parametrize("conditioning", ["bare", "oest"])
def test_strangers_have_the_features_that_the_prior_reads(conditioning):
    prior = make_prior(conditioning)
    [found] = find_strangers(
        prior, Elsewhere(qaa=LINES), 1
    )  # no typology knows it: the mean of those that were read
    assert (found.features is None) == (conditioning == "bare")
    if found.features is not None:
        assert found.features.shape == (prior.mean.model.num_features,)
