import copy
from dataclasses import replace

import pytest
import torch

from protoglot.adaptation import adapt, make_gaussian
from protoglot.batching import make_stream
from protoglot.errors import ConfigError, TrainingError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.prior.extending import extended_model
from protoglot.prior.fitting import Gaussian, fit, pull_towards_mean
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.spread import SpreadConfig, measure_spread
from protoglot.splits import split_sentences
from tiny import babble, babble_corpus, tiny_trained

SENTENCES = tuple(babble("abdëgñ", 40, seed=0))  # of the language that is held out
FEW = AdaptationConfig(method=Method.UNIV, num_epochs=3, learning_rate=5e-3, dropout=0.0, batch_size=4, length=20)
INFORMED = [Method.UNIV, Method.L2_SP, Method.HIER]


def make_prior(conditioning="bare"):
    made = tiny_trained(conditioning)
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    streams = training_streams(babble_corpus(), trained)
    prior = infer_prior(trained, streams, FisherConfig(length=20, max_sequences=5))
    return replace(prior, spread=measure_spread(trained, streams, SpreadConfig(num_characters=200, num_epochs=1)))


def features_for(prior):
    return prior.mean.features_of("wol")


def weights_of(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def same(first, second, **tolerance):
    for name in first:
        torch.testing.assert_close(first[name], second[name], **(tolerance or {"rtol": 0, "atol": 0}), msg=name)


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("method", [Method.FITU, *INFORMED])
def test_no_sentences_return_the_mean_exactly(conditioning, method):
    prior = make_prior(conditioning)
    model, vocabulary = adapt(prior, [], features_for(prior), replace(FEW, method=method))
    same(weights_of(model), weights_of(prior.mean.model))
    assert vocabulary == prior.mean.vocabulary


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("method", INFORMED)
def test_a_huge_strength_returns_the_mean(conditioning, method):
    prior = make_prior(conditioning)
    config = replace(FEW, method=method, strength=1e30)
    model, _ = adapt(prior, SENTENCES, features_for(prior), config)
    same(weights_of(model), weights_of(prior.mean.model), rtol=0, atol=1e-9)


def test_no_strength_is_fine_tuning():
    prior = make_prior()
    tuned, _ = adapt(prior, SENTENCES, None, replace(FEW, method=Method.FITU))
    for method in INFORMED:
        model, _ = adapt(prior, SENTENCES, None, replace(FEW, method=method, strength=0.0))
        same(weights_of(model), weights_of(tuned), rtol=0, atol=1e-7)


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("method", Method)
def test_every_method_learns_and_leaves_the_prior_as_it_was(conditioning, method):
    prior = make_prior(conditioning)
    before = copy.deepcopy(weights_of(prior.mean.model))
    split = split_sentences(SENTENCES)
    config = replace(FEW, method=method, strength=1e-3, num_epochs=8, dropout=0.1)
    paid = []
    model, vocabulary = adapt(
        prior, split.train, features_for(prior), config, on_epoch=lambda number, bits: paid.append(bits)
    )
    assert len(paid) == 8
    assert paid[-1] < paid[0]
    same(weights_of(prior.mean.model), before)
    score = evaluate(model, {"wol": make_scored_text(split.test, vocabulary, features_for(prior))})["wol"]
    untaught = evaluate(
        prior.mean.model, {"wol": make_scored_text(split.test, prior.mean.vocabulary, features_for(prior))}
    )["wol"]
    assert score.bits_per_character < untaught.bits_per_character


def test_progress_is_told_after_every_step_also_within_an_epoch():
    prior = make_prior()
    config = replace(FEW, method=Method.FITU, num_epochs=1, batch_size=1, length=20.0)
    num_characters = sum(len(sentence) + 1 for sentence in SENTENCES)
    shares = []
    adapt(prior, SENTENCES, None, config, on_progress=shares.append)
    assert len(shares) == pytest.approx(num_characters / 20, rel=0.1)
    assert sum(shares) == pytest.approx(1)


def test_a_stronger_prior_stays_closer_to_its_mean():
    prior = make_prior()
    mean = weights_of(prior.mean.model)
    distances = []
    for strength in (0.0, 1e1, 1e3, 1e5):
        model, _ = adapt(prior, SENTENCES, None, replace(FEW, method=Method.L2_SP, strength=strength))
        adapted = weights_of(model)
        distances.append(sum(float((adapted[name] - mean[name]).square().sum()) for name in mean))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < distances[0] / 100


def test_the_optimum_weighs_the_whole_text_against_the_prior():
    """Eq. (map): the gradient of the summed log-likelihood balances that of the prior, not the mean's."""
    prior = make_prior()
    config = replace(FEW, num_epochs=150, learning_rate=1e-2, batch_size=64, length=10_000, max_gradient_norm=1e9)
    model = copy.deepcopy(prior.mean.model)
    mean = weights_of(model)
    gaussian = Gaussian(mean, {name: torch.full_like(weight, 300.0) for name, weight in mean.items()})
    stream = make_stream(SENTENCES[:4], prior.mean.vocabulary.extended([]))
    fit(model, stream, None, config, gaussian=gaussian)
    ids = torch.from_numpy(stream.astype("int64")).unsqueeze(1)
    nats, _ = model.nats(ids[:-1], ids[1:], None)
    names = list(mean)
    found = torch.autograd.grad(nats.sum(), [dict(model.named_parameters())[name] for name in names])
    likelihood = torch.cat([gradient.flatten() for gradient in found])
    pull = torch.cat([(300.0 * (mean[name] - weights_of(model)[name])).flatten() for name in names])
    # Batches cut the text where they like, so it is no exact optimum. A mean in place of the sum is off by N.
    assert len(stream) > 50
    assert 0.7 < float((likelihood @ pull) / (pull @ pull)) < 1.4


def test_learning_from_scratch_does_not_depend_on_the_mean():
    prior = make_prior()
    other = make_prior()
    with torch.no_grad():
        for weight in other.mean.model.parameters():
            weight += 0.5
    config = replace(FEW, method=Method.NINF, strength=1.0)
    first, second = (adapt(each, SENTENCES, None, config)[0] for each in (prior, other))
    same(weights_of(first), weights_of(second))


def test_new_characters_get_ids_behind_the_known_ones():
    prior = make_prior()
    model, vocabulary = adapt(prior, ["ωψ ab", "ψω"], None, FEW)
    assert vocabulary.characters[: len(prior.mean.vocabulary.characters)] == prior.mean.vocabulary.characters
    assert {"ω", "ψ"} <= set(vocabulary.characters)
    assert model.embedding.shape[0] == len(vocabulary)


def test_an_extended_model_computes_as_before_for_known_characters():
    prior = make_prior()
    vocabulary = prior.mean.vocabulary.extended(["ωψ"])
    model = extended_model(prior.mean.model, vocabulary, dropout=0.0)
    ids = torch.randint(3, len(prior.mean.vocabulary), (9, 2))
    old, _ = prior.mean.model.hidden_states(ids, None, prior.mean.model.initial_state(2))
    new, _ = model.hidden_states(ids, None, model.initial_state(2))
    torch.testing.assert_close(new, old)


def test_the_pull_has_the_fixed_point_of_the_gradient():
    """Minimising a quadratic likelihood and a Gaussian prior ends at the weighted mean of the two."""
    prior = make_prior()
    model = extended_model(prior.mean.model, prior.mean.vocabulary, dropout=0.0).double()
    weights = dict(model.named_parameters())
    gaussian = Gaussian(
        {name: torch.zeros_like(weight).detach() for name, weight in weights.items()},
        {name: torch.full_like(weight, 3.0).detach() for name, weight in weights.items()},
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1500):
        optimizer.param_groups[0]["lr"] = 1e-2 * (1 - step / 1500)
        optimizer.zero_grad()
        sum((weight - 1).square().sum() / 2 for weight in weights.values()).backward()
        optimizer.step()
        pull_towards_mean(model, optimizer, gaussian, strength=1.0)
    for weight in weights.values():
        torch.testing.assert_close(weight.detach(), torch.full_like(weight, 0.25), rtol=0, atol=0.01)


def test_all_weights_are_moved_at_the_rate_that_is_asked_for():
    """Adam's first step is as long as the rate, for any gradient."""
    prior = make_prior()
    config = replace(FEW, method=Method.FITU, num_epochs=1, batch_size=1000, length=1e6, learning_rate=1e-3)
    before = weights_of(prior.mean.model)
    after = weights_of(adapt(prior, SENTENCES, None, config)[0])
    for name, weight in after.items():
        longest = float((weight[: len(before[name])] - before[name]).abs().max())
        assert longest == pytest.approx(1e-3, rel=0.01), name


def test_the_gaussians_of_the_methods():
    prior = make_prior()
    model = prior.mean.model

    def gaussian(method):
        return make_gaussian(prior, model, replace(FEW, method=method, strength=0.5))

    assert gaussian(Method.FITU) is None
    uninformative = gaussian(Method.NINF)
    assert all(not values.any() for values in uninformative.mean.values())
    assert all((values == 0.5).all() for values in uninformative.precision.values())
    universal = gaussian(Method.UNIV)
    same(universal.mean, weights_of(model))
    number = prior.num_training_sequences
    same(universal.precision, {name: values * (0.5 * number) for name, values in prior.precision().items()})
    hierarchical = gaussian(Method.HIER)
    same(hierarchical.precision, {name: 0.5 / values for name, values in prior.spread.items()}, rtol=1e-6, atol=0)


def test_the_even_prior_is_as_strong_as_the_universal_one():
    prior = make_prior()
    even = make_gaussian(prior, prior.mean.model, replace(FEW, method=Method.L2_SP)).precision
    universal = make_gaussian(prior, prior.mean.model, FEW).precision
    assert len({float(value) for values in even.values() for value in values.flatten()}) == 1
    total = {name: float(values.double().sum()) for name, values in universal.items()}
    assert sum(float(values.double().sum()) for values in even.values()) == pytest.approx(sum(total.values()))


def test_plain_bayesian_updating_has_the_posterior_of_all_sequences():
    """With strength 1, the precision is N f plus that of the Gaussian that training began with, here 1."""
    prior = make_prior()
    found = make_gaussian(prior, prior.mean.model, replace(FEW, strength=1.0)).precision
    wanted = {name: prior.num_training_sequences * values + 1.0 for name, values in prior.fisher.items()}
    same(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_prior_without_spread_has_no_hierarchical_method():
    prior = replace(make_prior(), spread=None)
    with pytest.raises(ConfigError, match="spread"):
        adapt(prior, SENTENCES, None, replace(FEW, method=Method.HIER))


def test_uninformative_zero_shot_is_a_draw_from_a_standard_normal():
    prior = make_prior()
    model, _ = adapt(prior, [], None, replace(FEW, method=Method.NINF))
    values = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    assert float(values.mean()) == pytest.approx(0, abs=0.1)
    assert float(values.std()) == pytest.approx(1, abs=0.1)


def test_the_seed_decides():
    prior = make_prior()
    config = replace(FEW, dropout=0.3)
    first, _ = adapt(prior, SENTENCES, None, config)
    again, _ = adapt(prior, SENTENCES, None, config)
    other, _ = adapt(prior, SENTENCES, None, replace(config, seed=1))
    same(weights_of(first), weights_of(again))
    assert not torch.equal(first.projection, other.projection)


@pytest.mark.parametrize(
    "wrong",
    [{"strength": -1.0}, {"num_epochs": -1}, {"learning_rate": 0.0}, {"dropout": 1.0}, {"max_gradient_norm": 0.0}],
)
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AdaptationConfig(**wrong)


@pytest.mark.parametrize(("rate", "num_epochs"), [(1e20, 3), (1e38, 1)])
def test_numbers_that_are_not_finite_are_noticed(rate, num_epochs):
    config = AdaptationConfig(method=Method.FITU, learning_rate=rate, num_epochs=num_epochs, batch_size=99)
    with pytest.raises(TrainingError, match=r"wanted finite .* learning rate below 1e\+"):
        adapt(make_prior(), ["abab", "baba"], None, config)
