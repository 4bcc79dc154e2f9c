from dataclasses import replace

import pytest

from protoglot.cli.main import run
from protoglot.prior.universal import UniversalPrior
from protoglot.trained import save_trained
from tiny import babble_corpus, tiny_trained


@pytest.fixture
def trained_on_disk(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for code, sentences in babble_corpus().texts.items():
        (folder / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    made = tiny_trained()
    provenance = {**made.provenance, "corpus": str(folder), "training": {"prior_variance": 1.0}}
    save_trained(tmp_path / "model", replace(made, provenance=provenance))
    return tmp_path


def test_a_prior_is_made_and_can_be_read(trained_on_disk, capsys):
    out = trained_on_disk / "prior"
    command = ["prior", str(trained_on_disk / "model"), "--out", str(out), "--sequences", "3", "--threads", "1"]
    assert run(command) == 0
    assert "9 sequences of 3 languages" in " ".join(capsys.readouterr().out.split())
    prior = UniversalPrior.load(out)
    assert prior.num_sequences == {"eus": 3, "fra": 3, "tur": 3}
    assert not out.with_name("prior.unfinished").exists()
    assert run(command) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sequences", "some"], "wanted a whole number from 1, or all"),
        (["--sequences", "0"], "wanted a whole number from 1, or all"),
        (["--corpus", "/nowhere"], "neither a path nor a known name"),
    ],
)
def test_wrong_values_are_one_line(trained_on_disk, capsys, arguments, message):
    out = trained_on_disk / "prior"
    assert run(["prior", str(trained_on_disk / "model"), "--out", str(out), "--threads", "1", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()
