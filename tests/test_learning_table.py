"""The learning figures in the documentation come from rows in the repository."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def learning_curve(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("learning_curve", ROOT / "benchmarks" / "learning_curve.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("environment", None)


def test_the_table_is_made_from_the_kept_rows(learning_curve):
    table = learning_curve.make_table()
    assert len(table.splitlines()) > 2, "no run is kept"
    assert learning_curve.TABLE.read_text(encoding="utf-8") == table
    assert "learning-table.md" in (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert learning_curve.PICTURE.is_file()
