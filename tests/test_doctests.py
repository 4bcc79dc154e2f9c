"""The examples in docstrings and on pages."""

import doctest
import importlib
import re
import shutil
from pathlib import Path

import pytest

from protoglot import load_prior
from test_language_learning import SENTENCES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"

# Only modules that have an example are imported, and none of those needs an optional package.
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_examples_are_found():
    assert {"protoglot.text", "protoglot.vocabulary", "protoglot.splits"} <= set(MODULES)
    assert {"research", "own-text"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A directory with what the pages speak of: a model, the rows of a study, a corpus, and a language's features."""
    monkeypatch.chdir(tmp_path)
    load_prior().adapt(SENTENCES, language="tzh").save(tmp_path / "tzh.model")
    (tmp_path / "study").mkdir()
    shutil.copy(ROOT / "results" / "bible77-plain" / "rows.jsonl.gz", tmp_path / "study")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "eus.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    (tmp_path / "mine.csv").write_text("S_SOV,1\nP_TONE,0\n", encoding="utf-8")
    return tmp_path


PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_python_of_a_page_runs(page, workplace):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
