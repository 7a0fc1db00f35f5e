"""Clusters and strata: what is drawn, swapped and left out, held to formulas of survey sampling."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.refusal import refuses

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.core.plan import JACKKNIFE, WeightPlan
from steelyard.core.units import Units
from steelyard.core.weights import InStrata, LeaveGroupOut, Plain, Role
from steelyard.engine.lineup import SAME

NAMES = ["b", "a", "b", "c", "a", "b"]  # of the clusters of six units


def texts(values: list[str]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def units_of(**named: Any) -> Units:
    return Units(np.arange(len(NAMES)), **{name: texts(v) if name != "weight" else v for name, v in named.items()})


def rows_of(role: Role, units: Units, rows: int = 0) -> Any:
    return np.concatenate(list(WeightPlan(role, seed=3, rows=rows).bind(units).blocks()))


def meals(seed: int = 1, people: int = 12, each: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    """Dishes of people, whose errors go together."""
    rng = np.random.default_rng(seed)
    dish = [f"d{i:03d}" for i in range(people * each)]
    person = [f"p{i // each}" for i in range(len(dish))]
    weight = rng.uniform(50, 200, len(dish))
    off = rng.normal(0, 1, people).repeat(each) + rng.normal(0, 1, len(dish))
    truth = {
        "dish": dish,
        "weight": weight,
        "person": person,
        "light": ["dark" if i % 2 else "lit" for i in range(len(dish))],
    }
    return truth, {"dish": dish, "weight": weight + off}


def test_units_of_a_cluster_have_one_weight_in_each_draw() -> None:
    drawn = rows_of(Role.DRAWS, units_of(cluster=NAMES), 50)
    for name in set(NAMES):
        mine = drawn[:, [i for i, one in enumerate(NAMES) if one == name]]
        assert (mine == mine[:, :1]).all()
    assert len(np.unique(drawn, axis=0)) > 10
    # A cluster is drawn as a unit of that name is, so that machines and models agree.
    alone = rows_of(Role.DRAWS, Units(texts(sorted(set(NAMES)))), 50)
    assert (drawn[:, [1, 0, 3]] == alone).all()


def test_a_jackknife_leaves_out_whole_clusters() -> None:
    left = rows_of(Role.JACKKNIFE, units_of(cluster=NAMES, weight=np.array([1.0, 2, 3, 0, 5, 6])))
    assert left.tolist() == [[1, 0, 3, 0, 0, 6], [0, 2, 0, 0, 5, 0]]  # a and b; c has no weight
    assert units_of(cluster=NAMES, weight=np.array([1.0, 2, 3, 0, 5, 6])).n_resampled == 2


def test_many_clusters_are_left_out_in_a_thousand_groups() -> None:
    names = texts([f"c{i // 2}" for i in range(5000)])
    left = JACKKNIFE.bind(Units(np.arange(5000), cluster=names))
    assert isinstance(left, LeaveGroupOut)
    assert left.rows <= 1000
    assert all(len(set(left.group[names == name].tolist())) == 1 for name in names[:40])


def test_a_stratum_keeps_its_total_in_every_row() -> None:
    light, weight = ["d", "d", "d", "n", "n", "n"], np.array([1.0, 2, 3, 4, 5, 6])
    units = units_of(stratum=light, weight=weight)
    for role, rows in ((Role.DRAWS, 60), (Role.JACKKNIFE, 0)):
        drawn = rows_of(role, units, rows)
        assert drawn[:, :3].sum(axis=1) == pytest.approx(6)
        assert drawn[:, 3:].sum(axis=1) == pytest.approx(15)
    left = rows_of(Role.JACKKNIFE, units)[0]
    assert left.tolist() == pytest.approx([0, 2 * 6 / 5, 3 * 6 / 5, 4, 5, 6])


def test_a_stratum_that_a_draw_misses_keeps_its_plain_weights() -> None:
    rows = InStrata(Plain(np.array([0.0, 0, 2, 2])), np.array([1.0, 3, 1, 1]), np.array([0, 0, 1, 1]))
    assert np.concatenate(list(rows.blocks())).tolist() == [[1, 3, 1, 1]]


def test_a_stratum_of_one_unit_is_joined_to_the_next() -> None:
    def joined(light: list[str], **named: Any) -> tuple[list[int], tuple[str, ...]]:
        _, code, names = units_of(stratum=light, **named).strata
        return code.tolist(), names

    assert joined(["a", "b", "b", "c", "c", "c"]) == ([0, 0, 0, 1, 1, 1], ("a",))
    assert joined(["a", "a", "a", "b", "b", "c"]) == ([0, 0, 0, 1, 1, 1], ("c",))
    assert joined(["a", "b", "c", "c", "d", "d"]) == ([0, 0, 1, 1, 2, 2], ("a", "b"))
    assert joined(["a", "a", "b", "b", "c", "c"]) == ([0, 0, 1, 1, 2, 2], ())
    # Six units, but stratum "a" has one cluster.
    assert joined(["a", "a", "b", "b", "b", "b"], cluster=["p", "p", "q", "r", "s", "s"]) == ([0] * 6, ("a",))


def test_the_standard_error_of_clusters_is_that_of_their_means() -> None:
    """Equal clusters: the mean of all is the mean of the clusters' means, whose standard error is known."""
    truth, predictions = meals()
    score = sy.evaluate("weights", truth, predictions, ["bias"], cluster="person", draws=4000)["bias"]
    means = (np.array(predictions["weight"]) - truth["weight"]).reshape(12, 3).mean(axis=1)
    se = means.std(ddof=1) / math.sqrt(12)
    assert (score.units, score.clusters) == (36, 12)
    assert score.se == pytest.approx(se, rel=1e-9)  # the jackknife's, which is above that of the draws
    assert score.df <= 11
    alone = sy.evaluate("weights", truth, predictions, ["bias"])["bias"]
    assert alone.clusters == 0
    assert alone.se < 0.9 * score.se


def test_the_standard_error_in_strata_is_that_of_the_stratified_mean() -> None:
    """Two strata of 50 whose means differ: the spread between them is not an error (Cochran 1977, 5.9)."""
    rng = np.random.default_rng(5)
    light = np.array(["dark", "lit"] * 50)
    off = np.where(light == "dark", 10.0, -10.0) + rng.normal(0, 1, 100)
    truth = {"dish": list(range(100)), "weight": np.full(100, 100.0), "light": light}
    predictions = {"dish": list(range(100)), "weight": 100 + off}
    score = sy.evaluate("weights", truth, predictions, ["bias"], strata="light", draws=4000)["bias"]
    se = math.sqrt(sum(off[light == one].var(ddof=1) / 50 / 4 for one in ("dark", "lit")))
    assert score.se == pytest.approx(se, rel=0.05)
    assert sy.evaluate("weights", truth, predictions, ["bias"])["bias"].se > 5 * se


def test_a_comparison_draws_clusters_too() -> None:
    truth, predictions = meals()
    better = {**predictions, "weight": (np.array(predictions["weight"]) + truth["weight"]) / 2}
    comparison = sy.compare("weights", truth, predictions, better, ["bias"], cluster="person", draws=4000).differences[
        "bias"
    ]
    alone = sy.compare("weights", truth, predictions, better, ["bias"], draws=4000).differences["bias"]
    assert (comparison.a.clusters, comparison.b.clusters) == (12, 12)
    assert comparison.se > 1.1 * alone.se
    assert comparison.p > alone.p


def test_perfect_clusters_say_no_more_than_their_number() -> None:
    """12 clusters of ten that all agree are 12 of 12: [73.5, 100] %."""
    label = ["a", "b"] * 60
    truth = {"id": list(range(120)), "label": label, "video": [i // 10 for i in range(120)]}
    score = sy.evaluate("labels", truth, {"id": truth["id"], "label": label}, ["accuracy"], cluster="video")["accuracy"]
    assert score.interval == pytest.approx((0.7354, 1), abs=1e-4)


def test_one_cluster_has_no_interval_and_few_are_said_to_be_few() -> None:
    truth, predictions = meals()
    report = sy.evaluate("weights", truth, predictions, ["mae"], cluster="person")
    assert report.notes == (
        "Only 12 clusters of 36 dishes by 'person': below 20 clusters an interval is rough and tends to be too narrow.",
    )
    alone = sy.evaluate("weights", {**truth, "person": ["p"] * 36}, predictions, ["mae"], cluster="person")
    assert alone["mae"].interval is None
    assert alone["mae"].why_no_interval == "all 36 units are of one person, and an interval needs two"
    assert alone.notes == ("An interval needs at least two clusters; there is one by 'person'.",)
    difference = sy.compare(
        "weights", {**truth, "person": ["p"] * 36}, predictions, predictions, ["mae"], cluster="person"
    ).differences["mae"]
    assert (difference.interval, difference.verdict) == (None, "undefined")


def test_a_joined_stratum_is_noted() -> None:
    truth, predictions = meals()
    light = ["dawn", *truth["light"][1:]]
    report = sy.evaluate("weights", {**truth, "light": light}, predictions, ["mae"], strata="light")
    assert report.notes == ("Stratum 'dawn' has one dish only and is joined to the next.",)


@pytest.mark.parametrize(
    ("settings", "change", "said"),
    [
        ({"cluster": "persn"}, {}, ("E-missing-column", "'persn'", "'person'")),
        ({"strata": "lght"}, {}, ("E-missing-column", "'lght'", "'light'")),
        ({"cluster": "person"}, {"person": ["", *["p"] * 35]},
         ("E-empty-cell", "'d000'", "'person'")),
        ({"cluster": "person"}, {"person": [None, None, *["p"] * 34]}, ("E-empty-cell", "2", "'d000'", "'d001'")),
        ({"cluster": "person"}, {"person": [float("nan"), *range(35)]}, ("E-empty-cell", "'d000'")),
        ({"cluster": "person", "strata": "light"}, {},
         ("E-conflict", "person", "'p0'", "strata", "'lit'", "'dark'", "'light'")),
        ({"cluster": "person", "strata": "person"}, {}, ("E-conflict", "'person'", "cluster", "strata")),
        ({"cluster": 7}, {}, ("E-invalid-setting", "cluster", "7")),
        ({"strata": ""}, {}, ("E-invalid-setting", "strata")),
    ],
)  # fmt: skip
def test_wrong_groups_are_refused(settings: dict[str, Any], change: dict[str, Any], said: tuple[str, ...]) -> None:
    truth, predictions = meals()
    with refuses(*said):
        sy.evaluate("weights", {**truth, **change}, predictions, ["mae"], **settings)


def test_a_cluster_that_varies_in_a_unit_is_refused() -> None:
    truth, predictions = meals()
    item = ["x", "y"] * 18
    rows = {"dish": [f"d{i // 2}" for i in range(36)], "item": item}
    with refuses("E-conflict", "dish", "'d1'", "'p0'", "'p1'", "'person'"):
        sy.evaluate("weights", {**truth, **rows}, {**predictions, **rows}, ["mae"], cluster="person")


def test_accumulators_of_other_clusters_do_not_merge(tmp_path: Path) -> None:
    truth, predictions = meals()
    first, second = sy.Accumulator("weights", cluster="person"), sy.Accumulator("weights")
    first.update(truth, predictions)
    second.update(truth, predictions)
    with refuses("E-incompatible", "settings"):
        first.merge(second)
    first.compact(["mae"])
    first.save(tmp_path / "state")
    again = sy.Accumulator.load(tmp_path / "state").report()
    whole = sy.evaluate("weights", truth, predictions, ["mae"], cluster="person")
    assert again["mae"] == whole["mae"]
    assert again.notes == whole.notes


def test_units_that_go_together_are_warned_of() -> None:
    """deff = sum of squared sums by group over the sum of squares: 1 + (m - 1) ICC, about 2 for 3 dishes and ICC .5."""
    truth, predictions = meals(people=60)
    off = np.array(predictions["weight"]) - truth["weight"]
    u = off - off.mean()
    effect = (u.reshape(60, 3).sum(axis=1) ** 2).sum() / (u**2).sum()
    (note,) = sy.evaluate("weights", truth, predictions, ["bias"]).notes
    assert note == (
        f"Dishes of one person go together (design effect {effect:.1f}): intervals are about {math.sqrt(effect):.1f} "
        "times too narrow. Resample by 'person' (cluster)."
    )
    better = {**predictions, "weight": truth["weight"] + off * 0.5}
    assert sy.compare("weights", truth, predictions, better, ["bias"]).notes == (note,)
    assert "go together" not in sy.evaluate("weights", truth, predictions, ["bias"], cluster="person").to_text()
    assert sy.evaluate("weights", truth, predictions, ["bias"], confidence=None).notes == ()


def test_columns_that_are_no_groups_are_not_asked() -> None:
    truth, predictions = meals(people=60)
    renamed = {("nobody" if name == "person" else name): column for name, column in truth.items()}
    assert sy.evaluate("weights", renamed, predictions, ["bias"]).notes == ()
    shuffled = np.random.default_rng(0).permutation(truth["person"])
    assert sy.evaluate("weights", {**truth, "person": shuffled}, predictions, ["bias"]).notes == ()
    alone = {**truth, "person_id": truth["dish"], "person": truth["weight"] > 0}  # each its own; all one
    assert sy.evaluate("weights", alone, predictions, ["bias"]).notes == ()


def test_many_units_are_asked_too() -> None:
    truth, predictions = meals(people=600)
    (note,) = sy.evaluate("weights", truth, predictions, ["bias"], draws=100).notes
    assert note.startswith("Dishes of one person go together (design effect ")
    # Of a ranking some patients are asked: their cases are all easy, or all hard.
    rng = np.random.default_rng(2)
    label, easy = rng.integers(0, 2, 3000), np.repeat(rng.random(300) < 0.5, 10)
    cases = {"id": list(range(3000)), "label": label, "patient": np.repeat(np.arange(300), 10)}
    score = np.where(easy, label, 1 - label) + rng.normal(0, 0.5, 3000)
    (note,) = sy.evaluate("labels", cases, {"id": cases["id"], "score:1": score}, ["roc_auc"], draws=100).notes
    assert note.startswith("Units of one patient go together (design effect ")


def test_weights_say_how_many_equal_units_they_are_worth() -> None:
    """Kish 1965: (1 + 2 + ... + 36)^2 / (1 + 4 + ... + 36^2) = 3 * 36 * 37 / (2 * (2 * 36 + 1)) = 27.4."""
    truth, predictions = meals()
    truth = {name: column for name, column in truth.items() if name != "person"}
    weighed = {**truth, "sample_weight": np.arange(1.0, 37.0)}
    report = sy.evaluate("weights", weighed, predictions, ["mae"])
    assert report.notes == ("The weights are unequal: 36 dishes are worth 27.4 equal ones (Kish).",)
    assert sy.evaluate("weights", {**truth, "sample_weight": [2.0] * 36}, predictions, ["mae"]).notes == ()
    one = {**truth, "sample_weight": [10.0, *[1.0] * 35]}
    assert sy.compare("weights", one, predictions, predictions, ["mae"]).notes == (
        SAME,
        "The weights are unequal: 36 dishes are worth 15.0 equal ones (Kish).",
        "Dish 'd000' has 22 % of all weight: the scores rest on it.",
    )


def test_weights_are_named_on_the_command_line(tmp_path: Path) -> None:
    """Two of seven parts of all weight are right. A task calls the column as it does: labels `weight`."""
    (tmp_path / "t.csv").write_text("id,label,importance\na,x,1\nb,y,5\nc,x,1\n")
    (tmp_path / "p.csv").write_text("id,label\na,x\nb,x\nc,x\n")
    (tmp_path / "w.csv").write_text("dish,weight,importance\na,100,1\nb,100,3\n")
    (tmp_path / "v.csv").write_text("dish,weight\na,140\nb,100\n")
    names = [str(tmp_path / name) for name in ("t.csv", "p.csv", "w.csv", "v.csv")]

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(cli, [*arguments, "--ci", "none", "--weight", "importance"])

    assert "0.28571" in run("evaluate", "labels", *names[:2], "-m", "accuracy").output
    assert " 10 g" in run("evaluate", "weights", *names[2:], "-m", "mae").output  # 40 / 4
    compared = CliRunner().invoke(
        cli, ["compare", "labels", *names[:2], names[1], "-m", "accuracy", "--weight", "importance", "--json"]
    )
    assert json.loads(compared.output)["body"]["differences"]["accuracy"]["a"]["value"] == pytest.approx(2 / 7)
    for message, arguments in (
        (("E-conflict", "weights"), ("labels", *names[:2], "--map", "weight=importance")),
        (("E-missing-column", "'importance'"), ("labels", *names[:2], "--weight", "importanc")),
    ):
        with refuses(*message):
            CliRunner().invoke(
                cli, ["evaluate", "--weight", "importance", *arguments], catch_exceptions=False, standalone_mode=False
            )


def detected(images: int = 24) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """A COCO truth, detections that are right in some videos, and the video of each image."""
    boxes = [[10.0, 10.0, 20.0, 20.0]] * images
    truth = {
        "images": [{"id": i, "file_name": f"{i}.png", "width": 90, "height": 90} for i in range(images)],
        "annotations": [
            {"id": i + 1, "image_id": i, "category_id": 1, "bbox": box, "area": 400.0, "iscrowd": 0}
            for i, box in enumerate(boxes)
        ],
        "categories": [{"id": 1, "name": "cup"}],
    }
    videos = [f"v{i // 3}" for i in range(images)]
    places = [10.0 if i // 3 % 3 else 60.0 for i in range(images)]
    results = [
        {"image_id": i, "category_id": 1, "bbox": [x, x, 20.0, 20.0], "score": 1 - i / 100}
        for i, x in enumerate(places)
    ]
    return truth, results, videos


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_column_beside_is_the_column_in_the_truth(tmp_path: Path, ending: str) -> None:
    """Files of COCO have no columns; the same boxes in a table have."""
    truth, results, videos = detected()
    for name, content in (("truth", truth), ("results", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    rows = [*enumerate(videos), (99, "of no image")]
    lines = [f"{i},{video}" for i, video in rows] if ending == "csv" else []
    lines = ["image,video", *lines] if lines else [json.dumps({"image": i, "video": v}) for i, v in rows]
    file = tmp_path / f"groups.{ending}"
    file.write_text("\n".join(lines) + "\n")

    def table(boxes: list[list[float]], **more: Any) -> dict[str, Any]:
        corners = dict(zip(("x", "y", "w", "h"), map(list, zip(*boxes, strict=True)), strict=True))
        return {"image": list(range(len(boxes))), "label": ["cup"] * len(boxes), **corners, **more}

    of_truth = table([one["bbox"] for one in truth["annotations"]], video=videos)
    of_results = table([one["bbox"] for one in results], score=[one["score"] for one in results])
    paths = [str(tmp_path / f"{name}.json") for name in ("truth", "results")]
    beside = f"video@{file}"
    for setting in ("cluster", "strata"):
        one = sy.evaluate("boxes", *paths, ["map50", "f1"], draws=200, **{setting: beside})
        other = sy.evaluate("boxes", of_truth, of_results, ["map50", "f1"], draws=200, **{setting: "video"})
        plain = sy.evaluate("boxes", *paths, ["map50", "f1"], draws=200)
        for spec in ("map50", "f1"):
            assert one[spec].interval == other[spec].interval != plain[spec].interval
    assert sy.evaluate("boxes", *paths, ["f1"], cluster=beside).notes[0].startswith("Only 8 clusters of 24 images")
    sliced = sy.evaluate("boxes", *paths, ["f1"], by=[beside]).slices[beside]
    assert len(sliced) == 8
    assert [sliced[f"v{k}"]["f1"].value for k in range(8)] == [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    compared = sy.compare("boxes", paths[0], paths[1], paths[1], ["f1"], by=[(beside, "label")], cluster=beside)
    assert len(next(iter(compared.slices.values()))) == 8


def test_counted_labels_are_listed_for_a_column_beside(tmp_path: Path) -> None:
    ids = [f"u{i}" for i in range(3000)]
    truth = {"id": ids, "label": ["ab"[i % 2] for i in range(3000)]}
    named = {"id": ids, "label": ["a"] * 3000}
    file = tmp_path / "groups.csv"
    file.write_text("id,half\n" + "".join(f"u{i},{'low' if i < 1000 else 'high'}\n" for i in range(3000)))
    sliced = sy.evaluate("labels", truth, named, ["accuracy"], by=[f"half@{file}"]).slices[f"half@{file}"]
    assert {name: part["accuracy"].units for name, part in sliced.items()} == {"high": 2000, "low": 1000}
    assert [part["accuracy"].value for part in sliced.values()] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("id,video\n0,a\n", "vido", ("E-missing-column", "'vido'", "'video'")),
        ("id,video\n0,a\n", "video", ("E-unmatched", "'1'", "11")),
        ("id,video\n0,a\n0,b\n", "video", ("E-conflict", "line 3", "'0'", "'a'", "'b'", "'video'")),
        ("id,video\n" + "".join(f"{i},\n" for i in range(12)), "video", ("E-empty-cell", "'0'", "'video'")),
        ("frame,video\n0,a\n", "video", ("E-missing-column", "groups.csv")),
        (None, "video", ("E-missing-file", "groups.csv")),
    ],
)
def test_wrong_files_beside_are_refused(tmp_path: Path, text: str | None, column: str, said: tuple[str, ...]) -> None:
    file = tmp_path / "groups.csv"
    if text is not None:
        file.write_text(text)
    data = {"dish": list(range(12)), "weight": [100.0 + i for i in range(12)]}
    with refuses(*said):
        sy.evaluate("weights", data, data, cluster=f"{column}@{file}")
