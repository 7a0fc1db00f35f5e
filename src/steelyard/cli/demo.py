"""`steelyard demo`: the whole way on sample data that comes with the package."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from steelyard import api
from steelyard.cli.options import task_argument, terminal_width
from steelyard.cli.say import say
from steelyard.core import catalogue
from steelyard.core.errors import UnknownName, nearest
from steelyard.core.sample import Sample
from steelyard.io.write import write_bytes


@click.command()
@task_argument(default="weights")
@click.option(
    "-o",
    "--output",
    default="steelyard-demo",
    show_default=True,
    metavar="DIR",
    help="Directory for the report.",
)
def demo(task: str, output: str) -> None:
    """Score sample data, write a report, and compare two models."""
    if task == "vlm":
        from steelyard.cli import vlm

        folder = vlm.demo(Path(output))
        steps = {
            "your own images": f"steelyard vlm run IMAGES/ --model openai:MODEL@URL --out {folder / 'mine'}",
            "local models": "pip install 'steelyard[vlm-local]', and --model hf:FOLDER_OR_ID",
            "the viewer": f"steelyard view {folder}{viewer_note()}",
        }
        return say(f"\n{list_steps(steps)}")
    samples = catalogue.samples()
    sample = samples.get(task)
    if sample is None:
        task = catalogue.find_task(task).name  # an unknown one is refused with a suggestion
        raise UnknownName(f"there is no sample for '{task}'", remedy=nearest(task, [*samples, "vlm"]))
    folder = Path(output) / task
    copy_sample(sample, folder)
    truth, a, b = (folder / name for name in (sample.truth, sample.a, sample.b))

    named = {path for path, _ in sample.files}
    options = {name: str(folder / value) if value in named else value for name, value in sample.options.items()}
    said = "".join(f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in options.items())
    say(f"Scoring the sample data of '{task}': model A against the ground truth, then model A against model B.\n")
    say(f"$ steelyard evaluate {task} {truth} {a}{said}" + (f" --by {sample.by}\n" if sample.by else "\n"))
    report = api.evaluate(task, truth, a, by=[sample.by] if sample.by else [], options=options)
    say(report.to_text(terminal_width()))
    say(f"\n$ steelyard compare {task} {truth} {a} {b}{said}\n")
    comparison = api.compare(task, truth, a, b, options=options)
    say(comparison.to_text(terminal_width()))

    pictured = {"images": folder / "images"} if (folder / "images").is_dir() and has_pillow() else {}
    report.to_html(folder / "report.html", **pictured)
    report.to_json(folder / "result.json")
    comparison.to_html(folder / "comparison.html", **pictured)
    say(
        f"\nThe report was written to {folder / 'report.html'};\n"
        f"comparison.html, result.json and the data are in the same folder, so you can run the commands above."
    )
    say(f"\n{next_steps(task, sample, folder)}")


def next_steps(task: str, sample: Sample, folder: Path) -> str:
    """What to run after the demo of a task."""
    truth = f"truth{Path(sample.truth).suffix or '/'}"
    files = f"{truth} predictions{Path(sample.a).suffix or '/'}"
    files += "".join(f" --{name.replace('_', '-')} ..." for name in sample.options)
    steps = {
        "your own files": f"steelyard evaluate {task} {files}",
        "errors in them": f"steelyard check {task} {files}",
        "your COCO files": "steelyard instances.json detections.json",
        "one metric": f"steelyard metrics {task} {shlex.quote(catalogue.find_task(task).defaults[0])}",
        "the viewer": f"steelyard view {folder}{viewer_note()}",
    }
    if task == "boxes":
        del steps["your COCO files"]
    return list_steps(steps)


def list_steps(steps: Mapping[str, str]) -> str:
    """Commands below one another."""
    return "Next:\n" + "\n".join(f"  {name:<16} {command}" for name, command in steps.items())


def viewer_note() -> str:
    """What the viewer needs, where it is not installed."""
    return "" if importlib.util.find_spec("starlette") else "   (needs: pip install 'steelyard[view]')"


def has_pillow() -> bool:
    """Whether thumbnails can be made."""
    return importlib.util.find_spec("PIL") is not None


def copy_sample(sample: Sample, folder: Path) -> None:
    """Lay the sample's files into the folder: the commands shown can then be run by hand."""
    for path, file in sample.files:
        write_bytes(folder / path, file.read_bytes())
