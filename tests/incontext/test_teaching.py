import shutil
from dataclasses import replace

import pytest
import torch

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.errors import ConfigError, StorageError, TrainingError
from protoglot.incontext.config import TINY
from protoglot.incontext.episodes import EpisodeConfig, draw_episode
from protoglot.incontext.examining import examine, score_in_context
from protoglot.incontext.teaching import Teacher, TeachingConfig, episode_nats
from protoglot.splits import split_sentences
from protoglot.training.budget import Budget
from protoglot.vocabulary import Vocabulary
from tiny import babble_corpus, scatter

TEXTS = babble_corpus().texts
VOCABULARY = Vocabulary.of(sentence for text in TEXTS.values() for sentence in text)
CONFIG = TeachingConfig(
    network=TINY, episodes=EpisodeConfig(fewest=2, most_at_first=3, most=6), learning_rate=2e-2, warm_up=5
)


def teacher(budget="3k-characters", *, unfinished=None, config=CONFIG, texts=TEXTS):
    return Teacher(texts, VOCABULARY, config, Budget.parse(budget), unfinished=unfinished)


def weights(found):
    return {name: weight.detach().clone() for name, weight in found.network.named_parameters()}


def test_it_learns():
    """What it learned holds for a text that it has not read, and is worth more than the n-gram."""
    found = teacher("60k-characters", texts={code: TEXTS[code] for code in ("eus", "fra", "tur")})
    held_out = TEXTS["zul"]
    before = score_in_context(found.network, VOCABULARY, held_out[:10], held_out[10:])
    assert found.run()
    own, rival = score_in_context(found.network, VOCABULARY, held_out[:10], held_out[10:])
    assert own.bits_per_character < before[0].bits_per_character
    assert own.bits_per_character < rival.bits_per_character
    assert rival == before[1]


@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_stopped_and_taken_up_again_is_not_stopped(tmp_path, cut):
    whole = teacher()
    assert whole.run()
    path = tmp_path / "unfinished"
    first = teacher(unfinished=path)
    assert not first.run(stop_asked=lambda: first.state.step == cut)
    second = teacher(unfinished=path)
    assert second.state.step == cut
    assert second.run()
    for name, weight in weights(whole).items():
        assert torch.equal(weight, weights(second)[name]), name
    assert second.state.num_characters == whole.state.num_characters


def test_a_text_is_never_its_own_evidence():
    """Each side is predicted from the memory of the other, and its own is not looked at."""
    config = CONFIG.episodes
    network = teacher().network
    scatter(network, torch.Generator().manual_seed(1))
    found = draw_episode(TEXTS, VOCABULARY, TINY.ngram, config, window=TINY.window, seed=0, step=3)
    before = episode_nats(network, found)[0]
    memory_of_first = replace(found.sides[0], next_ids=found.sides[0].next_ids.flip(0))
    costs = episode_nats(network, replace(found, sides=(memory_of_first, found.sides[1])))
    # Other outcomes on the first side change what the second is predicted from, and not what the first is.
    assert not torch.allclose(costs[1], episode_nats(network, found)[1])
    other = replace(found.sides[1], next_ids=found.sides[1].next_ids.flip(0))
    assert not torch.allclose(episode_nats(network, replace(found, sides=(found.sides[0], other)))[0], before)
    predicted = episode_predictions(network, found)[0]
    again = episode_predictions(network, replace(found, sides=(memory_of_first, found.sides[1])))[0]
    torch.testing.assert_close(predicted, again)


def episode_predictions(network, episode):
    """What is predicted, whatever came."""
    kept = []
    original = network.predict

    def predict(*arguments, **named):
        kept.append(original(*arguments, **named))
        return kept[-1]

    network.predict = predict
    try:
        episode_nats(network, episode)
    finally:
        network.predict = original
    return kept


def test_kept_numbers_that_no_teaching_leads_to_are_refused(tmp_path):
    path = tmp_path / "unfinished"
    found = teacher("1k-characters", unfinished=path)
    found.run()
    for state in ({"step": "x"}, {"step": -1}, {"seconds": float("inf")}, {"magic": 1}):
        shutil.rmtree(path)
        found.state.step += 1
        found.save()
        (checkpoint,) = (path / "checkpoints").iterdir()
        content, tensors = load_artefact(checkpoint, kind="unfinished in-context network")
        content["state"] |= state
        save_artefact(checkpoint, kind="unfinished in-context network", content=content, tensors=tensors)
        with pytest.raises(StorageError, match="damaged"):
            teacher(unfinished=path)


def test_lessons_tell_what_was_done():
    lessons = []
    found = teacher()
    found.run(on_lesson=lessons.append)
    assert [lesson.step for lesson in lessons] == list(range(1, found.state.step + 1))
    assert sum(lesson.num_characters for lesson in lessons) == found.state.num_characters >= 3000
    assert lessons[-1].share == 1
    assert all(lesson.ngram_bits_per_character > 0 for lesson in lessons)


def test_what_was_begun_with_other_text_or_settings_is_refused(tmp_path):
    path = tmp_path / "unfinished"
    teacher("1k-characters", unfinished=path).run()
    others = [
        {"config": replace(CONFIG, learning_rate=1e-3)},
        {"texts": {**TEXTS, "eus": TEXTS["eus"][:-1]}},
    ]
    for other in others:
        with pytest.raises(StorageError, match="of other text or settings"):
            teacher(unfinished=path, **other)
    assert teacher("2k-characters", unfinished=path).state.num_characters >= 1000  # a longer budget goes on


def test_what_cannot_be_taught_is_refused():
    with pytest.raises(ConfigError, match="wanted time or characters"):
        teacher("2epochs")
    with pytest.raises(TrainingError, match="no text of two sentences"):
        teacher(texts={"eus": ["one"]})


def test_numbers_that_are_not_finite_are_caught_and_nothing_is_overwritten(tmp_path):
    path = tmp_path / "unfinished"
    found = teacher(unfinished=path)
    found.run(stop_asked=lambda: found.state.step == 2)
    kept = weights(found)
    with torch.no_grad():
        found.network.embedding[5] = torch.nan
    with pytest.raises(TrainingError, match=r"step \d+ \(\w+\): loss nan"):
        found.run()
    for name, weight in weights(teacher(unfinished=path)).items():
        assert torch.equal(weight, kept[name])


def test_an_examination_is_a_mean_over_languages():
    network = teacher().network
    splits = {code: split_sentences(TEXTS[code]) for code in ("eus", "zul")}
    (mark,) = examine(network, VOCABULARY, splits, numbers=[1000, 3], num_characters=40)
    apart = [examine(network, VOCABULARY, {code: splits[code]}, numbers=[3], num_characters=40) for code in splits]
    assert mark.network == pytest.approx(sum(found.network for (found,) in apart) / 2)
    assert mark.ngram == pytest.approx(sum(found.ngram for (found,) in apart) / 2)
    assert examine(network, VOCABULARY, {"eus": split_sentences(["one"])}) == []
