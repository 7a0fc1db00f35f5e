"""Captions that are wrong or strange: one clear message, or a defined result; never a crash."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.language import scene, tables, tokens
from steelyard.language.tokens import pack

TRUTH = {"image": [1, 1, 2], "caption": ["a dog on a bed", "a brown dog sleeping", "two men with a kite"]}
PRED = {"image": [1, 2], "caption": ["a dog sleeping on a bed", "a man flying a kite"]}


def changed(data: dict[str, Any], column: str, row: int, value: Any) -> dict[str, Any]:
    copy = {name: list(values) for name, values in data.items()}
    copy[column][row] = value
    return copy


# what is wrong: (truth, predictions, all that the message must contain)
BAD = {
    "candidate without reference": (TRUTH, {"image": [1, 2, 9], "caption": ["a", "b", "c"]}, ["E-unmatched", "1", "'9'"]),
    "reference without candidate": (TRUTH, {"image": [1], "caption": ["a dog"]}, ["E-unmatched", "1", "2", "'2'"]),
    "two candidates": (TRUTH, {"image": [1, 2, 1], "caption": ["a", "b", "c"]}, ["E-duplicate-key", "row 2", "'1'", "row 0"]),
    "empty reference": (changed(TRUTH, "caption", 1, "  "), PRED, ["E-empty-cell", "row 1", "'caption'", "caption"]),
    "no caption column": (TRUTH, {"image": [1, 2], "text": ["a", "b"]}, ["E-missing-column", "'caption'", "'text'"]),
    "scene graph that is not JSON": (TRUTH, {"image": [1, 2], "tuples": ["[[", "[]"]}, ["E-invalid-file", "row 0", "'tuples'"]),
    "tuple of four": (TRUTH, {"image": [1, 2], "tuples": ['[["a","b","c","d"]]', "[]"]}, ["E-invalid-value", "row 0"]),
    "tuple of numbers": (TRUTH, {"image": [1, 2], "tuples": ["[[1]]", "[]"]}, ["E-invalid-value", "row 0", "'[1]'"]),
    "scene graph that is not a list": (TRUTH, {"image": [1, 2], "tuples": ["7", "[]"]}, ["E-invalid-value", "row 0", "'7'", "tuples"]),
    "25,000 words in one caption": (TRUTH, changed(PRED, "caption", 0, "a big dog on a small bed and " * 3600), ["E-too-large", "2,000"]),
    "half a character": (TRUTH, changed(PRED, "caption", 0, "a \ud800 dog"), ["E-invalid-text", "caption"]),
    "two megabytes in one caption": (TRUTH, changed(PRED, "caption", 0, "dog " * 600_000), ["E-too-large", "2,400,000"]),
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_names_the_trouble(case: str) -> None:
    truth, predictions, wanted = BAD[case]
    with refuses(*wanted):
        sy.evaluate("captions", truth, predictions)


STRANGE = {
    "empty": "", "blanks": "   ", "punctuation": "... !!! ,,, ''", "control characters": "a\x01dog\x07on\x1ba bed",
    "NUL": "a dog\0on a bed", "newlines": "a dog\r\non a\rbed\n", "not English": "ein brauner Hund schläft auf dem Bett",
    "not Latin": "一只狗睡在床上", "emoji": "a 🐶 on a 🛏️",
    "one long word": "x" * 100_000, "capitals": "A DOG ON A BED", "tabs": "a\tdog\ton\ta\tbed",
}  # fmt: skip


@pytest.mark.parametrize("case", list(STRANGE))
def test_strange_candidates_are_scored(case: str) -> None:
    report = sy.evaluate("captions", TRUTH, changed(PRED, "caption", 0, STRANGE[case]), draws=100)
    for score in report.scores.values():
        assert np.isnan(score.value) or 0 <= score.value <= 10
    if case in ("newlines", "tabs", "capitals"):
        same = sy.evaluate("captions", TRUTH, changed(PRED, "caption", 0, "a dog on a bed"), draws=100)
        assert report["spice"].value == same["spice"].value


def test_captions_that_are_not_english_are_scored_with_a_warning() -> None:
    text = "ein brauner Hund schläft gemütlich auf einem kleinen grünen Sofa"
    report = sy.evaluate(
        "captions", {"image": [1], "caption": [text]}, {"image": [1], "caption": [text]}, "spice", confidence=None
    )
    assert any("reads English" in note for note in report["spice"].notes)
    report = sy.evaluate("captions", TRUTH, PRED, "spice", confidence=None)
    assert not report["spice"].notes


def test_missing_candidates_by_policy() -> None:
    one = {"image": [1], "caption": ["a dog on a bed"]}
    worst = sy.evaluate("captions", TRUTH, one, ["spice", "cider"], missing="worst", confidence=None)
    skip = sy.evaluate("captions", TRUTH, one, ["spice", "cider"], missing="skip", confidence=None)
    assert worst["spice"].value == pytest.approx(skip["spice"].value / 2)
    assert worst["spice"].units == 2
    assert skip["spice"].units == 1


def test_formats_give_the_same_scores(tmp_path: Path) -> None:
    memory = sy.evaluate("captions", TRUTH, PRED, confidence=None)
    rows = [{"image_id": i, "id": 7 + n, "caption": c} for n, (i, c) in enumerate(zip(*TRUTH.values(), strict=True))]
    coco = {"info": {}, "images": [{"id": 1}, {"id": 2}], "licenses": [], "annotations": rows}
    (tmp_path / "truth.json").write_text(json.dumps(coco))
    results = [{"image_id": i, "caption": c} for i, c in zip(*PRED.values(), strict=True)]
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "pred.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results))
    (tmp_path / "pred.csv").write_text("image,caption\n1,a dog sleeping on a bed\n2,a man flying a kite\n")
    graphs = [scene.tuples_of(lines) for lines in scene.tuple_lines(tokens.ptb(PRED["caption"]))]
    given = [{**row, "tuples": graph} for row, graph in zip(results, graphs, strict=True)]
    (tmp_path / "graphs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    for name in ("results.json", "pred.jsonl", "pred.csv", "graphs.jsonl"):
        report = sy.evaluate("captions", tmp_path / "truth.json", tmp_path / name, confidence=None)
        for spec in memory.scores:
            assert report[spec].value == pytest.approx(memory[spec].value, nan_ok=True), (name, spec)


@given(st.text(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_text_has_tokens_a_tree_and_tuples(text: str) -> None:
    (tokenised,) = tokens.ptb([text])
    assert tokens.ptb([tokenised])[0].split() is not None
    words = tokenised.split(" ") if tokenised else []
    (tree,) = scene.trees([tokenised])
    assert [token.word for token in tree] == words
    assert all(0 <= token.head <= len(tree) for token in tree)
    assert bool(tree) == any(token.head == 0 for token in tree)
    for entry in scene.tuples_of(scene.tuple_lines([tokenised])[0]):
        assert 1 <= len(entry) <= 3


@given(st.lists(st.tuples(st.sampled_from(["NN", "NNS", "VBG", "IN", "PRP", "DT", "CC", "JJ"]), st.integers(0, 12),
                          st.sampled_from(["nsubj", "dobj", "nmod", "case", "conj", "cc", "acl", "det", "amod", "cop", "xx"])), max_size=12))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_any_graph_of_dependencies_has_tuples(rows: list[tuple[str, int, str]]) -> None:
    """Cycles, several roots, words that are their own head: given by a user's parser, they must not hang or crash."""
    words = ["couple", "of", "dogs", "in", "front", "of", "it", "next", "to", "lots", "and", "men"]
    tree = [scene.Token(words[i], tag, min(head, len(rows)), relation) for i, (tag, head, relation) in enumerate(rows)]
    scene.tuples_of_tree(tree)


@given(st.binary(max_size=200))
@settings(max_examples=80, deadline=None)
def test_damaged_tables_are_refused_or_read(data: bytes) -> None:
    """Never a crash: a table is refused with a message, or happens to be well formed."""
    for cls, magic in ((_native.WordNet, b"SYWN0001"), (_native.ParserModel, b"SYPM0001")):
        with contextlib.suppress(ValueError):
            cls(magic + data)
        with refuses(ValueError):
            cls(b"nothing!" + data)
    good = tables_bytes("parser.bin")
    with refuses(ValueError, "short"):
        _native.ParserModel(good[: len(good) // 2])


def tables_bytes(name: str) -> bytes:
    return (Path(scene.__file__).parent / "data" / name).read_bytes()


def test_native_core_checks_its_arguments() -> None:
    block, ends = pack(["a b", "c"])
    with refuses(ValueError):
        _native.ptb_tokens(block, ends + 5)
    with refuses(ValueError, "references"):
        _native.ngram_overlap(block, ends, block, ends, np.array([0, 3, 2]))
    with refuses(ValueError, "reference"):
        _native.scene_scores(tables.wordnet(), block, ends, block, ends[:1])
    bad = pack(["dog\tNN\t9\troot"])
    with refuses(ValueError, "head"):
        _native.tree_tuples(tables.lemmas(), *bad)


def test_results_do_not_depend_on_threads() -> None:
    texts = [f"a {c} dog and two {s} cats on a bed" for c in ("red", "blue") for s in ("small", "big")] * 50
    one, many = (_native.caption_tuples(tables.parser(), tables.lemmas(), *pack(texts), n) for n in (1, 4))
    assert one[0] == many[0]
    assert (one[1] == many[1]).all()
