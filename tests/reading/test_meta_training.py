"""Meta-training: what is drawn, what may be learned from which text, and that an interruption changes nothing."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.errors import ConfigError, StorageError, TrainingError
from protoglot.reading.episodes import EpisodeConfig, MetaText, draw_text, make_episode
from protoglot.reading.meta_training import MetaTrainer, MetaTrainingConfig, letters_to_know
from protoglot.reading.network import ScorerConfig, ScorerNetwork
from protoglot.reading.reader import Reader
from protoglot.training.budget import Budget

TINY = MetaTrainingConfig(
    network=ScorerConfig(candidate_units=4, place_units=8, letter_units=8, letter_size=4, language_size=4),
    episodes=EpisodeConfig(fewest_sentences=2, most_scattered=4, most_running=4, num_positions=20),
    learning_rate=0.01,
    letters_share=1.0,
)


def sentences_of(seed: int, alphabet: str) -> list[str]:
    rng = random.Random(seed)
    return [
        " ".join("".join(rng.choices(alphabet, k=rng.randint(1, 6))) for _ in range(rng.randint(2, 6))) + "."
        for _ in range(30)
    ]


FREE = MetaText("aaa", sentences_of(1, "abcdefgh") * 3, True)
OTHER = MetaText("bbb", sentences_of(2, "xyzuvw"), False)


def train(texts, characters, tmp_path=None, budget=None, stop_after=None):
    trainer = MetaTrainer(
        texts, TINY, Budget.parse(budget or f"{characters}characters"), unfinished=tmp_path, num_threads=2
    )
    trainer.run(stop_asked=lambda: stop_after is not None and trainer.state.step >= stop_after)
    return trainer


def test_an_episode_has_sentences_of_the_text_alone():
    rng = random.Random(0)
    for _ in range(20):
        drawn = draw_text(FREE.sentences, TINY.episodes, rng)
        assert drawn
        assert set(drawn.splitlines()) <= set(FREE.sentences)


def test_the_network_scores_as_the_reader_does(scorer):
    w = scorer.weights
    config = ScorerConfig(
        candidate_units=len(w["wb"]),
        comparing_units=len(w["b3"]),
        place_units=len(w["p1_bias"]),
        letter_units=len(w["l1_bias"]),
        letter_size=w["letters"].shape[1],
        language_size=w["language"].shape[1],
        output_size=len(w["lo_bias"]),
    )
    network = ScorerNetwork(config, len(scorer.characters))
    network.load_arrays(w)
    text = "\n".join(FREE.sentences[:12]) + "\n"
    for with_letters in (True, False):
        episode = make_episode(
            text, scorer.known, EpisodeConfig(num_positions=10_000), random.Random(0), with_letters=with_letters,
            lexicons=scorer.lexicons,
        )  # fmt: skip
        nats = network.log_loss(episode).detach().numpy()
        reader = Reader(scorer, with_letters=with_letters, learn_online=False)
        bits = reader.read(text).bits
        met = episode.batch.target != 0  # first occurrences are named by another distribution
        assert met.sum() > 100
        np.testing.assert_allclose(nats[met] / np.log(2), bits[met], atol=1e-4)


def test_training_lowers_the_log_loss():
    trainer = train([FREE, OTHER], 1)
    episode = make_episode(
        "\n".join(FREE.sentences[:8]), trainer._known, EpisodeConfig(num_positions=10_000), random.Random(1),
        with_letters=True,
    )  # fmt: skip
    before = float(trainer.network.log_loss(episode).detach().mean())
    after = float(train([FREE, OTHER], 4000).network.log_loss(episode).detach().mean())
    assert after < before - 0.05


def test_resuming_equals_no_interruption(tmp_path):
    whole = train([FREE, OTHER], 600)
    stopped = train([FREE, OTHER], 600, tmp_path / "run", stop_after=5)
    assert 0 < stopped.state.step < whole.state.step
    resumed = train([FREE, OTHER], 600, tmp_path / "run")
    assert resumed.state.step == whole.state.step
    for name, weight in whole.network.named_parameters():
        torch.testing.assert_close(dict(resumed.network.named_parameters())[name], weight, rtol=0, atol=0)
    for name, average in whole.averaged().items():
        np.testing.assert_array_equal(resumed.averaged()[name], average)


def test_training_goes_on_from_a_scorer(tmp_path):
    start = train([FREE, OTHER], 600).scorer()

    def trainer(characters, stop_after=None, start=start, seed=1):
        config = replace(TINY, seed=seed)
        budget = Budget.parse(f"{characters}characters")
        found = MetaTrainer([FREE, OTHER], config, budget, unfinished=tmp_path / "run", start=start)
        found.run(stop_asked=lambda: stop_after is not None and found.state.step >= stop_after)
        return found

    unchanged = MetaTrainer([FREE, OTHER], TINY, Budget.parse("1characters"), start=start)
    for name, weight in unchanged.network.named_parameters():
        np.testing.assert_array_equal(weight.detach().numpy(), start.weights[name])
        np.testing.assert_array_equal(unchanged.averaged()[name], start.weights[name])
    stopped = trainer(600, stop_after=3)
    with pytest.raises(StorageError, match="other text or settings"):
        trainer(600, start=None)
    resumed = trainer(600)
    assert resumed.state.step > stopped.state.step
    assert np.abs(resumed.averaged()["Po"] - start.weights["Po"]).max() > 1e-4


def test_training_goes_on_from_a_scorer_of_the_same_form_alone():
    start = train([FREE, OTHER], 300).scorer()
    larger = replace(TINY, network=replace(TINY.network, candidate_units=5))
    with pytest.raises(ConfigError, match=r"weight W has shape \(56, 4, 4\); wanted \(56, 4, 5\)"):
        MetaTrainer([FREE, OTHER], larger, Budget.parse("1characters"), start=start)
    with pytest.raises(ConfigError, match="wanted the same ones"):
        MetaTrainer(
            [replace(FREE, sentences=sentences_of(1, "abcdefghi") * 3)],
            TINY,
            Budget.parse("1characters"),
            start=start,
        )


def test_a_checkpoint_of_other_text_is_refused(tmp_path):
    train([FREE, OTHER], 600, tmp_path / "run", stop_after=3)
    with pytest.raises(StorageError, match="other text or settings"):
        train([FREE], 600, tmp_path / "run")


def test_no_letter_is_learned_from_a_text_that_is_not_free():
    trainer = train([FREE, OTHER], 1)
    assert not set("xyzuvw") & set(trainer.characters)
    before = {name: weight.detach().clone() for name, weight in trainer.network.named_parameters()}
    free_only_names = (
        "letters", "classes", "language", "Lu", "Lx", "L1", "l1_bias", "L2", "l2_bias", "Lp", "lp_bias", "Lo",
        "lo_bias", "O", "o_bias",
    )  # fmt: skip
    only_other = MetaTrainer([FREE, OTHER], TINY, Budget.parse("1characters"))
    # An episode of the text that is not free gives these weights no gradient at all.
    numbers = range(40)
    found = 0
    takes_part = False
    for number in numbers:
        [text] = random.Random(f"{TINY.seed} {number}").choices(only_other.texts, [1.0, 1.0])
        episode = only_other._draw_episode(number)
        takes_part |= episode.with_letters and not text.may_know_letters
        _, _, gradients = only_other._episode_gradients(episode)
        named = dict(zip(before, gradients, strict=True))
        has_gradient = any(named[name] is not None and bool(named[name].any()) for name in free_only_names)
        assert has_gradient == text.may_know_letters
        found += not text.may_know_letters
    assert found > 5
    assert takes_part


def test_letters_to_know_are_of_free_texts():
    assert set(letters_to_know([FREE, OTHER])) >= {"\n"}
    assert not set("xyzuvw") & set(letters_to_know([FREE, OTHER]))


def test_a_fitted_scorer_names_first_occurrences_better():
    texts = [FREE, MetaText("ccc", sentences_of(3, "abcdeijk") * 3, True), OTHER]
    trainer = train(texts, 400)
    from protoglot.reading.first_occurrence import FirstOccurrence
    from protoglot.reading.first_occurrence_fitting import character_frequencies, fit_first_occurrence
    from protoglot.reading.scorer import Scorer

    untrained = Scorer(
        trainer.averaged(), trainer.characters, FirstOccurrence.untrained(character_frequencies(texts))
    )
    fitted = fit_first_occurrence(untrained, texts, num_episodes=6)
    text = "\n".join(FREE.sentences[:10]) + "\n"
    assert Reader(fitted).read(text).total_bits < Reader(untrained).read(text).total_bits


def test_a_budget_in_epochs_is_refused():
    with pytest.raises(ConfigError, match="wanted time or characters"):
        MetaTrainer([FREE], TINY, Budget.parse("3epochs"))


def test_texts_of_one_sentence_are_refused():
    with pytest.raises(TrainingError, match="wanted some"):
        MetaTrainer([MetaText("aaa", ["one"], True)], TINY, Budget.parse("100characters"))
