"""Corpora from a repository, which may be hostile, cut off or not there."""

import contextlib
import hashlib
import http.server
import io
import json
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import zlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protoglot.cli import corpus_fetch
from protoglot.corpus import open_corpus
from protoglot.corpus.fetching import RECEIPT, SOURCES, fetch
from protoglot.errors import CorpusError, StorageError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILE, PROGRAM, FOLDER, LINK, SUBMODULE = "100644", "100755", "40000", "120000", "160000"
KEPT = {
    "christos-c": {
        "metadata.csv": b"Filename,ISO_639-3,Language,Family\n"
        b"Ewe-NT.xml,ewe,Ewe,Niger-Congo\nK'iche'-NT.xml,quc,K'iche',Mayan\n",
        "LICENSE": b"CC0 1.0 Universal",
        "README.md": b"# bible-corpus",
        "bibles/Ewe-NT.xml": b"<cesDoc><seg>one</seg><seg>two</seg></cesDoc>",
        "bibles/K'iche'-NT.xml": b"<cesDoc><seg>one</seg></cesDoc>",
    },
    "ebible": {
        "metadata/vref.txt": b"GEN 1:1\nGEN 1:2\nGEN 1:3\n",
        "metadata/licences/ewe-ewe-copr.htm": b"<html/>",
        "LICENSE": b"many",
        "README.md": b"# eBible",
        "corpus/ewe-ewe.txt": b"one\n<range>\ntwo\n",
        "corpus/wol-wol.txt": b"one\n\ntwo\n",
    },
}
DROPPED = {"code/ebible.py": b"import os", "bibles/notes.doc": b"?", "corpus/deep/x.txt": b"?", "tests/a": b"?"}


class Repository:
    """A bare repository on this machine, written object by object, so that it can say what git would not."""

    def __init__(self, path):
        self.path = path
        for folder in ("objects", "refs/heads"):
            (path / folder).mkdir(parents=True)
        (path / "HEAD").write_text("ref: refs/heads/main\n")

    def store(self, kind, content):
        data = b"%s %d\0" % (kind.encode(), len(content)) + content
        identity = hashlib.sha1(data).hexdigest()
        path = self.path_of(identity)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(data))
        return identity

    def path_of(self, identity):
        return self.path / "objects" / identity[:2] / identity[2:]

    def tree(self, *entries):
        """A tree of ``(mode, name, identity)``."""
        return self.store(
            "tree",
            b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(identity) for mode, name, identity in entries),
        )

    def tree_of(self, files):
        """The tree of ``{path: content}``."""
        entries, folders = [], {}
        for name, content in files.items():
            first, _, rest = name.partition("/")
            if rest:
                folders.setdefault(first, {})[rest] = content
            else:
                entries.append((first, (FILE, first, self.store("blob", content))))
        entries += [(f"{name}/", (FOLDER, name, self.tree_of(inner))) for name, inner in folders.items()]
        return self.tree(*(entry for _, entry in sorted(entries)))

    def commit(self, tree, branch="main"):
        author = "A <a@example.org> 1700000000 +0000"
        identity = self.store("commit", f"tree {tree}\nauthor {author}\ncommitter {author}\n\nText\n".encode())
        (self.path / "refs" / "heads" / branch).write_text(f"{identity}\n")
        return identity


@pytest.fixture
def repositories(tmp_path):
    """The folder that stands for GitHub, and in it an empty repository for each source."""
    return {name: Repository(tmp_path / "hub" / source.repository) for name, source in SOURCES.items()}


@pytest.fixture
def hub(repositories, tmp_path):
    return (tmp_path / "hub").as_uri()


@pytest.fixture
def out(tmp_path):
    """Where corpora are fetched to; the law is that nothing else is ever there."""
    path = tmp_path / "out"
    path.mkdir()
    return path


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(out, hub, *words, source="ebible", revision="main", error=CorpusError):
    with pytest.raises(error) as caught:
        fetch(source, out / "bibles", revision=revision, base_url=hub)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert list(out.iterdir()) == []


# Laws.


@pytest.mark.parametrize("source", SOURCES)
def test_a_fetched_corpus_opens_and_says_where_it_is_from(repositories, hub, out, source):
    files = KEPT[source] | DROPPED
    commit = repositories[source].commit(repositories[source].tree_of(files))
    receipt = fetch(source, out / "new" / "bibles", revision=commit, base_url=f"{hub}/")
    path = out / "new" / "bibles"
    assert list(path.parent.iterdir()) == [path]
    found = contents(path)
    written = json.loads(found.pop(RECEIPT))
    assert found == KEPT[source]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(written.pop("fetched_at"))).total_seconds()) < 60
    assert written == {
        "source": source,
        "url": f"{hub}/{SOURCES[source].repository}",
        "revision": commit,
        "commit": commit,
        "files": len(KEPT[source]),
        "bytes": sum(map(len, KEPT[source].values())),
        "licence": SOURCES[source].licence,
    }
    assert receipt.commit == commit
    corpus = open_corpus(str(path))
    assert len(corpus.languages()) == 2
    assert list(corpus.sentences("ewe")) == ["one", "two"]


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters='/\\:"', exclude_categories=["C", "Z"]), min_size=1
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(NAMES.map(str.casefold), max_size=3), content=st.binary(max_size=200))
def test_every_file_wanted_is_written_byte_by_byte(repositories, hub, tmp_path_factory, names, content):
    """Attributes and line ends too, which a checkout would follow."""
    files = KEPT["ebible"] | {f"metadata/x{name[:40]}": content + b"$Id$\r\n" for name in names}
    attributes = {".gitattributes": b"* text=auto eol=lf ident filter=lfs working-tree-encoding=UTF-16\n"}
    repositories["ebible"].commit(repositories["ebible"].tree_of(files | attributes))
    path = tmp_path_factory.mktemp("any") / "bibles"
    fetch("ebible", path, revision="main", base_url=hub)
    assert contents(path).keys() == {*files, RECEIPT}
    assert all((path / name).read_bytes() == content for name, content in files.items())


@pytest.mark.parametrize("moment", range(5))
def test_an_interrupt_at_any_moment_leaves_nothing_and_the_next_run_starts_afresh(repositories, hub, out, moment):
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"]))
    calls = iter(range(100))

    @contextlib.contextmanager
    def interrupting(amount, label):
        def advance(part):
            if next(calls) == moment:
                raise KeyboardInterrupt

        yield advance

    with pytest.raises(KeyboardInterrupt):
        fetch("ebible", out / "bibles", revision="main", base_url=hub, progress=interrupting)
    assert list(out.iterdir()) == []
    fetch("ebible", out / "bibles", revision="main", base_url=hub, progress=interrupting)
    assert list(out.iterdir()) == [out / "bibles"]


def test_an_interrupt_while_the_server_is_silent_ends_all_that_git_started(out):
    code = (
        "import sys; from pathlib import Path; from protoglot.corpus.fetching import fetch;"
        "fetch('ebible', Path(sys.argv[1]), base_url=sys.argv[2])"
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(out / "bibles"), url], stderr=subprocess.DEVNULL
        ) as child:
            connection, _ = listening.accept()
            with connection:
                child.send_signal(signal.SIGINT)
                assert child.wait(20) != 0
                connection.settimeout(5)
                with contextlib.suppress(ConnectionError):
                    while connection.recv(1 << 16):
                        pass
    assert list(out.iterdir()) == []


def test_progress_is_shown_to_the_end(repositories, hub, out):
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"]))
    amounts, done = {}, {}

    @contextlib.contextmanager
    def progress(amount, label):
        amounts[label], done[label] = amount, []
        yield done[label].append

    receipt = fetch("ebible", out / "bibles", revision="main", base_url=hub, progress=progress)
    assert list(amounts) == ["downloading", "writing"]
    assert sum(done["downloading"]) in (100, 200)  # the second half, deltas, where there are some
    assert sum(done["writing"]) == amounts["writing"] == receipt.bytes


# What is refused.


@pytest.mark.parametrize(
    "name", ["..", ".", "C:x", "../../evil", "/etc/evil", "corpus//evil", "", "a\\b", 'a"b', "a\nb"]
)
def test_names_that_lead_elsewhere(repositories, hub, out, name):
    repository = repositories["ebible"]
    evil = repository.store("blob", b"evil")
    metadata = repository.tree((FOLDER, "deep", repository.tree((FILE, name, evil))), (FILE, "vref.txt", evil))
    corpus = repository.tree((FILE, "a-a.txt", evil))
    repository.commit(repository.tree((FOLDER, "corpus", corpus), (FOLDER, "metadata", metadata)))
    if name == "":
        assert_refused(out, hub, "error: ")  # by git
    elif name[0] != "a":
        assert_refused(out, hub, f"'metadata/deep/{name}'; wanted a name that stays in its folder")
    else:  # git writes them as quotations, which nobody wants
        fetch("ebible", out / "bibles", revision="main", base_url=hub)
        assert contents(out / "bibles").keys() == {"corpus/a-a.txt", "metadata/vref.txt", RECEIPT}


@pytest.mark.parametrize("mode", [LINK, SUBMODULE])
@pytest.mark.parametrize("is_wanted", [True, False])
def test_links_are_never_made(repositories, hub, out, mode, is_wanted):
    repository = repositories["ebible"]
    target = repository.store("blob", b"../../../etc/passwd") if mode == LINK else "ab" * 20
    good = repository.store("blob", b"one\n")
    corpus = repository.tree((FILE, "a-a.txt", good), (mode, "b-b.txt" if is_wanted else "link", target))
    repository.commit(repository.tree((FOLDER, "corpus", corpus), (FILE, "vref.txt", good)))
    if is_wanted:
        assert_refused(out, hub, "'corpus/b-b.txt' is a link or submodule", mode)
    else:
        fetch("ebible", out / "bibles", revision="main", base_url=hub)
        assert contents(out / "bibles").keys() == {"corpus/a-a.txt", "vref.txt", RECEIPT}


def test_a_name_that_occurs_twice(repositories, hub, out):
    repository = repositories["ebible"]
    good = repository.store("blob", b"one\n")
    corpus = repository.tree((FILE, "a-a.txt", good), (FILE, "a-a.txt", good))
    repository.commit(repository.tree((FOLDER, "corpus", corpus), (FILE, "vref.txt", good)))
    assert_refused(out, hub, "File exists", error=StorageError)


def test_programs_become_files(repositories, hub, out):
    repository = repositories["ebible"]
    good = repository.store("blob", b"one\n")
    corpus = repository.tree((PROGRAM, "a-a.txt", good))
    repository.commit(repository.tree((FOLDER, "corpus", corpus), (FILE, "vref.txt", good)))
    fetch("ebible", out / "bibles", revision="main", base_url=hub)
    assert not (out / "bibles" / "corpus" / "a-a.txt").stat().st_mode & 0o111


def test_a_small_repository_that_names_files_without_end(repositories, hub, out):
    """Trees of ten times the same tree: 10 to the 12th files in 13 objects."""
    repository = repositories["ebible"]
    inner = repository.tree(*((FILE, f"{number}", repository.store("blob", b"")) for number in range(10)))
    for _ in range(11):
        inner = repository.tree(*((FOLDER, f"{number}", inner) for number in range(10)))
    repository.commit(repository.tree((FOLDER, "metadata", inner)))
    assert_refused(out, hub, "more than 100,000 files")


@pytest.mark.parametrize(
    ("limit", "words"),
    [("max_download_bytes", "more than 900,000 bytes"), ("max_total_bytes", "1,000,0")],
)
def test_more_bytes_than_allowed(repositories, hub, out, monkeypatch, limit, words):
    """A million bytes, either of noise or of nothing, which packs to next to nothing."""
    content = bytes(10**6) if limit == "max_total_bytes" else random.Random(1).randbytes(10**6)
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"] | {"metadata/big": content}))
    with monkeypatch.context() as patch:
        patch.setitem(SOURCES, "ebible", replace(SOURCES["ebible"], **{limit: 900_000}))
        assert_refused(out, hub, words, "wanted at most")
    fetch("ebible", out / "bibles", revision="main", base_url=hub)


@pytest.mark.parametrize(
    ("source", "missing"), [("christos-c", "bibles/"), ("ebible", "corpus/"), ("ebible", "metadata/vref.txt")]
)
def test_a_commit_without_what_the_reader_needs(repositories, hub, out, source, missing):
    files = {name: content for name, content in KEPT[source].items() if not name.startswith(missing)}
    repositories[source].commit(repositories[source].tree_of(files))
    assert_refused(out, hub, "has no file", source=source)


@pytest.mark.parametrize("damage", ["changed", "cut off", "missing"])
def test_content_that_is_not_what_the_commit_says(repositories, hub, out, damage):
    repository = repositories["ebible"]
    repository.commit(repository.tree_of(KEPT["ebible"]))
    path = repository.path_of(repository.store("blob", KEPT["ebible"]["corpus/ewe-ewe.txt"]))
    if damage == "changed":
        path.write_bytes(zlib.compress(b"blob 3\0bad"))
    elif damage == "cut off":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
    assert_refused(out, hub, hub)


@pytest.mark.parametrize("revision", ["nosuch", "ab" * 20, "main~1"])
def test_a_revision_that_is_not_there(repositories, hub, out, revision):
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"]))
    assert_refused(out, hub, revision, revision=revision)


def test_a_revision_that_is_no_commit(repositories, hub, out):
    tree = repositories["ebible"].tree_of(KEPT["ebible"])
    (repositories["ebible"].path / "refs" / "tags").mkdir()
    (repositories["ebible"].path / "refs" / "tags" / "tree").write_text(f"{tree}\n")
    assert_refused(out, hub, "FETCH_HEAD^{commit}", revision="tree")


@pytest.mark.parametrize(
    "revision", ["", "../x", "a/../b", "-x", "--upload-pack=x", "a b", "a:b", "+a", "é", "a\n"]
)
def test_a_revision_that_is_none(out, revision):
    assert_refused(out, "file:///nowhere", "wanted a whole commit id, tag or branch", revision=revision)


@pytest.mark.parametrize(
    "url",
    ["", "http://example.org", "ssh://a@b", "ext::sh -c x", "example.org:x", "/x", "https:///x", "file://h/x"],
)
def test_addresses_that_are_refused(out, url):
    assert_refused(out, url, "wanted https://HOST/")


def test_nobody_listens_and_nothing_is_there(out, hub):
    shutil.rmtree(out.parent / "hub")
    assert_refused(out, hub, "fatal: ")
    assert_refused(out, "https://127.0.0.1:1", "unable to access")


class _Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path begins with."""

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Location", f"http://{self.headers['Host']}/200")
        self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An https server that has no repository."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("server")
    key, certificate = path / "key.pem", path / "certificate.pem"
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost")
    subprocess.run([*new, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (200, "couldn't find remote ref"),
        (204, "fatal: "),
        (302, '"http"'),
        (401, "terminal prompts disabled"),
        (404, "not found"),
        (500, "returned error: 500"),
    ],
)
def test_answers_that_are_no_repository(server, out, monkeypatch, status, words):
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    assert_refused(out, f"{server}/{status}", words)


def test_a_server_that_cannot_say_who_it_is(server, out):
    assert_refused(out, server, "certificate")


def test_git_that_is_not_installed(out, hub, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert_refused(out, hub, "git: not found; wanted it installed")


def test_a_repository_of_the_users_own_is_left_alone(repositories, hub, out, tmp_path, monkeypatch):
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"]))
    mine = Repository(tmp_path / "mine")
    for name, path in (("GIT_DIR", "mine"), ("GIT_OBJECT_DIRECTORY", "mine/objects"), ("GIT_WORK_TREE", "mine")):
        monkeypatch.setenv(name, str(tmp_path / path))
    before = contents(mine.path)
    fetch("ebible", out / "bibles", revision="main", base_url=hub)
    assert contents(mine.path) == before


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_destination_that_is_taken_is_left_alone(out, hub, kind):
    path = out / "taken"
    {"folder": path.mkdir, "file": path.touch, "link": lambda: path.symlink_to("nowhere")}[kind]()
    with pytest.raises(StorageError, match=r"taken: exists already; wanted a new directory"):
        fetch("ebible", path, base_url=hub)
    assert list(out.iterdir()) == [path]


def test_a_source_nobody_knows(out):
    assert_refused(out, "", "'other': not known; wanted one of christos-c, ebible", source="other")


@pytest.mark.corpora
@pytest.mark.parametrize("source", SOURCES)
def test_the_original_files_are_kept_as_they_are(repositories, hub, out, corpora, source):
    folders = {".xml": "bibles/", ".txt": "corpus/"}
    staged = {
        ("" if file.name == "vref.txt" else folders.get(file.suffix, "")) + file.name: file.read_bytes()
        for file in (corpora / "formats" / source).iterdir()
    }
    repositories[source].commit(repositories[source].tree_of(staged))
    fetch(source, out / "copy", revision="main", base_url=hub)
    assert contents(out / "copy").items() >= staged.items()
    corpus = open_corpus(str(out / "copy"))
    assert all(next(corpus.sentences(record.code)) for record in corpus.languages())


# The command.


def run_command(*arguments):
    return CliRunner().invoke(corpus_fetch.fetch, [str(argument) for argument in arguments])


def test_the_command_says_what_it_fetched_and_what_comes_next(repositories, hub, out):
    commit = repositories["christos-c"].commit(repositories["christos-c"].tree_of(KEPT["christos-c"]))
    result = run_command("christos-c", "--to", out / "my bibles", "--url", hub, "--revision", "main")
    assert result.exit_code == 0, result.output
    fetched, following = result.stdout.splitlines()
    assert all(word in fetched for word in (f"christos-c at commit {commit[:12]}", "5 files", "CC0"))
    assert following == f"Next: protoglot corpus stats --corpus '{out}/my bibles'"
    assert result.stderr == ""


def test_the_command_fetches_the_commit_it_knows(out, hub):
    result = run_command("ebible", "--to", out / "b", "--url", hub)
    assert isinstance(result.exception, CorpusError)
    assert SOURCES["ebible"].revision in str(result.exception)


def test_the_command_teaches():
    text = " ".join(run_command("--help").output.split())
    assert all(word in text for word in (*SOURCES, "Needs git", "starts afresh", "corpus stats --corpus"))
    assert tuple(SOURCES) == corpus_fetch._SOURCES
    assert run_command("other", "--to", "x").exit_code == 2
    assert run_command("ebible").exit_code == 2


def test_the_command_shows_progress_on_a_terminal(repositories, hub, out, monkeypatch):
    repositories["ebible"].commit(repositories["ebible"].tree_of(KEPT["ebible"]))
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    corpus_fetch.fetch.callback("ebible", out / "b", "main", hub)
    assert all(word in terminal.getvalue() for word in ("downloading", "writing"))
