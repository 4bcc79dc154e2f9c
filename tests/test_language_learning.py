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
from protoglot.errors import ConfigError, StorageError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.incontext.config import TINY as TINY_IN_CONTEXT
from protoglot.neighbours.library import Library
from protoglot.ngram import NGramConfig
from protoglot.prior.calibration import Calibration
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.mixer import Mixer, Mixing
from protoglot.prior.universal import Tuned, UniversalPrior
from protoglot.vocabulary import Vocabulary
from tiny import babble, babble_corpus, tiny_in_context_network, tiny_trained

SENTENCES = tuple(babble("abdëgñ", 30, seed=0))
UNSEEN = (*babble("abdëgñ", 12, seed=5), "ωa b", "", "x")


def tuned_prior(conditioning: str = "bare", *, taught: bool = False, counted: bool = False) -> UniversalPrior:
    """A prior with everything that tuning, teaching, and counting its languages add."""
    made = tiny_trained(conditioning)
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    streams = training_streams(babble_corpus(), trained)
    prior = infer_prior(trained, streams, FisherConfig(length=20, max_sequences=3))
    settings = AdaptationConfig(num_epochs=2, batch_size=4, length=20, dropout=0.1)
    mixers = {mixing: Mixer(mixing, 4 + taught, hidden_size=6) for mixing in Mixing}
    neighbour_mixers = {mixing: Mixer(mixing, 5 + taught, hidden_size=6) for mixing in Mixing if counted}
    with torch.no_grad():
        for mixer in (*mixers.values(), *neighbour_mixers.values()):
            for weight in mixer.parameters():
                weight += 0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
    tuned = Tuned(
        best=Method.FITU,
        methods={Method.FITU: settings, Method.UNIV: replace(settings, method=Method.UNIV, strength=0.5)},
        ngram=TINY_IN_CONTEXT.ngram,
        mixers=mixers,
        neighbour_mixers=neighbour_mixers,
        calibration=Calibration(temperature=1.5, broad_share=0.2),
        trials=({"method": "fitu", "nats": 1.0},),
    )
    incontext = tiny_in_context_network(trained.vocabulary) if taught else None
    # A language that is like the new one, and one that is not.
    texts = [("eus", babble_corpus().texts["eus"]), ("tur", babble("abdëgñ", 60, seed=0)[30:])]
    library = Library.count(texts, trained.vocabulary) if counted else None
    return replace(prior, tuned=tuned, incontext=incontext, library=library)


def learned(conditioning="bare", sentences=SENTENCES, *, taught=False, counted=False, **options) -> AdaptedModel:
    prior = tuned_prior(conditioning, taught=taught, counted=counted)
    return learn_language(prior, sentences, language="wol", features=prior.mean.features.get("wol"), **options)


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("mixing", [*Mixing, None])
def test_predictions_sum_to_one_and_cover_every_character_once(conditioning, mixing):
    model = learned(conditioning, mixing=mixing)
    pieces = list(model.log_probabilities(UNSEEN))
    for found, _ in pieces:
        torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)), rtol=0, atol=1e-4)
    assert sum(len(targets) for _, targets in pieces) == sum(len(sentence) + 1 for sentence in UNSEEN)


@pytest.mark.parametrize("neighbours", [False, True])
def test_a_prior_from_before_there_were_corrections_has_the_mixers_it_has(neighbours):
    tuned = tuned_prior(counted=True).tuned
    old = replace(
        tuned,
        mixers={mixing: mixer for mixing, mixer in tuned.mixers.items() if mixing is not Mixing.CORRECTED},
        neighbour_mixers={Mixing.LOG_LINEAR: tuned.neighbour_mixers[Mixing.LOG_LINEAR]},
    )
    mixers = old.neighbour_mixers if neighbours else old.mixers
    assert old.mixer(Mixing.CORRECTED, neighbours=neighbours) is mixers[Mixing.LOG_LINEAR]
    assert old.mixer(Mixing.LINEAR, neighbours=neighbours) is mixers.get(Mixing.LINEAR)  # a control is no other's
    assert tuned.mixer(Mixing.CORRECTED).mixing is Mixing.CORRECTED
    prior = replace(tuned_prior(), tuned=replace(old, neighbour_mixers={}))
    assert learn_language(prior, SENTENCES).mixer is old.mixers[Mixing.LOG_LINEAR]


def test_without_a_mixer_the_score_is_that_of_evaluation():
    model = learned(mixing=None)
    wanted = evaluate(model.network, {"x": make_scored_text(UNSEEN, model.vocabulary, None)})["x"]
    found = model.score(UNSEEN)
    assert found.num_characters == wanted.num_characters
    assert found.nats == pytest.approx(wanted.nats, rel=1e-6)
    assert learned().network_score(UNSEEN).nats == pytest.approx(wanted.nats, rel=1e-6)


def test_the_ngram_is_that_of_the_sentences():
    model = learned()
    assert model.ngram_score(SENTENCES).bits_per_character < model.ngram_score(UNSEEN).bits_per_character
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


@pytest.mark.parametrize("packed", [False, True])
def test_a_prior_keeps_what_was_taught(tmp_path, packed):
    prior = tuned_prior(taught=True)
    prior.save(tmp_path / "p", packed=packed)
    again = UniversalPrior.load(tmp_path / "p")
    tolerance = 1e-3 if packed else 0
    for name, weight in prior.incontext.named_parameters():
        found = dict(again.incontext.named_parameters())[name]
        torch.testing.assert_close(found, weight, rtol=tolerance, atol=tolerance)
    first, second = (learn_language(each, SENTENCES) for each in (prior, again))
    np.testing.assert_allclose(first.nats(UNSEEN), second.nats(UNSEEN), rtol=0, atol=20 * tolerance)


def test_what_learns_in_context_is_part_of_a_model_that_mixes_and_of_no_other():
    assert learned(taught=True).incontext is not None
    assert learned(taught=True, mixing=None).incontext is None
    assert learned(taught=True, sentences=()).incontext is None
    untuned = replace(tuned_prior(taught=True), tuned=None)
    assert learn_language(untuned, SENTENCES).incontext is None
    assert learn_language(untuned, SENTENCES).ngram.order == untuned.incontext.config.ngram.order


def test_a_taught_model_is_saved_and_costs_what_it_cost(tmp_path):
    model = learned(taught=True)
    model.save(tmp_path / "m")
    again = AdaptedModel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.nats(UNSEEN), model.nats(UNSEEN))
    assert again.in_context_score(UNSEEN) == model.in_context_score(UNSEEN)
    with pytest.raises(ConfigError, match="learns in context"):
        learned().in_context_score(UNSEEN)


@pytest.mark.parametrize("taught", [False, True])
def test_neighbours_are_found_saved_and_cost_what_they_cost(tmp_path, taught):
    model = learned(taught=taught, counted=True)
    assert next(iter(model.neighbours.shares())) == "tur"
    model.save(tmp_path / "m")
    again = AdaptedModel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.nats(UNSEEN), model.nats(UNSEEN))
    assert again.neighbours_score(UNSEEN) == model.neighbours_score(UNSEEN)
    assert model.neighbours_score(UNSEEN) != model.ngram_score(UNSEEN)
    with pytest.raises(ConfigError, match="has no neighbours"):
        learned().neighbours_score(UNSEEN)


def test_neighbours_are_part_of_a_model_that_mixes_and_of_no_other():
    assert learned(counted=True).neighbours is not None
    assert learned(counted=True, mixing=None).neighbours is None
    assert learned(counted=True, sentences=()).neighbours is None
    assert learn_language(replace(tuned_prior(counted=True), tuned=None), SENTENCES).neighbours is None
    # A language that is like no other has the mixer of one.
    strange = learned(counted=True, sentences=["чш" * number + "ж" for number in range(3, 20)])
    assert (strange.neighbours, strange.mixer.num_components) == (None, 4)
    assert learned(counted=True).mixer.num_components == 5


@pytest.mark.parametrize("packed", [False, True])
def test_a_prior_keeps_the_n_grams_of_its_languages(tmp_path, packed):
    prior = tuned_prior(counted=True)
    prior.save(tmp_path / "p", packed=packed)
    again = UniversalPrior.load(tmp_path / "p")
    assert sorted(again.library.ngrams) == ["eus", "tur"]
    for code, ngram in prior.library.ngrams.items():
        for part, array in ngram.parts().items():
            np.testing.assert_array_equal(again.library.ngrams[code].parts()[part], array)
    assert again.tuned is not None


def test_mixers_that_do_not_fit_the_neighbours_are_refused(tmp_path):
    prior = tuned_prior(counted=True)
    replace(prior, library=None).save(tmp_path / "none")
    with pytest.raises(StorageError, match=r"header\.json: mixers for neighbours, and no n-grams"):
        UniversalPrior.load(tmp_path / "none")
    small = replace(prior, tuned=replace(prior.tuned, neighbour_mixers=prior.tuned.mixers))
    small.save(tmp_path / "small")
    with pytest.raises(StorageError, match=r"header\.json.*mixer of 4 components; wanted 5"):
        UniversalPrior.load(tmp_path / "small")


def test_a_prior_whose_mixers_know_no_neighbours_makes_models_without_them():
    prior = replace(tuned_prior(counted=True), tuned=tuned_prior().tuned)
    assert learn_language(prior, SENTENCES).neighbours is None


def test_a_damaged_library_is_named(tmp_path):
    prior = tuned_prior(counted=True)
    ngram = prior.library.ngrams["tur"]
    broken = Library({**prior.library.ngrams, "tur": replace(ngram, symbols=ngram.symbols[:-1])})
    replace(prior, library=broken).save(tmp_path / "p")
    with pytest.raises(StorageError, match=r"library\.safetensors: tur: damaged n-gram"):
        UniversalPrior.load(tmp_path / "p")


def test_a_model_from_before_there_were_neighbours_or_learning_in_context_loads(tmp_path):
    model = learned()
    model.save(tmp_path / "m")
    rewrite_header(tmp_path / "m", lambda content: (content.pop("incontext"), content.pop("neighbours")))
    np.testing.assert_array_equal(AdaptedModel.load(tmp_path / "m").nats(UNSEEN), model.nats(UNSEEN))


@pytest.mark.parametrize("change", ["mixers", "n-gram", "vocabulary"])
def test_a_prior_whose_parts_do_not_fit_is_refused(tmp_path, change):
    prior = tuned_prior(taught=change != "mixers")
    if change == "n-gram":
        prior = replace(prior, tuned=replace(prior.tuned, mixers={}, ngram=NGramConfig(order=4)))
    else:
        letters = prior.mean.vocabulary.characters[change == "vocabulary" :]
        prior = replace(prior, incontext=tiny_in_context_network(Vocabulary(letters)))
    prior.save(tmp_path / "p")
    with pytest.raises(StorageError, match=r"header\.json.*wanted"):
        UniversalPrior.load(tmp_path / "p")


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
        lambda content: content.update(mixer={"mixing": "linear", "num_components": 9, "hidden_size": 6}),
        lambda content: content.update(ngram={"order": 99, "smoothing": "kneser-ney"}),
        lambda content: content.update(calibration={"temperature": -1}),
        lambda content: content.update(num_characters="many"),
        lambda content: content.pop("vocabulary"),
        lambda content: content.update(ngram=None),
        lambda content: content.update(incontext=None),
        lambda content: content.update(neighbours=None),
        lambda content: content["neighbours"].update(languages=["eus"]),
        lambda content: content.update(neighbours=["tur"]),
        lambda content: content["incontext"].update(vocabulary_size=3),
        lambda content: content["incontext"]["config"].update(window=0),
        lambda content: content["incontext"]["config"].update(ngram={"order": 2, "smoothing": "kneser-ney"}),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(tmp_path, change):
    learned(taught=True, counted=True).save(tmp_path / "m")
    rewrite_header(tmp_path / "m", change)
    with pytest.raises(StorageError, match=r"header\.json"):
        AdaptedModel.load(tmp_path / "m")
