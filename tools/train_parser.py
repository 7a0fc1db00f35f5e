"""Train the parser that SPICE reads captions with, and write its model into the package.

    python tools/train_parser.py PARSES [--captions FILE] [--silver 130000] [--held-out 2000] [--out FILE]

PARSES is a CoNLL file of captions as the original's parser analyses them (number, word, tag, head, relation). With
CAPTIONS (tokenised captions, one a line, that nobody has analysed) a slower parser with a beam of 8 is trained on
PARSES first and analyses as many of them as --silver says; the shipped parser, which takes every decision at once,
learns from those too, and so comes near the slower one. --held-out keeps that many parses for measuring and trains on
the rest. No caption of the test set may stand in either file. Needs a C++20 compiler (CXX, or c++) and some minutes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "src/steelyard/language/data/parser.bin"
SIZES = ["first=70000", "second=50000", "relation=60000", "arc=520000"]


def read_parses(path: Path) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    sentences, now = [], []
    with opener(path, "rt", encoding="utf-8") as file:
        for line in [*file, "\n"]:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5:
                now.append("\t".join(fields[1:]))
            elif now:
                sentences.append("\n".join(now) + "\n\n")
                now = []
    return sentences


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parses", type=Path)
    arguments.add_argument("--captions", type=Path)
    arguments.add_argument("--silver", type=int, default=130_000)
    arguments.add_argument("--held-out", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=MODEL)
    args = arguments.parse_args()
    sentences = read_parses(args.parses)
    train, held_out = sentences[: len(sentences) - args.held_out], sentences[len(sentences) - args.held_out :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "train_parser"
        compiler = os.environ.get("CXX", "c++")
        subprocess.run(
            [compiler, "-std=c++20", "-O3", "-o", program, HERE / "train_parser.cpp"], check=True
        )  # the flags of the package are not needed: weights are rounded in the end
        (folder / "train").write_text("".join(train), encoding="utf-8")
        (folder / "held_out").write_text("".join(held_out), encoding="utf-8")
        measured = str(folder / "held_out") if held_out else "-"
        silver: list[str] = []
        if args.captions:
            known = {" ".join(line.split("\t")[0] for line in s.split("\n") if line) for s in sentences}
            lines = args.captions.read_text(encoding="utf-8").split("\n")
            texts = [t for t in dict.fromkeys(lines) if t not in known and 3 <= len(t.split()) <= 30]
            random.Random(1).shuffle(texts)
            (folder / "captions").write_text("\n".join(texts[: args.silver]) + "\n", encoding="utf-8")
            teacher = ["beam=8", "epochs=5", "seed=3", f"analyse={folder / 'captions'}"]
            subprocess.run([program, "train", folder / "train", measured, folder / "silver", *teacher], check=True)
            silver = [f"silver={folder / 'silver'}"]
        options = ["epochs=3", "passes=2", "scout=1", "margin=8", *SIZES, *silver]
        subprocess.run([program, "train", folder / "train", measured, args.out, *options], check=True)
    print(f"{args.out}: {args.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
