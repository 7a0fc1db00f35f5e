"""What is kept between commands, made up or spoiled: digests of results, ledgers, states of other types, folders of runs."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from hostile.results import GOOD, pilot, reports, spoiled
from hostile.rows import Row, row
from hostile.servers import FRAMES, LOCAL, PLAN, STORED, run
from hostile.states import state

EDITED = "was changed after Steelyard wrote it"
GATE = ["gate", "r.json", "--fail-if", "mae > 1000"]
LOOK = [*GATE, "--ledger", "looks.json"]
BASELINE = ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"]


def without(*keys: str) -> str:
    return json.dumps({key: value for key, value in reports()[0].items() if key not in keys})


def outside() -> str:
    """A value far from its interval, under a digest that fits."""
    data = json.loads(GOOD)
    data["body"]["scores"]["mae"] |= {"value": 0.1, "interval": [0.9, 0.95]}
    del data["digest"]
    text = json.dumps(_whole(data), sort_keys=True, separators=(",", ":"))
    return json.dumps({**data, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"})


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


RESULTS: list[Row] = [
    row("gate: an edited label", GATE, "r.json", EDITED, code=0, files={"r.json": spoiled("body.scores.mae.label", "better")}, task="weights"),
    row("gate: an edited baseline", BASELINE, "b.json", EDITED, code=0, files={"r.json": GOOD, "b.json": spoiled("body.scores.mae.label", "x")}, task="weights"),
    row("gate: a digest that is null", GATE, "r.json", EDITED, code=0, files={"r.json": spoiled("digest", None)}, task="weights"),
    row("gate: a digest that is a list 100 deep", GATE, "r.json", EDITED, code=0, files={"r.json": GOOD.replace('"digest": ', '"digest": ' + "[" * 100 + "]" * 100 + ', "was": ', 1)}, task="weights"),
    row("gate: two digests", GATE, "r.json", "'digest' appears twice", files={"r.json": GOOD.replace('"digest": ', '"digest": "", "digest": ', 1)}, task="weights"),
    row("report: an edited result", "report r.json", EDITED, code=0, files={"r.json": spoiled("body.coverage.matched", 2)}, task="weights"),
    row("report: keys of a later version", "report r.json", EDITED, code=0, files={"r.json": spoiled("later", {"a": [1, None]})}, task="weights"),
    row("report: a value outside its interval, signed again", "report r.json", "r.json", "body.scores.mae.interval", "the value 0.1 is outside", files={"r.json": outside()}, task="weights"),
    row("gate: a value outside its interval, signed again", ["gate", "r.json", "--fail-if", "mae > 0.5"], "the value 0.1 is outside", files={"r.json": outside()}, task="weights"),
    row("gate: a value outside its interval, without a digest", GATE, "is outside", files={"r.json": without("digest").replace('"interval": [', '"interval": [900.0, 901.0], "was": [', 1)}, task="weights"),
    row("gate: a difference outside its interval", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences.mae.interval", files={"c.json": spoiled("body.differences.mae.interval", [900.0, 901.0], 1)}, task="weights"),
    row("plan: an edited pilot", "plan c.json", "c.json", EDITED, code=0, files={"c.json": pilot().replace('"unit": "dish"', '"unit": "bowl"', 1)}, task="weights"),
    row("compare: an edited result", "compare r.json b.json", "b.json", EDITED, code=0, files={"r.json": GOOD, "b.json": spoiled("body.notes", ["mine"])}, task="weights"),
    row("report: a result that is a pipe", "report r.json", "r.json", files={"r.json": lambda path: os.mkfifo(path)}),
    row("gate: a result that links to a device", GATE, "r.json", files={"r.json": lambda path: os.symlink("/dev/zero", path)}),
    row("gate: a baseline that links to itself", BASELINE, "b.json", files={"r.json": GOOD, "b.json": lambda path: os.symlink(path.name, path)}, task="weights"),
    row("gate: half a character in a slice", GATE, "r.json", "slices[0].by", files={"r.json": spoiled("body.slices", [{"by": ["\udc00"], "value": ["x"], "scores": {}}])}, task="weights"),
    row("report: notes of escape sequences", "report r.json", EDITED, code=0, files={"r.json": spoiled("body.notes", ["\x1b[2J\x07now", "\u202eback"])}, task="weights"),
    row("report: 100,000 notes", "report r.json -o out.md", "out.md", code=0, writes=("out.md",), files={"r.json": spoiled("body.notes", [str(i) for i in range(100_000)])}, task="weights"),
]  # fmt: skip


def ledger(name: str, text: Any, *says: str, **more: Any) -> Row:
    return row(
        f"gate: a ledger {name}",
        LOOK,
        "looks.json",
        *says,
        files={"r.json": GOOD, "looks.json": text},
        task="weights",
        **more,
    )


LEDGER = '{"format": "steelyard-ledger", "version": 1, "looks": [%s], "seal": "%s"}'
LEDGERS: list[Row] = [
    ledger("that is empty", "", "not valid JSON"),
    ledger("that is a list", "[]", "is not a ledger"),
    ledger("that is a result", GOOD, "is not a ledger"),
    ledger("100,000 deep", "[" * 100_000, "nested too deeply"),
    ledger("of another version", LEDGER.replace("1,", '"1",', 1) % ("", ""), "version '1'"),
    ledger("without a seal", '{"format": "steelyard-ledger", "version": 1, "looks": []}', "edited by hand"),
    ledger("of looks that are numbers", LEDGER % ("7", "x"), "look 1"),
    ledger("of looks that are an object", '{"format": "steelyard-ledger", "version": 1, "looks": {}, "seal": ""}', "is not a ledger"),
    ledger("with a key twice", '{"format": "steelyard-ledger", "version": 1, "looks": [], "looks": [], "seal": ""}', "'looks' appears twice"),
    ledger("of UTF-16", "[]".encode("utf-16"), "UTF-16"),
    ledger("of an integer of 5,000 digits", LEDGER % ("9" * 5000, ""), "4,300 digits"),
    ledger("that is a pipe", lambda path: os.mkfifo(path)),
    row("gate: a ledger that is a folder", [*GATE, "--ledger", "d"], "d", "directory", files={"r.json": GOOD, "d/x": ""}, task="weights"),
    row("gate: a ledger in a folder that is a file", [*GATE, "--ledger", "r.json/looks.json"], "r.json/looks.json", files={"r.json": GOOD}, task="weights"),
    row("gate: looks below one", [*LOOK, "--looks", "0"], "0 looks", files={"r.json": GOOD}, task="weights"),
    row("gate: looks that nobody counts", [*GATE, "--looks", "5"], "--ledger", files={"r.json": GOOD}, task="weights"),
]  # fmt: skip


def facts(name: str, key: str, value: str, *says: str) -> Row:
    """A state with another value among its facts, under a checksum that fits."""
    change = f"meet(spoil(lambda facts, arrays: facts.update(request={{**facts['request'], {key!r}: {value}}})))"
    return state(f"{name}, signed again", "weights", change, f"request.{key}", *says)


SUMS = """
state.compact("mae")
data = state.to_bytes()
def sums(**changes):
    return spoil(lambda facts, arrays: facts.update(sums={**facts["sums"], **changes}))
"""
STATES: list[Row] = [
    facts("columns of 7", "columns", "7", "a mapping is expected"),
    facts("options of 7", "options", "7", "a mapping is expected"),
    facts("draws of a text", "draws", "'many'", "a whole number is expected"),
    facts("a seed that is true", "seed", "True", "a whole number is expected"),
    facts("tags of numbers", "tags", "{'model': 7}", "a text is expected"),
    facts("slices that are a text", "by", "'food'", "a list is expected"),
    state("a setting that nobody knows, signed again", "weights", "meet(spoil(lambda facts, arrays: facts.update(request={**facts['request'], 'eval': 'x'})))", "'request' does not fit", "'eval'"),
    state("options that name a file, signed again", "ellipses", "meet(spoil(lambda facts, arrays: facts.update(request={**facts['request'], 'options': {'images': '/etc/nowhere.csv'}})))", "'request' does not fit"),
    state("one side alone, signed again", "weights", "meet(spoil(lambda facts, arrays: facts.pop('truth') and None))", "truth"),
    state("a side of another shape, signed again", "weights", "meet(spoil(lambda facts, arrays: facts.update(truth={**facts['truth'], 'shape': 'cubes'})))", "truth.shape", "one of rows, boxes, rankings"),
    state("sums with columns of 7", "weights", f"{SUMS}meet(sums(columns=7))", "sums.columns"),
    state("sums with options of 7", "weights", f"{SUMS}meet(sums(options=7))", "sums.options"),
    state("sums of no metric", "weights", f"{SUMS}meet(sums(specs=()))", "sums.specs"),
    state("sums of another metric", "weights", f"{SUMS}meet(sums(specs=('bias',)))", "sums.state.blocks"),
    state("sums of another task", "weights", f"{SUMS}meet(sums(task='labels'))", "sums.task"),
    state("sums with a policy of one", "weights", f"{SUMS}meet(sums(policy=('skip',)))", "sums.policy"),
    state("sums with slices of slices", "weights", f"{SUMS}meet(sums(slices=[[['food'], [[['x'], 7]]]]))", "sums.slices"),
    state("sums along an axis that is not there", "labels", 'state.compact("macro(recall)")\ndata = state.to_bytes()\nmeet(spoil(lambda facts, arrays: facts.update(sums={**facts["sums"], "state": {**facts["sums"]["state"], "axes": {}}})))', "no such axis"),
]  # fmt: skip


def files(**changed: Any) -> dict[str, Any]:
    text = {"run/run.json": json.dumps(PLAN), "run/journal.jsonl": "", "run/frames.csv": STORED}
    whole = {**text, **{f"run/{name}": made for name, made in changed.items()}}
    return dict(sorted(whole.items(), key=lambda item: callable(item[1])))  # what makes no folder comes last


def planned(**changes: Any) -> str:
    return json.dumps({**PLAN, "plans": [{**PLAN["plans"][0], **changes}]})


RUNS: list[Row] = [
    run("a folder in place of frames, without pictures", LOCAL.replace("frames.csv", "d"), "the folder holds no picture", files={"d/x.txt": ""}),
    run("a folder of pictures that are pipes", LOCAL.replace("frames.csv", "d"), "the image is a pipe", files={"d/.keep": "", "d/a.png": lambda path: os.mkfifo(path)}, code=1, writes=("run",)),
    run("a folder of pictures that link outside and nowhere", LOCAL.replace("frames.csv", "d"), "no such image", files={"d/.keep": "", "d/a.png": lambda path: os.symlink("/nowhere.png", path)}, code=1, writes=("run",)),
    run("a column that is mapped and not there", f"{LOCAL} --map image=foto", "'foto' is missing"),
    run("a name that frames do not have", f"{LOCAL} --map colour=image", "'colour' cannot be mapped"),
    run("a map without a column", f"{LOCAL} --map image", "--map"),
    run("two names for one column", f"{LOCAL} --map image=image --map image=food", "image"),
    run("frames without the food's name", LOCAL.replace("--prompts direct", "--prompts direct+name"), "could not be asked", "the food's name", "add a column 'food'", files={"frames.csv": FRAMES.replace("food", "dish")}, code=1, writes=("run",)),
    run("an unknown proxy mode", f"{LOCAL} --http-proxy sometimes", "--http-proxy sometimes is not known"),
    run("score with a policy that is none", "vlm score run --missing guess", "guess", files=files()),
    run("a plan of repeats that are a text", "vlm score run", "run.json", files=files(**{"run.json": planned(repeat="5")})),
    run("a plan of a billion repeats", "vlm score run", "run.json", files=files(**{"run.json": planned(repeat=10**9)})),
    run("a plan of an unknown nutrient", "vlm score run", "run.json", "'joy'", files=files(**{"run.json": planned(asks={"direct": {"target": "joy", "answer": "nutrients"}})})),
    run("score with a level that is a word", "vlm score run --ci much", "'much' is not a level", files=files()),
    run("score that refuses what is missing", "vlm score run --missing error", "has no prediction", files=files()),
    run("a plan of prompts that are numbers", "vlm score run", "run.json", files=files(**{"run.json": planned(prompts={"direct": 7})})),
    run("a plan with the most of a text", "vlm score run", "run.json", files=files(**{"run.json": planned(most="much")})),
    run("a plan with a key that nobody knows", "vlm score run", "run.json", files=files(**{"run.json": planned(later=7)})),
    run("a plan with a key twice", "vlm score run", "run.json", files=files(**{"run.json": json.dumps(PLAN).replace('"model": "m"', '"model": "m", "model": "n"')})),
    run("a plan with a longest side of a text", "vlm score run", "run.json", files=files(**{"run.json": planned(settings={"max_side": "wide"})})),
    run("a plan that is a pipe", "vlm score run", "run", files=files(**{"run.json": lambda path: os.mkfifo(path)})),
    run("stored frames that are a pipe", "vlm score run", "frames.csv", files=files(**{"frames.csv": lambda path: os.mkfifo(path)})),
    run("a journal of null", "vlm score run", "journal.jsonl, line 1", files=files(**{"journal.jsonl": "null\n"})),
    run("a journal with a number of 5,000 digits", "vlm score run", "journal.jsonl, line 1", files=files(**{"journal.jsonl": '{"key": ' + "9" * 5000 + "}\n"})),
    run("a journal of readings without turns", "vlm score run", "journal.jsonl, line 1", files=files(**{"journal.jsonl": '{"key": "k", "model": "m", "prompt": "direct", "image": "d0"}\n'})),
    run("a run's folder that is a file", "vlm score a.png", "a.png"),
]  # fmt: skip


SEEN = "id,label\n1,cat\n2,dog\n3,cat\n"
JUDGED = "id,probability\n1,0.5\n2,0.4\n3,0.2\n"


def next_labels(name: str, options: str, *says: str, judge: Any = JUDGED, **more: Any) -> Row:
    """Units to label, by what a judge says of them."""
    files = {"pred.csv": SEEN, "judge.csv": judge}
    return row(
        f"label-next: {name}",
        f"label-next pred.csv --proxy judge.csv {options}",
        *says,
        files=files,
        task="labels",
        **more,
    )


SETS: list[Row] = [
    row("pool: results without influences", "pool r.json b.json", "r.json", "has no influences", "--save-influences", files={"r.json": GOOD, "b.json": GOOD}, task="weights"),
    row("pool: one result", "pool r.json", "one result alone", files={"r.json": GOOD}, task="weights"),
    row("pool: a result that is not there", "pool r.json x.json", "x.json", "no such file", files={"r.json": GOOD}, task="weights"),
    row("pool: a result that is a pipe", "pool r.json b.json", "b.json", files={"r.json": GOOD, "b.json": lambda path: os.mkfifo(path)}, task="weights"),
    row("pool: a result that is a table", "pool r.json b.json", "b.json", files={"r.json": GOOD, "b.json": SEEN}, task="weights"),
    row("drift: one test set twice", "drift r.json b.json", "b.json", "same truth as r.json", files={"r.json": GOOD, "b.json": GOOD}, task="weights"),
    row("drift: a result that is not there", "drift r.json x.json", "x.json", "no such file", files={"r.json": GOOD}, task="weights"),
    row("drift: a result that is empty", "drift r.json b.json", "b.json", "not valid JSON", files={"r.json": GOOD, "b.json": ""}, task="weights"),
    row("drift: 100,000 brackets", "drift r.json b.json", "b.json", "nested too deeply", files={"r.json": GOOD, "b.json": "[" * 100_000}, task="weights"),
    next_labels("a probability that is not a number", "--budget 2 -o o.csv", "judge.csv, line 3", "'nan'", judge=JUDGED.replace("0.4", "nan")),
    next_labels("a probability above one", "--budget 2 -o o.csv", "judge.csv, line 3", "'1.4'", judge=JUDGED.replace("0.4", "1.4")),
    next_labels("a judge that saw few units", "--budget 2 -o o.csv", "judge.csv", "2 of 3 units have no row", judge="id,probability\n1,0.5\n"),
    next_labels("a budget of nothing", "--budget 0 -o o.csv", "a budget of 0"),
    next_labels("a budget that is not a number", "--budget nan -o o.csv", "nan"),
    next_labels("an output that is an input", "--budget 2 -o pred.csv", "pred.csv", "read as an input"),
    next_labels("an output of another kind", "--budget 2 -o o.json", "o.json", ".csv"),
]  # fmt: skip

ROWS = RESULTS + LEDGERS + STATES + RUNS + SETS
