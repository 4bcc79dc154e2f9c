"""Files of compressed text: a header, the arithmetic code of the text, and a check sum.

All numbers are unsigned and stored with the high byte first:

===== =========================================================
bytes content
===== =========================================================
4     ``PGTX``
1     version
8     begin of the identity of the scorer
8     begin of the fingerprint of the reader before the text
8     number of characters
8     number of bytes of the code
32    SHA-256 of the text in UTF-8
...   the code (:mod:`protoglot.reading.coding`)
4     CRC-32 of all before
===== =========================================================
"""

import hashlib
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from protoglot.errors import StorageError, TextError
from protoglot.reading.coding import decode, encode
from protoglot.reading.reader import Reader

MAGIC = b"PGTX"
VERSION = 1
_HEADER = struct.Struct(">4sB8s8sQQ32s")
_CHECK = struct.Struct(">I")

OVERHEAD = _HEADER.size + _CHECK.size
"""Bytes of a file beside the code."""


def text_of(path: Path) -> str:
    """The text of a file as it stands, byte-order mark and carriage returns included.

    Raises:
        TextError: if it cannot be read or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TextError(f"{path}: cannot be read ({error.strerror or error}); wanted a text file") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{path}: line {line:,}, byte {error.start:,}: invalid UTF-8 (0x{error.object[error.start]:02x}); "
            "wanted UTF-8 text"
        ) from error


def compress(text: str, reader: Reader, *, on_progress: Callable[[int], None] | None = None) -> bytes:
    """The content of a file that holds a text.

    Args:
        text: of characters that UTF-8 has a form for.
        reader: which predicts it, and reads it.
        on_progress: called now and then with the number of characters done since.
    """
    whose = _identities(reader)
    code = encode(text, reader, on_progress=on_progress)
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    content = _HEADER.pack(MAGIC, VERSION, *whose, len(text), len(code), digest) + code
    return content + _CHECK.pack(zlib.crc32(content))


def num_characters_in(content: bytes, name: str) -> int:
    """Characters of the text in a file, which is checked but not decoded.

    Raises:
        StorageError: if it is foreign, of another version, truncated or damaged.
    """
    return int(_checked(content, name)[4])


def expand(content: bytes, reader: Reader, *, name: str, on_progress: Callable[[int], None] | None = None) -> str:
    """The text in a file.

    Args:
        content: of the file.
        reader: one that has read what the one that compressed had read; it reads the text.
        name: of the file, for messages.
        on_progress: called now and then with the number of characters done since.

    Raises:
        StorageError: if the file is foreign, of another version, truncated or damaged, was made with another scorer or
            reader, or on a machine that computes otherwise.
    """
    _, _, scorer, fingerprint, num_characters, _, digest = _checked(content, name)
    ours = _identities(reader)
    if scorer != ours[0]:
        raise StorageError(
            f"{name}: made with scorer {scorer.hex()}, this is {ours[0].hex()}; "
            "wanted the release of protoglot that made it"
        )
    if fingerprint != ours[1]:
        raise StorageError(f"{name}: made with another model (--model); wanted the one it was compressed with")
    failure = f"{name}: another text came out; wanted the kind of machine on which it was compressed"
    try:
        text = decode(content[_HEADER.size : -_CHECK.size], num_characters, reader, on_progress=on_progress)
        found = hashlib.sha256(text.encode("utf-8")).digest()
    except (StorageError, UnicodeEncodeError) as error:
        raise StorageError(failure) from error
    if found != digest:
        raise StorageError(failure)
    return text


def _identities(reader: Reader) -> tuple[bytes, bytes]:
    return bytes.fromhex(reader.scorer.identity)[:8], bytes.fromhex(reader.fingerprint())[:8]


def _checked(content: bytes, name: str) -> tuple[bytes, int, bytes, bytes, int, int, bytes]:
    """What the header says."""
    if not content.startswith(MAGIC):
        raise StorageError(
            f"{name}: not a file of protoglot compress; wanted one that begins with {MAGIC.decode()}"
        )
    if len(content) > len(MAGIC) and content[len(MAGIC)] != VERSION:
        raise StorageError(f"{name}: version {content[len(MAGIC)]}; wanted version {VERSION}")
    if len(content) < OVERHEAD:
        raise StorageError(f"{name}: {len(content):,} bytes; wanted at least {OVERHEAD} (truncated)")
    header: tuple[bytes, int, bytes, bytes, int, int, bytes] = _HEADER.unpack_from(content)
    wanted = OVERHEAD + header[5]
    if len(content) < wanted:
        raise StorageError(f"{name}: {len(content):,} bytes; wanted {wanted:,} (truncated)")
    if len(content) > wanted or zlib.crc32(content[: -_CHECK.size]) != _CHECK.unpack(content[-_CHECK.size :])[0]:
        raise StorageError(f"{name}: damaged: its check sum is not the one it states")
    return header
