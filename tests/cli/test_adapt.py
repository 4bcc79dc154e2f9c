import io
import sys
from dataclasses import replace

import pytest

from protoglot.adapted import AdaptedModel
from protoglot.checking import check_folds
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import Method
from protoglot.prior.universal import UniversalPrior
from tiny import babble, babble_corpus, tiny_trained


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


def test_tuning_and_adapting_from_end_to_end(tmp_path, protoglot, mine, monkeypatch):
    prior = prior_on_disk(tmp_path)
    tune = ("tune", prior, "--methods", "fitu,univ", "--trials", 2, "--sentences", 5, "--threads", 1)
    status, output, messages = protoglot(*tune)
    assert status == 0, messages
    assert "(best)" in output
    assert "n-gram: order" in messages
    tuned = UniversalPrior.load(prior).tuned
    assert set(tuned.methods) == {Method.FITU, Method.UNIV}
    monkeypatch.setattr("protoglot.checking.fit_trust", lambda mixtures, ngrams: 0.25)
    status, output, messages = protoglot("adapt", mine, "--prior", prior, "--threads", 1)
    assert status == 0, messages
    assert "75% of the model is the n-gram alone" in output
    assert "26 sentences" in output
    assert "new to the prior" in output
    assert "n-gram of the same text" in output
    assert "held out a fifth: 5 sentences" in output
    model = AdaptedModel.load(tmp_path / "mine.txt.model")
    assert model.mixer is not None
    assert {"ω", "ψ"} <= set(model.vocabulary.characters)
    assert model.provenance["text"] == "mine.txt"
    assert model.trust == 0.25
    # A second time it must not be overwritten, and trials are not run again.
    status, _, messages = protoglot("adapt", mine, "--prior", prior, "--threads", 1)
    assert (status, "exists already" in messages) == (2, True)
    _, _, messages = protoglot(*tune)
    assert "fitu:" not in messages


def test_of_very_much_text_the_checked_model_is_kept(tmp_path, protoglot, mine, monkeypatch):
    prior = prior_on_disk(tmp_path)
    monkeypatch.setattr("protoglot.checking._FEW", 4)  # 5 of 26 sentences are held out
    status, output, messages = protoglot("adapt", mine, "--prior", prior, "--threads", 1)
    assert status == 0, messages
    assert "learned from 21 sentences" in output
    learned = sum(len(sentence) + 1 for sentence in check_folds(mine.read_text().split("\n"))[0][0])
    assert AdaptedModel.load(tmp_path / "mine.txt.model").num_characters == learned


def test_an_untuned_prior_adapts_too(tmp_path, protoglot, mine):
    prior = prior_on_disk(tmp_path, "oest")
    options = ("--method", "univ", "--strength", 0.5, "--epochs", 1, "--no-check", "--out", tmp_path / "m")
    status, output, messages = protoglot("adapt", mine, "--prior", prior, "--threads", 1, *options)
    assert status == 0, messages
    assert "language unknown: mean of the training languages" in output
    assert AdaptedModel.load(tmp_path / "m").provenance["adaptation"]["strength"] == 0.5
    status, output, _ = protoglot(
        "adapt", mine, "--prior", prior, "--language", "wol", *options[:-1], tmp_path / "n", "--threads", 1
    )
    assert (status, "typology of Wolof (wol)" in output) == (0, True)


def test_one_sentence_and_few_sentences(tmp_path, protoglot):
    prior = prior_on_disk(tmp_path)
    assert protoglot("tune", prior, "--methods", "fitu", "--trials", 1, "--sentences", 5, "--threads", 1)[0] == 0
    one, few = tmp_path / "one.txt", tmp_path / "few.txt"
    one.write_text("abd")
    few.write_text("abd\nbad\nabba\ndab dab\nbadda")
    status, output, messages = protoglot("adapt", one, "--prior", prior, "--threads", 1)
    assert (status, "no score" in output) == (0, True), messages
    status, output, messages = protoglot("adapt", few, "--prior", prior, "--threads", 1)
    assert (status, "4 folds in turn: 5 sentences" in output) == (0, True), messages


def test_text_in_another_script_works_and_says_so(tmp_path, protoglot):
    prior = prior_on_disk(tmp_path)
    file = tmp_path / "mine.txt"
    file.write_text("\n".join(babble("абвгд", 25, seed=1)), encoding="utf-8")
    status, output, messages = protoglot("adapt", file, "--prior", prior, "--no-check", "--threads", 1)
    assert status == 0, messages
    assert "script: Cyrillic" in output
    assert "letters that the prior has never seen" in output


def test_text_from_standard_input(tmp_path, protoglot, mine, monkeypatch):
    prior = prior_on_disk(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mine.read_bytes())))
    status, _, messages = protoglot("adapt", "-", "--prior", prior, "--no-check", "--threads", 1)
    assert (status, "wanted --out DIRECTORY" in messages) == (2, True)
    status, output, messages = protoglot(
        "adapt", "-", "--prior", prior, "--no-check", "--threads", 1, "--out", tmp_path / "model"
    )
    assert status == 0, messages
    assert "26 sentences" in output
    assert AdaptedModel.load(tmp_path / "model").provenance["text"] == "-"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"", (), "no text"),
        (b"\xff\xfe\x00", (), "mine.txt"),
        (b"abc", ("--method", "best"), "not one of"),
        (b"abc", ("--dropout", "1.5"), "dropout"),
        (b"abc", ("--learning-rate", "0"), "learning_rate"),
        (b"abc", ("--prior", "nowhere"), "no such directory"),
    ],
)
def test_mistakes_are_one_line(tmp_path, protoglot, content, arguments, message):
    prior = prior_on_disk(tmp_path)
    file = tmp_path / "mine.txt"
    file.write_bytes(content)
    given = arguments if "--prior" in arguments else ("--prior", prior, *arguments)
    status, _, error = protoglot("adapt", file, *given, "--threads", 1)
    assert status == 2
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "mine.txt.model").exists()


def test_the_installed_prior_is_taken_unless_another_is_named(tmp_path, protoglot):
    file = tmp_path / "mine.txt"
    file.write_text("Gaur eguraldi ona dago.\n")
    status, _, messages = protoglot("adapt", file, "--epochs", 1, "--no-check", "--threads", 1)
    assert status == 0, messages
    assert AdaptedModel.load(tmp_path / "mine.txt.model").mixer is not None


def test_methods_that_do_not_exist_are_refused(tmp_path, protoglot):
    status, _, error = protoglot("tune", tmp_path, "--methods", "magic")
    assert (status, "wanted some of ninf" in error) == (2, True)


def test_a_language_that_the_prior_has_read_is_no_new_one(tmp_path, protoglot, mine):
    prior = prior_on_disk(tmp_path)
    loaded = UniversalPrior.load(prior)
    read, held_out = loaded.mean.fold.training[0], loaded.mean.fold.held_out[0]
    for number, (language, is_said) in enumerate([(read, True), (held_out, False)]):
        out = tmp_path / f"model{number}"
        arguments = ("--prior", prior, "--language", language, "--no-check", "--threads", 1, "--out", out)
        status, output, messages = protoglot("adapt", mine, *arguments)
        assert status == 0, messages
        assert ("the prior has read other text in this language" in output) is is_said
