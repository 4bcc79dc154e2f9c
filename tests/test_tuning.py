import json
from dataclasses import replace

import pytest
import torch

from protoglot.adaptation import make_gaussian
from protoglot.errors import ConfigError, StorageError
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import MAX_TRIALS, Method
from protoglot.scores import Score
from protoglot.splits import split_sentences
from protoglot.tuning import START, Trials, Tuner, TuningConfig, tuning_identity
from tiny import babble_corpus, tiny_trained

QUICK = TuningConfig(num_trials=3, num_sentences=5, scored_characters=60, calibration_characters=60)


def make_prior(conditioning="bare"):
    made = tiny_trained(conditioning)
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    streams = training_streams(babble_corpus(), trained)
    return infer_prior(trained, streams, FisherConfig(length=20, max_sequences=2))


def texts():
    corpus = babble_corpus()
    return {code: split_sentences(corpus.sentences(code)) for code in ("zul", "tur")}


def tuner(path=None, *, config=QUICK, lines=None, prior=None):
    return Tuner(
        prior or make_prior(),
        texts(),
        config,
        trials=Trials(path, "same"),
        on_trial=(lines if lines is not None else []).append,
    )


@pytest.mark.parametrize("conditioning", ["bare", "oest"])
def test_a_search_leaves_the_prior_as_it_was_and_finds_all_that_is_needed(conditioning):
    prior = make_prior(conditioning)
    before = {name: weight.detach().clone() for name, weight in prior.mean.model.named_parameters()}
    tuned = tuner(prior=prior).run([Method.FITU, Method.UNIV])
    assert set(tuned.methods) == {Method.FITU, Method.UNIV}
    assert all(method is config.method for method, config in tuned.methods.items())
    assert tuned.calibration is not None
    for name, weight in prior.mean.model.named_parameters():
        assert torch.equal(weight, before[name])


def test_every_method_gets_the_same_number_of_trials():
    found = tuner()
    found.run([Method.FITU, Method.UNIV, Method.L2_SP])
    for method in ("fitu", "univ", "l2-sp"):
        rows = [row for row in found.trials.rows if row["method"] == method]
        settings = {
            json.dumps({key: row[key] for key in ("strength", "num_epochs", "learning_rate", "dropout")})
            for row in rows
        }
        assert len(settings) == QUICK.num_trials


def test_a_search_starts_where_it_is_told_to_and_tries_nothing_twice():
    start = replace(START[Method.FITU], batch_size=3, num_epochs=2, dropout=0.1)
    found = Tuner(make_prior(), texts(), QUICK, trials=Trials(None, "x"), starts={Method.FITU: start})
    found.search(Method.FITU)
    assert {row["batch_size"] for row in found.trials.rows} == {3}
    settings = [(row["num_epochs"], row["dropout"]) for row in found.trials.rows if row["language"] == "tur"]
    assert len(set(settings)) == len(settings) == QUICK.num_trials
    assert settings[:2] == [(2, 0.1), (10, 0.1)]
    assert settings[2] in ((2, 0.2), (10, 0.2))


def test_the_best_of_what_was_tried_is_chosen():
    found = tuner()
    chosen = found.search(Method.FITU)
    means = {}
    for row in found.trials.rows:
        key = (row["num_epochs"], row["learning_rate"], row["dropout"])
        means.setdefault(key, []).append(row["nats"] / row["characters"])
    best = min(means, key=lambda key: sum(means[key]) / len(means[key]))
    assert (chosen.num_epochs, chosen.learning_rate, chosen.dropout) == best


def test_a_search_that_was_cut_short_goes_on_without_repeating(tmp_path):
    path = tmp_path / "trials.jsonl"
    whole_lines: list[str] = []
    whole = tuner(path, lines=whole_lines).search(Method.FITU)
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[:2]) + kept[2][:10])  # the third was cut off while it was written
    again_lines: list[str] = []
    again = tuner(path, lines=again_lines).search(Method.FITU)
    assert again == whole
    assert len(again_lines) == len(whole_lines) - 2


def test_trials_of_something_else_do_not_count(tmp_path):
    path = tmp_path / "trials.jsonl"
    Trials(path, "other").add({"language": "zul"}, Score(1.0, 2), 0.1)
    assert Trials(path, "same").find({"language": "zul"}) is None
    assert Trials(path, "other").find({"language": "zul"}) == Score(1.0, 2)


def test_a_damaged_file_of_trials_is_named(tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_text("{\n{}\n")
    with pytest.raises(StorageError, match=r"trials\.jsonl:1"):
        Trials(path, "same")


def test_a_language_without_text_to_score_is_left_out(tmp_path):
    lines = []
    few = {"eus": split_sentences(["abba", "baba"]), **texts()}
    found = Tuner(make_prior(), few, QUICK, trials=Trials(None, "same"), on_trial=lines.append)
    assert set(found.texts) == {"zul", "tur"}
    assert lines == ["eus: fewer than ten sentences, so it is left out"]
    assert found.run([Method.FITU]).calibration is not None
    with pytest.raises(ConfigError, match="none of 1 validation languages"):
        Tuner(make_prior(), {"eus": few["eus"]}, QUICK, trials=Trials(None, "same"))


def test_trials_on_a_text_that_was_changed_do_not_count(tmp_path):
    path = tmp_path / "trials.jsonl"
    tuner(path).search(Method.FITU)
    number = len(Trials(path, "same").rows)
    tuner(path).search(Method.FITU)
    assert len(Trials(path, "same").rows) == number
    mended = {code: replace(split, development=("abba", *split.development)) for code, split in texts().items()}
    Tuner(make_prior(), mended, QUICK, trials=Trials(path, "same")).search(Method.FITU)
    assert len(Trials(path, "same").rows) == 2 * number


def test_all_methods_have_as_many_settings_as_may_be_tried():
    config = replace(QUICK, num_trials=MAX_TRIALS)
    found = tuner(config=config)
    for method in Method:
        tried = {}
        for number, candidate in enumerate(found._candidates(method, tried)):
            tried[candidate] = float(number)
        assert len(tried) == MAX_TRIALS
    with pytest.raises(ConfigError, match="wanted at most 7"):
        replace(QUICK, num_trials=MAX_TRIALS + 1)


def test_no_validation_language_is_an_error():
    with pytest.raises(ConfigError, match="validation"):
        Tuner(make_prior(), {}, QUICK, trials=Trials(None, "x"))


def test_no_trial_is_no_search():
    with pytest.raises(ConfigError, match="num_trials"):
        TuningConfig(num_trials=0)


@pytest.mark.parametrize("method", list(Method))
def test_the_trials_of_every_method_look_at_all_its_settings(method):
    found = tuner(config=replace(QUICK, num_trials=MAX_TRIALS))
    tried = {}
    for number, candidate in enumerate(found._candidates(method, tried)):
        tried[candidate] = float(number)
    searched = {"num_epochs", "dropout", "learning_rate"}
    searched |= {"strength"} if method in (Method.UNIV, Method.L2_SP, Method.HIER) else set()
    for name in searched:
        assert len({getattr(candidate, name) for candidate in tried}) > 1, name
    # Two changes are enough to choose the number of epochs: fine-tuning is a rival only if it is stopped in time.
    assert len({candidate.num_epochs for candidate in list(tried)[:3]}) > 1


def test_the_uninformative_prior_is_a_standard_normal():
    assert START[Method.NINF].strength == 1.0
    prior = make_prior()
    gaussian = make_gaussian(prior, prior.mean.model, START[Method.NINF])
    assert all(bool((values == 1).all()) for values in gaussian.precision.values())
    assert not any(bool(values.any()) for values in gaussian.mean.values())


def test_trials_of_another_prior_do_not_count():
    prior = make_prior()
    spread = {name: torch.ones_like(values) for name, values in prior.fisher.items()}
    turned = {name: values.flip(0) for name, values in prior.fisher.items()}  # the same sums
    known = {tuning_identity(prior, QUICK)}
    for other in (
        replace(prior, spread=spread),
        replace(prior, spread={name: 2 * values for name, values in spread.items()}),
        replace(prior, fisher={name: 2 * values for name, values in prior.fisher.items()}),
        replace(prior, fisher=turned),
    ):
        assert tuning_identity(other, QUICK) not in known
        known.add(tuning_identity(other, QUICK))
    assert tuning_identity(prior, replace(QUICK, seed=1)) not in known
    assert tuning_identity(prior, replace(QUICK, num_trials=1)) in known
