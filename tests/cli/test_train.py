"""``protoglot train`` as a user meets it: a command that is started, stopped, killed and mistyped."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from protoglot.cli.main import EXIT_INTERRUPTED, run
from protoglot.trained import load_with_state
from protoglot.training.monitor import METRICS, read_metrics
from tiny import babble_corpus

PATIENCE_IN_SECONDS = 120


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """A folder of five small languages."""
    folder = tmp_path_factory.mktemp("corpus") / "babble"
    folder.mkdir()
    for code, sentences in babble_corpus(40).texts.items():
        (folder / f"{code}.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return folder


def arguments(corpus: Path, out: Path, *more: str, budget: str = "40k-characters") -> list[str]:
    options = ["--preset", "tiny", "--hold-out", "wol", "--validation-languages", "1", "--threads", "1"]
    return ["train", "--corpus", str(corpus), "--out", str(out), "--budget", budget, *options, *more]


def start(*command: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.Popen(
        [sys.executable, "-m", "protoglot", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def wait_for_steps(process: subprocess.Popen[str], out: Path, beyond: int = 0) -> None:
    """Until a run has written metrics of a later step."""
    deadline = time.monotonic() + PATIENCE_IN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if (out / METRICS).exists() and any(line["step"] > beyond for line in read_metrics(out / METRICS)):
            return
        time.sleep(0.005)
    process.kill()
    pytest.fail(f"no step in time: {process.communicate()}")


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def weights_of(run: Path) -> dict[str, bytes]:
    trained, _, optimizer = load_with_state(run)
    weights = {name: weight.detach().numpy().tobytes() for name, weight in trained.model.named_parameters()}
    return weights | {name: array.tobytes() for name, array in optimizer.items()}


def test_a_run_says_what_it_did_and_what_comes_next(corpus, tmp_path, capsys):
    out = tmp_path / "run"
    assert run(arguments(corpus, out, budget="3k-characters")) == 0
    printed = capsys.readouterr()
    assert f"{out}: finished after 0.00 M characters" in printed.out
    assert "3 languages" in printed.out
    assert f"protoglot evaluate {out} --corpus {corpus}" in printed.out
    assert "Traceback" not in printed.err
    assert "validation languages, unseen" in printed.err
    assert load_with_state(out)[1]["num_characters"] >= 3000


def test_stopped_by_either_signal_and_resumed_it_ends_with_the_same_weights(corpus, tmp_path):
    out = tmp_path / "run"
    whole = tmp_path / "whole"
    assert run(arguments(corpus, whole, "--conditioning", "oest")) == 0
    steps = []
    for number, resume in ((signal.SIGINT, []), (signal.SIGTERM, ["--resume"])):
        process = start(*arguments(corpus, out, "--conditioning", "oest", *resume))
        wait_for_steps(process, out, beyond=steps[-1] if steps else 0)
        process.send_signal(number)
        output, messages = process.communicate(timeout=PATIENCE_IN_SECONDS)
        assert process.returncode == EXIT_INTERRUPTED == 130
        assert f"{out}: interrupted after " in output
        assert "--resume" in output
        assert "stopping after this step" in messages
        assert "Traceback" not in messages
        steps.append(load_with_state(out)[1]["step"])
    assert 0 < steps[0] < steps[1] < load_with_state(whole)[1]["step"]
    process = start(*arguments(corpus, out, "--conditioning", "oest", "--resume"))
    output, messages = process.communicate(timeout=PATIENCE_IN_SECONDS)
    assert process.returncode == 0, messages
    assert f"resuming at step {steps[1]:,}" in messages
    assert weights_of(out) == weights_of(whole)


def test_two_runs_in_one_directory(corpus, tmp_path, capsys):
    """The second is refused while the first lives, and goes on when the first was killed."""
    out = tmp_path / "run"
    first = start(*arguments(corpus, out, budget="10h"))
    try:
        wait_for_steps(first, out)
        for more in ([], ["--resume"]):
            assert run(arguments(corpus, out, *more, budget="10h")) == 2
            message = capsys.readouterr().err.splitlines()[-1]
            assert message.startswith("protoglot: error: ")
            assert "another run is writing here" in message
        assert first.poll() is None
    finally:
        kill(first)
    assert run(arguments(corpus, out, budget="1k-characters")) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert run(arguments(corpus, out, "--resume", budget="1k-characters")) == 0


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--budget", "soon"], "budget 'soon'; wanted a form like"),
        (["--budget", "0s"], "budget: 0 seconds"),
        (["--hold-out", "xyz"], "no language xyz"),
        (["--hold-out", "partition:9/2"], "partition '9': unknown"),
        (["--hold-out", "partition:1/99"], "99 partitions of 5 languages"),
        (["--validation-languages", "4"], "4 validation languages of the 4 not held out"),
        (["--validation-languages", "-1"], "--validation-languages"),
        (["--device", "tpu"], "device 'tpu'; wanted auto, cpu, cuda or cuda:N"),
        (["--device", "cuda:99"], "device 'cuda:99'"),
        (["--threads", "0"], "--threads"),
        (["--learning-rate", "-1"], "learning_rate: -1.0"),
        (["--learning-rate", "nan"], "learning_rate: nan"),
        (["--batch-size", "0"], "--batch-size"),
        (["--preset", "huge"], "--preset"),
        (["--conditioning", "gru"], "--conditioning"),
        (["--corpus", "/nowhere"], "/nowhere"),
        (["--languages", "xyz"], "xyz"),
        (["--surplus"], "--surplus"),
    ],
)
def test_what_is_mistyped_is_named_in_one_line(corpus, tmp_path, capsys, more, named):
    assert run(arguments(corpus, tmp_path / "run", *more, budget="1k-characters")) == 2
    printed = capsys.readouterr()
    errors = [line for line in printed.err.splitlines() if line.startswith("protoglot: error: ")]
    assert len(errors) == 1
    assert named in errors[0]
    assert printed.err.splitlines()[-1] == errors[0]
    assert printed.out == ""
    # And the directory is still free.
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_language_without_typology_is_named(tmp_path, capsys):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for code in ("eus", "fra", "qqq"):
        (folder / f"{code}.txt").write_text("\n".join(map(str, range(30))))
    options = ("--preset", "tiny", "--validation-languages", "0", "--conditioning", "plat", "--threads", "1")
    assert run(["train", "--corpus", str(folder), "--out", str(tmp_path / "run"), *options]) == 2
    assert "qqq" in capsys.readouterr().err.splitlines()[-1]


def test_settings_that_differ_on_resume_are_named(corpus, tmp_path, capsys):
    out = tmp_path / "run"
    assert run(arguments(corpus, out, budget="1k-characters")) == 0
    assert run(arguments(corpus, out, "--resume", "--learning-rate", "0.5", "--seed", "4")) == 2
    assert "seed, training.learning_rate differ from the run to resume" in capsys.readouterr().err


def test_a_run_that_was_stored_with_an_empty_list_of_contexts_goes_on(corpus, tmp_path, capsys):
    """Networks could have tables of contexts once, and the plans of those without them say so."""
    out = tmp_path / "run"
    assert run(arguments(corpus, out, budget="1k-characters")) == 0
    plan = json.loads((out / "run.json").read_bytes())
    plan["model"]["contexts"] = []
    (out / "run.json").write_text(json.dumps(plan))
    assert run(arguments(corpus, out, "--resume", budget="2k-characters")) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "build"])
def test_compact_is_the_default_preset(command, capsys):
    assert run([command, "--help"]) == 0
    assert re.search(r"--preset \[.*\[default:\s+compact\]", capsys.readouterr().out, re.DOTALL)


def test_a_plat_model_trains_where_batches_would_be_mixed(corpus, tmp_path, capsys):
    """The compact preset mixes languages in a batch, which a hyper-network cannot read."""
    out = tmp_path / "run"
    status = run(
        arguments(
            corpus, out, "--conditioning", "plat", "--preset", "compact", "--batch-size", "1", budget="1character"
        )
    )
    assert status == 0, capsys.readouterr().err
    assert json.loads((out / "run.json").read_bytes())["training"]["batching"]["mixed"] is False


def test_a_damaged_checkpoint_is_named(corpus, tmp_path, capsys):
    out = tmp_path / "run"
    assert run(arguments(corpus, out, budget="1k-characters")) == 0
    (weights,) = out.glob("checkpoints/*/weights.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1])
    capsys.readouterr()
    assert run(arguments(corpus, out, "--resume", budget="2k-characters")) == 2
    assert "weights.safetensors: " in capsys.readouterr().err.splitlines()[-1]


def test_help_is_quick_and_shows_examples():
    help_text = subprocess.run(
        [sys.executable, "-m", "protoglot", "train", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "--resume" in help_text
    assert any(line.strip().startswith("protoglot train ") for line in help_text.splitlines())


def test_there_must_be_a_run_to_go_on_with(corpus, tmp_path, capsys):
    assert run(arguments(corpus, tmp_path / "run", "--resume")) == 2
    assert f"no run in {tmp_path / 'run'}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
