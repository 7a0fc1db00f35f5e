"""Metrics of captions: settings and labels, numbers by hand, and what is kept of images between measuring and scoring."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from support.made import (
    by_unit,
    check_choices,
    check_range,
    examples,
    in_turn,
    labels,
    metric,
    pairs_of,
    state_of,
    values,
)
from support.refusal import refuses

import steelyard as sy
from steelyard.core.plan import POINT, UNITS
from steelyard.core.rows import RowTable
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.captions import ngrams
from steelyard.tasks.captions.ngrams import CiderRows, SpiderRows
from steelyard.tasks.captions.spice import KnownWords, SilentImages, SpiceCount, SpiceLeftOut, SpiceSum

TRUTH: dict[str, Any] = {"image": [1, 1, 2], "caption": ["a b c e", "a b", "x z w"]}
PREDICTED: dict[str, Any] = {"image": [1, 2], "caption": ["a b c d", "x y"]}


def test_examples() -> None:
    assert examples("captions") == {
        "spice": ["spice"], "spice_object": ["spice_object"], "spice_attribute": ["spice_attribute"],
        "spice_relation": ["spice_relation"], "spice_color": ["spice_color"], "spice_count": ["spice_count"],
        "spice_size": ["spice_size"], "spice_weighted": ["spice_weighted"], "bleu": ["bleu@1", "bleu@2", "bleu@3", "bleu@4"],
        "rouge_l": ["rouge_l"], "meteor": ["meteor"], "cider": ["cider", "cider(form=plain)"], "spider": ["spider"],
        "sacrebleu": ["sacrebleu"], "rouge_score": ["rouge_score@1", "rouge_score@2", "rouge_score@L"],
    }  # fmt: skip


def test_labels() -> None:
    assert labels("captions", "bleu@2", "bleu@3(level=image)", "rouge_score@1", "cider", "cider(form=plain)") == [
        "BLEU-2", "BLEU-3, mean over images", "ROUGE-1 (rouge-score)", "CIDEr-D", "CIDEr, first form",
    ]  # fmt: skip
    specs = (
        "spice_object",
        "spice(value=recall)",
        "spice(graph=described)",
        "spice_size(value=precision, graph=described)",
    )
    assert labels("captions", *specs) == [
        "SPICE, objects", "SPICE, recall", "SPICE, as described", "SPICE, sizes, precision, as described",
    ]  # fmt: skip


@in_turn(
    ("spec", "field", "allowed"),
    [
        ("bleu@{}", "n", ["1", "2", "3", "4"]), ("bleu(level={})", "level", ["corpus", "image"]),
        ("sacrebleu(case={})", "case", ["mixed", "lower"]), ("rouge_score@{}", "kind", ["1", "2", "L"]),
        ("cider(form={})", "form", ["d", "plain"]), ("meteor(level={})", "level", ["image", "corpus"]),
        ("spice(matching={})", "matching", ["any", "one"]), ("spice(synonyms={})", "synonyms", ["true", "false"]),
        ("spice_size(value={})", "value", ["f1", "precision", "recall"]),
        ("spice(graph={})", "graph", ["original", "described"]),
        ("spice_weighted(graph={})", "graph", ["original", "described"]),
        ("spice_weighted(matching={})", "matching", ["any", "one"]),
    ],
)  # fmt: skip
def test_choices(spec: str, field: str, allowed: list[str]) -> None:
    if field == "synonyms":
        for value in allowed:
            assert metric("captions", spec.format(value)) is not None
        with refuses("E-invalid-spec", "'spice'", "synonyms"):
            metric("captions", "spice(synonyms=other)")
    else:
        check_choices("captions", spec, field, *allowed)
    if field == "n":
        with refuses("E-invalid-spec", "'bleu'", "0"):
            metric("captions", "bleu@0")
        with refuses("E-invalid-spec", "'bleu'", "5"):
            metric("captions", "bleu@5")


@in_turn("kind", ["object", "attribute", "relation", "color", "count", "size"])
def test_weights_of_kinds(kind: str) -> None:
    remedy = "It must be a number from 0 up."
    others = "" if kind != "object" else ", relation=1.0"
    check_range("captions", f"spice_weighted({kind}={{}}{others})", kind, ["0", "0.5", "100.0"], ["-0.5", "x"], remedy)
    rest = ", ".join(f"{other}=0" for other in ("object", "attribute", "relation") if other != kind)
    one = f"spice_weighted({kind}=0.5, {rest})"
    assert metric("captions", one) is not None
    with refuses("E-invalid-spec", "'spice_weighted'", "0"):
        metric("captions", "spice_weighted(object=0, attribute=0, relation=0)")  # fmt: skip


def test_what_metrics_need() -> None:
    """No more than they read."""
    kept = {
        spec: [str(need) for need in metric("captions", spec).requirements()]
        for spec in ("bleu@1", "meteor", "spice_size")
    }
    images = "captions.images/1"
    assert kept["bleu@1"] == [
        *(f"captions.overlap/1(of={of}, tokens=ptb)" for of in ("matched1", "guessed1", "length", "closest")), images,
    ]  # fmt: skip
    assert kept["meteor"] == ["captions.meteor/1(of=score)", images]
    assert [need.split("/")[0] for need in kept["spice_size"]] == [
        "captions.spice", "captions.spice_count", "captions.spice_left_out",
    ]  # fmt: skip
    whole = metric("captions", "meteor(level=corpus)").requirements()
    assert len(whole) == 9
    assert [str(need) for need in metric("captions", "bleu@3(level=image)").requirements()] == [
        "captions.bleu/1(n=3)",
        images,
    ]


def test_bleu() -> None:
    """Of the 6 words 4 stand in a reference, of the 4 pairs 2, of the 2 triples 1, of the one four none."""
    short = math.exp(1 - 7 / 6)  # 6 words, and 4 + 3 in the references nearest in length
    assert values("captions", TRUTH, PREDICTED, "bleu@1", "bleu@2", "bleu@3") == pytest.approx(
        [4 / 6 * short, math.sqrt(4 / 6 * 2 / 4) * short, (4 / 6 * 2 / 4 * 1 / 2) ** (1 / 3) * short], abs=1e-8
    )
    assert by_unit("captions", TRUTH, PREDICTED, "bleu@1") == pytest.approx([3 / 4, math.exp(1 - 3 / 2) / 2], abs=1e-8)
    image = values("captions", TRUTH, PREDICTED, "bleu@1(level=image)", "bleu@2(level=image)")
    assert image == pytest.approx([(3 / 4 + math.exp(-1 / 2) / 2) / 2, math.sqrt(3 / 4 * 2 / 3) / 2], abs=1e-6)


def test_bleu_of_no_match_at_all() -> None:
    """COCO adds 1e-15 above and 1e-9 below: 1e-15 matches of one word."""
    alone = {"image": [1], "caption": ["a"]}
    assert values("captions", {"image": [1], "caption": ["b"]}, alone, "bleu@1") == pytest.approx([1e-15], rel=1e-6)


def test_sacrebleu() -> None:
    """4 of 6, 2 of 4, 1 of 2 and none of 1, which counts as one half."""
    expected = 100 * math.exp(1 - 7 / 6) * (4 / 6 * 2 / 4 * 1 / 2 * 1 / 2) ** (1 / 4)
    assert values("captions", TRUTH, PREDICTED, "sacrebleu") == pytest.approx([expected])
    upper = {"image": [1, 2], "caption": ["A B c d", "x y"]}
    mixed = 100 * math.exp(1 - 7 / 6) * (2 / 6 * 1 / 2 / 4 * 1 / 4 / 2 * 1 / 8 / 1) ** (1 / 4)
    specs = "sacrebleu", "sacrebleu(case=lower)"
    assert values("captions", TRUTH, upper, *specs) == pytest.approx([mixed, expected])
    longer = {"image": [1, 2], "caption": ["a b c d", "x z w v"]}
    assert values("captions", TRUTH, longer, "sacrebleu") == pytest.approx(
        [100 * (6 / 8 * 4 / 6 * 2 / 4 * 1 / 2 / 2) ** (1 / 4)]
    )
    assert values("captions", TRUTH, {"image": [1, 2], "caption": ["q", "q"]}, "sacrebleu") == [0]
    assert values("captions", TRUTH, {"image": [1, 2], "caption": ["a", "q"]}, "sacrebleu") == [0]  # no pair of words


def test_rouge() -> None:
    """The best precision is 3/4, by the first reference, the best recall 1, by the second; 1/2 and 1/3."""
    first, second = 2.44 * (3 / 4) / (1 + 1.44 * 3 / 4), 2.44 * (1 / 2) * (1 / 3) / (1 / 3 + 1.44 / 2)
    assert by_unit("captions", TRUTH, PREDICTED, "rouge_l") == pytest.approx([first, second])
    assert values("captions", TRUTH, PREDICTED, "rouge_l") == pytest.approx([(first + second) / 2])
    swapped = {"image": [1, 2], "caption": ["b a c e", "z x"]}
    assert by_unit("captions", TRUTH, swapped, "rouge_score@1") == pytest.approx([1, 2 * 2 / 5])
    assert by_unit("captions", TRUTH, swapped, "rouge_score@2") == pytest.approx([1 / 3, 0])
    assert by_unit("captions", TRUTH, swapped, "rouge_score@L") == pytest.approx([3 / 4, 2 * 1 / 5])


def test_meteor() -> None:
    """Three content words of four match in one piece; "x" of two with one of three, "a" weighs 1/4, others 3/4."""

    def score(precision: float, recall: float, chunks: float, matched: float) -> float:
        return (1 - 0.6 * (chunks / matched) ** 0.2) / (0.15 / precision + 0.85 / recall)

    truth = {"image": [1, 2], "caption": ["red car house", "dog tree"]}
    predicted = {"image": [1, 2], "caption": ["red car tower sky", "dog"]}
    each = [score(2 / 4, 2 / 3, 1, 2), score(1, 1 / 2, 1, 1)]
    assert by_unit("captions", truth, predicted, "meteor") == pytest.approx(each)
    assert values("captions", truth, predicted, "meteor", "meteor(level=corpus)") == pytest.approx(
        [sum(each) / 2, score(3 / 5, 3 / 5, 2, 3)]
    )
    none = {"image": [1, 2], "caption": ["moon", "moon"]}
    assert values("captions", truth, none, "meteor(level=corpus)", "meteor") == [0, 0]


def parts_of(data: dict[str, Any], *images: Any) -> dict[str, Any]:
    kept = [i for i, image in enumerate(data["image"]) if image in images]
    return {name: [column[i] for i in kept] for name, column in data.items()}


FOUR: dict[str, Any] = {"image": [1, 2, 2, 3], "caption": ["a b c d", "e f g h", "a b c d", "i j k l"]}
SAID: dict[str, Any] = {"image": [1, 2, 3], "caption": ["a b c d", "e f g x", "i j q r"]}
HALF, FULL = math.log(3 / 2), math.log(3)  # what n-grams weigh that two or one of three images have


def plain_cider() -> list[float]:
    """The cosine of counts: with the reference of the same n-grams; with e f g h and a b c d; with i j k l."""
    second = [3 / 4, 2 / 3, 1 / 2, 0]
    third = [2 / 4, 1 / 3, 0, 0]
    return [10.0, 10 * sum(second) / 4 / 2, 10 * sum(third) / 4]


def test_cider() -> None:
    """The lists are as long as each other, and no n-gram comes twice: nothing is clipped or penalised."""
    for spec in ("cider(form=plain)", "cider"):
        assert by_unit("captions", FOUR, SAID, spec) == pytest.approx(plain_cider())


def test_cider_of_other_lengths() -> None:
    """CIDEr-D falls by exp(-d^2 / 72) where the lengths differ by d, and counts a word twice only if the reference does."""
    truth = {"image": [1, 2], "caption": ["a b", "c d"]}
    predicted = {"image": [1, 2], "caption": ["a a a b", "c d"]}
    plain = [4 / math.sqrt(10 * 2), 1 / math.sqrt(3 * 1), 0, 0]  # pairs: a a twice, a b
    plain[1] = 1 / math.sqrt(5)
    clipped = [(1 + 1) / math.sqrt(10 * 2), 1 / math.sqrt(5), 0, 0]
    assert by_unit("captions", truth, predicted, "cider(form=plain)") == pytest.approx([10 * sum(plain) / 4, 5])
    expected = [10 * sum(clipped) / 4 * math.exp(-4 / 72), 5]
    assert by_unit("captions", truth, predicted, "cider") == pytest.approx(expected)


@in_turn("spec", ["cider", "cider(form=plain)", "spider"])
def test_parts_are_scored_as_one(spec: str) -> None:
    tuples = {**SAID, "tuples": ['[["a"]]', '[["e"], ["f"]]', "[]"]}
    truth = {**FOUR, "tuples": ['[["a"]]', '[["e"]]', '[["e"]]', '[["i"]]']}
    spice = [1, 2 * (1 / 2) / (3 / 2), 0]
    expected = plain_cider() if spec != "spider" else [(s + c) / 2 for s, c in zip(spice, plain_cider(), strict=True)]
    assert by_unit("captions", truth, tuples, spec) == pytest.approx(expected)
    asked = metric("captions", spec)
    parts = [
        state_of(pairs_of("captions", parts_of(truth, *some), parts_of(tuples, *some)), asked) for some in ([3], [1, 2])
    ]
    merged = State.merge(parts)
    assert merged.totals(UNITS).of(asked).tolist() == pytest.approx(expected)
    assert merged.totals(POINT).of(asked).tolist() == pytest.approx([sum(expected) / 3])


def test_rows_of_images() -> None:
    """The candidate stands first, then the references; images may have none of either."""
    pairs = pairs_of("captions", FOUR, SAID)
    block = CiderRows("plain").measure(pairs, SharedCache())
    (table,) = block.tables
    assert table.columns["text"].tolist() == [
        "a b c d", "a b c d", "e f g x", "e f g h", "a b c d", "i j q r", "i j k l",
    ]  # fmt: skip
    assert table.begin.tolist() == [0, 2, 5, 7]
    assert block.index.tolist() == [0, 1, 2]
    bare = CiderRows("plain").bare(table)
    assert (bare.columns["text"].tolist(), bare.begin.tolist()) == (["a b c d", "e f g x", "i j q r"], [0, 1, 2, 3])
    assert bare.ids.tolist() == table.ids.tolist()


def test_rows_of_images_without_rows() -> None:
    texts = np.array(["a", "a", "b", "c"], dtype=object)
    scores = np.array([0.5, 0.0, 0.25, 0.0])
    begin = np.array([0, 0, 2, 3, 4, 4])
    table = RowTable(SpiderRows(), np.array([1, 2, 3, 4, 5]), begin, {"text": texts, "spice": scores})
    # "a" is in the references of one of five images: its weight is log 5, and the cosine of one of four orders is 1
    assert SpiderRows().finish(table).values.tolist() == pytest.approx([0, (0.5 + 10 / 4) / 2, 0.125, 0, 0])
    assert CiderRows("d").finish(table).values.tolist() == pytest.approx([0, 10 / 4, 0, 0, 0])
    bare = SpiderRows().bare(table)
    assert bare.begin.tolist() == [0, 0, 1, 2, 3, 3]
    assert bare.columns["text"].tolist() == ["a", "b", "c"]
    assert bare.columns["spice"].tolist() == [0.5, 0.25, 0]
    assert bare.need == SpiderRows()


def test_slices_of_references() -> None:
    """A slice sees all images: of the two one has "a b c d" in it, which the candidate is; by both it weighs nothing."""
    truth = {"image": [1, 2, 2], "caption": ["a b c d", "a b c d", "a"], "who": ["p", "q", "p"]}
    predicted = {"image": [1, 2], "caption": ["a b c d", "z"]}
    report = sy.evaluate("captions", truth, predicted, ["cider(form=plain)"], by=["who"], confidence=None)
    assert report["cider(form=plain)"].value == 0
    # "a" is in the references of both and weighs nothing; all else of the first is as in its reference
    assert report.slices["who"]["p"]["cider(form=plain)"].value == pytest.approx(10 / 2)
    assert report.slices["who"]["q"]["cider(form=plain)"].value == 0


CAR: dict[str, Any] = {
    "image": ["i", "j"],
    "tuples": [
        json.dumps([["car"], ["house"], ["car", "red"], ["car", "large"], ["car", "two"], ["car", "beside", "house"]]),
        json.dumps([["dog"]]),
    ],
}  # fmt: skip
SEEN: dict[str, Any] = {
    "image": ["i", "j"],
    "tuples": [
        json.dumps([["automobile"], ["automobile", "red"], ["car", "old"], ["car", "beside", "tree"], ["tree"]]),
        json.dumps([["cat"]]),
    ],
}  # fmt: skip


def test_kinds_of_tuples() -> None:
    """Objects: car of car and tree, in car and house. Attributes: red of red and old, in red, large and two."""
    parts = {
        "spice_object": 2 * 1 / (2 + 2), "spice_attribute": 2 * 1 / (2 + 3), "spice_relation": 0, "spice_color": 1,
        "spice_count": 0, "spice_size": 0,
    }  # fmt: skip
    for spec, expected in parts.items():
        own = [expected, 0 if spec == "spice_object" else math.nan]
        assert by_unit("captions", CAR, SEEN, spec) == pytest.approx(own, nan_ok=True), spec
    report = sy.evaluate("captions", CAR, SEEN, list(parts), confidence=None)
    assert [report[spec].value for spec in parts] == pytest.approx([1 / 4, 2 / 5, 0, 1, 0, 0])
    assert report["spice_object"].excluded == ""
    assert report["spice_size"].n_excluded == 1
    assert report["spice_size"].excluded == "images whose references have no size"


def test_values_of_spice() -> None:
    """2 of 5 tuples match 2 of 6; without synonyms the automobile and its colour do not."""
    specs = "spice", "spice(value=precision)", "spice(value=recall)"
    own = [by_unit("captions", CAR, SEEN, spec)[0] for spec in specs]
    assert own == pytest.approx([2 * 2 / 11, 2 / 5, 2 / 6])
    strict = by_unit("captions", CAR, SEEN, "spice(synonyms=false, value=recall)")
    assert strict == pytest.approx([1 / 6, 0])  # only "car"


def test_one_to_one() -> None:
    truth = {"image": [1], "tuples": ['[["car"], ["bus"]]']}
    predicted = {"image": [1], "tuples": ['[["car"], ["automobile"], ["auto"]]']}
    assert values("captions", truth, predicted, "spice(value=precision)") == [1]
    cars = {"image": [1], "tuples": ['[["automobile"], ["railcar"]]']}  # both are cars, and neither is the other
    specs = "spice(value=precision)", "spice(matching=one, value=precision)"
    assert values("captions", truth, cars, *specs) == [1, 1 / 2]
    assert values("captions", truth, cars, "spice_weighted", "spice_object", "spice_object(matching=one)") == [
        1,
        1,
        1 / 2,
    ]


def test_weighted_kinds() -> None:
    """Objects 1/2, attributes 2/5, relations 0, colours 1, counts and sizes 0 in the first; objects 0 in the second."""
    specs = {
        "spice_weighted": (1 / 2 + 2 / 5) / 3, "spice_weighted(object=3, relation=0)": (3 / 2 + 2 / 5) / 4,
        "spice_weighted(color=2)": (1 / 2 + 2 / 5 + 2) / 5, "spice_weighted(count=1)": (1 / 2 + 2 / 5) / 4,
        "spice_weighted(size=5)": (1 / 2 + 2 / 5) / 8, "spice_weighted(attribute=0.5)": (1 / 2 + 1 / 5) / 2.5,
    }  # fmt: skip
    for spec, expected in specs.items():
        assert by_unit("captions", CAR, SEEN, spec) == pytest.approx([expected, 0]), spec
    colours = "spice_weighted(object=0, attribute=0, relation=0, color=1)"
    assert by_unit("captions", CAR, SEEN, colours) == pytest.approx([1, math.nan], nan_ok=True)
    assert values("captions", CAR, SEEN, colours) == [1]


def test_what_is_kept_of_spice() -> None:
    pairs, work = pairs_of("captions", CAR, SEEN), SharedCache()
    assert SpiceSum("color").measure(pairs, work).values.tolist() == [1, 0]
    assert SpiceCount("color").measure(pairs, work).values.tolist() == [1, 0]
    assert SpiceLeftOut("color").measure(pairs, work).values.tolist() == [0, 1]
    assert SilentImages(True, "original").measure(pairs, work).values.tolist() == [0, 0]


def test_notes_of_spice() -> None:
    truth = {"image": [1, 2], "caption": ["der Hund schläft gemütlich", "a dog sleeps"]}
    predicted = {"image": [1, 2], "caption": ["Hündchen zzxq", "a dog"]}
    known = KnownWords().measure(pairs_of("captions", truth, predicted), SharedCache()).values
    assert known.shape == (2, 2)
    assert known[:, 0].tolist() == [6, 3]  # words of three letters and more
    assert known[1].tolist() == [3, 3]
    silent = {"image": [1, 2, 3], "tuples": ["[]", '[["dog"]]', "[]"]}
    report = sy.evaluate("captions", silent, silent, ["spice", "spice_object"], confidence=None)
    assert report["spice"].notes == ("2 images have references without any object, which scores 0 as in the original.",)
    assert report["spice_object"].notes == ()
    assert report["spice"].value == pytest.approx(1 / 3)


def test_a_note_on_other_languages() -> None:
    truth = {"image": [1], "caption": ["zzxq qqxz xqzz"], "tuples": ['[["dog"]]']}
    predicted = {"image": [1], "caption": ["zqxz dog"], "tuples": ['[["dog"]]']}
    report = sy.evaluate("captions", truth, predicted, ["spice"], confidence=None)
    assert report["spice"].notes == (
        "Only 20 % of the words are known: the parser reads English, and SPICE means little elsewhere.",
    )
    half = {"image": [1], "caption": ["dog cat zqxz"], "tuples": ['[["dog"]]']}
    other = {**half, "caption": ["qqxz"]}  # two of four words are known
    assert sy.evaluate("captions", half, other, ["spice"], confidence=None)["spice"].notes == ()


def test_constants() -> None:
    assert (ngrams.TINY, ngrams.SMALL) == (1e-15, 1e-9)
