import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import protoglot
from protoglot.api import Model, Prior, sentences_of
from protoglot.errors import ConfigError, StorageError, TextError
from test_language_learning import SENTENCES, UNSEEN, tuned_prior
from tiny_scorer import tiny_scorer

TEXT = [sentence for sentence in UNSEEN if sentence]
KINDS = {"reader": {}, "fast reader": {"fast": True}, "network": {"method": "fitu"}}


@pytest.fixture(scope="module", autouse=True)
def _a_scorer_that_stays():
    """Not the installed one, which other releases replace."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("api", "reader_model"):
            patch.setattr(f"protoglot.{module}.shipped_scorer", tiny_scorer)
        yield


@pytest.fixture(scope="module", params=["bare", "oest"])
def prior(request, tmp_path_factory) -> Prior:
    path = tmp_path_factory.mktemp("prior") / "p"
    tuned_prior(request.param).save(path)
    return protoglot.load_prior(path)


@pytest.fixture(scope="module", params=KINDS)
def model(request, prior) -> Model:
    return prior.adapt("\n".join(SENTENCES), language="wol", **KINDS[request.param])


def test_a_model_scores_and_its_surprisal_adds_up(model):
    score = model.score(TEXT)
    lines = model.surprisal("\n".join(TEXT))
    assert [line.text for line in lines] == TEXT
    total = sum((line.score for line in lines[1:]), lines[0].score)
    assert total.num_characters == score.num_characters
    assert total.nats == pytest.approx(score.nats, rel=1e-9)


def test_a_model_writes_and_completes(model):
    texts = model.generate(number=3, length=20, seed=1)
    assert texts == model.generate(number=3, length=20, seed=1)
    assert all(len(text) <= 20 and "\n" not in text for text in texts)
    words = model.complete("ab", number=3)
    assert len(words) == 3
    assert [word.probability for word in words] == sorted((word.probability for word in words), reverse=True)


def test_a_model_is_the_same_after_saving(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = protoglot.load_model(str(tmp_path / "m"))
    assert loaded.score(UNSEEN).nats == pytest.approx(model.score(UNSEEN).nats, rel=1e-9)
    assert loaded.language_model.language == "wol"


def test_a_model_replaces_only_a_model_and_only_if_told_to(prior, tmp_path):
    model = prior.adapt(SENTENCES)
    for place, make in {
        "m": model.save,
        "folder": Path.mkdir,
        "file": Path.touch,
        "link": link_to_nowhere,
    }.items():
        path = tmp_path / place
        make(path)
        with pytest.raises(StorageError, match=r"exists already; wanted a new directory, or overwrite=True"):
            model.save(path)
    model.read(TEXT)
    model.save(tmp_path / "m", overwrite=True)
    assert protoglot.load_model(tmp_path / "m").reader.text == model.reader.text
    (tmp_path / "folder" / "mine").touch()
    for place in ("folder", "file", "link"):
        with pytest.raises(StorageError, match="an artefact to replace"):
            model.save(tmp_path / place, overwrite=True)
    model.save(tmp_path / "new", overwrite=True)


def link_to_nowhere(path):
    path.symlink_to("nowhere")


def test_adapting_is_reading_each_sentence_and_the_line_feed_after_it(prior):
    reader = prior.reader(language="wol")
    assert reader.num_characters == 0
    reader.read("".join(f"{sentence}\n" for sentence in SENTENCES))
    model = prior.adapt(SENTENCES, language="wol")
    assert model.reader.text == reader.text
    assert model.score(TEXT).nats == pytest.approx(Model(type(model.language_model)(reader)).score(TEXT).nats)


def test_no_sentence_is_zero_shot(prior):
    fresh = prior.adapt([])
    assert fresh.reader.num_characters == 0
    assert fresh.score(UNSEEN).nats == pytest.approx(prior.adapt("\n \n").score(UNSEEN).nats, rel=1e-9)
    network = prior.adapt([], method="univ")
    assert network.score(UNSEEN).num_characters == fresh.score(UNSEEN).num_characters


def test_a_reader_reads_on_and_tells_what_it_had_not_met(prior):
    model = prior.adapt(SENTENCES)
    before = model.score(TEXT).nats
    lines = model.read([*TEXT, "жж ж"])
    assert lines[-1].num_unknown == 3
    assert sum(line.score.nats for line in lines[:-1]) == pytest.approx(before)
    assert model.score(TEXT).nats < before


def test_static_surprisal_is_of_each_line_alone(prior):
    model = prior.adapt(SENTENCES)
    lines = model.surprisal(TEXT[:1] * 2, static=True)
    assert lines[0].total_bits == pytest.approx(lines[1].total_bits, rel=1e-9)
    assert model.surprisal(TEXT[:1] * 2)[1].total_bits < lines[1].total_bits
    assert model.score(TEXT[:1] * 2, static=True).nats == pytest.approx(2 * lines[0].score.nats)


def test_what_a_kind_of_model_cannot_do_is_named(prior):
    with pytest.raises(ConfigError, match="wanted a reader"):
        prior.adapt(SENTENCES, method="fitu").read(TEXT)
    with pytest.raises(ConfigError, match="wanted a model that was adapted with a method"):
        _ = prior.adapt(SENTENCES).adapted
    with pytest.raises(ConfigError, match="wanted no method"):
        prior.adapt(SENTENCES, method="fitu", fast=True)


def test_a_method_gives_the_network_alone(prior):
    network = prior.adapt(SENTENCES, method="univ", language="wol").adapted
    assert network.ngram is not None
    assert network.score(TEXT) == replace(network, ngram=None).score(TEXT)


def test_methods_and_seeds_are_the_users_choice(prior):
    by_name = prior.adapt(SENTENCES, method="univ", language="wol").score(UNSEEN)
    assert by_name == prior.adapt(SENTENCES, method="univ", language="wol").score(UNSEEN)
    assert by_name != prior.adapt(SENTENCES, method="univ", language="wol", seed=1).score(UNSEEN)
    epochs = []
    prior.adapt(SENTENCES, method="fitu", on_epoch=lambda *facts: epochs.append(facts[:2]))
    assert epochs == [(number, epochs[-1][1]) for number in range(1, epochs[-1][1] + 1)]


def test_the_network_of_a_prior_is_read_once_and_when_it_is_needed(prior, monkeypatch):
    fresh = protoglot.load_prior(prior.path)
    monkeypatch.setattr("protoglot.prior.universal.UniversalPrior.load", lambda path: object())
    assert fresh.reader().num_characters == 0
    assert fresh.universal is fresh.universal


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, ""),
        ("eus", "eus"),
        ("eu", "eus"),
        ("Basque", "eus"),
        ("of the hills", "of the hills"),
        ("my/own.csv", "own.csv"),
    ],
)
def test_a_reader_keeps_the_code_of_its_language(prior, given, kept):
    assert prior.reader(language=given).language == kept


def test_what_is_no_prior_and_no_model_is_refused(prior, tmp_path):
    prior.adapt(SENTENCES).save(tmp_path / "m")
    with pytest.raises(StorageError, match="kind 'reader'; wanted a prior"):
        protoglot.load_prior(tmp_path / "m")
    with pytest.raises(StorageError, match="kind 'prior'; wanted a model"):
        protoglot.load_model(prior.path)


def test_a_reader_needs_no_torch(tmp_path):
    code = """
import sys
import protoglot
model = protoglot.load_prior().adapt("Izan bedi argia.", language="Basque")
model.save(sys.argv[1])
model = protoglot.load_model(sys.argv[1])
model.surprisal("Eta argia"), model.generate(length=3), model.complete("Iz"), model.read("bai")
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "m"], check=False).returncode == 0


def test_sentences_are_normalised_and_must_be_text():
    assert sentences_of(" a  b \r\n\n c") == ["a b", "c"]
    assert sentences_of("a\rb\nc") == ["a", "b", "c"]
    assert len(sentences_of("ab\u2028cd\x0bef\x85gh")) == 1  # as in a file
    with pytest.raises(TextError, match="not a string"):
        sentences_of([b"abc"])


def test_the_package_names_what_it_has():
    assert {"load_prior", "load_model"} <= set(dir(protoglot)) | set(protoglot.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = protoglot.nothing
