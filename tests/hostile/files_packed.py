"""Packed files over every reader: cut off, packed twice, damaged, encrypted, with members that lie, or far too tight."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hostile.files_maps import CUBE, GRID, nifti, npy, png
from hostile.files_rankings import NAMES, VECTORS, packed
from hostile.files_special import COCO_TEXT, EVAL, FOUND_TEXT, KITTI, LINE, MOT, VOC, YOLO
from hostile.rows import CAPTIONS, CAPTIONS_P, LABELS, LABELS_P, QRELS, RUN, WEIGHTS, WEIGHTS_P, Row, row

BLANK = gzip.compress(b"\n" * (1 << 20))  # 1 KB, and a million lines
SMALL = {"STEELYARD_UNPACK_LIMIT": "2MB"}
TEXTS: dict[str, tuple[str, str, str, str]] = {  # the command, the file that is spoiled, the good side, its text
    "CSV": ("evaluate labels t.csv {}", "p.csv", LABELS, LABELS_P),
    "TSV": ("evaluate labels t.csv {}", "p.tsv", LABELS, LABELS_P.replace(",", "\t")),
    "JSON lines": ("evaluate captions t.csv {}", "p.jsonl", CAPTIONS, CAPTIONS_P),
    "COCO": ("evaluate boxes t.json {}", "p.json", COCO_TEXT, FOUND_TEXT),
    "TREC": ("evaluate rankings t.qrels {}", "p.run", QRELS, RUN),
    "MOTChallenge": ("evaluate tracking t.txt {}", "p.txt", MOT, MOT),
}
FORMS: dict[str, tuple[Callable[[bytes], bytes], tuple[str, ...]]] = {
    "cut off": (lambda data: gzip.compress(data)[:-10], ("cannot be unpacked",)),
    "cut off in its header": (lambda data: gzip.compress(data)[:6], ("cannot be unpacked",)),
    "with a checksum that is wrong": (lambda data: gzip.compress(data)[:-8] + b"\0\0\0\0" + gzip.compress(data)[-4:], ("cannot be unpacked",)),
    "of an unknown method": (lambda data: b"\x1f\x8b\x09" + gzip.compress(data)[3:], ("cannot be unpacked",)),
    "with other bytes behind it": (lambda data: gzip.compress(data) + b"more", ("cannot be unpacked",)),
    "packed twice": (lambda data: gzip.compress(gzip.compress(data)), ("is packed twice",)),
    "a ZIP archive inside": (lambda data: gzip.compress(zipped({"a": data})), ("is a ZIP archive",)),
    "bzip2 inside": (lambda data: gzip.compress(bz2.compress(data)), ("bzip2",)),
    "xz under the name": (lambda data: lzma.compress(data), ("is packed with xz",)),
    "a million blank lines": (lambda data: BLANK, ("once unpacked",)),
}  # fmt: skip


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def central(data: bytes, at: int, new: bytes) -> bytes:
    """An archive in which the list of members says something else of the first."""
    place = data.index(b"PK\x01\x02") + at
    return data[:place] + new + data[place + len(new) :]


def twice(data: bytes) -> bytes:
    """The same archive, whose first member is listed twice."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = file.namelist()
        contents = [file.read(name) for name in names]
    other = "~" * len(names[0])
    made = zipped(dict(zip([*names, other], [*contents, contents[0]], strict=True)))
    return made.replace(other.encode(), names[0].encode())


ARCHIVES: dict[str, tuple[str, str, bytes, dict[str, Any]]] = {
    "embeddings": ("evaluate rankings t.npz p.npz", "p.npz", packed(**VECTORS), {"t.npz": packed(**NAMES)}),
    "maps": ("evaluate segmentation t.npz p.npz", "p.npz", packed(a=GRID), {"t.npz": packed(a=GRID)}),
    "tracks": ("evaluate tracking t.txt p.zip", "p.zip", zipped({"t.txt": MOT.encode()}), {"t.txt": MOT}),
    "inspect's logs": ("evaluate answers a.eval", "a.eval", EVAL, {}),
    "workbooks": ("evaluate labels t.xlsx p.csv", "t.xlsx", b"", {"p.csv": LABELS_P}),
}
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}  # fmt: skip


def workbook(rows: str) -> bytes:
    sheet = {"xl/worksheets/sheet1.xml": SHEET.format(rows).encode()}
    return zipped({name: text.encode() for name, text in PARTS.items()} | sheet)


def cells(*places: str) -> str:
    return "".join(f'<c r="{place}" t="inlineStr"><is><t>x</t></is></c>' for place in places)


ARCHIVES["workbooks"] = (*ARCHIVES["workbooks"][:2], workbook(f'<row r="1">{cells("A1")}</row>'), {"p.csv": LABELS_P})
LIES: dict[str, tuple[Callable[[bytes], bytes], tuple[str, ...]]] = {
    "cut off": (lambda data: data[: len(data) // 2], ()),
    "a member that is encrypted": (lambda data: central(data, 8, b"\x01"), ()),
    "an unknown method": (lambda data: central(data, 10, b"\x63\x00"), ()),
    "a member of 4 GB, as it says": (lambda data: central(data, 24, b"\xf0\xff\xff\xff"), ("once unpacked",)),
    "a checksum that is wrong": (lambda data: central(data, 16, b"\x01\x02\x03\x04"), ()),
    "a name twice": (twice, ("twice",)),
    "nothing in it": (lambda data: zipped({}), ()),
    "3 MB of zeros": (lambda data: zipped({"query.npy": bytes(3 << 20)}), ("once unpacked",)),
    "a list that lies elsewhere": (lambda data: data[:-6] + b"\xff\xff\xff\x7f" + data[-2:], ()),
}  # fmt: skip


def spaces(path: Path) -> None:
    """A file of 300 KB that holds 300 MB, which is beyond the limit that holds where none is set."""
    with gzip.open(path, "wb", 9) as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))


def texts() -> list[Row]:
    rows = []
    for name, (line, place, truth, text) in TEXTS.items():
        first = line.split()[2]
        for form, (spoil, says) in FORMS.items():
            for ending in ("", ".gz") if form == "cut off" else (".gz",):
                files = {first: truth, place + ending: spoil(text.encode())}
                title = f"packed: {name}, {form}{', under a plain name' if not ending else ''}"
                rows.append(
                    row(title, line.format(place + ending), place, *says, files=files, task=line.split()[1], env=SMALL)
                )
    return rows


def archives() -> list[Row]:
    rows = []
    for name, (line, place, data, files) in ARCHIVES.items():
        for form, (spoil, says) in LIES.items():
            if name == "inspect's logs" and form == "a name twice":
                continue  # a log that was written again holds the newer header behind the older one
            rows.append(
                row(
                    f"archive: {name}, {form}",
                    line,
                    place,
                    *says,
                    files={**files, place: spoil(data)},
                    task=line.split()[1],
                    env=SMALL,
                )
            )
    return rows


def billion(path: Path) -> None:
    """A Parquet file of 40 million equal values, in a few KB."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"id": np.zeros(40_000_000, np.int8)}), path, compression="zstd")


WIDE = "".join(f'<row r="{i}">{cells(f"XFD{i}")}</row>' for i in range(1, 1001))
SPARSE = "".join(f'<row r="{i}">{cells(f"A{i}")}</row>' for i in (1, 1_048_575))
SINGLE: list[Row] = [
    row("packed: a workbook of 1,000 cells in 16 million places", "evaluate labels t.xlsx p.csv", "t.xlsx", "places for", files={"t.xlsx": workbook(WIDE), "p.csv": LABELS_P}),
    row("packed: a workbook whose last row is the last that there can be", "evaluate labels t.xlsx p.csv", "t.xlsx", files={"t.xlsx": workbook(SPARSE), "p.csv": LABELS_P}),
    row("packed: Parquet of 40 million equal values", "evaluate labels t.parquet p.csv", "t.parquet", "once unpacked", files={"t.parquet": billion, "p.csv": LABELS_P}),
    row("packed: a CSV file of 100,000 empty rows", "evaluate labels t.csv.gz p.csv", "t.csv.gz", "once unpacked", files={"t.csv.gz": gzip.compress(b"id,label\n" + b",\n" * 100_000), "p.csv": LABELS_P}, env=SMALL),
    row("packed: JSON of nothing but spaces", "evaluate boxes t.json.gz p.json", "t.json.gz", "once unpacked", files={"t.json.gz": spaces, "p.json": FOUND_TEXT}),
    row("packed: NIfTI with 3 MB of zeros behind it", "evaluate volumes t p", "p/a.nii.gz", files={"t/a.nii.gz": gzip.compress(nifti(CUBE)), "p/a.nii.gz": gzip.compress(nifti(CUBE) + bytes(3 << 20))}, env=SMALL),
    row("packed: a limit that is not a size", "evaluate labels t.csv.gz p.csv", "STEELYARD_UNPACK_LIMIT", "'much' is not a size", files={"t.csv.gz": gzip.compress(LABELS.encode()), "p.csv": LABELS_P}, env={"STEELYARD_UNPACK_LIMIT": "much"}),
    row("packed: a limit of 100 bytes", "evaluate weights t.csv.gz p.csv", "t.csv.gz", "STEELYARD_UNPACK_LIMIT", files={"t.csv.gz": gzip.compress(WEIGHTS.encode() + b"\n" * 99_999), "p.csv": WEIGHTS_P}, env={"STEELYARD_UNPACK_LIMIT": "100"}),
    row("packed: no limit", "evaluate weights t.csv.gz p.csv --ci none", "mae", code=0, files={"t.csv.gz": gzip.compress(WEIGHTS.encode() + b"\n" * 99_999), "p.csv": WEIGHTS_P}, env={"STEELYARD_UNPACK_LIMIT": "none"}),
    row("archive: tracks with names that climb", "evaluate tracking t p.zip --ci none", "hota", code=0, task="tracking", files={"t/evil.txt": MOT, "p.zip": zipped({"../../evil.txt": MOT.encode()})}),
    row("archive: tracks with names from the root", "evaluate tracking t p.zip --ci none", "hota", code=0, task="tracking", files={"t/evil.txt": MOT, "p.zip": zipped({"/etc/evil.txt": MOT.encode()})}),
    row("archive: tracks with an archive inside", "evaluate tracking t.txt p.zip", "p.zip", "holds no .txt files", task="tracking", files={"t.txt": MOT, "p.zip": zipped({"a.zip": zipped({"t.txt": MOT.encode()})})}),
    row("archive: tracks whose member is a PNG", "evaluate tracking t.txt p.zip", "p.zip/t.txt", task="tracking", files={"t.txt": MOT, "p.zip": zipped({"t.txt": png()})}),
]  # fmt: skip


def wrong(name: str, line: str, place: str, data: bytes, *says: str, **files: Any) -> Row:
    """A file whose contents are of another format than its name says."""
    made = {**{key.replace("__", "."): value for key, value in files.items()}, place: data}
    return row(f"wrong contents: {name}", line, place, *says, files=made, task=line.split()[1])


PNG, ZIP, NUL = png(), zipped({"a.csv": LABELS.encode()}), b"\0" * 4096
OTHERS: list[Row] = [
    *(
        wrong(f"{kind} as {place}", line, place, data, **files)
        for kind, data in {"a PNG file": PNG, "a ZIP archive": ZIP, "NUL bytes": NUL, "a gzip header alone": b"\x1f\x8b"}.items()
        for line, place, files in (
            ("evaluate labels t.csv p.csv", "p.csv", {"t__csv": LABELS}),
            ("evaluate labels t.csv p.jsonl", "p.jsonl", {"t__csv": LABELS}),
            ("evaluate labels t.csv p.parquet", "p.parquet", {"t__csv": LABELS}),
            ("evaluate labels t.csv p.xlsx", "p.xlsx", {"t__csv": LABELS}),
            ("evaluate boxes t.json p.json", "p.json", {"t__json": COCO_TEXT}),
            ("evaluate boxes t p", "p/a.xml", {"t/a__xml": VOC}),
            ("evaluate boxes t p", "p/labels/a.txt", {"t/labels/a__txt": YOLO, "t/image_sizes__csv": "image,width,height\na,9,9\n"}),
            ("evaluate boxes3d t p", "p/data/000001.txt", {"t/label_2/000001__txt": f"{KITTI}\n"}),
            ("evaluate oriented t p --format dota", "p/Task1_ship.txt", {"t/P1__txt": LINE}),
            ("evaluate rankings t.qrels p.run", "p.run", {"t__qrels": QRELS}),
            ("evaluate tracking t.txt p.txt", "p.txt", {"t__txt": MOT}),
            ("evaluate segmentation t p", "p/a.npy", {"t/a__npy": npy(GRID)}),
            ("evaluate volumes t p", "p/a.nii", {"t/a__nii": nifti(CUBE)}),
            ("report r.json", "r.json", {}),
        )
    ),
]  # fmt: skip
ROWS = texts() + archives() + SINGLE + OTHERS
