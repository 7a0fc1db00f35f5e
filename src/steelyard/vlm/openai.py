"""`openai:MODEL@URL`: any server that speaks the OpenAI chat interface.

Questions go out several at a time, no faster than a rate that may be set. What may pass (408, 409, 429, 5xx, a broken
connection, half an answer) is tried again with jitter, a cap, and as the server's Retry-After says; what cannot pass (a
wrong key, no such model) ends the run at once. The key comes from an environment variable and goes nowhere else.
"""

from __future__ import annotations

import base64
import email.utils
import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from steelyard.core.errors import InputError, MissingExtra
from steelyard.vlm.backend import Conversation, Hopeless, ModelOptions, Reply

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
            import httpx
            import tenacity
        except ImportError:
            raise MissingExtra("an openai: model", "vlm") from None
        self._httpx, self._tenacity = httpx, tenacity
        found = re.match(r"(.*?)@(https?://.*)", spec, re.S)
        model, url = found.groups() if found else spec.rpartition("@")[::2]
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
        self._key = os.environ.get(options.key_variable, "").strip()
        self._client = httpx.Client(
            timeout=httpx.Timeout(options.timeout, connect=min(10.0, options.timeout)),
            limits=httpx.Limits(max_connections=options.concurrency, max_keepalive_connections=options.concurrency),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
        )
        self._answered = False
        self._turn = threading.Lock()
        self._next = 0.0

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

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
                raise Hopeless(f"{self.url} cannot be reached ({error}). {remedy}") from None
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
        time.sleep(max(0.0, mine - now))

    def _once(self, body: bytes) -> Reply:
        self._pace()
        httpx = self._httpx
        try:
            answer = self._client.post(
                f"{self.url}/chat/completions", content=body, headers={"Content-Type": "application/json"}
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Unreachable(self._clean(str(error) or type(error).__name__)) from None
        except httpx.TimeoutException:
            raise _Passing(f"no answer within {self._options.timeout:g} s") from None
        except httpx.TransportError as error:
            raise _Passing(self._clean(f"the connection broke: {error or type(error).__name__}")) from None
        except (httpx.InvalidURL, httpx.HTTPError) as error:
            raise InputError(self._clean(f"the request cannot be made: {error}")) from None
        if answer.status_code != 200:
            self._refuse(answer)
        return self._read(answer)

    def _refuse(self, answer: Any) -> None:
        code, detail = answer.status_code, self._clean(_detail(answer.text))
        what = f"the server says {code}{f': {detail}' if detail else ''}"
        if code in RETRIED or code >= 500:
            raise _Passing(what, _retry_after(answer.headers.get("retry-after")))
        if code in (401, 403):
            variable = self._options.key_variable
            remedy = f"Check the key in the environment variable {variable}." if self._key else f"Set {variable}."
            raise Hopeless(f"{self.url} refuses the key ({code}). {remedy}")
        if code in (301, 302, 303, 307, 308, 404, 405):
            raise Hopeless(f"{self.url}/chat/completions: {what}. Check the URL and the model's name '{self.label}'.")
        raise InputError(what)

    def _read(self, answer: Any) -> Reply:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/json", ""):
            raise _Passing(f"the server answers with {kind}, not JSON")
        try:
            data = answer.json()
        except ValueError:
            raise _Passing("the server's answer is not valid JSON; it may be cut off") from None
        try:
            choice = data["choices"][0]
            text = _text(choice["message"].get("content"))
        except (KeyError, IndexError, TypeError, AttributeError):
            raise _Passing("the server's answer holds no choice with a message") from None
        usage = {k: v for k, v in (data.get("usage") or {}).items() if isinstance(v, int)}
        finish = choice.get("finish_reason")
        if finish is None:  # some servers leave it out; a full budget says the same
            finish = "length" if usage.get("completion_tokens", 0) >= self._options.max_tokens else "stop"
        return Reply(text, str(finish), usage)

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


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


def _text(content: Any) -> str:
    """The text of a message: a string, a list of parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if part.get("type", "text") == "text")


def _detail(text: str) -> str:
    """The message inside an error's body, on one line and not too long."""
    try:
        data = json.loads(text)
        error = data.get("error", data)
        text = error.get("message") or text if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        pass
    text = " ".join(str(text).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
