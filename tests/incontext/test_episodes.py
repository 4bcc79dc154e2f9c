import numpy as np
import pytest
import torch

from protoglot.errors import ConfigError
from protoglot.incontext.episodes import EpisodeConfig, draw_episode
from protoglot.incontext.network import MOST_CHARACTERS
from protoglot.incontext.windows import Windows
from protoglot.ngram import NGram, NGramConfig
from protoglot.vocabulary import END, NUM_SYMBOLS, OTHER, Vocabulary
from tiny import babble_corpus

TEXTS = babble_corpus().texts
VOCABULARY = Vocabulary.of(sentence for text in TEXTS.values() for sentence in text)
NGRAM = NGramConfig(order=3)


def draw(step, *, share=1.0, texts=TEXTS, **changes):
    config = EpisodeConfig(**{"fewest": 2, "most_at_first": 3, "most": 6, "disguised": 0.0, **changes})
    return draw_episode(texts, VOCABULARY, NGRAM, config, window=4, seed=0, step=step, share=share)


def sentences_of(side, episode):
    """The sentences of a side, where no letter is in disguise."""
    ids = episode.known_ids[side.next_ids]
    letters = "".join("\n" if id_ == END else VOCABULARY.characters[id_ - NUM_SYMBOLS] for id_ in ids.tolist())
    return letters.split("\n")[:-1]


def test_an_episode_depends_on_nothing_but_what_is_given():
    for step in (0, 1, 7):
        one, same = draw(step), draw(step)
        assert one.language == same.language
        assert torch.equal(one.known_ids, same.known_ids)
        for side, other in zip(one.sides, same.sides, strict=True):
            assert torch.equal(side.windows, other.windows)
            assert torch.equal(side.orders, other.orders)
    assert len({draw(step).language for step in range(40)}) == len(TEXTS)


def test_sides_are_of_one_language_of_the_same_number_and_share_no_sentence():
    for step in range(30):
        episode = draw(step)
        one, other = (sentences_of(side, episode) for side in episode.sides)
        assert len(one) == len(other)
        assert not set(one) & set(other)
        assert set(one) | set(other) <= set(TEXTS[episode.language])
        assert episode.num_characters == sum(len(sentence) + 1 for sentence in (*one, *other))


def test_each_side_is_predicted_by_the_n_gram_of_the_other_alone():
    episode = draw(3, most_strangers=0)
    one, other = (sentences_of(side, episode) for side in episode.sides)
    own = Vocabulary.of([*one, *other])
    counted = NGram.train(other, own, order=3, smoothing=NGRAM.smoothing)
    found = np.concatenate([part for part, _ in counted.by_order(one)])
    np.testing.assert_allclose(episode.sides[0].orders.exp().numpy(), found, rtol=1e-5, atol=1e-8)


def test_a_character_that_the_network_does_not_know_looks_like_others():
    few = Vocabulary(character for character in VOCABULARY.characters if character != "é")
    config = EpisodeConfig(fewest=4, most_at_first=4, most=4)
    episode = draw_episode({"fra": TEXTS["fra"]}, few, NGRAM, config, window=4, seed=0, step=1)
    assert (episode.known_ids == OTHER).sum() == 2  # OTHER itself, and é


def test_long_sentences_are_cut_short_of_what_a_memory_holds():
    long = [f"{number} " + "ab" * 4000 for number in range(40)]
    config = EpisodeConfig(fewest=20, most_at_first=20, most=20)
    episode = draw_episode({"fra": long}, Vocabulary.of(long), NGRAM, config, window=4, seed=0, step=1)
    assert all(len(side.next_ids) <= MOST_CHARACTERS for side in episode.sides)


def test_windows_are_those_of_the_text():
    episode = draw(5)
    side = episode.sides[1]
    stream = np.concatenate([[0], side.next_ids.numpy()])
    assert (side.windows.numpy() == Windows(stream, 4).of(0, len(side.next_ids))).all()


def test_letters_in_disguise_are_the_same_on_both_sides_and_others_in_other_episodes():
    plain, disguised = draw(4), draw(4, disguised=1.0)
    assert torch.equal(plain.sides[0].next_ids, disguised.sides[0].next_ids)
    assert not torch.equal(plain.known_ids, disguised.known_ids)
    assert len(plain.known_ids) == len(disguised.known_ids)


def test_episodes_grow():
    sizes = [EpisodeConfig().most_at(share) for share in (0.0, 0.5, 1.0)]
    assert sizes[0] == 20
    assert sizes[2] == pytest.approx(128)
    assert sizes[0] < sizes[1] < sizes[2]
    early, late = ([draw(step, share=share) for step in range(20)] for share in (0.0, 1.0))
    longest = [max(len(sentences_of(each.sides[0], each)) for each in some) for some in (early, late)]
    assert longest[0] <= 3 < longest[1] <= 6


def test_the_shortest_text_makes_an_episode():
    episode = draw(0, texts={"fra": TEXTS["fra"][:2]})
    assert [len(sentences_of(side, episode)) for side in episode.sides] == [1, 1]


@pytest.mark.parametrize("change", [{"fewest": 0}, {"fewest": 4}, {"most": 2}, {"disguised": 1.5}])
def test_senseless_settings_are_refused(change):
    with pytest.raises(ConfigError, match="wanted"):
        draw(0, **change)
