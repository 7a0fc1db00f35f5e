"""`steelyard compare`: two models on the same truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard import api
from steelyard.cli.options import (
    TaskCommand,
    check_outputs,
    given_options,
    parse_confidence,
    parse_mapping,
    parse_margins,
    parse_models,
    parse_tags,
    proxy_option,
    put_out,
    refuse_together,
    run_options,
    shared_options,
    split_runs,
    task_argument,
)
from steelyard.core.errors import Conflict, InvalidSetting, MissingData
from steelyard.core.request import ADJUSTMENTS
from steelyard.results.comparison import Lineup


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
@click.option(
    "--by", multiple=True, metavar="COLUMN[@FILE]",
    help="Compare in slices too, by a column; several joined by commas are crossed. May be given several times.",
)  # fmt: skip
@click.option(
    "--adjust", type=click.Choice(ADJUSTMENTS), default="max-t", show_default=True,
    help="How p-values are corrected for all that is tested: together, by Holm, by false discovery rate, or not.",
)  # fmt: skip
@click.option(
    "--margin", multiple=True, metavar="SPEC=SIZE",
    help="How much a metric may lose, such as map=0.005 or mae=2%: is B at least not worse? May be repeated.",
)  # fmt: skip
@click.option("--superiority", is_flag=True, help="Say on which share of units B is better than A, too.")
@click.option(
    "--model", metavar="NAME", help="Of a stored result that holds several models or prompts: which one is B."
)
@click.option("--baseline", metavar="NAME", help="Likewise, which one is A.")
@click.option(
    "--save-influences", is_flag=True,
    help="Keep in the JSON what each unit contributes to each score, so that 'gate' and 'pool' work without the data.",
)  # fmt: skip
@click.option(
    "--against", multiple=True, metavar="B...", type=click.Path(),
    help="With --runs: the runs of B, where the arguments before are those of A; all files up to the next option.",
)  # fmt: skip
@click.option(
    "--pair-runs", is_flag=True, help="With --runs: run k of A and of B belong together (seed, split, reader)."
)
@run_options
@proxy_option
@click.option("--pairs", is_flag=True, help="With three models or more, print each one's differences from A too.")
@shared_options
def compare(
    task: str,
    truth: str | None,
    a: str | None,
    b: tuple[str, ...],
    by: tuple[str, ...],
    adjust: str,
    margin: tuple[str, ...],
    superiority: bool,
    model: str | None,
    baseline: str | None,
    save_influences: bool,
    against: tuple[str, ...],
    pair_runs: bool,
    runs: str | None,
    fixed: str | None,
    like: str | None,
    proxy: str | None,
    pairs: bool,
    metrics: tuple[str, ...],
    confidence: str,
    draws: int,
    seed: int,
    cluster: str | None,
    strata: str | None,
    sequence: str | None,
    missing: str | None,
    extra: str | None,
    mapping: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
    output: tuple[str, ...],
    html: str | None,
    figures: str | None,
) -> None:
    """Compare predictions B with predictions A, paired by unit.

    Differences are B minus A, each with its interval, a p-value and a verdict: B is better, worse, or no difference is
    shown. Several B are each compared with A, and p-values are corrected for all of them. NAME=FILE names a model.

    \b
    steelyard compare weights truth.csv old.csv new.csv -m mae
    steelyard compare weights truth.csv old.csv new.csv newer.csv --by food --html compared.html
    steelyard compare weights truth.csv old.csv new.csv -m mae --margin mae=2%
    steelyard compare weights truth.csv base=old.csv ours=new.csv small=newer.csv -o table.tex
    steelyard compare labels some_truth.csv old.csv new.csv --proxy judge.csv

    With several runs of each model, such as seeds, the recipes are compared: p then holds for other runs too.

    \b
    steelyard compare labels truth.csv a/seed*.csv --against b/seed*.csv --runs seeds

    Results that are stored are compared without their data: the JSON of 'evaluate' or of 'vlm score'. Made with
    --save-influences on the same truth, they give the p and the intervals that the data would give.

    \b
    steelyard compare old.json new.json newer.json
    steelyard compare score.json --model direct+name --baseline direct
    """
    check_outputs(output, html=html, figures=figures)
    refuse_together(
        "--proxy", proxy,
        {
            "--strata": strata, "--sequence": sequence, "--superiority": superiority,
            "--save-influences": save_influences, "--runs": runs,
        },
    )  # fmt: skip
    if Path(task).suffix.lower() == ".json":
        refuse_together("--proxy", proxy, {"stored results": True})
        from steelyard.gating.stored import compare_stored

        if superiority:
            raise MissingData(
                "--superiority needs what each model scores on each unit, which stored results do not hold",
                remedy="Give the truth and both predictions.",
            )
        stored = compare_stored([file for file in (task, truth, a, *b) if file is not None], model, baseline)
        held: dict[str, Any] = {"pairs": pairs} if pairs and isinstance(stored, Lineup) else {}
        put_out(stored, as_json, output, html=html, figures=figures, **held)
        return
    if model or baseline:
        raise Conflict("--model and --baseline are for stored results", remedy="Name models by NAME=FILE.")
    if truth is None or a is None or not (b or runs):
        lacking = next(name for name, given in (("TRUTH", truth), ("A", a), ("B...", b)) if not given)
        raise click.UsageError(f"Missing argument '{lacking}'.")
    level = parse_confidence(confidence)
    if level is None:
        raise Conflict("a comparison needs a confidence level", remedy="Leave --ci out, or write --ci 0.95.")
    choices: dict[str, Any] = {
        "by": by,
        "confidence": level,
        "draws": draws,
        "seed": seed,
        "cluster": cluster,
        "strata": strata,
        "sequence": sequence,
        "missing": missing,
        "extra": extra,
        "columns": parse_mapping(mapping),
        "options": given_options(),
        "tags": parse_tags(tags),
        "adjust": adjust,
        "margin": parse_margins(margin),
        "save_influences": save_influences,
        "superiority": superiority,
    }
    if runs is not None:
        if not against:
            raise Conflict("--runs needs the runs of B", remedy="Write them behind --against.")
        if runs == "annotators" and len(against) != 1:
            raise InvalidSetting("--runs annotators compares two predictions", remedy="Give one file behind --against.")
        true, first = split_runs([truth, a, *b], runs)
        second = against[0] if runs == "annotators" else split_runs([truth, *against], runs)[1]
        compared = api.compare(
            task, true, first, second, list(metrics) or None, runs=runs, pair_runs=pair_runs, fixed=fixed, like=like,
            **choices,
        )  # fmt: skip
        put_out(compared, as_json, output, html=html, figures=figures)
        return
    if against or pair_runs or fixed or like:
        raise Conflict("--against, --pair-runs, --fixed and --like are for several runs", remedy="Add --runs.")
    shown: dict[str, Any] = {"pairs": pairs} if pairs and len(b) > 1 else {}
    lineup = api.compare(task, truth, parse_models([a, *b]), metrics=list(metrics) or None, proxy=proxy, **choices)
    put_out(lineup if len(b) > 1 else lineup[0], as_json, output, html=html, figures=figures, **shown)
