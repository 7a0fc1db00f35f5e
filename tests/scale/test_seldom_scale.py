"""Shards, engines and the command line's own parts where few go; no process is started."""

from __future__ import annotations

import io
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import fsspec
import numpy as np
import pytest
from support.refusal import refused

from steelyard.cli import metrics, options, outputs, progress
from steelyard.cli import vlm as vlm_command
from steelyard.cli.parse import parse
from steelyard.cli.streams import Output, OutputLost
from steelyard.core import catalogue
from steelyard.io.container import Container
from steelyard.scale import engines, events, jobs, merge, reading, run, shards, walks
from steelyard.scale.engines import Dask, Local, Ray
from steelyard.vlm.run import Progress

# --- engines


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


def test_jobs_that_were_blamed_run_alone() -> None:
    """Two jobs waited on a worker that died. The first gives a value by itself, the second dies again."""
    dead = KilledWorker("dead")
    futures = [finished(error=dead), finished(error=dead), finished("one"), finished(error=dead)]
    engine = Dask.__new__(Dask)
    engine._client = SimpleNamespace(submit=lambda *given, **named: futures.pop(0), loop=None)
    engine._distributed = SimpleNamespace(as_completed=lambda many, loop: many)
    results = dict(engine.run(len, ["a", "b"]))
    assert (results[0], type(results[1]).__name__) == ("one", "Failure")
    with pytest.raises(ValueError, match=r"^other$"):
        Dask._died(finished(error=ValueError("other")))


def test_jobs_of_ray_that_nobody_waits_for_are_cancelled() -> None:
    cancelled: list[Any] = []
    engine = Ray.__new__(Ray)
    engine._ray = SimpleNamespace(
        remote=lambda **named: lambda job: SimpleNamespace(remote=lambda job, item, threads: item),
        wait=lambda waiting, num_returns: (waiting[:1], waiting[1:]),
        get=str.upper,
        cancel=cancelled.append,
        exceptions=SimpleNamespace(WorkerCrashedError=KilledWorker, OutOfMemoryError=KilledWorker),
    )
    walk = engine.run(len, ["a", "b", "c"])
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


# --- states


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
    part = merge.SortedEvents.__new__(merge.SortedEvents)
    columns = {"unit": np.array([0]), "score": np.array([np.nan])}
    part.next, part.prefix, part.columns, part.place = 0, "", ("unit", "score"), np.array([5])
    part.reader = SimpleNamespace(rows=lambda name, start, stop: columns[name], path="p")
    assert refused(lambda: part._read(1)) == (
        "p: a score is not a number. It is no state that Steelyard wrote, or it is damaged: make it again."
    )
    columns["score"] = np.array([0.5])
    assert {name: column.tolist() for name, column in part._read(1).items()} == {"unit": [5], "score": [0.5]}


def test_a_part_without_classes_of_all_is_as_it_was() -> None:
    part: Any = object()
    assert jobs.under_whole(part, SimpleNamespace(whole=None)) is part  # type: ignore[arg-type]


# --- runs


def test_runs_over_shards_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(
        lambda: run.evaluate_shards("boxes", ["t"], ["p"], work=tmp_path / "w", explain=["pycocotools"])
    ) == ("'explain' is not to be had from shards. Evaluate the whole data at once for it.")
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


# --- the command line's own parts


def test_the_tree_of_a_caption(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse.callback is not None
    parse.callback(("a red car",), graph="original", as_json=False, svg=None, tree=True)
    tree, _, graph = capsys.readouterr().out.partition("\n\n")
    rows = [line.split("\t") for line in tree.splitlines()]
    assert [(row[0], row[1], row[3]) for row in rows] == [("1", "a", "3"), ("2", "red", "3"), ("3", "car", "0")]
    assert "red" in graph


def test_all_metrics_of_a_task() -> None:
    assert metrics._explain("weights", ["weights", "labels"]) == {"weights": list(catalogue.metrics("weights"))}


def test_a_result_without_a_chart_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    result: Any = SimpleNamespace(
        to_json=lambda **named: "{}", write_figures=lambda folder, **look: (), to_text=lambda width, **named: "text"
    )
    with click.Context(click.Command("x")).scope():
        options.put_out(result, False, [], figures="here")
    assert capsys.readouterr() == ("text\n", "wrote nothing to here: this result has no chart\n")


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("100", 100), ("300", 120)])
def test_the_width_of_a_terminal(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", columns)
    assert options.terminal_width() == width


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs.os, "access", lambda folder, mode: False)
    assert refused(lambda: outputs._check_folder("a.json", str(tmp_path))) == (
        f"a.json: cannot be written: '{tmp_path}' may not be written to"
    )


def test_a_line_of_progress_waits_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    line = progress.Line()
    line("read", 1, 10)
    assert (stream.getvalue(), line.shown) == ("", False)
    now[0] = 100.0
    line("read", 2, 10)
    assert (stream.getvalue().startswith("\r\x1b[K"), line.shown) == (True, True)
    before = stream.getvalue()
    line("read", 3, 10)  # at the same moment
    assert stream.getvalue() == before


def test_an_output_that_is_closed_has_nothing_to_flush() -> None:
    Output(None).flush()
    with pytest.raises(OutputLost, match=r"^standard output cannot be written: Bad file descriptor$"):
        Output(None).write("a")


def test_a_line_of_a_run_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now = Terminal(), [100.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(vlm_command.time, "monotonic", lambda: now[0])
    watch = vlm_command._watcher()
    half = Progress(wanted=4, done=2, parsed=1, started=98.0)
    watch(half)
    first = stream.getvalue()
    assert first.startswith("\r██████████░░░░░░░░░░ 2/4, ")
    assert "50 % parsed, 0 failed" in first
    watch(half)  # too soon
    assert stream.getvalue() == first
    watch(Progress(wanted=2, done=2, parsed=2, started=98.0))
    assert stream.getvalue().endswith("\n")
