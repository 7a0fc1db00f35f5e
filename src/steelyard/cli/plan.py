"""`steelyard plan`: how many units a difference needs."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import check_outputs, parse_margins, terminal_width
from steelyard.cli.say import say
from steelyard.core.errors import InputError

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
    html: str | None,
    figures: str | None,
    output: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what difference test sets of other sizes show, and how many units a difference needs.

    PILOT is the JSON of 'compare', of 'vlm score', or of 'evaluate' with --save-influences and --baseline. The
    standard error shrinks with the square root of the number of units; the cautious numbers allow for a pilot that took
    it too small. Name a difference that would matter, never the pilot's own.

    \b
    steelyard plan pilot.json --target map=0.02
    steelyard plan new.json --baseline old.json --power 0.9 --html plan.html
    """
    from steelyard.gating.plan import plan as make_plan

    for name in output:
        if Path(name).suffix.lower() not in WRITERS:
            raise InputError(f"cannot write '{name}': the ending names no format", remedy="Use .json, .md or .html.")
    check_outputs(output, html=html, figures=figures)
    targets = {}
    for spec, size in parse_margins(target, "--target").items():
        try:
            targets[spec] = float(size)
        except ValueError:
            raise InputError(f"--target '{spec}={size}' is not a size", remedy="Example: --target map=0.02.") from None
    study = make_plan(pilot, baseline=baseline, model=model, targets=targets, units=units, power=power)
    for name in output:
        getattr(study, WRITERS[Path(name).suffix.lower()])(name)
    if html:
        study.to_html(html)
    drawn = study.write_figures(figures) if figures else ()
    for path in (*output, *([html] if html else []), *drawn):
        say(f"wrote {path}", err=True)
    say(study.to_json() if as_json else study.to_text(terminal_width()), nl=not as_json)
