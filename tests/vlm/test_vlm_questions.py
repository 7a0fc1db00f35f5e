"""Own questions: from a file to a score, what each kind reads, and what is refused before anything is asked."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from support.vlm_help import Scripted, completion, frames_csv, grey_of, picture, sent_grey, serving

from steelyard import api
from steelyard.core.errors import InputError, MissingExtra
from steelyard.vlm.frames import read_frames
from steelyard.vlm.journal import NAME as JOURNAL
from steelyard.vlm.kinds import KINDS, MEANINGS, Kind
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS, choose_prompts
from steelyard.vlm.question_file import read_file
from steelyard.vlm.questions import kind_of, kind_spec, read_questions
from steelyard.vlm.readings import read_run, write_readings
from steelyard.vlm.run import run
from steelyard.vlm.score import score
from steelyard.vlm.shots import read_shots, stored_shots

YAML = """\
questions:
  dog:
    prompt: "Is there a {animal} in the image? Answer yes or no."
    target: present
    answer: yes/no
  kcal:
    prompt: How many kilocalories are on the plate?
    target: kcal
    answer: number
    unit: [kcal, calories]
    min: 0
  plates:
    prompt: How many plates?
    target: plates
    answer: integer
  colour:
    prompt: "Which colour is it?\\n{options}"
    target: colour
    answer: choice
    options: [grey, white]
  sign:
    prompt: 'What is written there, as {{"text": ...}}?'
    target: sign
    answer: text
"""


def table(folder: Path, meals: int = 4) -> Path:
    """Meals of two frames; the grey value of a picture says which it is."""
    rows = ["sequence,t,image,animal,present,kcal,plates,colour,sign"]
    for s in range(meals):
        for t in range(2):
            grey = 100 + 10 * s + t
            picture(folder / f"{s}_{t}.png", grey)
            rows.append(f"m{s},{t},{s}_{t}.png,dog,{'yes' if s % 2 else 'no'},{grey},{s},{'AB'[t]},EXIT {s}")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")
    (folder / "questions.yaml").write_text(YAML)
    return folder / "frames.csv"


def reply(text: str, grey: int) -> str:
    """Right, but for the kilocalories (10 too many), the plates of the last meal, and words around the first sign."""
    meal, t = divmod(grey - 100, 10)
    if "dog" in text:
        return "Yes." if meal % 2 else "no"
    if "kilocalories" in text:
        return f"{grey + 10} kcal"
    if "plates" in text:
        return "many" if meal == 3 else str(meal)
    if "colour" in text:
        assert text.endswith("?\nA. grey\nB. white")
        return "(A)" if t == 0 else "White"
    assert text.endswith('as {"text": ...}?')
    return f"EXIT {meal}" if meal else "EXIT O"


def test_from_a_file_to_a_score(tmp_path: Path, steelyard) -> None:
    table(tmp_path)

    def script(handler, number, body) -> None:
        first = body["messages"][0]["content"][1]["text"]
        handler.send(completion(reply(first, sent_grey(body))))

    with serving(script) as server:
        line = (
            "vlm",
            "run",
            "frames.csv",
            "--questions",
            "questions.yaml",
            "--model",
            f"openai:m@{server.url}",
            "--out",
            "run",
        )
        done = steelyard(*line)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 5 * 8 + 2  # "many" is followed up twice
    assert "40 readings, 0 held already, 40 asked, 38 with an answer, 2 followed up" in done.stderr
    done = steelyard("vlm", "score", "run", "-o", "s.json", "-o", "s.md", "--draws", "100")
    assert done.returncode == 0, done.stderr
    for part in ("dog", "yn_accuracy", "count_exact", "no answer from 2 readings: 2 no_number"):
        assert part in " ".join(done.stdout.split())
    assert "constant guess" not in done.stdout
    result = api.load(tmp_path / "s.json")
    rows = {row.prompt: row for row in result.rows}
    assert (result.task, result.frames) == ("answers", 8)
    assert rows["dog"].report["yn_accuracy"].value == 1
    assert rows["dog"].report["yn_accuracy"].interval[1] == 1
    assert 0 < rows["dog"].report["yn_accuracy"].interval[0] < 1
    assert rows["kcal"].report["mae"].value == rows["kcal"].report["bias"].value == 10
    assert rows["plates"].report["count_exact"].value == 6 / 8  # no answer is wrong
    assert rows["plates"].report["answered"].value == 6 / 8
    assert rows["plates"].outcomes == {"ok": 6, "no_number": 2}
    assert rows["colour"].report["choice"].value == 1
    assert rows["sign"].report["exact"].value == 6 / 8
    assert rows["sign"].report["cer"].value == 2 / 48  # O for 0, of six characters each
    write_readings(tmp_path / "readings.csv", read_run(tmp_path / "run").taken)
    read = list(csv.DictReader(io.StringIO((tmp_path / "readings.csv").read_text())))
    assert [r["answer"] for r in read if r["prompt"] == "colour"] == ["A", "B"] * 4
    assert "| `yn_accuracy` |" in (tmp_path / "s.md").read_text()


def ask(folder: Path, prompts, answer=None, out: str = "run", **options):
    model = Scripted(answer or (lambda c: reply(c.texts[0], grey_of(c))))
    return model, run(read_frames(folder / "frames.csv"), model, prompts, folder / out, **options)


def test_the_follow_up_is_that_of_the_kind(tmp_path: Path) -> None:
    table(tmp_path, 1)
    model, _ = ask(tmp_path, choose_prompts([], None, "", tmp_path / "questions.yaml"), lambda c: "I cannot say.")
    ends = {talk.texts[0][:12]: talk.texts[2] for talk in model.asked if len(talk.texts) == 3}
    assert len(ends) == 4  # a text is an answer whatever it says
    assert "yes or no" in ends["Is there a d"]
    assert "numeric value in kcal" in ends["How many kil"]
    assert "whole number" in ends["How many pla"]
    assert "letter of one option (A, B)" in ends["Which colour"]
    assert all("grams" not in text for text in ends.values())


def test_beside_the_four_of_the_paper(tmp_path: Path) -> None:
    """Weights are scored as before; prompts for one answer, models and controls are compared by their own metric."""
    path = frames_csv(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([f"{lines[0]},heavy", *(f"{line},{int(line.split(',')[4]) > 130}" for line in lines[1:])])
    )
    one = {"prompt": "Is it heavy?", "target": "heavy", "answer": "yes/no"}
    (tmp_path / "q.json").write_text(json.dumps({"questions": {"a": one, "b": one | {"prompt": "Heavy {food}?"}}}))
    chosen = choose_prompts(["direct", "a", "b"], None, "", tmp_path / "q.json")

    def answer(c):
        if "eavy" not in c.texts[0]:
            return str(grey_of(c))
        return "yes" if c.texts[0] == "Heavy rice?" or grey_of(c) > 130 else "no"

    ask(tmp_path, chosen, answer, controls=True)
    ask(tmp_path, [PROMPTS["direct"]], answer, out="food")
    result = score(tmp_path / "run", draws=100)
    rows = {row.prompt: row for row in result.rows}
    alone = score(tmp_path / "food", draws=100).rows[0]
    assert rows["direct"].report.scores == alone.report.scores
    assert rows["a"].report["yn_accuracy"].value == 1
    assert rows["b"].report["yn_accuracy"].value == 3 / 6
    (pair,) = result.pairs
    assert (pair.a, pair.b, pair.comparison["yn_accuracy"].difference) == ("a", "b", -0.5)
    assert rows["a"].controls["blank"]["yn_accuracy"].a.value == 3 / 6  # grey is 128
    assert "Is the image looked at? (yn_accuracy)" in result.to_text()
    assert "Is the image looked at? (mae_overall)" in result.to_text()
    page = result.to_html()
    for part in (
        "mae_overall",
        "yn_accuracy",
        "answered with a number",
        "2 units are too few for a confidence of 95 %",
    ):
        assert part in page


def test_food_is_such_a_file(tmp_path: Path) -> None:
    """A copy of it asks nothing that the four have asked."""
    frames_csv(tmp_path)
    shipped = Path(str(files("steelyard") / "vlm" / "food.toml"))
    assert [one.text for one in read_questions(shipped).values()] == [one.text for one in PROMPTS.values()]
    assert {one.follow_up for one in read_questions(shipped).values()} == {FOLLOW_UP}
    model, first = ask(tmp_path, PROMPTS.values(), lambda c: str(grey_of(c)))
    model, again = ask(tmp_path, choose_prompts([], None, "", shipped), lambda c: str(grey_of(c)))
    assert (first.done, again.held, again.done, model.asked) == (24, 24, 0, [])


def test_another_kind_is_another_reading(tmp_path: Path) -> None:
    table(tmp_path, 1)
    for kind, done in (("integer", 2), ("text", 2), ("integer", 0)):
        spec = {"prompt": "How many?", "target": "plates", "answer": kind}
        (tmp_path / "q.json").write_text(json.dumps({"questions": {"n": spec}}))
        _, progress = ask(tmp_path, choose_prompts([], None, "", tmp_path / "q.json"), lambda c: "1")
        assert progress.done == done


def test_columns_of_an_older_plan_stay(tmp_path: Path) -> None:
    table(tmp_path, 2)
    chosen = choose_prompts([], None, "", tmp_path / "questions.yaml")
    frames = read_frames(tmp_path / "frames.csv")
    for label, prompts in (("one", chosen[:1]), ("two", chosen[2:3])):
        run(frames, Scripted(lambda c: reply(c.texts[0], grey_of(c)), label), prompts, tmp_path / "run")
    rows = {(row.model, row.prompt): row for row in score(tmp_path / "run", draws=100).rows}
    assert rows["one", "dog"].report["yn_accuracy"].value == 1
    assert rows["two", "plates"].report["count_exact"].value == 1


def test_an_empty_cell_is_that_readings_problem(tmp_path: Path) -> None:
    path = table(tmp_path, 2)
    path.write_text(
        path.read_text()
        .replace("m0,0,0_0.png,dog,no", "m0,0,0_0.png,,no")
        .replace("m0,1,0_1.png,dog,no", "m0,1,0_1.png,dog,")
    )
    _, progress = ask(tmp_path, choose_prompts(["dog"], None, "", tmp_path / "questions.yaml"))
    assert (progress.unaskable, progress.done) == (1, 3)
    (row,) = score(tmp_path / "run", draws=100).rows
    assert list(row.problems) == ["the prompt gives the column 'animal', and the frame has nothing there"]
    assert row.report["yn_accuracy"].value == 2 / 3  # one is not asked, of one the truth is not known


def test_a_run_without_a_true_answer_has_no_score(tmp_path: Path) -> None:
    path = table(tmp_path, 1)
    path.write_text(path.read_text().replace(",dog,no,", ",dog,,"))
    ask(tmp_path, choose_prompts(["dog"], None, "", tmp_path / "questions.yaml"))
    with pytest.raises(
        InputError, match=r"run: question 'dog' has the target 'present', and no frame has a true answer"
    ):
        score(tmp_path / "run")


def test_a_spoiled_plan_is_named(tmp_path: Path) -> None:
    table(tmp_path, 1)
    ask(tmp_path, choose_prompts(["dog", "kcal"], None, "", tmp_path / "questions.yaml"))
    file = tmp_path / "run" / "run.json"
    good = file.read_text()
    for change, message in {
        ('"yes/no"', "7"): "question 'dog' has the answer '7', which is not text",
        ('"min": 0.0', '"min": 1e999'): "question 'kcal' has the min 'inf'",
    }.items():
        file.write_text(good.replace(*change))
        with pytest.raises(InputError, match=rf"run\.json: .*{re.escape(message)}"):
            score(tmp_path / "run")


# --- what each kind reads ----------------------------------------------------------------------------------------------

CHOICE = Kind("choice", options=(("A", "a cat"), ("B", "a dog")))
KCAL = Kind("number", ("kcal", "calories"), least=0)
READ = [
    (KCAL, "320", "ok", "320"), (KCAL, "1,250.5 kcal.", "ok", "1250.5"), (KCAL, "**320 calories**", "ok", "320"),
    (KCAL, "<think>1 or 2</think>٣", "ok", "3"), (KCAL, "320 kJ", "other_unit", ""), (KCAL, "320 g", "other_unit", ""),
    (KCAL, "300-320 kcal", "range", ""), (KCAL, "about 320 kcal", "one_number_in_text", ""), (KCAL, "-5", "implausible", ""),
    (KCAL, "0320", "implausible", ""), (KCAL, "0,320", "ambiguous_separator", ""), (KCAL, "", "empty", ""),
    (KCAL, "I cannot tell.", "refusal", ""), (KCAL, "a lot", "no_number", ""), (KCAL, "9" * 400, "nonfinite", ""),
    (Kind("number"), "-5.5", "ok", "-5.5"), (Kind("number"), "+5", "ok", "5"), (Kind("number"), "5 kg", "other_unit", ""),
    (Kind("number", ("$",)), "$5.20", "ok", "5.20"), (Kind("number", ("$",)), "5 $", "ok", "5"),
    (Kind("number", ("$",)), "€5", "other_unit", ""), (Kind("number", most=10), "11", "implausible", ""),
    (Kind("integer"), "3", "ok", "3"), (Kind("integer"), "Three.", "ok", "3"), (Kind("integer"), "1,200", "ok", "1200"),
    (Kind("integer"), "3.0", "not_integer", ""), (Kind("integer"), "-3", "negative", ""), (Kind("integer"), "none", "no_number", ""),
    (Kind("integer"), "3 or 4", "many_numbers", ""), (Kind("integer", most=2), "three", "implausible", ""),
    (Kind("yes/no"), "YES!", "ok", "yes"), (Kind("yes/no"), "`no`", "ok", "no"), (Kind("yes/no"), "No, there is none", "one_answer_in_text", ""),
    (Kind("yes/no"), "Yes. No.", "many_answers", ""), (Kind("yes/no"), "nope", "no_answer", ""), (Kind("yes/no"), "I cannot tell", "refusal", ""),
    (CHOICE, "b", "ok", "B"), (CHOICE, "(B)", "ok", "B"), (CHOICE, "B. a dog", "ok", "B"), (CHOICE, "A dog", "ok", "B"),
    (CHOICE, "E", "unknown_choice", ""), (CHOICE, "A. a dog", "disagrees", ""), (CHOICE, "The answer is B", "one_answer_in_text", ""),
    (CHOICE, "a bird", "no_answer", ""), (CHOICE, "I am unable to say", "refusal", ""),
    (Kind("text"), " “EXIT” ’90 ", "ok", "“EXIT” ’90"), (Kind("text"), "x" * 10_001, "too_long", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "outcome", "said"), READ, ids=lambda value: str(value)[:20])
def test_readings(kind: Kind, text: str, outcome: str, said: str) -> None:
    answer = kind.read(text, "stop")
    assert (answer.outcome, answer.said) == (outcome, said)
    assert outcome in MEANINGS
    assert math.isnan(answer.grams)
    assert kind.read(text, "length").outcome == "truncated"


def test_the_last_line_alone() -> None:
    assert Kind("yes/no").read("There is a dog.\nYes", "stop", mode="last_line").said == "yes"
    assert Kind("grams").read("245 g", "stop").said == "245"


def test_every_kind_has_a_reading() -> None:
    elsewhere = {"json", "boxes", "box", "point", "nutrients", "page"}  # test_vlm_structured.py, test_vlm_sets.py
    assert {kind.name for kind, *_ in READ} | {"grams"} | elsewhere == set(KINDS)


# --- bad input: before the first question --------------------------------------------------------------------------------


def one(**changed: object) -> dict:
    spec: dict = {"prompt": "Is it a {animal}?", "target": "present", "answer": "yes/no"} | changed
    return {"questions": {"dog": {name: value for name, value in spec.items() if value is not None}}}


BAD: dict[str, tuple[object, list[str]]] = {
    "unknown placeholder": (one(prompt="Is it a {animol}?"), ["question 'dog'", "'animol'", "frames.csv has not", "Did you mean 'animal'?"]),
    "unknown target": (one(target="presnt"), ["question 'dog'", "'presnt'", "not a column of frames.csv", "Did you mean 'present'?"]),
    "choice without options": (one(answer="choice"), ["question 'dog' is a choice without options", "options: ["]),
    "one option": (one(answer="choice", options=["x"]), ["question 'dog' is a choice of one option"]),
    "option twice": (one(answer="choice", options=["a  dog", "A dog"]), ["question 'dog' has the option 'a dog' twice"]),
    "option by number": (one(answer="choice", options={"1": "x", "2": "y"}), ["question 'dog' has the option '1', which is not a letter"]),
    "unknown kind": (one(answer="yesno"), ["question 'dog' wants the answer 'yesno'", "Did you mean 'yes/no'?", "Known: grams, number"]),
    "no kind": (one(answer=None), ["question 'dog' has no answer", "Known: grams"]),
    "no target": (one(target=None), ["question 'dog' has no target"]),
    "empty prompt": (one(prompt=" "), ["question 'dog' has no prompt"]),
    "unknown key": (one(taget="x"), ["question 'dog' says 'taget'", "Did you mean 'target'?"]),
    "unit of yes": (one(unit="kg"), ["question 'dog' says 'unit', which an answer of 'yes/no' has not"]),
    "min that is not a number": (one(answer="number", target="kcal", min="low"), ["question 'dog' has the min 'low', which is not a number"]),
    "min above max": (one(answer="number", target="kcal", min=3, max=2), ["a min of 3 above its max of 2"]),
    "lone brace": (one(prompt="Is it {?"), ["question 'dog' has a '{' that belongs to no placeholder", "'{{'"]),
    "its own target": (one(prompt="Is {present} right?"), ["question 'dog' gives its own target 'present'"]),
    "truth of another kind": (one(answer="integer", target="sign"), ["frames.csv, line 2, column 'sign'", "'EXIT 0' is not a whole number", "question 'dog' of q.json"]),
    "negative count": (one(answer="integer", target="below"), ["frames.csv, line 2, column 'below'", "'-1' is not a whole number from 0 up"]),
    "truth that is not an option": (one(answer="choice", target="colour", options={"A": "x", "C": "y"}), ["line 3, column 'colour'", "'B' is not one of the options"]),
    "no truth at all": (one(target="empty"), ["question 'dog' has the target 'empty', which is empty in every row"]),
    "name of the paper's": ({"questions": {"direct": one()["questions"]["dog"]}}, ["q.json: question 'direct' has the name of another prompt"]),
    "unknown top": (one() | {"prompts": {}}, ["q.json: 'prompts' is not known", "Known: follow_up, questions"]),
    "no questions": ({"questions": {}}, ["q.json: holds no questions"]),
    "a list": ([1], ["q.json: holds no questions"]),
    "a question that is none": ({"questions": {"dog": "Is it?"}}, ["question 'dog' is not a question"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_before_anything_is_asked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from steelyard.cli import vlm

    path = table(tmp_path, 1)
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},below,empty", *(f"{row},-1," for row in rows)]) + "\n")
    (tmp_path / "q.json").write_text(json.dumps(BAD[name][0]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vlm, "open_backend", lambda *given: pytest.fail("a model was opened"))
    done = CliRunner().invoke(
        vlm.vlm, ["run", "frames.csv", "--questions", "q.json", "--model", "openai:m@http://h/v1", "--out", "run"]
    )
    assert isinstance(done.exception, InputError), done.output
    for part in BAD[name][1]:
        assert part in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_exit_code(tmp_path: Path, steelyard) -> None:
    table(tmp_path, 1)
    (tmp_path / "q.yaml").write_text(YAML.replace("target: present", "target: presnt"))
    done = steelyard(
        "vlm", "run", "frames.csv", "--questions", "q.yaml", "--model", "openai:m@http://127.0.0.1:9/v1", "--out", "run"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "q.yaml: question 'dog' has the target 'presnt', which is not a column of frames.csv" in done.stderr
    assert "Traceback" not in done.stderr


TWICE = {
    "q.yaml": "questions:\n  a: {prompt: x, target: y, answer: text}\n  a: {prompt: z, target: y, answer: text}\n",
    "q.json": '{"questions": {"a": {}, "a": {}}}',
    "q.toml": "[questions.a]\n[questions.a]\n",
}
FILES = {
    **{f"twice in {name}": (name, text, ["a"]) for name, text in TWICE.items()},
    "alias": ("q.yaml", "questions: &a\n  b: *a\n", ["line 1 has an anchor"]),
    "tag": ("q.yaml", "questions: !!python/object:os.system x\n", ["line 1 has an anchor, an alias or a tag"]),
    "two documents": ("q.yaml", "questions: x\n---\nquestions: y\n", ["not readable"]),
    "broken yaml": ("q.yaml", "questions: [\n", ["not readable"]),
    "empty yaml": ("q.yaml", "", ["holds no questions"]),
    "key of yaml": ("q.yaml", "? [a, b]\n: x\n", ["line 1 has a key that is not text"]),
    "deep yaml": ("q.yaml", "[" * 5000, ["not readable"]),
    "deep json": ("q.json", "[" * 100_000, ["not readable"]),
    "broken toml": ("q.toml", "questions = \n", ["not readable"]),
    "no such file": ("gone.yaml", None, ["there is no such file of questions"]),
    "another ending": ("q.txt", "x", ["'.txt' is not a format of questions", ".yaml, .yml, .toml, .json"]),
    "not UTF-8": ("q.yaml", b"\xff\xfe", ["not UTF-8"]),
    "too large": ("q.yaml", "#" * (2**20 + 1), ["at most 1 MB"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_none(name: str, tmp_path: Path) -> None:
    file, text, parts = FILES[name]
    if text is not None:
        (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read_questions(tmp_path / file)
    for part in (file, *parts):
        assert part.lower() in str(caught.value).lower()
    if name.startswith("twice"):
        assert "twice" in str(caught.value) or "Cannot declare" in str(caught.value)


def test_yaml_keeps_texts(tmp_path: Path) -> None:
    """yes, 12:30 and 010 are not a truth value, 750 and 8."""
    (tmp_path / "q.yaml").write_text(
        "questions: {when: {prompt: When, target: t, answer: choice, options: [yes, 12:30, 010]}}"
    )
    assert read_questions(tmp_path / "q.yaml")["when"].kind.options == (("A", "yes"), ("B", "12:30"), ("C", "010"))


def test_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path, 1)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"\.toml and \.json do without.*steelyard\[vlm\]"):
        read_questions(tmp_path / "questions.yaml")
    (tmp_path / "q.toml").write_text('[questions.dog]\nprompt = "Dog?"\ntarget = "present"\nanswer = "yes/no"\n')
    assert read_questions(tmp_path / "q.toml")["dog"].kind == Kind("yes/no")


def test_prompts_from_python(tmp_path: Path) -> None:
    table(tmp_path, 1)
    frames_csv(tmp_path)
    chosen = choose_prompts(["dog"], None, "", tmp_path / "questions.yaml")
    with pytest.raises(InputError, match="question 'dog' needs the column 'animal'"):
        ask(tmp_path, chosen)
    with pytest.raises(InputError, match="two prompts are called 'direct'"):
        ask(tmp_path, [PROMPTS["direct"]] * 2)
    assert not (tmp_path / "run" / JOURNAL).exists()


def refuse(what: str, remedy: str) -> InputError:
    return InputError(f"question 'q' {what}", remedy=remedy)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"answer": "numbr"}, "wants the answer 'numbr', which is not known"),
        ({"answer": "text", "options": ["a", "b"]}, "says 'options', which an answer of 'text' has not"),
        ({"answer": "number", "unit": [7]}, "has a unit that is not text"),
        ({"answer": "number", "unit": 7}, "has a unit that is not text"),
        ({"answer": "number", "min": 2, "max": 1}, "has a min of 2 above its max of 1"),
        ({"answer": "number", "min": True}, "has the min 'True', which is not a number"),
        ({"answer": "number", "max": "much"}, "has the max 'much', which is not a number"),
        ({"answer": "number", "max": 10**400}, "which is not a number"),
        ({"answer": "choice"}, "is a choice without options"),
        ({"answer": "choice", "options": ["a"]}, "is a choice of one option"),
        ({"answer": "choice", "options": ["a"] * 99}, "has 99 options"),
        ({"answer": "choice", "options": {"AB": "a", "C": "b"}}, "has the option 'AB', which is not a letter"),
        ({"answer": "choice", "options": {"A": "a", "a": "b"}}, "has the letter 'A' twice"),
        ({"answer": "choice", "options": ["a b", "A  B"]}, "has the option 'a b' twice"),
        ({"answer": "choice", "options": ["a", True]}, "has the option 'True', which is not text"),
        ({"answer": "choice", "options": ["a", " "]}, "has the option ' ', which is not text"),
        ({"answer": "choice", "options_column": " "}, "has an options_column beside options, or one that is not text"),
        ({"answer": "choice", "options": ["a"], "options_column": "o"}, "has an options_column beside options"),
        ({"answer": "json"}, "has a schema that cannot be read"),
        ({"answer": "boxes", "format": "abcd"}, "has the format 'abcd' of boxes"),
        ({"answer": "boxes", "scale": "inches"}, "has the scale 'inches'"),
        ({"answer": "boxes", "labels": "cup"}, "has labels that are not strings"),
        ({"answer": "boxes", "labels": ["cup", "CUP"]}, "has a label twice"),
    ],
)  # fmt: skip
def test_kinds_of_answers(spec: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        kind_of(spec, refuse)


@pytest.mark.parametrize(
    "spec",
    [
        {"answer": "number", "unit": ["kcal"], "min": 0.0, "max": 9.0},
        {"answer": "choice", "options": {"A": "a cat", "B": "a dog"}},
        {"answer": "boxes", "format": "xywh", "scale": "1000", "target_format": "xyxy", "labels": ["cup"]},
        {"answer": "json", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    ],
)
def test_a_kind_is_written_as_it_was_read(spec: dict[str, Any]) -> None:
    kind = kind_of(spec, refuse)
    assert kind_of({"answer": spec["answer"], **kind_spec(kind)}, refuse) == kind
    assert {"answer": spec["answer"], **kind_spec(kind)} == spec


def test_cells_of_pictures(tmp_path: Path) -> None:
    for grey, name in enumerate("abc"):
        picture(tmp_path / f"{name}.png", grey)
    (tmp_path / "none").mkdir()
    for cell, problem in (
        ("", "no image is named"),
        ("[", "is not a list of images"),
        ("[7]", "is not a list of images"),
        ("none", "the folder holds no images"),
        ("z.png", "there is no such image"),
    ):
        assert problem in read_shots(tmp_path, cell, "image", {}).problem
    assert len(read_shots(tmp_path, ".", "image", {}).pictures) == 3
    first, last = read_shots(tmp_path, ".", "image#2", {}).pictures
    assert (first, last) == tuple(read_shots(tmp_path, f'["{name}.png"]', "image", {}).pictures[0] for name in "ac")
    shots = read_shots(tmp_path, "a.png", "image", {})
    assert [one.digest for one in stored_shots(shots.stored_cell(), "x").pictures] == [
        one.digest for one in shots.pictures
    ]
    for cell in ("tea", "[]", '{"pictures": [[1, 2, 3]]}', '{"pictures": [["a", 2]]}', "{}"):
        with pytest.raises(InputError, match="is not a list of images of a run"):
            stored_shots(cell, "x")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.json", b"\xff", "are not UTF-8 text"),
        ("q.json", b'{"a": 1, "a": 2}', "are not readable: .*twice"),
        ("q.json", b"[" * 100_000, "are not readable: it is nested too deep"),
        ("q.json", b"[]", "holds no questions"),
        ("q.toml", b"a = ", "are not readable"),
        ("q.yaml", b"a: [", "are not readable"),
    ],
)
def test_files_of_questions(name: str, text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_file(tmp_path / name)
