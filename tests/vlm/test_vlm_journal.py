"""The journal: nothing is lost but what was in flight, nothing is asked twice, nothing old passes for new."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.forked import started
from support.paths import TESTS
from support.refusal import refuses
from support.vlm_help import Scripted, frames_csv, grey_of, picture

from steelyard.vlm.backend import ModelOptions
from steelyard.vlm.frames import Frame, read_frames
from steelyard.vlm.images import Picture
from steelyard.vlm.journal import NAME, Journal, JournalEntry, Turn, read_journal, reading_key
from steelyard.vlm.models import open_backend
from steelyard.vlm.plan import RunPlan, questions
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS, Prompt
from steelyard.vlm.run import run

ALL = tuple(PROMPTS.values())


def reading(number: int, error: str = "") -> JournalEntry:
    return JournalEntry(
        f"{number:032x}", "m", "direct", "sha", (Turn("How much?", "245", usage={"a": 1}, error=error),)
    )


def test_a_line_that_is_longer_than_any(tmp_path: Path) -> None:
    """It is not taken into memory: the file may have no end of a line at all."""
    (tmp_path / NAME).write_bytes(b'{"key":"' + bytes(65 << 20) + b"\n")
    for read in (read_journal, lambda folder: Journal(folder).__enter__()):
        with refuses("E-invalid-result", "line 1", "64"):
            read(tmp_path)


def test_round_trip(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([reading(1), reading(2, "no answer")])
        journal.append([reading(3)])
    assert read_journal(tmp_path) == {r.key: r for r in (reading(1), reading(2, "no answer"), reading(3))}
    with Journal(tmp_path) as journal:
        assert journal.done == {reading(1).key.encode(), reading(3).key.encode()}  # a failed one is asked again
        journal.append([reading(2)])
        assert reading(2).key.encode() in journal.done
    assert not read_journal(tmp_path)[reading(2).key].error
    # The prompt is kept once.
    assert (tmp_path / NAME).read_text().count("How much?") == 1


def test_a_failure_does_not_hide_an_answer(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([reading(1), reading(1, "late failure")])
    assert not read_journal(tmp_path)[reading(1).key].error


@pytest.mark.parametrize("cut", [1, 10, 60, 100])
def test_a_torn_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    with Journal(tmp_path) as journal:
        journal.append([reading(1), reading(2)])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-cut])
    assert set(read_journal(tmp_path)) == {reading(1).key}
    with Journal(tmp_path) as journal:
        assert journal.dropped > 0
        assert journal.done == {reading(1).key.encode()}
        journal.append([reading(3)])
    assert set(read_journal(tmp_path)) == {reading(1).key, reading(3).key}


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([reading(1)])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes() + b"garbage\n")
    for look in (read_journal, Journal):
        with refuses("E-invalid-result", "line 3"):
            look(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"garbage", b'{"key":"' + b"0" * 32 + b'","state":"done"'))
    with refuses("E-invalid-result", "line 3"):
        read_journal(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="the lock is POSIX")
def test_one_run_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path), refuses("E-cannot-write", "journal.jsonl"):
        Journal(tmp_path)
    with Journal(tmp_path):
        pass


def test_resume_asks_nothing_twice_and_whatever_changes_anew(tmp_path: Path) -> None:
    path = frames_csv(tmp_path)
    out = tmp_path / "run"

    def asked(prompts=ALL, fingerprint="v1", settings=None, **options) -> int:
        model = Scripted(lambda c: str(grey_of(c)), fingerprint=fingerprint)
        model.settings = settings or model.settings
        run(read_frames(path), model, prompts, out, **options)
        return len(model.asked)

    assert asked() == 24
    assert asked() == 0
    assert asked(prompts=(Prompt("direct", PROMPTS["direct"].text + " "), *ALL[1:])) == 6
    assert asked(fingerprint="v2") == 24
    assert asked(settings={"max_tokens": 9}) == 24
    assert asked(mode="last_line") == 24
    picture(tmp_path / "0_0.png", 199)
    assert asked() == 4
    path.write_text(path.read_text().replace("rice", "peas"))
    assert asked() == 12  # the two prompts that name the food
    assert asked() == 0


def test_failed_readings_are_asked_again(tmp_path: Path) -> None:
    path = frames_csv(tmp_path)

    def moody(conversation):
        if grey_of(conversation) == 150:
            raise RuntimeError("out of memory")
        return "100"

    first = run(read_frames(path), Scripted(moody), ALL, tmp_path / "run")
    assert (first.done, first.failed, first.last_error) == (20, 4, "out of memory")
    model = Scripted(lambda c: "100")
    second = run(read_frames(path), model, ALL, tmp_path / "run")
    assert (second.held, second.done, len(model.asked)) == (20, 4, 4)


def test_the_follow_up_is_asked_once_in_the_same_conversation(tmp_path: Path) -> None:
    model = Scripted(lambda c: "about 90 g" if len(c.texts) == 1 else "still no number" if grey_of(c) == 200 else "90")
    progress = run(read_frames(frames_csv(tmp_path)), model, ALL[:1], tmp_path / "run")
    assert (progress.done, progress.followed_up, progress.parsed) == (6, 6, 5)
    follow_ups = [c for c in model.asked if len(c.texts) > 1]
    assert len(follow_ups) == 6
    for conversation in follow_ups:
        assert conversation.texts == (ALL[0].text, "about 90 g", FOLLOW_UP)
    for kept in read_journal(tmp_path / "run").values():
        assert [turn.ask for turn in kept.turns] == [ALL[0].text, FOLLOW_UP]


def test_key_depends_on_every_part() -> None:
    parts = ("model", "prompt", "follow-up", {"a": 1}, "image")
    others = ("model2", "prompt2", "follow-up2", {"a": 2}, "image2")
    keys = {reading_key(*parts)} | {reading_key(*parts[:i], others[i], *parts[i + 1 :]) for i in range(5)}
    assert len(keys) == 6
    assert reading_key(*parts) == reading_key(*parts[:3], {"a": 1}, "image")


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.vlm_help import Scripted, grey_of
from steelyard.vlm.frames import read_frames
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.run import run
log = open(sys.argv[3], "a")
def answer(conversation):
    log.write(f"{conversation.picture.digest} {conversation.texts[0][:60]!r} {len(conversation.texts[0])}\\n"); log.flush()
    time.sleep(0.004)
    return str(grey_of(conversation))
model = Scripted(answer)
model.batch = 3
run(read_frames(sys.argv[2]), model, tuple(PROMPTS.values()), Path(sys.argv[2]).parent / "run")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kill_at_any_moment_loses_only_what_is_in_flight(tmp_path: Path) -> None:
    path = frames_csv(tmp_path, sequences=4, length=3)
    total = 48
    log = tmp_path / "asked.txt"
    command = [sys.executable, "-c", KILLED, str(TESTS), str(path), str(log)]
    journal = tmp_path / "run" / NAME
    kills = 0
    for target in (1, 11, 30):  # once so many lines are on disk, the process is killed without warning
        with started(command) as process:
            while process.poll() is None:
                if journal.exists() and journal.read_bytes().count(b'"state":"done"') >= target:
                    os.kill(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.001)
            kills += process.wait() == -signal.SIGKILL
    assert kills >= 2
    held = len(read_journal(tmp_path / "run"))
    subprocess.run(command, check=True)
    assert held < total or kills < 3
    assert len(read_journal(tmp_path / "run")) == total
    asked = log.read_text().splitlines()
    assert len(set(asked)) == total
    # A batch of three is in flight, one is waiting: more than that is never asked again.
    assert len(asked) - total <= kills * 2 * 3
    for line in journal.read_bytes().splitlines():
        json.loads(line)


def test_runs_of_before_are_held() -> None:
    """Keys as the version before several pictures, JSON and parameters made them: its journals need no asking again."""
    backend = open_backend("openai:m@http://127.0.0.1:9/v1", ModelOptions())
    asks = {
        "dog": {"target": "present", "answer": "yes/no"},
        "colour": {"target": "colour", "answer": "choice", "options": {"A": "grey", "B": "white"}},
        "kcal": {"target": "kcal", "answer": "number", "unit": ["kcal"], "min": 0},
    }
    prompts = {name: prompt.text for name, prompt in PROMPTS.items()}
    prompts |= {"dog": "Is there a {animal}?", "colour": "Which?\n{options}", "kcal": "How many?"}
    plan = RunPlan("openai:m@x", "m", backend.fingerprint, dict(backend.settings), prompts, controls=True, asks=asks)
    backend.close()
    columns = {"animal": "dog", "present": "yes", "colour": "A", "kcal": "5"}
    frames = [
        Frame("s", t, "a.png", "rice", 100.0, picture=Picture(f"{t:064x}", 8, 6), columns=columns) for t in (0, 1)
    ]
    frames.append(Frame("r", 0, "b.png", "soup", 5.0, picture=Picture("f" * 64, 9, 6), columns={"animal": "cat"}))
    keys = [question.key for question in questions(plan, frames)]
    assert (len(keys), keys[0]) == (63, "ddd0d956c0182c8be665071d404410cc")
    digest = hashlib.sha256("".join(keys).encode()).hexdigest()
    assert digest == "5fd4dcfc666f4a601b429119991567175c19d64044649903c4090d47d4c1e992"


def short_reading(key: str, reply: str = "7", error: str = "") -> JournalEntry:
    return JournalEntry(key * 32, "m", "p", "i", (Turn("how many?", reply, error=error),))


def test_a_journal_is_read_by_keys_and_a_torn_line_is_dropped(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([short_reading(key, f"reply {key}") for key in "ab"])
    assert list(read_journal(tmp_path, ["b" * 32])) == ["b" * 32]
    kept = (tmp_path / NAME).read_bytes()
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"x" * 70_000)  # longer than a block that is looked through
    with Journal(tmp_path) as journal:
        assert journal.dropped == 70_000
    assert (tmp_path / NAME).read_bytes() == kept
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"[7]\n")
    lines = kept.count(b"\n") + 1
    with refuses("E-invalid-result", str(tmp_path / NAME), f"line {lines}"):
        read_journal(tmp_path)


def test_a_journal_of_one_torn_line_is_empty(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"key":"')
    with Journal(tmp_path) as journal:
        assert (journal.dropped, journal.done) == (8, set())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_journal_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with refuses("E-unreadable-file", str(tmp_path / NAME)):
        Journal(tmp_path)


TURN = {"reply": "7", "finish": "stop", "ask": "a", "latency": 1.0, "attempts": 1, "usage": {}}


def line(**changed: Any) -> str:
    whole = {"key": 32 * "0", "state": "d", "model": "m", "prompt": "p", "image": "i", "turns": [TURN], **changed}
    return json.dumps({key: value for key, value in whole.items() if value is not None}, separators=(",", ":")) + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tea\n", ("E-invalid-result", "journal.jsonl, line 2", "reading")),
        ('{"key":"a\n', ("E-invalid-result", "journal.jsonl, line 2", "character")),
        ('{"text":"a"}\n', ("E-invalid-result", "journal.jsonl, line 2")),
        (line(model=7), ("E-invalid-result", "journal.jsonl, line 2", "name")),
        (line(model=None), ("E-invalid-result", "'model'")),
        (line(turns=7), ("E-invalid-result", "turns")),
        (line(turns=[7]), ("E-invalid-result", "turns")),
        (line(turns=[{**TURN, "reply": 7}]), ("E-invalid-result", "journal.jsonl, line 2", "turn")),
        (line(turns=[{**TURN, "latency": "long"}]), ("E-invalid-result", "journal.jsonl, line 2", "turn")),
        (line(turns=[{**TURN, "usage": []}]), ("E-invalid-result", "journal.jsonl, line 2", "turn")),
    ],
)
def test_damaged_lines(text: str, why: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(line() + text)
    with refuses(*why, "line 2"):
        read_journal(tmp_path)


def test_journals_that_are_none(tmp_path: Path) -> None:
    with refuses("E-missing-file", "journal"):
        read_journal(tmp_path)
    (tmp_path / NAME).write_text("tea\n")
    with refuses("E-invalid-result", "journal.jsonl, line 1"):
        Journal(tmp_path)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with refuses("E-unreadable-file", "journal.jsonl"):
        read_journal(tmp_path)
