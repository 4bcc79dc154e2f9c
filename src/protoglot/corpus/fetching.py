"""Fetching the two public corpora of Bible translations from where they are kept, with git.

A commit id is the checksum of all that is in the commit, and git checks it. Nothing is checked out: the files are
listed, judged by their names, kinds and sizes, and then written here. So no link, hook or filter of a repository
has a say.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from protoglot.errors import CorpusError
from protoglot.storage import directory_written_whole, write_atomically

BASE_URL = "https://github.com"
RECEIPT = "fetch.json"
"""File of a fetched corpus that says where it came from."""

MAX_FILES = 100_000
"""Most files a commit may have."""

_REVISION = re.compile(r"(?!.*(\.\.|//))[0-9A-Za-z_][0-9A-Za-z._/-]*")
_UNSAFE_NAME = re.compile(r"(^|/)\.{0,2}(/|$)|[:\\]")
_PROGRESS = re.compile(
    r"(?P<step>Receiving objects|Resolving deltas): +(?P<percent>\d+)%"
    r"( \(\d+/\d+\), (?P<number>[\d.]+) (?P<unit>bytes|[KMG]iB))?"
)
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# No maintenance in the background, no unpacked objects, whose bytes git would not report. A silent server is left,
# after a time long enough to pack in.
_SETTINGS = {
    "maintenance.auto": "false",
    "gc.auto": "0",
    "fetch.unpackLimit": "1",
    "core.quotePath": "false",
    "credential.helper": "",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "300",
}

Progress = Callable[[float, str], AbstractContextManager[Callable[[float], None]]]
"""Begins to show how much of an amount is done: given the amount and a word, gives what takes each part done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A corpus that can be fetched."""

    name: str
    """What the user calls it."""

    repository: str
    """Owner and name on GitHub."""

    revision: str
    """The commit that is fetched unless the user asks for another revision."""

    licence: str
    """Terms of the texts."""

    wanted: re.Pattern[str]
    """Files that are kept."""

    required: tuple[tuple[str, re.Pattern[str]], ...]
    """What there must be at least one file of for the corpus to be read: for the reader, and as a pattern."""

    max_download_bytes: int
    """Largest download accepted: a guard against an endless answer, not a measure of the corpus."""

    max_total_bytes: int
    """The same for the files."""


SOURCES = {
    source.name: source
    for source in (
        Source(
            name="christos-c",
            repository="christos-c/bible-corpus",
            revision="44e5fca1bfb369a5da2ee23ebc6f421c88489c5c",
            licence="CC0 1.0, as its LICENSE states",
            wanted=re.compile(r"metadata\.csv|bibles/[^/]+\.xml|(LICEN[CS]E|README)[^/]*"),
            required=(("bibles/*.xml", re.compile(r"bibles/[^/]+\.xml")),),
            max_download_bytes=2 << 30,
            max_total_bytes=8 << 30,
        ),
        Source(
            name="ebible",
            repository="BibleNLP/ebible",
            revision="d1adedf5587efc8c1582ba05dc0221b984f8e2d0",
            licence="one per text, mostly CC BY-NC-ND, CC BY-SA or public domain: see LICENSE and metadata/",
            wanted=re.compile(r"corpus/[^/]+\.txt|vref\.txt|metadata/.+|(LICEN[CS]E|README)[^/]*"),
            required=(
                ("corpus/*.txt", re.compile(r"corpus/[^/]+\.txt")),
                ("vref.txt", re.compile(r"(metadata/)?vref\.txt")),
            ),
            max_download_bytes=4 << 30,
            max_total_bytes=32 << 30,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Where a fetched corpus came from, as the file :data:`RECEIPT` says."""

    source: str
    url: str
    revision: str
    commit: str
    files: int
    bytes: int
    fetched_at: str
    licence: str


@contextlib.contextmanager
def _silence(amount: float, label: str) -> Iterator[Callable[[float], None]]:
    yield lambda part: None


def fetch(
    source_name: str,
    destination: Path,
    *,
    revision: str | None = None,
    base_url: str = BASE_URL,
    progress: Progress = _silence,
) -> Receipt:
    """Fetch a corpus into a new directory, which appears when everything is there.

    Whatever ends it, nothing is left behind, and the same call starts afresh.

    Args:
        source_name: a key of :data:`SOURCES`.
        destination: a directory that does not exist yet, to be given to :func:`protoglot.corpus.open_corpus`.
        revision: a whole commit id, tag or branch; the source's own commit if not given.
        base_url: a server with GitHub's paths, ``BASE/OWNER/NAME``: ``https://``, or ``file://`` for a copy on this
            machine.
        progress: see :data:`Progress`.

    Returns:
        What is written to the file :data:`RECEIPT`.

    Raises:
        CorpusError: if the corpus cannot be had or is not what was asked for.
        StorageError: if the directory exists already or cannot be written.
    """
    if source_name not in SOURCES:
        raise CorpusError(f"corpus {source_name!r}: not known; wanted one of {', '.join(SOURCES)}")
    source = SOURCES[source_name]
    revision = source.revision if revision is None else revision
    if not _REVISION.fullmatch(revision):
        raise CorpusError(f"revision {revision!r}: wanted a whole commit id, tag or branch")
    url = f"{base_url.rstrip('/')}/{source.repository}"
    destination = destination.expanduser().absolute()
    with (
        directory_written_whole(destination) as directory,
        tempfile.TemporaryDirectory(dir=directory, prefix=".git") as repository,
    ):
        git = _Git(Path(repository), url)
        git.download(revision, source.max_download_bytes, progress)
        commit = git.output("rev-parse", "FETCH_HEAD^{commit}")
        files = [file for file in git.files() if source.wanted.fullmatch(file.name)]
        _check(source, url, files)
        num_bytes = sum(file.num_bytes for file in files)
        with progress(num_bytes, "writing") as advance:
            for file in files:
                git.write(file, directory / file.name)
                advance(file.num_bytes)
        receipt = Receipt(
            source=source.name,
            url=url,
            revision=revision,
            commit=commit,
            files=len(files),
            bytes=num_bytes,
            fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
            licence=source.licence,
        )
        write_atomically(directory / RECEIPT, json.dumps(asdict(receipt), indent=2) + "\n")
    return receipt


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a commit, as git lists it."""

    mode: str
    identity: str
    num_bytes: int
    name: str


class _Git:
    """A repository without a working tree, and where its one commit comes from."""

    def __init__(self, repository: Path, url: str) -> None:
        protocol, separator, rest = url.partition("://")
        if protocol not in ("https", "file") or not separator or rest.startswith("/") != (protocol == "file"):
            raise CorpusError(f"{url!r}: wanted https://HOST/..., or file:///PATH for a copy on this machine")
        program = shutil.which("git")
        if program is None:
            raise CorpusError("git: not found; wanted it installed, to fetch a corpus with (https://git-scm.com)")
        self._url = url
        settings = (word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}"))
        self._command = (program, "--git-dir", str(repository), *settings)
        # Of the user's variables those about the way to the server count, not those about a repository of theirs.
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name.startswith(("GIT_SSL", "GIT_CONFIG", "GIT_EXEC"))
        }
        # git holds redirects to the protocols allowed too, and asks for no password where it cannot.
        self._environment |= {
            "GIT_ALLOW_PROTOCOL": protocol,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "LC_ALL": "C",
        }
        self.output("init", "--quiet", "--bare", "--template=")

    def download(self, revision: str, max_bytes: int, progress: Progress) -> None:
        """Fetch one commit without those before it."""
        said = deque[str](maxlen=100)  # a server can talk without end
        done = dict.fromkeys(("Receiving objects", "Resolving deltas"), 0)
        options = ("--progress", "--depth=1", "--no-tags", "--no-recurse-submodules", "--end-of-options")
        with (
            progress(100.0 * len(done), "downloading") as advance,
            self._running("fetch", *options, self._url, revision) as git,
        ):
            assert git.stderr is not None
            for line in git.stderr:  # git ends a report of progress with CR, which is an end of line here
                found = _PROGRESS.match(line)
                if found is None:
                    said.append(line)
                    continue
                percent = int(found["percent"])
                advance(percent - done[found["step"]])
                done[found["step"]] = percent
                if found["unit"] and float(found["number"]) * _UNITS[found["unit"]] > max_bytes:
                    raise CorpusError(f"{self._url}: more than {max_bytes:,} bytes; wanted at most that")
            if git.wait() != 0:
                raise CorpusError(f"{self._url}: {_reason(said)}; wanted its revision {revision}")

    def files(self) -> Iterator[_File]:
        """All files of the commit, or an error after :data:`MAX_FILES`: a small repository can name without end."""
        with self._running("ls-tree", "-r", "-l", "FETCH_HEAD", stdout=subprocess.PIPE) as git:
            assert git.stdout is not None
            for number, line in enumerate(git.stdout):
                if number == MAX_FILES:
                    raise CorpusError(f"{self._url}: more than {MAX_FILES:,} files; wanted at most that")
                facts, _, name = line.rstrip("\n").partition("\t")
                mode, _, identity, size = facts.split()
                yield _File(mode, identity, int(size) if size.isdecimal() else 0, name)

    def write(self, file: _File, path: Path) -> None:
        """Write the content of a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # "x": two names that are one to this system must not become one file.
        with path.open("xb") as stream, self._running("cat-file", "blob", file.identity, stdout=stream):
            pass

    def output(self, *arguments: str) -> str:
        """What git prints."""
        with self._running(*arguments, stdout=subprocess.PIPE) as git:
            assert git.stdout is not None
            return git.stdout.read().strip()

    @contextlib.contextmanager
    def _running(
        self, *arguments: str, stdout: int | IO[bytes] = subprocess.DEVNULL
    ) -> Iterator["subprocess.Popen[str]"]:
        """Git, which has ended well when the block has; it is stopped if that ends with an error."""
        with subprocess.Popen(  # noqa: S603 - the git of the user, with arguments that are no options
            [*self._command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=self._environment,
            process_group=0 if os.name == "posix" else None,  # git starts others, which would not end with it
            encoding="utf-8",
            errors="replace",
        ) as git:
            assert git.stderr is not None
            try:
                yield git
                said = list(git.stderr)
            except BaseException:
                if git.poll() is None and os.name == "posix":
                    os.killpg(git.pid, signal.SIGTERM)
                else:
                    git.terminate()
                git.stderr.read()  # ends when the last of git's own processes has, so that none writes any more
                raise
        if git.returncode != 0:
            raise CorpusError(f"{self._url}: {_reason(said)}; wanted a repository that is whole")


def _reason(said: Iterable[str]) -> str:
    """What git says first of why it ended."""
    errors = [line for line in said if line.startswith(("error: ", "fatal: "))]
    return " ".join(errors[0].split()) if errors else "git failed without a word"


def _check(source: Source, url: str, files: list[_File]) -> None:
    """Refuse what the reader cannot use, and what could be written elsewhere or without end."""
    for shown, pattern in source.required:
        if not any(pattern.fullmatch(file.name) for file in files):
            raise CorpusError(f"{url}: has no file {shown}; wanted a revision of {source.repository} that has one")
    for file in files:
        if _UNSAFE_NAME.search(file.name):
            raise CorpusError(f"{url}: file {file.name!r}; wanted a name that stays in its folder")
        if file.mode not in ("100644", "100755"):
            raise CorpusError(f"{url}: {file.name!r} is a link or submodule (mode {file.mode}); wanted a file")
    num_bytes = sum(file.num_bytes for file in files)
    if num_bytes > source.max_total_bytes:
        raise CorpusError(f"{url}: {num_bytes:,} bytes of files; wanted at most {source.max_total_bytes:,}")
