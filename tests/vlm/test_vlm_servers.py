"""What servers want to be asked like: fields, names of limits, JPEG, pace, and the interfaces of Anthropic and Gemini."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image
from support.vlm_help import Clock, Scripted, completion, frames_csv, picture, sent_grey, serving

from steelyard.cli.vlm import vlm
from steelyard.core.errors import InputError
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.completions import read_candidate, read_message
from steelyard.vlm.frames import read_frames
from steelyard.vlm.images import read_picture
from steelyard.vlm.journal import NAME, read_journal
from steelyard.vlm.models import open_backend
from steelyard.vlm.plan import read_plans
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.run import run
from steelyard.vlm.server import Pace, _own_network, duration
from steelyard.vlm.usage import Tokens, tokens_of
from steelyard.vlm.wire import Wire

DIRECT = (PROMPTS["direct"],)
SECRET = "sk-very-secret-0123456789"
pytestmark = pytest.mark.usefixtures("fast_waits")


def ask(spec: str, frames, out: Path, **options):
    backend = open_backend(spec, ModelOptions(**{"retries": 4, "timeout": 60, "concurrency": 2, **options}))
    try:
        return run(frames, backend, DIRECT, out)
    finally:
        backend.close()


def good(handler, number, body) -> None:
    handler.send(completion(str(sent_grey(body))))


# --- the longest reply -------------------------------------------------------------------------------------------

# As OpenAI, FastAPI's validation, and Mistral say it.
REFUSALS = {
    "max_tokens": {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                             "'max_completion_tokens' instead.", "code": "unsupported_parameter"}},
    "max_completion_tokens": {"detail": [{"loc": ["body", "max_completion_tokens"], "msg": "Extra inputs are not permitted"}]},
}  # fmt: skip


@pytest.mark.parametrize("refused", REFUSALS)
def test_the_name_of_the_longest_reply_is_found_out_and_kept(refused: str, frames, tmp_path: Path) -> None:
    other = next(name for name in REFUSALS if name != refused)

    def script(handler, number, body) -> None:
        handler.send(REFUSALS[refused], 400) if refused in body else good(handler, number, body)

    with serving(script) as server:
        progress = ask(f"openai:m@{server.url}", frames, tmp_path / "run", limit_field=refused, concurrency=4)
    assert (progress.done, progress.failed) == (6, 0)
    assert [refused in body for _, _, body in server.requests] == [True] + [False] * 6  # only the first is refused
    assert all(body[other] == 64 for _, _, body in server.requests[1:])
    assert read_plans(tmp_path / "run")[0].environment["limit_field"] == other
    with serving(script) as server:  # by another port it is another model; the settings are the same
        ask(f"openai:m@{server.url}", frames[:1], tmp_path / "other", limit_field=other)
    assert read_plans(tmp_path / "other")[0].settings == read_plans(tmp_path / "run")[0].settings


def test_a_limit_that_is_too_large_is_not_taken_for_another_name(frames, tmp_path: Path) -> None:
    error = {"error": {"message": "max_tokens is too large: 64. The model takes at most 32."}}
    with serving(lambda h, n, b: h.send(error, 400)) as server:
        progress = ask(f"openai:m@{server.url}", frames[:1], tmp_path / "run")
    assert progress.last_error == "the server says 400: max_tokens is too large: 64. The model takes at most 32."
    assert ["max_tokens" in body for _, _, body in server.requests] == [True]


def test_both_names_refused(frames, tmp_path: Path) -> None:
    error = {"error": {"message": "max_tokens and max_completion_tokens are not supported"}}
    with serving(lambda h, n, b: h.send(error, 400)) as server:
        progress = ask(f"openai:m@{server.url}", frames[:1], tmp_path / "run")
    assert progress.failed == 1
    assert len(server.requests) == 2


# --- fields beside the question ----------------------------------------------------------------------------------


def test_params(frames, tmp_path: Path) -> None:
    def asked(out: str, *params: str):
        arguments = [x for param in params for x in ("--param", param)]
        line = ["run", str(tmp_path / "frames.csv"), "--model", f"openai:m@{server.url}", "--out", str(tmp_path / out)]
        return CliRunner().invoke(vlm, [*line, "--prompts", "direct", *arguments], catch_exceptions=True)

    with serving(good) as server:
        done = asked(
            "a",
            "top_p=0.5",
            'chat_template_kwargs={"enable_thinking": false}',
            "reasoning_effort=low",
            "temperature=none",
        )
        assert done.exit_code == 0, done.output
        assert "replies are sampled" in done.output
        body = server.requests[0][2]
        assert (body["top_p"], body["reasoning_effort"]) == (0.5, "low")
        assert body["chat_template_kwargs"] == {"enable_thinking": False}
        assert "temperature" not in body
        asked("a", "top_p=0.5")  # other settings, so nothing is held
        assert len(server.requests) == 12
        asked("a", "top_p=0.5")
        assert len(server.requests) == 12
        for wrong, words in (
            ("messages=[]", "`params` cannot set messages"),
            ("max_tokens=5", "Use `max_tokens`"),
            ("top_p", "is not a field"),
        ):
            refused = asked("b", wrong)
            assert isinstance(refused.exception, InputError)
            assert words in str(refused.exception)


def test_a_param_that_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(InputError, match="holds the key") as caught:
        open_backend("openai:m@http://localhost:1/v1", ModelOptions(params=(("user", f"me {SECRET}"),)))
    assert SECRET not in str(caught.value)


def test_a_key_does_not_go_out_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    for url in ("http://example.org/v1", "http://8.8.8.8/v1"):
        with pytest.raises(InputError, match="unencrypted"):
            open_backend(f"openai:m@{url}", ModelOptions())
        open_backend(f"openai:m@{url}", ModelOptions(insecure=True)).close()
    for url in ("https://example.org/v1", "http://192.168.1.5:8000/v1", "http://vllm:8000/v1", "http://[::1]:8000/v1"):
        open_backend(f"openai:m@{url}", ModelOptions()).close()
    monkeypatch.delenv("OPENAI_API_KEY")
    open_backend("openai:m@http://example.org/v1", ModelOptions()).close()


OWN = (
    "localhost", "127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.9", "172.20.0.2", "192.168.1.5",
    "169.254.0.7", "[fd00::1]", "vllm", "gpu.lan", "box.local", "api.internal", "localhost.",
)  # fmt: skip


def test_which_addresses_are_of_ones_own_network() -> None:
    for host in OWN:
        assert _own_network(f"http://{host}:8000/v1"), host
    for host in ("api.openai.com", "8.8.8.8", "[2606:4700::1]", "[::ffff:8.8.8.8]", "local.example.org", "172.32.0.1"):
        assert not _own_network(f"https://{host}/v1"), host


@pytest.mark.parametrize(("option", "through"), [("auto", False), ("never", False), ("always", True)])
def test_no_proxy_sees_what_goes_to_ones_own_machine(
    option: str, through: bool, frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(good) as server, serving(good) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        assert ask(f"openai:m@{server.url}", frames, tmp_path / "run", http_proxy=option).done == len(frames)
        assert (len(proxy.requests) > 0, len(server.requests) > 0) == (through, not through)
        with pytest.raises(InputError, match="`http_proxy=sometimes` is not known"):
            ask(f"openai:m@{server.url}", frames, tmp_path / "no", http_proxy="sometimes")


def test_a_proxy_is_used_for_other_addresses(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(good) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        assert ask("openai:m@http://models.example.org/v1", frames, tmp_path / "run").done == len(frames)
        assert len(proxy.requests) > 0


# --- pictures ----------------------------------------------------------------------------------------------------


def sent(body) -> bytes:
    url = body["messages"][0]["content"][0]["image_url"]["url"]
    assert url.startswith("data:image/jpeg;base64,")
    return base64.b64decode(url.partition(",")[2])


def test_jpeg(tmp_path: Path) -> None:
    plain = picture(tmp_path / "a.jpg", 90, (40, 20))
    turned = tmp_path / "b.jpg"
    exif = Image.Exif()
    exif[274] = 6  # a quarter turn
    Image.new("RGB", (40, 20), (90, 90, 90)).save(turned, exif=exif)
    drawn = picture(tmp_path / "c.png", 90, (40, 20))
    with serving(lambda h, n, b: h.send(completion("90"))) as server:
        backend = open_backend(f"openai:m@{server.url}", ModelOptions(image="jpeg", max_side=64))
        backend.generate([Conversation(read_picture(path), ("What?",)) for path in (plain, turned, drawn)])
        small = open_backend(f"openai:m@{server.url}", ModelOptions(image="jpeg", max_side=16))
        small.generate([Conversation(read_picture(plain), ("What?",))])
        for one in (backend, small):
            one.close()
    files = [sent(body) for _, _, body in server.requests]
    assert files[0] == plain.read_bytes()  # a JPEG that can be shown as it is, is sent as it is
    assert [Image.open(io.BytesIO(data)).size for data in files] == [(40, 20), (20, 40), (40, 20), (16, 8)]
    assert all(abs(Image.open(io.BytesIO(data)).getpixel((2, 2))[0] - 90) <= 2 for data in files)
    assert backend.settings["image"] == "jpeg"
    with pytest.raises(InputError, match="`image=gif` is not known"):
        open_backend("openai:m@http://h/v1", ModelOptions(image="gif"))


def test_several_pictures_go_in_order(tmp_path: Path) -> None:
    shown = [read_picture(picture(tmp_path / f"{grey}.png", grey)) for grey in (10, 20, 30)]
    with serving(lambda h, n, b: h.send(completion("1"))) as server:
        backend = open_backend(f"openai:m@{server.url}", ModelOptions())
        backend.generate([Conversation(shown[0], ("Which?",), tuple(shown[1:]))])
        backend.close()
    parts = server.requests[0][2]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url"] * 3 + ["text"]
    greys = [
        Image.open(io.BytesIO(base64.b64decode(p["image_url"]["url"].partition(",")[2]))).getpixel((0, 0))[0]
        for p in parts[:3]
    ]
    assert greys == [10, 20, 30]


# --- pace --------------------------------------------------------------------------------------------------------


def test_tokens_per_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of our own: 1,000 tokens a minute, questions of 400."""
    now = [0.0]
    monkeypatch.setattr("steelyard.vlm.server.time.monotonic", lambda: now[0])

    class Closed(threading.Event):
        def wait(self, timeout=None) -> bool:
            now[0] += timeout
            return False

    pace = Pace(0, 1000, Closed())
    started = []
    for _ in range(5):
        ticket = pace.wait(64)
        started.append(now[0])
        pace.settle(ticket, 400)
        now[0] += 1
    # 0 and 1; a third would make 1,200 within a minute of the first, so it waits for that to be over, and so on.
    assert started == [0, 1, 60, 61, 120]
    huge = Pace(0, 100, Closed())
    huge.settle(huge.wait(64), 400)  # more than the limit: alone it goes
    before = now[0]
    huge.wait(64)
    assert now[0] - before <= 60


def test_what_the_server_says_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.vlm.server.time", Clock())
    waits: list[float] = []
    pace = Pace(0, 0, threading.Event())
    pace.pause = waits.append  # type: ignore[method-assign]
    pace.settle(pace.wait(0), 500)
    pace.note_limits({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"})  # capped
    pace.note_limits(
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "60s"}
    )
    pace.note_limits(
        {"x-ratelimit-remaining-tokens": "100", "x-ratelimit-limit-tokens": "1100", "x-ratelimit-reset-tokens": "50s"}
    )
    assert waits == [60, 1, 20]  # one request of 60 in 60 s; 400 of the 1,000 tokens that come back in 50 s
    pace.note_limits(
        {
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "1970-01-01T00:17:10Z",
        }
    )
    assert waits.pop() == 30  # the clock stands at 1,000 s, and 17 min 10 s are 1,030
    for headers in (
        {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "60s"},
        {"x-ratelimit-remaining-tokens": "500", "x-ratelimit-reset-tokens": "60s"},
        {"x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "60s"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"},
        {"x-ratelimit-remaining-requests": "0"},
        {},
    ):
        pace.note_limits(headers)
    assert len(waits) == 3
    assert [duration(text) for text in ("6m0s", "20ms", "1h2m3.5s", "1.5", "2d", "", "x", "-5s")] == [
        360,
        0.02,
        3723.5,
        1.5,
        172800,
        None,
        None,
        None,
    ]


def test_all_wait_where_one_is_refused(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first, three are asked at once. One is refused, the others are answered after that: all that follow waited."""
    clock, refused = Clock(), threading.Event()

    class Closed(threading.Event):
        def wait(self, timeout=None) -> bool:
            clock.move(timeout)
            return False

    class Timed(Pace):
        def __init__(self, rate: float, tokens: float, closed: threading.Event) -> None:
            super().__init__(rate, tokens, Closed())

        def pause(self, seconds: float) -> None:
            super().pause(seconds)
            refused.set()

    monkeypatch.setattr("steelyard.vlm.server.time", clock)
    monkeypatch.setattr("steelyard.vlm.server.Pace", Timed)

    def script(handler, number, body) -> None:
        if number == 1:
            handler.send({}, 429, retry_after_ms="400")
        else:
            assert number == 0 or refused.wait(60)
            good(handler, number, body)

    with serving(script, clock) as server:
        progress = ask(f"openai:m@{server.url}", frames, tmp_path / "run", concurrency=3)
    assert progress.done == 6
    moments = [moment - 1000 for moment, _, _ in server.requests]
    assert moments[:2] == [0, 0]
    assert len(moments) == 7
    assert min(moments[4:]) >= 0.4 - 1e-9  # the third and the fourth may have been on their way


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (429, {}, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, "exceeded your current quota"),
        (503, {"retry_after": "3600"}, {}, "come back in 60 minutes"),
    ],
)  # fmt: skip
def test_what_takes_too_long_ends_the_run(status: int, headers, body, words: str, frames, tmp_path: Path) -> None:
    with (
        serving(lambda h, n, b: h.send(body, status, **headers)) as server,
        pytest.raises(PermanentError, match=words) as caught,
    ):
        ask(f"openai:m@{server.url}", frames, tmp_path / "run", concurrency=1)
    assert "run the same command again" in str(caught.value)
    assert len(server.requests) <= 3  # those that were queued


def test_equal_refusals_end_a_run_that_has_answers(tmp_path: Path) -> None:
    frames = read_frames(frames_csv(tmp_path, sequences=7, length=2))
    error = {"error": {"message": "this model was retired"}}

    def script(handler, number, body) -> None:
        good(handler, number, body) if number < 2 else handler.send(error, 410)

    with (
        serving(script) as server,
        pytest.raises(PermanentError, match=r"10 readings failed .* 410: this model was retired"),
    ):
        ask(f"openai:m@{server.url}", frames, tmp_path / "run", concurrency=1)
    assert len(server.requests) <= 2 + 10 + 3
    refusal = {"error": {"message": "Unsupported value: 'temperature'"}}
    with (
        serving(lambda h, n, b: h.send(refusal, 400)) as server,
        pytest.raises(
            PermanentError, match=r"Unsupported value: 'temperature'. Leave it out with the param temperature=none"
        ),
    ):
        ask(f"openai:m@{server.url}", frames, tmp_path / "new", concurrency=1)
    assert len(server.requests) <= 3 + 3


class RefusingModel(Scripted):
    """Answers the first two questions and refuses the others, five at a time."""

    batch = 5

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        places = range(len(self.asked), len(self.asked) + len(conversations))
        self.asked += conversations
        return [Reply("5") if place < 2 else Reply("", error="410: retired", refused=True) for place in places]


def test_refusals_that_come_together_are_counted_one_by_one(tmp_path: Path) -> None:
    """Questions 3 to 12 are the ten; those that arrive with the last of them change nothing."""
    frames = read_frames(frames_csv(tmp_path, sequences=7, length=2))
    model = RefusingModel(str)
    with pytest.raises(PermanentError, match=r"^10 readings failed .* 410: retired"):
        run(frames, model, DIRECT, tmp_path / "run")
    assert len(list(read_journal(tmp_path / "run"))) == 14  # all that was read is kept


# --- Anthropic and Gemini ----------------------------------------------------------------------------------------


def test_anthropic(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)

    def script(handler, number, body) -> None:
        text = "about 5" if len(body["messages"]) == 1 else "5"
        parts = [{"type": "thinking", "thinking": "7?"}, {"type": "text", "text": text}]
        usage = {"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 3}
        handler.send({"type": "message", "content": parts, "stop_reason": "end_turn", "usage": usage})

    with serving(script) as server:
        progress = ask(f"anthropic:small@{server.url}", frames[:1], tmp_path / "run", max_tokens=17)
    assert (progress.done, progress.parsed, progress.followed_up) == (1, 1, 1)
    (_, headers, first), (_, _, second) = server.requests
    assert (headers["x-api-key"], headers["anthropic-version"]) == (SECRET, "2023-06-01")
    assert "Authorization" not in headers
    assert (first["model"], first["max_tokens"], first["temperature"]) == ("small", 17, 0)
    shown, text = first["messages"][0]["content"]
    assert (shown["type"], shown["source"]["type"], shown["source"]["media_type"]) == ("image", "base64", "image/png")
    assert Image.open(io.BytesIO(base64.b64decode(shown["source"]["data"]))).size == (8, 8)
    assert text == {"type": "text", "text": PROMPTS["direct"].text}
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]
    (reading,) = read_journal(tmp_path / "run").values()
    assert reading.turns[1].reply == "5"
    assert tokens_of(reading.turns[0].usage) == Tokens(99, 90, 3, 0)
    assert SECRET not in (tmp_path / "run" / NAME).read_text()


def test_gemini(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", SECRET)

    def script(handler, number, body) -> None:
        paths.append(handler.path)
        text = "about 5" if len(body["contents"]) == 1 else "5"
        parts = [{"text": "7?", "thought": True}, {"text": text}]
        usage = {"promptTokenCount": 99, "candidatesTokenCount": 3, "thoughtsTokenCount": 8}
        handler.send({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage})

    paths: list[str] = []
    with serving(script) as server:
        progress = ask(
            f"gemini:small@{server.url}",
            frames[:1],
            tmp_path / "run",
            max_tokens=17,
            params=(("topK", 1), ("safetySettings", [])),
        )
    assert (progress.done, progress.parsed, progress.followed_up) == (1, 1, 1)
    (_, headers, first), (_, _, second) = server.requests
    assert paths == ["/v1/models/small:generateContent"] * 2
    assert headers["x-goog-api-key"] == SECRET
    assert first["generationConfig"] == {"maxOutputTokens": 17, "temperature": 0, "topK": 1}
    assert first["safetySettings"] == []
    shown, text = first["contents"][0]["parts"]
    assert shown["inline_data"]["mime_type"] == "image/png"
    assert text == {"text": PROMPTS["direct"].text}
    assert [m["role"] for m in second["contents"]] == ["user", "model", "user"]
    (reading,) = read_journal(tmp_path / "run").values()
    assert tokens_of(reading.turns[0].usage) == Tokens(99, 0, 11, 8)


@pytest.mark.parametrize(
    ("read", "data", "expected"),
    [
        (read_message, {"content": [], "stop_reason": "refusal"}, ("", "content_filter")),
        (read_message, {"content": [{"type": "text", "text": "24"}], "stop_reason": "max_tokens"}, ("24", "length")),
        (read_message, {"content": [{"type": "text", "text": "24"}]}, ("24", "stop")),
        (read_message, {"content": "24"}, "holds no content"),
        (read_message, {"content": [{"type": "text", "text": 5}]}, "holds no content"),
        (read_message, {"content": [], "stop_reason": [1]}, "finish_reason that is not text"),
        (read_message, [], "holds no content"),
        (read_candidate, {"promptFeedback": {"blockReason": "SAFETY"}}, ("", "content_filter")),
        (read_candidate, {"candidates": [{"finishReason": "MAX_TOKENS"}]}, ("", "length")),
        (read_candidate, {"candidates": [{"finishReason": "RECITATION"}]}, ("", "content_filter")),
        (read_candidate, {"candidates": [{"content": {"parts": [{"text": "24"}]}}]}, ("24", "stop")),
        (read_candidate, {"candidates": []}, "holds no candidate"),
        (read_candidate, {"candidates": [{"content": {"parts": [{"text": 5}]}}]}, "holds no candidate"),
        (read_candidate, {"candidates": [{"content": "24"}]}, "holds no candidate"),
        (read_candidate, {"candidates": [{"finishReason": 7}]}, "finish_reason that is not text"),
        (read_candidate, None, "holds no candidate"),
    ],
)  # fmt: skip
def test_what_the_others_answer(read, data, expected) -> None:
    body = json.dumps(data).encode()
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read(body, 9, str)
    else:
        reply = read(body, 9, str)
        assert (reply.text, reply.finish) == expected


def test_their_own_addresses() -> None:
    for spec, url in (
        ("anthropic:claude", "anthropic:claude@https://api.anthropic.com/v1"),
        ("gemini:flash", "gemini:flash@https://generativelanguage.googleapis.com/v1beta"),
    ):
        backend = open_backend(spec, ModelOptions())
        assert backend.fingerprint == url
        backend.close()
    fresh = open_backend("openai:m@https://api.openai.com/v1", ModelOptions())
    assert fresh.environment["limit_field"] == "max_completion_tokens"
    fresh.close()
    with pytest.raises(InputError, match="`limit_field=n` is not known"):
        open_backend("openai:m@https://h/v1", ModelOptions(limit_field="n"))


def test_a_host_that_no_proxy_serves_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost")
    wire = Wire("http://127.0.0.1:9/", {}, 1.0, 1)
    try:
        mounted = list(wire._client._mounts.values())
        assert None in mounted
        kinds = {type(one._pool._network_backend).__module__ for one in mounted if one is not None}
        assert kinds == {"steelyard.vlm.wire"}
    finally:
        wire.close()
