"""The described reading of captions: graphs written by hand, settings, and what the command prints.

`data/captions/described.jsonl` was written from the English of the captions, before the rules were; whole graphs are compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.cli.main import cli
from steelyard.language import scene, tables, tokens
from steelyard.language.tokens import pack

DATA = TESTS / "data" / "captions"
BY_HAND = [json.loads(line) for line in (DATA / "described.jsonl").read_text(encoding="utf-8").splitlines()]
SEED = "A red car is parked beside a white house"
FIVE = [["car"], ["house"], ["car", "red"], ["house", "white"], ["car", "beside", "house"]]


def described(caption: str) -> set[tuple[str, ...]]:
    return set(scene.tuples_of(scene.tuple_lines(tokens.ptb([caption]), "described")[0]))


def test_there_are_sixty() -> None:
    assert len({row["caption"] for row in BY_HAND}) >= 60


@pytest.mark.parametrize("row", BY_HAND, ids=lambda row: row["caption"])
def test_graph_by_hand(row: Any) -> None:
    assert described(row["caption"]) == {tuple(entry) for entry in row["graph"]}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["parse", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_gives_the_five_tuples() -> None:
    result = json.loads(run("--graph", "described", "--json", SEED))
    assert result["tuples"] == FIVE


def test_the_default_is_the_original_reading() -> None:
    """The subject of a passive has no relation there."""
    assert run(SEED) == run("--graph", "original", SEED)
    assert "beside" not in run(SEED)


def test_json_is_a_line_a_caption() -> None:
    result = [json.loads(line) for line in run("--json", "--tree", SEED, "A cat").splitlines()]
    assert [row["caption"] for row in result] == [SEED, "A cat"]
    assert result[1]["tuples"] == [["cat"]]
    assert [row[0] for row in result[1]["tree"]] == ["a", "cat"]


def test_spice_scores_with_described_graphs() -> None:
    """By hand: the candidate has woman, umbrella, hold; of the reference's five it lacks the attribute and its relation."""
    truth = {"image": [1], "caption": ["A woman is holding an umbrella beside a car"]}
    candidates = {"image": [1], "caption": ["A woman holding an umbrella"]}
    assert described(truth["caption"][0]) == {
        ("woman",), ("umbrella",), ("car",), ("woman", "hold", "umbrella"), ("woman", "hold beside", "car"),
    }  # fmt: skip
    specs = [
        "spice(graph=described)", "spice(value=recall, graph=described)", "spice_object(graph=described)",
        "spice_relation(graph=described)", "spice_weighted(graph=described)",
    ]  # fmt: skip
    report = sy.evaluate("captions", truth, candidates, [*specs, "spice_relation"], confidence=None)
    f1 = {"all": 2 * 3 / (3 + 5), "object": 2 * 2 / (2 + 3), "relation": 2 * 1 / (1 + 2)}
    values = [report[spec].value for spec in specs]
    assert values == pytest.approx(
        [f1["all"], 3 / 5, f1["object"], f1["relation"], (f1["object"] + f1["relation"]) / 2]
    )
    assert report["spice_relation"].value == 0  # of the original's reading: "holding" is an object


@pytest.mark.parametrize(
    "name", ["spice", "spice_object", "spice_color", "spice_count", "spice_size", "spice_weighted"]
)
def test_the_setting_is_part_of_the_spec(name: str) -> None:
    truth = {"image": [1], "caption": ["Two red cars beside one large house"]}
    spec = f"{name}(graph=described)"
    report = sy.evaluate("captions", truth, {**truth}, spec, confidence=None)
    assert report[spec].value == 1
    with refuses("E-invalid-spec", "graph"):
        sy.evaluate("captions", truth, {**truth}, f"{name}(graph=other)", confidence=None)


def test_trees_of_strangers_do_no_harm() -> None:
    """Rings, several roots, words that are their own head, tags and relations at random."""
    rng = np.random.default_rng(8)
    words = [
        "man",
        "holding",
        "bears",
        "of",
        "couple",
        "next",
        "to",
        "in",
        "front",
        "full",
        "bowl",
        "watching",
        "parked",
        "by",
    ]
    tags = ["NN", "NNS", "VBG", "VBN", "VBZ", "VBP", "VB", "JJ", "IN", "TO", "DT", "PRP", "WDT"]
    relations = [
        "root", "nsubj", "nsubjpass", "dobj", "nmod", "case", "acl", "acl:relcl", "xcomp", "ccomp", "dep", "conj", "cc",
        "cop", "compound", "amod", "det", "mwe", "mark", "advmod", "advcl",
    ]  # fmt: skip
    for _ in range(2000):
        count = int(rng.integers(1, 13))
        tree = [
            scene.Token(
                *map(str, rng.choice(words, 1)),
                str(rng.choice(tags)),
                int(rng.integers(0, count + 1)),
                str(rng.choice(relations)),
            )
            for _ in range(count)
        ]
        for entry in scene.tuples_of_tree(tree, "described"):
            assert 1 <= len(entry) <= 3
            assert all(entry)


def test_threads_change_nothing() -> None:
    texts = [row["caption"].lower() for row in BY_HAND] * 3
    one, many = (_native.caption_tuples(tables.parser(), tables.lemmas(), *pack(texts), n, True) for n in (1, 4))
    assert one[0] == many[0]


def test_parse_says_that_the_original_reads_no_relation(steelyard: Callable[..., Any]) -> None:
    """The first thing that a reader tries is the documents' sentence, whose relation the original's rules do not read."""
    said = "By the rules of the original SPICE this caption has no relation; --graph described finds one.\n"
    sentence = "A red car is parked beside a white house"
    original = steelyard("parse", sentence)
    assert (original.returncode, original.stdout, original.stderr) == (0, "car (red)\nhouse (white)\n", said)
    described = steelyard("parse", "--graph", "described", sentence)
    assert described.stdout.endswith("car -- beside -> house\n")
    for quiet in (described, steelyard("parse", "a dog"), steelyard("parse", "--json", sentence)):
        assert quiet.stderr == ""
    several = steelyard("parse", sentence, "a dog", "A cat is seated beside a dog")
    assert "2 of 3 captions have no relation" in several.stderr
