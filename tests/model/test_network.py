"""The network against the equations, and the laws that any language model keeps."""

import itertools
import math
import resource
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from protoglot.errors import ConfigError
from protoglot.model.config import PRESETS, Conditioning
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.vocabulary import BEGIN, END
from tiny import NO_DROPOUT, NUM_FEATURES, random_features, random_ids, tiny_config, tiny_model

KINDS = list(Conditioning)
LENGTH, NUM_SEQUENCES = 6, 3


def features_for(kind: Conditioning, *, seed: int = 0) -> Tensor | None:
    return None if kind is Conditioning.BARE else random_features(NUM_FEATURES, seed=seed)


def batch(length: int = LENGTH, num_sequences: int = NUM_SEQUENCES, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Characters read, the first of them BEGIN, and characters to predict."""
    targets = random_ids(length, num_sequences, seed=seed)
    begin = torch.full((1, num_sequences), BEGIN)
    return torch.cat([begin, targets[:-1]]), targets


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# The equations, written out: one sequence and one time step at a time, nothing precomputed.


def reference_nats(model: LanguageModel, ids: Tensor, targets: Tensor, features: Tensor | None) -> Tensor:
    """§2 and §4 of the paper in the plainest form; (T, B). ``features`` is (K,), (B, K) or ``None``."""
    config, weights = model.config, dict(model.named_parameters())
    nats = torch.zeros(ids.shape, dtype=torch.float64)
    for b in range(ids.shape[1]):
        typology = features if features is None or features.dim() == 1 else features[b]
        nats[:, b] = _reference_sequence(config, weights, ids[:, b], targets[:, b], typology)
    return nats


def _reference_sequence(config, weights, ids, targets, typology) -> Tensor:
    encoded = torch.zeros(0, dtype=torch.float64)
    if config.conditioning is not Conditioning.BARE:
        encoded = (weights["encoder_weight"] @ typology + weights["encoder_bias"]).clamp(min=0)  # f(t)
    layers = {}
    for name, weight in weights.items():
        if name.startswith("layers."):
            key = name.removeprefix("layers.")
            if config.conditioning is Conditioning.PLAT:  # w = W f(t)
                layers[key] = sum(weight[..., r] * encoded[r] for r in range(len(encoded)))
            else:
                layers[key] = weight
    beside = encoded if config.conditioning is Conditioning.OEST else encoded[:0]  # what ⊕ adds
    hidden = [torch.cat([torch.zeros(config.hidden_size).double(), beside]) for _ in range(config.num_layers)]
    cell = [torch.zeros(config.hidden_size).double() for _ in range(config.num_layers)]
    costs = []
    for character, target in zip(ids, targets, strict=True):
        below = weights["embedding"][character] * math.sqrt(config.embedding_size)
        for layer in range(config.num_layers):
            read = below if layer == 0 else torch.cat([below, beside])
            gates = (
                layers[f"input_{layer}"] @ read
                + layers[f"recurrent_{layer}"] @ hidden[layer]
                + layers[f"bias_{layer}"]
            )
            i, f, g, o = gates.split(config.hidden_size)
            cell[layer] = torch.sigmoid(f) * cell[layer] + torch.sigmoid(i) * torch.tanh(g)
            out = torch.sigmoid(o) * torch.tanh(cell[layer])
            hidden[layer] = torch.cat([out, beside])  # h = (o ⊙ tanh c) ⊕ f(t)
            below = out + below if config.residual and layer > 0 else out
        vector = weights["projection"] @ torch.cat([below, beside])
        scores = weights["embedding"] @ vector + weights["output_bias"]
        predicted = torch.arange(len(scores)) != BEGIN
        costs.append(torch.logsumexp(scores[predicted], dim=0) - scores[target])
    return torch.stack(costs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("num_layers", "residual"), [(1, True), (2, True), (3, False)])
def test_the_network_and_its_gradients_are_those_of_the_equations(kind, num_layers, residual):
    model = tiny_model(kind, num_layers=num_layers, residual=residual)
    ids, targets = batch()
    features = features_for(kind)
    gradients = []
    for nats in (model.nats(ids, targets, features)[0], reference_nats(model, ids, targets, features)):
        found = torch.autograd.grad(nats.square().sum(), list(model.parameters()))
        gradients.append(dict(zip(dict(model.named_parameters()), found, strict=True)))
    torch.testing.assert_close(
        model.nats(ids, targets, features)[0],
        reference_nats(model, ids, targets, features),
        rtol=1e-9,
        atol=1e-9,
    )
    for name, gradient in gradients[1].items():
        assert gradient.abs().max() > 1e-6, name  # else the comparison would say nothing
        torch.testing.assert_close(gradients[0][name], gradient, rtol=1e-9, atol=1e-9, msg=name)


def test_a_matrix_of_features_is_the_equations_language_by_language():
    model = tiny_model("oest")
    ids, targets = batch()
    features = random_features(NUM_SEQUENCES, NUM_FEATURES)
    nats, state = model.nats(ids, targets, features)
    expected = reference_nats(model, ids, targets, features)
    torch.testing.assert_close(nats, expected, rtol=1e-9, atol=1e-9)
    for b in range(NUM_SEQUENCES):
        alone, alone_state = model.nats(ids[:, [b]], targets[:, [b]], features[b])
        torch.testing.assert_close(nats[:, [b]], alone, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(state.cell[:, [b]], alone_state.cell, rtol=1e-12, atol=1e-12)
    weights = list(model.parameters())
    for found, wanted in zip(
        torch.autograd.grad(nats.sum(), weights), torch.autograd.grad(expected.sum(), weights), strict=True
    ):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


# Probability.


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_the_next_character_sum_to_one_and_begin_has_none(kind):
    model = tiny_model(kind)
    ids, _ = batch()
    vectors, _ = model.hidden_states(ids, features_for(kind), model.initial_state(NUM_SEQUENCES))
    logits = model.logits(vectors)
    assert logits.shape == (LENGTH, NUM_SEQUENCES, model.vocabulary_size - 1)
    every = torch.arange(NUM_UNPREDICTED, model.vocabulary_size).view(1, 1, -1)
    # nats() gives the same probabilities, one target at a time
    nats = [model.nats(ids, torch.full_like(ids, target), features_for(kind))[0] for target in every.flatten()]
    total = torch.stack(nats).neg().exp().sum(dim=0)
    torch.testing.assert_close(total, torch.ones_like(total), rtol=1e-12, atol=1e-12)
    assert BEGIN < NUM_UNPREDICTED  # and so it has none


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_all_strings_sum_to_one(kind):
    """All texts that end within four characters, and all that go on."""
    size, longest = 5, 4  # END, OTHER and two letters
    model = tiny_model(kind, vocabulary_size=size)
    letters = [id_ for id_ in range(NUM_UNPREDICTED, size) if id_ != END]
    total, number = 0.0, 0
    for length in range(longest + 1):
        endings = [(END,)] if length < longest else [()]
        texts = [t + end for t in itertools.product(letters, repeat=length) for end in endings]
        targets = torch.tensor(texts).T  # (T, B)
        ids = torch.cat([torch.full((1, len(texts)), BEGIN), targets[:-1]])
        nats, _ = model.nats(ids, targets, features_for(kind))
        total += nats.detach().sum(dim=0).neg().exp().sum().item()
        number += len(texts)
    assert number == 1 + 3 + 9 + 27 + 81
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_future_changes_nothing(kind):
    model = tiny_model(kind)
    ids, targets = batch()
    before, _ = model.nats(ids, targets, features_for(kind))
    for changed in range(LENGTH):
        others = ids.clone()
        others[changed] = (others[changed] % (model.vocabulary_size - 1)) + 1
        after, _ = model.nats(others, targets, features_for(kind))
        assert torch.equal(after[:changed], before[:changed])
        assert (after[changed] != before[changed]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [1, 3, 5])
def test_two_parts_with_the_state_carried_over_are_the_whole(kind, cut):
    model = tiny_model(kind)
    ids, targets = batch()
    features = features_for(kind)
    whole, end = model.nats(ids, targets, features)
    first, state = model.nats(ids[:cut], targets[:cut], features)
    second, carried = model.nats(ids[cut:], targets[cut:], features, state)
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=1e-12, atol=1e-12)
    for found, wanted in zip(carried, end, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    forgotten, _ = model.nats(ids[cut:], targets[cut:], features)
    assert (forgotten[0] - second[0]).abs().max() > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_sequences_of_a_batch_do_not_touch_each_other(kind):
    model = tiny_model(kind)
    ids, targets = batch()
    together, _ = model.nats(ids, targets, features_for(kind))
    for b in range(NUM_SEQUENCES):
        alone, _ = model.nats(ids[:, [b]], targets[:, [b]], features_for(kind))
        torch.testing.assert_close(together[:, [b]], alone, rtol=1e-12, atol=1e-12)


# Typology.


@pytest.mark.parametrize("kind", Conditioning)
def test_one_step_at_a_time_is_the_whole_with_gradients_and_without(kind):
    model = tiny_model(kind, **NO_DROPOUT)
    ids, features = random_ids(6, 3), random_features(NUM_FEATURES)
    whole, last = model.hidden_states(ids, features, model.initial_state(3))
    for with_gradients in (True, False):
        state, steps = model.initial_state(3), []
        with torch.set_grad_enabled(with_gradients):
            for step in ids.split(1):
                vectors, state = model.hidden_states(step, features, state)
                steps.append(vectors)
        torch.testing.assert_close(torch.cat(steps), whole)
        torch.testing.assert_close(tuple(state), tuple(last))


def test_bare_ignores_features():
    model = tiny_model("bare")
    ids, targets = batch()
    without, _ = model.nats(ids, targets, None)
    with_them, _ = model.nats(ids, targets, random_features(NUM_FEATURES))
    assert torch.equal(without, with_them)


@pytest.mark.parametrize("kind", [Conditioning.OEST, Conditioning.PLAT])
def test_conditioned_models_read_their_features(kind):
    model = tiny_model(kind)
    ids, targets = batch()
    some, _ = model.nats(ids, targets, features_for(kind, seed=1))
    others, _ = model.nats(ids, targets, features_for(kind, seed=2))
    assert (some - others).abs().max() > 1e-4
    with pytest.raises(ConfigError, match=f"a {kind} model reads a typological vector; found none"):
        model.nats(ids, targets, None)


def test_plat_refuses_a_batch_of_several_languages():
    model = tiny_model("plat")
    ids, targets = batch()
    with pytest.raises(ConfigError, match="wanted one language a batch"):
        model.nats(ids, targets, random_features(NUM_SEQUENCES, NUM_FEATURES))


# Dropout.

ONE_SEED = 11


def dropped_nats(model: LanguageModel, seed: int | None) -> Tensor:
    ids, targets = batch()
    source = None if seed is None else generator(seed)
    return model.nats(ids, targets, features_for(model.config.conditioning), generator=source)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_a_function_of_the_seed(kind):
    model = tiny_model(kind)
    assert torch.equal(dropped_nats(model, ONE_SEED), dropped_nats(model, ONE_SEED))
    assert not torch.equal(dropped_nats(model, ONE_SEED), dropped_nats(model, ONE_SEED + 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", NO_DROPOUT)
def test_each_rate_drops_something_and_no_generator_drops_nothing(kind, rate):
    model = tiny_model(kind, **{**NO_DROPOUT, rate: 0.5})
    without = tiny_model(kind, **NO_DROPOUT)
    assert torch.equal(dropped_nats(model, None), dropped_nats(without, None))
    assert not torch.equal(dropped_nats(model, ONE_SEED), dropped_nats(model, None))
    # Rates of zero use no randomness and change no bit.
    assert torch.equal(dropped_nats(without, ONE_SEED), dropped_nats(without, None))


def test_rates_of_dropout_are_not_mistaken_for_each_other():
    """One layer has nothing between layers, so that only the rate of its output counts."""

    def read(**rates):
        return dropped_nats(tiny_model("bare", num_layers=1, **{**NO_DROPOUT, **rates}), ONE_SEED)

    torch.testing.assert_close(read(hidden_dropout=0.5), read(), rtol=0, atol=0)
    assert not torch.equal(read(output_dropout=0.5), read())


@pytest.mark.parametrize("kind", ["bare", "oest", "plat"])
@pytest.mark.parametrize("rows", [False, True], ids=["one language", "several"])
def test_the_kernel_is_given_contiguous_tensors(kind, rows, monkeypatch):
    if kind == "plat" and rows:
        pytest.skip("plat reads one language at a time")
    seen = []
    lstm = torch.lstm

    def watched(values, state, parameters, **settings):
        seen.append(all(tensor.is_contiguous() for tensor in (values, *state, *parameters)))
        return lstm(values, state, parameters, **settings)

    monkeypatch.setattr(torch, "lstm", watched)
    model = tiny_model(kind)
    ids, targets = batch()
    model.nats(
        ids,
        targets,
        random_features(NUM_SEQUENCES, NUM_FEATURES) if rows else features_for(model.config.conditioning),
    )
    assert seen == [True] * model.config.num_layers


def test_dropout_does_not_depend_on_the_mode_of_the_module():
    model = tiny_model("oest")
    assert torch.equal(dropped_nats(model.eval(), ONE_SEED), dropped_nats(model.train(), ONE_SEED))
    assert torch.equal(dropped_nats(model.train(), None), dropped_nats(model.eval(), None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", ["embedding_dropout", "hidden_dropout", "output_dropout"])
def test_masks_are_the_same_at_all_steps_and_others_in_each_sequence(kind, rate):
    """A network without memory gives the same output for the same input, unless a mask differs."""
    model = tiny_model(kind, **{**NO_DROPOUT, rate: 0.5})
    hidden = model.config.hidden_size
    with torch.no_grad():
        for layer in range(model.config.num_layers):
            model.layers[f"recurrent_{layer}"][:, :hidden] = 0
            model.layers[f"bias_{layer}"][hidden : 2 * hidden] = -1e6 if kind is not Conditioning.PLAT else -1e9
        if kind is not Conditioning.BARE:
            model.encoder_bias.fill_(1.0)
    ids = torch.full((5, 4), END)
    vectors, _ = model.hidden_states(ids, features_for(kind), model.initial_state(4), generator(ONE_SEED))
    torch.testing.assert_close(vectors, vectors[:1].expand_as(vectors), rtol=1e-12, atol=1e-12)
    for one, other in itertools.combinations(range(4), 2):
        assert (vectors[0, one] - vectors[0, other]).abs().max() > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_dropconnect_is_on_the_recurrent_weights_of_the_first_layer_alone(kind):
    model = tiny_model(kind, **{**NO_DROPOUT, "recurrent_dropconnect": 0.5})
    if kind is not Conditioning.BARE:
        with torch.no_grad():
            model.encoder_bias.fill_(2.0)  # every unit of f(t) is alive
    ids, targets = batch(length=12, num_sequences=16)
    nats, _ = model.nats(ids, targets, features_for(kind), generator=generator(ONE_SEED))
    nats.sum().backward()
    untouched = {name: float((weight.grad == 0).double().mean()) for name, weight in model.named_parameters()}
    assert untouched.pop("layers.recurrent_0") == pytest.approx(0.5, abs=0.1)
    # The score of BEGIN is in no softmax, so its bias has no gradient.
    assert untouched.pop("output_bias") == pytest.approx(1 / model.vocabulary_size)
    assert set(untouched.values()) == {0.0}
    gradient = model.layers["recurrent_0"].grad
    if kind is Conditioning.PLAT:  # a weight is dropped for all of its r parts
        assert ((gradient == 0).all(dim=-1) == (gradient == 0).any(dim=-1)).all()


# Initial weights.


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_determines_the_weights(kind):
    def weights(seed: int) -> dict[str, Tensor]:
        return dict(tiny_model(kind, seed=seed, scattered=False).named_parameters())

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    random = [name for name in first if "bias" not in name]  # those start at constants
    assert not any(torch.equal(first[name], other[name]) for name in random)


@pytest.mark.parametrize("kind", KINDS)
def test_initial_weights_leave_the_global_generator_alone(kind):
    before = torch.get_rng_state()
    tiny_model(kind, scattered=False)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", KINDS)
def test_recurrent_weights_start_orthogonal_and_forget_gates_open(kind):
    model = tiny_model(kind, scattered=False, hidden_size=40)
    with torch.no_grad():
        if kind is Conditioning.PLAT:  # look at the weights it makes of f(t) = 1, without the noise it starts with
            stack = [
                [model.layers[f"{part}_{layer}"].sum(dim=-1) for part in ("recurrent", "bias")] for layer in (0, 1)
            ]
        else:
            stack = [[model.layers[f"{part}_{layer}"] for part in ("recurrent", "bias")] for layer in (0, 1)]
    tolerance = 0.3 if kind is Conditioning.PLAT else 1e-5
    for recurrent, bias in stack:
        for block in recurrent[:, :40].split(40):
            torch.testing.assert_close(block @ block.T, torch.eye(40).double(), rtol=0, atol=tolerance)
        i, f, g, o = bias.split(40)
        assert torch.allclose(f, torch.ones_like(f))
        assert not torch.cat([i, g, o]).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", ["tiny", "compact", "plain"])
def test_a_new_model_finds_all_characters_about_equally_likely(kind, preset):
    size = 356
    config = replace(PRESETS[preset], conditioning=kind)
    model = LanguageModel(config, vocabulary_size=size, num_features=NUM_FEATURES)
    ids = random_ids(20, 8, size)
    features = features_for(kind)
    with torch.no_grad():
        nats, _ = model.nats(ids[:-1], ids[1:], None if features is None else features.float())
    assert float(nats.mean()) == pytest.approx(math.log(size), rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_costs_and_gradients_are_the_same_in_pieces(kind, monkeypatch):
    model = tiny_model(kind, **NO_DROPOUT)
    ids, targets = batch()
    features = features_for(kind)
    found = []
    for at_once in (10_000, 5):  # the last piece is shorter
        monkeypatch.setattr("protoglot.model.network._POSITIONS_AT_ONCE", at_once)
        nats, _ = model.nats(ids, targets, features)
        found.append([nats, *torch.autograd.grad(nats.square().sum(), list(model.parameters()))])
    assert ids.numel() > 10
    assert ids.numel() % 5
    for whole, pieces in zip(*found, strict=True):
        assert torch.allclose(whole, pieces, rtol=1e-10, atol=1e-12)


def test_input_and_output_embeddings_are_one_matrix():
    model = tiny_model("bare", **NO_DROPOUT)
    sizes = [tuple(weight.shape) for weight in model.parameters()]
    assert sizes.count((model.vocabulary_size, model.config.embedding_size)) == 1
    ids = torch.full((1, 1), 4)
    target = torch.full((1, 1), 5)
    nats, _ = model.nats(ids, target, None)
    nats.sum().backward()
    gradient = model.embedding.grad
    # As output weights, the rows of all predicted characters; as input, only the row of the one that is read.
    assert (gradient[NUM_UNPREDICTED:] != 0).any(dim=1).all()
    vectors, _ = model.hidden_states(ids, None, model.initial_state(1))
    probabilities = model.logits(vectors).softmax(dim=-1).flatten()
    for row in range(NUM_UNPREDICTED, model.vocabulary_size):
        as_output = (probabilities[row - NUM_UNPREDICTED] - float(row == 5)) * vectors.flatten()
        assert torch.allclose(gradient[row], as_output) == (row != 4)


def test_begin_is_learned_as_input_only():
    model = tiny_model("bare", **NO_DROPOUT)
    nats, _ = model.nats(torch.full((1, 1), BEGIN), torch.full((1, 1), 5), None)
    nats.sum().backward()
    assert model.embedding.grad[BEGIN].any()
    assert not model.output_bias.grad[BEGIN]


def test_the_initial_state_is_zero_and_of_the_model_s_type():
    state = tiny_model("oest").initial_state(3)
    assert isinstance(state, State)
    for part in state:
        assert part.shape == (2, 3, tiny_config().hidden_size)
        assert part.dtype == torch.float64
        assert not part.any()
    assert state.hidden.data_ptr() != state.cell.data_ptr()


# Sizes.


@pytest.mark.parametrize("kind", ["bare", "oest"])
@pytest.mark.parametrize("preset", ["compact", "plain"])
def test_models_for_two_cores_have_two_or_three_million_weights(preset, kind):
    config = replace(PRESETS[preset], conditioning=Conditioning(kind))
    model = LanguageModel(config, vocabulary_size=356, num_features=245)
    assert 1.5e6 <= sum(weight.numel() for weight in model.parameters()) <= 3e6


@pytest.mark.parametrize("preset", ["compact", "plain", "tiny"])
def test_presets_have_the_sizes_they_say(preset):
    config = PRESETS[preset]
    size, hidden, encoded = config.embedding_size, config.hidden_size, config.oest_size
    expected = 356 * (size + 1) + size * (hidden + encoded) + encoded * (245 + 1)
    for layer in range(config.num_layers):
        below = size if layer == 0 else hidden + encoded
        expected += 4 * hidden * (below + hidden + encoded + 1)
    model = LanguageModel(replace(config, conditioning=Conditioning.OEST), vocabulary_size=356, num_features=245)
    assert sum(weight.numel() for weight in model.parameters()) == expected


ONE_STEP_AT_THE_SIZE_OF_THE_PAPER = """
import sys, time
from dataclasses import replace
from pathlib import Path
import numpy as np, torch
from protoglot.corpus.interface import LanguageRecord
from protoglot.folds import Fold
from protoglot.model.config import PAPER, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.trained import TrainedModel, load_trained
from protoglot.training.budget import Budget
from protoglot.training.checkpoints import save_checkpoint, optimizer_as_arrays
from protoglot.training.config import PAPER as SETTINGS
from protoglot.training.loop import dropout_generator, make_optimizer, training_step
from protoglot.vocabulary import Vocabulary

kind, out = Conditioning(sys.argv[1]), Path(sys.argv[2])
start = time.monotonic()
vocabulary = Vocabulary(map(chr, range(200, 553)))
num_features = 245 if kind is not Conditioning.BARE else 0
config = replace(PAPER, conditioning=kind)
model = LanguageModel(config, vocabulary_size=len(vocabulary), num_features=num_features)
built = time.monotonic()
optimizer = make_optimizer(model, SETTINGS, num_characters=10**8)
ids = torch.randint(1, len(vocabulary), (126, SETTINGS.batching.batch_size))
features = torch.rand(num_features) if num_features else None
nats = training_step(model, optimizer, ids, features, rate=1e-4, weights=None, max_gradient_norm=0.25,
                     generator=dropout_generator(model, seed=0, step=0), name="step 1")
stepped = time.monotonic()
record = LanguageRecord(code="eus", iso639_3="eus", name="Basque")
trained = TrainedModel(model=model, vocabulary=vocabulary, languages={"eus": record},
    features={"eus": features.numpy()} if num_features else {},
    fold=Fold(name="none", held_out=(), validation=(), training=("eus",)))
names = {weight: name for name, weight in model.named_parameters()}
save_checkpoint(out, trained, state={"step": 1}, optimizer=optimizer_as_arrays(optimizer, names))
saved = time.monotonic()
num_weights, num_characters = sum(weight.numel() for weight in model.parameters()), ids[1:].numel()
print(f"{kind}: {num_weights / 1e6:.1f} M weights; built in {built - start:.0f} s, step of {num_characters:,} "
      f"characters in {stepped - built:.0f} s ({nats / num_characters:.2f} nats); saved: {saved - stepped:.0f} s")
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["bare", "oest"])
def test_one_step_and_a_checkpoint_at_the_size_of_the_paper(kind, tmp_path, capsys):
    arguments = [sys.executable, "-c", ONE_STEP_AT_THE_SIZE_OF_THE_PAPER, kind, str(tmp_path / "run")]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20  # of the largest child so far, in GiB
    with capsys.disabled():
        print(f"\n{done.stdout.strip()}; peak memory {peak:.1f} GiB")
    assert peak < 24
