"""VQA accuracy of a results file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from steelyard.language.answers import CONTRACTIONS, MARKS, NUMBERS, plain

_BAR = 20
# Never met, since texts are lowered before they are looked up, or without effect.
_UNUSED = {"Id've": "I'd've", "I'dve": "I'd've", "Im": "I'm", "Ive": "I've", "let's": "let's", "she's": "she's"}


class VQAEval:
    """The accuracy of the answers in `vqaRes` by those of people in `vqa`, in per cent with `n` decimals."""

    def __init__(self, vqa: Any, vqaRes: Any, n: int = 2) -> None:
        self.n = n
        self.accuracy: dict[str, Any] = {}
        self.evalQA: dict[Any, float] = {}
        self.evalQuesType: dict[str, dict[Any, float]] = {}
        self.evalAnsType: dict[str, dict[Any, float]] = {}
        self.vqa = vqa
        self.vqaRes = vqaRes
        self.params: dict[str, Any] = {"question_id": vqa.getQuesIds()}
        self.contractions = CONTRACTIONS | _UNUSED
        self.manualMap = dict(NUMBERS)
        self.articles = ["a", "an", "the"]
        self.periodStrip = re.compile(r"(?!<=\d)(\.)(?!\d)")
        self.commaStrip = re.compile(r"(\d)(\,)(\d)")
        self.punct = list(MARKS)
        self._written: dict[Any, list[str]] = {}  # answers as people wrote them, where they were processed

    def evaluate(self, quesIds: Sequence[Any] | None = None) -> None:
        """Score these questions, or all: `accuracy`, `evalQA`, `evalQuesType` and `evalAnsType`.

        As in the original, people's answers in `vqa` are processed in place.
        """
        questions = list(self.params["question_id"]) if quesIds is None else quesIds
        truth = {question: self.vqa.qa[question] for question in questions}
        replies = {question: self.vqaRes.qa[question]["answer"] for question in questions}
        scores: list[float] = []
        by_question_type: dict[Any, list[float]] = {}
        by_answer_type: dict[Any, list[float]] = {}
        processed: dict[str, str] = {}
        print("computing accuracy")
        for step, question in enumerate(questions):
            score = self._score(question, truth[question]["answers"], plain(replies[question]), processed)
            question_type, answer_type = truth[question]["question_type"], truth[question]["answer_type"]
            scores.append(score)
            by_question_type.setdefault(question_type, []).append(score)
            by_answer_type.setdefault(answer_type, []).append(score)
            self.setEvalQA(question, score)
            self.setEvalQuesType(question, question_type, score)
            self.setEvalAnsType(question, answer_type, score)
            if step % 100 == 0:
                self.updateProgress(step / len(questions))
        self.setAccuracy(scores, by_question_type, by_answer_type)
        print("Done computing accuracy")

    def _score(self, question: Any, people: list[dict[str, Any]], reply: str, processed: dict[str, str]) -> float:
        """The accuracy of a reply: the mean over people of the share of three others that say the same."""

        def process(text: str) -> str:
            if text not in processed:
                processed[text] = self.processDigitArticle(self.processPunctuation(text))
            return processed[text]

        written = [person["answer"] for person in people]
        self._written.setdefault(question, written)
        answers = list(map(plain, written))
        if len(set(answers)) > 1:
            answers = list(map(process, answers))
            reply = process(reply)
        for person, answer in zip(people, answers, strict=True):
            person["answer"] = answer
        same = [answer == reply for answer in answers]
        if len({person.get("answer_id") for person in people}) == len(people):
            matches, others = sum(same), [sum(same) - own for own in same]
        else:  # people whose entries are equal count as one person
            others = [sum(own and b != a for b, own in zip(people, same, strict=True)) for a in people]
            matches = max(others, default=0)
        shares = [min(1, count / 3) for count in others] if matches else [0] * len(people)
        return float(sum(shares)) / len(shares)

    def processPunctuation(self, inText: str) -> str:
        """Marks as blanks, or removed if a blank is next to one or a comma between digits."""
        text = inText
        present = [mark for mark in self.punct if mark in inText]
        if present:
            comma = self.commaStrip.search(inText) is not None
            for mark in present:
                text = text.replace(mark, "" if comma or f"{mark} " in inText or f" {mark}" in inText else " ")
        # The original gives a flag where the number of full stops to remove is expected.
        return self.periodStrip.sub("", text, count=int(re.UNICODE)) if "." in text else text

    def processDigitArticle(self, inText: str) -> str:
        """Words in lower case, with digits for numbers, without articles, with contractions spelt out."""
        words = (self.manualMap.get(word, word) for word in inText.lower().split())
        return " ".join(self.contractions.get(word, word) for word in words if word not in self.articles)

    def setAccuracy(
        self,
        accQA: Sequence[float],
        accQuesType: dict[Any, list[float]],
        accAnsType: dict[Any, list[float]],
    ) -> None:
        """Set `accuracy`: overall, by type of question and by type of answer."""
        self.accuracy["overall"] = self._percent(accQA)
        self.accuracy["perQuestionType"] = {kind: self._percent(scores) for kind, scores in accQuesType.items()}
        self.accuracy["perAnswerType"] = {kind: self._percent(scores) for kind, scores in accAnsType.items()}

    def _percent(self, scores: Sequence[float]) -> float:
        return round(100 * float(sum(scores)) / len(scores), self.n)

    def setEvalQA(self, quesId: Any, acc: float) -> None:
        """Set the accuracy of a question."""
        self.evalQA[quesId] = round(100 * acc, self.n)

    def setEvalQuesType(self, quesId: Any, quesType: str, acc: float) -> None:
        """Set the accuracy of a question, by its type."""
        self.evalQuesType.setdefault(quesType, {})[quesId] = round(100 * acc, self.n)

    def setEvalAnsType(self, quesId: Any, ansType: str, acc: float) -> None:
        """Set the accuracy of a question, by the type of its answer."""
        self.evalAnsType.setdefault(ansType, {})[quesId] = round(100 * acc, self.n)

    def updateProgress(self, progress: float) -> None:
        """Print how much is done."""
        status = ""
        if not isinstance(progress, int | float):
            progress, status = 0, "error: progress var must be float\r\n"
        if progress < 0:
            progress, status = 0, "Halt...\r\n"
        if progress >= 1:
            progress, status = 1, "Done...\r\n"
        block = round(_BAR * progress)
        bar = "#" * block + "-" * (_BAR - block)
        print(f"\rFinshed Percent: [{bar}] {int(progress * 100)}% {status}", end="", flush=True)

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the same questions."""
        questions = self.params["question_id"]
        truth: dict[str, list[Any]] = {name: [] for name in ("question", "answer", "question_type", "answer_type")}
        for question in questions:
            people = self.vqa.qa[question]
            answers = self._written.get(question) or [person["answer"] for person in people["answers"]]
            truth["question"] += [question] * len(answers)
            truth["answer"] += answers
            truth["question_type"] += [people["question_type"]] * len(answers)
            truth["answer_type"] += [people["answer_type"]] * len(answers)
        replies = [self.vqaRes.qa[question]["answer"] for question in questions]
        return "answers", truth, {"question": list(questions), "answer": replies}, {"metrics": ["vqa"]}
