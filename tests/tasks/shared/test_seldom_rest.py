"""Odd corners of the checks, the viewer, shards and the wire, each by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.checks import run as checking
from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.records import Records
from steelyard.scale import reports, walks
from steelyard.tasks.boxes import check_quick as objects
from steelyard.tasks.boxes import check_side as sides
from steelyard.view import board, pages
from steelyard.view import server as viewing
from steelyard.view.runs import StoredRun
from steelyard.view.site import Site
from steelyard.vlm.wire import Wire

# --- checks


def test_sides_that_can_be_read_alone_and_not_together(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Records("t.csv", {"dish": np.array(["a"])})

    def together(*given: Any) -> Any:
        raise InputError("the two do not fit", where="p.csv, line 2", remedy="Give others.")

    monkeypatch.setattr(checking, "read_sides", together)
    monkeypatch.setattr(checking, "read_side", lambda *given: alone)
    truth, prediction, findings = checking._read(catalogue.find_task("weights"), {}, {}, {}, {}, "t.csv", "p.csv")  # type: ignore[arg-type]
    assert (truth, prediction) == (alone, None)
    assert [(one.code, one.severity, one.side, one.what) for one in findings] == [
        ("unreadable", "error", "predictions", "The data cannot be read.")
    ]
    assert "p.csv, line 2: the two do not fit" in findings[0].examples[0]


def test_a_text_that_is_no_data_set_of_coco() -> None:
    held = sides._record_by_record(None, b'{"images": 7}', "truth", "t.json", ())
    assert (held.readable, [one.code for one in held.findings]) == (False, ["unreadable"])


def test_few_objects_in_the_images_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 images two are looked at, and they hold too few objects to say anything."""
    monkeypatch.setattr(objects, "IMAGES", 2)
    columns = {name: np.arange(40.0) for name in "xywh"} | {"image": np.arange(40), "label": np.zeros(40, int)}
    records = Records("t.json", columns)
    pairs = SimpleNamespace(
        truth=records, prediction=records, units=np.arange(40), truth_image=np.arange(40),
        prediction_image=np.arange(40), truth_label=np.zeros(40, int), labels=np.array([0]),
    )  # fmt: skip
    assert objects.look(pairs) == []


# --- the viewer

TRUTH = {"dish": list("abc"), "weight": [10.0, 20.0, 30.0]}
GIVEN = {"dish": list("abc"), "weight": [11.0, 18.0, 33.0]}


def test_a_metric_that_one_run_of_a_board_lacks() -> None:
    full = sy.compare("weights", TRUTH, GIVEN, TRUTH, ["mae", "bias"], draws=100)
    less = sy.compare("weights", TRUTH, GIVEN, TRUTH, ["mae"], draws=100)
    runs = [StoredRun(str(i), f"run{i}.json", 0.0, None) for i in range(3)]
    held: Any = SimpleNamespace(comparisons=(full, less))
    rows = [board._block(runs, held, spec).partition("<tbody>")[2].count("<tr") for spec in ("mae", "bias")]
    assert rows == [3, 2]


def test_an_image_without_a_scene_is_shown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("unit_steps", None), ("unit_scene", None), ("unit_rows", [])):
        monkeypatch.setattr(pages, name, lambda *given, value=value: value)
    site: Any = Site("/t", SimpleNamespace(of_unit=lambda *given: SimpleNamespace(kind=None)))  # type: ignore[arg-type]
    data: Any = SimpleNamespace(units=np.array(["a<b"]))
    run = StoredRun("1", "a.json", 0.0, None)
    assert pages._shown(site, run, data, 0, None, "/here") == (
        '<img class="picture" src="/t/run/1/image/0" alt="a&lt;b">'
    )


def test_two_runs_without_units_have_no_page_of_both() -> None:
    view = viewing._View.__new__(viewing._View)
    run = StoredRun("1", "a.json", 0.0, None)
    view.runs = SimpleNamespace(get=lambda name: run, data=lambda one: (None, "none"))  # type: ignore[assignment]
    with pytest.raises(viewing.Missing):
        view._both(SimpleNamespace(path_params={"a": "1", "b": "1"}))  # type: ignore[arg-type]


# --- shards


def test_rankings_that_no_histogram_bounds() -> None:
    metric = catalogue.parse("map", "boxes")
    assert reports._bounded("boxes", [metric], by_group=False, by_default=True) == []
    with pytest.raises(InputError) as refused:
        reports._bounded("boxes", [metric], by_group=False, by_default=False)
    assert str(refused.value) == ("'map' has no approximate form. Leave the metric out, or the approximate mode.")


def test_answers_of_groups_that_were_not_asked() -> None:
    question: Any = object()
    job: Any = SimpleNamespace(asked=[question], places=lambda one: (0, 1))
    arrays = {"0.1.0": np.array([1.0]), "0.1.1": np.array([2.0])}
    parts = list(walks._of_groups(arrays, job, question))
    assert [[array.tolist() for array in part] for part in parts] == [[[1.0], [2.0]]]


def test_a_question_that_no_file_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_answers", lambda path, job: {})
    monkeypatch.setattr(walks, "state_path", lambda *given: "p")
    question: Any = SimpleNamespace(curve="curve", role="role")
    job: Any = SimpleNamespace(number=0, asked=[question], places=lambda one: (0,))
    data: Any = SimpleNamespace(work="w")
    need: Any = "need"
    block: Any = walks.read_answers(data, {need: (question,)}, ["s"], [job])[need]
    assert block.answers == {}


def test_a_curve_that_cannot_be_streamed_is_walked_whole() -> None:
    question = SimpleNamespace(role=walks.Role.POINT, curve=SimpleNamespace(stream=lambda sizes, count: None))
    job: Any = SimpleNamespace(asked=[question], memory=1 << 20, groups=(0,), places=lambda one: (0,))
    assert walks._streamed(job, SimpleNamespace(readers=[], count=3)) is None  # type: ignore[arg-type]


# --- the wire


def test_a_host_that_no_proxy_serves_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost")
    wire = Wire("http://127.0.0.1:9/", {}, 1.0, 1)
    try:
        mounted = list(wire._client._mounts.values())
        assert None in mounted
        kinds = {type(one._pool._network_backend).__module__ for one in mounted if one is not None}
        assert kinds == {"steelyard.vlm.wire"}
    finally:
        wire.close()
