"""How often a planned number of units shows the difference that it was planned for, by simulation.

    python tools/simulate_plans.py [--pilots 40] [--sets 300] [--draws 199] [--seed 0] [--page FILE]

Two models of a population are measured once, one of them better (tests/support/planning.py). Pilots are drawn from it,
and each plans how many units show the population's difference with 80 % power. Test sets of the median number say how
often it is shown: p < 0.05. `--page` writes the table into a page, between its marks.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.planning import STUDIES, power_of

MARKS = ("<!-- plans: start -->", "<!-- plans: end -->")


def main() -> None:
    """Simulate and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilots", type=int, default=40)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    lines = ["| metric | units of the pilot | planned units: power | cautious units: power |", "|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for study in STUDIES:
        power = power_of(study, asked.pilots, asked.sets, asked.draws, asked.seed)
        plain, careful = (f"{100 * shown / power.sets:.0f} %" for shown in (power.shown, power.shown_cautious))
        planned = f"{power.units}: {plain} | {power.cautious}: {careful}"
        line = f"| `{study.metric}` of {study.task} | {study.pilot} | {planned} |"
        print(line, flush=True)
        lines.append(line)
    if asked.page:
        text = asked.page.read_text(encoding="utf-8")
        before, rest = text.split(MARKS[0])
        page = f"{before}{MARKS[0]}\n\n" + "\n".join(lines) + f"\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}"
        asked.page.write_text(page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
