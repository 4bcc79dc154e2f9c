import errno
import hashlib
import json
import random
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protoglot.corpus import connecting, downloading
from protoglot.corpus.downloading import check_url, download
from protoglot.errors import DownloadError

CONTENT = random.Random(1).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def get(server, destination, **options):
    options.setdefault("wait", lambda seconds: None)
    return download(server.url(), destination, **options)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_whole(destination, content=CONTENT):
    assert destination.read_bytes() == content
    assert names_in(destination.parent) == [destination.name]


# A law: cuts do not change the content.


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(0, 2_000),
    cuts=st.lists(st.integers(0, 900), max_size=12),
    runs=st.integers(1, 6),
    honours_range=st.booleans(),
    tag=st.sampled_from(['"v1"', 'W/"v1"', None]),
    is_dated=st.booleans(),
    chunked=st.booleans(),
    with_checksum=st.booleans(),
)
def test_any_cuts_leave_the_content_as_it_was(
    server, long_ago, size, cuts, runs, honours_range, tag, is_dated, chunked, with_checksum
):
    content = CONTENT[:size]
    server.reset(
        content,
        cuts=cuts,
        honours_range=honours_range,
        etags=[tag],
        last_modified=long_ago if is_dated else None,
        chunked=chunked,
    )
    sha256 = hashlib.sha256(content).hexdigest() if with_checksum else None
    with tempfile.TemporaryDirectory() as folder:
        destination = Path(folder) / "corpus.tar.gz"
        for _ in range(runs):
            try:
                get(server, destination, sha256=sha256, max_attempts=2)
                break
            except DownloadError:
                assert not destination.exists()
        else:
            server.cuts.clear()
            get(server, destination, sha256=sha256)
        assert_whole(destination, content)


def test_a_cut_download_asks_only_for_the_rest(server, tmp_path):
    server.reset(CONTENT, cuts=[100_000, 50_000])
    assert get(server, tmp_path / "file") == SHA256
    assert [request.get("Range") for request in server.requests] == [None, "bytes=100000-", "bytes=150000-"]
    assert server.requests[1]["If-Range"] == '"v1"'
    assert_whole(tmp_path / "file")


def test_cuts_that_bring_something_new_are_not_counted(server, tmp_path):
    server.reset(CONTENT, cuts=[10_000] * 20)
    get(server, tmp_path / "file", max_attempts=2)
    assert len(server.requests) == 21
    assert_whole(tmp_path / "file")


def test_a_later_run_continues(server, tmp_path):
    server.reset(CONTENT, cuts=[100_000])
    with pytest.raises(DownloadError, match=r"connection cut after 100,000 of 300,000 bytes.*keeps 100,000 bytes"):
        get(server, tmp_path / "file", max_attempts=1)
    assert names_in(tmp_path) == ["file.partial", "file.partial.json"]
    server.requests.clear()
    get(server, tmp_path / "file")
    assert [request["Range"] for request in server.requests] == ["bytes=100000-"]
    assert_whole(tmp_path / "file")


def test_last_modified_serves_where_there_is_no_strong_tag(server, tmp_path, long_ago):
    server.reset(CONTENT, cuts=[10], etags=['W/"weak"'], last_modified=long_ago)
    get(server, tmp_path / "file")
    assert server.requests[1]["If-Range"] == long_ago
    assert_whole(tmp_path / "file")


def test_without_a_validator_a_cut_download_starts_again(server, tmp_path):
    server.reset(CONTENT, cuts=[10], etags=['W/"weak"'])
    get(server, tmp_path / "file")
    assert "Range" not in server.requests[1]
    assert_whole(tmp_path / "file")


def test_a_server_that_ignores_range_sends_everything_again(server, tmp_path):
    server.reset(CONTENT, cuts=[10, 20, 30], honours_range=False)
    get(server, tmp_path / "file")
    assert "Range" in server.requests[1]
    assert_whole(tmp_path / "file")


@pytest.mark.parametrize("honours_if_range", [True, False])
def test_another_version_is_never_joined_to_the_first(server, tmp_path, honours_if_range):
    server.reset(b"old" * 1000, cuts=[500])
    with pytest.raises(DownloadError):
        get(server, tmp_path / "file", max_attempts=1)
    server.reset(b"new" * 1000, etags=['"v2"'], honours_if_range=honours_if_range)
    get(server, tmp_path / "file")
    assert_whole(tmp_path / "file", b"new" * 1000)


def test_a_tag_that_changes_at_each_attempt_ends(server, tmp_path):
    server.reset(CONTENT, etags=[f'"v{number}"' for number in range(100)], cuts=[50] * 100)
    with pytest.raises(DownloadError, match="gave up after 5 attempts"):
        get(server, tmp_path / "file")
    assert len(server.requests) < 20
    assert not (tmp_path / "file").exists()


def test_another_url_is_never_continued(server, tmp_path):
    server.reset(CONTENT, cuts=[500])
    with pytest.raises(DownloadError):
        get(server, tmp_path / "file", max_attempts=1)
    server.requests.clear()
    download(server.url("/other"), tmp_path / "file")
    assert "Range" not in server.requests[0]
    assert_whole(tmp_path / "file")


@pytest.mark.parametrize("memory", ["", "{", "[]", '{"url": 1}', '{"url": "u", "validator": 3}', '{"new": 1}'])
def test_a_damaged_memory_means_starting_again(server, tmp_path, memory):
    server.reset(CONTENT)
    (tmp_path / "file.partial").write_bytes(b"rubbish")
    (tmp_path / "file.partial.json").write_text(memory)
    get(server, tmp_path / "file")
    assert_whole(tmp_path / "file")


@pytest.mark.parametrize("extra", [b"", b"too long"])
def test_range_not_satisfiable(server, tmp_path, extra):
    """Everything was there already, or more than that."""
    server.reset(CONTENT)
    (tmp_path / "file.partial").write_bytes(CONTENT + extra)
    (tmp_path / "file.partial.json").write_text(json.dumps({"url": server.url(), "validator": '"v1"'}))
    get(server, tmp_path / "file")
    assert len(server.requests) == (2 if extra else 1)
    assert_whole(tmp_path / "file")


# What is refused.


def test_a_wrong_checksum_names_both_and_starts_fresh_next_time(server, tmp_path):
    server.reset(CONTENT)
    with pytest.raises(DownloadError, match=rf"SHA-256 is {SHA256}; wanted {'0' * 64}"):
        get(server, tmp_path / "file", sha256="0" * 64)
    assert names_in(tmp_path) == []
    get(server, tmp_path / "file", sha256=SHA256.upper())
    assert_whole(tmp_path / "file")


def test_a_wrong_checksum_leaves_an_earlier_file_alone(server, tmp_path):
    (tmp_path / "file").write_bytes(b"earlier")
    server.reset(CONTENT)
    with pytest.raises(DownloadError):
        get(server, tmp_path / "file", sha256="0" * 64)
    assert_whole(tmp_path / "file", b"earlier")


@pytest.mark.parametrize("sha256", ["", "abc", "g" * 64])
def test_a_checksum_that_is_none(server, tmp_path, sha256):
    with pytest.raises(DownloadError, match="wanted 64 hexadecimal digits"):
        get(server, tmp_path / "file", sha256=sha256)


def test_fewer_bytes_than_announced_are_not_the_content(server, tmp_path):
    server.reset(CONTENT, announced_length=len(CONTENT) + 1, honours_range=False)
    with pytest.raises(DownloadError, match="connection cut after 300,000 of 300,001 bytes"):
        get(server, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_more_bytes_than_announced_fail_the_checksum(server, tmp_path):
    server.reset(CONTENT, announced_length=len(CONTENT) - 1)
    with pytest.raises(DownloadError, match="SHA-256"):
        get(server, tmp_path / "file", sha256=SHA256)
    assert names_in(tmp_path) == []


def test_an_endless_stream_ends(server, tmp_path):
    server.reset(b"", endless=True)
    with pytest.raises(DownloadError, match="more than 100,000 bytes"):
        get(server, tmp_path / "file", max_bytes=100_000)
    assert names_in(tmp_path) == []


def test_an_announced_size_that_is_too_large_is_not_downloaded(server, tmp_path):
    server.reset(CONTENT)
    with pytest.raises(DownloadError, match="300,000 bytes; wanted at most 299,999"):
        get(server, tmp_path / "file", max_bytes=len(CONTENT) - 1)
    assert names_in(tmp_path) == []
    get(server, tmp_path / "file", max_bytes=len(CONTENT))


def test_a_silent_server_times_out(server, tmp_path):
    server.reset(CONTENT, silent=True, cuts=[10])
    began = time.monotonic()
    with pytest.raises(DownloadError, match="timed out"):
        get(server, tmp_path / "file", timeout_seconds=0.1, max_attempts=1)
    assert time.monotonic() - began < 2
    assert (tmp_path / "file.partial").read_bytes() == CONTENT[:10]


@pytest.mark.parametrize("status", [401, 403, 404, 410, 204])
def test_a_final_answer_is_not_asked_for_again(server, tmp_path, status):
    server.reset(CONTENT, statuses=[status])
    with pytest.raises(DownloadError, match=rf"HTTP {status} \(.+\); wanted 200"):
        get(server, tmp_path / "file")
    assert len(server.requests) == 1
    assert names_in(tmp_path) == []


def test_a_passing_failure_is_asked_again_after_a_growing_wait(server, tmp_path):
    server.reset(CONTENT, statuses=[500, 503, 429])
    waits = []
    get(server, tmp_path / "file", wait=waits.append)
    assert waits == [1, 2, 4]
    assert_whole(tmp_path / "file")


def test_a_lasting_failure_ends(server, tmp_path):
    server.reset(CONTENT, statuses=[500] * 9)
    with pytest.raises(DownloadError, match=r"HTTP 500 .* \(gave up after 5 attempts\)$"):
        get(server, tmp_path / "file")
    assert len(server.requests) == 5
    assert names_in(tmp_path) == []


def test_redirects_are_followed(server, tmp_path):
    server.reset(CONTENT, redirects=["/elsewhere", server.url("/further")])
    get(server, tmp_path / "file")
    assert server.paths == ["/file", "/elsewhere", "/further"]
    assert_whole(tmp_path / "file")


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://example.org/x", "data:,x"])
def test_redirects_to_what_could_not_be_asked_for(server, tmp_path, target):
    server.reset(CONTENT, redirects=[target])
    with pytest.raises(DownloadError) as caught:
        get(server, tmp_path / "file")
    assert target.split(",")[0] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == []


def test_redirects_in_a_circle_end(server, tmp_path):
    server.reset(CONTENT, redirects=["/file"] * 50)
    with pytest.raises(DownloadError, match="HTTP 302"):
        get(server, tmp_path / "file")
    assert names_in(tmp_path) == []


def test_nobody_listens(tmp_path):
    with pytest.raises(DownloadError, match="cannot be reached"):
        download("http://127.0.0.1:1/x", tmp_path / "file", wait=lambda seconds: pytest.fail("waited"))
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "example.org/x",
        "http://example.org/x",
        "http://127.0.0.1@example.org/x",
        "http://127.0.0.1.example.org/x",
        "https:///x",
        "http://[::1/x",
        "https://example.org:port/x",
    ],
)
def test_addresses_that_are_refused(url):
    with pytest.raises(DownloadError, match="wanted https"):
        check_url(url, with_checksum=False)


def test_addresses_that_are_accepted():
    for url in ("https://example.org/x", "http://localhost:8/x", "http://127.0.0.1/x", "http://[::1]:8/x"):
        check_url(url, with_checksum=False)
    check_url("http://example.org/x", with_checksum=True)
    with pytest.raises(DownloadError):
        check_url("file:///etc/passwd", with_checksum=True)


@pytest.mark.parametrize("path", ["/a b", "/é", "/a\nb"])
def test_addresses_that_http_cannot_carry(server, tmp_path, path):
    with pytest.raises(DownloadError, match="not a URL"):
        download(server.url(path), tmp_path / "file")
    assert names_in(tmp_path) == []


def test_https_is_not_left_for_http():
    handler = connecting._CheckedRedirects(with_checksum=False)
    request = connecting.urllib.request.Request("https://example.org/x")
    with tempfile.TemporaryFile() as answer, pytest.raises(DownloadError, match="redirected to http://127"):
        handler.redirect_request(request, answer, 302, "Found", {}, "http://127.0.0.1/x")


# What happens to the files when the machine or the user ends it.


def failing_write(error, after):
    """A write that takes some bytes and then raises."""
    written = 0

    def write_all(stream, chunk):
        nonlocal written
        taken = chunk[: after - written]
        stream.write(taken)
        written += len(taken)
        if written >= after:
            raise error

    return write_all


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_full_disk_and_interrupt_keep_what_can_be_continued(server, tmp_path, monkeypatch, error):
    server.reset(CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(downloading, "_write_all", failing_write(error, 12_345))
        expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else DownloadError
        with pytest.raises(expected) as caught:
            get(server, tmp_path / "file")
    if expected is DownloadError:
        assert "No space left on device" in str(caught.value)
        assert "keeps 12,345 bytes" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == ["file.partial", "file.partial.json"]
    server.requests.clear()
    get(server, tmp_path / "file")
    assert server.requests[0]["Range"] == "bytes=12345-"
    assert_whole(tmp_path / "file")


def test_a_disk_full_from_the_start_leaves_nothing(server, tmp_path, monkeypatch):
    server.reset(CONTENT)
    monkeypatch.setattr(downloading, "_write_all", failing_write(OSError(errno.ENOSPC, "No space left"), 0))
    with pytest.raises(DownloadError, match="No space left"):
        get(server, tmp_path / "file")
    assert names_in(tmp_path) == []


def test_a_destination_that_cannot_be_written(server, tmp_path):
    server.reset(CONTENT)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DownloadError, match="cannot be written"):
        get(server, tmp_path / "file" / "below")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DownloadError, match="cannot be written"):
        get(server, tmp_path / "folder")


def test_two_downloads_of_one_file_do_not_mix(server, tmp_path):
    pytest.importorskip("fcntl")
    server.reset(CONTENT)
    refusals = []

    def download_again(done, total):
        if not refusals:
            with pytest.raises(DownloadError, match="another process") as caught:
                get(server, tmp_path / "file")
            refusals.append(caught.value)

    get(server, tmp_path / "file", on_progress=download_again)
    assert refusals
    assert_whole(tmp_path / "file")


def test_progress_counts_from_what_is_there_to_the_whole(server, tmp_path):
    server.reset(CONTENT, cuts=[100_000])
    seen = []
    get(server, tmp_path / "file", on_progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 300_000)
    assert seen[-1] == (300_000, 300_000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    server.reset(CONTENT, chunked=True)
    get(server, tmp_path / "file", on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (300_000, None)
