"""Connections of the viewer: few, short, and dropped where nobody goes on talking.

uvicorn waits without end for the rest of a request, and for a reader of its answer. Here a watch ends both.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 64
MOST_HEAD = 16 << 10  # bytes of a request's line and headers
SILENCE, STALLED = 15.0, 60.0  # seconds for a whole request; for a reader that takes nothing


class Watched(H11Protocol):  # type: ignore[misc]
    """A connection that ends when no request is whole in time, or when its answer is not taken."""

    silence, stalled = SILENCE, STALLED

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take the connection, unless there are too many."""
        super().connection_made(transport)
        self.quiet = self.stuck = 0.0
        self.waiting = 0
        self.watch: asyncio.TimerHandle | None = None
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        if self.watch is not None:
            self.watch.cancel()
        super().connection_lost(exc)

    def _look_again(self) -> None:
        self.step = min(self.silence, self.stalled) / 5
        self.watch = self.loop.call_later(self.step, self._look)

    def _look(self) -> None:
        busy = self.cycle is not None and not self.cycle.response_complete
        self.quiet = 0.0 if busy else self.quiet + self.step
        waiting = self.transport.get_write_buffer_size()
        self.stuck = self.stuck + self.step if waiting and waiting == self.waiting else 0.0
        self.waiting = waiting
        if self.quiet >= self.silence or self.stuck >= self.stalled:
            self.transport.abort()
        else:
            self._look_again()


def server(app: Any) -> uvicorn.Server:
    """The server of an application, with those limits."""
    return uvicorn.Server(
        uvicorn.Config(
            app, http=Watched, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
            lifespan="off", ws="none", timeout_keep_alive=5, h11_max_incomplete_event_size=MOST_HEAD,
        )
    )  # fmt: skip
