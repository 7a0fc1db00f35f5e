"""Tables (CSV, TSV, JSON, JSON lines, Parquet) that are spoiled, for the tasks that read tables."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

from hostile.rows import (
    CAPTIONS,
    CAPTIONS_P,
    ELLIPSES_P,
    LABELS,
    LABELS_P,
    LOSSES,
    LOSSES_P,
    PROBABILITIES,
    SEQUENCES,
    SEQUENCES_P,
    WEIGHTS,
    WEIGHTS_P,
    Row,
    pred,
    row,
    truth,
)

BIG = "9" * 400
TIMED = "sequence,t,weight,time\ns,0,100,{}\ns,1,50,{}\nr,0,80,0\nr,1,20,9\n"
LINE2, LINE3, LINE4 = ("pred.csv, line 2", "pred.csv, line 3", "pred.csv, line 4")


def table(name: str, file: str, made: Any, *says: str, **more: Any) -> Row:
    """Weights whose truth is this file; the predictions are good."""
    return row(
        f"weights: {name}", f"evaluate weights {file} pred.csv -o out.json", *says,
        files={file: made, "pred.csv": WEIGHTS_P}, **more,
    )  # fmt: skip


def parquet(path: Path, *, kind: str = "plain") -> None:
    """A Parquet file of one kind or another."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"dish": ["A", "A", "B"], "item": [1, 2, 1], "weight": [100.0, 50.0, 200.0]}
    if kind == "nested":
        columns["weight"] = [[1.0], [2.0], [3.0]]
    elif kind == "struct":
        columns["weight"] = [{"g": 1.0}, {"g": 2.0}, {"g": 3.0}]
    elif kind == "nulls":
        columns["weight"] = [100.0, None, 200.0]
    elif kind == "dates":
        columns["weight"] = pa.array([1, 2, 3], pa.timestamp("ns"))
    elif kind == "binary":
        columns["weight"] = [b"\xff", b"\x00", b"1"]
    elif kind == "empty":
        columns = {name: pa.array([], pa.float64()) for name in columns}
    elif kind == "bomb":  # a text of a megabyte, 8,000 times, is stored once
        indices = pa.array([0] * 8000, pa.int32())
        columns = {"dish": pa.DictionaryArray.from_arrays(indices, ["x" * (1 << 20)]), "weight": [1.0] * 8000}
        pq.write_table(pa.table(columns), path, store_schema=False)
        return
    made = pa.table(columns)
    if kind == "twice":
        made = pa.Table.from_arrays([*made.columns, made.column(2)], names=[*made.column_names, "weight"])
    pq.write_table(made, path)
    data = path.read_bytes()
    if kind == "cut":
        path.write_bytes(data[:-20])
    elif kind == "footer":
        path.write_bytes(data[:-8] + b"\xff\xff\xff\x7f" + b"PAR1")
    elif kind == "flipped":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes(255 - b for b in data[middle : middle + 40]) + data[middle + 40 :])


OBJECTS = [{"dish": "A", "item": 1, "weight": 100}, {"dish": "A", "item": 2, "weight": 50}]
LINES = "".join(json.dumps(item) + "\n" for item in OBJECTS)


def gzip_bomb(path: Path) -> None:
    """512 MB of blanks in 512 KB: a part of 64 MB, again and again."""
    path.write_bytes(gzip.compress(b" " * (1 << 26)) * 8)


FILES: list[Row] = [
    truth("empty file", "weights", "", "truth.csv", "empty"),
    truth("header only", "weights", "dish,item,weight\n", "truth.csv", "no rows", options="--extra skip"),
    truth("blank lines only", "weights", "\n\n  \n", "truth.csv"),
    truth("NUL byte in a number", "weights", WEIGHTS.replace("200", "2\0"), "truth.csv", "line 4"),
    truth("NUL byte in the header", "weights", WEIGHTS.replace("weight", "weig\0ht"), "truth.csv"),
    truth("nothing but NUL bytes", "weights", b"\0" * 4096, "truth.csv"),
    truth("byte that is not UTF-8", "weights", WEIGHTS.encode() + b"C,1,\xff\n", "truth.csv", "0xff", "UTF-8"),
    truth("half a character at the end", "weights", WEIGHTS.encode() + b"C,1,\xe2\x82", "truth.csv", "UTF-8"),
    truth("UTF-16 with its mark", "weights", WEIGHTS.encode("utf-16"), "truth.csv", "UTF-16", "Save the file as UTF-8"),
    truth("UTF-16 without a mark", "weights", WEIGHTS.encode("utf-16-le"), "truth.csv", "UTF-16"),
    truth("UTF-32", "weights", WEIGHTS.encode("utf-32"), "truth.csv", "UTF-8"),
    truth("gzip under the name of a table", "weights", gzip.compress(WEIGHTS.encode())[:-6], "truth.csv", "unpacked"),
    truth("zip under the name of a table", "weights", b"PK\x03\x04" + bytes(60), "truth.csv", "ZIP"),
    truth("PNG under the name of a table", "weights", b"\x89PNG\r\n\x1a\n" + bytes(60), "truth.csv"),
    truth("unclosed quote", "weights", WEIGHTS + '"C,1,9\n', "truth.csv", "line 5", "not readable as CSV"),
    truth("quote in the middle of a cell", "weights", WEIGHTS + 'C,1,9"8"\n', "truth.csv, line 5", "is not a number"),
    truth("cell of a megabyte", "weights", WEIGHTS + f'C,1,"{"9" * (1 << 20)}"\n', "truth.csv, line 5"),
    truth("single line of 10 MB", "weights", b"dish,item,weight" + b",x" * 5_000_000 + b"\n", "truth.csv"),
    truth("100,000 columns", "weights", ",".join(f"c{i}" for i in range(100_000)) + "\n", "truth.csv"),
    truth("semicolons and commas", "weights", WEIGHTS.replace(",", ";", 1), "truth.csv, line 1", "both", "--delimiter"),
    truth("thousands or decimals", "weights", "dish;item;weight\nA;1;1,500\n", "truth.csv, line 2", "--decimal"),
    truth("commas and points", "weights", "dish;item;weight\nA;1;1,5\nA;2;1.5\n", "truth.csv, line 3", "both"),
    truth("tabs under .csv", "weights", WEIGHTS.replace(",", "\t"), "truth.csv", "tab"),
    truth("row that is too long", "weights", WEIGHTS + "C,1,9,9\n", "truth.csv, line 5", "4 fields", "3"),
    truth("row that is too short", "weights", WEIGHTS + "C,1\n", "truth.csv, line 5", "2 fields", "3"),
    truth("column twice", "weights", WEIGHTS.replace("item", "dish"), "truth.csv", "'dish' appears twice"),
    truth("column without a name", "weights", WEIGHTS.replace("item", ""), "truth.csv", "column 2 has no name"),
    truth("mixed line ends with a row too short", "weights", "dish,item,weight\r\nA,1,100\nA,2\r\n", "truth.csv, line 3", "2 fields"),
    truth("columns swapped", "weights", "weight,item,dish\nA,1,100\nA,2,50\nB,1,200\n", "truth.csv, line 2", "'weight'", "'A' is not a number"),
    table("JSON that is cut off", "t.json", json.dumps(OBJECTS)[:-9], "t.json", "not valid JSON"),
    table("JSON object in place of rows", "t.json", '{"dish": "A"}', "t.json", "object", "array of objects"),
    table("JSON that is a number", "t.json", "7", "t.json", "array of objects"),
    table("JSON null", "t.json", "null", "t.json", "array of objects"),
    table("JSON array of arrays", "t.json", "[[1,2],[3,4]]", "t.json"),
    table("JSON that is empty", "t.json", "", "t.json", "empty"),
    table("JSON without rows", "t.json", "[]", "t.json", "no rows"),
    table("JSON 100,000 deep", "t.json", "[" * 100_000, "t.json"),
    table("JSON row 100,000 deep", "t.jsonl", '{"dish": ' + "[" * 100_000 + "\n", "t.jsonl, line 1"),
    table("JSON with a key twice", "t.json", '[{"dish": "A", "item": 1, "weight": 100, "weight": 7}]', "t.json", "'weight'", "twice"),
    table("JSON line with a key twice", "t.jsonl", '{"dish": "A", "dish": "B", "item": 1, "weight": 1}\n', "t.jsonl, line 1", "'dish'", "twice"),
    table("JSON integer of 5,000 digits", "t.json", '[{"dish": "A", "item": 1, "weight": ' + "9" * 5000 + "}]", "t.json", "more than 4,300 digits"),
    table("JSON integer of 400 digits", "t.json", '[{"dish": "A", "item": 1, "weight": ' + BIG + "}]", "t.json, row 0", "'weight'", "9999"),
    table("JSON number 1e400", "t.json", '[{"dish": "A", "item": 1, "weight": 1e400}]', "t.json, row 0", "'inf' is not allowed"),
    table("JSON boolean for a weight", "t.json", '[{"dish": "A", "item": 1, "weight": true}]', "t.json, row 0", "'weight'", "True"),
    table("JSON text for a weight", "t.json", '[{"dish": "A", "item": 1, "weight": "heavy"}]', "t.json, row 0", "'heavy' is not a number"),
    table("JSON object for a weight", "t.json", '[{"dish": "A", "item": 1, "weight": {"g": 1}}]', "t.json, row 0", "is not a number"),
    table("JSON list for an id", "t.json", '[{"dish": ["A"], "item": 1, "weight": 1}]', "t.json, row 0", "'dish'"),
    table("JSON half surrogate in an id", "t.json", '[{"dish": "\\ud800", "item": 1, "weight": 1}]', "t.json"),
    table("JSON NaN", "t.jsonl", '{"dish": "A", "item": 1, "weight": NaN}\n', "t.jsonl, line 1", "'nan' is not allowed"),
    table("JSON lines of which one is cut", "t.jsonl", LINES + '{"dish": ', "t.jsonl, line 3", "not valid JSON"),
    table("JSON lines of an array", "t.jsonl", "[1, 2]\n", "t.jsonl, line 1", "an array where an object is expected"),
    table("JSON lines that are blank", "t.jsonl", "\n\n", "t.jsonl", "empty"),
    table("JSON lines in UTF-16", "t.jsonl", LINES.encode("utf-16"), "t.jsonl", "UTF-16"),
    table("gzip under .jsonl that is cut", "t.jsonl", gzip.compress(LINES.encode() * 50)[:-30], "t.jsonl", "unpacked"),
    table("gzip bomb", "t.csv.gz", gzip_bomb, "t.csv.gz", "MB once unpacked"),
    table("gzip that is cut", "t.csv.gz", gzip.compress(WEIGHTS.encode())[:-10], "t.csv.gz", "unpacked"),
    table("gzip whose checksum is wrong", "t.csv.gz", gzip.compress(WEIGHTS.encode())[:-8] + bytes(8), "t.csv.gz", "unpacked"),
    table("gzip that is none", "t.csv.gz", WEIGHTS + "C,1\n", "t.csv.gz, line 5", "2 fields"),
    table("Excel by its name", "t.xlsx", b"PK\x03\x04" + bytes(60), "t.xlsx", "not a workbook"),
    table("npz where a table is asked for", "t.npz", b"PK\x03\x04" + bytes(60), "t.npz", "ZIP"),
    table("no ending", "t", WEIGHTS, "t:", "not a supported format", ".csv"),
    table("TSV with commas", "t.tsv", WEIGHTS, "t.tsv", "commas"),
    table("Parquet that is text", "t.parquet", "not parquet", "t.parquet", "not readable as Parquet"),
    table("Parquet that is empty", "t.parquet", b"", "t.parquet", "Parquet"),
    table("Parquet that is cut", "t.parquet", partial(parquet, kind="cut"), "t.parquet", "not readable as Parquet"),
    table("Parquet with a footer of 2 GB", "t.parquet", partial(parquet, kind="footer"), "t.parquet", "not readable as Parquet"),
    table("Parquet with flipped bits", "t.parquet", partial(parquet, kind="flipped"), "t.parquet"),
    table("Parquet of lists", "t.parquet", partial(parquet, kind="nested"), "t.parquet, row 0", "'weight'", "is not a number"),
    table("Parquet of structs", "t.parquet", partial(parquet, kind="struct"), "t.parquet, row 0", "'weight'", "is not a number"),
    table("Parquet with nulls", "t.parquet", partial(parquet, kind="nulls"), "t.parquet, row 1", "'weight'"),
    table("Parquet of dates", "t.parquet", partial(parquet, kind="dates"), "t.parquet, row 0", "'weight'", "1970"),
    table("Parquet of bytes", "t.parquet", partial(parquet, kind="binary"), "t.parquet, row 0", "'weight'"),
    table("Parquet without rows", "t.parquet", partial(parquet, kind="empty"), "t.parquet", "no rows"),
    table("Parquet with a column twice", "t.parquet", partial(parquet, kind="twice"), "t.parquet", "weight", "Multiple matches"),
    table("Parquet bomb of 8 GB", "t.parquet", partial(parquet, kind="bomb"), "t.parquet", "memory"),
]  # fmt: skip


VALUES: list[Row] = [
    pred("nan", "weights", WEIGHTS_P.replace("40", "nan"), LINE3, "'weight'", "the cell is empty or nan", "--missing"),
    pred("infinity", "weights", WEIGHTS_P.replace("40", "-inf"), LINE3, "'-inf' is not allowed"),
    pred("1e400", "weights", WEIGHTS_P.replace("40", "1e400"), LINE3, "'1e400' is not allowed"),
    pred("integer of 400 digits", "weights", WEIGHTS_P.replace("40", BIG), LINE3, "999..."),
    pred("integer of 5,000 digits", "weights", WEIGHTS_P.replace("40", "9" * 5000), LINE3, "999..."),
    pred("hexadecimal", "weights", WEIGHTS_P.replace("40", "0x28"), LINE3, "'0x28' is not a number"),
    pred("digits with underscores", "weights", WEIGHTS_P.replace("40", "4_0"), LINE3, "'4_0' is not a number"),
    pred("Arabic digits", "weights", WEIGHTS_P.replace("40", "٤٠"), LINE3, "is not a number"),
    pred("decimal comma", "weights", WEIGHTS_P.replace("40", '"40,5"'), LINE3, "'40,5' is not a number", "decimal point"),
    pred("unit in the cell", "weights", WEIGHTS_P.replace("40", "40 g"), LINE3, "'40 g' is not a number"),
    pred("escape sequence in a number", "weights", WEIGHTS_P.replace("40", "\x1b[2J40"), LINE3, "is not a number"),
    pred("right-to-left mark in a number", "weights", WEIGHTS_P.replace("40", "\u202e40"), LINE3, "is not a number"),
    pred("empty cell", "weights", WEIGHTS_P.replace("40", ""), LINE3, "'weight'", "empty"),
    pred("empty id", "weights", WEIGHTS_P.replace("B,1", ",1"), LINE4, "'dish'", "id is empty"),
    pred("id twice", "weights", WEIGHTS_P + "B,1,7\n", "pred.csv, line 5", "appears twice", "line 4"),
    pred("both sides empty of each other", "weights", WEIGHTS_P.replace("A,", "X,").replace("B,", "Y,"), "have no"),
    pred("escape sequence in an id", "weights", WEIGHTS_P.replace("B,", "\x1b]0;owned\x07B,"), "dish 'B'", "--missing"),
    truth("negative truth", "weights", WEIGHTS.replace("50", "-50"), "truth.csv, line 3", "'-50'", "at least 0"),
    truth("ids with zeros before", "weights", WEIGHTS.replace("A,", "01,").replace("B,", "02,"), "truth.csv"),
    pred("t that is not whole", "sequences", SEQUENCES_P.replace("s,1,", "s,1.5,"), LINE3, "'1.5'", "whole number"),
    pred("t of 400 digits", "sequences", SEQUENCES_P.replace("s,1,", f"s,{BIG},"), LINE3, "'t'"),
    pred("t of 1e300", "sequences", SEQUENCES_P.replace("s,1,", "s,1e300,"), LINE3, "'t'"),
    pred("t of 2^63", "sequences", SEQUENCES_P.replace("s,1,", f"s,{2**63},"), LINE3, "'t'"),
    pred("frame twice", "sequences", SEQUENCES_P + "s,1,3\n", "pred.csv, line 6", "appears twice"),
    truth("two densities", "sequences", SEQUENCES.replace("50,2", "50,3"), "truth.csv, line 3", "3 differs from 2"),
    truth("density of infinity", "sequences", SEQUENCES.replace("100,2", "100,inf"), "truth.csv, line 2", "'inf'"),
    truth("no valid frame", "sequences", "sequence,t,weight,valid\ns,0,1,false\n", "no frame is valid", options="--extra skip"),
    truth("valid that is not a flag", "sequences", "sequence,t,weight,valid\ns,0,1,maybe\n", "truth.csv, line 2", "'maybe'"),
    *(
        truth(f"times: {name}", "sequences", TIMED.format(*times), *names, options="-m mae_rate")
        for name, times, names in (
            ("falling", (30, 20), ("truth.csv, line 3", "20", "30")),
            ("of a clock", (0, "12:30:01"), ("truth.csv, line 3", "'12:30:01'")),
            ("negative", (-1, 20), ("truth.csv, line 2", "'-1'")),
            ("infinite", (0, "inf"), ("truth.csv, line 3", "'inf'")),
            ("of 1e300", (0, "1e300"), ("truth.csv, line 3", "'time'")),
            ("of 400 digits", (0, BIG), ("truth.csv, line 3", "'time'")),
        )
    ),
    pred("axis of zero", "ellipses", ELLIPSES_P.replace("5,4", "5,0"), LINE3, "'b'", "the axis is 0"),
    pred("negative axis", "ellipses", ELLIPSES_P.replace("40,20", "-40,20"), LINE2, "'a'", "the axis is -40"),
    pred("nan centre", "ellipses", ELLIPSES_P.replace("138", "nan"), LINE2, "'xc'"),
    pred("centre of 1e300", "ellipses", ELLIPSES_P.replace("138", "1e300"), LINE2, "'xc'", "out of range"),
    pred("axis of 1e-300", "ellipses", ELLIPSES_P.replace("40,20", "1e-300,1e-300"), LINE2),
    pred("score of nan", "ellipses", ELLIPSES_P.replace("0.9", "nan"), LINE2, "'score'"),
    pred("infinite score", "ellipses", ELLIPSES_P.replace("0.9", "inf"), LINE2, "'score'"),
    pred("points on a line", "ellipses", "image,points\ni,1 1 2 2 3 3 4 4 5 5 6 6\nk,\n", LINE2, "points", "line"),
    pred("points of nan", "ellipses", "image,points\ni,1 1 nan 2 3 3 4 4 5 5 6 6\nk,\n", LINE2, "points"),
    pred("100,000 points that are words", "ellipses", "image,points\ni," + "x " * 100_000 + "\nk,\n", LINE2, "field larger than"),
    pred("empty label", "labels", LABELS_P.replace("2,cat", "2,"), LINE3, "'label'", "the cell is empty or nan", "--missing"),
    pred("label with blanks around it", "labels", LABELS_P.replace("dog", "dog "), "dog", code=0),
    pred("id twice", "labels", LABELS_P + "4,cat\n", "pred.csv, line 6", "appears twice"),
    pred("probability of nan", "labels", PROBABILITIES.replace("0.9,", "nan,"), LINE2, "probability:cat", "nan"),
    pred("probability above 1", "labels", PROBABILITIES.replace("0.9,", "1.9,"), LINE2, "probability:cat", "1.9"),
    pred("negative probability", "labels", PROBABILITIES.replace("0.9,", "-0.9,"), LINE2, "probability:cat", "-0.9"),
    pred("probabilities of percent", "labels", PROBABILITIES.replace("0.", "9"), LINE2, "probability:cat"),
    pred("probabilities that do not add up", "labels", PROBABILITIES.replace("0.9,0.1", "0.9,0.9"), "add up"),
    pred("class that truth does not have", "labels", PROBABILITIES.replace("dog", "cow"), "dog"),
    truth("escape sequence for a class", "labels", LABELS.replace("dog", "\x1b[31mdog"), "dog", code=0, options="-m accuracy --by label"),
    truth("emoji for a class", "labels", LABELS.replace("dog", "🐕‍🦺"), "🐕", code=0, options="--ci none -m 'precision(label=\"🐕‍🦺\")'"),
    pred("caption twice", "captions", CAPTIONS_P + "1,another\n", "pred.csv, line 4", "two candidates", "line 2"),
    pred("image without a caption", "captions", "image,caption\n1,a red car\n", "'2'", "--missing"),
    pred("image that truth does not have", "captions", CAPTIONS_P + "9,a cow\n", "'9'", "--extra skip"),
    truth("no reference that holds a word", "captions", "image,caption\n1,...\n2,!!!\n", "captions", code=0),
    pred("caption of control characters", "captions", CAPTIONS_P.replace("a red car", "\x01\x02\x1b[2J"), "captions", code=0),
    pred("logit of nan", "losses", LOSSES_P.replace("1.5,", "nan,"), "line 3", "'logit'", "empty"),
    pred("infinite value", "losses", LOSSES_P.replace("2.5", "inf"), LINE3, "'value'", "inf"),
    truth("target that is neither 0 nor 1", "losses", LOSSES.replace("i,2,1", "i,2,7"), "truth.csv, line 3", "'target'", "7"),
    truth("target of nan", "losses", LOSSES.replace("i,2,1", "i,2,nan"), "truth.csv, line 3", "'target'"),
    pred("item twice", "losses", LOSSES_P + "k,1,1,1\n", "pred.csv, line 5", "appears twice"),
    pred("value missing where truth has one", "losses", LOSSES_P.replace("2.5", ""), "line 3", "'value'", "empty"),
    pred("both sides swapped", "losses", LOSSES, "pred.csv", "'logit' is missing"),
    truth("caption column of numbers", "captions", CAPTIONS.replace("caption", "text"), "truth.csv", "'caption' is missing", "--map caption="),
    pred("label of another case", "labels", LABELS_P.replace("cat", "Cat"), "case", code=0),
    pred("caption that is empty", "captions", CAPTIONS_P.replace("a dog in grass", ""), "empty", code=0),
]  # fmt: skip

ROWS = FILES + VALUES
