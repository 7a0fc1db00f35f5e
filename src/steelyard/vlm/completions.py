"""What a server of the OpenAI chat interface says: a completion, an error, how long to wait. Any of it may be wrong."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from typing import Any

from steelyard.core.visible import visible
from steelyard.vlm.backend import Reply
from steelyard.vlm.usage import LONGEST_NAME, read_usage

LONGEST_DETAIL = 200  # characters of a server's words


def read_completion(body: bytes, max_tokens: int, scrub: Callable[[str], str]) -> Reply:
    """The reply inside a completion. ValueError says what is wrong with it, in words of ours alone."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the server's answer is not valid JSON; it may be cut off") from None
    try:
        choice = data["choices"][0]
        text = _text(choice["message"].get("content"))
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("the server's answer holds no choice with a message") from None
    usage = read_usage(data.get("usage"), scrub)
    if finish is None:  # some servers leave it out; a full budget says the same
        finish = "length" if usage.get("completion_tokens", 0) >= max_tokens else "stop"
    if not isinstance(finish, str):
        raise ValueError("the server's answer holds a finish_reason that is no text")
    return Reply(scrub(_whole(text)), visible(scrub(finish))[:LONGEST_NAME], usage)


def _text(content: Any) -> str:
    """The text of a message: a string, a list of parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError
    texts = [part.get("text") or "" for part in content if part.get("type", "text") == "text"]
    return "".join(texts)  # TypeError where one is no text


def _whole(text: str) -> str:
    """The text with a replacement sign for each half of a surrogate pair, which no file could carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def error_detail(body: bytes, scrub: Callable[[str], str]) -> str:
    """The message inside an error's body: without the key, on one line, not too long, fit to be shown."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
        error = data.get("error", data) if isinstance(data, dict) else text
        said = error.get("message") if isinstance(error, dict) else error
        text = said if isinstance(said, str) and said else text
    except (ValueError, RecursionError):
        pass
    text = visible(" ".join(scrub(_whole(text)).split()))
    return text if len(text) <= LONGEST_DETAIL else text[: LONGEST_DETAIL - 3] + "..."


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None
