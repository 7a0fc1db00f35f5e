"""Results that are stored, compared without their data: two files, or two models of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TypeVar

from steelyard.core.errors import Incompatible, InvalidResult, MissingData
from steelyard.gating.models import alone, select_models
from steelyard.gating.pairing import compare_many, compare_results
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.read import AnyResult, edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.vlm import VlmScore

Path = str | PathLike[str]
R = TypeVar("R", Comparison, Lineup)


def compare_stored(files: Sequence[Path], model: str | None = None, baseline: str | None = None) -> Comparison | Lineup:
    """Results against the first of them, or model against baseline of one result that holds several.

    Of a lineup or a score of VLMs, `model` names what is compared, and of the first of two files `baseline` does where
    it is another one.
    """
    if len(files) > 2:
        return _several(files, model, baseline)
    if len(files) == 1:
        held = read_result(files[0])
        return _with_change_notes(
            _with_names(_within(held, files[0], model, baseline), baseline or "", model or ""), files, [held]
        )
    asked = (baseline or model, model)
    held_two = [read_result(file) for file in files]
    a, b = (_report(held, file, one) for held, file, one in zip(held_two, files, asked, strict=True))
    names = [f"{one} of {fspath(file)}" if one else fspath(file) for file, one in zip(files, asked, strict=True)]
    return _with_change_notes(_with_names(compare_results(a, b), *names), files, held_two)


def _with_change_notes(result: R, files: Sequence[Path], held: Sequence[AnyResult]) -> R:
    """What was made from files, with a note for each that was changed after it was written."""
    return replace(result, notes=(*edit_notes(zip([fspath(file) for file in files], held, strict=True)), *result.notes))


def _several(files: Sequence[Path], model: str | None, baseline: str | None) -> Lineup:
    """Each against the first, in the scores that all of them hold."""
    held = [read_result(file) for file in files]
    asked = [baseline or model, *([model] * (len(files) - 1))]
    reports = [_report(one, file, name) for one, file, name in zip(held, files, asked, strict=True)]
    for file, report in zip(files[1:], reports[1:], strict=True):
        if report.task != reports[0].task:
            raise Incompatible(
                f"is of task '{report.task}', and {fspath(files[0])} of '{reports[0].task}'", where=fspath(file),
                remedy="Give results of one task.",
            )  # fmt: skip
    shared = [spec for spec in reports[0].scores if all(spec in one.scores for one in reports)]
    if not shared:
        raise Incompatible("the results share no score", remedy="Evaluate all with the same metrics.")
    alike = [replace(one, scores={spec: one.scores[spec] for spec in shared}) for one in reports]
    return _with_change_notes(compare_many(alike, [fspath(file) for file in files]), files, held)


def _with_names(comparison: Comparison, a: str, b: str) -> Comparison:
    sides = (replace(comparison.a, name=a or comparison.a.name), replace(comparison.b, name=b or comparison.b.name))
    return replace(comparison, a=sides[0], b=sides[1])


def _within(held: AnyResult, file: Path, model: str | None, baseline: str | None) -> Comparison:
    if not isinstance(held, Lineup | VlmScore):
        raise MissingData(
            "one result alone cannot be compared", where=fspath(file), remedy="Give two, the baseline first."
        )
    if isinstance(held, VlmScore) and baseline is None:
        raise InvalidResult(
            "holds a report for each prompt", where=fspath(file), remedy="Name two with `model` and `baseline`."
        )
    picked = select_models(held, model, baseline, fspath(file))
    if isinstance(picked, Comparison):
        return picked
    if picked[1] is None:
        raise MissingData("the first model has none to beat", where=fspath(file), remedy="Name it with `baseline`.")
    return compare_results(picked[1], picked[0])


def _report(held: AnyResult, file: Path, model: str | None) -> Report:
    if isinstance(held, Lineup | VlmScore):
        return alone(held, model, fspath(file))
    if not isinstance(held, Report):
        raise InvalidResult(
            f"is a {held.kind}, and two results of evaluate or vlm score are compared",
            where=fspath(file),
            remedy="Give a result.",
        )
    return held
