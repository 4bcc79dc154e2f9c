"""What lines of a model's own language cost, and which lines are unknown to it for that reason."""

import math
from dataclasses import replace

import numpy as np
import pytest

import protoglot
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.opening import open_corpus
from protoglot.errors import StorageError
from protoglot.identification import Identifier
from protoglot.own_lines import MOST_MEASURED, OwnLines, lines_to_measure
from protoglot.reader_model import ReaderModel, read_page
from protoglot.reading.reader import Reader
from protoglot.reading.shipped import shipped_scorer_path
from protoglot.splits import few_shot_sample, split_sentences
from tiny import babble
from tiny_scorer import tiny_scorer

PAGE = babble("abdëg", 20, seed=0)


def test_a_line_in_seventy_of_normal_shares_is_above_the_bound():
    generator = np.random.default_rng(0)
    for number in (6, 20, 100):
        above = [
            generator.normal(0.6, 0.1) > OwnLines.of(generator.normal(0.6, 0.1, number).tolist()).most_share
            for _ in range(4000)
        ]
        assert 0.01 < np.mean(above) < 0.05


def test_lines_that_repeat_earlier_ones_do_not_raise_the_bound():
    some = np.random.default_rng(0).normal(0.6, 0.05, 40).tolist()
    low = [share - 0.4 if share < 0.55 else share for share in some]
    assert OwnLines.of(low) == OwnLines.of(some)


def test_a_bound_is_never_above_the_background():
    assert OwnLines.of([0.5, 1.5, 0.7, 1.2, 0.9]).most_share == 1.0
    assert OwnLines.of([1.3] * 9).most_share == 1.0


def test_lines_are_those_of_the_later_half_that_came_for_the_first_time():
    assert list(lines_to_measure(["a", "b", "c", "a", "d", "d", "e"])) == [4, 6]
    assert list(lines_to_measure([])) == []
    many = [str(number) for number in range(10 * MOST_MEASURED)]
    assert list(lines_to_measure(many)) == list(range(9 * MOST_MEASURED, 10 * MOST_MEASURED))


def test_it_is_the_same_after_saving():
    found = OwnLines.of([0.5, 0.6, 0.7, 0.6, 0.5])
    assert OwnLines.from_json(found.to_json()) == found
    assert OwnLines.from_json(None) is None


@pytest.mark.parametrize(
    "wrong", [3, {}, {"num_lines": 9}, {"num_lines": 9, "median_share": 0.5, "most_share": 2}, {"most_share": "x"}]
)
def test_anything_else_is_refused(wrong):
    with pytest.raises(StorageError, match="own_lines"):
        OwnLines.from_json(wrong)


def test_shares_are_measured_before_a_line_is_read():
    model, reading = read_page(Reader(tiny_scorer(), language="wol"), PAGE, {"text": "p"})
    shares, reader = [], Reader(tiny_scorer(), language="wol")
    for number, sentence in enumerate(PAGE):
        bits = reader.read(f"{sentence}\n").total_bits
        if number >= len(PAGE) // 2:
            shares.append(bits / Reader(tiny_scorer()).read(f"{sentence}\n").total_bits)
    wanted = OwnLines.of(shares)
    assert model.own_lines.num_lines == 10
    assert model.own_lines.median_share == pytest.approx(wanted.median_share)
    assert model.own_lines.most_share == pytest.approx(wanted.most_share)
    assert reading.bits_per_character == pytest.approx(
        Reader(tiny_scorer(), language="wol").read(model.reader.text).bits.mean()
    )


def test_progress_comes_to_all_of_it():
    done = []
    read_page(Reader(tiny_scorer()), PAGE, {}, on_progress=done.append)
    assert math.fsum(done) == pytest.approx(1)


def test_a_short_page_measures_nothing():
    model, _ = read_page(Reader(tiny_scorer()), PAGE[:8], {})
    assert model.own_lines is None
    assert model.most_nats("abd") == model.background_nats("abd")


def test_a_line_above_the_bound_is_unknown(tmp_path):
    read_page(Reader(tiny_scorer(), language="wol"), PAGE, {})[0].save(tmp_path / "m")
    model = ReaderModel.load(tmp_path / "m", tiny_scorer())
    sentence = babble("abdëg", 30, seed=0)[-1]
    share = model.score([sentence]).nats / model.background_nats(sentence)
    for change, is_known in ((0.01, True), (-0.01, False)):
        own = replace(model.own_lines, most_share=share + change).to_json()
        other = ReaderModel(model.reader, {**model.provenance, "own_lines": own})
        assert Identifier({"wol": other}).identify(sentence).is_known is is_known


@pytest.fixture(scope="module")
def scorer_is_installed():
    try:
        shipped_scorer_path()
    except StorageError as error:
        pytest.skip(str(error))


def shares_of_unknown(texts, foreign, *, num_sentences):
    """Of held-out lines to the models of their own languages, and of foreign lines to all models together."""
    prior = protoglot.load_prior()
    models, own = {}, []
    for code, sentences in texts.items():
        split = split_sentences(sentences)
        page = few_shot_sample(split.train, num_sentences, language=code, seed=0)
        models[code] = prior.adapt(page, language=code).language_model
        alone = Identifier({code: models[code]})
        others = few_shot_sample(split.test, 40, language=code, seed=1)
        own += [not alone.identify(line).is_known for line in others]
    together = Identifier(models)
    return np.mean(own), np.mean([not together.identify(line).is_known for line in foreign])


def test_models_do_not_claim_lines_of_other_languages(scorer_is_installed):
    corpus = EldCorpus()
    texts = {code: corpus.sentences(code) for code in ("eus", "yor", "msa")}
    foreign = [
        line for code in ("hun", "eng", "pol") for line in split_sentences(corpus.sentences(code)).test[:25]
    ]
    own, others = shares_of_unknown(texts, foreign, num_sentences=200)
    assert own <= 0.05
    assert others >= 0.95


@pytest.mark.corpora
def test_models_of_bibles_do_not_claim_other_text(scorer_is_installed, corpora):
    texts = {
        code: [
            line for line in (corpora / "bible77" / f"{code}.txt").read_text(encoding="utf-8").splitlines() if line
        ]
        for code in ("zul", "kek")
    }
    foreign = list(open_corpus("udhr").sentences("hau"))[5:40]
    own, others = shares_of_unknown(texts, foreign, num_sentences=100)
    assert own <= 0.05
    assert others >= 0.95
