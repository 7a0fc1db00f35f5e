"""Frames of runs that are worth a look: the largest errors, and some that gave no number."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import ClassVar

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.render.numbers import signed, value_text
from steelyard.results.details import Details, Example, Heard, Turn
from steelyard.vlm.images import Picture
from steelyard.vlm.plan import REAL
from steelyard.vlm.readings import Taken, VlmRun

WORST, FAILED = 4, 2
SIDE = 180  # pixels of a small picture


@frozen
class LazyRunDetails(Details):
    """The runs behind a score."""

    lazy: ClassVar[bool] = True
    runs: tuple[VlmRun, ...]

    def examples(self, images: str | PathLike[str] | None = None) -> tuple[Example, ...]:
        """Frames that are worth a look; `images` is the folder of their pictures."""
        chosen = []
        for run in self.runs:
            readings: dict[tuple[str, int], list[Taken]] = {}
            for taken in run.taken:
                if taken.variant == REAL and taken.asked.weighs:
                    readings.setdefault((taken.frame.sequence, taken.frame.t), []).append(taken)
            chosen += [_example(readings[key], images) for key in _chosen(readings)]
        return tuple(chosen)


def _chosen(readings: dict[tuple[str, int], list[Taken]]) -> list[tuple[str, int]]:
    errors = {}
    for key, taken in readings.items():
        known = [
            abs(r.answer.grams - r.frame.weight) for r in taken if r.answer.ok and r.frame.weight == r.frame.weight
        ]
        if known:
            errors[key] = max(known)
    worst = sorted(errors, key=lambda key: (-errors[key], key))[:WORST]
    failed = [key for key, taken in readings.items() if any(not r.answer.ok for r in taken)][:FAILED]
    return list(dict.fromkeys([*worst, *failed]))


def _example(taken: Sequence[Taken], images: str | PathLike[str] | None) -> Example:
    frame = taken[0].frame
    known = f"{value_text(frame.weight)} g" if frame.weight == frame.weight else "unknown"
    heard = []
    for reading in taken:
        answer = f"{value_text(reading.answer.grams)} g" if reading.answer.ok else reading.answer.outcome
        off = ""
        if reading.answer.ok and frame.weight == frame.weight:
            off = f" ({signed(reading.answer.grams - frame.weight)} g)"
        turns = tuple(Turn(turn.ask, turn.reply, turn.error) for turn in reading.conversation)
        heard.append(Heard(reading.model, reading.prompt, answer, off, reading.problem, turns))
    food = f", {frame.food}" if frame.food else ""
    title = f"{frame.sequence}, frame {frame.t}{food}"
    return Example(title, known, *_thumbnail(frame.picture, frame.image, images), tuple(heard))


def _thumbnail(picture: Picture | None, image: str, images: str | PathLike[str] | None) -> tuple[str, int, int]:
    """A small picture as base64 of a JPEG with its size, only of the very file that the model was shown."""
    if images is None or picture is None:
        return "", 0, 0
    try:
        loaded = Picture(picture.digest, picture.width, picture.height, Path(images) / image).load(SIDE)
    except InputError:  # missing, no picture, or another one by now
        return "", 0, 0
    buffer = io.BytesIO()
    loaded.save(buffer, format="JPEG", quality=80)
    return base64.b64encode(buffer.getvalue()).decode("ascii"), *loaded.size
