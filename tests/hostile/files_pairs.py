"""Pairs of people: lists of LFW and IJB, and vectors (.npz) that are spoiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostile.files_rankings import claims, packed
from hostile.rows import Row, row

PAIRS = "a,b,same\nx,y,1\nx,z,0\n"
LFW = "1\t1\nAnn\t1\t2\nAnn\t1\tBob\t1\n"
ALL = "image,person\nx,p\ny,p\nz,q\n"
IMAGES = np.array(["x", "y", "z"])
GOOD = packed(image=IMAGES, vector=np.eye(3))


def vectors(
    name: str, *says: str, truth: str | bytes = PAIRS, options: str = "", end: str = "csv", **given: Any
) -> Row:
    code, writes = given.pop("code", 2), given.pop("writes", ())
    files = {f"t.{end}": truth, "p.npz": given.pop("file", None) or packed(**given)}
    command = f"evaluate labels t.{end} p.npz -m eer --ci none {options} -o out.json"
    return row(f"labels: vectors, {name}", command, *says, files=files, code=code, writes=writes)


def lfw(name: str, text: str | bytes, *says: str) -> Row:
    names = np.array(["Ann_0001", "Ann_0002", "Bob_0001"])
    return vectors(f"pairs.txt, {name}", "t.txt", *says, truth=text, end="txt", image=names, vector=np.eye(3))


def every(name: str, truth: str, *says: str, file: bytes = GOOD) -> Row:
    return vectors(f"all pairs, {name}", *says, truth=truth, options="--pairing all", file=file)


ROWS: list[Row] = [
    vectors("good", "eer", code=0, writes=("out.json",), file=GOOD),
    vectors("file that is none", "p.npz", "cannot be unpacked", file=b"none"),
    vectors("cut off", "p.npz", "cannot be unpacked", file=GOOD[:-40]),
    vectors("no array of vectors", "'query'", "vector", image=IMAGES, query=np.eye(3)),
    vectors("objects, which run code", "p.npz", "objects", image=IMAGES, vector=np.array([[{}]], dtype=object)),
    vectors("nan", "p.npz", "row 1", image=IMAGES, vector=np.array([[1.0], [np.nan], [2.0]])),
    vectors("inf", "p.npz", "row 0", image=IMAGES, vector=np.full((3, 2), np.inf)),
    vectors("1e200", "p.npz", "1e+100", image=IMAGES, vector=np.full((3, 2), 1e200)),
    vectors("zero", "no direction", "'z'", "--distance l2", image=IMAGES, vector=np.diag([1.0, 1.0, 0.0])),
    vectors("text", "'vector'", image=IMAGES, vector=np.array([["a"]] * 3)),
    vectors("of one dimension", "shape", image=IMAGES, vector=np.ones(3)),
    vectors("without length", "shape", image=IMAGES, vector=np.zeros((3, 0))),
    vectors("names of another number", "'image'", image=IMAGES[:2], vector=np.eye(3)),
    vectors("an image twice", "'x'", "2 vectors", image=np.array(["x", "x", "z"]), vector=np.eye(3)),
    vectors("an image without a vector", "line 3", "'z'", image=IMAGES[:2], vector=np.eye(2)),
    vectors("media without templates", "'template'", media=IMAGES, vector=np.eye(3)),
    vectors("shape of 100 GB", "p.npz", file=claims("(100000000, 128)")),
    vectors("pairs without both sides", "'b'", truth="a,same\nx,1\n", file=GOOD),
    vectors("a pair that is perhaps genuine", "'perhaps'", truth=PAIRS.replace("y,1", "y,perhaps"), file=GOOD),
    vectors("no pairs", "no rows", truth="a,b,same\n", file=GOOD),
    lfw("empty", "", "empty"),
    lfw("no first line", "Ann 1 2\n", "line 1", "not a pair of templates"),
    lfw("a word in the first line", "folds\nAnn 1 2\n", "line 1", "'folds'"),
    lfw("too few pairs", LFW.replace("1\t1\nAnn", "9\t9\nAnn", 1), "9 folds"),
    lfw("number that is a word", LFW.replace("Bob\t1", "Bob\tone"), "line 3", "one"),
    lfw("five fields", LFW + "Ann\t1\tBob\t1\t2\n", "line 4"),
    lfw("not UTF-8", LFW.encode() + b"\xff\xfe\t1\t2\n", "UTF-8"),
    lfw("image without a vector", LFW.replace("Bob\t1", "Bob\t7"), "Bob_0007"),
    every("a person that is empty", ALL.replace("y,p", "y,"), "line 3", "person"),
    every("no people", "image\nx\ny\n", "'person'"),
    every("an image twice", ALL + "x,p\n", "line 5", "'x'"),
    every("an image without a vector", ALL + "w,p\n", "line 5", "'w'"),
    every("one image", "image,person\nx,p\n", "no pair"),
    row("labels: all pairs of scores", "evaluate labels t.csv p.csv --pairing all -m eer -o out.json", "vectors", files={"t.csv": ALL, "p.csv": "score\n1\n2\n3\n"}),
]  # fmt: skip
