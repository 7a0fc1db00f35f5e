"""What a row of the hostile suite is, and the good files that it spoils."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Make = str | bytes | Callable[[Path], None]
Script = Callable[[Any], None]  # what a hostile server does with a connection

TASKS = (
    "boxes", "masks", "keypoints", "weights", "sequences", "ellipses", "labels", "rankings", "captions", "losses",
)  # fmt: skip
MAP_TASKS = ("segmentation", "panoptic", "volumes")  # whose data are folders of files


@dataclass(frozen=True)
class Row:
    """One hostile input: the files it is made of, the command that meets it, and what must come of it.

    `args` is the command line, or `python` a program with `sy` at hand whose errors end as the command line's do.
    `files` lie in the folder before; a text or bytes are the contents, a function makes what is not a plain file.
    `memory` is False where charts are exported or PyTorch is loaded: both lay claim to more addresses than they use.
    All of `says` must be printed, nothing of `never`. `code` is the exit code, `writes` are the files that may be there afterwards.
    """

    name: str
    args: tuple[str, ...]
    says: tuple[str, ...]
    files: Mapping[str, Make] = field(default_factory=dict)
    code: int = 2
    writes: tuple[str, ...] = ()
    python: str = ""
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    server: Script | None = None
    task: str = ""
    command: str = ""
    never: tuple[str, ...] = ()
    stdout: str = ""
    memory: bool = True
    after: Callable[[Path], None] | None = None

    @property
    def posix(self) -> bool:
        """Whether it takes a device, a pipe or a link, which not every system has."""
        made = any(callable(made) for made in self.files.values())
        return bool(self.stdout) or made or any("/dev/" in text for text in (*self.args, self.name))


def row(name: str, line: str | Sequence[str], *says: str, **more: Any) -> Row:
    """A row whose command is a line as a shell would split it; task and command are read off it."""
    if isinstance(line, str):
        line = shlex.split(line) if set(line) & set("\"'\\") else line.split()  # shlex is slow
    args = tuple(line)
    command = " ".join(args[:2]) if args[0] == "vlm" else args[0]
    task = more.pop("task", "") or next((arg for arg in args[1:3] if arg in (*TASKS, *MAP_TASKS)), "")
    return Row(name, args, says, task=task, command=more.pop("command", command), **more)


def program(name: str, source: str, *says: str, command: str = "evaluate", task: str = "", **more: Any) -> Row:
    """A row whose input comes through Python; the task is the first that the program names."""
    task = task or next((known for known in TASKS if f'"{known}"' in source), "")
    return Row(name, (), says, python=source, command=command, task=task, **more)


# What is right, one file per side: rows replace one of them, or a part of one.
WEIGHTS = "dish,item,weight\nA,1,100\nA,2,50\nB,1,200\n"
WEIGHTS_P = "dish,item,weight\nA,1,110\nA,2,40\nB,1,150\n"
SEQUENCES = "sequence,t,weight,kcal_per_g\ns,0,100,2\ns,1,50,2\nr,0,80,1\nr,1,20,1\n"
SEQUENCES_P = "sequence,t,weight\ns,0,90\ns,1,40\nr,0,90\nr,1,25\n"
ELLIPSES = "image,xc,yc,a,b,theta\ni,150,100,40,20,45\nk,10,20,5,4,0\n"
ELLIPSES_P = "image,xc,yc,a,b,theta,score\ni,138,112,40,20,55,0.9\nk,11,21,5,4,3,0.7\n"
LABELS = "id,label\n1,cat\n2,dog\n3,cat\n4,dog\n"
LABELS_P = "id,label\n1,cat\n2,cat\n3,cat\n4,dog\n"
PROBABILITIES = "id,probability:cat,probability:dog\n1,0.9,0.1\n2,0.6,0.4\n3,0.7,0.3\n4,0.2,0.8\n"
RANKINGS = "query,doc,relevance\nq1,a,1\nq1,b,0\nq2,c,2\n"
RANKINGS_P = "query,doc,score\nq1,a,0.9\nq1,b,0.5\nq2,c,0.3\n"
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 a 1 0.9 m\nq1 Q0 b 2 0.5 m\nq2 Q0 c 1 0.3 m\n"
CAPTIONS = "image,caption\n1,a red car on a street\n1,a car\n2,a dog runs in the grass\n"
CAPTIONS_P = "image,caption\n1,a red car\n2,a dog in grass\n"
LOSSES = "image,item,target,value\ni,1,0,\ni,2,1,3\nk,1,1,2\n"
LOSSES_P = "image,item,logit,value\ni,1,-2.0,\ni,2,1.5,2.5\nk,1,0.3,2.2\n"
FRAMES = "sequence,t,image,food,weight,kcal_per_g\ns,0,a.png,rice,100,1.5\ns,1,b.png,rice,50,1.5\n"

IMAGES = [{"id": 1, "width": 40, "height": 30}, {"id": 2, "width": 40, "height": 30}]
KEYPOINTS3 = {"keypoints": [5, 5, 2, 9, 9, 2, 7, 8, 1], "num_keypoints": 3}
COCO: dict[str, Any] = {
    "images": IMAGES,
    "annotations": [
        {
            "id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0,
            "segmentation": [[0, 0, 10, 0, 10, 10, 0, 10]], **KEYPOINTS3,
        },
        {
            "id": 2, "image_id": 2, "category_id": 3, "bbox": [5, 5, 20, 20], "area": 400, "iscrowd": 0,
            "segmentation": [[5, 5, 25, 5, 25, 25, 5, 25]], **KEYPOINTS3,
        },
    ],
    "categories": [{"id": 3, "name": "cat", "keypoints": ["a", "b", "c"], "skeleton": []}],
}  # fmt: skip
FOUND: list[dict[str, Any]] = [
    {"image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 10], "score": 0.9},
    {"image_id": 2, "category_id": 3, "bbox": [5, 5, 20, 21], "score": 0.8},
]
FOUND_MASKS: list[dict[str, Any]] = [
    {"image_id": 1, "category_id": 3, "segmentation": {"size": [30, 40], "counts": [0, 300, 900]}, "score": 0.9},
    {"image_id": 2, "category_id": 3, "segmentation": [[5, 5, 25, 5, 25, 26, 5, 26]], "score": 0.8},
]
FOUND_POINTS: list[dict[str, Any]] = [
    {"image_id": 1, "category_id": 3, "keypoints": [5, 5, 1, 9, 9, 1, 7, 8, 1], "score": 0.9},
    {"image_id": 2, "category_id": 3, "keypoints": [6, 5, 1, 9, 9, 1, 7, 8, 1], "score": 0.8},
]
COCO_TASKS = {"boxes": FOUND, "masks": FOUND_MASKS, "keypoints": FOUND_POINTS}
TABLE_TASKS = {
    "weights": (WEIGHTS, WEIGHTS_P),
    "sequences": (SEQUENCES, SEQUENCES_P),
    "ellipses": (ELLIPSES, ELLIPSES_P),
    "labels": (LABELS, LABELS_P),
    "rankings": (RANKINGS, RANKINGS_P),
    "captions": (CAPTIONS, CAPTIONS_P),
    "losses": (LOSSES, LOSSES_P),
}


def good(task: str) -> dict[str, Make]:
    """Truth and predictions of a task that nothing is wrong with."""
    if task in COCO_TASKS:
        return {"truth.json": json.dumps(COCO), "pred.json": json.dumps(COCO_TASKS[task])}
    truth, predictions = TABLE_TASKS[task]
    return {"truth.csv": truth, "pred.csv": predictions}


def evaluate(name: str, task: str, *says: str, options: str = "", **more: Any) -> Row:
    """A row of `evaluate` over the task's good files, of which `files` replaces some; every output is asked for."""
    files = {**good(task), **more.pop("files", {})}
    ending = "json" if task in COCO_TASKS else "csv"
    sigmas = " --sigmas 0.05" if task == "keypoints" and "--sigmas" not in options else ""
    line = f"evaluate {task} truth.{ending} pred.{ending} {options}{sigmas}"
    asked = "" if more.get("code", 2) == 0 else " --units units.csv -o out.json -o out.md"
    return row(f"{task}: {name}", line + asked, *says, files=files, **more)


def truth(name: str, task: str, text: str | bytes, *says: str, **more: Any) -> Row:
    """The truth's CSV is this."""
    return evaluate(name, task, *says, files={"truth.csv": text}, **more)


def pred(name: str, task: str, text: str | bytes, *says: str, **more: Any) -> Row:
    """The predictions' CSV is this."""
    return evaluate(name, task, *says, files={"pred.csv": text}, **more)


def coco(name: str, task: str, data: Any, *says: str, **more: Any) -> Row:
    """The truth's COCO file is this."""
    return evaluate(name, task, *says, files={"truth.json": _text(data)}, **more)


def coco_results(name: str, task: str, data: Any, *says: str, **more: Any) -> Row:
    """The COCO results are this."""
    return evaluate(name, task, *says, files={"pred.json": _text(data)}, **more)


def _text(data: Any) -> str | bytes:
    return data if isinstance(data, str | bytes) else json.dumps(data)


def annotation(**changed: Any) -> dict[str, Any]:
    """The truth with its second annotation changed."""
    first, second = COCO["annotations"]
    return {**COCO, "annotations": [first, {**second, **changed}]}


def result(task: str, **changed: Any) -> list[dict[str, Any]]:
    """The results with the second one changed."""
    first, second = COCO_TASKS[task]
    return [first, {**second, **changed}]
