"""`openai:MODEL@URL`, `anthropic:MODEL`, `gemini:MODEL`: a model behind a server.

Questions go out several at a time, no faster than the user's limits and the server's allow. What may pass (408, 409,
429, 5xx, a broken connection, half an answer) is tried again with jitter, a cap, and as the server's Retry-After says;
what cannot pass (a wrong key, no such model, a quota that is used up) ends the run at once. The first question goes
alone: it finds out by which name the server takes the longest reply. The key comes from an environment variable and
goes nowhere else.

How fast a server may be asked: by the user's limits, and by what the server says of its own.

Limits by requests and by tokens per minute hold for all threads together. A server says what is left of them in
headers (those of OpenAI and of Anthropic are known) and by Retry-After; all threads wait then, and no longer than
`LONGEST_PAUSE` by headers alone.

A server's key, and how it is kept out of whatever is printed or written.

A server may send the key back: in plain, cut short, split by spaces or line ends, URL-encoded, in hexadecimal or in
base64. A text is scrubbed before it is shortened, so that no half of a key is left over.
"""

from __future__ import annotations

import base64
import email.utils
import ipaddress
import json
import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlsplit

from steelyard.core.errors import InputError, InvalidSetting, MissingExtra, Unsupported
from steelyard.core.visible import visible
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.completions import error_detail
from steelyard.vlm.interfaces import INTERFACES, MAX_COMPLETION_TOKENS, MAX_TOKENS, Shown
from steelyard.vlm.usage import tokens_of
from steelyard.vlm.wire import Answer, Lost, Wire

MINUTE = 60.0
LONGEST_PAUSE = 60.0  # seconds, by headers of an answer that is not a refusal
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SECONDS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)


class Pace:
    """Turns for the questions of several threads. `rate` and `tokens` are limits per minute; 0 is none."""

    def __init__(self, rate: float, tokens: float, closed: threading.Event) -> None:
        self._rate, self._tokens, self._closed = rate, tokens, closed
        self._lock = threading.Lock()
        self._next = self._until = 0.0
        self._spent: deque[list[float]] = deque()  # when, and how many tokens
        self._largest = 0.0  # tokens of the largest question so far

    def wait(self, guess: float) -> list[float]:
        """Wait for a turn; `guess` is how many tokens the question may cost. Give what is given back to `settle`."""
        while True:
            with self._lock:
                now = time.monotonic()
                start = max(now, self._next, self._until)
                ticket = [start, max(guess, self._largest)]
                if self._tokens:
                    start = max(start, self._room(now, ticket[1]))
                if start <= now:
                    self._next = now + MINUTE / self._rate if self._rate else 0.0
                    self._spent.append(ticket)
                    return ticket
            if self._closed.wait(start - now):
                return ticket

    def _room(self, now: float, wanted: float) -> float:
        """When so many more tokens fit into a minute; one question alone always does."""
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        left = sum(count for _, count in self._spent) + wanted - self._tokens
        for moment, count in self._spent:
            if left <= 0:
                return now
            left -= count
            if left <= 0:
                return moment + MINUTE
        return self._spent[-1][0] + MINUTE if self._spent and left > 0 and wanted <= self._tokens else now

    def settle(self, ticket: list[float], tokens: int | None) -> None:
        """Say what a question cost in the end; None where that is not known."""
        if tokens is not None:
            with self._lock:
                ticket[1] = float(tokens)
                self._largest = max(self._largest, float(tokens))

    def pause(self, seconds: float) -> None:
        """Let all threads wait."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def note_limits(self, headers: Mapping[str, str]) -> None:
        """Wait where the server says that nothing is left of its limits."""
        for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
            left, limit, reset = _limits(headers, kind)
            wanted = 1.0 if kind == "requests" else max(1.0, self._largest)
            if left is None or reset is None or left >= wanted:
                continue
            if limit is not None and limit > left:  # limits fill up evenly
                reset *= min(1.0, (wanted - left) / (limit - left))
            self.pause(min(reset, LONGEST_PAUSE))


def _limits(headers: Mapping[str, str], kind: str) -> tuple[float | None, float | None, float | None]:
    """What is left of a limit, the limit, and the seconds until it is full again."""
    for name in ("x-ratelimit-{}-" + kind, f"anthropic-ratelimit-{kind}-" + "{}"):
        left, limit, reset = (headers.get(name.format(part)) for part in ("remaining", "limit", "reset"))
        if left is not None:
            return _count(left), _count(limit), duration(reset)
    return None, None, None


def _count(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


def duration(text: str | None) -> float | None:
    """Seconds, from `6m0s`, `20ms`, `1.5`, or a moment as RFC 3339 has it; None for anything else."""
    text = (text or "").strip()
    match = _DURATION.fullmatch(text)
    if text and match and len(text) < 32:
        return sum(float(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part)
    try:
        return max(0.0, datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return retry_after(text)


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if not value:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if seconds == seconds else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


SHOWN = "[key]"
MIN_LEAK = 8  # a run of this many letters and digits of a key counts as a leak of it
SHORT = 8  # a shorter key (`EMPTY`, `none`) is hardly a secret: only the whole key is searched for


class Secret:
    """A key that can be scrubbed out of texts."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._pieces: frozenset[str] = frozenset()
        self._size = MIN_LEAK
        plain = _letters(key)[0]
        if len(plain) >= SHORT:
            self._size = min(MIN_LEAK, max(4, len(plain) // 2))
            forms = [_letters(form)[0] for form in _forms(key)]
            self._pieces = frozenset(
                form[i : i + self._size] for form in forms for i in range(len(form) - self._size + 1)
            )

    def __repr__(self) -> str:
        return "Secret()"

    def scrub(self, text: str) -> str:
        """The text with `[key]` where the key or a part of it stood, in any of its forms."""
        if not self._pieces:
            return text.replace(self.key, SHOWN) if len(self.key) >= 4 and not self.key.isdigit() else text
        letters, places = _letters(text)
        size, pieces = self._size, self._pieces
        hits = [i for i in range(len(letters) - size + 1) if letters[i : i + size] in pieces]
        if not hits:
            return text
        starts = [hits[0], *(b for a, b in pairwise(hits) if b > a + size)]
        ends = [*(a + size for a, b in pairwise(hits) if b > a + size), hits[-1] + size]
        clean, place = [], 0
        for start, end in zip(starts, ends, strict=True):
            clean.append(text[place : places[start]])
            place = places[end - 1] + 1
        return SHOWN.join([*clean, text[place:]])


def _letters(text: str) -> tuple[str, list[int]]:
    """ASCII letters (small) and digits alone, and the place of each: what splitting and escaping leave as it is."""
    places = [i for i, c in enumerate(text) if c.isascii() and c.isalnum()]
    return "".join(text[i] for i in places).lower(), places


def _forms(key: str) -> list[str]:
    """The key as it may come back; base64 in its three alignments, since something may stand before it."""
    raw = key.encode()
    forms = [key, quote(key, safe=""), raw.hex(), "".join(f"\\u{ord(c):04x}" for c in key)]
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # Letters at both ends that also hold bits of what stands beside the key are left out.
        end = len(text) - (1 if (before + len(raw)) % 3 else 0)
        forms.append(text[(0, 2, 3)[before] : end])
    return forms


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
            raise InvalidSetting(f"'{kind}:{spec}' is not a model", remedy=f"Write {kind}:MODEL@http://host:port/v1.")
        self.label, self.url = model, _check_url(url)
        self.fingerprint = f"{kind}:{model}@{self.url}"
        self._variable = options.key_variable or speaks.key_variable
        self._secret = Secret(_key(self._variable))
        self._params = _params(options.params, speaks.reserved, self._secret, options.temperature)
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
            shown = [self._shown_picture(picture) for picture in conversation.pictures]
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
            return self._failed_reply(error, started, attempts)
        except (_Passing, InputError) as error:
            return self._failed_reply(error, started, attempts)
        self._answered = True
        return Reply(reply.text, reply.finish, reply.usage, time.perf_counter() - started, attempts)

    def _failed_reply(self, error: Exception, started: float, attempts: int) -> Reply:
        tries = "" if attempts == 1 else f" after {attempts} attempts"
        took = time.perf_counter() - started
        return Reply("", error=f"{error}{tries}", latency=took, attempts=attempts, refused=isinstance(error, _Refused))

    def _wait(self, state: Any) -> float:
        after = getattr(state.outcome.exception(), "after", None)
        if after is not None:
            return float(after)
        return float(self._tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)(state))

    def _shown_picture(self, picture: Any) -> Shown:
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
            return self._send_body(self._body(shown, texts))
        except _OtherField:
            with self._naming:
                if self._field == field and self._switched:
                    raise
                if self._field == field:
                    self._field, self._switched = _OTHER[field], True
        return self._send_body(self._body(shown, texts))

    def _send_body(self, body: bytes) -> Reply:
        ticket = self._pace.wait(self._options.max_tokens)
        try:
            answer = self._wire.post(body)
        except Lost as error:
            failure = _Unreachable if error.unreachable else _Passing
            raise failure(self._clean(str(error))) from None
        except InputError as error:
            raise type(error)(self._clean(str(error))) from None
        self._pace.note_limits(answer.headers)
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
        status = f"{code}: {detail}" if detail else str(code)
        if code in (401, 403):
            remedy = f"Check the key in the environment variable {self._variable}."
            raise PermanentError(
                f"{self.url} refuses the key ({status}). {remedy if self._secret.key else f'Set {self._variable}.'}"
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


def _params(
    settings: Sequence[tuple[str, Any]], reserved: Sequence[str], secret: Secret, temperature: float = 0.0
) -> dict[str, Any]:
    """What is sent beside the question; `none` takes a field out."""
    params: dict[str, Any] = {"temperature": temperature or 0}
    for name, value in settings:
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


def _check_url(url: str) -> str:
    """The base URL, without what must not be kept in a journal."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidSetting(f"'{url}' is not a URL of a server", remedy="Write http://host:port/v1 behind the @.")
    if parts.username or parts.password or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
        raise InvalidSetting(
            f"the URL of {shown} holds a name, a password or a query",
            remedy="URLs are written to the journal: give the key by the environment variable.",
        )
    return url.rstrip("/")
