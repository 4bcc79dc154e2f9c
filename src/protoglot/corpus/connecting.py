"""Asking a server for content, and telling failures that may pass from those that will not."""

import contextlib
import http.client
import ipaddress
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import IO

from protoglot.errors import DownloadError

_CHUNK_BYTES = 1 << 18
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})


class CutError(Exception):
    """The content did not arrive whole; another attempt may bring the rest."""

    def __init__(self, reason: str, wait_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds


class RangeRefusedError(Exception):
    """The server has no bytes where they were asked for."""

    def __init__(self, headers: Message) -> None:
        super().__init__("the server has not the bytes asked for")
        self.headers = headers


def check_url(url: str, *, with_checksum: bool) -> None:
    """Refuse an address whose content nobody vouches for.

    Raises:
        DownloadError: unless it is ``https``, or ``http`` to this machine or with a checksum.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
        _ = parts.port  # raises for a port that is not a number
    except ValueError as error:
        raise DownloadError(f"{url!r}: not a URL ({error}); wanted https://...") from error
    if parts.scheme not in ("https", "http") or not host:
        raise DownloadError(f"{url!r}: scheme {parts.scheme or 'missing'}; wanted https://HOST/...")
    if parts.scheme == "http" and not with_checksum and not _is_this_machine(host):
        raise DownloadError(f"{url}: plain http can be altered on its way; wanted https, or a SHA-256 to check")


class Connection:
    """Opens URLs, telling failures that may pass from those that will not."""

    def __init__(self, *, with_checksum: bool, timeout_seconds: float) -> None:
        self._opener = urllib.request.build_opener(_CheckedRedirects(with_checksum=with_checksum))
        self._timeout_seconds = timeout_seconds
        self._has_answered = False

    @contextlib.contextmanager
    def opened(self, url: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        """An answer of the server, 2xx.

        Raises:
            RangeRefusedError: if the server answers 416.
            CutError: for a failure that may pass.
            DownloadError: for one that will not.
        """
        with self._answer(url, headers) as response:
            self._has_answered = True
            yield response

    def _answer(self, url: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 (check_url has seen it)
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=self._timeout_seconds)
            return response
        except urllib.error.HTTPError as error:
            with error:
                raise self._judge(url, error) from error
        except (http.client.InvalidURL, ValueError) as error:
            raise DownloadError(f"{url!r}: not a URL ({error}); wanted https://...") from error
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            # Without any answer yet, the name or the network is wrong rather than the moment.
            at_once = isinstance(reason, (socket.gaierror, ConnectionRefusedError)) and not self._has_answered
            if at_once or isinstance(reason, ssl.SSLCertVerificationError):
                raise DownloadError(f"{url}: cannot be reached ({reason}); wanted a network connection") from error
            raise CutError(f"no answer ({_describe(reason)})") from error

    def _judge(self, url: str, error: urllib.error.HTTPError) -> Exception:
        """What an answer that urllib takes for an error means to us."""
        if error.code == 416:
            return RangeRefusedError(error.headers)
        reason = f"HTTP {error.code} ({' '.join(str(error.reason).split())})"
        if error.code in _WORTH_RETRYING:
            self._has_answered = True
            seconds = error.headers.get("Retry-After", "")
            return CutError(reason, float(seconds) if seconds.isdecimal() else 0.0)
        return DownloadError(f"{url}: {reason}; wanted 200 (OK)")


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to addresses that could have been asked for directly."""

    def __init__(self, *, with_checksum: bool) -> None:
        self._with_checksum = with_checksum

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Check the new address; one that left https must not come back to http."""
        try:
            check_url(newurl, with_checksum=self._with_checksum)
            if req.type == "https" and not newurl.lower().startswith("https:") and not self._with_checksum:
                raise DownloadError(f"{newurl}: plain http can be altered on its way; wanted https")
        except DownloadError as error:
            fp.close()
            raise DownloadError(f"{req.full_url}: redirected to {error}") from error
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def read_some(response: http.client.HTTPResponse) -> bytes:
    """Some bytes of the body as soon as there are some, or none at its end."""
    try:
        return response.read1(_CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise CutError(f"connection cut ({_describe(error)})") from error


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _describe(error: object) -> str:
    return " ".join(str(error).split()) or type(error).__name__
