"""The drop-in for TrackEval beside TrackEval itself: results to the bit, printed text, files and errors."""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trackeval as theirs
from pycocotools import mask as masks
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import trackeval as ours

QUIET = {"PRINT_CONFIG": False, "TIME_PROGRESS": False, "PLOT_CURVES": False, "LOG_ON_ERROR": None}
FRAMES = 12


def same(mine, other, place=()):
    """Equal in value to the bit, in type and in the order of keys."""
    assert type(mine) is type(other), place
    if isinstance(other, dict):
        assert list(mine) == list(other), place
        for key in other:
            same(mine[key], other[key], (*place, key))
    elif isinstance(other, list | tuple):
        assert len(mine) == len(other), place
        for i, (one, two) in enumerate(zip(mine, other, strict=True)):
            same(one, two, (*place, i))
    else:
        assert np.array_equal(mine, other, equal_nan=np.asarray(other).dtype.kind == "f"), (place, mine, other)


def ordered(res):
    """Results in the order of TrackEval's fields."""
    if isinstance(res, dict):
        return {key: ordered(res[key]) for key in sorted(res, key=str)}
    return [ordered(part) for part in res] if isinstance(res, list | tuple) else res


def evaluated(package, folder, dataset, config, metrics=("HOTA", "CLEAR", "Identity", "VACE"), **settings):
    """Results, printed text and written files."""
    out = folder / package.__name__
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
        data = getattr(package.datasets, dataset)({**config, "OUTPUT_FOLDER": str(out), "PRINT_CONFIG": False})
        chosen = [getattr(package.metrics, name)() for name in metrics]
        res = package.Evaluator({**QUIET, **settings}).evaluate([data], chosen)
    return res, said.getvalue(), {path.relative_to(out): path.read_bytes() for path in out.rglob("*.*")}


def compared(folder, dataset, config, **settings):
    mine, other = (evaluated(package, folder, dataset, config, **settings) for package in (ours, theirs))
    same(ordered(mine[0]), ordered(other[0]))
    assert mine[1:] == other[1:]
    return mine


def boxes(rng, people):
    """Moving boxes: frame, id, x, y, w, h, and what a tracker says of them."""
    starts, steps = rng.uniform(0, 90, (people, 2)), rng.uniform(-3, 3, (people, 2))
    sizes = rng.uniform(12, 40, (people, 2)).round(1)
    truth, predicted = [], []
    for frame in range(1, FRAMES):
        for i in range(people):
            if rng.random() < 0.15:
                continue
            x, y = (starts[i] + frame * steps[i]).round(1)
            truth.append((frame, i + 1, x, y, *sizes[i]))
            if rng.random() < 0.85:
                name = i + 1 if rng.random() < 0.9 else people + 1 + i
                dx, dy = rng.normal(0, 3, 2).round(1)
                predicted.append((frame, name, round(x + dx, 1), round(y + dy, 1), *sizes[i]))
        if rng.random() < 0.5:
            predicted.append((frame, 90, *rng.uniform(0, 90, 2).round(1), 20.0, 20.0))
    return truth, predicted


def mot(folder, seed, *, people=9, classes=(1, 1, 1, 2, 7, 6, 3), separator=","):
    """Sequences of MOTChallenge, and the config that finds them."""
    rng = np.random.default_rng(seed)
    kinds, flags = rng.choice(classes, people + 1), rng.integers(0, 4, people + 1) > 0
    sequences = {}
    for number in range(2):
        truth, predicted = boxes(rng, people)
        name = f"S{number}"
        place = folder / "gt" / name / "gt"
        place.mkdir(parents=True)
        rows = [(*row, int(flags[row[1]]), kinds[row[1]], 0.5) for row in truth]
        (place / "gt.txt").write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
        (place.parent / "seqinfo.ini").write_text(f"[Sequence]\nname={name}\nseqLength={FRAMES}\n")
        results = folder / "trackers" / "one" / "data"
        results.mkdir(parents=True, exist_ok=True)
        rows = [(*row, 0.9, 1 if separator == " " else -1, -1, -1) for row in predicted]
        (results / f"{name}.txt").write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
        sequences[name] = FRAMES
    return {
        "GT_FOLDER": str(folder / "gt"),
        "TRACKERS_FOLDER": str(folder / "trackers"),
        "SKIP_SPLIT_FOL": True,
        "SEQ_INFO": sequences,
    }


@pytest.mark.parametrize("benchmark", ["MOT15", "MOT16", "MOT17", "MOT20"])
def test_boxes_of_motchallenge(tmp_path, benchmark) -> None:
    for seed in range(3):
        folder = tmp_path / str(seed)
        config = {**mot(folder, seed), "BENCHMARK": benchmark}
        res, said, files = compared(folder, "MotChallenge2DBox", config)
    assert res[0]["MotChallenge2DBox"]["one"]["COMBINED_SEQ"]["pedestrian"]["HOTA"]["HOTA"].shape == (19,)
    assert "HOTA: one-pedestrian" in said
    assert {path.name for path in files} == {"pedestrian_summary.txt", "pedestrian_detailed.csv"}


def test_many_boxes_and_tracks(tmp_path) -> None:
    compared(tmp_path, "MotChallenge2DBox", mot(tmp_path, 5, people=40, classes=(1,)))


@pytest.mark.parametrize(
    "change",
    [
        {"DO_PREPROC": False},
        {"TRACKERS_TO_EVAL": ["one"], "TRACKER_DISPLAY_NAMES": ["Shown"]},
        {"SEQ_INFO": {"S0": None, "S1": None}},
        {"OUTPUT_SUB_FOLDER": "there"},
    ],
)
def test_settings_of_a_dataset(tmp_path, change) -> None:
    compared(tmp_path, "MotChallenge2DBox", {**mot(tmp_path, 8), **change})


@pytest.mark.parametrize(
    "settings",
    [
        {"USE_PARALLEL": True, "NUM_PARALLEL_CORES": 2},
        {"PRINT_RESULTS": False},
        {"PRINT_ONLY_COMBINED": True},
        {"OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False},
        {"OUTPUT_EMPTY_CLASSES": False},
    ],
)
def test_settings_of_the_evaluator(tmp_path, settings) -> None:
    compared(tmp_path, "MotChallenge2DBox", mot(tmp_path, 9), **settings)


def rewritten(folder, edit, side="trackers/one/data/S0.txt"):
    path = folder / side
    path.write_text(edit(path.read_text()))


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(",", ", "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",-1,-1\n", ",-1,-1,\n"),
        lambda text: "".join(reversed(text.splitlines(keepends=True))),
        lambda text: "",
        lambda text: text.rstrip(),
        lambda text: text.replace(",0.9,-1,-1,-1", ",9e-1"),
        lambda text: text.replace(",0.9,", ",nan,"),
        lambda text: text.replace("\n1,", "\n1.7,"),
    ],
)
def test_files_in_other_styles(tmp_path, edit) -> None:
    config = mot(tmp_path, 3)
    rewritten(tmp_path, edit)
    compared(tmp_path, "MotChallenge2DBox", config)


def test_files_between_blanks_and_in_archives(tmp_path) -> None:
    compared(tmp_path, "MotChallenge2DBox", mot(tmp_path / "a", 4, separator=" "))
    folder = tmp_path / "b"
    config = mot(folder, 4)
    for archive, pattern in (("gt/data.zip", "gt/*/gt/gt.txt"), ("trackers/one/data.zip", "trackers/one/data/*.txt")):
        with zipfile.ZipFile(folder / archive, "w") as file:
            for path in sorted(folder.glob(pattern)):
                file.write(path, path.name if path.stem != "gt" else f"{path.parent.parent.name}.txt")
    compared(folder, "MotChallenge2DBox", {**config, "INPUT_AS_ZIP": True})


def raised(package, folder, config):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        try:
            evaluated(package, folder, "MotChallenge2DBox", config)
        except Exception as error:
            return type(error).__name__, str(error), said.getvalue()
    return None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # TrackEval leaves the file open
@pytest.mark.parametrize(
    ("side", "edit"),
    [
        ("S0", lambda text: text + "\n"),
        ("S0", lambda text: text + text),
        ("S0", lambda text: text + "a,b,c\n"),
        ("S0", lambda text: text.replace(",-1,-1,-1", ",3,-1,-1")),
        ("S0", lambda text: text + "500,1,1,1,5,5,1,1,1,1\n"),
        ("S0", lambda text: text.replace("\n2,", "\n2,x")),
        ("S0", lambda text: re.sub(r",0.9,-1,-1,-1", "", text)),
        ("S0", lambda text: re.sub(r"(?m),.*$", "", text)),
        ("S0", lambda text: text.replace(",-1,-1,-1", ",-1,-1,-1,7", 1)),
        ("gt", lambda text: text.replace(",1,0.5", ",99,0.5")),
        ("gt", lambda text: text.replace(",0.5", "")[:-3]),
        ("gt", lambda text: re.sub(r"(?m),[^,]*,[^,]*$", "", text)),
        ("gt", lambda text: text + text),
    ],
)
def test_errors(tmp_path, side, edit) -> None:
    config = mot(tmp_path, 6)
    rewritten(tmp_path, edit, "gt/S0/gt/gt.txt" if side == "gt" else "trackers/one/data/S0.txt")
    mine, other = (raised(package, tmp_path, config) for package in (ours, theirs))
    assert mine == other
    assert mine is not None


@pytest.mark.parametrize(
    "change",
    [
        {"SEQ_INFO": {"S7": 9}},
        {"SEQ_INFO": {"S7": None}},
        {"SEQ_INFO": None},
        {"CLASSES_TO_EVAL": ["car"]},
        {"TRACKERS_TO_EVAL": ["two"]},
        {"TRACKER_DISPLAY_NAMES": ["a", "b"]},
        {"INPUT_AS_ZIP": True},
    ],
)
def test_errors_of_the_config(tmp_path, change) -> None:
    config = {**mot(tmp_path, 6), **change}
    mine, other = (raised(package, tmp_path, config) for package in (ours, theirs))
    assert mine == other
    assert mine is not None


def test_errors_that_do_not_stop(tmp_path) -> None:
    config = mot(tmp_path, 6)
    rewritten(tmp_path, lambda text: text + text)
    log = tmp_path / "log.txt"
    settings = {"BREAK_ON_ERROR": False, "LOG_ON_ERROR": str(log)}
    res = [evaluated(package, tmp_path, "MotChallenge2DBox", config, **settings)[0] for package in (ours, theirs)]
    same(*res)
    assert res[0][0] == {"MotChallenge2DBox": {"one": None}}
    assert log.read_text().count("MotChallenge2DBox\none\nTraceback") == 2


def test_empty_sides(tmp_path) -> None:
    for number, side in enumerate(("gt/S0/gt/gt.txt", "trackers/one/data/S0.txt")):
        config = mot(tmp_path / str(number), 2)
        rewritten(tmp_path / str(number), lambda text: "", side)
        compared(tmp_path / str(number), "MotChallenge2DBox", config)


def sequence(rng, frames, ids):
    """The dict that a dataset hands to metrics, with similarities that tie."""
    data = {"gt_ids": [], "tracker_ids": [], "similarity_scores": []}
    for _ in range(frames):
        sides = [rng.permutation(ids)[: rng.integers(0, ids + 1)] for _ in range(2)]
        data["gt_ids"].append(sides[0])
        data["tracker_ids"].append(sides[1])
        data["similarity_scores"].append(rng.choice([0, 0.25, 0.4, 0.5, 0.75, 1.0], (len(sides[0]), len(sides[1]))))
    return {
        **data,
        "num_gt_ids": ids,
        "num_tracker_ids": ids,
        "num_timesteps": frames,
        "seq": "drawn",
        "num_gt_dets": sum(map(len, data["gt_ids"])),
        "num_tracker_dets": sum(map(len, data["tracker_ids"])),
    }


@pytest.mark.parametrize("name", ["HOTA", "CLEAR", "Identity", "VACE", "Count"])
def test_metrics_of_data_with_ties(name) -> None:
    rng = np.random.default_rng(7)
    thresholds = (
        [{}, {"THRESHOLD": 0.4}, {"THRESHOLD": 0.0}, {"THRESHOLD": 1.0}] if name in ("CLEAR", "Identity") else [{}]
    )
    for threshold in thresholds:
        config = {"PRINT_CONFIG": False, **threshold}
        mine, other = (getattr(package.metrics, name)(dict(config)) for package in (ours, theirs))
        for attribute in ("fields", "summary_fields", "integer_fields", "float_fields", "float_array_fields"):
            assert getattr(mine, attribute) == getattr(other, attribute)
        every = {}
        for ids in (1, 2, 3, 5, 12):
            data = sequence(rng, 15, ids)
            results = [metric.eval_sequence(data) for metric in (mine, other)]
            same(*map(ordered, results))
            every[str(ids)] = results[0]
        for combine in ("combine_sequences", "combine_classes_det_averaged", "combine_classes_class_averaged"):
            same(*(ordered(getattr(metric, combine)(every)) for metric in (mine, other)))
        if name != "Count":
            same(
                *(
                    ordered(metric.combine_classes_class_averaged(every, ignore_empty_classes=True))
                    for metric in (mine, other)
                )
            )


def test_subclasses_take_part(tmp_path) -> None:
    config = mot(tmp_path, 1)

    def of(package):
        class Points(package.datasets.MotChallenge2DBox):
            def _calculate_similarities(self, gt_dets_t, tracker_dets_t):
                middles = [dets[:, :2] + dets[:, 2:] / 2 for dets in (gt_dets_t, tracker_dets_t)]
                return self._calculate_euclidean_similarity(*middles, zero_distance=30.0)

        class Frames(package.metrics.Count):
            def eval_sequence(self, data):
                return {**super().eval_sequence(data), "Dets": data["num_timesteps"]}

            @classmethod
            def get_name(cls):
                return "Frames"

        metric = Frames()
        metric.fields = metric.summary_fields = metric.integer_fields = ["Dets"]
        with contextlib.redirect_stdout(io.StringIO()):
            data = Points({**config, "PRINT_CONFIG": False})
            hota = package.metrics.HOTA()
            raw = data.get_raw_seq_data("one", "S0")
            prepared = data.get_preprocessed_seq_data(raw, "pedestrian")
        return metric.eval_sequence(prepared), hota.eval_sequence(prepared), prepared["similarity_scores"]

    same(ordered(of(ours)), ordered(of(theirs)))


def kitti(folder, seed):
    rng = np.random.default_rng(seed)
    names = ["Car", "Van", "Pedestrian", "Person", "Cyclist", "car", "Car"]
    (folder / "gt" / "label_02").mkdir(parents=True)
    results = folder / "trackers" / "one" / "data"
    results.mkdir(parents=True)
    for seq in ("0000", "0001"):
        truth, predicted = boxes(rng, 12)
        kinds = rng.choice(names, 13)

        def line(row, name, *tail, before="0 0"):
            frame, track, x, y, w, h = row
            box = f"{x:.2f} {y:.2f} {x + w:.2f} {y + h:.2f}"
            return " ".join([f"{frame} {track} {name} {before} -1.5 {box} 1 1 1 1 1 1 1e-3", *tail]) + "\n"

        lines = [
            line(row, kinds[row[1]], before=f"{int(rng.integers(0, 2) * rng.integers(0, 2))} {rng.integers(0, 4)}")
            for row in truth
        ]
        lines += [f"{frame} -1 DontCare -1 -1 -10 20 20 60 60 -1 -1 -1 -1 -1 -1 -1\n" for frame in range(0, 10, 2)]
        (folder / "gt" / "label_02" / f"{seq}.txt").write_text("".join(lines))
        lines = [line(row, rng.choice(["Car", "Pedestrian"]), "0.5") for row in predicted]
        (results / f"{seq}.txt").write_text("".join(lines))
    (folder / "gt" / "evaluate_tracking.seqmap.training").write_text(
        "".join(f"{seq} empty 000000 {FRAMES:06d}\n" for seq in ("0000", "0001"))
    )
    return {"GT_FOLDER": str(folder / "gt"), "TRACKERS_FOLDER": str(folder / "trackers")}


def test_boxes_of_kitti(tmp_path) -> None:
    for seed in range(3):
        res, _, files = compared(tmp_path / str(seed), "Kitti2DBox", kitti(tmp_path / str(seed), seed))
    assert len(files) == 4
    assert res[0]["Kitti2DBox"]["one"]["COMBINED_SEQ"]["car"]["CLEAR"]["CLR_TP"] > 0


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(" 0.5\n", "\n"),
        lambda text: text.replace(" ", "  "),
        lambda text: text.replace(" 0.5\n", "\n", 1),
    ],
)
def test_files_of_kitti_in_other_styles(tmp_path, edit) -> None:
    config = kitti(tmp_path, 4)
    rewritten(tmp_path, edit, "trackers/one/data/0000.txt")
    mine, other = [], []
    for package, answer in ((ours, mine), (theirs, other)):
        try:
            answer.append(ordered(evaluated(package, tmp_path, "Kitti2DBox", config)[0]))
        except ValueError as error:
            answer.append(type(error).__name__)
    same(mine, other)


def discs(rng, frames, people):
    """Round masks that do not overlap, by frame and id."""
    ys, xs = np.mgrid[:60, :80]
    middles = np.array([(12 + 18 * (i % 3), 10 + 20 * (i // 3)) for i in range(people)], dtype=float)
    for frame in range(frames):
        taken = np.zeros((60, 80), dtype=bool)
        for i in range(people):
            if rng.random() < 0.2:
                continue
            middle = middles[i] + rng.normal(0, 1.5, 2)
            disc = ((ys - middle[0]) ** 2 + (xs - middle[1]) ** 2 < rng.uniform(20, 60)) & ~taken
            taken |= disc
            yield frame, i, masks.encode(np.asfortranarray(disc.astype(np.uint8)))["counts"].decode()


def mots(folder, seed, first):
    rng = np.random.default_rng(seed)
    texts = []
    for side in range(2):
        lines = [
            f"{frame + first} {1000 * (1 + i % 2) + i} {10 if side == 0 and i == 5 else 1 + i % 2} 60 80 {counts}\n"
            for frame, i, counts in discs(rng, FRAMES - 1, 9)
        ]
        texts.append("".join(lines))
    return texts


def test_masks_of_motschallenge(tmp_path) -> None:
    config = mot(tmp_path, 0)
    for seq in ("S0", "S1"):
        truth, predicted = mots(tmp_path, len(seq) + int(seq[1]), 1)
        (tmp_path / "gt" / seq / "gt" / "gt.txt").write_text(truth)
        (tmp_path / "trackers" / "one" / "data" / f"{seq}.txt").write_text(predicted)
    res, _, _ = compared(tmp_path, "MOTSChallenge", config)
    assert res[0]["MOTSChallenge"]["one"]["COMBINED_SEQ"]["pedestrian"]["CLEAR"]["CLR_TP"] > 0


def test_masks_of_kitti(tmp_path) -> None:
    (tmp_path / "gt" / "label_02").mkdir(parents=True)
    results = tmp_path / "trackers" / "one" / "data"
    results.mkdir(parents=True)
    for seq in ("0002", "0006"):
        truth, predicted = mots(tmp_path, int(seq), 0)
        (tmp_path / "gt" / "label_02" / f"{seq}.txt").write_text(truth)
        (results / f"{seq}.txt").write_text(predicted)
    (tmp_path / "gt" / "evaluate_mots.seqmap.val").write_text(
        "".join(f"{seq} empty 000000 {FRAMES - 1:06d}\n" for seq in ("0002", "0006"))
    )
    config = {"GT_FOLDER": str(tmp_path / "gt"), "TRACKERS_FOLDER": str(tmp_path / "trackers")}
    res, _, _ = compared(tmp_path, "KittiMOTS", config)
    assert res[0]["KittiMOTS"]["one"]["COMBINED_SEQ"]["car"]["HOTA"]["HOTA"].mean() > 0.1


def test_defaults_and_printed_configs() -> None:
    for package in (ours, theirs):
        assert Path(package.utils.get_code_path()) == Path(theirs.__file__).parent.parent
    for name in ("MotChallenge2DBox", "Kitti2DBox", "MOTSChallenge", "KittiMOTS"):
        mine, other = (getattr(package.datasets, name).get_default_dataset_config() for package in (ours, theirs))
        assert list(mine.items()) == list(other.items())
    mine, other = (package.Evaluator.get_default_eval_config() for package in (ours, theirs))
    assert list(mine.items()) == list(other.items())
    said = []
    for package in (ours, theirs):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            package.metrics.CLEAR()
            package.metrics.Identity({"THRESHOLD": 0.3})
            package.Evaluator({"TIME_PROGRESS": False})
        said.append(text.getvalue())
    assert said[0] == said[1]


def test_timings_are_printed(tmp_path, monkeypatch) -> None:
    config = mot(tmp_path, 0)
    said = []
    for package in (ours, theirs):
        timing = __import__(f"{package.__name__}._timing", fromlist=["x"])
        for name in ("DO_TIMING", "DISPLAY_LESS_PROGRESS"):
            monkeypatch.setattr(timing, name, False)
        settings = {"TIME_PROGRESS": True, "DISPLAY_LESS_PROGRESS": False}
        text = evaluated(package, tmp_path, "MotChallenge2DBox", config, **settings)[1]
        said.append(re.sub(r"\d+\.\d+ sec", "T sec", text))
        monkeypatch.setattr(timing, "timer_dict", {})
    assert said[0] == said[1]
    assert "MotChallenge2DBox.get_raw_seq_data(one, S0)" in said[0]


def test_files_of_results_are_read_back(tmp_path) -> None:
    compared(tmp_path, "MotChallenge2DBox", mot(tmp_path, 0))
    path = str(tmp_path / ours.__name__ / "one" / "pedestrian_detailed.csv")
    assert ours.utils.load_detail(path) == theirs.utils.load_detail(path)


def test_settings_of_the_command_line(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["run", "--A", "True", "--B", "3", "--C", "x", "--D", "a", "b"])
    config = {"A": False, "B": 1, "C": "text", "D": None, "E": ["kept"]}
    assert ours.utils.update_config(dict(config)) == theirs.utils.update_config(dict(config))


def test_curves_are_left_out_with_a_warning(tmp_path) -> None:
    config = mot(tmp_path, 0)
    with pytest.warns(UserWarning, match="PLOT_CURVES"):
        evaluated(ours, tmp_path, "MotChallenge2DBox", config, PLOT_CURVES=True)
    with refuses("E-unsupported"):
        ours.plotting.plot_compare_trackers("folder")


def test_a_report_has_the_same_numbers(tmp_path) -> None:
    config = mot(tmp_path, 0)
    with contextlib.redirect_stdout(io.StringIO()):
        data = ours.datasets.MotChallenge2DBox({**config, "PRINT_CONFIG": False})
        evaluator = ours.Evaluator({**QUIET, "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False})
        res, _ = evaluator.evaluate([data], [ours.metrics.HOTA(), ours.metrics.CLEAR({"PRINT_CONFIG": False})])
    report = compat.report(evaluator, metrics=["hota", "mota"])
    combined = res["MotChallenge2DBox"]["one"]["COMBINED_SEQ"]["pedestrian"]
    assert report["hota"].value == pytest.approx(combined["HOTA"]["HOTA"].mean(), abs=1e-12)
    assert report["mota"].value == pytest.approx(combined["CLEAR"]["MOTA"], abs=1e-12)
