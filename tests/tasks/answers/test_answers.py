"""Task `answers`: goldens of the references that the catalogue names, and cases by hand.

tests/goldens/answers.json was made by the references themselves; it says which, and at which versions.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.language import answers, replies

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "answers.json").read_text(encoding="utf-8"))


def by_question(accepted: list[list[str]], said: list[str], *specs: str, **more: Any) -> dict[str, list[float]]:
    """What each question scores, a unit each."""
    report = evaluated(accepted, said, *specs, **more)
    order = np.argsort([int(unit) for unit in report.units().units.tolist()])
    return {spec: report.units().values[spec][order].tolist() for spec in specs}


def evaluated(accepted: list[list[str]], said: list[str], *specs: str, **more: Any) -> Any:
    truth = {"question": list(range(len(said))), "answers": accepted, **more}
    return sy.evaluate("answers", truth, {"question": list(range(len(said))), "answer": said}, specs, confidence=None)


def notes_of(report: Any) -> list[str]:
    return [note for score in report.scores.values() for note in score.notes]


def test_vqa_text() -> None:
    for case in GOLDENS["vqa_text"]:
        assert answers.vqa(case["in"]) == case["official"], case


def test_vqa_accuracy() -> None:
    cases = GOLDENS["vqa_accuracy"]
    scores = by_question([c["answers"] for c in cases], [c["prediction"] for c in cases], "vqa")["vqa"]
    for case, score in zip(cases, scores, strict=True):
        assert score == pytest.approx(case["official"], abs=1e-12), case


def test_vqa_settings_by_hand() -> None:
    """ "Yes" for ten times "yes": nothing is processed. Two of ten: min(1, 2/3), or 2 (1/3) + 8 (2/3) over 10."""
    specs = ("vqa", "vqa(process=always)", "vqa(rule=simple)")
    scores = by_question([["yes"] * 10, ["3"] * 2 + ["4"] * 8], ["Yes", "3"], *specs)
    assert scores["vqa"] == pytest.approx([0, 0.6])
    assert scores["vqa(process=always)"] == pytest.approx([1, 0.6])
    assert scores["vqa(rule=simple)"] == pytest.approx([0, 2 / 3])
    report = evaluated([["yes"] * 10, ["3", "4"]], ["Yes", "3"], "vqa")
    assert any("1 question scores more where texts are always processed" in note for note in notes_of(report))
    assert any("1 question has at most 3 accepted answers" in note for note in notes_of(report))


@pytest.mark.parametrize("kind", ["wer", "cer"])
def test_rates_and_their_parts(kind: str) -> None:
    cases = GOLDENS[kind]
    specs = [kind, f"{kind}_s", f"{kind}_d", f"{kind}_i", *(["mer", "wil", "wip"] if kind == "wer" else [])]
    scores = by_question([[c["reference"]] for c in cases], [c["hypothesis"] for c in cases], *specs)
    for i, case in enumerate(cases):
        length = case["H"] + case["S"] + case["D"]
        for spec, edit in ((f"{kind}_s", "S"), (f"{kind}_d", "D"), (f"{kind}_i", "I")):
            assert scores[spec][i] == pytest.approx(case[edit] / length if length else math.nan, nan_ok=True), case
        if length:  # jiwer gives the number of insertions for an empty reference; here it has no rate
            assert scores[kind][i] == case[kind], case
            assert kind == "cer" or scores["mer"][i] == pytest.approx(case["mer"], abs=1e-15), case
        if length and kind == "wer" and case["hypothesis"]:
            assert [scores[spec][i] for spec in ("wil", "wip")] == pytest.approx([case["wil"], case["wip"]]), case
    whole = GOLDENS[f"{kind}_corpus"]
    report = evaluated([[one] for one in whole["references"]], whole["hypotheses"], *specs)
    assert report[kind].value == pytest.approx(whole[kind], abs=1e-15)
    assert sum(report[f"{kind}_{part}"].value for part in "sdi") == pytest.approx(whole[kind], abs=1e-15)


def test_what_is_inserted_into_an_empty_text_adds_to_the_errors() -> None:
    """Three of four words right, and two inserted where there should be none: (1 + 2) / 4. In jiwer it is the same."""
    report = evaluated([["a b c d"], [""]], ["a b c x", "y z"], "wer")
    assert report["wer"].value == 3 / 4
    assert any("1 true texts are empty" in note for note in notes_of(report))


def test_settings_of_texts_by_hand() -> None:
    tabbed = evaluated([["tab\tsep"]], ["tab sep"], "wer", "wer(space=any)")
    assert [score.value for score in tabbed.scores.values()] == [2, 0]
    assert any("1 question has a tab or line end" in note for note in notes_of(tabbed))
    accents = evaluated([["é"]], ["e\u0301"], "cer", "cer(unicode=nfc)")
    assert [score.value for score in accents.scores.values()] == [2, 0]
    assert any("more than one form of Unicode" in note for note in notes_of(accents))


def test_the_accepted_text_with_the_lowest_rate_counts() -> None:
    """12/06/2020 is one character of ten off; 6 June is further."""
    assert evaluated([["6 June", "12/05/2020"]], ["12/06/2020"], "cer")["cer"].value == 1 / 10


def test_anls() -> None:
    cases = [case for case in GOLDENS["anls"] if all(case["answers"])]
    specs = ("anls@0.5", "anls@0.5(edge=paper, length=folded)")
    scores = by_question([c["answers"] for c in cases], [c["prediction"] for c in cases], *specs)
    for i, case in enumerate(cases):
        assert scores[specs[0]][i] == pytest.approx(case["rrc_script"], abs=1e-15), case
        assert scores[specs[0]][i] == pytest.approx(case["lmms_eval"], abs=1e-15), case
        assert scores[specs[1]][i] == pytest.approx(case["anls_pypi"], abs=1e-15), case
    assert len(cases) == 25  # two have an empty truth, which is refused


def test_relaxed() -> None:
    for case in GOLDENS["relaxed"]:
        assert answers.relaxed_match(case["prediction"], case["target"]) == case["lmms_eval"], case
        assert case["lmms_eval"] == case["pix2struct_port_vlmevalkit"]
    cases = [case for case in GOLDENS["relaxed"] if case["prediction"].strip()]
    scores = by_question([[c["target"]] for c in cases], [c["prediction"] for c in cases], "relaxed@0.05")
    assert scores["relaxed@0.05"] == [float(case["lmms_eval"]) for case in cases]


def test_relaxed_settings_by_hand() -> None:
    said = ["2019", "0.0", "1,000", "$5", "yes."]
    true = [["2020"], ["0"], ["1000"], ["5"], ["yes"]]
    specs = ("relaxed@0.05", "relaxed@0.05(lenient=true)", "relaxed@0.05(years=exact)")
    scores = by_question(true, said, *specs)
    assert scores[specs[0]] == [1, 0, 0, 0, 0]
    assert scores[specs[1]] == [1, 1, 1, 1, 1]
    assert scores[specs[2]] == [0, 0, 0, 0, 0]


def test_squad() -> None:
    for case in GOLDENS["squad"]:
        said, true = answers.squad(case["prediction"]), answers.squad(case["answer"])
        assert (said == true) == bool(case["em"]), case
        assert answers.bag_f1(said.split(), true.split()) == pytest.approx(case["f1"], abs=1e-15), case
    cases = [case for case in GOLDENS["squad"] if case["prediction"] and case["answer"]]
    scores = by_question(
        [[c["answer"]] for c in cases], [c["prediction"] for c in cases], "exact(norm=squad)", "word_f1"
    )
    assert scores["exact(norm=squad)"] == [float(case["em"]) for case in cases]
    assert scores["word_f1"] == pytest.approx([case["f1"] for case in cases], abs=1e-15)


def test_exact_by_norm() -> None:
    """Each reply with its accepted answer, and the normalisations that make them alike."""
    cases = {
        ("Red", "Red"): {"as_is", "strip", "lower", "space", "squad", "vqa", "number"},
        (" Red", "Red"): {"strip", "lower", "space", "squad", "vqa", "number"},
        ("RED", "red"): {"lower", "space", "squad", "vqa"},
        ("New  York", "new york"): {"space", "squad", "vqa"},
        ("The dog!", "dog"): {"squad", "vqa"},
        ("two", "2"): {"vqa"},
        ("5.0", "5"): {"number"},
        ("U.S.", "us"): {"squad", "vqa"},
    }
    norms = ("as_is", "strip", "lower", "space", "squad", "vqa", "number")
    specs = [str(catalogue.parse(f"exact(norm={norm})", "answers")) for norm in norms]
    scores = by_question([[true] for _, true in cases], [said for said, _ in cases], *specs)
    for i, (case, alike) in enumerate(cases.items()):
        assert {norm for norm, spec in zip(norms, specs, strict=True) if scores[spec][i]} == alike, case
    assert by_question([["ﬁne"]], ["fine"], "exact(unicode=nfkc)") == {"exact(unicode=nfkc)": [1]}


def test_character_f1_by_hand() -> None:
    """ "abc" and "abd" share two of three characters each; an anagram shares all."""
    assert by_question([["abc"], ["listen"]], ["abd", "Silent"], "char_f1")["char_f1"] == pytest.approx([2 / 3, 1])


def test_yes_and_no_are_read_as_peers_read_them() -> None:
    for case in GOLDENS["pope"]:
        assert replies.YES_NO["pope"](case["text"]) == case["pope_original"], case
        assert replies.YES_NO["word"](case["text"]) == case["vlmevalkit"].replace("unknown", "other"), case
        whole = case["lmms_eval"] if case["lmms_eval"] in ("yes", "no") else "other"
        assert replies.YES_NO["whole"](case["text"]) == whole, case


def test_yes_and_no() -> None:
    """TP 4, FP 2, TN 2, FN 1, and "maybe" where yes is true: it misses a yes, which lmms-eval leaves out."""
    given = GOLDENS["pope_set"]
    specs = ("yn_accuracy", "yn_precision", "yn_recall", "yn_f1", "yes_ratio", "yes_bias")
    report = evaluated([[one] for one in given["truth"]], given["predictions"], *specs)
    values = [report[spec].value for spec in specs]
    assert values[:2] == pytest.approx([given["lmms_eval"]["accuracy"], given["lmms_eval"]["precision"]], abs=1e-15)
    assert values == pytest.approx([6 / 10, 4 / 6, 4 / 6, 8 / 12, 6 / 9, 1 / 9])
    assert any("1 of 10 replies is neither yes nor no" in note for note in notes_of(report))
    assert report.table("yes_no").values.tolist() == [[4, 1, 1], [2, 2, 0]]


CHOICES = {
    "A": "A", "B.": "B", "(C)": "C", "c": "C", "The answer is B": "B", "Answer: D": "D", "A dog": "B", "a dog": "B",
    "B. a dog": "B", "I think A or B": None, "A cat is on the mat": "A", "B\n\nBecause it barks": "B", "**C**": "C",
    "None of them": None, "E": None, "It is not A, it is B": None, "option D": "D", "\\boxed{B}": "B",
    '{"answer": "B"}': "B", "": None, "A. a dog": None, "[D]": "D", "B) a dog.": "B", "The cat is a fish": "D", "A or C": None,
    "A is right": "A", "The answer is not B": None, "Not C": None, "It is not a dog": None, "B is wrong": None,
    "Option B is incorrect; the answer is D": "D", "It can't be B": None, "I am not sure, but B": "B",
}  # fmt: skip
STRICT = (
    "A",
    "B.",
    "(C)",
    "c",
    "A dog",
    "a dog",
    "B. a dog",
    "**C**",
    "\\boxed{B}",
    '{"answer": "B"}',
    "[D]",
    "B) a dog.",
)


def test_choices_are_read_by_the_stated_rule() -> None:
    """What is read of each reply is decided by hand; the goldens' replies are all among them."""
    options = GOLDENS["choice_peers"][0]["choices"]
    assert {case["reply"] for case in GOLDENS["choice_peers"]} <= set(CHOICES)
    for reply, letter in CHOICES.items():
        assert replies.read_choice(reply, options) == letter, reply
        assert replies.read_choice(reply, options, "strict") == (letter if reply in STRICT else None), reply


def test_people_who_disagree_on_yes_and_no_are_scored_by_vqa() -> None:
    """Seven say yes and three no: both replies are accepted answers, and VQA accuracy is what is shown."""
    truth = {"question": [1, 2], "answers": [["yes"] * 7 + ["no"] * 3] * 2}
    report = sy.evaluate("answers", truth, {"question": [1, 2], "answer": ["yes", "no"]}, confidence=None)
    assert "yn_accuracy" not in report.scores
    # "no" of three people: of ten subsets of nine three hold two of them and seven hold all three
    assert report["vqa"].value == pytest.approx((1 + (3 * 2 / 3 + 7) / 10) / 2)


def test_an_outcome_may_have_capital_letters() -> None:
    truth = {"question": [1, 2, 3], "answer": ["a", "b", "c"]}
    replies_of = {**truth, "outcome": ["OK", " Ok ", "Refusal"]}
    assert sy.evaluate("answers", truth, replies_of, ["answered"], confidence=None)["answered"].value == 2 / 3


def test_texts_that_take_minutes_to_align_are_refused() -> None:
    """A runaway reply to a short text is scored; two texts of a million characters are not."""
    long = "a" * 1_000_000
    short = sy.evaluate("answers", {"question": [1], "answer": ["b"]}, {"question": [1], "answer": [long]}, ["cer"])
    assert short["cer"].value == 1_000_000
    for metric in ("cer", "anls"):
        with refuses("E-too-large", "1,000,000"):
            sides = {"question": [1], "answer": ["b" * 1_000_000]}, {"question": [1], "answer": [long]}
            sy.evaluate("answers", *sides, [metric], confidence=None)
    words = {"question": [1], "answer": ["b " * 300_000]}, {"question": [1], "answer": ["a " * 300_000]}
    with refuses("E-too-large", "300,000"):
        sy.evaluate("answers", *words, ["wer"], confidence=None)


def test_choices_by_hand() -> None:
    """Two units of two questions: three right, one unit all right; guessing scores 1/4, and 1/16 for a unit."""
    options = ["a cat", "a dog", "a bird", "a fish"]
    report = evaluated(
        [["A"], ["a dog"], ["C"], ["D"]], ["(A)", "B. a dog", "C", "no idea"], "choice", "choice_all",
        choices=[options] * 4, group=["x", "x", "y", "y"],
    )  # fmt: skip
    assert [score.value for score in report.scores.values()] == [3 / 4, 1 / 2]
    assert "choice: guessing alone would score 0.25." in notes_of(report)
    assert "choice_all: guessing alone would score 0.0625." in notes_of(report)
    assert "1 of 4 replies names no option, and is wrong." in notes_of(report)


def test_numbers_by_hand() -> None:
    """Errors +1, -2, 0 of 4, 10, 0; "many" is not a number. Relative errors 1/4 and 2/10; that of 0 is none."""
    specs = ["mae", "bias", "rmse", "mape", "number", "number(rel=0.25)", "number(abs=2)", "count_mae", "count_bias"]
    specs += ["count_exact", "count_within@1"]
    report = evaluated([["4"], ["10"], ["0"], ["7"]], ["5", "8", "zero", "many"], *specs)
    values = {spec: score.value for spec, score in report.scores.items()}
    assert values == pytest.approx(
        {
            "mae": 1, "bias": -1 / 3, "rmse": math.sqrt(5 / 3), "mape": 22.5, "number": 1 / 4, "number(rel=0.25)": 3 / 4,
            "number(abs=2)": 3 / 4, "count_mae": 1, "count_bias": -1 / 3, "count_exact": 1 / 4, "count_within@1": 2 / 4,
        }
    )  # fmt: skip
    assert report["mae"].n_excluded == 1
    assert by_question([["3"]], ["There are 3 dogs."], "mae(read=only)")["mae(read=only)"] == [0]
    assert evaluated([["2", "20"]], ["19"], "mae")["mae"].value == 1  # the nearest accepted number


NUMBERS = {
    "3": 3, "three": 3, "3.": 3, "1,000": 1000, "1,00": None, "-2": -2, "1e3": 1000, ".5": 0.5, "5%": None, "3 dogs": None,
    "none": 0, "no": None, "٣": None, "1_000": None, "nan": None, "inf": None, "1e999": None, "": None, "Twenty.": 20,
}  # fmt: skip
IN_TEXT = {
    "3 dogs": 3,
    "There are 3.": 3,
    "three or four": None,
    "3 of 4": None,
    "$5": 5,
    "2024-05-01": None,
    "v2": None,
}


def test_numbers_are_read_strictly() -> None:
    for text, value in NUMBERS.items():
        assert replies.read_number(text) == value, text
    for text, value in IN_TEXT.items():
        assert replies.read_number(text, "only") == value, text


def test_what_is_not_answered_is_wrong_and_counted() -> None:
    truth = {"question": [1, 2, 3, 4], "answer": ["a", "b", "c", "d"]}
    said = {"question": [1, 2, 3], "answer": ["a", "", "c"], "outcome": ["ok", "ok", "refusal"]}
    report = sy.evaluate(
        "answers", truth, said, ["exact", "exact(of=answered)", "answered"], confidence=None, missing="worst"
    )
    assert [score.value for score in report.scores.values()] == [1 / 4, 1, 1 / 4]
    assert "3 of 4 questions have no answer and score 0; of=answered leaves them out." in notes_of(report)
    assert report["exact(of=answered)"].n_excluded == 3


@pytest.mark.parametrize("case", range(3))
def test_judge_corrected_by_its_rates(case: int) -> None:
    """Rogan and Gladen's estimate of the golden; the mean of the judge alone is the naive one."""
    golden = GOLDENS["judge"][case]
    n = golden["counts"]
    human = [1] * n["n11"] + [0] * n["n10"] + [1] * n["n01"] + [0] * n["n00"]
    judge = [1] * (n["n11"] + n["n10"]) + [0] * (n["n01"] + n["n00"])
    judge += [1] * n["judged_right"] + [0] * (n["N"] - n["judged_right"])
    rows = len(judge)
    truth = {"question": list(range(rows)), "verdict": [*human, *([""] * (rows - len(human)))], "judge": judge}
    said = {"question": list(range(rows)), "answer": ["x"] * rows}
    report = sy.evaluate("answers", truth, said, "judge", proxy="judge", judge_correction="rates", draws=100)
    assert report["judge"].value == pytest.approx(golden["rogan_gladen"], abs=1e-12)
    assert report["judge"].few_labels.proxy_alone == pytest.approx(golden["naive"], abs=1e-12)
    low, high = report["judge"].interval
    assert low < golden["true_accuracy_of_the_drawn_set"] < high


def test_a_judge_in_the_predictions() -> None:
    truth = {"question": [1, 2], "answer": ["a", "b"]}
    said = {"question": [1, 2], "answer": ["a", "x"], "judge": [1, 0.5], "logged:score": [1, math.nan]}
    report = sy.evaluate("answers", truth, said, ["judge", "logged"], confidence=None)
    assert [score.value for score in report.scores.values()] == [0.75, 1]


def test_questions_of_one_image_are_one_unit() -> None:
    truth = {"question": [1, 2, 3], "image": ["a", "a", "b"], "answer": ["x", "y", "z"]}
    report = sy.evaluate("answers", truth, {"question": [3, 2, 1], "answer": ["z", "n", "x"]}, "exact", confidence=None)
    assert report["exact"].value == 2 / 3
    assert report.units().units.tolist() == ["a", "b"]
    assert report.units().values["exact"].tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("accepted", "more", "first"),
    [
        ([["yes"], ["no"]], {}, "yn_accuracy"),
        ([["A"], ["B"]], {"choices": [["x", "y"]] * 2}, "choice"),
        ([["3"], ["12.5"]], {}, "number"),
        ([["a"] * 4, ["b"] * 4], {}, "vqa"),
        ([["a"], ["b"]], {}, "exact"),
    ],
)
def test_defaults_go_by_what_the_answers_are(accepted: list[list[str]], more: dict[str, Any], first: str) -> None:
    truth = {"question": [0, 1], "answers": accepted, **more}
    report = sy.evaluate("answers", truth, {"question": [0, 1], "answer": ["yes", "no"]}, confidence=None)
    assert next(iter(report.scores)) == first


def test_confusions_by_hand() -> None:
    """0 is read as O twice, the blank is lost once, an s is added once; an empty reply mixes up nothing."""
    report = evaluated([["200"], ["a b"], ["dog"], ["x"]], ["2OO", "ab", "dogs", ""], "cer")
    table = report.table("confusions")
    assert dict(zip(table.rows, table.values[:, 0].tolist(), strict=True)) == {
        "0 as O": 2, "blank as nothing": 1, "nothing as s": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "replies", "lost"),
    [(["a b", "c"], ["", ""], 1.0), (["a b", ""], ["", ""], 1.0), (["", "c"], ["x", ""], 1.0), (["a b"], ["a b"], 0.0)],
)
def test_word_information_without_words_is_as_jiwers(truth: list[str], replies: list[str], lost: float) -> None:
    """Values of jiwer 4.0.0's `process_words`: replies without a word lose all."""
    rows = list(range(len(truth)))
    sides = {"question": rows, "answer": truth}, {"question": rows, "answer": replies}
    report = sy.evaluate("answers", *sides, metrics=["wil", "wip"], confidence=None)
    assert (report["wil"].value, report["wip"].value) == (lost, 1 - lost)
