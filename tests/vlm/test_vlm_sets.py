"""The sets of questions that come with the package: what they ask, how replies are read, and what is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.refusal import refuses
from support.vlm_help import Scripted, grey_of, picture

import steelyard as sy
from steelyard.io.table import Table
from steelyard.tasks.nutrients.data import TARGETS
from steelyard.vlm.export import write_sides
from steelyard.vlm.frames import frame_table, read_frames
from steelyard.vlm.kinds import NUTRIENTS, Kind, nutrient_schema
from steelyard.vlm.prompts import PROMPTS, SETS, choose_prompts
from steelyard.vlm.questions import check_table, read_questions
from steelyard.vlm.readings import read_run
from steelyard.vlm.run import run
from steelyard.vlm.schema import canonical_json
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


def test_pages_as_markdown_and_html(tmp_path: Path) -> None:
    """Two pages of a document: the Markdown of the second loses 1 of 12 letters, and a long line is not too long."""
    rows = ["sequence,t,image,markdown"]
    for number, text in enumerate(("# One\n\n" + "word " * 3000, "twelve words")):
        picture(tmp_path / f"{number}.png", 10 * (number + 1))
        rows.append(f'doc,{number},{number}.png,"{text}"')

    def answer(conversation) -> str:
        first = grey_of(conversation) == 10
        if "HTML (" not in conversation.texts[0] and "to HTML" in conversation.texts[0]:
            return (
                "<html><h1>One</h1><p>" + "word " * 3000 + "</p></html>"
                if first
                else "<body><p>twelve words</p></body>"
            )
        return "# One\n" + "word " * 3000 if first else "twelve word"

    ask(tmp_path, rows, "pages", answer)
    plain, html = score(tmp_path / "run", ["text_edit"], confidence=None).rows
    assert plain.report.task == "documents"
    assert plain.report["text_edit"].value == pytest.approx(1 / 12 / 2)
    assert html.report["text_edit"].value == 0


# --- nutrients --------------------------------------------------------------------------------------------------------

DISHES = {"a": (300, 400, 10, 50, 20), "b": (200, 500, 20, 40, 30), "c": (100, 100, 0, 20, "")}
NAMES = ("mass", "energy", "fat", "carbohydrate", "protein")


def nutrients(folder: Path, answer) -> None:
    rows = ["sequence,t,image,food,ingredients," + ",".join(NAMES)]
    for number, (dish, values) in enumerate(DISHES.items()):
        picture(folder / f"{dish}.png", 10 * (number + 1))
        rows.append(f"{dish},0,{dish}.png,rice,rice=100|bean=20,{','.join(map(str, values))}")
    ask(folder, rows, "nutrients", answer)


def doubled(conversation) -> str:
    """Twice the true mass and all else as it is; protein of c, which is unknown, is 5."""
    dish = list(DISHES)[grey_of(conversation) // 10 - 1]
    values = [value if value != "" else 5 for value in DISHES[dish]]
    return json.dumps(dict(zip(NAMES, [2 * values[0], *values[1:]], strict=True)))


def test_nutrients_by_hand(tmp_path: Path) -> None:
    nutrients(tmp_path, doubled)
    plain, named = score(tmp_path / "run", ["mae", "pmae"], confidence=None).rows
    scores = {spec: one.value for spec, one in plain.report.scores.items()}
    assert scores["mae(target=mass)"] == pytest.approx(200)
    assert scores["pmae(target=mass)"] == pytest.approx(100)
    assert scores["mae(target=energy)"] == scores["mae(target=protein)"] == 0
    assert plain.report.task == "nutrients"
    assert named.report.scores.keys() == plain.report.scores.keys()
    defaults = score(tmp_path / "run", confidence=None)
    assert "split_mass" in str(defaults.rows[0].report.scores.keys())


def test_a_reply_that_is_not_nutrients_is_missing(tmp_path: Path) -> None:
    nutrients(tmp_path, lambda c: "a salad" if grey_of(c) == 10 else doubled(c))
    plain, _ = score(tmp_path / "run", ["mae"], confidence=None).rows
    assert (plain.parsed, plain.readings, plain.outcomes["bad_json"]) == (2, 3, 1)
    assert plain.report["mae(target=mass)"].value == pytest.approx(150)  # of b and c
    worst, _ = score(tmp_path / "run", ["mae"], confidence=None, missing="worst").rows
    assert worst.report["mae(target=energy)"].value == pytest.approx(400 / 3)


def test_ingredients_by_hand(tmp_path: Path) -> None:
    rows = ["sequence,t,image,ingredients"]
    for number in range(2):
        picture(tmp_path / f"{number}.png", number)
        rows.append(f"s{number},0,{number}.png,rice=100|bean=20")
    said = [{"ingredients": [{"name": "Rice", "grams": 90}, {"name": "fig"}]}, {"ingredients": ["rice", "bean"]}]
    ask(tmp_path, rows, "ingredients", lambda c: json.dumps(said[grey_of(c)]))
    (row,) = score(tmp_path / "run", ["ingredient_f1", "ingredient_jaccard"], confidence=None).rows
    assert row.report["ingredient_f1"].value == pytest.approx((0.5 + 1) / 2)
    assert row.report["ingredient_jaccard"].value == pytest.approx((1 / 3 + 1) / 2)


def test_files_of_nutrients_are_taken_by_evaluate(tmp_path: Path) -> None:
    nutrients(tmp_path, doubled)
    files = write_sides(read_run(tmp_path / "run"), tmp_path / "out")
    assert [Path(path).name for path in files[:2]] == ["nutrients-truth.csv", "scripted--nutrients.csv"]
    report = sy.evaluate("nutrients", files[0], files[1], "mae", confidence=None)
    assert report["mae(target=mass)"].value == pytest.approx(200)


def test_nutrients_and_repeats(tmp_path: Path) -> None:
    rows = ["sequence,t,image,mass,energy"]
    for number in range(4):
        picture(tmp_path / f"{number}.png", 50 + number)
        rows.append(f"s{number},0,{number}.png,100,200")
    (tmp_path / "frames.csv").write_text("\n".join(rows) + "\n")
    spec = {"prompt": "What is it?", "target": "mass, energy", "answer": "nutrients"}
    (tmp_path / "q.json").write_text(json.dumps({"questions": {"two": spec}}))
    prompts = tuple(read_questions(tmp_path / "q.json").values())
    model = Scripted(lambda c: json.dumps({"mass": 110 + 10 * c.repeat + grey_of(c) - 50, "energy": 200}))
    run(read_frames(tmp_path / "frames.csv"), model, prompts, tmp_path / "run", repeat=3)
    (row,) = score(tmp_path / "run", ["mae"]).rows
    assert row.report["mae(target=mass)"].runs.values == pytest.approx((11.5, 21.5, 31.5))
    assert row.repeats == 3


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ('{"mass": 310, "energy": 425}', "ok"),
        ('```json\n{"mass": 310, "energy": 425}\n```', "ok"),
        ('{"mass": 310}', "schema"),
        ('{"mass": 310, "energy": 425, "joy": 1}', "schema"),
        ('{"mass": "310 g", "energy": 425}', "schema"),
        ('{"mass": -1, "energy": 425}', "schema"),
        ('{"mass": 1e9, "energy": 425}', "schema"),
        ('{"mass": NaN, "energy": 425}', "bad_json"),
        ('{"mass": 310, "mass": 311, "energy": 425}', "bad_json"),
        ("[310, 425]", "schema"),
        ('Here it is: {"mass": 310, "energy": 425}', "bad_json"),
        ("I'm sorry, but I cannot help with that.", "refusal"),
    ],
)
def test_how_replies_with_nutrients_are_read(reply: str, outcome: str) -> None:
    kind = Kind("nutrients", schema=canonical_json(nutrient_schema(("mass", "energy"))))
    assert kind.read(reply, "stop").outcome == outcome


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ('{"ingredients": []}', "ok"),
        ('{"ingredients": ["rice", {"name": "bean", "grams": 2}]}', "ok"),
        ('{"ingredients": ["rice|bean"]}', "schema"),
        ('{"ingredients": ["rice=2"]}', "schema"),
        ('{"ingredients": [" "]}', "schema"),
        ('{"ingredients": [{"grams": 2}]}', "schema"),
        ('{"ingredients": [3]}', "schema"),
        ('{"ingredients": "rice"}', "schema"),
    ],
)
def test_how_lists_of_ingredients_are_read(reply: str, outcome: str) -> None:
    kind = Kind("nutrients", schema=canonical_json(nutrient_schema(("ingredients",))))
    assert kind.read(reply, "stop").outcome == outcome


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"target": "mass, joy"}, ("joy",)),
        ({"target": "mass, mass"}, ("twice",)),
        ({"target": ","}, ("none",)),
        ({"target": "mass", "unit": "g"}, ("unit",)),
        ({"target": "mass", "schema": {"type": "object"}}, ("schema",)),
        ({"target": "mass", "prompt": "It weighs {mass} g."}, ("mass",)),
    ],
)
def test_questions_for_nutrients_that_are_refused(tmp_path: Path, more: dict, names: tuple[str, ...]) -> None:
    spec = {"prompt": "What is it?", "answer": "nutrients", **more}
    (tmp_path / "q.json").write_text(json.dumps({"questions": {"q": spec}}))
    with refuses("E-invalid-setting", *names):
        read_questions(tmp_path / "q.json")


@pytest.mark.parametrize("cell", ["much", "-3", "inf", "1_0"])
def test_true_nutrients_that_are_refused(tmp_path: Path, cell: str) -> None:
    (tmp_path / "q.json").write_text(
        json.dumps({"questions": {"q": {"prompt": "What?", "target": "mass, energy", "answer": "nutrients"}}})
    )
    prompts = tuple(read_questions(tmp_path / "q.json").values())
    with refuses("E-invalid-value", "mass, energy"):
        check_table(prompts, frame_table_of(tmp_path, {"image": ["a.png"], "mass": [cell], "energy": ["2"]}), "q.json")


def test_targets_are_those_of_the_task() -> None:
    assert tuple(TARGETS) == NUTRIENTS
