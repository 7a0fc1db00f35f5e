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
    put_out,
    shared_options,
    task_argument,
)
from steelyard.core.errors import InputError
from steelyard.core.request import ADJUSTMENTS
from steelyard.results.comparison import Lineup


@click.command(cls=TaskCommand)
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

    Results that are stored are compared without their data: the JSON of 'evaluate' or of 'vlm score'. Made with
    --save-influences on the same truth, they give the p and the intervals that the data would give.

    \b
    steelyard compare old.json new.json newer.json
    steelyard compare score.json --model direct+name --baseline direct
    """
    check_outputs(output, html=html, figures=figures)
    if Path(task).suffix.lower() == ".json":
        from steelyard.gating.stored import compare_stored

        if superiority:
            raise InputError(
                "--superiority needs what each model scores on each unit, which stored results do not hold",
                remedy="Give the truth and both predictions.",
            )
        stored = compare_stored([file for file in (task, truth, a, *b) if file is not None], model, baseline)
        held: dict[str, Any] = {"pairs": pairs} if pairs and isinstance(stored, Lineup) else {}
        put_out(stored, as_json, output, html=html, figures=figures, **held)
        return
    if model or baseline:
        raise InputError("--model and --baseline are for stored results", remedy="Name models by NAME=FILE.")
    if truth is None or a is None or not b:
        lacking = next(name for name, given in (("TRUTH", truth), ("A", a), ("B...", b)) if not given)
        raise click.UsageError(f"Missing argument '{lacking}'.")
    level = parse_confidence(confidence)
    if level is None:
        raise InputError("a comparison needs a confidence level", remedy="Leave --ci out, or write --ci 0.95.")
    shown: dict[str, Any] = {"pairs": pairs} if pairs and len(b) > 1 else {}
    lineup = api.compare_all(
        task,
        truth,
        parse_models([a, *b]),
        list(metrics) or None,
        by=[tuple(name.strip() for name in names.split(",")) for names in by],
        confidence=level,
        draws=draws,
        seed=seed,
        cluster=cluster,
        strata=strata,
        sequence=sequence,
        missing=missing,
        extra=extra,
        columns=parse_mapping(mapping),
        options=given_options(),
        tags=parse_tags(tags),
        adjust=adjust,
        margin=parse_margins(margin),
        save_influences=save_influences,
        superiority=superiority,
    )
    put_out(lineup if len(b) > 1 else lineup[0], as_json, output, html=html, figures=figures, **shown)
