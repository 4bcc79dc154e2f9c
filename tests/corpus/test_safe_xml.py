import contextlib
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protoglot.corpus.safe_xml import MAX_DEPTH, read_elements
from protoglot.errors import CorpusError
from protoglot.text import MAX_SENTENCE_CHARACTERS

MEGABYTE = 1_000_000


@pytest.fixture
def write(tmp_path):
    def write_file(content):
        path = tmp_path / "some.xml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def texts(path):
    return [element.text for element in read_elements(path, {"seg"}, skipped={"note"})]


def refusal(path):
    with pytest.raises(CorpusError) as caught:
        texts(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Laws.

LETTERS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)


@given(st.lists(st.tuples(LETTERS, st.sampled_from(["seg", "note", "i"]), LETTERS), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_the_text_of_elements_comes_back_without_what_is_skipped(tmp_path, pieces):
    """Each sentence has an element inside, and text and a wanted element in a note between it and the next."""
    path = tmp_path / "random.xml"
    sentences = "".join(
        f"<seg>{escape(before)}<{name}>{escape(before)}</{name}>{escape(after)}</seg>x<note>y<seg>z</seg></note>"
        for before, name, after in pieces
    )
    path.write_text(f"<a xmlns='urn:some'>{sentences}</a>", encoding="utf-8")
    assert texts(path) == [before + ("" if name == "note" else before) + after for before, name, after in pieces]


xml_pieces = st.sampled_from(
    [
        *(b"<?xml version='1.0' encoding='", b"utf-16", b"hex", b"idna", b"'?>", b"\xff\xfe", b"\xef\xbb\xbf"),
        *(b"<!DOCTYPE a ", b"[", b"]>", b"<!ENTITY b 'c'>", b"&b;", b"%p;", b"&#0;", b"&#xD800;", b"\x00", b"x"),
        *(b"<a>", b"</a>", b"<seg>", b"</seg>", b"<note>", b"</note>", b"<![CDATA[", b"]]>", b"<!--", b"-->"),
    ]
)  # fmt: skip


@given(st.binary(max_size=100) | st.lists(xml_pieces, max_size=20).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "random.xml"
    path.write_bytes(content)
    with contextlib.suppress(CorpusError):
        texts(path)


# Examples.


def test_names_and_attributes_of_elements(write):
    path = write("<a xmlns='urn:some'><seg id='1'><i>one</i> &amp; <![CDATA[<2>]]></seg><seg/><b/></a>")
    first, second, third = read_elements(path, {"seg", "b"})
    assert (first.name, first.attributes, first.text) == ("seg", {"id": "1"}, "one & <2>")
    assert (second.name, second.attributes, second.text) == ("seg", {}, "")
    assert third.name == "b"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encodings(write, encoding):
    name = encoding.removesuffix("-sig")
    content = f'<?xml version="1.0" encoding="{name}"?><a><seg>äöü</seg></a>'
    assert texts(write(content.encode(encoding))) == ["äöü"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no element found"),
        (b"just text\n", "syntax error: line 1"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1"),
        (b"<a><seg>cut off</seg><seg>her", "no element found: line 1"),
        (b"<a><seg></a></seg>", "mismatched tag: line 1"),
        (b"<a><seg>&nbsp;</seg></a>", "undefined entity"),
        (b'<?xml version="1.0" encoding="utf-8"?><a><seg>\xe4</seg></a>', "invalid token"),
        (b'<?xml version="1.0" encoding="utf-16"?><a><seg>a</seg></a>', "encoding"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "unknown encoding"),
        (b'<?xml version="1.0" encoding="big5"?><a/>', "encoding"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
    ],
)
def test_damage_is_described(write, content, reason):
    assert reason in refusal(write(content))


def test_what_stands_before_the_damage_is_yielded(write):
    elements = read_elements(write("<a><seg>one</seg>" + " " * 50_000 + "<seg></a>"), {"seg"})
    assert next(elements).text == "one"
    with pytest.raises(CorpusError, match="mismatched tag"):
        next(elements)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "declarations",
    [
        f'<!ENTITY l0 "lol">{LAUGHS}',
        f'<!ENTITY l9 "{"x" * 50_000}">',
        '<!ENTITY l9 SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://localhost:1/x.dtd"> %p;',
    ],
)
def test_entities_are_refused(write, declarations):
    message = refusal(write(f"<!DOCTYPE a [{declarations}]><a><seg>&l9;</seg></a>"))
    assert "wanted XML without entities of its own" in message


def test_a_document_type_is_never_loaded(write):
    doctype = '<!DOCTYPE cesDoc SYSTEM "http://localhost:1/cesDoc.dtd">'
    assert texts(write(f"{doctype}<cesDoc><seg>x</seg></cesDoc>")) == ["x"]
    assert "entit" in refusal(write(f"{doctype}<a><seg>&foo;</seg></a>"))


@pytest.mark.parametrize("name", ["a", "seg", "note"])
def test_nesting_is_read_to_the_limit(write, name):
    start, end = f"<{name}>" * (MAX_DEPTH - 1), f"</{name}>" * (MAX_DEPTH - 1)
    assert texts(write(f"<a>{start}{end}<seg>x</seg></a>"))[-1] == "x"
    assert f"nested more than {MAX_DEPTH} deep" in refusal(write(f"<a>{start}<a/>{end}</a>"))


@pytest.mark.parametrize("piece", ["x", "&lt;", "x<b/>", "<![CDATA[x]]>"])
def test_a_sentence_is_read_to_the_limit(write, piece):
    longest = piece * MAX_SENTENCE_CHARACTERS
    assert len(texts(write(f"<a><seg>{longest}</seg></a>"))[0]) == MAX_SENTENCE_CHARACTERS
    message = refusal(write(f"<a><seg>short</seg><seg>{longest}x</seg></a>"))
    assert f"{MAX_SENTENCE_CHARACTERS + 1:,} characters in one <seg>" in message


def test_a_directory_and_a_missing_file(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.xml"):
        assert "cannot be read" in refusal(path)


# The peak of a new process as the kernel sees it: tracemalloc does not see what the parser in C allocates,
# and getrusage gives the peak of the process that started it if that was higher.
CHILD = """
import sys
from pathlib import Path
from protoglot.corpus.safe_xml import read_elements
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
before = peak()
try:
    print(sum(1 for _ in read_elements(Path(sys.argv[1]), {"seg"}, skipped={"note"})))
except Exception as error:
    print(type(error).__name__)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory that Linux gives")
@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (b"<a>" + b"<b><seg>verse</seg>\n</b><note>x</note>" * 200_000 + b"</a>", "200000"),
        (b"<a>" * MEGABYTE, "CorpusError"),
        (b"<a><seg>" + b"<i>" * MEGABYTE, "CorpusError"),
    ],
    ids=["many", "deep", "deep inside"],
)
def test_the_memory_of_the_process_stays_bounded(write, content, outcome):
    command = [sys.executable, "-c", CHILD, str(write(content))]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    result, kilobytes = printed.split()
    assert result == outcome
    assert int(kilobytes) < 12_000
