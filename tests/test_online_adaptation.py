"""Online MAP: what a network pays for a text that it learns from while reading it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from protoglot.errors import ConfigError
from protoglot.online_adaptation import OnlineAdaptation, OnlineConfig
from protoglot.prior.calibration import Calibration
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import Method
from protoglot.prior.universal import Tuned
from protoglot.running_text import network_logits
from tiny import babble, babble_corpus, tiny_trained

TEXT = "".join(f"{line}\n" for line in babble("abdëgñ", 12, seed=0))
NEW = TEXT[:50] + "ωψ is Greek, and so is ψ\n" + TEXT[50:]
CONFIG = OnlineConfig(num_characters_per_step=16, learning_rate=5e-3, strength=1e-2)
CLOSE = {"rtol": 0, "atol": 2e-5}  # a network that reads more at once rounds in another order


@pytest.fixture(scope="module")
def prior():
    made = tiny_trained("oest")
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    return infer_prior(
        trained, training_streams(babble_corpus(), trained), FisherConfig(length=20, max_sequences=5)
    )


def start(prior, **changes):
    return OnlineAdaptation(prior, prior.mean.features_of("wol"), replace(CONFIG, **changes))


def weights_of(online):
    return {name: weight.detach().clone() for name, weight in online.network.named_parameters()}


def same(first, second):
    assert set(first) == set(second)
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=0, atol=0, msg=name)


def frozen_bits(prior, text):
    """What the mean of the prior pays for a text without new characters."""
    found = network_logits(
        prior.mean.model, prior.mean.vocabulary, prior.mean.features_of("wol"), text.splitlines()
    )
    return np.concatenate(
        [F.cross_entropy(logits, ids, reduction="none").numpy() for logits, ids in found]
    ) / np.log(2)


def test_no_strength_is_plain_dynamic_evaluation(prior):
    """A loop that knows no prior: score a piece, then one step of Adam on it, the state carried."""
    from protoglot.prior.extending import extended_model

    model, vocabulary = extended_model(prior.mean.model, prior.mean.vocabulary, dropout=0.0), prior.mean.vocabulary
    optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG.learning_rate)
    state, features = model.initial_state(1), prior.mean.features_of("wol")
    sentences = [[*vocabulary.encode(line).ids, 1] for line in TEXT.splitlines()]
    stream = torch.tensor([0, *(id_ for sentence in sentences for id_ in sentence)])
    paid = []
    for first in range(0, len(TEXT), 16):
        ids = stream[first : first + 17].unsqueeze(1)
        nats, after = model.nats(ids[:-1], ids[1:], features, state)
        paid.append(nats.detach().flatten())
        if len(ids) < 17:
            break
        optimizer.zero_grad()
        nats.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CONFIG.max_gradient_norm)
        optimizer.param_groups[0]["lr"] = CONFIG.learning_rate / (1 + (first + 16) / CONFIG.falling_from) ** 0.5
        optimizer.step()
        state = type(after)(*(part.detach() for part in after))
    bits = start(prior, strength=0.0).read(TEXT)
    np.testing.assert_allclose(bits, torch.cat(paid).numpy() / np.log(2), **CLOSE)


@pytest.mark.parametrize("method", [Method.UNIV, Method.L2_SP])
def test_a_huge_strength_leaves_the_network_as_it_was(prior, method):
    online = start(prior, strength=1e30, method=method)
    np.testing.assert_allclose(online.read(TEXT), frozen_bits(prior, TEXT), **CLOSE)
    for name, weight in prior.mean.model.named_parameters():
        torch.testing.assert_close(weights_of(online)[name], weight.detach(), rtol=0, atol=1e-9)


def test_a_stronger_prior_stays_closer_to_its_mean(prior):
    mean = {name: weight.detach() for name, weight in prior.mean.model.named_parameters()}
    distances = []
    for strength in (0.0, 1e-1, 1e1, 1e3):
        online = start(prior, strength=strength)
        online.read(TEXT)
        distances.append(sum(float((w - mean[name]).square().sum()) for name, w in weights_of(online).items()))
    assert distances == sorted(distances, reverse=True)


@pytest.mark.parametrize("sizes", [[1], [7], [16], [50, 3]])
def test_how_a_text_is_cut_changes_nothing(prior, sizes):
    whole, cut = start(prior), start(prior)
    wanted = whole.read(NEW)
    found, first = [], 0
    while first < len(NEW):
        size = sizes[len(found) % len(sizes)]
        found.append(cut.read(NEW[first : first + size]))
        first += size
    np.testing.assert_allclose(np.concatenate(found), wanted, **CLOSE)
    same(weights_of(cut), weights_of(whole))
    assert cut.num_characters == whole.num_characters == len(NEW)
    assert len(start(prior).read("")) == 0


@pytest.mark.parametrize("place", [5, 16, 40, 61])
def test_the_future_changes_nothing(prior, place):
    one = start(prior).read(NEW)
    other = start(prior).read(NEW[:place] + "ξχ" + NEW[place::-1])
    np.testing.assert_allclose(other[:place], one[:place], **CLOSE)


@pytest.mark.parametrize("place", [0, 20, 64, 80])
def test_a_copy_reads_on_as_the_original_would_and_leaves_it_alone(prior, place):
    online = start(prior)
    online.read(NEW[:place])
    before = weights_of(online)
    twin = online.copy()
    rest = twin.read(NEW[place:])
    same(weights_of(online), before)
    np.testing.assert_array_equal(online.read(NEW[place:]), rest)
    same(weights_of(online), weights_of(twin))


def test_it_learns_and_leaves_the_prior_as_it_was(prior):
    before = {name: weight.detach().clone() for name, weight in prior.mean.model.named_parameters()}
    online = start(prior)
    first, second = online.read(TEXT), online.read(TEXT)
    assert second.mean() < first.mean()
    assert first.mean() < frozen_bits(prior, TEXT).mean()
    same({name: weight.detach() for name, weight in prior.mean.model.named_parameters()}, before)


def test_a_new_character_is_named_until_the_next_step_and_then_has_an_id(prior):
    online = start(prior)
    pieces = list(online.along(NEW))
    assert "".join(piece.text for piece in pieces) == NEW
    vocabulary = prior.mean.vocabulary
    (met,) = [number for number, piece in enumerate(pieces) if "ω" in piece.text]
    assert pieces[met].vocabulary == vocabulary
    where = pieces[met].text.index("ω")
    other = -float(pieces[met].log_probabilities[where, 1])  # OTHER
    assert pieces[met].nats()[where] == pytest.approx(other + vocabulary.other_nats("ω"), abs=1e-6)
    later = pieces[met + 1]
    assert {"ω", "ψ"} <= set(later.vocabulary.characters)
    assert later.log_probabilities.shape[1] == len(later.vocabulary) - 1
    for piece in pieces:
        torch.testing.assert_close(piece.log_probabilities.exp().sum(1), torch.ones(len(piece.text)))
    assert online.network.embedding.shape[0] == len(online.vocabulary)


def test_a_calibration_softens_the_beginning_and_fades(prior):
    calibration = Calibration(temperature=2.0, broad_share=0.3)
    tuned = Tuned(best=Method.UNIV, methods={}, ngram=None, calibration=calibration)
    softened = start(replace(prior, tuned=tuned), strength=1e30, fading_from=5)
    pieces = torch.cat([piece.log_probabilities for piece in softened.along(TEXT)])
    model, features = prior.mean.model, prior.mean.features_of("wol")
    (logits,) = [found for found, _ in network_logits(model, prior.mean.vocabulary, features, TEXT.splitlines())]
    frequencies = torch.from_numpy(prior.frequencies)
    torch.testing.assert_close(pieces[0], calibration.log_probabilities(logits[0], frequencies), **CLOSE)
    distances = (pieces - F.log_softmax(logits, dim=1)).abs().mean(dim=1)
    assert distances[-1] < distances[0] / 5


def test_settings_are_checked():
    for changes in (
        {"num_characters_per_step": 0},
        {"falling_from": 0},
        {"learning_rate": 0.0},
        {"strength": -1.0},
        {"method": Method.FITU},
    ):
        with pytest.raises(ConfigError):
            replace(CONFIG, **changes)
