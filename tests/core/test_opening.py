"""The one way to open files: regular ones, inside the folder that is allowed, unpacked within a budget."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import threading
import zipfile
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.core import opening
from steelyard.core.opening import (
    check_readable,
    confine_to,
    most_unpacked,
    open_archive,
    open_regular,
    read_regular,
    unpack_limit,
)

posix = pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are POSIX's")
MB = 1 << 20


def refused(path: Any, *said: str, **more: Any) -> None:
    """Both ways refuse it with one sentence that names the path."""
    for way in (check_readable, open_regular, read_regular):
        own = {} if way is read_regular else more
        with pytest.raises(sy.InputError) as caught:
            way(path, "", **own)
        for text in (os.fspath(path), *said):
            assert text in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"abc"
        assert read_regular(str(tmp_path / name), most=3) == b"abc"
    with pytest.raises(sy.InputError, match="larger than 2 bytes"):
        read_regular(tmp_path / "a", most=2)


@posix
def test_what_is_not_a_regular_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    (tmp_path / "to_zero").symlink_to("/dev/zero")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the name of a socket is short
        listening.bind("socket")
        refused(tmp_path / "socket", "is a socket, not a regular file")
    refused(tmp_path, "is a folder, not a file")
    for pipes in (False, True):
        refused(tmp_path / "pipe", "is a named pipe, not a regular file", pipes=pipes)
        refused(tmp_path / "to_pipe", "is a named pipe, not a regular file", pipes=pipes)
        refused(tmp_path / "to_zero", "is a device, not a regular file", pipes=pipes)
    refused("/dev/zero", "is a device, not a regular file")
    refused(tmp_path / "gone", "there is no such file")
    refused(tmp_path / "a" / "b", "there is no such file")
    refused(tmp_path / "round", "cannot be read")
    with pytest.raises(sy.InputError, match="null byte"):
        open_regular("a\0b")


@posix
def test_unnamed_pipes_are_for_users_only(tmp_path: Path) -> None:
    """`<(command)` and standard input are read where the command line names them, not where data do."""
    program = (
        "import sys\nfrom steelyard.core.opening import open_regular\n"
        "path, pipes = sys.argv[1], sys.argv[2] == 'yes'\n"
        "try:\n    print(open_regular(path, pipes=pipes).read())\nexcept ValueError as error:\n    print(error)\n"
    )
    (tmp_path / "link").symlink_to("/dev/stdin")
    for path, pipes, expected in (
        ("/dev/stdin", "yes", "b'abc'"),
        ("/dev/fd/0", "yes", "b'abc'"),
        ("/dev/stdin", "no", "is a named pipe"),
        (str(tmp_path / "link"), "yes", "is a named pipe"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, path, pipes], input="abc", capture_output=True, text=True, check=True
        )
        assert expected in done.stdout


@posix
def test_confined_to_a_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (inside / "deep" / "a").write_bytes(b"in")
    (outside / "b").write_bytes(b"out")
    (tmp_path / "inside").write_bytes(b"begins with the same letters")
    (inside / "back").symlink_to("deep/a")
    (inside / "away").symlink_to("../out/b")
    (inside / "folder").symlink_to("../out")
    os.mkfifo(inside / "pipe")
    with confine_to(inside):
        assert read_regular(inside / "deep" / "a") == read_regular(inside / "back") == b"in"
        assert read_regular(inside / "deep" / ".." / "back") == b"in"
        for path in (
            outside / "b", inside / "away", inside / "folder" / "b", inside / ".." / "out" / "b", tmp_path / "inside",
            inside, "/dev/zero", "/dev/stdin",
        ):  # fmt: skip
            refused(path, "lies outside the folder that is shown", pipes=True)
        refused(inside / "pipe", "is a named pipe")
        with open(inside / "sparse", "wb") as file:  # takes no room on the disk
            file.truncate(1 << 40)
        with pytest.raises(sy.InputError, match="sparse: is larger than 1,024 MB"):
            read_regular(inside / "sparse")
        seen: list[str] = []

        def other() -> None:
            try:
                read_regular(outside / "b")
            except sy.InputError as error:
                seen.append(str(error))

        thread = threading.Thread(target=copy_context().run, args=(other,))
        thread.start()
        thread.join()
        assert len(seen) == 1
    assert read_regular(outside / "b") == b"out"


def test_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 MB, or 200 times the packed size where that is more."""
    assert most_unpacked(0) == most_unpacked(MB) == 256 * MB
    assert most_unpacked(2 * MB) == 400 * MB
    assert most_unpacked(5 << 30) == 200 * (5 << 30)  # 5 GB packed 10 : 1 pass
    for text, expected in (("2GB", 2 << 30), ("800 mb", 800 * MB), ("1000", 1000), ("3k", 3072), ("none", None)):
        monkeypatch.setenv(opening.VARIABLE, text)
        assert unpack_limit() == expected
    assert most_unpacked(1) > 1 << 60
    for text in ("much", "-1", "0", "1e9", "2GBs", "1 PB"):
        monkeypatch.setenv(opening.VARIABLE, text)
        with pytest.raises(sy.InputError, match=r"STEELYARD_UNPACK_LIMIT: '.*' is not a size\. Write \"2GB\""):
            unpack_limit()


def test_gzip_within_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = b"dish,item,weight\nA,1,100\n"
    monkeypatch.setenv(opening.VARIABLE, "1MB")
    whole = gzip.compress(table + b"\n" * 900_000)
    hidden = whole + gzip.compress(b"")  # its last member declares nothing
    for data in (whole, hidden):
        (tmp_path / "t.csv.gz").write_bytes(data)
        with pytest.raises(sy.InputError, match=r"more than 1 MB once unpacked.*set STEELYARD_UNPACK_LIMIT"):
            sy.evaluate("weights", tmp_path / "t.csv.gz", tmp_path / "t.csv.gz")
    monkeypatch.setenv(opening.VARIABLE, "60MB")  # a line counts 64 bytes more: 900,000 blank ones are 58.5 MB
    report = sy.evaluate("weights", tmp_path / "t.csv.gz", tmp_path / "t.csv.gz", ["mae"], confidence=None)
    assert report["mae"].value == 0.0


def test_what_gzip_declares_is_refused_unread(tmp_path: Path) -> None:
    """Nothing is unpacked where the trailer declares too much; one that declares the impossible is damaged."""
    path = tmp_path / "t.csv.gz"
    body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"damaged " * (MB // 8)
    path.write_bytes(body + (300 * MB).to_bytes(4, "little"))
    with pytest.raises(sy.InputError, match="more than 256 MB once unpacked"):
        sy.evaluate("weights", path, path)
    path.write_bytes(body + (2000 * MB).to_bytes(4, "little"))
    with pytest.raises(sy.InputError, match="cannot be unpacked"):
        sy.evaluate("weights", path, path)


def test_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("one", b"1")
        file.writestr("many", b"\0" * (3 * MB))
    with open_archive(path) as archive:
        assert list(archive.members) == ["one", "many"]
        assert archive.read("one") == b"1"
    monkeypatch.setenv(opening.VARIABLE, "2MB")
    with pytest.raises(sy.InputError, match="more than 2 MB once unpacked"), open_archive(path):
        pass
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("one", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("one", b"2")
    with pytest.raises(sy.InputError, match="holds 'one' twice"), open_archive(path):
        pass
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(sy.InputError, match="cannot be unpacked: File is not a zip file"), open_archive(path):
        pass


def test_members_that_lie(tmp_path: Path) -> None:
    """A member never gives more than it declares; encrypted, damaged and unknown ones are one sentence."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m", b"\0" * 5000)
    data = path.read_bytes()
    central = data.index(b"PK\x01\x02")

    def changed(at: int, new: bytes) -> bytes:
        return data[:at] + new + data[at + len(new) :]

    for made, said in (
        (changed(central + 24, (10).to_bytes(4, "little")), "Bad CRC-32"),
        (changed(central + 8, b"\x01"), "it is encrypted"),
        (changed(central + 10, (99).to_bytes(2, "little")), "compression"),
        (changed(34, b"\xff" * 4), "cannot be unpacked"),
    ):
        path.write_bytes(made)
        with pytest.raises(sy.InputError, match=rf"cannot be unpacked.*{said}|{said}"), open_archive(path) as archive:
            archive.read("m")
