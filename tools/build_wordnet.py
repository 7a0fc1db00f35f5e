"""Build the compact WordNet table that SPICE and METEOR match synonyms with.

    python tools/build_wordnet.py [FOLDER]

FOLDER holds WordNet 3.0's `index.*` and `*.exc` files; on Debian `apt-get install wordnet-base` puts them into
/usr/share/wordnet. Writes src/steelyard/language/data/wordnet.bin and WORDNET-LICENSE beside it.

Only identity of synsets matters, so that the table keeps, for every lemma, the numbers of its synsets over all parts
of speech. The original SPICE takes the byte offset of a synset in its data file for its identity, whatever the part of
speech: a noun's and a verb's synset of the same offset are one to it. Debian corrected two misspelt words in the data
files, which moved the offsets behind them; SHIFTS moves them back, so that the same synsets coincide.

Layout, little endian: magic "SYWN0001"; u32 lemmas, u32 exceptions; the lemmas in byte order, each as u8 (bytes shared
with the one before), u8 (further bytes), those bytes, then varint (number of synsets) and a varint for each synset; the
exceptions, each as the same front-coded word, u8 (number of bases) and, for each base, u8 length and its bytes.
Synsets are numbered from 0 in the order of their first appearance, so that most numbers are short.
"""

from __future__ import annotations

import struct
import sys
from collections import defaultdict
from pathlib import Path

PARTS = ("noun", "verb", "adj", "adv")
# (part of speech, first offset, first offset not moved, bytes to add)
SHIFTS = (("verb", 613036, 2422967, -18), ("adj", 1681478, 1 << 32, -1))
TARGET = Path(__file__).resolve().parent.parent / "src/steelyard/language/data"

LICENSE = """\
The file wordnet.bin is derived from WordNet 3.0 by tools/build_wordnet.py. WordNet's licence:

WordNet Release 3.0

This software and database is being provided to you, the LICENSEE, by Princeton University under the following
license. By obtaining, using and/or copying this software and database, you agree that you have read, understood, and
will comply with these terms and conditions.:

Permission to use, copy, modify and distribute this software and database and its documentation for any purpose and
without fee or royalty is hereby granted, provided that you agree to comply with the following copyright notice and
statements, including the disclaimer, and that the same appear on ALL copies of the software, database and
documentation, including modifications that you make for internal use or for distribution.

WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved.

THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS
OR IMPLIED. BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES OF
MERCHANT- ABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE OF THE LICENSED SOFTWARE, DATABASE OR
DOCUMENTATION WILL NOT INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR OTHER RIGHTS.

The name of Princeton University or Princeton may not be used in advertising or publicity pertaining to distribution of
the software and/or database. Title to copyright in this software, database and any associated documentation shall at
all times remain with Princeton University and LICENSEE agrees to preserve same.
"""


def read_synsets(folder: Path) -> dict[str, set[int]]:
    """Synset offsets of every lemma, all parts of speech together."""
    synsets: dict[str, set[int]] = defaultdict(set)
    for part in PARTS:
        for line in (folder / f"index.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):  # the licence
                continue
            fields = line.split()
            for offset in map(int, fields[-int(fields[2]) :]):
                moved = sum(by for p, low, high, by in SHIFTS if p == part and low <= offset < high)
                synsets[fields[0]].add(offset + moved)
    return synsets


def read_exceptions(folder: Path) -> dict[str, list[str]]:
    """Bases of irregular forms."""
    bases: dict[str, list[str]] = defaultdict(list)
    for part in PARTS:
        for line in (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines():
            form, *rest = line.split()
            bases[form] += [base for base in rest if base not in bases[form]]
    return bases


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def front_coded(word: bytes, before: bytes) -> bytes:
    shared = 0
    while shared < min(len(word), len(before), 255) and word[shared] == before[shared]:
        shared += 1
    return bytes((shared, len(word) - shared)) + word[shared:]


def build(folder: Path) -> bytes:
    synsets, exceptions = read_synsets(folder), read_exceptions(folder)
    number: dict[int, int] = {}
    out = bytearray(b"SYWN0001" + struct.pack("<II", len(synsets), len(exceptions)))
    before = b""
    for lemma in sorted(synsets, key=str.encode):
        word = lemma.encode()
        out += front_coded(word, before) + varint(len(synsets[lemma]))
        for offset in sorted(synsets[lemma]):
            out += varint(number.setdefault(offset, len(number)))
        before = word
    before = b""
    for form in sorted(exceptions, key=str.encode):
        word = form.encode()
        out += front_coded(word, before) + bytes((len(exceptions[form]),))
        for base in exceptions[form]:
            out += bytes((len(base.encode()),)) + base.encode()
        before = word
    return bytes(out)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
    TARGET.mkdir(parents=True, exist_ok=True)
    table = build(folder)
    (TARGET / "wordnet.bin").write_bytes(table)
    (TARGET / "WORDNET-LICENSE").write_text(LICENSE, encoding="utf-8")
    print(f"{len(table):,} bytes")


if __name__ == "__main__":
    main()
