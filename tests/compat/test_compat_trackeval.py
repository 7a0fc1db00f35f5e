"""The drop-in for TrackEval beside TrackEval itself: results to the bit, printed text, files and errors."""

from __future__ import annotations

import contextlib
import io
import json
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
        settings_of = {"TrackMAP": {"USE_TIME_RANGES": False}}
        chosen = [
            getattr(package.metrics, name)(*([dict(settings_of[name])] if name in settings_of else []))
            for name in metrics
        ]
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
    config = {**mot(tmp_path, int(benchmark[3:])), "BENCHMARK": benchmark}
    res, said, files = compared(tmp_path, "MotChallenge2DBox", config)
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
    config = packed(folder, config, "gt/*/gt/gt.txt")
    compared(folder, "MotChallenge2DBox", config)
    (folder / "trackers/one/data.zip").unlink()
    refused_alike(folder, "MotChallenge2DBox", config)


def raised(package, folder, config, dataset="MotChallenge2DBox", **settings):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        try:
            evaluated(package, folder, dataset, config, **settings)
        except Exception as error:
            return type(error).__name__, str(error), said.getvalue()
    return None


def refused_alike(folder, dataset, config, **settings):
    mine, other = (raised(package, folder, config, dataset, **settings) for package in (ours, theirs))
    assert mine == other
    assert mine is not None


def packed(folder, config, truth):
    """The same files in archives: truths by sequence, and the results of a tracker."""
    for archive, pattern in (("gt/data.zip", truth), ("trackers/one/data.zip", "trackers/one/data/*.txt")):
        with zipfile.ZipFile(folder / archive, "w") as file:
            for path in sorted(folder.glob(pattern)):
                file.write(path, path.name if path.stem != "gt" else f"{path.parent.parent.name}.txt")
    return {**config, "INPUT_AS_ZIP": True}


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


def in_folders_of_the_benchmark(folder, listing):
    """The folders of a download, with a list of its sequences."""
    mot(folder / "made", 6)
    for side in ("gt", "trackers"):
        (folder / side).mkdir()
        (folder / "made" / side).rename(folder / side / "MOT17-train")
    (folder / "gt" / "seqmaps").mkdir()
    (folder / "gt" / "seqmaps" / "MOT17-train.txt").write_text(listing)
    return {"GT_FOLDER": str(folder / "gt"), "TRACKERS_FOLDER": str(folder / "trackers")}


@pytest.mark.parametrize("listing", ["name\nS0\nS1\n", "name\nS0\n,\nS1", "name\nS1\n"])
def test_lists_of_sequences(tmp_path, listing) -> None:
    """The first line of a list is a heading, and a line may be empty but for its commas."""
    config = in_folders_of_the_benchmark(tmp_path, listing)
    res, _, _ = compared(tmp_path, "MotChallenge2DBox", config)
    assert set(res[0]["MotChallenge2DBox"]["one"]) == {*re.findall(r"S\d", listing), "COMBINED_SEQ"}
    path = tmp_path / "gt" / "seqmaps" / "MOT17-train.txt"
    for change in ({"SEQMAP_FILE": str(path)}, {"SEQMAP_FOLDER": str(path.parent)}):
        compared(tmp_path, "MotChallenge2DBox", {**config, **change})


@pytest.mark.parametrize("listing", ["name\n", "name\nS5\n", "name\nS0\n\nS1\n"])
def test_errors_in_lists_of_sequences(tmp_path, listing) -> None:
    refused_alike(tmp_path, "MotChallenge2DBox", in_folders_of_the_benchmark(tmp_path, listing))


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(",90,", ",-3,").replace(",1,", ",-1,"),
        lambda text: text.replace(",90,", ",-1,"),
        lambda text: "1,-1,5,5,20,20,0.9,-1,-1,-1\n",
    ],
)
def test_negative_ids(tmp_path, edit) -> None:
    """A negative id takes the place of another in TrackEval's table of ids: results or errors are the same."""
    config = mot(tmp_path, 6)
    rewritten(tmp_path, edit)
    if (error := raised(theirs, tmp_path, config)) is None:
        compared(tmp_path, "MotChallenge2DBox", config)
    else:
        assert raised(ours, tmp_path, config) == error


def test_metrics_that_cannot_be_told_apart(tmp_path) -> None:
    config = mot(tmp_path, 6)
    for metrics in (("HOTA", "HOTA"), ("HOTA", "Count")):
        refused_alike(tmp_path, "MotChallenge2DBox", config, metrics=metrics)
    for package in (ours, theirs):
        other = type("Other", (package.metrics.Count,), {})()
        with refuses(package.utils.TrackEvalException):
            package.utils.validate_metrics_list([package.metrics.Count(), other])


@pytest.mark.parametrize("back", [True, False])
def test_a_tracker_that_fails_before_another(tmp_path, back) -> None:
    """With RETURN_ON_ERROR the trackers behind it are not evaluated."""
    config = {**mot(tmp_path, 6), "TRACKERS_TO_EVAL": ["one", "two"]}
    (tmp_path / "trackers" / "two" / "data").mkdir(parents=True)
    for path in (tmp_path / "trackers" / "one" / "data").iterdir():
        (tmp_path / "trackers" / "two" / "data" / path.name).write_text(path.read_text())
    rewritten(tmp_path, lambda text: text + text)
    settings = {"BREAK_ON_ERROR": False, "RETURN_ON_ERROR": back}
    res, said, _ = compared(tmp_path, "MotChallenge2DBox", config, **settings)
    assert list(res[0]["MotChallenge2DBox"]) == (["one"] if back else ["one", "two"])
    assert ("HOTA: two-pedestrian" in said) is not back


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


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("name", ["HOTA", "CLEAR"])
def test_similarities_that_are_not_finite(name, value) -> None:
    data = sequence(np.random.default_rng(7), 3, 4)
    for matrix in data["similarity_scores"]:
        matrix[...] = value
    assert sum(matrix.size for matrix in data["similarity_scores"]) > 0
    for package in (ours, theirs):
        with pytest.raises(ValueError, match=r"numeric|finite"), np.errstate(all="ignore"):
            getattr(package.metrics, name)({"PRINT_CONFIG": False}).eval_sequence(data)


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


def with_helpers(package, config):
    """A dataset of one's own, which passes on what TrackEval's base class offers to such."""

    class Own(package.datasets.MotChallenge2DBox):
        def boxes(self, *sides, **settings):
            return self._calculate_box_ious(*sides, **settings)

        def masks(self, *sides, **settings):
            return self._calculate_mask_ious(*sides, **settings)

        def rows(self, file, **settings):
            return self._load_simple_text_file(file, **settings)

    return Own({**config, "PRINT_CONFIG": False})


def test_similarities_for_datasets_of_ones_own(tmp_path) -> None:
    """IoU, or the share of the first: of boxes, also of those without an area, and of masks as arrays."""
    rng = np.random.default_rng(0)
    sides = [rng.integers(0, 30, (count, 4)).astype(float) for count in (5, 4)]
    pictures = [rng.random((count, 10, 12)) < 0.4 for count in (3, 2)]
    mine, other = (with_helpers(package, mot(tmp_path / package.__name__, 1)) for package in (ours, theirs))
    for inside in (False, True):
        for kind in ("xywh", "x0y0x1y1"):
            same(*(one.boxes(*sides, box_format=kind, do_ioa=inside) for one in (mine, other)))
        same(*(one.masks(*(part.astype(np.uint8) for part in pictures), do_ioa=inside) for one in (mine, other)))
    common = np.logical_and(pictures[0][1], pictures[1][0]).sum()
    assert mine.masks(*(part.astype(np.uint8) for part in pictures), do_ioa=True)[1, 0] == common / pictures[0][1].sum()
    same(*(one.boxes(np.empty((0, 4)), sides[1]) for one in (mine, other)))
    with refuses(ours.utils.TrackEvalException, "centres"):
        mine.boxes(*sides, box_format="centres")


ROWS = "1,2,car,x\n1,-3,van,x\n2,4,dontcare,y\n3,5,Car,z,\n"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"id_col": 1, "remove_negative_ids": True},
        {"valid_filter": {2: ["car"]}},
        {"crowd_ignore_filter": {2: ["dontcare"]}},
        {"crowd_ignore_filter": {2: ["dontcare"]}, "convert_filter": {2: {"car": 1, "van": 2, "dontcare": 9}}},
        {"time_col": 1},
    ],
)
def test_rows_for_datasets_of_ones_own(tmp_path, settings) -> None:
    (tmp_path / "rows.txt").write_text(ROWS)
    mine, other = (with_helpers(package, mot(tmp_path / package.__name__, 1)) for package in (ours, theirs))
    same(*(one.rows(str(tmp_path / "rows.txt"), **settings) for one in (mine, other)))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # TrackEval leaves the file open
@pytest.mark.parametrize(
    "settings",
    [
        {"remove_negative_ids": True},
        {"valid_filter": {9: ["car"]}},
        {"convert_filter": {2: {"car": 1}}},
        {"is_zipped": True},
    ],
)
def test_rows_that_a_dataset_of_ones_own_cannot_read(tmp_path, capsys, settings) -> None:
    """An error of TrackEval; the file and the first line that is wrong are printed."""
    (tmp_path / "rows.txt").write_text(ROWS)
    said = []
    for package in (ours, theirs):
        one = with_helpers(package, mot(tmp_path / package.__name__, 1))
        try:
            one.rows(str(tmp_path / "rows.txt"), **settings)
        except package.utils.TrackEvalException as error:  # which `raises` would keep, and with it the open file
            said.append((str(error), capsys.readouterr().out))
    assert len(said) == 2
    assert said[0] == said[1]


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
    res, _, files = compared(tmp_path, "Kitti2DBox", kitti(tmp_path, 1))
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


def test_archives_of_kitti(tmp_path) -> None:
    config = packed(tmp_path, kitti(tmp_path, 1), "gt/label_02/*.txt")
    compared(tmp_path, "Kitti2DBox", config)
    (tmp_path / "gt" / "data.zip").unlink()
    refused_alike(tmp_path, "Kitti2DBox", config)


ROW = " 0 0 -1 10 10 50 50 1 1 1 1 1 1 1"


@pytest.mark.parametrize(
    ("side", "edit"),
    [
        ("gt", lambda text: text + f"77 -1 DontCare{ROW}\n"),
        ("gt", lambda text: "".join(line for line in text.splitlines(keepends=True) if "DontCare" in line)),
        ("gt", lambda text: text.replace("Car 0 ", "Car 0.7 ").replace("Car 1 ", "Car -1 ")),
        ("trackers/one/data", lambda text: text + f"3 -1 Car{ROW} 0.5\n"),
        ("trackers/one/data", lambda text: text + f"3 -0.5 Car{ROW} 0.5\n"),
        ("trackers/one/data", lambda text: text + f"3 77 DontCare{ROW} 0.5\n"),
        ("trackers/one/data", lambda text: text.replace("Car", "Car_2")),
        ("trackers/one/data", lambda text: text.replace(" 0.5\n", " nan\n")),
        ("trackers/one/data", lambda text: text.replace(" ", ",")),
        ("trackers/one/data", lambda text: ""),
    ],
)
def test_rows_of_kitti(tmp_path, side, edit) -> None:
    """Regions outside the sequence, rows without a track, levels that are not whole, other class names and dialects."""
    config = kitti(tmp_path, 1)
    rewritten(tmp_path, edit, f"{side}/label_02/0000.txt" if side == "gt" else f"{side}/0000.txt")
    compared(tmp_path, "Kitti2DBox", config)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # TrackEval leaves the file open
@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("gt/label_02/0000.txt", lambda text: f"77 3 Car{ROW}\n" + text),
        ("trackers/one/data/0000.txt", lambda text: text + f"500 3 Car{ROW} 0.5\n"),
        ("trackers/one/data/0000.txt", lambda text: text.replace("Car", "Tree", 1)),
        ("trackers/one/data/0000.txt", lambda text: text.replace("Car", "1", 1)),
        ("trackers/one/data/0000.txt", lambda text: text + text),
        ("trackers/one/data/0000.txt", lambda text: "nan" + text[1:]),
        ("gt/evaluate_tracking.seqmap.training", lambda text: text + "0009 empty 000000 000012\n"),
    ],
)
def test_errors_of_kitti(tmp_path, file, edit) -> None:
    config = kitti(tmp_path, 1)
    rewritten(tmp_path, edit, file)
    refused_alike(tmp_path, "Kitti2DBox", config)


@pytest.mark.parametrize(
    "change",
    [
        {"CLASSES_TO_EVAL": ["van"]},
        {"SPLIT_TO_EVAL": "test"},
        {"TRACKERS_TO_EVAL": ["two"]},
        {"TRACKER_DISPLAY_NAMES": ["a"]},
    ],
)
def test_errors_of_the_config_of_kitti(tmp_path, change) -> None:
    refused_alike(tmp_path, "Kitti2DBox", {**kitti(tmp_path, 1), **change})


@pytest.mark.parametrize("columns", [4, 7, 9])
@pytest.mark.parametrize("file", ["gt/label_02/0000.txt", "trackers/one/data/0000.txt"])
def test_rows_of_kitti_without_a_whole_box(tmp_path, file, columns) -> None:
    """A box has four numbers in columns 7 to 10: nothing stands for those that are missing."""
    config = kitti(tmp_path, 1)
    rewritten(tmp_path, lambda text: re.sub(rf"(?m)^((?:\S+ ){{{columns - 1}}}\S+).*$", r"\1", text), file)
    assert raised(theirs, tmp_path, config, "Kitti2DBox") is not None
    with refuses(ours.utils.TrackEvalException, "0000.txt"):
        evaluated(ours, tmp_path, "Kitti2DBox", config)


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


def mots_challenge(folder):
    config = mot(folder, 0)
    for seq in ("S0", "S1"):
        truth, predicted = mots(folder, len(seq) + int(seq[1]), 1)
        (folder / "gt" / seq / "gt" / "gt.txt").write_text(truth)
        (folder / "trackers" / "one" / "data" / f"{seq}.txt").write_text(predicted)
    return config


def test_masks_of_motschallenge(tmp_path) -> None:
    res, _, _ = compared(tmp_path, "MOTSChallenge", mots_challenge(tmp_path))
    assert res[0]["MOTSChallenge"]["one"]["COMBINED_SEQ"]["pedestrian"]["CLEAR"]["CLR_TP"] > 0


def kitti_mots(folder):
    (folder / "gt" / "label_02").mkdir(parents=True)
    results = folder / "trackers" / "one" / "data"
    results.mkdir(parents=True)
    for seq in ("0002", "0006"):
        truth, predicted = mots(folder, int(seq), 0)
        (folder / "gt" / "label_02" / f"{seq}.txt").write_text(truth)
        (results / f"{seq}.txt").write_text(predicted)
    (folder / "gt" / "evaluate_mots.seqmap.val").write_text(
        "".join(f"{seq} empty 000000 {FRAMES - 1:06d}\n" for seq in ("0002", "0006"))
    )
    return {"GT_FOLDER": str(folder / "gt"), "TRACKERS_FOLDER": str(folder / "trackers")}


def test_masks_of_kitti(tmp_path) -> None:
    res, _, _ = compared(tmp_path, "KittiMOTS", kitti_mots(tmp_path))
    assert res[0]["KittiMOTS"]["one"]["COMBINED_SEQ"]["car"]["HOTA"]["HOTA"].mean() > 0.1


MASKS = {
    "MOTSChallenge": (mots_challenge, "S0", "gt/S0/gt/gt.txt", "gt/*/gt/gt.txt"),
    "KittiMOTS": (kitti_mots, "0002", "gt/label_02/0002.txt", "gt/label_02/*.txt"),
}


@pytest.mark.parametrize("name", MASKS)
def test_archives_of_masks(tmp_path, name) -> None:
    draw, _, _, truth = MASKS[name]
    config = packed(tmp_path, draw(tmp_path), truth)
    compared(tmp_path, name, config)
    for archive in ("trackers/one/data.zip", "gt/data.zip"):
        (tmp_path / archive).unlink()
        refused_alike(tmp_path, name, config)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # TrackEval leaves the file open
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    ("side", "edit"),
    [
        ("gt", lambda text: re.sub(r"(?m) \S+$", "", text)),
        ("gt", lambda text: re.sub(r"(?m)( 10 60 80) \S+$", r"\1", text, count=1)),
        ("gt", lambda text: text.replace(" 10 60 80 ", " 10 sixty 80 ", 1)),
        ("gt", lambda text: text + text.splitlines()[0].replace(" ", " 99", 1) + "\n"),
        ("one", lambda text: re.sub(r"(?m) \S+$", "", text)),
        ("one", lambda text: text.replace(" 60 80 ", " 60 eighty ", 1)),
        ("one", lambda text: re.sub(r"(?m)^(\d+ \d+) ", r"\1.0 ", text)),
        ("one", lambda text: text + text.splitlines()[0].replace(" ", " 99", 1) + "\n"),
        ("one", lambda text: text + "500" + text.splitlines()[0][1:] + "\n"),
    ],
)
def test_errors_of_masks(tmp_path, name, side, edit) -> None:
    """Missing columns, words for numbers, masks that overlap, frames outside the sequence."""
    draw, seq, truth, _ = MASKS[name]
    config = draw(tmp_path)
    rewritten(tmp_path, edit, truth if side == "gt" else f"trackers/one/data/{seq}.txt")
    refused_alike(tmp_path, name, config)


def test_sequences_of_kitti_mots(tmp_path) -> None:
    """From a list in another folder or file, or from the config; a list of one sequence fails, as in TrackEval."""
    config = kitti_mots(tmp_path)
    listing = (tmp_path / "gt" / "evaluate_mots.seqmap.val").read_text()
    (tmp_path / "lists").mkdir()
    path = tmp_path / "lists" / "evaluate_mots.seqmap.val"
    path.write_text(listing.replace("0002", "2").replace("0006", "6"))
    compared(tmp_path, "KittiMOTS", {**config, "SEQMAP_FOLDER": str(path.parent)})
    compared(tmp_path, "KittiMOTS", {**config, "SEQMAP_FILE": str(path)})
    compared(tmp_path, "KittiMOTS", {**config, "SEQ_INFO": {"0006": FRAMES}})
    names = {"TRACKERS_TO_EVAL": ["one"], "TRACKER_DISPLAY_NAMES": ["Shown"]}
    assert "HOTA: Shown-car" in compared(tmp_path, "KittiMOTS", {**config, **names})[1]
    for change in ({"SPLIT_TO_EVAL": "test"}, {"SEQ_INFO": {"0009": FRAMES}}, {"CLASSES_TO_EVAL": ["van"]}):
        refused_alike(tmp_path, "KittiMOTS", {**config, **change})
    for text in ("", listing.splitlines()[0] + "\n"):
        path.write_text(text)
        refused_alike(tmp_path, "KittiMOTS", {**config, "SEQMAP_FILE": str(path)})


def test_defaults_and_printed_configs() -> None:
    for package in (ours, theirs):
        assert Path(package.utils.get_code_path()) == Path(theirs.__file__).parent.parent
    for name in ("MotChallenge2DBox", "Kitti2DBox", "MOTSChallenge", "KittiMOTS", "DAVIS", "YouTubeVIS"):
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


def test_timings_of_calls_by_name_and_in_threads(tmp_path, monkeypatch) -> None:
    """Once an evaluator has switched timings on, one with USE_PARALLEL works, and so do arguments by name."""
    from steelyard.compat.trackeval import _timing

    for name in ("DO_TIMING", "DISPLAY_LESS_PROGRESS"):
        monkeypatch.setattr(_timing, name, False)
    monkeypatch.setattr(_timing, "timer_dict", {})
    config = mot(tmp_path, 0)
    quiet = evaluated(ours, tmp_path, "MotChallenge2DBox", config)[0]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        ours.Evaluator({**QUIET, "TIME_PROGRESS": True, "DISPLAY_LESS_PROGRESS": False})
        ours.datasets.MotChallenge2DBox({**config, "PRINT_CONFIG": False}).get_raw_seq_data(tracker="one", seq="S0")
    assert "MotChallenge2DBox.get_raw_seq_data(one, S0)" in said.getvalue()
    same(evaluated(ours, tmp_path, "MotChallenge2DBox", config, USE_PARALLEL=True)[0], quiet)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_progress_bar_changes_no_results(tmp_path, parallel) -> None:
    config = mot(tmp_path, 0)
    answers = []
    for package in (ours, theirs):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            out = str(tmp_path / package.__name__)
            data = package.datasets.MotChallenge2DBox({**config, "PRINT_CONFIG": False, "OUTPUT_FOLDER": out})
            settings = {"USE_PARALLEL": parallel and package is ours, "NUM_PARALLEL_CORES": 2}
            evaluator = package.Evaluator({**QUIET, **settings})
            answers.append(evaluator.evaluate([data], [package.metrics.HOTA()], show_progressbar=True)[0])
    same(*map(ordered, answers))


def test_files_of_results_are_read_back(tmp_path) -> None:
    compared(tmp_path, "MotChallenge2DBox", mot(tmp_path, 0))
    path = str(tmp_path / ours.__name__ / "one" / "pedestrian_detailed.csv")
    assert ours.utils.load_detail(path) == theirs.utils.load_detail(path)


def test_settings_of_the_command_line(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["run", "--A", "True", "--B", "3", "--C", "x", "--D", "a", "b"])
    config = {"A": False, "B": 1, "C": "text", "D": None, "E": ["kept"]}
    assert ours.utils.update_config(dict(config)) == theirs.utils.update_config(dict(config))


@pytest.mark.parametrize("setting", [["--A", "yes"], ["--B", "x"], ["--Z", "1"]])
def test_settings_of_the_command_line_that_do_not_fit(monkeypatch, capsys, setting) -> None:
    monkeypatch.setattr("sys.argv", ["run", *setting])
    said = []
    for package in (ours, theirs):
        with pytest.raises((Exception, SystemExit)) as caught:
            package.utils.update_config({"A": False, "B": 1})
        said.append((caught.type, str(caught.value), capsys.readouterr()))
    assert said[0] == said[1]


def test_files_of_results_with_odd_rows(tmp_path) -> None:
    """Rows without a name or with too few values are passed over."""
    (tmp_path / "x.csv").write_text("seq,a,b\nS,1,2\n,3,4\nT,5\nCOMBINED,6,7\n")
    path = str(tmp_path / "x.csv")
    expected = {"S": {"a": 1.0, "b": 2.0}, "COMBINED_SEQ": {"a": 6.0, "b": 7.0}}
    assert ours.utils.load_detail(path) == theirs.utils.load_detail(path) == expected


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


def reported(name, config, cls, metrics):
    """A report of one evaluation by the drop-in, and what TrackEval's own classes give for a class."""
    with contextlib.redirect_stdout(io.StringIO()):
        data = getattr(ours.datasets, name)({**config, "PRINT_CONFIG": False})
        evaluator = ours.Evaluator({**QUIET, "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False})
        evaluator.evaluate([data], [ours.metrics.HOTA(), ours.metrics.CLEAR({"PRINT_CONFIG": False})])
        data = getattr(theirs.datasets, name)({**config, "PRINT_CONFIG": False})
        quiet = {**QUIET, "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False, "PLOT_CURVES": False}
        families = [theirs.metrics.HOTA(), theirs.metrics.CLEAR({"PRINT_CONFIG": False})]
        res, _ = theirs.Evaluator(quiet).evaluate([data], families)
    return compat.report(evaluator, metrics=metrics), res[name]["one"]["COMBINED_SEQ"][cls]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
@pytest.mark.parametrize(
    ("name", "draw", "cls"),
    [
        ("Kitti2DBox", lambda folder: kitti(folder, 1), "car"),
        ("MOTSChallenge", mots_challenge, "pedestrian"),
        ("KittiMOTS", kitti_mots, "car"),
        ("MotChallenge2DBox", lambda folder: {**mot(folder, 6), "BENCHMARK": "MOT20"}, "pedestrian"),
        ("MotChallenge2DBox", lambda folder: {**mot(folder, 6), "BENCHMARK": "DanceTrack"}, "pedestrian"),
        ("MotChallenge2DBox", lambda folder: {**mot(folder, 6), "DO_PREPROC": False}, "pedestrian"),
    ],
)
def test_reports_of_other_benchmarks(tmp_path, name, draw, cls) -> None:
    hota, mota = f"hota(label={cls})", f"mota(label={cls})"
    report, values = reported(name, draw(tmp_path), cls, [hota, mota])
    assert report[hota].value == pytest.approx(values["HOTA"]["HOTA"].mean(), abs=1e-12)
    assert report[mota].value == pytest.approx(values["CLEAR"]["MOTA"], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "draw", "chosen", "named"),
    [
        ("MotChallenge2DBox", lambda folder: mot(folder, 6), {"SEQ_INFO": {"S0": FRAMES}}, ["S1"]),
        ("MOTSChallenge", mots_challenge, {"SEQ_INFO": {"S0": FRAMES}}, ["S1"]),
        ("KittiMOTS", kitti_mots, {"SEQ_INFO": {"0002": FRAMES}}, ["0006"]),
        ("KittiMOTS", kitti_mots, {"GT_LOC_FORMAT": "{gt_folder}/label_02/../label_02/{seq}.txt"}, []),
    ],
)
def test_no_report_of_some_sequences_or_other_folders(tmp_path, name, draw, chosen, named) -> None:
    """A report reads the whole folder, so that its numbers would be those of other sequences."""
    with contextlib.redirect_stdout(io.StringIO()):
        data = getattr(ours.datasets, name)({**draw(tmp_path), **chosen, "PRINT_CONFIG": False})
        evaluator = ours.Evaluator({**QUIET, "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False})
        evaluator.evaluate([data], [ours.metrics.CLEAR({"PRINT_CONFIG": False})])
    with refuses("E-unsupported", *named):
        compat.report(evaluator)


@pytest.mark.parametrize(
    ("name", "draw", "truth"),
    [
        ("MotChallenge2DBox", lambda folder: mot(folder, 6), "gt/*/gt/gt.txt"),
        ("Kitti2DBox", lambda folder: kitti(folder, 1), "gt/label_02/*.txt"),
        ("MOTSChallenge", mots_challenge, "gt/*/gt/gt.txt"),
        ("KittiMOTS", kitti_mots, "gt/label_02/*.txt"),
    ],
)
def test_no_report_of_archives(tmp_path, name, draw, truth) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        config = packed(tmp_path, draw(tmp_path), truth)
        data = getattr(ours.datasets, name)({**config, "PRINT_CONFIG": False})
        evaluator = ours.Evaluator({**QUIET, "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False})
        evaluator.evaluate([data], [ours.metrics.CLEAR({"PRINT_CONFIG": False})])
    with refuses("E-unsupported"):
        compat.report(evaluator)


def pictures(folder, rng, objects, *, void):
    """Frames of object numbers: rectangles and discs that move, and some void pixels."""
    from PIL import Image

    folder.mkdir(parents=True)
    ys, xs = np.mgrid[:48, :70]
    middles = rng.uniform((8, 8), (40, 60), (objects, 2))
    for t in range(FRAMES - 4):
        frame = np.zeros((48, 70), dtype=np.uint8)
        for i in range(objects):
            if rng.random() < 0.2:
                continue
            y, x = middles[i] + t + rng.normal(0, 1, 2) + (0 if void else 2)
            near = (abs(ys - y) < 7) & (abs(xs - x) < 9) if i % 2 else (ys - y) ** 2 + (xs - x) ** 2 < 60
            frame[near] = 3 * i + 2
        if void:
            frame[:6, 20:40] = 255
        picture, options = Image.fromarray(frame), {}
        if t % 3:  # grey, a palette, and a palette with a transparent colour
            picture.putpalette([value % 256 for value in range(768)])
            options = {"transparency": 0} if t % 3 == 2 else {} if void else {"bits": 4}
        picture.save(folder / f"{t:05d}.png", **options)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
@pytest.mark.filterwarnings("ignore:.*empty slice:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    ("true", "predicted"),
    [(3, 3), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((2, 4), (4, 2))), (2, 0), (0, 2)],
)
def test_masks_of_davis(tmp_path, true, predicted) -> None:
    for number, seq in enumerate(("bear", "camel")):
        for side, objects in (("gt", true), ("trackers/one/data", predicted)):
            rng = np.random.default_rng(number)
            pictures(tmp_path / side / seq, rng, objects, void=side == "gt")
    config = {"GT_FOLDER": str(tmp_path / "gt"), "TRACKERS_FOLDER": str(tmp_path / "trackers")}
    metrics = ("JAndF", "HOTA", "CLEAR") if true else ("HOTA", "CLEAR")  # TrackEval's J stops without truth
    res, said, _ = compared(tmp_path, "DAVIS", config, metrics=metrics)
    if true and predicted:
        assert 0.1 < res[0]["DAVIS"]["one"]["COMBINED_SEQ"]["general"]["JAndF"]["J&F"] < 1
        assert "JAndF: one-general" in said


def davis(folder):
    """Three objects in two sequences, and a tracker's masks."""
    for number, seq in enumerate(("bear", "camel")):
        for side in ("gt", "trackers/one/data"):
            pictures(folder / side / seq, np.random.default_rng(number), 3, void=side == "gt")
    (folder / "list.txt").write_text("bear\n")
    return {"GT_FOLDER": str(folder / "gt"), "TRACKERS_FOLDER": str(folder / "trackers")}


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
@pytest.mark.parametrize(
    "change",
    [
        {"TRACKERS_TO_EVAL": ["one"], "TRACKER_DISPLAY_NAMES": ["Shown"]},
        {"SEQMAP_FILE": "list.txt"},
        {"SEQ_INFO": {"camel": 3}},
        {"MAX_DETECTIONS": 3},
    ],
)
def test_settings_of_davis(tmp_path, change) -> None:
    """Tables have the name of the tracker's folder: TrackEval reads display names for DAVIS and does not print them."""
    config = {**davis(tmp_path), **change}
    if "SEQMAP_FILE" in change:
        config["SEQMAP_FILE"] = str(tmp_path / "list.txt")
    _, said, _ = compared(tmp_path, "DAVIS", config, metrics=("JAndF", "CLEAR"))
    assert "CLEAR: one-general" in said


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
@pytest.mark.parametrize(
    "change",
    [
        {"SEQMAP_FILE": "nowhere.txt"},
        {"MAX_DETECTIONS": 2},
        {"CLASSES_TO_EVAL": ["car"]},
        {"TRACKERS_TO_EVAL": ["two"]},
        {"TRACKER_DISPLAY_NAMES": ["Shown"]},
    ],
)
def test_errors_of_the_config_of_davis(tmp_path, change) -> None:
    refused_alike(tmp_path, "DAVIS", {**davis(tmp_path), **change}, metrics=("CLEAR",))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
@pytest.mark.parametrize("change", [lambda pixels: pixels.astype(np.uint16) * 300, lambda pixels: pixels > 0])
def test_pictures_of_davis_with_other_depths(tmp_path, change) -> None:
    """Object numbers of 16 bits, and one object in pictures of one bit."""
    from PIL import Image

    config = davis(tmp_path)
    for path in (tmp_path / "trackers" / "one" / "data").rglob("*.png"):
        pixels = np.array(Image.open(path))
        Image.fromarray(change(pixels)).save(path)
    res, _, _ = compared(tmp_path, "DAVIS", config, metrics=("JAndF", "CLEAR"))
    assert res[0]["DAVIS"]["one"]["COMBINED_SEQ"]["general"]["Count"]["Dets"] > 0


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
def test_pictures_of_davis_that_are_missing_or_broken(tmp_path) -> None:
    from PIL import UnidentifiedImageError

    config = davis(tmp_path)
    picture = tmp_path / "trackers" / "one" / "data" / "bear" / "00001.png"
    picture.write_bytes(b"no picture")
    with refuses(UnidentifiedImageError, "00001.png"):
        evaluated(ours, tmp_path, "DAVIS", config, metrics=("CLEAR",))
    picture.unlink()
    refused_alike(tmp_path, "DAVIS", config, metrics=("CLEAR",))


def test_j_and_f_of_several_sequences_and_classes() -> None:
    """Sequences weigh by their true tracks, classes alike."""
    fields = ours.metrics.JAndF().float_fields
    every = {
        "a": {field: 0.1 * (i + 1) for i, field in enumerate(fields)} | {"num_gt_tracks": 3},
        "b": {field: 0.05 * (i + 3) for i, field in enumerate(fields)} | {"num_gt_tracks": 1},
    }
    mine, other = (package.metrics.JAndF() for package in (ours, theirs))
    for combine in ("combine_sequences", "combine_classes_class_averaged", "combine_classes_det_averaged"):
        same(*(ordered(getattr(metric, combine)(every)) for metric in (mine, other)))
    assert mine.combine_sequences(every)["J-Mean"] == pytest.approx((3 * 0.1 + 0.15) / 4)
    assert mine.combine_classes_class_averaged(every)["J-Mean"] == pytest.approx((0.1 + 0.15) / 2)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
def test_j_and_f_of_outlines() -> None:
    rng = np.random.default_rng(3)
    data = {"num_timesteps": 9, "num_gt_ids": 3, "num_tracker_ids": 2}
    for side, count in (("gt", 3), ("tracker", 2)):
        data[f"{side}_ids"] = [np.sort(rng.permutation(count)[: rng.integers(0, count + 1)]) for _ in range(9)]
        data[f"{side}_dets"] = [
            [masks.encode(np.asfortranarray(np.kron(rng.random((6, 8)) < 0.4, np.ones((9, 9), np.uint8)))) for _ in ids]
            for ids in data[f"{side}_ids"]
        ]
    whole = masks.encode(np.ones((54, 72), np.uint8, order="F"))
    data["gt_dets"][4] = [whole for _ in data["gt_dets"][4]]
    data["tracker_dets"][5] = [masks.encode(np.zeros((54, 72), np.uint8, order="F")) for _ in data["tracker_dets"][5]]
    for kind in ("J", "J&F"):
        results = []
        for package in (ours, theirs):
            metric = package.metrics.JAndF()
            metric.optim_type = kind
            results.append(
                metric.eval_sequence({name: list(v) if isinstance(v, list) else v for name, v in data.items()})
            )
        same(*map(ordered, results))
    for package in (ours, theirs):
        metric = package.metrics.JAndF()
        metric.optim_type = "F"
        with pytest.raises(package.utils.TrackEvalException, match="Unsupported optimization type F"):
            metric.eval_sequence({name: list(v) if isinstance(v, list) else v for name, v in data.items()})


def segments(rng, frames, place, *, uncompressed):
    """A track of masks, with gaps, and its areas."""
    ys, xs = np.mgrid[:40, :60]
    track, areas = [], []
    for t in range(frames):
        if rng.random() < 0.1:
            track.append(None)
            areas.append(None)
            continue
        y, x = place + t + rng.normal(0, 0.7, 2)
        mask = (abs(ys - y) < 7) & (abs(xs - x) < 9)
        rle = masks.encode(np.asfortranarray(mask.astype(np.uint8)))
        pixels = np.concatenate([[0], mask.T.ravel(), [2]]).astype(int)
        runs = np.diff(np.flatnonzero(np.diff(pixels)), prepend=0).tolist()
        track.append({"size": [40, 60], "counts": runs if uncompressed else rle["counts"].decode()})
        areas.append(int(mask.sum()))
    return track, areas


def youtube(folder, seed):
    rng = np.random.default_rng(seed)
    videos = [{"id": i + 1, "file_names": [f"v{i}/{t}.jpg" for t in range(6)]} for i in range(3)]
    annotations, results = [], []
    for video in videos:
        for i in range(4):
            place = rng.uniform((8, 8), (30, 45))
            track, areas = segments(rng, 6, place, uncompressed=True)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "video_id": video["id"],
                    "category_id": 1 + i % 2,
                    "segmentations": track,
                    "areas": areas,
                    "iscrowd": int(i == 3),
                    "height": 40,
                    "width": 60,
                }
            )
            results.append(
                {
                    "video_id": video["id"],
                    "category_id": 1 + i % 2 if rng.random() < 0.8 else 3,
                    "score": round(rng.random(), 1),
                    "segmentations": segments(rng, 6, place, uncompressed=False)[0],
                }
            )
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}, {"id": 3, "name": "emu"}]
    files = {
        "gt/youtube_vis_train_sub_split/truth.json": {
            "videos": videos,
            "categories": categories,
            "annotations": annotations,
        },
        "trackers/youtube_vis_train_sub_split/one/data/results.json": results,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(json.dumps(content))
    return {"GT_FOLDER": str(folder / "gt") + "/", "TRACKERS_FOLDER": str(folder / "trackers") + "/"}


def test_masks_of_youtube_vis(tmp_path) -> None:
    metrics = ("TrackMAP", "HOTA", "CLEAR", "Identity")
    res, said, files = compared(tmp_path, "YouTubeVIS", youtube(tmp_path, 1), metrics=metrics)
    assert "TrackMAP: one-cls_comb_cls_av" in said
    assert len(files) == 10
    assert 0 < res[0]["YouTubeVIS"]["one"]["COMBINED_SEQ"]["cat"]["TrackMAP"]["AP_all"].mean() < 1


@pytest.mark.parametrize(
    "change",
    [
        {"CLASSES_TO_EVAL": ["Dog"]},
        {"TRACKERS_TO_EVAL": ["one"], "TRACKER_DISPLAY_NAMES": ["Shown"]},
    ],
)
def test_settings_of_youtube_vis(tmp_path, change) -> None:
    config = {**youtube(tmp_path, 1), **change}
    for settings in ({"PRINT_ONLY_COMBINED": True}, {"OUTPUT_EMPTY_CLASSES": False}):
        compared(tmp_path, "YouTubeVIS", config, metrics=("TrackMAP", "HOTA"), **settings)


@pytest.mark.parametrize(
    "change",
    [
        {"CLASSES_TO_EVAL": ["cow"]},
        {"SPLIT_TO_EVAL": "val"},
        {"TRACKER_DISPLAY_NAMES": ["Shown"]},
        "gt/youtube_vis_train_sub_split/second.json",
        "trackers/youtube_vis_train_sub_split/one/data/second.json",
    ],
)
def test_errors_of_youtube_vis(tmp_path, change) -> None:
    """A class, a split or names that do not fit, and a second file beside the one that is expected."""
    config = youtube(tmp_path, 1)
    if isinstance(change, str):
        (tmp_path / change).write_text("{}")
    refused_alike(tmp_path, "YouTubeVIS", config if isinstance(change, str) else {**config, **change})


@pytest.mark.parametrize("side", ["truth", "results"])
def test_youtube_vis_with_nothing_on_a_side(tmp_path, side) -> None:
    """No tracks at all, or one without a mask in any frame, whose area is 0."""
    config = youtube(tmp_path, 1)
    folder = "gt" if side == "truth" else "trackers"
    path = next((tmp_path / folder).rglob(f"{side}.json"))
    content = json.loads(path.read_text())
    tracks = content["annotations"] if side == "truth" else content
    tracks[0]["segmentations"] = [None] * 6
    if side == "truth":
        tracks[0]["areas"] = [None] * 6
    path.write_text(json.dumps(content))
    compared(tmp_path, "YouTubeVIS", config, metrics=("TrackMAP", "HOTA"))
    tracks.clear()
    path.write_text(json.dumps(content))
    compared(tmp_path, "YouTubeVIS", config, metrics=("TrackMAP", "HOTA"))


def test_classes_above_classes(tmp_path) -> None:
    """A subclass that names groups of classes gets the results of each, in tables and files too."""
    config = youtube(tmp_path, 2)
    answers = []
    for package in (ours, theirs):

        class Animals(package.datasets.YouTubeVIS):
            def __init__(self, config=None):
                super().__init__(config)
                self.use_super_categories = True
                self.super_categories = {"pets": ["cat", "dog"], "birds": ["emu"]}

        out = tmp_path / package.__name__
        with contextlib.redirect_stdout(io.StringIO()) as said:
            data = Animals({**config, "PRINT_CONFIG": False, "OUTPUT_FOLDER": str(out)})
            metrics = [package.metrics.HOTA(), package.metrics.CLEAR({"PRINT_CONFIG": False})]
            res, _ = package.Evaluator(dict(QUIET)).evaluate([data], metrics)
        answers.append((ordered(res), said.getvalue(), {p.name: p.read_bytes() for p in out.rglob("*.*")}))
    same(*(answer[0] for answer in answers))
    assert answers[0][1:] == answers[1][1:]
    assert {"pets_summary.txt", "birds_detailed.csv"} <= set(answers[0][2])


def tracks_of_boxes(truth, results, **more):
    """The dict that TrackMAP takes, of tracks that begin at these places and move alike."""
    data = {"iou_type": "bbox", "boxformat": "xywh", "dt_track_scores": np.linspace(1, 0.5, len(results))}
    for side, places in (("gt", truth), ("dt", results)):
        data[f"{side}_track_ids"] = list(range(1, len(places) + 1))
        data[f"{side}_tracks"] = [{t: np.array([x + t, 5.0, 10.0, 10.0]) for t in range(4)} for x in places]
        data[f"{side}_track_areas"], data[f"{side}_track_lengths"] = [100.0] * len(places), [4] * len(places)
    return {**data, **more}


def average_precision(package, *sequences, **config):
    metric = package.metrics.TrackMAP({"PRINT_CONFIG": False, **config})
    results = {str(i): metric.eval_sequence(data) for i, data in enumerate(sequences)}
    combined = metric.combine_sequences(results)
    classes = {"a": combined, "b": metric.combine_sequences({"0": results["0"]})}
    return [
        results,
        combined,
        metric.combine_classes_class_averaged(classes),
        metric.summary_results({"COMBINED_SEQ": combined}),
    ]


@pytest.mark.parametrize(
    "sequences",
    [
        [tracks_of_boxes([], [])],
        [tracks_of_boxes([], [1])],
        [tracks_of_boxes([0], [])],
        [tracks_of_boxes([0], []), tracks_of_boxes([], []), tracks_of_boxes([0, 50], [1, 80])],
        [tracks_of_boxes([0, 50], [1, 80, 50], gt_track_iscrowd=[1, 0])],
        [tracks_of_boxes([0, 50], [1, 80, 50], gt_track_iscrowd=[1, 1])],
        [tracks_of_boxes([0, 50], [1, 80, 50], not_exhaustively_labeled=True)],
    ],
)
def test_average_precision_of_few_tracks(sequences) -> None:
    """Sides without tracks, crowds, and classes whose truth is not complete."""
    same(*(ordered(average_precision(package, *sequences)) for package in (ours, theirs)))


def test_average_precision_by_hand() -> None:
    """Of two truths the first result finds one, four frames with 90 common pixels of 110, and the second none."""
    combined = average_precision(ours, tracks_of_boxes([0, 50], [1, 80]))[1]
    # IoU 360 / 440 passes the thresholds to 0.8; recall 1/2 is reached at precision 1, which fills 51 of 101 points
    assert combined["AP_all"] == pytest.approx([51 / 101] * 7 + [0] * 3)
    assert combined["AR_all"] == pytest.approx([1 / 2] * 7 + [0] * 3)


@pytest.mark.parametrize(
    ("data", "config"),
    [
        (tracks_of_boxes([0], [0], iou_type="points"), {}),
        (tracks_of_boxes([0], [0], boxformat="centres"), {}),
        (tracks_of_boxes([0], [0]), {"MAX_DETECTIONS": -1}),
        (
            tracks_of_boxes(
                [0],
                [0],
                gt_tracks=[{0: np.array([0, 0, 5, 5.0]), 1: np.array([0, 0, -30, 5.0])}],
                dt_tracks=[{0: np.array([0, 0, 5, 5.0])}],
            ),
            {},
        ),
    ],
)
def test_errors_of_average_precision(data, config) -> None:
    """Unknown kinds of tracks and boxes, a negative limit, and boxes that make the union smaller than what is common."""
    said = []
    for package in (ours, theirs):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - TrackEval raises Exception itself
            average_precision(package, data, **config)
        said.append((caught.type.__name__, str(caught.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("boxformat", ["xywh", "x0y0x1y1"])
def test_average_precision_of_tracks_of_boxes(boxformat) -> None:
    rng = np.random.default_rng(2)

    def track(place):
        box = np.append(place, [20, 25] if boxformat == "xywh" else place + [20, 25])
        return {t: box + rng.normal(0, 2, 4) for t in rng.permutation(40)[: rng.integers(2, 12)].tolist()}

    every = {}
    for seq in range(4):
        places = rng.uniform(0, 60, (5, 2))
        data = {"iou_type": "bbox", "boxformat": boxformat, "not_exhaustively_labeled": seq == 3}
        for side, count in (("gt", 5), ("dt", 4)):
            data[f"{side}_track_ids"] = list(range(count))
            data[f"{side}_tracks"] = [track(places[i]) for i in range(count)]
            data[f"{side}_track_areas"] = rng.choice([100, 2000, 20000], count).tolist()
            data[f"{side}_track_lengths"] = rng.choice([2, 5, 30], count).tolist()
        data["dt_track_scores"] = sorted(rng.random(4).round(1).tolist(), reverse=True)
        every[str(seq)] = data
    for change in ({}, {"MAX_DETECTIONS": 2}, {"USE_TIME_RANGES": False, "USE_AREA_RANGES": False}):
        config = {"PRINT_CONFIG": False, "IOU_THRESHOLDS": np.arange(0.1, 0.5, 0.1), **change}
        results = []
        for package in (ours, theirs):
            metric = package.metrics.TrackMAP(dict(config))
            of_sequences = {seq: metric.eval_sequence(data) for seq, data in every.items()}
            combined = metric.combine_sequences(of_sequences)
            averaged = metric.combine_classes_class_averaged({"a": combined, "b": combined})
            results.append([ordered(of_sequences), combined, averaged])
        same(ordered(results[0]), ordered(results[1]))
