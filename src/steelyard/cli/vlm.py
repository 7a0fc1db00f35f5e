"""`steelyard vlm`: run a vision-language model over frames, parse its replies, score them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import (
    PAGES,
    Command,
    Output,
    by_option,
    confidence_option,
    draw_options,
    metric_option,
    option,
    output_options,
    parse_columns,
    save_influences_option,
    taking,
    terminal_width,
)
from steelyard.cli.say import say
from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSetting
from steelyard.io.write import write_bytes
from steelyard.render.numbers import money_text
from steelyard.vlm.answers import MODES, MOST_GRAMS
from steelyard.vlm.backend import ModelOptions
from steelyard.vlm.export import write_sides
from steelyard.vlm.frames import frame_table, read_frames
from steelyard.vlm.models import open_backend
from steelyard.vlm.nutrition5k import write_frames as write_nutrition5k
from steelyard.vlm.plan import NO_NAME
from steelyard.vlm.prices import read_prices
from steelyard.vlm.prompts import PROMPTS, SETS, choose_prompts
from steelyard.vlm.questions import check_table
from steelyard.vlm.readings import NAME, read_run, write_readings
from steelyard.vlm.run import Progress
from steelyard.vlm.run import run as ask
from steelyard.vlm.score import METRICS, MISSING
from steelyard.vlm.score import score as score_run

MOST_REASONS = 2  # why questions could not be asked
LONG_REPLIES = {"nutrients": 300, "documents": 4000}  # tokens of JSON with nutrients or ingredients, and of a page
OUT_OF_BUDGET = 3  # exit code of a run that its budget ended
_DEFAULTS = ModelOptions()
_LOCAL, _SERVER = "Local models (hf:)", "Servers"
_questions, _local, _server = (partial(option, group=name) for name in ("Questions", _LOCAL, _SERVER))
_MODE = option(
    "--mode",
    type=click.Choice(list(MODES)),
    group="Questions",
    help="Read the number from the whole reply (default), or from its last line.",
)
_PRICES = option(
    "--prices", metavar="FILE", type=click.Path(), group="Cost", help="Token prices by model: .yaml, .toml or .json."
)
_MODEL = {
    "max-tokens": ("Model", "Maximum length of a reply in tokens."),
    "max-side": ("Model", "Longest side of an image in pixels."),
    "temperature": ("Model", "Sampling temperature; 0: the most likely reply."),
    "batch": (_LOCAL, "Images per batch; all prompts of an image are in the same batch."),
    "device": (_LOCAL, "auto, cpu, cuda or mps."),
    "dtype": (_LOCAL, "auto, float32, bfloat16 or float16."),
    "device-map": (_LOCAL, "How accelerate spreads a large model over devices: auto."),
    "revision": (_LOCAL, "Branch, tag or commit of a model on the Hub."),
    "quantize": (_LOCAL, "4bit or 8bit, with bitsandbytes."),
    "attention": (_LOCAL, "Attention implementation: sdpa, eager or flash_attention_2."),
    "concurrency": (_SERVER, "Concurrent requests."),
    "rate": (_SERVER, "Maximum requests per minute; 0: no limit."),
    "token-rate": (_SERVER, "Maximum tokens per minute; 0: no limit."),
    "image": (_SERVER, "Send images as png (lossless) or jpeg."),
    "limit-field": (_SERVER, "Request field of the token limit: auto, max_tokens or max_completion_tokens."),
    "http-proxy": (_SERVER, "Use the proxy in HTTP_PROXY: auto (not for private addresses), always or never."),
    "retries": (_SERVER, "Maximum attempts per question."),
    "timeout": (_SERVER, "Time limit of an attempt in seconds."),
}  # fmt: skip


def _model_options(function: Any) -> Any:
    """The options that say how a model is loaded and asked."""
    for name, (group, text) in reversed(_MODEL.items()):
        default = getattr(_DEFAULTS, name.replace("-", "_"))
        add = option(f"--{name}", type=type(default), default=default, show_default=True, group=group, help=text)
        function = add(function)
    return function


@click.group()
def vlm() -> None:
    """Run vision-language models on images and score their replies.

    \b
    steelyard vlm run frames.csv --model hf:FOLDER --out run/
    steelyard vlm score run/
    """


@vlm.command(cls=Command)
@click.argument("frames", type=click.Path())
@option("--model", required=True, metavar="SPEC", group="Model",
        help="hf:FOLDER_OR_ID, openai:MODEL@URL, anthropic:MODEL or gemini:MODEL.")  # fmt: skip
@option("--out", required=True, metavar="DIR", group="Model",
        help="Directory of the run. The same command resumes an interrupted run.")  # fmt: skip
@option("--give-up", default=50, show_default=True, metavar="N", group="Model",
        help="Stop after N failures in a row.")  # fmt: skip
@option("--map", "columns", multiple=True, metavar="NAME=COLUMN", group="Questions", callback=taking(parse_columns),
        help="Read NAME of the frames from this column, such as image=photo. Repeatable.")  # fmt: skip
@_questions("--prompts", metavar="NAMES", help=f"Prompts, joined by commas; default: {','.join(PROMPTS)}.")
@_questions("--prompt-file", metavar="FILE", type=click.Path(),
            help="Your own prompts: a JSON object of names and texts, or one text.")  # fmt: skip
@_questions("--questions", metavar="FILE", type=click.Path(),
            help=f"Your own questions: .yaml, .toml or .json; or a set of the package: {', '.join(SETS)}.")  # fmt: skip
@_questions("--answer", metavar="KIND", default="", help="What your own prompts ask for: grams.")
@_questions("--controls", is_flag=True, help="Also ask about a grey image and about the image of another meal.")
@_questions("--repeat", default=1, show_default=True, metavar="N", help="Ask N times, with --temperature.")
@_questions("--most", default=MOST_GRAMS, show_default=True, metavar="GRAMS", help="Largest plausible weight.")
@_MODE
@_PRICES
@option("--budget", type=float, metavar="AMOUNT", group="Cost",
        help="Stop before a question that could raise the total cost of the run above AMOUNT.")  # fmt: skip
@_local("--share/--no-share", default=True, help="Encode an image once for all its prompts.")
@_local("--trust-code", is_flag=True, help="Run code that comes with the model.")
@_server("--param", "params", multiple=True, metavar="NAME=VALUE",
         help="Add a field to requests; VALUE is JSON or text, and 'none' removes the field. Repeatable.")  # fmt: skip
@_server("--key-env", default="", metavar="NAME",
         help="Environment variable with the API key; default: OPENAI_API_KEY, ANTHROPIC_API_KEY or "
         "GEMINI_API_KEY.")  # fmt: skip
@_server("--insecure", is_flag=True, help="Allow sending the key over http:// to other networks.")
@_model_options
def run(
    frames: str,
    columns: dict[str, str],
    model: str,
    prompts: str | None,
    prompt_file: str | None,
    questions: str | None,
    answer: str,
    out: str,
    controls: bool,
    repeat: int,
    share: bool,
    params: tuple[str, ...],
    key_env: str,
    most: float,
    prices: str | None,
    budget: float | None,
    give_up: int,
    mode: str | None,
    **options: Any,
) -> None:
    """Ask a model every prompt about every frame of FRAMES, and record the replies.

    FRAMES is a table with the columns sequence, t and image (a path relative to the table), optionally food, weight,
    kcal_per_g, valid and the columns that your own questions use; or a directory of images. Replies are appended to a
    journal in DIR, and the same command resumes an interrupted run. Exit code: 0 all asked, 1 some failed, 2 bad input,
    3 out of budget.
    """
    priced = read_prices(prices) if prices else None
    if budget is not None and priced is None:
        raise InvalidSetting("a budget needs prices", remedy="Give them with --prices FILE.")
    names = [name.strip() for name in (prompts or "").split(",") if name.strip()]
    chosen = choose_prompts(names, prompt_file, answer, questions)
    table = frame_table(frames, columns)
    check_table([prompt for prompt in chosen if prompt.fills], table, questions or "")
    shots = list(dict.fromkeys(key for prompt in chosen for key in prompt.shots))
    shown = read_frames(frames, table=table, shots=shots)
    seen = [dict.fromkeys(frame.pictures(prompt).problem for prompt in chosen) for frame in shown if frame.valid]
    problems = [problem for frame in seen for problem in frame if problem]
    for problem in problems[:5]:
        say(f"steelyard: {problem}", err=True)
    if len(problems) > 5:
        say(f"steelyard: {len(problems) - 5} more images cannot be read", err=True)
    backend = open_backend(
        model, ModelOptions(share=share, key_variable=key_env, params=tuple(map(_param, params)), **options)
    )
    notes = list(getattr(backend, "notes", ()))
    if repeat > 1 and backend.settings.get("do_sample") is False:
        notes.append("replies are not sampled, so repeats are equal: set --temperature")
    needed = max((LONG_REPLIES.get(prompt.kind.task, 0) for prompt in chosen), default=0)
    if options["max_tokens"] < needed:
        notes.append(f"replies of more than {options['max_tokens']} tokens are cut off: set --max-tokens {needed}")
    for note in notes:
        say(f"steelyard: {note}", err=True)
    try:
        progress = ask(
            shown, backend, chosen, out, model=model, mode=mode or "whole", most=most, controls=controls, repeat=repeat,
            give_up=give_up, prices=priced, budget=budget, watch=_watcher(),
        )  # fmt: skip
    finally:
        backend.close()
    answer = "number" if all(prompt.weighs for prompt in chosen) else "answer"
    say(_summary(progress, out, answer, priced.currency if priced else ""), err=True)
    if progress.out_of_budget:
        say(
            f"steelyard: the budget of {budget:g} does not cover another question; "
            f"{count_text(progress.left, 'reading')} not asked. What was read is kept; "
            "run the same command with a higher --budget to go on.",
            err=True,
        )
        raise click.exceptions.Exit(OUT_OF_BUDGET)
    if progress.reasons[NO_NAME]:
        without = ",".join(prompt.name for prompt in chosen if not prompt.needs_name)
        choose = f", or choose prompts without it: --prompts {without}" if without else ""
        say(f"steelyard: add a column 'food' with the food's name{choose}", err=True)
    if progress.failed or progress.unaskable:
        raise click.exceptions.Exit(1)


def _param(text: str) -> tuple[str, Any]:
    """A field and its value: JSON, a text, or None."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidSetting(f"--param '{text[:60]}' is not a field", remedy="Write --param name=value.")
    if value.strip().lower() == "none":
        return name.strip(), None
    try:
        return name.strip(), json.loads(value, parse_constant=lambda text: text)
    except (ValueError, RecursionError):
        return name.strip(), value


def _summary(p: Progress, out: str, answer: str = "number", currency: str = "") -> str:
    with_one = f"{p.parsed:,} with a{'n' if answer == 'answer' else ''} {answer}"
    parts = [count_text(p.wanted, "reading"), f"{p.held:,} held already", f"{p.done:,} asked", with_one]
    if p.followed_up:
        parts.append(f"{p.followed_up:,} followed up")
    if p.failed:
        parts.append(f"{p.failed:,} failed (the last: {p.last_error})")
    if p.unaskable:
        reasons = [f"{count:,}: {reason}" for reason, count in p.reasons.most_common(MOST_REASONS)]
        if len(p.reasons) > MOST_REASONS:
            reasons.append(f"and {count_text(len(p.reasons) - MOST_REASONS, 'other reason')}")
        parts.append(f"{p.unaskable:,} could not be asked ({'; '.join(reasons)})")
    if p.cost is not None:
        parts.append(f"{money_text(p.cost, currency)} spent")
    return f"{out}: {', '.join(parts)}"


def _watcher() -> Callable[[Progress], None]:
    """A line that is written over and over on a terminal; nothing when piped."""
    if not sys.stderr.isatty():
        return lambda progress: None
    last = [0.0]

    def watch(p: Progress) -> None:
        now = time.monotonic()
        if now - last[0] < 0.1 and p.left:
            return
        last[0] = now
        asked = p.done + p.failed
        parsed = f"{100 * p.parsed / p.done:.0f} % parsed" if p.done else ""
        left = f"{p.left / p.rate:.0f} s left" if asked and p.left else ""
        share = (p.wanted - p.left) / p.wanted if p.wanted else 1.0
        bar = ("█" * round(20 * share)).ljust(20, "░")
        parts = [f"{p.wanted - p.left:,}/{p.wanted:,}", f"{p.rate:.1f}/s", left, parsed, f"{p.failed} failed"]
        # The one line that steers the terminal itself: nothing in it comes from elsewhere.
        click.echo(f"\r{bar} {', '.join(part for part in parts if part)}\033[K", nl=not p.left, err=True)

    return watch


@vlm.command()
@click.argument("folder", type=click.Path(file_okay=False))
@option("--to", metavar="DIR", type=click.Path(file_okay=False), group="Output",
        help="Also write files for 'evaluate' and 'compare' to DIR: ground truth and MODEL--PROMPT.csv.")  # fmt: skip
@_MODE
def parse(folder: str, to: str | None, mode: str | None) -> None:
    """Parse the replies of a run again, without asking the model, and write them to readings.csv."""
    held = read_run(folder, mode)
    taken = held.taken
    path = Path(folder) / NAME
    write_readings(path, taken)
    counts: dict[str, int] = {}
    for reading in taken:
        counts[reading.answer.outcome] = counts.get(reading.answer.outcome, 0) + 1
    for outcome, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        say(f"{outcome:<20} {count:>8,}")
    for written in [path, *(write_sides(held, Path(to)) if to else ())]:
        say(f"wrote {written}", err=True)


@vlm.command(cls=Command)
@click.argument("folders", type=click.Path(file_okay=False), nargs=-1, required=True)
@option("--task", type=click.Choice(list(METRICS)), default="sequences", show_default=True, group="Data",
        help="Score eating sequences, or single dishes.")  # fmt: skip
@option("--missing", default="skip", show_default=True, type=click.Choice(MISSING), group="Data",
        help="Frames without a number: report an error, score them as the worst, or skip them.")  # fmt: skip
@option("--recalibrate", is_flag=True, group="Data", help="Also score weights after a linear recalibration.")
@option("--weight", metavar="COLUMN", group="Data", help="Column of the frames with the weights of the sequences.")
@_MODE
@metric_option
@by_option
@confidence_option
@draw_options
@_PRICES
@save_influences_option
@option("--save-draws", is_flag=True, group="Output", help="Keep every score under the bootstrap draws in the JSON.")
@option("--thumbnails", metavar="DIR", type=click.Path(file_okay=False), group="Output",
        help="Show thumbnails of frames in the report; DIR is what their paths are relative to.")  # fmt: skip
@output_options(*PAGES, html=False, progress=True)
def score(
    folders: tuple[str, ...], metrics: tuple[str, ...], thumbnails: str | None, out: Output, **settings: Any
) -> None:
    """Score the readings of runs: errors with intervals, the effect of the prompts, and how far to trust replies.

    Also shows tokens and time, and with --prices the cost. Metrics are those of the task or of 'answers'; each question
    uses those of its own task. 'gate', 'compare', 'plan', 'report' and 'view' read the JSON.
    """
    result = score_run(folders, metrics or None, **settings)
    out.write(result, images=thumbnails)
    out.show(result)


@vlm.command()
@click.argument("metadata", type=click.Path())
@click.argument("images", type=click.Path(file_okay=False))
@click.option("--name", default="rgb.png", show_default=True, help="File name of the image in the folder of each dish.")
@click.option(
    "-o", "--output", required=True, metavar="FILE", type=click.Path(dir_okay=False), help="Write the frames to FILE."
)
def nutrition5k(metadata: str, images: str, name: str, output: str) -> None:
    """Make frames from Nutrition5k: METADATA is its CSV without a header, IMAGES has one folder per dish."""
    count, without = write_nutrition5k(metadata, images, output, name)
    say(f"wrote {output}: {count_text(count, 'dish')}, {without:,} without an image left out", err=True)


def demo(output: Path) -> Path:
    """Run the sample's small model over drawn plates, and score it; the folder of the results."""
    folder = output / "vlm"
    with as_file(files("steelyard") / "samples" / "vlm") as sample:
        for file in sorted(path for path in sample.rglob("*") if path.is_file()):
            target = folder / file.relative_to(sample)
            write_bytes(target, file.read_bytes())
    frames, model, out = folder / "frames.csv", f"hf:{folder / 'model'}", folder / "run"
    say(f"$ steelyard vlm run {frames} --model {model} --out {out} --controls")
    backend = open_backend(model, ModelOptions(device="cpu"))
    for note in getattr(backend, "notes", ()):
        say(note)
    progress = ask(
        read_frames(frames), backend, tuple(PROMPTS.values()), out, model=model, controls=True, watch=_watcher()
    )
    say(_summary(progress, str(out)))
    say(f"\n$ steelyard vlm score {out}\n")
    result = score_run(out)
    say(result.to_text(terminal_width()))
    result.to_json(folder / "score.json")
    result.to_markdown(folder / "score.md")
    result.to_html(folder / "report.html", images=folder)
    say(f"\nreport.html, score.md and score.json are in {folder}, with the data, so you can run the commands above.")
    return folder
