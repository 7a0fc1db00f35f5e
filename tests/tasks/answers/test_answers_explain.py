"""`--explain` of answers: what other tools print for the same replies, by hand from their sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.tiers import slow_except

import steelyard as sy
from steelyard.tasks.answers.views import TOOLS


def explained(truth: dict[str, Any], replies: list[str], tool: str, **more: Any) -> Any:
    names = [str(i) for i in range(len(replies))]
    given = {"question": names, "answer": replies, **{k: v for k, v in more.items() if k == "outcome"}}
    weights = {k: v for k, v in more.items() if k == "sample_weight"}
    report = sy.evaluate("answers", {"question": names, **truth, **weights}, given, explain=tool, confidence=None)
    return report, report.explanations[0]


def near(values: dict[str, float]) -> Any:
    return pytest.approx(values, abs=1e-12)


# Ten of ten say "yes"; three say "3" and seven "4".
PEOPLE = {"answers": [json.dumps(["yes"] * 10), json.dumps(["3"] * 3 + ["4"] * 7)]}


@pytest.mark.parametrize(
    ("tool", "theirs"),
    [
        ("lmms-eval", (1 + 0.9) / 2),  # "Yes" becomes "yes", "3." becomes "3", whose three people score 9 of 10
        ("vlmevalkit", (1 + 0.0) / 2),  # "3." stays
        ("vqa", (0 + 0.9) / 2),  # nothing is processed where all say the same
    ],
)
def test_vqa_accuracy(tool: str, theirs: float) -> None:
    report, made = explained(PEOPLE, ["Yes", "3."], tool)
    assert made.ours == near({"vqa": 0.45})
    assert report["vqa"].value == pytest.approx(0.45)
    assert made.theirs == near({"vqa": theirs})


TRUTH = ["red car", "5", "north", "the dog", "x y z"]
SAID = ["Car red", "5.0", " north ", "dog", "x x"]


@pytest.mark.parametrize(
    ("tool", "ours", "theirs"),
    [
        # Steelyard: " north " is equal once blanks are single; 5.0 is 5 to relaxed accuracy; SQuAD's words: 1, 0, 1, 1,
        # and 0.4 for one of two against three.
        ("lm-eval", {"exact": 0.2}, {"exact": 0.0}),
        ("inspect", {"exact": 0.2, "word_f1": 0.68}, {"exact": 0.8, "word_f1": 0.9}),
        ("vlmevalkit", {"exact": 0.2, "relaxed@0.05": 0.2}, {"exact": 0.2, "relaxed@0.05": 0.4}),
        ("lmms-eval", {"exact": 0.2, "relaxed@0.05": 0.2}, {"exact": 0.0, "relaxed@0.05": 0.2}),
    ],
)
def test_texts(tool: str, ours: dict[str, float], theirs: dict[str, float]) -> None:
    report, made = explained({"answer": TRUTH}, SAID, tool)
    for name, value in made.ours.items():
        assert value == pytest.approx(report[name].value)  # what the report itself says
    assert {name: made.ours[name] for name in ours} == near(ours)
    assert {name: made.theirs[name] for name in theirs} == near(theirs)
    if "anls@0.5" in made.ours:
        assert made.theirs["anls@0.5"] == made.ours["anls@0.5"]  # both carry the same script


YES = ["yes", "yes", "no", "no", "yes", "yes", "no"]
HEARD = ["Yes", "Yes, there is.", "yes", "No", "unsure", "no", "no:"]


@pytest.mark.parametrize(
    ("tool", "theirs"),
    [
        # TP 1, FP 1, TN 1, FN 1, three neither; four of seven true answers are yes
        (
            "lmms-eval",
            {"yn_accuracy": 2 / 7, "yn_precision": 1 / 2, "yn_recall": 1 / 2, "yn_f1": 1 / 2, "yes_ratio": 4 / 7},
        ),
        # "no:" keeps its mark and is neither: TP 2, FP 1, TN 1, FN 1 and one yes missed
        ("vlmevalkit", {"yn_accuracy": 3 / 7, "yn_precision": 2 / 3, "yn_recall": 1 / 2, "yn_f1": 4 / 7}),
    ],
)
def test_yes_and_no(tool: str, theirs: dict[str, float]) -> None:
    report, made = explained({"answer": YES}, HEARD, tool)
    # TP 2, FP 1, TN 2, FN 1, and one yes missed by "unsure"
    ours = {"yn_accuracy": 4 / 7, "yn_precision": 2 / 3, "yn_recall": 1 / 2, "yn_f1": 4 / 7, "yes_ratio": 3 / 6}
    assert made.ours == near({name: ours[name] for name in theirs})
    assert made.ours == near({name: report[name].value for name in theirs})
    assert made.theirs == near(theirs)


def test_outcomes_and_weights_are_not_known_there() -> None:
    """A reply that was cut off counts there, and every unit weighs the same: 2 of 2, here 1 of 4."""
    more = {"outcome": ["ok", "truncated"], "sample_weight": [1.0, 3.0]}
    report, made = explained({"answer": ["a b", "c d"]}, ["a b", "c d"], "lm-eval", **more)
    assert made.ours == near({"exact": 0.25})
    assert report["exact"].value == 0.25
    alone = {step.setting: step.values["exact"] for step in made.steps}
    assert alone["outcome of a reply"] == 1.0
    assert alone["weights of units"] == 0.5
    assert made.theirs == near({"exact": 1.0})


@pytest.mark.parametrize("tool", slow_except(TOOLS, *list(TOOLS)[:3]))
def test_every_setting_that_differs_is_said(tool: str) -> None:
    """All tools say something of any data, in text, Markdown and page; what differs has a reason."""
    for truth, replies in (({"answer": TRUTH}, SAID), ({"answer": YES}, HEARD), (PEOPLE, ["Yes", "3."])):
        report, made = explained(truth, replies, tool)
        assert made.ours
        assert all(step.reason for step in made.steps)
        for text in (report.to_text(), report.to_markdown(), report.to_html()):
            assert f"What {tool} {TOOLS[tool].version} prints for these data" in text


def test_the_command(tmp_path: Path, steelyard) -> None:
    (tmp_path / "t.csv").write_text("question,answer\n1,yes\n2,no\n")
    (tmp_path / "p.csv").write_text("question,answer\n1,Yes.\n2,no\n")
    done = steelyard("evaluate", "answers", "t.csv", "p.csv", "--explain", "lmms-eval,vlmevalkit", "--ci", "none")
    assert done.returncode == 0, done.stderr
    assert "What lmms-eval" in done.stdout
    bad = steelyard("evaluate", "answers", "t.csv", "p.csv", "--explain", "lmm-eval")
    assert (bad.returncode, "lmms-eval" in bad.stderr) == (2, True)
