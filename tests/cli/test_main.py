"""The command ``protoglot`` itself: help, version, speed, signals."""

import os
import signal
import subprocess
import sys
import time

import click
import pytest

import protoglot as package
from protoglot.cli.main import COMMANDS, cli, run

MAX_SECONDS = 0.5


def leaf_commands():
    """Every command that does something, by the words that call it."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", command.commands[sub]) for sub in command.commands)
        else:
            yield name, command


LEAVES = dict(leaf_commands())


def best_seconds(*words: str) -> float:
    """The shortest of three runs: the others have been disturbed."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def test_help_answers_at_once(command):
    assert best_seconds(command, "--help") < MAX_SECONDS


def test_importing_the_package_does_no_work():
    assert best_seconds(sys.executable, "-c", "import protoglot") < MAX_SECONDS


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from protoglot.cli.main import run; run(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'rich', 'torch', 'iso639', 'regex')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_help_names_every_command(protoglot):
    status, out, err = protoglot("--help")
    assert (status, err) == (0, "")
    assert all(f"  {name} " in out for name in COMMANDS)
    assert protoglot("-h") == (status, out, err)


@pytest.mark.parametrize("words", [(), ("corpus",), ("study",)])
def test_no_command_shows_the_help(protoglot, words):
    status, printed, error = protoglot(*words)
    _, wanted, _ = protoglot(*words, "--help")
    assert (status, error) == (2, "")
    assert printed == wanted


def test_version(protoglot, installed):
    assert protoglot("--version") == (0, f"protoglot, version {package.__version__}\n", "")
    assert installed("--version").stdout.decode() == f"protoglot, version {package.__version__}\n"


def test_python_dash_m_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "protoglot", "--version"], capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, f"protoglot, version {package.__version__}\n")


@pytest.mark.parametrize("words", list(LEAVES))
def test_every_command_explains_itself_with_an_example(protoglot, words):
    status, out, err = protoglot(*words.split(), "--help")
    assert (status, err) == (0, "")
    assert "Example" in out
    assert f"protoglot {words} " in out.split("Example", 1)[1]
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("words", list(LEAVES))
def test_every_option_is_described(words):
    undescribed = [
        option.opts[0]
        for option in LEAVES[words].params
        if isinstance(option, click.Option) and not option.help and option.opts[0] != "--seed"
    ]
    assert not undescribed


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_list_of_commands_leads_to_them(name):
    assert cli.get_command(click.Context(cli), name).name == name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["corpse"], ["corpse"]), (["--fast"], ["--fast"]), (["corpus", "list", "eld"], ["eld"])],
)
def test_unknown_commands_and_options(protoglot, arguments, words):
    status, out, err = protoglot(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("protoglot: error: ")
    assert err.count("\n") == 1
    assert all(word in err for word in [*words, "--help"])


def test_errors_of_ours_keep_their_traceback(monkeypatch):
    def fail(*arguments, **settings):
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "invoke", fail)
    with pytest.raises(ZeroDivisionError):
        run(["corpus", "list"])


def test_ctrl_c_is_one_line_and_status_130(command, tmp_path):
    (tmp_path / "eus.txt").write_text("bat bi hiru lau\n" * 200_000)
    words = [command, "corpus", "show", "eus", "--number", "200000", "--corpus", str(tmp_path)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout.readline() == b"bat bi hiru lau\n"
        process.send_signal(signal.SIGINT)  # it waits for us to read on: no pipe holds all of its output
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.decode().strip() == "protoglot: error: interrupted"
