"""Languages that are like a new one: found by its sentences alone, and of no harm where there is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.errors import StorageError
from protoglot.neighbours.library import Library
from protoglot.neighbours.model import NeighbourModel
from protoglot.ngram import NGram, Smoothing
from protoglot.vocabulary import Vocabulary
from tiny import babble

# Three languages with words of their own; the new one has words of the first, and letters of its own.
KNOWN = {
    "one": babble("abcdef", 120, seed=1),
    "two": babble("ghijkl", 120, seed=2),
    "three": babble("mnopqr", 120, seed=3),
}
ALIKE = babble("abcdef", 160, seed=1)[120:]
STRANGE = babble("uvwxyz", 40, seed=4)
VOCABULARY = Vocabulary.of("".join(sentence for text in KNOWN.values() for sentence in text))
LIBRARY = Library.count(KNOWN.items(), VOCABULARY)


def make(sentences, library=LIBRARY):
    vocabulary = VOCABULARY.extended(sentences)
    own = NGram.train(sentences, vocabulary, order=5, smoothing=Smoothing.KNESER_NEY)
    return NeighbourModel.choose(library, sentences, vocabulary, own), own


def predict(model, own, text):
    """Distributions of the n-gram with its neighbours, and of it alone, along a text."""
    found, alone = [], []
    neighbours = model.along(text, positions_at_once=64)
    for probabilities, depth in own.by_order(text, positions_at_once=64):
        found.append(model.mix(probabilities[:, -1], next(neighbours), depth))
        alone.append(probabilities[:, -1])
    return np.concatenate(found), np.concatenate(alone)


def bits(probabilities, text, vocabulary):
    ids = vocabulary.encode_to_array("".join(f"{sentence}\n" for sentence in text)).astype(int)
    ids[np.cumsum([len(sentence) + 1 for sentence in text]) - 1] = 1
    return float(-np.log2(probabilities[np.arange(len(ids)), ids - 1]).mean())


def test_a_language_that_is_like_another_finds_it_and_gains_by_it():
    model, own = make(ALIKE[:5])
    assert list(model.packed)[:1] == ["one"]
    assert model.shares()["one"] > 0.3
    together, alone = predict(model, own, ALIKE[5:])
    assert bits(together, ALIKE[5:], own.vocabulary) < 0.9 * bits(alone, ALIKE[5:], own.vocabulary)


def test_a_language_that_is_like_no_other_loses_nothing():
    model, own = make(STRANGE[:20])
    assert model is not None  # of its letters no other knows any, but all write numbers
    together, alone = predict(model, own, STRANGE[20:])
    assert bits(together, STRANGE[20:], own.vocabulary) <= 1.01 * bits(alone, STRANGE[20:], own.vocabulary)


def test_of_two_sentences_or_without_languages_there_are_no_neighbours():
    for sentences, library in ((ALIKE[:2], LIBRARY), (ALIKE[:2] * 3, LIBRARY), (ALIKE[:9], Library({}))):
        assert make(sentences, library)[0] is None
    assert make(ALIKE[:3])[0] is not None


def test_a_language_whose_nearest_was_not_read_has_less_help():
    far = LIBRARY.without(["one"])
    assert sorted(far.ngrams) == ["three", "two"]
    model, _ = make(ALIKE[:9], far)
    assert model is None or sum(model.shares().values()) < sum(make(ALIKE[:9])[0].shares().values()) / 2


def test_of_many_languages_four_are_kept_the_most_alike_first():
    """Twelve languages, each with fewer of the new language's words than the one before; and two that have none."""
    texts = {f"near {number:02}": babble("abcdef", 60, seed=1)[number::12] for number in range(12)}
    texts |= {f"far {number}": babble("ghijkl", 60, seed=number) for number in range(2)}
    model, _ = make(ALIKE[:12], Library.count(texts.items(), VOCABULARY))
    assert len(model.packed) == 4
    assert all(code.startswith("near") for code in model.packed)
    assert list(model.shares().values()) == sorted(model.shares().values(), reverse=True)


def test_a_neighbour_of_next_to_no_use_is_left_out():
    model, _ = make(["xyz" * number for number in range(3, 30)])
    assert model is None


def test_weights_depend_on_how_much_the_own_n_gram_knows():
    """The longer the context that the sentences have, the less is asked of a neighbour."""
    model, _ = make(ALIKE[:12])
    own = model.weights[:, 0]
    assert own[-1] > own[0] + 0.1


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text("abgmué ", min_size=1, max_size=20), min_size=2, max_size=6))
def test_predictions_are_proper_whatever_the_sentences(sentences):
    model, own = make(sentences)
    if model is None:
        return
    together, _ = predict(model, own, ["abg mué"])
    assert (together > 0).all()
    np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(model.weights.sum(axis=1), 1, rtol=1e-9)


def test_predictions_after_ids_are_those_along_the_text():
    model, own = make(ALIKE[:8])
    assert model.packed
    sentence = ALIKE[9]
    along = [np.concatenate(found) for found in zip(*model.along([sentence], positions_at_once=7), strict=True)]
    ids = [1, *own.vocabulary.encode(sentence).ids]
    after = model.after([ids[: number + 1] for number in range(len(ids))])
    for one, other in zip(along, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_sentences_that_are_scored_are_not_learned_from():
    """A sentence that comes again and again must not make the own n-gram look better than it is."""
    model, _ = make(ALIKE[:5])
    repeated, _ = make([sentence for sentence in ALIKE[:5] for _ in range(4)])
    assert repeated.shares()["one"] > model.shares()["one"] / 2


def test_of_many_sentences_some_are_held_out_once(monkeypatch):
    counted = []
    train = NGram.train.__func__
    monkeypatch.setattr(
        NGram,
        "train",
        classmethod(lambda cls, text, *rest, **kind: counted.append(len(text)) or train(cls, text, *rest, **kind)),
    )
    monkeypatch.setattr("protoglot.neighbours.model._MANY_CHARACTERS", 2000)
    monkeypatch.setattr("protoglot.neighbours.model._MOST_HELD_OUT", 500)
    sentences = babble("abcdef", 300, seed=1)
    model, _ = make(sentences)
    assert model is not None
    own, others = counted
    assert own == 300
    assert 0.5 * 300 < others < 300
    counted.clear()
    make(sentences[:30])
    assert len(counted) == 11  # the own one, and one for each of ten folds


def test_lines_that_hold_a_chapter_are_compared_by_their_begin(monkeypatch):
    lengths = []
    nats = NGram.nats
    monkeypatch.setattr(NGram, "nats", lambda self, text: lengths.extend(map(len, text)) or nats(self, text))
    make([" ".join(babble("abcdef", 100, seed=seed)) for seed in range(4)])
    assert lengths
    assert max(lengths) <= 1000


def test_saving_and_loading_is_the_identity():
    model, own = make(ALIKE[:8])
    facts, arrays = model.parts()
    loaded = NeighbourModel.from_parts(facts, arrays, own.vocabulary, order=own.order, name="file")
    assert list(loaded.packed) == list(model.packed)
    for one, other in zip(predict(loaded, own, ALIKE[9:12]), predict(model, own, ALIKE[9:12]), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "change",
    [
        lambda facts, arrays: facts.update(languages=["two"]),
        lambda facts, arrays: facts.update(languages=None),
        lambda facts, arrays: facts.update(languages=[]),
        lambda facts, arrays: arrays.pop("weights"),
        lambda facts, arrays: arrays.update(weights=arrays["weights"][:-1]),
        lambda facts, arrays: arrays.update(weights=arrays["weights"] * 2),
        lambda facts, arrays: arrays.update(weights=arrays["weights"] * np.nan),
        lambda facts, arrays: arrays.update(weights=arrays["weights"].astype(np.float32)),
    ],
)
def test_damaged_neighbours_are_refused(change):
    model, own = make(ALIKE[:8])
    facts, arrays = model.parts()
    change(facts, arrays)
    with pytest.raises(StorageError, match=r"^file: damaged neighbours; wanted"):
        NeighbourModel.from_parts(facts, arrays, own.vocabulary, order=own.order, name="file")


def test_a_language_whose_code_cannot_be_printed_is_refused():
    arrays = {f"\x1b[2J{key}": array for key, array in LIBRARY.parts().items()}
    with pytest.raises(StorageError, match=r"^file: a language called '.x1b"):
        Library.from_parts(arrays, vocabulary_size=len(VOCABULARY), name="file")


def test_a_library_is_saved_and_loaded_whole():
    loaded = Library.from_parts(LIBRARY.parts(), vocabulary_size=len(VOCABULARY), name="file")
    assert sorted(loaded.ngrams) == sorted(LIBRARY.ngrams)
    for code, ngram in LIBRARY.ngrams.items():
        for part, array in ngram.parts().items():
            assert np.array_equal(array, loaded.ngrams[code].parts()[part])


def test_a_language_without_text_is_in_no_library():
    library = Library.count([("one", ["ab ba"]), ("none", [])], VOCABULARY)
    assert list(library.ngrams) == ["one"]
