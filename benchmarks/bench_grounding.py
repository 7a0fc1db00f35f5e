"""Replies to referring expressions: reading and IoU of 10,000 replies, and cgF1 of 1,000 phrases.

    python benchmarks/bench_grounding.py

The peers are the rules of lmms-eval (refcoco_grounding), VLMEvalKit (RefCOCO) and SAM 3 (cgF1), written for this
benchmark in plain Python and NumPy, as those tools have them: reply by reply, and a matrix and SciPy's assignment for
each phrase and annotator. CPU seconds in a fresh process, without imports.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from measure import measure, table

REPLIES, PHRASES = 10_000, 1_000

OURS = """
import steelyard as sy, json
from pathlib import Path
truth, said = (json.loads((Path(folder) / name).read_text()) for name in ("truth.json", "said.json"))
"""
READ = """sy.evaluate("grounding", truth, said, ["acc@0.5", "mean_iou", "centre"], options=dict(coordinates="1000"),
            confidence={confidence})"""
THEIRS = """
import json, re
import numpy as np
from pathlib import Path
truth, said = (json.loads((Path(folder) / name).read_text()) for name in ("truth.json", "said.json"))
boxes = [[x, y, x + w, y + h] for x, y, w, h in zip(truth["x"], truth["y"], truth["w"], truth["h"])]

def iou(a, b):
    inter = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter
    return inter / union if union > 0 else 0.0
"""
LMMS = """
hits = 0
for box, text in zip(boxes, said["reply"]):
    fence = re.search(r"```(?:json)?(.*?)```", text, re.DOTALL)
    value = json.loads(fence[1] if fence else text)
    tried = []
    for entry in value:
        numbers = [float(v) for v in entry["bbox_2d"]]
        tried += [numbers, [numbers[0] * 0.64, numbers[1] * 0.48, numbers[2] * 0.64, numbers[3] * 0.48]]
    hits += max(iou(numbers, box) for numbers in tried) >= 0.5
"""
KIT = """
number = r"[-+]?\\d*\\.?\\d+(?:[eE][-+]?\\d+)?"
hits = 0
for box, text in zip(boxes, said["reply"]):
    four = r"(?:\\s*,\\s*|\\s+)".join([f"({number})"] * 4)
    match = re.compile(rf"\\[\\s*{four}\\s*\\]").search(text)
    numbers = np.array([float(v) for v in match.groups()], dtype=float)
    largest = float(np.max(np.abs(numbers)))
    if largest <= 1000:
        numbers[0::2] = numbers[0::2] / 1000 * 640
        numbers[1::2] = numbers[1::2] / 1000 * 480
    for place, most in enumerate((640, 480, 640, 480)):
        numbers[place] = np.clip(numbers[place], 0, most)
    hits += iou(numbers, np.array(box)) >= 0.5
"""
CONCEPTS = """
import steelyard as sy
truth, said = (str(Path(folder) / name) for name in ("saco.json", "results.json"))
"""
CGF1 = 'sy.evaluate("grounding", truth, said, ["cgf1"], confidence={confidence})'
PEER_CGF1 = """
from scipy.optimize import linear_sum_assignment
truth, said = (json.loads((Path(folder) / name).read_text()) for name in ("saco.json", "results.json"))
of_truth, of_said = {}, {}
for entry in truth["annotations"]:
    of_truth.setdefault(entry["image_id"], []).append(entry["bbox"])
for entry in said:
    if entry["score"] >= 0.5:
        of_said.setdefault(entry["image_id"], []).append(entry["bbox"])
thresholds = np.linspace(0.5, 0.95, 10)
counts = np.zeros((10, 3))
for image in truth["images"]:
    first, second = (np.array(of.get(image["id"], [])).reshape(-1, 4) for of in (of_truth, of_said))
    similarity = np.array([[iou([a[0], a[1], a[0] + a[2], a[1] + a[3]], [b[0], b[1], b[0] + b[2], b[1] + b[3]])
                            for b in second] for a in first]).reshape(len(first), len(second))
    rows, columns = linear_sum_assignment(-similarity)
    for place, threshold in enumerate(thresholds):
        hits = int((similarity[rows, columns] >= threshold).sum())
        counts[place] += hits, len(second) - hits, len(first) - hits
"""


def write_replies(folder: Path) -> None:
    """Drawn expressions on images of 640 by 480, and replies as JSON from 0 to 1000."""
    rng = np.random.default_rng(1)
    corner, extent = rng.uniform(0, 0.5, (REPLIES, 2)), rng.uniform(0.1, 0.4, (REPLIES, 2))
    said = np.round((np.hstack([corner, corner + extent]) + rng.normal(0, 0.03, (REPLIES, 4))).clip(0, 1) * 1000)
    said[:, 2:] = np.maximum(said[:, 2:], said[:, :2] + 1)
    ids = {"image": [f"{i // 3}.jpg" for i in range(REPLIES)], "expression": [str(i) for i in range(REPLIES)]}
    sides = corner * [640, 480], extent * [640, 480]
    columns = dict(zip(("x", "y", "w", "h"), np.hstack(sides).T.tolist(), strict=True))
    truth = {**ids, **columns, "width": [640] * REPLIES, "height": [480] * REPLIES}
    replies = [f'```json\n[{{"bbox_2d": {json.dumps(box)}, "label": "cup"}}]\n```' for box in said.tolist()]
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "said.json").write_text(json.dumps({**ids, "reply": replies}))


def write_phrases(folder: Path) -> None:
    """Drawn phrases of pictures with none to five objects, in SA-Co's files."""
    rng = np.random.default_rng(2)
    images, annotations, results = [], [], []
    for number in range(PHRASES):
        size = {"width": 640, "height": 480}
        images.append({"id": number, "text_input": "cup", "is_instance_exhaustive": True, **size})
        for _ in range(int(rng.integers(0, 6)) if rng.random() < 0.7 else 0):
            box = np.concatenate([rng.uniform(0, 300, 2), rng.uniform(20, 150, 2)]).round(2)
            annotations.append({"id": len(annotations), "image_id": number, "bbox": box.tolist(), "iscrowd": 0})
            if rng.random() < 0.85:
                moved = (box + rng.normal(0, 4, 4)).round(2)
                results.append({"image_id": number, "bbox": moved.tolist(), "score": round(rng.uniform(0.3, 1), 3)})
    (folder / "saco.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    (folder / "results.json").write_text(json.dumps(results))


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = f"folder = {name!r}\n"
        write_replies(Path(name))
        runs = {
            "steelyard": measure(READ.format(confidence=None), folder + OURS),
            "steelyard with intervals": measure(READ.format(confidence=0.95), folder + OURS),
            "lmms-eval's rule": measure(LMMS, folder + THEIRS),
            "VLMEvalKit's rule": measure(KIT, folder + THEIRS),
        }
        table(f"Reading and IoU of {REPLIES:,} replies in memory", "steelyard", runs)
        write_phrases(Path(name))
        runs = {
            "steelyard": measure(CGF1.format(confidence=None), folder + "from pathlib import Path\n" + CONCEPTS),
            "steelyard with intervals": measure(
                CGF1.format(confidence=0.95), folder + "from pathlib import Path\n" + CONCEPTS
            ),
            "SAM 3's rule, counts alone": measure(PEER_CGF1, folder + THEIRS),
        }
        table(f"cgF1 of {PHRASES:,} phrases, from files", "steelyard", runs)


if __name__ == "__main__":
    main()
