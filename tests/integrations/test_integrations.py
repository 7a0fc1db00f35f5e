"""Other tools, each the real package: its own means give the numbers that ours must equal."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

os.environ.setdefault("KERAS_BACKEND", "torch")


from steelyard.integrations import fiftyone, ultralytics
from steelyard.integrations.evaluate import with_intervals
from steelyard.integrations.sklearn import scorer
from steelyard.integrations.ultralytics import Evaluation

of_lightning = lazy("steelyard.integrations.lightning")
of_torchmetrics = lazy("steelyard.integrations.torchmetrics")
lightning = lazy("lightning")
torch = lazy("torch")
torchmetrics = lazy("torchmetrics")
linear_model = lazy("sklearn.linear_model")
sklearn_metrics = lazy("sklearn.metrics")
model_selection = lazy("sklearn.model_selection")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (X @ [1.0, -1.0, 0.5] + RNG.normal(size=90) > 0).astype(int) + (X[:, 0] > 1)


def test_a_scorer_of_scikit_learn() -> None:
    names = np.array(["cat", "dog", "bird"])[Y]
    model = linear_model.LogisticRegression()
    theirs = model_selection.cross_val_score(
        model, X, names, scoring=sklearn_metrics.make_scorer(sklearn_metrics.f1_score, average="macro")
    )
    assert model_selection.cross_val_score(model, X, names, scoring=scorer("macro(f1)")) == pytest.approx(
        theirs, rel=1e-12
    )
    theirs = model_selection.cross_val_score(model, X, names, scoring="neg_log_loss")
    ours = model_selection.cross_val_score(model, X, names, scoring=scorer("log_loss", response="predict_proba"))
    assert ours == pytest.approx(theirs, rel=1e-9)
    search = model_selection.GridSearchCV(
        model, {"C": [0.01, 1.0]}, scoring=pickle.loads(pickle.dumps(scorer("accuracy")))
    )
    reference = model_selection.GridSearchCV(model, {"C": [0.01, 1.0]}, scoring="accuracy")
    assert search.fit(X, Y).best_score_ == pytest.approx(reference.fit(X, Y).best_score_)
    fitted = linear_model.LogisticRegression().fit(X, Y > 0)
    assert scorer("roc_auc", response="decision_function")(fitted, X, Y > 0) == pytest.approx(
        sklearn_metrics.roc_auc_score(Y > 0, fitted.decision_function(X))
    )
    with refuses("E-invalid-setting", "'prdict'"):
        scorer("accuracy", response="prdict")
    with refuses("E-unsupported", "better"):
        scorer("bias", "weights")


def test_metrics_of_torchmetrics() -> None:
    probabilities = torch.softmax(torch.as_tensor(RNG.normal(size=(90, 3))), 1)
    truth = torch.as_tensor(Y)
    theirs = torchmetrics.MetricCollection(
        {
            "accuracy": torchmetrics.classification.MulticlassAccuracy(3, average="micro"),
            "macro(f1)": torchmetrics.classification.MulticlassF1Score(3, average="macro"),
        }
    )
    ours = of_torchmetrics.Scores("labels", ["accuracy", "macro(f1)"])
    one = of_torchmetrics.Score("labels", "accuracy")
    for start in range(0, 90, 32):
        part = slice(start, start + 32)
        batch = theirs(probabilities[part], truth[part])
        assert one(probabilities[part], truth[part]) == pytest.approx(float(batch["accuracy"]), rel=1e-6)
        ours.update(probabilities[part], truth[part])
    expected = theirs.compute()
    computed = ours.compute()
    assert set(computed) == set(expected)
    for name, value in computed.items():
        assert float(value) == pytest.approx(float(expected[name]), rel=1e-6)
    assert float(one.compute()) == pytest.approx(float(expected["accuracy"]), rel=1e-6)
    assert one.higher_is_better is True
    report = ours.report(draws=100)
    assert report["accuracy"].value == sklearn_metrics.accuracy_score(Y, probabilities.argmax(1))
    assert report["accuracy"].interval is not None
    copied = pickle.loads(pickle.dumps(ours))
    assert float(copied.compute()["accuracy"]) == float(computed["accuracy"])
    ours.reset()
    ours.update(torch.tensor([0, 1]), torch.tensor([0, 0]))
    assert float(ours.compute()["accuracy"]) == 0.5
    both = torchmetrics.MetricCollection(
        {"a": of_torchmetrics.Score("labels", "accuracy"), "e": of_torchmetrics.Score("labels", "macro(f1)")}
    )
    both.update(torch.tensor([0, 1]), torch.tensor([0, 0]))
    assert float(both.compute()["a"]) == 0.5
    with refuses("E-unsupported", "arrays"):
        of_torchmetrics.Score("boxes", "map").update(torch.zeros(3, 4), torch.zeros(3, 4))


def test_two_ranks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `sync` brings together is what merging does: a unit that came to both ranks counts once where it has an id."""
    named, unnamed = [], []
    for rank, ids in ((0, [0, 1, 2]), (1, [2, 3, 4, 5])):
        monkeypatch.setattr("steelyard.integrations.torchmetrics._is_distributed", lambda: True)
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        units = torch.tensor(ids)
        for one, given in (
            (of_torchmetrics.Score("labels", "accuracy"), units),
            (of_torchmetrics.Score("labels", "accuracy"), None),
        ):
            one.update((units < 3).int(), torch.ones_like(units), given)
            (unnamed if given is None else named).append(one)
    named[0].merge_state(named[1])
    unnamed[0].merge_state(unnamed[1])
    assert float(named[0].compute()) == 3 / 6
    assert float(unnamed[0].compute()) == pytest.approx(4 / 7)


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*does not have many workers")
def test_a_callback_of_lightning(tmp_path: Path) -> None:
    class Net(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def validation_step(self, batch: Any, _: int) -> dict[str, Any]:
            ids, x, y = batch
            return {"ids": ids, "truth": y, "predictions": self.layer(x).softmax(1)}

        test_step = validation_step

    data = torch.utils.data.TensorDataset(torch.arange(90), torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    callback = of_lightning.Evaluation("labels", ["accuracy"], intervals=True, draws=100)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, callbacks=[callback],
        default_root_dir=tmp_path, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    model = Net()
    (logged,) = trainer.validate(model, loader, verbose=False)
    predicted = model.layer(torch.as_tensor(X, dtype=torch.float32)).argmax(1)
    assert logged["val/accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(Y, predicted), rel=1e-6)
    assert logged["val/accuracy_low"] < logged["val/accuracy"] < logged["val/accuracy_high"]
    assert callback.report is not None
    assert callback.report["accuracy"].units == 90
    (tested,) = trainer.test(model, loader, verbose=False)
    assert tested["test/accuracy"] == logged["val/accuracy"]
    with refuses("E-missing-key", "returns"):
        callback.on_validation_batch_end(trainer, model, {"loss": 1}, None, 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_callback_of_keras() -> None:
    import keras

    from steelyard.integrations.keras import Evaluation

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy")
    ours = Evaluation("labels", X, Y, ["accuracy", "log_loss"], intervals=True, draws=100)
    stop = keras.callbacks.EarlyStopping("val_accuracy", mode="max", patience=0, min_delta=1.0)
    history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[ours, stop])
    given = model.predict(X, verbose=0)
    assert len(history.history["val_accuracy"]) == len(ours.reports) == 2  # stopped: it saw the number
    assert history.history["val_accuracy"][-1] == sklearn_metrics.accuracy_score(Y, given.argmax(1))
    assert ours.reports[-1]["log_loss"].value == pytest.approx(
        sklearn_metrics.log_loss(Y, given.astype(float) / given.astype(float).sum(1, keepdims=True)), rel=1e-5
    )
    assert history.history["val_accuracy_low"][-1] < history.history["val_accuracy"][-1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_hugging_face_evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HOME", "HF_MODULES_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import evaluate

    from steelyard.integrations.evaluate import MODULE, with_intervals

    truth, given = ["cat", "dog", "cat", "dog", "cat"], ["cat", "dog", "dog", "dog", "cat"]
    module = evaluate.load(MODULE, "labels", cache_dir=str(tmp_path))
    values = module.compute(predictions=given, references=truth, metrics=["accuracy", "macro(f1)"], draws=100)
    assert values["accuracy"] == 0.8
    assert values["macro(f1)"] == pytest.approx(sklearn_metrics.f1_score(truth, given, average="macro"))
    assert values["accuracy_low"] < 0.8 < values["accuracy_high"]
    for i in range(5):
        module.add(prediction=[0.0, 1.0, 1.0, 0.25, 0.0][i], reference=[0, 1, 0, 1, 0][i])
    assert module.compute(metrics="accuracy", confidence=None)["accuracy"] == 0.6

    class Accuracy(evaluate.Metric):
        def _info(self) -> Any:
            import datasets

            kind = datasets.Value("int32")
            return evaluate.MetricInfo(
                "share of right ones", "", datasets.Features({"predictions": kind, "references": kind})
            )

        def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
            return {"accuracy": float(np.mean(np.array(predictions) == np.array(references)))}

    wrong = np.where(np.arange(60) % 4 == 0, 1 - (Y[:60] > 0), Y[:60] > 0).astype(int)
    scores = with_intervals(
        Accuracy(cache_dir=str(tmp_path)), wrong, (Y[:60] > 0).astype(int), draws=100, seed=2, bounds=(0.0, 1.0)
    )
    low, high = scores["accuracy"].interval or (0, 0)
    assert scores["accuracy"].value == 0.75
    # A share of 0.75 of 60 has the standard error 0.0559, on the scale of its odds 0.298; Student's t of 59 is 2.0.
    assert low == pytest.approx(0.623, abs=0.02)
    assert high == pytest.approx(0.845, abs=0.02)
    with refuses("E-shape-mismatch", "60", "59", "references"):
        with_intervals(None, wrong, wrong[1:])


COCO = {
    "images": [{"id": 7, "file_name": "val/a.jpg", "width": 100, "height": 50}, {"id": 9, "file_name": "b.jpg", "width": 100, "height": 50}],
    "categories": [{"id": 3, "name": "plate"}, {"id": 5, "name": "cup"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0},
        {"id": 2, "image_id": 7, "category_id": 5, "bbox": [50, 10, 20, 20], "area": 400, "iscrowd": 0},
    ],
}  # fmt: skip


def test_a_callback_of_ultralytics(tmp_path: Path) -> None:
    """The rows are those of `DetectionValidator.pred_to_json`: class ids count from 1, an image is its file's stem."""
    (tmp_path / "t.json").write_text(json.dumps(COCO))
    row = {"image_id": "a", "file_name": "a.jpg", "category_id": 1, "bbox": [10.0, 10.0, 20.0, 20.0], "score": 0.9}
    validator = SimpleNamespace(jdict=[row], names={0: "plate", 1: "cup"}, is_coco=False)
    callback = ultralytics.Evaluation(tmp_path / "t.json", ["map50"], confidence=None)
    callback(validator)
    assert callback.report is not None
    assert callback.report["map50"].value == pytest.approx(0.5)  # one class of two is detected
    for change, message in (
        ({"file_name": "z.jpg"}, ("E-unmatched", "'z'")),
        ({"category_id": 2}, ("E-unmatched", "'bowl'", "'plate'", "'cup'")),
    ):
        names = {0: "plate", 1: "bowl"}
        with refuses(*message):
            callback(SimpleNamespace(jdict=[row | change], names=names))
    with refuses("E-missing-data", "save_json=True"):
        callback(SimpleNamespace(jdict=[], names={0: "plate"}))


def test_a_callback_of_ultralytics_with_its_data_yaml(tmp_path: Path) -> None:
    """Without a truth, the data.yaml of the validation is read; ids of images are numbers where file names are."""
    for folder, files in (("labels", {"a.txt": "0 0.2 0.4 0.2 0.4\n", "12.txt": "1 0.5 0.5 0.2 0.2\n"}),):
        (tmp_path / "val" / folder).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / "val" / folder / name).write_text(text)
    (tmp_path / "val" / "images").mkdir()
    (tmp_path / "val" / "labels" / "image_sizes.csv").write_text("image,width,height\na,100,50\n12,100,50\n")
    (tmp_path / "data.yaml").write_text("val: val/images\nnames:\n  0: plate\n  1: cup\n")
    row = {"image_id": "a", "file_name": "a.jpg", "category_id": 1, "bbox": [10.0, 10.0, 20.0, 20.0], "score": 0.9}
    other = {"image_id": 12, "file_name": "12.jpg", "category_id": 1, "bbox": [40.0, 20.0, 20.0, 10.0], "score": 0.8}
    yaml = {"yaml_file": str(tmp_path / "data.yaml"), "names": {0: "plate", 1: "cup"}}
    callback = ultralytics.Evaluation(metrics=["recall", "map50"], confidence=None)
    callback(SimpleNamespace(jdict=[row, other], names=yaml["names"], data=yaml))
    assert callback.report is not None
    assert callback.report["recall"].value == 0.5  # the cup is called a plate
    assert callback.report["map50"].value == pytest.approx(0.5)
    with refuses("E-missing-data", "COCO"):
        callback(SimpleNamespace(jdict=[row], names=yaml["names"], data=yaml, is_coco=True))
    with refuses("E-missing-data", "data.yaml"):
        callback(SimpleNamespace(jdict=[row], names=yaml["names"]))


class Sample(dict[str, Any]):
    """What FiftyOne documents of a sample: fields by name, an id, metadata, `save`."""

    def __init__(self, name: str, size: Any = (100, 50), **fields: Any) -> None:
        super().__init__(fields)
        self.id, self.saved = name, 0
        self.metadata = SimpleNamespace(width=size[0], height=size[1]) if size else None

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(self)

    def save(self) -> None:
        self.saved += 1


def detection(label: str, box: list[float], confidence: float | None = None) -> Any:
    return SimpleNamespace(label=label, bounding_box=box, confidence=confidence)


def test_fiftyone() -> None:
    plate, cup = [0.1, 0.2, 0.2, 0.4], [0.5, 0.2, 0.2, 0.4]
    samples = [
        Sample("a", ground_truth=SimpleNamespace(detections=[detection("plate", plate), detection("cup", cup)]),
               predictions=SimpleNamespace(detections=[detection("plate", plate, 0.9)])),
        Sample("b", ground_truth=None, predictions=SimpleNamespace(detections=[detection("plate", cup, 0.3)])),
    ]  # fmt: skip
    report = fiftyone.evaluate(samples, metrics=["map50", "map"], confidence=None)
    assert report["map50"].value == pytest.approx(0.5)
    fiftyone.write_back(samples, report)
    assert samples[0]["steelyard_map50"] == pytest.approx(0.5)
    assert samples[1]["steelyard_map50"] is None
    assert [one.saved for one in samples] == [1, 1]
    with refuses("E-unknown-name", "'predicted'", "'predictions'"):
        fiftyone.evaluate(samples, predictions="predicted")
    with refuses("E-missing-data", "compute_metadata"):
        fiftyone.evaluate([Sample("c", None, ground_truth=None, predictions=None)])
    with refuses("E-missing-key", "confidence"):
        fiftyone.evaluate([Sample("c", ground_truth=None, predictions=samples[0]["ground_truth"])])
    with refuses("E-unknown-name", "'d'"):
        fiftyone.write_back([Sample("d")], report)


def test_a_method_of_fiftyone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of FiftyOne 1.22 that the method builds on, as its documentation of custom methods describes them."""

    class Config:
        def __init__(self, pred_field: str, gt_field: str, **more: Any) -> None:
            self.pred_field, self.gt_field, self.more = pred_field, gt_field, more

    class Evaluator:
        def __init__(self, config: Any) -> None:
            self.config = config

        def generate_results(self, samples: Any, matches: Any, eval_key: str | None = None) -> Any:
            return SimpleNamespace(matches=matches)

    backends: dict[str, Any] = {}
    coco = SimpleNamespace(COCOEvaluationConfig=Config, COCOEvaluation=Evaluator)
    package = SimpleNamespace(evaluation_config=SimpleNamespace(detection_backends=backends))
    for name, module in {"": package, ".utils": coco, ".utils.eval": coco, ".utils.eval.coco": coco}.items():
        monkeypatch.setitem(sys.modules, f"fiftyone{name}", module)
    monkeypatch.delitem(sys.modules, "steelyard.integrations.fiftyone_method", raising=False)
    fiftyone.register()
    module, _, name = backends["steelyard"]["config_cls"].rpartition(".")
    made = __import__(module, fromlist=[name])
    config = getattr(made, name)(
        "predictions", "ground_truth", metrics=["map50"], settings={"confidence": None}, iou=0.5
    )
    assert (config.method, config.more) == ("steelyard", {"iou": 0.5})
    plate = [0.1, 0.2, 0.2, 0.4]
    sides = [SimpleNamespace(detections=[detection("plate", plate, score)]) for score in (None, 0.9)]
    samples = [Sample("a", ground_truth=sides[0], predictions=sides[1])]
    evaluator = getattr(made, name.removesuffix("Config"))(config)  # as FiftyOne finds it
    results = evaluator.generate_results(samples, ["match"], eval_key="run")
    assert results.matches == ["match"]
    assert fiftyone.report_of(results)["map50"].value == pytest.approx(1.0)
    assert samples[0]["run_map50"] == pytest.approx(1.0)
    assert evaluator.generate_results(samples, [])._steelyard_report is not None
    with refuses("E-missing-data", "report"):
        fiftyone.report_of(SimpleNamespace())
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    with refuses("E-missing-package", "fiftyone"):
        fiftyone.register()
    monkeypatch.setitem(sys.modules, "fiftyone.utils.eval.coco", None)
    monkeypatch.delitem(sys.modules, "steelyard.integrations.fiftyone_method")
    with refuses("E-missing-package", "fiftyone"):
        __import__("steelyard.integrations.fiftyone_method")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("keras", "torchmetrics"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, f"steelyard.integrations.{name}", raising=False)
        with refuses("E-missing-package", str(name), str(name)):
            __import__(f"steelyard.integrations.{name}")


def test_metrics_of_other_libraries_are_not_merged() -> None:
    with refuses("E-unsupported", "Steelyard"):
        of_torchmetrics.Scores("labels", ["accuracy"]).merge_state({})
    with refuses("E-invalid-spec", "2"):
        of_torchmetrics._only({"a": 1, "b": 2})


def test_a_callback_takes_the_sides_of_a_function_and_logs_no_trial() -> None:
    columns = {"id": [1, 2], "label": ["a", "b"]}
    callback = of_lightning.Evaluation("labels", ["accuracy"], sides=lambda outputs, batch: (batch, outputs))
    logged: list[Any] = []
    module = SimpleNamespace(log_dict=logged.append)
    trainer = SimpleNamespace(sanity_checking=True, global_rank=0)
    callback.on_validation_batch_end(trainer, module, columns, columns, 0)
    callback.on_validation_epoch_end(trainer, module)
    assert (logged, callback.report) == ([], None)
    trainer.sanity_checking = False
    callback.on_validation_epoch_end(trainer, module)
    assert logged == [{"val/accuracy": 1.0}]


def test_label_maps_of_keras_have_their_channels_last() -> None:
    from steelyard.integrations.keras import Evaluation

    truth = np.array([[[0, 1, 1], [1, 0, 0]]])
    right = np.where(truth == 1, 0.9, 0.2)[..., np.newaxis]
    for y, given, options in (
        (truth, right, {"threshold": 0.5}),
        (truth[..., np.newaxis], np.concatenate([1 - right, right], axis=-1), {"classes": 2}),
    ):
        callback = Evaluation("segmentation", None, y, ["miou"], options=options)
        callback.set_model(SimpleNamespace(predict=lambda x, given=given, **_: given))
        callback.on_epoch_end(0)
        assert callback.reports[0]["miou"].value == 1.0


def test_one_channel_of_label_maps_in_the_shape_of_torchmetrics() -> None:
    truth = torch.tensor([[[[0, 1, 1], [1, 0, 0]]]])
    metric = of_torchmetrics.Score("segmentation", "miou", options={"threshold": 0.5})
    target = {"image": ["a"], "map": truth}
    assert float(metric({"image": ["a"], "map": torch.where(truth == 1, 0.9, 0.2)}, target)) == 1.0
    assert float(of_torchmetrics.Score("segmentation", "miou")({"image": ["a"], "map": 1 - truth}, target)) == 0.0


def test_one_column_of_keras_is_one_number_per_row() -> None:
    from steelyard.integrations.keras import Evaluation

    callback = Evaluation("weights", None, np.array([10.0, 20.0]), ["mae"])
    callback.set_model(SimpleNamespace(predict=lambda x, **_: np.array([[11.0], [18.0]])))
    callback.on_epoch_end(0)
    assert callback.reports[0]["mae"].value == 1.5
    logs: dict[str, Any] = {}
    callback.on_epoch_end(1, logs)
    assert logs == {"val_mae": 1.5}


def test_other_libraries(tmp_path: Path) -> None:
    module = SimpleNamespace(compute=lambda predictions, references: {"a": 1.0})
    with refuses("E-shape-mismatch", "2", "1"):
        with_intervals(module, [1, 2], [1])
    with refuses("E-missing-data", "1", "500", "draws"):
        with_intervals(module, [1], [1])
    with refuses("E-missing-data", "2", "9", "draws"):
        with_intervals(module, [1, 2], [1, 2], draws=9)
    with refuses("E-missing-data", "ultralytics"):
        Evaluation(tmp_path / "t.json")(SimpleNamespace(jdict=[]))
