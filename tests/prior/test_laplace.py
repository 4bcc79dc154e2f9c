import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.artefacts import save_artefact
from protoglot.errors import ConfigError, StorageError
from protoglot.prior.laplace import FisherConfig, choose_sequences, infer_prior, training_streams
from protoglot.prior.universal import UniversalPrior
from protoglot.trained import parts_of
from tiny import babble_corpus, tiny_trained

CONFIG = FisherConfig(length=11, max_sequences=6, sequences_at_once=4)
VARIANCE = 2.5


def make_trained(conditioning="bare"):
    made = tiny_trained(conditioning)
    return replace(made, provenance={**made.provenance, "training": {"prior_variance": VARIANCE}})


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
def test_the_fisher_is_a_mean_over_languages_of_means_over_sequences(conditioning):
    trained = make_trained(conditioning)
    trained.model.double()
    streams = training_streams(babble_corpus(), trained)
    assert set(streams) == set(trained.fold.training)
    prior = infer_prior(trained, streams, CONFIG)
    weights = dict(trained.model.named_parameters())
    wanted = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for language, stream in streams.items():
        starts = choose_sequences(stream, language, CONFIG)
        for start in starts:
            ids = torch.from_numpy(stream[start : start + CONFIG.length + 1].astype(np.int64)).unsqueeze(1)
            nats, _ = trained.model.nats(ids[:-1], ids[1:], trained.features_of(language))
            gradients = torch.autograd.grad(nats.sum(), list(weights.values()))
            for name, gradient in zip(weights, gradients, strict=True):
                wanted[name] += gradient.square() / (len(starts) * len(streams))
    number = sum((len(stream) - 1) // CONFIG.length for stream in streams.values())
    assert prior.num_training_sequences == number
    for name, values in wanted.items():
        torch.testing.assert_close(prior.fisher[name], values, rtol=1e-6, atol=1e-18)
        precision = values + 1 / (VARIANCE * number)  # the share of one sequence in the prior of training
        torch.testing.assert_close(prior.precision()[name], precision)
        torch.testing.assert_close(prior.signal_to_noise()[name], weights[name].detach().abs() * precision.sqrt())
    assert prior.num_sequences == dict.fromkeys(streams, 6)


def test_all_sequences_cover_the_text_and_a_draw_is_of_them():
    trained = make_trained()
    stream = training_streams(babble_corpus(), trained)["fra"]
    everything = choose_sequences(stream, "fra", replace(CONFIG, max_sequences=None))
    assert everything.tolist() == list(range(0, len(stream) - 11, 11))
    drawn = choose_sequences(stream, "fra", CONFIG)
    assert len(drawn) == 6
    assert set(drawn) <= set(everything)
    assert drawn.tolist() != choose_sequences(stream, "fra", replace(CONFIG, seed=1)).tolist()
    assert choose_sequences(stream[:5], "fra", CONFIG).tolist() == [0]


def test_measuring_leaves_the_model_as_it_was():
    trained = make_trained()
    before = copy.deepcopy(trained.model.state_dict())
    infer_prior(trained, training_streams(babble_corpus(), trained), CONFIG)
    for name, weight in trained.model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)


@pytest.mark.parametrize("languages_before", [0, 1, 2])
def test_stop_and_go_on_equals_not_stopping(tmp_path, languages_before):
    trained = make_trained("oest")
    streams = training_streams(babble_corpus(), trained)
    whole = infer_prior(trained, streams, CONFIG)
    asked = iter([False] * languages_before + [True] * 10)
    assert infer_prior(trained, streams, CONFIG, unfinished=tmp_path / "u", stop_asked=lambda: next(asked)) is None
    measured = []
    resumed = infer_prior(trained, streams, CONFIG, unfinished=tmp_path / "u", on_sequences=measured.append)
    for name, values in whole.fisher.items():
        torch.testing.assert_close(resumed.fisher[name], values, rtol=0, atol=0)
    assert resumed.num_sequences == whole.num_sequences
    assert sum(measured) == 18


def test_going_on_with_another_model_or_setting_is_refused(tmp_path):
    trained = make_trained()
    streams = training_streams(babble_corpus(), trained)
    asked = iter([False, True])
    infer_prior(trained, streams, CONFIG, unfinished=tmp_path / "u", stop_asked=lambda: next(asked))
    with pytest.raises(StorageError, match="of another model, text or other settings"):
        infer_prior(trained, streams, replace(CONFIG, seed=9), unfinished=tmp_path / "u")
    mended = {code: stream[::-1].copy() for code, stream in streams.items()}
    with pytest.raises(StorageError, match="of another model, text or other settings"):
        infer_prior(trained, mended, CONFIG, unfinished=tmp_path / "u")
    with torch.no_grad():
        trained.model.output_bias += 1
    with pytest.raises(StorageError, match="of another model, text or other settings"):
        infer_prior(trained, streams, CONFIG, unfinished=tmp_path / "u")


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
def test_save_then_load_is_the_identity(tmp_path, conditioning):
    trained = make_trained(conditioning)
    prior = infer_prior(trained, training_streams(babble_corpus(), trained), CONFIG)
    prior.save(tmp_path / "prior")
    loaded = UniversalPrior.load(tmp_path / "prior")
    assert (loaded.prior_variance, loaded.num_sequences) == (prior.prior_variance, prior.num_sequences)
    assert loaded.mean.vocabulary == trained.vocabulary
    assert loaded.mean.fold == trained.fold
    for name, weight in trained.model.named_parameters():
        torch.testing.assert_close(dict(loaded.mean.model.named_parameters())[name], weight, rtol=0, atol=0)
        torch.testing.assert_close(loaded.fisher[name], prior.fisher[name], rtol=0, atol=0)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_a_fisher_that_cannot_be_is_refused(tmp_path, wrong):
    trained = make_trained()
    content, tensors = parts_of(trained)
    content |= {"prior_variance": 1.0, "num_sequences": {}}
    fisher = {name: np.ones_like(values) for name, values in tensors["weights"].items()}
    fisher["projection"][0, 0] = wrong
    save_artefact(tmp_path / "prior", kind="prior", content=content, tensors={**tensors, "fisher": fisher})
    with pytest.raises(StorageError, match=r"fisher\.safetensors: projection: too small or not finite"):
        UniversalPrior.load(tmp_path / "prior")


def test_a_model_is_not_a_prior(tmp_path):
    content, tensors = parts_of(make_trained())
    save_artefact(tmp_path / "model", kind="model", content=content, tensors=tensors)
    with pytest.raises(StorageError, match="a model; wanted a prior"):
        UniversalPrior.load(tmp_path / "model")


def test_a_model_that_does_not_say_its_variance_is_refused():
    trained = tiny_trained()
    with pytest.raises(ConfigError, match="prior variance"):
        infer_prior(trained, training_streams(babble_corpus(), trained), CONFIG)


@pytest.mark.parametrize("wrong", [{"length": 0}, {"sequences_at_once": 0}, {"max_sequences": 0}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        FisherConfig(**wrong)
