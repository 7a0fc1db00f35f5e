"""One request and its answer over HTTP, within a deadline and a size, however the server behaves.

The deadline holds for the whole: connecting, sending, headers and body. A server that sends a byte now and then does
not move it. Closing the wire ends what is under way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.core.errors import CannotWrite, MissingExtra, ServerFailure, TooLarge
from steelyard.core.frozen import Frozen

MOST_BYTES = 4 * 2**20  # of an answer: a reply of 100,000 tokens is far below
MOST_ERROR_BYTES = 64 * 2**10  # of an answer that only says what is wrong
_SLICE = 0.25  # seconds between two looks whether the wire was closed
_PIECE = 16 * 2**10  # bytes sent between two looks at the clock


class Answer(Frozen):
    """What a server sent: the body whole, or its beginning where the status is not 200."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Lost(Exception):
    """No answer came: `unreachable` where there was no connection at all."""

    def __init__(self, what: str, unreachable: bool = False) -> None:
        super().__init__(what)
        self.unreachable = unreachable


class Wire:
    """Connections to one server, kept open between requests; may be used by several threads.

    With `direct` no proxy that the environment names is used.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float, connections: int, *, direct: bool = False
    ) -> None:
        try:
            import httpcore
            import httpx
        except ImportError:
            raise MissingExtra("an openai: model", "vlm") from None
        self._httpx = httpx
        self._url, self._timeout = url, timeout
        self._clock = _Clock(threading.Event())
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(10.0, timeout)),
            limits=limits,
            # A client with a transport of its own takes no proxy from the environment, but certificates as ever.
            transport=httpx.HTTPTransport(limits=limits) if direct else None,
            headers={**headers, "Content-Type": "application/json", "Accept-Encoding": "identity"},
            follow_redirects=False,
        )
        # httpx has timeouts for each step alone; the total one is kept below it, where bytes are read and sent.
        for transport in (self._client._transport, *self._client._mounts.values()):
            if transport is not None:
                transport._pool._network_backend = _timed_backend(
                    httpcore, transport._pool._network_backend, self._clock
                )

    @property
    def closed(self) -> threading.Event:
        """Set once the wire is closed: whoever waits need wait no longer."""
        return self._clock.closed

    def close(self) -> None:
        """End what is under way and close the connections."""
        self._clock.closed.set()
        self._client.close()

    def post(self, body: bytes) -> Answer:
        """Send a body and give the answer; Lost where none came in time, InputError where it is not to be read."""
        httpx = self._httpx
        self._clock.start(self._timeout)
        try:
            with self._client.stream("POST", self._url, content=body) as answer:
                limit = MOST_BYTES if answer.status_code == 200 else MOST_ERROR_BYTES
                encoding = answer.headers.get("content-encoding", "identity").strip().lower()
                if encoding not in ("", "identity"):
                    raise ServerFailure("the server's answer is compressed, which was not asked for")
                data = _read(answer.iter_raw(), limit, whole=answer.status_code == 200)
                return Answer(answer.status_code, dict(answer.headers), data)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Lost(str(error) or type(error).__name__, unreachable=True) from None
        except httpx.TimeoutException:
            raise Lost(f"no answer within {self._timeout:g} s") from None
        except httpx.TransportError as error:
            raise Lost(f"the connection broke: {error or type(error).__name__}") from None
        except (httpx.InvalidURL, httpx.HTTPError, httpx.StreamError) as error:
            raise CannotWrite(f"the request cannot be made: {error}") from None
        except RuntimeError:
            if self.closed.is_set():  # the client was closed while this thread was about to ask
                raise Lost("the run ended") from None
            raise


def _read(chunks: Iterable[bytes], limit: int, whole: bool) -> bytes:
    """The body up to a limit; beyond it an error where the whole is needed, else its beginning."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > limit:
            if whole:
                raise TooLarge(f"the server's answer is longer than {limit / 2**20:g} MB, and was not read further")
            break
    return bytes(data[:limit])


class _Clock(threading.local):
    """When the request of this thread must be over. `closed` is one for all threads."""

    def __init__(self, closed: threading.Event) -> None:
        self.closed, self.end = closed, float("inf")

    def start(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        return 0.0 if self.closed.is_set() else self.end - time.monotonic()


def _timed_backend(httpcore: Any, inner: Any, clock: _Clock) -> Any:
    """A network backend that lets no step go on beyond the clock's end."""

    def within(timeout: float | None, error: type[Exception], most: float = float("inf")) -> float:
        left = clock.left()
        if left <= 0:
            raise error("the deadline has passed")
        return min(left, most, float("inf") if timeout is None else timeout)

    class Stream(httpcore.NetworkStream):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            while True:
                try:
                    data: bytes = self._stream.read(max_bytes, within(timeout, httpcore.ReadTimeout, _SLICE))
                    return data
                except httpcore.ReadTimeout:
                    if clock.left() <= 0:
                        raise

        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            for start in range(0, len(buffer), _PIECE):
                self._stream.write(buffer[start : start + _PIECE], within(timeout, httpcore.WriteTimeout))

        def close(self) -> None:
            self._stream.close()

        def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> Any:
            left = within(timeout, httpcore.ConnectTimeout)
            return Stream(self._stream.start_tls(ssl_context, server_hostname, left))

        def get_extra_info(self, info: str) -> Any:
            return self._stream.get_extra_info(info)

    class Backend(httpcore.NetworkBackend):  # type: ignore[misc]
        def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> Any:
            return Stream(inner.connect_tcp(host, port, timeout=within(timeout, httpcore.ConnectTimeout), **options))

        def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> Any:
            left = within(timeout, httpcore.ConnectTimeout)
            return Stream(inner.connect_unix_socket(path, timeout=left, **options))

        def sleep(self, seconds: float) -> None:
            inner.sleep(seconds)

    return Backend()
