"""Loggers, each against the real package: what was logged is read back with the package's own means."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.refusal import refuses

import steelyard as sy
from steelyard.loggers import flat, huggingface, mlflow, opentelemetry, tensorboard, wandb

WEIGHTS = Path(sy.__file__).parent / "samples" / "weights"
HOSTILE = "a: \"b\" # - {c}\n'é'"


@pytest.fixture(scope="module")
def report() -> sy.Report:
    metrics = ["mae", "within@10", "mape(zero=eps)"]
    return sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", metrics, by=["cuisine"])


def test_flat(report: sy.Report, tmp_path: Path) -> None:
    values = flat.flat(report, "test/")
    low, high = report["mae"].interval
    assert values["test/mae"] == report["mae"].value
    assert (values["test/mae_low"], values["test/mae_high"]) == (low, high)
    assert values["test/cuisine=home/within@10"] == report.slices["cuisine"]["home"]["within@10"].value
    assert len(values) == 4 * 3 * 3
    assert set(flat.flat(report, intervals=False, slices=False)) == set(report.scores)
    report.to_json(tmp_path / "r.json")
    assert flat.flat(tmp_path / "r.json", "test/") == values


def test_undefined_is_left_out() -> None:
    empty = sy.evaluate("weights", {"dish": ["a"], "weight": [0]}, {"dish": ["a"], "weight": [3]}, ["mae", "mape"])
    assert flat.flat(empty) == {"mae": 3.0}


@pytest.fixture(scope="module")
def lineup() -> sy.results.comparison.Lineup:  # type: ignore[name-defined]
    models = {"base": WEIGHTS / "model_a.csv", "ours": WEIGHTS / "model_b.csv", "oracle": WEIGHTS / "truth.csv"}
    return sy.compare("weights", WEIGHTS / "truth.csv", models, metrics=["mae"], by=["cuisine"], draws=100)


def test_comparisons_and_lineups(lineup: Any, tmp_path: Path) -> None:
    values = flat.flat(lineup, "t/")
    first = lineup.comparisons[0]
    d = first["mae"]
    assert (values["t/base/mae"], values["t/ours/mae"], values["t/oracle/mae"]) == (d.a.value, d.b.value, 0.0)
    assert (values["t/base/mae_low"], values["t/base/mae_high"]) == d.a.interval
    assert values["t/ours-base/mae"] == d.difference
    assert (values["t/ours-base/mae_low"], values["t/ours-base/mae_high"]) == d.interval
    assert values["t/ours-base/mae_p"] == d.p_adjusted
    home = first.slices["cuisine"]["home"]["mae"]
    assert values["t/ours-base/cuisine=home/mae"] == home.difference
    ranks = lineup.standings["mae"].ranks
    assert [
        (values[f"t/{name}/mae_rank_first"], values[f"t/{name}/mae_rank_last"]) for name in ("base", "ours", "oracle")
    ] == list(ranks)
    first.to_json(tmp_path / "c.json")
    alone = flat.flat(tmp_path / "c.json", intervals=False, slices=False)
    assert alone == {
        "base/mae": d.a.value,
        "ours/mae": d.b.value,
        "ours-base/mae": d.difference,
        "ours-base/mae_p": d.p_adjusted,
    }
    origin = flat.facts(lineup)
    assert origin["steelyard.predictions.ours"] == first.b.sources.predictions.digest
    assert "steelyard.predictions" not in origin
    with refuses("E-invalid-result", "c.json"):
        huggingface.eval_results(tmp_path / "c.json", "d", {"mae": "t"})
    (tmp_path / "g.json").write_text(sy.gate(tmp_path / "c.json", ["mae < 100"]).to_json())
    with refuses("E-missing-data", "g.json"):
        flat.flat(tmp_path / "g.json")


def test_opentelemetry(report: sy.Report, lineup: Any) -> None:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    text = opentelemetry.metrics_json(report, time=1.5, attributes={"run": HOSTILE})
    (one,) = json_format.Parse(text, ExportMetricsServiceRequest()).resource_metrics  # the schema of a collector
    own = {item.key: item.value.string_value for item in one.resource.attributes}
    assert (own["service.name"], own["run"], own["steelyard.truth"]) == (
        "steelyard",
        HOSTILE,
        report.sources.truth.digest,
    )
    points = {metric.name: metric.gauge.data_points[0] for metric in one.scope_metrics[0].metrics}
    assert {name: point.as_double for name, point in points.items()} == flat.flat(report, "steelyard/")
    assert {point.time_unix_nano for point in points.values()} == {1_500_000_000}
    assert "ours-base/mae_p" in opentelemetry.metrics_json(lineup, prefix="")
    nothing = sy.evaluate("weights", {"dish": ["a"], "weight": [0]}, {"dish": ["a"], "weight": [3]}, ["mape"])
    with refuses("E-missing-data", "defined"):
        opentelemetry.metrics_json(nothing)


def test_names_stay_apart() -> None:
    clean = flat.replace_characters({"a(b=1)": 1.0, "a_b_1": 2.0, "a(b=1)_low": 3.0, "()": 4.0}, mlflow.FORBIDDEN)
    assert clean == {"a_b_1": 1.0, "a_b_1-2": 2.0, "a_b_1_low": 3.0, "score": 4.0}


@pytest.mark.filterwarnings("ignore:codecs.open.. is deprecated:DeprecationWarning")  # of mlflow, on Python 3.14
def test_mlflow(report: sy.Report, lineup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    real = pytest.importorskip("mlflow")
    real.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with real.start_run() as run:
        logged = mlflow.log(report, step=3)
    assert logged["within_10"] == report["within@10"].value
    assert logged["cuisine_home/mape_zero_eps_low"] == report.slices["cuisine"]["home"]["mape(zero=eps)"].interval[0]
    predicted = real.get_run(run.info.run_id)
    assert predicted.data.metrics == pytest.approx(logged, rel=1e-12)
    assert predicted.data.tags["steelyard.truth"] == report.sources.truth.digest
    (point,) = real.MlflowClient().get_metric_history(run.info.run_id, "mae")
    assert (point.value, point.step) == (report["mae"].value, 3)
    (artifact,) = (tmp_path / "mlruns").rglob("result.json")
    assert json.loads(artifact.read_text()) == report.to_dict()
    mlflow.log(lineup, run_id=run.info.run_id, prefix="all/")
    compared = real.get_run(run.info.run_id)
    assert compared.data.metrics["all/ours-base/mae_p"] == lineup.comparisons[0]["mae"].p_adjusted
    assert compared.data.tags["steelyard.predictions.ours"] == lineup.comparisons[0].b.sources.predictions.digest
    mlflow.log(report, run_id=run.info.run_id, prefix="again/", step=4)
    assert real.get_run(run.info.run_id).data.metrics["again/mae"] == report["mae"].value


def test_wandb(report: sy.Report, lineup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WANDB_SILENT": "true", "WANDB_DIR": str(tmp_path), "WANDB_ERROR_REPORTING": "false"}.items():
        monkeypatch.setenv(name, value)
    real = pytest.importorskip("wandb")
    with refuses("E-missing-data", "wandb.init"):
        wandb.log(report)
    run = real.init(project="steelyard", mode="offline", dir=tmp_path)
    try:
        logged = wandb.log(report, step=5)
        assert dict(run.config)["steelyard.truth"] == report.sources.truth.digest
        assert wandb.log(lineup, run, step=6)["ours-base/mae"] == lineup.comparisons[0]["mae"].difference
        run.log({}, step=7)  # ends step 6
        assert {name: run.summary[name] for name in logged} == logged  # as its own process has it
    finally:
        run.finish()
        real.teardown()  # its process would outlive the test
    assert len(list(tmp_path.rglob("*.wandb"))) == 1


def test_tensorboard(report: sy.Report, lineup: Any, tmp_path: Path) -> None:
    real = pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    with real.SummaryWriter(str(tmp_path)) as writer:
        logged = tensorboard.log(report, writer, 7, prefix="test/")
        logged |= tensorboard.log(lineup, writer, 7, prefix="all/")
    (file,) = tmp_path.glob("events*")
    data, at, seen, texts = file.read_bytes(), 0, {}, []
    while at < len(data):  # length, its checksum, the event, its checksum
        size = int.from_bytes(data[at : at + 8], "little")
        event = Event.FromString(data[at + 12 : at + 12 + size])
        at += 16 + size
        for value in event.summary.value:
            if value.HasField("simple_value"):
                assert event.step == 7
                seen[value.tag] = value.simple_value
            else:
                texts.append(value.tag)
    assert len(seen) == len(logged)
    assert seen["test/mae"] == pytest.approx(report["mae"].value, rel=1e-6)
    assert seen["all/ours-base/mae_low"] == pytest.approx(logged["all/ours-base/mae_low"], rel=1e-6)
    assert texts == ["test/report/text_summary", "all/report/text_summary"]


def test_hugging_face_eval_results(report: sy.Report) -> None:
    hub = pytest.importorskip("huggingface_hub")
    text = huggingface.eval_results(
        report, HOSTILE, {"mae": "weights_mae", "within@10": HOSTILE}, revision="abc", date="2026-11-15", notes=HOSTILE,
        source="https://example.org/run",
    )  # fmt: skip
    entries = hub.parse_eval_result_entries(yaml.safe_load(text))
    assert [entry.value for entry in entries] == [report["mae"].value, report["within@10"].value]
    assert (entries[0].dataset_id, entries[0].task_id, entries[1].task_id) == (HOSTILE, "weights_mae", HOSTILE)
    assert (entries[0].dataset_revision, entries[0].date) == ("abc", "2026-11-15")
    assert entries[0].source_url == "https://example.org/run"
    low, high = report["mae"].interval or (0, 0)
    assert entries[0].notes == f"mae, 95 % interval [{low:.2f}, {high:.2f}], 60 units; {HOSTILE}"
    assert hub.eval_result_entries_to_yaml(entries) == yaml.safe_load(text)


def test_hugging_face_model_card(report: sy.Report) -> None:
    hub = pytest.importorskip("huggingface_hub")
    text = huggingface.model_index(
        report, "me/plates", task_type="image-to-text", dataset_name=HOSTILE, dataset_type="me/dishes"
    )
    card = hub.ModelCard(f"---\n{text}---\n# A model\n")
    results = card.data.eval_results
    assert [(r.metric_type, r.metric_value) for r in results] == [(s.spec, s.value) for s in report.scores.values()]
    assert (results[0].dataset_name, results[0].dataset_type, results[0].task_type) == (
        HOSTILE,
        "me/dishes",
        "image-to-text",
    )
    one = huggingface.model_index(report, "m", task_type="t", dataset_name="d", dataset_type="d", metrics=["mae"])
    assert len(yaml.safe_load(one)["model-index"][0]["results"][0]["metrics"]) == 1


REFUSED: list[tuple[Any, str]] = [
    (lambda r: huggingface.eval_results(r, "d", {}), ("E-empty-input", "written")),
    (lambda r: huggingface.eval_results(r, "d", {"maee": "t"}), ("E-missing-data", "'mae'")),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call: Any, message: tuple[str, ...], report: sy.Report) -> None:
    with refuses(*message):
        call(report)


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_package_that_is_not_there(name: str, report: sy.Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with refuses("E-missing-package", str(name)):
        {"mlflow": mlflow, "wandb": wandb}[name].log(report)
