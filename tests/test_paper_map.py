"""What docs/paper-map.md names exists."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "paper-map.md"
CELL = re.compile(r"(?<!\\)\|")  # a bar that is not part of a formula


def rows() -> list[dict[str, str]]:
    """The rows of the page's first table."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    heading, _, *body = ([cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines)
    assert heading == ["paper", "what", "function", "test"]
    return [dict(zip(heading, cells, strict=True)) for cells in body]


def names_in(column: str) -> list[str]:
    return sorted({name for row in rows() for name in re.findall(r"`([^`]+)`", row[column])})


def find(name: str) -> object:
    """The object of a dotted name: as much of it as is a module, then attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_names_a_function_and_a_test():
    assert len(rows()) > 20
    incomplete = [row for row in rows() if "`protoglot." not in row["function"] or "`tests/" not in row["test"]]
    assert not incomplete


@pytest.mark.parametrize("name", names_in("function"))
def test_functions_exist(name):
    assert find(name) is not None


@pytest.mark.parametrize("name", names_in("test"))
def test_tests_exist(name):
    file, _, function = name.partition("::")
    assert function.startswith("test_")
    assert function in functions_of(ROOT / file)


def test_every_departure_in_the_code_is_on_the_page():
    """Files with a line ``Departs:`` and a word by which the page speaks of each."""
    words = {
        "model/config.py": "residual",
        "model/network.py": "initialisation",
        "batching.py": "mixed batches",
    }
    source = ROOT / "src" / "protoglot"
    departing = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "Departs:" in path.read_text(encoding="utf-8")
    }
    assert departing == set(words)
    departures = PAGE.read_text(encoding="utf-8").split("## Where the compact preset departs")[1].casefold()
    assert all(word in departures for word in words.values())
