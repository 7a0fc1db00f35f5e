"""Files of tracks that few people have: each gives its whole columns, or is refused with what, where and the remedy."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.read_help import write
from support.refusal import refused

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.records import Records
from steelyard.io.sources import read_side
from steelyard.tasks.tracking.files import read_files

pandas = lazy("pandas")

MOT = "1,1,0,0,10,10,1,1,1\n"
KITTI = "{} 1 Car 0 0 -1 0 0 10 10 1 1 1 1 1 1 0"
BOX = '<box frame="0" xtl="1" ytl="2" xbr="3" ybr="5"/>'


def read(
    path: Path, side: str = "truth", form: str = "auto", first: float | None = None, skip: bool = False
) -> Records:
    return read_files(path, path.name, side, form, first, skip)


def columns(records: Records) -> dict[str, Any]:
    return {name: column.tolist() for name, column in records.columns.items()}


def test_a_sequence_whose_folder_is_given(tmp_path: Path) -> None:
    """The folder of one sequence names it; a head without a section [Sequence] says nothing."""
    write(tmp_path, {"walk/gt/gt.txt": MOT, "walk/seqinfo.ini": "[Other]\nseqLength=5\n"})
    assert columns(read(tmp_path / "walk")) == {
        "sequence": ["walk"], "frame": [1], "track": [1], "x": [0.0], "y": [0.0], "w": [10.0], "h": [10.0],
        "flag": [1], "label": [1],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        ("seqLength=5\n", "cannot be read: File contains no section headers."),
        ("[Sequence]\nseqLength=many\n", "seqLength is 'many'. It must be a whole number."),
    ],
    ids=["no section", "a word"],
)
def test_a_head_of_a_sequence_is_refused(tmp_path: Path, ini: str, message: str) -> None:
    write(tmp_path, {"s/gt/gt.txt": MOT, "s/seqinfo.ini": ini})
    assert refused(lambda: read(tmp_path / "s")) == f"{tmp_path / 's' / 'seqinfo.ini'}: {message}"


def packed(path: Path, files: dict[str, str], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_an_archive_of_sequences(tmp_path: Path) -> None:
    """Sequences have the name of their file, or of the folder around gt/gt.txt; macOS lays files of its own beside."""
    files = {"b/gt/gt.txt": MOT, "a.txt": MOT, "__MACOSX/a.txt": "\0", "notes.md": "", "c/": ""}
    assert columns(read(packed(tmp_path / "z.zip", files)))["sequence"] == ["a", "b"]
    assert refused(lambda: read(packed(tmp_path / "z.zip", {"a/s.txt": MOT, "b/s.txt": MOT}))) == (
        "z.zip/b/s.txt: sequence 's' appears twice. Rename one of them."
    )
    assert refused(lambda: read(packed(tmp_path / "z.zip", {"notes.md": ""}))) == (
        "z.zip: holds no .txt files. Pack one <sequence>.txt for each sequence."
    )


def test_a_damaged_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "z.zip", {"s.txt": MOT})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(MOT.encode(), MOT.replace("10", "90").encode(), 1))
    assert refused(lambda: read(path)) == (
        "z.zip/s.txt: cannot be unpacked: Bad CRC-32 for file 's.txt'. Is the file whole?"
    )
    path.write_bytes(whole.replace(b"PK\x01\x02", b"PK\x01\x09"))
    assert refused(lambda: read(path)) == (
        "z.zip: cannot be unpacked: Bad magic number for central directory. Is the file whole?"
    )
    path.write_bytes(whole)
    packed(path, {"s.txt": MOT + "\n" * 200_000}, zipfile.ZIP_DEFLATED)
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "100KB")
    assert "bytes once unpacked, far more than its size says" in refused(lambda: read(path))


def test_files_without_rows(tmp_path: Path) -> None:
    """An empty file names its sequence in a row without a box, and says nothing of the format."""
    write(tmp_path, {"t/a.txt": "\n", "t/b.txt": KITTI.format(0), "e/a.txt": "", "m/a.txt": "", "m/b.txt": MOT})
    nothing = pytest.approx(float("nan"), nan_ok=True)
    assert columns(read(tmp_path / "t")) == {
        "sequence": ["a", "b"], "frame": [nothing, 0.0], "track": [0, 1], "truncated": [nothing, 0.0],
        "occluded": [nothing, 0.0], "x": [nothing, 0.0], "y": [nothing, 0.0], "right": [nothing, 10.0],
        "bottom": [nothing, 10.0], "label": ["", "Car"], "ignore": [False, False],
    }  # fmt: skip
    empty = {"sequence": ["a"], "frame": [nothing], "track": [0.0], **{name: [nothing] for name in "xywh"}}
    assert columns(read(tmp_path / "e")) == empty
    assert columns(read(tmp_path / "m"))["label"] == [0, 1]


def test_files_that_differ_in_their_columns(tmp_path: Path) -> None:
    short = MOT[:-7] + "\n"
    write(tmp_path, {"t/a.txt": MOT, "t/b.txt": short, "u/a.txt": short, "u/b.txt": MOT})
    assert refused(lambda: read(tmp_path / "t")) == (
        f"{tmp_path / 't' / 'b.txt'}: has no flag, and others have. Write all files alike."
    )
    assert refused(lambda: read(tmp_path / "u")) == (
        f"{tmp_path / 'u' / 'b.txt'}: has flag, and other files have none. Write all files alike."
    )


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("motchallenge", "1,1,0,0,10\n", ", line 1: the row has 5 numbers. It needs six at least."),
        (
            "motchallenge", MOT + "2,x,0,0,10,10\n",
            ", line 2, column 2: 'x' is not a number. Rows are frame, id, left, top, width, height and more numbers.",
        ),
        (
            "motchallenge", "1e300,1,0,0,10,10\n",
            ", line 1, column 1: frame 1e+300 is not a whole number. Frames are counted.",
        ),
        (
            "motchallenge", MOT.replace("1,1,1\n", "inf,1,1\n"),
            ", line 1, column 7: inf where a flag is needed. Write 1 for rows that are scored.",
        ),
        (
            "motchallenge", MOT.replace("1,1,1\n", "1,1e300,1\n"),
            ", line 1, column 8: class 1e+300 is not a whole number. Column 8 is the class.",
        ),
        ("kitti", KITTI.format("1e300"), ", line 1: frame 1e+300. It must be a whole number."),
        ("kitti", KITTI.format("-1"), ", line 1: frame -1, and frames count from 0. Frames must be 0 or more."),
        (
            "mots", "0 1 1 1 1 1\n",
            ", line 1: frame 0, and frames count from 1. Set the option `first_frame=0`, or `prediction.first_frame=0` for "
            "one side. KITTI-MOTS counts from 0, MOTSChallenge from 1.",
        ),
        ("mots", "1 1 1e30 1 1 1\n", ", line 1: label 1e+30. It must be a whole number."),
        ("kitti", "\n0 1 Car\n", ", line 2: the row has 3 fields. KITTI's rows have 17, or 18 with a score."),
        ("kitti", KITTI.format("x"), ", line 1: frame is 'x'. It must be a number."),
        ("kitti", KITTI.format("inf"), ", line 1: frame is inf. It must be finite."),
        ("kitti", KITTI.format("0.5"), ", line 1: frame 0.5. It must be a whole number."),
        ("kitti", b"0 1 C\xffr", ": byte 0xff is not UTF-8 text. Save it as UTF-8."),
        ("mots", "\n1 1 1 4 4\n", ", line 2: the row has 5 fields. MOTS's rows have 6."),
        ("mots", "1 1.5 1 1 1 1\n", ", line 1: track 1.5. It must be a whole number."),
        ("cvat", "<a/>", ": holds no tracks. Export it as 'CVAT for video 1.1'."),
        ("cvat", "<annotations><image/></annotations>", ": holds no tracks. Export it as 'CVAT for video 1.1'."),
        (
            "cvat", "<annotations>\n<track><box frame='one'/></track></annotations>",
            ", line 2: frame is 'one'. Frames are counted from 0.",
        ),
    ],
)  # fmt: skip
def test_rows_that_are_refused(tmp_path: Path, form: str, text: str | bytes, message: str) -> None:
    write(tmp_path, {"s.txt": text})
    assert refused(lambda: read(tmp_path / "s.txt", form=form)) == f"s.txt{message}"


def test_blank_lines_of_masks_say_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"s.txt": "\n3 7 1 1 1 1\n\n"})
    made = columns(read(tmp_path / "s.txt", form="mots"))
    assert {name: made[name] for name in ("frame", "track", "label", "ignore")} == {
        "frame": [3], "track": [7], "label": [1], "ignore": [False],
    }  # fmt: skip


def test_kitti_scores_of_predictions(tmp_path: Path) -> None:
    """A score of 1 where there is none; rows without a track are left out, and so are the flags of the truth."""
    rows = [KITTI.format(0), KITTI.format(1) + " 0.25", KITTI.format(1).replace(" 1 Car", " -1 Car")]
    write(tmp_path, {"s.txt": "\n".join(rows)})
    assert columns(read(tmp_path / "s.txt", "prediction")) == {
        "sequence": ["s", "s"], "frame": [0, 1], "track": [1, 1], "x": [0.0, 0.0], "y": [0.0, 0.0],
        "right": [10.0, 10.0], "bottom": [10.0, 10.0], "score": [1.0, 0.25], "label": ["Car", "Car"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("meta", "frames"),
    [
        ("", None),
        ("<meta><job><size>7</size></job></meta>", [7]),
        ("<meta><task><size>9</size></task></meta>", [9]),
        ("<meta><task><size>many</size></task></meta>", None),
        ("<meta/><meta><task/><job><size>3</size></job></meta>", [3]),
    ],
)
def test_frames_that_the_head_of_a_video_says(tmp_path: Path, meta: str, frames: list[int] | None) -> None:
    track = f'<track label="cat">{BOX}<box frame="1" outside="1"/></track>'
    write(tmp_path, {"s.xml": f"<annotations>{meta}{track}</annotations>"})
    made = columns(read(tmp_path / "s.xml"))
    assert made.pop("frames", None) == frames
    assert made == {
        "sequence": ["s"], "frame": [0], "track": [0], "x": [1.0], "y": [2.0], "right": [3.0], "bottom": [5.0],
        "label": ["cat"],
    }  # fmt: skip


def frame(**more: Any) -> dict[str, Any]:
    return {"sequence": "s", "frame": 1, "tracks": [1], "boxes": [[0, 0, 1, 1]], **more}


def side(data: Any) -> Records:
    return read_side(catalogue.find_task("tracking"), data, {}, "truth")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "truth, item 0: int where a dict is expected. One dict per frame."),
        (
            [frame(labels=[1]), frame(frame=2)],
            "truth, item 1: 'label' is given in some frames only. Give it in all or none.",
        ),
    ],
    ids=["no dict", "some only"],
)
def test_frames_in_memory_that_are_refused(data: Any, message: str) -> None:
    assert refused(lambda: side(data)) == message


def test_frames_without_tracks() -> None:
    """A sequence that nothing is in stands there once, without a frame; weights stay."""
    nothing: dict[str, Any] = {"tracks": [], "boxes": []}
    made = side([frame(sample_weight=2.0), frame(sequence="t", sample_weight=3.0, **nothing)])
    assert columns(made)["sequence"] == ["s", "t"]
    assert columns(made)["sample_weight"] == [2.0, 3.0]
    assert columns(made)["frame"] == [1.0, pytest.approx(float("nan"), nan_ok=True)]
    mask = np.ones((1, 2), dtype=bool)
    table = {"sequence": ["s", "t"], "frame": [1, None], "track": [1, None], "mask": [mask, None]}
    for data in (table, pandas.DataFrame(table)):
        made = side(data)
        assert columns(made)["sequence"] == ["s", "t"]
        assert _native.mask_area(columns(made)["mask"]).tolist() == [2, 0]


def test_a_table_of_sequences_names_them(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "name,light\ns,day\n"})
    data = [frame()]
    options = {"sequences": str(tmp_path / "a.csv")}
    assert refused(lambda: sy.evaluate("tracking", data, data, options=options)) == (
        f"{tmp_path / 'a.csv'}: column 'sequence' is missing. It names what the others are about."
    )
    assert refused(lambda: sy.evaluate("tracking", data)) == "task 'tracking' needs truth and predictions. Give both."
