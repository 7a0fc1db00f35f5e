"""Every JSON that Steelyard writes is taken by whatever can do something with it, and refused by name elsewhere."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.gating.models import model_names
from steelyard.gating.pairing import compare_results
from steelyard.gating.plan import plan
from steelyard.results.codec import KINDS
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.vlm import Pair, PromptScore, VlmScore

WEIGHTS = Path(sy.__file__).parent / "samples" / "weights"
TRUTH, A, B = (WEIGHTS / f"{name}.csv" for name in ("truth", "model_a", "model_b"))
METRICS = ["mae", "bias"]


def sets_of_dishes() -> tuple[Any, Any]:
    """Two halves of the dishes, pooled, and the second half against the first."""
    with TRUTH.open() as file:
        names = sorted({row["dish"] for row in csv.DictReader(file)})
    halves = []
    for chosen in (set(names[:30]), set(names[30:])):
        tables = []
        for path in (TRUTH, A):
            with path.open() as file:
                rows = [row for row in csv.DictReader(file) if row["dish"] in chosen]
            tables.append({name: [row[name] for row in rows] for name in ("dish", "item")})
            tables[-1]["weight"] = [float(row["weight"]) for row in rows]
        halves.append(sy.evaluate("weights", *tables, METRICS, save_influences=True))
    return sy.pool(halves), sy.drift(*halves)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each kind, made by what a user calls."""
    here = tmp_path_factory.mktemp("kinds")
    (here / "c.csv").write_text(A.read_text().replace(".0,", ".5,"))
    report = sy.evaluate("weights", TRUTH, A, METRICS)
    comparison = sy.compare("weights", TRUTH, A, B, METRICS)
    models = {"base": A, "ours": B, "small": here / "c.csv"}
    lineup = sy.compare("weights", TRUTH, models, metrics=METRICS, by=["cuisine"])
    rows = tuple(
        PromptScore("m", prompt, one, 9, 9, 0, {}, {}, {}, comparison, 100.0, {"blank": comparison})
        for prompt, one in (("plain", report), ("named", sy.evaluate("weights", TRUTH, B, METRICS)))
    )
    score = VlmScore("weights", rows, (Pair("plain", "named", "does the name help?", 9, comparison),), 9, 0.95, 1)
    made = {"report": report, "comparison": comparison, "lineup": lineup, "vlm-score": score}
    made["gate"] = sy.gate(report, "mae > 30")
    made["plan"] = plan(comparison, targets={"mae": 2.0})
    made["pool"], made["drift"] = sets_of_dishes()
    for kind, result in made.items():
        result.to_json(here / f"{kind}.json")
    return here


@pytest.mark.parametrize("kind", KINDS)
def test_read_and_report(kind: str, folder: Path, steelyard: Any, tmp_path: Path) -> None:
    result = sy.load(folder / f"{kind}.json")
    assert result.kind == kind
    assert sy.load(result.to_dict()) == result
    if kind in ("gate", "plan", "pool", "drift"):  # the pages of the others are looked at in test_pages
        assert result.to_html().startswith("<!doctype html>")
    assert result.to_markdown()
    if kind == "plan":
        done = steelyard("report", str(folder / f"{kind}.json"), "-o", str(tmp_path / "r.md"))
        assert (done.returncode, (tmp_path / "r.md").read_text(encoding="utf-8")) == (0, result.to_markdown())


TAKEN = {
    "report": {},
    "comparison": {},
    "lineup": {"model": "ours"},
    "vlm-score": {"model": "named", "baseline": "plain"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_gate(kind: str, folder: Path) -> None:
    path = folder / f"{kind}.json"
    if kind in TAKEN:
        assert sy.gate(path, "mae > 1000", **TAKEN[kind]).outcome == "pass"
        assert sy.gate(path, "mae > 1", **TAKEN[kind]).outcome == "fail"
    else:
        with pytest.raises(sy.InputError, match=rf"{kind}.json: is a {kind}: .* and no scores"):
            sy.gate(path, "mae > 1000")


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan(kind: str, folder: Path) -> None:
    path = folder / f"{kind}.json"
    if kind == "report":
        other = sy.evaluate("weights", TRUTH, B, METRICS)
        assert plan(path, baseline=other).task == "weights"
    elif kind in TAKEN:
        made = plan(path, **TAKEN[kind])
        assert (made.task, made.pilot) == ("weights", str(path))
    else:
        with pytest.raises(sy.InputError, match="is neither a comparison nor a result"):
            plan(path)


def test_any_model_of_a_lineup_against_any_other(folder: Path) -> None:
    lineup = sy.load(folder / "lineup.json")
    assert isinstance(lineup, Lineup)
    assert model_names(lineup) == ("base", "ours", "small")
    ours = lineup["ours"]["mae"]

    first = sy.gate(lineup, "mae > baseline", model="ours").verdicts[0]
    assert (first.difference, first.p, first.method) == (ours.difference, ours.p, "paired randomisation")
    turned = sy.gate(lineup, "mae > baseline", model="base", baseline="ours").verdicts[0]
    assert turned.difference == -ours.difference
    assert turned.difference_interval == (-ours.interval[1], -ours.interval[0])  # type: ignore[index]
    assert (turned.value, turned.baseline, turned.p) == (ours.a.value, ours.b.value, ours.p)

    # Two that the lineup holds no difference of: from their own scores, as two reports without draws.
    other = sy.gate(lineup, ["mae > baseline", "mae[cuisine=home] > 1000"], model="ours", baseline="small")
    reports = [sy.evaluate("weights", TRUTH, data, METRICS) for data in (folder / "c.csv", B)]
    expected = compare_results(*reports)["mae"]
    assert other.verdicts[0].difference == expected.difference
    assert other.verdicts[0].difference_interval == pytest.approx(expected.interval)
    assert (other.verdicts[0].method, other.verdicts[1].outcome) == ("unpaired", "pass")
    assert (other.result, other.baseline) == ("ours of result", "small of result")
    alone = sy.gate(lineup, "mae > 1000", model="base")
    assert (alone.outcome, alone.baseline) == ("pass", None)
    file = sy.gate(folder / "lineup.json", "mae > baseline", model="ours", baseline=folder / "report.json")
    assert file.verdicts[0].difference == ours.difference


def test_prompts_of_a_score(folder: Path) -> None:
    score = sy.load(folder / "vlm-score.json")
    comparison = sy.load(folder / "comparison.json")
    assert isinstance(comparison, Comparison)
    for model, baseline, sign in (
        ("named", "plain", 1), ("plain", "named", -1), ("plain", "constant", 1), ("plain", "blank", 1),
    ):  # fmt: skip
        verdict = sy.gate(score, "mae > baseline", model=model, baseline=baseline).verdicts[0]
        assert verdict.difference == sign * comparison["mae"].difference


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("lineup", {}, "holds several models: base, ours, small. Name one with `model=NAME`."),
        ("lineup", {"model": "our"}, "has no model 'our'"),
        ("lineup", {"model": "ours", "baseline": "ours"}, "a model cannot be its own baseline"),
        ("lineup", {"model": "ours", "baseline": "bas"}, "bas: no such file"),
        ("vlm-score", {}, "holds several models: plain, named."),
        ("vlm-score", {"model": "plain", "baseline": "plain"}, "a model cannot be its own baseline"),
        ("report", {"model": "ours"}, "is a report, which holds no model by name"),
        ("report", {"baseline": "LINEUP"}, "is a lineup: it holds several models"),
    ],
)
def test_bad_names(kind: str, given: dict[str, Any], said: str, folder: Path) -> None:
    given = {name: str(folder / "lineup.json") if value == "LINEUP" else value for name, value in given.items()}
    with pytest.raises(sy.InputError) as caught:
        sy.gate(folder / f"{kind}.json", "mae > baseline", **given)
    assert said in str(caught.value)


def test_the_commands(folder: Path, steelyard: Any, tmp_path: Path) -> None:
    board = str(folder / "lineup.json")
    done = steelyard("gate", board, "--model", "small", "--baseline", "ours", "--fail-if", "mae > baseline")
    assert done.returncode == 1, done.stderr
    assert f"small of {board}" in done.stdout
    done = steelyard("plan", board, "--model", "ours", "--target", "mae=1", "-o", "p.json", "-o", "p.md", "--json")
    assert done.returncode == 0, done.stderr
    assert sy.load(tmp_path / "p.json").to_json() == done.stdout
    assert "| `mae g` |" in (tmp_path / "p.md").read_text(encoding="utf-8")
    done = steelyard("plan", board, "--model", "ours", "-o", "p.tex")
    assert (done.returncode, done.stdout) == (2, "")
    assert "[E-cannot-write]" in done.stderr
    broken = sy.load(folder / "plan.json").to_dict()
    broken["body"]["metrics"] = []
    with pytest.raises(sy.InputError, match=r"'body.metrics' is empty"):
        sy.load(broken)


def test_stored_results_say_how_they_are_compared(folder: Path, tmp_path: Path, steelyard: Any) -> None:
    """Without draws nothing is paired, and no form of the comparison says so; three results or more are one board."""
    for name, data in (("a", A), ("b", B), ("c", folder / "c.csv")):
        for kind, draws in (("plain", False), ("drawn", True)):
            sy.evaluate("weights", TRUTH, data, METRICS, save_draws=draws).to_json(tmp_path / f"{kind}_{name}.json")
    for kind, word in (("plain", "as if independent"), ("drawn", "paired")):
        reports = [sy.load(tmp_path / f"{kind}_{name}.json") for name in "abc"]
        made = compare_results(*reports[:2])  # type: ignore[arg-type]
        for text in (made.to_text(), made.to_markdown(), made.render("notebook")):
            assert f"weights: 60 dishes, {word}" in text
        done = steelyard("compare", *(f"{kind}_{name}.json" for name in "abc"), "-o", f"{kind}.json")
        assert done.returncode == 0, done.stderr
        assert f"weights: 60 dishes, 3 models, {word}" in done.stdout
        assert "rank" not in done.stdout
        board = sy.load(tmp_path / f"{kind}.json")
        assert isinstance(board, Lineup)
        assert board.names == tuple(f"{kind}_{name}.json" for name in "abc")
        assert board.comparisons[0]["mae"].difference == made["mae"].difference
    sy.evaluate("weights", TRUTH, A, ["rmse"]).to_json(tmp_path / "other.json")
    done = steelyard("compare", "plain_a.json", "plain_b.json", "other.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the results share no score" in done.stderr
