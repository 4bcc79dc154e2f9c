import csv
import io
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.heat_map import LIMITS, HeatMap, shade, step_of
from protoglot.surprisal import LineSurprisal, surprisals
from protoglot.surprisal_files import NestedJson, TabSeparated
from protoglot.text import normalise
from tiny import babble, tiny_adapted

TEXT = babble("abdëgñ", 6, seed=3)
texts = st.text(st.sampled_from("ab <>&\"'\té\u0301\u202eא👩\u200d"), max_size=20)


def made_up(text, *, seed=0, number=1):
    bits = np.random.default_rng([seed, len(text)]).exponential(4, len(text) + 1)
    return LineSurprisal(number, text, bits, 0)


def written(kind, lines, **settings):
    pieces = []
    file = kind(pieces.append, **settings)
    file.add_text("a <text>")
    for line in lines:
        file.add(line)
    file.finish()
    return "".join(pieces)


@given(texts)
@settings(max_examples=60)
def test_every_character_is_in_one_word_and_bits_add_up(text):
    line = made_up(text)
    words = line.words()
    np.testing.assert_array_equal(np.concatenate([word.bits for word in words]), line.bits)
    assert math.fsum(word.total_bits for word in words) == pytest.approx(line.total_bits)
    assert [word.text for word in words if word.text] == text.split()
    assert all(text[word.start : word.start + len(word.text)] == word.text for word in words)


def test_lines_add_up_to_the_score_of_the_text():
    model = tiny_adapted()
    lines = list(surprisals(model, enumerate([*TEXT, "жb"], start=3)))
    score = model.score([*TEXT, "жb"])
    assert [line.number for line in lines] == [*range(3, 10)]
    assert math.fsum(line.total_bits for line in lines) == pytest.approx(score.nats / math.log(2))
    assert sum(line.score.num_characters for line in lines) == score.num_characters
    assert [line.num_unknown for line in lines] == [0] * 6 + [1]


@given(st.lists(texts.map(normalise).filter(bool), min_size=1, max_size=4))
@settings(max_examples=40)
def test_files_hold_the_text_and_add_up(sentences):
    lines = [made_up(text, number=number) for number, text in enumerate(sentences)]
    total = math.fsum(line.total_bits for line in lines)
    rows = list(csv.DictReader(io.StringIO(written(TabSeparated, lines)), dialect="excel-tab"))
    assert math.fsum(float(row["bits"]) for row in rows) == pytest.approx(total, abs=1e-3)
    assert math.fsum(float(row["word_bits"]) for row in rows if row["word_bits"]) == pytest.approx(total, abs=1e-3)
    for number, text in enumerate(sentences):
        of_line = [row for row in rows if row["line"] == str(number)]
        assert "".join(row["character"] for row in of_line) == f"{text}<end>"
        assert [int(row["position"]) for row in of_line] == [*range(1, len(text) + 2)]
    nested = json.loads(written(NestedJson, lines))
    assert [line["sentence"] for line in nested] == sentences
    for line, wanted in zip(nested, lines, strict=True):
        assert line["bits"] == pytest.approx(wanted.total_bits)
        bits = [character["bits"] for word in line["words"] for character in word["characters"]]
        assert bits == wanted.bits.tolist()
        assert math.fsum(word["bits"] for word in line["words"]) == pytest.approx(line["bits"])


def test_no_lines_are_an_empty_list():
    assert json.loads(written(NestedJson, [])) == []


@given(st.lists(texts, max_size=3))
@settings(max_examples=60)
def test_a_heat_map_escapes_everything_and_shows_all_bits(sentences):
    lines = [made_up(text) for text in sentences]
    page = written(HeatMap, lines, title='<script>"&')
    cells = re.findall(r'<i class="s(\d)" title="([\d.]+) bits[^"<>]*">([^<>]*)</i>', page)
    assert "<script" not in page
    assert "\u202e" not in page
    assert sum(float(bits) for _, bits, _ in cells) == pytest.approx(
        math.fsum(line.total_bits for line in lines), abs=0.01 * (1 + len(cells))
    )
    # Nothing but the tags that the page is made of, and all of them closed.
    tags = re.findall(r"</?(\w+)", page.removeprefix("<!DOCTYPE html>"))
    assert set(tags) <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "main", "p", "i"}
    for tag in {*tags} - {"meta"}:
        assert len(re.findall(rf"<{tag}\b", page)) == page.count(f"</{tag}>")
    assert not re.search(r"https?:|src=|href=|url\(|@import", page)


def test_letters_of_several_characters_are_one_cell_with_their_sum():
    line = LineSurprisal(1, "e\u0301x", np.array([1.0, 2.5, 0.25, 4.0]), 0)
    page = written(HeatMap, [line], title="")
    assert '<i class="s4" title="3.50 bits (1.00 + 2.50); word 7.75">e\u0301</i>' in page


def test_a_long_text_is_shown_in_part_and_the_page_says_so():
    lines = [made_up("abcd"), made_up("efghi"), made_up("j")]
    page = written(HeatMap, lines, title="", longest=9)
    assert "13 characters" in page
    assert "only the first 5 are shown" in page
    assert ">a</i>" in page
    assert ">e</i>" not in page


def luminance(colour):
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_colours_get_darker_and_letters_stay_readable():
    shades = [shade(number) for number in range(len(LIMITS) + 1)]
    grounds = [luminance(found.ground) for found in shades]
    assert grounds == sorted(grounds, reverse=True)
    for found in shades:
        light, dark = sorted([luminance(found.ground), luminance(found.ink)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4.5  # what accessibility guidelines ask of text


def test_steps_of_the_scale():
    assert [step_of(bits) for bits in (0.0, 0.49, 0.5, 11.9, 12.0, 1e9)] == [0, 0, 1, 7, 8, 8]
