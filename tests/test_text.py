import codecs
import os
import time
import tracemalloc
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protoglot.errors import TextError
from protoglot.text import MAX_COMBINING_RUN, MAX_SENTENCE_CHARACTERS, normalise, read_lines, read_sentences

# Every Python string, lone surrogates included; and strings of what is hardest to normalise: letters and marks
# that NFC writes as several, jamo that compose, white space, controls.
any_text = st.text(st.characters(exclude_categories=[]))
hard_text = st.text(
    st.sampled_from("aक़\u0344\u0300\u0316\u0345\u0b57\u0b47ᄀ각 \t\n\x85\u2028\u3000\x00\x1c\ufeff\ud800"),
    max_size=200,
)
FEW_BYTES_A_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(any_text | hard_text)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(any_text | hard_text)
def test_normalised_text_is_nfc_without_controls_or_stray_blanks(text):
    result = normalise(text)
    assert unicodedata.is_normalized("NFC", result)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in result)
    assert "\ufeff" not in result
    assert result == " ".join(result.split())
    result.encode("utf-8")


@given(st.text("aé", max_size=3), st.integers(0, 100), st.sampled_from("\u0300\u0344\u0316"))
def test_runs_of_marks_are_bounded(base, count, mark):
    result = normalise(base + mark * count + "x")
    marks = sum(unicodedata.category(character).startswith("M") for character in result)
    assert marks <= MAX_COMBINING_RUN
    assert result.endswith("x")


@given(st.text("aäb ", max_size=50))
def test_letters_in_order_are_kept(text):
    assert normalise(text) == " ".join(text.split())


def test_time_is_linear_in_combining_marks():
    start = time.perf_counter()
    result = normalise("a" + "\u0300\u0316" * 50_000)
    assert time.perf_counter() - start < 2  # quadratic: minutes
    assert len(result) <= MAX_COMBINING_RUN + 1


def test_nothing_is_lower_cased_and_white_space_separates():
    assert normalise(" Ä\u00a0B\x85C\u2028D\x00E\x1fF ") == "Ä B C DEF"


# -- Files


def lines_of(path, **options):
    return [line for _, line in read_lines(path, **options)]


@pytest.fixture
def write(tmp_path):
    def write_bytes(content):
        path = tmp_path / "text.txt"
        path.write_bytes(content)
        return path

    return write_bytes


@given(st.binary(max_size=200))
@FEW_BYTES_A_FILE
def test_any_bytes_give_the_lines_of_their_text_or_a_text_error(tmp_path, content):
    path = tmp_path / "random.txt"
    path.write_bytes(content)
    try:
        lines = lines_of(path)
    except TextError as error:
        message = str(error)
    else:
        message = None
        utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if utf16 else "utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        assert lines == (text.removesuffix("\n").split("\n") if text else [])
    assert message is None or (str(path) in message and "\n" not in message)


@given(st.lists(st.sampled_from([b"one", b"zw\xc3\xb6lf", b"\n", b"\r", b"\r\n", b""]), max_size=20))
@FEW_BYTES_A_FILE
def test_an_invalid_byte_is_named_by_its_line_and_offset(tmp_path, pieces):
    before = b"".join(pieces)
    path = tmp_path / "invalid.txt"
    path.write_bytes(before + b"\xff" + b"rest\n")
    line = before.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    with pytest.raises(TextError) as caught:
        lines_of(path)
    assert f"line {line}, byte {len(before)}: invalid UTF-8 (0xff)" in str(caught.value)


@pytest.mark.parametrize("size", [(1 << 20) - 2, (1 << 20) - 1, 1 << 20])
def test_the_line_is_right_where_the_file_is_read_in_pieces(write, size):
    before = b"a\n" * (size // 2) + b"b" * (size % 2) + b"\r\n"
    with pytest.raises(TextError) as caught:
        lines_of(write(before + b"\xe4\xf6"))
    assert f"line {before.count(bytes([10])) + 1:,}, byte {len(before):,}:" in str(caught.value)


def test_a_character_cut_off_at_the_end_is_invalid(write):
    with pytest.raises(TextError, match="line 2, byte 3"):
        lines_of(write(b"ab\n\xc3"))


@pytest.mark.parametrize("content", [b"\xef", b"\xef\xbb"])
def test_a_byte_order_mark_cut_off_is_invalid(write, content):
    with pytest.raises(TextError, match="line 1, byte 0"):
        lines_of(write(content))


def test_utf_8_with_a_byte_order_mark(write):
    assert lines_of(write(codecs.BOM_UTF8 + "ä\nö\n".encode())) == ["ä", "ö"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_needs_its_byte_order_mark(write, encoding):
    text = "Grüße\r\naus Köln\n"
    mark = "\ufeff".encode(encoding)
    assert lines_of(write(mark + text.encode(encoding))) == ["Grüße", "aus Köln"]
    with pytest.raises(TextError, match=r"NUL bytes .* UTF-16 without a byte-order mark"):
        lines_of(write(text.encode(encoding)))


def test_damaged_utf_16(write):
    with pytest.raises(TextError, match="invalid UTF-16"):
        lines_of(write(codecs.BOM_UTF16_LE + b"a\x00\n\x00\x00\xd8"))


def test_utf_32_is_refused(write):
    with pytest.raises(TextError, match="UTF-32"):
        lines_of(write("ab".encode("utf-32")))


def test_few_nul_bytes_are_dropped_and_many_refused(write):
    assert list(read_sentences(write(b"a long enough sen\x00tence\n"))) == ["a long enough sentence"]
    with pytest.raises(TextError, match="50 NUL bytes among the first 100"):
        lines_of(write(b"a\x00" * 50))


def test_encoded_surrogates_are_invalid(write):
    with pytest.raises(TextError, match="line 2, byte 2"):
        lines_of(write(b"a\n\xed\xa0\x80\n"))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"one sentence", ["one sentence"]),
        (b"\n", [""]),
        (b"a\rb\r\nc\nd", ["a", "b", "c", "d"]),
        (b"a\n\rb\r", ["a", "", "b"]),
    ],
)
def test_line_ends(write, content, lines):
    path = write(content)
    assert list(read_lines(path)) == list(enumerate(lines, start=1))
    assert list(read_sentences(path)) == [line for line in lines if line]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_the_longest_line_accepted(write, end):
    assert lines_of(write(b"x" * 10 + end), max_characters=10) == ["x" * 10]
    with pytest.raises(TextError, match="line 1: more than 10 characters"):
        lines_of(write(b"x" * 11 + end), max_characters=10)


def test_a_line_of_ten_megabytes_costs_no_memory(write):
    path = write(b"short\n" + b"x" * 10_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(TextError, match=f"line 2: more than {MAX_SENTENCE_CHARACTERS:,} characters"):
            lines_of(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_directory_and_a_missing_file(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.txt"):
        with pytest.raises(TextError, match="cannot be read") as caught:
            lines_of(path)
        assert str(path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(write):
    path = write(b"a\n")
    path.chmod(0)
    with pytest.raises(TextError, match="cannot be read"):
        lines_of(path)


def test_lines_are_read_as_they_are_asked_for(write):
    lines = read_lines(write(b"first\n" + b"a\n" * 1_000_000 + b"\xff"))
    assert next(lines) == (1, "first")
    lines.close()


def test_a_pipe_is_refused_and_not_read_in_part(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(TextError, match="a pipe or device"):
        list(read_lines(pipe))
