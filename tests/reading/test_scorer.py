import shutil

import numpy as np
import pytest

from protoglot.errors import StorageError
from protoglot.reading.first_occurrence import FirstOccurrence
from protoglot.reading.scorer import Scorer
from protoglot.reading.shipped import shipped_scorer, shipped_scorer_path
from tiny_scorer import tiny_scorer


@pytest.fixture
def saved(scorer, tmp_path):
    scorer.save(tmp_path / "scorer", provenance={"made": "here"})
    return tmp_path / "scorer"


def test_saving_and_loading_is_the_identity(scorer, saved, tmp_path):
    again = Scorer.load(saved)
    assert again.identity == scorer.identity
    assert list(again.characters) == list(scorer.characters)
    assert again.known == scorer.known
    for name, value in scorer.weights.items():
        assert again.weights[name].dtype == np.float32
        np.testing.assert_array_equal(again.weights[name], value)
    for name in ("first_layers", "candidate_layers"):
        for one, other in zip(getattr(again, name), getattr(scorer, name), strict=True):
            np.testing.assert_array_equal(one, other)
    assert again.first.characters == scorer.first.characters
    for name in ("log_frequency", "weights", "classes"):
        np.testing.assert_array_equal(getattr(again.first, name), getattr(scorer.first, name))
    again.save(tmp_path / "again")
    assert Scorer.load(tmp_path / "again").identity == scorer.identity


def test_every_number_is_part_of_the_identity(scorer):
    identities = {scorer.identity, tiny_scorer(1).identity}
    for name in scorer.weights:
        changed = dict(scorer.weights)
        changed[name] = changed[name].copy()
        changed[name].flat[-1] += 0.5
        identities.add(Scorer(changed, scorer.characters, scorer.first).identity)
    first = scorer.first
    for i, name in enumerate(("log_frequency", "weights", "classes")):
        arrays = [first.log_frequency, first.weights, first.classes]
        arrays[i] = getattr(first, name) + 1
        changed_first = FirstOccurrence(first.characters, *arrays)
        identities.add(Scorer(scorer.weights, scorer.characters, changed_first).identity)
    identities.add(Scorer(scorer.weights, scorer.characters[::-1], first).identity)
    assert len(identities) == 2 + len(scorer.weights) + 3 + 1
    assert tiny_scorer().identity == scorer.identity


@pytest.mark.parametrize("name", ["header.json", "weights.safetensors", "first.safetensors"])
def test_one_changed_bit_is_noticed(saved, name):
    file = saved / name
    content = file.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content) - 1, 12):
        file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(StorageError):
            Scorer.load(saved)
    file.write_bytes(content)
    Scorer.load(saved)


def test_what_is_missing_truncated_or_foreign_is_refused(scorer, saved, tmp_path):
    with pytest.raises(StorageError, match="no such directory"):
        Scorer.load(tmp_path / "nothing")
    file = saved / "weights.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(StorageError, match="truncated"):
        Scorer.load(saved)
    file.unlink()
    with pytest.raises(StorageError, match="cannot be read"):
        Scorer.load(saved)
    shutil.rmtree(saved)
    saved.mkdir()
    (saved / "header.json").write_text("{}")
    with pytest.raises(StorageError, match="not an artefact"):
        Scorer.load(saved)


def test_weights_that_do_not_fit_are_refused(scorer):
    for name, value in scorer.weights.items():
        for wrong in (np.zeros((*value.shape[:-1], value.shape[-1] + 1)), value[:-1], value[None]):
            with pytest.raises(StorageError, match=r"scorer: weight \w+ has shape .*; wanted"):
                Scorer({**scorer.weights, name: wrong}, scorer.characters, scorer.first)
    with pytest.raises(StorageError, match="weights wb missing"):
        Scorer({k: v for k, v in scorer.weights.items() if k != "wb"}, scorer.characters, scorer.first)
    with pytest.raises(StorageError, match="weights more missing or unknown"):
        Scorer({**scorer.weights, "more": np.zeros(1)}, scorer.characters, scorer.first)
    with pytest.raises(StorageError, match="weight"):
        Scorer(scorer.weights, [*scorer.characters, "ß"], scorer.first)


def test_what_letters_say_is_the_product_of_the_query(scorer):
    query = np.arange(7, dtype=np.float32)
    found = scorer.letter_scores(query)
    for character, score in zip(scorer.first.characters, found, strict=True):
        row = scorer.known.get(character, 0)
        expected = scorer.weights["O"][row] @ query[:6] + query[6] * scorer.weights["o_bias"][row]
        assert score == pytest.approx(float(expected), rel=1e-5)


def test_a_scorer_is_installed():
    scorer = shipped_scorer()
    assert shipped_scorer() is scorer
    assert Scorer.load(shipped_scorer_path()).identity == scorer.identity
    assert sum(file.stat().st_size for file in shipped_scorer_path().iterdir()) < 16 << 20
