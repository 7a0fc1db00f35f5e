"""How servers are spoken to: OpenAI's chat, which many take; Anthropic's messages; Gemini's contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from steelyard.core.frozen import Frozen
from steelyard.vlm.backend import Reply
from steelyard.vlm.completions import read_candidate, read_completion, read_message

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
_GEMINI_TOP = ("safetySettings", "systemInstruction", "tools", "toolConfig", "cachedContent", "labels")


class Shown(Frozen):
    """A picture as it is sent: base64, and its media type."""

    data: str
    media: str


class Interface(Frozen):
    """One way of speaking. `body` is given the model, the pictures, the texts so far, the field and the number of the
    longest reply, and what is set beside it; `reserved` are fields that it fills in itself.
    """

    name: str
    url: str
    key_variable: str
    path: Callable[[str], str]
    headers: Callable[[str], dict[str, str]]
    body: Callable[[str, Sequence[Shown], Sequence[str], str, int, Mapping[str, Any]], dict[str, Any]]
    read: Callable[[bytes, int, Callable[[str], str]], Reply]
    reserved: tuple[str, ...]


def _turns(texts: Sequence[str], first: list[dict[str, Any]], part: Callable[[str], dict[str, Any]], model: str) -> Any:
    """Roles with parts: the pictures come first in the first turn."""
    return [(model if i % 2 else "user", [*(first if i == 0 else []), part(text)]) for i, text in enumerate(texts)]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _chat(
    model: str, shown: Sequence[Shown], texts: Sequence[str], field: str, most: int, params: Mapping[str, Any]
) -> dict[str, Any]:
    pictures = [{"type": "image_url", "image_url": {"url": f"data:{one.media};base64,{one.data}"}} for one in shown]
    messages = [{"role": role, "content": parts} for role, parts in _turns(texts, pictures, _text_part, "assistant")]
    return {"model": model, "messages": messages, field: most, "stream": False, **params}


def _messages(
    model: str, shown: Sequence[Shown], texts: Sequence[str], field: str, most: int, params: Mapping[str, Any]
) -> dict[str, Any]:
    pictures = [
        {"type": "image", "source": {"type": "base64", "media_type": one.media, "data": one.data}} for one in shown
    ]
    messages = [{"role": role, "content": parts} for role, parts in _turns(texts, pictures, _text_part, "assistant")]
    return {"model": model, "messages": messages, "max_tokens": most, "stream": False, **params}


def _contents(
    model: str, shown: Sequence[Shown], texts: Sequence[str], field: str, most: int, params: Mapping[str, Any]
) -> dict[str, Any]:
    pictures = [{"inline_data": {"mime_type": one.media, "data": one.data}} for one in shown]
    contents = [
        {"role": role, "parts": parts} for role, parts in _turns(texts, pictures, lambda text: {"text": text}, "model")
    ]
    top = {name: value for name, value in params.items() if name in _GEMINI_TOP}
    inner = {name: value for name, value in params.items() if name not in _GEMINI_TOP}
    return {"contents": contents, "generationConfig": {"maxOutputTokens": most, **inner}, **top}


INTERFACES = {
    "openai": Interface(
        "openai", "", "OPENAI_API_KEY",
        path=lambda model: "/chat/completions",
        headers=lambda key: {"Authorization": f"Bearer {key}"} if key else {},
        body=_chat, read=read_completion,
        reserved=("messages", "model", "stream", MAX_TOKENS, MAX_COMPLETION_TOKENS),
    ),
    "anthropic": Interface(
        "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY",
        path=lambda model: "/messages",
        headers=lambda key: {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {}),
        body=_messages, read=read_message,
        reserved=("messages", "model", "stream", MAX_TOKENS),
    ),
    "gemini": Interface(
        "gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY",
        path=lambda model: f"/models/{quote(model, safe='')}:generateContent",
        headers=lambda key: {"x-goog-api-key": key} if key else {},
        body=_contents, read=read_candidate,
        reserved=("contents", "generationConfig", "maxOutputTokens"),
    ),
}  # fmt: skip
