"""Write the JSON Schemas of reports and comparisons. Run: python tools/make_schema.py [--check]"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "src" / "steelyard" / "results" / "schema"

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
        "verdict": {"enum": ["better", "worse", "differs", "no difference shown", "undefined"]},
        "units": COUNT,
        "why": MAYBE_TEXT,
        "better": {"enum": ["lower", "higher", "zero", "one", "none"]},
        "measure": MAYBE_TEXT,
    }
)
TABLE = closed(
    {
        "name": TEXT,
        "title": TEXT,
        "corner": {**TEXT, "description": "What the rows are."},
        "rows": TEXTS,
        "columns": TEXTS,
        "values": {"type": "array", "items": {"type": "array", "items": NUMBER}},
    }
)
FIGURE = closed(
    {
        "name": TEXT,
        "kind": {**TEXT, "description": "How it is drawn: agreement, bars, curves, matrix ..."},
        "title": TEXT,
        "caption": {**TEXT, "description": "How to read it."},
        "facts": {"type": "object", "description": "What holds for the whole figure, such as the titles of its axes."},
        "columns": {
            "type": "object",
            "additionalProperties": {"type": "array"},
            "description": "The data, columns of equal length; numbers keep seven digits.",
        },
        "table": {"oneOf": [{"type": "null"}, TABLE]},
    }
)
PACKED = {
    "type": ["string", "null"],
    "description": "Columns as base64 of gzip of: length of a header (4 bytes, little-endian), the header (JSON: name "
    "and type of each column), the columns' bytes, those of the same weight together.",
}
DETAILS = closed(
    {
        "tables": {"type": "array", "items": TABLE},
        "figures": {"type": "array", "items": FIGURE},
        "units": {**PACKED, "description": f"Every unit with its own scores. {PACKED['description']}"},
        "rows": {**PACKED, "description": f"The task's rows (items, detections ...). {PACKED['description']}"},
    },
    "What the page shows beside scores; there only when asked for.",
)
SLICE = closed({"by": TEXTS, "value": TEXTS, "scores": {"type": "array", "items": SCORE}})


SLICED = closed({"by": TEXTS, "value": TEXTS, "differences": {"type": "array", "items": DIFFERENCE}})


def document(
    name: str, title: str, properties: dict[str, Any], optional: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A schema with its head."""
    head = {"schema": {"const": f"steelyard/{name}/1"}, "task": TEXT, "unit": {**TEXT, "description": "What is drawn."}}
    body = closed({**head, **properties})
    body["properties"] = {**body["properties"], **(optional or {})}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **body}


FINDING = closed(
    {
        "code": {**TEXT, "description": "The kind of finding; see docs/check.md."},
        "severity": {"enum": ["error", "warning", "note"]},
        "side": {"enum": ["truth", "predictions"]},
        "what": TEXT,
        "count": {**COUNT, "description": "How many are affected."},
        "total": {**COUNT, "description": "Of how many."},
        "examples": {**TEXTS, "description": "Where, for the first few."},
        "remedy": TEXT,
    }
)
CHECK = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What a check of data found",
    **closed(
        {
            "schema": {"const": "steelyard/check/1"},
            "steelyard": {**TEXT, "description": "The version that looked."},
            "task": {**TEXT, "description": "The task whose data were looked at."},
            "truth": TEXT,
            "predictions": MAYBE_TEXT,
            "ok": {"type": "boolean", "description": "Whether there is no error."},
            "counts": {"type": "object", "additionalProperties": COUNT},
            "findings": {"type": "array", "items": FINDING},
        }
    ),
}
LOSS = closed(
    {
        "kind": {"enum": ["lost", "changed"]},
        "what": TEXT,
        "count": COUNT,
        "why": TEXT,
    }
)
CONVERSION = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The account of a conversion",
    **closed(
        {
            "schema": {"const": "steelyard/conversion/1"},
            "source": TEXT,
            "source_format": TEXT,
            "target": TEXT,
            "target_format": TEXT,
            "images": COUNT,
            "boxes": COUNT,
            "classes": COUNT,
            "predictions": {"type": "boolean", "description": "Whether the boxes have scores."},
            "losses": {"type": "array", "items": LOSS},
            "notes": TEXTS,
            "lossless": {"type": "boolean"},
        }
    ),
}


NUMBERS = {"type": "object", "additionalProperties": NUMBER}
EXPLANATION = closed(
    {
        "tool": TEXT,
        "version": {**TEXT, "description": "The version that was held against the real package."},
        "ours": {**NUMBERS, "description": "Steelyard's numbers by name."},
        "theirs": {**NUMBERS, "description": "What the tool prints, all its settings together."},
        "settings": {
            "type": "array",
            "items": closed(
                {
                    "setting": TEXT,
                    "ours": TEXT,
                    "theirs": TEXT,
                    "why": TEXT,
                    "values": {**NUMBERS, "description": "Our numbers with this one setting changed."},
                }
            ),
        },
        "remarks": TEXTS,
    }
)


SCHEMAS = {
    "check-1.json": CHECK,
    "conversion-1.json": CONVERSION,
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
        {
            "explanations": {"type": "array", "items": EXPLANATION, "description": "Where they were asked for."},
            "details": DETAILS,
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
        {"slices": {"type": "array", "items": SLICED, "description": "There only when slices were asked for."}},
    ),
}
SCHEMAS["lineup-1.json"] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Steelyard comparisons of several models with one",
    **closed(
        {
            "schema": {"const": "steelyard/lineup/1"},
            "comparisons": {
                "type": "array",
                "items": {key: value for key, value in SCHEMAS["comparison-1.json"].items() if key != "$schema"},
            },
        }
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
