"""The direction of imports, read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "protoglot"

# Each room may import those above it, and nothing below. A module belongs to the first room that names it or a
# package it is in.
ROOMS = [
    ["protoglot"],
    ["protoglot.errors", "protoglot.data"],
    ["protoglot.complaints"],
    ["protoglot.storage", "protoglot.text", "protoglot.languages", "protoglot.scripts", "protoglot.relatives"],
    ["protoglot.corpus.interface", "protoglot.splits", "protoglot.vocabulary", "protoglot.typology"],
    ["protoglot.corpus"],
    [
        "protoglot.folds",
        "protoglot.scores",
        "protoglot.artefacts",
        "protoglot.devices",
        "protoglot.statistics",
        "protoglot.shipped",
    ],
    ["protoglot.reading"],
    [
        "protoglot.generation",
        "protoglot.completion",
        "protoglot.surprisal",
        "protoglot.identification",
        "protoglot.own_lines",
        "protoglot.page_doubts",
    ],
    ["protoglot.probing", "protoglot.description"],
    ["protoglot.report"],
    ["protoglot.batching", "protoglot.model", "protoglot.ngram"],
    [
        "protoglot.evaluation",
        "protoglot.reader_model",
        "protoglot.trained",
        "protoglot.prior",
    ],
    ["protoglot.rivals"],
    ["protoglot.running_text"],
    ["protoglot.adapted", "protoglot.adapted_texts"],
    ["protoglot.loading", "protoglot.exporting"],
    ["protoglot.surprisal_files", "protoglot.heat_map"],
    ["protoglot.training", "protoglot.adaptation"],
    ["protoglot.online_adaptation"],
    ["protoglot.reading.meta_training"],
    ["protoglot.tuning"],
    ["protoglot.study", "protoglot.api"],
    ["protoglot.cli"],
    ["protoglot.__main__"],
]

# Rooms that must work, and be quick to import, without the learning machinery.
WITHOUT_TORCH = [
    *("protoglot", "protoglot.corpus", "protoglot.vocabulary", "protoglot.typology", "protoglot.folds"),
    *("protoglot.probing", "protoglot.report.write", "protoglot.report.averages"),
    *("protoglot.study.session", "protoglot.study.scheduling"),
    "protoglot.description",
    "protoglot.reading.reader",
    *("protoglot.api", "protoglot.reader_model", "protoglot.rivals", "protoglot.loading"),
    *("protoglot.surprisal", "protoglot.completion", "protoglot.generation", "protoglot.identification"),
]


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("protoglot", *path.relative_to(SOURCE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


def room_of(name: str) -> int:
    candidates = [
        (len(member), index)
        for index, room in enumerate(ROOMS)
        for member in room
        if name == member or (member != "protoglot" and name.startswith(f"{member}."))
    ]
    assert candidates, f"{name} has no room: add it to ROOMS"
    return max(candidates)[1]


def imported_by(path: Path, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; wanted the whole name"
            assert node.module is not None
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in known else node.module)
    return {name for name in found if name.split(".")[0] == "protoglot"}


def test_imports_point_in_one_direction():
    known = modules()
    wrong = [
        f"{name} imports {imported}"
        for name, path in known.items()
        for imported in imported_by(path, set(known))
        if room_of(imported) > room_of(name)
    ]
    assert not wrong


def test_commands_are_imported_by_nobody_but_the_main_command():
    known = modules()
    wrong = [
        f"{name} imports {imported}"
        for name, path in known.items()
        if not name.startswith("protoglot.cli") and name != "protoglot.__main__"
        for imported in imported_by(path, set(known))
        if imported.startswith("protoglot.cli")
    ]
    assert not wrong


def test_no_module_is_called_utils():
    assert not [name for name in modules() if name.rsplit(".")[-1] in {"utils", "helpers", "common", "misc"}]


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_these_rooms_leave_torch_alone(module):
    code = f"import {module}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "module", ["protoglot", "protoglot.cli.main", "protoglot.cli.study", "protoglot.heat_map"]
)
def test_only_what_draws_imports_matplotlib(module):
    code = f"import {module}, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
