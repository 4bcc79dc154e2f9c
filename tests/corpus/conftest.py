"""A web server that misbehaves as told."""

import contextlib
import email.utils
import http.server
import re
import threading
from dataclasses import dataclass, field

import pytest


@dataclass
class ScriptedServer:
    """What to answer; each list is used up from the front, one item a request."""

    content: bytes = b""
    etags: list[str | None] = field(default_factory=lambda: ['"v1"'])
    """The last one stays."""
    last_modified: str | None = None
    honours_range: bool = True
    honours_if_range: bool = True
    cuts: list[int] = field(default_factory=list)
    """After how many bytes of the body to cut the connection."""
    statuses: list[int] = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)
    announced_length: int | None = None
    chunked: bool = False
    announces_length: bool = True
    endless: bool = False
    silent: bool = False
    requests: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/file") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def reset(self, content: bytes, **settings) -> "ScriptedServer":
        fresh = ScriptedServer(content=content, port=self.port, **settings)
        self.__dict__.update(fresh.__dict__)
        return self


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ScriptedServer

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        script = self.script
        self.close_connection = True
        script.requests.append(dict(self.headers))
        script.paths.append(self.path)
        if script.redirects:
            self.send_response(302)
            self.send_header("Location", script.redirects.pop(0))
            self._end(b"")
            return
        status = script.statuses.pop(0) if script.statuses else 200
        if status != 200:
            self.send_response(status)
            self._end(b"no")
            return
        etag = script.etags.pop(0) if len(script.etags) > 1 else script.etags[0]
        body = self._choose_body(etag)
        if body is None:
            return
        if etag is not None:
            self.send_header("ETag", etag)
        if script.last_modified is not None:
            self.send_header("Last-Modified", script.last_modified)
        self._end(body)

    def _choose_body(self, etag):
        script = self.script
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        is_current = condition is None or condition in (etag, script.last_modified) or not script.honours_if_range
        if not (wanted and script.honours_range and is_current):
            self.send_response(200)
            return script.content
        start = int(wanted[1])
        if start >= len(script.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(script.content)}")
            self._end(b"")
            return None
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{len(script.content) - 1}/{len(script.content)}")
        return script.content[start:]

    def _end(self, body):
        script = self.script
        if script.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif script.announces_length and not script.endless:
            length = len(body) if script.announced_length is None else script.announced_length
            self.send_header("Content-Length", str(length))
        self.end_headers()
        with contextlib.suppress(OSError):
            while script.endless:
                self.wfile.write(b"x" * 4096)
            cut = script.cuts.pop(0) if script.cuts and body else None
            sent = body if cut is None else body[:cut]
            if script.chunked:
                self.wfile.write(b"%x\r\n" % len(body) + sent)
                if cut is None:
                    self.wfile.write(b"\r\n0\r\n\r\n")
            else:
                self.wfile.write(sent)
            self.wfile.flush()
            if script.silent:
                script.released.wait(10)


@pytest.fixture(scope="session")
def _running_server():
    script = ScriptedServer()
    handler = type("Handler", (_Handler,), {"script": script})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        script.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield script
        server.shutdown()
        thread.join()


@pytest.fixture
def server(_running_server, monkeypatch):
    """A server on this machine, reset for each test."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    _running_server.reset(b"")
    _running_server.released = threading.Event()
    yield _running_server
    _running_server.released.set()


@pytest.fixture(scope="session")
def long_ago() -> str:
    """A ``Last-Modified`` that is a strong validator."""
    return email.utils.formatdate(1_000_000_000, usegmt=True)
