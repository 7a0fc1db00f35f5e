"""The drop-in for motmetrics beside motmetrics itself: events, summaries and texts to the bit."""

from __future__ import annotations

import io

import motmetrics as theirs
import numpy as np
import pandas as pd
import pytest

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
    with ours.lap.set_default_solver(lambda costs: ([0], [0])):
        assert ours.lap.linear_sum_assignment(costs)[1].tolist() == [0]


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
