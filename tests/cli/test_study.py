import signal
import subprocess
import sys
import time

import pytest

from study.fake import write_study
from study.test_work import CONFIG as TINY

QUICK = """
name = "quick"
preset = "tiny"
partitions = 2
held_out = [1]

[training]
budget = "300-characters"
num_validation = 1

[prior]
sequences = 1

[scoring]
characters = 30
generated_characters = 3

[[zero_shot]]
conditionings = ["bare"]
methods = ["univ"]
"""


def test_validating_shows_the_plan_and_runs_nothing(protoglot, tmp_path, monkeypatch):
    config, corpus = write_study(tmp_path, TINY)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    status, out, _ = protoglot("study", "validate", config, "--corpus", corpus)
    assert status == 0
    assert "study tiny" in out
    assert "train" in out
    assert sorted(tmp_path.rglob("*")) == before


def test_validating_a_study_of_the_paper_needs_no_corpus_and_no_torch(tmp_path):
    config = tmp_path / "paper.toml"
    config.write_text(QUICK.replace("partitions = 2", 'partitions = "paper"'), encoding="utf-8")
    code = (
        "import sys; from protoglot.cli.main import run; "
        f"status = run(['study', 'validate', {str(config)!r}]); sys.exit(status or 'torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "unigram" in ended.stdout
    assert "77" in ended.stdout


def test_a_study_from_the_first_command_to_its_rows(installed, protoglot, tmp_path):
    config, corpus = write_study(tmp_path, QUICK)
    out = tmp_path / "study"
    ended = installed("study", "run", config, "--corpus", corpus, "--out", out, "--threads", "1")
    assert ended.returncode == 0, ended.stderr
    assert b"units done" in ended.stdout
    gathered = (out / "rows.jsonl.gz").read_bytes()
    status, shown, _ = protoglot("study", "status", out)
    assert status == 0
    assert "0 s left" in shown
    assert protoglot("study", "rows", out, "--out", tmp_path / "rows.jsonl.gz")[0] == 0
    assert (tmp_path / "rows.jsonl.gz").read_bytes() == gathered


@pytest.mark.slow
def test_ctrl_c_saves_and_the_same_command_goes_on(command, tmp_path):
    config, corpus = write_study(tmp_path, QUICK.replace("300-characters", "60k-characters"))
    out = tmp_path / "study"
    arguments = [
        command,
        "study",
        "run",
        str(config),
        "--corpus",
        str(corpus),
        "--out",
        str(out),
        "--threads",
        "1",
    ]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(out.glob("unfinished/*/run/run.json")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate()
    assert process.returncode == 130
    assert b"Go on with the same command" in printed
    assert list(out.glob("unfinished/*/run/latest.json"))
    assert subprocess.run(arguments, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["validate", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["status", "nowhere"], "nowhere: no config.toml in it; wanted the directory of a study"),
        (["rows", "nowhere"], "wanted the directory of a study"),
        (["report", "nowhere"], "wanted the directory of a study"),
    ],
)
def test_errors_are_one_line(protoglot, arguments, message):
    status, out, err = protoglot("study", *arguments)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_a_study_without_a_corpus_asks_for_one(protoglot, tmp_path):
    config, _ = write_study(tmp_path, QUICK)
    status, _, err = protoglot("study", "run", config, "--out", tmp_path / "study")
    assert status == 2
    assert "names no corpus; wanted --corpus NAME|PATH" in err
    assert not (tmp_path / "study").exists()
