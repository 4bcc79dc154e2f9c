"""The table of how teaching went comes from rows in the repository."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def teaching(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("teaching", ROOT / "benchmarks" / "teaching.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("environment", None)


def test_the_table_is_made_from_the_kept_rows(teaching):
    table = teaching.make_table(teaching.read_rows())
    assert len(table.splitlines()) > 3, "nothing is kept"
    assert teaching.TABLE.read_text(encoding="utf-8") == table
    assert teaching.TABLE.name in (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8")
