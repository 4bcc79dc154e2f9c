from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.batching import BatchingConfig, make_stream, plan_epoch, stream_lengths
from protoglot.errors import ConfigError
from protoglot.vocabulary import BEGIN, END, Vocabulary

lengths = st.dictionaries(st.sampled_from(["eus", "fra", "quc", "wol"]), st.integers(0, 4000), min_size=1)
configs = st.builds(
    BatchingConfig,
    batch_size=st.integers(1, 40),
    mixed=st.booleans(),
    mean_length=st.floats(1, 150),
    length_deviation=st.floats(0, 10),
)


@given(lengths, configs, st.integers(0, 5))
def test_an_epoch_predicts_every_character_of_every_language_once(lengths, config, epoch):
    seen = {language: Counter() for language in lengths}
    for batch in plan_epoch(lengths, config, seed=1, epoch=epoch):
        assert 1 <= len(batch.starts) <= config.batch_size
        languages = batch.languages * len(batch.starts) if len(batch.languages) == 1 else batch.languages
        for language, start in zip(languages, batch.starts, strict=True):
            seen[language].update(range(start, start + batch.length))
    for language, number in lengths.items():
        assert seen[language] == Counter(range(number))


@pytest.mark.parametrize("mixed", [False, True])
def test_a_plan_is_a_function_of_seed_and_epoch(mixed):
    config = BatchingConfig(batch_size=4, mixed=mixed)

    def plan(seed, epoch):
        batches = plan_epoch({"eus": 5000, "fra": 7000}, config, seed=seed, epoch=epoch)
        return [(batch.languages, batch.starts.tolist(), batch.length) for batch in batches]

    assert plan(0, 0) == plan(0, 0)
    assert plan(0, 0) != plan(0, 1)
    assert plan(0, 0) != plan(1, 0)


def test_lengths_are_drawn_from_a_normal_distribution():
    for mixed in (False, True):
        config = BatchingConfig(batch_size=8, mixed=mixed)
        batches = plan_epoch({"eus": 2_000_000}, config, seed=0, epoch=0)
        full = np.repeat([batch.length for batch in batches], [len(batch.starts) for batch in batches])
        assert np.mean(full) == pytest.approx(125, abs=0.3)
        assert np.std(full) == pytest.approx(5, abs=0.3)


def test_batches_of_one_language_and_of_many():
    lengths = {"eus": 50_000, "fra": 50_000, "quc": 50_000}
    single = plan_epoch(lengths, BatchingConfig(batch_size=16), seed=0, epoch=0)
    assert all(len(batch.languages) == 1 for batch in single)
    mixed = plan_epoch(lengths, BatchingConfig(batch_size=16, mixed=True), seed=0, epoch=0)
    full = [batch for batch in mixed if len(batch.starts) == 16]
    assert len(full) > len(mixed) / 2
    assert np.mean([len(set(batch.languages)) == 3 for batch in full]) > 0.9


def test_languages_are_drawn_in_proportion_to_their_text():
    batches = plan_epoch({"eus": 900_000, "fra": 100_000}, BatchingConfig(batch_size=4), seed=0, epoch=0)
    first_half = batches[: len(batches) // 2]
    assert np.mean([batch.languages == ("fra",) for batch in first_half]) == pytest.approx(0.1, abs=0.02)


@given(st.lists(st.text("abc é", min_size=1, max_size=30), min_size=1, max_size=30), st.booleans())
def test_sequences_are_the_text_and_the_character_before(sentences, mixed):
    vocabulary = Vocabulary.of(["abc "])
    streams = {"eus": make_stream(sentences, vocabulary), "fra": make_stream(["c"] * 9, vocabulary)}
    config = BatchingConfig(batch_size=3, mixed=mixed, mean_length=7, length_deviation=2)
    for batch in plan_epoch(stream_lengths(streams), config, seed=0, epoch=0):
        ids = batch.ids(streams)
        assert ids.shape == (batch.length + 1, len(batch.starts))
        languages = batch.languages * len(batch.starts) if len(batch.languages) == 1 else batch.languages
        for column, (language, start) in enumerate(zip(languages, batch.starts, strict=True)):
            assert ids[:, column].tolist() == streams[language][start : start + batch.length + 1].tolist()


def test_a_stream_is_begin_and_sentences_with_their_ends():
    vocabulary = Vocabulary.of(["ab"])
    stream = make_stream(["ab", "b"], vocabulary)
    assert stream.tolist() == [BEGIN, 3, 4, END, 4, END]
    assert stream.dtype == np.uint16


def test_a_vocabulary_too_large_for_two_bytes_is_refused():
    with pytest.raises(ConfigError, match="wanted at most 65,536"):
        make_stream(["a"], Vocabulary(map(chr, range(0x10000, 0x20000))))


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"mean_length": 0.5}, {"length_deviation": -1}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        BatchingConfig(**wrong)
