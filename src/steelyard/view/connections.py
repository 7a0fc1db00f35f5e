"""Connections of the viewer and the threads that make its pages: bounded, and nothing that waits holds up the rest.

uvicorn waits without end for the rest of a request, and for a reader of its answer; here a watch ends both. Requests
wait in line for a thread, so that any number at once is answered, if late. When the server ends it waits for nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 1000
THREADS = 32
_Answer = asyncio.Future[tuple[Any, BaseException | None]]
MOST_HEAD = 16 << 10  # bytes of a request's line and headers
SILENCE, STALLED = 15.0, 60.0  # seconds for a whole request; for a reader that takes nothing


class Watched(H11Protocol):  # type: ignore[misc]
    """A connection that ends when no request is whole in time, or when its answer is not taken."""

    silence, stalled = SILENCE, STALLED

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take the connection; where there are too many, the one that has been idle longest makes room."""
        super().connection_made(transport)
        self.quiet = self.stuck = 0.0
        self.waiting = 0
        self.watch: asyncio.TimerHandle | None = None
        self.idle_since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            others = [one for one in self.connections if one is not self and not one.busy]
            min(others, key=lambda one: one.idle_since, default=self).drop()
        if not transport.is_closing():
            self._look_again()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        """Be idle from now on."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def drop(self) -> None:
        """End the connection at once; it no longer counts."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        if self.watch is not None:
            self.watch.cancel()
        super().connection_lost(exc)

    def _look_again(self) -> None:
        self.step = min(self.silence, self.stalled) / 5
        self.watch = self.loop.call_later(self.step, self._look)

    def _look(self) -> None:
        self.quiet = 0.0 if self.busy else self.quiet + self.step
        waiting = self.transport.get_write_buffer_size()
        self.stuck = self.stuck + self.step if waiting and waiting == self.waiting else 0.0
        self.waiting = waiting
        if self.quiet >= self.silence or self.stuck >= self.stalled:
            self.transport.abort()
        else:
            self._look_again()


class Workers:
    """Threads that make answers, in the order of the requests. They end with the process, whatever they are doing."""

    def __init__(self, ended: Any) -> None:
        self.ended = ended  # the answer to requests that are still open when the server ends
        self.working = 0  # threads that make an answer right now
        self._jobs: SimpleQueue[tuple[Callable[[], Any], _Answer]] = SimpleQueue()
        self._open: set[_Answer] = set()
        self._threads = 0
        self._lock = threading.Lock()

    async def run(self, make: Callable[[], Any]) -> Any:
        """What `make` gives in one of the threads."""
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._open.add(answer)
        self._jobs.put((make, answer))
        if self._threads < min(THREADS, len(self._open)):
            self._threads += 1
            threading.Thread(target=self._work, name="viewer", daemon=True).start()
        try:
            result, error = await answer
        finally:
            self._open.discard(answer)
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Answer every open request now; threads go on with what they do, and nobody waits for it."""
        for answer in self._open:
            _settle(answer, self.ended, None)

    def _work(self) -> None:
        while True:
            make, answer = self._jobs.get()
            if answer.done():
                continue
            with self._lock:
                self.working += 1
            result = error = None
            try:
                result = make()
            except BaseException as raised:
                error = raised
            with self._lock:
                self.working -= 1
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                answer.get_loop().call_soon_threadsafe(_settle, answer, result, error)


def _settle(answer: _Answer, result: Any, error: BaseException | None) -> None:
    if not answer.done():
        answer.set_result((result, error))


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server that ends at once: nobody needs the rest of a page from a viewer that is being closed."""

    async def shutdown(self, sockets: Any = None) -> None:
        for connection in list(self.server_state.connections):
            connection.drop()
        self.config.app.workers.close()
        await super().shutdown(sockets)


def server(app: Any) -> Server:
    """The server of an application that has `workers`, with those limits."""
    _allow_files(MOST_CONNECTIONS + 200)
    return Server(
        uvicorn.Config(
            app, http=Watched, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
            lifespan="off", ws="none", timeout_keep_alive=5, timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=MOST_HEAD,
        )
    )  # fmt: skip


def _allow_files(count: int) -> None:
    """Let this process have that many files open, where the system permits it: a connection is one."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
