"""The drop-ins for VQA's official code, vqaEvaluation and vqaTools, against what that code gives."""

from __future__ import annotations

import json

import pytest
from support.paths import ROOT

from steelyard import compat
from steelyard.compat.vqaEvaluation.vqaEval import VQAEval
from steelyard.compat.vqaTools.vqa import VQA

GOLDENS = json.loads((ROOT / "tests" / "goldens" / "answers.json").read_text(encoding="utf-8"))
HEAD = {"info": {"year": 2026}, "task_type": "Open-Ended", "data_type": "x", "data_subtype": "y", "license": {}}


def written(folder, annotations, questions, results) -> list[str]:
    paths = [str(folder / name) for name in ("annotations.json", "questions.json", "results.json")]
    contents = ({**HEAD, "annotations": annotations}, {**HEAD, "questions": questions}, results)
    for path, content in zip(paths, contents, strict=True):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
    return paths


def annotation(question, answers, kind="what", answer_type="other", image=None):
    people = [{"answer": answer, "answer_confidence": "yes", "answer_id": i + 1} for i, answer in enumerate(answers)]
    types = {"question_type": kind, "answer_type": answer_type}
    return {"question_id": question, "image_id": image or question, "answers": people, **types}


def loaded(folder, rows, replies) -> tuple[VQA, VQA]:
    questions = [{"question_id": row["question_id"], "question": "What is it?"} for row in rows]
    results = [{"question_id": question, "answer": reply} for question, reply in replies.items()]
    annotations, asked, said = written(folder, rows, questions, results)
    truth = VQA(annotations, asked)
    return truth, truth.loadRes(said, asked)


@pytest.mark.parametrize("field", ["official", "official_without_answer_id"])
def test_goldens_of_the_official_script(field, tmp_path) -> None:
    cases = GOLDENS["vqa_accuracy"]
    rows = [annotation(i, case["answers"]) for i, case in enumerate(cases)]
    if field != "official":  # people whose entries are equal do not see each other
        rows = [
            {**row, "answers": [{"answer": person["answer"], "answer_confidence": "yes"} for person in row["answers"]]}
            for row in rows
        ]
    evaluator = VQAEval(*loaded(tmp_path, rows, {i: case["prediction"] for i, case in enumerate(cases)}), n=10)
    evaluator.evaluate()
    assert list(evaluator.evalQA.values()) == pytest.approx([100 * case[field] for case in cases], abs=1e-9)
    for case in GOLDENS["vqa_text"]:
        assert evaluator.processDigitArticle(evaluator.processPunctuation(case["in"])) == case["official"]


def test_numbers_types_and_printed_text(tmp_path, capsys) -> None:
    rows = [
        annotation(1, ["yes"] * 10, "is the", "yes/no"),  # people agree: "Yes" is not processed, and wrong
        annotation(2, ["two", "2"] + ["three"] * 8, "how many", "number"),  # 2 of 10: 0.6 for eight, 1/3 for two
        annotation(3, ["a red car"] * 3 + ["Red car."] + ["bus"] * 6, "what", "other", image=2),
    ]
    truth, results = loaded(tmp_path, rows, {1: "Yes", 2: "2", 3: "the red car"})
    printed = capsys.readouterr().out
    assert printed.startswith("loading VQA annotations and questions into memory...\n0:00:0")
    assert printed.count("creating index...\nindex created!\n") == 2
    evaluator = VQAEval(truth, results)
    evaluator.evaluate()
    # question 2: (8 * 2/3 + 2 * 1/3) / 10 = 0.6; question 3: four people, (6 * 1 + 4 * 1) / 10 = 1
    assert evaluator.evalQA == {1: 0.0, 2: 60.0, 3: 100.0}
    assert evaluator.accuracy == {
        "overall": 53.33,
        "perQuestionType": {"is the": 0.0, "how many": 60.0, "what": 100.0},
        "perAnswerType": {"yes/no": 0.0, "number": 60.0, "other": 100.0},
    }
    assert evaluator.evalQuesType == {"is the": {1: 0.0}, "how many": {2: 60.0}, "what": {3: 100.0}}
    assert evaluator.evalAnsType == {"yes/no": {1: 0.0}, "number": {2: 60.0}, "other": {3: 100.0}}
    bar = "\rFinshed Percent: [--------------------] 0% "
    assert capsys.readouterr().out == f"computing accuracy\n{bar}Done computing accuracy\n"
    assert [person["answer"] for person in truth.qa[3]["answers"]][:4] == ["red car"] * 4  # processed in place
    evaluator.evaluate([2])
    assert evaluator.accuracy["overall"] == 60.0


def test_progress(capsys) -> None:
    evaluator = VQAEval(VQA_OF_NOTHING, None)
    for progress in (0.5, 1, -1, "x"):
        evaluator.updateProgress(progress)
    parts = capsys.readouterr().out.split("\rFinshed Percent: ")[1:]
    assert parts == [
        "[##########----------] 50% ",
        "[####################] 100% Done...\r\n",
        "[--------------------] 0% Halt...\r\n",
        "[--------------------] 0% error: progress var must be float\r\n",
    ]


VQA_OF_NOTHING = VQA()
VQA_OF_NOTHING.dataset = {"annotations": []}


def test_selecting_and_showing(tmp_path, capsys) -> None:
    types = {2: ("what", "other"), 3: ("how many", "number"), 4: ("what", "number")}
    rows = [annotation(i, ["a"], *types[i], image=i // 2) for i in types]
    truth, results = loaded(tmp_path, rows, {2: "a", 3: "a", 4: "a"})
    assert truth.getQuesIds() == [2, 3, 4]
    assert truth.getQuesIds(imgIds=[1]) == [2, 3]
    assert truth.getQuesIds(imgIds=1, ansTypes="number") == [3]
    assert truth.getQuesIds(quesTypes=["what"]) == [2, 4]
    assert truth.getImgIds() == [1, 1, 2]
    assert truth.getImgIds(quesIds=[4, 9]) == [2]
    assert truth.loadQA(3) == truth.loadQA([3]) == [rows[1]]
    assert results.qa[4] == {"question_id": 4, "answer": "a"} | {
        name: rows[2][name] for name in ("image_id", "question_type", "answer_type")
    }
    capsys.readouterr()
    assert truth.showQA([]) == 0
    truth.showQA(truth.loadQA(2))
    truth.info()
    assert capsys.readouterr().out == "Question: What is it?\nAnswer 1: a\nyear: 2026\n"


def test_results_that_do_not_fit(tmp_path) -> None:
    rows = [annotation(1, ["a"])]
    for replies in ({}, {2: "a"}, {1: "a", 2: "a"}):
        with pytest.raises(AssertionError):
            loaded(tmp_path, rows, replies)


def test_a_report_has_the_accuracy_with_its_interval(tmp_path) -> None:
    rows = [annotation(i, ["two", "2", "a red car"] + ["bus"] * (i % 9)) for i in range(1, 40)]
    evaluator = VQAEval(*loaded(tmp_path, rows, {i: "bus" if i % 2 else "Two" for i in range(1, 40)}), n=12)
    before = compat.report(evaluator, draws=100).scores["vqa"]
    evaluator.evaluate()
    after = compat.report(evaluator, draws=100).scores["vqa"]
    assert before == after
    assert 100 * before.value == pytest.approx(evaluator.accuracy["overall"])
