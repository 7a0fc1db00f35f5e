"""Names: every spelling of the specification's five documents is read in its task, and others get a suggestion by meaning."""

from __future__ import annotations

import pickle

import pytest

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.errors import InputError, InvalidSpec
from steelyard.core.spec import fold_name
from steelyard.gating.rules import parse_rule

# Task, spelling, and the spec that is printed and saved.
DOCUMENTS = [
    # Document 1, food weights.
    ("weights", "MAE", "mae"), ("weights", "Mean Absolute Error", "mae"), ("weights", "Mean Absolute Error (MAE)", "mae"),
    ("weights", "MAPE", "mape"), ("weights", "Mean Absolute Percentage Error (MAPE)", "mape"),
    ("weights", "Mean Absolute Percentage Error", "mape"), ("weights", "Weighted MAE", "wmae_total"),
    ("weights", "wmae", "wmae_total"), ("weights", "WMAE", "wmae_total"), ("weights", "Weighted MAE_dish", "wmae_total"),
    ("weights", "weighted-mae", "wmae_total"), ("weights", "Per-dish Weighted MAE", "wmae_total"),
    ("weights", "Total Weighted MAE", "wmae_total"), ("weights", "WMAE_total(partial=allow)", "wmae_total(partial=allow)"),
    # Document 2, eating sequences.
    ("sequences", "MAE_Overall", "mae_overall"), ("sequences", "PMAE_Overall", "pmae_overall"),
    ("sequences", "MAE Initial", "mae_initial"), ("sequences", "PMAE-Initial", "pmae_initial"),
    ("sequences", "MAE_Consumed", "mae_consumed"), ("sequences", "PMAE_CONSUMED", "pmae_consumed"),
    ("sequences", "MAE_kCal", "mae_kcal"), ("sequences", "PMAE_kCal", "pmae_kcal"), ("sequences", "pmae kcal", "pmae_kcal"),
    # Document 3, ellipses.
    ("ellipses", "metrics_elps", "score"), ("ellipses", "metrics_elps(tresh_dist=5)", "score(t=5)"),
    # Document 4, classification, detection, retrieval and captions.
    ("labels", "Accuracy", "accuracy"), ("labels", "Recall", "recall"), ("labels", "Precision", "precision"),
    ("labels", "F1-score", "f1"), ("labels", "F1", "f1"), ("labels", "F1 score", "f1"), ("labels", "F₁", "f1"),
    ("labels", "F_1", "f1"), ("labels", "Macro-F1", "macro(f1)"), ("labels", "macro_f1", "macro(f1)"),
    ("labels", "Micro-F1", "micro(f1)"), ("labels", "Weighted-F1", "weighted(f1)"), ("labels", "Weighted F1", "weighted(f1)"),
    ("labels", "Macro(F1-score)", "macro(f1)"), ("labels", "TPR", "recall"), ("labels", "FPR", "fpr"),
    ("labels", "mAP", "macro(ap)"), ("boxes", "Average Precision (AP)", "ap"), ("boxes", "AP", "ap"),
    ("boxes", "mAP", "map"), ("boxes", "mAP (mean Average Precision)", "map"), ("boxes", "mAP@0.5", "map50"),
    ("boxes", "mAP@IoU=0.5", "map50"), (r"boxes", r"mAP\@IoU=0.5", "map50"), ("boxes", r"mAP\@0.5", "map50"),
    ("boxes", "mAP@0.50", "map50"), ("boxes", "mAP@0.5:0.95", "map"), ("boxes", "mAP@0.6", "map(iou=0.6)"),
    ("boxes", "mAP@0.5(kind=step)", "map50(kind=step)"), ("boxes", "map50(kind=step)", "map50(kind=step)"),
    ("boxes", "mAP(IoU=0.5:0.95, Max-Dets=10)", "map(max_dets=10)"), ("boxes", "AP@0.75", "ap(iou=0.75)"),
    ("rankings", "mAP", "map"), ("rankings", "mAP@10", "map@10"), ("rankings", "AP@10", "ap@10"),
    ("rankings", "Mean Average Precision", "map"), ("rankings", "R-Precision", "rprec"), ("rankings", "r_precision", "rprec"),
    ("captions", "SPICE", "spice"), ("captions", "BLEU", "bleu@4"), ("captions", "BLEU-4", "bleu@4"),
    ("captions", "ROUGE", "rouge_l"), ("captions", "CIDEr", "cider"), ("captions", "object F1", "spice_object"),
    ("captions", "Attribute-F1", "spice_attribute"), ("captions", "relation_f1", "spice_relation"),
    ("captions", "color F1", "spice_color"), ("captions", "count F1", "spice_count"), ("captions", "size F1", "spice_size"),
    ("captions", "SPICE precision", "spice(value=precision)"), ("captions", "SPICE weighted", "spice_weighted"),
    # Document 5, a detector's losses and its evaluation.
    ("losses", "Focal Loss", "focal"), ("losses", "Smooth L1 Loss", "smooth_l1"), ("losses", "Smooth-L1", "smooth_l1"),
    ("losses", "Loss", "detection"), ("boxes", "IoU", "mean_iou"), ("boxes", "Precision", "precision"),
    ("boxes", "Recall", "recall"), ("boxes", "F1 score", "f1"), ("boxes", "True Positive Rate (TPR)", "recall"),
    ("boxes", "TPR", "recall"), ("boxes", "False Positive Rate (FPR)", "fpr_image"), ("boxes", "FPR", "fpr_image"),
    ("boxes", "Mean Average Precision (mAP)", "map"),
]  # fmt: skip
OF_BOXES = [
    (task, spelling, spec)
    for task in ("masks", "keypoints", "oriented")
    for of, spelling, spec in DOCUMENTS
    if of == "boxes" and not (task == "keypoints" and spelling == "IoU")
]


@pytest.mark.parametrize(("task", "spelling", "spec"), DOCUMENTS + OF_BOXES)
def test_every_spelling_of_the_documents_is_read(task: str, spelling: str, spec: str) -> None:
    for text in (spelling, spelling.upper() if "(" not in spelling else spelling, f" {spelling} "):
        assert str(catalogue.parse(text, task)) == spec


@pytest.mark.parametrize(
    ("task", "spelling", "meanings"),
    [
        ("sequences", "MAE", ["mae_overall", "mae_initial", "mae_consumed", "mae_kcal"]),
        ("sequences", "Percentage Mean Absolute Error (PMAE)", ["pmae_overall", "pmae_initial", "pmae_consumed"]),
        ("sequences", "Consumed Weight Error", ["mae_consumed", "pmae_consumed"]),
        ("sequences", "Overall Caloric Error", ["mae_kcal", "pmae_kcal"]),
    ],
)
def test_an_ambiguous_name_is_refused_with_its_meanings(task: str, spelling: str, meanings: list[str]) -> None:
    with pytest.raises(InputError, match=r"can mean .* in task 'sequences'\. Write one of these names") as refused:
        catalogue.parse(spelling, task)
    assert all(spec in str(refused.value) for spec in meanings)


@pytest.mark.parametrize(
    ("task", "name", "said"),
    [
        ("boxes", "r_precision", "'rprec' is a metric of task 'rankings'."),
        ("labels", "R-Precision", "'rprec' is a metric of task 'rankings'."),
        ("sequences", "wmae", "'wmae_total' is a metric of task 'weights'."),
        ("boxes", "Weighted MAE", "'wmae_total' is a metric of task 'weights'."),
        ("boxes", "MOTA", "'mota' is a metric of task 'tracking'."),
        ("boxes", "PQ", "'pq' is a metric of task 'panoptic'."),
        ("weights", "mea", "Did you mean 'mae'?"),
        ("boxes", "presicion", "Did you mean 'precision'?"),
        ("boxes", "meanaverageprecison", "Did you mean 'map'?"),
        ("boxes", "acuracy", "Did you mean 'accuracy' of task 'labels'?"),
    ],
)
def test_a_suggestion_is_by_meaning_before_letters(task: str, name: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        catalogue.parse(name, task)
    assert str(refused.value) == f"task '{task}' has no metric '{name}'. {said}"


def test_a_name_of_nothing_lists_what_there_is() -> None:
    with pytest.raises(InputError, match=r"no metric 'xyzzy'\. Known: bias, heaping, mae, "):
        catalogue.parse("xyzzy", "weights")


def test_no_two_metrics_of_a_task_share_a_name_and_no_alias_hides_one() -> None:
    for task in catalogue.built_in().values():
        names = [fold_name(cls.name) for cls in task.metrics]
        assert len(set(names)) == len(names)
        for cls in task.metrics:
            assert catalogue.meanings(cls.name.upper().replace("_", " "), task) == (cls.name,)
        for words in task.spellings:
            assert fold_name(words) not in names or "@" in words, (task.name, words)


def test_a_report_has_the_canonical_spec_and_is_asked_in_any_spelling() -> None:
    data = {"dish": ["a", "b"], "item": [1, 2], "weight": [100.0, 200.0], "prediction": [110.0, 180.0]}
    report = sy.evaluate("weights", data, metrics=["MAPE", "Weighted MAE", "mape"], confidence=None)
    assert list(report.scores) == ["mape", "wmae_total"]
    assert list(report.request.metrics or ()) == ["mape", "wmae_total"]
    assert report["MAPE"].value == report["Mean Absolute Percentage Error"].value == pytest.approx(10)
    assert report["wmae"].value == pytest.approx((10 + 20) / 2)


TASKS = {
    "boxes": ["detection", "Object Detection", "object_detection", "BOXES", "bbox"],
    "labels": ["classification", "Image-Classification"],
    "weights": ["regression", "Weights"],
    "rankings": ["retrieval", "ranking"],
    "captions": ["captioning", "Image Captioning"],
    "answers": ["vqa", "VQA", "ocr"],
    "tracking": ["mot", "MOT"],
    "segmentation": ["semantic", "semantic segmentation"],
    "masks": ["instance", "instance-segmentation"],
    "keypoints": ["pose"],
    "oriented": ["obb"],
    "boxes3d": ["3d", "boxes_3d", "3D detection"],
    "panoptic": ["panoptic_segmentation"],
    "volumes": ["medical"],
    "nutrients": ["nutrition", "Calories"],
}


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, names in TASKS.items() for name in names])
def test_a_task_is_found_by_what_people_call_it(task: str, name: str) -> None:
    assert catalogue.find_task(name).name == task
    assert sy.metrics(name) == sy.metrics(task)


def test_synonyms_are_of_one_task_each_and_hide_none() -> None:
    words = [fold_name(word) for synonyms in catalogue.SYNONYMS.values() for word in synonyms]
    assert len(set(words)) == len(words)
    assert not set(words) & set(catalogue.MODULES)
    assert set(catalogue.SYNONYMS) == set(catalogue.MODULES)


@pytest.mark.parametrize(
    ("name", "task"), [("bxoes", "boxes"), ("detektion", "boxes"), ("segmentaton", "segmentation")]
)
def test_a_mistyped_task_is_suggested(name: str, task: str) -> None:
    with pytest.raises(InputError, match=rf"no task '{name}'\. Did you mean '{task}'\?"):
        catalogue.find_task(name)


@pytest.mark.parametrize("rule", ["MAPE > 100", "Weighted MAE > 100", "wmae > 100", "Mean Absolute Error > 100"])
def test_a_rule_of_a_gate_names_its_metric_in_any_spelling(rule: str) -> None:
    data = {"dish": ["a", "b"], "item": [1, 2], "weight": [100.0, 200.0], "prediction": [110.0, 180.0]}
    report = sy.evaluate("weights", data, metrics=["mae", "mape", "wmae_total"], confidence=None)
    assert sy.gate(report, rule).outcome == "pass"


def test_a_rule_may_name_a_threshold_by_its_key() -> None:
    assert parse_rule("mAP@IoU=0.5 < 0.3").metric == "mAP@IoU=0.5"
    assert parse_rule("mAP@0.5:0.95 < baseline, p < 0.05").metric == "mAP@0.5:0.95"
    with pytest.raises(InputError, match="is expected"):
        parse_rule("map = 0.5")


@pytest.mark.parametrize(
    ("task", "spec", "printed"),
    [
        ("answers", "wer(part=s)", "wer_s"), ("answers", "WER(part=d, unicode=nfc)", "wer_d(unicode=nfc)"),
        ("answers", "cer(part=i)", "cer_i"), ("answers", "wer_s", "wer_s"), ("captions", "spice(category=color)", "spice_color"),
    ],
)  # fmt: skip
def test_a_member_of_a_family_is_read_by_its_setting_and_printed_by_its_name(
    task: str, spec: str, printed: str
) -> None:
    metric = catalogue.parse(spec, task)
    assert str(metric) == printed
    assert pickle.loads(pickle.dumps(metric)) == metric == catalogue.parse(printed, task)


def test_a_setting_of_a_family_has_few_values() -> None:
    with pytest.raises(InvalidSpec) as raised:
        catalogue.parse("wer(part=x)", "answers")
    assert raised.value.remedy == "Choose one of: s, d, i."
