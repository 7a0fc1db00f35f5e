"""`compute_metrics` for the Trainer of Hugging Face: by hand, and in a Trainer with tiny models (slow)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from support.lazy import lazy
from support.refusal import refuses

from steelyard.integrations.transformers import image_classification, object_detection, semantic_segmentation

torch, transformers = lazy("torch"), lazy("transformers")


def handed(predictions: Any, labels: Any) -> Any:
    """What a Trainer hands over: an `EvalPrediction`."""
    return SimpleNamespace(predictions=predictions, label_ids=labels)


LOGITS = np.array([[2.0, 1, 0], [0, 3, 0], [1, 0, 0.5], [0, 0, 1]], dtype=np.float32)
CLASSES = np.array([0, 1, 2, 2])


def test_classification() -> None:
    compute = image_classification(["accuracy", "macro(f1)", "log_loss"], labels={0: "a", 1: "b", 2: "c"})
    values = compute(handed(LOGITS, CLASSES))
    assert values["accuracy"] == 0.75
    assert values["macro(f1)"] == pytest.approx(sklearn_metrics.f1_score(CLASSES, LOGITS.argmax(1), average="macro"))
    powers = np.exp(LOGITS.astype(float))
    expected = sklearn_metrics.log_loss(CLASSES, powers / powers.sum(axis=1, keepdims=True))
    assert values["log_loss"] == pytest.approx(expected)
    assert compute.report is not None
    assert compute.report["accuracy"].units == 4
    hidden = (LOGITS, np.zeros((4, 2)))  # a model that returns hidden states too
    assert image_classification("accuracy")(handed(hidden, CLASSES)) == {"accuracy": 0.75}
    with_ends = image_classification("accuracy", intervals=True, draws=100)(handed(LOGITS, CLASSES))
    assert with_ends["accuracy_low"] < 0.75 < with_ends["accuracy_high"]


def test_batches_of_a_trainer_are_joined() -> None:
    compute = image_classification("accuracy")
    assert compute(handed(LOGITS[:3], CLASSES[:3]), compute_result=False) == {}
    assert compute(handed(LOGITS[3:], CLASSES[3:]), compute_result=True) == {"accuracy": 0.75}
    assert compute(handed(LOGITS[:2], CLASSES[:2])) == {"accuracy": 1.0}  # the next evaluation begins with nothing


def test_classes_that_do_not_fit() -> None:
    with refuses("E-shape-mismatch", "4 × 3", "2"):
        image_classification()(handed(LOGITS, CLASSES[:2]))
    with refuses("E-shape-mismatch", "2", "3"):
        image_classification(labels=["a", "b"])(handed(LOGITS, CLASSES))
    with refuses("E-invalid-value", "7", "3"):
        image_classification()(handed(LOGITS, CLASSES + 5))


def test_batches_that_are_not_joined() -> None:
    """With `eval_do_concat_batches=False` the Trainer hands over lists; 3 of 4 rows are right, 2 of 2 in the first."""
    parts = [LOGITS[:2], LOGITS[2:]], [CLASSES[:2], CLASSES[2:]]
    assert image_classification("accuracy")(handed(*parts)) == {"accuracy": 0.75}
    hidden = [(part, np.zeros((2, 5))) for part in parts[0]]
    assert image_classification("accuracy")(handed(hidden, parts[1])) == {"accuracy": 0.75}
    with refuses("E-empty-input"):
        image_classification("accuracy")(handed([], []))


def test_classes_that_share_a_name() -> None:
    """ImageNet has two classes "crane": they stay two."""
    own = image_classification(["accuracy", "log_loss"], labels=["crane", "crane", "cup"])(handed(LOGITS, CLASSES))
    powers = np.exp(LOGITS.astype(float))
    expected = sklearn_metrics.log_loss(CLASSES, powers / powers.sum(axis=1, keepdims=True))
    assert own == {"accuracy": 0.75, "log_loss": pytest.approx(expected)}
    maps, truth = np.array([[[0, 1, 2, 2]]]), np.array([[[0, 1, 2, 1]]])
    values = semantic_segmentation("miou", labels=["crane", "crane", "cup"])(handed(maps, truth))
    assert values["miou"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    with refuses("E-missing-key", "0"):
        image_classification(labels={1: "a", 2: "b", 3: "c"})


FAR = 20.0
# Two images of 200 × 100 and 50 × 50; two queries each; class 0, class 1 and "no object".
OUTPUT_LOGITS = np.array([[[FAR, 0, 0], [0, 0, FAR]], [[0, FAR, 0], [0, 0, FAR]]])
OUTPUT_BOXES = np.array([[[0.25, 0.5, 0.1, 0.2], [0, 0, 0, 0]], [[0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0]]])
TARGETS = [
    {"class_labels": np.array([0]), "boxes": np.array([[0.25, 0.5, 0.1, 0.2]]), "orig_size": np.array([100, 200])},
    {
        "class_labels": np.array([0, 1]),
        "boxes": np.array([[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.5, 0.25]]),
        "orig_size": np.array([50, 50]),
    },
]


def test_detection() -> None:
    """In image 2 the box of class 1 is twice as high as the true one, and class 0 is missed."""
    outputs = ({"loss_ce": 1.0}, OUTPUT_LOGITS, OUTPUT_BOXES, np.zeros((2, 3, 8)))
    compute = object_detection(["recall(iou=0.5)", "mean_iou(iou=0.5)"], threshold=0.5, labels=["cup", "fork"])
    with pytest.warns(UserWarning, match="per_device_eval_batch_size"):  # 2 images, and at most 2 boxes in each
        values = compute(handed([outputs], [TARGETS]))
    assert values["recall"] == pytest.approx(2 / 3)
    assert values["mean_iou"] == pytest.approx(0.75)  # of 1 and 1/2
    assert compute.report is not None
    assert compute.report["recall"].units == 2
    parts = [[part[i : i + 1] if isinstance(part, np.ndarray) else part for part in outputs] for i in range(2)]
    batched = object_detection("recall", threshold=0.5)
    assert batched(handed(parts[0], TARGETS[:1]), compute_result=False) == {}
    assert batched(handed(parts[1], TARGETS[1:]), compute_result=True)["recall"] == pytest.approx(2 / 3)


@pytest.mark.filterwarnings("ignore:the labels of the last batch")
def test_crowds_and_outputs_by_name() -> None:
    """Of the three true boxes one is missed; where it is a crowd, it does not count."""
    outputs = {"logits": OUTPUT_LOGITS, "pred_boxes": OUTPUT_BOXES}
    compute = object_detection("recall(iou=0.5)", threshold=0.5, labels={0: "cup", 1: "cup"})
    assert compute(handed([outputs], [TARGETS]))["recall"] == pytest.approx(2 / 3)
    with_crowd = [{**TARGETS[0], "iscrowd": np.array([0])}, {**TARGETS[1], "iscrowd": np.array([1, 0])}]
    assert compute(handed([outputs], [with_crowd]))["recall"] == 1.0


@pytest.mark.filterwarnings("ignore:the labels of the last batch")
def test_detections_that_do_not_fit() -> None:
    with refuses("E-invalid-value", "1"):
        object_detection(labels=["cup"])(handed([(OUTPUT_LOGITS, OUTPUT_BOXES)], [TARGETS]))
    with refuses("E-shape-mismatch", "0", "2"):
        object_detection(post_process=lambda *_, **__: [])(handed([(OUTPUT_LOGITS, OUTPUT_BOXES)], [TARGETS]))


def test_labels_that_a_trainer_cut() -> None:
    """Of a last batch of one image, accelerate leaves one number of each label."""
    cut = [{name: value[:1] for name, value in TARGETS[1].items()}]
    parts = [(OUTPUT_LOGITS, OUTPUT_BOXES), (OUTPUT_LOGITS[:1], OUTPUT_BOXES[:1])]
    with refuses("E-shape-mismatch", "per_device_eval_batch_size"):
        object_detection()(handed(parts, [TARGETS, cut]))


@pytest.mark.filterwarnings("ignore:the labels of the last batch")
def test_detection_with_a_post_processing_of_an_image_processor() -> None:
    def post_process(outputs: Any, threshold: float, target_sizes: Any) -> list[dict[str, Any]]:
        assert isinstance(outputs.logits, torch.Tensor)
        assert target_sizes.tolist() == [[100, 200], [50, 50]]
        box = torch.tensor([[40.0, 40, 60, 60]])
        return [{"scores": torch.tensor([0.9]), "labels": torch.tensor([0]), "boxes": box}] * 2

    values = object_detection("recall", post_process=post_process)(handed([(OUTPUT_LOGITS, OUTPUT_BOXES)], [TARGETS]))
    assert values["recall"] == pytest.approx(1 / 3)


@pytest.mark.filterwarnings("ignore:the labels of the last batch")
def test_outputs_that_are_not_detections() -> None:
    with refuses("E-invalid-value", "eval_do_concat_batches=False"):
        object_detection()(handed((OUTPUT_LOGITS, OUTPUT_BOXES), np.zeros(3)))
    with refuses("E-missing-data"):
        object_detection()(handed([(OUTPUT_LOGITS,)], [TARGETS]))
    with refuses("E-missing-key", "'orig_size'"):
        object_detection()(handed([(OUTPUT_LOGITS, OUTPUT_BOXES)], [[{"boxes": [], "class_labels": []}] * 2]))


def test_segmentation() -> None:
    """Logits of 1 × 2 grow to 2 × 4 pixels bilinearly: the two columns on the left are class 0."""
    logits = np.array([[[[FAR, 0.0]], [[0.0, FAR]]]], dtype=np.float32)
    truth = np.array([[[0, 0, 1, 1], [0, 1, 1, 255]]])
    values = semantic_segmentation(["miou", "accuracy"], labels={0: "plate", 1: "food"})(handed(logits, truth))
    assert values["miou"] == pytest.approx((3 / 4 + 3 / 4) / 2)
    assert values["accuracy"] == pytest.approx(6 / 7)
    maps = np.array([[[0, 0, 1, 1], [0, 0, 1, 1]]])  # as preprocess_logits_for_metrics gives them
    assert semantic_segmentation("miou")(handed(maps, truth))["miou"] == pytest.approx(0.75)
    several = semantic_segmentation("miou")(handed([maps, maps[:, :, :2]], [truth, truth[:, :, :2]]))
    assert several["miou"] == pytest.approx((6 / 8 + 3 / 5) / 2)  # plate: 6 hits, 2 too many; food: 3 of 5
    with refuses("E-shape-mismatch", "1 × 2"):
        semantic_segmentation()(handed(maps[0, :1, :2], truth))


def trained(folder: Path, model: Any, rows: list[Any], compute: Any, **more: Any) -> dict[str, float]:
    """What a Trainer reports of a model on rows."""
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_eval_batch_size=2,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        **more,
    )

    def collate(items: list[Any]) -> dict[str, Any]:
        labels = [item["labels"] for item in items]
        pixels = torch.stack([item["pixel_values"] for item in items])
        return {"pixel_values": pixels, "labels": labels if isinstance(labels[0], dict) else torch.stack(labels)}

    trainer = transformers.Trainer(model, arguments, eval_dataset=rows, compute_metrics=compute, data_collator=collate)
    values: dict[str, float] = trainer.evaluate()
    return values


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_batch", [False, True])
def test_a_trainer_with_each_kind_of_model(by_batch: bool, tmp_path: Path) -> None:
    """Expected values are from the models' own outputs, called without the Trainer."""
    torch.manual_seed(0)
    pixels = [torch.rand(3, 32, 32) for _ in range(5)]
    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "hidden_size": 16}
    config = transformers.ViTConfig(image_size=32, patch_size=8, num_labels=3, **small)
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        best = [int(model(p[None]).logits.argmax()) for p in pixels]
    wrong = [best[0], best[1], best[2], (best[3] + 1) % 3, (best[4] + 1) % 3]
    rows = [{"pixel_values": p, "labels": torch.tensor(k)} for p, k in zip(pixels, wrong, strict=True)]
    values = trained(tmp_path, model, rows, image_classification("accuracy"), batch_eval_metrics=by_batch)
    assert values["eval_accuracy"] == pytest.approx(0.6)

    config = transformers.SegformerConfig(
        num_encoder_blocks=1,
        depths=[1],
        sr_ratios=[1],
        hidden_sizes=[8],
        patch_sizes=[7],
        strides=[4],
        num_attention_heads=[1],
        mlp_ratios=[1],
        decoder_hidden_size=8,
        num_labels=3,
    )
    model = transformers.SegformerForSemanticSegmentation(config).eval()
    with torch.no_grad():
        logits = torch.cat([model(p[None]).logits for p in pixels])
    maps = torch.nn.functional.interpolate(logits, (32, 32), mode="bilinear").argmax(1)
    maps[0, :16] = (maps[0, :16] + 1) % 3  # half of one image of five is wrong
    rows = [{"pixel_values": p, "labels": m} for p, m in zip(pixels, maps, strict=True)]
    compute = semantic_segmentation("accuracy")
    assert trained(tmp_path, model, rows, compute, batch_eval_metrics=by_batch)["eval_accuracy"] == pytest.approx(0.9)

    config = transformers.YolosConfig(image_size=[32, 32], patch_size=8, num_detection_tokens=5, num_labels=2, **small)
    model = transformers.YolosForObjectDetection(config).eval()
    rows = []
    for number, p in enumerate(pixels[:4]):  # a multiple of the batch size
        with torch.no_grad():
            output = model(p[None])
        labels = output.logits[0, :, :-1].argmax(-1)
        chosen = slice(0, 5) if number else slice(0, 3)  # of image 0, two of five are wrong
        target = {
            "class_labels": labels[chosen],
            "boxes": output.pred_boxes[0, chosen],
            "orig_size": torch.tensor([40, 60]),
            "image_id": torch.tensor([number]),
        }
        rows.append({"pixel_values": p, "labels": target})
    compute = object_detection(["precision(score=0)", "recall(score=0)"])
    more = {"eval_do_concat_batches": False, "batch_eval_metrics": by_batch}
    values = trained(tmp_path, model, rows, compute, **more)
    assert compute.report is not None
    assert compute.report["recall(score=0)"].units == 4
    assert values["eval_recall(score=0)"] == pytest.approx(1.0)
    assert values["eval_precision(score=0)"] == pytest.approx(18 / 20)
