"""Several models on the same truth: differences in slices and by class, and one correction for all that is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.engine.families import holm

jsonschema = lazy("jsonschema")

SAMPLE = Path(str(files("steelyard") / "samples"))
WEIGHTS = [SAMPLE / "weights" / name for name in ("truth.csv", "model_a.csv", "model_b.csv")]


def test_two_are_what_compare_gives() -> None:
    truth, a, b = WEIGHTS
    lineup = sy.compare("weights", truth, [a, b], metrics=["mae", "bias"], draws=200)
    assert len(lineup) == 1
    assert lineup[0].to_dict() == sy.compare("weights", truth, a, b, ["mae", "bias"], draws=200).to_dict()


def test_one_correction_for_all_models() -> None:
    truth, a, b = WEIGHTS
    three = sy.compare("weights", truth, [a, b, truth], metrics=["mae", "mape", "bias"], draws=200)
    alone = [sy.compare("weights", truth, a, other, ["mae", "mape", "bias"], draws=200) for other in (b, truth)]
    plain = [d.p for c in alone for d in c.differences.values()]
    assert [d.p for c in three.comparisons for d in c.differences.values()] == plain
    assert [d.p_holm for c in three.comparisons for d in c.differences.values()] == pytest.approx(holm(plain))


def test_a_slice_is_a_comparison_of_its_units() -> None:
    """cuisine is constant in a dish: the slice must be what comparing those dishes alone gives."""
    truth, a, b = WEIGHTS
    sliced = sy.compare("weights", truth, a, b, ["mae"], by=["cuisine"], draws=200).slices["cuisine"]
    assert list(sliced) == ["canteen", "home", "restaurant"]
    rows = [line.split(",") for line in truth.read_text().splitlines()[1:]]
    home = [row for row in rows if row[3] == "home"]
    dishes = {row[0] for row in home}
    only = {"dish": [r[0] for r in home], "item": [r[1] for r in home], "weight": [float(r[2]) for r in home]}

    def part(path: Path) -> dict[str, Any]:
        kept = [line.split(",") for line in path.read_text().splitlines()[1:] if line.split(",")[0] in dishes]
        return {"dish": [r[0] for r in kept], "item": [r[1] for r in kept], "weight": [float(r[2]) for r in kept]}

    alone = sy.compare("weights", only, part(a), part(b), ["mae"], draws=200)["mae"]
    result = sliced["home"]["mae"]
    assert result.difference == pytest.approx(alone.difference)
    assert result.interval == pytest.approx(alone.interval)
    assert result.p == alone.p
    assert result.p_holm >= result.p


def test_slices_that_vary_inside_a_unit_are_paired() -> None:
    """Classes of boxes: models that put different classes into different images are still compared on the same ones."""
    folder = SAMPLE / "boxes"
    truth, a, b = (folder / name for name in ("truth.json", "model_a.json", "model_b.json"))
    compared = sy.compare("boxes", truth, a, b, ["map50"], by=["label"], draws=100)
    each = [sy.evaluate("boxes", truth, side, ["map50"], by=["label"], confidence=None) for side in (a, b)]
    for name, result in compared.slices["label"].items():
        for report, score in zip(each, (result["map50"].a, result["map50"].b), strict=True):
            assert score.value == pytest.approx(report.slices["label"][name]["map50"].value)
    classes = compared.classes()
    assert classes
    for name, difference in classes.items():
        spec = f"ap(iou=0.5:0.95, label={_id(truth, name)})"
        value = sy.evaluate("boxes", truth, b, [spec], confidence=None)[spec].value
        assert difference.b.value == pytest.approx(value)


def _id(truth: Path, name: str) -> int:
    return next(int(c["id"]) for c in json.loads(truth.read_text())["categories"] if c["name"] == name)


def test_labels_in_slices_and_by_class() -> None:
    folder = SAMPLE / "labels"
    truth, a, b = (folder / name for name in ("truth.csv", "model_a.csv", "model_b.csv"))
    compared = sy.compare("labels", truth, a, b, ["accuracy"], by=["light"], draws=100)
    assert set(compared.slices["light"]) == {"day", "lamp"}
    classes = compared.classes()
    assert classes
    report = sy.evaluate("labels", truth, a, ["per_class(f1)"], confidence=None)
    for name, difference in classes.items():
        assert difference.a.value == pytest.approx(report[f"f1(label={name})"].value)


def test_many_labels_are_compared_in_slices() -> None:
    """Rows that are counted by cell, not listed, must come to the same as rows that are."""
    rng = np.random.default_rng(0)
    n = 12_000
    truth = {"id": np.arange(n), "label": rng.integers(0, 3, n), "light": rng.choice(["day", "lamp"], n)}
    sides = [{"id": np.arange(n), "label": np.where(rng.random(n) < p, truth["label"], 0)} for p in (0.6, 0.7)]
    comparison = sy.compare("labels", truth, *sides, "accuracy", by=["light"], draws=100)
    for value, part in comparison.slices["light"].items():
        inside = truth["light"] == value
        right = [float((side["label"] == truth["label"])[inside].mean()) for side in sides]
        assert part["accuracy"].difference == pytest.approx(right[1] - right[0])
        assert part["accuracy"].units == inside.sum()


def test_changes_by_unit() -> None:
    truth, a, b = WEIGHTS
    comparison = sy.compare("weights", truth, a, b, ["mae"], draws=100)
    before, after = comparison.units()
    for table, path in ((before, a), (after, b)):
        alone = sy.evaluate("weights", truth, path, ["mae"], confidence=None).units()
        np.testing.assert_array_equal(table.values["mae"], alone.values["mae"])
        assert table.units.tolist() == alone.units.tolist()


def test_on_the_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    truth, a, b = map(str, WEIGHTS)
    done = steelyard("compare", "weights", truth, a, b, a, "-m", "mae", "--draws", "100", "--by", "cuisine",
                     "--html", "c.html", "-o", "c.json", "--figures", "charts")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("weights: 60 dishes, 3 models, paired\n\nmodel ")
    assert "paired randomisation" not in done.stdout
    pairs = steelyard("report", "c.json", "--pairs")
    assert pairs.stdout.count("60 dishes, paired") == 2
    assert "corrected for 1 test (max-T)" in pairs.stdout  # the third model is the first, which is not a test
    data = json.loads((tmp_path / "c.json").read_text())
    schema = json.loads((files("steelyard") / "results" / "schema" / "result-2.json").read_text())
    jsonschema.validate(data, schema)
    assert [len(c["slices"]) for c in data["body"]["comparisons"]] == [3, 3]
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<h1>Food weights, dish by dish: weights/model_a, model_b, weights/model_a 2 compared</h1>" in page
    assert {p.suffix for p in (tmp_path / "charts").iterdir()} == {".svg", ".png", ".pdf"}
    two = json.loads(steelyard("compare", "weights", truth, a, b, "--by", "cuisine", "--json", "--draws", "100").stdout)
    jsonschema.validate(two, json.loads((files("steelyard") / "results" / "schema" / "result-2.json").read_text()))
    lacking = steelyard("compare", "weights", truth, a)
    assert lacking.returncode == 2
    assert "Traceback" not in lacking.stderr


NAMES = ("base", "<b>ours & co</b>", "a_b|c")


def test_names_stand_in_every_form(tmp_path: Path) -> None:
    truth, a, b = WEIGHTS
    named = sy.compare(
        "weights", truth, dict(zip(NAMES, (a, b, a), strict=True)), metrics=["mae"], by=["cuisine"], draws=100
    )
    assert named.names == NAMES
    assert named[NAMES[1]] is named[0]
    with refuses(KeyError, "'bse'"):
        named["bse"]
    assert sy.load(json.loads(named.to_json())) == named
    text = named.to_text(pairs=True, width=120)
    for name in NAMES:
        assert f"\n{name.ljust(16)}" in text
    assert "a_b|c − base" in text  # both are short; the other one is too long for a head, and is B
    assert "B − A" in text
    assert f"  B  {NAMES[1]}: {b}" in text
    assert "each model's score" not in text
    markdown = named.to_markdown()
    assert "&lt;b&gt;ours &amp; co&lt;/b&gt; − base" in markdown
    assert "a\\_b\\|c − base" in markdown
    assert markdown.count("#### by cuisine") == 2
    page = named.to_html()
    assert "&lt;b&gt;ours &amp; co&lt;/b&gt; − base" in page
    assert "<b>ours" not in page
    assert "B − A" not in page


def test_models_that_nobody_named_have_the_stems_of_their_files(steelyard: Callable[..., Any]) -> None:
    truth, a, b = WEIGHTS
    assert sy.compare("weights", truth, [a, b], metrics=["mae"], draws=100).names == ("", "")
    assert sy.compare("weights", truth, [a, b, a], metrics=["mae"], draws=100).names == (
        "weights/model_a", "model_b", "weights/model_a 2",
    )  # fmt: skip
    done = steelyard("compare", "weights", str(truth), f"base={a}", f"ours={b}", "-m", "mae", "--draws", "100")
    assert "ours − base" in done.stdout


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["base={a}", "base={b}"], "two models are called 'base'. Give each another name."),
        (["base={a}", "{b}"], "has no name, and other models have. Name all models, or none."),
        (["={a}", "b={b}"], "is not NAME=FILE. Example: ours=predictions.csv."),
        (["base={a}", " ={b}"], "' ' is not a name of a model. Give a text without line breaks: 'ours'."),
    ],
)
def test_names_that_are_none(steelyard: Callable[..., Any], models: list[str], message: str) -> None:
    truth = str(WEIGHTS[0])
    done = steelyard("compare", "weights", truth, *(m.format(a="x.csv", b="y.csv") for m in models))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_one_model_is_no_comparison() -> None:
    with refuses("E-invalid-value", "models"):
        sy.compare("weights", WEIGHTS[0], [WEIGHTS[1]])


def test_a_file_of_truth_is_read_once_for_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    import steelyard.io.coco as coco

    read: list[str] = []
    columns = coco._columns

    def counted(path: Any, side: str, *rest: Any) -> Any:
        read.append(side)
        return columns(path, side, *rest)

    monkeypatch.setattr(coco, "_columns", counted)
    truth, model = (SAMPLE / "boxes" / name for name in ("truth.json", "model_a.json"))
    sy.compare("boxes", truth, [model, model, model], metrics=["map"], draws=100)
    assert sorted(read) == ["prediction"] * 3 + ["truth"]
    sy.evaluate("boxes", truth, model, ["map"], confidence=None)
    assert read.count("truth") == 2, "another call reads what is there now"
