"""The runner against servers and files that mean it ill: one message, a whole journal, no key, bounded time and memory."""

from __future__ import annotations

import base64
import copy
import errno
import itertools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from support.paths import ROOT
from support.refusal import refuses
from support.tiers import slow_rows_except
from support.vlm_help import Scripted, completion, frames_csv, grey_of, picture, sent_grey, serving

from steelyard.core.errors import InputError
from steelyard.vlm import images, wire
from steelyard.vlm.backend import ModelOptions, PermanentError, Reply
from steelyard.vlm.completions import error_detail, read_completion
from steelyard.vlm.journal import NAME, Journal, JournalEntry, Turn, read_journal
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import PROMPTS, choose_prompts
from steelyard.vlm.run import run
from steelyard.vlm.server import Secret

DIRECT = (PROMPTS["direct"],)
SECRET = "sk-very-secret/0123456789+abc"
pytestmark = pytest.mark.usefixtures("fast_waits")


def ask(url: str, frames, out: Path, **options):
    settings = ModelOptions(**{"retries": 2, "timeout": 60, "concurrency": 2, **options})
    backend = open_backend(f"openai:small@{url}", settings)
    try:
        return run(frames, backend, DIRECT, out)
    finally:
        backend.close()


def good(handler, number, body) -> None:
    handler.send(completion(str(sent_grey(body))))


# --- deadlines and sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_a_drip_does_not_move_the_deadline(part: str, frames, tmp_path: Path) -> None:
    whole_answers = []

    def drip(handler, number, body) -> None:
        whole = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX: " + b"x" * 400 + b"\r\n\r\n" + b" " * 400
        start = {"status": 0, "headers": 60, "body": len(whole) - 400}[part]
        try:
            handler.wfile.write(whole[:start])
            for byte in whole[start:]:
                handler.wfile.write(bytes([byte]))
                time.sleep(0.05)  # 20 seconds in all
            whole_answers.append(number)
        except OSError:
            pass
        handler.close_connection = True

    with serving(drip) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run", timeout=0.5)
    assert progress.last_error == "no answer within 0.5 s after 2 attempts"
    assert whole_answers == []  # where each byte starts the clock again, all of them come


def test_an_endless_body_is_cut_off(frames, tmp_path: Path) -> None:
    sent = [0]

    def endless(handler, number, body) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        try:
            while sent[0] < 400 * 2**20:
                sent[0] += handler.wfile.write(b" " * 65536)
        except OSError:
            pass
        handler.close_connection = True

    with serving(endless) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run", timeout=60)
    assert progress.last_error == "the server's answer is longer than 4 MB, and was not read further"
    assert sent[0] < 100 * 2**20  # what the sockets' buffers took


def test_an_endless_error_is_read_a_little(frames, tmp_path: Path) -> None:
    with serving(lambda h, n, b: h.send(b"no " * 10**6, 400)) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
    assert progress.last_error.startswith("the server says 400: no no no")
    assert len(progress.last_error) < 250


def test_a_compressed_answer_is_not_opened(frames, tmp_path: Path) -> None:
    with serving(lambda h, n, b: h.send(b"\x1f\x8b" + b"\0" * 50, content_encoding="gzip")) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
    assert progress.last_error == "the server's answer is compressed, which was not asked for"
    assert server.requests[0][1]["Accept-Encoding"] == "identity"


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    listener.close()


def test_a_server_that_never_answers_ends_the_run(silent: str, frames, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match=r"3 readings failed .*: no answer within 0.2 s after 2 attempts"):
        ask(silent, frames, tmp_path / "run", timeout=0.2, concurrency=1)
    assert len(read_journal(tmp_path / "run")) == 3


def test_closing_ends_what_is_under_way(frames) -> None:
    from steelyard.vlm.backend import Conversation

    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    backend = open_backend(f"openai:small@{url}", ModelOptions(timeout=600, retries=6))
    replies: list[Any] = []
    talk = Conversation(frames[0].picture, ("How much?",))
    thread = threading.Thread(target=lambda: replies.extend(backend.generate([talk])), daemon=True)
    thread.start()
    with listener, listener.accept()[0] as wire:
        assert wire.recv(1)  # the question has begun to arrive
        backend.close()
        thread.join(60)
    assert not thread.is_alive()
    assert replies[0].error


@pytest.mark.parametrize("status", [400, 402, 413, 422])
def test_equal_refusals_end_the_run_with_the_servers_words(status: int, frames, tmp_path: Path, steelyard) -> None:
    with serving(lambda h, n, b: h.send({"error": {"message": "no pictures\x1b]0;owned\x07"}}, status)) as server:
        done = steelyard("vlm", "run", "frames.csv", "--model", f"openai:m@{server.url}", "--out", "run", "--concurrency", "1")  # fmt: skip
        assert len(server.requests) <= 6
    assert done.returncode == 2
    assert rf"the server says {status}: no pictures\u001b]0;owned\u0007" in done.stderr
    assert "3 readings failed one after the other" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_cannot_pass_says_the_servers_words(status: int, frames, tmp_path: Path) -> None:
    with (
        serving(lambda h, n, b: h.send({"error": {"message": "no such luck"}}, status)) as server,
        pytest.raises(PermanentError, match=f"{status}: no such luck"),
    ):
        ask(server.url, frames, tmp_path / "run")


def test_refused_pictures_do_not_end_a_run_that_has_answers(frames, tmp_path: Path) -> None:
    def picky(handler, number, body) -> None:
        good(handler, number, body) if sent_grey(body) == 200 else handler.send({"error": "content filter"}, 400)

    with serving(picky) as server:
        first = ask(server.url, frames, tmp_path / "run", concurrency=1)
        again = ask(server.url, frames, tmp_path / "run", concurrency=1)
    assert (first.done, first.failed) == (1, 5)
    assert (again.held, again.failed) == (1, 5)


# --- wrong types -------------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None, True, 0, -1, 1e308, [], {}, [1], [[]], {"a": 1}, "", "x", "\ud800", "\x00\x1b[31m", [None], ["x"], [{"text": 1}],
    [{"type": "text", "text": ["x"]}], 10**4000,
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from places(data[key], (*path, key))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def tried_to_read(body: bytes) -> tuple[Reply | None, str]:
    try:
        return read_completion(body, 64, str), ""
    except ValueError as error:
        return None, str(error)


def test_wrong_types_anywhere_give_a_reply_or_one_sentence(tmp_path: Path) -> None:
    base = completion("245")
    tried = 0
    for path in places(base):
        for value in ODD:
            body = json.dumps(changed(base, path, value)).encode()
            tried += 1
            reply, said = tried_to_read(body)
            if reply is None:
                assert said.startswith("the server's answer")
                continue
            assert isinstance(reply.text, str)
            assert isinstance(reply.finish, str)
            assert all(isinstance(v, int) and v < 2**63 for v in reply.usage.values())
            line = JournalEntry("0" * 32, "m", "p", "i", (Turn("?", reply.text, reply.finish, reply.usage),)).line()
            json.loads(line)
            reply.text.encode()  # can be written to any file
    assert tried > 150


RAW = {
    "deep": b'{"choices":' + b"[" * 200_000,
    "deep and closed": b"[" * 100_000 + b"]" * 100_000,
    "an integer of 5,000 digits": b'{"choices": ' + b"9" * 5000 + b"}",
    "usage of 5,000 digits": json.dumps(completion("5"))[:-1].encode() + b', "usage": {"a": ' + b"9" * 5000 + b"}}",
    "usage is a list": json.dumps({**completion("5"), "usage": [1]}).encode(),
    "not UTF-8": b'{"choices": "\xff\xfe"}',
    "nothing": b"",
    "NaN": b'{"choices": NaN}',
}


@pytest.mark.parametrize("name", RAW)
def test_raw_answers_end_in_one_message_and_a_whole_journal(name: str, frames, tmp_path: Path) -> None:
    with serving(lambda h, n, b: h.send(RAW[name])) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run")
    assert progress.done + progress.failed == 1
    assert progress.done == (name == "usage is a list")
    (reading,) = read_journal(tmp_path / "run").values()
    assert bool(reading.error) == bool(progress.failed)
    with serving(lambda h, n, b: h.send(RAW[name], 400)) as server:
        assert "the server says 400" in ask(server.url, frames[1:2], tmp_path / "run2").last_error


def test_an_answer_of_the_wrong_kind_on_the_command_line(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    with serving(lambda h, n, b: h.send(RAW["deep"])) as server:
        done = steelyard("vlm", "run", "frames.csv", "--model", f"openai:m@{server.url}", "--out", "run", "--retries", "1")  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "is not valid JSON" in done.stderr


# --- the journal -------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_journal_whole(frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    wrote = [0]

    def full(file: int, data: Any) -> int:
        wrote[0] += 1
        if wrote[0] == 2:
            return real(file, bytes(data)[: len(data) // 2])  # half of it fits
        if wrote[0] > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data)

    model = Scripted(lambda c: str(grey_of(c)))
    model.batch = 1
    with monkeypatch.context() as patched:
        patched.setattr("steelyard.vlm.journal.os.write", full)
        with pytest.raises(InputError, match=r"journal\.jsonl: the journal cannot be written: No space left on device"):
            run(frames, model, DIRECT, tmp_path / "run")
    raw = (tmp_path / "run" / NAME).read_bytes()
    assert raw.endswith(b"\n")
    assert all(json.loads(line) for line in raw.splitlines())
    held = len(read_journal(tmp_path / "run"))
    assert 1 <= held < 6  # what was finished when the first line was written: that depends on the machine
    again = run(frames, Scripted(lambda c: str(grey_of(c))), DIRECT, tmp_path / "run")
    assert (again.held, again.done) == (held, 6 - held)


def test_places_where_no_journal_can_be(frames, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder" / NAME).mkdir(parents=True)
    for out in ("file", "folder", "file/below"):
        with pytest.raises(InputError, match="the journal cannot be opened"):
            Journal(tmp_path / out)
    with refuses("E-unreadable-file", str(tmp_path / "folder" / NAME)):
        read_journal(tmp_path / "folder")


@pytest.mark.parametrize(
    "change",
    [
        {"turns": 5}, {"turns": [5]}, {"turns": [[]]}, {"model": 1}, {"turns": [{}]}, {"image": None},
        {"turns": [{"ask": "x", "reply": 5, "finish": "stop", "usage": {}, "latency": 1, "attempts": 1}]},
        {"turns": [{"ask": "x", "reply": "5", "finish": "stop", "usage": [], "latency": 1, "attempts": 1}]},
        {"turns": [{"ask": {}, "reply": "5", "finish": "stop", "usage": {}, "latency": 1, "attempts": 1}]},
    ],
)  # fmt: skip
def test_a_journal_with_values_of_another_kind(change: dict[str, Any], tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([JournalEntry("0" * 32, "m", "p", "i", (Turn("?", "5"),))])
    path = tmp_path / NAME
    text, reading = path.read_text().splitlines()
    path.write_text(text + "\n" + json.dumps(json.loads(reading) | change, separators=(",", ":")) + "\n")
    with pytest.raises(InputError, match="line 2: the line is damaged"):
        read_journal(tmp_path)


# --- keys --------------------------------------------------------------------------------------------------------

ECHOES = {
    "plain": SECRET,
    "in a long text, where it would be cut": "x" * 185 + SECRET,
    "in two lines": SECRET[:13] + "\n" + SECRET[13:],
    "letter by letter": " ".join(SECRET),
    "the beginning": SECRET[:16] + "...",
    "the end": "..." + SECRET[-16:],
    "URL-encoded": quote(SECRET, safe=""),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of the header": base64.b64encode(f"Bearer {SECRET}".encode()).decode(),
    "base64 with a user": base64.urlsafe_b64encode(f"me:{SECRET}".encode()).decode(),
    "hexadecimal": SECRET.encode().hex(),
    "capitals": SECRET.upper(),
    "escaped": "".join(f"\\u{ord(c):04x}" for c in SECRET),
}


def leaks(text: str) -> bool:
    """Whether eight letters or digits on end of the key, in any of its forms, stand in a text."""

    def bare(value: str) -> str:
        return "".join(c for c in value.lower() if c.isascii() and c.isalnum())

    text = bare(text)
    forms = [SECRET, quote(SECRET, safe=""), SECRET.encode().hex(), ECHOES["escaped"]]
    forms += [base64.b64encode(b"\0" * n + SECRET.encode()).decode().strip("=")[4:-4] for n in range(3)]
    return any(form[i : i + 8] in text for form in map(bare, forms) for i in range(len(form) - 7))


PLACES = ("error", "raw error", "reply", "finish", "usage", "content type")
FAST_ECHOES = [("reply", name) for name in ECHOES] + [(where, "base64") for where in PLACES]


@pytest.mark.parametrize(("where", "name"), slow_rows_except(itertools.product(PLACES, ECHOES), *FAST_ECHOES))
def test_an_echoed_key_reaches_neither_journal_nor_screen(
    where: str, name: str, frames, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    echo = ECHOES[name]
    assert leaks(echo)

    def script(handler, number, body) -> None:
        if where == "error":
            handler.send({"error": {"message": f"wrong: {echo}"}}, 400)
        elif where == "raw error":
            handler.send(f"<p>{echo}".encode(), 500, "text/html")
        elif where == "content type":
            handler.send(b"", kind="text/" + echo.replace("\n", " "))
        else:
            data = completion(echo if where == "reply" else "5", echo if where == "finish" else "stop")
            data["usage"] |= {echo: 5} if where == "usage" else {}
            handler.send(data)

    with serving(script) as server:
        progress = ask(server.url, frames[:1], tmp_path / "run", retries=1)
    assert server.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert not leaks(progress.last_error)
    for file in (tmp_path / "run").iterdir():
        assert not leaks(file.read_text())


def test_scrubbing_leaves_the_rest() -> None:
    secret = Secret(SECRET)
    assert secret.scrub(f"a {SECRET} b {SECRET}") == "a [key] b [key]"
    assert secret.scrub("245 g of rice, a very good recipe") == "245 g of rice, a very good recipe"
    assert secret.scrub("") == ""
    assert SECRET not in repr(secret)
    assert Secret("EMPTY").scrub("is EMPTY, empty") == "is [key], empty"
    assert Secret("").scrub("x") == Secret("12345").scrub("x") == "x"
    assert Secret("12345").scrub("12345") == "12345"  # no reading is changed by a short number
    assert error_detail(json.dumps({"error": {"message": "x" * 190 + SECRET}}).encode(), secret.scrub).endswith("[key]")


def test_keys_that_no_header_carries_and_keys_in_the_spec(monkeypatch) -> None:
    for key in ("sk-ab\ncd-efgh", "sk-ключ-0123456", "sk\x00-0123456789"[:2] + "\x7f0123456789"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="holds what no key can") as caught:
            open_backend("openai:m@http://h/v1", ModelOptions())
        assert key not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with pytest.raises(InputError, match="holds the key") as caught:
        open_backend("openai:m@http://h/sk-0123456789/v1", ModelOptions())
    assert "sk-0123456789" not in str(caught.value)


# --- pictures ----------------------------------------------------------------------------------------------------


def test_pixels_in_flight_are_bounded(tmp_path: Path, monkeypatch) -> None:
    path = picture(tmp_path / "a.png", 5, (100, 100))
    result = images.read_picture(path)
    monkeypatch.setattr(images, "PIXELS_AT_ONCE", 25_000)
    inside, most, lock = [0], [0], threading.Lock()
    real, both, entries = images._upright, threading.Barrier(2), itertools.count(1)

    def entered() -> int:
        with lock:
            return next(entries)

    def upright(*args: Any) -> Any:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        if entered() <= 2:
            both.wait(60)  # two are there at once
        time.sleep(0.02)  # a third would be counted
        try:
            return real(*args)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(images, "_upright", upright)
    threads = [threading.Thread(target=result.load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 2  # of 10,000 pixels each
    monkeypatch.setattr(images, "PIXELS_AT_ONCE", 5)
    assert result.load().size == (100, 100)  # one alone is always shown
    assert images._flight.held == 0


@pytest.mark.parametrize(("side", "said"), [(11_000, "11,000 × 11,000 pixels"), (20_000, "400,000,000 pixels")])
def test_a_bomb_is_known_by_its_header(side: int, said: str, tmp_path: Path) -> None:
    Image.new("1", (side, side)).save(tmp_path / "bomb.png")
    with pytest.raises(InputError, match=rf"bomb\.png: the image has {said}.*At most 100 million"):
        images.read_picture(tmp_path / "bomb.png")


def test_no_program_is_run_for_a_picture(tmp_path: Path) -> None:
    """Pillow opens PostScript by running another program."""
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\nshowpage\n")
    with pytest.raises(InputError, match="does not decode"):
        images.read_picture(tmp_path / "a.png")


def test_only_ordinary_files_are_read(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "folder").mkdir()
    cases = {tmp_path / "folder": "is a folder", tmp_path / "a\0b": "cannot be read", tmp_path / "no": "no such image"}
    listener = None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        cases |= {tmp_path / "pipe": "is a pipe", Path("/dev/zero"): "is a device"}
        listener = socket.socket(socket.AF_UNIX)
        monkeypatch.chdir(tmp_path)
        listener.bind("socket")
        cases[tmp_path / "socket"] = "is a socket"
    for path, said in cases.items():
        with pytest.raises(InputError, match=said):
            images.read_picture(path)
    monkeypatch.setattr(images, "MOST_BYTES", 50)
    with pytest.raises(InputError, match=r"big\.png: the image has .* MB or more"):
        images.read_picture(picture(tmp_path / "big.png"))
    if listener:
        listener.close()


def test_odd_images_on_the_command_line(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    odd = "/dev/zero" if sys.platform != "win32" else "NUL"
    with (tmp_path / "frames.csv").open("a") as file:
        file.write(f"s9,0,{odd},rice,5,1\ns9,1,.,rice,5,1\n")
    with serving(good) as server:
        done = steelyard("vlm", "run", "frames.csv", "--model", f"openai:m@{server.url}", "--out", "run")
    assert done.returncode == 1
    assert "the image is a folder" in done.stderr
    assert "8 could not be asked" in done.stderr


# --- own prompts -------------------------------------------------------------------------------------------------


def test_an_own_prompt_says_what_it_asks_for(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    (tmp_path / "own.json").write_text('{"kcal": "How many kilocalories?"}')
    run_it = ("vlm", "run", "frames.csv", "--out", "run", "--prompt-file", "own.json")
    with serving(good) as server:
        model = ("--model", f"openai:m@{server.url}")
        done = steelyard(*run_it, *model)
        assert done.returncode == 2
        assert "own.json: prompt 'kcal' does not say how its answer is read" in done.stderr
        assert "--answer grams" in done.stderr
        assert not server.requests
        done = steelyard(*run_it, *model, "--answer", "kcal")
        assert done.returncode == 2
        assert "asks for 'kcal', which is not read. Known: grams." in done.stderr
        done = steelyard(*run_it, *model, "--answer", "grams")
        assert done.returncode == 0, done.stderr


def test_a_file_of_prompts_says_it_itself(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text('{"a": {"text": "Weight?", "answer": "grams"}}')
    assert [(p.name, p.text) for p in choose_prompts([], path)] == [("a", "Weight?")]
    for text in (
        '{"a": {"text": "Energy?", "answer": "kcal"}}',
        '{"a": {"text": 5}}',
        '{"a": {"txt": "x"}}',
        "[" * 100_000,
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=r"own\.json"):
            choose_prompts([], path, "grams" if "kcal" not in text else "")
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(InputError, match="At most 1 MB"):
        choose_prompts([], path, "grams")


def test_the_limits_are_those_of_the_docs() -> None:
    text = (ROOT / "docs" / "vlm.md").read_text(encoding="utf-8")
    assert f"{wire.MOST_BYTES // 2**20} MB" in text
    assert f"{images.MOST_PIXELS // 10**6} million pixels" in text
    assert f"{images.MOST_BYTES // 2**20} MB" in text
