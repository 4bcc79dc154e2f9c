"""Laws of a reader: what it says is a distribution, and depends on what was read alone."""

import copy
import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.errors import StorageError
from protoglot.reading.reader import _PIECE, Reader
from protoglot.reading.shipped import shipped_scorer
from tiny_scorer import KNOWN, OFTEN_FIRST, tiny_scorer

TEXT = "Kard a mente, anna est.\nUra dok 11 mins: «mind»! e\u0301 Ka"
ODD = "\U0001f600\0\ud83d\ude00\udfff 語言\u200d\uffff\U0010ffff\r\t"
texts = st.text(st.one_of(st.sampled_from(OFTEN_FIRST), st.characters(), st.sampled_from(ODD)), max_size=30)


def some_text(length: int, seed: int = 0) -> str:
    """Words that come again, in an alphabet that grows."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("aeioubdkmnrst'é", k=rng.randint(1, 7))) for _ in range(60)]
    pieces: list[str] = []
    while sum(map(len, pieces)) < length:
        pieces.append(rng.choice(words[: 5 + len(pieces) // 10]) + rng.choice([" "] * 9 + [".\n"]))
        if rng.random() < 0.02:
            pieces.append(chr(rng.randint(0x400, 0x480)))
    return "".join(pieces)[:length]


def reader_after(scorer, text: str = "", **settings) -> Reader:
    reader = Reader(scorer, **settings)
    reader.read(text)
    return reader


def assert_same(one: Reader, other: Reader, then: str = "mente é\nĸ") -> None:
    """Both have read the same and predict the same, now and further on."""
    assert one.num_characters == other.num_characters
    assert one.text == other.text
    assert one.characters == other.characters
    a, b = one.predict(), other.predict()
    assert a.characters == b.characters
    np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=1e-9)
    assert a.rest == pytest.approx(b.rest, rel=1e-9)
    np.testing.assert_allclose(one.score(then).bits, other.score(then).bits, rtol=0, atol=1e-9)


@pytest.fixture(params=[True, False], ids=["letters", "no letters"])
def with_letters(request) -> bool:
    return request.param


@settings(max_examples=40)
@given(texts)
def test_what_comes_next_sums_to_one(text):
    prediction = reader_after(tiny_scorer(), text).predict()
    assert prediction.probabilities.sum() + prediction.rest == pytest.approx(1.0, abs=1e-12)
    assert np.all(prediction.probabilities > 0)
    assert prediction.rest > 0
    assert len(set(prediction.characters)) == len(prediction.characters) == len(prediction.probabilities)
    assert set(prediction.characters) == {*text, *OFTEN_FIRST, "\n", " "}


def test_the_same_text_gives_the_same_bits_wherever_arrays_lie_in_memory(scorer, with_letters):
    text = some_text(700)
    first = Reader(scorer, with_letters=with_letters).read(text).bits
    kept = []
    for number in range(25):
        kept.append(np.empty(7 + 13 * number, np.uint8))  # moves what is allocated next
        np.testing.assert_array_equal(Reader(scorer, with_letters=with_letters).read(text).bits, first)


def surprisal_by_prediction(reader: Reader, character: str) -> float:
    prediction = reader.predict()
    if character in prediction.characters:
        p = prediction.probabilities[list(prediction.characters).index(character)]
        return -math.log2(p)
    share = reader.scorer.first.log_share_outside(character, reader.characters)
    return -math.log2(prediction.rest) - share / math.log(2)


@pytest.mark.parametrize("learn_online", [True, False])
def test_surprisal_is_that_of_the_prediction(scorer, with_letters, learn_online):
    text = TEXT + ODD + "語 z" + TEXT
    reader = Reader(scorer, with_letters=with_letters, learn_online=learn_online)
    kinds = set()
    for character in text:
        is_met, is_known = character in reader.characters, character in OFTEN_FIRST
        kinds.add("met" if is_met else "known" if is_known else "outside")
        expected = surprisal_by_prediction(reader, character)
        assert reader.read(character).bits[0] == pytest.approx(expected, abs=1e-9)
    assert kinds == {"met", "known", "outside"}


def test_surprisal_is_that_of_the_prediction_when_every_known_character_was_met(scorer):
    reader = reader_after(scorer, OFTEN_FIRST)
    assert set(reader.predict().characters) == {*OFTEN_FIRST, "\n", " "}
    for character in "ßabß":
        expected = surprisal_by_prediction(reader, character)
        assert reader.read(character).bits[0] == pytest.approx(expected, abs=1e-9)


def test_a_reader_that_has_read_nothing(scorer):
    reader = Reader(scorer)
    assert (reader.num_characters, reader.text, reader.characters) == (0, "", ["\n", " "])
    reading = reader.read("")
    assert (len(reading.bits), reading.total_bits) == (0, 0.0)
    assert math.isnan(reading.bits_per_character)
    assert len(reader.score("").bits) == 0
    assert_same(reader, Reader(scorer))


@settings(max_examples=15)
@given(st.integers(0, 5), st.lists(st.integers(0, 1200), max_size=12))
def test_reading_in_pieces_is_reading_in_one(seed, cuts):
    scorer, text = tiny_scorer(), some_text(1200, seed)
    whole = Reader(scorer)
    bits = whole.read(text).bits
    pieces = Reader(scorer)
    places = [0, *sorted(cuts), len(text)]
    found = [pieces.read(text[a:b]).bits for a, b in itertools.pairwise(places)]
    np.testing.assert_allclose(np.concatenate(found), bits, rtol=0, atol=1e-9)
    assert_same(pieces, whole)


def test_reading_letter_by_letter_is_reading_in_one(scorer, with_letters):
    text = some_text(2 * _PIECE + 100) + ODD
    whole = Reader(scorer, with_letters=with_letters)
    bits = whole.read(text).bits
    letters = Reader(scorer, with_letters=with_letters)
    np.testing.assert_allclose([letters.read(c).bits[0] for c in text], bits, rtol=0, atol=1e-9)
    assert_same(letters, whole)


def test_reading_long_pieces_is_reading_in_one(scorer):
    text = some_text(10_000)  # beyond the pieces that reading and loading work by
    whole, pieces = Reader(scorer), Reader(scorer)
    bits = whole.read(text).bits
    found = [pieces.read(text[a : a + 4500]).bits for a in range(0, len(text), 4500)]
    np.testing.assert_allclose(np.concatenate(found), bits, rtol=0, atol=1e-9)
    assert_same(pieces, whole)


def test_progress_is_told(scorer):
    told: list[int] = []
    Reader(scorer).read(some_text(_PIECE + 9), on_progress=told.append)
    assert told == [_PIECE, 9]


@settings(max_examples=25)
@given(texts, texts, texts)
def test_the_future_does_not_leak(past, one, other):
    scorer = tiny_scorer()
    a, b = (Reader(scorer).read(past + future).bits[: len(past)] for future in (one, other))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_scoring_leaves_a_reader_as_it_was(scorer):
    reader = reader_after(scorer, TEXT)
    first = reader.score(some_text(1500) + ODD)
    second = reader.score(some_text(1500) + ODD)
    np.testing.assert_array_equal(first.bits, second.bits)
    assert_same(reader, reader_after(scorer, TEXT))
    np.testing.assert_allclose(reader.read(some_text(1500) + ODD).bits, first.bits, rtol=0, atol=1e-9)


def test_scoring_that_is_interrupted_leaves_a_reader_as_it_was(scorer, monkeypatch):
    reader = reader_after(scorer, TEXT)
    bits_of = Reader._bits_of
    pieces = iter(range(10))

    def interrupted(self, gathered):
        if next(pieces):
            raise KeyboardInterrupt
        return bits_of(self, gathered)

    with monkeypatch.context() as patch:
        patch.setattr(Reader, "_bits_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reader.score(some_text(1500))
    assert_same(reader, reader_after(scorer, TEXT))


def test_predicting_leaves_a_reader_as_it_was(scorer):
    reader = Reader(scorer)
    other = Reader(scorer)
    for character in TEXT + "ß語":
        reader.predict()
        np.testing.assert_array_equal(reader.read(character).bits, other.read(character).bits)


@settings(max_examples=20)
@given(texts, texts, texts)
def test_undoing_is_not_having_read(before, gone, then):
    scorer = tiny_scorer()
    reader = reader_after(scorer, before)
    mark = reader.mark()
    reader.read(gone)
    reader.undo(mark)
    assert_same(reader, reader_after(scorer, before))
    bits = reader.read(then).bits
    np.testing.assert_allclose(bits, reader_after(scorer, before).read(then).bits, rtol=0, atol=1e-9)
    reader.undo(mark)  # a mark can be used again
    reader.forget(mark)
    assert_same(reader, reader_after(scorer, before), then)


def test_marks_within_marks(scorer):
    reader = reader_after(scorer, "Kard ")
    outer = reader.mark()
    reader.read("a mente ")
    inner = reader.mark()
    reader.read("est é ß")
    reader.undo(inner)
    assert_same(reader, reader_after(scorer, "Kard a mente "))
    reader.read("ura")
    reader.forget(inner)
    reader.read(" dok")
    assert_same(reader, reader_after(scorer, "Kard a mente ura dok"))
    reader.undo(outer)
    assert_same(reader, reader_after(scorer, "Kard "))
    reader.forget(outer)
    assert_same(reader, reader_after(scorer, "Kard "))
    with pytest.raises(ValueError, match="wanted one of this reader"):
        reader.undo(outer)


@pytest.mark.parametrize(
    "gone",
    [some_text(9000, 1), "".join(map(chr, range(0x1000, 0x1400))) * 2],
    ids=["larger table", "larger alphabet"],
)
def test_undoing_across_growth(scorer, gone):
    reader = reader_after(scorer, TEXT)
    mark = reader.mark()
    reader.read(gone[:-50])
    inner = reader.mark()
    reader.read(gone[-50:])
    reader.undo(inner)
    assert_same(reader, reader_after(scorer, TEXT + gone[:-50]))
    reader.undo(mark)
    assert_same(reader, reader_after(scorer, TEXT))
    reader.read("other ßöä text")
    assert_same(reader, reader_after(scorer, TEXT + "other ßöä text"))
    reader.undo(mark)
    reader.forget(mark)
    assert_same(reader, reader_after(scorer, TEXT))


@pytest.mark.parametrize("how", [copy.copy, Reader.copy], ids=["copy.copy", "copy"])
def test_a_copy_is_the_same_and_goes_its_own_way(scorer, how):
    reader = reader_after(scorer, TEXT, language="xyz", with_letters=False)
    mark = reader.mark()
    reader.read("mente")
    twin = how(reader)
    assert (twin.language, twin.with_letters, twin.learn_online) == ("xyz", False, True)
    assert_same(twin, reader)
    twin.read(some_text(3000) + ODD)
    assert_same(reader, reader_after(scorer, TEXT + "mente", with_letters=False))
    reader.undo(mark)
    assert_same(reader, reader_after(scorer, TEXT, with_letters=False))
    assert_same(twin, reader_after(scorer, TEXT + "mente" + some_text(3000) + ODD, with_letters=False))


@pytest.mark.parametrize("text", ["", TEXT, some_text(6000), ODD, "".join(map(chr, range(0x4E00, 0x4E96)))])
def test_saving_and_loading_is_the_identity(scorer, tmp_path, text):
    reader = reader_after(scorer, text, language="lmo", learn_online=len(text) % 2 == 0)
    reader.save(tmp_path / "reader", provenance={"made": "here"})
    again = Reader.load(tmp_path / "reader", scorer)
    assert (again.language, again.with_letters, again.learn_online) == ("lmo", True, reader.learn_online)
    assert_same(again, reader)
    more = some_text(700, 1) + ODD
    np.testing.assert_allclose(again.read(more).bits, reader.read(more).bits, rtol=0, atol=1e-9)
    again.save(tmp_path / "reader")  # in place of the first
    assert_same(Reader.load(tmp_path / "reader", scorer), reader)


def test_what_was_only_scored_is_not_saved(scorer, tmp_path):
    reader = reader_after(scorer, TEXT)
    reader.score("".join(map(chr, range(0x4E00, 0x4E96))))  # more characters than there was room for
    reader.save(tmp_path / "reader")
    assert_same(Reader.load(tmp_path / "reader", scorer), reader_after(scorer, TEXT))


def test_a_reader_of_another_scorer_is_refused(scorer, tmp_path):
    Reader(scorer).save(tmp_path / "reader")
    with pytest.raises(StorageError, match=f"made with scorer {scorer.identity[:12]}.*wanted the same release"):
        Reader.load(tmp_path / "reader", tiny_scorer(1))


def test_a_damaged_or_foreign_reader_is_refused(scorer, tmp_path):
    reader_after(scorer, TEXT).save(tmp_path / "reader")
    file = tmp_path / "reader" / "reader.safetensors"
    content = file.read_bytes()
    for place in (0, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(StorageError, match="damaged"):
            Reader.load(tmp_path / "reader", scorer)
    file.write_bytes(content[:-1])
    with pytest.raises(StorageError, match="truncated"):
        Reader.load(tmp_path / "reader", scorer)
    with pytest.raises(StorageError, match="no such directory"):
        Reader.load(tmp_path / "nothing", scorer)
    scorer.save(tmp_path / "scorer")
    with pytest.raises(StorageError, match="a scorer; wanted a reader"):
        Reader.load(tmp_path / "scorer", scorer)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир. Привет!\nΓειά σου κόσμε\nשלום עולם\nمرحبا بالعالم\nनमस्ते दुनिया\n"
        "សួស្តី\nགཅིག\nአማርኛ\n你好世界。こんにちは\n한국어",
        "👩‍👩‍👧‍👦 😀😀 🇪🇺\ufe0f",
        "\0\0a\0\0a\0",
        "\ud800\udc00 \udc00\ud800 \ud800",  # lone surrogates, and a pair that is two characters here
        "\r\n\r\n\x0b\x0c\x85\u2028\u2029\t",
        "a" + "\u0301" * 300,
        "\n" * 700,
        " " * 700,
    ],
    ids=["scripts", "emoji", "NUL", "surrogates", "line ends", "marks", "line feeds", "blanks"],
)
def test_any_text_can_be_read(scorer, text):
    reader = Reader(scorer)
    reading = reader.read(text)
    assert reader.text == text
    assert len(reading.bits) == len(text)
    assert np.all(np.isfinite(reading.bits))
    assert np.all(reading.bits >= 0)
    prediction = reader.predict()
    assert prediction.probabilities.sum() + prediction.rest == pytest.approx(1.0, abs=1e-12)


def test_thousands_of_different_characters(scorer):
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    reader = Reader(scorer)
    bits = reader.read(text).bits
    assert len(reader.characters) == 3002
    assert np.all(np.isfinite(bits))
    prediction = reader.predict()
    assert prediction.probabilities.sum() + prediction.rest == pytest.approx(1.0, abs=1e-12)


def test_a_long_line_without_blanks(scorer):
    text = "".join(random.Random(0).choices("abc", k=100_000))
    reading = reader_after(scorer, "a b").read(text)
    assert np.all(np.isfinite(reading.bits))
    # The weights are random, so it does not learn well; but three letters are not a thousand.
    assert reading.bits[1000:].mean() < 3


def test_what_was_read_becomes_likelier(scorer):
    reader = Reader(scorer)
    first = reader.read(TEXT).total_bits
    assert reader.score(TEXT).total_bits < 0.5 * first
    off = Reader(scorer, learn_online=False)
    off.read(TEXT)
    assert off.score(TEXT).total_bits != pytest.approx(reader.score(TEXT).total_bits, rel=1e-6)


def test_letters_matter(scorer):
    with_them, without = Reader(scorer).read(TEXT), Reader(scorer, with_letters=False).read(TEXT)
    assert np.abs(with_them.bits - without.bits).max() > 0.01


def test_the_likeliest_characters_come_in_order(scorer):
    prediction = reader_after(scorer, TEXT).predict()
    best = prediction.most_likely(5)
    assert [p for _, p in best] == sorted(prediction.probabilities, reverse=True)[:5]
    assert best[0][0] in KNOWN + TEXT
    assert len(prediction.most_likely(10_000)) == len(prediction.characters)


def test_the_installed_scorer_obeys_the_laws(tmp_path):
    scorer = shipped_scorer()
    text = some_text(600) + ODD + TEXT
    whole = Reader(scorer)
    bits = whole.read(text).bits
    letters = Reader(scorer)
    for i, character in enumerate(text):
        if i % 50 == 0 or i >= 600:
            prediction = letters.predict()
            assert prediction.probabilities.sum() + prediction.rest == pytest.approx(1.0, abs=1e-12)
            assert bits[i] == pytest.approx(surprisal_by_prediction(letters, character), abs=1e-9)
        assert letters.read(character).bits[0] == pytest.approx(bits[i], abs=1e-9)
    assert_same(letters, whole)
    whole.save(tmp_path / "reader")
    assert_same(Reader.load(tmp_path / "reader", scorer), whole)
    gibberish = "".join(random.Random(0).sample(TEXT * 3, len(TEXT) * 3))
    assert whole.score(TEXT * 3).bits_per_character < 0.5 * whole.score(gibberish).bits_per_character
