"""The folder of the viewer: which names lead inside, and which files are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

from steelyard.view import folder as folders
from steelyard.view.folder import Folder, Outside
from steelyard.vlm.ordinary import read_ordinary


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (7, (Outside, "name")), ("", (Outside, "name")), ("a" * 5000, (Outside, "name")), ("a\x07", (Outside, "characters")),
        ("a\\b", (Outside, "relative")), ("c:a", (Outside, "relative")), ("/a", (Outside, "relative")), ("~a", (Outside, "relative")),
        ("./", (Outside, "file")), ("a/" * 99 + "b", (Outside, "file")), (".a", (Outside, "hidden")), ("a/../b", (Outside, "hidden")), ("a. ", (Outside, "hidden")),
        ("a ", (Outside, "hidden")), ("é" * 200, (Outside, "hidden")),
    ],
)  # fmt: skip
def test_names_outside_a_folder(tmp_path: Path, name: Any, why: tuple[str, ...]) -> None:
    with refuses(*why):
        Folder(tmp_path).parts(name)


def test_folders_and_files(tmp_path: Path) -> None:
    with refuses("E-unreadable-file", "none"):
        Folder(tmp_path / "none")
    folder = Folder(tmp_path)
    assert folder.relative("b//c", "a") == "a/b/c"
    assert folder.relative(f"{folder.root}/a/b") == "a/b"
    with refuses(Outside, "absolute"):
        folder.relative("/elsewhere/a")
    with refuses("E-unreadable-file", "picture"):
        read_ordinary(tmp_path, 9, "picture")
    with refuses("E-missing-file", "picture"):
        read_ordinary(tmp_path / "none", 9, "picture")
    with refuses("E-too-large", "picture"):
        read_ordinary(write(tmp_path / "a", "0123456789"), 9, "picture")


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
