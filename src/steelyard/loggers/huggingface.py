"""Scores for the Hugging Face Hub as YAML: `.eval_results/NAME.yaml` files, and the `model-index` of a model card.

Written without a package: a text in JSON's quotes is YAML. What is undefined is refused, not left out: a leaderboard
that lacks a number says nothing of why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from steelyard.core.errors import EmptyInput, MissingData, nearest
from steelyard.loggers.flat import Result, report_of
from steelyard.render.numbers import interval_text, percent_text
from steelyard.results.report import Report
from steelyard.results.score import Score


def eval_results(
    result: Result,
    dataset: str,
    tasks: Mapping[str, str],
    *,
    revision: str | None = None,
    date: str | None = None,
    source: str | None = None,
    notes: str | None = None,
) -> str:
    """The text of a file `.eval_results/NAME.yaml` of a model's repository.

    `dataset` is the benchmark's id on the Hub and `tasks` gives the benchmark's task for each metric:
    `{"map": "detection_map"}`. The interval goes into the notes.
    """
    report = report_of(result)
    if not tasks:
        raise EmptyInput("no metric is to be written", remedy='Example: tasks={"map": "detection_map"}.')
    lines = []
    for spec, task in tasks.items():
        score = _defined_score(report, spec)
        lines += ["- dataset:", f"    id: {_text(dataset)}", f"    task_id: {_text(task)}"]
        lines += [f"    revision: {_text(revision)}"] if revision else []
        lines.append(f"  value: {score.value!r}")
        lines += [f"  date: {_text(date)}"] if date else []
        lines += ["  source:", f"    url: {_text(source)}"] if source else []
        lines.append(f"  notes: {_text('; '.join(part for part in (_notes(report, score), notes) if part))}")
    return "\n".join(lines) + "\n"


def model_index(
    result: Result, model: str, *, task_type: str, dataset_name: str, dataset_type: str, metrics: Sequence[str] = ()
) -> str:
    """The `model-index` of a model card's front matter: all scores, or those of `metrics`."""
    report = report_of(result)
    chosen = [_defined_score(report, spec) for spec in metrics] or [s for s in report.scores.values() if s.defined]
    if not chosen:
        raise MissingData("no score of the result is defined", remedy="Evaluate data that have one.")
    lines = ["model-index:", f"- name: {_text(model)}", "  results:"]
    lines += ["  - task:", f"      type: {_text(task_type)}", f"      name: {_text(report.task)}"]
    lines += [
        "    dataset:",
        f"      name: {_text(dataset_name)}",
        f"      type: {_text(dataset_type)}",
        "    metrics:",
    ]
    for score in chosen:
        lines += [
            f"    - type: {_text(score.spec)}",
            f"      name: {_text(score.label)}",
            f"      value: {score.value!r}",
        ]
    return "\n".join(lines) + "\n"


def _defined_score(report: Report, spec: str) -> Score:
    if spec not in report.scores:
        raise MissingData(f"the result has no score '{spec}'", remedy=nearest(spec, report.scores))
    score = report.scores[spec]
    if not score.defined:
        raise MissingData(f"'{spec}' is undefined: {score.undefined_reason}", remedy="Leave it out.")
    return score


def _notes(report: Report, score: Score) -> str:
    confidence = report.request.confidence
    if score.interval is None or confidence is None:
        return f"{score.spec}, {score.units} units"
    shown = interval_text(score.value, score.interval)
    return f"{score.spec}, {percent_text(confidence)} interval {shown}, {score.units} units"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
