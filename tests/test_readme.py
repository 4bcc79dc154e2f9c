"""The commands shown in the README and on the pages of the documentation print what is shown.

In a block marked ``console``, a line that begins with ``$`` is a command, and the lines after it are lines of its
output in their order. A line ``...`` says that some are left out.
"""

import os
import re
import shlex
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from protoglot.cli.main import cli

ROOT = Path(__file__).parent.parent
BIN = Path(sysconfig.get_path("scripts"))

# Shown and not run here: the first is this test suite.
NOT_RUN = {"make test"}


@dataclass(frozen=True)
class Example:
    page: str
    command: str
    shown: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.command}"


def examples_of(page: str) -> list[Example]:
    found = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            found.append(Example(page, command, tuple(line for line in shown if line not in ("", "..."))))
    return found


README = examples_of("README.md")
PAGES = [example for page in ("docs/corpora.md", "docs/splits.md") for example in examples_of(page)]
EXAMPLES = [example for example in README + PAGES if example.command not in NOT_RUN]


def commands_behind(command: str) -> list[list[str]]:
    """What a command runs: itself, or the recipe of a target of the Makefile without what installs it."""
    if not command.startswith("make "):
        return [shlex.split(command)]
    target = command.removeprefix("make ")
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    return [shlex.split(line.strip().lstrip("@").replace("$(BIN)/", "")) for line in recipe[1].splitlines()]


def output_of(words: list[str], directory: Path) -> str:
    assert words[0] == "protoglot"
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(
        [BIN / words[0], *words[1:]],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_readme_shows_commands():
    assert {example.command for example in README} >= {"make run", "make test"}
    assert sum(len(example.shown) for example in README) > 10


def marked(example: Example) -> object:
    """The main job takes a minute or two, and is tried with all that is slow."""
    return pytest.param(example, marks=pytest.mark.slow) if example.command == "make run" else example


@pytest.mark.parametrize("example", [marked(example) for example in EXAMPLES], ids=str)
def test_what_is_shown_is_printed(example, tmp_path):
    printed = iter("".join(output_of(words, tmp_path) for words in commands_behind(example.command)).splitlines())
    missing = [line for line in example.shown if line not in printed]  # each is looked for after the one before
    assert not missing


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (path.parent / target).exists()]


def test_every_command_that_a_page_shows_exists():
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        blocks = "".join(re.findall(r"^```.*?^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
        for line in re.findall(r"^(?:\$ )?protoglot ([a-z].*)$", blocks, re.MULTILINE):
            words = shlex.split(line)
            command = cli.get_command(click.Context(cli), words[0])
            assert command is not None, f"{path.name}: {line}"
            if isinstance(command, click.Group):
                command = command.commands[words[1]]
            options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            unknown = [word for word in words if word.startswith("--") and word not in options]
            assert not unknown, f"{path.name}: {line}"
