"""The loop: what it learns from, what it learns, and that stopping changes nothing."""

import copy
import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from protoglot.batching import plan_epoch
from protoglot.errors import TrainingError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.folds import make_fold
from protoglot.model.config import Conditioning
from protoglot.model.network import LanguageModel
from protoglot.scores import Score, mean_bits_per_character
from protoglot.splits import split_sentences
from protoglot.trained import (
    BEST,
    CHECKPOINTS,
    LATEST,
    TrainedModel,
    load_trained,
    load_with_state,
    newest_checkpoint,
)
from protoglot.training import loop
from protoglot.training.budget import Budget
from protoglot.training.config import TINY
from protoglot.training.data import Inventory, read_training_data
from protoglot.training.loop import Ending, Trainer, language_factors, make_optimizer, training_step
from protoglot.training.monitor import METRICS, Silence, read_metrics
from test_folds import MarkedCorpus
from tiny import NO_DROPOUT, NUM_FEATURES, babble_corpus, tiny_config

from .conftest import CORPUS, VARIANTS, hash_of, make_plan, outcome, run_plan

FOLD = make_fold({"held out": ["wol"], "others": ["eus", "fra", "tur", "zul"]}, "held out", num_validation=1)
ENDINGS = [Ending.INTERRUPTED, Ending.FINISHED]


def make_data(kind="bare", corpus=CORPUS, fold=FOLD, inventory=Inventory.CORPUS):
    data = read_training_data(corpus, fold, inventory=inventory, with_features=False, validation_characters=100)
    if kind == "bare":
        return data
    generator = np.random.default_rng(0)
    features = {code: generator.random(NUM_FEATURES, dtype=np.float32) for code in data.languages}
    return replace(data, features=features, num_features=NUM_FEATURES)


def make_trained(data, kind="bare", **changes):
    model = LanguageModel(
        tiny_config(kind, **changes), vocabulary_size=len(data.vocabulary), num_features=data.num_features
    )
    return TrainedModel(
        model=model,
        vocabulary=data.vocabulary,
        languages=data.languages,
        features=data.features,
        fold=data.fold,
    )


def make_trainer(
    path, kind="bare", *, data=None, config=TINY, budget="4000 characters", stop_after=None, **changes
):
    data = data or make_data(kind)
    steps = itertools.count(1)
    path.mkdir(exist_ok=True)
    return Trainer(
        make_trained(data, kind, **changes),
        data,
        config,
        Budget.parse(budget),
        run=path,
        seed=0,
        monitor=Silence(),
        stop_asked=lambda: next(steps) == stop_after,
    )


def copy_weights(model):
    return copy.deepcopy({name: weight.detach() for name, weight in model.named_parameters()})


def same_bits(one, other):
    return all(one[name].numpy().tobytes() == other[name].numpy().tobytes() for name in one)


# Stop and resume equals not stopping.


def cut_points(variant, run):
    """Steps after which to stop: the first, within an epoch, at the end of one, after an evaluation, the last."""
    plan = VARIANTS[variant]
    data = make_data()
    lengths = {code: len(stream) - 1 for code, stream in data.streams.items()}
    per_epoch = len(plan_epoch(lengths, plan.training.batching, seed=plan.seed, epoch=0))
    metrics = read_metrics(run / METRICS)
    evaluated = [line["step"] for line in metrics if "validation" in line]
    last = load_with_state(run)[1]["step"]
    assert 1 < evaluated[1] < last
    assert 3 < per_epoch < last - 3
    return {
        "after the first step": [1],
        "within an epoch": [per_epoch + 3],
        "at the end of an epoch": [per_epoch],
        "after an evaluation": [evaluated[1]],
        "at the last step": [last],
        "several times": [1, 2, per_epoch],
    }


CUTS = [
    *("after the first step", "within an epoch", "at the end of an epoch", "after an evaluation"),
    *("at the last step", "several times"),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("cut", CUTS)
def test_stop_and_resume_equals_not_stopping(variant, cut, whole_run, tmp_path):
    whole = whole_run(variant)
    plan = VARIANTS[variant]
    for index, steps in enumerate(cut_points(variant, whole)[cut]):
        _, ending, _ = run_plan(plan, tmp_path / "run", resume=index > 0, stop_after=steps)
        assert ending is Ending.INTERRUPTED
    _, ending, _ = run_plan(plan, tmp_path / "run", resume=True)
    assert ending is Ending.FINISHED
    found, wanted = outcome(tmp_path / "run"), outcome(whole)
    # At the end of an epoch the place can be told in two ways: after its last batch, or before the next's first.
    if cut == "at the last step":
        for state in (found["state"], wanted["state"]):
            state.pop("epoch"), state.pop("batch_index")
    assert found == wanted
    if plan.training.patience is not None:
        best = [load_trained(run / BEST).model for run in (tmp_path / "run", whole)]
        assert same_bits(*(copy_weights(model) for model in best))


def test_a_crash_costs_the_steps_since_the_last_checkpoint_and_nothing_else(whole_run, tmp_path, monkeypatch):
    plan, run = VARIANTS["bare"], tmp_path / "run"
    run_plan(plan, run, stop_after=8)

    class Crash(Silence):
        def progress(self, share, metrics):
            if metrics["step"] == 20:
                raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        run_plan(plan, run, resume=True, monitor=Crash())
    assert newest_checkpoint(run).name == "step-00000008"
    assert [line["step"] for line in read_metrics(run / METRICS) if "learning_rate" in line] == [10, 20]
    with (run / METRICS).open("a") as stream:
        stream.write('{"step": 2')  # cut off by the crash
    run_plan(plan, run, resume=True)
    assert outcome(run) == outcome(whole_run("bare"))


def test_checkpoints_in_between_change_nothing(whole_run, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    run_plan(VARIANTS["oest mixed"], tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(whole_run("oest mixed"))
    assert len(list((tmp_path / "run" / CHECKPOINTS).iterdir())) == 1


def test_evaluations_change_no_weight(whole_run, tmp_path):
    for number in (1, 30):
        run_plan(make_plan("bare", num_evaluations=number), tmp_path / str(number))
    wanted = outcome(whole_run("bare"))
    for number in (1, 30):
        found = outcome(tmp_path / str(number))
        assert found["weights"] == wanted["weights"]
        assert found["optimizer"] == wanted["optimizer"]


def test_another_seed_is_another_run(whole_run, tmp_path):
    run_plan(replace(VARIANTS["bare"], seed=4), tmp_path / "run")
    assert outcome(tmp_path / "run")["weights"] != outcome(whole_run("bare"))["weights"]


def test_the_state_holds_what_optimisers_keep(whole_run):
    trained, state, optimizer = load_with_state(whole_run("plat"))
    for name, weight in trained.model.named_parameters():
        assert optimizer[f"step.{name}"].shape == ()
        assert optimizer[f"step.{name}"] == state["step"]
        assert optimizer[f"exp_avg.{name}"].shape == tuple(weight.shape)
        assert optimizer[f"exp_avg_sq.{name}"].shape == tuple(weight.shape)
        assert (optimizer[f"exp_avg_sq.{name}"] >= 0).all()


# The end of a run.


@pytest.mark.parametrize(("budget", "limit"), [("1000 characters", 1000), ("1.5epochs", None), ("1epoch", None)])
def test_a_run_ends_when_its_budget_is_used(tmp_path, budget, limit):
    trainer = make_trainer(tmp_path / "run", budget=budget)
    per_epoch = sum(len(stream) - 1 for stream in trainer.data.streams.values())
    limit = limit or float(budget.split("epoch")[0]) * per_epoch
    assert trainer.run() is Ending.FINISHED
    batch = TINY.batching.batch_size * (TINY.batching.mean_length + 5 * TINY.batching.length_deviation)
    assert limit <= trainer.state.num_characters < limit + batch
    if budget == "1epoch":
        assert trainer.state.num_characters == per_epoch
    assert load_with_state(tmp_path / "run")[1]["num_characters"] == trainer.state.num_characters


def test_a_budget_of_time_counts_all_sittings(tmp_path, monkeypatch):
    seconds = itertools.count(step=0.5)
    monkeypatch.setattr(loop.time, "monotonic", lambda: next(seconds))
    first = make_trainer(tmp_path / "run", budget="30s", stop_after=10)
    assert first.run() is Ending.INTERRUPTED
    spent = first.state.seconds
    assert 5 <= spent < 30
    second = make_trainer(tmp_path / "run", budget="30s")
    _, state, optimizer = load_with_state(tmp_path / "run")
    second.restore(state, optimizer)
    assert second.state.seconds == spent
    assert second.run() is Ending.FINISHED
    assert 30 <= second.state.seconds < 32


def rising(values):
    """An evaluation that gives these bits per character, one after the other."""
    given = iter(values)

    def evaluate_falsely(model, texts):
        bits = next(given)
        return {name: Score(bits * math.log(2) * 10, 10) for name in texts}

    return evaluate_falsely


def test_training_stops_early_and_keeps_the_best(tmp_path, monkeypatch):
    config = replace(TINY, patience=2, num_evaluations=10)
    trainer = make_trainer(tmp_path / "run", config=config, budget="10k characters")
    seen = []
    falsely = rising([5.0, 4.0, 4.5, 4.0, 3.0])

    def look(model, texts):
        seen.append((trainer.state.step, copy_weights(model)))
        return falsely(model, texts)

    monkeypatch.setattr(loop, "evaluate", look)
    assert trainer.run() is Ending.EARLY
    assert len(seen) == 4  # neither 4.5 nor a second 4.0 is better than 4.0
    best, state, _ = load_with_state(tmp_path / "run" / BEST)
    assert state["best_validation"] == pytest.approx(4.0)
    assert state["step"] == seen[1][0]
    assert same_bits(copy_weights(best.model), seen[1][1])
    assert same_bits(copy_weights(load_trained(tmp_path / "run").model), seen[1][1])  # what the run is used for
    newest, state, optimizer = load_with_state(tmp_path / "run")
    assert state["step"] == seen[3][0]
    assert same_bits(copy_weights(newest.model), seen[3][1])
    # Resuming what has stopped early is to have stopped.
    again = make_trainer(tmp_path / "run", config=config, budget="10k characters")
    again.restore(state, optimizer)
    assert again.run() is Ending.EARLY
    assert again.state.step == seen[3][0]


def test_without_patience_training_goes_on(tmp_path, monkeypatch):
    trainer = make_trainer(tmp_path / "run", config=replace(TINY, num_evaluations=6))
    monkeypatch.setattr(loop, "evaluate", rising([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert trainer.run() is Ending.FINISHED
    assert trainer.state.num_evaluations == 6
    assert trainer.state.best_validation == pytest.approx(1.0)
    assert not (tmp_path / "run" / BEST).exists()


def test_evaluations_are_spread_over_the_run(whole_run):
    plan = VARIANTS["bare"]
    lines = [line for line in read_metrics(whole_run("bare") / METRICS) if "validation" in line]
    assert len(lines) == plan.training.num_evaluations == 5
    for number, line in enumerate(lines, start=1):
        assert number / 5 <= line["characters"] / plan.budget.amount < number / 5 + 0.1
        assert sorted(line["validation"]) == sorted(load_trained(whole_run("bare")).fold.validation) != []
        assert line["validation_bits_per_character"] == pytest.approx(np.mean(list(line["validation"].values())))


def test_a_longer_budget_brings_more_evaluations(tmp_path):
    run_plan(make_plan(budget="3000 characters"), tmp_path / "run")
    done = load_with_state(tmp_path / "run")[1]
    assert done["num_evaluations"] == 5
    _, ending, _ = run_plan(make_plan(budget="6000 characters"), tmp_path / "run", resume=True)
    assert ending is Ending.FINISHED
    lines = [line for line in read_metrics(tmp_path / "run" / METRICS) if "validation" in line]
    assert len([line for line in lines if line["step"] > done["step"]]) == 3  # at 3/5, 4/5 and 5/5 of the new one


def test_a_run_without_validation_languages(tmp_path):
    data = make_data(fold=make_fold({"1": ["wol"], "2": ["eus", "fra"]}, "1", num_validation=0))
    assert make_trainer(tmp_path / "run", data=data).run() is Ending.FINISHED


def test_metrics_are_means_over_ten_steps(tmp_path, monkeypatch):
    paid = []

    def spy(*arguments, **options):
        paid.append((training_step(*arguments, **options), arguments[2][1:].numel()))
        return paid[-1][0]

    monkeypatch.setattr(loop, "training_step", spy)
    make_trainer(tmp_path / "run", budget="6000 characters").run()
    lines = [line for line in read_metrics(tmp_path / "run" / METRICS) if "bits_per_character" in line]
    assert [line["step"] for line in lines] == list(range(10, len(paid) + 1, 10))
    for line in lines:
        nats, characters = map(sum, zip(*paid[line["step"] - 10 : line["step"]], strict=True))
        assert line["bits_per_character"] == pytest.approx(nats / characters / math.log(2))
        assert line["characters"] == sum(number for _, number in paid[: line["step"]])


# What is not finite.


@pytest.mark.parametrize("kind", ["bare", "oest", "plat"])
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_what_is_not_finite_is_named_and_changes_nothing(kind, poison, tmp_path):
    run = tmp_path / "run"
    make_trainer(run, kind, stop_after=5).run()
    _, state, optimizer = load_with_state(run)
    data = make_data(kind)
    if kind != "bare":
        data = replace(data, features={code: vector * poison for code, vector in data.features.items()})
    trainer = make_trainer(run, kind, data=data)
    trainer.restore(state, optimizer)
    if kind == "bare":
        with torch.no_grad():
            trainer.model.layers["recurrent_0"][2, 1] = poison
    before, weights = hash_of(run), copy_weights(trainer.model)
    moments = copy.deepcopy(trainer.optimizer.state_dict()["state"])
    with pytest.raises(TrainingError) as caught:
        trainer.run()
    assert re.match(
        r"step 6 \((fra|tur|zul)\): loss nan nats, gradient norm nan; wanted finite", str(caught.value)
    )
    assert "last checkpoint is untouched" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert hash_of(run) == before
    assert same_bits(copy_weights(trainer.model), weights)
    after = trainer.optimizer.state_dict()["state"]
    for index, values in moments.items():
        assert all(torch.equal(values[key], after[index][key]) for key in values)
    assert all(weight.grad is None for weight in trainer.model.parameters())


def test_a_gradient_that_is_not_finite_is_noticed_even_if_the_loss_is():
    class Steep(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))

        def nats(self, ids, targets, features, generator=None):
            return torch.sqrt(self.weight) + torch.zeros(ids.shape), None

    model = Steep()
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(TrainingError, match=r"^here: loss 0 nats, gradient norm inf; wanted finite"):
        training_step(
            model,
            optimizer,
            torch.ones(3, 2, dtype=torch.long),
            None,
            rate=0.1,
            weights=None,
            max_gradient_norm=1.0,
            generator=None,
            name="here",
        )
    assert model.weight.item() == 0
    assert not optimizer.state


# Learning.


def test_a_tiny_model_learns_a_tiny_language(tmp_path):
    config = replace(TINY, learning_rate=0.03)
    corpus = babble_corpus(80)
    data = make_data(corpus=corpus)
    trainer = make_trainer(tmp_path / "run", data=data, config=config, budget="70k characters", **NO_DROPOUT)
    seen_test = {code: split_sentences(corpus.sentences(code)).test for code in FOLD.training}
    texts = {code: make_scored_text(sentences, data.vocabulary) for code, sentences in seen_test.items()}
    before = mean_bits_per_character(evaluate(trainer.model, texts).values())
    trainer.run()
    after = mean_bits_per_character(evaluate(trainer.model, texts).values())
    assert trainer.state.step < 400
    assert before == pytest.approx(math.log2(len(data.vocabulary) - 1), abs=0.5)
    assert after < before / 2


def test_the_prior_draws_weights_towards_zero():
    """Without any text the mode of the posterior is the mode of the prior."""
    model = LanguageModel(tiny_config(), vocabulary_size=9, num_features=0)
    optimizer = make_optimizer(model, replace(TINY, prior_variance=4.0), num_characters=50)
    (group,) = optimizer.param_groups
    assert group["weight_decay"] == pytest.approx(1 / (4 * 50))
    assert group["betas"] == (0.9, TINY.second_moment_decay)
    before = sum(float(weight.detach().square().sum()) for weight in model.parameters())
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    for _ in range(5):
        optimizer.step()
    assert sum(float(weight.detach().square().sum()) for weight in model.parameters()) < before


def test_a_short_gradient_is_left_as_it_is():
    model = LanguageModel(tiny_config(), vocabulary_size=9, num_features=0)
    ids = torch.randint(1, 9, (20, 4), generator=torch.Generator().manual_seed(0))
    gradients = torch.autograd.grad(model.nats(ids[:-1], ids[1:], None)[0].mean(), list(model.parameters()))
    expected = [weight.detach() - gradient for weight, gradient in zip(model.parameters(), gradients, strict=True)]
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    arguments = {"weights": None, "generator": None, "name": "step"}
    training_step(model, optimizer, ids, None, rate=1.0, max_gradient_norm=1e3, **arguments)
    for weight, wanted in zip(model.parameters(), expected, strict=True):
        assert torch.equal(weight, wanted)


def test_a_step_clips_the_gradient_and_uses_the_rate_it_is_given():
    """With plain gradient descent, the step is the rate times a gradient of the greatest norm allowed."""
    model = LanguageModel(tiny_config(), vocabulary_size=9, num_features=0)
    before = copy_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=99.0)
    ids = torch.randint(1, 9, (20, 4), generator=torch.Generator().manual_seed(0))
    arguments = {"weights": None, "generator": None, "name": "step"}
    nats = training_step(model, optimizer, ids, None, rate=0.5, max_gradient_norm=1e-3, **arguments)
    moved = math.sqrt(
        sum(float((weight - before[name]).square().sum()) for name, weight in copy_weights(model).items())
    )
    assert moved == pytest.approx(0.5 * 1e-3, rel=1e-3)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert nats / ids[1:].numel() == pytest.approx(math.log(8), abs=0.7)


def test_weights_of_sequences_weigh_their_gradients():
    model = LanguageModel(tiny_config(), vocabulary_size=9, num_features=0).double()
    ids = torch.randint(1, 9, (10, 3), generator=torch.Generator().manual_seed(0))
    factors = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)

    def gradient(columns, weights):
        clone = copy.deepcopy(model)
        optimizer = torch.optim.SGD(clone.parameters(), lr=1.0)
        arguments = {"max_gradient_norm": math.inf, "generator": None, "name": "step"}
        training_step(clone, optimizer, ids[:, columns], None, rate=1.0, weights=weights, **arguments)
        return {name: old - copy_weights(clone)[name] for name, old in copy_weights(model).items()}

    together = gradient([0, 1, 2], factors)
    alone = [gradient([index], None) for index in range(3)]
    for name, value in together.items():
        expected = sum(factor * part[name] for factor, part in zip(factors, alone, strict=True)) / 3
        torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-12)


# The factor of a language.


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 10**6), min_size=1))
def test_factors_give_every_language_the_same_say(lengths):
    """|D_T| / (|T| |D_l|): characters times factor is the same for all, and adds up to all characters."""
    factors = language_factors(lengths, math.inf)
    total = sum(lengths.values())
    for language, length in lengths.items():
        assert factors[language] * length == pytest.approx(total / len(lengths))
    for cap in (0.5, 1.0, 3.0):
        capped = language_factors(lengths, cap)
        assert capped == {language: min(factor, cap) for language, factor in factors.items()}


def record_steps(trainer, monkeypatch):
    """Run a trainer; return (batch, options of the step, share used before it) of every step."""
    steps = []
    original = Trainer._step

    def note_batch(self, batch):
        steps.append([batch, self._share_used()])
        original(self, batch)

    def note_options(*arguments, **options):
        steps[-1].append({**options, "ids": arguments[2].clone()})
        nats = training_step(*arguments, **options)
        assert arguments[1].param_groups[0]["lr"] == options["rate"]
        return nats

    monkeypatch.setattr(Trainer, "_step", note_batch)
    monkeypatch.setattr(loop, "training_step", note_options)
    trainer.run()
    return steps


def test_batches_of_one_language_scale_the_learning_rate(tmp_path, monkeypatch):
    config = replace(TINY, max_language_factor=1.2)
    trainer = make_trainer(tmp_path / "run", config=config)
    lengths = {code: len(stream) - 1 for code, stream in trainer.data.streams.items()}
    for batch, share, options in record_steps(trainer, monkeypatch):
        (language,) = batch.languages
        length = len(options["ids"]) - 1
        factor = min(sum(lengths.values()) / (len(lengths) * lengths[language]), 1.2)
        assert options["rate"] == pytest.approx(
            config.rate_at(share) * length / config.batching.mean_length * factor
        )
        assert options["weights"] is None
        assert options["name"].endswith(f"({language})")


def test_mixed_batches_weigh_their_sequences(tmp_path, monkeypatch):
    # One sequence of another length than all others makes a batch of its own: it too is a mixed one.
    batching = replace(TINY.batching, mixed=True, batch_size=3)
    config = replace(TINY, batching=batching)
    trainer = make_trainer(tmp_path / "run", config=config, budget="1epoch")
    lengths = {code: len(stream) - 1 for code, stream in trainer.data.streams.items()}
    said = dict.fromkeys(lengths, 0.0)
    sizes = set()
    for batch, share, options in record_steps(trainer, monkeypatch):
        assert options["rate"] == config.rate_at(share)
        assert options["weights"].shape == (options["ids"].shape[1],)
        sizes.add(len(batch.starts))
        for language, weight in zip(batch.languages, options["weights"].tolist(), strict=True):
            said[language] += weight * batch.length
    assert 1 in sizes
    # Over an epoch every language has the same say, and all together that of all characters.
    total = sum(lengths.values())
    for weight in said.values():
        assert weight == pytest.approx(total / len(lengths), rel=1e-6)


# What is learned from.


@pytest.mark.parametrize("inventory", Inventory)
@pytest.mark.parametrize("mixed", [False, True])
def test_no_character_held_out_reaches_training(tmp_path, monkeypatch, inventory, mixed):
    languages = [f"q{letter}a" for letter in "abcdefghi"]
    corpus = MarkedCorpus(languages)
    fold = make_fold({"1": languages[:3], "2": languages[3:]}, "1", num_validation=2)
    data = make_data(corpus=corpus, fold=fold, inventory=inventory)
    config = replace(TINY, batching=replace(TINY.batching, mixed=mixed, mean_length=9))
    trainer = make_trainer(tmp_path / "run", data=data, config=config, budget="3epochs")
    seen = set()
    for _, _, options in record_steps(trainer, monkeypatch):
        seen.update(options["ids"].flatten().tolist())
    characters = {data.vocabulary.characters[id_ - 3] for id_ in seen if id_ >= 3}
    trained_on = {
        sentence
        for language in fold.training
        for sentence in list(corpus.sentences(language))[: MarkedCorpus.NUM_SENTENCES * 8 // 10]
    }
    assert characters == trained_on  # all of the training part of training languages, and no other
    assert 2 not in seen  # OTHER
    if inventory is Inventory.TRAINING:
        assert set(data.vocabulary.characters) == trained_on
    else:
        held_out_test = {list(corpus.sentences(language))[-1] for language in languages}
        assert not held_out_test & set(data.vocabulary.characters)


def test_every_character_of_an_epoch_is_predicted_once(tmp_path, monkeypatch):
    data = make_data()
    trainer = make_trainer(tmp_path / "run", data=data, budget="1epoch")
    counts = {code: np.zeros(len(data.vocabulary), dtype=int) for code in data.streams}
    for batch, _, options in record_steps(trainer, monkeypatch):
        (language,) = batch.languages
        np.add.at(counts[language], options["ids"][1:].flatten().numpy(), 1)
    for code, stream in data.streams.items():
        assert np.array_equal(counts[code], np.bincount(stream[1:], minlength=len(data.vocabulary)))


@pytest.mark.parametrize("kind", list(Conditioning))
def test_validation_leaves_the_model_as_it_was(kind, tmp_path, monkeypatch):
    checked = []

    def look(model, texts):
        before = copy_weights(model)
        scores = evaluate(model, texts)
        assert same_bits(copy_weights(model), before)
        assert all(weight.grad is None for weight in model.parameters())
        checked.append(scores)
        return scores

    monkeypatch.setattr(loop, "evaluate", look)
    make_trainer(tmp_path / "run", kind).run()
    assert len(checked) == TINY.num_evaluations
    assert all(list(scores) == list(FOLD.validation) for scores in checked)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    make_trainer(tmp_path / "run", stop_after=2).run()
    _, state, optimizer = load_with_state(tmp_path / "run")
    trainer = make_trainer(tmp_path / "other")
    with pytest.raises(TrainingError, match="checkpoint without the state of its training"):
        trainer.restore({**state, "surplus": 1}, optimizer)
    pointer = json.loads((tmp_path / "run" / LATEST).read_bytes())
    assert pointer == {"checkpoint": "step-00000002"}
