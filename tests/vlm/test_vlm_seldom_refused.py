"""Bad questions, cells and journals of model runs that few people have: each is refused with its own message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.vlm_help import picture

from steelyard.core.errors import InputError
from steelyard.vlm.journal import NAME, Journal, read_journal
from steelyard.vlm.question_file import read_file
from steelyard.vlm.question_kinds import kind_of, kind_spec
from steelyard.vlm.shots import read_shots, stored_shots

TURN = {"reply": "7", "finish": "stop", "ask": "a", "latency": 1.0, "attempts": 1, "usage": {}}


def line(**changed: Any) -> str:
    whole = {"key": 32 * "0", "state": "d", "model": "m", "prompt": "p", "image": "i", "turns": [TURN], **changed}
    return json.dumps({key: value for key, value in whole.items() if value is not None}, separators=(",", ":")) + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tea\n", "it begins like no reading"),
        ('{"key":"a\n', "Invalid control character"),
        ('{"text":"a"}\n', "it holds no text"),
        (line(model=7), "a name is no text"),
        (line(model=None), "'model' is missing"),
        (line(turns=7), "its turns are no turns"),
        (line(turns=[7]), "its turns are no turns"),
        (line(turns=[{**TURN, "reply": 7}]), "a turn holds values of another kind"),
        (line(turns=[{**TURN, "latency": "long"}]), "a turn holds values of another kind"),
        (line(turns=[{**TURN, "usage": []}]), "a turn holds values of another kind"),
    ],
)
def test_damaged_lines(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(line() + text)
    with pytest.raises(InputError, match=f"line 2: the line is damaged .*{why}"):
        read_journal(tmp_path)


def test_journals_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no journal"):
        read_journal(tmp_path)
    (tmp_path / NAME).write_text("tea\n")
    with pytest.raises(InputError, match="it begins like no reading"):
        Journal(tmp_path)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with pytest.raises(InputError, match="the journal is no ordinary file"):
        read_journal(tmp_path)


def refuse(what: str, remedy: str) -> InputError:
    return InputError(f"question 'q' {what}", remedy=remedy)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"answer": "numbr"}, "wants the answer 'numbr', which is not known"),
        ({"answer": "text", "options": ["a", "b"]}, "says 'options', which an answer of 'text' has not"),
        ({"answer": "number", "unit": [7]}, "has a unit that is no text"),
        ({"answer": "number", "unit": 7}, "has a unit that is no text"),
        ({"answer": "number", "min": 2, "max": 1}, "has a min of 2 above its max of 1"),
        ({"answer": "number", "min": True}, "has the min 'True', which is no number"),
        ({"answer": "number", "max": "much"}, "has the max 'much', which is no number"),
        ({"answer": "number", "max": 10**400}, "which is no number"),
        ({"answer": "choice"}, "is a choice without options"),
        ({"answer": "choice", "options": ["a"]}, "is a choice of one option"),
        ({"answer": "choice", "options": ["a"] * 99}, "has 99 options"),
        ({"answer": "choice", "options": {"AB": "a", "C": "b"}}, "has the option 'AB', which is no letter"),
        ({"answer": "choice", "options": {"A": "a", "a": "b"}}, "has the letter 'A' twice"),
        ({"answer": "choice", "options": ["a b", "A  B"]}, "has the option 'a b' twice"),
        ({"answer": "choice", "options": ["a", True]}, "has the option 'True', which is no text"),
        ({"answer": "choice", "options": ["a", " "]}, "has the option ' ', which is no text"),
        ({"answer": "choice", "options_column": " "}, "has an options_column beside options, or one that is no text"),
        ({"answer": "choice", "options": ["a"], "options_column": "o"}, "has an options_column beside options"),
        ({"answer": "json"}, "has a schema that cannot be read"),
        ({"answer": "boxes", "format": "abcd"}, "has the format 'abcd' of boxes"),
        ({"answer": "boxes", "scale": "inches"}, "has the scale 'inches'"),
        ({"answer": "boxes", "labels": "cup"}, "has labels that are no texts"),
        ({"answer": "boxes", "labels": ["cup", "CUP"]}, "has a label twice"),
    ],
)  # fmt: skip
def test_kinds_of_answers(spec: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        kind_of(spec, refuse)


@pytest.mark.parametrize(
    "spec",
    [
        {"answer": "number", "unit": ["kcal"], "min": 0.0, "max": 9.0},
        {"answer": "choice", "options": {"A": "a cat", "B": "a dog"}},
        {"answer": "boxes", "format": "xywh", "scale": "1000", "target_format": "xyxy", "labels": ["cup"]},
        {"answer": "json", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    ],
)
def test_a_kind_is_written_as_it_was_read(spec: dict[str, Any]) -> None:
    kind = kind_of(spec, refuse)
    assert kind_of({"answer": spec["answer"], **kind_spec(kind)}, refuse) == kind
    assert {"answer": spec["answer"], **kind_spec(kind)} == spec


def test_cells_of_pictures(tmp_path: Path) -> None:
    for grey, name in enumerate("abc"):
        picture(tmp_path / f"{name}.png", grey)
    (tmp_path / "none").mkdir()
    for cell, problem in (
        ("", "no image is named"),
        ("[", "is no list of images"),
        ("[7]", "is no list of images"),
        ("none", "the folder holds no images"),
        ("z.png", "there is no such image"),
    ):
        assert problem in read_shots(tmp_path, cell, "image", {}).problem
    assert len(read_shots(tmp_path, ".", "image", {}).pictures) == 3
    first, last = read_shots(tmp_path, ".", "image#2", {}).pictures
    assert (first, last) == tuple(read_shots(tmp_path, f'["{name}.png"]', "image", {}).pictures[0] for name in "ac")
    shots = read_shots(tmp_path, "a.png", "image", {})
    assert [one.digest for one in stored_shots(shots.stored(), "x").pictures] == [one.digest for one in shots.pictures]
    for cell in ("tea", "[]", '{"pictures": [[1, 2, 3]]}', '{"pictures": [["a", 2]]}', "{}"):
        with pytest.raises(InputError, match="are no pictures of a run"):
            stored_shots(cell, "x")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.json", b"\xff", "are not UTF-8 text"),
        ("q.json", b'{"a": 1, "a": 2}', "are not readable: .*twice"),
        ("q.json", b"[" * 100_000, "are not readable: it is nested too deep"),
        ("q.json", b"[]", "holds no questions"),
        ("q.toml", b"a = ", "are not readable"),
        ("q.yaml", b"a: [", "are not readable"),
    ],
)
def test_files_of_questions(name: str, text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_file(tmp_path / name)
