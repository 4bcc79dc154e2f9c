"""The few-shot figures in the documentation come from rows in the repository."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def few_shot(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("few_shot", ROOT / "benchmarks" / "few_shot.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("environment", None)


def test_the_tables_are_made_from_the_kept_rows(few_shot):
    rows = few_shot.read_rows()
    assert rows, "no rows are kept"
    assert few_shot.TABLE.read_text(encoding="utf-8") == few_shot.make_tables(rows)
    assert few_shot.TABLE.name in (ROOT / "docs" / "adaptation.md").read_text(encoding="utf-8")


def test_the_table_of_epochs_is_made_from_the_kept_rows(few_shot):
    rows = few_shot.read_epochs()
    assert rows, "no rows are kept"
    assert few_shot.EPOCHS_TABLE.read_text(encoding="utf-8") == few_shot.make_epochs_table(rows)
    assert few_shot.EPOCHS_TABLE.name in (ROOT / "docs" / "adaptation.md").read_text(encoding="utf-8")


def test_every_model_of_a_language_is_scored_on_the_same_characters(few_shot):
    characters = {}
    for row in few_shot.read_rows():
        characters.setdefault(row["language"], set()).add(row["characters"])
    assert all(len(numbers) == 1 for numbers in characters.values())


def test_no_row_is_counted_twice(few_shot):
    keys = [few_shot.key_of(row) for row in few_shot.read_rows()]
    assert len(keys) == len(set(keys))


def row(method, sample, bits, *, language="fin", conditioning="bare", regime="few-shot"):
    return {
        "language": language,
        "conditioning": conditioning,
        "method": method,
        "regime": regime,
        "sample": sample,
        "nats": bits * 100 * 0.6931471805599453,
        "characters": 100,
    }


def test_averages_are_means_of_means_with_the_error_over_samples(few_shot):
    rows = [row("fitu", sample, bits) for sample, bits in enumerate([2.0, 3.0, 4.0])]
    rows += [row("fitu", sample, bits, language="ces") for sample, bits in enumerate([1.0, 2.0, 3.0])]
    mean, error, samples = few_shot.average(few_shot.bits_of(rows)["few-shot", "bare", "fitu"])
    assert mean == pytest.approx(2.5)
    assert error == pytest.approx(1 / 3**0.5)
    assert samples == 3


def test_a_table_is_of_one_preset_and_of_compact_where_it_has_rows(few_shot):
    plain = [row("fitu", 0, 2.0), row("fitu", 0, 2.2, language="ces") | {"preset": "plain"}]
    compact = [row("fitu", 0, 2.4) | {"preset": "compact"}]
    other = [row("fitu", 0, 9.0) | {"preset": "other"}]
    assert "| FITU | BARE | 2.100 |" in few_shot.make_tables(plain)
    assert "| FITU | BARE | 2.400 |" in few_shot.make_tables(compact)
    assert few_shot.make_tables(plain + other) == few_shot.make_tables(plain)
    assert few_shot.make_tables(plain + compact + other) == few_shot.make_tables(compact)
    assert few_shot.make_tables(plain) != few_shot.make_tables(compact)


def test_what_was_not_measured_is_not_a_number(few_shot):
    rows = [row("univ", 0, 2.0), row("univ", 0, 2.0, language="ces"), row("n-gram", 0, 2.5, conditioning=None)]
    table = few_shot.make_tables(rows)
    line = next(line for line in table.splitlines() if line.startswith("| ces |"))
    assert "–" in line
    assert "| 1 / 1 |" in table  # below the n-gram where there is one
