import errno
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot import storage
from protoglot.errors import StorageError
from protoglot.storage import directory_written_whole, sha256_of, write_atomically

FULL = OSError(errno.ENOSPC, "No space left on device")


def fail(error):
    def raise_error(*arguments, **options):
        raise error

    return raise_error


@given(content=st.binary(max_size=3000))
def test_sha256_is_that_of_the_content(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("sha") / "file"
    path.write_bytes(content)
    assert sha256_of(path) == hashlib.sha256(content).hexdigest()


def test_sha256_reads_beyond_one_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_CHUNK_BYTES", 7)
    (tmp_path / "file").write_bytes(bytes(range(100)))
    assert sha256_of(tmp_path / "file") == hashlib.sha256(bytes(range(100))).hexdigest()


@pytest.mark.parametrize("name", ["missing", "."])
def test_sha256_of_what_cannot_be_read(tmp_path, name):
    with pytest.raises(StorageError, match="cannot be read"):
        sha256_of(tmp_path / name)


@pytest.mark.parametrize("content", ["ŋ\n", b"\x00\xff", "", b""])
def test_what_is_written_is_there_and_nothing_else(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    for _ in range(2):  # a new file, and one in its place
        write_atomically(path, content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["fsync", "replace", "open"])
@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
@pytest.mark.parametrize("existed", [True, False])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, broken, error, existed):
    path = tmp_path / "file"
    if existed:
        path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os if broken == "fsync" else Path, broken, fail(error))
        if error is FULL:
            with pytest.raises(StorageError, match=r"file: cannot be written \(No space left on device\)$"):
                write_atomically(path, "new")
        else:
            with pytest.raises(KeyboardInterrupt):
                write_atomically(path, "new")
    assert [file.read_text() for file in tmp_path.iterdir()] == (["old"] if existed else [])


def test_a_reader_sees_the_old_content_until_the_new_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    seen = []
    fsync = os.fsync

    def look(descriptor):
        seen.append(path.read_text())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(path, "new")
    assert seen == ["old", "new"]  # before the renaming, and of the folder after it


def test_a_file_in_the_way_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(StorageError, match="cannot be written"):
        write_atomically(tmp_path / "file" / "below", "new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        write_atomically(tmp_path / "folder", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("path", [Path(), Path("/"), Path("..")])
def test_a_path_without_a_name(path):
    with pytest.raises(StorageError, match="no name of its own"):
        write_atomically(path, "new")
    with pytest.raises(StorageError, match="no name of its own"), directory_written_whole(path):
        pass


def test_a_directory_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "folder"
    with directory_written_whole(path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("text")
        assert not path.exists()
    assert (path / "deep" / "file").read_text() == "text"
    assert list(path.parent.iterdir()) == [path]


def test_everything_in_a_directory_is_brought_to_the_disk_before_it_appears(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    synced = []

    def note(descriptor):
        synced.append((os.fstat(descriptor).st_ino, path.exists()))

    monkeypatch.setattr(os, "fsync", note)
    with directory_written_whole(path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("text")
    before = {inode for inode, was_there in synced if not was_there}
    assert before == {part.stat().st_ino for part in (path, path / "deep", path / "deep" / "file")}
    assert synced[-1] == (tmp_path.stat().st_ino, True)


def write_a_file_and_fail(path, error):
    with directory_written_whole(path) as folder:
        (folder / "file").write_text("text")
        raise error


@pytest.mark.parametrize("error", [ValueError("bug"), KeyboardInterrupt(), StorageError("mine")])
def test_an_error_in_the_block_leaves_nothing(tmp_path, error):
    with pytest.raises(type(error)) as caught:
        write_a_file_and_fail(tmp_path / "folder", error)
    assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing(tmp_path):
    with pytest.raises(StorageError, match=r"folder: cannot be written \(No space left on device\)$"):
        write_a_file_and_fail(tmp_path / "folder", FULL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["rename", "mkdir"])
def test_a_directory_that_cannot_be_made(tmp_path, monkeypatch, broken):
    monkeypatch.setattr(Path, broken, fail(PermissionError(errno.EACCES, "Permission denied")))
    with (
        pytest.raises(StorageError, match="Permission denied"),
        directory_written_whole(tmp_path / "folder") as folder,
    ):
        (folder / "file").write_text("text")
    assert list(tmp_path.iterdir()) == []


def test_errors_about_something_else_stay_what_they_are(tmp_path):
    for name in ("input-a", "input-b"):
        with pytest.raises(FileNotFoundError, match=name), directory_written_whole(tmp_path / "folder"):
            (tmp_path / name).read_text()
    with pytest.raises(BrokenPipeError), directory_written_whole(tmp_path / "folder"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    with (
        pytest.raises(StorageError, match="No such file"),
        directory_written_whole(tmp_path / "folder") as folder,
    ):
        (folder / "missing" / "file").write_text("text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_exists_is_refused_and_left_alone(tmp_path, kind):
    path = tmp_path / "taken"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("old")
    else:
        path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="exists already"), directory_written_whole(path):
        pytest.fail("the block must not run")
    assert list(tmp_path.iterdir()) == [path]


def test_what_came_to_exist_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "taken"
    with pytest.raises(StorageError, match="cannot be written"), directory_written_whole(path):
        (path / "other").mkdir(parents=True)
    assert [file.name for file in path.iterdir()] == ["other"]
    assert list(tmp_path.iterdir()) == [path]
