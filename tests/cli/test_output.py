"""What a command ends with when its output cannot be written, and what becomes of files that it writes over."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.forked import started
from support.tiers import slow_rows_except

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.io.write import write_bytes, write_text

COMMAND = f'"{sys.executable}" -m steelyard'
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and modes of POSIX")
TRUTH = "dish,item,weight\n" + "".join(f"{dish},1,100\n" for dish in range(12))
PRED = "dish,item,weight\n" + "".join(f"{dish},1,{108 + dish % 3}\n" for dish in range(12))  # off by 8, 9 or 10
BAD_BOXES = '[{"image_id": 9, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5}]'
BOXES = (
    '{"images": [{"id": 1, "width": 9, "height": 9}], "categories": [{"id": 1, "name": "a"}], "annotations": '
    '[{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}]}'
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TRUTH)
    (tmp_path / "a.csv").write_text(PRED)
    (tmp_path / "boxes.json").write_text(BOXES)
    (tmp_path / "bad.json").write_text(BAD_BOXES)
    sy.evaluate("weights", tmp_path / "t.csv", tmp_path / "a.csv", ["mae"]).to_json(tmp_path / "r.json")
    return tmp_path


def shell(line: str, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], cwd=where, capture_output=True, text=True, timeout=60, check=False
    )


@posix
def test_a_workbook_on_a_full_disk(here: Path) -> None:
    """openpyxl writes sheets to temporary files: one sentence, and no traceback after it."""
    pytest.importorskip("openpyxl")
    program = (
        "import atexit, resource, sys\n"
        "file_size = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "atexit.register(resource.setrlimit, resource.RLIMIT_FSIZE, file_size)\n"  # for what measures the process
        "import openpyxl\n"
        "from steelyard.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, file_size[1]))\n"
        "sys.argv = ['steelyard', 'evaluate', 'weights', 't.csv', 'a.csv', '-m', 'mae', '-o', 'out.xlsx']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=here, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "out.xlsx: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (here / "out.xlsx").exists()


FAILING = [
    ("gate r.json --fail-if 'mae > 1'", 1),
    ("gate r.json --fail-if 'mae > 1' --json", 1),
    ("gate r.json --fail-if 'mae > 1000'", 0),
    ("check boxes boxes.json bad.json", 1),
    ("check boxes boxes.json bad.json --json", 1),
]
GONE = {"a reader that is gone": "| true", "a closed output": ">&-", "a full device": "> /dev/full"}


@posix
@pytest.mark.parametrize("ending", GONE)
@pytest.mark.parametrize(("line", "code"), slow_rows_except(FAILING, FAILING[0], FAILING[3]))
def test_the_outcome_stands(here: Path, line: str, code: int, ending: str) -> None:
    if "full" in ending and not Path("/dev/full").exists():
        ending = "a closed output"
    wait = "sleep 0.2; " if ending == "a reader that is gone" else ""  # until the reader is gone
    done = shell(f"({wait}{COMMAND} {line}) {GONE[ending]}", here)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("standard output cannot be written") == (ending != "a reader that is gone")


@posix
@pytest.mark.parametrize("line", ["evaluate weights t.csv a.csv -m mae --ci none -o out.json", "metrics", "--help"])
def test_output_that_is_lost_is_an_error(here: Path, line: str) -> None:
    for redirection in (">&-", *(["> /dev/full"] if Path("/dev/full").exists() else [])):
        done = shell(f"{COMMAND} {line} {redirection}", here)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("steelyard: standard output cannot be written: ")
        assert "Traceback" not in done.stderr
        assert (here / "out.json").exists() == ("out.json" in line)  # files are whole before anything is printed
    done = shell(f"(sleep 0.2; {COMMAND} {line}) | true", here)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@posix
def test_every_stream_may_be_closed(here: Path) -> None:
    done = shell(f"{COMMAND} gate r.json --fail-if 'mae > 1' <&- >&- 2>&-", here)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert shell(f"{COMMAND} parse <&-", here).returncode == 2


@posix
def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    for mode in (0o600, 0o640, 0o666):
        path = tmp_path / "kept.json"
        path.write_text("old")
        path.chmod(mode)
        write_text(path, "new")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "fresh", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["fresh", "kept.json"]


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives a file away")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@posix
def test_links_are_written_through(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    real = there / "real.json"
    real.write_text("old")
    real.chmod(0o600)
    (tmp_path / "one.json").symlink_to("there/real.json")
    (tmp_path / "two.json").symlink_to("one.json")
    write_text(tmp_path / "two.json", "new")
    assert (tmp_path / "two.json").is_symlink()
    assert (tmp_path / "one.json").is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o600)
    assert os.listdir(there) == ["real.json"]
    (tmp_path / "ahead").symlink_to(there / "not_yet")
    write_text(tmp_path / "ahead", "new")
    assert (there / "not_yet").read_text() == "new"
    for name, other in (("x", "y"), ("y", "x")):
        (tmp_path / name).symlink_to(other)
    with pytest.raises(sy.InputError, match="cannot be written"):
        write_text(tmp_path / "x", "new")
    assert os.readlink(tmp_path / "x") == "y"


@posix
def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with started(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_bytes(pipe, b"through")
        assert reader.communicate()[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sy.InputError, match=r"kept\.json: cannot be written: No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.json"]


def test_half_a_character_is_named(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=r"holds half a character, '\\udce9'"):
        write_text(tmp_path / "x", "caf\udce9")
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_a_name_that_is_not_utf8(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    (here / name).write_text(TRUTH)
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "evaluate", "weights", name, "a.csv"], cwd=here, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "steelyard: 'caf\\udce9.csv' is not UTF-8. Rename the file: its name is printed in the report. [E-invalid-text]\n"
    )
    with pytest.raises(sy.InputError, match="half a character"):
        sy.evaluate("weights", here / name, here / "a.csv").to_json(here / "out.json")


@posix
def test_a_folder_that_is_gone(here: Path) -> None:
    done = shell(f"mkdir gone; cd gone; rmdir ../gone; {COMMAND} evaluate weights t.csv a.csv", here)
    assert done.returncode == 2
    assert done.stderr == "steelyard: the current folder is gone. Change to one that exists. [E-missing-file]\n"


@pytest.mark.parametrize(
    ("task", "ending"),
    [("boxes", ".csv"), ("oriented", ""), ("weights", ""), ("tracking", ".csv"), ("distributions", "")],
)
def test_a_path_of_5000_characters_is_a_finding_of_the_check(here: Path, steelyard, task: str, ending: str) -> None:
    done = steelyard("check", task, "x" * 5000 + ending, "bad.json", "--json", cwd=here)
    findings = [(each["code"], each["side"]) for each in json.loads(done.stdout)["findings"]]
    assert (done.returncode, findings[0], done.stderr) == (1, ("unreadable", "truth"), "")


@pytest.mark.parametrize("line", ["evaluate weights {} a.csv", "report {}", "view {}"])
def test_a_path_of_5000_characters(here: Path, steelyard, line: str) -> None:
    done = steelyard(*line.format("x" * 5000 + ".csv").split(), cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "lacks", "message"),
    [
        (["-o", "a.json", "-o", "t.xlsx"], "openpyxl", r"cannot write 't.xlsx': openpyxl is not installed.*\[excel\]"),
        (
            ["-o", "a.json", "--figures", "f"],
            "vl_convert",
            r"PNG and PDF need the package vl-convert-python.*\[report\]",
        ),
        (["-o", "a.json", "--html", "./a.json"], "", r"'\./a\.json' is to be written twice"),
        (["-o", "a.json", "-o", "t.csv/b.json"], "", r"t\.csv/b\.json: cannot be written: '.*t\.csv' is not a folder"),
        (["-o", "a.json", "--units", "t.csv/u.csv"], "", r"'.*t\.csv' is not a folder"),
        (["-o", "a.json", "--tables", "t.csv/u"], "", r"'.*t\.csv' is not a folder"),
        (["-o", "a.json", "-o", "b.doc"], "", r"cannot write 'b\.doc': unknown file extension"),
    ],
)
def test_nothing_is_written_where_one_output_cannot_be(
    here: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], lacks: str, message: str
) -> None:
    monkeypatch.chdir(here)
    if lacks:
        monkeypatch.setitem(sys.modules, lacks, None)
    before = sorted(here.iterdir())
    with pytest.raises(sy.InputError, match=message):
        cli(["evaluate", "weights", "t.csv", "a.csv", "--draws", "100", *options], standalone_mode=False)
    assert sorted(here.iterdir()) == before


def test_a_form_that_a_result_has_not_keeps_the_others_away(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    (here / "g.json").write_text(sy.gate("r.json", ["mae > 1"]).to_json())
    with pytest.raises(sy.InputError, match="a gate has no form 'latex'"):
        cli(["report", "g.json", "-o", "g.md", "-o", "g.tex"], standalone_mode=False)
    assert not (here / "g.md").exists()


def test_a_stored_result_is_written_as_a_page_by_its_own_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sy.evaluate("labels", [0, 1, 1], [0, 1, 0], "accuracy").to_json("r.json")
    cli(["report", "r.json", "--html", "page.html"], standalone_mode=False)
    cli(["report", "r.json", "-o", "same.html"], standalone_mode=False)
    assert Path("page.html").read_bytes() == Path("same.html").read_bytes()
