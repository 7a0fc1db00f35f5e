"""Results carry a digest of what they hold: an edit is said wherever the result goes, and damage is never silent."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.gating.plan import plan
from steelyard.results.codec import EDITED, KINDS
from steelyard.results.sets import Drift, Pool, PooledSet
from steelyard.results.vlm import Pair, PromptScore, VlmScore

WEIGHTS = Path(sy.__file__).parent / "samples" / "weights"
TRUTH, A, B = (WEIGHTS / f"{name}.csv" for name in ("truth", "model_a", "model_b"))
METRICS = ["mae", "bias"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each kind."""
    here = tmp_path_factory.mktemp("digests")
    settings: dict[str, Any] = {"draws": 100, "by": ["cuisine"]}
    report = sy.evaluate("weights", TRUTH, A, METRICS, save_draws=True, **settings)
    comparison = sy.compare("weights", TRUTH, A, B, METRICS, **settings)
    row = PromptScore("m", "plain", report, 9, 9, 0, {}, {}, {}, comparison, 100.0, {})
    made = {
        "report": report,
        "comparison": comparison,
        "lineup": sy.compare("weights", TRUTH, {"a": A, "b": B, "c": A}, metrics=METRICS, draws=100),
        "vlm-score": VlmScore("weights", (row,), (Pair("x", "y", "which?", 9, comparison),), 9, 0.95, 1),
        "gate": sy.gate(report, "mae > 30"),
        "plan": plan(comparison, targets={"mae": 2.0}),
        "pool": Pool("weights", "dish", 0.95, (PooledSet("a", 60, 1.0, report.scores),), scores=report.scores),
        "drift": Drift("weights", "dish", 0.95, "a", "b", (60, 60), comparison.differences),
    }
    for kind, result in made.items():
        result.to_json(here / f"{kind}.json")
    report.to_json(here / "details.json", details=True)
    return here


def edited(path: Path, *keys: Any, value: Any) -> dict[str, Any]:
    data = json.loads(path.read_text(encoding="utf-8"))
    inner = data["body"]
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return data  # type: ignore[no-any-return]


def test_the_digest_is_what_the_page_says(folder: Path) -> None:
    """By the recipe of docs/results.md: without "digest", keys sorted, no spaces, ASCII, 1.0 as 1."""

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: whole(one) for key, one in value.items()}
        if isinstance(value, list):
            return [whole(one) for one in value]
        return int(value) if isinstance(value, float) and value == int(value) else value

    for kind in (*KINDS, "details"):
        data = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
        said = data.pop("digest")
        text = json.dumps(whole(data), sort_keys=True, separators=(",", ":"))
        assert said == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        assert list(json.loads((folder / f"{kind}.json").read_text()))[:4] == ["format", "version", "kind", "digest"]


@pytest.mark.parametrize("kind", KINDS)
def test_another_layout_is_no_edit(kind: str, folder: Path) -> None:
    result = sy.load(folder / f"{kind}.json")
    data = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))

    def turned(value: Any) -> Any:
        """As JavaScript writes it: keys in another order, whole numbers without a point."""
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        if isinstance(value, list):
            return [turned(one) for one in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    assert sy.load(turned(data)) == result
    assert EDITED not in result.notes


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_is_said_in_every_form(kind: str, folder: Path) -> None:
    path = folder / f"{kind}.json"
    places: dict[str, tuple[Any, ...]] = {
        "report": ("scores", "mae", "units"), "comparison": ("differences", "mae", "units"),
        "lineup": ("comparisons", 0, "differences", "mae", "units"), "vlm-score": ("frames",),
        "gate": ("units",), "plan": ("units",), "pool": ("sets", 0, "units"), "drift": ("units", 0),
    }  # fmt: skip
    result = sy.load(edited(path, *places[kind], value=61))
    assert result.notes[0] == EDITED
    flat = " ".join(result.to_text().split()), " ".join(result.to_markdown().split()), result.to_html()
    for text in flat:
        assert EDITED in text
    again = sy.load(json.loads(result.to_json()))  # written again, it keeps what was said of it
    assert (again, again.notes) == (result, result.notes)


def test_a_file_that_drops_or_forges_its_digest(folder: Path) -> None:
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    bare = {key: value for key, value in data.items() if key != "digest"}
    assert sy.load(bare) == sy.load(data)  # as the files of 0.1 and 0.2
    for wrong in ("", "sha256:0", None, 7, {"a": []}):
        assert sy.load({**data, "digest": wrong}).notes[0] == EDITED


def test_unknown_keys_are_part_of_it(folder: Path) -> None:
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert sy.load({**data, "later": 1}).notes[0] == EDITED
    assert sy.load({**data, "later": {1, 2}}).notes[0] == EDITED  # what JSON has not


def test_gates_compare_and_plan_say_it(folder: Path, steelyard: Any, tmp_path: Path) -> None:
    good, bad = str(folder / "report.json"), str(tmp_path / "bad.json")
    data = edited(folder / "report.json", "scores", "mae", "label", value="Mean absolute error!")
    Path(bad).write_text(json.dumps(data), encoding="utf-8")
    said = f"{bad}: {EDITED}"
    assert sy.gate(bad, "mae > 1000").notes[0] == said
    assert sy.gate(good, "mae > baseline", baseline=bad).notes[0] == said
    assert not any("digest" in note for note in sy.gate(good, "mae > baseline", baseline=good).notes)
    done = steelyard("gate", bad, "--fail-if", "mae > 1000")
    assert done.returncode == 0  # it is said, not refused
    assert EDITED in " ".join(done.stdout.split())
    for files in ((good, bad), (good, good, bad)):
        copies = []
        for i, file in enumerate(files):
            copies.append(tmp_path / f"{i}.json")
            copies[-1].write_bytes(Path(file).read_bytes())
        done = steelyard("compare", *map(str, copies))
        assert done.returncode == 0, done.stderr
        assert "".join(f"{copies[-1]}: {EDITED}".split()) in "".join(done.stdout.split())
    b = tmp_path / "b.json"
    sy.evaluate("weights", TRUTH, B, METRICS, draws=100, save_draws=True).to_json(b)
    assert plan(b, baseline=bad).notes == (said,)
    lineup = tmp_path / "lineup.json"
    lineup.write_text(json.dumps(edited(folder / "lineup.json", "comparisons", 0, "notes", value=["!"])))
    assert sy.gate(lineup, "mae > 1000", model="b").notes[0] == f"{lineup}: {EDITED}"
    done = steelyard("compare", str(lineup), "--model", "b", "--baseline", "a")
    assert "".join(f"{lineup}: {EDITED}".split()) in "".join(done.stdout.split())


def test_a_value_outside_its_interval_is_refused(folder: Path) -> None:
    for value, end in ((0.1, [0.9, 0.95]), (1.0, [0.9, 0.95]), (-1e300, ["-inf", -1e301])):
        data = edited(folder / "report.json", "scores", "mae", "value", value=value)
        data["body"]["scores"]["mae"]["interval"] = end
        with pytest.raises(sy.InputError, match=r"body\.scores\.mae\.interval' goes from .* the value .* is outside"):
            sy.gate(data, "mae > 0.5")
        data.pop("digest")  # an older file no less
        with pytest.raises(sy.InputError, match="is outside"):
            sy.load(data)
    data = edited(folder / "comparison.json", "differences", "mae", "interval", value=[50.0, 60.0])
    with pytest.raises(sy.InputError, match=r"differences\.mae\.interval' goes from 50 to 60"):
        sy.load(data)
    rows = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    rows["body"]["slices"][0]["scores"]["mae"]["value"] = 1e6
    with pytest.raises(sy.InputError, match=r"slices\[0\]\.scores\.mae\.interval"):
        sy.load(rows)


def test_what_an_interval_may_be(folder: Path) -> None:
    """Undefined, without an interval, on an end, or off it by rounding."""
    for value, interval in (
        (None, [0.9, 0.95]), (0.1, None), (0.9, [0.9, 0.9]), (0.1 + 0.2, [0.1, 0.3]), ("inf", [1.0, "inf"]),
        (0.0, [0.0, "inf"]), (1.0, [None, None]),
    ):  # fmt: skip
        data = edited(folder / "report.json", "scores", "mae", "value", value=value)
        data["body"]["scores"]["mae"]["interval"] = interval
        assert sy.load(data)["mae"] is not None


def test_an_interval_of_draws_holds_its_value() -> None:
    """Where the value is an end of an endless range and the draws vary, their middle part may lie beyond it."""
    import numpy as np

    from steelyard.engine.intervals import UnitSample, by_range

    draws = np.linspace(1.0, 2.0, 200)
    interval = by_range(0.0, draws, None, (0.0, np.inf), UnitSample(50), 0.95).interval
    assert interval is not None
    assert interval[0] == 0.0
    assert interval[1] == pytest.approx(1.975)


@pytest.mark.parametrize("kind", [*KINDS, "details"])
def test_no_flipped_bit_is_read_as_something_else(kind: str, folder: Path, tmp_path: Path) -> None:
    """Refused, read with the note, or equal to what was written."""
    data = (folder / f"{kind}.json").read_bytes()
    original = sy.load(folder / f"{kind}.json")
    whole = original.to_dict()
    rng, path = random.Random(f"flips of {kind}"), tmp_path / "flipped.json"
    refused, said = [], 0
    for _ in range(120):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            result = sy.load(path)
        except sy.InputError as error:
            refused.append(str(error))
            continue
        if EDITED in result.notes:
            said += 1
        else:
            assert result == original
            assert {**result.to_dict(), "digest": ""} == {**copy.deepcopy(whole), "digest": ""}
    assert refused
    assert all("flipped.json" in text for text in refused)
    assert said > 0
