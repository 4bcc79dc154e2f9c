import contextlib
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protoglot.corpus.safe_xml import MAX_DEPTH, MAX_NAMES, MAX_TOKEN_BYTES, read_elements
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


def texts(path, **options):
    return [element.text for element in read_elements(path, {"seg"}, **options)]


def refusal(path, **options):
    """The message of a refusal, which must come soon and within a few megabytes."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(CorpusError) as caught:
            texts(path, **options)
        assert time.perf_counter() - start < 10  # traced memory makes Python five times slower
        assert tracemalloc.get_traced_memory()[1] < 4 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_elements_in_order_with_attributes_and_nested_text(write):
    path = write(
        '<a xmlns="urn:some"><seg id="1">one &amp; <i>two</i>, <![CDATA[<3>]]></seg>between<seg id="2"/>'
        "<note><seg>left out</seg></note><seg>x<note>left out</note>y</seg><seg>o<seg>inner</seg></seg></a>"
    )
    elements = list(read_elements(path, {"seg"}, skipped={"note"}))
    assert [element.text for element in elements] == ["one & two, <3>", "", "xy", "oinner"]
    assert [element.attributes.get("id") for element in elements] == ["1", "2", None, None]
    assert {element.name for element in elements} == {"seg"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encodings(write, encoding):
    name = encoding.removesuffix("-sig")
    assert texts(write(f'<?xml version="1.0" encoding="{name}"?><a><seg>äöü</seg></a>'.encode(encoding))) == [
        "äöü"
    ]


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
    with pytest.raises(CorpusError):
        next(elements)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]>',
        f'<!DOCTYPE a [<!ENTITY l9 "{"x" * 50_000}">]>',
        '<!DOCTYPE a [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://localhost:1/x.dtd"> %p;]>',
        '<!DOCTYPE a [<!ATTLIST seg id CDATA "default">]>',
        "<!DOCTYPE a []>",
    ],
)
def test_declarations_are_refused(write, doctype):
    assert "with declarations of its own" in refusal(write(f"{doctype}<a><seg>&l9;</seg></a>"))


def test_a_plain_document_type_is_accepted_and_never_loaded(write):
    path = write('<!DOCTYPE cesDoc SYSTEM "http://localhost:1/cesDoc.dtd"><cesDoc><seg>x</seg></cesDoc>')
    assert texts(path) == ["x"]
    assert "undefined entity" in refusal(write('<!DOCTYPE a SYSTEM "a.dtd"><a><seg>&foo;</seg></a>'))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 10_000, 1_000_000])
def test_deep_nesting_is_refused(write, depth):
    content = b"<a>" * depth + b"<seg>x</seg>" + b"</a>" * depth
    assert f"nested more than {MAX_DEPTH} deep" in refusal(write(content))


def test_deep_nesting_inside_an_element_is_refused(write):
    content = b"<a><seg>" + b"<i>" * 1_000_000
    assert f"nested more than {MAX_DEPTH} deep" in refusal(write(content))


def test_nesting_within_the_limit_is_read(write):
    depth = MAX_DEPTH - 1
    assert texts(write("<a>" * depth + "<seg>x</seg>" + "</a>" * depth)) == ["x"]


@pytest.mark.parametrize(
    "body",
    [
        b"x" * 10 * MEGABYTE,
        b"<![CDATA[" + b"x" * 10 * MEGABYTE + b"]]>",
        b"x<b/>" * 2 * MEGABYTE,
        b"&lt;" * 2 * MEGABYTE,
        b"x\n" * 2 * MEGABYTE,
    ],
)
def test_ten_megabytes_in_one_element_are_refused(write, body):
    message = refusal(write(b"<a><seg>short</seg><seg>" + body + b"</seg></a>"))
    assert f"more than {MAX_SENTENCE_CHARACTERS:,} characters in one <seg>" in message


def test_the_longest_text_accepted(write):
    assert texts(write("<a><seg>12345</seg></a>"), max_characters=5) == ["12345"]
    assert "more than 4 characters" in refusal(write("<a><seg>12345</seg></a>"), max_characters=4)


def test_text_outside_the_elements_wanted_costs_nothing(write):
    path = write(b"<a>" + b"x" * 10 * MEGABYTE + b"<seg>here</seg></a>")
    tracemalloc.start()
    try:
        assert texts(path) == ["here"]
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("opening", [b"<a b='", b"<", b"<!--", b"<?pi ", b"</a", b"<!DOCTYPE a SYSTEM '"])
def test_endless_tokens_are_refused(write, opening):
    before = b"<a>" if opening == b"</a" else b""
    assert f"more than {MAX_TOKEN_BYTES:,} bytes" in refusal(write(before + opening + b"x" * 20 * MEGABYTE))


@pytest.mark.parametrize("pattern", ["<t{0}/>", "<t u{0}='1'/>", "<t xmlns:n{0}='u'/>", "<t xmlns='u{0}'/>"])
def test_endless_names_are_refused(write, pattern):
    content = "<a>" + "".join(pattern.format(number) for number in range(100_000)) + "</a>"
    assert f"more than {MAX_NAMES:,} different names" in refusal(write(content))


def test_a_directory_and_a_missing_file(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.xml"):
        with pytest.raises(CorpusError, match="cannot be read"):
            texts(path)


xml_pieces = st.sampled_from(
    [
        *(
            b"<?xml version='1.0' encoding='",
            b"utf-16",
            b"hex",
            b"idna",
            b"ascii",
            b"'?>",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
        ),
        *(b"<!DOCTYPE a ", b"[", b"]>", b"<!ENTITY b 'c'>", b"&b;", b"%p;", b"&#0;", b"&#xD800;", b"\x00", b"x"),
        *(b"<a>", b"</a>", b"<seg>", b"</seg>", b"<![CDATA[", b"]]>", b"<!--", b"-->"),
    ]
)


@given(st.binary(max_size=100) | st.lists(xml_pieces, max_size=20).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "random.xml"
    path.write_bytes(content)
    with contextlib.suppress(CorpusError):
        texts(path)


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
    print(sum(1 for _ in read_elements(Path(sys.argv[1]), {"seg"})))
except Exception as error:
    print(type(error).__name__)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory that Linux gives")
@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (b"<a>" + b"<seg>verse</seg>\n" * 200_000 + b"</a>", "200000"),
        (b"<a>" * 1_000_000, "CorpusError"),
        (b"<a><seg>" + b"x" * 50 * MEGABYTE, "CorpusError"),
        (b"<a b='" + b"x" * 50 * MEGABYTE, "CorpusError"),
    ],
    ids=["many", "deep", "long", "attribute"],
)
def test_the_memory_of_the_process_stays_bounded(write, content, outcome):
    command = [sys.executable, "-c", CHILD, str(write(content))]
    result, kilobytes = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert result == outcome
    assert int(kilobytes) < 12_000
