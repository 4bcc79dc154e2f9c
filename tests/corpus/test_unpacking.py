import gzip
import io
import os
import random
import stat
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.corpus.unpacking import Unpacked, unpack_into
from protoglot.errors import DownloadError, ProtoglotError, StorageError
from protoglot.storage import directory_written_whole

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "README.md": b"read me\n",
    "bibles/A.xml": b"<a/>" * 300,
    "bibles/deep/er/B.xml": b"",
    "x.bin": bytes(512),
}


def unpack_tar(archive: Path, destination: Path, **options) -> Unpacked:
    """Unpack as fetching does: into a directory that appears only if all went well."""
    with directory_written_whole(destination) as directory:
        return unpack_into(archive, directory, **options)


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk():
    """Nothing here is about a loss of power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def member(name, content=b"", *, kind=tarfile.REGTYPE, mode=0o644, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mode, info.linkname = len(content), kind, mode, link
    return info, content


def tar_of(*members, commit=COMMIT):
    buffer = io.BytesIO()
    headers = {"comment": commit} if commit else {}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def honest_tar(files=FILES):
    return tar_of(
        member("top", kind=tarfile.DIRTYPE), *(member(f"top/{name}", content) for name, content in files.items())
    )


@pytest.fixture
def unpack(tmp_path):
    """Unpack the bytes of a tar into tmp_path/out."""

    def unpack(tar, *, keep=lambda name: True, **options):
        archive = tmp_path / "archive.tar.gz"
        archive.write_bytes(gzip.compress(tar))
        return unpack_tar(archive, tmp_path / "out", keep=keep, **options)

    return unpack


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(tmp_path, unpack, tar, *words, **options):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DownloadError) as caught:
        unpack(tar, **options)
    for word in ("archive.tar.gz", *words):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == sorted({*before, tmp_path / "archive.tar.gz"})


def test_an_honest_archive_is_unpacked_without_its_top_folder(unpack, tmp_path):
    unpacked = unpack(honest_tar(), comment=COMMIT)
    assert contents(tmp_path / "out") == FILES
    assert unpacked.files == tuple(FILES)
    assert unpacked.num_bytes == sum(len(content) for content in FILES.values())
    assert unpacked.comment == COMMIT


def test_only_wanted_files_are_written(unpack, tmp_path):
    assert unpack(honest_tar(), keep=lambda name: name.endswith("A.xml")).files == ("bibles/A.xml",)
    assert contents(tmp_path / "out") == {"bibles/A.xml": FILES["bibles/A.xml"]}


def test_modes_of_the_archive_are_ignored(unpack, tmp_path):
    unpack(tar_of(member("t/d", kind=tarfile.DIRTYPE, mode=0o000), member("t/d/f", b"x", mode=0o7777)))
    assert stat.S_IMODE((tmp_path / "out/d").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "out/d/f").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "t/../../evil", "t/..", "/etc/evil", "//evil", "C:/evil", "t/C:/evil", "t/c:evil",
        "t\\..\\evil", "t/a\\b", "t/\udcff", "t/" + "a/" * 3000 + "b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("wanted", [True, False])
def test_names_that_lead_elsewhere(unpack, tmp_path, name, wanted):
    tar = tar_of(member("t/first", b"x"), member(name, b"evil"))
    assert_refused(
        tmp_path, unpack, tar, repr(name[:200])[:-1], "wanted a relative path", keep=lambda name: wanted
    )


def test_a_name_with_nul(unpack, tmp_path):
    info, content = member("t/f", b"evil")
    info.pax_headers = {"path": "t/f\0/../../evil"}
    assert_refused(tmp_path, unpack, tar_of((info, content)), "NUL")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "fifo"),
        (b"Z", "unknown type"),
    ],
)
def test_members_that_are_not_files(unpack, tmp_path, kind, word):
    tar = tar_of(member("t/first", b"x"), member("t/evil", kind=kind, link="../../../etc/passwd"))
    assert_refused(tmp_path, unpack, tar, "'t/evil'", word)


def test_a_file_behind_a_link_is_not_written_through_it(unpack, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    tar = tar_of(
        member("t/a", kind=tarfile.SYMTYPE, link=str(elsewhere)),
        member("t/a/evil", b"evil"),
    )
    unpack(tar, keep=lambda name: name == "a/evil")
    assert contents(tmp_path / "out") == {"a/evil": b"evil"}
    assert not (tmp_path / "out/a").is_symlink()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_nobody_wants_are_passed_over(unpack, tmp_path, kind):
    unpack(
        tar_of(member("t/f", b"x"), member("t/link", kind=kind, link="/etc/passwd")), keep=lambda name: name == "f"
    )
    assert contents(tmp_path / "out") == {"f": b"x"}


@pytest.mark.parametrize("second", ["t/f", "t/./f", "t//f"])
@pytest.mark.parametrize("wanted", [True, False])
def test_the_same_name_twice(unpack, tmp_path, second, wanted):
    tar = tar_of(member("t/f", b"1"), member(second, b"2"))
    assert_refused(tmp_path, unpack, tar, repr(second), "twice", keep=lambda name: wanted)


def test_a_file_that_is_also_a_folder(unpack, tmp_path):
    assert_refused(tmp_path, unpack, tar_of(member("t/a", b"1"), member("t/a/b", b"2")), "'t/a/b'", "in the way")


def test_members_outside_the_top_folder(unpack, tmp_path):
    assert_refused(tmp_path, unpack, tar_of(member("t/a", b"1"), member("u/a", b"2")), "'u/a'", "top folder")
    assert_refused(tmp_path, unpack, tar_of(member("alone", b"1")), "'alone'", "top folder")


# Bombs.


@pytest.mark.parametrize("wanted", [True, False])
def test_more_bytes_than_allowed(unpack, tmp_path, wanted):
    tar = tar_of(*(member(f"t/{number}", bytes(100_000)) for number in range(20)))
    assert_refused(
        tmp_path, unpack, tar, "more than 1,000,000 bytes", max_total_bytes=10**6, keep=lambda name: wanted
    )
    unpack(tar, max_total_bytes=len(tar))


def test_bytes_behind_the_end_count_too(unpack, tmp_path):
    assert_refused(
        tmp_path, unpack, honest_tar() + bytes(10**6), "more than 500,000 bytes", max_total_bytes=500_000
    )


def test_more_members_than_allowed(unpack, tmp_path):
    tar = tar_of(*(member(f"t/{number}") for number in range(20)))
    assert_refused(tmp_path, unpack, tar, "more than 19 members", max_members=19)
    unpack(tar, max_members=20)


def test_a_header_that_would_fill_the_memory(unpack, tmp_path):
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME):
        info = tarfile.TarInfo("h")
        info.type, info.size = kind, 1 << 40
        assert_refused(
            tmp_path, unpack, info.tobuf(tarfile.GNU_FORMAT) + bytes(10240), "a header of 1,099,511,627,776"
        )


def test_headers_nested_without_end(unpack, tmp_path):
    info = tarfile.TarInfo("h")
    info.type, info.size = tarfile.XHDTYPE, 0
    assert_refused(tmp_path, unpack, info.tobuf() * 5000, "damaged header")


def test_a_sparse_file_that_claims_to_be_large(unpack, tmp_path):
    info, content = member("t/sparse", b"0\n" + bytes(510))
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    assert_refused(tmp_path, unpack, tar_of((info, content)), "sparse")


# Damage.


def test_another_commit_is_refused_before_anything_is_written(unpack, tmp_path):
    assert_refused(tmp_path, unpack, honest_tar(), COMMIT, "f" * 40, comment="f" * 40)
    assert_refused(tmp_path, unpack, tar_of(member("t/f"), commit=None), "unnamed commit", comment="f" * 40)


def test_garbage_in_the_middle_is_not_the_end(unpack, tmp_path):
    tar = bytearray(tar_of(member("t/a", b"1"), member("t/b", b"2"), commit=None))
    tar[1024:1536] = b"\x01" * 512
    assert_refused(tmp_path, unpack, bytes(tar), "damaged header")


def test_no_end_mark(unpack, tmp_path):
    assert_refused(tmp_path, unpack, tar_of(member("t/a", b"1"), commit=None)[:1024], "end mark")
    assert_refused(tmp_path, unpack, b"", "end mark")


def test_archives_that_are_none(tmp_path):
    archive = tmp_path / "archive.tar.gz"
    for content in (b"", b"<html>404</html>", random.Random(1).randbytes(5000), gzip.compress(b"text" * 1000)):
        archive.write_bytes(content)
        with pytest.raises(DownloadError, match=r"archive\.tar\.gz: "):
            unpack_tar(archive, tmp_path / "out", keep=lambda name: True)
        assert not (tmp_path / "out").exists()
    archive.unlink()
    with pytest.raises(DownloadError, match="not found"):
        unpack_tar(archive, tmp_path / "out", keep=lambda name: True)


def test_an_existing_destination_is_refused(unpack, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(StorageError, match="exists already"):
        unpack(honest_tar())


WHOLE = gzip.compress(honest_tar({**FILES, "noise": random.Random(2).randbytes(3000)}), mtime=0)


@settings(max_examples=60)
@given(st.integers(0, len(WHOLE) - 1))
def test_a_truncated_archive_never_passes(length):
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.tar.gz"
        archive.write_bytes(WHOLE[:length])
        with pytest.raises(DownloadError):
            unpack_tar(archive, Path(folder) / "out", keep=lambda name: True)
        assert list(Path(folder).iterdir()) == [archive]


@settings(max_examples=60)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_flipped_byte_changes_nothing_or_is_noticed(position, flip):
    damaged = bytearray(WHOLE)
    damaged[position] ^= flip
    with tempfile.TemporaryDirectory() as folder:
        archive, out = Path(folder) / "archive.tar.gz", Path(folder) / "out"
        archive.write_bytes(damaged)
        try:
            unpack_tar(archive, out, keep=lambda name: True)
        except DownloadError:
            assert list(Path(folder).iterdir()) == [archive]
        else:
            assert contents(out) == {**FILES, "noise": random.Random(2).randbytes(3000)}


RAW = honest_tar()


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, len(RAW) - 1), st.integers(0, 255)), min_size=1, max_size=8), st.booleans()
)
def test_whatever_a_tar_says_only_our_errors_come_and_nothing_is_written_elsewhere(changes, mends_checksums):
    tar = bytearray(RAW)
    for position, value in changes:
        tar[position] = value
    if mends_checksums:
        for start in {position // 512 * 512 for position, _ in changes}:
            block = tar[start : start + 512]
            if block[257:262] == b"ustar":
                block[148:156] = b" " * 8
                tar[start + 148 : start + 156] = b"%06o\0 " % sum(block)
    with tempfile.TemporaryDirectory() as folder:
        archive, out = Path(folder) / "archive.tar.gz", Path(folder) / "out"
        archive.write_bytes(gzip.compress(bytes(tar), 1))
        try:
            unpack_tar(archive, out, keep=lambda name: True)
        except ProtoglotError as error:
            assert "\n" not in str(error)  # noqa: PT017 (either outcome is right)
            assert list(Path(folder).iterdir()) == [archive]
        else:
            assert sorted(Path(folder).iterdir()) == [archive, out]
            assert not any(path.is_symlink() for path in out.rglob("*"))


def test_progress_ends_at_the_size_of_the_archive(unpack, tmp_path):
    seen = []
    unpack(honest_tar(), on_progress=lambda done, total: seen.append((done, total)))
    size = (tmp_path / "archive.tar.gz").stat().st_size
    assert seen[-1] == (size, size)
