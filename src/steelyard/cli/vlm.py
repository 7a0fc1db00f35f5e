"""`steelyard vlm`: run a vision-language model over frames, parse its replies, score them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import parse_confidence, parse_mapping, terminal_width
from steelyard.cli.say import say
from steelyard.core.counts import count_text
from steelyard.core.errors import CannotWrite, InvalidSetting
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
from steelyard.vlm.prompts import PROMPTS, choose_prompts
from steelyard.vlm.questions import check_table
from steelyard.vlm.readings import NAME, read_run, write_readings
from steelyard.vlm.run import Progress
from steelyard.vlm.run import run as ask
from steelyard.vlm.score import METRICS, MISSING
from steelyard.vlm.score import score as score_run

MOST_REASONS = 2  # why questions could not be asked
OUT_OF_BUDGET = 3  # exit code of a run that its budget ended
_DEFAULTS = ModelOptions()
_MODE = click.option(
    "--mode", type=click.Choice(list(MODES)), help="Read the whole reply (default), or its last line, as the number."
)


def _model_options(function: Any) -> Any:
    """The options that say how a model is loaded and asked."""
    kinds = {
        "max-tokens": (int, "Longest reply, in tokens."),
        "max-side": (int, "Longest side of an image, in pixels."),
        "batch": (int, "hf: pictures in a batch; their prompts ride along."),
        "device": (str, "hf: auto, cpu, cuda or mps."),
        "dtype": (str, "hf: auto, float32, bfloat16 or float16."),
        "device-map": (str, "hf: how a large model is spread over devices, as accelerate takes it: auto."),
        "revision": (str, "hf: the branch, tag or commit of a model of the hub."),
        "quantize": (str, "hf: 4bit or 8bit, by bitsandbytes."),
        "attention": (str, "hf: the attention to use: sdpa, eager, flash_attention_2."),
        "concurrency": (int, "server: questions under way at once."),
        "rate": (float, "server: most questions per minute; 0 for no limit."),
        "token-rate": (float, "server: most tokens per minute; 0 for no limit."),
        "image": (str, "server: pictures are sent as png, without loss, or as jpeg."),
        "limit-field": (str, "server: auto, max_tokens or max_completion_tokens."),
        "http-proxy": (
            str,
            "server: use the proxy that HTTP_PROXY names: auto (not for loopback and private addresses), "
            "always or never.",
        ),
        "retries": (int, "server: attempts at a question."),
        "timeout": (float, "server: seconds for an attempt, all in all."),
    }
    for name, (kind, text) in reversed(kinds.items()):
        default = getattr(_DEFAULTS, name.replace("-", "_"))
        function = click.option(f"--{name}", type=kind, default=default, show_default=True, help=text)(function)
    return function


@click.group()
def vlm() -> None:
    """Vision-language models: run, parse, score.

    \b
    steelyard vlm run frames.csv --model hf:FOLDER --out run/
    steelyard vlm score run/
    """


@vlm.command()
@click.argument("frames", type=click.Path())
@click.option("--map", "mapping", multiple=True, metavar="NAME=COLUMN",
              help="The file's column for a name of the frames, such as image=photo.")  # fmt: skip
@click.option("--model", required=True, metavar="SPEC",
              help="hf:FOLDER_OR_ID, openai:MODEL@URL, anthropic:MODEL or gemini:MODEL.")  # fmt: skip
@click.option("--prompts", metavar="NAMES", help=f"Names joined by commas; by default {','.join(PROMPTS)}.")
@click.option("--prompt-file", metavar="FILE", type=click.Path(), help="Own prompts: JSON of name and text, or a text.")
@click.option(
    "--questions", metavar="FILE", type=click.Path(), help="Own questions of any kind: .yaml, .toml or .json."
)
@click.option("--answer", metavar="KIND", default="", help="What own prompts ask for: grams.")
@click.option("--out", required=True, metavar="DIR", help="The run's folder. A run that stopped goes on there.")
@click.option("--controls", is_flag=True, help="Also ask about a grey image and about another meal's.")
@click.option("--share/--no-share", default=True, help="hf: encode a picture once for all its prompts.")
@click.option("--trust-code", is_flag=True, help="hf: run the code that comes with a model.")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="server: send a field beside the question; its value is JSON or a text, 'none' leaves it out.",
)
@click.option(
    "--key-env",
    default="",
    metavar="NAME",
    help="server: the environment variable that holds the key, not OPENAI_API_KEY (ANTHROPIC_, GEMINI_).",
)
@click.option("--insecure", is_flag=True, help="server: send the key over http:// to other networks, too.")
@click.option("--most", default=MOST_GRAMS, show_default=True, metavar="GRAMS", help="The largest plausible weight.")
@click.option("--prices", metavar="FILE", type=click.Path(), help="What tokens cost, by model: .yaml, .toml or .json.")
@click.option("--budget", type=float, metavar="AMOUNT",
              help="Stop before a question that could bring the cost of the run's folder above AMOUNT.")  # fmt: skip
@click.option("--give-up", default=50, show_default=True, metavar="N", help="Stop after so many failures in a row.")
@_MODE
@_model_options
def run(
    frames: str,
    mapping: tuple[str, ...],
    model: str,
    prompts: str | None,
    prompt_file: str | None,
    questions: str | None,
    answer: str,
    out: str,
    controls: bool,
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
    """Show each frame of FRAMES to a model, ask each prompt, and keep every reply.

    FRAMES has the columns sequence, t and image (a path from its own folder), where known food, weight,
    kcal_per_g and valid, and what your own questions name; or it is a folder of pictures. Replies go to the journal in
    DIR as they come; the same command goes on where it stopped. Exit code: 0 all asked, 1 some failed, 2 bad input, 3
    the budget ended it.
    """
    priced = read_prices(prices) if prices else None
    if budget is not None and priced is None:
        raise InvalidSetting("a budget needs prices", remedy="Give them with --prices FILE.")
    names = [name.strip() for name in (prompts or "").split(",") if name.strip()]
    chosen = choose_prompts(names, prompt_file, answer, questions)
    table = frame_table(frames, parse_mapping(mapping))
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
    for note in getattr(backend, "notes", ()):
        say(f"steelyard: {note}", err=True)
    try:
        progress = ask(
            shown, backend, chosen, out, model=model, mode=mode or "whole", most=most, controls=controls,
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
    parts = [f"{p.wanted:,} readings", f"{p.held:,} held already", f"{p.done:,} asked", with_one]
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
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False),
              help="Also write what 'evaluate' and 'compare' take: the truth, and MODEL--PROMPT.csv.")  # fmt: skip
@_MODE
def parse(folder: str, to: str | None, mode: str | None) -> None:
    """Parse the replies of a run again, without asking; write them to readings.csv."""
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


@vlm.command()
@click.argument("folders", type=click.Path(file_okay=False), nargs=-1, required=True)
@click.option("--task", type=click.Choice(list(METRICS)), default="sequences", show_default=True,
              help="Score eating sequences, or single dishes.")  # fmt: skip
@click.option("--ci", "confidence", default="0.95", show_default=True, metavar="LEVEL",
              help="Confidence of the intervals; 'none' makes none.")  # fmt: skip
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="A metric of the task or of 'answers'; each question takes those that its task has. May be repeated.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN[@FILE]",
    help="Slice by a column of the frames, or of a table of sequences beside; several joined by commas are crossed. "
    "May be given several times.",
)
@click.option(
    "--cluster", metavar="COLUMN[@FILE]", help="Draw sequences of one value together, such as those of a person."
)
@click.option("--strata", metavar="COLUMN[@FILE]", help="Keep the share of each value in every draw.")
@click.option("--weight", metavar="COLUMN", help="The column of the frames with the sequences' own weights.")
@click.option("--draws", default=1000, show_default=True, metavar="N", help="Bootstrap draws of sequences.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="Seed of the draws.")
@click.option(
    "--save-influences", is_flag=True,
    help="Keep what each unit contributes to each score, so that 'gate' and 'compare' work without the data.",
)  # fmt: skip
@click.option("--save-draws", is_flag=True, help="Keep every score under its draws, so that 'gate' compares pairwise.")
@click.option("--prices", metavar="FILE", type=click.Path(), help="What tokens cost, by model: .yaml, .toml or .json.")
@click.option("--missing", default="skip", show_default=True, type=click.Choice(MISSING),
              help="Frames without a number: refuse them, score them as the worst, or leave them out.")  # fmt: skip
@_MODE
@click.option("-q", "--quiet", is_flag=True, help="Do not say what was written.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="Also write the result to FILE: .json, .md or .html.")  # fmt: skip
@click.option("--thumbnails", metavar="DIR", type=click.Path(file_okay=False),
              help="Show small pictures of frames on the page; DIR is the folder of their paths.")  # fmt: skip
def score(
    folders: tuple[str, ...],
    task: str,
    confidence: str,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    output: tuple[str, ...],
    thumbnails: str | None,
    **settings: Any,
) -> None:
    """Score the readings of runs: errors with intervals, what the name and reasoning change, and can it be trusted.

    Also shown are tokens and time, and with --prices the cost. 'gate', 'compare', 'plan', 'report' and 'view' take the
    JSON.
    """
    writers = {".json": "to_json", ".md": "to_markdown", ".html": "to_html"}
    for name in output:
        if Path(name).suffix.lower() not in writers:
            raise CannotWrite(f"cannot write '{name}': the ending names no format", remedy="Use .json, .md or .html.")
    level = parse_confidence(confidence)
    result = score_run(folders, metrics or None, task=task, confidence=level, by=by, **settings)
    for name in output:
        ending = Path(name).suffix.lower()
        getattr(result, writers[ending])(name, **({"images": thumbnails} if ending == ".html" else {}))
    say(result.to_json() if as_json else result.to_text(terminal_width()), nl=not as_json)
    for name in () if quiet else output:
        say(f"wrote {name}", err=True)


@vlm.command()
@click.argument("metadata", type=click.Path())
@click.argument("images", type=click.Path(file_okay=False))
@click.option("--name", default="rgb.png", show_default=True, help="The image's name in each dish's folder.")
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(dir_okay=False), help="The frames.")
def nutrition5k(metadata: str, images: str, name: str, output: str) -> None:
    """Make frames of the dishes of Nutrition5k: METADATA is its headerless CSV, IMAGES holds a folder a dish."""
    count, without = write_nutrition5k(metadata, images, output, name)
    say(f"wrote {output}: {count:,} dishes, {without:,} without an image left out", err=True)


def demo(output: Path) -> None:
    """Run the sample's small model over drawn plates, and score it."""
    folder = output / "vlm"
    with as_file(files("steelyard") / "samples" / "vlm") as sample:
        for file in sorted(path for path in sample.rglob("*") if path.is_file()):
            target = folder / file.relative_to(sample)
            write_bytes(target, file.read_bytes())
    frames, model, out = folder / "frames.csv", f"hf:{folder / 'model'}", folder / "run"
    say(f"$ steelyard vlm run {frames} --model {model} --out {out} --controls")
    backend = open_backend(model, ModelOptions(device="cpu"))
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
    say(
        f"\nBeside the run in {folder} stand report.html, score.md and score.json, so that you can run the lines above."
    )
