"""Results read back: the Report that a result's JSON was written from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from steelyard.core.errors import InputError
from steelyard.core.pairs import Coverage
from steelyard.core.score import Score
from steelyard.report.details import figure_of, listing_of, table_of, units_of
from steelyard.report.json import REPORT_SCHEMA
from steelyard.report.model import Path, Provenance, Report, Side

T = TypeVar("T")
_REMEDY = "Give a result that 'steelyard evaluate ... -o result.json' wrote."


def read_report(path: Path) -> Report:
    """Read a result. What the file does not hold (`item`, what metrics mean) is left to whoever knows the task."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path), remedy="Check the path.") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"is not JSON: {error}", where=str(path), remedy=_REMEDY) from None
    return report_of(data, str(path))


def report_of(data: Any, where: str = "result") -> Report:
    """The report that `Report.to_dict` made plain."""
    found = data.get("schema") if isinstance(data, Mapping) else None
    if found != REPORT_SCHEMA:
        said = f"its schema is '{found}'" if found else "it names no schema"
        raise InputError(f"is no Steelyard report: {said}", where=where, remedy=_REMEDY)
    try:
        return _report(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"is a broken report: {text}", where=where, remedy=_REMEDY) from None


def _report(data: Mapping[str, Any]) -> Report:
    slices: dict[str, dict[str, dict[str, Score]]] = {}
    for part in data["slices"]:
        slices.setdefault(",".join(part["by"]), {})[part["value"]] = _scores(part["scores"])
    details = data.get("details") or {}
    tables = [table_of(table) for table in details.get("tables", ())]
    figures = [figure_of(figure) for figure in details.get("figures", ())]
    units, rows = listing_of(details.get("units")), listing_of(details.get("rows"))
    counts, provenance = data["counts"], data["provenance"]
    policy = provenance["settings"]["missing"]
    joined = {name: int(counts[name]) for name in ("truth", "predictions", "matched", "missing", "extra")}
    return Report(
        task=str(data["task"]),
        unit=str(data["unit"]),
        item="row",
        scores=_scores(data["scores"]),
        slices=slices,
        coverage=Coverage(**joined, policy=policy),
        provenance=_provenance(provenance),
        notes=tuple(map(str, data["notes"])),
        unit_table=None if units is None else lambda: units_of(units),
        table_makers={table.name: partial(_same, table) for table in tables},
        figure_makers=lambda: {figure.name: partial(_same, figure) for figure in figures},
        listing_maker=None if rows is None else lambda: rows,
    )


def _same(value: T) -> T:
    return value


def _scores(rows: Any) -> dict[str, Score]:
    return {row["metric"]: _score(row) for row in rows}


def _score(row: Mapping[str, Any]) -> Score:
    return Score(
        spec=str(row["metric"]),
        label=str(row["label"]),
        value=_number(row["value"]),
        interval=_interval(row["interval"]),
        units=int(row["units"]),
        undefined=int(row["undefined"]),
        left_out=row["left_out"] or "",
        why=row["why"] or "",
        notes=tuple(map(str, row["notes"])),
        better=str(row["better"]),
        measure=row["measure"] or "",
    )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _interval(ends: Any) -> tuple[float, float] | None:
    return None if ends is None else (_number(ends[0]), _number(ends[1]))


def _side(data: Mapping[str, Any]) -> Side:
    return Side(str(data["source"]), int(data["rows"]), str(data["digest"]))


def _provenance(data: Mapping[str, Any]) -> Provenance:
    settings = data["settings"]
    return Provenance(
        truth=_side(data["truth"]),
        predictions=_side(data["predictions"]),
        metrics=tuple(settings["metrics"]),
        by=tuple(",".join(by) for by in settings["by"]),
        confidence=settings["confidence"],
        draws=int(settings["draws"]),
        seed=int(settings["seed"]),
        missing=str(settings["missing"]),
        extra=str(settings["extra"]),
        columns=dict(settings["columns"]),
        options=dict(settings["options"]),
        version=str(data["steelyard"]),
    )
