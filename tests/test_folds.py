from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import SplitError
from protoglot.folds import FoldText, fold_for, make_fold, paper_languages, paper_partitions, partition_languages
from protoglot.splits import split_sentences
from protoglot.typology import Typology

SEVENTY_SEVEN = [code for codes in paper_partitions().values() for code in codes]
codes = st.sets(st.text("abcdefghijklmnop", min_size=3, max_size=3), min_size=8, max_size=60)


def test_the_paper_has_four_partitions_of_77_languages():
    assert {name: len(codes) for name, codes in paper_partitions().items()} == {"1": 20, "2": 20, "3": 20, "4": 17}
    assert len(set(SEVENTY_SEVEN)) == 77
    assert "eus" in paper_partitions()["3"]
    assert "eng" in paper_partitions()["1"]


@pytest.mark.parametrize("name", "1234")
def test_roles_are_disjoint_and_complete(name):
    fold = make_fold(paper_partitions(), name)
    assert set(fold.held_out) == set(paper_partitions()[name])
    assert len(fold.validation) == 5
    assert sorted(fold.held_out + fold.validation + fold.training) == sorted(SEVENTY_SEVEN)


def test_validation_languages_depend_on_the_seed():
    assert make_fold(paper_partitions(), "2", seed=0) == make_fold(paper_partitions(), "2", seed=0)
    assert (
        make_fold(paper_partitions(), "2", seed=0).validation
        != make_fold(paper_partitions(), "2", seed=1).validation
    )


@given(codes, st.integers(1, 6), st.integers(0, 3))
def test_any_set_of_languages_can_be_partitioned(languages, number, seed):
    partitions = partition_languages(languages, number, seed=seed)
    assert sorted(code for codes in partitions.values() for code in codes) == sorted(languages)
    sizes = [len(codes) for codes in partitions.values()]
    assert max(sizes) - min(sizes) <= 1
    assert partitions == partition_languages(sorted(languages, reverse=True), number, seed=seed)


@pytest.mark.parametrize(
    ("hold_out", "held_out"),
    [
        ("none", set()),
        ("eus,fra", {"eus", "fra"}),
        (" eus , fra ", {"eus", "fra"}),
        ("partition:2", set(paper_partitions()["2"])),
    ],
)
def test_what_the_user_may_write(hold_out, held_out):
    assert set(fold_for(SEVENTY_SEVEN, hold_out).held_out) == held_out


def test_the_papers_languages_have_one_iso_code_each():
    languages = paper_languages()
    assert sorted(languages) == sorted(SEVENTY_SEVEN)
    assert len(set(languages.values())) == 77
    assert (languages["ssw"], languages["jak"], languages["eus"]) == ("swh", "jac", "eus")
    assert all(Typology.installed().knows(code) for code in languages.values())


def test_partitions_of_another_corpus():
    fold = fold_for([f"q{n:02}" for n in range(30)], "partition:3/4", seed=5)
    assert len(fold.held_out) in (7, 8)


SEVERAL_TEXTS = {f"q{n:02}{text}": f"q{n:02}" for n in range(12) for text in ("", "-old", "-tok")[: 1 + n % 3]}


@pytest.mark.parametrize("hold_out", ["q02", "q02-old,q05", "partition:1/3", "partition:3/5", "none"])
def test_all_texts_of_a_language_have_one_role(hold_out):
    fold = fold_for(SEVERAL_TEXTS, hold_out, num_validation=3, seed=1, iso639_3=SEVERAL_TEXTS)
    roles = (fold.held_out, fold.validation, fold.training)
    assert sorted(code for codes in roles for code in codes) == sorted(SEVERAL_TEXTS)
    languages = [{SEVERAL_TEXTS[code] for code in codes} for codes in roles]
    assert sum(map(len, languages)) == len(set.union(*languages)) == 12
    assert len(languages[1]) == 3
    if hold_out.startswith("q"):
        assert languages[0] == {code[:3] for code in hold_out.split(",")}


@pytest.mark.parametrize("hold_out", ["eus,fra", "partition:2", "partition:2/4", "none"])
def test_saying_which_language_each_code_is_changes_nothing_where_each_has_one_text(hold_out):
    others = {code: f"iso-{code}" for code in SEVENTY_SEVEN}
    assert fold_for(SEVENTY_SEVEN, hold_out, iso639_3=others) == fold_for(SEVENTY_SEVEN, hold_out)


@pytest.mark.parametrize(
    ("languages", "hold_out", "message"),
    [
        (SEVENTY_SEVEN, "partition:9", "'9': unknown; wanted one of 1, 2, 3, 4"),
        (["eus", "q01"], "partition:2", "q01 not among the paper's 77"),
        (SEVENTY_SEVEN, "xyz", "no language xyz"),
        (SEVENTY_SEVEN, "partition 2", "no language partition 2"),
        (["eus", "fra"], "partition:1/5", "5 partitions of 2 languages"),
        (["eus", "fra"], "eus", "5 validation languages of the 1 not held out"),
    ],
)
def test_errors_name_what_was_found(languages, hold_out, message):
    with pytest.raises(SplitError, match=message):
        fold_for(languages, hold_out)


def test_a_language_in_two_partitions_is_an_error():
    with pytest.raises(SplitError, match="eus in two"):
        make_fold({"1": ["eus", "fra"], "2": ["eus", "deu"]}, "1", num_validation=1)


class MarkedCorpus:
    """A corpus in which each sentence is one character that occurs nowhere else."""

    name = "marked"
    NUM_SENTENCES = 40

    def __init__(self, languages: list[str]) -> None:
        self._languages = languages

    def languages(self) -> tuple[LanguageRecord, ...]:
        return tuple(LanguageRecord(code=code, iso639_3=code, name=code) for code in sorted(self._languages))

    def sentences(self, code: str) -> Iterator[str]:
        start = 0x4E00 + self._languages.index(code) * self.NUM_SENTENCES
        return (chr(start + offset) for offset in range(self.NUM_SENTENCES))


@pytest.mark.parametrize("name", "1234")
def test_no_held_out_character_reaches_training(name):
    corpus = MarkedCorpus(SEVENTY_SEVEN)
    text = FoldText(corpus, make_fold(paper_partitions(), name))
    trained_on = {character for _, sentences in text.training() for character in "".join(sentences)}
    assert len(trained_on) == len(text.fold.training) * 0.8 * corpus.NUM_SENTENCES
    for language in text.fold.held_out + text.fold.validation:
        assert not trained_on & set(corpus.sentences(language))
    watched = {character for _, sentences in text.validation() for character in "".join(sentences)}
    assert len(watched) == len(text.fold.validation) * 0.1 * corpus.NUM_SENTENCES
    for language in text.fold.held_out:
        assert not watched & set(corpus.sentences(language))
    for language in (*text.fold.training, *text.fold.validation):
        assert not (trained_on | watched) & set(split_sentences(corpus.sentences(language)).test)
