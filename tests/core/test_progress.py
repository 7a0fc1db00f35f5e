"""How far long work is: the callback sees every stage to its end, and the line shows on a terminal only."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.cli import progress
from steelyard.cli.main import cli
from steelyard.core.progress import advance, portion, steps

WEIGHTS = Path(sy.__file__).parent / "samples" / "weights"
TRUTH, A, B = (str(WEIGHTS / name) for name in ("truth.csv", "model_a.csv", "model_b.csv"))


def seen(work: Callable[[], Any]) -> list[tuple[str, int, int]]:
    calls: list[tuple[str, int, int]] = []
    with sy.use_progress(lambda *call: calls.append(call)):
        work()
    work()  # nobody listens any more
    return calls


def test_an_evaluation() -> None:
    calls = seen(lambda: sy.evaluate("weights", TRUTH, A, ["mae", "bias"], by=["cuisine"], draws=100))
    assert list(dict.fromkeys(stage for stage, _, _ in calls)) == ["reading", "matching", "draws"]
    draws = [(done, total) for stage, done, total in calls if stage == "draws"]
    assert draws == sorted(draws)  # never back
    assert (draws[0], draws[-1]) == ((0, 8), (8, 8))  # two metrics, in all and in three slices


def test_a_comparison() -> None:
    calls = seen(lambda: sy.compare("weights", TRUTH, [A, B, TRUTH], metrics="mae", draws=100))
    assert [call for call in calls if call[0] == "comparing"] == [("comparing", i, 2) for i in (0, 1, 2)]


def test_what_is_raised_ends_the_work() -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "draws":
            raise TimeoutError("enough")

    with refuses(TimeoutError, "enough"), sy.use_progress(stop):
        sy.evaluate("weights", TRUTH, A, "mae", draws=100)


def test_portions() -> None:
    def work() -> None:
        for place in range(2):
            with portion(place, 2):
                assert list(steps("x", "ab")) == ["a", "b"]
        advance("y", 1, 1)

    assert seen(work) == [("x", i, 4) for i in (0, 1, 2, 2, 3, 4)] + [("y", 1, 1)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "options", "shows"), [(Terminal, [], True), (Terminal, ["-q"], False), (io.StringIO, [], False)],
                         ids=["terminal", "quiet", "pipe"])  # fmt: skip
def test_the_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stream: type[io.StringIO], options: list[str], shows: bool
) -> None:
    monkeypatch.setattr(progress, "QUIET", 0)
    monkeypatch.setattr("sys.stderr", stream())
    monkeypatch.chdir(tmp_path)
    cli(
        ["evaluate", "weights", TRUTH, A, "-m", "mae", "--draws", "100", "-o", "r.json", *options],
        standalone_mode=False,
    )
    import sys

    said = sys.stderr.getvalue()  # type: ignore[attr-defined]
    wrote = "" if "-q" in options else "wrote r.json\n"
    if not shows:
        assert said == wrote
        return
    lines = said.split("\r\x1b[K")
    assert lines[0] == ""
    assert lines[-1] == wrote  # the line is gone
    assert any(line.startswith("draws     ") and line.endswith(" 1 of 1") for line in lines)


def test_a_time_to_go() -> None:
    assert progress.line("draws", 1, 4, 10.0) == "draws     ━━━━━━━┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ 1 of 4, about 30 s to go"
    assert progress.line("draws", 1, 4, 100.0).endswith("about 5 min to go")
    assert progress.line("draws", 1, 101, 100.0).endswith("about 2.8 h to go")
    assert "to go" not in progress.line("draws", 1, 4, 0.9) + progress.line("draws", 4, 4, 9) + progress.line(
        "draws", 0, 0, 9
    )
