"""The examples in docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"

# Only modules that have an example are imported, and none of those needs an optional package.
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_examples_are_found():
    assert {"protoglot.text", "protoglot.vocabulary", "protoglot.splits"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_python_of_the_page_for_researchers_runs():
    page = Path(__file__).parent.parent / "docs" / "research.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
