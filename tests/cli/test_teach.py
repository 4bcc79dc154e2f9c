import contextlib
import itertools
import json

from protoglot.adaptation import learn_language
from protoglot.prior.universal import UniversalPrior
from protoglot.training.checkpoints import lock_run
from tiny import babble_corpus


def make_prior(path, protoglot):
    folder = path / "text"
    folder.mkdir()
    for code, sentences in babble_corpus(60).texts.items():
        (folder / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    common = ("--corpus", folder, "--threads", 1)
    training = ("--preset", "tiny", "--hold-out", "wol", "--validation-languages", 1, "--budget", "1epochs")
    assert protoglot("train", *common, *training, "--out", path / "run")[0] == 0
    assert (
        protoglot("prior", path / "run", *common, "--sequences", 2, "--no-spread", "--out", path / "prior")[0] == 0
    )
    return folder


def test_a_prior_is_taught_to_learn_in_context(tmp_path, protoglot):
    corpus = make_prior(tmp_path, protoglot)
    arguments = ["teach", tmp_path / "prior", "--corpus", corpus, "--size", "tiny", "--threads", 1]
    status, output, messages = protoglot(*arguments, "--budget", "5k-characters", "--out", tmp_path / "taught")
    assert status == 0, messages
    assert "learns in context" in output
    assert "of the n-gram) from 30" in messages
    taught = UniversalPrior.load(tmp_path / "taught")
    assert taught.incontext is not None
    assert taught.mean.provenance["teaching"]["num_characters"] >= 5000
    rows = [json.loads(line) for line in (tmp_path / "taught.lessons.jsonl").read_text().splitlines()]
    assert len(rows) == 10
    assert rows[-1]["characters"] >= 5000
    assert not (tmp_path / "taught.unfinished").exists()
    status, _, messages = protoglot(*arguments, "--out", tmp_path / "taught")
    assert (status, "exists already" in messages) == (2, True)
    status, _, messages = protoglot(*arguments, "--budget", "3epochs", "--out", tmp_path / "other")
    assert (status, "wanted time or characters" in messages) == (2, True)

    # What was taught becomes part of models once it is tuned, and not before.
    tuning = ["tune", tmp_path / "taught", "--corpus", corpus, "--methods", "fitu", "--trials", 1, "--threads", 1]
    status, _, messages = protoglot(*tuning)
    assert status == 0, messages
    taught = UniversalPrior.load(tmp_path / "taught")
    learn_language(taught, babble_corpus().texts["wol"]).save(tmp_path / "model")
    status, output, _ = protoglot("info", tmp_path / "model")
    assert status == 0
    assert "in_context.remembered_characters" in output


def test_teaching_stops_when_asked_and_goes_on(tmp_path, protoglot, monkeypatch):
    corpus = make_prior(tmp_path, protoglot)
    arguments = ["teach", tmp_path / "prior", "--corpus", corpus, "--size", "tiny", "--threads", 1]
    arguments += ["--budget", "5k-characters", "--out", tmp_path / "taught"]
    with monkeypatch.context() as patch:
        asked = itertools.count()
        patch.setattr(
            "protoglot.cli.stopping.stop_on_signals",
            lambda on_first: contextlib.nullcontext(lambda: next(asked) == 3),
        )
        status, output, messages = protoglot(*arguments)
    assert status == 130, messages
    assert "Go on with the same command" in output
    assert not (tmp_path / "taught").exists()
    assert (tmp_path / "taught.unfinished").is_dir()
    status, _, messages = protoglot(*arguments)
    assert status == 0, messages
    assert UniversalPrior.load(tmp_path / "taught").mean.provenance["teaching"]["step"] > 3


def test_two_at_once_and_budgets_that_make_no_sense_are_refused(tmp_path, protoglot):
    corpus = make_prior(tmp_path, protoglot)
    arguments = ["teach", tmp_path / "prior", "--corpus", corpus, "--size", "tiny", "--threads", 1]
    lock = lock_run(tmp_path / "taught.unfinished")
    status, _, messages = protoglot(*arguments, "--budget", "1k-characters", "--out", tmp_path / "taught")
    assert (status, "another run is writing here" in messages) == (2, True)
    lock.release()
    for command in (arguments, ["build", "--corpus", corpus]):
        option = "--teaching" if command[0] == "build" else "--budget"
        status, _, messages = protoglot(*command, option, "3epochs", "--out", tmp_path / "other" / "prior")
        assert (status, "wanted time or characters" in messages) == (2, True)
