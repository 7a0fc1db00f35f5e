"""`openai:MODEL@URL`: any server that speaks the OpenAI chat interface.

Questions go out several at a time, no faster than a rate that may be set. What may pass (408, 409, 429, 5xx, a broken
connection, half an answer) is tried again with jitter, a cap, and as the server's Retry-After says; what cannot pass (a
wrong key, no such model) ends the run at once. The key comes from an environment variable and goes nowhere else.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from steelyard.core.errors import InputError, MissingExtra
from steelyard.core.visible import visible
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.completions import error_detail, read_completion, retry_after
from steelyard.vlm.secret import SHORT, Secret
from steelyard.vlm.wire import Answer, Lost, Wire

RETRIED = {408, 409, 429}
LONGEST_WAIT = 60.0


class _Passing(Exception):
    """A failure that may pass; `after` is how long the server asked to wait."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


class _Unreachable(_Passing):
    """The server was not there."""


class OpenAI:
    """A model behind a server."""

    batch, pictures = 1, 0

    def __init__(self, spec: str, options: ModelOptions) -> None:
        try:
            import tenacity
        except ImportError:
            raise MissingExtra("an openai: model", "vlm") from None
        self._tenacity = tenacity
        match = re.match(r"(.*?)@(https?://.*)", spec, re.S)
        model, url = match.groups() if match else spec.rpartition("@")[::2]
        if not model or not url:
            raise InputError(f"'openai:{spec}' is no model", remedy="Write openai:MODEL@http://host:port/v1.")
        self.label, self.url = model, _checked(url)
        self.fingerprint = f"openai:{model}@{self.url}"
        self.settings: Mapping[str, Any] = {
            "temperature": 0, "max_tokens": options.max_tokens, "max_side": options.max_side, "image": "png",
        }  # fmt: skip
        self.environment: Mapping[str, Any] = {
            "concurrency": options.concurrency, "rate": options.rate, "retries": options.retries,
            "timeout": options.timeout,
        }  # fmt: skip
        self.workers = options.concurrency
        self._options = options
        self._secret = Secret(_key(options.key_variable))
        if len(self._secret.key) >= SHORT and self._secret.key in spec:
            remedy = f"Both are written down: give the key by the variable {options.key_variable} alone."
            raise InputError("the model's name or URL holds the key", remedy=remedy)
        key = self._secret.key
        self._wire = Wire(
            f"{self.url}/chat/completions",
            {"Authorization": f"Bearer {key}"} if key else {},
            options.timeout,
            options.concurrency,
        )
        self._answered = False
        self._turn = threading.Lock()
        self._next = 0.0

    def close(self) -> None:
        """End what is under way, and close the connections."""
        self._wire.close()

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Ask for each conversation; the runner calls this from several threads."""
        return [self._ask(conversation) for conversation in conversations]

    def _ask(self, conversation: Conversation) -> Reply:
        try:
            body = self._body(conversation)
        except InputError as error:
            return Reply("", error=str(error), attempts=0)
        started = time.perf_counter()
        retrying = self._tenacity.Retrying(
            stop=self._tenacity.stop_after_attempt(self._options.retries),
            wait=self._wait,
            retry=self._tenacity.retry_if_exception_type(_Passing),
            reraise=True,
            sleep=self._wire.closed.wait,
        )
        attempts = 0
        try:
            for attempt in retrying:
                with attempt:
                    attempts += 1
                    reply = self._once(body)
        except _Unreachable as error:
            if not self._answered:
                remedy = "Is the server running, and the URL right?"
                raise PermanentError(f"{self.url} cannot be reached ({error}). {remedy}") from None
            return self._failed(error, started, attempts)
        except (_Passing, InputError) as error:
            return self._failed(error, started, attempts)
        self._answered = True
        return Reply(reply.text, reply.finish, reply.usage, time.perf_counter() - started, attempts)

    def _failed(self, error: Exception, started: float, attempts: int) -> Reply:
        tries = "" if attempts == 1 else f" after {attempts} attempts"
        return Reply("", error=f"{error}{tries}", latency=time.perf_counter() - started, attempts=attempts)

    def _wait(self, state: Any) -> float:
        error = state.outcome.exception()
        after = getattr(error, "after", None)
        if after is not None:
            return float(min(after, LONGEST_WAIT))
        return float(self._tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)(state))

    def _body(self, conversation: Conversation) -> bytes:
        image = base64.b64encode(conversation.picture.png(self._options.max_side)).decode()
        messages: list[dict[str, Any]] = []
        for i, text in enumerate(conversation.texts):
            part = {"type": "text", "text": text}
            if i == 0:
                shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}
                messages.append({"role": "user", "content": [shown, part]})
            else:
                messages.append({"role": "assistant" if i % 2 else "user", "content": [part]})
        settings = {"temperature": 0, "max_tokens": self._options.max_tokens, "stream": False}
        return json.dumps({"model": self.label, "messages": messages, **settings}).encode()

    def _pace(self) -> None:
        if not self._options.rate:
            return
        with self._turn:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 60.0 / self._options.rate
        self._wire.closed.wait(max(0.0, mine - now))

    def _once(self, body: bytes) -> Reply:
        self._pace()
        try:
            answer = self._wire.post(body)
        except Lost as error:
            failure = _Unreachable if error.unreachable else _Passing
            raise failure(self._clean(str(error))) from None
        except InputError as error:
            raise InputError(self._clean(str(error))) from None
        if answer.status != 200:
            self._refuse(answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/json", ""):
            raise _Passing(f"the server answers with {self._clean(kind)[:80]}, not JSON")
        try:
            return read_completion(answer.body, self._options.max_tokens, self._secret.scrub)
        except ValueError as error:
            raise _Passing(str(error)) from None

    def _refuse(self, answer: Answer) -> None:
        code, detail = answer.status, error_detail(answer.body, self._secret.scrub)
        what = f"the server says {code}{f': {detail}' if detail else ''}"
        if code in RETRIED or code >= 500:
            raise _Passing(what, retry_after(answer.headers.get("retry-after")))
        if code in (401, 403):
            variable = self._options.key_variable
            remedy = (
                f"Check the key in the environment variable {variable}." if self._secret.key else f"Set {variable}."
            )
            said = f"{code}: {detail}" if detail else str(code)
            raise PermanentError(f"{self.url} refuses the key ({said}). {remedy}")
        if code in (301, 302, 303, 307, 308, 404, 405):
            raise PermanentError(
                f"{self.url}/chat/completions: {what}. Check the URL and the model's name '{self.label}'."
            )
        raise InputError(what)

    def _clean(self, text: str) -> str:
        return visible(self._secret.scrub(text))


def _key(variable: str) -> str:
    """The key of an environment variable; refused where no header could carry it."""
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        remedy = "Set it again, without line ends, quotes or letters beyond ASCII."
        raise InputError(f"the key in the environment variable {variable} holds what no key can", remedy=remedy)
    return key


def _checked(url: str) -> str:
    """The base URL, without what must not be kept in a journal."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{url}' is no URL of a server", remedy="Write http://host:port/v1 behind the @.")
    if parts.username or parts.password or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
        raise InputError(
            f"the URL of {shown} holds a name, a password or a query",
            remedy="URLs are written to the journal: give the key by the environment variable.",
        )
    return url.rstrip("/")
