"""`openai:MODEL@URL`, `anthropic:MODEL`, `gemini:MODEL`: a model behind a server.

Questions go out several at a time, no faster than the user's limits and the server's allow. What may pass (408, 409,
429, 5xx, a broken connection, half an answer) is tried again with jitter, a cap, and as the server's Retry-After says;
what cannot pass (a wrong key, no such model, a quota that is used up) ends the run at once. The first question goes
alone: it finds out by which name the server takes the longest reply. The key comes from an environment variable and
goes nowhere else.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from steelyard.core.errors import InputError, InvalidSetting, InvalidValue, MissingExtra, Unsupported
from steelyard.core.visible import visible
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.completions import error_detail
from steelyard.vlm.interfaces import INTERFACES, MAX_COMPLETION_TOKENS, MAX_TOKENS, Shown
from steelyard.vlm.pace import Pace, retry_after
from steelyard.vlm.secret import SHORT, Secret
from steelyard.vlm.usage import tokens_of
from steelyard.vlm.wire import Answer, Lost, Wire

RETRIED = {408, 409, 429}
LONGEST_WAIT = 60.0  # of our own back-off
LONGEST_ASKED = 600.0  # seconds that a server may ask us to wait
FIELDS = ("auto", MAX_TOKENS, MAX_COMPLETION_TOKENS)
IMAGES = ("png", "jpeg")
PROXIES = ("auto", "always", "never")  # auto: never for loopback and private addresses
OWN_NAMES = (".local", ".lan", ".internal", ".localhost")
# How servers say that they do not know a field; that its value is too large is said otherwise.
_UNKNOWN = re.compile(
    r"max_completion_tokens.*instead|support|unknown|unrecogni|unexpected|not permitted|not allowed", re.I
)
_OTHER = {MAX_TOKENS: MAX_COMPLETION_TOKENS, MAX_COMPLETION_TOKENS: MAX_TOKENS}


class _Passing(Exception):
    """A failure that may pass; `after` is how long the server asked to wait."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


class _Unreachable(_Passing):
    """The server was not there."""


class _Refused(InputError):
    """The server will not answer this question, however often it is asked."""


class _OtherField(_Refused):
    """The longest reply goes by another name here."""


class Server:
    """A model behind a server. `notes` are sentences that its user should read."""

    batch, pictures = 1, 0

    def __init__(self, kind: str, spec: str, options: ModelOptions) -> None:
        try:
            import tenacity
        except ImportError:
            raise MissingExtra(f"an {kind}: model", "vlm") from None
        self._tenacity = tenacity
        self._speaks = speaks = INTERFACES[kind]
        match = re.match(r"(.*?)@(https?://.*)", spec, re.S)
        model, url = match.groups() if match else (spec, speaks.url) if speaks.url else spec.rpartition("@")[::2]
        if not model or not url:
            raise InvalidSetting(f"'{kind}:{spec}' is no model", remedy=f"Write {kind}:MODEL@http://host:port/v1.")
        self.label, self.url = model, _checked(url)
        self.fingerprint = f"{kind}:{model}@{self.url}"
        self._variable = options.key_variable or speaks.key_variable
        self._secret = Secret(_key(self._variable))
        self._params = _params(options.params, speaks.reserved, self._secret)
        self._field = _field(options.limit_field, self.url)
        if options.image not in IMAGES:
            raise InvalidSetting(f"`image={options.image}` is not known", remedy=f"Choose one of: {', '.join(IMAGES)}.")
        self.settings: Mapping[str, Any] = {
            "temperature": self._params.get("temperature"), "max_tokens": options.max_tokens,
            "max_side": options.max_side, "image": options.image,
            **({"params": beside} if (beside := {k: v for k, v in self._params.items() if k != "temperature"}) else {}),
        }  # fmt: skip
        self.notes = () if self._params.get("temperature") == 0 else ("replies are sampled: the temperature is not 0",)
        self.workers = options.concurrency
        self._options = options
        key = self._secret.key
        if len(key) >= SHORT and key in spec:
            remedy = f"Both are written down: give the key by the variable {self._variable} alone."
            raise InvalidSetting("the model's name or URL holds the key", remedy=remedy)
        if options.http_proxy not in PROXIES:
            raise InvalidSetting(
                f"`http_proxy={options.http_proxy}` is not known", remedy=f"Choose one of: {', '.join(PROXIES)}."
            )
        near = _own_network(self.url)
        if key and not options.insecure and not near and urlsplit(self.url).scheme != "https":
            remedy = "Write https://, or set `insecure=True`."
            raise InvalidSetting(f"{self.url} would be sent the key unencrypted", remedy=remedy)
        direct = options.http_proxy == "never" or (near and options.http_proxy == "auto")
        self._wire = Wire(
            f"{self.url}{speaks.path(model)}", speaks.headers(key), options.timeout, options.concurrency, direct=direct
        )
        self._pace = Pace(options.rate, options.token_rate, self._wire.closed)
        self._answered = self._settled = self._switched = False
        self._first, self._naming = threading.Lock(), threading.Lock()

    @property
    def environment(self) -> Mapping[str, Any]:
        """How it is asked; by which name it takes the longest reply is known once it has answered."""
        options = self._options
        return {
            "concurrency": options.concurrency, "rate": options.rate, "token_rate": options.token_rate,
            "retries": options.retries, "timeout": options.timeout,
            **({"limit_field": self._field} if self._speaks.name == "openai" else {}),
        }  # fmt: skip

    def close(self) -> None:
        """End what is under way, and close the connections."""
        self._wire.close()

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Ask for each conversation; the runner calls this from several threads."""
        return [self._ask(conversation) for conversation in conversations]

    def _ask(self, conversation: Conversation) -> Reply:
        try:
            shown = [self._shown(picture) for picture in conversation.pictures]
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
                    reply = self._once(shown, conversation.texts)
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
        took = time.perf_counter() - started
        return Reply("", error=f"{error}{tries}", latency=took, attempts=attempts, refused=isinstance(error, _Refused))

    def _wait(self, state: Any) -> float:
        after = getattr(state.outcome.exception(), "after", None)
        if after is not None:
            return float(after)
        return float(self._tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)(state))

    def _shown(self, picture: Any) -> Shown:
        data = getattr(picture, self._options.image)(self._options.max_side)
        return Shown(base64.b64encode(data).decode(), f"image/{self._options.image}")

    def _body(self, shown: Sequence[Shown], texts: Sequence[str]) -> bytes:
        params = {name: value for name, value in self._params.items() if value is not None}
        most = self._options.max_tokens
        return json.dumps(self._speaks.body(self.label, shown, texts, self._field, most, params)).encode()

    def _once(self, shown: Sequence[Shown], texts: Sequence[str]) -> Reply:
        if not self._settled:
            with self._first:  # what the first question finds out holds for those that wait here
                if not self._settled:
                    try:
                        return self._by_either_name(shown, texts)
                    finally:
                        self._settled = True
        return self._by_either_name(shown, texts)

    def _by_either_name(self, shown: Sequence[Shown], texts: Sequence[str]) -> Reply:
        """Ask; where the longest reply goes by another name, ask by that, and keep to it."""
        field = self._field
        try:
            return self._sent(self._body(shown, texts))
        except _OtherField:
            with self._naming:
                if self._field == field and self._switched:
                    raise
                if self._field == field:
                    self._field, self._switched = _OTHER[field], True
        return self._sent(self._body(shown, texts))

    def _sent(self, body: bytes) -> Reply:
        ticket = self._pace.wait(self._options.max_tokens)
        try:
            answer = self._wire.post(body)
        except Lost as error:
            failure = _Unreachable if error.unreachable else _Passing
            raise failure(self._clean(str(error))) from None
        except InputError as error:
            raise InvalidSetting(self._clean(str(error))) from None
        self._pace.heard(answer.headers)
        if answer.status != 200:
            self._refuse(answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/json", ""):
            raise _Passing(f"the server answers with {self._clean(kind)[:80]}, not JSON")
        try:
            reply = self._speaks.read(answer.body, self._options.max_tokens, self._secret.scrub)
        except ValueError as error:
            raise _Passing(str(error)) from None
        tokens = tokens_of(reply.usage)
        self._pace.settle(ticket, None if tokens.prompt is None else tokens.prompt + (tokens.completion or 0))
        return reply

    def _refuse(self, answer: Answer) -> None:
        code, detail = answer.status, error_detail(answer.body, self._secret.scrub)
        what = f"the server says {code}{f': {detail}' if detail else ''}"
        if code == 429 and b"insufficient_quota" in answer.body:
            raise PermanentError(f"{what}. What was read is kept; run the same command again when there is credit.")
        if code in RETRIED or code >= 500:
            self._come_back(what, answer)
        said = f"{code}: {detail}" if detail else str(code)
        if code in (401, 403):
            remedy = f"Check the key in the environment variable {self._variable}."
            raise PermanentError(
                f"{self.url} refuses the key ({said}). {remedy if self._secret.key else f'Set {self._variable}.'}"
            )
        if code in (301, 302, 303, 307, 308, 404, 405):
            where = f"{self.url}{self._speaks.path(self.label)}"
            raise PermanentError(f"{where}: {what}. Check the URL and the model's name '{self.label}'.")
        if code in (400, 422) and self._speaks.name == "openai" and self._field in detail and _UNKNOWN.search(detail):
            raise _OtherField(what)
        if code in (400, 422) and "temperature" in detail and self._params.get("temperature") is not None:
            what = f"{what.rstrip('.')}. Leave it out with the param temperature=none"
        raise _Refused(what)

    def _come_back(self, what: str, answer: Answer) -> None:
        after = retry_after(answer.headers.get("retry-after"))
        milliseconds = retry_after(answer.headers.get("retry-after-ms"))
        after = milliseconds / 1000 if milliseconds is not None else after
        if after is not None and after > LONGEST_ASKED:
            raise PermanentError(
                f"{what}, and to come back in {after / 60:,.0f} minutes. What was read is kept; run the same command "
                "again then."
            )
        if after is not None and answer.status == 429:
            self._pace.pause(after)
        raise _Passing(what, after)

    def _clean(self, text: str) -> str:
        return visible(self._secret.scrub(text))


def _params(given: Sequence[tuple[str, Any]], reserved: Sequence[str], secret: Secret) -> dict[str, Any]:
    """What is sent beside the question; `none` takes a field out."""
    params: dict[str, Any] = {"temperature": 0}
    for name, value in given:
        if name in reserved:
            remedy = "Use `max_tokens` and `limit_field`." if "ax" in name else "It is filled in from the questions."
            raise Unsupported(f"`params` cannot set {name}", remedy=remedy)
        text = json.dumps([name, value])
        if secret.key and secret.scrub(text) != text:
            raise InvalidSetting(
                f"{secret.scrub(name)} of `params` holds the key, and is written down", remedy="Leave it out."
            )
        params[name] = value
    return params


def _field(wanted: str, url: str) -> str:
    """By which name the longest reply is sent first."""
    if wanted not in FIELDS:
        raise InvalidSetting(f"`limit_field={wanted}` is not known", remedy=f"Choose one of: {', '.join(FIELDS)}.")
    if wanted != "auto":
        return wanted
    return MAX_COMPLETION_TOKENS if urlsplit(url).hostname == "api.openai.com" else MAX_TOKENS


def _own_network(url: str) -> bool:
    """Whether a URL names this machine or a private network: by its address, or by a name of such networks."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.ip_address(socket.inet_aton(host))  # 127.1, 0x7f000001
        except OSError:
            return "." not in host or host.endswith(OWN_NAMES)
    return (getattr(address, "ipv4_mapped", None) or address).is_private


def _key(variable: str) -> str:
    """The key of an environment variable; refused where no header could carry it."""
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        remedy = "Set it again, without line ends, quotes or letters beyond ASCII."
        raise InvalidSetting(f"the key in the environment variable {variable} holds what no key can", remedy=remedy)
    return key


def _checked(url: str) -> str:
    """The base URL, without what must not be kept in a journal."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValue(f"'{url}' is no URL of a server", remedy="Write http://host:port/v1 behind the @.")
    if parts.username or parts.password or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
        raise InvalidSetting(
            f"the URL of {shown} holds a name, a password or a query",
            remedy="URLs are written to the journal: give the key by the environment variable.",
        )
    return url.rstrip("/")
