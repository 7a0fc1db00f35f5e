"""Task `answers`: short answers to questions about images, videos and documents. Data: `data`, `texts`; sums: `sums`.

Metrics
    `exact`, `vqa`, `anls@0.5`, `relaxed@0.05`, `word_f1`, `char_f1`, `answered`; `choice` and `choice_all`;
    `yn_accuracy` and others of yes and no; `number`, the errors of numbers and of counts; `cer`, `wer` and their parts;
    `judge` and `logged`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.answers.accuracy import ACCURACIES
from steelyard.tasks.answers.choices import CHOICES, VERDICTS
from steelyard.tasks.answers.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.answers.numbers import NUMBERS
from steelyard.tasks.answers.transcripts import TRANSCRIPTS


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what all true answers are."""
    held = metadata.holds
    logged = tuple(f"logged(score={name[7:]})" for name in sorted(held) if name.startswith("logged:"))
    shown: tuple[str, ...] = ("judge",) if held & {"verdict", "judge"} else ()
    if "answers" not in held:
        return shown + logged
    if "yes or no" in held:
        return (
            "yn_accuracy",
            "yn_precision",
            "yn_recall",
            "yn_f1",
            "yes_ratio",
            "yes_bias",
            "answered",
            *shown,
            *logged,
        )
    if "choices" in held:
        return ("choice", "choice_all", "answered", *shown, *logged)
    if "numbers" in held and "many" not in held:
        return ("number", "count_within@1", "mae", "bias", "rmse", "mape", "answered", *shown, *logged)
    first = ("vqa",) if "many" in held else ()
    return (*first, *DEFAULTS, *shown, *logged)


DEFAULTS = ("exact", "anls@0.5", "relaxed@0.05", "word_f1", "cer", "wer", "answered")
TASK = Task(
    name="answers",
    title="Short answers to questions",
    unit="unit",
    item="question",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*ACCURACIES, *CHOICES, *NUMBERS, *TRANSCRIPTS, *VERDICTS),
    defaults=DEFAULTS,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="answers",
    views="steelyard.tasks.answers.views",
    checks="steelyard.tasks.answers.checks",
)
