"""Fuzz the tokeniser, the parser and what reads captions. Run by `make fuzz` on a build with sanitizers.

Texts are made by changing good ones: bytes, words, marks, lengths. Whatever comes must give tokens, trees and tuples
of the right form; damaged models and tables must be refused. A sanitizer's report, a crash or any other exception
ends the run.

    python fuzz/fuzz_captions.py [--target texts|model] [--seconds 60] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np

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


def texts(rng: random.Random) -> None:
    """Any bytes through everything that reads captions."""
    drawn = [text(rng) for _ in range(rng.randrange(1, 20))]
    for marks in (False, True):
        tokens = parts(*_native.ptb_tokens(*block(drawn), marks, 1))
    given = rng.choice([drawn, tokens])  # the parser takes tokens, and must stand anything
    model, lemmas = tables.parser(), tables.lemmas()
    trees = parts(*_native.caption_trees(model, *block(given), 1))
    for source, tree in zip(given, trees, strict=True):
        words = [word for word in source.split(b" ") if word]
        if b"\n" in source or b"\t" in source:
            continue
        rows = [line.split(b"\t") for line in tree.split(b"\n") if line]
        if [row[0] for row in rows] != words or any(not 0 <= int(row[2]) <= len(rows) for row in rows):
            raise AssertionError(f"the tree of {source!r} has other words or heads: {tree!r}")
    tuples = _native.caption_tuples(model, lemmas, *block(given), 1)
    if _native.caption_tuples(model, lemmas, *block(given), 3)[0] != tuples[0]:
        raise AssertionError("the number of threads changed the tuples")
    _native.scene_scores(tables.wordnet(), *tuples, *tuples)
    starts = np.arange(len(given) + 1, dtype=np.int64)
    _native.ngram_overlap(*block(given), *block(drawn), starts)
    _native.meteor_counts(tables.wordnet(), *block(given), *block(drawn), starts)


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


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--target", choices=["texts", "model"], default="texts")
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    args = arguments.parse_args()
    rng, end, rounds = random.Random(args.seed), time.monotonic() + args.seconds, 0
    while time.monotonic() < end:
        {"texts": texts, "model": model}[args.target](rng)
        rounds += 1
    print(f"captions, {args.target}: {rounds} rounds, seed {args.seed}")


if __name__ == "__main__":
    main()
