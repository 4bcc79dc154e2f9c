"""N-grams in little space: what comes out is what went in, rounded, and still a distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import StorageError
from protoglot.neighbours.packed import MAX_SYMBOLS, PackedNGram
from protoglot.ngram import NGram, Smoothing
from protoglot.vocabulary import Vocabulary
from tiny import babble

SENTENCES = babble("abcdeé", 40, seed=1)
VOCABULARY = Vocabulary.of("".join(SENTENCES) + "xyz")


def count(sentences=SENTENCES, *, order=4, least_counts=(1, 1, 2)):
    return NGram.train(
        sentences, VOCABULARY, order=order, smoothing=Smoothing.KNESER_NEY, least_counts=least_counts
    )


texts = st.lists(st.text("abcdé", min_size=1, max_size=12), min_size=1, max_size=8)


@given(texts, st.integers(1, 5), st.sampled_from([(1,), (1, 2), (2,), (1, 1, 3)]))
def test_packing_keeps_every_context_and_nearly_every_probability(sentences, order, least_counts):
    ngram = count(sentences, order=order, least_counts=least_counts)
    found = PackedNGram.of(ngram).unpack(VOCABULARY)
    for level, packed in zip(ngram.levels, found.levels, strict=False):
        assert np.array_equal(level.context_keys, packed.context_keys)
        assert np.array_equal(level.pair_keys, packed.pair_keys)
        rounded = np.clip(level.back_off, 1e-5, 0.999)
        assert np.abs(np.log(packed.back_off / rounded)).max(initial=0) < 0.03
        assert np.abs(packed.gains - level.gains).max(initial=0) < 0.05
    assert all(not len(level.pair_keys) for level in ngram.levels[found.order :])


@given(texts, st.lists(st.text("abcdéxq", max_size=6), min_size=1, max_size=3))
def test_what_is_unpacked_is_proper(sentences, scored):
    found = PackedNGram.of(count(sentences)).unpack(VOCABULARY)
    for probabilities in found.along(scored, positions_at_once=4):
        assert (probabilities > 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)


def test_rounding_costs_next_to_nothing():
    ngram, scored = count(), babble("abcdeé", 60, seed=1)[40:]
    packed = PackedNGram.of(ngram).unpack(VOCABULARY)
    assert packed.score(scored).bits_per_character == pytest.approx(
        ngram.score(scored).bits_per_character, abs=0.005
    )


def test_a_larger_vocabulary_costs_new_letters_only():
    """Ids stay where they were, and new letters share what the unseen ones have."""
    packed = PackedNGram.of(count())
    larger = VOCABULARY.extended(["ßþ"])
    [one] = packed.unpack(VOCABULARY).along(["abc"])
    [other] = packed.unpack(larger).along(["abc"])
    assert other.shape[1] == one.shape[1] + 2
    seen = one > 0.05
    np.testing.assert_allclose(other[:, :-2][seen], one[seen], rtol=0.1)


def test_more_symbols_than_fit_into_a_byte_are_refused():
    letters = "".join(chr(0x4E00 + number) for number in range(MAX_SYMBOLS + 1))
    assert PackedNGram.of(NGram.train([letters], Vocabulary.of(letters), order=2)) is None
    fewer = letters[: MAX_SYMBOLS - 1]  # and END
    assert PackedNGram.of(NGram.train([fewer], Vocabulary.of(letters), order=2)) is not None


def test_ids_that_do_not_fit_are_refused():
    letters = [chr(0x10000 + number) for number in range(66_000)]
    many = Vocabulary.of("".join(letters))
    assert PackedNGram.of(NGram.train([letters[-1]], many, order=2)) is None
    assert PackedNGram.of(NGram.train([letters[0]], many, order=2)) is not None


def test_endlessly_many_levels_are_refused():
    """What a stranger could write: each context has one that is longer."""
    ones = np.ones(500, dtype=np.uint8)
    arrays = {
        "alphabet": np.array([1, 3], dtype=np.uint16),
        "longer": ones[1:],
        "before": ones[1:],
        "back_off": ones,
    }
    arrays |= {"followers": ones, "symbols": ones, "gains": ones}
    with pytest.raises(StorageError, match="more contexts or symbols than announced"):
        load(arrays)


def parts():
    return PackedNGram.of(count()).parts()


def load(arrays):
    return PackedNGram.from_parts(arrays, vocabulary_size=len(VOCABULARY), name="file: eus")


def test_parts_make_the_whole():
    made = load(parts())
    assert all(np.array_equal(array, made.parts()[name]) for name, array in parts().items())


@pytest.mark.parametrize("name", ["alphabet", "longer", "before", "back_off", "followers", "symbols", "gains"])
@pytest.mark.parametrize("damage", ["missing", "shorter", "longer", "reversed", "large", "of another type"])
def test_damaged_parts_are_refused_or_make_no_harm(name, damage):
    """Whatever bytes come from a stranger: an error that names the file, or an n-gram that is proper."""
    arrays = parts()
    values = arrays.pop(name)
    changed = {
        "missing": None,
        "shorter": values[:-1],
        "longer": np.concatenate([values, values[:1]]),
        "reversed": values[::-1].copy(),
        "large": np.full_like(values, np.iinfo(values.dtype).max),
        "of another type": values.astype(np.int32),
    }[damage]
    if changed is not None:
        arrays[name] = changed
    if damage not in ("reversed", "large") or name not in ("back_off", "gains"):
        with pytest.raises(StorageError, match=r"^file: eus: damaged n-gram"):
            load(arrays)
        return
    made = load(arrays)
    for probabilities in made.unpack(VOCABULARY).along(["abcde"]):
        assert (probabilities > 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
