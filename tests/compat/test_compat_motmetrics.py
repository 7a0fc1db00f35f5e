"""The drop-in for motmetrics beside motmetrics itself: events, summaries and texts to the bit."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import motmetrics as theirs
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.optimize

from steelyard.compat import motmetrics as ours

EXACT = {"check_exact": True}
EVERY = [
    *ours.metrics.motchallenge_metrics,
    "num_frames",
    "num_matches",
    "num_detections",
    "num_objects",
    "num_predictions",
    "idtp",
    "idfp",
    "idfn",
]


@pytest.fixture(scope="module", autouse=True)
def _both_run():
    """Both with SciPy's answers, also where another solver is installed; motmetrics 1.4.0 was written for NumPy 1."""
    with pytest.MonkeyPatch.context() as patch, theirs.lap.set_default_solver("scipy"):
        patch.setattr(np, "asfarray", lambda values: np.asarray(values, dtype=float), raising=False)
        with ours.lap.set_default_solver("scipy"):
            yield


def frames(seed, count=20, people=7, levels=None):
    """Ids and distances of frames; with `levels` distances tie."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        objects, hypotheses = (rng.permutation(people)[: rng.integers(0, people + 1)] for _ in range(2))
        distance = rng.uniform(0, 1, (len(objects), len(hypotheses))).round(2)
        if levels:
            distance = rng.choice(levels, distance.shape)
        distance[rng.random(distance.shape) < 0.5] = np.nan
        yield objects, hypotheses, distance


def accumulated(package, seed, **settings):
    limit = {name: settings.pop(name) for name in ("max_switch_time",) if name in settings}
    acc = package.MOTAccumulator(auto_id=True, **limit)
    for frame in frames(seed, **settings):
        acc.update(*frame)
    return acc


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_events_and_all_metrics(seed) -> None:
    mine, other = (accumulated(package, seed) for package in (ours, theirs))
    pd.testing.assert_frame_equal(mine.events, other.events, **EXACT)
    pd.testing.assert_frame_equal(mine.mot_events, other.mot_events, **EXACT)
    hosts = [package.metrics.create() for package in (ours, theirs)]
    pd.testing.assert_frame_equal(
        hosts[0].compute(mine, metrics=EVERY), hosts[1].compute(other, metrics=EVERY), **EXACT
    )
    for name in ("obj_frequencies", "pred_frequencies", "track_ratios"):
        parts = [
            host.compute(acc, metrics=name, return_dataframe=False)[name]
            for host, acc in zip(hosts, (mine, other), strict=True)
        ]
        pd.testing.assert_series_equal(*parts, **EXACT)
    parts = [
        host.compute(acc, metrics=["id_global_assignment"], return_dataframe=False)
        for host, acc in zip(hosts, (mine, other), strict=True)
    ]
    for key, value in parts[1]["id_global_assignment"].items():
        np.testing.assert_array_equal(parts[0]["id_global_assignment"][key], value)


def test_ties_and_a_limit_of_switches() -> None:
    for seed in range(3):
        settings = {"levels": [0.0, 0.25, 0.5], "max_switch_time": 3}
        mine, other = (accumulated(package, seed, **settings) for package in (ours, theirs))
        pd.testing.assert_frame_equal(mine.events, other.events, **EXACT)


def test_summaries_of_several(capsys) -> None:
    texts = []
    for package in (ours, theirs):
        host = package.metrics.create()
        accs = [accumulated(package, seed) for seed in range(3)]
        many = host.compute_many(accs, names=["a", "b", "c"], metrics=EVERY, generate_overall=True)
        names = package.io.motchallenge_metric_names
        texts.append((many, package.io.render_summary(many, formatters=host.formatters, namemap=names)))
        texts[-1] += (host.list_metrics_markdown(include_deps=True), host.names)
    pd.testing.assert_frame_equal(texts[0][0], texts[1][0], **EXACT)
    assert texts[0][1:] == texts[1][1:]


def tracks(seed, frames=15, people=6):
    """Rows of MOTChallenge: truth and results."""
    rng = np.random.default_rng(seed)
    places, sizes = rng.uniform(0, 100, (people, 2)), rng.uniform(15, 40, (people, 2))
    sides = [[], []]
    for frame in range(1, frames + 1):
        for i in range(people):
            for side, noise in zip(sides, (0, 4), strict=True):
                if rng.random() < 0.8:
                    x, y = (places[i] + frame + rng.normal(0, 1, 2) * noise).round(2)
                    width, height = sizes[i].round(1)
                    id_ = i + 1 if not noise or rng.random() < 0.9 else i + 20
                    side.append(
                        f"{frame},{id_},{x},{y},{width},{height},{rng.integers(0, 2)},{1 + i % 3},{rng.random():.2f}"
                    )
    return ["\n".join(side) + "\n" for side in sides]


def written(folder, seed, edit=lambda text: text):
    paths = []
    for name, text in zip(("gt", "results"), tracks(seed), strict=True):
        paths.append(str(folder / f"{name}.txt"))
        (folder / f"{name}.txt").write_text(edit(text))
    (folder / "seqinfo.ini").write_text("[Sequence]\nseqLength=15\n")
    return paths


@pytest.mark.filterwarnings("ignore:Operation with tuple")  # of motmetrics itself
@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text,
        lambda text: text.replace(",", " "),
        lambda text: text.replace("\n", ",-1\n"),
        lambda text: text.replace("\n", "\r\n"),
    ],
)
def test_files_of_motchallenge(tmp_path, edit) -> None:
    paths = written(tmp_path, 1, edit)
    for confidence in ({}, {"min_confidence": 1}):
        mine, other = (package.io.loadtxt(paths[0], fmt="mot16", **confidence) for package in (ours, theirs))
        pd.testing.assert_frame_equal(mine, other, **EXACT)


def test_files_of_other_formats(tmp_path) -> None:
    vatic = tmp_path / "vatic.txt"
    vatic.write_text(
        '0 1 2 11 22 5 0 0 1 "Car" "Red"\n1 3 4 13 24 5 1 0 0 "Bus"\n0 2 2 12 22 6 0 1 0 "Car" "Big" "Red"\n'
    )
    xml = tmp_path / "detrac.xml"
    xml.write_text(
        '<sequence name="x"><frame num="1"><target_list><target id="1"><box left="1.5" top="2" width="3" height="4"/>'
        '</target></target_list></frame><frame num="2"><target_list>'
        '<target id="1"><box left="2.5" top="2" width="3" height="4"/></target>'
        '<target id="4"><box left="9.5" top="8" width="3" height="4"/></target></target_list></frame></sequence>'
    )
    mine, other = (package.io.loadtxt(str(vatic), fmt="vatic-txt") for package in (ours, theirs))
    pd.testing.assert_frame_equal(mine, other, **EXACT)
    mine = ours.io.loadtxt(str(xml), fmt="detrac-xml")
    assert mine.reset_index().to_numpy().tolist() == [
        [1, 1, 0.5, 1, 3, 4, 1, -1, -1],
        [2, 1, 1.5, 1, 3, 4, 1, -1, -1],
        [2, 4, 8.5, 7, 3, 4, 1, -1, -1],
    ]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of motmetrics itself
@pytest.mark.filterwarnings("ignore:Operation with tuple")
def test_files_of_detrac_in_matlab(tmp_path: Path) -> None:
    """Numbers of 32 bits, from which 1 is taken in 64 bits; an object whose left edge is 0 is not there."""
    rng = np.random.default_rng(0)
    fields = {name: rng.uniform(0, 100, (4, 3)) for name in ("X", "Y", "H", "W")}
    fields["X"][2] = 0
    fields["X"][0, 1] = 0
    info = np.zeros((1, 1), dtype=[(name, object) for name in (*fields, "frameNums")])
    for name, values in (*fields.items(), ("frameNums", np.arange(1, 5)[None])):
        info[name][0, 0] = values
    path = str(tmp_path / "detrac.mat")
    scipy.io.savemat(path, {"gtInfo": info})
    mine, other = (package.io.loadtxt(path, fmt="detrac-mat") for package in (ours, theirs))
    assert len(other) == 8
    pd.testing.assert_frame_equal(mine, other, **EXACT)


@pytest.mark.filterwarnings("ignore:Operation with tuple")
def test_other_sources_and_separators(tmp_path: Path) -> None:
    text = tracks(1)[0]
    path = tmp_path / "gt.txt"
    for written_text, settings in (
        (text.replace(",", ";"), {"sep": ";"}),
        (text.replace("\n", "\n\n", 1), {}),
        (text + "16,1,,2,3,4,1,1,1\n", {}),  # a field without a number
    ):
        path.write_text(written_text)
        tables = [package.io.loadtxt(str(path), **settings) for package in (ours, theirs)]
        pd.testing.assert_frame_equal(*tables, **EXACT)
    tables = [package.io.loadtxt(io.StringIO(text)) for package in (ours, theirs)]
    pd.testing.assert_frame_equal(*tables, **EXACT)
    for package in (ours, theirs):
        with pytest.raises(FileNotFoundError):
            package.io.loadtxt(str(tmp_path / "nowhere.txt"))


@pytest.mark.filterwarnings("ignore:Operation with tuple")
@pytest.mark.parametrize("dist", ["iou", "seuc"])
@pytest.mark.parametrize("empty", [(True, False), (False, True)])
def test_a_side_without_rows(tmp_path: Path, dist: str, empty: tuple[bool, bool]) -> None:
    """A tracker that found nobody, and a sequence without people."""
    paths = written(tmp_path, 1)
    answers = []
    for package in (ours, theirs):
        tables = map(package.io.loadtxt, paths)
        truth, results = (table.iloc[:0] if nobody else table for table, nobody in zip(tables, empty, strict=True))
        acc = package.utils.compare_to_groundtruth(truth, results, dist)
        summary = package.metrics.create().compute(acc, metrics=["num_misses", "num_false_positives", "num_objects"])
        answers.append((acc.events, summary))
    assert answers[1][1].iloc[0].sum() > 0
    for mine, other in zip(*answers, strict=True):
        pd.testing.assert_frame_equal(mine, other, **EXACT)


@pytest.mark.filterwarnings("ignore:Operation with tuple")
@pytest.mark.parametrize("scored", [True, False])
def test_the_development_kit_with_pedestrians_only(tmp_path: Path, scored: bool) -> None:
    """Without `include_all` class 1 alone counts; without any such row, all results are false positives."""
    paths = written(tmp_path, 4)
    answers = []
    for package in (ours, theirs):
        truth, results = map(package.io.loadtxt, paths)
        truth = truth[truth.index.get_level_values(0) != 3]  # a frame that only the results have
        if not scored:
            truth.loc[:, "ClassId"] = 3
        answers.append(package.utils.CLEAR_MOT_M(truth, results, str(tmp_path / "seqinfo.ini")))
    assert bool(answers[1][1]["obj"]) == scored
    pd.testing.assert_frame_equal(answers[0][0].events, answers[1][0].events, **EXACT)
    assert answers[0][1] == answers[1][1]


def test_a_distance_that_is_not_known(tmp_path: Path) -> None:
    truth, results = map(ours.io.loadtxt, written(tmp_path, 1))
    with pytest.raises(TypeError, match="'cosine'"):
        ours.utils.compare_to_groundtruth(truth, results, "cosine")


@pytest.mark.filterwarnings("ignore:Operation with tuple")
@pytest.mark.parametrize(
    ("dist", "limit"),
    [
        ("iou", 0.5),
        pytest.param("iou", 0.9, marks=pytest.mark.slow),
        pytest.param("euc", 6.0, marks=pytest.mark.slow),
        ("seuc", 30.0),
    ],
)
def test_tables_are_compared(tmp_path, dist, limit) -> None:
    fields = None if dist == "iou" else ["X", "Y"]
    for seed in range(3):
        paths = written(tmp_path, seed)
        answers = []
        for package in (ours, theirs):
            truth, results = map(package.io.loadtxt, paths)
            truth.iloc[0, 2] = 0.0 if seed == 2 else truth.iloc[0, 2]  # a box without an area
            results = results[results.index.get_level_values(0) != 4]
            answers.append(package.utils.compare_to_groundtruth(truth, results, dist, fields, limit))
        pd.testing.assert_frame_equal(answers[0].events, answers[1].events, **EXACT)


@pytest.mark.filterwarnings("ignore:Operation with tuple")
def test_the_development_kit(tmp_path) -> None:
    paths = written(tmp_path, 4)
    answers, logs = [], []
    for package in (ours, theirs):
        log = io.StringIO()
        tables = map(package.io.loadtxt, paths)
        acc, analysis = package.utils.CLEAR_MOT_M(*tables, str(tmp_path / "seqinfo.ini"), include_all=True)
        answers.append((acc.events, analysis))
        logs.append(log.getvalue())
    pd.testing.assert_frame_equal(answers[0][0], answers[1][0], **EXACT)
    assert answers[0][1] == answers[1][1]


def test_events_are_logged() -> None:
    logs = []
    steps = [([1], [5], [[0.1]]), ([1, 2], [6, 7], [[0.1, np.nan], [np.nan, 0.2]]), ([1, 3], [8], [[np.nan], [0.2]])]
    for package in (ours, theirs):
        acc, log = package.MOTAccumulator(), io.StringIO()
        for frame, step in enumerate(steps):
            acc.update(*step, frameid=frame, vf=log)
        logs.append(log.getvalue())
    assert logs[0] == logs[1] == "AS 1 0 5 1 6\nFN 2 1\n"


def test_transfers_are_logged() -> None:
    """A hypothesis goes to an object that is new (MI); an object goes to a hypothesis that is new (AS)."""
    logs = []
    steps = [
        ([1], [5], [[0.1]]),
        ([2], [5], [[0.2]]),
        ([2, 3], [5, 6, 7], [[0.1, np.nan, np.nan], [np.nan, 0.3, 0.4]]),
        ([3], [9], [[0.1]]),
    ]
    for package in (ours, theirs):
        acc, log = package.MOTAccumulator(), io.StringIO()
        for frame, step in enumerate(steps):
            acc.update(*step, frameid=frame, vf=log)
        logs.append(log.getvalue())
    assert logs[0] == logs[1] == "MI 5 0 1 1 2\nFP 2 7\nAS 3 2 6 3 9\n"


def test_merged_tables() -> None:
    accs = [accumulated(ours, seed, count=3, people=3) for seed in range(2)]
    merged, mappings = ours.MOTAccumulator.merge_event_dataframes(accs, return_mappings=True)
    assert len(merged) == sum(len(acc.events) for acc in accs)
    assert merged.index.get_level_values(0).unique().tolist() == list(range(6))
    assert [info["frame_offset"] for info in mappings] == [0, 3]
    ids = [list(info["oid_map"].values()) for info in mappings]
    assert sorted(ids[0] + ids[1], key=int) == [str(i) for i in range(len(ids[0]) + len(ids[1]))]
    host = ours.metrics.create()
    whole = host.compute(merged, metrics=["num_objects", "num_frames", "mota"])
    overall = host.compute_many(accs, metrics=["num_objects", "num_frames", "mota"], generate_overall=True)
    assert whole.loc[0].tolist() == overall.loc["OVERALL"].tolist()


def test_analyses_are_merged() -> None:
    """Counts under the new ids; ids that are texts in the mapping, and missing ones."""
    analyses = [{"obj": {1: 3, 2: 4}, "hyp": {5: 1}}, {"obj": {1: 2}, "hyp": {}}]
    maps = [
        {"oid_map": {1: "0", "2": "1", np.nan: "9"}, "hid_map": {5: "0", "nan": "7"}},
        {"oid_map": {1: "2"}, "hid_map": {}},
    ]
    mine, other = (package.MOTAccumulator.merge_analysis(analyses, maps) for package in (ours, theirs))
    assert mine == other == {"hyp": {7: 0, 0: 1}, "obj": {9: 0, 0: 3, 1: 4, 2: 2}}
    assert ours.MOTAccumulator.merge_analysis([analyses[0], None], maps) is None


def test_frames_are_numbered_by_one_side_only() -> None:
    for package in (ours, theirs):
        with pytest.raises(AssertionError):
            package.MOTAccumulator().update([1], [1], [[0.1]])
        with pytest.raises(AssertionError):
            package.MOTAccumulator(auto_id=True).update([1], [1], [[0.1]], frameid=3)


def test_accumulators_without_pairs_and_without_frames() -> None:
    steps: list[list[Any]] = [
        [],
        [([1, 2], [], np.empty((2, 0))), ([], [5], np.empty((0, 1))), ([], [], np.empty((0, 0)))],
    ]
    for frames_of_case in steps:
        answers = []
        for package in (ours, theirs):
            acc = package.MOTAccumulator(auto_id=True)
            for step in frames_of_case:
                acc.update(*step)
            values = package.metrics.create().compute(acc, metrics=EVERY, return_dataframe=False)
            answers.append((acc.events, {name: repr(float(value)) for name, value in values.items()}))
        pd.testing.assert_frame_equal(answers[0][0], answers[1][0], **EXACT)
        assert answers[0][1] == answers[1][1]
    pd.testing.assert_frame_equal(*(package.MOTAccumulator.new_event_dataframe() for package in (ours, theirs)))


def test_metrics_with_dependencies_of_their_own() -> None:
    """Dependencies that are named, none, and a function that combines sequences."""

    def count(df: Any) -> int:
        return len(df.full)

    def twice(df: Any, number: int) -> int:
        return 2 * number

    def combined(partials: Any, number: int) -> int:
        return 100 + number

    def added(partials: Any) -> Any:
        return sum(part["rows"] for part in partials)

    answers = []
    for package in (ours, theirs):
        host = package.metrics.MetricsHost()
        host.register(count, deps=None, name="rows", helpstr="Rows.", fnc_m=added, deps_m=None)
        host.register(twice, deps=["rows"], name="twice", fnc_m=combined, deps_m=["rows"])
        host.register(package.metrics.num_frames, name="frames_alone")
        accs = [accumulated(package, seed) for seed in range(2)]
        table = host.compute_many(accs, metrics=["twice", "rows"], generate_overall=True)
        answers.append((table, host.list_metrics(include_deps=True)))
        partials = [host.compute(acc, metrics="frames_alone", return_dataframe=False) for acc in accs]
        with pytest.raises((AssertionError, TypeError)):  # nothing combines it
            host.compute_overall(partials, metrics="frames_alone")
        with pytest.raises(AssertionError):
            host.register(None, name="nothing")
    pd.testing.assert_frame_equal(answers[0][0], answers[1][0], **EXACT)
    pd.testing.assert_frame_equal(answers[0][1], answers[1][1])
    rows = answers[1][0]["rows"].tolist()
    assert answers[0][0]["twice"].tolist() == [2 * rows[0], 2 * rows[1], 100 + rows[0] + rows[1]]


def test_metrics_of_users() -> None:
    def doubled(df, num_matches):
        """Twice the matches."""
        return 2 * num_matches + len(df.raw) - len(df.raw)

    values = []
    for package in (ours, theirs):
        host = package.metrics.create()
        host.register(doubled, formatter="{:d}".format)
        values.append(host.compute(accumulated(package, 0), metrics=["doubled", "num_frames"]).to_dict())
        with pytest.raises(AssertionError, match="Cannot find metric nothing required by summarize"):
            host.compute(accumulated(package, 0), metrics="nothing")
    assert values[0] == values[1]


@pytest.mark.parametrize("seed", range(4))
def test_assignments(seed) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.choice([1.0, 2.0, 3.0, np.nan, np.inf], rng.integers(1, 9, 2))
    for one, two in zip(ours.lap.linear_sum_assignment(costs), theirs.lap.linear_sum_assignment(costs), strict=True):
        np.testing.assert_array_equal(one, two)
    assert ours.lap.linear_sum_assignment(np.empty((0, 3)))[0].tolist() == []
    for package in (ours, theirs):
        with pytest.raises(AssertionError):
            package.lap.linear_sum_assignment(costs, solver="unknown")
    with ours.lap.set_default_solver(lambda costs: ([0], [0])):
        assert ours.lap.linear_sum_assignment(costs)[1].tolist() == [0]


@pytest.mark.parametrize("solver", ["lapsolver", "lap"])
def test_other_solvers(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their packages are not here: SciPy's answer in the form of theirs takes their place, for both."""

    def solve_dense(costs: Any) -> Any:
        return scipy.optimize.linear_sum_assignment(costs)

    def lapjv(costs: Any, return_cost: bool, extend_cost: bool) -> Any:
        assert (return_cost, extend_cost) == (False, True)
        columns = np.full(costs.shape[0], -1)
        rows, chosen = scipy.optimize.linear_sum_assignment(costs)
        columns[rows] = chosen
        return columns, None

    monkeypatch.setitem(sys.modules, solver, SimpleNamespace(solve_dense=solve_dense, lapjv=lapjv))
    rng = np.random.default_rng(1)
    for shape in ((3, 3), (2, 5), (6, 2)):
        costs = rng.choice([1.0, 2.0, 3.0, np.nan, np.inf], shape)
        answers = [package.lap.linear_sum_assignment(costs, solver=solver) for package in (ours, theirs)]
        for mine, other in zip(*answers, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_distances() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 10, (5, 4)), rng.uniform(0, 10, (6, 4))
    b[0] = a[0]
    b[1, 2] = -3
    for name, limit in (("iou_matrix", 0.7), ("norm2squared_matrix", 40.0)):
        mine, other = (getattr(package.distances, name)(a, b, limit) for package in (ours, theirs))
        np.testing.assert_array_equal(mine, other)
        assert getattr(ours.distances, name)(a[:0], b).shape == (0, 0)


@pytest.mark.filterwarnings("ignore:Operation with tuple")
def test_a_compared_sequence_goes_on(tmp_path) -> None:
    """What `compare_to_groundtruth` leaves behind is what the frames after it need; ids also trade places."""
    for seed in range(3):
        paths = written(tmp_path, seed)
        answers = []
        for package in (ours, theirs):
            truth, results = map(package.io.loadtxt, paths)
            acc = package.utils.compare_to_groundtruth(truth, results, "iou", distth=0.95)
            states = [acc.m, acc.res_m, acc.last_occurrence, acc.last_match, acc.hypHistory]
            states = [{int(key): int(value) for key, value in state.items()} for state in states]
            rng = np.random.default_rng(seed)
            for frame in range(16, 19):
                acc.update([1, 2, 3, 4], [3, 21, 1, 99], rng.uniform(0, 1, (4, 4)), frameid=frame)
            answers.append((acc.events, states))
        pd.testing.assert_frame_equal(answers[0][0], answers[1][0], **EXACT)
        assert answers[0][1] == answers[1][1]


@pytest.mark.filterwarnings("ignore:Operation with tuple")
def test_an_id_twice_in_a_frame_is_compared(tmp_path) -> None:
    paths = written(tmp_path, 0)
    answers = []
    for package in (ours, theirs):
        truth, results = map(package.io.loadtxt, paths)
        results = pd.concat([results, results.iloc[3:5]])
        answers.append(package.utils.compare_to_groundtruth(truth, results, "iou", distth=0.9).events)
    pd.testing.assert_frame_equal(*answers, **EXACT)
