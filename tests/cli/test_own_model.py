"""The commands for a model of one's own."""

import csv
import io
import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from protoglot.adapted import AdaptedModel
from protoglot.cli.output import write_rows
from protoglot.loading import load_language
from protoglot.reader_model import read_page
from protoglot.reading.reader import Reader
from tiny import babble, tiny_adapted
from tiny_scorer import tiny_scorer

TEXT = babble("abdëgñ", 5, seed=3)


@pytest.fixture(scope="module", autouse=True)
def _a_small_scorer():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protoglot.reader_model.shipped_scorer", tiny_scorer)
        yield


def a_reader(alphabet="abdëgñ", language="wol"):
    reader = Reader(tiny_scorer(), language=language)
    reader.read("".join(f"{sentence}\n" for sentence in babble(alphabet, 30, seed=0)))
    return reader


@pytest.fixture(scope="module")
def network_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "wol.model"
    tiny_adapted("oest").save(path)
    return path


@pytest.fixture(scope="module")
def reader_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "wol.reader"
    a_reader().save(path)
    return path


@pytest.fixture(params=["network", "reader"])
def model_path(request):
    return request.getfixturevalue(f"{request.param}_path")


@pytest.fixture
def text_path(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT[0]}\n\n" + "\n".join(TEXT[1:]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def standard_input(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    return give


def test_score_is_that_of_the_model(protoglot, model_path, text_path):
    status, printed, _ = protoglot("score", model_path, text_path, "--format", "json", "--threads", 1)
    assert status == 0
    (row,) = json.loads(printed)
    wanted = load_language(model_path).score(TEXT)
    assert row["bits_per_character"] == pytest.approx(wanted.bits_per_character)
    assert (row["characters"], row["sentences"]) == (wanted.num_characters, 5)
    _, table, _ = protoglot("score", model_path, text_path, text_path)
    assert f"{wanted.bits_per_character:.3f}" in table


def test_a_pipe_is_read_whole(protoglot, model_path, text_path, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = text_path.read_bytes() * 200  # more than is looked at to see what kind of text it is
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    status, printed, error = protoglot("score", model_path, pipe, "--format", "json", "--threads", 1)
    writer.join(10)
    assert status == 0, error
    (row,) = json.loads(printed)
    assert (row["sentences"], row["text"]) == (200 * 5, str(pipe))


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_name_that_is_not_unicode_can_be_written(tmp_path, ending):
    file = tmp_path / f"rows.{ending}"
    write_rows(file, [{"text": os.fsdecode(b"caf\xe9.txt")}])
    assert "udce9.txt" in file.read_text(encoding="utf-8")


def test_scores_of_lines_add_up_and_keep_their_numbers(protoglot, model_path, text_path, tmp_path):
    out = tmp_path / "lines.csv"
    status, table, _ = protoglot("score", model_path, text_path, "--lines", "--out", out)
    assert status == 0
    assert TEXT[2] in table
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [int(row["line"]) for row in rows] == [1, 3, 4, 5, 6]
    assert [row["sentence"] for row in rows] == TEXT
    total = math.fsum(float(row["nats"]) for row in rows)
    assert total == pytest.approx(load_language(model_path).score(TEXT).nats)


def test_a_static_score_is_of_each_line_alone(protoglot, network_path, reader_path, tmp_path):
    file = tmp_path / "twice.txt"
    file.write_text(f"{TEXT[0]}\n" * 2, encoding="utf-8")

    def nats(*options):
        status, printed, _ = protoglot("score", reader_path, file, "--lines", "--format", "json", *options)
        assert status == 0
        return [row["nats"] for row in json.loads(printed)]

    first, second = nats()
    assert second < first
    assert nats("--static") == pytest.approx([first, first])
    status, _, error = protoglot("score", network_path, file, "--static")
    assert (status, "wanted a reader" in error) == (2, True)


def test_score_says_how_many_lines_the_reader_knows(protoglot, reader_path, network_path, tmp_path):
    file = tmp_path / "some.txt"
    new = babble("abdëgñ", 40, seed=7)[-2:]
    file.write_text("\n".join([f"  {TEXT[0]} ", *new]), encoding="utf-8")
    page = tmp_path / "page.model"
    reader = a_reader()
    reader.read(f"{TEXT[0]}\n")
    reader.save(page)
    status, printed, error = protoglot("score", page, file, file, "--format", "csv")
    assert (status, printed.count("\n")) == (0, 3)
    assert error == (f"{page}: has read 2 of the 6 lines before, and knows them; wanted text that is new to it\n")
    file.write_text("\n".join(new), encoding="utf-8")
    assert protoglot("score", page, file)[2] == ""
    assert protoglot("score", network_path, file)[2] == ""


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("command", [("score",), ("identify",)])
def test_who_is_to_type_is_told_so(protoglot, reader_path, monkeypatch, command, is_terminal):
    stdin = io.TextIOWrapper(io.BytesIO(b"ab\n"), encoding="utf-8")
    monkeypatch.setattr(stdin, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", stdin)
    status, _, error = protoglot(*command, reader_path)
    assert (status, error.count("\n")) == (0, int(is_terminal))
    assert ("waiting for text from the keyboard" in error) is is_terminal


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_score_reads_standard_input(protoglot, model_path, standard_input, arguments):
    standard_input("\ufeffab\r\nba\r\n".encode())
    status, printed, _ = protoglot("score", model_path, *arguments, "--format", "json")
    assert status == 0
    (row,) = json.loads(printed)
    assert (row["text"], row["characters"]) == ("standard input", 6)


def test_score_writes_files_for_other_programs_and_for_the_eye(protoglot, model_path, text_path, tmp_path):
    table, nested, page = tmp_path / "c.tsv", tmp_path / "c.json", tmp_path / "map.html"
    assert protoglot("score", model_path, text_path, "--characters", table, "--heat-map", page)[0] == 0
    assert protoglot("score", model_path, text_path, "--characters", nested)[0] == 0
    total = load_language(model_path).score(TEXT).nats / math.log(2)
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")), dialect="excel-tab"))
    assert math.fsum(float(row["bits"]) for row in rows) == pytest.approx(total, abs=1e-3)
    assert math.fsum(line["bits"] for line in json.loads(nested.read_text(encoding="utf-8"))) == pytest.approx(
        total
    )
    assert page.read_text(encoding="utf-8").endswith("</html>\n")


def test_a_score_that_fails_leaves_no_file(protoglot, model_path, text_path, tmp_path):
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"ab\nab \xff\n")
    page = tmp_path / "map.html"
    assert protoglot("score", model_path, text_path, broken, "--heat-map", page)[0] == 2
    assert {file.name for file in tmp_path.iterdir()} == {"text.txt", "broken.txt"}


def test_complete_shows_characters_and_words(protoglot, model_path):
    status, printed, _ = protoglot("complete", model_path, "a", "--number", 3, "--format", "json")
    assert status == 0
    rows = json.loads(printed)
    assert [row["next"] for row in rows] == ["character"] * 3 + ["word"] * 3
    assert all(row["text"].startswith("a") for row in rows[3:])
    assert all(0 < row["probability"] < 1 for row in rows)
    status, table, _ = protoglot("complete", model_path, "--no-words")
    assert status == 0
    assert "after ''" in table
    assert "word" not in table


def test_identify_names_languages_and_the_unknown(protoglot, model_path, tmp_path, standard_input):
    other = tmp_path / "eus.model"
    if model_path.suffix == ".reader":
        a_reader("aeiktz", "").save(other)
    else:
        tiny_adapted(alphabet="aeiktz", language="").save(other)
    standard_input(f"{TEXT[0]}\n{babble('aeiktz', 1, seed=0)[0]}\nжжжжжж жжжжж\n".encode())
    out = tmp_path / "lines.json"
    status, printed, _ = protoglot("identify", model_path, other, "--format", "csv", "--out", out)
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert len(rows) == len(json.loads(out.read_text(encoding="utf-8"))) == 3
    assert {row["best"] for row in rows} <= {"wol", "eus.model"}
    assert rows[2]["language"] == "unknown"
    assert math.fsum(json.loads(rows[0]["probabilities"]).values()) == pytest.approx(1)
    standard_input(b"ab\n")
    status, table, _ = protoglot("identify", model_path, other, "--threshold", 0.01)
    assert status == 0
    assert "unknown 1" in table


def test_models_that_share_a_language_go_by_their_directories(protoglot, network_path, tmp_path, standard_input):
    twin = tmp_path / "twin.model"
    tiny_adapted("oest", seed=1).save(twin)
    standard_input(b"ab\n")
    status, printed, _ = protoglot("identify", network_path, twin, "--format", "json")
    assert status == 0
    assert set(json.loads(printed)[0]["probabilities"]) == {str(network_path), str(twin)}
    standard_input(b"ab\n")
    assert protoglot("identify", network_path, network_path)[0] == 2


def test_info(protoglot, network_path, reader_path):
    status, printed, _ = protoglot("info", reader_path, "--format", "json")
    assert (status, json.loads(printed)["kind"]) == (0, "reader")
    model_path = network_path
    status, printed, _ = protoglot("info", model_path, "--format", "json")
    assert status == 0
    assert json.loads(printed)["language"] == "wol"
    status, table, _ = protoglot("info", model_path)
    assert status == 0
    assert "adapted model" in table
    assert "ngram.order" in table
    assert "verified" in table


def test_info_begins_with_how_well_the_page_was_predicted(protoglot, tmp_path):
    model, reading = read_page(Reader(tiny_scorer()), babble("abdëgñ", 30, seed=0), {"text": "page.txt"})
    model.save(tmp_path / "m")
    status, short, _ = protoglot("info", tmp_path / "m")
    facts = [line.split() for line in short.splitlines()[4:] if line]
    assert (status, facts[0]) == (0, ["predicted.bits_per_character", f"{reading.bits_per_character:.6g}"])
    assert facts[1][0] == "predicted.last_quarter"
    assert "own_lines" not in short
    _, whole, _ = protoglot("info", tmp_path / "m", "--all")
    assert {line.split()[0] for line in short.splitlines()[4:-2] if line} < {
        line.split()[0] for line in whole.splitlines() if line
    }
    assert "own_lines.most_share" in whole
    assert "files.reader.safetensors.sha256" in whole
    assert "more facts with --all" in short
    assert "--all" not in whole


def test_export_of_a_reader(protoglot, reader_path, tmp_path):
    out = tmp_path / "n.arpa"
    status, output, _ = protoglot("export", reader_path, "--format", "arpa-ngram", "--out", out, "--order", 3)
    assert (status, "n-gram of order 3" in output) == (0, True)
    tokens = {line.split("\t")[1] for line in out.read_text(encoding="utf-8").splitlines() if "\t" in line}
    assert {"<s>", "</s>", "<unk>", "<U+0020>", "ë"} <= tokens
    facts = tmp_path / "facts.json"
    assert protoglot("export", reader_path, "--format", "json", "--out", facts)[0] == 0
    assert {"ë", "ñ"} <= {entry["character"] for entry in json.loads(facts.read_text())["vocabulary"]}


def test_export(protoglot, network_path, tmp_path):
    model_path = network_path
    ngram = tmp_path / "ngram"
    AdaptedModel.load(model_path).ngram.save(ngram)
    for path in (model_path, ngram):
        out = tmp_path / f"{path.name}.arpa"
        assert protoglot("export", path, "--format", "arpa-ngram", "--out", out)[0] == 0
        assert out.read_text(encoding="utf-8").startswith("\\data\\\n")
    assert (tmp_path / "ngram.arpa").read_bytes() == (tmp_path / "wol.model.arpa").read_bytes()
    status, output, _ = protoglot(
        "export", path, "--format", "arpa-ngram", "--out", tmp_path / "short.arpa", "--order", 1
    )
    assert status == 0
    assert "order 1; longer n-grams, up to" in output
    assert "2-grams" not in (tmp_path / "short.arpa").read_text(encoding="utf-8")
    status, _, error = protoglot("export", path, "--format", "json", "--out", tmp_path / "x", "--order", 2)
    assert status == 2
    assert "--order 2: for --format arpa-ngram; found json" in error
    out = tmp_path / "facts.json"
    assert protoglot("export", model_path, "--format", "json", "--out", out)[0] == 0
    assert json.loads(out.read_text(encoding="utf-8"))["facts"]["language"] == "wol"


NOT_NEEDED = ["torch", "matplotlib", "jinja2", "iso639", "scipy", "rich.progress", "protoglot.ngram"]


@pytest.mark.parametrize(
    ("command", "not_needed"),
    [
        (("complete", "a", "--format", "csv"), ["rich", *NOT_NEEDED]),
        (("complete", "a"), NOT_NEEDED),
        (("score", "TEXT", "--format", "csv"), ["rich", *NOT_NEEDED]),
        (("generate", "--length", "5"), ["rich", *NOT_NEEDED]),
    ],
)
def test_what_a_command_does_not_need_it_does_not_import(reader_path, text_path, command, not_needed):
    name, *rest = (str(text_path) if word == "TEXT" else word for word in command)
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tiny_scorer import tiny_scorer
import protoglot.reader_model
protoglot.reader_model.shipped_scorer = tiny_scorer
from protoglot.cli.main import run
status = run({[name, str(reader_path), *rest]!r})
print(status, [name for name in {not_needed!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stderr.decode() == "0 []\n"


def test_generate_samples_from_the_model(protoglot, model_path):
    command = ("generate", model_path, "--length", 15, "--samples", 2, "--threads", 1)
    status, first, _ = protoglot(*command)
    assert status == 0
    assert len(first) == 2 * 16
    assert protoglot(*command)[1] == first
    assert protoglot(*command, "--seed", 1)[1] != first
    assert protoglot(*command, "--start", "ab", "--until-end")[1].startswith("ab")
    assert protoglot(*command, "--language", "wol")[0] == 2
