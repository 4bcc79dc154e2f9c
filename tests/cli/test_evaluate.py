"""``protoglot evaluate``: every language once, in numbers that can be checked."""

import csv
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from protoglot.cli.main import run
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.splits import split_sentences
from protoglot.trained import load_trained, newest_checkpoint, save_trained
from tiny import babble_corpus

TEXTS = babble_corpus(40).texts
COLUMNS = [
    *("code", "language", "role", "part", "conditioning", "bits_per_character", "nats", "characters"),
    *("sentences", "unknown_characters"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "babble"
    folder.mkdir()
    for code, sentences in TEXTS.items():
        (folder / f"{code}.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained_run(corpus, tmp_path_factory) -> Path:
    """A short run whose vocabulary lacks the letters of the language it holds out."""
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--preset", "tiny", "--hold-out", "wol", "--validation-languages", "1", "--inventory", "training"]
    budget = ["--budget", "2k-characters", "--conditioning", "oest", "--threads", "1"]
    assert run(["train", "--corpus", str(corpus), "--out", str(out), *options, *budget]) == 0
    return out


@pytest.fixture
def call(capsys, corpus):
    def evaluate_command(model, *more: str, corpus=corpus) -> tuple[int, str, str]:
        status = run(["evaluate", str(model), "--corpus", str(corpus), "--threads", "1", *more])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return evaluate_command


def expected_rows(model_path: Path, part: str = "test") -> dict[str, dict]:
    """Scores of each language on its own, without the command."""
    trained = load_trained(model_path)
    rows = {}
    for code, sentences in TEXTS.items():
        chosen = split_sentences(sentences).part(part)
        text = make_scored_text(chosen, trained.vocabulary, trained.features_of(code))
        score = evaluate(trained.model, {code: text})[code]
        rows[code] = {
            "nats": score.nats,
            "characters": sum(len(sentence) + 1 for sentence in chosen),
            "sentences": len(chosen),
            "unknown_characters": sum(c not in trained.vocabulary for sentence in chosen for c in sentence),
        }
    return rows


@pytest.mark.parametrize("part", ["test", "development", "train"])
def test_rows_are_the_scores_of_every_language(call, trained_run, part):
    status, out, _ = call(trained_run, "--part", part, "--format", "json")
    assert status == 0
    rows = json.loads(out)
    expected = expected_rows(trained_run, part)
    assert [row["code"] for row in rows] == sorted(TEXTS)
    fold = load_trained(trained_run).fold
    for row in rows:
        assert list(row) == COLUMNS
        assert row["code"] in getattr(fold, row["role"])
        assert (row["part"], row["conditioning"]) == (part, "oest")
        wanted = expected[row["code"]]
        assert row["nats"] == pytest.approx(wanted["nats"], rel=1e-6)
        for key in ("characters", "sentences", "unknown_characters"):
            assert row[key] == wanted[key]
        assert row["bits_per_character"] == pytest.approx(row["nats"] / row["characters"] / math.log(2))
    assert {row["code"]: row["unknown_characters"] > 0 for row in rows}["wol"]


def test_the_table_shows_every_language_and_the_means(call, trained_run):
    status, out, _ = call(trained_run)
    assert status == 0
    rows = json.loads(call(trained_run, "--format", "json")[1])
    for row in rows:
        (line,) = [line for line in out.splitlines() if line.startswith(row["code"])]
        assert f"{row['bits_per_character']:.3f}" in line
        assert f"{row['characters']:,}" in line
    for role, number in (("training", 3), ("validation", 1), ("held out", 1)):
        values = [row["bits_per_character"] for row in rows if row["role"] == role.replace(" ", "_")]
        assert len(values) == number
        (line,) = [line for line in out.splitlines() if line.startswith(f"mean over {number} {role} language")]
        assert f"{sum(values) / number:.3f} bits/character" in line


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_rows_are_written_to_a_file(call, trained_run, tmp_path, ending):
    file = tmp_path / "new" / f"rows{ending}"
    status, _, _ = call(trained_run, "--out", str(file))
    assert status == 0
    rows = json.loads(call(trained_run, "--format", "json")[1])
    if ending == ".json":
        assert json.loads(file.read_text()) == rows
    else:
        with file.open(newline="") as stream:
            assert list(csv.DictReader(stream)) == [
                {key: str(value) for key, value in row.items()} for row in rows
            ]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("roles", "codes"),
    [("held_out", ["wol"]), ("held_out, validation", None), ("training", None), ("training,training", None)],
)
def test_roles_choose_languages(call, trained_run, roles, codes):
    rows = json.loads(call(trained_run, "--roles", roles, "--format", "json")[1])
    fold = load_trained(trained_run).fold
    wanted = codes or sorted({code for role in roles.split(",") for code in getattr(fold, role.strip())})
    assert [row["code"] for row in rows] == wanted


def test_scores_do_not_depend_on_which_languages_are_asked_for(call, trained_run):
    rows = {row["code"]: row for row in json.loads(call(trained_run, "--format", "json")[1])}
    for row in json.loads(call(trained_run, "--languages", "eus,wol", "--format", "json")[1]):
        assert row["nats"] == pytest.approx(rows[row["code"]]["nats"], rel=1e-6)


def test_a_model_is_scored_like_its_run(call, trained_run, tmp_path):
    save_trained(tmp_path / "model", load_trained(trained_run))
    from_model, from_run = (
        json.loads(call(path, "--format", "json")[1]) for path in (tmp_path / "model", trained_run)
    )
    assert from_model == from_run


def test_languages_with_no_text_in_the_part_are_left_out(call, trained_run, corpus, tmp_path):
    folder = tmp_path / "small"
    shutil.copytree(corpus, folder)
    (folder / "eus.txt").write_text("eka\nkate\n")  # fewer than ten sentences: all for training
    rows = json.loads(call(trained_run, "--format", "json", corpus=folder)[1])
    assert [row["code"] for row in rows] == sorted(set(TEXTS) - {"eus"})
    for code in TEXTS:
        (folder / f"{code}.txt").write_text("eka\nkate\n")
    status, out, err = call(trained_run, corpus=folder)
    assert (status, out) == (2, "")
    assert "no test text in 5 languages" in one_line(err)


def test_nothing_of_the_model_is_changed(call, trained_run):
    before = {path: path.read_bytes() for path in trained_run.rglob("*") if path.is_file()}
    call(trained_run)
    assert {path: path.read_bytes() for path in trained_run.rglob("*") if path.is_file()} == before


def one_line(err: str) -> str:
    (line,) = err.splitlines()
    assert line.startswith("protoglot: error: ")
    return line


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--roles", "mine"], "role 'mine'; wanted some of training, validation, held_out"),
        (["--roles", ""], "role ''"),
        (["--device", "tpu"], "device 'tpu'"),
        (["--part", "all"], "--part"),
        (["--languages", "xyz"], "xyz"),
        (["--corpus", "/nowhere"], "/nowhere"),
        (["--out", "rows.txt"], "rows.txt"),
    ],
)
def test_what_is_mistyped_is_named_in_one_line(call, trained_run, more, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = call(trained_run, *more)
    assert status == 2
    assert named in one_line(err)
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_the_model_s_languages(call, trained_run, tmp_path):
    (tmp_path / "deu.txt").write_text("ja\nnein\n")
    status, _, err = call(trained_run, corpus=tmp_path)
    assert status == 2
    assert "no language of the model" in one_line(err)


def missing(path: Path) -> None:
    shutil.rmtree(path)


def no_header(path: Path) -> None:
    (newest_checkpoint(path) / "header.json").unlink()


def flipped_weights(path: Path) -> None:
    file = newest_checkpoint(path) / "weights.safetensors"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut_weights(path: Path) -> None:
    file = newest_checkpoint(path) / "weights.safetensors"
    file.write_bytes(file.read_bytes()[:100])


def flipped_header(path: Path) -> None:
    file = newest_checkpoint(path) / "header.json"
    file.write_bytes(file.read_bytes().replace(b'"hidden_size": 12', b'"hidden_size": 13'))


def foreign_pointer(path: Path) -> None:
    (path / "latest.json").write_text('{"checkpoint": "../../x"}')


def a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"PK\x03\x04 a checkpoint of another program")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (missing, "broken: no such directory"),
        (no_header, "no header.json in it"),
        (flipped_weights, "weights.safetensors: damaged"),
        (cut_weights, "weights.safetensors: 100 bytes; wanted"),
        (flipped_header, "header.json: damaged"),
        (foreign_pointer, "latest.json: checkpoint '../../x'"),
        (a_file, "broken: a file; wanted a directory"),
    ],
)
def test_a_damaged_model_is_named_in_one_line(call, trained_run, tmp_path, damage, named):
    broken = tmp_path / "broken"
    shutil.copytree(trained_run, broken)
    damage(broken)
    status, out, err = call(broken)
    assert status == 2
    assert named in one_line(err)
    assert out == ""


def test_the_real_command(trained_run, corpus, tmp_path):
    """In a process of its own: scores and status 0, then an error without a traceback and status 2."""
    command = [sys.executable, "-m", "protoglot", "evaluate"]
    options = ["--corpus", str(corpus), "--threads", "1", "--format", "csv"]
    done = subprocess.run([*command, str(trained_run), *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == ",".join(COLUMNS)
    assert len(done.stdout.splitlines()) == 1 + len(TEXTS)
    done = subprocess.run([*command, str(tmp_path), *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no header.json in it" in one_line(done.stderr)


def test_the_corpus_is_that_of_the_run_unless_another_is_named(call, trained_run, capsys):
    _, named, _ = call(trained_run, "--format", "json")
    assert run(["evaluate", str(trained_run), "--threads", "1", "--format", "json"]) == 0
    assert capsys.readouterr().out == named
