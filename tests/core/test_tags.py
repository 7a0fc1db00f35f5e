"""Tags of a run: kept in every result, in every path, and refused where they cannot be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy

TRUTH = {"dish": [1, 2, 3], "weight": [100.0, 50.0, 80.0]}
A = {"dish": [1, 2, 3], "weight": [90.0, 55.0, 84.0]}
B = {"dish": [1, 2, 3], "weight": [99.0, 51.0, 81.0]}
TAGS = {"model": "small", "run.no": "7"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in (("t", TRUTH), ("a", A), ("b", B)):
        rows = zip(data["dish"], data["weight"], strict=True)
        (tmp_path / f"{name}.csv").write_text("dish,weight\n" + "".join(f"{d},{w}\n" for d, w in rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tags_are_kept_and_move_no_number() -> None:
    tagged = sy.evaluate("weights", TRUTH, A, "mae", tags=TAGS)
    assert tagged.request.tags == TAGS
    assert sy.load(tagged.to_dict()).request.tags == TAGS  # type: ignore[union-attr]
    assert tagged.scores == sy.evaluate("weights", TRUTH, A, "mae").scores
    gathered = sy.Accumulator("weights", tags=TAGS)
    gathered.update(TRUTH, A)
    assert sy.Accumulator.from_bytes(gathered.to_bytes()).report("mae").request.tags == TAGS
    other = sy.Accumulator("weights", tags={"model": "large"})
    other.update({"dish": [4], "weight": [5.0]}, {"dish": [4], "weight": [5.0]})
    gathered.merge(other)  # tags decide nothing, so they may differ
    lineup = sy.compare("weights", TRUTH, [A, B, B], metrics="mae", tags=TAGS)
    assert [one.b.request.tags for one in lineup.comparisons] == [TAGS, TAGS]


def test_tags_of_the_command(here: Path, steelyard: Any) -> None:
    tags = ("--tag", "model=small", "--tag", "note=a=b, c", "--tag", "date=now")
    done = steelyard("evaluate", "weights", "t.csv", "a.csv", "-m", "mae", "--json", *tags)
    kept = json.loads(done.stdout)["body"]["request"]["tags"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", kept.pop("date"))
    assert kept == {"model": "small", "note": "a=b, c"}
    done = steelyard("compare", "weights", "t.csv", "a.csv", "b.csv", "-m", "mae", "-o", "c.json", *tags[:2])
    assert done.returncode == 0
    assert sy.load("c.json").b.request.tags == {"model": "small"}  # type: ignore[union-attr]
    page = sy.load("c.json").to_html()
    assert "tag model" in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["model"], "--tag 'model' is not NAME=VALUE"),
        (["=x"], "--tag '=x' is not NAME=VALUE"),
        (["a=1", "a=2"], "--tag names 'a' twice"),
        (["a b=1"], "'a b' is not a tag name"),
        (["a=x\ny"], "the tag 'a' is 'x\\ny'"),
        (["a=" + "x" * 201], "at most 200 characters"),
        ([f"t{i}=1" for i in range(33)], "there are 33 tags"),
    ],
)
def test_bad_tags(here: Path, steelyard: Any, given: list[str], said: str) -> None:
    done = steelyard(
        "evaluate", "weights", "t.csv", "a.csv", "-o", "r.json", *(part for tag in given for part in ("--tag", tag))
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (here / "r.json").exists()


def test_bad_tags_in_a_file_and_in_python() -> None:
    data = sy.evaluate("weights", TRUTH, A, "mae").to_dict()
    data["body"]["request"]["tags"] = {"": "x"}
    with pytest.raises(sy.InputError, match=r"'body\.request' is broken: '' is not a tag name"):
        sy.load(data)
    data["body"]["request"]["tags"] = {"a": 1}
    with pytest.raises(sy.InputError, match=r"body\.request\.tags\.a is 1 where a text is expected"):
        sy.load(data)
    for wrong in ({"a": 1}, {1: "a"}, ["a"]):
        with pytest.raises(sy.InputError, match="tag"):
            sy.evaluate("weights", TRUTH, A, "mae", tags=wrong)  # type: ignore[arg-type]
