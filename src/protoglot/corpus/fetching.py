"""Fetching the two public corpora of Bible translations from where they are kept."""

import json
import re
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from protoglot.corpus.downloading import download
from protoglot.corpus.unpacking import Unpacked, unpack_into
from protoglot.errors import DownloadError, StorageError
from protoglot.storage import directory_written_whole, write_atomically

BASE_URL = "https://codeload.github.com"
RECEIPT = "fetch.json"
"""File of a fetched corpus that says where it came from."""

_REVISION = re.compile(r"(?!.*(\.\.|//))[0-9A-Za-z_][0-9A-Za-z._/+-]*")

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done (``downloading`` or ``unpacking``), the bytes done, and all bytes if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A corpus that can be fetched."""

    name: str
    """What the user calls it."""

    repository: str
    """Owner and name on GitHub."""

    revision: str
    """The commit that is fetched unless the user asks for another revision."""

    description: str
    """What is in it, in a line."""

    licence: str
    """Terms of the texts."""

    wanted: re.Pattern[str]
    """Files that are kept."""

    required: tuple[tuple[str, re.Pattern[str]], ...]
    """What there must be at least one file of for the corpus to be read: for the reader, and as a pattern."""

    max_archive_bytes: int
    """Largest archive accepted: a guard against an endless answer, not a measure of the corpus."""

    max_total_bytes: int
    """The same, decompressed."""


SOURCES = {
    source.name: source
    for source in (
        Source(
            name="christos-c",
            repository="christos-c/bible-corpus",
            revision="44e5fca1bfb369a5da2ee23ebc6f421c88489c5c",
            description="about 100 translations in CES XML (Christodouloupoulos and Steedman 2015)",
            licence="CC0 1.0, as its LICENSE states",
            wanted=re.compile(r"metadata\.csv|bibles/[^/]+\.xml|(LICEN[CS]E|README)[^/]*"),
            required=(("bibles/*.xml", re.compile(r"bibles/[^/]+\.xml")),),
            max_archive_bytes=2 << 30,
            max_total_bytes=8 << 30,
        ),
        Source(
            name="ebible",
            repository="BibleNLP/ebible",
            revision="d1adedf5587efc8c1582ba05dc0221b984f8e2d0",
            description="more than 1,000 translations, one verse a line (eBible.org)",
            licence="one per text, mostly CC BY-NC-ND, CC BY-SA or public domain: see LICENSE and metadata/",
            wanted=re.compile(r"corpus/[^/]+\.txt|vref\.txt|metadata/.+|(LICEN[CS]E|README)[^/]*"),
            required=(
                ("corpus/*.txt", re.compile(r"corpus/[^/]+\.txt")),
                ("vref.txt", re.compile(r"(metadata/)?vref\.txt")),
            ),
            max_archive_bytes=4 << 30,
            max_total_bytes=32 << 30,
        ),
    )
}


def fetch(
    source_name: str,
    destination: Path,
    *,
    revision: str | None = None,
    sha256: str | None = None,
    base_url: str = BASE_URL,
    on_progress: Progress | None = None,
) -> Path:
    """Download a corpus into a new directory, which appears only when it is whole.

    GitHub makes archives on demand and promises their files, not their bytes. So the archive is checked by the
    checksum if one is given, by gzip's own checksum, and, where the revision is a commit id, by the commit
    that ``git archive`` writes into it. What was found is recorded in :data:`RECEIPT`.

    A cut download leaves hidden files beside the destination, from which the same call continues. An archive
    that arrived is removed, whether it could be unpacked or not.

    Args:
        source_name: a key of :data:`SOURCES`.
        destination: a directory that does not exist yet or is empty.
        revision: a commit id, tag or branch; the source's own commit if not given.
        sha256: the checksum the archive must have, in hexadecimal.
        base_url: a server with GitHub's paths, ``BASE/OWNER/NAME/tar.gz/REVISION``.
        on_progress: see :data:`Progress`.

    Returns:
        The destination, to be given to :func:`protoglot.corpus.open_corpus`.

    Raises:
        DownloadError: if the corpus cannot be had or is not what was asked for.
        StorageError: if it cannot be written.
    """
    source = find_source(source_name)
    revision = _check_revision(source.revision if revision is None else revision)
    destination = destination.expanduser().absolute()
    check_destination(destination)
    url = f"{base_url.rstrip('/')}/{source.repository}/tar.gz/{urllib.parse.quote(revision)}"
    archive = archive_path(destination)
    found_sha256 = download(
        url,
        archive,
        sha256=sha256,
        max_bytes=source.max_archive_bytes,
        on_progress=None if on_progress is None else lambda done, total: on_progress("downloading", done, total),
    )
    try:
        num_archive_bytes = archive.stat().st_size
        _make_way(destination)
        with directory_written_whole(destination) as directory:
            unpacked = unpack_into(
                archive,
                directory,
                keep=lambda name: source.wanted.fullmatch(name) is not None,
                max_total_bytes=source.max_total_bytes,
                comment=revision if is_commit(revision) else None,
                on_progress=None
                if on_progress is None
                else lambda done, all_: on_progress("unpacking", done, all_),
            )
            _check_required(source, url, unpacked)
            receipt = {
                "source": source.name,
                "url": url,
                "revision": revision,
                "commit": unpacked.comment,
                "sha256": found_sha256,
                "bytes": num_archive_bytes,
                "files": len(unpacked.files),
                "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "licence": source.licence,
            }
            write_atomically(directory / RECEIPT, json.dumps(receipt, indent=2) + "\n")
            directory.chmod(0o755)
    finally:
        archive.unlink(missing_ok=True)
    return destination


def find_source(name: str) -> Source:
    """The source of a name.

    Raises:
        DownloadError: if there is none.
    """
    if name not in SOURCES:
        raise DownloadError(f"corpus {name!r}: not known; wanted one of {', '.join(SOURCES)}")
    return SOURCES[name]


def is_commit(revision: str) -> bool:
    """Whether a revision is a whole commit id, so that the archive can be checked against it."""
    return re.fullmatch(r"[0-9a-f]{40}", revision) is not None


def archive_path(destination: Path) -> Path:
    """Where the archive is while it is downloaded and unpacked: beside the destination, hidden."""
    return destination.with_name(f".{destination.name}.download.tar.gz")


def check_destination(destination: Path) -> None:
    """Refuse a destination that holds something.

    Raises:
        StorageError: unless it does not exist or is an empty directory.
    """
    if not destination.name:
        raise StorageError(f"{destination}: has no name of its own; wanted a new directory")
    try:
        if destination.is_dir():
            if any(destination.iterdir()):
                raise StorageError(f"{destination}: exists and is not empty; wanted a new or empty directory")
        elif destination.exists() or destination.is_symlink():
            raise StorageError(f"{destination}: exists and is not a directory; wanted a new or empty one")
    except OSError as error:
        raise StorageError(f"{destination}: cannot be read ({error.strerror or error})") from error


def _make_way(destination: Path) -> None:
    """Remove an empty directory, so that the whole one can take its place."""
    try:
        if destination.is_dir():
            destination.rmdir()
    except OSError as error:
        raise StorageError(f"{destination}: cannot be replaced ({error.strerror or error})") from error


def _check_revision(revision: str) -> str:
    if not _REVISION.fullmatch(revision):
        raise DownloadError(f"revision {revision!r}: wanted a commit id, tag or branch")
    return revision.lower() if is_commit(revision.lower()) else revision


def _check_required(source: Source, url: str, unpacked: Unpacked) -> None:
    for shown, pattern in source.required:
        if not any(pattern.fullmatch(name) for name in unpacked.files):
            raise DownloadError(
                f"{url}: has no file {shown}; wanted a revision of {source.repository} that has one"
            )
