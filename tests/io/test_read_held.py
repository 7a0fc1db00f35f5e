"""What is held while it is read or written: locks, temporary files and folders, where others were faster."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

from steelyard.io import excel, locks, parts, write


def test_a_sweeper_that_was_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or folder that another process holds is left to it, and a new one is made."""
    answers = iter([False, True, False, True])
    monkeypatch.setattr(parts, "_try_lock", lambda handle: next(answers))
    path, file = parts.part_file(tmp_path)
    file.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert os.path.exists(path)
    with parts.part_folder(tmp_path) as folder:
        assert folder.is_dir()
        assert len(list(tmp_path.iterdir())) == 4
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows opens no folders")
def test_a_folder_that_is_gone_before_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = parts._open_handle
    made: list[Path] = []

    def slow(path: Path) -> int | None:
        made.append(path)
        if len(made) == 1:
            path.rmdir()
        return opened(path)

    monkeypatch.setattr(parts, "_open_handle", slow)
    with parts.part_folder(tmp_path) as folder:
        assert folder == made[1]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows opens no folders: the folder is made, and removed in the end."""
    monkeypatch.setattr(sys, "platform", "win32")
    with parts.part_folder(tmp_path) as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_another_process_is_removing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_open_lock", lambda name: None)

    def held() -> None:
        with locks.hold_lock(tmp_path / "a", patience=0.0):
            raise AssertionError("it is held")

    with refuses("E-cannot-write", str(tmp_path / "a"), "held", "0"):
        held()


@pytest.mark.skipif(sys.platform == "win32", reason="a lock that cannot be opened is being removed there")
def test_a_lock_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*args: Any) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(locks.os, "open", denied)

    def held() -> None:
        with locks.hold_lock(tmp_path / "a"):
            raise AssertionError("it is held")

    with refuses("E-cannot-write", str(tmp_path / "a"), str(os.strerror(errno.EACCES))):
        held()


def test_writing_that_is_interrupted(tmp_path: Path) -> None:
    """What was there stays, nothing lies beside it, and the interruption goes on."""
    (tmp_path / "a").write_bytes(b"old")

    def chunks() -> Any:
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write.write_durably(tmp_path / "a", chunks())
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_sheet_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MOST_ROWS", 2)
    excel.write_workbook(tmp_path / "a.xlsx", {"scores": (["n"], [[1]])})
    assert (tmp_path / "a.xlsx").exists()
    with refuses("E-too-large", "'scores'"):
        excel.write_workbook(tmp_path / "b.xlsx", {"scores": (["n"], [[1], [2]])})
    assert not (tmp_path / "b.xlsx").exists()
