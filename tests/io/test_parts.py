"""Temporary files and folders: held ones stay, those of the dead go; a folder is swapped whole, or comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.io import parts
from steelyard.io.formats import folder as folders
from steelyard.io.write import write_text
from steelyard.scale.engines import Local

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks that end with their process")


@pytest.fixture(autouse=True)
def _a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_swept", set())


@needs_locks
def test_what_the_dead_left_is_swept_and_what_is_held_is_not(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from steelyard.io import parts\n" \
           "file = parts.part_file(Path(sys.argv[1])); folder = parts.part_folder(Path(sys.argv[1])); folder.__enter__()\n" \
           "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"  # fmt: skip
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60)
    assert len(list(tmp_path.iterdir())) == 2
    name, file = parts.part_file(tmp_path)
    (tmp_path / ".steelyard-notes.txt").touch()  # the user's
    with file, parts.part_folder(tmp_path) as held:
        write_text(tmp_path / "report.md", "new")
        assert sorted(tmp_path.iterdir()) == sorted(
            [Path(name), held, tmp_path / "report.md", tmp_path / ".steelyard-notes.txt"]
        )


@needs_locks
def test_a_link_is_not_followed_when_sweeping(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / f"{parts.PREFIX}x{parts.SUFFIX}").symlink_to(tmp_path / "mine")
    parts.sweep(tmp_path)
    assert (tmp_path / "mine" / "file").exists()


@pytest.mark.parametrize("can", [True, False], ids=["in one step", "moved aside"])
def test_a_folder_is_swapped_with_what_it_holds_beside(
    can: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can:
        monkeypatch.setattr(folders, "exchange", lambda a, b: False)
    goal = tmp_path / "labels"
    (goal / "pictures").mkdir(parents=True)
    (goal / "pictures" / "a.jpg").write_bytes(b"a")
    (goal / "a.txt").write_text("old", encoding="utf-8")
    goal.chmod(0o750)
    folders.write_folder([("a.txt", "new"), ("train/b.txt", "b")], goal)
    contents = {str(p.relative_to(goal)).replace(os.sep, "/"): p.read_bytes() for p in goal.rglob("*") if p.is_file()}
    assert contents == {"a.txt": b"new", "train/b.txt": b"b", "pictures/a.jpg": b"a"}
    assert list(tmp_path.iterdir()) == [goal]
    if sys.platform != "win32":
        assert goal.stat().st_mode & 0o777 == 0o750


def test_a_folder_that_was_moved_aside_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a run leaves it that is killed between its two steps."""
    goal = tmp_path / "labels"
    goal.mkdir()
    (goal / "a.txt").write_text("old", encoding="utf-8")
    rename = os.rename

    def dies(a: Path, b: Path) -> None:
        if b == goal:
            raise KeyboardInterrupt
        rename(a, b)

    monkeypatch.setattr(folders, "exchange", lambda a, b: False)
    monkeypatch.setattr(os, "rename", dies)
    with pytest.raises(KeyboardInterrupt):
        folders.write_folder([("a.txt", "new")], goal)
    monkeypatch.setattr(os, "rename", rename)
    assert not goal.exists()
    folders.recover(goal)
    assert (goal / "a.txt").read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [goal]


def test_the_folder_one_stands_in_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    folders.write_folder([("a.txt", "new")], Path())
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new"
    assert Path.cwd().exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_workers_know_when_their_driver_is_gone() -> None:
    """The thread that waits for it runs in each of them."""
    engine = Local(2)
    try:
        assert dict(engine.run(names_of_threads, [0, 1]))[0]
    finally:
        engine.close()


def names_of_threads(_: int) -> bool:
    import threading

    return any(thread.name == "end with parent" and thread.daemon for thread in threading.enumerate())
