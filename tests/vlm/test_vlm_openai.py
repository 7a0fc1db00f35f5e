"""The `openai:` backend against a server on loopback that misbehaves in every way it knows."""

from __future__ import annotations

import threading
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path

import pytest
from support.vlm_help import Clock, completion, sent_grey, serving

from steelyard.core.errors import InputError
from steelyard.vlm.answers import parse_reply
from steelyard.vlm.backend import ModelOptions, PermanentError
from steelyard.vlm.journal import NAME, read_journal
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS
from steelyard.vlm.run import run
from steelyard.vlm.server import Pace, retry_after

DIRECT = (PROMPTS["direct"],)
SECRET = "sk-very-secret-0123456789"
pytestmark = pytest.mark.usefixtures("fast_waits")


def ask(url: str, frames, out: Path, prompts=DIRECT, **options):
    backend = open_backend(
        f"openai:small@{url}", ModelOptions(**{"retries": 4, "timeout": 60, "concurrency": 2, **options})
    )
    try:
        return run(frames, backend, prompts, out)
    finally:
        backend.close()


def good(handler, number, body) -> None:
    handler.send(completion(str(sent_grey(body))))


def test_what_is_sent(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serving(lambda h, n, body: h.send(completion("about 5" if len(body["messages"]) == 1 else "5"))) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run", max_tokens=17)
    assert (progress.done, progress.parsed, progress.followed_up) == (1, 1, 1)
    (_, headers, first), (_, _, second) = server.requests
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("small", 0, 17)
    assert [part["type"] for part in first["messages"][0]["content"]] == ["image_url", "text"]  # the image first
    assert first["messages"][0]["content"][1]["text"] == PROMPTS["direct"].text
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][0] == first["messages"][0]  # image included
    assert second["messages"][1]["content"][0]["text"] == "about 5"
    assert second["messages"][2]["content"][0]["text"] == FOLLOW_UP
    (reading,) = read_journal(tmp_path / "run").values()
    assert reading.turns[0].usage == {"prompt_tokens": 90, "completion_tokens": 2}
    for file in (tmp_path / "run").iterdir():
        assert SECRET not in file.read_text()


def test_every_picture_gets_its_own_answer(frames, tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def slow(handler, number, body) -> None:
        if number in (1, 2):  # the first question goes alone; then at least two are asked at once
            both.wait(60)
        good(handler, number, body)

    with serving(slow) as server:
        progress = ask(server.url, frames, tmp_path / "run", tuple(PROMPTS.values()), concurrency=6)
    assert progress.done == 24
    assert 1 < server.most_active <= 6
    by_digest = {f.picture.digest: f.weight for f in frames}
    for reading in read_journal(tmp_path / "run").values():
        assert float(reading.turns[0].reply) == by_digest[reading.image]


def failing(times: int, misbehave):
    """A script that misbehaves the first few times and then answers."""

    def script(handler, number, body) -> None:
        misbehave(handler) if number < times else good(handler, number, body)

    return script


MISBEHAVIOUR = {
    "429 with Retry-After": (lambda h: h.send({"error": {"message": "slow down"}}, 429, retry_after="0"), "429: slow down"),
    "503": (lambda h: h.send(b"busy", 503, "text/plain"), "503: busy"),
    "500": (lambda h: h.send({"error": "boom"}, 500), "500: boom"),
    "408": (lambda h: h.send({}, 408), "408"),
    "409": (lambda h: h.send({}, 409), "409"),
    "truncated JSON": (lambda h: h.send(b'{"choices": [{"mess'), "not valid JSON; it may be cut off"),
    "wrong content type": (lambda h: h.send(b"<html>login</html>", kind="text/html"), "answers with text/html, not JSON"),
    "no choices": (lambda h: h.send({"choices": []}), "holds no choice"),
    "choices of the wrong kind": (lambda h: h.send({"choices": "245"}), "holds no choice"),
    "a list": (lambda h: h.send([1, 2]), "holds no choice"),
    "hang": (lambda h: h.server.clock.move(100), "no answer within 60 s"),
    "connection closed": (lambda h: h.connection.shutdown(2), "the connection broke"),
}  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of requests: time passes for them when a server says so."""
    made = Clock()
    monkeypatch.setattr("steelyard.vlm.wire.time", made)
    return made


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_what_passes_is_waited_for(name: str, frames, tmp_path: Path, clock: Clock) -> None:
    misbehave, _ = MISBEHAVIOUR[name]
    with serving(failing(2, misbehave), clock) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
    assert (progress.done, progress.parsed, progress.failed) == (1, 1, 0)
    (reading,) = read_journal(tmp_path / "run").values()
    assert reading.turns[0].attempts == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_what_does_not_pass_is_written_down_and_asked_again_later(
    name: str, frames, tmp_path: Path, clock: Clock
) -> None:
    misbehave, message = MISBEHAVIOUR[name]
    with serving(failing(10**6, misbehave), clock) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
        assert (progress.done, progress.failed) == (0, 1)
        assert message in progress.last_error
        assert progress.last_error.endswith("after 4 attempts")
        assert len(server.requests) == 4  # capped
        assert all(reading.error for reading in read_journal(tmp_path / "run").values())
        server.script = good
        again = ask(server.url, frames[:1], tmp_path / "run")
        assert (again.held, again.done, again.failed) == (0, 1, 0)
    assert not any(reading.error for reading in read_journal(tmp_path / "run").values())


def test_one_bad_frame_does_not_stop_the_rest(frames, tmp_path: Path) -> None:
    def script(handler, number, body) -> None:
        if sent_grey(body) == 150:
            handler.send({"error": {"message": "image refused"}}, 400)
        else:
            good(handler, number, body)

    with serving(script) as server:
        progress = ask(server.url, frames, tmp_path / "run")
        assert (progress.done, progress.failed) == (5, 1)
        assert progress.last_error == "the server says 400: image refused"  # not tried again: it cannot pass
        assert len(server.requests) == 6
        again = ask(server.url, frames, tmp_path / "run")
        assert (again.held, again.failed) == (5, 1)
        assert len(server.requests) == 7


def test_retry_after_is_honoured(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(failing(1, lambda h: h.send({}, 429, retry_after="0.4"))) as server:
        ask(server.url, frames[:1], tmp_path / "run")
    first, second = (moment for moment, _, _ in server.requests)
    assert second - first >= 0.4
    assert retry_after("7") == 7
    monkeypatch.setattr("steelyard.vlm.server.time", Clock())  # it stands at 1,000 s
    assert retry_after(formatdate(1005, usegmt=True)) == 5
    assert retry_after(formatdate(950, usegmt=True)) == 0
    assert retry_after("soon") is None
    assert retry_after(None) is None


def test_the_run_gives_up_when_nothing_works(frames, tmp_path: Path) -> None:
    with serving(failing(10**6, lambda h: h.send({}, 500))) as server:
        backend = open_backend(f"openai:small@{server.url}", ModelOptions(retries=1, concurrency=1))
        with pytest.raises(PermanentError, match="3 readings failed one after the other"):
            run(frames, backend, DIRECT, tmp_path / "run", give_up=3)
        backend.close()
        assert len(server.requests) <= 6


def test_a_rate_is_kept(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[float] = []
    real = Pace.wait

    def wait(self, guess):
        ticket = real(self, guess)
        turns.append(ticket[0])
        return ticket

    monkeypatch.setattr(Pace, "wait", wait)
    with serving(good) as server:
        ask(server.url, frames, tmp_path / "run", rate=600)
    assert len(server.requests) == len(turns) == 6
    turns.sort()
    assert min(b - a for a, b in pairwise(turns)) >= 0.1 - 1e-9  # a tenth of a second apart


@pytest.mark.parametrize(
    ("status", "text"),
    [(401, "refuses the key"), (403, "refuses the key"), (404, "Check the URL and the model's name 'small'")],
)
def test_what_cannot_pass_ends_the_run(status: int, text: str, frames, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    echo = {"error": {"message": f"Incorrect API key provided: {SECRET}"}}
    with serving(lambda h, n, b: h.send(echo, status)) as server, pytest.raises(PermanentError, match=text) as caught:
        ask(server.url, frames, tmp_path / "run", key_variable="MY_KEY", concurrency=1)
    assert SECRET not in str(caught.value)
    assert len(server.requests) <= 3


def test_a_server_that_echoes_the_key(frames, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    echo = {"error": {"message": f"bad request with {SECRET}"}}
    with serving(lambda h, n, b: h.send(echo, 400)) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
    assert progress.last_error == "the server says 400: bad request with [key]"
    assert SECRET not in (tmp_path / "run" / NAME).read_text()


def test_nobody_is_there(frames, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match=r"http://127.0.0.1:9/v1 cannot be reached .*Is the server running"):
        ask("http://127.0.0.1:9/v1", frames, tmp_path / "run", retries=2)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("openai:small", "openai:MODEL@http"),
        ("openai:@http://x/v1", "openai:MODEL@http"),
        ("openai:small@", "openai:MODEL@http"),
        ("openai:small@localhost:8000", "is not a URL"),
        ("openai:small@http://", "is not a URL"),
        ("openai:small@http://h:99999999/v1", "is not a URL"),
        ("openai:small@http://me:pw@host/v1", "holds a name, a password or a query"),
        ("openai:small@http://host/v1?api-key=pw", "holds a name, a password or a query"),
        ("opnai:small@http://host/v1", "is not a model"),
        ("small", "is not a model"),
    ],
)
def test_specs(spec: str, text: str) -> None:
    with pytest.raises(InputError, match=text) as caught:
        open_backend(spec, ModelOptions())
    assert "pw" not in str(caught.value)


def test_a_reply_in_parts_or_without_a_reason_to_stop(frames, tmp_path: Path) -> None:
    parts = completion("")
    parts["choices"][0]["message"]["content"] = [{"type": "text", "text": "24"}, {"type": "text", "text": "5"}]
    cut = completion("24", None, tokens=64)
    whole = completion("24", None, tokens=2)
    empty = completion("x")
    empty["choices"][0]["message"]["content"] = None
    declined = completion("x")
    declined["choices"][0]["message"] |= {"content": None, "refusal": "I can't help with that."}
    said = completion("245")
    said["choices"][0]["message"]["refusal"] = None
    for number, (data, expected) in enumerate(
        [
            (parts, ("245", "stop")),
            (cut, ("24", "length")),
            (whole, ("24", "stop")),
            (empty, ("", "stop")),
            (declined, ("I can't help with that.", "content_filter")),
            (said, ("245", "stop")),
        ]
    ):
        with serving(lambda h, n, b, data=data: h.send(data)) as server:
            ask(server.url, frames[:1], tmp_path / f"run{number}")
        (reading,) = read_journal(tmp_path / f"run{number}").values()
        assert (reading.turns[0].reply, reading.turns[0].finish) == expected
        if data is declined:
            turn = reading.turns[0]
            assert parse_reply(turn.reply, turn.finish).outcome == "refusal"


def test_options_have_limits() -> None:
    for name, value in {
        "max_tokens": 0,
        "concurrency": 0,
        "retries": 0,
        "timeout": 0,
        "batch": 0,
        "max_side": 1,
        "rate": -1,
    }.items():
        with pytest.raises(InputError, match=f"`{name}=.*` is out of range"):
            open_backend("openai:m@http://h/v1", ModelOptions(**{name: value}))
