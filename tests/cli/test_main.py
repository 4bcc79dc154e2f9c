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


def is_interrupted(status: int, error: bytes) -> bool:
    """One line; maybe after the end of the line in which a terminal shows ^C."""
    return (status, error.removeprefix(b"\n")) == (130, b"protoglot: error: interrupted\n")


@pytest.mark.parametrize(
    "module", ["protoglot.cli.main", "click", "protoglot.cli.computing", "numpy", "numba", "protoglot.loading"]
)
def test_ctrl_c_while_a_module_is_imported(module):
    code = f"""
import signal, sys
def on_event(event, arguments):
    if event == "import" and arguments[0] == {module!r}:
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(on_event)
sys.argv[1:] = ["score", "nowhere", "nothing.txt"]
from protoglot.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert is_interrupted(done.returncode, done.stderr), done.stderr


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
def test_ctrl_c_some_time_after_the_start(tmp_path, seconds):
    code = """
print("started", flush=True)
from protoglot.__main__ import main
main()
"""
    words = [sys.executable, "-c", code, "corpus", "show", "eus", "--number", "9000000", "--corpus", str(tmp_path)]
    (tmp_path / "eus.txt").write_text("bat bi hiru lau\n" * 1_000_000)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"started\n"  # Python itself is there: what comes before is its own
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert is_interrupted(process.returncode, err), err


def test_ctrl_c_where_python_drops_it():
    code = """
import signal, time
import protoglot.cli.main
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def run_and_exit():
    try:
        Dropping()
        time.sleep(20)
    except KeyboardInterrupt:
        raise SystemExit(130)
protoglot.cli.main.main = run_and_exit
from protoglot.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=15)
    assert (done.returncode, done.stderr) == (130, b"")


def test_ctrl_c_that_compiled_code_makes_another_error_of(protoglot, monkeypatch):
    def fail(*arguments, **settings):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "invoke", fail)
    assert protoglot("corpus", "list") == (130, "", "protoglot: error: interrupted\n")


def test_who_ignores_ctrl_c_goes_on_ignoring_it():
    code = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import sys; sys.argv[1:] = ["--version"]
from protoglot.__main__ import main
try:
    main()
finally:
    sys.exit(signal.getsignal(signal.SIGINT) != signal.SIG_IGN)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


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
