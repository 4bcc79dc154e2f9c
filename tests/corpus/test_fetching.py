import gzip
import hashlib
import io
import json
import re
import shutil
import sys
import tarfile
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from protoglot.cli import corpus_fetch
from protoglot.corpus import downloading, fetching, open_corpus
from protoglot.corpus.fetching import RECEIPT, SOURCES, fetch, is_commit
from protoglot.errors import DownloadError, StorageError

VERSES = ["In the first line a word", "and in the second another", "<range>", "", "the last"]
XML = (
    '<?xml version="1.0" ?><cesDoc version="4"><text><body id="x" lang="{code}"><div id="b.GEN" type="book">'
    '<div id="b.GEN.1" type="chapter"><seg id="b.GEN.1.1" type="verse">one</seg>'
    '<seg id="b.GEN.1.2" type="verse">two</seg></div></div></body></text></cesDoc>'
)
KEPT = {
    "christos-c": {
        "metadata.csv": "Filename,ISO_639-3,Language,Family\n"
        "Ewe-NT.xml,ewe,Ewe,Niger-Congo\nK'iche'-NT.xml,quc,Quiché,Mayan\n",
        "LICENSE": "CC0 1.0 Universal",
        "README.md": "# bible-corpus",
        "bibles/Ewe-NT.xml": XML.format(code="ewe"),
        "bibles/K'iche'-NT.xml": XML.format(code="quc"),
    },
    "ebible": {
        "metadata/vref.txt": "".join(f"GEN 1:{number}\n" for number in range(1, 6)),
        "metadata/licences/ewe-ewe-copr.htm": "<html/>",
        "LICENSE": "many",
        "README.md": "# eBible",
        "corpus/ewe-ewe.txt": "".join(f"{verse}\n" for verse in VERSES),
        "corpus/wol-wol.txt": "".join(f"{verse}\n" for verse in VERSES),
    },
}
DROPPED = {"code/python/ebible.py": "import os", "bibles/notes.doc": "?", "corpus/deep/x.txt": "?", "tests/a": "?"}


def archive_of(files, commit):
    """What ``git archive`` makes of some files."""
    buffer = io.BytesIO()
    headers = {"comment": commit} if commit else {}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"name-{commit}/{name}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(buffer.getvalue())


def good_archive(source, commit=None):
    return archive_of(KEPT[source] | DROPPED, commit or SOURCES[source].revision)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("source", SOURCES)
def test_a_fetched_corpus_opens_and_says_where_it_is_from(server, tmp_path, source):
    content = good_archive(source)
    server.reset(content)
    path = fetch(source, tmp_path / "new" / "bibles", base_url=server.url(""))
    assert server.paths == [f"/{SOURCES[source].repository}/tar.gz/{SOURCES[source].revision}"]
    assert path == tmp_path / "new" / "bibles"
    assert names_in(path.parent) == ["bibles"]
    files = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    assert files == {*KEPT[source], RECEIPT}
    receipt = json.loads((path / RECEIPT).read_text())
    assert abs((datetime.now(UTC) - datetime.fromisoformat(receipt.pop("fetched_at"))).total_seconds()) < 60
    assert receipt == {
        "source": source,
        "url": server.url(server.paths[0]),
        "revision": SOURCES[source].revision,
        "commit": SOURCES[source].revision,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "files": len(KEPT[source]),
        "licence": SOURCES[source].licence,
    }
    corpus = open_corpus(str(path))
    codes = [record.code for record in corpus.languages()]
    assert len(codes) == 2
    expected = ["one", "two"] if source == "christos-c" else [VERSES[0], VERSES[1], VERSES[4]]
    assert list(corpus.sentences("ewe")) == expected


@pytest.mark.corpora
@pytest.mark.parametrize("source", SOURCES)
def test_the_original_files_are_kept_as_they_are(server, tmp_path, corpora, source):
    """The originals of the research corpora, packed as GitHub would, and opened after the journey."""
    originals = sorted((corpora / "formats" / source).iterdir())
    folder = {".xml": "bibles/", ".txt": "corpus/"}
    staged = {
        ("" if file.name == "vref.txt" else folder.get(file.suffix, "")) + file.name: file for file in originals
    }
    texts = {name: file.read_bytes().decode() for name, file in staged.items()}
    server.reset(archive_of(texts, SOURCES[source].revision))
    path = fetch(source, tmp_path / "copy", base_url=server.url(""))
    for name, file in staged.items():
        assert (path / name).read_bytes() == file.read_bytes()
    corpus = open_corpus(str(path))
    for record in corpus.languages():
        assert next(iter(corpus.sentences(record.code)))


def test_the_pinned_revisions_are_commits():
    for source in SOURCES.values():
        assert is_commit(source.revision)
    assert tuple(SOURCES) == corpus_fetch._SOURCES


@pytest.mark.parametrize("commit", ["f" * 40, None])
def test_another_commit_than_asked_for(server, tmp_path, commit):
    server.reset(archive_of(KEPT["ebible"], commit))
    wanted = SOURCES["ebible"].revision
    with pytest.raises(DownloadError, match=rf"made from ({'f' * 40}|an unnamed commit); wanted {wanted}"):
        fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
    assert names_in(tmp_path) == []


def test_a_revision_of_the_users_own(server, tmp_path):
    commit = "ab" * 20
    server.reset(good_archive("ebible", commit))
    fetch("ebible", tmp_path / "a", revision=commit.upper(), base_url=server.url("") + "/")
    fetch("ebible", tmp_path / "b", revision="feature/new", base_url=server.url(""))
    assert [path.rsplit("tar.gz/")[1] for path in server.paths] == [commit, "feature/new"]
    receipt = json.loads((tmp_path / "b" / RECEIPT).read_text())
    assert (receipt["revision"], receipt["commit"]) == ("feature/new", commit)


@pytest.mark.parametrize("revision", ["", "../x", "a/../b", "-x", "a b", "a?b", "/a", "a//b", "é", "a\n"])
def test_a_revision_that_is_none(server, tmp_path, revision):
    with pytest.raises(DownloadError, match="wanted a commit id, tag or branch"):
        fetch("ebible", tmp_path / "bibles", revision=revision, base_url=server.url(""))
    assert server.requests == []


def test_the_checksum_is_checked(server, tmp_path):
    server.reset(good_archive("ebible"))
    with pytest.raises(DownloadError, match="SHA-256 is"):
        fetch("ebible", tmp_path / "bibles", sha256="0" * 64, base_url=server.url(""))
    assert names_in(tmp_path) == []
    fetch(
        "ebible", tmp_path / "bibles", sha256=hashlib.sha256(server.content).hexdigest(), base_url=server.url("")
    )


@pytest.mark.parametrize(
    ("source", "missing"),
    [("christos-c", "bibles/.*xml"), ("ebible", "corpus/.*txt"), ("ebible", "metadata/vref.txt")],
)
def test_an_archive_without_what_the_reader_needs(server, tmp_path, source, missing):
    files = {name: text for name, text in KEPT[source].items() if not re.fullmatch(missing, name)}
    server.reset(archive_of(files, SOURCES[source].revision))
    with pytest.raises(DownloadError, match="has no file"):
        fetch(source, tmp_path / "bibles", base_url=server.url(""))
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("damage", [lambda archive: archive[:-20], lambda archive: b"<html>" + archive])
def test_a_damaged_archive_leaves_nothing(server, tmp_path, damage):
    server.reset(damage(good_archive("ebible")))
    with pytest.raises(DownloadError, match=r"damaged|end mark"):
        fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
    assert names_in(tmp_path) == []


def test_limits_of_the_source_are_used(server, tmp_path, monkeypatch):
    server.reset(good_archive("ebible"))
    for field, value in (("max_archive_bytes", 100), ("max_total_bytes", 2000)):
        limits = {name: getattr(SOURCES["ebible"], name) for name in fetching.Source.__dataclass_fields__}
        with monkeypatch.context() as patch:
            patch.setitem(SOURCES, "ebible", fetching.Source(**limits | {field: value}))
            with pytest.raises(DownloadError, match=f"at most {value:,}|more than {value:,}"):
                fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
        assert names_in(tmp_path) == []


def test_an_interrupted_fetch_continues(server, tmp_path, monkeypatch):
    content = good_archive("ebible")
    server.reset(content)
    write_all = downloading._write_all

    def write_some(stream, chunk):
        write_all(stream, chunk[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(downloading, "_write_all", write_some)
        with pytest.raises(KeyboardInterrupt):
            fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
    assert names_in(tmp_path) == [".bibles.download.tar.gz.partial", ".bibles.download.tar.gz.partial.json"]
    fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
    assert server.requests[-1]["Range"] == "bytes=100-"
    assert names_in(tmp_path) == ["bibles"]


def test_a_disk_that_fills_while_unpacking_leaves_nothing(server, tmp_path, monkeypatch):
    server.reset(good_archive("ebible"))
    monkeypatch.setattr(fetching, "write_atomically", full_disk)
    with pytest.raises(StorageError, match="No space left"):
        fetch("ebible", tmp_path / "bibles", base_url=server.url(""))
    assert names_in(tmp_path) == []


def full_disk(*arguments, **options):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", ["full folder", "file", "link"])
def test_a_destination_that_is_taken_is_refused_before_the_download(server, tmp_path, kind):
    server.reset(good_archive("ebible"))
    path = tmp_path / "taken"
    if kind == "full folder":
        path.mkdir()
        (path / "mine").write_text("mine")
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    with pytest.raises(StorageError, match=r"taken: exists and is not"):
        fetch("ebible", path, base_url=server.url(""))
    assert server.requests == []
    assert names_in(tmp_path) == ["taken"]


def test_an_empty_destination_is_used(server, tmp_path):
    server.reset(good_archive("ebible"))
    (tmp_path / "bibles").mkdir()
    assert names_in(fetch("ebible", tmp_path / "bibles", base_url=server.url(""))) == [
        "LICENSE", "README.md", "corpus", RECEIPT, "metadata",
    ]  # fmt: skip


def test_a_source_nobody_knows(tmp_path):
    with pytest.raises(DownloadError, match="'other': not known; wanted one of christos-c, ebible"):
        fetch("other", tmp_path / "bibles")


def test_both_phases_are_reported(server, tmp_path):
    server.reset(good_archive("ebible"))
    seen = []
    fetch("ebible", tmp_path / "a", base_url=server.url(""), on_progress=lambda *report: seen.append(report))
    size = len(server.content)
    assert seen[0] == ("downloading", 0, size)
    assert ("downloading", size, size) in seen
    assert seen[-1] == ("unpacking", size, size)


# The command.


def run_command(*arguments):
    return CliRunner().invoke(corpus_fetch.fetch, [str(argument) for argument in arguments])


def test_the_command_says_what_it_fetched_and_what_comes_next(server, tmp_path):
    server.reset(good_archive("christos-c"))
    result = run_command("christos-c", "--to", tmp_path / "my bibles", "--url", server.url(""))
    assert result.exit_code == 0, result.output
    fetched, following = result.stdout.splitlines()
    assert "christos-c at 44e5fca1bfb3" in fetched
    assert "5 files" in fetched
    assert "CC0" in fetched
    assert following == f"Next: protoglot corpus stats --corpus '{tmp_path}/my bibles'"
    assert result.stderr == ""


def test_the_command_says_that_a_branch_is_not_checked(server, tmp_path):
    server.reset(good_archive("ebible", "ab" * 20))
    result = run_command("ebible", "--to", tmp_path / "b", "--url", server.url(""), "--revision", "main")
    assert result.exit_code == 0
    assert "Not checked against a commit: 'main'" in result.stderr
    assert "ab" * 20 in result.stderr


def test_the_command_passes_errors_on(server, tmp_path):
    server.reset(b"", statuses=[404])
    result = run_command("ebible", "--to", tmp_path / "b", "--url", server.url(""))
    assert isinstance(result.exception, DownloadError)
    assert "HTTP 404" in str(result.exception)
    result = run_command("ebible", "--to", tmp_path / "b", "--url", "http://example.org")
    assert "wanted https" in str(result.exception)


def test_the_command_teaches():
    text = " ".join(run_command("--help").output.split())
    for words in ("christos-c", "ebible", "continues when the same command is run again", "corpus stats --corpus"):
        assert words in text
    assert run_command("other", "--to", "x").exit_code == 2
    assert run_command("ebible").exit_code == 2


def test_the_command_shows_progress_on_a_terminal(server, tmp_path, monkeypatch):
    server.reset(good_archive("ebible"))
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    corpus_fetch.fetch.callback("ebible", tmp_path / "b", None, None, server.url(""))
    shutil.rmtree(tmp_path / "b")
    assert "downloading" in terminal.getvalue()
    assert "unpacking" in terminal.getvalue()


def test_the_command_says_what_an_interrupt_keeps(server, tmp_path, monkeypatch, capsys):
    server.reset(good_archive("ebible"))
    write_all = downloading._write_all

    def write_some(stream, chunk):
        write_all(stream, chunk[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(downloading, "_write_all", write_some)
    with pytest.raises(KeyboardInterrupt):
        corpus_fetch.fetch.callback("ebible", tmp_path / "b", None, None, server.url(""))
    assert "the same command continues" in capsys.readouterr().err
