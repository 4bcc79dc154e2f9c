import subprocess

import pytest

from protoglot.reading import shipped
from protoglot.reading.compressed import OVERHEAD
from protoglot.reading.reader import Reader
from tiny_scorer import tiny_scorer

TEXT = "\ufeffKard a mente, anna est.\r\nUra dok 11 mins: «mind»! 語😀\0\n" * 5


@pytest.fixture(autouse=True)
def scorer(monkeypatch):
    found = tiny_scorer()
    monkeypatch.setattr(shipped, "shipped_scorer", lambda: found)
    return found


@pytest.fixture
def text_path(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def compressed(protoglot, text_path):
    assert protoglot("compress", text_path)[0] == 0
    text_path.unlink()
    return text_path.with_name("text.txt.pg")


def complaint(protoglot, *arguments) -> str:
    status, output, error = protoglot(*arguments)
    assert (status, output, error.count("\n")) == (2, "", 1)
    assert error.startswith("protoglot: error: ")
    return error


def test_a_text_comes_back_byte_for_byte(protoglot, scorer, text_path):
    bits = Reader(scorer).read(TEXT).total_bits
    status, output, error = protoglot("compress", text_path)
    assert (status, error) == (0, "")
    path = text_path.with_name("text.txt.pg")
    size = path.stat().st_size
    assert f"{path}: {len(TEXT)} characters in {size} bytes, {8 * size / len(TEXT):.3f} bits/character" in output
    assert bits <= 8 * (size - OVERHEAD) <= bits * 1.001 + 24
    text_path.unlink()
    status, output, error = protoglot("expand", path)
    assert (status, output, error) == (0, f"{text_path}: {len(TEXT)} characters\n", "")
    assert text_path.read_bytes() == TEXT.encode()
    assert sorted(file.name for file in path.parent.iterdir()) == ["text.txt", "text.txt.pg"]


@pytest.mark.parametrize("content", [b"", b"a", b"\n" * 1000])
def test_short_and_dull_texts(protoglot, tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    assert protoglot("compress", tmp_path / "a", "--out", tmp_path / "b")[0] == 0
    assert protoglot("expand", tmp_path / "b", "--out", tmp_path / "c")[0] == 0
    assert (tmp_path / "c").read_bytes() == content
    assert (tmp_path / "b").stat().st_size < OVERHEAD + 20


def test_a_model_that_has_read_makes_it_shorter(protoglot, scorer, text_path, compressed):
    text_path.write_bytes(TEXT.encode())
    reader = Reader(scorer)
    reader.read(TEXT)
    model = text_path.with_name("model")
    reader.save(model)
    out = text_path.with_name("short.pg")
    assert protoglot("compress", text_path, "--model", model, "--out", out)[0] == 0
    assert out.stat().st_size < 0.7 * compressed.stat().st_size
    assert "made with another model" in complaint(protoglot, "expand", out)
    again = text_path.with_name("again")
    assert "made with another model" in complaint(
        protoglot, "expand", compressed, "--model", model, "--out", again
    )
    assert not again.exists()
    assert protoglot("expand", out, "--model", model, "--out", again)[0] == 0
    assert again.read_bytes() == TEXT.encode()
    assert "no such directory" in complaint(protoglot, "expand", out, "--model", text_path.parent / "x")


def test_another_scorer_is_refused(protoglot, compressed, monkeypatch):
    monkeypatch.setattr(shipped, "shipped_scorer", lambda: tiny_scorer(1))
    assert "made with scorer" in complaint(protoglot, "expand", compressed)


def test_damaged_files_are_refused(protoglot, text_path, compressed):
    content = compressed.read_bytes()
    for place in (5, 20, 30, 40, OVERHEAD - 5, OVERHEAD + 10, len(content) - 1):
        compressed.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        assert any(word in complaint(protoglot, "expand", compressed) for word in ("damaged", "truncated"))
    for length in (4, 5, OVERHEAD - 1, OVERHEAD, len(content) - 1):
        compressed.write_bytes(content[:length])
        assert "truncated" in complaint(protoglot, "expand", compressed)
    compressed.write_bytes(content + b"\0")
    assert "damaged" in complaint(protoglot, "expand", compressed)
    assert not text_path.exists()


def test_foreign_files_are_refused(protoglot, text_path, compressed):
    content = compressed.read_bytes()
    for foreign in (b"", b"PG", b"\x1f\x8b" + content, b"a text\n"):
        compressed.write_bytes(foreign)
        assert "not a file of protoglot compress" in complaint(protoglot, "expand", compressed)
    compressed.write_bytes(content[:4] + b"\x02" + content[5:])
    assert "version 2; wanted version 1" in complaint(protoglot, "expand", compressed)
    assert "cannot be read" in complaint(protoglot, "expand", compressed.with_name("none.pg"))
    assert "does not end in .pg" in complaint(protoglot, "expand", text_path)


def test_what_is_not_utf8_is_refused(protoglot, text_path):
    text_path.write_bytes(b"one\ntwo\xff\n")
    assert "line 2, byte 7: invalid UTF-8 (0xff); wanted UTF-8 text" in complaint(protoglot, "compress", text_path)
    text_path.write_bytes("\ud800".encode("utf-8", "surrogatepass"))
    assert "invalid UTF-8" in complaint(protoglot, "compress", text_path)
    text_path.unlink()
    assert "cannot be read" in complaint(protoglot, "compress", text_path)
    assert "cannot be read" in complaint(protoglot, "compress", text_path.parent, "--out", text_path)


def test_nothing_is_replaced_unless_asked(protoglot, text_path):
    path = text_path.with_name("text.txt.pg")
    path.write_text("mine")
    assert "exists already" in complaint(protoglot, "compress", text_path)
    assert path.read_text() == "mine"
    assert protoglot("compress", text_path, "--force")[0] == 0
    assert "exists already" in complaint(protoglot, "expand", path)
    assert "exists already" in complaint(protoglot, "compress", text_path, "--out", text_path, "--force")
    text_path.write_text("other")
    assert protoglot("expand", path, "--force")[0] == 0
    assert text_path.read_bytes() == TEXT.encode()


def test_the_installed_command_with_the_installed_scorer(installed, text_path):
    """In two processes: what one computes, the other must compute too."""
    text_path.write_bytes(TEXT.encode() * 3)
    for arguments in (("compress", text_path), ("expand", f"{text_path}.pg", "--out", f"{text_path}.again")):
        ended = installed(*arguments)
        assert isinstance(ended, subprocess.CompletedProcess)
        assert (ended.returncode, ended.stderr) == (0, b"")
    assert text_path.with_name("text.txt.again").read_bytes() == TEXT.encode() * 3
