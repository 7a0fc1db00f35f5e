"""`steelyard evaluate`: score predictions against truth."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from steelyard import api
from steelyard.cli.options import (
    TaskCommand,
    check_outputs,
    given_options,
    parse_confidence,
    parse_mapping,
    parse_tags,
    proxy_option,
    put_out,
    refuse_together,
    run_options,
    says_dialect,
    shared_options,
    split_runs,
    task_argument,
)
from steelyard.cli.shards import are_shards, evaluate_shards, shard_options, work_folder
from steelyard.core.errors import Conflict, Unsupported
from steelyard.core.progress import advance
from steelyard.core.request import CORRECTIONS


@click.command(cls=TaskCommand)
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("files", type=click.Path(), nargs=-1, metavar="[PREDICTIONS]...")
@click.option(
    "--by", multiple=True, metavar="COLUMN[@FILE]",
    help="Slice by a column; several joined by commas are crossed. May be given several times.",
)  # fmt: skip
@click.option(
    "--units",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Also write a CSV with every unit's own scores.",
)
@click.option(
    "--tables",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Also write what the task has beside scores, such as a confusion matrix, as CSV files.",
)
@click.option(
    "--explain",
    metavar="TOOLS",
    help="Say what other tools print for these data and which setting moves it: pycocotools, torchmetrics, ultralytics "
    "for boxes, py-motmetrics for tracking, mmseg, torchmetrics for segmentation, panopticapi for panoptic, monai, "
    "surface-distance, medpy for volumes, lmms-eval, vlmevalkit, inspect, lm-eval, vqa for answers; several joined by "
    "commas.",
)
@click.option(
    "--details",
    is_flag=True,
    help="Keep in the JSON all that the page shows, so that 'steelyard report' can draw it later.",
)
@click.option(
    "--save-influences",
    is_flag=True,
    help="Keep in the JSON what each unit contributes to each score, at most 11 KB each, so that 'compare', 'gate', "
    "'plan', 'pool' and 'drift' work without the data.",
)
@click.option(
    "--save-draws",
    is_flag=True,
    help="Keep every score under the bootstrap draws in the JSON. --save-influences replaces it in the next version.",
)
@proxy_option
@click.option(
    "--judge-correction", type=click.Choice(CORRECTIONS), default="difference", show_default=True,
    help="How the proxy's errors are taken out: by its mean error, or by its rates of error on labelled units.",
)  # fmt: skip
@run_options
@click.option(
    "--label-probability", metavar="COLUMN",
    help="With --proxy: the truth's column that says with which probability each unit was chosen by 'label-next'.",
)  # fmt: skip
@shard_options
@shared_options
def evaluate(
    task: str,
    truth: str,
    files: tuple[str, ...],
    by: tuple[str, ...],
    units: str | None,
    tables: str | None,
    explain: str | None,
    details: bool,
    save_influences: bool,
    save_draws: bool,
    proxy: str | None,
    judge_correction: str,
    label_probability: str | None,
    runs: str | None,
    fixed: str | None,
    like: str | None,
    engine: str | None,
    address: str | None,
    workers: int | None,
    work: str | None,
    join: str,
    approximate: int | None,
    skip_bad_shards: bool,
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
    """Score PREDICTIONS against TRUTH.

    Files are CSV, TSV, JSON lines, JSON, Parquet or .xlsx; boxes may be COCO, LVIS, VOC, YOLO or CVAT. Without
    PREDICTIONS, TRUTH holds both, the predicted value in a column 'prediction'. Tasks: see 'steelyard metrics'.

    \b
    steelyard evaluate weights truth.csv pred.csv
    steelyard evaluate weights truth.csv pred.csv -m mae -m within@10 --by food
    steelyard evaluate sequences meals.csv --html report.html

    Several predictions of one model are its runs, and --runs says what they are; annotators are several TRUTH.

    \b
    steelyard evaluate labels truth.csv seed1.csv seed2.csv seed3.csv --runs seeds
    steelyard evaluate labels ann.csv bob.csv eve.csv predictions.csv --runs annotators

    TRUTH and PREDICTIONS may be patterns or URLs of many files; then --engine says who works on them, and --work where
    states are kept, from which a run that died is resumed.

    \b
    steelyard evaluate boxes 'truth/*.parquet' 'pred/*.parquet' --work states
    """
    check_outputs(output, html=html, figures=figures, files=[units], folders=[tables])
    refuse_together(
        "--proxy", proxy,
        {
            "--strata": strata, "--sequence": sequence, "--explain": explain, "--save-draws": save_draws,
            "--save-influences": save_influences, "--runs": runs,
        },
    )  # fmt: skip
    refuse_together("--label-probability", label_probability, {"--cluster": cluster, "--runs": runs})
    if judge_correction == "rates":
        refuse_together("--judge-correction rates", True, {"--label-probability": label_probability})
        refuse_together("--judge-correction rates", True, {"--cluster": cluster, "--by": by})
    choices: dict[str, Any] = {
        "by": by,
        "confidence": parse_confidence(confidence),
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
    }
    named = list(metrics) or None
    choices |= {"save_draws": save_draws, "save_influences": save_influences}
    if len(files) > 1 and runs is None:
        raise click.UsageError(f"Got several PREDICTIONS ({', '.join(files)}): say with --runs what they are.")
    predictions = files[0] if files else None
    sharded: Any = engine or address or workers or work or approximate or skip_bad_shards
    if runs is not None:
        beside = {"--units": units, "--tables": tables, "--details": details, "shards": sharded}
        if given := next((name for name, value in beside.items() if value), None):
            raise Conflict(f"--runs cannot be combined with {given}", remedy="Leave one of them out.")
        choices |= {"runs": runs, "fixed": fixed, "like": like}
        true, predicted = split_runs([truth, *files], runs)
        report = api.evaluate(
            task, true, predicted, named, proxy=proxy, judge_correction=judge_correction, explain=explain or (),
            **choices,
        )  # fmt: skip
        put_out(report, as_json, output, html=html, figures=figures)
        return
    with ExitStack() as held:
        if sharded or are_shards(truth, predictions):
            if proxy:
                raise Unsupported("--proxy needs all data in one place", remedy="Evaluate one file.")
            if says_dialect():
                raise Conflict("--delimiter and --decimal are for single files", remedy="Convert the files first.")
            if explain:
                raise Unsupported("--explain needs all data in one place", remedy="Evaluate one file.")
            folder = held.enter_context(work_folder(work))  # units, tables and figures are made from what lies there
            report = evaluate_shards(
                task, truth, predictions, named, engine=engine or "local", address=address, workers=workers,
                work=folder, join=join, approximate=approximate, skip_bad_shards=skip_bad_shards, progress=advance,
                **choices,
            )  # fmt: skip
        else:
            report = api.evaluate(
                task, truth, predictions, named, proxy=proxy, judge_correction=judge_correction,
                label_probability=label_probability,
                explain=explain or (), fixed=fixed, like=like, **choices,
            )  # fmt: skip
        if units:
            report.units().to_csv(units)
        more = [*([units] if units else []), *(report.write_tables(tables) if tables else ())]
        put_out(report, as_json, output, html=html, figures=figures, details=details, more=more)
