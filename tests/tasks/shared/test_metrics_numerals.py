"""Names that look like numbers and are none that can be read: superscripts, two signs, thousands of digits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.asked import refusal
from support.refusal import refuses

import steelyard as sy
from steelyard.core.numerals import as_spec

LONG = "9" * 5000
IDS = list(range(120))
RUNS = [partial(sy.evaluate, confidence=None), sy.check]


@pytest.mark.parametrize("odd", ["²", "--5", LONG], ids=["superscript", "signs", "long"])
@pytest.mark.parametrize("run", RUNS, ids=["evaluate", "check"])
def test_labels(run: Any, odd: str) -> None:
    """Labels that are one off are looked for among whole numbers alone."""
    truth = {"id": IDS, "label": ["0", "1", "2"] * 40}
    run("labels", truth, {"id": IDS, "label": [odd, "0", "1"] * 40})
    run("labels", {"id": IDS, "label": ["0", odd] * 60}, {"id": IDS, "score": [0.5] * 120})


@pytest.mark.parametrize("run", RUNS, ids=["evaluate", "check"])
def test_long_ids(run: Any) -> None:
    box = {"x": [0.0], "y": [0.0], "w": [5.0], "h": [5.0]}
    run("weights", {"dish": [LONG], "weight": [1.0]}, {"dish": [LONG], "weight": [1.0]})
    track = {"sequence": ["s"], "frame": [1], "track": [LONG], "label": [LONG], **box}
    run("tracking", track, track)
    run("answers", {"question": [LONG], "answer": ["a"]}, {"question": [LONG], "answer": ["a"]})


def test_zeros_in_front_are_still_seen() -> None:
    truth, predicted = {"dish": [f"{k:05}" for k in range(30)]}, {"dish": [str(k) for k in range(30)]}
    shown = sy.check("weights", {**truth, "weight": [1.0] * 30}, {**predicted, "weight": [1.0] * 30})
    assert any("without zeros in front" in str(finding) for finding in shown.findings)


def test_classes_as_specs_have_them() -> None:
    assert [as_spec(name) for name in ("3", "²", LONG, "-3")] == [3, "²", LONG, "-3"]


CVAT = (
    '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version><meta><task><size>{0}</size></task></meta>'
    '<track id="{0}" label="cat"><box frame="{1}" xtl="1" ytl="1" xbr="5" ybr="5" outside="0"/></track></annotations>'
)


def test_files_of_tracks(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for odd in ("²", LONG):
        path.write_text(CVAT.format(odd, odd), encoding="utf-8")
        with refuses("E-invalid-number", f"'{odd[:40]}'", str(path), "line 2", "a.xml, line 2"):
            sy.evaluate("tracking", path, path, ["mota"], confidence=None)  # fmt: skip
        path.write_text(CVAT.format(odd, 0), encoding="utf-8")
        assert sy.evaluate("tracking", path, path, ["mota"], confidence=None)["mota"].value == 1
    (tmp_path / "s" / "gt").mkdir(parents=True)
    (tmp_path / "s" / "gt" / "gt.txt").write_text("1,1,1,1,5,5,1,1,1\n", encoding="utf-8")
    (tmp_path / "s" / "seqinfo.ini").write_text("[Sequence]\nname=s\nseqLength=²\n", encoding="utf-8")
    path.unlink()
    what, _, remedy = refusal(sy.evaluate, "tracking", tmp_path, tmp_path, ["mota"])
    assert (what, remedy) == ("seqLength is '²'", "It must be a whole number.")
