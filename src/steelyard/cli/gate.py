"""`steelyard gate`: rules that a result must hold to, for CI."""

from __future__ import annotations

import os

import click

from steelyard.cli.options import terminal_width
from steelyard.cli.say import say
from steelyard.cli.streams import end_with
from steelyard.core.errors import CannotWrite


@click.command()
@click.argument("result", type=click.Path())
@click.option("--baseline", metavar="FILE|NAME", type=click.Path(),
              help="The result to compare with: an earlier one, or another model in RESULT.")  # fmt: skip
@click.option("--model", metavar="NAME", help="The model to test, if RESULT holds several.")
@click.option(
    "--fail-if", "rules", multiple=True, required=True, metavar="RULE",
    help="Fail if this is true, such as 'mae > 30' or 'map < baseline, p < 0.05'. Repeatable.",
)  # fmt: skip
@click.option(
    "--junit", metavar="FILE", type=click.Path(dir_okay=False), help="Also write JUnit XML with one test case per rule."
)
@click.option(
    "--other-truth",
    is_flag=True,
    help="Allow a baseline scored on other ground truth; the comparison is then unpaired.",
)
@click.option(
    "--ledger",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Record looks at this test set in FILE, and keep the error rate over all of them.",
)
@click.option("--looks", type=int, metavar="N", help="With --ledger: number of planned looks; default: no limit.")
@click.option("--fresh-units", is_flag=True, help="With --ledger: all units are new, so looks restart at 1.")
@click.option(
    "--undecided", type=click.Choice(["fail", "pass"]), show_default="exit code 3",
    help="Exit with 1 or 0 if the gate is undecided. The printed outcome stays undecided.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def gate(
    result: str,
    baseline: str | None,
    model: str | None,
    rules: tuple[str, ...],
    junit: str | None,
    other_truth: bool,
    ledger: str | None,
    looks: int | None,
    fresh_units: bool,
    undecided: str | None,
    as_json: bool,
) -> int:
    """Test RESULT against rules: exit 0 pass, 1 fail, 3 undecided.

    RESULT is the JSON of 'evaluate', of 'compare', which contains its baseline, or of 'vlm score'. If it holds several
    models, choose one with --model. A rule is undecided if the interval includes the bound. On GitHub Actions the
    outcome is also added to the job summary.

    \b
    steelyard gate result.json --fail-if "mae > 30"
    steelyard gate result.json --baseline base.json --fail-if "map < baseline, p < 0.05"
    steelyard gate board.json --model ours --baseline theirs --fail-if "map < baseline"
    steelyard gate result.json --fail-if "map < 0.35" --ledger looks.json --looks 20
    """
    from steelyard.gating import gate as gating

    outcome = gating.gate(
        result, rules, baseline=baseline, model=model, other_truth=other_truth, ledger=ledger, looks=looks,
        fresh_units=fresh_units,
    )  # fmt: skip
    held_open = outcome.outcome == "undecided" and undecided is not None
    code = {"fail": 1, "pass": 0}[str(undecided)] if held_open else outcome.exit_code
    end_with(code)
    if junit:
        outcome.to_junit(junit)
        say(f"wrote {junit}", err=True)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        _append(summary, outcome.to_markdown())
    say(outcome.to_json() if as_json else outcome.to_text(terminal_width()), nl=not as_json)
    if held_open:
        say(f"The gate is undecided, which counts as a {undecided}: --undecided {undecided}.", err=True)
    return code


def _append(path: str, text: str) -> None:
    try:
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
    except OSError as error:
        raise CannotWrite(f"GITHUB_STEP_SUMMARY cannot be written: {error.strerror}", where=path) from None
