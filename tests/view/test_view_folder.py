"""The folder of the viewer: which names lead inside, and which files are read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.view import folder as folders
from steelyard.view.folder import Folder, Outside
from steelyard.vlm.ordinary import read_ordinary


def refused(act: Callable[[], Any], message: str, kind: type[Exception] = sy.InputError) -> None:
    with pytest.raises(kind, match=message):
        act()


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (7, "not a name"), ("", "not a name"), ("a" * 5000, "not a name"), ("a\x07", "control characters"),
        ("a\\b", "not relative"), ("c:a", "not relative"), ("/a", "not relative"), ("~a", "not relative"),
        ("./", "not a file"), ("a/" * 99 + "b", "not a file"), (".a", "hidden"), ("a/../b", "hidden"), ("a. ", "hidden"),
        ("a ", "hidden"), ("é" * 200, "hidden"),
    ],
)  # fmt: skip
def test_names_outside_a_folder(tmp_path: Path, name: Any, why: str) -> None:
    refused(lambda: Folder(tmp_path).parts(name), why, Outside)


def test_folders_and_files(tmp_path: Path) -> None:
    refused(lambda: Folder(tmp_path / "none"), "is not a folder")
    folder = Folder(tmp_path)
    assert folder.relative("b//c", "a") == "a/b/c"
    assert folder.relative(f"{folder.root}/a/b") == "a/b"
    refused(lambda: folder.relative("/elsewhere/a"), "absolute", Outside)
    refused(lambda: read_ordinary(tmp_path, 9, "picture"), "the picture is a folder|the picture cannot be read")
    refused(lambda: read_ordinary(tmp_path / "none", 9, "picture"), "there is no such picture")
    refused(lambda: read_ordinary(write(tmp_path / "a", "0123456789"), 9, "picture"), "picture")


def outside(call: Any) -> str:
    with pytest.raises(Outside) as refused:
        call()
    return str(refused.value)


@pytest.fixture
def held(tmp_path: Path) -> Folder:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a.json").write_bytes(b"abc")
    return Folder(tmp_path)


def test_a_folder_behind_a_link_is_outside(held: Folder, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(tmp_path / "sub", target_is_directory=True)
    assert outside(lambda: held.data("way/deep")) == "a link"
    assert held.data("sub/deep") == Path(held.root) / "sub" / "deep"


def test_a_file_that_resolves_elsewhere_is_outside(held: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.os.path, "realpath", lambda path: "/elsewhere")
    assert outside(lambda: held.path("sub/a.json")) == "a link"


def test_a_folder_of_too_many_files_is_outside(held: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [name for name, _ in held.entries(".json")] == ["sub/a.json"]
    monkeypatch.setattr(folders, "MOST_FILES", 0)
    assert outside(lambda: held.data("sub")) == "too many files"
    assert list(held.entries(".json")) == []


def test_folders_deeper_than_that_are_passed_over(held: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path(held.root) / "sub" / "deep" / "b.json").write_bytes(b"abc")
    monkeypatch.setattr(folders, "DEEPEST", 1)
    assert [name for name, _ in held.entries(".json")] == ["sub/a.json"]


def test_files_are_read_where_folders_cannot_be_anchors(held: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = held.read("sub/a.json", 9), held.head("sub/a.json", 2)
    monkeypatch.setattr(folders, "ANCHORED", False)
    monkeypatch.setattr("steelyard.core.opening.ANCHORED", False)
    assert (held.read("sub/a.json", 9), held.head("sub/a.json", 2)) == before == (b"abc", b"ab")


@pytest.mark.skipif(os.name == "nt", reason="a folder cannot be opened there")
def test_a_folder_is_no_file(held: Folder) -> None:
    assert outside(lambda: held.head("sub", 2)) == "not a plain file"
