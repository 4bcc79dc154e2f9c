import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import SplitError
from protoglot.splits import enough_sentences, few_shot_sample, shuffled, split_sentences

texts = st.lists(st.text(min_size=1, max_size=4), max_size=120)


@given(texts)
def test_no_sentence_is_in_two_parts_and_none_is_lost(sentences):
    split = split_sentences(sentences)
    parts = split.train + split.development + split.test
    assert len(set(parts)) == len(parts)
    assert set(parts) == set(sentences)
    assert len(parts) + split.num_duplicates == len(sentences)


@given(st.integers(0, 3000))
def test_sizes_are_80_10_10(number):
    split = split_sentences(map(str, range(number)))
    assert len(split.test) == len(split.development) == number // 10
    assert len(split.train) == number - 2 * (number // 10)
    assert split.train + split.development + split.test == tuple(map(str, range(number)))


def test_a_repeated_sentence_stays_where_it_first_stood():
    split = split_sentences([*map(str, range(20)), "0", "19"])
    assert "0" in split.train
    assert "19" in split.test
    assert split.num_duplicates == 2


@given(st.sets(st.text(min_size=1), min_size=3, max_size=60), st.integers(0, 5), st.data())
def test_samples_are_nested_and_come_from_the_training_part(sentences, seed, data):
    train = sorted(sentences)
    large = data.draw(st.integers(0, len(train)))
    small = data.draw(st.integers(0, large))
    sample = few_shot_sample(train, large, language="eus", seed=seed)
    assert set(sample) <= set(train)
    assert len(set(sample)) == large
    assert few_shot_sample(train, small, language="eus", seed=seed) == sample[:small]


def test_samples_depend_on_seed_and_language_but_not_on_order():
    train = [f"sentence {n}" for n in range(200)]
    base = few_shot_sample(train, 50, language="eus", seed=0)
    assert few_shot_sample(train[::-1], 50, language="eus", seed=0) == base
    assert few_shot_sample(train, 50, language="eus", seed=1) != base
    assert few_shot_sample(train, 50, language="fra", seed=0) != base


def test_the_draw_is_pinned():
    """A change of this order would silently change every few-shot result."""
    assert shuffled("abcdefgh", "key", 0) == PINNED


PINNED = ["d", "g", "e", "a", "f", "h", "c", "b"]


@given(st.lists(st.sampled_from("abcdefghij"), unique=True))
def test_every_sentence_is_as_likely_to_be_drawn(items):
    """The order of two items does not depend on the others."""
    order = shuffled("abcdefghij", 7)
    assert shuffled(items, 7) == [item for item in order if item in items]


@pytest.mark.parametrize("number", [-1, 4])
def test_more_sentences_than_there_are_is_an_error(number):
    with pytest.raises(SplitError, match="wanted 0 to 3"):
        few_shot_sample(["a", "b", "c"], number, language="eus", seed=0)


@given(st.lists(st.text("ab", min_size=1, max_size=9)), st.integers(0, 60))
def test_enough_sentences_are_enough_and_not_one_too_many(sentences, number):
    taken = enough_sentences(sentences, number)
    assert taken == tuple(sentences[: len(taken)])
    lengths = [len(sentence) + 1 for sentence in taken]
    assert sum(lengths) >= number or len(taken) == len(sentences)
    assert sum(lengths[:-1]) < number or not taken
