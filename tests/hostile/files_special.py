"""Every reader and format, with something that is not a regular file in the place of each of its files.

`LAYOUTS` are good inputs: a command line and its files. Each file in turn becomes a named pipe, a link to an endless
device, a directory, a link to nothing or a link to itself; the command must refuse it at once and name it.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hostile.files_formats import SIZES, cvat, thing, voc
from hostile.files_maps import CATEGORIES, CUBE, IDS, SEGMENTS, nifti, npy, png
from hostile.files_nutrients import DISH, GROUP
from hostile.files_oriented import LINE, RESULT
from hostile.files_rankings import NAMES, VECTORS, packed
from hostile.rows import (
    CAPTIONS,
    CAPTIONS_P,
    COCO,
    FOUND,
    LABELS,
    LABELS_P,
    QRELS,
    RUN,
    WEIGHTS,
    WEIGHTS_P,
    Row,
    row,
)

MOT = "1,1,10,10,20,20,1,-1,-1,-1\n2,1,12,10,20,20,1,-1,-1,-1\n"
MOTS = "1 2001 2 4 5 0d0\n"
KITTI_TRACK = "0 1 Car 0 0 0.1 10 10 30 30 1.5 1.6 3.9 1 1.5 20 0.1\n"
KITTI = "Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"
HRSC = (
    "<HRSC_Image><HRSC_Objects><HRSC_Object><mbox_cx>1</mbox_cx><mbox_cy>1</mbox_cy><mbox_w>1</mbox_w>"
    "<mbox_h>1</mbox_h><mbox_ang>0.1</mbox_ang></HRSC_Object></HRSC_Objects></HRSC_Image>"
)
SAMPLE = {"doc_id": 0, "target": "a", "filtered_resps": ["a"], "resps": [["a"]], "arguments": [], "exact_match": 1.0}
OPENIMAGES = "ImageID,LabelName,XMin,XMax,YMin,YMax\na,/m/1,0.1,0.5,0.1,0.5\n"
PANOPTIC = json.dumps(
    {
        "annotations": [{"image_id": 7, "file_name": "a.png", "segments_info": SEGMENTS}],
        "categories": CATEGORIES,
    }
)
VOC = voc(thing())
YOLO = "0 0.5 0.5 0.1 0.1\n"


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


EVAL = zipped(
    **{
        "header.json": json.dumps({"version": 2, "status": "success"}),
        "samples/1_epoch_1.json": json.dumps(
            {"id": 1, "epoch": 1, "target": "a", "output": {"completion": "a"}, "scores": {}}
        ),
    }
)
COCO_TEXT, FOUND_TEXT = json.dumps(COCO), json.dumps(FOUND)
LVIS_TEXT = COCO_TEXT.replace(
    '"height": 30}', '"height": 30, "neg_category_ids": [], "not_exhaustive_category_ids": []}'
)
TABLE = "image,map\nx,{}/x.png\n"
# name: the command line, and the files, of which each is replaced in turn
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "CSV": ("evaluate labels t.csv p.csv", {"t.csv": LABELS, "p.csv": LABELS_P}),
    "TSV and JSON lines": ("evaluate labels t.tsv p.jsonl", {"t.tsv": LABELS.replace(",", "\t"), "p.jsonl": "".join(f'{{"id": {i}, "label": "cat"}}\n' for i in range(1, 5))}),
    "a table beside": ("evaluate labels t.csv p.csv --by light@s.csv", {"t.csv": LABELS, "p.csv": LABELS_P, "s.csv": "id,light\n1,day\n2,day\n3,night\n4,day\n"}),
    "a workbook": ("evaluate labels t.xlsx p.csv", {"t.xlsx": b"PK"}),
    "Parquet": ("evaluate labels t.parquet p.csv", {"t.parquet": b"PAR1"}),
    "COCO": ("evaluate boxes t.json p.json", {"t.json": COCO_TEXT, "p.json": FOUND_TEXT}),
    "LVIS": ("evaluate boxes t.json p.json --format lvis", {"t.json": LVIS_TEXT, "p.json": FOUND_TEXT}),
    "VOC": ("evaluate boxes t p", {"t/a.xml": VOC, "p/a.xml": VOC.replace("</name>", "</name><score>0.9</score>")}),
    "YOLO": ("evaluate boxes t p", {"t/labels/a.txt": YOLO, "t/image_sizes.csv": SIZES, "t/classes.txt": "cat\n", "p/labels/a.txt": YOLO[:-1] + " 0.9\n"}),
    "YOLO with pictures": ("evaluate boxes t p --images i --names n.txt", {"t/a.txt": YOLO, "i/a.png": png(), "n.txt": "cat\n", "p/a.txt": YOLO[:-1] + " 0.9\n"}),
    "CVAT": ("evaluate boxes t.xml p.csv", {"t.xml": cvat('<box label="cat" xtl="1" ytl="1" xbr="2" ybr="2"/>'), "p.csv": "image,label,x,y,w,h,score\na.jpg,cat,1,1,1,1,0.9\n"}),
    "OpenImages": ("evaluate boxes t.csv p.csv --format openimages --verified v.csv --hierarchy h.json", {"t.csv": OPENIMAGES, "p.csv": OPENIMAGES.replace("YMax\n", "YMax,Score\n").replace("0.5\n", "0.5,0.9\n"), "v.csv": "ImageID,LabelName,Confidence\na,/m/1,1\n", "h.json": '{"LabelName": "/m/0", "Subcategory": [{"LabelName": "/m/1"}]}'}),
    "DOTA": ("evaluate oriented t p --format dota", {"t/P1.txt": LINE, "p/Task1_ship.txt": RESULT}),
    "HRSC": ("evaluate oriented t p -O truth.format=hrsc -O prediction.format=dota", {"t/a.xml": HRSC, "p/Task1_ship.txt": RESULT}),
    "YOLO-OBB": ("evaluate oriented t p --format yolo-obb", {"t/labels/a.txt": "0 0 0 .1 0 .1 .1 0 .1\n", "t/image_sizes.csv": SIZES, "p/labels/a.txt": "0 0 0 .1 0 .1 .1 0 .1 .9\n"}),
    "KITTI": ("evaluate boxes3d t p", {"t/label_2/000001.txt": f"{KITTI}\n", "p/data/000001.txt": f"{KITTI} 0.9\n"}),
    "nuScenes": ("evaluate boxes3d t.json p.json", {"t.json": '{"results": {}}', "p.json": '{"results": {}, "meta": {}}'}),
    "MOTChallenge": ("evaluate tracking t p", {"t/s/gt/gt.txt": MOT, "t/s/seqinfo.ini": "[Sequence]\nseqLength=2\n", "p/s.txt": MOT}),
    "MOTChallenge, a flat folder": ("evaluate tracking t p", {"t/s.txt": MOT, "t/r.txt": MOT, "p/s.txt": MOT, "p/r.txt": MOT}),
    "MOTChallenge in archives": ("evaluate tracking t.zip p.zip", {"t.zip": zipped(**{"s.txt": MOT}), "p.zip": zipped(**{"s.txt": MOT})}),
    "tracks with facts": ("evaluate tracking t p --sequences q.csv", {"t/s.txt": MOT, "p/s.txt": MOT, "q.csv": "sequence,light\ns,day\n"}),
    "KITTI tracking": ("evaluate tracking t p", {"t/label_02/0000.txt": KITTI_TRACK, "p/0000.txt": KITTI_TRACK[:-1] + " 0.9\n"}),
    "MOTS": ("evaluate tracking t p --format mots", {"t/0000.txt": MOTS, "p/0000.txt": MOTS}),
    "CVAT video": ("evaluate tracking t p", {"t/s.xml": "<annotations/>", "p/s.txt": MOT}),
    "PNG maps": ("evaluate segmentation t p", {"t/a.png": png(), "p/a.png": png()}),
    "NumPy maps": ("evaluate segmentation t p", {"t/a.npy": npy(IDS[:, :, 0]), "p/a.npy": npy(IDS[:, :, 0])}),
    "packed NumPy maps": ("evaluate segmentation t p", {"t/a.npz": packed(a=IDS[:, :, 0]), "p/a.npz": packed(a=IDS[:, :, 0])}),
    "one NumPy file": ("evaluate segmentation t.npy p.npz", {"t.npy": npy(IDS[None, :, :, 0]), "p.npz": packed(**{"0": IDS[:, :, 0]})}),
    "a table of maps": ("evaluate segmentation t.csv p.csv", {"t.csv": TABLE.format("t"), "p.csv": TABLE.format("p"), "t/x.png": png(), "p/x.png": png()}),
    "a palette": ("evaluate segmentation t p --palette c.txt", {"t/a.png": png(IDS * 0, colour=2), "p/a.png": png(IDS * 0, colour=2), "c.txt": "black=000000\n"}),
    "panoptic": ("evaluate panoptic t.json p.json", {"t.json": PANOPTIC, "p.json": PANOPTIC, "t/a.png": png(IDS, colour=2), "p/a.png": png(IDS, colour=2)}),
    "NIfTI": ("evaluate volumes t p", {"t/a.nii": nifti(CUBE), "p/a.nii": nifti(CUBE)}),
    "TREC": ("evaluate rankings t.qrels p.run", {"t.qrels": QRELS, "p.run": RUN}),
    "embeddings": ("evaluate rankings t.npz p.npz", {"t.npz": packed(**NAMES), "p.npz": packed(**VECTORS)}),
    "captions": ("evaluate captions t.csv p.csv -m bleu@4", {"t.csv": CAPTIONS, "p.csv": CAPTIONS_P}),
    "Nutrition5k": ("evaluate nutrients t.csv p.csv", {"t.csv": f"{DISH},{GROUP}\n", "p.csv": f"{DISH}\n"}),
    "lm-eval": ("evaluate answers samples_a.jsonl --format lm-eval", {"samples_a.jsonl": json.dumps(SAMPLE) + "\n"}),
    "a folder of lm-eval": ("evaluate answers d --format lm-eval", {"d/samples_a.jsonl": json.dumps(SAMPLE) + "\n", "d/samples_b.jsonl": json.dumps(SAMPLE) + "\n"}),
    "inspect": ("evaluate answers a.eval", {"a.eval": EVAL}),
    "VLMEvalKit": ("evaluate answers a.xlsx --format vlmevalkit", {"a.xlsx": b"PK"}),
    "names of classes": ("evaluate segmentation t p --names c.txt", {"t/a.png": png(), "p/a.png": png(), "c.txt": "a\nb\nc\n"}),
    "a saved result": ("report r.json", {"r.json": "{}"}),
    "a gate": ("gate r.json --fail-if 'mae > 3'", {"r.json": "{}"}),
    "shards": ("evaluate weights 't*.csv' 'p*.csv'", {"t0.csv": WEIGHTS, "p0.csv": WEIGHTS_P}),
}  # fmt: skip


def _parents(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


EVERYWHERE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a named pipe": (lambda path: os.mkfifo(_parents(path)), "is a named pipe, not a regular file"),
    "an endless device": (lambda path: os.symlink("/dev/zero", _parents(path)), "is a device, not a regular file"),
}
FIRST: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link to nothing": (lambda path: os.symlink("nowhere", _parents(path)), ""),
    "a link to itself": (lambda path: os.symlink(path.name, _parents(path)), ""),
}


def special() -> Iterator[Row]:
    for name, (line, files) in LAYOUTS.items():
        for number, place in enumerate(files):
            for kind, (make, says) in (EVERYWHERE if number else EVERYWHERE | FIRST).items():
                changed = {**files, place: make}
                yield row(f"special: {name}, {place} is {kind}", line, place, says, files=changed, task=line.split()[1])


ROWS = list(special())
