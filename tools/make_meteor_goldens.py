"""Write what METEOR 1.5 says of the captions that the tests carry.

    python tools/make_meteor_goldens.py

Runs the jar that comes with pycocoevalcap 1.2 (Java must be there) over the 250 images of tests/data/captions, each
candidate against its first two references, as

    java -jar meteor-1.5.jar CANDIDATES REFERENCES -l en -norm -m "exact stem synonym" -w "1.0 0.6 0.8" -writeAlignments

and writes the texts as METEOR's normaliser left them, with the score of each pair, to meteor_500.jsonl.gz.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "tests/data/captions"
OPTIONS = ["-l", "en", "-norm", "-m", "exact stem synonym", "-w", "1.0 0.6 0.8", "-writeAlignments", "-f", "pairs"]


def main() -> None:
    package = find_spec("pycocoevalcap")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("pip install pycocoevalcap==1.2")
    jar = Path(package.submodule_search_locations[0]) / "meteor" / "meteor-1.5.jar"
    with gzip.open(DATA / "coco_250.jsonl.gz", "rt", encoding="utf-8") as file:
        images = [json.loads(line) for line in file]
    pairs = [(row["candidate_tokens"], text) for row in images for text in row["references_tokens"][:2]]
    with tempfile.TemporaryDirectory() as folder:
        for name, side in (("candidates", 0), ("references", 1)):
            (Path(folder) / name).write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
        command = ["java", "-Xmx2G", "-jar", str(jar), "candidates", "references", *OPTIONS]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        blocks = (Path(folder) / "pairs-align.out").read_text(encoding="utf-8").strip().split("\n\n")
    rows = []
    for block in blocks:
        head, candidate, reference, *_ = block.split("\n")
        rows.append({"candidate": candidate, "reference": reference, "score": float(head.split("\t")[5])})
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (DATA / "meteor_500.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(rows), "pairs")


if __name__ == "__main__":
    main()
