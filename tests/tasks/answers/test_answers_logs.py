"""Logs of other harnesses: the formats as their tools write them, and what is wrong with one."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.answer_logs import KIT, LIKELY, archive, options, sample
from support.lazy import lazy
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

openpyxl = lazy("openpyxl")


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


SAMPLES = [sample(1, "4", "4", "C"), sample(2, ["a", "b"], "b", "I"), sample(3, "yes", "no", "I")]
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}


def inspect(folder: Path, samples: list[dict[str, Any]] = SAMPLES, header: dict[str, Any] = HEADER) -> Path:
    members = {"header.json": header, **{f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}}
    path = folder / "run.eval"
    path.write_bytes(archive(members))
    return path


def logged(name: str) -> str:
    return f"logged(score={name})"


def test_inspect(tmp_path: Path) -> None:
    """The harness calls "b" wrong, whose targets are "a" and "b"; here it is right."""
    path = inspect(tmp_path)
    assert zipfile.ZipFile(path).namelist()[0] == "header.json"
    report = sy.evaluate("answers", path, metrics=["exact", logged("match")], by="kind", confidence=None)
    assert report["exact"].value == 2 / 3
    assert report[logged("match")].value == 1 / 3
    whole = tmp_path / "run.json"
    whole.write_text(json.dumps({**HEADER, "samples": SAMPLES}))
    assert sy.evaluate("answers", whole, metrics="exact", confidence=None)["exact"].value == 2 / 3


def test_a_log_that_inspect_wrote() -> None:
    """inspect_ai 0.3.285: two epochs of four samples; "It is dark red" is right there, and no exact match here."""
    path = TESTS / "data" / "answers" / "inspect_0.3.eval"
    specs = ["exact", logged("match"), logged("includes")]
    report = sy.evaluate("answers", path, metrics=specs, by="kind", confidence=None)
    assert [score.value for score in report.scores.values()] == [3 / 8, 4 / 8, 4 / 8]
    assert report.units().units.tolist() == ["q0", "q1", "q2", "q3"]
    assert [by["exact"].value for by in report.slices["kind"].values()] == [0, 2 / 4, 1 / 2]


def test_a_run_that_did_not_end_well_is_noted(tmp_path: Path) -> None:
    report = sy.evaluate(
        "answers", inspect(tmp_path, header={**HEADER, "status": "error"}), metrics="exact", confidence=None
    )
    assert "The log says that the run ended with 'error': samples may be missing." in report.notes


def test_epochs_of_inspect_are_one_unit(tmp_path: Path) -> None:
    path = inspect(tmp_path, [sample(1, "4", said, "C", epoch) for epoch, said in ((1, "4"), (2, "5"))])
    report = sy.evaluate("answers", path, metrics="exact", confidence=None)
    assert report["exact"].value == 1 / 2
    assert report.units().units.tolist() == [1]


def test_what_failed_is_no_answer(tmp_path: Path) -> None:
    cut = sample(2, "4", "4", "N", output={"completion": "4", "choices": [{"stop_reason": "max_tokens"}]})
    path = inspect(tmp_path, [SAMPLES[0], cut, sample(3, "4", "4", "N", error={"message": "x"})])
    report = sy.evaluate("answers", path, metrics=["exact", "answered"], confidence=None)
    assert [score.value for score in report.scores.values()] == [1 / 3, 1 / 3]


def harness(folder: Path, task: str = "pope", doc: bool = False) -> Path:
    rows = [
        {"doc_id": 0, "target": "yes", "filtered_resps": ["yes"], "pope_accuracy": {"score": 1.0, "question_id": 7}},
        {"doc_id": 1, "target": "['red', 'dark red']", "filtered_resps": "dark red", "pope_accuracy": {"score": 0.0}},
    ]
    for row in rows:
        row |= {"doc": {"image_id": 5, "category": "c"}, "metrics": ["pope_accuracy"], "filter": "none"} if doc else {}
    return lines(folder / f"20260101_samples_{task}.jsonl", rows)


@pytest.mark.parametrize(
    "row",
    [
        options("2", 1.0),
        options("bird", 1.0),  # targets may be texts
        options("2", 1.0, [*LIKELY, ["-8.0", "False"], ["-0.5", "False"], ["-9.0", "False"]], "???---"),
    ],
)
def test_the_most_likely_option_is_the_reply(tmp_path: Path, row: dict[str, Any]) -> None:
    """Multiple choice of lm-eval, by numbers and by texts, and with the options asked without their question, too."""
    wrong = options("dog" if row["target"] == "bird" else "1", 0.0)
    path = lines(tmp_path / "samples_x_2026.jsonl", [row, wrong])
    report = sy.evaluate(
        "answers", path, metrics=["exact", logged("acc")], options={"format": "lm-eval"}, confidence=None
    )
    assert report["exact"].value == report[logged("acc")].value == 0.5


@pytest.mark.parametrize("pair", [["-3.5", "False"], [["-3.5", "False"]]])
def test_a_likelihood_is_no_reply(tmp_path: Path, pair: list[Any]) -> None:
    """One continuation whose likelihood was asked: there is the logged score, and no text to score."""
    rows = [{"doc_id": i, "target": "-3.5", "filtered_resps": pair, "acc": 1.0} for i in range(2)]
    path = lines(tmp_path / "samples_x_2026.jsonl", rows)
    report = sy.evaluate(
        "answers", path, metrics=["exact", "answered", logged("acc")], options={"format": "lmms-eval"}, confidence=None
    )
    assert (report["exact"].value, report["answered"].value, report[logged("acc")].value) == (0, 0, 1)


@pytest.mark.parametrize("replies", [["4", "5", "4"], [["4", "5", "4"]], [["4"], ["5"], ["4"]]])
def test_a_question_that_was_asked_several_times(tmp_path: Path, replies: list[Any]) -> None:
    """Repeats of either harness: every reply counts, and they are one unit."""
    rows = [{"doc_id": i, "target": "4", "filtered_resps": replies, "exact_match": 1.0} for i in range(2)]
    path = lines(tmp_path / "2026_samples_x.jsonl", rows)
    report = sy.evaluate("answers", path, metrics="exact", options={"format": "lmms-eval"}, confidence=None)
    assert report["exact"].value == pytest.approx(2 / 3)
    assert len(report.units().units) == 2


@pytest.mark.parametrize("form", ["lmms-eval", "lm-eval"])
def test_harnesses(form: str, tmp_path: Path) -> None:
    path = harness(tmp_path, doc=form == "lm-eval")
    report = sy.evaluate(
        "answers", path, metrics=["exact", logged("pope_accuracy")], options={"format": form}, confidence=None
    )
    assert [score.value for score in report.scores.values()] == [1, 0.5]
    assert len(report.units().units) == (1 if form == "lm-eval" else 2)


def test_a_folder_of_logs(tmp_path: Path) -> None:
    """Two tasks: their questions have the same ids, and do not meet."""
    harness(tmp_path / "model", "a")
    harness(tmp_path / "model", "b")
    report = sy.evaluate(
        "answers", tmp_path, metrics="exact", by="file", options={"format": "lmms-eval"}, confidence=None
    )
    assert report.coverage.truth == 4
    assert {value for by in report.slices.values() for value in by} == {"20260101_samples_a", "20260101_samples_b"}


def sheet(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(list(KIT[0]))
    for row in KIT:
        book.active.append(list(row.values()))
    book.save(path)


def tabs(path: Path) -> None:
    path.write_text("\n".join("\t".join(map(str, row)) for row in (KIT[0], *(one.values() for one in KIT))) + "\n")


@pytest.mark.parametrize(
    ("name", "write"), [("r.xlsx", sheet), ("r.tsv", tabs), ("r.json", lambda path: path.write_text(json.dumps(KIT)))]
)
def test_vlmevalkit(name: str, write: Callable[[Path], Any], tmp_path: Path) -> None:
    """Options that were turned are the same unit, and only right together."""
    write(tmp_path / name)
    specs = ["choice", "choice_all", logged("hit"), "answered"]
    report = sy.evaluate("answers", tmp_path / name, metrics=specs, options={"format": "vlmevalkit"}, confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx([1 / 3, 0, 1 / 3, 2 / 3])


def test_vqa_files(tmp_path: Path) -> None:
    """Nine of ten say yes: 1. Two of ten say 3: 0.6 by the official rule."""
    notes = [
        {
            "question_id": 1,
            "image_id": 9,
            "answer_type": "yes/no",
            "answers": [{"answer": "yes"}] * 9 + [{"answer": "no"}],
        },
        {
            "question_id": 2,
            "image_id": 9,
            "answer_type": "number",
            "answers": [{"answer": "3"}] * 2 + [{"answer": "4"}] * 8,
        },
    ]
    (tmp_path / "truth.json").write_text(json.dumps({"info": {}, "annotations": notes}))
    (tmp_path / "said.json").write_text(
        json.dumps([{"question_id": 1, "answer": "yes"}, {"question_id": 2, "answer": "3"}])
    )
    report = sy.evaluate(
        "answers", tmp_path / "truth.json", tmp_path / "said.json", "vqa", by="answer_type", confidence=None
    )
    assert report["vqa"].value == pytest.approx(0.8)
    assert report.units().units.tolist() == [9]


def test_two_logs_are_compared_where_they_agree_on_the_truth(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = inspect(tmp_path / "a"), inspect(tmp_path / "b", [*SAMPLES[:2], sample(3, "yes", "yes", "C")])
    made = sy.compare("answers", a, a, b, "exact", draws=100)
    assert made["exact"].difference == pytest.approx(1 / 3)
    inspect(tmp_path / "b", [*SAMPLES[:2], sample(3, "no", "no", "C")])
    with refuses("E-incompatible", "'3'", "'yes'"):
        sy.compare("answers", a, a, b, "exact", draws=100)


BROKEN: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "no archive": ("inspect", lambda path: path.write_bytes(b"PK\x03\x04 nothing"), ("E-unreadable-file", "log.eval")),
    "another version": ("inspect", lambda path: inspect(path.parent, header={**HEADER, "version": 3}).rename(path), ("E-unsupported", "version 3")),
    "no header": ("inspect", lambda path: path.write_bytes(archive({"samples/1_epoch_1.json": SAMPLES[0]})), ("E-invalid-file", "log.eval")),
    "no samples": ("inspect", lambda path: inspect(path.parent, []).rename(path), ("E-empty-input", "log.eval")),
    "sample without target": ("inspect", lambda path: path.write_bytes(archive({"header.json": HEADER, "samples/1_epoch_1.json": {"id": 1}})), ("E-missing-key", "id")),
    "damaged member": ("inspect", lambda path: path.write_bytes(archive({"header.json": HEADER})[:-60].replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe") + archive({"header.json": HEADER})[-60:]), ("E-unreadable-file", "log.eval, header.json")),
    "line that is not JSON": ("lm-eval", lambda path: path.write_text('{"doc_id": 1}\n{oops\n'), ("E-invalid-file", "line 2")),
    "no samples of a harness": ("lm-eval", lambda path: path.write_text('{"a": 1}\n'), ("E-invalid-file", "log.jsonl")),
    "two filters": ("lm-eval", lambda path: lines(path, [{"doc_id": 1, "filtered_resps": ["a"], "filter": f, "target": "a"} for f in "xy"]), ("E-invalid-value", "log.jsonl")),
    "an id twice": ("lm-eval", lambda path: lines(path, [{"doc_id": 1, "filtered_resps": ["a"], "target": "a"}] * 2), ("E-duplicate-key", "'1'")),
    "no sheet": ("vlmevalkit", lambda path: path.write_text("index\tanswer\n1\tA\n"), ("E-missing-column", "'prediction'")),
    "no annotations": ("vqa", lambda path: path.write_text("{}"), ("E-empty-input", "log.json", "annotations")),
    "truth alone": ("vqa", lambda path: path.write_text('{"annotations": [{"question_id": 1, "answers": [{"answer": "a"}]}]}'), ("E-empty-input", "log.json", "replies")),
}  # fmt: skip
ENDINGS = {"inspect": ".eval", "lm-eval": ".jsonl", "vlmevalkit": ".tsv", "vqa": ".json"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_log_is_named(name: str, tmp_path: Path) -> None:
    form, write, message = BROKEN[name]
    path = tmp_path / f"log{ENDINGS[form]}"
    write(path)
    with refuses(*message, "log"):
        sy.evaluate("answers", path, options={"format": form}, metrics="exact")


def test_a_folder_without_logs(tmp_path: Path) -> None:
    with refuses("E-empty-input", "lmms-eval"):
        sy.evaluate("answers", tmp_path, options={"format": "lmms-eval"}, metrics="exact")


def test_a_folder_of_vlmevalkit_counts_predictions_once(tmp_path: Path) -> None:
    """Beside predictions lie copies with what was extracted and scored, and numbers made of them; and other data sets."""
    said = [("0", "A", "A"), ("1", "B", "A"), ("2", "B", "B")]
    folder = tmp_path / "M" / "T2026"
    folder.mkdir(parents=True)

    def write(name: str, rows: list[tuple[str, ...]], more: str = "") -> None:
        lines = ["\t".join(["index", "answer", "prediction", *more.split()]), *("\t".join(row) for row in rows)]
        (folder / name).write_text("\n".join(lines) + "\n")

    write("M_Pets.tsv", said)
    write("M_Pets_judge_result.tsv", [(*row, str(int(row[1] == row[2]))) for row in said], "hit")
    (folder / "M_Pets_score.json").write_text('{"Overall": 0.66}')
    settings: Any = {"options": {"format": "vlmevalkit"}, "confidence": None}
    report = sy.evaluate("answers", tmp_path, metrics=["exact", logged("hit")], **settings)
    assert len(report.units().units) == 3
    assert report["exact"].value == report[logged("hit")].value == pytest.approx(2 / 3)
    write("M_Pets_V11.tsv", [("0", "A", "B"), ("1", "B", "B"), ("2", "B", "A")])  # another data set of a longer name
    both = sy.evaluate("answers", tmp_path, metrics="exact", by="file", **settings)
    assert {name: scores["exact"].value for name, scores in both.slices["file"].items()} == {
        "M_Pets_judge_result": pytest.approx(2 / 3),
        "M_Pets_V11": pytest.approx(1 / 3),
    }
