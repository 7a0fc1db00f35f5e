"""Engines, states and runs over shards, each part alone; no process is started."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import numpy as np
import pytest
from support.refusal import refused

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.io.container import Container
from steelyard.scale import engines, events, jobs, merge, reading, reports, run, shards, walks
from steelyard.scale.engines import Dask, Local, Ray


def test_an_error_of_a_job_ends_a_run_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Local(2)

    def submit(job: Any, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(MemoryError("full"))
        return future

    monkeypatch.setattr(engine, "_submit", submit)
    with pytest.raises(MemoryError, match=r"^full$"):
        list(engine.run(len, ["a"]))


class KilledWorker(Exception):
    """As Dask calls it."""


def finished(value: Any = None, error: Exception | None = None) -> Any:
    return SimpleNamespace(key=object(), exception=lambda: error, result=lambda: value, done=lambda: True)


def test_jobs_that_were_blamed_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs waited on a worker that died. The first gives a value by itself, the second dies again."""
    dead = KilledWorker("dead")
    futures = [finished(error=dead), finished(error=dead), finished("one"), finished(error=dead)]
    client = SimpleNamespace(submit=lambda *given, **named: futures.pop(0), loop=None, ncores=lambda: {"one": 1})
    distributed = SimpleNamespace(Client=lambda *given, **named: client, as_completed=lambda many, loop: many)
    monkeypatch.setitem(sys.modules, "distributed", distributed)
    results = dict(Dask(1, "tcp://127.0.0.1:9").run(len, ["a", "b"]))
    assert (results[0], type(results[1]).__name__) == ("one", "Failure")
    with pytest.raises(ValueError, match=r"^other$"):
        Dask._workers_died(finished(error=ValueError("other")))


def test_jobs_of_ray_that_nobody_waits_for_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: list[Any] = []
    ray = SimpleNamespace(
        init=lambda **named: None,
        cluster_resources=lambda: {"CPU": 1.0},
        remote=lambda **named: lambda job: SimpleNamespace(remote=lambda job, item, threads: item),
        wait=lambda waiting, num_returns: (waiting[:1], waiting[1:]),
        get=str.upper,
        cancel=cancelled.append,
        exceptions=SimpleNamespace(WorkerCrashedError=KilledWorker, OutOfMemoryError=KilledWorker),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    walk = Ray(1, None).run(len, ["a", "b", "c"])
    assert next(walk) == (0, "A")
    walk.close()
    assert cancelled == ["b", "c"]


def test_a_process_without_a_parent_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.multiprocessing, "parent_process", lambda: None)
    before = set(threading.enumerate())
    engines.end_with_parent()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before


def test_units_of_two_kinds_are_laid_out_as_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers 2 and 10 beside the texts b and 1: as texts their order is 1, 10, 2, b."""
    ids = {"one": np.array([2, 10]), "two": np.array(["1", "b"], object)}
    held = {name: Container("shard", {}, {"units": one, "in_truth": np.ones(2, bool)}) for name, one in ids.items()}
    laid: list[dict[str, Any]] = []
    monkeypatch.setattr(events, "state_path", lambda work, kind, name: name)
    monkeypatch.setattr(events, "there", lambda path: False)
    monkeypatch.setattr(events, "read_container", held.__getitem__)
    monkeypatch.setattr(events, "keep", lambda path, facts, arrays: laid.append({**facts, **arrays}))
    events.lay_units(SimpleNamespace(work="w"), [SimpleNamespace(name=name, drop=()) for name in ids])  # type: ignore
    assert [laid[0]["units"], laid[0]["place0"].tolist(), laid[0]["place1"].tolist()] == [4, [2, 1], [0, 3]]


def container(**facts: Any) -> Container:
    arrays = {
        "units": np.array(["a"], object), "digests": np.zeros((1, 2, 2), np.uint64), "unit_rows": np.zeros((1, 2), np.int64),
        "in_truth": np.array([True]),
    }  # fmt: skip
    side = {"shape": "rows", "source": "a.csv", "names": {}}
    return Container("shard", {"rows": (1, 1), "truth": side, "prediction": side, **facts}, arrays)


def test_states_with_facts_of_another_kind() -> None:
    assert reading._summary(container(), "s", "p").rows == (1, 1)
    for facts, named in (
        ({"rows": (1, -1)}, "'rows'"),
        ({"rows": [1, "1"]}, "rows[1]"),
        ({"notes": (7,)}, "notes[0]"),
        ({"repeated": -1}, "'repeated'"),
        ({"truth": 7}, "truth"),
    ):
        assert named in refused(lambda facts=facts: reading._summary(container(**facts), "s", "p"))  # type: ignore[misc]


def test_scores_of_a_state_that_are_no_numbers() -> None:
    columns = {"unit": np.array([0]), "score": np.array([np.nan])}
    reader: Any = SimpleNamespace(rows=lambda name, start, stop: columns[name], path="p")
    part = merge.SortedEvents(reader, "", ("unit", "score"), 0, 1, np.array([5]))
    assert refused(part.fill, 1) == (
        "p: a score is not a number. Either Steelyard did not write it, or it is damaged: create it again."
    )
    columns["score"] = np.array([0.5])
    part = merge.SortedEvents(reader, "", ("unit", "score"), 0, 1, np.array([5]))
    part.fill(1)
    assert {name: column.tolist() for name, column in part.held.items()} == {"unit": [5], "score": [0.5]}


def test_a_part_without_classes_of_all_is_as_it_was() -> None:
    part: Any = object()
    assert jobs.under_whole(part, SimpleNamespace(whole=None)) is part  # type: ignore[arg-type]


def test_runs_over_shards_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(
        lambda: run.evaluate_shards("boxes", ["t"], ["p"], work=tmp_path / "w", explain=["pycocotools"])
    ) == ("'explain' is not supported for shards. Evaluate the whole data at once for it.")
    assert refused(lambda: run._some([SimpleNamespace(keys=())])) == (  # type: ignore[list-item]
        "no shard holds a unit. The truth needs at least one."
    )
    held: Any = SimpleNamespace(
        data=SimpleNamespace(
            definition=catalogue.find_task("weights"), request=SimpleNamespace(options={}),
        ),
        engine=SimpleNamespace(workers=1), every=lambda *given: [None, "s"],
    )  # fmt: skip
    assert refused(lambda: run._read(held, ["t"], ["p"], "hash", 1)) == (
        "no shard of one side could be read. See the messages of the shards."
    )


def test_without_intervals_units_are_weighed_once() -> None:
    files: Any = SimpleNamespace(count=3, keys=np.arange(3))
    (only,) = walks._weights(SimpleNamespace(confidence=None), files)  # type: ignore[arg-type]
    assert isinstance(only, walks.Plain)
    asked: Any = SimpleNamespace(confidence=0.95, seed=0, draws=100)
    assert len(list(walks._weights(asked, files))) == 3


def test_a_file_system_of_no_known_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> Any:
        raise ImportError("install odd")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    assert refused(lambda: shards._filesystem("odd://a")) == (
        "odd://a: cannot be opened: install odd. Install what fsspec needs for it."
    )


def test_rankings_that_no_histogram_bounds() -> None:
    metric = catalogue.parse("map", "boxes")
    assert reports._boundable_metrics("boxes", [metric], by_group=False, by_default=True) == []
    with pytest.raises(InputError) as refused:
        reports._boundable_metrics("boxes", [metric], by_group=False, by_default=False)
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
    assert walks._stream_answers(job, SimpleNamespace(readers=[], count=3)) is None  # type: ignore[arg-type]
