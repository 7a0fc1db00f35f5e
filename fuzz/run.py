"""Run fuzz targets: all of them, or those that are named. `make fuzz` does it on a build with sanitizers.

python fuzz/run.py [TARGET ...] [--seconds 60] [--seed N]
python fuzz/run.py --list
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
if "--site" in sys.argv:  # of NumPy, where Python runs without its site packages: behind all other places
    sys.path.append(sys.argv[sys.argv.index("--site") + 1])

import harness  # noqa: E402

for file in sorted(HERE.glob("fuzz_*.py")):
    importlib.import_module(file.stem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help="all, where none is named")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--site", help="a folder of packages, for a Python that was started with -S")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    asked = parser.parse_args()
    unknown = sorted(set(asked.target) - set(harness.TARGETS))
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(harness.TARGETS)}")
    if asked.list:
        print("\n".join(harness.TARGETS))
        return
    harness.run(asked.target or list(harness.TARGETS), asked.seconds, asked.seed)


if __name__ == "__main__":
    main()
