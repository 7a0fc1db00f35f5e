"""Bad input: one clear message that says what, where and how to repair it; exit code 2; nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

TRUTH = "dish,item,weight\nA,1,100\nA,2,50\nB,1,200\n"
PRED = "dish,item,weight\nA,1,110\nA,2,40\nB,1,150\n"
SEQ_TRUTH = "sequence,t,weight,kcal_per_g\ns,0,100,2\ns,1,50,2\n"
SEQ_PRED = "sequence,t,weight\ns,0,90\ns,1,40\n"

# what is wrong: (truth, predictions, options, all that the message must contain)
WEIGHTS = {
    "missing column": (TRUTH, PRED.replace("weight", "grams"), [], ["pred.csv", "'weight' is missing", "'grams'", "--map weight="]),
    "mapped column that is not there": (TRUTH, PRED, ["--map", "weight=gram"], ["'gram' is missing", "mapped"]),
    "mapping of an unknown name": (TRUTH, PRED, ["--map", "wieght=weight"], ["'wieght'", "Did you mean 'weight'?"]),
    "mapping without equals": (TRUTH, PRED, ["--map", "weight"], ["'weight' is not NAME=COLUMN"]),
    "text where a number is": (TRUTH, PRED.replace("40", "forty"), [], ["pred.csv, line 3", "'weight'", "'forty' is not a number"]),
    "decimal comma": (TRUTH, PRED.replace("40", '"40,5"'), [], ["pred.csv, line 3", "'40,5' is not a number"]),
    "empty cell": (TRUTH, PRED.replace("40", ""), [], ["pred.csv, line 3", "'weight'", "empty"]),
    "nan in predictions": (TRUTH, PRED.replace("40", "nan"), [], ["pred.csv, line 3", "the cell is empty or nan", "--missing"]),
    "infinite weight": (TRUTH.replace("200", "inf"), PRED, [], ["truth.csv, line 4", "'inf' is not allowed"]),
    "huge exponent": (TRUTH.replace("200", "1e999"), PRED, [], ["truth.csv, line 4", "'1e999' is not allowed"]),
    "negative true weight": (TRUTH.replace("50", "-50"), PRED, [], ["truth.csv, line 3", "'-50'", "at least 0"]),
    "duplicate id": (TRUTH + "A,1,7\n", PRED, [], ["truth.csv, line 5", "dish 'A', item '1' appears twice", "line 2"]),
    "duplicate prediction": (TRUTH, PRED + "B,1,7\n", [], ["pred.csv, line 5", "dish 'B', item '1' appears twice"]),
    "id in truth only": (TRUTH + "C,1,9\n", PRED, [], ["truth.csv, line 5", "1 of 4 rows of the truth", "dish 'C'", "--missing worst or --missing skip"]),
    "id in predictions only": (TRUTH, PRED + "C,1,9\n", [], ["pred.csv, line 5", "has no truth", "dish 'C'", "--extra skip"]),
    "empty id": (TRUTH.replace("B,1", ",1"), PRED, [], ["truth.csv, line 4", "'dish'", "id is empty"]),
    "empty file": ("", PRED, [], ["truth.csv", "empty"]),
    "header only": ("dish,item,weight\n", PRED, ["--extra", "skip"], ["truth.csv", "no rows"]),
    "short row": (TRUTH + "C,1\n", PRED, [], ["truth.csv, line 5", "2 fields", "3"]),
    "column twice": (TRUTH.replace("item", "dish"), PRED, [], ["truth.csv", "'dish' appears twice"]),
    "column without a name": (TRUTH.replace("item", ""), PRED, [], ["truth.csv", "column 2 has no name"]),
    "item on one side": (TRUTH, "dish,weight\nA,1\nB,2\n", [], ["pred.csv", "'item' is missing"]),
    "unbalanced quote": (TRUTH + '"C,1,9\n', PRED, [], ["truth.csv", "not readable as CSV"]),
    "unknown metric": (TRUTH, PRED, ["-m", "mea"], ["no metric 'mea'", "Did you mean 'mae'?"]),
    "unknown setting": (TRUTH, PRED, ["-m", "mape(zeros=skip)"], ["no setting 'zeros'", "zero"]),
    "bad setting": (TRUTH, PRED, ["-m", "mape(zero=no)"], ["zero cannot be no", "skip, error, eps"]),
    "negative percentage": (TRUTH, PRED, ["-m", "within@-5"], ["percent cannot be -5", "above 0"]),
    "spec that does not parse": (TRUTH, PRED, ["-m", "within@10("], ["'within@10('", "ends too early"]),
    "unknown slice": (TRUTH, PRED, ["--by", "fod"], ["'fod' is missing"]),
    "confidence as a percentage": (TRUTH, PRED, ["--ci", "95"], ["95 is not between 0 and 1", "0.95"]),
    "confidence in words": (TRUTH, PRED, ["--ci", "high"], ["--ci 'high'"]),
    "too few draws": (TRUTH, PRED, ["--draws", "5"], ["5 draws are out of range"]),
    "no threads": (TRUTH, PRED, ["--threads", "0"], ["0 threads cannot work", "from 1 up"]),
    "negative seed": (TRUTH, PRED, ["--seed", "-1"], ["seed -1 is negative"]),
    "unknown policy": (TRUTH, PRED, ["--missing", "ignore"], ["ignore", "worst"]),
    "output of no known format": (TRUTH, PRED, ["-o", "out.pdf"], ["'out.pdf'", ".json, .md, .html"]),
    "unknown option": (TRUTH, PRED, ["--metrc", "mae"], ["--metrc", "--metric"]),
    "nul byte": (TRUTH.replace("200", "2\0"), PRED, [], ["truth.csv"]),
}  # fmt: skip
SEQUENCES = {
    "two densities": (SEQ_TRUTH.replace("50,2", "50,3"), SEQ_PRED, [], ["truth.csv, line 3", "kcal_per_g", "3 differs from 2", "line 2"]),
    "negative density": (SEQ_TRUTH.replace(",2\n", ",-2\n"), SEQ_PRED, [], ["truth.csv, line 2", "'-2'", "at least 0"]),
    "t is not whole": (SEQ_TRUTH.replace("s,1,", "s,1.5,"), SEQ_PRED, [], ["truth.csv, line 3", "'1.5'", "whole number"]),
    "negative t": (SEQ_TRUTH.replace("s,1,", "s,-1,"), SEQ_PRED, [], ["truth.csv, line 3", "'-1'", "whole number from 0 up"]),
    "duplicate frame": (SEQ_TRUTH + "s,1,3,2\n", SEQ_PRED, [], ["truth.csv, line 4", "t '1' appears twice"]),
    "valid is not a flag": ("sequence,t,weight,valid\ns,0,1,maybe\n", "sequence,t,weight\ns,0,1\n", [], ["truth.csv, line 2", "'maybe' is neither true nor false"]),
    "no valid frame": ("sequence,t,weight,valid\ns,0,1,false\n", "sequence,t,weight\ns,0,1\n", [], ["no frame is valid"]),
}  # fmt: skip

ELL_TRUTH = "image,xc,yc,a,b,theta\ni,150,100,40,20,45\nk,10,20,5,4,0\n"
ELL_PRED = "image,xc,yc,a,b,theta,score\ni,138,112,40,20,55,0.9\nk,,,,,,\n"
ELLIPSES = {
    "axis of zero": (ELL_TRUTH.replace("5,4", "5,0"), ELL_PRED, [], ["truth.csv, line 3", "column 'b'", "the axis is 0", "more than 0"]),
    "negative axis": (ELL_TRUTH, ELL_PRED.replace("40", "-40"), [], ["pred.csv, line 2", "column 'a'", "the axis is -40"]),
    "nan centre": (ELL_TRUTH.replace("150", "nan"), ELL_PRED, [], ["truth.csv, line 2", "column 'xc'", "empty or nan"]),
    "empty angle": (ELL_TRUTH, ELL_PRED.replace("55", ""), [], ["pred.csv, line 2", "column 'theta'", "empty or nan", "all five"]),
    "infinite centre": (ELL_TRUTH, ELL_PRED.replace("138", "inf"), [], ["pred.csv, line 2", "column 'xc'", "'inf' is not allowed", "finite"]),
    "number out of range": (ELL_TRUTH, ELL_PRED.replace("138", "1e13"), [], ["pred.csv, line 2", "column 'xc'", "1e+13 is out of range"]),
    "text for a number": (ELL_TRUTH, ELL_PRED.replace("112", "x"), [], ["pred.csv, line 2", "column 'yc'", "'x' is not a number"]),
    "image that truth does not have": (ELL_TRUTH, ELL_PRED + "z,1,1,1,1,0,1\n", [], ["pred.csv, line 4", "image 'z' is not in the truth", "truth.csv", "--extra skip"]),
    "image without prediction": (ELL_TRUTH + "z,1,1,1,1,0\n", ELL_PRED, [], ["truth.csv, line 4", "image 'z' has no prediction", "pred.csv", "--missing worst"]),
    "score missing": (ELL_TRUTH, ELL_PRED.replace("0.9", ""), [], ["pred.csv, line 2", "column 'score'", "every ellipse"]),
    "column missing": (ELL_TRUTH, ELL_PRED.replace("theta", "angle"), [], ["pred.csv", "'theta' is missing", "'angle'", "--map theta=", "points"]),
    "negative threshold": (ELL_TRUTH, ELL_PRED, ["-m", "score(t=-1)"], ["'score'", "t cannot be -1", "from 0 up"]),
    "threshold of no use": (ELL_TRUTH, ELL_PRED, ["-m", "score(distance=iou, t=5)"], ["distance=iou", "t=5", "0 to 1"]),
    "unknown distance": (ELL_TRUTH, ELL_PRED, ["-m", "score(distance=l2)"], ["distance cannot be l2", "wasserstein"]),
    "unknown matching": (ELL_TRUTH, ELL_PRED, ["-m", "score(matching=best)"], ["matching cannot be best", "greedy, optimal"]),
    "too few weights": (ELL_TRUTH, ELL_PRED, ["-m", "score(weights=[1, 2])"], ["weights cannot be [1, 2]", "five numbers"]),
    "negative weight": (ELL_TRUTH, ELL_PRED, ["-m", "score(weights=[1, 1, 1, 1, -1])"], ["weights cannot be", "from 0 up"]),
    "iou above 1": (ELL_TRUTH, ELL_PRED, ["-m", "f1(iou=80)"], ["iou cannot be 80", "at most 1"]),
    "iou and distance": (ELL_TRUTH, ELL_PRED, ["-m", "f1(iou=0.5, distance=center)"], ["exclude each other"]),
    "unknown angle unit": (ELL_TRUTH, ELL_PRED, ["--angle", "turns"], ["angle", "'turns' is not a valid choice", "degrees"]),
    "height that is not a number": (ELL_TRUTH, ELL_PRED, ["--y-up", "tall"], ["y_up", "'tall' is not a number"]),
    "height of zero": (ELL_TRUTH, ELL_PRED, ["--y-up", "0"], ["y_up", "above 0"]),
    "unknown option of the task": (ELL_TRUTH, ELL_PRED, ["-O", "truth.angel=radians"], ["no option 'truth.angel'", "Did you mean 'angle'?"]),
    "option twice": (ELL_TRUTH, ELL_PRED, ["--angle", "radians", "-O", "angle=degrees"], ["angle is given twice"]),
    "option without a value": (ELL_TRUTH, ELL_PRED, ["-O", "angle"], ["'angle' is not NAME=VALUE"]),
    "list of images that is not there": (ELL_TRUTH, ELL_PRED, ["--images", "all.txt"], ["all.txt", "no such file"]),
    "list of images without a column": (ELL_TRUTH.replace("image", "img"), ELL_PRED, ["--map", "truth.image=img", "--images", "truth.csv"], ["truth.csv", "'image' is missing"]),
    "too few points": (ELL_TRUTH, "image,points\ni,1 2 3 4 5 6\nk,\n", [], ["pred.csv, line 2", "column 'points'", "3 points", "five"]),
    "points on a line": (ELL_TRUTH, "image,points\ni,1 1 2 2 3 3 4 4 5 5 6 6\nk,\n", [], ["pred.csv, line 2", "points", "line"]),
    "odd number of coordinates": (ELL_TRUTH, "image,points\ni,1 2 3\nk,\n", [], ["pred.csv, line 2", "3 numbers make no pairs", "x and y in turn"]),
    "points that are words": (ELL_TRUTH, "image,points\ni,here there\nk,\n", [], ["pred.csv, line 2", "'here there' holds no points"]),
}  # fmt: skip

ANS_TRUTH = "question,image,answer\nq1,i,red\nq1,i,dark red\nq2,i,3\n"
ANS_PRED = "question,answer\nq1,red\nq2,4\n"
ANSWERS = {
    "empty truth": (ANS_TRUTH.replace("dark red", ""), ANS_PRED, ["-m", "exact"], ["truth.csv, line 2", "question 'q1' has an accepted answer that is empty", "cer, wer"]),
    "no answer column": (ANS_TRUTH.replace("answer", "reply"), ANS_PRED, [], ["truth.csv", "'answer' is missing", "'reply'", "--map answer="]),
    "no reply column": (ANS_TRUTH, ANS_PRED.replace("answer", "text"), [], ["pred.csv", "'answer' is missing", "--map prediction.answer="]),
    "two images of a question": (ANS_TRUTH.replace("q1,i,dark", "q1,k,dark"), ANS_PRED, [], ["truth.csv, line 3", "question 'q1' has 'k' here and 'i'", "the same in all rows"]),
    "two replies": (ANS_TRUTH, ANS_PRED + "q2,5\n", [], ["pred.csv, line 4", "question 'q2' appears twice", "pred.csv, line 3"]),
    "a question without a reply": (ANS_TRUTH, "question,answer\nq1,red\n", [], ["truth.csv, line 4", "1 of 2 rows", "'q2'", "--missing worst"]),
    "a reply to no question": (ANS_TRUTH, ANS_PRED + "q9,x\n", [], ["pred.csv, line 4", "'q9'", "--extra skip"]),
    "answers that are not a list": ("question,answers\nq1,red\n", ANS_PRED, ["--extra", "skip"], ["truth.csv, line 2", "'red' is not a list of strings", '["two", "2"]']),
    "an empty list": ("question,answers\nq1,[]\n", ANS_PRED, ["--extra", "skip"], ["truth.csv, line 2", "there is no accepted answer"]),
    "options that are none": ("question,answer,choices\nq1,A,cat or dog\n", ANS_PRED, ["--extra", "skip", "-m", "choice"], ["truth.csv, line 2", "'cat or dog' is not a list of options", "JSON"]),
    "an answer that is not an option": ('question,answer,choices\nq1,E,"[""a"", ""b""]"\n', ANS_PRED, ["--extra", "skip", "-m", "choice"], ["truth.csv, line 2", "the answer 'E' is not among A, B"]),
    "choices without options": (ANS_TRUTH, ANS_PRED, ["-m", "choice"], ["truth.csv", "'choices' is missing", "JSON"]),
    "verdict above 1": ("question,verdict\nq1,2\nq2,1\n", ANS_PRED, ["-m", "judge"], ["truth.csv, line 2", "column 'verdict'", "from 0 to 1"]),
    "no verdict": (ANS_TRUTH, ANS_PRED, ["-m", "judge"], ["pred.csv", "there is no verdict", "'judge'"]),
    "score that is not logged": (ANS_TRUTH, ANS_PRED, ["-m", "logged(score=acc)"], ["pred.csv", "no score 'acc' is logged"]),
    "unknown norm": (ANS_TRUTH, ANS_PRED, ["-m", "exact(norm=fold)"], ["'exact'", "norm cannot be fold", "squad"]),
    "threshold above 1": (ANS_TRUTH, ANS_PRED, ["-m", "anls@50"], ["'anls'", "threshold cannot be 50", "to 1"]),
    "unknown reader": (ANS_TRUTH, ANS_PRED, ["-m", "yn_f1(reader=first)"], ["reader cannot be first", "pope"]),
    "weights that differ in a unit": ("question,image,answer,sample_weight\nq1,i,a,1\nq2,i,b,2\n", ANS_PRED, [], ["truth.csv, line 3", "2 differs from 1", "the same in all rows of a unit"]),
    "unknown format": (ANS_TRUTH, ANS_PRED, ["--format", "helm"], ["format", "'helm' is not a valid choice", "inspect"]),
    "a log that is none": (ANS_TRUTH, ANS_PRED, ["--format", "inspect"], ["truth.csv", "not valid JSON"]),
}  # fmt: skip

CASES = [
    *(pytest.param("answers", *case, id=f"answers: {name}") for name, case in ANSWERS.items()),
    *(pytest.param("weights", *case, id=name) for name, case in WEIGHTS.items()),
    *(pytest.param("sequences", *case, id=name) for name, case in SEQUENCES.items()),
    *(pytest.param("ellipses", *case, id=f"ellipses: {name}") for name, case in ELLIPSES.items()),
]


@pytest.mark.parametrize(("task", "truth", "predictions", "options", "expected"), CASES)
def test_message(task, truth, predictions, options, expected, tmp_path: Path, steelyard) -> None:
    (tmp_path / "truth.csv").write_text(truth, encoding="utf-8")
    (tmp_path / "pred.csv").write_text(predictions, encoding="utf-8")
    result = steelyard("evaluate", task, "truth.csv", "pred.csv", *options, "--units", "units.csv", "-o", "out.json")
    assert_clear(result, expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pred.csv", "truth.csv"]


def assert_clear(result, expected: list[str]) -> None:
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for text in expected:
        assert text in result.stderr
    if result.stderr.startswith("steelyard:"):
        assert result.stderr.count("\n") == 1


def write(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return name


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("t.csv", b"dish,item,weight\nA,1,\xff\n", ["t.csv", "0xff is not UTF-8"]),
        ("t.jsonl", b'{"dish": "A", "item": 1, "weight": 5}\n{"dish": ', ["t.jsonl, line 2", "not valid JSON"]),
        ("t.jsonl", b"[1, 2]\n", ["t.jsonl, line 1", "an array where an object is expected"]),
        ("t.jsonl", b"\n\n", ["t.jsonl", "empty"]),
        ("t.jsonl", b'{"dish": "A", "item": 1}\n', ["t.jsonl", "'weight' is missing"]),
        ("t.jsonl", b'{"dish": "A", "item": 1, "weight": [5]}\n', ["t.jsonl, line 1", "'[5]' is not a number"]),
        ("t.jsonl", b'{"dish": "A", "item": 1, "weight": NaN}\n', ["t.jsonl, line 1", "'nan' is not allowed"]),
        ("t.jsonl", b"[" * 100_000, ["t.jsonl, line 1"]),
        ("t.json", b'{"dish": "A"}', ["t.json", "holds an object", "array of objects"]),
        ("t.json", b'[{"dish": "A", "item": 1, "weight": -5}]', ["t.json, row 0", "'-5'", "at least 0"]),
        ("t.parquet", b"not parquet", ["t.parquet", "not readable as Parquet"]),
        ("t.xlsx", b"", ["t.xlsx", "is not a workbook"]),
    ],
)
def test_files(name: str, data: bytes, expected: list[str], tmp_path: Path, steelyard) -> None:
    write(tmp_path, "p.csv", PRED.encode())
    assert_clear(steelyard("evaluate", "weights", write(tmp_path, name, data), "p.csv"), expected)


def test_paths(tmp_path: Path, steelyard) -> None:
    write(tmp_path, "p.csv", PRED.encode())
    assert_clear(steelyard("evaluate", "weights", "nowhere.csv", "p.csv"), ["nowhere.csv", "no such file"])
    (tmp_path / "folder.csv").mkdir()
    assert_clear(steelyard("evaluate", "weights", "folder.csv", "p.csv"), ["folder.csv", "is a folder"])
    assert_clear(steelyard("evaluate", "weights", "p.csv"), ["p.csv", "'prediction' is missing"])
    assert_clear(steelyard("evaluate", "wieghts", "p.csv", "p.csv"), ["no task 'wieghts'", "'weights'"])
    (tmp_path / "taken").write_text("")
    assert_clear(
        steelyard("evaluate", "weights", "p.csv", "p.csv", "-o", "taken/out.json"),
        ["taken/out.json", "cannot be written"],
    )


def test_commands(steelyard) -> None:
    assert_clear(steelyard("evalute"), ["There is no command 'evalute'", "'evaluate'"])
    assert_clear(steelyard("metrics", "mea"), ["no metric 'mea'"])
    assert_clear(steelyard("demo", "wieghts"), ["no task 'wieghts'", "'weights'"])
