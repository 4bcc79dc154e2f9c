import io
import re
import sys
from dataclasses import replace

import pytest

from protoglot.adapted import AdaptedModel
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import Method
from protoglot.prior.universal import UniversalPrior
from protoglot.reader_model import ReaderModel
from protoglot.reading.reader import Reader
from tiny import babble, babble_corpus, tiny_trained
from tiny_scorer import tiny_scorer


@pytest.fixture(scope="module", autouse=True)
def _a_small_scorer():
    with pytest.MonkeyPatch.context() as patch:
        for module in ("api", "reader_model"):
            patch.setattr(f"protoglot.{module}.shipped_scorer", tiny_scorer)
        yield


def prior_on_disk(path, conditioning="bare"):
    corpus = path / "text"
    corpus.mkdir()
    for code, sentences in babble_corpus().texts.items():
        (corpus / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    made = tiny_trained(conditioning)
    provenance = {**made.provenance, "corpus": str(corpus), "training": {"prior_variance": 1.0}}
    trained = replace(made, provenance=provenance)
    streams = training_streams(babble_corpus(), trained)
    infer_prior(trained, streams, FisherConfig(length=20, max_sequences=2)).save(path / "prior")
    return path / "prior"


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("\n".join([*babble("abdëgñ", 25, seed=3), "ωψ a"]), encoding="utf-8")
    return file


def sentences_of(file):
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("options", [(), ("--fast",)])
def test_a_reader_has_read_the_page_and_says_how_well_it_predicted_it(tmp_path, protoglot, mine, options):
    status, output, messages = protoglot("adapt", mine, "--language", "wol", *options)
    assert status == 0, messages
    model = ReaderModel.load(tmp_path / "mine.txt.model")
    assert model.reader.text == "".join(f"{sentence}\n" for sentence in sentences_of(mine))
    assert (model.language, model.reader.with_letters) == ("wol", not options)
    fresh = tiny_reader(language="wol", with_letters=not options).read(model.reader.text)
    quarter = len(fresh.bits) // 4
    wanted = [fresh.bits_per_character, fresh.bits[:quarter].mean(), fresh.bits[-quarter:].mean()]
    assert re.findall(r"\d+\.\d{3}", output) == [f"{value:.3f}" for value in wanted]
    assert "26 sentences" in output
    assert "new to other languages" in output
    assert f"{tmp_path / 'mine.txt.model'}: has read 26 sentences" in output
    _, facts, _ = protoglot("info", tmp_path / "mine.txt.model")
    assert "mine.txt" in facts
    # A second time it must not be overwritten, and neither is a link to nowhere.
    (tmp_path / "link").symlink_to("nowhere")
    for again in ((), ("--out", tmp_path / "link")):
        status, output, messages = protoglot("adapt", mine, *again)
        assert (status, output, "exists already; wanted a new directory (see" in messages) == (2, "", True)


def tiny_reader(**settings):
    return Reader(tiny_scorer(), **settings)


def test_a_doubtful_page_is_read_with_a_warning_in_one_line_each(tmp_path, protoglot, mine, monkeypatch):
    status, _, messages = protoglot("adapt", mine, "--out", tmp_path / "fine")
    assert (status, messages) == (0, "")
    (tmp_path / "page.txt").write_text("<p>ab</p>\n<p>ab</p>\n")
    asked = []
    monkeypatch.setattr(
        "protoglot.page_doubts.doubt_about_language",
        lambda page, code, _: asked.append(code) or "language wol: no",
    )
    status, output, messages = protoglot("adapt", tmp_path / "page.txt", "--language", "wol")
    assert (status, "has read 2 sentences" in output) == (0, True)
    assert messages.splitlines() == [
        "protoglot: warning: 2 lines; wanted at least 5, better a hundred",
        "protoglot: warning: 2 of 2 lines have markup (<p>); wanted plain text",
        "protoglot: warning: language wol: no",
    ]
    assert asked == ["wol"]


def test_one_sentence_is_enough(tmp_path, protoglot):
    (tmp_path / "one.txt").write_text("abd")
    status, output, messages = protoglot("adapt", tmp_path / "one.txt")
    assert (status, "has read 1 sentences" in output) == (0, True), messages


def test_tuning_and_adapting_from_end_to_end(tmp_path, protoglot, mine):
    prior = prior_on_disk(tmp_path)
    tune = ("tune", prior, "--methods", "fitu,univ", "--trials", 2, "--sentences", 5, "--threads", 1)
    status, output, messages = protoglot(*tune)
    assert status == 0, messages
    assert "(best)" in output
    assert "n-gram: order" in messages
    tuned = UniversalPrior.load(prior).tuned
    assert set(tuned.methods) == {Method.FITU, Method.UNIV}
    status, output, messages = protoglot("adapt", mine, "--method", "univ", "--prior", prior, "--threads", 1)
    assert status == 0, messages
    assert "26 sentences" in output
    assert "new to the prior" in output
    assert "not tuned" not in output
    model = AdaptedModel.load(tmp_path / "mine.txt.model")
    assert {"ω", "ψ"} <= set(model.vocabulary.characters)
    assert model.provenance["text"] == "mine.txt"
    # Trials are not run again.
    _, _, messages = protoglot(*tune)
    assert "fitu:" not in messages


def test_an_untuned_prior_adapts_too(tmp_path, protoglot, mine):
    prior = prior_on_disk(tmp_path, "oest")
    options = ("--method", "univ", "--strength", 0.5, "--epochs", 1, "--out", tmp_path / "m")
    status, output, messages = protoglot("adapt", mine, "--prior", prior, "--threads", 1, *options)
    assert status == 0, messages
    assert "language unknown: mean of the training languages" in output
    assert "not tuned" in output
    assert AdaptedModel.load(tmp_path / "m").provenance["adaptation"]["strength"] == 0.5
    status, output, _ = protoglot(
        "adapt", mine, "--prior", prior, "--language", "wol", *options[:-1], tmp_path / "n", "--threads", 1
    )
    assert (status, "typology of Wolof (wol)" in output) == (0, True)


def test_text_in_another_script_works_and_says_so(tmp_path, protoglot):
    prior = prior_on_disk(tmp_path)
    file = tmp_path / "mine.txt"
    file.write_text("\n".join(babble("абвгд", 25, seed=1)), encoding="utf-8")
    status, output, messages = protoglot("adapt", file, "--prior", prior, "--method", "fitu", "--threads", 1)
    assert status == 0, messages
    assert "script: Cyrillic" in output
    assert "new to the prior (" in output


def test_text_from_standard_input(tmp_path, protoglot, mine, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mine.read_bytes())))
    status, _, messages = protoglot("adapt", "-")
    assert (status, "wanted --out DIRECTORY" in messages) == (2, True)
    status, output, messages = protoglot("adapt", "-", "--out", tmp_path / "model")
    assert status == 0, messages
    assert "26 sentences" in output
    assert ReaderModel.load(tmp_path / "model").num_characters == len(mine.read_text(encoding="utf-8")) + 1


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"", (), "no text"),
        (b"\xff\xfe\x00", (), "mine.txt"),
        (b"abc", ("--method", "best"), "not one of"),
        (b"abc", ("--method", "fitu", "--dropout", "1.5"), "dropout"),
        (b"abc", ("--method", "fitu", "--learning-rate", "0"), "learning_rate"),
        (b"abc", ("--method", "fitu", "--prior", "nowhere"), "no such directory"),
        (b"abc", ("--method", "fitu", "--fast"), "--fast: found with --method fitu"),
        (b"abc", ("--prior", "nowhere"), "--prior nowhere: concerns networks; wanted --method as well"),
        (b"abc", ("--strength", "1"), "--strength 1.0: concerns networks"),
        (b"abc", ("--seed", "0"), "--seed 0: concerns networks"),
        (b"abc", ("--threads", "100000"), "more than there are cores"),
    ],
)
def test_mistakes_are_one_line(tmp_path, protoglot, content, arguments, message):
    file = tmp_path / "mine.txt"
    file.write_bytes(content)
    if "--method" in arguments and "--prior" not in arguments:
        arguments = ("--prior", prior_on_disk(tmp_path), *arguments)
    status, _, error = protoglot("adapt", file, *arguments)
    assert status == 2
    assert message in error
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert not (tmp_path / "mine.txt.model").exists()
