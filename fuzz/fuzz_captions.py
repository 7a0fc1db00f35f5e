"""Fuzz the tokeniser, the parser and what reads captions.

Texts are made by changing good ones: bytes, words, marks, lengths. Whatever comes must give tokens, trees and tuples
of the right form; damaged models and tables must be refused.
"""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native
from steelyard.language import tables

WORDS = [
    "a", "an", "the", "man", "woman", "dogs", "cat", "riding", "sitting", "on", "in", "of", "next", "to", "front",
    "top", "with", "and", "or", "black", "white", "two", "couple", "lot", "his", "it", "is", "are", "red", "living",
    "room", "don't", "'s", "i'm", "3.5", "10:30", "u.s.", "e.g.", "etc.", "cannot", "gonna", "$5", "50%", "#1",
    "http://a.b/c", "a@b.c", ":-)", "-lrb-", "mid-air", "unbelievableness", "zzzzqx",
]  # fmt: skip
PIECES = [
    b"\x00", b"\xff", b"\xc3", b"\xe2\x80\x99", b"\xf0\x9f\x90\xb6", b"\t", b"\r\n", b"\n", b"...", b"''", b"``",
    b"--", b"(", b"]", b"&amp;", b"<br>", b"'", b'"', b" " * 40, b"-" * 200, b"x" * 5000, b"\xc2\xa0", b"\xed\xa0\x80",
]  # fmt: skip


def text(rng: random.Random) -> bytes:
    words = rng.choices(WORDS, k=rng.choice([0, 1, 2, 8, 12, 30, 119, 120, 121, 400]))
    data = bytearray(" ".join(words).encode())
    for _ in range(rng.choice([0, 0, 1, 3, 10])):
        at = rng.randrange(len(data) + 1)
        what = rng.random()
        if what < 0.5:
            data[at:at] = rng.choice(PIECES)
        elif what < 0.75:
            data[at:at] = bytes([rng.randrange(256)])
        else:
            del data[at : at + rng.randrange(1, 20)]
    return bytes(data)


def block(texts: list[bytes]) -> tuple[bytes, np.ndarray]:
    return b"".join(texts), np.cumsum([len(t) for t in texts], dtype=np.int64)


def parts(data: bytes, ends: np.ndarray) -> list[bytes]:
    return [data[s:e] for s, e in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


@target("captions.texts")
def texts(rng: random.Random) -> None:
    """Any bytes through everything that reads captions."""
    drawn = [text(rng) for _ in range(rng.randrange(1, 20))]
    for marks in (False, True):
        tokens = parts(*_native.ptb_tokens(*block(drawn), marks, 1))
    given = rng.choice([drawn, tokens])  # the parser takes tokens, and must stand anything
    model, lemmas = tables.parser(), tables.lemmas()
    trees = parts(*_native.caption_trees(model, *block(given), 1))
    for source, parsed in zip(given, trees, strict=True):
        words = [word for word in source.split(b" ") if word]
        if b"\n" in source or b"\t" in source:
            continue
        rows = [line.split(b"\t") for line in parsed.split(b"\n") if line]
        if [row[0] for row in rows] != words or any(not 0 <= int(row[2]) <= len(rows) for row in rows):
            raise AssertionError(f"the tree of {source!r} has other words or heads: {parsed!r}")
    for described in (False, True):
        tuples = _native.caption_tuples(model, lemmas, *block(given), 1, described)
        if _native.caption_tuples(model, lemmas, *block(given), 3, described)[0] != tuples[0]:
            raise AssertionError("the number of threads changed the tuples")
        _native.scene_scores(tables.wordnet(), *tuples, *tuples)
    starts = np.arange(len(given) + 1, dtype=np.int64)
    _native.ngram_overlap(*block(given), *block(drawn), starts)
    _native.meteor_counts(tables.wordnet(), *block(given), *block(drawn), starts)


@target("captions.model")
def model(rng: random.Random) -> None:
    """Damaged models and tables: refused, or taken and then able to read a caption."""
    makers = {"parser.bin": _native.ParserModel, "wordnet.bin": _native.WordNet, "lemmas.txt": _native.Lemmas}
    name, make = rng.choice(list(makers.items()))
    data = bytearray(tables.data(name))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(min(len(data), rng.choice([64, 4000, len(data)])))
        if rng.random() < 0.2:
            del data[at:]
            break
        data[at] = rng.randrange(256)
    try:
        made = make(bytes(data))
    except ValueError:
        return
    given = block([text(rng) for _ in range(3)])
    if name == "parser.bin":
        _native.caption_tuples(made, tables.lemmas(), *given, 1)
    elif name == "lemmas.txt":
        _native.caption_tuples(tables.parser(), made, *given, 1)
    else:
        made.similar(rng.choice(WORDS).encode())


RELATIONS = ["root", "nsubj", "nsubjpass", "dobj", "amod", "nmod", "case", "conj", "cc", "compound", "acl", "acl:relcl",
             "cop", "det", "mwe", "advmod", "nummod", "compound:prt", "nmod:poss", "x"]  # fmt: skip


def tree(rng: random.Random) -> bytes:
    """Any heads: cycles, words that hang on themselves, several roots."""
    n = rng.randrange(12)
    lines = [
        "\t".join([rng.choice(WORDS), rng.choice(["NN", "NNS", "VBG", "VBD", "JJ", "IN", "DT", "PRP", ""]),
                   str(rng.randrange(n + 1 + (rng.random() < 0.02))), rng.choice(RELATIONS)])
        for _ in range(n)
    ]  # fmt: skip
    return "\n".join(lines).encode()


@target("captions.entries")
def entries(rng: random.Random) -> None:
    """Every entry alone: trees that are none, tuples that are none, ends and starts that do not fit."""
    draw, n = Draw(rng), rng.randrange(6)
    one, two = block([text(rng) for _ in range(n)]), block([text(rng) for _ in range(n)])
    references, threads = rng.randrange(4) if n else 0, 2
    other = block([text(rng) for _ in range(references)])
    starts = draw.offsets(n, references)
    draw.call(_native.ngram_overlap, *one, *other, starts, threads)
    draw.call(_native.meteor_counts, tables.wordnet(), *one, *other, starts, threads)
    tuples = [block([tree(rng).replace(b"\tNN", b"") for _ in range(n)]) for _ in range(2)]
    draw.call(
        _native.scene_scores, tables.wordnet(), *tuples[0], *rng.choice([tuples[1], two]), rng.random() < 0.5, threads
    )
    draw.call(_native.tree_tuples, tables.lemmas(), *block([tree(rng) for _ in range(n)]), rng.random() < 0.5)
    draw.call(_native.ptb_tokens, *one, rng.random() < 0.5, threads)
    draw.call(_native.caption_trees, tables.parser(), *one, threads)
    draw.call(_native.caption_tuples, tables.parser(), tables.lemmas(), *one, threads)
    parts = [
        "```",
        "json",
        "[",
        "]",
        "{",
        "}",
        ",",
        " ",
        '"bbox_2d"',
        ":",
        '"label"',
        '"é"',
        "1",
        "-0.5",
        "01",
        "7.",
        "\ud800",
    ]
    replies = [
        '[{"bbox_2d": [1, 2, 3, 4]}]',
        "".join(rng.choice(parts) for _ in range(rng.randrange(12))),
        "1" * 99 + "]",
    ]
    draw.call(_native.usual_boxes, rng.choice([replies, [7]]))
    word = rng.choice([rng.choice(WORDS).encode(), draw.bytes(), text(rng)])
    draw.call(_native.snowball_stem, word)
    draw.call(tables.wordnet().similar, word)
    draw.call(tables.lemmas().lemma, word, rng.choice([b"NNS", b"VBG", b"PRP", b"", b"\xff"]))


@target("answers.edits")
def fuzz_edits(rng: random.Random) -> None:
    """Rows of symbols: the edits of the alignment are as many as the distance, and make one row the other's length."""
    draw = Draw(rng)
    rows = draw.size(5)
    sides: list[np.ndarray] = []
    for _ in range(2):
        symbols = draw.whole(rng.choice([2, 5, 1 << 20]), rng.choice([draw.size(9), draw.size(400)]), kind=np.uint32)
        sides += [symbols, draw.offsets(rows, len(symbols))[1:]] if rows else [symbols[:0], np.zeros(0, np.int64)]
    counts, distances = _native.edit_counts(*sides, 1), _native.edit_distances(*sides, 2)
    lengths = [np.diff(ends, prepend=0) for ends in sides[1::2]]
    assert (counts[:, 1:].sum(axis=1) == distances).all()
    assert (counts[:, :3].sum(axis=1) == lengths[0]).all()
    assert (counts[:, [0, 1, 3]].sum(axis=1) == lengths[1]).all()
    assert len(_native.edit_steps(*sides)) == 4 * distances.sum()
    for entry in (_native.edit_counts, _native.edit_distances, _native.edit_steps):
        draw.call(entry, *sides)
