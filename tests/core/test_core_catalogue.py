"""How a spec becomes a metric: every way of writing a setting, and what is refused, with the names it must say."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support.refusal import refuses

from steelyard.core import catalogue


@pytest.mark.parametrize(
    ("task", "spec", "printed"),
    [
        ("labels", "Macro-F1", "macro(f1)"),
        ("labels", "macro(f1)", "macro(f1)"),
        ("labels", "macro(of=f1)", "macro(f1)"),
        ("labels", "micro(f1(threshold=0.5))", "micro(f1(threshold=0.5))"),
        ("labels", "macro(of=f1(threshold=0.5))", "macro(f1(threshold=0.5))"),
        ("labels", "FPR95(positive=ood)", "fpr_at_tpr@95(positive=ood)"),
        ("labels", "fpr@90(positive=ood)", "fpr_at_tpr@90(positive=ood)"),
        ("labels", "fpr", "fpr"),
        ("labels", "Accuracy", "accuracy"),
        ("weights", "Mean Absolute Error (MAE)", "mae"),
        ("rankings", "precision@5", "precision@5"),
        ("rankings", "ndcg@k=10", "ndcg@10"),
        ("rankings", "nDCG@K=10", "ndcg@10"),
        ("rankings", "ndcg(k=10)", "ndcg@10"),
        ("images", "column(clip)", "column(column=clip)"),
        ("images", "column(clip, better=higher)", "column(column=clip, better=higher)"),
        ("boxes", "AP50", "map50"),
        ("boxes", "mAP@0.5", "map50"),
        ("boxes", "map@50", "map50"),
        ("boxes", "map@0.75", "map75"),
        ("boxes", "map@0.6", "map@0.6"),
        ("boxes", "AP50(max_dets=300)", "map50(max_dets=300)"),
        ("boxes", "APs", "map(area=small)"),
        ("boxes", "APr", "map(max_dets=300, frequency=r)"),
        ("boxes", "APs(max_dets=300)", "map(area=small, max_dets=300)"),
        ("boxes", "APs@0.5", "map@0.5(area=small)"),
    ],
)
def test_a_metric_in_many_spellings(task: str, spec: str, printed: str) -> None:
    metric = catalogue.parse(spec, task)
    assert metric == catalogue.parse(printed, task) == catalogue.parse(str(metric), task)


def test_a_spelling_adds_to_what_is_asked_for() -> None:
    assert dataclasses.asdict(catalogue.parse("APs(max_dets=300)", "boxes")) == {
        **dataclasses.asdict(catalogue.parse("map", "boxes")),
        "area": "small",
        "max_dets": 300,
    }


@pytest.mark.parametrize(
    ("task", "spec", "code", "what", "remedy"),
    [
        ("labels", "macro_f1(recall)", "E-duplicate-key", ("'macro_f1'", "'macro(f1)'"), ("'macro(f1)'",)),
        ("labels", "fpr95@90", "E-duplicate-key", ("'fpr95'", "'fpr_at_tpr@95'"), ("'fpr_at_tpr@95'",)),
        ("boxes", "APs(area=large)", "E-duplicate-key", ("'APs'", "'map(area=small)'"), ("'map(area=small)'",)),
        ("weights", "mae (MAE)", "E-invalid-spec", ("'mae'",), ()),
        ("weights", "Mean Absolute Error (MAPE)", "E-invalid-spec", ("'mae'",), ()),
        ("labels", "f1@0.5", "E-invalid-spec", ("'f1'", "'@'"), ("label, threshold",)),
        ("labels", "f1@x=0.5", "E-invalid-spec", ("'f1'", "'@x'"), ("label, threshold",)),
        ("rankings", "ndcg@x=5", "E-invalid-spec", ("'ndcg'", "'@x'"), ("k",)),
        ("labels", "f1(3)", "E-invalid-spec", ("'f1'",), ("label, threshold",)),
        ("labels", "f1(zz=1)", "E-invalid-spec", ("'f1'", "'zz'"), ("label, threshold",)),
        ("labels", "macro", "E-invalid-spec", ("'macro'",), ("macro(accuracy)",)),
        ("labels", "macro(f1, recall)", "E-invalid-spec", ("'macro'",), ("of, undefined",)),
        ("labels", "macro(f1, of=recall)", "E-duplicate-key", ("'macro'", "'of'"), ()),
        ("rankings", "ndcg@5(k=10)", "E-duplicate-key", ("'ndcg'", "'k'"), ()),
        ("images", "column(a, b)", "E-invalid-spec", ("'column'",), ("column, better",)),
        ("images", "column(a, column=b)", "E-invalid-spec", ("'column'",), ("column, better",)),
        (
            "sequences",
            "MAE",
            "E-invalid-spec",
            ("mae_overall, mae_initial, mae_consumed or mae_kcal", "'sequences'"),
            (),
        ),
        ("answers", "wer(part=x)", "E-invalid-spec", ("'wer'", "part", "x"), ("s, d, i",)),
        ("labels", "macro(mae)", "E-unknown-metric", ("'labels'", "'mae'"), ("'mae'", "the tasks")),
        ("labels", "bleu", "E-unknown-metric", ("'labels'", "'bleu'"), ("'bleu'", "task 'captions'")),
    ],
)
def test_specs_that_are_refused(
    task: str, spec: str, code: str, what: tuple[str, ...], remedy: tuple[str, ...]
) -> None:
    with refuses(code, *what, *remedy) as caught:
        catalogue.parse(spec, task)
    error: Any = caught.value
    parts = error.where, all(text in error.what for text in what), all(text in error.remedy for text in remedy)
    assert parts == ("", True, True)


def test_a_metric_of_several_tasks_names_them_all() -> None:
    """`mae` of labels: the tasks that have it, in their order, the last after "and"."""
    others = [task.name for task in catalogue.built_in().values() if "mae" in catalogue.meanings("mae", task)]
    with refuses("E-unknown-metric") as caught:
        catalogue.parse("mae", "labels")
    hint = getattr(caught.value, "remedy", "")
    assert hint == f"'mae' is a metric of the tasks {str(others)[1:-1].rpartition(', ')[0]} and '{others[-1]}'."


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("id", "'distributions'"),  # half of the letters of "fid", which is enough for a short name
        ("rnkings", "'rankings'"),
        ("labls", "'labels'"),
        ("abcd", ""),
        ("foxy", ""),  # half of the letters of "food", which is too little for four
    ],
)
def test_the_task_that_is_meant(name: str, meant: str) -> None:
    with refuses("E-unknown-task", f"'{name}'") as caught:
        catalogue.find_task(name)
    hint = getattr(caught.value, "remedy", "")
    assert hint == (f"Did you mean {meant}?" if meant else f"Known: {', '.join(sorted(catalogue.TASKS))}.")


@pytest.mark.parametrize(
    ("name", "task"),
    [("labels", "labels"), ("LABELS", "labels"), ("Face-Verification", "labels"), ("3D", "boxes3d"), ("x", None)],
)
def test_the_name_of_a_task(name: str, task: str | None) -> None:
    assert catalogue.task_name(name) == task


@pytest.mark.parametrize(
    ("name", "meant", "with_tasks"),
    [
        ("boxs", "'box_f1' of task 'grounding'", "the task 'boxes'"),
        ("acuracy", "'accuracy' of task 'labels'", "'accuracy' of task 'labels'"),
        ("xyzzy", "", ""),
    ],
)
def test_a_name_of_a_metric_or_a_task(name: str, meant: str, with_tasks: str) -> None:
    tasks = catalogue.built_in()
    for hint, expected in (
        (catalogue.suggestion(name, tasks), meant),
        (catalogue.suggestion(name, tasks, or_task=True), with_tasks),
    ):
        assert hint == (f"Did you mean {expected}?" if expected else "")


def test_a_metric_without_settings_says_so() -> None:
    for task, spec, settings in (
        ("weights", "mae(x=1)", "no settings"),
        ("labels", "f1(x=1)", "settings: label, threshold"),
    ):
        with refuses("E-invalid-spec", "'x'", settings):
            catalogue.parse(spec, task)
