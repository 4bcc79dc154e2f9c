"""The prior that is part of the package."""

import json
import math

import pytest

import protoglot
from protoglot.artefacts import read_header
from protoglot.incontext.examining import score_in_context
from protoglot.neighbours.model import NeighbourModel
from protoglot.ngram import NGram
from protoglot.prior.mixer import Mixing
from protoglot.prior.universal import UniversalPrior
from protoglot.shipped import shipped_prior

LEFT_OUT = {"afr", "dje", "est", "kek", "mri", "slk", "som", "tur", "xho"}
SENTENCES = [
    "Kaixo, zer moduz zaude?",
    "Ni ondo nago, eskerrik asko.",
    "Gaur eguraldi ona dago.",
    "Bihar ikusiko gara.",
]


@pytest.fixture(scope="module")
def prior():
    return UniversalPrior.load(shipped_prior())


def test_it_is_small():
    assert sum(file.stat().st_size for file in shipped_prior().iterdir()) < 25e6


def test_it_learned_from_texts_whose_licences_allow_it(prior):
    read = {*prior.mean.fold.training, *prior.mean.fold.validation}
    assert not read & LEFT_OUT
    for code in read:
        licence = prior.mean.languages[code].licence.lower()
        assert any(word in licence for word in ("cc0", "public domain", "cc by", "apache-2.0")), (
            f"{code}: {licence}"
        )
        assert "nc" not in licence.replace("-", " ").split(), f"{code}: {licence}"


def test_it_says_how_it_was_made_and_holds_no_path(prior):
    content = read_header(shipped_prior())["content"]
    assert prior.mean.provenance["training"]
    assert prior.mean.provenance["corpus"] == "bible77"
    assert not any(place in json.dumps(content) for place in ("/tmp", "/home", "/work", "/root"))


def test_it_is_tuned(prior):
    assert prior.tuned is not None
    assert prior.tuned.best in prior.tuned.methods
    assert {mixer.num_components for mixer in prior.tuned.mixers.values()} == {prior.tuned.ngram.order + 2}
    with_neighbours = prior.tuned.neighbour_mixers.values()
    assert {mixer.num_components for mixer in with_neighbours} == {prior.tuned.ngram.order + 3}
    assert set(prior.tuned.mixers) == set(prior.tuned.neighbour_mixers) == set(Mixing)
    assert prior.tuned.strangers
    assert prior.tuned.calibration is not None


def test_it_was_taught_to_learn_in_context(prior):
    assert prior.incontext is not None
    assert prior.mean.provenance["teaching"]["num_characters"] > 1e6
    known = prior.mean.vocabulary
    own, rival = score_in_context(prior.incontext, known, SENTENCES[:3], SENTENCES[3:])
    assert own.bits_per_character < rival.bits_per_character


def test_it_has_n_grams_of_the_languages_it_read_and_of_no_other(prior):
    assert set(prior.library.ngrams) == set(prior.mean.fold.training)
    # Xhosa is most like Zulu.
    sentences = ["Ndiyabulela kakhulu ngoncedo lwakho.", "Abantwana bayadlala ngaphandle namhlanje.", "Siyahamba."]
    vocabulary = prior.mean.vocabulary.extended(sentences)
    own = NGram.train(sentences, vocabulary, order=prior.tuned.ngram.order, smoothing=prior.tuned.ngram.smoothing)
    found = NeighbourModel.choose(prior.library, sentences, vocabulary, own)
    assert next(iter(found.shares())) == "zul"


def test_a_few_sentences_make_a_model():
    """What it is worth is measured by benchmarks/quality.py; here, that it works at all."""
    for method in (None, "univ"):
        model = protoglot.load_prior().adapt(SENTENCES, language="eus", method=method)
        fresh = protoglot.load_prior().adapt([], language="eus", method=method)
        assert math.isfinite(model.score("Gaur ondo nago.").bits_per_character)
        assert model.score(SENTENCES).bits_per_character < fresh.score(SENTENCES).bits_per_character
        assert model.complete("Gaur e")
