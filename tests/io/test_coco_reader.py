"""The COCO reader against Python's own JSON: numbers to the bit, records in every layout."""

from __future__ import annotations

import json
import random

import numpy as np

from steelyard import _native


def number_text(rng: random.Random) -> str:
    """A number that JSON allows, in one of the many ways to write it."""
    kind = rng.randrange(6)
    digits = "".join(
        rng.choice("0123456789") for _ in range(rng.choice([1, 2, 5, 7, 8, 9, 15, 16, 17, 18, 19, 25, 60]))
    )
    sign = rng.choice(["", "-"])
    if kind == 0:
        return sign + (digits.lstrip("0") or "0")
    if kind == 1:
        return f"{sign}0.{digits}"
    if kind == 2:
        return f"{sign}{rng.randrange(1, 10 ** rng.randrange(1, 12))}.{digits}"
    if kind == 3:
        return f"{sign}{rng.randrange(1, 10)}.{digits}e{rng.randrange(-320, 200)}"
    if kind == 4:
        return repr(rng.uniform(-1000, 1000))
    return repr(rng.random())


def scores(texts: list[str]) -> np.ndarray:
    records = ",".join(f'{{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": {text}}}' for text in texts)
    return _native.coco_parse(f"[{records}]".encode(), False)["score"]


def test_numbers_to_the_bit() -> None:
    rng = random.Random(5)
    texts = [number_text(rng) for _ in range(20_000)]
    read = scores(texts)
    assert [float(text) for text in texts] == read.tolist()


def test_a_digit_behind_a_leading_zero_is_refused() -> None:
    for text in ("01", "00000001", "-012345678", "0123456789.5"):
        answer = _native.coco_parse(
            f'[{{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": {text}}}]'.encode(), False
        )
        assert isinstance(answer, tuple), text
        assert "expected" in answer[1]


def record_text(rng: random.Random, record: dict[str, object]) -> str:
    """A record with its keys in any order, blanks anywhere, and keys that nobody asked for."""
    items = list(record.items()) + [("extra", rng.choice([None, True, "a\\b", [1, [2.5, {}]], {"id": 3}]))]
    if rng.random() < 0.5:
        rng.shuffle(items)

    def blank() -> str:
        return rng.choice(["", "", " ", "\n  ", "\t"])

    fields = [f"{blank()}{json.dumps(key)}{blank()}:{blank()}{json.dumps(value)}{blank()}" for key, value in items]
    return "{" + ",".join(fields) + "}"


def test_records_in_every_layout() -> None:
    rng = random.Random(8)
    for _ in range(150):
        records = [
            {
                "image_id": rng.randrange(1000),
                "category_id": rng.randrange(50),
                "bbox": [round(rng.uniform(0, 500), rng.randrange(5)) for _ in range(4)],
                "score": rng.random(),
            }
            for _ in range(rng.randrange(1, 30))
        ]
        text = "[" + ",".join(record_text(rng, record) for record in records) + "]"
        read = _native.coco_parse(text.encode(), False)
        assert read["image"].tolist() == [record["image_id"] for record in records]
        assert read["label"].tolist() == [record["category_id"] for record in records]
        assert read["score"].tolist() == [record["score"] for record in records]
        assert read["box"].tolist() == [record["bbox"] for record in records]
