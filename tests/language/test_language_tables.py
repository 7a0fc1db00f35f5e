"""Tables of the language room and their look-ups: stems, synsets and lemmas by hand, and tables that are damaged."""

from __future__ import annotations

import struct

import pytest
from support.refusal import refuses

from steelyard import _native
from steelyard.language import tables

# Pairs of the sample vocabulary on the page of Snowball's English stemmer, and its exceptional forms.
STEMS = {
    "consigned": "consign", "consignment": "consign", "consistency": "consist", "consistently": "consist",
    "consolation": "consol", "consolatory": "consolatori", "consolidate": "consolid", "consolingly": "consol",
    "consonant": "conson", "conspicuously": "conspicu", "conspiracy": "conspiraci", "conspirators": "conspir",
    "constables": "constabl", "constancy": "constanc", "knackeries": "knackeri", "knavish": "knavish",
    "kneaded": "knead", "knees": "knee", "knightly": "knight", "knitted": "knit", "knives": "knive", "knocker": "knocker",
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "news": "news", "atlas": "atlas",
    "inning": "inning", "herring": "herring", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
    "generate": "generat", "generously": "generous", "hopping": "hop", "hoped": "hope", "hissing": "hiss", "cries": "cri",
    "ties": "tie", "gas": "gas", "gaps": "gap", "kiwis": "kiwi", "caresses": "caress", "luxuriated": "luxuri",
    "by": "by", "say": "say", "youth": "youth", "'tis": "tis", "dog's": "dog", "dogs'": "dog",
    "relational": "relat", "conditional": "condit", "triplicate": "triplic", "electrical": "electr",
    "hopeful": "hope", "goodness": "good", "formative": "format", "adoption": "adopt", "controlling": "control",
    "vietnamization": "vietnam", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis",
    "callousness": "callous", "formalities": "formal", "sensitivities": "sensit", "sensibly": "sensibl",
    "analogies": "analog", "fearlessly": "fearless", "radically": "radic",
    # By its rules: eed only in R1, ogi only behind l, ion only behind s or t, ative only in R2, li only behind some letters.
    "agreed": "agre", "feed": "feed", "guaranteedly": "guarante", "indeed": "inde", "demagogy": "demagogi",
    "champion": "champion", "relative": "relat", "creative": "creativ", "happily": "happili", "gentleness": "gentl",
    "communal": "communal", "arsenal": "arsenal", "sing": "sing", "owed": "owe", "aing": "a", "boxed": "box",
    "snowed": "snow", "played": "play", "sized": "size", "troubled": "troubl", "created": "creat", "bed": "bed",
    "this": "this", "'s'": "s", "us": "us", "tied": "tie", "rate": "rate", "cease": "ceas", "controll": "control",
    "roll": "roll", "ebbed": "eb", "sees": "see", "passion": "passion", "mission": "mission", "toeing": "toe", "enjoy": "enjoy", "cry": "cri", "rationally": "ration",
}  # fmt: skip


@pytest.mark.parametrize("word", STEMS)
def test_stems(word: str) -> None:
    assert _native.snowball_stem(word.encode()).decode() == STEMS[word]


def wordnet(lemmas: bytes, exceptions: bytes = b"", counts: tuple[int, int] = (2, 0)) -> bytes:
    return b"SYWN0001" + struct.pack("<II", *counts) + lemmas + exceptions


# "cat" has synsets 7 and 300 (a number of two bytes), "car" shares two letters with it and has 9.
TWO = b"\x00\x03cat" + b"\x02\x07\xac\x02" + b"\x02\x01r" + b"\x01\x09"


def test_synsets_by_hand() -> None:
    """A form has its own synsets, and those of its bases: the listed ones where it is an exception, else its stem's."""
    net = _native.WordNet(wordnet(TWO, b"\x00\x03kit" + b"\x02" + b"\x03cat" + b"\x03car", (2, 1)))
    assert net.similar(b"cat").tolist() == [7, 300]
    assert net.similar(b"cats").tolist() == [7, 300]
    assert net.similar(b"cars").tolist() == [9]
    assert net.similar(b"kit").tolist() == [7, 9, 300]
    assert net.similar(b"catful").tolist() == []
    assert net.similar(b"cass").tolist() == []
    assert net.similar(b"s").tolist() == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"SYWN0002" + bytes(8), (ValueError,)),
        (b"SYWN", (ValueError, "short")),
        (wordnet(TWO[:3]), (ValueError, "short")),
        (wordnet(TWO[:7]), (ValueError, "short")),
        (wordnet(b"\x00\x03cat" + b"\xff\xff\xff\xff\xff"), (ValueError, "long")),
        (wordnet(b"\x01\x03cat\x00" + bytes(9)), (ValueError, "damaged")),
        (wordnet(b"\x00\x03cat" + b"\x80\x80\x04" + bytes(9)), (ValueError, "damaged")),
        (wordnet(TWO, counts=(1 << 30, 0)), (ValueError, "damaged")),
        (wordnet(TWO, counts=(2, 1 << 30)), (ValueError, "damaged")),
    ],
    ids=lambda value: value if isinstance(value, str) else "table",
)
def test_damaged_synsets(table: bytes, message: tuple[str, ...]) -> None:
    with refuses(*message):
        _native.WordNet(table)


def test_lemmas_by_hand() -> None:
    """The longest ending decides; "^" begins an ending that is the whole word."""
    lemmas = _native.Lemmas(b"n\ts\t1\t\nn\ties\t3\ty\nn\t^men\t2\tan\nv\ting\t3\t\nn\t\t0\t")
    of = {(word, tag): lemmas.lemma(word.encode(), tag.encode()).decode() for word, tag in (
        ("dogs", "NNS"), ("cities", "NNPS"), ("men", "NNS"), ("omen", "NNS"), ("going", "VBG"), ("dogs", "VBZ"),
        ("'s", "VBZ"), ("'re", "VBP"), ("dog", "NN"), ("going", ""),
    )}  # fmt: skip
    assert list(of.values()) == ["dog", "city", "man", "omen", "go", "dogs", "be", "be", "dog", "going"]
    closed = {
        ("him", "PRP"): "he", ("it", "PRP"): "it", ("their", "PRP$"): "they", ("an", "DT"): "a", ("the", "DT"): "the",
        ("wo", "MD"): "will", ("n't", "RB"): "not", ("fast", "RB"): "fast",
    }  # fmt: skip
    assert {pair: lemmas.lemma(pair[0].encode(), pair[1].encode()).decode() for pair in closed} == closed


@pytest.mark.parametrize("line", [b"x\ts\t1\t", b"n\ts\tone\t", b"n\ts\t999\t", b"n\t\t1\t", b"n\t\t0\ts"])
def test_damaged_lemmas(line: bytes) -> None:
    with refuses(ValueError, "damaged"):
        _native.Lemmas(line)


def test_a_parser_model_that_is_damaged() -> None:
    good = tables.data("parser.bin")
    names = struct.pack("<I", 2) + 2 * (struct.pack("<I", 1) + b"x")
    for table, message in (
        (b"SYPN0000", (ValueError,)),
        (b"SYPN0001", (ValueError, "short")),
        (b"SYPN0001" + struct.pack("<I", 256), (ValueError, "damaged")),
        (b"SYPN0001" + struct.pack("<I", 1), (ValueError, "damaged")),
        (b"SYPN0001" + struct.pack("<II", 2, 65), (ValueError, "damaged")),
        (b"SYPN0001" + 2 * names + struct.pack("<II", 2, 3) + b"a\n\n", (ValueError, "damaged")),
        (good + b"\0", (ValueError, "damaged")),
    ):
        with refuses(*message):
            _native.ParserModel(table)
