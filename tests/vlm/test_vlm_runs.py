"""Runs of models, part by part: frames, pictures, plans, prices, comparisons of two models."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refused, refuses
from support.vlm_help import Clock, Scripted, frames_csv, grey_of, picture

from steelyard.vlm import images, ordinary
from steelyard.vlm.answers import Answer
from steelyard.vlm.export import write_sides
from steelyard.vlm.frames import Frame, read_frames, stored_frames
from steelyard.vlm.journal import JournalEntry, Turn
from steelyard.vlm.plan import SWAPPED, RunPlan, _plan, _swapped_pictures
from steelyard.vlm.prices import Price, Prices
from steelyard.vlm.prompts import PROMPTS, Prompt
from steelyard.vlm.questions import question, read_questions
from steelyard.vlm.readings import Taken, VlmRun, read_run
from steelyard.vlm.run import run
from steelyard.vlm.score import _choose_examples, _example, score
from steelyard.vlm.server import Pace
from steelyard.vlm.shots import MOST, read_shots
from steelyard.vlm.spending import Spending, Tally

ASK = {"prompt": "How many?", "target": "count", "answer": "number"}


def test_questions_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"questions": {"q": ASK}, "follow_up": 7}))
    with refuses("E-invalid-value", str(path), "follow_up"):
        read_questions(path)
    with refuses("E-missing-key", "q.json"):
        question(" ", ASK, "q.json")
    with refuses("E-invalid-setting", "q.json", "'q'", "follow_up"):
        question("q", ASK | {"follow_up": 7}, "q.json")


def test_a_run_without_a_prompt_is_refused(tmp_path: Path) -> None:
    with refuses("E-empty-input", "prompt"):
        run((), Scripted(lambda c: "7"), (), tmp_path / "run")


def test_rows_are_counted_and_an_image_must_be_named(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", 7)
    (tmp_path / "frames.csv").write_text("sequence,t,image\ns,0,a.png\ns,1, \n")
    seen: list[tuple[int, int]] = []
    frames = read_frames(tmp_path / "frames.csv", seen=lambda *counted: seen.append(counted))
    assert seen == [(1, 2), (2, 2)]
    assert [frame.problem for frame in frames] == ["", "no image is named"]
    with refuses("E-invalid-file", str(tmp_path / "frames.csv"), "frames"):
        stored_frames(tmp_path / "frames.csv")


def test_an_image_that_changes_under_way_is_noticed(tmp_path: Path) -> None:
    shown = images.read_picture(picture(tmp_path / "a.png", 7))
    picture(tmp_path / "a.png", 8)
    with refuses("E-conflict", str(tmp_path / "a.png")):
        shown.load()


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    parts = [b"1234", b"56", b""]
    monkeypatch.setattr(ordinary.os, "read", lambda file, size: parts.pop(0))
    text = refused(lambda: ordinary.read_ordinary(tmp_path / "a", 5, "image"))
    (tmp_path / "b").write_bytes(b"123456")
    assert text == refused(lambda: ordinary.read_ordinary(tmp_path / "b", 5, "image")).replace("b:", "a:", 1)


def test_more_images_than_a_model_is_shown(tmp_path: Path) -> None:
    names = [f"{i}.png" for i in range(MOST + 1)]
    shots = read_shots(tmp_path, json.dumps(names), "images", {})
    assert shots.pictures == ()
    assert shots.problem == (
        f"{tmp_path}: there are {MOST + 1} images. At most {MOST} are shown: say 'frames: 8' in the question."
    )


def reading(key: str, reply: str = "7", error: str = "") -> JournalEntry:
    return JournalEntry(key * 32, "m", "p", "i", (Turn("how many?", reply, error=error),))


def plan(**changed: Any) -> dict[str, Any]:
    whole = {"model": "m", "label": "m", "fingerprint": "f", "settings": {}, "prompts": {"p": "How many?"}}
    return whole | changed


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"prompts": ["p"]}, (ValueError, "values")),
        ({"prompts": {"p": 7}}, (ValueError, "values")),
        ({"asks": []}, (ValueError, "questions")),
        ({"asks": {"p": 7}}, (ValueError, "questions")),
    ],
)
def test_plans_of_another_kind(changed: dict[str, Any], text: tuple[str, ...]) -> None:
    assert _plan(plan()) == RunPlan(**plan())
    with refuses(*text):
        _plan(plan(**changed))


def test_one_sequence_has_none_to_exchange_pictures_with(tmp_path: Path) -> None:
    frames = read_frames(frames_csv(tmp_path, sequences=1))
    assert _swapped_pictures(frames, PROMPTS["direct"]) == {}
    run(frames, Scripted(lambda c: "7"), [PROMPTS["direct"]], tmp_path / "run", controls=True)
    swapped = [taken for taken in read_run(tmp_path / "run").taken if taken.variant == SWAPPED]
    assert [(one.answer.outcome, one.problem) for one in swapped] == [
        ("failed", "there is no other sequence to swap images with")
    ] * 3


def test_whoever_waits_goes_when_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.vlm.server.time", Clock())  # it stands at 1,000 s
    closed = threading.Event()
    pace = Pace(1, 0, closed)
    pace.wait(1)
    closed.set()
    assert pace.wait(3) == [1060, 3]


def test_a_tally_of_failures_has_no_seconds() -> None:
    tally = Tally()
    tally.add([Turn("how many?", "", error="lost")])
    effort = tally.effort(Price(1.0, 2.0, 0.5, image=3.0), "USD")
    assert (effort.questions, effort.replies, effort.cost, effort.currency) == (1, 0, 0.0, "USD")
    assert [math.isnan(value) for value in (effort.median, effort.slow)] == [True, True]


def test_another_model_of_the_journal_is_counted_by_its_own_price() -> None:
    prices = Prices("prices.yaml", {"m": Price(0.0, 0.0, 0.0, image=3.0)}, "USD")
    spending = Spending(prices, "other", Price(1.0, 1.0, 1.0), 8)
    spending.count([reading("a"), reading("b")])
    assert spending.rates == {"m": prices.models["m"]}
    assert spending.tallies["m"].cost(prices.models["m"]) == 6.0


def taken(t: int, grams: float | None, weight: float = math.nan, model: str = "m", prompt: str = "p") -> Taken:
    answer = Answer("no_number") if grams is None else Answer("ok", grams)
    frame = Frame("s", t, "a.png", weight=weight)
    return Taken(model, prompt, "real", frame, Prompt(prompt, "How heavy?"), answer, turns=1)


def test_examples_of_frames_whose_weight_nobody_knows() -> None:
    by_frame = {("s", t): [one] for t, one in enumerate([taken(0, 7.0), taken(1, 7.0, 10.0), taken(2, None)])}
    assert _choose_examples(by_frame) == [("s", 1), ("s", 2)]
    unknown, known = (_example(by_frame["s", t], None) for t in (0, 1))
    assert (unknown.truth, unknown.heard[0].answer, unknown.heard[0].off) == ("unknown", "7 g", "")
    assert (known.truth, known.heard[0].answer, known.heard[0].off) == ("10 g", "7 g", " (−3 g)")


def test_two_prompts_of_one_file_name_are_refused(tmp_path: Path) -> None:
    every = tuple(taken(0, 7.0, 8.0, prompt=name) for name in ("a b", "a_b"))
    held = VlmRun(tmp_path, tuple(one.frame for one in every[:1]), (), every)
    with refuses("E-cannot-write", "m--a_b.csv"):
        write_sides(held, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def asked_both(folder: Path, answers: Any) -> Any:
    rows = ["sequence,t,image,count"]
    for s in range(2):
        for t in range(2):
            picture(folder / f"{s}{t}.png", 10 * s + t)
            rows.append(f"s{s},{t},{s}{t}.png,{10 * s + t}")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")
    asked = question("q", ASK, "q.json")
    for label, answer in answers.items():
        run(read_frames(folder / "frames.csv"), Scripted(answer, label, label), [asked], folder / "run")
    return score(folder / "run", draws=100)


def test_two_models_are_compared_where_both_gave_a_number(tmp_path: Path) -> None:
    """The second is silent about 0, and one too high elsewhere: three frames, and an error of 1."""
    both = asked_both(
        tmp_path, {"a": lambda c: str(grey_of(c)), "b": lambda c: str(grey_of(c) + 1) if grey_of(c) else "none"}
    )
    (pair,) = both.pairs
    assert (pair.a, pair.b, pair.question, pair.frames) == ("a: q", "b: q", "is it the better model?", 3)
    difference = pair.comparison["mae"]
    assert (difference.a.value, difference.b.value, difference.difference) == (0.0, 1.0, 1.0)


def test_two_models_without_a_common_answer_are_not_compared(tmp_path: Path) -> None:
    answers = {"a": lambda c: "7" if grey_of(c) else "none", "b": lambda c: "none" if grey_of(c) else "7"}
    both = asked_both(tmp_path, answers)
    assert (len(both.rows), both.pairs) == (2, ())


def test_weights_without_a_common_answer_are_not_compared(tmp_path: Path) -> None:
    frames = read_frames(frames_csv(tmp_path))
    for label, answer in (("a", lambda c: "7"), ("b", lambda c: "none")):
        run(frames, Scripted(answer, label, label), [PROMPTS["direct"]], tmp_path / "run")
    both = score(tmp_path / "run", draws=100)
    assert [row.report is None for row in both.rows] == [False, True]
    assert (math.isnan(both.rows[1].guess), both.rows[1].constant, both.pairs) == (True, None, ())


def test_a_column_with_a_name_that_the_task_needs_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", 7)
    (tmp_path / "frames.csv").write_text("sequence,t,image,count,group\ns,0,a.png,7,x\n")
    asked = question("q", ASK | {"prompt": "How many of {group}?"}, "q.json")
    run(read_frames(tmp_path / "frames.csv"), Scripted(lambda c: "7"), [asked], tmp_path / "run")
    with refuses("E-conflict", "'group'", "frames"):
        score(tmp_path / "run", draws=100, by=["group"])
