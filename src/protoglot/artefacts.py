"""Models and checkpoints on disk: a directory of safetensors files and one JSON header.

The header names every file with its SHA-256, and carries a SHA-256 of itself: safetensors notices a truncated
file, but no changed bit. Nothing in an artefact is ever executed.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.storage import directory_written_whole, sha256_of, sync_directory

HEADER = "header.json"
_RUN = "run.json"  # of a run, which has checkpoints and no header
_FORMAT = "protoglot-artefact"
_VERSION = 1
_MAX_HEADER_BYTES = 64 << 20
_FORMER_PARTS = frozenset({"incontext", "mixer", "neighbours", "trust"})

Tensors = Mapping[str, NDArray[Any]]


def save_artefact(path: Path, *, kind: str, content: Mapping[str, object], tensors: Mapping[str, Tensors]) -> None:
    """Write an artefact, whole or not at all, replacing one that is there.

    Args:
        path: directory to make.
        kind: what it is, such as ``model``; asked for again on loading.
        content: JSON values.
        tensors: named arrays by the name of their file, without the ending.

    Raises:
        StorageError: if it cannot be written, or if anything but an artefact or an empty directory is there.
    """
    from safetensors.numpy import save_file

    _refuse_to_replace_others(path)
    aside = path.with_name(f".{path.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    with directory_written_whole(aside) as folder:
        files = {}
        for name, arrays in tensors.items():
            file = folder / f"{name}.safetensors"
            # Not ascontiguousarray, which makes a vector of a scalar.
            save_file({key: np.asarray(value, order="C") for key, value in arrays.items()}, file)
            file.chmod(folder.stat().st_mode & 0o666)  # safetensors makes it the owner's alone
            files[file.name] = {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        header = {"format": _FORMAT, "version": _VERSION, "kind": kind, "files": files, "content": dict(content)}
        header["sha256"] = _digest(header)
        # ASCII: a path in the content may hold lone surrogates, which UTF-8 has no form for.
        (folder / HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="ascii")
    _replace_directory(aside, path)


def load_artefact(path: Path, *, kind: str) -> tuple[dict[str, Any], dict[str, dict[str, NDArray[Any]]]]:
    """Read an artefact and check every byte of it.

    Returns:
        Its content and its tensors by file name without the ending.

    Raises:
        StorageError: if it is missing, foreign, of another kind, of a newer version, truncated or damaged.
    """
    header = read_header(path)
    if header["kind"] != kind:
        raise StorageError(f"{path}: {_with_article(header['kind'])}; wanted {_with_article(kind)}")
    tensors = {}
    for name, facts in sorted(header["files"].items()):
        file = path / name
        if file.name != name or file.suffix != ".safetensors" or not name.isprintable():
            raise StorageError(f"{path / HEADER}: file name {name!r}; wanted a .safetensors file beside it")
        tensors[file.stem] = _load_tensors(file, facts)
    content: dict[str, Any] = header["content"]
    return content, tensors


def read_header(path: Path) -> dict[str, Any]:
    """The header of an artefact, checked against its own digest; tensors are not read.

    Raises:
        StorageError: as :func:`load_artefact`.
    """
    if path.is_file():
        hint = "zipped models are to be unpacked, and pickles are never read"
        raise StorageError(f"{path}: a file; wanted a directory with {HEADER} ({hint})")
    file = path / HEADER
    try:
        if file.stat().st_size > _MAX_HEADER_BYTES:
            raise StorageError(f"{file}: {file.stat().st_size:,} bytes; wanted at most {_MAX_HEADER_BYTES:,}")
        header = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        found = f"no {HEADER} in it" if path.exists() else "no such directory"
        if (path / _RUN).is_file():
            found = "a run of protoglot train"
        raise StorageError(f"{path}: {found}; wanted the directory of a model or prior") from error
    except OSError as error:
        raise StorageError(f"{file}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{file}: damaged; wanted JSON") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise StorageError(f"{file}: not an artefact of protoglot; wanted format {_FORMAT!r}")
    if header.get("version") != _VERSION:
        raise StorageError(
            f"{file}: version {header.get('version')!r}; wanted version {_VERSION}, which this protoglot reads"
        )
    if header.get("sha256") != _digest(header):
        raise StorageError(f"{file}: damaged: its SHA-256 is not the one it states")
    parts = {"kind": str, "files": dict, "content": dict}
    if not all(isinstance(header.get(part), type_) for part, type_ in parts.items()):
        raise StorageError(f"{file}: damaged; wanted the parts {', '.join(parts)}")
    return header


def refuse_former_parts(content: Mapping[str, object], *, name: str) -> None:
    """Refuse models and priors of versions that mixed networks with other components.

    Args:
        content: of the artefact.
        name: where it was found.

    Raises:
        StorageError: if it is one of them.
    """
    if not _FORMER_PARTS.isdisjoint(content):
        raise StorageError(
            f"{name}: made by an older protoglot, whose models had other parts; wanted it made anew"
        )


def _with_article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeio' else 'a'} {kind}"


def _load_tensors(file: Path, facts: object) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not isinstance(facts, dict):
        raise StorageError(f"{file.parent / HEADER}: damaged; wanted size and SHA-256 of {file.name}")
    try:
        size = file.stat().st_size
        if size != facts.get("bytes"):
            raise StorageError(f"{file}: {size:,} bytes; wanted {facts.get('bytes')} (truncated or replaced)")
        if (found := sha256_of(file)) != facts.get("sha256"):
            raise StorageError(
                f"{file}: damaged: SHA-256 {found[:12]}...; wanted {str(facts.get('sha256'))[:12]}..."
            )
        return load_file(file)
    except OSError as error:
        raise StorageError(f"{file}: cannot be read ({error.strerror or error})") from error
    except (SafetensorError, ValueError, KeyError) as error:
        raise StorageError(f"{file}: not a safetensors file ({error})") from error


def _digest(header: Mapping[str, object]) -> str:
    """SHA-256 of a header without its own digest, in a form that does not depend on spacing or order."""
    rest = {key: value for key, value in header.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _refuse_to_replace_others(path: Path) -> None:
    """Only artefacts make way for artefacts: nobody's other files are lost to a mistyped path."""
    if path.name in ("", ".."):
        raise StorageError(f"{str(path)!r}: has no name of its own; wanted the path of a directory")
    if not os.path.lexists(path):
        return
    try:
        found = {file.name for file in path.iterdir()}
    except OSError as error:  # neither a directory nor absent
        raise _not_free(path) from error
    if not found:
        return
    if _looks_like_an_artefact(path):
        try:
            ours = {HEADER, *read_header(path)["files"]}
        except StorageError:  # damaged: whatever has the names and endings of an artefact may go
            ours = {name for name in found if name == HEADER or name.endswith(".safetensors")}
        if others := sorted(found - ours):
            raise StorageError(
                f"{path}: holds {others[0]!r}, which would be lost; wanted an artefact and nothing else"
            )
        return
    raise _not_free(path)


def _looks_like_an_artefact(path: Path) -> bool:
    """Whether there is a header that says so, be it damaged or of another version."""
    file = path / HEADER
    try:
        return file.stat().st_size <= _MAX_HEADER_BYTES and _FORMAT.encode() in file.read_bytes()
    except OSError:
        return False


def _not_free(path: Path) -> StorageError:
    return StorageError(f"{path}: exists already; wanted a new directory, or an artefact to replace")


def _replace_directory(new: Path, path: Path) -> None:
    """Put a finished directory in place of another.

    POSIX renames a directory over an empty one only, so the old one steps aside first: a crash in between leaves
    nothing under the name, and both beside it. Whoever needs more (a checkpoint that must be there at every
    moment) gives each its own name and switches a pointer.
    """
    old = path.with_name(f".{path.name}.old")
    try:
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        new.rename(path)
        sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    shutil.rmtree(old, ignore_errors=True)
