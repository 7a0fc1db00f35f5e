"""`steelyard plan`: how many units a difference needs."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import PAGES, Command, Output, option, output_options, parse_margins
from steelyard.core.errors import InvalidNumber, InvalidSetting


@click.command(cls=Command)
@click.argument("pilot", type=click.Path())
@option(
    "--baseline",
    metavar="FILE|NAME",
    type=click.Path(),
    help="The other result, if PILOT is one of 'evaluate'; or another model in PILOT.",
)
@option("--model", metavar="NAME", help="The model to plan for, if PILOT holds several.")
@option("--target", multiple=True, metavar="SPEC=SIZE",
        help="A difference that matters to you, such as map=0.02. Repeatable.")  # fmt: skip
@option("--power", default=0.8, show_default=True, help="Probability of detecting it.")
@option("--units", multiple=True, type=click.IntRange(min=2), metavar="N",
        help="A test set size to look at. Repeatable.")  # fmt: skip
@option("--width", multiple=True, metavar="[SPEC=]SIZE",
        help="A wanted interval width, for all metrics or for one: 0.05 or map=0.05. Repeatable.")  # fmt: skip
@option("--family", type=int, metavar="K", help="Number of tests to correct for; default: one test at a time.")
@option("--slice", metavar="COLUMN=VALUE", help="Plan for a slice of the pilot, such as weather=fog.")
@option("--cluster", metavar="COLUMN",
        help="Count clusters instead of units, and show the gain from more units per cluster. PILOT must have been "
        "made with the same --cluster.")  # fmt: skip
@option("--runs", metavar="R,R,...", help="Numbers of runs to look at, such as 3,5,10, if PILOT has --runs.")
@option("--labels", is_flag=True, help="Show the gain from more labels and more judged units, if PILOT has --proxy.")
@output_options(*PAGES, figures=True)
def plan(
    pilot: str, target: tuple[str, ...], width: tuple[str, ...], runs: str | None, out: Output, **settings: Any
) -> None:
    """Plan how many units a test set needs to show a difference.

    PILOT is the JSON of 'compare' or 'vlm score', or of 'evaluate' with --save-influences and --baseline; for --width
    and --labels one result of 'evaluate' is enough. The standard error shrinks with the square root of the number of
    units. Every number comes with a conservative one, in case the pilot underestimates the error, and with the 10 to
    90 % range over such pilots. As --target, choose a difference that matters to you, never the pilot's own.

    \b
    steelyard plan pilot.json --target map=0.02
    steelyard plan pilot.json --target map=0.02 --family 12 --slice weather=fog
    steelyard plan result.json --width accuracy=0.05
    steelyard plan new.json --baseline old.json --power 0.9 --html plan.html
    """
    from steelyard.gating.plan import plan as make_plan

    targets = _sizes(target, "--target")
    widths: dict[str, float] | float | None = None
    if width:
        plain = [one for one in width if "=" not in one]
        if plain and len(width) > 1:
            raise InvalidSetting(
                f"--width {plain[0]} is for all metrics, so it must be the only one", remedy="Name the metrics."
            )
        widths = _size(plain[0], "--width", plain[0]) if plain else _sizes(width, "--width")
    study = make_plan(pilot, targets=targets, width=widths, runs=_runs(runs), **settings)
    out.write(study)
    out.show(study)


def _sizes(given: tuple[str, ...], option: str) -> dict[str, float]:
    return {spec: _size(size, option, f"{spec}={size}") for spec, size in parse_margins(given, option).items()}


def _size(text: str, option: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(f"{option} '{whole}' is not a size", remedy=f"Example: {option} map=0.02.") from None


def _runs(text: str | None) -> list[int]:
    try:
        return [] if text is None else [int(one) for one in text.split(",")]
    except ValueError:
        raise InvalidSetting(f"--runs '{text}' is not a list of numbers", remedy="Example: --runs 3,5,10.") from None
