"""Commands as a user runs them."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from protoglot.cli.main import run


@pytest.fixture
def protoglot(capsys):
    """Run a command in this process; return its status, output and messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture(scope="session")
def command() -> str:
    """The installed command."""
    path = Path(sysconfig.get_path("scripts"), "protoglot")
    if not path.is_file():
        pytest.skip("protoglot is not installed as a command")
    return str(path)


@pytest.fixture
def installed(command):
    """Run the installed command; return what subprocess.run returns, with output as bytes."""

    def call(*arguments: str, **settings: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([command, *map(str, arguments)], capture_output=True, check=False, **settings)

    return call
