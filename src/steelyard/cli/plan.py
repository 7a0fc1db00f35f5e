"""`steelyard plan`: how many units a difference needs."""

from __future__ import annotations

import json

import click

from steelyard.cli.options import check_outputs, parse_margins
from steelyard.cli.say import say
from steelyard.core.errors import InputError


@click.command()
@click.argument("pilot", type=click.Path())
@click.option(
    "--baseline", metavar="FILE", type=click.Path(), help="The other result, where PILOT is one of 'evaluate'."
)
@click.option("--target", multiple=True, metavar="SPEC=SIZE", help="A difference that would matter, such as map=0.02.")
@click.option("--power", default=0.8, show_default=True, help="How often it must be shown.")
@click.option("--units", multiple=True, type=click.IntRange(min=2), metavar="N", help="A size of test set to look at.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page with curves to FILE.")
@click.option(
    "--figures", metavar="DIR", type=click.Path(file_okay=False),
    help="Also write the curves as SVG, PNG and PDF. Needs steelyard[report].",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    pilot: str,
    baseline: str | None,
    target: tuple[str, ...],
    power: float,
    units: tuple[int, ...],
    html: str | None,
    figures: str | None,
    as_json: bool,
) -> None:
    """Say what difference test sets of other sizes show, and how many units a difference needs.

    PILOT is the JSON of 'compare', or of 'evaluate' with --save-draws and --baseline. The standard error shrinks with
    the square root of the number of units; the cautious numbers allow for a pilot that took it too small. Name a
    difference that would matter, never the pilot's own.

    \b
    steelyard plan pilot.json --target map=0.02
    steelyard plan new.json --baseline old.json --power 0.9 --html plan.html
    """
    from steelyard.gating.plan import plan as make_plan
    from steelyard.render.plan import plan_text

    check_outputs((), html=html, figures=figures)
    targets = {}
    for spec, size in parse_margins(target, "--target").items():
        try:
            targets[spec] = float(size)
        except ValueError:
            raise InputError(f"--target '{spec}={size}' is not a size", remedy="Example: --target map=0.02.") from None
    study = make_plan(pilot, baseline=baseline, targets=targets, units=units, power=power)
    written = []
    if html:
        from steelyard.io.write import write_text
        from steelyard.render.page.plan import plan_page

        write_text(html, plan_page(study))
        written.append(html)
    if figures:
        from steelyard.render.charts.export import export_figures
        from steelyard.render.page.plan import plan_figures

        written += export_figures(plan_figures(study), figures)
    for path in written:
        say(f"wrote {path}", err=True)
    say(json.dumps(study.to_dict(), indent=2) + "\n" if as_json else plan_text(study), nl=not as_json)
