"""Command lines that are spoiled: paths, outputs, options and specs, over every command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hostile.rows import WEIGHTS, WEIGHTS_P, Row, evaluate, good, row

W = good("weights")
B = good("boxes")
LONG = "x/" * 2500 + "t.csv"


def path(name: str, file: str, made: Any, *says: str, **more: Any) -> Row:
    """Weights whose truth is at a path that is not a plain file."""
    files = {"pred.csv": WEIGHTS_P, **({file: made} if made is not None else {})}
    return row(f"path: {name}", ["evaluate", "weights", file, "pred.csv"], *says, files=files, **more)


def output(name: str, options: str, *says: str, files: dict[str, Any] | None = None, **more: Any) -> Row:
    """Weights whose output goes where it cannot."""
    return row(
        f"output: {name}", f"evaluate weights truth.csv pred.csv {options}", *says, files={**W, **(files or {})}, **more
    )


def closed(place: Path) -> None:
    """A folder into which nothing can be written, by anybody: a plain file stands in its place."""
    place.write_text("no folder")


PATHS: list[Row] = [
    path("not there", "nowhere.csv", None, "nowhere.csv", "no such file", "Check the path"),
    path("empty", "", None, "not a supported format"),
    path("a folder", "t.csv", lambda p: p.mkdir(), "t.csv", "is a folder"),
    path("a folder without an ending", "t", lambda p: p.mkdir(), "t", "is a folder"),
    path("a pipe that nobody fills", "t.csv", lambda p: os.mkfifo(p), "t.csv", "regular file"),
    path("a link to nothing", "t.csv", lambda p: os.symlink("nowhere", p), "t.csv", "no such file"),
    path("a link to itself", "t.csv", lambda p: os.symlink("t.csv", p), "t.csv"),
    path("5,000 characters", LONG, None, "too long"),
    path("one name of 300 characters", "y" * 300 + ".csv", None, "too long"),
    path("bytes that are not UTF-8", "t\udcff.csv", None, "not UTF-8"),
    path("escape sequences", "\x1b[2Jt.csv", None, "no file has such a name"),
    path("text that turns the writing", "\u202et.csv", None, "no such file"),
    path("a line break", "t\n.csv", None, "no such file"),
    path("the null device", "/dev/null", None, "/dev/null"),
    path("a device that never ends", "/dev/zero", None, "/dev/zero"),
    path("a folder that is deleted", "x/../t.csv", None, "no such file"),
    row("path: boxes from a pipe", "evaluate boxes truth.json pred.json", "truth.json", "regular file", files={**B, "truth.json": lambda p: os.mkfifo(p)}),
    row("path: rankings from a pipe", "evaluate rankings t.qrels pred.csv", "t.qrels", "regular file", files={**good("rankings"), "t.qrels": lambda p: os.mkfifo(p)}),
    row("path: result from a pipe", "report r.json", "r.json", "regular file", files={"r.json": lambda p: os.mkfifo(p)}),
    row("path: annotations from a pipe", "convert d.xml out.json", "d.xml", "regular file", files={"d.xml": lambda p: os.mkfifo(p)}, task="boxes"),
    row("path: states from a pipe", "evaluate weights 't*.csv' 'p*.csv'", "t0.csv", "regular file", files={"p0.csv": WEIGHTS_P, "t0.csv": lambda p: os.mkfifo(p)}),
]  # fmt: skip

OUTPUTS: list[Row] = [
    output("unknown ending", "-o out.pdf", "out.pdf", ".json, .md, .html"),
    output("no ending", "-o out", "'out'", ".json"),
    output("a folder", "-o d.json", "d.json", files={"d.json/x": ""}),
    output("below a file", "-o shut/out.json", "shut/out.json", "cannot be written", files={"shut": closed}),
    output("page below a file", "--html shut/out.html", "shut/out.html", "cannot be written", files={"shut": closed}, memory=False),
    output("units below a file", "--units shut/u.csv", "shut/u.csv", "cannot be written", files={"shut": closed}),
    output("figures below a file", "--figures shut/f", "shut/f", files={"shut": closed}, memory=False),
    output("name of 300 characters", f"-o {'y' * 300}.json", "cannot be written"),
    output("onto a device that is full", "-o /dev/full/x.json", "/dev/full/x.json", "cannot be written"),
    output("of two, one cannot be written", "-o out.json -o shut/out.md", "shut/out.md", "cannot be written", files={"shut": closed}),
    row("output: stdout that is full", "evaluate weights truth.csv pred.csv", "standard output", files=W, stdout="/dev/full"),
    row("output: stdout that is full, JSON", "evaluate weights truth.csv pred.csv --json", "standard output", files=W, stdout="/dev/full"),
    row("output: drop-ins to a full stdout", "compat", "standard output", stdout="/dev/full"),
    row("output: catalogue to a full stdout", "metrics", "standard output", stdout="/dev/full"),
    row("output: picture to a full stdout", "draw boxes truth.json pred.json --image 1", "standard output", files=B, stdout="/dev/full"),
    row("output: check to a full stdout", "check boxes truth.json pred.json", "standard output", files=B, stdout="/dev/full", task="boxes", code=0),
    row("output: demo below a file", "demo weights -o shut", "shut", "cannot", files={"shut": closed}),
    row("output: completion of no shell", "completion cmd", "cmd", "bash"),
]  # fmt: skip

SPECS = [
    ("unclosed", "within@10(", "'within@10('", "ends too early"),
    ("closed without opening", "mae)", "mae)"),
    ("empty", "", "metric"),
    ("blanks", "   ", "metric"),
    ("unknown", "mea", "'mea'", "'mae'"),
    ("unknown setting", "mape(zeros=skip)", "'zeros'", "zero"),
    ("setting twice", "mape(zero=skip, zero=eps)", "zero", "twice"),
    ("bad setting", "mape(zero=no)", "zero cannot be no", "skip, error, eps"),
    ("10,000 characters", "m" * 10_000, "mmm"),
    ("10,000 brackets", "mae" + "(" * 10_000, "mae(("),
    ("list 10,000 deep", "mape(zero=" + "[" * 10_000 + ")", "mape"),
    ("code", "__import__('os').system('touch owned')", "__import__"),
    ("NUL byte", "ma\\0e", "metric"),
    ("escape sequence", "\x1b[2Jmae", "metric"),
    ("percent of nan", "within@nan", "nan"),
    ("percent of 1e400", "within@1e400", "'1e400' is too large"),
    ("percent below zero", "within@-5", "percent cannot be -5"),
    ("percent of 400 digits", "within@" + "9" * 400, "too large"),
    ("emoji", "📏", "metric"),
]  # fmt: skip


def options(name: str, line: str, *says: str, task: str = "weights", **more: Any) -> Row:
    return evaluate(f"option, {name}", task, *says, options=line, **more)


OPTIONS: list[Row] = [
    *(row(f"spec: {name}", ["evaluate", "weights", "truth.csv", "pred.csv", "-m", spec], *says, files=W) for name, spec, *says in SPECS),
    row("spec: metrics, unclosed", ["metrics", "within@10("], "within@10(", "ends too early"),
    row("spec: metrics, unknown", "metrics mea", "no metric 'mea'", "Did you mean"),
    row("spec: metrics, 10,000 characters", ["metrics", "m" * 10_000], "no metric"),
    row("spec: metrics of an unknown task", "metrics --task wieghts", "'wieghts'", "'weights'"),
    options("confidence of 2", "--ci 2", "2 is not between 0 and 1"),
    options("confidence of nan", "--ci nan", "nan is not between 0 and 1"),
    options("confidence in words", "--ci high", "--ci 'high'"),
    options("confidence of 0.9999999999", "--ci 0.9999999999", "draws"),
    options("draws below zero", "--draws -5", "-5 draws"),
    options("draws of 10^9", "--draws 1000000000", "1000000000"),
    options("draws of 400 digits", f"--draws {'9' * 400}", "draws"),
    options("draws in words", "--draws many", "--draws", "many"),
    options("seed below zero", "--seed -1", "seed -1 is negative"),
    options("seed of 400 digits", f"--seed {'9' * 400}", "seed"),
    options("threads of zero", "--threads 0", "0 threads", "from 1 up"),
    options("threads of a million", "--threads 1000000", "1000000 threads"),
    options("threads of 400 digits", f"--threads {'9' * 400}", "threads"),
    options("policy that is unknown", "--missing ignore", "ignore", "worst"),
    options("column that is unknown", "--by fod", "'fod'"),
    options("column that is empty", "--by ''", "slice by"),
    options("columns that are all commas", "--by ,,,", "slice by"),
    options("mapping without equals", "--map weight", "'weight' is not NAME=COLUMN"),
    options("mapping twice", "--map weight=a --map weight=b", "'weight' twice"),
    options("mapping of an unknown name", "--map wieght=weight", "'wieght'", "'weight'"),
    options("option that is unknown", "--metrc mae", "--metrc", "--metric"),
    options("option of another task", "-O angle=radians", "'angle'"),
    options("explained by no tool", "--explain pycocotool", "pycocotool", task="boxes"),
    options("explained without other tools", "--explain pycocotools", "no other tools"),
    options("angle of no unit", "--angle turns", "'turns'", "degrees", task="ellipses"),
    options("height of nan", "--y-up nan", "y_up", "nan", task="ellipses"),
    options("label that is not there", "-m precision(label=cow)", "cow", task="labels"),
    options("threshold above 1", "-m f1(iou=80)", "iou cannot be 80", task="ellipses"),
    options("tasks of one edit", "-m cider -m spcie", "'spcie'", "'spice'", task="captions"),
    options("weights that are negative", "-m focal(alpha=-1)", "alpha cannot be -1", task="losses"),
    options("format that is unknown", "-O format=yollo", "'yollo'", task="boxes"),
    options("names that are not there", "-O names=nowhere.txt", "nowhere.txt", task="boxes"),
    row("option: 3,000 slices", "evaluate weights truth.csv pred.csv --by kind -m mae --draws 100", "'kind' has 3000 different values",
        files={"truth.csv": lambda p: p.write_text("dish,weight,kind\n" + "".join(f"{i},1,k{i}\n" for i in range(3000))),
               "pred.csv": lambda p: p.write_text("dish,weight\n" + "".join(f"{i},1\n" for i in range(3000)))}),
    row("compare: one model", "compare weights truth.csv pred.csv", "Missing argument", files=W),
    row("compare: no interval", "compare weights truth.csv pred.csv pred.csv --ci none", "confidence", "--ci 0.95", files=W),
    row("compare: model that is cut off", "compare boxes truth.json pred.json b.json -o out.json", "b.json", files={**B, "b.json": "[{"}),
    row("compare: model of another task", "compare labels truth.csv pred.csv b.csv -o out.json", "b.csv", files={**good("labels"), "b.csv": WEIGHTS}),
    row("compare: model with nan", "compare weights truth.csv pred.csv b.csv -o out.json", "b.csv, line 2", "nan", files={**W, "b.csv": WEIGHTS_P.replace("110", "nan")}),
    row("compare: model that is not there", "compare captions truth.csv pred.csv b.csv -o out.json", "b.csv", "no such file", files=good("captions")),
    row("compare: the same model twice", "compare weights truth.csv pred.csv pred.csv -m mae", "no diff", code=0, files=W),
    row("command that is unknown", "evalute", "no command 'evalute'", "'evaluate'", command="evaluate"),
    row("task that is unknown", "evaluate wieghts truth.csv pred.csv", "'wieghts'", "'weights'", files=W),
    row("demo: task that is unknown", "demo wieghts", "'wieghts'", "'weights'"),
    row("demo: task that climbs", "demo ../../etc", "'../../etc'"),
]  # fmt: skip

PARSE: list[Row] = [
    row("parse: nothing", "parse", "no caption", task="captions"),
    row("parse: blanks", ["parse", "   "], "(no object)", code=0, task="captions"),
    row("parse: standard input that is not UTF-8", "parse", "UTF-8", stdin=b"a \xff\xfe dog\n", task="captions"),
    row("parse: NUL bytes", "parse", "(no object)", stdin=b"\0\0\0\n", code=0, task="captions"),
    row("parse: escape sequences", ["parse", "a \x1b[2J red car", "a dog"], "car", code=0, task="captions"),
    row("parse: text that turns the writing", ["parse", "\u202ea red car", "a dog"], "car", code=0, task="captions"),
    row("parse: caption of 100,000 words", "parse", "words", stdin=b"dog " * 100_000, task="captions"),
    row("parse: word of a megabyte", "parse", "dog", stdin=b"d" * (1 << 20) + b" dog\n", code=0, task="captions"),
    row("parse: two captions for one picture", ["parse", "a dog", "a cat", "--svg", "o.svg"], "--svg", task="captions"),
    row("parse: picture below a file", ["parse", "a dog", "--svg", "shut/o.svg"], "shut/o.svg", files={"shut": closed}, task="captions"),
    row("parse: half a character", "parse", "UTF-8", stdin=b"\xed\xa0\x80 dog\n", task="captions"),
]  # fmt: skip

VIEW: list[Row] = [
    row("view: nothing there", "view nowhere", "nowhere"),
    row("view: a file", "view truth.csv", "truth.csv", files=W),
    row("view: port of 70000", "view . --port 70000", "70000"),
    row("view: port in words", "view . --port http", "http"),
    row("view: port of another user", "view d --port 1", "port 1", files={"d/x": ""}) if os.getuid() else
    row("view: a link to itself", "view d", "d", files={"d": lambda p: os.symlink("d", p)}),
]  # fmt: skip
PACKS: list[Row] = [
    row("tasks: a word too many", "tasks now", "now"),
    row("pack: nothing there", "pack nothing.json -o p.zip", "nothing.json"),
    row("pack: not a result", "pack truth.csv -o p.zip", "truth.csv", files=W),
    row("verify: nothing there", "verify p.zip", "p.zip"),
    row("verify: not a pack", "verify truth.csv", "truth.csv", files=W),
]
ROWS = PATHS + OUTPUTS + OPTIONS + PARSE + VIEW + PACKS
