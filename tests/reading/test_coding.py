"""The honest proof that no future is looked at: a text is coded to as many bits as its surprisal, and comes back."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.errors import StorageError
from protoglot.reading.coding import _TOTAL, _bounds, _Decoder, _Encoder, decode, encode
from protoglot.reading.reader import Reader
from protoglot.reading.shipped import shipped_scorer
from tiny_scorer import OFTEN_FIRST, tiny_scorer

TEXT = "Kard a mente, anna est.\nUra dok 11 mins: «mind»! e\u0301 Ka\n"
ODD = "\U0001f600\0\ud83d\ude00\udfff 語言\u200d\uffff\U0010ffff\r\t"


def assert_coded_as_surprisal_says(text: str, make_reader) -> None:
    bits = make_reader().read(text).total_bits
    encoding, decoding = make_reader(), make_reader()
    data = encode(text, encoding)
    assert decode(data, len(text), decoding) == text
    assert encoding.fingerprint() == decoding.fingerprint()
    assert bits - 2 <= 8 * len(data) + 8 * 8  # zeros at the end are left out
    assert 8 * len(data) <= 1.001 * bits + 8 * 3


@settings(max_examples=20)
@given(st.text(st.one_of(st.sampled_from(OFTEN_FIRST), st.characters(), st.sampled_from(ODD)), max_size=60))
def test_any_text_comes_back(text):
    assert_coded_as_surprisal_says(text, lambda: Reader(tiny_scorer()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        TEXT * 20,
        ODD * 30,
        OFTEN_FIRST + "ßabß",
        "a" * 1000,
        "\n" * 300,
        "".join(map(chr, range(1, 500, 2))),
    ],
    ids=range(8),
)
def test_texts_of_all_kinds_come_back(scorer, text):
    assert_coded_as_surprisal_says(text, lambda: Reader(scorer))


@pytest.mark.parametrize("known", ["語", "z", "\x7f", "\U0010ffff", "\0"])
def test_neighbours_of_code_points_that_are_taken(scorer, known):
    for code in range(max(ord(known) - 2, 0), min(ord(known) + 3, 0x110000)):
        text = chr(code) + "a"
        assert decode(encode(text, Reader(scorer)), 2, Reader(scorer)) == text


@pytest.mark.parametrize(
    "options", [{"with_letters": False}, {"learn_online": False}], ids=["no letters", "fixed"]
)
def test_readers_of_all_kinds_code(scorer, options):
    assert_coded_as_surprisal_says(TEXT * 5 + ODD, lambda: Reader(scorer, **options))


def test_a_text_after_another(scorer):
    before = Reader(scorer)
    before.read(TEXT * 3)
    assert_coded_as_surprisal_says(TEXT + ODD + TEXT, before.copy)
    assert len(encode(TEXT, before.copy())) < 0.5 * len(encode(TEXT, Reader(scorer)))


def test_the_installed_scorer_codes_in_as_many_bits_as_it_says():
    words = ["kard", "a", "mente", "anna", "est,", "ura", "dok", "Mins.\n"]
    text = " ".join(random.Random(0).choices(words, k=200)) + ODD
    scorer = shipped_scorer()
    assert_coded_as_surprisal_says(text, lambda: Reader(scorer))


def test_another_reader_decodes_another_text(scorer):
    data = encode(TEXT, Reader(scorer))
    assert decoded_or_refused(data, len(TEXT), Reader(tiny_scorer(1))) != TEXT


def decoded_or_refused(data: bytes, length: int, reader: Reader) -> str | None:
    try:
        return decode(data, length, reader)
    except StorageError:
        return None


@given(st.binary(max_size=40))
@settings(max_examples=25)
def test_any_bytes_are_decoded_or_refused(data):
    text = decoded_or_refused(data, 20, Reader(tiny_scorer()))
    assert text is None or len(text) == 20


def test_progress_is_told(scorer):
    told: list[int] = []
    data = encode(TEXT * 8, Reader(scorer), on_progress=told.append)
    assert sum(told) == len(TEXT * 8)
    again: list[int] = []
    decode(data, len(TEXT * 8), Reader(scorer), on_progress=again.append)
    assert again == told


def test_what_predicts_the_met_is_part_of_what_predicts_all(scorer):
    reader = Reader(scorer)
    for character in TEXT:
        met, whole = reader.predict_met(), reader.predict()
        num_met = len(reader.characters)
        assert met.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_array_equal(met[1:], whole.probabilities[:num_met])
        assert met[0] == pytest.approx(whole.probabilities[num_met:].sum() + whole.rest, rel=1e-9)
        reader.read(character)


def test_a_fingerprint_is_of_all_that_decides(scorer):
    reader = Reader(scorer)
    prints = {reader.fingerprint()}
    reader.read("a")
    prints.add(reader.fingerprint())
    for other in (
        Reader(scorer, with_letters=False),
        Reader(scorer, learn_online=False),
        Reader(tiny_scorer(1)),
    ):
        prints.add(other.fingerprint())
    assert len(prints) == 5
    late, soon = Reader(scorer, learn_online=False), Reader(scorer)
    for other in (late, soon):
        other.read(TEXT * 2)
        other.learn_online = True
    assert late.fingerprint() != soon.fingerprint()
    assert reader.copy().fingerprint() == reader.fingerprint()
    reader.score(TEXT)
    assert reader.copy().fingerprint() == reader.fingerprint()


@given(
    st.lists(
        st.tuples(st.lists(st.one_of(st.just(0.0), st.floats(1e-300, 1)), min_size=1, max_size=9), st.integers(0)),
        max_size=80,
    )
)
def test_the_coder_alone(choices):
    choices = [(np.array([*p, 1e-9]), index % (len(p) + 1)) for p, index in choices]
    encoder = _Encoder()
    bits = 0.0
    for p, index in choices:
        bounds = _bounds(p)
        assert bounds[0] == 0
        assert bounds[-1] <= _TOTAL
        assert np.all(np.diff(bounds) >= 1)
        bits -= np.log2((bounds[index + 1] - bounds[index]) / _TOTAL)
        assert encoder.choose(bounds, index) == index
        bits += np.log2(1 + index * 1000)
        encoder.choose_evenly(1 + index * 1000, index * 999)
    data = encoder.finish()
    assert 8 * len(data) <= bits * 1.0001 + 16
    decoder = _Decoder(data)
    for p, index in choices:
        assert decoder.choose(_bounds(p), None) == index
        assert decoder.choose_evenly(1 + index * 1000, None) == index * 999


@pytest.mark.parametrize("start", [_TOTAL - 2, 1])
def test_a_carry_runs_through(start):
    bounds = np.array([0, start, start + 1, _TOTAL])
    for last in (0, 1, 2):
        encoder = _Encoder()
        chosen = [1] * 40 + [last] * 3 + [2] * 40 + [last]
        for index in chosen:
            encoder.choose(bounds, index)
        decoder = _Decoder(encoder.finish())
        assert [decoder.choose(bounds, None) for _ in chosen] == chosen
