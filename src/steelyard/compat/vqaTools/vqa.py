"""Questions and answers of VQA, by question and by image."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

__version__ = "0.9"


class VQA:
    """The annotations and questions of a data set, or the results of a model."""

    def __init__(self, annotation_file: Any = None, question_file: Any = None) -> None:
        self.dataset: dict[str, Any] = {}
        self.questions: dict[str, Any] = {}
        self.qa: dict[Any, dict[str, Any]] = {}
        self.qqa: dict[Any, dict[str, Any]] = {}
        self.imgToQA: dict[Any, list[dict[str, Any]]] = {}
        if annotation_file is not None and question_file is not None:
            print("loading VQA annotations and questions into memory...")
            begin = time.perf_counter()
            self.dataset = _read(annotation_file)
            self.questions = _read(question_file)
            print(timedelta(seconds=time.perf_counter() - begin))
            self.createIndex()

    def createIndex(self) -> None:
        """Set `qa`, `qqa` and `imgToQA` from `dataset` and `questions`."""
        print("creating index...")
        annotations = self.dataset["annotations"]
        self.imgToQA = {}
        for annotation in annotations:
            self.imgToQA.setdefault(annotation["image_id"], []).append(annotation)
        self.qa = {annotation["question_id"]: annotation for annotation in annotations}
        self.qqa = {question: [] for question in self.qa}  # type: ignore[misc]
        self.qqa.update((question["question_id"], question) for question in self.questions["questions"])
        print("index created!")

    def info(self) -> None:
        """Print what the file says of itself."""
        for name, value in self.dataset["info"].items():
            print(f"{name}: {value}")

    def getQuesIds(self, imgIds: Any = (), quesTypes: Any = (), ansTypes: Any = ()) -> list[Any]:
        """Ids of questions: all, or those of some images, types of questions and types of answers."""
        images = _listed(imgIds)
        rows = self.dataset["annotations"]
        if images:
            rows = [row for image in images for row in self.imgToQA.get(image, [])]
        return [row["question_id"] for row in _of_types(rows, quesTypes, ansTypes)]

    def getImgIds(self, quesIds: Any = (), quesTypes: Any = (), ansTypes: Any = ()) -> list[Any]:
        """Ids of images: all, one per question, or those of some questions, types of questions and types of answers."""
        questions = _listed(quesIds)
        rows = self.dataset["annotations"]
        if questions:
            rows = [self.qa[question] for question in questions if question in self.qa]
        return [row["image_id"] for row in _of_types(rows, quesTypes, ansTypes)]

    def loadQA(self, ids: Any = ()) -> list[dict[str, Any]] | None:
        """The annotations of a question, or of a list of questions."""
        if isinstance(ids, int):
            return [self.qa[ids]]
        return [self.qa[question] for question in ids] if isinstance(ids, list | tuple) else None

    def showQA(self, anns: Sequence[dict[str, Any]]) -> int | None:
        """Print questions and answers."""
        if len(anns) == 0:
            return 0
        for annotation in anns:
            print(f"Question: {self.qqa[annotation['question_id']]['question']}")
            for answer in annotation["answers"]:
                print(f"Answer {answer['answer_id']}: {answer['answer']}")
        return None

    def loadRes(self, resFile: Any, quesFile: Any) -> VQA:
        """The results of a model for the same questions."""
        results = VQA()
        results.questions = _read(quesFile)
        for name in ("info", "task_type", "data_type", "data_subtype", "license"):
            results.dataset[name] = copy.deepcopy(self.questions[name])
        print("Loading and preparing results...     ")
        begin = time.perf_counter()
        rows = _read(resFile)
        if type(rows) is not list:
            raise AssertionError("results is not an array of objects")
        if {row["question_id"] for row in rows} != set(self.getQuesIds()):
            raise AssertionError(
                "Results do not correspond to current VQA set. Either the results do not have predictions for all "
                "question ids in annotation file or there is atleast one question id that does not belong to the "
                "question ids in the annotation file."
            )
        choice = results.dataset["task_type"] == "Multiple Choice"
        for row in rows:
            question = row["question_id"]
            if choice and row["answer"] not in self.qqa[question]["multiple_choices"]:
                raise AssertionError("predicted answer is not one of the multiple choices")
            row.update({name: self.qa[question][name] for name in ("image_id", "question_type", "answer_type")})
        print(f"DONE (t={time.perf_counter() - begin:0.2f}s)")
        results.dataset["annotations"] = rows
        results.createIndex()
        return results


def _read(path: Any) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _of_types(rows: Iterable[dict[str, Any]], question_types: Any, answer_types: Any) -> list[dict[str, Any]]:
    questions, answers = _listed(question_types), _listed(answer_types)
    return [
        row
        for row in rows
        if (not questions or row["question_type"] in questions) and (not answers or row["answer_type"] in answers)
    ]
