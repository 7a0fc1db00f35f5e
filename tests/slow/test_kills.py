"""kill -9 at random moments of every command that writes: the old file or the new one, whole, and the next run is exact.

`make kills` does it fifty times each (STEELYARD_KILLS), with the charts, which take seconds to draw; the ordinary suite
once. Every second moment is drawn over the time that an undisturbed run takes, every other follows the first sign of a
file that is being written. A kill counts where it found the command alive.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.scale_help import write_shards
from support.tiers import slow_except

import steelyard as sy

KILLS = int(os.environ.get("STEELYARD_KILLS", "1"))
ALL = KILLS >= 10  # the commands that draw charts too
TURNS = 3 * KILLS + 5  # in which so many kills must have come in time
DEADLINE = 120.0  # seconds that a run may take, and that what it started may outlive it: else it hangs
Contents = dict[str, bytes]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

# One process imports all there is and forks a fresh command for every turn, so that moments fall into the work and not
# into imports. What a command starts is found by a mark in its environment.
ZYGOTE = """
import json, os, sys, tempfile
import steelyard.cli.main, steelyard.cli.evaluate, steelyard.cli.convert, steelyard.cli.gate, steelyard.cli.report
if sys.argv[1:] == ["charts"]:
    import vl_convert
import steelyard.api, steelyard.files, steelyard.gating, steelyard.scale.run, steelyard.render.page.report, pyarrow.parquet
from steelyard.core import catalogue
for task in ("boxes", "weights", "labels"):
    catalogue.find_task(task)
while line := sys.stdin.readline():
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.environ.update(json.loads(line)["env"])
        tempfile.tempdir = None
        try:
            sys.argv = ["steelyard", *json.loads(line)["args"]]
            steelyard.cli.main.main()
        except SystemExit as end:
            os._exit(end.code or 0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    print(json.dumps(pid), flush=True)
    sys.stdin.readline()  # until then nobody else gets the number
    print(json.dumps(os.waitpid(pid, 0)[1]), flush=True)
"""


class Commands:
    """Runs commands that can be killed."""

    def __init__(self) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE, *(["charts"] if ALL else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        self.answers: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")  # it has ended

    def start(self, args: list[str], env: dict[str, str]) -> int:
        return self._asked(json.dumps({"args": args, "env": env}))

    def wait(self) -> int:
        """How the command ended: 0, or the signal."""
        return self._asked("")

    def _asked(self, line: str) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        try:
            answer = self.answers.get(timeout=DEADLINE)
        except queue.Empty:
            answer = ""
        if not answer:
            self.end()
            raise AssertionError(f"ended, or no answer in {DEADLINE:g} s: {self.said()}")
        return int(json.loads(answer))

    def end(self) -> None:
        """End what hangs: the command, and the process that waits for it."""
        if self.process.poll() is None:
            for process in [*psutil.Process(self.process.pid).children(recursive=True), self.process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=DEADLINE)
        finally:
            self.end()
            self.reader.join(DEADLINE)
        self.process.stdout.close()
        self.log.close()


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    running = Commands()
    yield running
    running.close()


def contents(folder: Path) -> Contents:
    """All files of a folder, hidden ones too. A PDF's lines are sorted: names in it come in any order."""
    by_name = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            by_name[str(path.relative_to(folder))] = sorted_lines(data) if path.suffix == ".pdf" else data
    return by_name


def sorted_lines(data: bytes) -> bytes:
    return b"\n".join(sorted(data.split(b"\n")))


def shown(folder: Path) -> Contents:
    """The files that are not temporary."""
    return {name: data for name, data in contents(folder).items() if ".steelyard-" not in name}


def marked(mark: str) -> list[psutil.Process]:
    """Processes that a run has started, or that these have: they carry its mark."""
    collected = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("STEELYARD_TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                collected.append(process)
        except (psutil.Error, OSError):
            continue
    return collected


def wait_for_none(mark: str) -> None:
    """All that a run started is gone, soon."""
    deadline = time.monotonic() + DEADLINE
    while left := marked(mark):
        assert time.monotonic() < deadline, [process.cmdline() for process in left]
        time.sleep(0.02)


class Killed:
    """Turns of one command over `out`, whose old contents are `old`."""

    def __init__(self, commands: Commands, tmp_path: Path, seed: int) -> None:
        self.commands, self.folder, self.rng = commands, tmp_path, random.Random(seed)
        self.temporary = tmp_path / "temporary"
        self.temporary.mkdir()
        self.turn = self.kills = self.in_time = 0

    def start(self, args: list[str]) -> tuple[int, str]:
        self.turn += 1
        mark = f"{self.folder}-{self.turn}"
        env = {"STEELYARD_TEST_MARK": mark, "TMPDIR": str(self.temporary)}
        return self.commands.start(args, env), mark

    def whole(self, args: list[str]) -> float:
        """An undisturbed run; gives how long it took."""
        begin = time.monotonic()
        _, mark = self.start(args)
        assert self.commands.wait() == 0, self.commands.said()
        took = time.monotonic() - begin
        wait_for_none(mark)
        return took

    def kill(self, args: list[str], out: Path, took: float) -> None:
        """Kill the command somewhere in the time that it takes, or when it begins to write."""
        before = touched(out)
        pid, mark = self.start(args)
        self.kills += 1
        if self.kills % 2:
            time.sleep(self.rng.uniform(0, took))
        else:
            end = time.monotonic() + took
            while time.monotonic() < end and touched(out) == before:
                time.sleep(0.0002)
            time.sleep(self.rng.uniform(0, 0.004))
        os.kill(pid, signal.SIGKILL)
        status = self.commands.wait()
        assert status in (0, signal.SIGKILL), self.commands.said()
        self.in_time += status == signal.SIGKILL
        wait_for_none(mark)

    def turns(
        self, args: list[str], out: Path, lay: Callable[[], None], fits: Callable[[Contents, Contents, Contents], bool]
    ) -> None:
        """Lay the old state, kill, look, run again, look. `fits(found, old, new)` says what a kill may leave."""
        lay()
        old = contents(out)
        took = self.whole(args)
        new = contents(out)
        assert new != old
        for _ in range(TURNS):
            lay()
            assert contents(out) == old
            self.kill(args, out, took)
            assert fits(shown(out), old, new), sorted(shown(out))
            took = min(took, self.whole(args))
            assert contents(out) == new  # hidden files too: nothing temporary is left
            assert [path for path in self.temporary.iterdir() if not pythons_own(path)] == []
            if self.in_time == KILLS:
                break
        print(f"{self.in_time} of {self.kills} kills came in time")
        assert self.in_time == KILLS


def pythons_own(path: Path) -> bool:
    """Whether Python's `tempfile` wrote it, as it does once a process to see whether the folder can be written to."""
    return path.is_file() and len(path.name) == 8 and path.read_bytes() in (b"", b"blat")


def touched(folder: Path) -> list[tuple[str, int]]:
    """What lies in a folder and beside it, and when it was changed last: other where a command has begun to write."""
    collected = []
    for path in (folder, *sorted(folder.parent.iterdir()), *sorted(folder.rglob("*"))):
        with contextlib.suppress(FileNotFoundError):
            collected.append((str(path), path.stat().st_mtime_ns))
    return collected


def whole(result: Contents, old: Contents, new: Contents) -> bool:
    """All of the old or all of the new."""
    return result in (old, new)


def each_whole(result: Contents, old: Contents, new: Contents) -> bool:
    """Each file the old or the new one, and none is lost: files that are written one by one."""
    return set(old) <= set(result) <= set(new) and all(
        data in (old.get(name), new.get(name)) for name, data in result.items()
    )


def boxes(folder: Path, images: int = 40, shift: int = 0) -> tuple[str, str]:
    """COCO files of drawn boxes."""
    rng = random.Random(5)
    truth: dict[str, Any] = {
        "images": [{"id": i, "file_name": f"{i:03d}.jpg", "width": 640, "height": 480} for i in range(images)],
        "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "plate"}],
        "annotations": [],
    }
    collected = []
    for i in range(images):
        for _ in range(3):
            box = [shift + rng.randrange(500), rng.randrange(400), rng.randrange(5, 90), rng.randrange(5, 70)]
            number = len(truth["annotations"]) + 1
            row = {"image_id": i, "category_id": rng.choice([1, 2]), "bbox": box}
            truth["annotations"].append({**row, "id": number, "area": box[2] * box[3], "iscrowd": 0})
            collected.append({**row, "bbox": [box[0] + rng.randrange(40), *box[1:]], "score": rng.random()})
    (folder / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    (folder / "pred.json").write_text(json.dumps(collected), encoding="utf-8")
    return str(folder / "truth.json"), str(folder / "pred.json")


def out_of(tmp_path: Path, files: dict[str, str]) -> tuple[Path, Callable[[], None]]:
    """A folder for results, and how it is laid with old files."""
    out = tmp_path / "out"

    def lay() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")

    return out, lay


WRITTEN = {
    "json": ["-o", "report.json"],
    "json with draws": ["-o", "report.json", "--details", "--save-draws"],  # a baseline of `gate`
    "markdown": ["-o", "report.md"],
    "units": ["--units", "report.csv"],
}
if ALL:
    WRITTEN["page"] = ["--html", "report.html"]


@pytest.mark.parametrize("what", slow_except(WRITTEN, "json"))
def test_reports_over_existing_files(what: str, commands: Commands, tmp_path: Path) -> None:
    option, name, *more = WRITTEN[what]
    out, lay = out_of(tmp_path, {name: "old " * 9999})
    args = ["evaluate", "boxes", *boxes(tmp_path), "-m", "map50", "--draws", "100", option, str(out / name), *more]
    Killed(commands, tmp_path, 1).turns(args, out, lay, whole)


def labels(folder: Path) -> tuple[str, str]:
    """Tables of labels, some of them wrong."""
    rows = "id,label\n" + "".join(f"{i},{'xyz'[i % 3]}\n" for i in range(60))
    (folder / "truth.csv").write_text(rows, encoding="utf-8")
    (folder / "pred.csv").write_text(rows.replace("z", "y"), encoding="utf-8")
    return str(folder / "truth.csv"), str(folder / "pred.csv")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tables", "figures"] if ALL else ["tables"])
def test_folders_over_existing_ones(what: str, commands: Commands, tmp_path: Path) -> None:
    out, lay = out_of(tmp_path, {"confusion.csv" if what == "tables" else "confusion.svg": "old"})
    args = ["evaluate", "labels", *labels(tmp_path), "-m", "accuracy", "--draws", "100", f"--{what}", str(out)]
    Killed(commands, tmp_path, 2).turns(args, out, lay, each_whole)


@pytest.mark.slow
def test_junit_of_a_gate(commands: Commands, tmp_path: Path) -> None:
    sides, result = boxes(tmp_path), tmp_path / "result.json"
    sy.evaluate("boxes", *sides, "map50", draws=100).to_json(result)
    out, lay = out_of(tmp_path, {"junit.xml": "<old/>" * 999})
    args = ["gate", str(result), "--fail-if", "map50 < 0", "--junit", str(out / "junit.xml")]
    Killed(commands, tmp_path, 3).turns(args, out, lay, whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels.csv", "labels.xml", "labels.json"])
def test_convert_over_a_file(name: str, commands: Commands, tmp_path: Path) -> None:
    out, lay = out_of(tmp_path, {name: "old " * 9999})
    args = ["convert", boxes(tmp_path)[0], str(out / name), "--force"]
    Killed(commands, tmp_path, 4).turns(args, out, lay, whole)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["yolo", "voc"])
def test_convert_over_a_folder(form: str, commands: Commands, tmp_path: Path) -> None:
    """Other labels of the same images lie there, and a file of the user's, which stays."""
    out = tmp_path / "out"
    (tmp_path / "before").mkdir()
    sy.convert(boxes(tmp_path / "before", shift=7)[0], tmp_path / "old", to_format=form)
    (tmp_path / "old" / "notes").mkdir()
    (tmp_path / "old" / "notes" / "mine.txt").write_text("mine", encoding="utf-8")

    def lay() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        shutil.copytree(tmp_path / "old", out / "labels")

    args = ["convert", boxes(tmp_path)[0], str(out / "labels"), "--to", form, "--force"]
    Killed(commands, tmp_path, 5).turns(args, out, lay, whole)
    assert (out / "labels" / "notes" / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_work_of_two_processes(commands: Commands, tmp_path: Path) -> None:
    """The driver is killed: its workers end, and the next run goes on from the states that are there, to the same bytes."""
    write_shards("boxes", tmp_path, 3, 3, units=12)
    out, lay = out_of(tmp_path, {})
    patterns = [str(tmp_path / side / "*.parquet") for side in ("truth", "pred")]
    args = ["evaluate", "boxes", *patterns, "-m", "map50", "-m", "precision", "--draws", "100", "--workers", "2"]
    killed = Killed(commands, tmp_path, 6)
    killed.turns([*args, "--work", str(out / "work"), "-o", str(out / "report.json")], out, lay, each_whole)


@pytest.mark.slow
def test_work_that_is_not_kept(commands: Commands, tmp_path: Path) -> None:
    """Without --work states lie where the system keeps temporary files; those of a killed run go with the next."""
    write_shards("weights", tmp_path, 2, 2, units=12)
    out, lay = out_of(tmp_path, {"report.json": "old"})
    patterns = [str(tmp_path / side / "*.parquet") for side in ("truth", "pred")]
    args = ["evaluate", "weights", *patterns, "-m", "mae", "--draws", "100", "--workers", "1"]
    Killed(commands, tmp_path, 7).turns([*args, "-o", str(out / "report.json")], out, lay, whole)
