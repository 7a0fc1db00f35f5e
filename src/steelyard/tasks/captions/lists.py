"""Captions that are lists: several references in one row of the truth, one candidate in brackets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from steelyard.core.errors import InvalidValue
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Lists of captions as what they hold: each text of the truth's is a reference; a candidate's holds one."""
    return _references(truth), _candidates(prediction)


def listed(text: str) -> list[str] | None:
    """The captions of a JSON list of texts; None where it is none."""
    if not text.startswith("["):
        return None
    try:
        captions = json.loads(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(captions, list) and all(isinstance(one, str) for one in captions)
    return captions if whole and captions else None


def _lists(records: Records) -> dict[int, list[str]]:
    if "caption" not in records:
        return {}
    rows = [row for row, text in enumerate(records["caption"].tolist()) if str(text).startswith("[")]
    lists = {row: listed(str(records["caption"][row])) for row in rows}
    return {row: captions for row, captions in lists.items() if captions is not None}


def _references(records: Records) -> Records:
    lists = _lists(records)
    if not lists:
        return records
    captions = records["caption"].tolist()
    texts = [text for row, one in enumerate(captions) for text in lists.get(row, [one])]
    many = [len(lists.get(row, (0,))) for row in range(len(captions))]
    taken = records.take(np.repeat(np.arange(len(captions)), many))
    return replace(taken, columns={**taken.columns, "caption": as_object(texts)})


def _candidates(records: Records) -> Records:
    lists = _lists(records)
    if not lists:
        return records
    captions = records["caption"].tolist()
    for row, texts in lists.items():
        if len(texts) > 1:
            raise InvalidValue(
                f"the caption is a list of {len(texts)}",
                where=records.where(row, "caption"),
                remedy="Give one caption per image.",
            )
        captions[row] = texts[0]
    return replace(records, columns={**records.columns, "caption": as_object(captions)})
