"""The prior that is part of the package."""

import json
import math

import pytest

import protoglot
from protoglot.artefacts import read_header
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
    assert sum(file.stat().st_size for file in shipped_prior().iterdir()) < 6e6


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
    assert prior.tuned.calibration is not None


def test_a_few_sentences_make_a_model():
    """What it is worth is measured by benchmarks/reading.py; here, that it works at all."""
    for method in (None, "univ"):
        model = protoglot.load_prior().adapt(SENTENCES, language="eus", method=method)
        fresh = protoglot.load_prior().adapt([], language="eus", method=method)
        assert math.isfinite(model.score("Gaur ondo nago.").bits_per_character)
        assert model.score(SENTENCES).bits_per_character < fresh.score(SENTENCES).bits_per_character
        assert model.complete("Gaur e")
