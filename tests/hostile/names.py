"""Names of metrics, tasks, settings and options that are spoiled, and spellings that must be read."""

from __future__ import annotations

from typing import Any

from hostile.rows import Row, good, program, row

FILES = {task: good(task) for task in ("weights", "sequences", "boxes", "labels", "rankings", "ellipses", "captions")}


def asked(name: str, task: str, spec: str, *says: str, call: str = "", **more: Any) -> Row:
    """A metric by a name, of a task by its own name or by another."""
    truth, predictions = FILES[task]
    line = ["evaluate", call or task, truth, predictions, "-m", spec, "--ci", "none"]
    return row(f"name: {name}", line, *says, files=FILES[task], task=task, **more)


def option(name: str, line: str, *says: str, task: str = "weights", **more: Any) -> Row:
    """An option that collides, or is half given."""
    return row(f"option: {name}", line, *says, files=FILES[task], task=task, **more)


LIST = "[[[0, 0, 0, 5, 4]], []]"


ROWS: list[Row] = [
    asked("a name of 100,000 letters", "weights", "m" * 100_000, "has no metric", never=("m" * 5_000,)),
    asked("2,000 words", "weights", "mae " * 2_000, "has no metric"),
    asked("a name of blanks", "weights", "   ", "is not a metric spec"),
    asked("hyphens alone", "weights", "a---", "no metric 'a---'"),
    asked("underscores alone", "weights", "__", "no metric '__'"),
    asked("escape sequences", "weights", "m\x1b[2Jae", "not a metric spec", never=("\x1b",)),
    asked("a name that turns the writing", "weights", "\u202emae", "not a metric spec"),
    asked("letters of another alphabet that look the same", "weights", "m\u0430e", "no metric"),
    asked("full-width letters", "weights", "\uff2d\uff21\uff25", "mae", code=0),
    asked("a title with its own name in brackets", "weights", "Mean Absolute Error (MAE)", "mae", code=0),
    asked("a title with another's name in brackets", "weights", "Mean Absolute Error (MAPE)", "takes settings by name only"),
    asked("a name of several metrics", "sequences", "MAE", "can mean mae_overall, mae_initial, mae_consumed or mae_kcal"),
    asked("a third of the meal that does not exist", "sequences", "mae_phase(phase=fourth)", "phase cannot be fourth", "first, middle, last"),
    asked("a smoothing that does not exist", "sequences", "mae_overall(smooth=mean)", "smooth cannot be mean", "isotonic"),
    asked("a gain of no smoothing", "sequences", "smoothing_gain(smooth=none)", "smooth cannot be none"),
    asked("bites of nothing", "sequences", "bite_f1(threshold=0)", "threshold cannot be 0"),
    asked("bites of a text", "sequences", "bite_f1(threshold=big)", "threshold cannot be big"),
    asked("a tolerance of a day", "sequences", "bite_f1(tolerance=86400)", "tolerance cannot be 86400"),
    asked("a tolerance below 0", "sequences", "bite_f1(tolerance=-1)", "tolerance cannot be -1"),
    asked("a tolerance in hours", "sequences", "bite_f1(by=hour)", "by cannot be hour", "frame, second"),
    asked("a range of grams that ends before it begins", "sequences", "mae_left(low=50, high=50)", "low is not below high"),
    asked("a range of grams below 0", "sequences", "mae_left(low=-5)", "low cannot be -5"),
    asked("jumps of nothing", "sequences", "jumps@0", "grams cannot be 0"),
    asked("seconds without times", "sequences", "bite_f1(by=second)", "no times", code=0),
    asked("a heading of two metrics", "sequences", "Overall Weight Error", "can mean mae_overall or pmae_overall"),
    asked("a metric of another task", "boxes", "r_precision", "'rprec' is a metric of task 'rankings'"),
    asked("an alias of another task", "labels", "Weighted MAE", "'wmae_total' is a metric of task 'weights'"),
    asked("an alias whose setting is given again", "boxes", "APs(area=large)", "'map(area=small)'", "has that setting already"),
    asked("an alias with two values behind @", "boxes", "mAP@0.5@0.75", "nothing may follow from '@'"),
    asked("a key behind @ that is none", "boxes", "mAP@area=0.5", "takes no '@area'"),
    asked("a key behind @ without a value", "boxes", "mAP@IoU=", "ends too early"),
    asked("a percentage above one behind @", "boxes", "mAP@60", "iou cannot be 60"),
    asked("the letter k in place of a number", "rankings", "mAP@k", "k cannot be k"),
    asked("a setting in two spellings", "boxes", "map(iou=0.5, IoU=0.75)", "'IoU' is given twice"),
    asked("a setting behind @ and in brackets", "boxes", "mAP@0.6(iou=0.7)", "'iou' is given twice"),
    asked("an average of an average", "labels", "macro(macro_f1)", "macro"),
    asked("a metric inside its own name", "labels", "macro(macro(macro(f1)))", "macro"),
    asked("one metric in five spellings", "weights", "W-M_A E", "wmae_total", code=0),
    asked("a task by a synonym", "labels", "Macro-F1", "labels:", call="classification", code=0),
    asked("a task by a misspelt synonym", "labels", "f1", "there is no task 'clasification'", "'labels'", call="clasification"),
    asked("a task in full-width letters", "labels", "f1", "labels:", call="\uff2c\uff21\uff22\uff25\uff2c\uff33", code=0),
    asked("a task of no letters", "labels", "f1", "there is no task '_ _'", call="_ _"),
    option("both names of the figures' formats", "evaluate weights truth.csv pred.csv --figures f --figure-format svg --format pdf",
           "--format and --figure-format both"),
    option("the old name for figures where files have formats", "evaluate boxes truth.json pred.json --figures f --format pdf",
           "pdf", task="boxes"),
    option("formats of figures that are not asked for", "evaluate weights truth.csv pred.csv --figure-format pdf", "--figures DIR"),
    option("a gate that is undecided about nothing", "gate r.json --fail-if 'mae > 1' --undecided maybe", "maybe"),
    option("a margin in two spellings", "compare weights truth.csv pred.csv pred.csv -m mae --margin mae=1 --margin MAE=2",
           "two margins for 'mae'"),
    row("option: an unknown metric, task or word", "metrics \u2603", "not a metric spec"),
    row("option: a mistyped task among metrics", "metrics bxoes", "Did you mean the task 'boxes'?"),
    program("name: a distance that raises no number", f'''
from dataclasses import replace
metric = replace(sy.metrics("ellipses")[0], distance=lambda a, b: None, t=5)
sy.evaluate("ellipses", {LIST}, {LIST}, [metric])
''', "the distance '<lambda>'", "is None", "number from 0 up"),
    program("name: a distance without a threshold", f'''
from dataclasses import replace
sy.evaluate("ellipses", {LIST}, {LIST}, [replace(sy.metrics("ellipses")[0], distance=max)])
''', "the distance 'max' has no usual threshold", "t=5"),
    program("name: lists of ellipses of other lengths", f'sy.evaluate("ellipses", {LIST}, [[]])', "truth has 2 images", "predictions have 1"),
    program("name: an ellipse of texts", f'sy.evaluate("ellipses", {LIST}, [[["a", "b", "c", "d", "e"]], []])', "predictions, image 0, ellipse 0"),
    program("name: lists that hold themselves", 'a = []\na.append(a)\nsy.evaluate("ellipses", [a], [a])', "is not an ellipse"),
    program("name: a metric's value out of range in Python", '''
from dataclasses import replace
sy.evaluate("weights", "truth.csv", "pred.csv", [replace(sy.metrics("weights")[5], percent=-1)])
''', "percent cannot be -1", files=FILES["weights"]),
]  # fmt: skip
