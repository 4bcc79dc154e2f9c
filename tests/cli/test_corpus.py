"""The command ``protoglot corpus``, as a user sees it."""

import csv
import io
import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.splits import few_shot_sample, split_sentences

CODE = "[b]x"
MARKUP = "[b]x[/b] :smile: [/] [link=y]"
SENTENCES = [f"sentence {number}" for number in range(20)]


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Two languages, one of them full of what rich would take for markup."""
    path = tmp_path / "texts"
    path.mkdir()
    (path / "eus.txt").write_text("\n".join([*SENTENCES, SENTENCES[0]]), encoding="utf-8")
    (path / f"{CODE}.txt").write_text(f"{MARKUP}\n", encoding="utf-8")
    (path / "manifest.csv").write_text(
        f"code,language,licence\n{CODE},{MARKUP},[red]CC0[/red]\n", encoding="utf-8"
    )
    return path


def is_one_line_error(status, out, err):
    return status == 2 and out == "" and err.startswith("protoglot: error: ") and err.count("\n") == 1


def test_list_without_options_names_the_kinds_of_corpora(protoglot):
    status, out, err = protoglot("corpus", "list")
    assert (status, err) == (0, "")
    assert all(name in out for name in ("eld", "udhr", "folder:PATH", "christos:PATH", "ebible:PATH"))


def test_list_shows_every_language(protoglot):
    status, out, err = protoglot("corpus", "list", "--corpus", "eld")
    assert (status, err) == (0, "")
    assert out.startswith("eld: 60 languages\n")
    shown = {line.split()[0] for line in out.splitlines()[4:] if line[:1].strip()}
    assert shown == {record.code for record in EldCorpus().languages()}


def test_list_as_csv_and_json_say_the_same(protoglot):
    _, table, _ = protoglot("corpus", "list", "--format", "csv")
    _, text, _ = protoglot("corpus", "list", "--format", "json")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert rows == json.loads(text)
    assert len(rows) == 60
    assert rows[0].keys() == {"code", "iso639_3", "language", "family", "licence", "source"}
    assert all(row["licence"] == "Apache-2.0 (package eld 1.0.6)" for row in rows)


def test_stats_in_all_forms(protoglot, folder):
    arguments = ("corpus", "stats", "--corpus", folder)
    _, out, err = protoglot(*arguments)
    assert err == ""
    assert out.startswith("texts: 2 languages, 22 sentences, ")
    (basque,) = (line.split() for line in out.splitlines() if line.startswith("eus"))
    assert basque[1:4] == ["Basque", "21", "1"]
    _, text, _ = protoglot(*arguments, "--format", "json")
    rows = {row["code"]: row for row in json.loads(text)}
    assert rows["eus"]["sentences"] == 21
    assert rows["eus"]["repeated_sentences"] == 1
    assert rows["eus"]["characters"] == sum(map(len, SENTENCES)) + len(SENTENCES[0])
    assert rows["eus"]["script_shares"] == {"Latin": 1.0}
    assert 0.9 < rows["eus"]["typology_observed"] < 1
    assert rows[CODE]["typology_observed"] is None
    _, table, _ = protoglot(*arguments, "--format", "csv")
    as_csv = {row["code"]: row for row in csv.DictReader(io.StringIO(table))}
    for code, row in rows.items():
        for column, value in row.items():
            found = as_csv[code][column]
            shown = json.loads(found) if isinstance(value, dict) else found
            assert shown == (value if isinstance(value, dict) else "" if value is None else str(value))


def test_repeated_sentences_have_a_column_only_where_there_are_some(protoglot, folder):
    assert "repeated" in protoglot("corpus", "stats", "--corpus", folder, "--languages", "eus")[1]
    assert "repeated" not in protoglot("corpus", "stats", "--languages", "eus")[1]


@pytest.mark.parametrize("width", [20, 80, 200])
def test_tables_cut_nothing_short(protoglot, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = protoglot("corpus", "stats", "--languages", "eus,jpn")
    assert "…" not in out
    assert all(word in out.split() for word in ("Basque", "1,000", "96,720", "Japanese", "55,821", "2,044"))
    assert "Han 44%" in out


def test_stats_in_latin_script_fit_80_columns(protoglot):
    _, out, _ = protoglot("corpus", "stats", "--script", "Latin")
    assert max(map(len, out.splitlines())) <= 80


def test_output_that_is_not_on_a_screen_is_wide(protoglot, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    _, out, _ = protoglot("corpus", "stats", "--languages", "ell")
    assert "Modern Greek (1453-)" in out


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_out_writes_what_format_prints(protoglot, tmp_path, ending):
    file = tmp_path / "new" / f"rows.{ending}"
    status, out, _ = protoglot("corpus", "stats", "--languages", "eus", "--out", file)
    assert status == 0
    assert out.startswith("eld: 1 language, 1,000 sentences")
    assert file.read_text(encoding="utf-8") == protoglot(
        "corpus", "stats", "--languages", "eus", "--format", ending
    )[1]  # fmt: skip


def test_show(protoglot):
    _, out, err = protoglot("corpus", "show", "eus", "--number", "3")
    assert err == ""
    assert out.splitlines() == [sentence for sentence, _ in zip(EldCorpus().sentences("eus"), "123", strict=False)]


@pytest.mark.parametrize("part", ["train", "development", "test"])
def test_show_a_part(protoglot, folder, part):
    _, out, err = protoglot("corpus", "show", "eus", "--corpus", folder, "--part", part, "--number", "99")
    assert tuple(out.splitlines()) == split_sentences(SENTENCES).part(part)
    assert err == "eus: 16 train, 2 development, 2 test; 1 repeated sentences left out\n"


def test_show_the_few_shot_sample(protoglot, folder):
    arguments = ("corpus", "show", "eus", "--corpus", folder, "--sample", "--number", "5")
    train = split_sentences(SENTENCES).train
    for seed in ("0", "1"):
        _, out, _ = protoglot(*arguments, "--seed", seed)
        assert tuple(out.splitlines()) == few_shot_sample(train, 5, language="eus", seed=int(seed))


def test_import_then_look(protoglot, tmp_path):
    to = tmp_path / "with blank"
    status, out, err = protoglot("corpus", "import", "--languages", "eus,jpn", "--to", to)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"{to}: 2 languages"
    assert list(FolderCorpus(to).sentences("eus")) == list(EldCorpus().sentences("eus"))
    following = shlex.split(out.splitlines()[1].removeprefix("Next: protoglot "))
    status, out, _ = protoglot(*following)
    assert status == 0
    assert out.startswith("with blank: 2 languages, 2,000 sentences")


def test_import_the_papers_languages_for_its_partitions(protoglot, tmp_path):
    source, to = tmp_path / "source", tmp_path / "bible"
    source.mkdir()
    for code in ("swh", "jac", "eus", "rus"):
        (source / f"{code}.txt").write_text(f"{code}\n")
    status, out, err = protoglot("corpus", "import", "--corpus", source, "--paper", "--to", to)
    assert (status, out.splitlines()[0]) == (0, f"{to}: 3 languages")
    assert err.startswith("not in source: acu, ")
    imported = FolderCorpus(to)
    assert {record.code: record.iso639_3 for record in imported.languages()} == {
        "eus": "eus",
        "jak": "jac",
        "ssw": "swh",
    }
    assert list(imported.sentences("ssw")) == ["swh"]


def test_markup_is_text(protoglot, folder, tmp_path):
    for arguments in (("list",), ("stats",)):
        _, out, _ = protoglot("corpus", *arguments, "--corpus", folder)
        assert all(word in out.split() for word in (CODE, *MARKUP.split()))
    _, out, _ = protoglot("corpus", "list", "--corpus", folder)
    assert "[red]CC0[/red]" in out
    assert protoglot("corpus", "show", CODE, "--corpus", folder)[1] == f"{MARKUP}\n"
    folder.rename(tmp_path / "[bold]")
    assert protoglot("corpus", "stats", "--corpus", "[bold]")[1].startswith("[bold]: 2 languages")
    status, out, _ = protoglot("corpus", "import", "--corpus", "[bold]", "--to", "[i]to")
    assert status == 0
    assert out.startswith("[i]to: 2 languages\n")


def test_markup_is_text_on_a_terminal_too(command, folder):
    """The progress bar shows the code of each language."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [command, "corpus", "stats", "--corpus", str(folder)],
            stdout=subprocess.PIPE,
            stderr=follower,
            check=False,
            env={**os.environ, "TERM": "xterm"},
        )
        seen = os.read(leader, 1 << 16)
    finally:
        os.close(follower)
        os.close(leader)
    assert done.returncode == 0
    assert f"measuring {CODE}".encode() in seen
    assert CODE.encode() in done.stdout


def test_escape_sequences_of_a_manifest_do_not_reach_the_terminal(protoglot, tmp_path):
    (tmp_path / "eus.txt").write_text("bat\n")
    (tmp_path / "manifest.csv").write_text('code,language\neus,"Eus\x1b[2Jkara\nand more"\n')
    _, out, _ = protoglot("corpus", "list", "--corpus", tmp_path, "--format", "csv")
    assert out.splitlines()[1].startswith("eus,eus,Eus[2Jkara and more,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--corpus", "nowhere"], ["'nowhere'", "wanted eld, udhr, a path"]),
        (["list", "--corpus", "x" * 5000], ["wanted eld, udhr, a path"]),
        (["list", "--corpus", "~nobody-of-this-name/x"], ["wanted eld, udhr, a path"]),
        (["list", "--corpus", "christos:nowhere"], ["nowhere: not a directory"]),
        (["stats", "--corpus", "empty"], ["empty: no .txt file"]),
        (["stats", "--corpus", "binary"], ["x.txt", "NUL bytes", "wanted UTF-8 text"]),
        (["stats", "--corpus", "latin1"], ["x.txt: line 2, byte 5: invalid UTF-8 (0xe9)"]),
        (["stats", "--languages", "eux"], ["no language 'eux'; nearest: ", "eus (Basque)"]),
        (["stats", "--languages", " , "], ["wanted codes joined by commas"]),
        (["stats", "--script", "latim"], ["'latim'", "Latin"]),
        (["stats", "--script", "Vai"], ["no language in Vai script"]),
        (["stats", "--format", "xml"], ["'xml'", "json"]),
        (["stats", "--out", "rows.xml"], ["rows.xml", "'.xml'", ".csv or .json"]),
        (["stats", "--languages", "eus", "--out", "binary/x.txt/rows.csv"], ["rows.csv: cannot be written"]),
        (["show", "eux"], ["no language 'eux'", "eus (Basque)"]),
        (["show"], ["LANGUAGE"]),
        (["show", "eus", "--number", "0"], ["--number"]),
        (["show", "eus", "--part", "exam"], ["'exam'"]),
        (["show", "eus", "--sample", "--part", "test"], ["--sample", "--part test"]),
        (["show", "eus", "--sample", "--number", "801"], ["801 sentences asked for; wanted 0 to 800"]),
        (["import"], ["--to"]),
        (["import", "--to", "empty"], ["empty: exists already"]),
        (["import", "--corpus", "blank", "--to", "new"], ["corpus blank: no sentences"]),
        (["fetch", "gutenberg", "--to", "new"], ["'gutenberg'", "ebible"]),
        (["count"], ["count"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_errors_are_one_line_and_status_2(protoglot, tmp_path, arguments, words):
    for name, content in (
        ("binary", bytes(1000)),
        ("latin1", b"ok\nfa\xe9\n"),
        ("blank", b" \n\n"),
        ("empty", None),
    ):
        (tmp_path / name).mkdir()
        if content is not None:
            (tmp_path / name / "x.txt").write_bytes(content)
    status, out, err = protoglot("corpus", *arguments)
    assert is_one_line_error(status, out, err)
    assert all(word in err for word in words)
    assert not (tmp_path / "new").exists()


def test_the_installed_command_says_the_same(installed, protoglot):
    for arguments in (["stats", "--languages", "eus"], ["show", "jpn"], ["show", "eux"]):
        done = installed("corpus", *arguments)
        status, out, err = protoglot("corpus", *arguments)
        assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (status, out, err)


@pytest.mark.parametrize(
    "arguments", [["show", "eus", "--number", "900"], ["list", "--corpus", "eld"], ["stats", "--languages", "eus"]]
)
def test_a_reader_who_leaves_is_no_error(command, arguments):
    words = shlex.join([command, "corpus", *arguments])
    done = subprocess.run(["sh", "-c", f"{words} | head -1"], capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_that_lack_letters(installed, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for arguments in (["show", "ell"], ["stats", "--languages", "ell,jpn"]):
        done = installed("corpus", *arguments, env=environment)
        assert done.returncode == 0
        assert done.stderr == b""
        assert done.stdout.count(b"\n") >= 5


def test_a_full_disk_is_said_in_one_line(command):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with full.open("wb") as stream:
        done = subprocess.run(
            [command, "corpus", "show", "eus"], stdout=stream, stderr=subprocess.PIPE, check=False
        )
    assert is_one_line_error(done.returncode, "", done.stderr.decode())
    assert b"No space left on device" in done.stderr
