"""Write the JSON Schemas of reports and comparisons. Run: python tools/make_schema.py [--check]"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "src" / "steelyard" / "report" / "schema"

NUMBER = {"type": ["number", "null"]}
TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}


def closed(properties: dict[str, Any], description: str = "") -> dict[str, Any]:
    """An object with exactly these keys."""
    schema: dict[str, Any] = {"description": description} if description else {}
    return {
        **schema, "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


INTERVAL = {
    "description": "Low and high end, or null where none was asked for or can be had.",
    "oneOf": [{"type": "null"}, {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}],
}
SCORE = closed(
    {
        "metric": {**TEXT, "description": "The spec: the metric with its settings."},
        "label": {**TEXT, "description": "What a table calls it."},
        "value": {**NUMBER, "description": "null where undefined; `why` says the reason."},
        "interval": INTERVAL,
        "why": {**MAYBE_TEXT, "description": "Why there is no value."},
        "units": {**COUNT, "description": "Number of units that the score stands on."},
        "undefined": {**COUNT, "description": "How much the metric had to leave out."},
        "left_out": {**MAYBE_TEXT, "description": "What was left out."},
        "notes": {**TEXTS, "description": "What a reader must know to read the number rightly."},
        "better": {"enum": ["lower", "higher", "zero", "one", "none"]},
        "measure": {**MAYBE_TEXT, "description": "Unit of measure."},
    }
)
SCORE["properties"]["draws"] = {
    "type": "string",
    "contentEncoding": "base64",
    "description": "Only where asked for: the score under each bootstrap draw, 64-bit floats, little endian.",
}
COUNTS = closed(
    {
        "truth": {**COUNT, "description": "Rows of truth."},
        "predictions": {**COUNT, "description": "Rows of predictions."},
        "matched": {**COUNT, "description": "Rows of truth that have a prediction."},
        "missing": {**COUNT, "description": "Rows of truth that have none."},
        "extra": {**COUNT, "description": "Predictions that have no truth."},
        "coverage": {**NUMBER, "description": "matched / truth."},
    }
)
SIDE = closed(
    {
        "source": {**TEXT, "description": "The file as it was named, or 'truth' or 'predictions' for data in memory."},
        "rows": COUNT,
        "digest": {**TEXT, "pattern": "^sha256(-rows)?:[0-9a-f]{64}$", "description": "Hash of the contents scored."},
    }
)
PROVENANCE = closed(
    {
        "steelyard": {**TEXT, "description": "The version that made the numbers."},
        "truth": SIDE,
        "predictions": SIDE,
        "settings": closed(
            {
                "metrics": TEXTS,
                "by": {"type": "array", "items": TEXTS, "description": "Slices; an inner list is crossed."},
                "confidence": {**NUMBER, "description": "null where no interval was asked for."},
                "draws": COUNT,
                "seed": COUNT,
                "missing": {"enum": ["error", "worst", "skip"]},
                "extra": {"enum": ["error", "skip"]},
                "columns": {"type": "object", "additionalProperties": TEXT},
                "options": {"type": "object", "additionalProperties": TEXT, "description": "The task's own options."},
            }
        ),
    },
    "Everything that the numbers depend on.",
)
DIFFERENCE = closed(
    {
        "metric": TEXT,
        "label": TEXT,
        "a": SCORE,
        "b": SCORE,
        "difference": {**NUMBER, "description": "B minus A; of the distances from zero where `better` is zero."},
        "interval": INTERVAL,
        "p": {**NUMBER, "description": "Two-sided, by paired randomisation over units."},
        "p_holm": {**NUMBER, "description": "The same, corrected for all metrics in this file."},
        "verdict": {"enum": ["better", "worse", "no difference shown", "undefined"]},
        "units": COUNT,
        "why": MAYBE_TEXT,
        "better": {"enum": ["lower", "higher", "zero", "one", "none"]},
        "measure": MAYBE_TEXT,
    }
)
SLICE = closed({"by": TEXTS, "value": TEXT, "scores": {"type": "array", "items": SCORE}})


def document(name: str, title: str, properties: dict[str, Any]) -> dict[str, Any]:
    """A schema with its head."""
    head = {"schema": {"const": f"steelyard/{name}/1"}, "task": TEXT, "unit": {**TEXT, "description": "What is drawn."}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **closed({**head, **properties}),
    }  # fmt: skip


SCHEMAS = {
    "report-1.json": document(
        "report",
        "A Steelyard report",
        {
            "scores": {"type": "array", "items": SCORE},
            "slices": {"type": "array", "items": SLICE},
            "counts": COUNTS,
            "notes": TEXTS,
            "provenance": PROVENANCE,
        },
    ),
    "comparison-1.json": document(
        "comparison",
        "A Steelyard comparison of two models",
        {
            "differences": {"type": "array", "items": DIFFERENCE},
            "counts": closed({"a": COUNTS, "b": COUNTS}),
            "notes": TEXTS,
            "provenance": closed({"a": PROVENANCE, "b": PROVENANCE}),
        },
    ),
}
VERDICT = closed(
    {
        "rule": {**TEXT, "description": "When the gate fails, as it was given."},
        "outcome": {"enum": ["pass", "fail", "undecided"]},
        "why": {**TEXT, "description": "What decided, in words."},
        "metric": TEXT,
        "label": TEXT,
        "slice": {**MAYBE_TEXT, "description": "The part of the data, or null for all of it."},
        "value": NUMBER,
        "interval": INTERVAL,
        "bound": {
            **NUMBER,
            "description": "What the value is held against: a number, or the baseline with its margin.",
        },
        "baseline": {**NUMBER, "description": "The baseline's own value, or null where the rule does not speak of it."},
        "difference": {**NUMBER, "description": "value minus bound."},
        "difference_interval": INTERVAL,
        "p": {**NUMBER, "description": "Two-sided p of no difference from the bound."},
        "level": {**NUMBER, "description": "The rule's level of p."},
        "method": {"enum": ["value", "interval", "paired randomisation", "paired draws", "unpaired"]},
        "better": {"enum": ["lower", "higher", "zero", "one", "none"]},
        "measure": MAYBE_TEXT,
    }
)
SCHEMAS["gate-1.json"] = document(
    "gate",
    "The outcome of a Steelyard gate",
    {
        "units": COUNT,
        "result": TEXT,
        "baseline": MAYBE_TEXT,
        "confidence": NUMBER,
        "outcome": {"enum": ["pass", "fail", "undecided"]},
        "verdicts": {"type": "array", "items": VERDICT},
        "notes": TEXTS,
    },
)


def main() -> None:
    stale = []
    for name, schema in SCHEMAS.items():
        text = json.dumps(schema, indent=2) + "\n"
        path = FOLDER / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run python tools/make_schema.py")


if __name__ == "__main__":
    main()
