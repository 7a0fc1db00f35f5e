"""What a server says: a completion of one of three interfaces, or an error. Any of it may be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from steelyard.core.visible import visible
from steelyard.vlm.backend import Reply
from steelyard.vlm.usage import LONGEST_NAME, read_usage

LONGEST_DETAIL = 200  # characters of a server's words


Scrub = Callable[[str], str]


def read_completion(body: bytes, max_tokens: int, scrub: Scrub) -> Reply:
    """The reply inside a completion of OpenAI's chat. ValueError says what is wrong with it, in words of ours alone."""
    data = _object(body)
    try:
        choice = data["choices"][0]
        text = _text(choice["message"].get("content"))
        finish = choice.get("finish_reason")
        declined = choice["message"].get("refusal")
        if not text and isinstance(declined, str) and declined.strip():
            text, finish = declined, "content_filter"
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("the server's answer holds no choice with a message") from None
    usage = read_usage(data.get("usage"), scrub)
    if finish is None:  # some servers leave it out; a full budget says the same
        finish = "length" if usage.get("completion_tokens", 0) >= max_tokens else "stop"
    return _reply(text, finish, usage, scrub)


def read_message(body: bytes, max_tokens: int, scrub: Scrub) -> Reply:
    """The reply inside a message of Anthropic's. Thoughts are left out."""
    data = _object(body)
    try:
        text = _text([part for part in data["content"] if part["type"] == "text"])
        why = data.get("stop_reason")
    except (KeyError, TypeError, AttributeError):
        raise ValueError("the server's answer holds no content") from None
    ends = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
    finish = "stop" if why is None else ends.get(why, "stop") if isinstance(why, str) else why
    return _reply(text, finish, read_usage(data.get("usage"), scrub), scrub)


def read_candidate(body: bytes, max_tokens: int, scrub: Scrub) -> Reply:
    """The reply inside the first candidate of Gemini's. Thoughts are left out; a question that is blocked has none."""
    data = _object(body)
    usage = read_usage(data.get("usageMetadata"), scrub)
    try:
        if not data.get("candidates") and data["promptFeedback"]["blockReason"]:
            return _reply("", "content_filter", usage, scrub)
        candidate = data["candidates"][0]
        parts = candidate.get("content", {}).get("parts", [])
        text = _text([{"text": part["text"]} for part in parts if not part.get("thought") and "text" in part])
        why = candidate.get("finishReason", "STOP")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("the server's answer holds no candidate") from None
    finish = {"STOP": "stop", "MAX_TOKENS": "length"}.get(why, "content_filter") if isinstance(why, str) else why
    return _reply(text, finish, usage, scrub)


def _object(body: bytes) -> Any:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the server's answer is not valid JSON; it may be cut off") from None
    return data if isinstance(data, dict) else {}


def _reply(text: str, finish: Any, usage: dict[str, int], scrub: Scrub) -> Reply:
    if not isinstance(finish, str):
        raise ValueError("the server's answer holds a finish_reason that is not text")
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
    return "".join(texts)  # TypeError where one is not text


def _whole(text: str) -> str:
    """The text with a replacement sign for each half of a surrogate pair, which no file could carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def error_detail(body: bytes, scrub: Scrub) -> str:
    """The message inside an error's body: without the key, on one line, not too long, fit to be shown."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
        error = data.get("error", data) if isinstance(data, dict) else text
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) and message else text
    except (ValueError, RecursionError):
        pass
    text = visible(" ".join(scrub(_whole(text)).split()))
    return text if len(text) <= LONGEST_DETAIL else text[: LONGEST_DETAIL - 3] + "..."
