"""Write the captions that the tests carry, with what the reference implementations say of them.

    python tools/make_caption_fixture.py FOLDER

FOLDER holds coco_1000.jsonl.gz (candidates, references, tokens and scores of the original SPICE 1.0 with CoreNLP
3.6.0), tuples_coco_1000.jsonl.gz, parses_24000.conll.gz and tuples_24000.jsonl.gz (the original's tuples and
dependency trees). Takes 250 images and 1,000 trees of them. BLEU, ROUGE-L and CIDEr of the 250 images are computed
again by pycocoevalcap 1.2, since CIDEr depends on all references. Writes tests/data/captions/.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

TARGET = Path(__file__).resolve().parent.parent / "tests/data/captions"
IMAGES, TREES = 250, 1000


def lines(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path: Path, rows: list[Any]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(path.name, len(rows), path.stat().st_size)


def main() -> None:
    folder = Path(sys.argv[1])
    TARGET.mkdir(parents=True, exist_ok=True)
    tuples = {row["caption"]: row["tuples"] for row in lines(folder / "tuples_coco_1000.jsonl.gz")}
    images = lines(folder / "coco_1000.jsonl.gz")[:: 1000 // IMAGES]
    references = {row["image"]: row["references_tokens"] for row in images}
    candidates = {row["image"]: [row["candidate_tokens"]] for row in images}
    with contextlib.redirect_stdout(io.StringIO()):
        bleu = Bleu(4).compute_score(references, candidates)
        rouge, cider = (scorer.compute_score(references, candidates) for scorer in (Rouge(), Cider()))
    rows: list[Any] = []
    for i, row in enumerate(images):
        spice = {name: [s["tp"], s["tp"] + s["fp"], s["tp"] + s["fn"], s["f"]] for name, s in row["spice"].items()}
        rows.append(
            {key: row[key] for key in ("image", "candidate", "references", "candidate_tokens", "references_tokens")}
            | {
                "candidate_tuples": tuples[row["candidate_tokens"]],
                "references_tuples": [tuples[text] for text in row["references_tokens"]],
                "spice": spice,
                "bleu": [float(bleu[1][n][i]) for n in range(4)],
                "rouge_l": float(rouge[1][i]),
                "cider": float(cider[1][i]),
            }
        )
    write(TARGET / "coco_250.jsonl.gz", rows)
    corpus = {"bleu": list(map(float, bleu[0])), "rouge_l": float(rouge[0]), "cider": float(cider[0])}
    (TARGET / "corpus_250.json").write_text(json.dumps(corpus, indent=1) + "\n")

    sentences: list[list[list[str]]] = [[]]
    with gzip.open(folder / "parses_24000.conll.gz", "rt", encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5:
                sentences[-1].append(fields[1:])
            elif sentences[-1]:
                sentences.append([])
    known = lines(folder / "tuples_24000.jsonl.gz")
    step = len(known) // TREES
    write(
        TARGET / "trees_1000.jsonl.gz",
        [{"tree": sentences[i], "tuples": known[i]["tuples"]} for i in range(0, step * TREES, step)],
    )
    (TARGET / "README.md").write_text(
        "# Captions for the tests\n\n"
        "Captions and images' ids are from COCO (Common Objects in Context, cocodataset.org), Lin et al. 2014 and "
        "Chen et al. 2015, licensed CC BY 4.0. Tokens, trees, tuples and SPICE scores are the output of SPICE 1.0 "
        "with CoreNLP 3.6.0; BLEU, ROUGE-L and CIDEr that of pycocoevalcap 1.2. Changes: a subset was taken, and the "
        "results of those programs were added.\n\n"
        "Written by `python tools/make_caption_fixture.py FOLDER`, which says what is what; meteor_500.jsonl.gz, by "
        "`python tools/make_meteor_goldens.py`.\n"
    )


if __name__ == "__main__":
    main()
