"""What was written is read, and whatever else lies there is refused."""

import hashlib
import json
import os
import pickle
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from protoglot.artefacts import HEADER, load_artefact, read_header, save_artefact
from protoglot.errors import StorageError

CONTENT = {
    "name": "Ḿ \u0301 x",
    "number": 3,
    "share": 0.1 + 0.2,
    "list": [1, None, True],
    "deep": {"a": {"b": -1e-300}},
}
TENSORS = {
    "weights": {
        "a": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "scalar": np.asarray(np.float32(7)),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "nan": np.array([np.nan, np.inf, -0.0], dtype=np.float32),
        "bytes": np.arange(5, dtype=np.uint8),
    },
    "more": {"b": np.ones(3, dtype=np.float64)},
}


@pytest.fixture
def artefact(tmp_path):
    save_artefact(tmp_path / "x", kind="thing", content=CONTENT, tensors=TENSORS)
    return tmp_path / "x"


def sign(header: dict) -> dict:
    """A header with the digest it should have: for what only somebody who means it could write."""
    rest = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return {**rest, "sha256": digest}


def rewrite(artefact, **changes):
    header = json.loads((artefact / HEADER).read_bytes())
    (artefact / HEADER).write_text(json.dumps(sign({**header, **changes})))


def register(artefact, name: str):
    """Make the header state the present size and digest of a file."""
    header = json.loads((artefact / HEADER).read_bytes())
    data = (artefact / name).read_bytes()
    facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    rewrite(artefact, files={**header["files"], name: facts})


def test_save_then_load_is_the_identity(artefact):
    content, tensors = load_artefact(artefact, kind="thing")
    assert content == CONTENT
    assert {name: set(arrays) for name, arrays in tensors.items()} == {
        name: set(arrays) for name, arrays in TENSORS.items()
    }
    for file, arrays in TENSORS.items():
        for name, array in arrays.items():
            found = tensors[file][name]
            assert found.dtype == array.dtype
            assert found.shape == array.shape
            assert found.tobytes() == np.ascontiguousarray(array).tobytes()


def test_names_that_are_not_unicode_text_are_kept(tmp_path):
    """A path whose bytes are no UTF-8 is given to Python with lone surrogates in it."""
    save_artefact(tmp_path / "x", kind="thing", content={"corpus": "caf\udce9"}, tensors={})
    assert load_artefact(tmp_path / "x", kind="thing") == ({"corpus": "caf\udce9"}, {})


def test_an_artefact_is_replaced_whole(artefact):
    save_artefact(artefact, kind="thing", content={"second": 2}, tensors={})
    assert load_artefact(artefact, kind="thing") == ({"second": 2}, {})
    assert [path.name for path in artefact.parent.iterdir()] == ["x"]
    assert [path.name for path in artefact.iterdir()] == [HEADER]


def test_an_empty_directory_may_be_filled(tmp_path):
    (tmp_path / "x").mkdir()
    save_artefact(tmp_path / "x", kind="thing", content=CONTENT, tensors=TENSORS)
    assert load_artefact(tmp_path / "x", kind="thing")[0] == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_files_of_others_in_an_artefact_are_not_lost(artefact):
    (artefact / "README.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"'README\.txt', which would be lost"):
        save_artefact(artefact, kind="model", content={}, tensors={})
    assert (artefact / "README.txt").read_text() == "mine"


def test_a_header_of_another_program_is_not_an_artefact(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    (path / "header.json").write_text('{"title": "of another program"}')
    with pytest.raises(StorageError, match="exists already"):
        save_artefact(path, kind="model", content={}, tensors={})
    assert "another program" in (path / "header.json").read_text()


def test_what_is_not_an_artefact_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("more work")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("thesis", "file", "link"):
        with pytest.raises(StorageError, match=rf"{name}: exists already; wanted"):
            save_artefact(tmp_path / name, kind="thing", content={}, tensors={})
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "more work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "thesis"]


def test_a_path_without_a_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path.parent.joinpath(".").relative_to(tmp_path.parent), tmp_path / ".."):
        with pytest.raises(StorageError, match=r"exists already|no name of its own"):
            save_artefact(path, kind="thing", content={}, tensors={})


def test_a_save_that_fails_leaves_the_old_one(artefact, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", fail)
    with pytest.raises(StorageError, match="No space left on device"):
        save_artefact(artefact, kind="thing", content={}, tensors=TENSORS)
    assert load_artefact(artefact, kind="thing")[0] == CONTENT
    assert [path.name for path in artefact.parent.iterdir()] == ["x"]


# Damage.


@pytest.mark.parametrize("name", [HEADER, "weights.safetensors", "more.safetensors"])
def test_no_changed_byte_goes_unnoticed(artefact, name):
    """A changed byte of the header may leave what it says unchanged (a blank for a line break), and no other."""
    file = artefact / name
    whole = file.read_bytes()
    generator = np.random.default_rng(0)
    refused = 0
    for position in generator.integers(0, len(whole), size=200):
        data = bytearray(whole)
        data[position] ^= generator.integers(1, 256)
        file.write_bytes(data)
        if name == HEADER and file.read_bytes().split() == whole.split():
            continue
        with pytest.raises(StorageError) as caught:
            load_artefact(artefact, kind="thing")
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
        refused += 1
    assert refused >= 195


@pytest.mark.parametrize("name", [HEADER, "weights.safetensors", "more.safetensors"])
def test_no_truncation_goes_unnoticed(artefact, name):
    file = artefact / name
    whole = file.read_bytes()
    # The last byte of the header is a line break, and says nothing.
    lengths = {0, 1, len(whole) - 2, *np.random.default_rng(0).integers(0, len(whole) - 2, size=60).tolist()}
    for length in lengths:
        file.write_bytes(whole[:length])
        with pytest.raises(StorageError, match=str(file)):
            load_artefact(artefact, kind="thing")


def test_bytes_that_were_added_are_noticed(artefact):
    for name in (HEADER, "weights.safetensors"):
        whole = (artefact / name).read_bytes()
        (artefact / name).write_bytes(whole + b"x")
        with pytest.raises(StorageError, match=name):
            load_artefact(artefact, kind="thing")
        (artefact / name).write_bytes(whole)


@pytest.mark.parametrize("name", [HEADER, "weights.safetensors", "more.safetensors"])
@pytest.mark.parametrize("instead", ["nothing", "directory", "dangling link"])
def test_missing_files_are_named(artefact, name, instead):
    (artefact / name).unlink()
    if instead == "directory":
        (artefact / name).mkdir()
    elif instead == "dangling link":
        (artefact / name).symlink_to("nowhere")
    with pytest.raises(StorageError, match=name):
        load_artefact(artefact, kind="thing")


def test_a_missing_artefact_is_named(tmp_path):
    with pytest.raises(
        StorageError, match=r"nowhere: no such directory; wanted the directory of a model or prior"
    ):
        load_artefact(tmp_path / "nowhere", kind="thing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="below"):
        load_artefact(tmp_path / "file" / "below", kind="thing")


def test_files_of_two_artefacts_do_not_mix(artefact, tmp_path):
    save_artefact(tmp_path / "y", kind="thing", content=CONTENT, tensors={"weights": TENSORS["more"]})
    shutil.copy(tmp_path / "y" / "weights.safetensors", artefact)
    with pytest.raises(StorageError, match=r"weights\.safetensors: "):
        load_artefact(artefact, kind="thing")


def test_another_kind_is_named(artefact):
    with pytest.raises(StorageError, match="a thing; wanted a model"):
        load_artefact(artefact, kind="model")


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_another_version_is_named(artefact, version):
    rewrite(artefact, version=version)
    with pytest.raises(StorageError, match=rf"version {version!r}; wanted version 1"):
        load_artefact(artefact, kind="thing")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"protoglot-artefact"',
        "{}",
        '{"format": "other"}',
        '{"format": "protoglot-artefact", "version": 1}',
        "[" * 100_000,
        "1" * 5000,
        '{"format": NaN}',
    ],
)
def test_foreign_json_is_refused(artefact, text):
    (artefact / HEADER).write_text(text)
    with pytest.raises(StorageError, match=rf"^{artefact / HEADER}: "):
        load_artefact(artefact, kind="thing")


@pytest.mark.parametrize(
    "changes",
    [
        {"files": []},
        {"files": None},
        {"content": []},
        {"kind": None},
        {"kind": ["thing"]},
        {"files": {"weights.safetensors": None}},
        {"files": {"weights.safetensors": {}}},
    ],
)
def test_a_signed_header_without_its_parts_is_refused(artefact, changes):
    rewrite(artefact, **changes)
    with pytest.raises(StorageError, match=str(artefact)):
        load_artefact(artefact, kind="thing")


@pytest.mark.parametrize("part", ["kind", "files", "content"])
def test_a_signed_header_that_lacks_a_part_is_refused(artefact, part):
    header = json.loads((artefact / HEADER).read_bytes())
    del header[part]
    (artefact / HEADER).write_text(json.dumps(sign(header)))
    with pytest.raises(StorageError, match=str(artefact / HEADER)):
        load_artefact(artefact, kind="thing")


def test_a_header_of_absurd_size_is_not_read(artefact, monkeypatch):
    monkeypatch.setattr("protoglot.artefacts._MAX_HEADER_BYTES", 100)
    with pytest.raises(StorageError, match=r"header\.json: .* bytes; wanted at most 100"):
        load_artefact(artefact, kind="thing")


# Malice.


class Mischief:
    """Unpickling it leaves a file behind."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (str(self.marker), "w"))


def pickles(marker) -> dict[str, bytes]:
    import io

    import torch

    stream = io.BytesIO()
    torch.save(Mischief(marker), stream)
    return {"pickle": pickle.dumps(Mischief(marker)), "torch.save": stream.getvalue()}


@pytest.mark.parametrize("form", ["pickle", "torch.save"])
def test_a_pickle_is_never_read(artefact, tmp_path, form):
    marker = tmp_path / "executed"
    data = pickles(marker)[form]
    file = tmp_path / "model.pt"
    file.write_bytes(data)
    with pytest.raises(StorageError, match=r"model\.pt: a file; wanted a directory .*pickles are never read"):
        load_artefact(file, kind="thing")
    whole = (artefact / HEADER).read_bytes()
    (artefact / HEADER).write_bytes(data)
    with pytest.raises(StorageError, match=r"header\.json: damaged"):
        load_artefact(artefact, kind="thing")
    (artefact / HEADER).write_bytes(whole)
    (artefact / "weights.safetensors").write_bytes(data)
    with pytest.raises(StorageError, match=r"weights\.safetensors: "):
        load_artefact(artefact, kind="thing")
    register(artefact, "weights.safetensors")  # even if the header vouches for it
    with pytest.raises(StorageError, match=r"weights\.safetensors: not a safetensors file"):
        load_artefact(artefact, kind="thing")
    assert not marker.exists()


@pytest.mark.parametrize(
    "name",
    [
        "../other.safetensors",
        "deep/other.safetensors",
        "deep/../weights.safetensors",
        "./weights.safetensors",
        "..",
        "",
        ".safetensors",
        "weights.pt",
        "header.json",
        "weights.safetensors\0",
    ],
)
def test_no_file_elsewhere_is_read(artefact, tmp_path, name):
    save_file({"secret": np.ones(3)}, tmp_path / "other.safetensors")
    (artefact / "deep").mkdir()
    save_file({"secret": np.ones(3)}, artefact / "deep" / "other.safetensors")
    rewrite(artefact, files={name: {"bytes": 1, "sha256": ""}})
    with pytest.raises(
        StorageError, match=rf"^{artefact / HEADER}: file name .*; wanted a \.safetensors file beside"
    ):
        load_artefact(artefact, kind="thing")


def test_no_file_at_an_absolute_path_is_read(artefact, tmp_path):
    save_file({"secret": np.ones(3)}, tmp_path / "other.safetensors")
    for name in (str(tmp_path / "other.safetensors"), str(artefact / "weights.safetensors")):
        rewrite(artefact, files={name: {"bytes": 1, "sha256": ""}})
        with pytest.raises(StorageError, match=r"file name .*; wanted a \.safetensors file beside it"):
            load_artefact(artefact, kind="thing")


def test_the_header_alone(artefact):
    header = read_header(artefact)
    assert header["kind"] == "thing"
    assert header["content"] == CONTENT
    (artefact / "weights.safetensors").unlink()
    assert read_header(artefact) == header


def test_files_may_be_read_by_whom_the_umask_lets(tmp_path):
    before = os.umask(0o027)
    try:
        save_artefact(tmp_path / "made", kind="thing", content={}, tensors={"a": {"b": np.zeros(3)}})
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "made").iterdir()}
    assert modes == {"a.safetensors": 0o640, "header.json": 0o640}
