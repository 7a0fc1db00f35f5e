"""Parts of the command line, each alone: trees, charts, terminals, progress, output."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.refusal import refused

from steelyard.cli import options, outputs, progress
from steelyard.cli import vlm as vlm_command
from steelyard.cli.parse import parse
from steelyard.cli.streams import Output, OutputLost
from steelyard.vlm.run import Progress


def test_the_tree_of_a_caption(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse.callback is not None
    parse.callback(("a red car",), graph="original", as_json=False, svg=None, tree=True)
    tree, _, graph = capsys.readouterr().out.partition("\n\n")
    rows = [line.split("\t") for line in tree.splitlines()]
    assert [(row[0], row[1], row[3]) for row in rows] == [("1", "a", "3"), ("2", "red", "3"), ("3", "car", "0")]
    assert "red" in graph


def test_a_result_without_a_chart_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    result: Any = SimpleNamespace(
        to_json=lambda **named: "{}", write_figures=lambda folder, **look: (), to_text=lambda width, **named: "text"
    )
    out = options.Output(figures="here")
    out.write(result)
    out.show(result)
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
