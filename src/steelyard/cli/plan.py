"""`steelyard plan`: how many units a difference needs."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import check_outputs, parse_margins, terminal_width
from steelyard.cli.say import say
from steelyard.core.errors import CannotWrite, InvalidNumber, InvalidSetting

WRITERS = {".json": "to_json", ".md": "to_markdown", ".html": "to_html"}


@click.command()
@click.argument("pilot", type=click.Path())
@click.option(
    "--baseline", metavar="FILE|NAME", type=click.Path(),
    help="The other result, where PILOT is one of 'evaluate'; or another model of PILOT.",
)  # fmt: skip
@click.option("--model", metavar="NAME", help="The model to plan for, where PILOT holds several.")
@click.option("--target", multiple=True, metavar="SPEC=SIZE", help="A difference that would matter, such as map=0.02.")
@click.option("--power", default=0.8, show_default=True, help="How often it must be shown.")
@click.option("--units", multiple=True, type=click.IntRange(min=2), metavar="N", help="A size of test set to look at.")
@click.option(
    "--width", multiple=True, metavar="[SPEC=]SIZE",
    help="A width of the interval that is wanted, for all metrics or for one: 0.05 or map=0.05.",
)  # fmt: skip
@click.option("--family", type=int, metavar="K", help="How many tests are corrected together. Default: one at a time.")
@click.option("--slice", "part", metavar="COLUMN=VALUE", help="Plan for a slice of the pilot, such as weather=fog.")
@click.option(
    "--cluster", metavar="COLUMN", help="Count clusters, and show what more units per cluster bring; PILOT has them."
)
@click.option("--runs", metavar="R,R,...", help="Numbers of runs to look at, such as 3,5,10, of a PILOT with --runs.")
@click.option("--labels", is_flag=True, help="What more labels and more judged units bring, of a PILOT with --proxy.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page with curves to FILE.")
@click.option(
    "--figures", metavar="DIR", type=click.Path(file_okay=False),
    help="Also write the curves as SVG, PNG and PDF. Needs steelyard[report].",
)  # fmt: skip
@click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="Also write the plan to FILE: .json, .md or .html.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    pilot: str,
    baseline: str | None,
    model: str | None,
    target: tuple[str, ...],
    power: float,
    units: tuple[int, ...],
    width: tuple[str, ...],
    family: int | None,
    part: str | None,
    cluster: str | None,
    runs: str | None,
    labels: bool,
    html: str | None,
    figures: str | None,
    output: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what difference test sets of other sizes show, and how many units a difference or a width needs.

    PILOT is the JSON of 'compare', of 'vlm score', or of 'evaluate' with --save-influences and --baseline; for --width
    and --labels one result of 'evaluate' is enough. The standard error shrinks with the square root of the number of
    units. Every number comes with a cautious one, which allows for a pilot whose error is too small, and with the range
    that 10 to 90 % of such pilots would say. Name a difference that would matter, never the pilot's own.

    \b
    steelyard plan pilot.json --target map=0.02
    steelyard plan pilot.json --target map=0.02 --family 12 --slice weather=fog
    steelyard plan result.json --width accuracy=0.05
    steelyard plan new.json --baseline old.json --power 0.9 --html plan.html
    """
    from steelyard.gating.plan import plan as make_plan

    for name in output:
        if Path(name).suffix.lower() not in WRITERS:
            raise CannotWrite(f"cannot write '{name}': the ending names no format", remedy="Use .json, .md or .html.")
    check_outputs(output, html=html, figures=figures)
    targets = _sizes(target, "--target")
    widths: dict[str, float] | float | None = None
    if width:
        plain = [one for one in width if "=" not in one]
        if plain and len(width) > 1:
            raise InvalidSetting(f"--width {plain[0]} is for all metrics, and stands alone", remedy="Name the metrics.")
        widths = _size(plain[0], "--width", plain[0]) if plain else _sizes(width, "--width")
    study = make_plan(
        pilot, baseline=baseline, model=model, targets=targets, units=units, power=power, width=widths, family=family,
        slice=part, cluster=cluster, runs=_runs(runs), labels=labels,
    )  # fmt: skip
    for name in output:
        getattr(study, WRITERS[Path(name).suffix.lower()])(name)
    if html:
        study.to_html(html)
    drawn = study.write_figures(figures) if figures else ()
    for path in (*output, *([html] if html else []), *drawn):
        say(f"wrote {path}", err=True)
    say(study.to_json() if as_json else study.to_text(terminal_width()), nl=not as_json)


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
