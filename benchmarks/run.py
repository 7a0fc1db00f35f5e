"""All benchmarks in one run, and one table of them: out/bench/table.json and table.md.

    python benchmarks/run.py [--quick] [--only labels boxes] [--out FOLDER] [--merge]

Scripts run one after the other, each in a process of its own; one that fails is named, and the others still run.
`--quick` is a smoke run of small data. `--merge` keeps the rows of scripts that are not run from the table there.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = (
    "numpy", "scipy", "scikit-learn", "torch", "torchmetrics", "pycocotools", "lvis", "faster-coco-eval", "hotcoco",
    "ultrafast-pycocotools", "vernier", "pycocoevalcap", "ranx", "ir-measures", "pytrec_eval-terrier", "shapely",
    "surface-distance", "motrics", "trackeval", "motmetrics", "nuscenes-devkit", "torchvision", "transformers",
    "pyarrow", "distributed", "ray", "pillow", "rapidfuzz", "jiwer", "sacrebleu", "scikit-image", "pytorch-msssim",
)  # fmt: skip


SMOKE = (
    "A smoke run: it shows that everything runs. The data are small whatever the titles say, so that imports and calls"
    " are most of the figures."
)


def scripts() -> dict[str, Path]:
    """The benchmarks by name."""
    return {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}


def version(package: str) -> str | None:
    """Its version, where it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """What the processor calls itself, where the system says it."""
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("Model name")), "")


def machine() -> dict[str, Any]:
    """Where the figures come from; no name of the machine."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "steelyard": version("steelyard"),
        "peers": {name: version(name) or "not installed" for name in PEERS},
    }


def run_script(path: Path, quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of one benchmark, and how it went; what it prints is shown."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        environment = {**os.environ, "STEELYARD_BENCH_ROWS": str(rows)}
        if quick:
            environment["STEELYARD_BENCH_QUICK"] = "1"
        begin = time.perf_counter()
        code = subprocess.run([sys.executable, str(path)], env=environment, check=False).returncode
        taken = round(time.perf_counter() - begin, 1)
        made = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []
        return made, {"exit": code, "seconds": taken}


def markdown(result: dict[str, Any]) -> str:
    """The same as a page."""
    about = result["machine"]
    peers = ", ".join(f"{name} {number}" for name, number in about["peers"].items() if number != "not installed")
    lines = [
        "# Benchmarks",
        "",
        f"{about['date']}, {about['processor']} ({about['system']}), {about['cores']} cores, Python {about['python']},"
        f" Steelyard {about['steelyard']}. CPU seconds count; `ratio` is to the first row of a group that is ours. The"
        " cheapest of so many `runs` is shown: what takes long is run less often.",
        *(["", SMOKE] if result["quick"] else []),
        "",
        f"Peers: {peers}.",
    ]
    failed = [name for name, outcome in result["scripts"].items() if outcome["exit"]]
    lines += ["", f"Failed: {', '.join(failed)}."] if failed else []
    absent = [name for name in scripts() if name not in result["scripts"]]
    lines += ["", f"Not in this table: {', '.join(absent)}."] if absent else []
    group = None
    for row in result["rows"]:
        if (row["script"], row["group"]) != group:
            group = row["script"], row["group"]
            lines += ["", f"## {row['script'].removeprefix('bench_')}: {row['group']}", ""]
            lines += ["| | CPU s | s | MB | ratio | runs |", "|---|---|---|---|---|---|"]
        if "not_run" in row:
            lines.append(f"| {row['name']} | not run: {row['not_run']} | | | | |")
            continue
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        memory = f"{row['peak_mb']:.0f}" if row["peak_mb"] else ""
        lines.append(
            f"| {row['name']} | {row['cpu']:.4g} | {row['wall']:.4g} | {memory} | {ratio} | {row.get('runs', '')} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small data, one round: does everything run?")
    parser.add_argument("--only", nargs="+", choices=scripts(), help="these benchmarks alone")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--merge", action="store_true", help="keep the other rows of the table that is there")
    asked = parser.parse_args()
    chosen = [name for name in scripts() if not asked.only or name in asked.only]
    asked.out.mkdir(parents=True, exist_ok=True)
    target = asked.out / "table.json"
    known = json.loads(target.read_text(encoding="utf-8")) if asked.merge and target.exists() else {}
    went = {name: outcome for name, outcome in known.get("scripts", {}).items() if name not in chosen}
    rows = [row for row in known.get("rows", []) if row["script"].removeprefix("bench_") not in chosen]
    for name in chosen:
        print(f"== {name}", flush=True)
        made, went[name] = run_script(scripts()[name], asked.quick)
        rows += made
        rows.sort(key=lambda row: row["script"])
        result = {"machine": machine(), "quick": asked.quick, "scripts": went, "rows": rows}
        target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (asked.out / "table.md").write_text(markdown(result), encoding="utf-8")
    failed = [name for name in chosen if went[name]["exit"]]
    print(f"\n{len(rows)} rows: {target}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
