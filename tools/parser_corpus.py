"""Analysed and plain captions, as the programs that train the parser read them.

PARSES is a CoNLL file, plain or .gz: number, word, tag, head and relation between tabs, an empty line behind a
sentence. CAPTIONS is a text, plain or .gz: one tokenised caption per line. SILVER is a folder of .npz files that
tools/teach_parser.py writes: for every token of every caption the heads, tags and relations that the teachers think
likeliest, with their chances in 255ths.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

LONGEST = 40
AFFIXES = 4096
HEADS, TAGS, RELATIONS = 3, 2, 2  # how many of each a silver token keeps

Sentence = list[tuple[str, str, int, str]]


def read_text(path: Path) -> str:
    """The text of a file, unpacked where its name ends in .gz."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def read_parses(path: Path, without: Iterable[str] = ()) -> list[Sentence]:
    """The different sentences of a CoNLL file, less those whose text is in `without`."""
    seen, sentences = set(without), []
    for block in read_text(path).replace("#", "").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line]
        sentence = [(word, tag, int(head), relation) for _, word, tag, head, relation in rows]
        text = " ".join(word for word, *_ in sentence)
        if sentence and len(sentence) <= LONGEST and text not in seen:
            seen.add(text)
            sentences.append(sentence)
    return sentences


def affixes(word: str) -> list[int]:
    """Places of a word's beginnings and endings in the table of affixes."""
    parts = [f"^{word[:k]}" for k in (2, 3, 4)] + [f"{word[-k:]}$" for k in (1, 2, 3, 4)] + [shape(word)]
    return [zlib.crc32(part.encode()) % AFFIXES for part in parts]


def shape(word: str) -> str:
    """What kinds of letters a word is made of."""
    kinds = {"d" if c.isascii() and c.isdigit() else "-" if c == "-" else "a" if "a" <= c <= "z" else "x" for c in word}
    return "shape " + "".join(sorted(kinds))


class Vocabulary:
    """Every word has a number; those seen `least` times (at most `most` words) come first and are known by heart.

    Number 0 stands for the root of a sentence, 1 for a word that is hidden.
    """

    def __init__(self, words: Iterable[str], least: int, most: int) -> None:
        count = Counter(words)
        ranked = sorted(count, key=lambda w: (-count[w], w))
        self.known = 2 + min(most, sum(c >= least for c in count.values()))
        self.words = ["", "", *ranked]
        self.number = {word: i for i, word in enumerate(self.words) if i > 1}
        self.affixes = np.array([affixes(word) for word in self.words], np.int64)

    def add(self, words: Iterable[str]) -> None:
        """Numbers for more words, none of which is known by heart."""
        for word in words:
            if word not in self.number:
                self.number[word] = len(self.words)
                self.words.append(word)
        self.affixes = np.array([affixes(word) for word in self.words], np.int64)

    def encode(self, lines: Iterable[Iterable[str]]) -> list[np.ndarray]:
        return [np.array([self.number[word] for word in line], np.int64) for line in lines]


def by_length(lengths: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Batches of sentences of one length each, about `size` tokens a batch, in random order: none needs a mask."""
    groups = defaultdict(list)
    for i in rng.permutation(len(lengths)):
        groups[int(lengths[i])].append(i)
    batches = [
        np.array(rows[s : s + max(1, size // length)])
        for length, rows in sorted(groups.items())
        for s in range(0, len(rows), max(1, size // length))
    ]
    return [batches[i] for i in rng.permutation(len(batches))]
