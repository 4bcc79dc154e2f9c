import json

from protoglot.prior.universal import UniversalPrior
from tiny import babble_corpus


def make_corpus(path):
    folder = path / "text"
    folder.mkdir()
    for code, sentences in babble_corpus(60).texts.items():
        (folder / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    return folder


def test_a_prior_is_built_and_packed(tmp_path, protoglot):
    corpus = make_corpus(tmp_path)
    out = tmp_path / "prior"
    arguments = ("build", "--corpus", corpus, "--leave-out", "wol", "--conditioning", "bare", "--preset", "tiny")
    arguments += ("--budget", "2epochs", "--validation-languages", 1, "--sequences", 2, "--methods", "fitu")
    arguments += ("--trials", 1, "--threads", 1, "--out", out)
    status, output, messages = protoglot(*arguments)
    assert status == 0, messages
    assert "MB in" in output
    prior = UniversalPrior.load(out)
    assert prior.tuned is not None
    assert {mixer.num_components for mixer in prior.tuned.mixers.values()} == {prior.tuned.ngram.order + 1}
    assert prior.mean.provenance["corpus"] == "text"
    assert "wol" not in (*prior.mean.fold.training, *prior.mean.fold.validation)
    letters_of_wol_alone = set("ëñ") - {letter for text in babble_corpus().texts["fra"] for letter in text}
    assert not letters_of_wol_alone & set(prior.mean.vocabulary.characters)
    assert (tmp_path / "prior.parts").is_dir()
    # What is done is not done again, and what is there is not replaced.
    status, _, messages = protoglot(*arguments)
    assert (status, "exists already" in messages) == (2, True)
    status, output, messages = protoglot(*arguments[:-1], tmp_path / "other" / "prior")
    assert status == 0, messages


def test_building_goes_on_after_a_failure(tmp_path, protoglot):
    corpus = make_corpus(tmp_path)
    out = tmp_path / "prior"
    arguments = ["build", "--corpus", corpus, "--conditioning", "bare", "--preset", "tiny", "--budget", "1epochs"]
    arguments += ["--validation-languages", 1, "--sequences", 2, "--trials", 1, "--threads", 1, "--out", out]
    status, _, messages = protoglot(*arguments, "--methods", "magic")
    assert (status, "magic" in messages) == (2, True)
    assert not out.exists()
    status, _, messages = protoglot(*arguments, "--methods", "fitu")
    assert status == 0, messages
    assert "protoglot train" not in messages
    assert UniversalPrior.load(out).tuned.methods


def test_what_was_built_with_other_arguments_is_not_used(tmp_path, protoglot):
    corpus = make_corpus(tmp_path)
    arguments = ["build", "--corpus", corpus, "--conditioning", "bare", "--preset", "tiny", "--budget", "1epochs"]
    arguments += ["--validation-languages", 1, "--sequences", 2, "--trials", 1, "--out", tmp_path / "prior"]
    arguments += ["--threads", 1]
    assert protoglot(*arguments, "--leave-out", "wol", "--methods", "magic")[0] == 2
    for other in (["--leave-out", "wol,fra"], ["--leave-out", "wol", "--seed", 1]):
        status, _, messages = protoglot(*arguments, *other, "--methods", "fitu")
        assert status == 2
        assert "trained by protoglot train" in messages
        assert "wanted the same arguments" in messages
    status, _, messages = protoglot(*arguments, "--leave-out", "wol", "--methods", "fitu", "--device", "cpu")
    assert status == 0, messages
    prior = UniversalPrior.load(tmp_path / "prior")
    assert prior.mean.fold.held_out == ("wol",)


def test_the_seed_reaches_all_that_is_drawn(tmp_path, protoglot, monkeypatch):
    called = []

    def call(arguments):
        called.append(arguments)
        return 1

    monkeypatch.setattr("protoglot.cli.build._call", call)
    for stages in range(3):
        out = tmp_path / f"{stages}" / "prior"
        parts = out.with_name("prior.parts")
        parts.mkdir(parents=True)
        arguments = ["build", "--corpus", "eld", "--seed", 7, "--learning-rate", 0, "--out", out]
        for stage in ("trained", "measured")[:stages]:
            protoglot(*arguments)
            (parts / f"{stage}.json").write_text(json.dumps({"command": called.pop()[:-2]}))
        protoglot(*arguments)
    assert [arguments[0] for arguments in called] == ["train", "prior", "tune"]
    for arguments in called:
        assert arguments[arguments.index("--seed") + 1] == "7"
    assert called[0][called[0].index("--learning-rate") + 1] == "0.0"


def test_a_longer_budget_goes_on_training(tmp_path, protoglot):
    corpus = make_corpus(tmp_path)
    out = tmp_path / "prior"
    arguments = ["build", "--corpus", corpus, "--conditioning", "bare", "--preset", "tiny", "--sequences", 2]
    arguments += ["--validation-languages", 1, "--methods", "fitu", "--trials", 1, "--threads", 1, "--out", out]
    assert protoglot(*arguments, "--budget", "1epochs")[0] == 0
    shorter = UniversalPrior.load(out)
    out.rename(tmp_path / "shorter")
    status, _, messages = protoglot(*arguments, "--budget", "2epochs")
    assert status == 0, messages
    longer = UniversalPrior.load(out)
    assert [prior.mean.provenance["budget"] for prior in (shorter, longer)] == ["1 epochs", "2 epochs"]
    metrics = (tmp_path / "prior.parts" / "run" / "metrics.jsonl").read_text()
    steps = [json.loads(line)["step"] for line in metrics.splitlines()]
    assert steps == sorted(steps)  # it went on, and did not start anew
    assert longer.tuned.trials != shorter.tuned.trials
    out.rename(tmp_path / "longer")
    for budget in ("1epochs", "5min"):  # less, and another measure
        status, _, messages = protoglot(*arguments, "--budget", budget)
        assert (status, "a longer --budget" in messages) == (2, True)
