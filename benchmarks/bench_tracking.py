"""Tracking: 7 sequences of 750 frames from files to all numbers, beside TrackEval and motrics; and growth.

The files are drawn: people who come, walk and go, some not scored; a tracker that misses, jitters and renames. A peer
that is not installed is left out.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from measure import QUICK, measure, record, sized, table

FRAMES = sized(750, 40)
PICTURES = sized(40, 4)
GROWTH = ((5, 500), (10, 500), (20, 500), (5, 3000), (20, 3000), (100, 3000))
if QUICK:
    GROWTH = ((2, 30), (4, 30), (2, 60))
SEQUENCES = {"SYN-02": 25, "SYN-04": 64, "SYN-05": 9, "SYN-09": 10, "SYN-10": 20, "SYN-11": 11, "SYN-13": 17}


def write(folder: Path, sequences: dict[str, int], frames: int) -> None:
    """Truth and one tracker's results of each sequence, with so many people in a frame."""
    for number, (name, mean) in enumerate(sequences.items()):
        rng = np.random.default_rng(number)
        live: list[list[float]] = []  # id, x, y, w, h, vx, vy, class, end, name
        truth, predicted, last = [], [], 0
        for frame in range(1, frames + 1):
            live = [one for one in live if frame < one[8]]
            while len(live) < 1.35 * mean:
                last += 1
                high = 60 + 260 * rng.random() ** 2
                kind = 1 if rng.random() < 0.76 else int(rng.choice([2, 7, 8, 12, 3, 9]))
                speed = (0.0, 0.0) if kind in (7, 8, 9, 12) else (6 * (rng.random() - 0.5), 1.5 * (rng.random() - 0.5))
                end = frame + 40 + int(700 * rng.random() ** 2)
                live.append(
                    [last, 1800 * rng.random(), 200 + 600 * rng.random(), 0.4 * high, high, *speed, kind, end, last]
                )
            for one in live:
                one[1], one[2] = one[1] + one[5], one[2] + one[6]
                i, x, y, w, h = one[:5]
                flags = f"{int(one[7] not in (3, 9))},{int(one[7])},{rng.random():.3f}"
                truth.append(f"{frame},{int(i)},{x:.2f},{y:.2f},{w:.2f},{h:.2f},{flags}\n")
                if rng.random() < 0.004:
                    last += 1
                    one[9] = last
                if rng.random() < 0.78 and one[7] in (1, 2, 7):
                    dx, dy = rng.normal(0, 0.06 * w, 2)
                    predicted.append(
                        f"{frame},{int(one[9])},{x + dx:.2f},{y + dy:.2f},{w:.2f},{h:.2f},{rng.random():.3f},-1,-1,-1\n"
                    )
        place = folder / "gt" / name
        (place / "gt").mkdir(parents=True)
        (place / "gt" / "gt.txt").write_text("".join(truth))
        (place / "seqinfo.ini").write_text(f"[Sequence]\nname={name}\nseqLength={frames}\nframeRate=30\n")
        (folder / "predicted").mkdir(exist_ok=True)
        (folder / "predicted" / f"{name}.txt").write_text("".join(predicted))


def write_pictures(folder: Path, frames: int) -> None:
    """Three sequences as DAVIS stores them: four objects that move and change, in pictures of 480 × 854 pixels."""
    from PIL import Image

    y, x = np.mgrid[:480, :854]
    palette = np.random.default_rng(0).integers(0, 256, 768).tolist()
    for number in range(3):
        rng = np.random.default_rng(number)
        places, sizes = rng.uniform((80, 60), (774, 420), (4, 2)), rng.uniform((40, 30), (110, 90), (4, 2))
        speeds = rng.normal(0, (4, 3), (4, 2))
        for frame in range(frames):
            sides = np.zeros((2, 480, 854), dtype=np.uint8)
            for i in range(4):
                for side, pixels in enumerate(sides):
                    middle = places[i] + frame * speeds[i] + side * rng.normal(0, 4, 2)
                    dx, dy = x - middle[0], y - middle[1]
                    edge = 1 + 0.15 * np.sin(5 * np.arctan2(dy, dx) + frame / 5)
                    pixels[(dx / sizes[i, 0]) ** 2 + (dy / sizes[i, 1]) ** 2 < edge] = i + 1
            if frame % 5 == 0:
                sides[0, :20, :50] = 255
            for name, pixels in zip(("gt", "trackers/t/data"), sides, strict=True):
                place = folder / name / f"S{number}"
                place.mkdir(parents=True, exist_ok=True)
                picture = Image.fromarray(pixels)
                picture.putpalette(palette)
                picture.save(place / f"{frame:05d}.png")


OURS = """
import steelyard as sy
sy.use_threads(1)
box = {{"sequence": ["a", "b"], "frame": [1, 1], "track": [1, 1], "x": [0, 0], "y": [0, 0], "w": [9, 9], "h": [9, 9]}}
sy.evaluate("tracking", box, box, draws=100)  # what is imported late is not counted
folder = {folder!r}
"""
RUN = "sy.evaluate('tracking', folder + '/gt', folder + '/predicted', options={'benchmark': 'mot17'}, confidence=None)"
MOTRICS = """
import motrics
from motrics.frames import Frames
from pathlib import Path
for place in sorted(Path(folder, "gt").iterdir()):
    gt = motrics.load_motchallenge_gt(place / "gt" / "gt.txt")
    predicted = motrics.load_motchallenge(Path(folder, "predicted", place.name + ".txt"))
    a, b, c, d = motrics.preprocess_motchallenge(gt, predicted)
    motrics.evaluate(Frames(a, b), Frames(c, d))
"""
TRACKEVAL = """
import contextlib, io, os, shutil
import trackeval
quiet = {'USE_PARALLEL': False, 'PRINT_CONFIG': False, 'PRINT_RESULTS': False, 'OUTPUT_SUMMARY': False,
         'OUTPUT_DETAILED': False, 'PLOT_CURVES': False, 'TIME_PROGRESS': False, 'LOG_ON_ERROR': None}
trackers = folder + '/trackers/t/data'
if not os.path.isdir(trackers):
    shutil.copytree(folder + '/predicted', trackers)
config = {'GT_FOLDER': folder + '/gt', 'TRACKERS_FOLDER': folder + '/trackers', 'SKIP_SPLIT_FOL': True,
          'SEQ_INFO': {name: None for name in sorted(os.listdir(folder + '/gt'))}, 'PRINT_CONFIG': False}
with contextlib.redirect_stdout(io.StringIO()):
    data = trackeval.datasets.MotChallenge2DBox(config)
    metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR({'PRINT_CONFIG': False}),
               trackeval.metrics.Identity({'PRINT_CONFIG': False})]
    trackeval.Evaluator(quiet).evaluate([data], metrics)
"""
DAVIS = """
import contextlib, io, warnings
warnings.simplefilter('ignore')
quiet = {'USE_PARALLEL': False, 'PRINT_CONFIG': False, 'PRINT_RESULTS': False, 'OUTPUT_SUMMARY': False,
         'OUTPUT_DETAILED': False, 'PLOT_CURVES': False, 'TIME_PROGRESS': False, 'LOG_ON_ERROR': None}
config = {'GT_FOLDER': folder + '/gt', 'TRACKERS_FOLDER': folder + '/trackers', 'PRINT_CONFIG': False}
with contextlib.redirect_stdout(io.StringIO()):
    data = trackeval.datasets.DAVIS(config)
    trackeval.Evaluator(quiet).evaluate([data], [trackeval.metrics.JAndF()])
"""
DROP_IN = """
import steelyard.compat
steelyard.compat.install("trackeval")
import trackeval
"""
MOTMETRICS = """
names = sorted(os.listdir(folder + "/gt"))
truth = [motmetrics.io.loadtxt(f"{folder}/gt/{name}/gt/gt.txt", min_confidence=1) for name in names]
results = [motmetrics.io.loadtxt(f"{folder}/predicted/{name}.txt") for name in names]
pairs = zip(truth, results, strict=True)
events = [motmetrics.utils.compare_to_groundtruth(*pair, "iou", distth=0.5) for pair in pairs]
motmetrics.metrics.create().compute_many(events, names=names, generate_overall=True)
"""
NUMPY_2 = """
import os
import numpy as np
import pandas  # of which both make their tables; its import is not counted
np.asfarray = lambda values: np.asarray(values, dtype=float)  # motmetrics 1.4.0 needs it
"""


def main() -> None:
    """Print the table, then how cost grows with sequences and frames."""
    folder = Path(tempfile.mkdtemp())
    try:
        write(folder, SEQUENCES, FRAMES)
        setup = OURS.format(folder=str(folder))
        given = f"folder = {str(folder)!r}\n"
        table(
            f"7 × {FRAMES} frames, MOT17's rules, from files to all numbers (goal: 0.1 of the fastest released peer)",
            "steelyard",
            {
                "steelyard": measure(RUN, setup),
                "steelyard, with 1,000 draws": measure(RUN.replace(", confidence=None", ""), setup),
                "motrics": measure(MOTRICS, given + "import motrics"),
                "drop-in for TrackEval": measure(TRACKEVAL, given + DROP_IN),
                "TrackEval": measure(TRACKEVAL, given + "import trackeval", repeat=1),
            },
        )
        write_pictures(folder / "davis", PICTURES)
        pictures = f"folder = {str(folder / 'davis')!r}\n"
        table(
            f"3 × {PICTURES} pictures of DAVIS, J&F (goal: 0.1 of TrackEval)",
            "drop-in for TrackEval",
            {
                "drop-in for TrackEval": measure(DAVIS, pictures + DROP_IN),
                "TrackEval": measure(DAVIS, pictures + "import trackeval", repeat=1),
            },
        )
        installed = DROP_IN.replace("trackeval", "motmetrics")
        table(
            f"7 × {FRAMES} frames, motmetrics: files, events and summary",
            "drop-in for motmetrics",
            {
                "drop-in for motmetrics": measure(MOTMETRICS, given + NUMPY_2 + installed),
                "motmetrics": measure(MOTMETRICS, given + NUMPY_2 + "import motmetrics", repeat=1),
            },
        )
        print("\nGrowth: sequences of 17 people")
        for sequences, frames in GROWTH:
            place = folder / f"{sequences}x{frames}"
            write(place, {"S000": 17}, frames)
            for i in range(1, sequences):  # the same video under other names: what it costs is the same
                shutil.copytree(place / "gt" / "S000", place / "gt" / f"S{i:03d}")
                shutil.copy(place / "predicted" / "S000.txt", place / "predicted" / f"S{i:03d}.txt")
            run = measure(RUN, OURS.format(folder=str(place)), repeat=1)
            record("Growth with sequences of 17 people", f"steelyard, {sequences} × {frames} frames", run)
            print(f"  {sequences:4d} × {frames:5d} frames  {run}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
