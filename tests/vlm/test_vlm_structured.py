"""Questions whose answers are JSON or boxes, that show several pictures, or whose options stand in a column."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from support.lazy import lazy
from support.vlm_help import Scripted, completion, picture, serving

from steelyard import api
from steelyard.cli import vlm
from steelyard.core.errors import InputError
from steelyard.vlm.export import write_sides
from steelyard.vlm.frames import read_frames
from steelyard.vlm.journal import read_journal
from steelyard.vlm.kinds import BoxForm, Kind, shown_size
from steelyard.vlm.plan import questions, read_plans
from steelyard.vlm.questions import check_table, read_questions
from steelyard.vlm.readings import read_run
from steelyard.vlm.run import run
from steelyard.vlm.schema import DEEPEST, canonical_json, read_json, schema_of, violation
from steelyard.vlm.score import score

jsonschema = lazy("jsonschema")

BILL = {
    "type": "object",
    "properties": {"total": {"type": "number", "minimum": 0}, "items": {"type": "array", "items": {"type": "string"}}},
    "required": ["total"],
    "additionalProperties": False,
}


def write(folder: Path, rows: list[dict[str, str]], questions: dict) -> None:
    """Frames with pictures of 100 × 50 pixels, and a file of questions."""
    for number, row in enumerate(rows):
        if "image" not in row:
            picture(folder / f"{number}.png", 10 * number, (100, 50))
            row["image"] = f"{number}.png"
    rows = [{"sequence": f"s{number}", "t": "0", **row} for number, row in enumerate(rows)]
    with (folder / "frames.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    (folder / "q.json").write_text(json.dumps({"questions": questions}))


def asked(folder: Path, answer, controls: bool = False, out: str = "run") -> Scripted:
    model = Scripted(answer)
    prompts = tuple(read_questions(folder / "q.json").values())
    frames = read_frames(folder / "frames.csv", shots=[key for prompt in prompts for key in prompt.shots])
    run(frames, model, prompts, folder / out, controls=controls)
    return model


def refused_run(folder: Path) -> str:
    """What `vlm run` says before a model is opened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(vlm, "open_backend", lambda *given: pytest.fail("a model was opened"))
        line = ["run", "frames.csv", "--questions", "q.json", "--model", "openai:m@http://h/v1", "--out", "run"]
        done = CliRunner().invoke(vlm.vlm, line)
    assert isinstance(done.exception, InputError), done.output
    assert not (folder / "run").exists()
    return str(done.exception)


# --- JSON by a schema --------------------------------------------------------------------------------------------

READ = {
    '{"total": 5}': ("ok", '{"total":5}'),
    '{"items": ["b", "a"], "total": 5.0}': ("ok", '{"items":["b","a"],"total":5}'),
    '```json\n{"total": 5}\n```': ("ok", '{"total":5}'),
    'Here it is: {"total": 5}': ("bad_json", ""),
    '{"total": 5} {"total": 6}': ("bad_json", ""),
    '{"total": 5, "total": 6}': ("bad_json", ""),
    '{"total": NaN}': ("bad_json", ""),
    '{"total": 1e999}': ("bad_json", ""),
    '{"total": -1}': ("schema", ""),
    '{"total": "5"}': ("schema", ""),
    '{"total": true}': ("schema", ""),
    '{"total": 5, "tip": 1}': ("schema", ""),
    "{}": ("schema", ""),
    "5": ("schema", ""),
    "I am sorry, I cannot read it.": ("refusal", ""),
    "": ("empty", ""),
}


@pytest.mark.parametrize("reply", READ)
def test_json_is_read(reply: str) -> None:
    answer = Kind("json", schema=canonical_json(BILL)).read(reply, "stop")
    assert (answer.outcome, answer.said) == READ[reply]
    assert Kind("json", schema=canonical_json(BILL)).read(reply, "length").outcome == "truncated"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3).map(lambda x: round(x, 1)) | st.sampled_from(["", "a", "bb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip
PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"]) | st.just(["number", "null"]),
        "minimum": st.integers(-2, 2), "exclusiveMaximum": st.integers(-2, 3), "minLength": st.integers(0, 2),
        "maxItems": st.integers(0, 2), "enum": st.lists(VALUES, min_size=1, max_size=3), "required": st.just(["a"]),
        "additionalProperties": st.booleans(),
    },
)  # fmt: skip
SCHEMAS = st.builds(
    lambda top, items, a: {**top, "items": items, "properties": {"a": a}}, PLAIN, PLAIN, PLAIN
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_schemas_mean_what_json_schema_means(schema, value) -> None:
    """Against the jsonschema package; only 1.0 == 1 and True != 1 are subtle."""
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (violation(value, schema_of(schema)) == "") is expected
    assert read_json(canonical_json(value)) == value


def test_where_a_schema_is_broken() -> None:
    schema = schema_of({"type": "array", "items": BILL})
    assert violation([{"total": 1}, {"total": 2, "items": ["a", 5]}], schema) == "$[1].items[1]"
    assert violation([{"total": 1}, {}], schema) == "$[1].total"
    yaml = schema_of({"type": "integer", "minimum": "0", "enum": ["1", "2"]})  # YAML's values are texts
    assert (violation(2, yaml), violation(3, yaml), violation("2", yaml)) == ("", "$", "$")


def test_json_is_scored(tmp_path: Path) -> None:
    write(
        tmp_path,
        [{"bill": '{"total": 5.0, "items": ["a"]}'}, {"bill": '{"total": 7}'}, {"bill": '{"total": 9}'}, {"bill": ""}],
        {"bill": {"prompt": "Read the bill as JSON.", "target": "bill", "answer": "json", "schema": BILL}},
    )
    replies = {0: '{"items": ["a"], "total": 5}', 10: '```\n{"total": 8}\n```', 20: "nine", 30: '{"total": 1}'}
    model = asked(tmp_path, lambda c: replies[c.picture.load().getpixel((0, 0))[0]])
    assert len(model.asked) == 5  # the third is asked again
    report = score(tmp_path / "run", draws=100).rows[0].report
    values = {spec: one.value for spec, one in report.scores.items()}
    assert values["exact(norm=as_is)"] == pytest.approx(1 / 3)  # of the three whose truth is known
    assert values["answered"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"schema": None}, "schema that cannot be read: schema is not an object"),
        ({"schema": {"type": "text"}}, "schema has the type 'text'; known: object, array"),
        ({"schema": {"$ref": "#/x"}}, "says '$ref', which is not read; known: type"),
        ({"schema": {"properties": {"a": {"pattern": "x"}}}}, "schema/a says 'pattern'"),
        ({"schema": {"minItems": -1}}, "schema/minItems is not a count"),
        ({"schema": BILL, "unit": "g"}, "says 'unit', which an answer of 'json' has not"),
        ({"schema": BILL, "target": "broken"}, "frames.csv, line 2, column 'broken': '{\"total\": \"5\"}' is not JSON that keeps"),
    ],
)  # fmt: skip
def test_schemas_that_are_refused(spec, words: str, tmp_path: Path) -> None:
    base = {"prompt": "Read it.", "target": "bill", "answer": "json"}
    write(tmp_path, [{"bill": '{"total": 5}', "broken": '{"total": "5"}'}], {"bill": base | spec})
    assert words in refused_run(tmp_path)


# --- boxes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "numbers", "expected"),
    [
        (BoxForm("xyxy"), [10, 5, 30, 25], [10, 5, 20, 20]),
        (BoxForm("xywh"), [10, 5, 20, 20], [10, 5, 20, 20]),
        (BoxForm("cxcywh"), [20, 15, 20, 20], [10, 5, 20, 20]),
        (BoxForm("yxyx", "1000"), [100, 100, 500, 300], [10, 5, 20, 20]),  # of 100 × 50 pixels
        (BoxForm("xyxy", "1"), [0.1, 0.1, 0.3, 0.5], [10, 5, 20, 20]),
        (BoxForm("xyxy", "shown", max_side=50), [5, 2.5, 15, 12.5], [10, 5, 20, 20]),  # shown at half its size
        (BoxForm("xyxy", "shown", max_side=200), [10, 5, 30, 25], [10, 5, 20, 20]),  # never enlarged
    ],
)
def test_orders_and_scales(form: BoxForm, numbers, expected) -> None:
    form = BoxForm(form.order, form.scale, (), form.target_order, 100, 50, form.max_side)
    outcome, said = form.read(json.dumps([{"bbox_2d": numbers, "label": "cup"}]))
    assert outcome == "ok"
    (box,) = json.loads(said)
    assert box["box"] == pytest.approx(expected)
    assert (box["label"], box["score"]) == ("cup", 1)


BOX_REPLIES = {
    '[{"box": [10, 5, 30, 25], "label": "Cup", "score": 0.5}]': "ok",
    "[]": "ok",
    '[{"box": [10, 5, 10, 25], "label": "cup"}]': "degenerate",
    '[{"box": [30, 5, 10, 25], "label": "cup"}]': "degenerate",
    '[{"box": [90, 5, 130, 25], "label": "cup"}]': "outside",
    '[{"box": [10, 5, 30], "label": "cup"}]': "schema",
    '[{"box": [10, 5, 30, "25"], "label": "cup"}]': "schema",
    '[{"box": [10, 5, 30, 25], "label": "dog"}]': "schema",
    '[{"box": [10, 5, 30, 25]}]': "schema",
    '[{"box": [10, 5, 30, 25], "label": "cup", "score": 7}]': "schema",
    '[{"box": [10, 5, 30, 25], "bbox": [1, 2, 3, 4], "label": "cup"}]': "schema",
    '{"box": [10, 5, 30, 25], "label": "cup"}': "schema",
    "There is a cup.": "bad_json",
    f'[{{"box": [1{"0" * 400}, 5, 30, 25], "label": "cup"}}]': "bad_json",
}


@pytest.mark.parametrize("reply", BOX_REPLIES)
def test_replies_of_boxes(reply: str) -> None:
    kind = Kind("boxes", boxes=BoxForm(labels=("cup", "plate"), width=100, height=50))
    assert kind.read(reply, "stop").outcome == BOX_REPLIES[reply]


def test_boxes_are_scored_by_their_task(tmp_path: Path) -> None:
    truth = [
        [{"box": [10, 10, 30, 30], "label": "cup"}, {"box": [50, 10, 70, 30], "label": "plate"}],
        [{"box": [10, 10, 30, 30], "label": "cup"}],
        [],
        [{"box": [0, 0, 20, 20], "label": "cup"}],
    ]
    replies = {
        0: '[{"box": [100, 200, 300, 600], "label": "cup"}, {"box": [500, 200, 700, 600], "label": "plate"}]',
        10: '[{"box": [100, 200, 300, 600], "label": "cup"}, {"box": [800, 0, 900, 400], "label": "spoon"}]',
        20: "[]",
        30: "nothing to see",
    }
    spec = {"prompt": "Find all.", "target": "objects", "answer": "boxes", "scale": "1000"}
    write(tmp_path, [{"objects": json.dumps(boxes)} for boxes in truth], {"find": spec})
    asked(tmp_path, lambda c: replies[c.picture.load().getpixel((0, 0))[0]], controls=True)
    result = score(tmp_path / "run", draws=100)
    assert result.task == "boxes"
    row = result.rows[0]
    values = {spec: one.value for spec, one in row.report.scores.items()}
    # Three of four objects; one box that is none. By hand: recall 3/4, precision 3/4.
    assert (values["recall"], values["precision"]) == (0.75, 0.75)
    assert values["mean_iou"] == pytest.approx(1)
    assert row.outcomes == {"ok": 3, "bad_json": 1}
    assert set(row.controls) == {"blank", "swapped"}
    # The same as `evaluate boxes` of the same boxes.
    plain = api.evaluate(
        "boxes",
        {"images": ["a", "b", "c", "d"], "image": ["a", "a", "b", "d"], "label": ["cup", "plate", "cup", "cup"],
         "x": [10, 50, 10, 0], "y": [10, 10, 10, 0], "w": [20] * 4, "h": [20] * 4},
        {"image": ["a", "a", "b", "b"], "label": ["cup", "plate", "cup", "spoon"], "x": [10, 50, 10, 80], "y": [10, 10, 10, 0],
         "w": [20, 20, 20, 10], "h": [20] * 4, "score": [1] * 4},
        ["map50"], confidence=None, extra="skip",
    )  # fmt: skip
    assert values["map50"] == plain["map50"].value
    result.to_text()
    result.to_html(tmp_path / "page.html")
    truth_file, given_file = write_sides(read_run(tmp_path / "run"), tmp_path / "sides")
    again = api.evaluate("boxes", truth_file, given_file, ["map50", "recall"], confidence=None, extra="skip")
    assert (again["map50"].value, again["recall"].value) == (values["map50"], 0.75)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"format": "yolo"}, "has the format 'yolo' of boxes. Known: xyxy, xywh, cxcywh, yxyx"),
        ({"scale": "big"}, "has the scale 'big'. Known: pixels, shown"),
        ({"labels": ["cup", "Cup"]}, "has a label twice"),
        ({"labels": ["plate"]}, "line 2, column 'objects'"),
        ({"target": "bad"}, "frames.csv, line 2, column 'bad': '[{\"box\": [9, 9, 1, 1]"),
    ],
)
def test_boxes_that_are_refused(spec, words: str, tmp_path: Path) -> None:
    base = {"prompt": "Find all.", "target": "objects", "answer": "boxes"}
    row = {"objects": '[{"box": [1, 1, 9, 9], "label": "cup"}]', "bad": '[{"box": [9, 9, 1, 1], "label": "cup"}]'}
    write(tmp_path, [row], {"find": base | spec})
    assert words in refused_run(tmp_path)


def test_boxes_on_a_turned_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 6
    Image.new("RGB", (100, 50)).save(tmp_path / "turned.jpg", exif=exif)
    row = {"objects": '[{"box": [1, 1, 9, 9], "label": "cup"}]', "image": "turned.jpg"}
    write(tmp_path, [row], {"find": {"prompt": "Find all.", "target": "objects", "answer": "boxes"}})
    model = asked(tmp_path, lambda c: "[]")
    assert model.asked == []
    (taken,) = read_run(tmp_path / "run").taken
    assert taken.answer.outcome == "failed"


# --- one box or point -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "height", "most", "multiple", "expected"),
    [
        (100, 50, 200, 0, (100, 50)),
        (100, 50, 50, 0, (50, 25)),
        (641, 427, 320, 0, (320, 213)),
        (427, 641, 320, 0, (213, 320)),
        (3000, 1, 100, 0, (100, 1)),
        (640, 427, 0, 28, (644, 420)),  # 22.86 and 15.25 times 28
        (10, 500, 0, 28, (28, 504)),
    ],
)
def test_the_size_that_is_sent(width: int, height: int, most: int, multiple: int, expected: tuple[int, int]) -> None:
    assert shown_size(width, height, most, multiple) == expected
    if not multiple:  # what Pillow sends
        image = Image.new("L", (width, height))
        image.thumbnail((most, most))
        assert image.size == expected


PLACES = {
    ("box", "[10, 5, 30, 25]"): ("ok", "[[10,5,30,25]]"),
    ("box", '{"bbox_2d": [10, 5, 30, 25]}'): ("ok", "[[10,5,30,25]]"),
    ("box", "null"): ("ok", "[]"),
    ("box", "[10, 5, 10, 25]"): ("degenerate", ""),
    ("box", "[30, 5, 10, 25]"): ("degenerate", ""),
    ("box", "[90, 5, 130, 25]"): ("outside", ""),
    ("box", "[10, 5]"): ("schema", ""),
    ("box", "at 12, 3 and 4 o'clock, 90 % sure"): ("no_answer", ""),
    ("point", "[10, 5]"): ("ok", "[[10,5]]"),
    ("point", '{"point_2d": [10, 5]}'): ("ok", "[[10,5]]"),
    ("point", "[10, 55]"): ("outside", ""),
    ("point", "[10, 5, 30, 25]"): ("schema", ""),
}


@pytest.mark.parametrize(("kind", "reply"), PLACES)
def test_replies_of_one_place(kind: str, reply: str) -> None:
    answer = Kind(kind, boxes=BoxForm(width=100, height=50)).read(reply, "stop")
    assert (answer.outcome, answer.said) == PLACES[kind, reply]


@pytest.mark.parametrize(
    ("scale", "reply", "said"),
    [
        # By hand: an image of 100 by 50 in a square of 100, with 25 rows of padding above it or none.
        ("square:centre:1000", "[100, 300, 300, 500]", "[[10,5,30,25]]"),
        ("square:corner:100", "[10, 5, 30, 25]", "[[10,5,30,25]]"),
    ],
)
def test_places_in_an_image_that_was_padded(scale: str, reply: str, said: str) -> None:
    form = BoxForm(scale=scale, width=100, height=50)
    assert Kind("box", boxes=form).read(reply, "stop").said == said
    assert Kind("point", boxes=form).read(reply.rpartition(",")[0].rpartition(",")[0] + "]", "stop").said == "[[10,5]]"
    (box,) = json.loads(Kind("boxes", boxes=form).read(f'[{{"box": {reply}, "label": "cup"}}]', "stop").said)
    assert box["box"] == [10, 5, 20, 20]
    assert Kind("point", boxes=replace(form, scale="square:centre:100")).read("[10, 20]", "stop").outcome == "outside"


def test_places_are_scored_by_grounding(tmp_path: Path) -> None:
    """Two expressions of one picture are one unit; nothing there is an answer, and no answer is wrong."""
    for number, shade in enumerate((0, 10)):
        picture(tmp_path / f"{number}.png", shade, (100, 50))
    truth = [("0.png", "cup", "[10, 10, 20, 20]"), ("0.png", "fork", "[50, 10, 20, 20]"), ("1.png", "dog", "null")]
    rows = [{"image": image, "thing": thing, "where": box} for image, thing, box in truth]
    spec = {"target": "where", "answer": "box", "format": "yxyx", "scale": "1000", "target_format": "xywh"}
    point = {"target": "where", "answer": "point", "target_format": "xywh"}
    write(
        tmp_path,
        rows,
        {"find": {"prompt": "Where is the {thing}?", **spec}, "click": {"prompt": "Click on the {thing}.", **point}},
    )
    replies = {
        "Where is the cup?": "[200, 100, 600, 300]",
        "Where is the fork?": "I see none.",
        "Where is the dog?": "null",
        "Click on the cup.": "[20, 20]",
        "Click on the fork.": "[10, 10]",
        "Click on the dog.": "[1, 1]",
    }
    asked(tmp_path, lambda c: replies.get(c.texts[0], "pardon"))
    result = score(tmp_path / "run", draws=100)
    find, click = (row.report for row in result.rows)
    assert (result.task, find["exact_set"].units) == ("grounding", 2)
    values = {name: entry.value for name, entry in find.scores.items()}
    assert values["exact_set"] == pytest.approx(2 / 3)
    assert (values["n_acc"], values["t_acc"], values["answered"]) == (1, 0.5, pytest.approx(2 / 3))
    assert (click["pointing"].value, click["answered"].value) == (0.5, 1)
    files = write_sides(read_run(tmp_path / "run"), tmp_path / "sides")
    again = api.evaluate("grounding", *[f for f in files if "find" in f], confidence=None)
    assert again["exact_set"].value == values["exact_set"]


# --- several pictures --------------------------------------------------------------------------------------------

DIFFERENT = {"prompt": "Which is darker?", "target": "darker", "answer": "choice", "options": ["first", "second"]}


def greys(conversation) -> list[int]:
    return [shown.load().getpixel((0, 0))[0] for shown in conversation.pictures]


def test_several_columns_of_pictures(tmp_path: Path) -> None:
    for grey in (10, 20, 30, 40):
        picture(tmp_path / f"{grey}.png", grey)
    rows = [
        {"image": "10.png", "other": "20.png", "darker": "A"},
        {"image": "40.png", "other": '["20.png", "30.png"]', "darker": "B"},
        {"image": "40.png", "other": "gone.png", "darker": "B"},
    ]
    write(tmp_path, rows, {"pair": DIFFERENT | {"images": ["image", "other"]}, "one": DIFFERENT})
    model = asked(tmp_path, lambda c: "A" if greys(c)[0] < greys(c)[-1] else "B", controls=True)
    seen = [greys(c) for c in model.asked]
    assert [10, 20] in seen
    assert [40, 20, 30] in seen
    assert [128, 128, 128] in seen
    assert [10] in seen
    journal = read_journal(tmp_path / "run")
    frames = read_frames(tmp_path / "frames.csv", shots=["image", "other"])
    digests = [shots.digest for shots in (*frames[0].shots["image"].pictures, *frames[0].shots["other"].pictures)]
    assert "+".join(digests) in {reading.image for reading in journal.values()}
    assert len(journal) == len(set(journal))
    again = asked(tmp_path, lambda c: pytest.fail("asked again"), controls=True)  # all is held
    assert again.asked == []
    taken = [t for t in read_run(tmp_path / "run").taken if t.prompt == "pair" and t.variant == "real"]
    assert [t.answer.outcome for t in taken] == ["ok", "ok", "failed"]
    assert "there is no such image" in taken[2].problem
    values = {
        r.prompt: {spec: one.value for spec, one in r.report.scores.items()}
        for r in score(tmp_path / "run", draws=100).rows
    }
    assert values["pair"]["choice"] == pytest.approx(2 / 3)  # what could not be asked is wrong


def test_frames_of_a_video(tmp_path: Path) -> None:
    folder = tmp_path / "video"
    folder.mkdir()
    for number in range(10):
        picture(folder / f"{number:03}.png", 10 * number)
    (folder / "notes.txt").write_text("no picture")
    write(
        tmp_path,
        [{"image": "video", "darker": "A"}],
        {"few": DIFFERENT | {"images": "image", "frames": 4}, "all": DIFFERENT | {"images": ["image"], "frames": 20}},
    )
    model = asked(tmp_path, lambda c: "A")
    # Even steps over ten: 0, 3, 6, 9.
    assert [greys(c) for c in model.asked] == [[0, 30, 60, 90], [10 * n for n in range(10)]]
    (plan,) = read_plans(tmp_path / "run")
    assert [q.problem for q in questions(plan, read_run(tmp_path / "run").frames)] == ["", ""]


def test_several_pictures_where_one_is_shown(tmp_path: Path) -> None:
    (tmp_path / "video").mkdir()
    rows = [{"image": "video", "darker": "A"}, {"image": '["a.png"', "darker": "A"}]
    write(tmp_path, rows, {"one": DIFFERENT, "all": DIFFERENT | {"images": "image", "frames": 2}})
    assert asked(tmp_path, lambda c: "A").asked == []
    problems = [(t.frame.sequence, t.prompt, t.problem) for t in read_run(tmp_path / "run").taken]
    for (sequence, prompt, problem), words in zip(
        problems,
        [
            "the image is a folder",
            "the folder holds no images",
            "and the question shows one",
            "is not a list of images",
        ],
        strict=True,
    ):
        assert words in problem, (sequence, prompt)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"images": ["image", "othr"]}, "has its images in the column 'othr', which frames.csv has not"),
        ({"images": []}, "has images that are not column names"),
        ({"images": ["image", "image"]}, "shows a column of images twice"),
        ({"frames": 1}, "has the frames '1'"),
        ({"frames": "many"}, "has the frames 'many'"),
    ],
)
def test_pictures_that_are_refused(spec, words: str, tmp_path: Path) -> None:
    write(tmp_path, [{"darker": "A"}], {"pair": DIFFERENT | spec})
    assert words in refused_run(tmp_path)


def test_a_server_is_sent_all_pictures(tmp_path: Path) -> None:
    for grey in (10, 20):
        picture(tmp_path / f"{grey}.png", grey)
    write(
        tmp_path,
        [{"image": '["10.png", "20.png"]', "darker": "A"}],
        {"pair": DIFFERENT | {"images": "image", "frames": 2}},
    )
    with serving(lambda h, n, b: h.send(completion("A"))) as server:
        line = [
            "run",
            str(tmp_path / "frames.csv"),
            "--questions",
            str(tmp_path / "q.json"),
            "--out",
            str(tmp_path / "run"),
        ]
        done = CliRunner().invoke(vlm.vlm, [*line, "--model", f"openai:m@{server.url}"])
    assert done.exit_code == 0, done.output
    assert "1 with an answer" in done.output
    assert [part["type"] for part in server.requests[0][2]["messages"][0]["content"]] == [
        "image_url",
        "image_url",
        "text",
    ]


# --- options of a column -----------------------------------------------------------------------------------------


def test_options_of_a_column(tmp_path: Path) -> None:
    rows = [
        {"choices": '["a cat", "a dog"]', "animal": "a dog"},
        {"choices": '{"A": "a cow", "B": "a hen", "C": "a pig"}', "animal": "C"},
        {"choices": '["a cat", "a dog"]', "animal": "A", "image": "gone.png"},
    ]
    spec = {"prompt": "Which?\n{options}", "target": "animal", "answer": "choice", "options_column": "choices"}
    write(tmp_path, rows, {"which": spec})
    model = asked(tmp_path, lambda c: "B" if "a dog" in c.texts[0] else "a hen" if len(c.texts) > 1 else "E")
    texts = [c.texts for c in model.asked]
    assert texts[0] == ("Which?\nA. a cat\nB. a dog",)
    assert texts[2] == ("Which?\nA. a cow\nB. a hen\nC. a pig", "E", texts[2][2])
    assert texts[2][2].endswith("the letter of one option (A, B, C). Nothing else.")
    taken = read_run(tmp_path / "run").taken
    assert [t.answer.said for t in taken] == ["B", "B", ""]
    values = {spec: one.value for spec, one in score(tmp_path / "run", draws=100).rows[0].report.scores.items()}
    assert values["choice"] == pytest.approx(1 / 3)
    assert values["answered"] == pytest.approx(2 / 3)
    again = asked(tmp_path, lambda c: pytest.fail("asked again"))
    assert again.asked == []


@pytest.mark.parametrize(
    ("cell", "truth", "spec", "words"),
    [
        ("a cat, a dog", "A", {}, "frames.csv, line 2, column 'choices': 'a cat, a dog' holds no options"),
        ('["a cat"]', "A", {}, "is a choice of one option"),
        ('["a cat", "a dog"]', "C", {}, "line 2, column 'animal': 'C' is not one of the options"),
        ('["a cat", "a dog"]', "A", {"options_column": "chioces"}, "its options in the column 'chioces', which frames.csv has not"),
        ('["a cat", "a dog"]', "A", {"options": ["x", "y"]}, "an options_column beside options"),
    ],
)  # fmt: skip
def test_options_that_are_refused(cell: str, truth: str, spec, words: str, tmp_path: Path) -> None:
    base = {"prompt": "Which?\n{options}", "target": "animal", "answer": "choice", "options_column": "choices"}
    write(tmp_path, [{"choices": cell, "animal": truth}], {"which": base | spec})
    assert words in refused_run(tmp_path)


def test_checks_hold_for_tables(tmp_path: Path) -> None:
    from steelyard.io.read import read_table

    write(tmp_path, [{"choices": '["a", "b"]', "animal": "A"}], {"which": DIFFERENT | {"target": "animal"}})
    check_table(list(read_questions(tmp_path / "q.json").values()), read_table(tmp_path / "frames.csv", "frames"), "q")
    assert math.isnan(read_frames(tmp_path / "frames.csv")[0].weight)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"properties": 7}, "schema/properties is not an object"),
        ({"required": "a"}, "schema/required is not a list of names"),
        ({"required": [7]}, "schema/required is not a list of names"),
        ({"additionalProperties": "perhaps"}, "schema/additionalProperties is neither true nor false"),
        ({"additionalProperties": 1}, "schema/additionalProperties is neither true nor false"),
        ({"enum": []}, "schema/enum is not a list of values"),
        ({"enum": "a"}, "schema/enum is not a list of values"),
    ],
)
def test_schemas_with_parts_of_another_kind(schema: Any, text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(text)}$"):
        schema_of(schema)


def test_a_schema_is_nested_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> dict[str, Any]:
        return {"items": nested(depth - 1)} if depth else {"type": "string"}

    assert schema_of(nested(DEEPEST)) == nested(DEEPEST)
    with pytest.raises(ValueError, match=r"^the schema is nested too deep$"):
        schema_of(nested(DEEPEST + 1))


def test_titles_of_a_schema_are_passed_over_and_a_constant_holds() -> None:
    schema = schema_of({"title": "a thing", "const": "tea"})
    assert schema == {"const": "tea"}
    assert [violation(value, schema) for value in ("tea", "cup")] == ["", "$"]
