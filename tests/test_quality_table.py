"""The scores on the card of the installed prior come from rows in the repository."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def quality(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("quality", ROOT / "benchmarks" / "quality.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("environment", None)


def test_the_table_is_made_from_the_kept_rows(quality):
    rows = quality.read_rows()
    assert rows, "no rows are kept"
    assert quality.TABLE.read_text(encoding="utf-8") == quality.make_table(rows)
    assert quality.TABLE.name in (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8")


def test_every_model_of_a_language_is_scored_on_the_same_characters(quality):
    characters = {}
    for row in quality.read_rows():
        characters.setdefault((row["source"], row["language"]), set()).add(row["characters"])
    assert all(len(numbers) == 1 for numbers in characters.values())
