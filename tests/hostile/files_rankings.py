"""Rankings: TREC files, nested JSON and embeddings (.npz) that are spoiled."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import Any

import numpy as np

from hostile.rows import QRELS, RANKINGS, RANKINGS_P, RUN, Row, evaluate, pred, row, truth


def trec(name: str, *says: str, qrels: str | bytes = QRELS, run: str | bytes = RUN, **more: Any) -> Row:
    files = {"t.qrels": qrels, "p.run": run}
    return row(f"rankings: TREC, {name}", "evaluate rankings t.qrels p.run -o out.json", *says, files=files, **more)


def packed(**arrays: Any) -> bytes:
    """An .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


VECTORS = {"query": np.eye(2), "gallery": np.eye(2)}
NAMES = {"query_label": np.array(["a", "b"]), "gallery_label": np.array(["a", "b"])}


def npz(name: str, *says: str, truth: bytes | None = None, vectors: bytes | None = None, **more: Any) -> Row:
    files = {
        "t.npz": packed(**NAMES) if truth is None else truth,
        "p.npz": packed(**VECTORS) if vectors is None else vectors,
    }
    return row(f"rankings: npz, {name}", "evaluate rankings t.npz p.npz -o out.json", *says, files=files, **more)


def nested(name: str, text: str, *says: str, **more: Any) -> Row:
    files = {"t.csv": RANKINGS, "p.json": text}
    return row(f"rankings: JSON, {name}", "evaluate rankings t.csv p.json -o out.json", *says, files=files, **more)


def claims(shape: str) -> bytes:
    """An .npz whose vectors say that they have a shape, and hold nothing."""
    buffer = io.BytesIO()
    about = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("query.npy", b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + about.ljust(117) + b"\n")
    return buffer.getvalue()


ROWS: list[Row] = [
    trec("empty judgements", "t.qrels", "empty", qrels=""),
    trec("empty run", "p.run", "empty", run=""),
    trec("judgements of three fields", "t.qrels, line 2", "3 fields", "4", qrels="q1 0 a 1\nq1 0 b\n"),
    trec("run of five fields", "p.run, line 1", "5 fields", "6", run="q1 Q0 a 1 0.9\n"),
    trec("relevance that is a word", "t.qrels, line 1", "'high' is not a number", qrels="q1 0 a high\n"),
    trec("relevance of nan", "t.qrels, line 1", "'nan'", qrels="q1 0 a nan\n"),
    trec("score of inf", "p.run, line 1", "'inf'", run="q1 Q0 a 1 inf m\n"),
    trec("score of 1e400", "p.run, line 1", "'1e400'", run="q1 Q0 a 1 1e400 m\n"),
    trec("score of a megabyte", "p.run, line 1", run="q1 Q0 a 1 " + "9" * (1 << 20) + " m\n"),
    trec("document twice", "p.run, line 4", "twice", run=RUN + "q1 Q0 a 3 0.1 m\n"),
    trec("judged twice", "t.qrels, line 4", "twice", qrels=QRELS + "q1 0 a 0\n"),
    trec("id of 70,000 bytes", "p.run, line 1", "65,535", run="q1 Q0 " + "d" * 70_000 + " 1 0.9 m\n"),
    trec("query that is not UTF-8", "p.run, line 1", "UTF-8", run=b"\xff Q0 a 1 0.9 m\n"),
    trec("document that is not UTF-8", "ndcg@10", run=b"q1 Q0 \xff\xfe 1 0.9 m\nq2 Q0 c 1 1 m\n", code=0, writes=("out.json",)),
    trec("NUL bytes", "1 query is not in the run", run=b"q1 Q0 a\0b 1 0.9 m\n", code=0, writes=("out.json",)),
    trec("nothing but blanks", "t.qrels", "empty", qrels=" \n\t\n"),
    trec("UTF-16", "t.qrels", "UTF-16", qrels=QRELS.encode("utf-16")),
    trec("both sides swapped", "t.qrels, line 1", "6 fields", qrels=RUN, run=QRELS),
    trec("run of other queries", "2 queries are not in the run, which counts as 0", run="z Q0 a 1 0.9 m\n", code=0, writes=("out.json",)),
    trec("single line of 10 MB", "p.run, line 1", run="x " * 5_000_000),
    row("rankings: gzip that is cut", "evaluate rankings t.qrels p.run.gz -o out.json", "p.run.gz", "unpacked", files={"t.qrels": QRELS, "p.run.gz": gzip.compress(RUN.encode())[:-9]}),
    row("rankings: gzip that is none", "evaluate rankings t.qrels p.run.gz -o out.json", "p.run.gz, line 1", "3 fields", files={"t.qrels": QRELS, "p.run.gz": "q1 Q0 a\n"}),
    pred("score that is empty", "rankings", RANKINGS_P.replace("0.5", ""), "pred.csv, line 3", "'score'", "empty"),
    pred("score of nan", "rankings", RANKINGS_P.replace("0.5", "nan"), "pred.csv, line 3", "'nan' is not allowed"),
    pred("document that is empty", "rankings", RANKINGS_P.replace("q1,b", "q1,"), "pred.csv, line 3", "'doc'", "empty"),
    pred("query that is empty", "rankings", RANKINGS_P.replace("q1,b", ",b"), "pred.csv, line 3", "'query'", "empty"),
    pred("document twice", "rankings", RANKINGS_P + "q1,a,0.1\n", "pred.csv, line 5", "twice"),
    truth("relevance of 400 digits", "rankings", RANKINGS.replace("c,2", f"c,{'9' * 400}"), "truth.csv, line 4", "'relevance'"),
    truth("relevance of 1e300", "rankings", RANKINGS.replace("c,2", "c,1e300"), "a relevance of 1e+300", "above 1e+12", options="--ci none"),
    truth("relevance that is a fraction", "rankings", RANKINGS.replace("c,2", "c,0.5"), "rankings", code=0, options="--ci none -m ndcg@10"),
    truth("no relevant document", "rankings", "query,doc,relevance\nq1,a,0\nq2,c,0\n", "undefined", code=0),
    evaluate("cut-off of zero", "rankings", "ndcg", "0", options="-m ndcg@0"),
    evaluate("cut-off of 10^400", "rankings", "too large", options=f"-m ndcg@{'9' * 400}"),
    nested("numbers that are texts", '{"q1": {"a": "high"}}', "p.json", "q1", "a", "'high'"),
    nested("number that is true", '{"q1": {"a": true}, "q2": {"c": 1}}', "p.json", "q1"),
    nested("number of 10^400", '{"q1": {"a": ' + "9" * 400 + '}, "q2": {"c": 1}}', "p.json", "q1"),
    nested("number of NaN", '{"q1": {"a": NaN}, "q2": {"c": 1}}', "p.json", "q1", "nan"),
    nested("lists in place of numbers", '{"q1": {"a": [1]}, "q2": {"c": 1}}', "p.json", "q1"),
    nested("lists in place of documents", '{"q1": [1, 2]}', "p.json"),
    nested("100,000 deep", '{"q1": ' * 100_000, "p.json"),
    nested("query twice", '{"q1": {"a": 1}, "q1": {"b": 1}, "q2": {"c": 1}}', "p.json", "'q1'", "twice"),
    nested("integer of 5,000 digits", '{"q1": {"a": ' + "9" * 5000 + "}}", "p.json", "more than 4,300 digits"),
    npz("file that is none", "t.npz", "cannot be unpacked", truth=b"none"),
    npz("cut off", "p.npz", "cannot be unpacked", vectors=packed(**VECTORS)[:-40]),
    npz("empty", "p.npz", "cannot be unpacked", vectors=b""),
    npz("flipped bytes", "p.npz", vectors=packed(**VECTORS)[:150] + b"\xff" * 60 + packed(**VECTORS)[210:]),
    npz("objects, which run code", "t.npz", "cannot be read", "objects", truth=packed(query_label=np.array([{}, {}], dtype=object))),
    npz("vectors of nan", "p.npz", "not finite", vectors=packed(query=np.full((2, 2), np.nan), gallery=np.eye(2))),
    npz("vectors of inf", "p.npz", "not finite", vectors=packed(query=np.full((2, 2), np.inf), gallery=np.eye(2))),
    npz("vectors of text", "p.npz", "'query'", vectors=packed(query=np.array([["a", "b"]]), gallery=np.eye(2))),
    npz("vectors of three dimensions", "p.npz", "'query'", "shape", vectors=packed(query=np.zeros((2, 2, 2)), gallery=np.eye(2))),
    npz("vectors without length", "p.npz", "'query'", "shape", vectors=packed(query=np.zeros((2, 0)), gallery=np.zeros((2, 0)))),
    npz("vectors of two lengths", "p.npz", "differ in length", vectors=packed(query=np.eye(2), gallery=np.eye(3))),
    npz("vectors of zero", "p.npz", vectors=packed(query=np.zeros((2, 2)), gallery=np.eye(2))),
    npz("vectors of 1e200", "p.npz", vectors=packed(query=np.full((2, 2), 1e200), gallery=np.eye(2) * 1e200)),
    npz("labels of another number", "t.npz", truth=packed(query_label=np.array(["a"]), gallery_label=np.array(["a", "b"]))),
    npz("array that is unknown", "p.npz", "'quary'", "'query'", vectors=packed(quary=np.eye(2), gallery=np.eye(2))),
    npz("shape of 100 GB", "p.npz", vectors=claims("(100000000, 128)")),
    npz("shape that overflows", "p.npz", "ends before its", vectors=claims("(4611686018427387904, 16)")),
    npz("negative shape", "p.npz", "ends before its", vectors=claims("(-1, 16)")),
]  # fmt: skip
