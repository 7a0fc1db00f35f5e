"""VlmScore: how well models read weights off images, prompt by prompt, and whether they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from steelyard.core.frozen import Frozen
from steelyard.results.comparison import Comparison
from steelyard.results.details import NONE, Details
from steelyard.results.report import Report
from steelyard.results.result import Holder, Result
from steelyard.results.same import equal, result_repr


class Effort(Frozen):
    """What readings took: tokens as the model counted them, pictures, seconds, and money where prices were given.

    `replies` came back, `uncounted` of them without counts of tokens: these are in no sum. `cached` is a part of
    `input`, `thought` one of `output`. `median` and `slow`, the 95 % quantile, are seconds of a question with its
    follow-up; `cost` is None without prices.
    """

    questions: int = 0
    replies: int = 0
    uncounted: int = 0
    images: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    thought: int = 0
    median: float = math.nan
    slow: float = math.nan
    cost: float | None = None
    currency: str = ""

    __eq__ = equal


class PromptScore(Frozen, Holder):
    """One model with one prompt; `constant` compares it with the best constant guess, `controls` with wrong images.

    `outcomes` counts the readings by what the parser made of the replies, `lost` says each outcome without a number in
    words, `problems` counts what failed. Each question was asked `repeats` times; `spread` is the standard deviation of
    numbers that were read from the same image, over all images. `made_of` names the prompt whose readings a row was
    computed from: medians of repeats, or recalibrated readings.
    """

    model: str
    prompt: str
    report: Report | None
    readings: int
    parsed: int
    followed_up: int
    outcomes: Mapping[str, int]
    lost: Mapping[str, str]
    problems: Mapping[str, int]
    constant: Comparison | None
    guess: float
    controls: Mapping[str, Comparison]
    effort: Effort = field(default_factory=Effort)
    repeats: int = 1
    spread: float = math.nan
    made_of: str = ""

    __eq__ = equal


class Pair(Frozen, Holder):
    """Two prompts of one model (or one prompt of two models) on the frames that both have a number for."""

    a: str
    b: str
    question: str
    frames: int
    comparison: Comparison

    __eq__ = equal


class RunSource(Frozen):
    """A run that was scored: its folder, its models (with a fingerprint) and its prompts.

    `effort` is all that its journal holds: controls, failures that were asked again, and prompts of before, too.
    """

    folder: str
    models: tuple[str, ...]
    prompts: Mapping[str, str]
    effort: Effort = field(default_factory=Effort)


class VlmScore(Frozen, Result):
    """Everything that `steelyard vlm score` shows. `parser` is the version of what read the replies."""

    kind: ClassVar[str] = "vlm-score"
    task: str
    rows: tuple[PromptScore, ...]
    pairs: tuple[Pair, ...]
    frames: int
    confidence: float | None
    parser: int
    runs: tuple[RunSource, ...] = ()
    notes: tuple[str, ...] = ()
    details: Details = field(default=NONE, repr=False, compare=False)

    __repr__ = result_repr

    __eq__ = equal

    def name(self, row: PromptScore) -> str:
        """What a row is called: its prompt, with its model where there are several."""
        return f"{row.model}: {row.prompt}" if len({one.model for one in self.rows}) > 1 else row.prompt
