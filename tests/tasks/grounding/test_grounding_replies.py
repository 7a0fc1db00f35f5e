"""Task `grounding`: many replies at once, read as each of them alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.grounding_sides import GOLDENS

from steelyard import _native
from steelyard.language.coordinates import Replies, Reply, read_reply


def said(reply: Reply) -> tuple[str, tuple[tuple[float, ...], ...], list[str]]:
    return reply.outcome, reply.boxes, [f"{score}" for score in reply.scores]


WHOLE = ("0", "7", "-3", "12.5", "-0.25", "999", "123456789012345", "0.000123")
ODD = (
    "01",
    "5.",
    ".5",
    "+1",
    "1e2",
    "1E-3",
    "-",
    "",
    "1_0",
    "١",
    "1234567890123456",
    "0.1234567890123456789",
    "9" * 400,
)
KEYS = ("bbox_2d", "box_2d", "bbox", "box", "point_2d", "point")
LABELS = ("cup", "é", "a ] b", "", "line\u2028")
ODD_LABELS = ("<think>", "```", "</think>", 'a \\" b', "\t")


def drawn_reply(rng: np.random.Generator) -> str:
    """A reply of a common form, now and then with something else in it."""

    def draw(usual: tuple[str, ...], odd: tuple[str, ...]) -> str:
        of = odd if rng.random() < 0.02 else usual
        return of[int(rng.integers(len(of)))]

    def spaced(*parts: str) -> str:
        return "".join(part + draw(("", "", " ", "\n", "\t "), ("\u00a0", "\x0b", "x")) for part in parts)

    numbers = [draw(WHOLE, ODD) for _ in range(int(draw(("4",), ("2", "3", "5"))))]
    text = spaced("[", *",".join(numbers).replace(",", " , ").split(" "), "]")
    if rng.random() < 0.7:
        label = (",", '"label"', ":", f'"{draw(LABELS, ODD_LABELS)}"')
        key = f'"{draw(KEYS, ("label", "boxes"))}"'
        text = spaced("{", key, ":", text, *(label if rng.random() < 0.5 else ()), "}")
        text = spaced("[", text, "]") if rng.random() < 0.5 else text
    if rng.random() < 0.5:
        text = spaced(draw(("```json", "```"), ("``` json", "```JSON", "``")), text, draw(("```",), ("", "``")))
    return draw(("", " "), ("Here: ", "<think>a</think>")) + spaced(text) + draw(("",), (".", "\ud800"))


def test_many_replies_are_read_as_each_of_them() -> None:
    """Replies of common forms have a reader of their own: drawn ones, and those of the goldens."""
    rng = np.random.default_rng(0)
    texts = [str(row["reply"]) for row in GOLDENS["replies"]["rows"]] + [drawn_reply(rng) for _ in range(6000)]
    together, alone = Replies(texts), [read_reply(text) for text in texts]
    assert [said(together[place]) for place in range(len(texts))] == [said(reply) for reply in alone]
    usual = ~np.isnan(_native.usual_boxes(list[object](texts))[:, 0])
    assert 0.2 < usual.mean() < 0.8
    assert len({reply.outcome for reply in alone}) == 2


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("[1, 2, 3, 4]", [1, 2, 3, 4]),
        (' {"bbox_2d": [0.5, -2, 3.25, 400], "label": "red cup"} ', [0.5, -2, 3.25, 400]),
        ('```json\n[{"box": [1,2,3,4]}]\n```', [1, 2, 3, 4]),
        ('```[{"point": [1,2,3,4] , "label" : "é"}]```', [1, 2, 3, 4]),
    ],
)
def test_common_forms_are_read_without_json(text: str, box: list[float]) -> None:
    assert _native.usual_boxes([text]).tolist() == [box]


@pytest.mark.parametrize("length", range(0, 60))
def test_a_reply_that_is_cut_off_is_no_box(length: int) -> None:
    whole = '```json\n[{"bbox_2d": [10.5, 20, 30, 40], "label": "cup"}]\n```'
    assert np.isnan(_native.usual_boxes([whole[:length]])).all() == (length < len(whole))


def test_no_replies_and_what_is_no_text() -> None:
    assert Replies([]).numbers.shape == (0, 4)
    with pytest.raises(ValueError, match="texts"):
        _native.usual_boxes([7])


@pytest.mark.parametrize("key", ["bbox_2d", "score"])
def test_whole_numbers_beyond_a_double_are_not_read(key: str) -> None:
    entry = {"why": "sure", "bbox_2d": [1, 2, 3, 4]} | {key: 10**400 if key == "score" else [10**400, 2, 3, 4]}
    assert read_reply(json.dumps(entry)).outcome == "unreadable"
