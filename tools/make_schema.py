"""Write the JSON Schemas of reports and comparisons. Run: python tools/make_schema.py [--check]"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from steelyard.packs import manifest
from steelyard.results import codec

FOLDER = Path(__file__).parent.parent / "src" / "steelyard" / "results" / "schema"

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


SCHEMAS = {
    "check-1.json": CHECK,
    "conversion-1.json": CONVERSION,
    "pack-1.json": manifest.schema(),
    "result-2.json": codec.schema(),
}


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
