"""What the code of a language says of near ones, and that a reader that knows it obeys the same laws."""

import copy
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from protoglot.errors import StorageError, TypologyError
from protoglot.reading import nearness as module
from protoglot.reading.compressed import compress, expand
from protoglot.reading.lexicons import Lexicons
from protoglot.reading.nearness import nearness
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import Scorer
from protoglot.typology import Typology
from reading.test_reader import ODD, TEXT, assert_same, reader_after, some_text, surprisal_by_prediction
from tiny_scorer import tiny_scorer, tiny_texts

MAYAN, GERMANIC = ("cak", "quc", "usp"), ("deu", "nld", "swe")
CODES = (*MAYAN, *GERMANIC)
LONG = "\n".join(dict(tiny_texts())["xac"]) + some_text(500)


@lru_cache(maxsize=1)
def scorer_of_real_codes() -> Scorer:
    """The tiny lexicons as those of languages that URIEL has."""
    texts = [(code, sentences) for code, (_, sentences) in zip(CODES, tiny_texts(), strict=True)]
    return replace(tiny_scorer(), lexicons=Lexicons.of(texts, num_words=24))


@pytest.fixture
def scorer() -> Scorer:
    return scorer_of_real_codes()


@pytest.mark.parametrize(("code", "near"), [("tzo", MAYAN), ("dan", GERMANIC), ("isl", GERMANIC), ("kek", MAYAN)])
def test_relatives_and_neighbours_are_near(code, near):
    values = dict(zip(CODES, nearness(code, CODES), strict=True))
    assert {other for other, value in values.items() if value > 0} == set(near)
    assert abs(sum(values.values())) < 0.01


def test_each_language_has_its_own_whatever_the_order():
    values = dict(zip(CODES, nearness("tzo", CODES), strict=True))
    assert dict(zip(CODES[::-1], nearness("tzo", CODES[::-1]), strict=True)) == values


def test_the_language_itself_is_nearest():
    assert np.argmax(nearness("nld", CODES)) == CODES.index("nld")


def test_places_are_where_languages_are_spoken():
    places = module._places(Typology.installed().directory / module.DISTANCES, ["deu", "tzo"])
    latitudes = np.degrees(np.arcsin(places[:, 2]))
    longitudes = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
    np.testing.assert_allclose(latitudes, [48.65, 16.6], atol=0.5)
    np.testing.assert_allclose(longitudes, [12.5, -92.7], atol=0.5)


def test_a_language_that_is_not_known_is_far():
    values = nearness("tzo", [*CODES, "qqq"])
    assert values[-1] == values[:-1].min()


@pytest.mark.parametrize("code", ["", "qqq", "Tzotzil", "tz", "TZO"])
def test_nothing_is_near_what_is_no_code(code):
    assert nearness(code, CODES) is None


def test_nothing_is_near_without_others_or_without_uriel(monkeypatch, tmp_path):
    assert nearness("tzo", []) is None
    assert nearness("tzo", ["qqq"]) is None

    def fail() -> Typology:
        raise TypologyError("not installed")

    monkeypatch.setattr(module, "DISTANCES", "missing.npz")
    assert nearness("tzo", CODES) is None
    monkeypatch.setattr(Typology, "installed", fail)
    assert nearness("tzo", CODES) is None


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "distances.npz").write_bytes(b"no archive")
    with pytest.raises(TypologyError, match="cannot be read as URIEL"):
        module._places(tmp_path / "distances.npz", ["tzo"])


def test_near_languages_are_followed_before_the_text_says_so(scorer):
    for code, near in (("tzo", MAYAN), ("dan", GERMANIC)):
        reader = reader_after(scorer, "1234567890 2", language=code)
        assert reader._evidence.choice.languages == ()
        reader.read("3")
        assert set(reader._evidence.choice.languages[:3]) == set(near)


def test_letters_of_near_languages_are_expected_first(scorer):
    # Letters are exchanged between the tiny languages: only the fourth, here nld, is written in Cyrillic.
    position = sorted(CODES).index("nld")
    values = np.zeros(len(CODES))
    values[position] = 3.0
    change = scorer.lexicons.change_of_frequency(values, ["д", "Д", "d", ".", "語"])
    has = scorer.lexicons._has_letter[position]
    cyrillic = [has[scorer.lexicons.numbers[c]] for c in "д" if c in scorer.lexicons.numbers]
    assert change[3] == change[4] == 0.0
    assert change[0] == change[1]
    assert all((change[0] > 0) == (share > 0.5) for share in cyrillic)


@pytest.mark.parametrize("code", ["", "qqq", "Tzotzil"])
def test_what_is_no_code_changes_nothing(scorer, code):
    reader, plain = Reader(scorer, language=code), Reader(scorer)
    np.testing.assert_array_equal(reader.read(LONG).bits, plain.read(LONG).bits)
    assert reader.fingerprint() == plain.fingerprint()


def test_a_code_is_known_before_anything_is_read(scorer):
    reader, plain = Reader(scorer, language="tzo"), Reader(scorer)
    assert reader.fingerprint() != plain.fingerprint()
    assert not np.allclose(reader.predict().probabilities, plain.predict().probabilities)


@pytest.mark.parametrize("with_letters", [True, False])
def test_surprisal_is_that_of_the_prediction(scorer, with_letters):
    reader = Reader(scorer, language="tzo", with_letters=with_letters)
    for character in TEXT + ODD + "語 z" + LONG[:60]:
        prediction = reader.predict()
        assert prediction.probabilities.sum() + prediction.rest == pytest.approx(1.0, abs=1e-12)
        expected = surprisal_by_prediction(reader, character)
        assert reader.read(character).bits[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [1, 5, 12, 13, 100])
def test_reading_in_pieces_is_reading_in_one(scorer, size):
    whole = reader_after(scorer, language="tzo").read(LONG).bits
    reader = Reader(scorer, language="tzo")
    pieces = [reader.read(LONG[i : i + size]).bits for i in range(0, len(LONG), size)]
    np.testing.assert_allclose(np.concatenate(pieces), whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("length", [0, 11, 12, 24, 25, 26, 49, 50, 300])
def test_undoing_copying_and_saving(scorer, length, tmp_path):
    reader = reader_after(scorer, LONG[:length], language="tzo")
    mark = reader.mark()
    reader.read(LONG[length : length + 150])
    reader.undo(mark)
    fresh = reader_after(scorer, LONG[:length], language="tzo")
    assert_same(reader, fresh, LONG[length:])
    assert_same(copy.copy(reader), fresh, LONG[length:])
    assert reader.copy().language == "tzo"
    reader.save(tmp_path / "reader")
    loaded = Reader.load(tmp_path / "reader", scorer)
    assert_same(loaded, fresh, LONG[length:])
    assert_same(loaded.copy(), fresh, LONG[length:])
    assert loaded.language == "tzo"
    assert loaded.fingerprint() == fresh.fingerprint()


def test_a_saved_reader_needs_no_uriel(scorer, tmp_path, monkeypatch):
    reader = reader_after(scorer, LONG, language="tzo")
    reader.save(tmp_path / "reader")
    monkeypatch.setattr(module, "DISTANCES", "missing.npz")
    loaded = Reader.load(tmp_path / "reader", scorer)
    assert_same(loaded, reader)
    loaded.save(tmp_path / "again")
    assert_same(Reader.load(tmp_path / "again", scorer), reader)


@pytest.mark.parametrize("near", [np.zeros(3), np.full(len(CODES), np.nan)], ids=["short", "not numbers"])
def test_a_reader_saved_with_other_lexicons_is_refused(scorer, tmp_path, near):
    reader = reader_after(scorer, TEXT, language="tzo")
    reader._near = near
    reader.save(tmp_path / "reader")
    with pytest.raises(StorageError, match="near"):
        Reader.load(tmp_path / "reader", scorer)


def test_what_is_compressed_comes_back(scorer):
    content = compress(LONG, Reader(scorer, language="tzo"))
    assert expand(content, Reader(scorer, language="tzo"), name="text") == LONG
    with pytest.raises(StorageError, match="another model"):
        expand(content, Reader(scorer), name="text")
