"""From a tuned prior to a model: what learn_language puts together."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.adaptation import learn_language
from protoglot.adapted import AdaptedModel
from protoglot.errors import StorageError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.ngram import NGramConfig
from protoglot.prior.calibration import Calibration
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.universal import Tuned, UniversalPrior
from tiny import babble, babble_corpus, tiny_trained

SENTENCES = tuple(babble("abdëgñ", 30, seed=0))
UNSEEN = (*babble("abdëgñ", 12, seed=5), "ωa b", "", "x")


def tuned_prior(conditioning: str = "bare") -> UniversalPrior:
    """A prior with everything that tuning adds."""
    made = tiny_trained(conditioning)
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    streams = training_streams(babble_corpus(), trained)
    prior = infer_prior(trained, streams, FisherConfig(length=20, max_sequences=3))
    settings = AdaptationConfig(num_epochs=2, batch_size=4, length=20, dropout=0.1)
    tuned = Tuned(
        best=Method.FITU,
        methods={Method.FITU: settings, Method.UNIV: replace(settings, method=Method.UNIV, strength=0.5)},
        ngram=NGramConfig(order=3),
        calibration=Calibration(temperature=1.5, broad_share=0.2),
        trials=({"method": "fitu", "nats": 1.0},),
    )
    return replace(prior, tuned=tuned)


def learned(conditioning="bare", sentences=SENTENCES) -> AdaptedModel:
    prior = tuned_prior(conditioning)
    return learn_language(prior, sentences, language="wol", features=prior.mean.features.get("wol"))


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
def test_predictions_sum_to_one_and_cover_every_character_once(conditioning):
    model = learned(conditioning)
    pieces = list(model.log_probabilities(UNSEEN))
    for found, _ in pieces:
        torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)), rtol=0, atol=1e-4)
    assert sum(len(targets) for _, targets in pieces) == sum(len(sentence) + 1 for sentence in UNSEEN)


def test_the_score_is_that_of_evaluation():
    model = learned()
    wanted = evaluate(model.network, {"x": make_scored_text(UNSEEN, model.vocabulary, None)})["x"]
    found = model.score(UNSEEN)
    assert found.num_characters == wanted.num_characters
    assert found.nats == pytest.approx(wanted.nats, rel=1e-6)


def test_the_ngram_is_that_of_the_sentences():
    model = learned()
    assert model.ngram.score(SENTENCES).bits_per_character < model.ngram.score(UNSEEN).bits_per_character
    assert model.ngram.order == 3


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("sentences", [(), SENTENCES])
def test_saving_and_loading_changes_nothing(tmp_path, conditioning, sentences):
    model = replace(learned(conditioning, sentences), provenance={"licence": "CC0"})
    model.save(tmp_path / "m")
    again = AdaptedModel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.nats(UNSEEN), model.nats(UNSEEN))
    assert again.language == "wol"
    assert again.provenance == {"licence": "CC0"}
    assert again.num_characters == model.num_characters


def test_no_sentence_gives_the_calibrated_mean():
    prior = tuned_prior()
    model = learn_language(prior, [])
    assert model.calibration == prior.tuned.calibration
    assert model.ngram is None
    plain = replace(model, calibration=None, frequencies=None)
    wanted = evaluate(prior.mean.model, {"x": make_scored_text(UNSEEN, prior.mean.vocabulary, None)})["x"]
    assert plain.score(UNSEEN).nats == pytest.approx(wanted.nats, rel=1e-6)
    assert model.score(UNSEEN).nats != pytest.approx(wanted.nats, rel=1e-3)


def test_one_sentence_is_enough():
    assert math.isfinite(learned(sentences=SENTENCES[:1]).score(UNSEEN).bits_per_character)


def test_settings_are_fitted_to_the_amount_of_text():
    settings = AdaptationConfig(num_epochs=8, batch_size=16, length=96)
    assert settings.for_amount(12_000) == replace(settings, batch_size=16)
    little, much = settings.for_amount(1_200), settings.for_amount(1_200_000)
    assert little.num_epochs == settings.num_epochs > much.num_epochs >= 1
    assert little.batch_size < settings.batch_size
    assert settings.for_amount(1).batch_size == 1
    assert replace(settings, num_epochs=0).for_amount(10).num_epochs == 0


def test_a_prior_keeps_what_was_tuned(tmp_path):
    prior = tuned_prior("oest")
    prior.save(tmp_path / "p")
    again = UniversalPrior.load(tmp_path / "p")
    assert again.tuned.methods == prior.tuned.methods
    assert again.tuned.best is Method.FITU
    assert again.tuned.ngram == prior.tuned.ngram
    assert again.tuned.calibration == prior.tuned.calibration
    assert again.tuned.trials == prior.tuned.trials
    assert again.num_training_sequences == prior.num_training_sequences
    features = prior.mean.features["wol"]
    first, second = (learn_language(each, SENTENCES, features=features) for each in (prior, again))
    np.testing.assert_array_equal(first.nats(UNSEEN), second.nats(UNSEEN))


@pytest.mark.parametrize("part", ["incontext", "mixer"])
@pytest.mark.parametrize("thing", ["model", "prior"])
def test_what_an_older_version_made_is_refused_in_one_line(tmp_path, thing, part):
    (learned() if thing == "model" else tuned_prior()).save(tmp_path / "old")
    rewrite_header(tmp_path / "old", lambda content: content.update({part: None}))
    with pytest.raises(
        StorageError, match=r"header\.json: made by an older protoglot.*wanted it made anew"
    ) as error:
        (AdaptedModel if thing == "model" else UniversalPrior).load(tmp_path / "old")
    assert "\n" not in str(error.value)


def rewrite_header(path, change):
    """Change the content of an artefact and sign it again, as a stranger could."""
    file = path / "header.json"
    header = json.loads(file.read_text())
    change(header["content"])
    del header["sha256"]
    header["sha256"] = hashlib.sha256(
        json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()
    file.write_text(json.dumps(header))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(ngram={"order": 99, "smoothing": "kneser-ney"}),
        lambda content: content.update(calibration={"temperature": -1}),
        lambda content: content.update(num_characters="many"),
        lambda content: content.pop("vocabulary"),
        lambda content: content.pop("ngram"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(tmp_path, change):
    learned().save(tmp_path / "m")
    rewrite_header(tmp_path / "m", change)
    with pytest.raises(StorageError, match=r"header\.json"):
        AdaptedModel.load(tmp_path / "m")
