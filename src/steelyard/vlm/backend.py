"""What a model must answer to be run: conversations in, replies out. Behind it stand `hf:` and servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from steelyard.core.errors import OutOfRange, SteelyardError
from steelyard.core.frozen import Frozen
from steelyard.vlm.images import MAX_SIDE, Picture


class Conversation(Frozen):
    """A picture and the texts so far: the user's, the model's, ..., ending with the user's.

    `more` are the pictures that are shown behind the first. `repeat` counts the times that the same was asked before.
    """

    picture: Picture
    texts: tuple[str, ...]
    more: tuple[Picture, ...] = ()
    repeat: int = 0

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures, in the order in which they are shown."""
        return (self.picture, *self.more)


class Reply(Frozen):
    """What came back: `finish` is "stop", "length" (cut off) or "content_filter"; `error` says why nothing came.

    `refused` says that the server will not answer such a question, however often it is asked.
    """

    text: str
    finish: str = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    latency: float = 0.0
    attempts: int = 1
    error: str = ""
    refused: bool = False


class Backend(Protocol):
    """A model. `fingerprint` and `settings` are everything that its replies depend on beside what it is shown.

    A batch holds `batch` questions, or those about `pictures` pictures where that is not 0; `workers` batches are asked
    at once.
    """

    label: str
    fingerprint: str
    settings: Mapping[str, Any]
    batch: int
    pictures: int
    workers: int

    @property
    def environment(self) -> Mapping[str, Any]:
        """What is recorded of the run, and does not matter to the replies."""

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """One reply for each conversation. What fails for one is its reply's `error`; PermanentError ends the run."""

    def close(self) -> None:
        """Let go of what is held."""


class PermanentError(SteelyardError):
    """No further question can succeed: a wrong key, an unknown model, a server that is not there."""


class ModelOptions(Frozen):
    """How a model is loaded and asked. What a backend has no use for, it passes over."""

    max_tokens: int = 64
    max_side: int = MAX_SIDE
    temperature: float = 0.0
    batch: int = 16
    device: str = "auto"
    dtype: str = "auto"
    share: bool = True
    device_map: str = ""
    revision: str = ""
    quantize: str = ""
    attention: str = ""
    trust_code: bool = False
    concurrency: int = 8
    rate: float = 0.0
    token_rate: float = 0.0
    image: str = "png"
    limit_field: str = "auto"
    params: tuple[tuple[str, Any], ...] = ()
    insecure: bool = False
    http_proxy: str = "auto"
    retries: int = 6
    timeout: float = 120.0
    key_variable: str = ""

    def check(self) -> None:
        """Raise InputError where an option is out of its range."""
        limits = {
            "max_tokens": (1, 100_000), "max_side": (16, 20_000), "batch": (1, 4096), "concurrency": (1, 1024),
            "temperature": (0, 100), "rate": (0, 1e9), "token_rate": (0, 1e12), "retries": (1, 100),
            "timeout": (0.01, 86_400),
        }  # fmt: skip
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                raise OutOfRange(f"`{name}={getattr(self, name):g}` is out of range", remedy=f"{low:g} to {high:g}.")
