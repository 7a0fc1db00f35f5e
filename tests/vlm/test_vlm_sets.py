"""The sets of questions that come with the package: what they ask, how replies are read, and what is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.refusal import refuses
from support.vlm_help import Scripted, grey_of, picture

from steelyard.io.table import Table
from steelyard.vlm.frames import frame_table, read_frames
from steelyard.vlm.prompts import PROMPTS, SETS, choose_prompts
from steelyard.vlm.questions import check_table, read_questions
from steelyard.vlm.run import run
from steelyard.vlm.score import score


def ask(folder: Path, rows: list[str], name: str, answer) -> Scripted:
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")
    prompts = choose_prompts((), None, "", name)
    table = frame_table(folder / "frames.csv")
    check_table(prompts, table, name)
    frames = read_frames(folder / "frames.csv", shots=[key for prompt in prompts for key in prompt.shots])
    model = Scripted(answer)
    run(frames, model, prompts, folder / "run")
    return model


def test_the_four_prompts_of_the_paper_are_a_set() -> None:
    assert [prompt.text for prompt in choose_prompts((), None, "", "food")] == [p.text for p in PROMPTS.values()]


@pytest.mark.parametrize("name", list(SETS))
def test_sets_can_be_read_again_from_a_plan(name: str) -> None:
    from steelyard.vlm.questions import question

    for key, prompt in read_questions(SETS[name]).items():
        assert question(key, {**json.loads(json.dumps(prompt.spec)), "prompt": prompt.text}, "run.json") == prompt


def test_a_portion_beside_an_object(tmp_path: Path) -> None:
    rows = ["sequence,t,image,food,weight,reference"]
    for number, grams in enumerate((50, 90)):
        picture(tmp_path / f"{number}.png", grams)
        rows.append(f"s{number},0,{number}.png,rice,{grams},a fork of 19 cm")
    model = ask(tmp_path, rows, "portion", lambda c: str(grey_of(c) + 10 * ("rice" in c.texts[0])))
    assert all("a fork of 19 cm" in talk.texts[0] for talk in model.asked)
    plain, named = score(tmp_path / "run", ["mae"], task="weights", confidence=None).rows
    assert (plain.report["mae"].value, named.report["mae"].value) == (0, 10)


def test_what_was_eaten_between_two_images(tmp_path: Path) -> None:
    rows = ["sequence,t,before,after,weight_before,weight_after"]
    for number, (before, after) in enumerate(((200, 80), (150, 150), (90, 10), (70, ""))):
        picture(tmp_path / f"{number}b.png", before)
        picture(tmp_path / f"{number}a.png", after or 0)
        rows.append(f"s{number},0,{number}b.png,{number}a.png,{before},{after}")

    def answer(conversation):
        first, second = (int(p.load().getpixel((0, 0))[0]) for p in conversation.pictures)
        return str(first - second + 5)

    model = ask(tmp_path, rows, "eaten", answer)
    assert [len(talk.pictures) for talk in model.asked] == [2] * 4
    (row,) = score(tmp_path / "run", ["mae", "bias"], confidence=None).rows
    assert row.report["mae"].value == pytest.approx(5)  # of the three whose difference is known
    assert row.report.coverage.truth == 3


def test_differences_that_are_refused(tmp_path: Path) -> None:
    columns = {"before": ["a.png"], "after": ["b.png"], "weight_before": ["90"]}
    prompts = choose_prompts((), None, "", "eaten")
    with refuses("E-missing-column", "weight_after"):
        check_table(prompts, Table("frames.csv", columns), "eaten")
    for weight in ("much", "120"):  # a text; more than there was
        with refuses("E-invalid-value", "weight_before - weight_after"):
            check_table(prompts, frame_table_of(tmp_path, {**columns, "weight_after": [weight]}), "eaten")


def frame_table_of(folder: Path, columns: dict[str, list[str]]) -> Table:
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")
    return frame_table(folder / "frames.csv")


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"minus": 3}, ("3",)),
        ({"minus": "b", "answer": "text"}, ("text",)),
        ({"minus": "b", "prompt": "{b} grams are left. How many were eaten?"}, ("b",)),
    ],
)
def test_questions_with_a_difference_that_are_refused(tmp_path: Path, more: dict, names: tuple[str, ...]) -> None:
    spec = {"prompt": "How many?", "target": "a", "answer": "number", **more}
    (tmp_path / "q.json").write_text(json.dumps({"questions": {"eaten": spec}}))
    with refuses("E-invalid-setting", *names):
        read_questions(tmp_path / "q.json")
