"""`steelyard tasks`: what can be scored."""

from __future__ import annotations

import json

import click

from steelyard.cli.options import terminal_width
from steelyard.cli.say import say
from steelyard.core import catalogue
from steelyard.render.text import grid


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the tasks as JSON.")
def tasks(as_json: bool) -> None:
    """List the tasks, one line each.

    A task may be named by its synonyms, too: 'steelyard evaluate detection' is 'steelyard evaluate boxes'.
    """
    known, problems = catalogue.loaded_tasks()
    for problem in problems:
        say(problem, err=True)
    if as_json:
        rows = [
            {
                "task": name,
                "title": task.title,
                "unit": task.unit,
                "item": task.item,
                "metrics": len(task.metrics),
                "synonyms": list(catalogue.SYNONYMS.get(name, ())),
            }
            for name, task in known.items()
        ]
        say(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = terminal_width()
    titles = {name: task.title.partition(":")[0] for name, task in known.items()}
    left = width - max(map(len, known)) - max(map(len, titles.values())) - 4
    cells = [[name, title, _synonyms(name, title, left)] for name, title in titles.items()]
    say(grid(["task", "what is scored", "also called"], cells, "lll", width, shrink=2))
    say("\n'steelyard metrics TASK' lists the metrics of a task, 'steelyard demo TASK' tries it on sample data.")


def _synonyms(task: str, title: str, width: int) -> str:
    """As many synonyms as fit, without the title and forms of the name such as its singular."""
    known = catalogue.SYNONYMS.get(task, ())
    words = [word for word in known if not task.startswith(word) and word != title.lower()]
    while words and len(", ".join(words)) > width:
        words.pop()
    return ", ".join(words)
