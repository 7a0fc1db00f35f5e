"""The public functions: names, aliases, and the arguments that they share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses, warns_renamed

import steelyard as sy
from steelyard.core.catalogue import TASKS
from steelyard.core.errors import Conflict, InvalidSetting, InvalidValue
from steelyard.core.explanation import Step
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.extend import POINT, Axis, Category, CheckData, Loss, Metadata, Metric, Pairs
from steelyard.results.details import NONE
from steelyard.results.gate import Verdict

TRUTH = {"dish": ["a", "b", "c", "d"], "weight": [100.0, 200.0, 300.0, 400.0]}
OFF_BY_10 = {"dish": ["a", "b", "c", "d"], "weight": [110.0, 190.0, 310.0, 390.0]}
OFF_BY_20 = {"dish": ["a", "b", "c", "d"], "weight": [120.0, 180.0, 320.0, 380.0]}


def test_dir_shows_public_names_alone() -> None:
    assert {"Score", "Difference", "Lineup", "plan", "evaluate_shards", "load"} <= set(dir(sy))
    assert not {"Any", "TYPE_CHECKING", "import_module", "idle", "read", "compare_all", "use_csv"} & set(dir(sy))


def test_load_and_its_old_name(tmp_path: Path) -> None:
    report = sy.evaluate("weights", TRUTH, OFF_BY_10, "mae", confidence=None)
    report.to_json(tmp_path / "report.json")
    assert sy.load(tmp_path / "report.json") == report
    with warns_renamed("steelyard.read", "steelyard.load"):
        assert sy.read(tmp_path / "report.json") == report


def test_compare_takes_two_models_a_list_or_a_dict() -> None:
    two = sy.compare("weights", TRUTH, OFF_BY_20, OFF_BY_10, "mae", draws=100)
    assert isinstance(two, sy.Comparison)
    assert two["mae"].difference == -10.0
    listed = sy.compare("weights", TRUTH, [OFF_BY_20, OFF_BY_10, TRUTH], metrics="mae", draws=100)
    assert isinstance(listed, sy.Lineup)
    assert [each["mae"].difference for each in listed.comparisons] == [-10.0, -20.0]
    named = sy.compare("weights", TRUTH, {"base": OFF_BY_20, "ours": OFF_BY_10}, metrics="mae", draws=100)
    assert isinstance(named, sy.Lineup)
    assert named.names == ("base", "ours")
    assert named[0]["mae"].difference == -10.0


def test_compare_all_is_an_alias() -> None:
    models = [OFF_BY_20, OFF_BY_10, TRUTH]
    with pytest.warns(DeprecationWarning, match=r"^steelyard\.compare_all is deprecated, use steelyard\.compare with"):
        old = sy.compare_all("weights", TRUTH, models, ["mae"], draws=100)
    assert old == sy.compare("weights", TRUTH, models, metrics=["mae"], draws=100)


def test_compare_says_where_models_and_metrics_go() -> None:
    for metrics in (["mae"], sy.metrics("weights")[0]):
        with refuses("E-invalid-value", "metrics=...") as caught:
            sy.compare("weights", TRUTH, [OFF_BY_20, OFF_BY_10], metrics)
        assert "metrics=..." in caught.value.remedy
    with pytest.raises(InvalidValue):
        sy.compare("weights", TRUTH, [OFF_BY_20], metrics="mae")
    with pytest.raises(Conflict):
        sy.compare("weights", TRUTH, [OFF_BY_20, OFF_BY_10], metrics="mae", runs="seeds")


SLICED: dict[str, Any] = TRUTH | {"food": ["rice", "rice", "beans", "beans"], "cut": ["raw", "raw", "raw", "cooked"]}
ERRORS = {"dish": ["a", "b", "c", "d"], "weight": [101.0, 203.0, 305.0, 407.0]}  # off by 1, 3, 5 and 7


@pytest.mark.parametrize("by", ["food,cut", " food , cut ", ["food,cut"], [("food", "cut")], [["food", "cut"]]])
def test_by_crosses_columns(by: Any) -> None:
    report = sy.evaluate("weights", SLICED, ERRORS, "mae", by=by, confidence=None)
    slices = report.slices["food", "cut"]
    assert {key: scores["mae"].value for key, scores in slices.items()} == {
        ("rice", "raw"): 2.0,
        ("beans", "raw"): 5.0,
        ("beans", "cooked"): 7.0,
    }


def test_by_lists_columns_side_by_side() -> None:
    report = sy.evaluate("weights", SLICED, ERRORS, "mae", by=["food", "cut"], confidence=None)
    assert {name: report.slices["food"][name]["mae"].value for name in report.slices["food"]} == {"rice": 2, "beans": 6}
    assert {name: report.slices["cut"][name]["mae"].value for name in report.slices["cut"]} == {"raw": 3, "cooked": 7}


def test_a_column_with_a_comma_is_named_in_a_tuple() -> None:
    data = TRUTH | {"food, cut": ["x", "x", "y", "y"]}
    report = sy.evaluate("weights", data, ERRORS, "mae", by=[("food, cut",)], confidence=None)
    assert [report.slices["food, cut"][name]["mae"].value for name in ("x", "y")] == [2.0, 6.0]


@pytest.mark.parametrize("by", ["food,", ",", "food,,cut"])
def test_by_without_a_name_is_an_error(by: str) -> None:
    with pytest.raises(InvalidSetting):
        sy.evaluate("weights", SLICED, ERRORS, "mae", by=by)


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """Truth with fields and decimals as no header shows them: 1,250 may have thousands."""
    path = tmp_path / "office.csv"
    path.write_text("dish|weight\na|1,250\nb|2,500\nc|0\n")
    return path


DIALECT = {"delimiter": "pipe", "decimal": "comma"}
PREDICTED = {"dish": ["a", "b", "c"], "weight": [1.25, 2.5, 3.0]}  # off by 0, 0 and 3


def test_every_function_that_reads_takes_the_dialect(office: Path, tmp_path: Path) -> None:
    assert sy.evaluate("weights", office, PREDICTED, "mae", confidence=None, **DIALECT)["mae"].value == 1.0
    assert sy.score("weights", office, PREDICTED, "mae", **DIALECT) == 1.0
    assert sy.compare("weights", office, PREDICTED, office, "mae", draws=100, **DIALECT)["mae"].difference == -1.0
    lineup = sy.compare("weights", office, [PREDICTED, office], metrics="mae", draws=100, **DIALECT)
    assert lineup[0]["mae"].difference == -1.0
    assert sy.check("weights", office, PREDICTED, **DIALECT).ok
    accumulator = sy.Accumulator("weights")
    accumulator.update(office, PREDICTED, **DIALECT)
    assert accumulator.report("mae", confidence=None)["mae"].value == 1.0
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("image|label|x|y|w|h\n1|cat|0,5|1,5|10|20\n")
    sy.convert(boxes, tmp_path / "boxes.json", from_format="csv", to_format="coco", **DIALECT)
    assert json.loads((tmp_path / "boxes.json").read_text())["annotations"][0]["bbox"] == [0.5, 1.5, 10, 20]
    assert "<svg" in sy.draw("boxes", boxes, {"image": ["1"], "label": ["cat"], "score": [0.9], "x": [0.5], "y": [1.5],
                                              "w": [10.0], "h": [20.0]}, "1", **DIALECT)  # fmt: skip
    judged = tmp_path / "judged.csv"
    judged.write_text("id|probability\n1|0,5\n2|0,9\n")
    chosen = sy.label_next({"id": ["1", "2"], "label": ["x", "y"]}, judged, 2, **DIALECT)
    assert set(chosen) == {"id", "probability"}


def test_use_csv_is_deprecated_and_works(office: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"^steelyard\.use_csv is deprecated, use the arguments delimiter"):
        block = sy.use_csv(**DIALECT)
    with block:
        assert sy.score("weights", office, PREDICTED, "mae") == 1.0


def test_a_proxy_has_a_function_of_its_own() -> None:
    rng = np.random.default_rng(1)
    ids, right = np.arange(200), rng.random(200) < 0.8
    every = {"id": ids, "label": np.where(right, "x", "y")}
    truth = {"id": ids[:60], "label": every["label"][:60]}
    predicted = {"id": ids, "label": np.full(200, "x")}
    own = sy.evaluate_with_proxy("labels", truth, predicted, every, "accuracy", seed=3)
    assert own == sy.evaluate("labels", truth, predicted, "accuracy", proxy=every, seed=3)
    rates = sy.evaluate_with_proxy("labels", truth, predicted, every, "accuracy", correction="rates")
    assert rates.request.judge_correction == "rates"


def test_explanations_have_a_function_of_their_own() -> None:
    truth = {"image": ["1"], "label": ["a"], "x": [0.0], "y": [0.0], "w": [10.0], "h": [10.0]}
    predicted = truth | {"score": [0.9]}
    tools = "pycocotools,torchmetrics"
    explained = sy.explain("boxes", truth, predicted, tools)
    assert [each.tool for each in explained] == ["pycocotools", "torchmetrics"]
    assert explained[0].ours["map"] == explained[0].theirs["map"] == pytest.approx(1.0)
    beside = sy.evaluate("boxes", truth, predicted, "map", explain=tools, confidence=None).explanations
    assert str(explained) == str(beside)  # some numbers are nan


def test_an_accumulator_in_the_habit_of_torchmetrics() -> None:
    accumulator = sy.Accumulator("weights", seed=5)
    accumulator.update(preds=OFF_BY_20, target=TRUTH)
    accumulator.reset()
    assert len(accumulator) == 0
    accumulator.update(preds=OFF_BY_10, target=TRUTH)
    report = accumulator.compute("mae")
    assert report["mae"].value == 10.0
    assert report == accumulator.report("mae")
    assert report.request.seed == 5
    for twice in ({"preds": OFF_BY_10}, {"target": TRUTH}):
        with pytest.raises(TypeError, match="which are two names of one argument"):
            accumulator.update(TRUTH, OFF_BY_10, **twice)


def test_old_keywords_of_results_warn() -> None:
    with warns_renamed("Score(why=...)", "Score(undefined_reason=...)"):
        score = sy.Score("mae", "MAE", float("nan"), why="no rows")
    assert score.undefined_reason == "no rows"
    with pytest.warns(DeprecationWarning, match=r"^Score\(.* is deprecated") as warned:
        score = sy.Score("mae", "MAE", 1.0, undefined=3, left_out="rows")
    assert (score.n_excluded, score.excluded, len(warned)) == (3, "rows", 2)
    with pytest.warns(DeprecationWarning, match=r"^Difference\(showable=...\) is deprecated"):
        made = sy.Difference("mae", "MAE", score, score, 0.0, None, 1.0, 1.0, "", 0, showable=5.0)
    assert made.min_detectable == 5.0
    report = sy.evaluate("weights", TRUTH, OFF_BY_10, "mae", confidence=None)
    parts = {
        name: getattr(report, name) for name in ("request", "task_facts", "scores", "slices", "coverage", "sources")
    }
    with warns_renamed("Report(evidence=...)", "Report(details=...)"):
        assert sy.Report(**parts, evidence=NONE).details is NONE


def test_old_names_of_a_state_warn() -> None:
    pairs = sy.api.measure("weights", TRUTH, OFF_BY_10, "mae").pairs
    with warns_renamed("State.of(work=...)", "State.of(cache=...)"):
        state = State.of(pairs, (), work=SharedCache(()))
    with warns_renamed("State.counted", "State.aggregated"):
        assert state.counted() is state


def test_old_names_of_what_plugins_read_warn() -> None:
    measured = sy.api.measure("weights", TRUTH, OFF_BY_10, "mae")
    data = CheckData(measured.pairs.truth, measured.pairs.prediction, measured.pairs)
    with warns_renamed("Axis.shown", "Axis.display_names"):
        assert Axis((1, 2), ("cat", "dog")).shown == ("cat", "dog")
    with warns_renamed("Category.shown", "Category.display_name"):
        assert Category(7).shown == "7"
    accumulator = sy.Accumulator("weights")
    accumulator.update(TRUTH, OFF_BY_10)
    with warns_renamed("Accumulator.gathered", "Accumulator.gather_batches"):
        assert len(accumulator.gathered().truth) == 4
    with warns_renamed("Task.joined", "Task.joint_columns"):
        assert TASKS["labels"].joined["label"] == TASKS["labels"].joint_columns["label"]
    with warns_renamed("CheckData.kept", "CheckData.paired_rows"):
        assert [rows.tolist() for rows in data.kept] == [[0, 1, 2, 3], [0, 1, 2, 3]]


def test_metadata_by_their_old_name_warn() -> None:
    pairs = sy.api.measure("weights", TRUTH, OFF_BY_10, "mae").pairs
    state = State.of(pairs, ())
    view = state.totals(POINT).only(())
    for owner, kind in ((state, "State"), (view, "TotalsView"), (pairs, "Pairs")):
        with warns_renamed(f"{kind}.facts", f"{kind}.metadata"):
            assert owner.facts == Metadata()
    with warns_renamed("SharedCache.needs", "SharedCache.statistics"):
        assert SharedCache(()).needs == ()


def test_pairs_of_other_packages_may_say_facts() -> None:
    class OldPairs:
        units, weight, facts = np.arange(3), None, Metadata(holds=frozenset({"scores"}))

    with pytest.warns(DeprecationWarning, match=r"OldPairs\.facts is deprecated, use .*OldPairs\.metadata$"):
        assert State.of(OldPairs(), ()).metadata.holds == {"scores"}
    with pytest.warns(DeprecationWarning, match=r"^Pairs\.facts \(defined by .*\) is deprecated, use Pairs\.metadata$"):

        class OldRows(Pairs):
            @property
            def facts(self) -> Metadata:
                return Metadata(holds=frozenset({"labels"}))

    rows = sy.api.measure("weights", TRUTH, OFF_BY_10, "mae").pairs
    names = ("truth", "prediction", "units", "owner", "truth_row", "prediction_row", "partial", "coverage")
    assert State.of(OldRows(*(getattr(rows, name) for name in names)), ()).metadata.holds == {"labels"}


def test_reasons_by_their_old_name_warn() -> None:
    for kind, values in (
        (Verdict, {"rule": "mae > 1", "outcome": "pass", "metric": "mae", "label": "MAE", "where": "", "value": 0.5,
                   "interval": None, "bound": 1.0}),
        (Step, {"setting": "iou", "ours": "0.5", "theirs": "0.6", "values": {}}),
        (Loss, {"kind": "lost", "what": "masks", "count": 2}),
    ):  # fmt: skip
        name = kind.__name__
        with warns_renamed(f"{name}(why=...)", f"{name}(reason=...)"):
            made = kind(**values, why="no room")
        with warns_renamed(f"{name}.why", f"{name}.reason"):
            assert made.why == made.reason == "no room"


def test_a_metric_that_says_needs_works_with_a_warning() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"^Metric\.needs \(defined by .*\) is deprecated, use Metric\.requirements$"
    ):

        class OldMetric(Metric):
            name, range = "old_metric_of_a_test", (0, 1)

            def needs(self) -> tuple[Any, ...]:
                return ()

            def reduce(self, totals: Any) -> Any:
                return totals.undefined()

    assert OldMetric().requirements() == ()
    metric: Any = OldMetric()
    assert metric.needs() == ()  # its own
    today: Any = TASKS["weights"].metrics[0]()
    with warns_renamed("Metric.needs", "Metric.requirements"):
        assert today.needs() == today.requirements()
