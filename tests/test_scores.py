import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.scores import Score, mean_bits_per_character

scores = st.builds(Score, st.floats(0, 1e9), st.integers(0, 10**9))


@given(scores, scores, scores)
def test_scores_add_in_any_order(one, two, three):
    assert one + two == two + one
    left, right = (one + two) + three, one + (two + three)
    assert left.num_characters == right.num_characters
    assert left.nats == pytest.approx(right.nats)
    assert one + Score(0.0, 0) == one


@given(st.lists(st.tuples(st.floats(0.01, 50), st.integers(1, 100)), min_size=1, max_size=20))
def test_a_sum_is_divided_once(pieces):
    """The mean over characters, not over pieces."""
    total = sum((Score(nats, number) for nats, number in pieces), start=Score(0.0, 0))
    characters = sum(number for _, number in pieces)
    expected = sum(nats for nats, _ in pieces) / math.log(2) / characters
    assert total.bits_per_character == pytest.approx(expected)


def test_a_uniform_choice_among_2_to_the_n_costs_n_bits():
    for bits in range(1, 9):
        assert Score(10 * math.log(2**bits), 10).bits_per_character == pytest.approx(bits)


def test_no_characters_have_no_score():
    assert math.isnan(Score(0.0, 0).bits_per_character)
    assert math.isnan(mean_bits_per_character([]))


def test_languages_count_alike_however_long_their_texts():
    long, short = Score(1000 * math.log(2), 1000), Score(3 * math.log(2), 1)
    assert mean_bits_per_character([long, short]) == pytest.approx(2)


def test_a_language_without_characters_spoils_the_mean_rather_than_vanish():
    assert math.isnan(mean_bits_per_character([Score(1.0, 1), Score(0.0, 0)]))
