import struct
import zlib

import pytest

from protoglot.errors import StorageError
from protoglot.reading.compressed import OVERHEAD, compress, expand, num_characters_in
from protoglot.reading.reader import Reader

TEXT = "Kard a mente, anna est.\nUra dok 11 mins\n"


def with_check_sum(content: bytes) -> bytes:
    return content[:-4] + struct.pack(">I", zlib.crc32(content[:-4]))


def test_a_text_comes_back(scorer):
    content = compress(TEXT, Reader(scorer))
    assert num_characters_in(content, "file") == len(TEXT)
    assert expand(content, Reader(scorer), name="file") == TEXT
    assert len(content) < OVERHEAD + len(TEXT)


@pytest.mark.parametrize("place", [OVERHEAD - 4, OVERHEAD + 3, OVERHEAD - 6])
def test_another_text_is_not_given_out(scorer, place):
    """As where a machine computes otherwise: the check sum is right, and the text is not."""
    content = bytearray(compress(TEXT, Reader(scorer)))
    content[place] ^= 1
    with pytest.raises(StorageError, match=r"^file: another text came out; wanted the kind of machine"):
        expand(with_check_sum(bytes(content)), Reader(scorer), name="file")


def test_a_reader_with_other_settings_is_refused(scorer):
    content = compress(TEXT, Reader(scorer))
    with pytest.raises(StorageError, match="made with another model"):
        expand(content, Reader(scorer, with_letters=False), name="file")
