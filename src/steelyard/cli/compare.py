"""`steelyard compare`: two models on the same truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from steelyard import api
from steelyard.cli.options import (
    WRITERS,
    Output,
    TaskCommand,
    option,
    output_options,
    parse_margins,
    parse_models,
    shared_options,
    split_runs,
    taking,
    task_argument,
)
from steelyard.core.errors import Conflict, InvalidSetting, MissingData
from steelyard.core.request import ADJUSTMENTS
from steelyard.results.comparison import Comparison, Lineup


class CompareCommand(TaskCommand):
    """The command, where `--against` takes all files up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write `--against` before each of its files."""
        spelled: list[str] = []
        taking = False
        for arg in args:
            taking = arg == "--against" or (taking and not arg.startswith("-"))
            spelled += [] if arg == "--against" else ["--against", arg] if taking else [arg]
        if "--against" in args and "--against" not in spelled:
            raise click.BadOptionUsage("against", "Option '--against' requires an argument.", ctx)
        return super().parse_args(ctx, spelled)


@click.command(cls=CompareCommand)
@task_argument()
@click.argument("truth", type=click.Path(), required=False, metavar="TRUTH")
@click.argument("a", type=click.Path(), required=False, metavar="A")
@click.argument("b", type=click.Path(), nargs=-1, metavar="B...")
@output_options(*WRITERS, images=True, latex=True, figures=True, look=True, progress=True)
@shared_options
@option(
    "--adjust", type=click.Choice(ADJUSTMENTS), default="max-t", show_default=True, group="Statistics",
    help="Correction of p-values for multiple testing: jointly (max-T), Holm, false discovery rate, or none.",
)  # fmt: skip
@option(
    "--margin", multiple=True, metavar="SPEC=SIZE", group="Statistics", callback=taking(parse_margins),
    help="Test non-inferiority: how much a metric may get worse, such as map=0.005 or mae=2%. Repeatable.",
)  # fmt: skip
@option(
    "--superiority", is_flag=True, group="Statistics", rare=True,
    help="Also report the share of units on which B is better than A.",
)  # fmt: skip
@option(
    "--against", multiple=True, metavar="B...", type=click.Path(), group="Statistics", rare=True,
    help="With --runs: the runs of B; the files before are those of A. Takes all files up to the next option.",
)  # fmt: skip
@option(
    "--pair-runs", is_flag=True, group="Statistics", rare=True,
    help="With --runs: run k of A and run k of B belong together (same seed, split or reader).",
)  # fmt: skip
@option(
    "--model", metavar="NAME", group="Stored results", rare=True,
    help="Model or prompt to use as B, if a stored result holds several.",
)  # fmt: skip
@option("--baseline", metavar="NAME", group="Stored results", rare=True, help="Model or prompt to use as A.")
@option(
    "--pairs",
    is_flag=True,
    group="Output",
    help="With three models or more, also print the differences of each model from A.",
)
def compare(
    task: str, truth: str | None, a: str | None, b: tuple[str, ...], metrics: tuple[str, ...], model: str | None,
    baseline: str | None, against: tuple[str, ...], pairs: bool, out: Output, **settings: Any,
) -> None:  # fmt: skip
    """Compare predictions B with predictions A, paired by unit.

    Differences are B minus A, each with an interval, a p-value and a verdict: B is better, worse, or not shown to
    differ. Several B are each compared with A, with p-values corrected for all of them. NAME=FILE names a model.

    \b
    steelyard compare weights truth.csv old.csv new.csv -m mae
    steelyard compare weights truth.csv old.csv new.csv newer.csv --by food --html compared.html
    steelyard compare weights truth.csv old.csv new.csv -m mae --margin mae=2%
    steelyard compare weights truth.csv base=old.csv ours=new.csv small=newer.csv --latex table.tex
    steelyard compare labels some_truth.csv old.csv new.csv --proxy judge.csv

    With several runs of each model, such as seeds, p-values also hold for new runs.

    \b
    steelyard compare labels truth.csv a/seed*.csv --against b/seed*.csv --runs seeds

    Stored results, the JSON of 'evaluate' or 'vlm score', are compared without their data. If they were made with
    --save-influences on the same truth, p-values and intervals are the same as from the data.

    \b
    steelyard compare old.json new.json newer.json
    steelyard compare score.json --model direct+name --baseline direct
    """
    result = _compare_sources(task, truth, a, b, list(metrics) or None, model, baseline, against, settings)
    out.write(result)
    out.show(result, **({"pairs": True} if pairs and isinstance(result, Lineup) else {}))


def _compare_sources(
    task: str, truth: str | None, a: str | None, b: tuple[str, ...], metrics: list[str] | None, model: str | None,
    baseline: str | None, against: tuple[str, ...], settings: dict[str, Any],
) -> Comparison | Lineup:  # fmt: skip
    """Compare stored results, runs of two models, or several models."""
    if Path(task).suffix.lower() == ".json":
        from steelyard.gating.stored import compare_stored
        from steelyard.io.guess import look

        for name in ("proxy", "superiority"):
            if settings[name]:
                raise MissingData(
                    f"`{name}` needs what each model scores on each unit, which stored results do not hold",
                    remedy="Give the truth and both predictions.",
                )
        if os.path.isfile(task) and any(look(Path(task), side, {}).tasks for side in ("truth", "prediction")):
            raise click.UsageError(
                f"'{task}' holds data, and the task comes first: 'steelyard compare TASK {task} ...'. "
                f"Without 'compare', the task is recognized: 'steelyard {task} ...'."
            )
        return compare_stored([file for file in (task, truth, a, *b) if file is not None], model, baseline)
    if model or baseline:
        raise Conflict("--model and --baseline are for stored results", remedy="Name models by NAME=FILE.")
    runs = settings["runs"]
    if truth is None or a is None or not (b or runs):
        lacking = next(name for name, given in (("TRUTH", truth), ("A", a), ("B...", b)) if not given)
        raise click.UsageError(f"Missing argument '{lacking}'.")
    if settings["confidence"] is None:
        raise Conflict("a comparison needs a confidence level", remedy="Leave --ci out, or write --ci 0.95.")
    if runs is not None:
        if not against:
            raise Conflict("--runs needs the runs of B", remedy="Write them behind --against.")
        if runs == "annotators" and len(against) != 1:
            raise InvalidSetting("--runs annotators compares two predictions", remedy="Give one file behind --against.")
        true, first = split_runs([truth, a, *b], runs)
        second = against[0] if runs == "annotators" else split_runs([truth, *against], runs)[1]
        return api.compare(task, true, first, second, metrics, **settings)
    of_runs = [settings.pop(name) for name in ("runs", "pair_runs", "fixed", "like")]
    if against or any(of_runs):
        raise Conflict("--against, --pair-runs, --fixed and --like are for several runs", remedy="Add --runs.")
    lineup: Lineup = api.compare(task, truth, parse_models([a, *b]), metrics=metrics, **settings)
    return lineup if len(b) > 1 else lineup[0]
