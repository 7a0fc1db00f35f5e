"""`steelyard metrics`: the catalogue."""

from __future__ import annotations

import json

import click

from steelyard.cli.options import complete_metric, complete_task, terminal_width
from steelyard.cli.say import say
from steelyard.core import catalogue
from steelyard.core.errors import InputError, UnknownMetric
from steelyard.core.metric import Metric
from steelyard.core.spec import parse_spec
from steelyard.render.catalogue import list_text, metric_dict, metric_text, task_text


@click.command()
@click.argument("words", nargs=-1, metavar="[TASK] [SPEC]", shell_complete=complete_metric)
@click.option("--task", metavar="TASK", shell_complete=complete_task, help="List only the metrics of this task.")
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
def metrics(words: tuple[str, ...], task: str | None, as_json: bool) -> None:
    """List the metrics, or explain one.

    \b
    steelyard metrics boxes
    steelyard metrics map50
    steelyard metrics boxes recall
    steelyard metrics
    """
    if len(words) > 2 or (len(words) == 2 and task):
        raise click.UsageError(f"Got '{words[-1]}' beside '{words[-2]}': name one task and one metric.")
    if len(words) == 2:
        task, words = words[0], words[1:]
    spec = words[0] if words else None
    if spec and task is None and catalogue.task_name(spec):
        task, spec = spec, None
    if task:
        tasks = [catalogue.find_task(task).name]
    else:
        known, problems = catalogue.loaded_tasks()
        tasks = list(known)
        for problem in problems:
            say(problem, err=True)
    by_task = _explain(spec, tasks) if spec else {name: list(catalogue.metrics(name)) for name in tasks}
    if as_json:
        data = [metric_dict(metric, name) for name, members in by_task.items() for metric in members]
        say(json.dumps(data, indent=2, ensure_ascii=False))
    elif spec:
        seen: dict[Metric, list[str]] = {}
        for name, members in by_task.items():
            for metric in members:
                seen.setdefault(metric, []).append(name)
        say("\n\n".join(metric_text(metric, names, terminal_width()) for metric, names in seen.items()))
    elif task:
        name = tasks[0]
        default = [catalogue.parse(one, name) for one in catalogue.TASKS[name].defaults]
        named = {type(metric) for metric in default}
        others = {type(metric): metric for metric in reversed(by_task[name]) if type(metric) not in named}
        say(task_text(catalogue.TASKS[name], default, list(reversed(others.values())), terminal_width()))
    else:
        say(list_text([(catalogue.TASKS[name], members) for name, members in by_task.items()], terminal_width()))


def _explain(spec: str, tasks: list[str]) -> dict[str, list[Metric]]:
    if len(tasks) == 1:
        return {tasks[0]: [catalogue.parse(spec, tasks[0])]}
    named = {name: catalogue.TASKS[name] for name in tasks}
    name = parse_spec(spec).name
    having = [task for task in tasks if catalogue.meanings(name, named[task])]
    by_task: dict[str, list[Metric]] = {}
    problems: list[InputError] = []
    for task in having:
        try:
            by_task[task] = [catalogue.parse(spec, task)]
        except InputError as error:
            problems.append(error)
    if by_task:
        return by_task
    if problems:
        raise problems[0]
    remedy = catalogue.suggestion(name, named, or_task=True)
    raise UnknownMetric(f"there is no metric '{spec}'", remedy=remedy or "'steelyard metrics' lists them all.")
