"""Sets of vectors that are spoiled: arrays of other shapes, numbers that are not finite, statistics that cannot be."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from hostile.rows import Row, row

TABLE = "id,f0,f1\n" + "".join(f"{i},{i % 5},{i * i % 7}\n" for i in range(12))
WEIGHED = "id,f0,f1,sample_weight\n0,1,2,1\n1,2,1,0.5\n2,3,3,1\n"
MATRIX = np.array([[i % 5, i * i % 7] for i in range(12)], dtype=np.float32)
EYE = np.eye(2)


def npz(**arrays: Any) -> bytes:
    """A file of arrays."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any, *, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


def table(name: str, text: str | bytes, *says: str, side: str = "truth.csv", options: str = "", **more: Any) -> Row:
    """A table of which one side is spoiled."""
    files = {"truth.csv": TABLE, "pred.csv": TABLE, side: text}
    line = f"evaluate distributions truth.csv pred.csv -m kid {options}"
    return row(f"distributions, {name}", line, *says, files=files, **more)


def arrays(name: str, data: bytes, *says: str, file: str = "bad.npz", options: str = "", **more: Any) -> Row:
    """A file of NumPy as the generated set."""
    files = {"truth.csv": TABLE, file: data}
    line = f"evaluate distributions truth.csv {file} {options or '-m kid'}"
    return row(f"vectors, {name}", line, *says, files=files, **more)


def option(name: str, line: str, *says: str, **more: Any) -> Row:
    return table(f"option, {name}", TABLE, *says, options=line, **more)


ROWS = [
    table("an empty file", "", "truth.csv", "empty"),
    table("a header alone", "id,f0,f1\n", "truth.csv", "no vectors"),
    table("no vectors", "id,kind\na,b\n", "truth.csv", "no vectors"),
    table("a gap in the numbers", TABLE.replace("f1", "f2"), "truth.csv", "'f1' is missing"),
    table("two columns of a number", TABLE.replace("f1", "f_0"), "truth.csv", "'f_0'"),
    table("a text for a number", TABLE.replace("1,1,1", "1,one,1"), "line 3", "'one' is not a number"),
    table("an empty cell", TABLE.replace("1,1,1", "1,,1"), "line 3", "'f0'"),
    table("nan", TABLE.replace("1,1,1", "1,nan,1"), "line 3", "not finite"),
    table("infinity", TABLE.replace("1,1,1", "1,inf,1"), "line 3", "not finite"),
    table("a number of 1e300", TABLE.replace("1,1,1", "1,1e300,1"), "line 3", "beyond 1e+15"),
    table("an id twice", TABLE.replace("\n1,", "\n0,"), "truth.csv", "more than once"),
    table("an empty id", TABLE.replace("\n1,", "\n,"), "line 3", "id is empty"),
    table("other lengths", "id,f0\n0,1\n1,2\n", "2 numbers and generated ones 1 number", side="pred.csv"),
    table("lists of two lengths", 'id,features\n0,"[1, 2]"\n1,"[1]"\n', "line 3", "1 numbers"),
    table("a list that is text", 'id,features\n0,"[1, 2"\n1,x\n', "truth.csv"),
    table("a list with a flag", 'id,features\n0,"[1, true]"\n', "line 2", "list of numbers"),
    table("a weight below 0", TABLE.replace("f1", "sample_weight").replace("1,1,1", "1,1,-1"), "line 3"),
    arrays("three axes", npz(features=np.zeros((2, 3, 4))), "bad.npz", "(2, 3, 4)"),
    arrays("one axis", npz(features=np.zeros(5)), "bad.npz", "(5,)"),
    arrays("no column", npz(features=np.zeros((5, 0))), "bad.npz", "(5, 0)"),
    arrays("texts", npz(features=np.array([["a", "b"]])), "bad.npz", "matrix of numbers"),
    arrays("complex numbers", npz(features=MATRIX + 1j), "bad.npz", "complex64"),
    arrays("flags", npz(features=MATRIX > 1), "bad.npz", "bool"),
    arrays("not finite", npz(features=np.where(MATRIX == 4, np.nan, MATRIX)), "row 2", "not finite"),
    arrays("images of guided-diffusion", npz(arr_0=np.zeros((3, 4, 4, 3), np.uint8)), "images", "4×4"),
    arrays("another name", npz(pixels=MATRIX), "'features'", "pixels"),
    arrays("two names", npz(features=MATRIX, feats=MATRIX), "'features' and 'feats'"),
    arrays("ids of another length", npz(features=MATRIX, id=np.arange(3)), "'id' 3"),
    arrays("half a file", npz(features=MATRIX)[:200], "bad.npz"),
    arrays("not an archive", b"features", "bad.npz"),
    arrays("a pickled array", npy(np.array([{}]), pickled=True), "pickled objects", file="bad.npy"),
    arrays("a pickle", b"\x80\x04N.", "pickles", "np.savez", file="bad.pkl"),
    arrays("a checkpoint", b"PK\x03\x04", "pickles", "np.savez", file="bad.pt"),
    arrays("a header that lies", npy(MATRIX)[:-40], "ends before", file="bad.npy"),
    arrays("no sigma", npz(mu=np.zeros(2)), "'sigma'", options="-m fid"),
    arrays("sigma of another size", npz(mu=np.zeros(2), sigma=np.eye(3)), "(3, 3)", options="-m fid"),
    arrays("sigma not symmetric", npz(mu=np.zeros(2), sigma=EYE + [[0, 1], [0, 0]]), "symmetric", options="-m fid"),
    arrays("a negative eigenvalue", npz(mu=np.zeros(2), sigma=-EYE), "negative eigenvalue", options="-m fid"),
    arrays("sigma not finite", npz(mu=np.zeros(2), sigma=EYE * np.nan), "not finite", options="-m fid"),
    arrays("spatial statistics alone", npz(mu_s=np.zeros(2), sigma_s=EYE), "spatial", options="-m fid"),
    arrays("features and statistics", npz(mu=np.zeros(2), sigma=EYE, features=MATRIX), "both", options="-m fid"),
    arrays("logits as probabilities", npz(probs=MATRIX - 3), "'logits'", options="-m inception_score"),
    arrays("probabilities where vectors are asked for", npz(probs=np.full((12, 2), 0.5)), "no feature vectors"),
    arrays(
        "spatial statistics mapped by half",
        npz(mu_s=np.zeros(2), sigma_s=EYE),
        "'sigma'",
        options="-m fid --map prediction.mu=mu_s",
    ),
    arrays("no probabilities", npz(features=MATRIX), "'probs'", options="-m inception_score"),
    arrays("a fingerprint that is a list", npz(features=MATRIX, meta=json.dumps([1])), "JSON object"),
    arrays("a fingerprint that is not JSON", npz(features=MATRIX, meta="{"), "meta"),
    arrays("not of length 1", npz(features=MATRIX + 1), "length 1", "normalise=true", options="-m cmmd"),
    arrays("a zero vector", npz(features=MATRIX), "is zero", options="-m vendi"),
    option("another extractor per side", "-O truth.extractor=a -O prediction.extractor=b", "'a'", "'b'"),
    option("n below 0", "-O n=-1", "n", "above 1"),
    option("n of 1", "-O truth.n=1", "n", "above 1"),
    option("a mapped column that is not there", "--map features=acts", "'acts'", "is missing"),
    option("a mapped name that is not one", "--map vectors=f0", "'vectors'", "cannot be mapped"),
    table("a weight that is not whole, for moments", WEIGHED, "line 3", "0.5", options="-O keep=moments"),
    option("a choice that is not one", "-O equal=maybe", "'maybe'"),
    option("k of 0", "-m precision(k=0)", "k cannot be 0"),
    option("an edge that is not one", "-m precision(edge=half)", "edge"),
    option("an option that is not one", "-O depth=3", "'depth'"),
    option("a tool that is not known", "--explain fidelity", "'fidelity'"),
    option("a column to slice by that is not there", "--by colour", "'colour'"),
]
