"""Shards on the processes of one machine: the same report as all data at once, resumed, joined, and with bad shards."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.drawn import DRAW
from support.scale_help import files, write_shards
from support.tiers import slow_except

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.core import catalogue
from steelyard.core.ranking import tied_by_unit
from steelyard.results.report import Report
from steelyard.scale import evaluate_shards, run, shards
from steelyard.scale.engines import Failure, Local, run_guarded
from steelyard.scale.walks import in_groups

Run = Callable[..., subprocess.CompletedProcess[str]]


def in_one_place(task: str, sides: tuple[Any, Any], *args: Any, **named: Any) -> Report:
    """Rows in the order of the units' ids, as gathering leaves them: equal scores keep that order."""
    whole = sy.Accumulator(task, **named)
    whole.update(*sides)
    return whole.report(*args)


def same(report: Report, expected: Report) -> None:
    assert report.scores == expected.scores
    assert report.slices == expected.slices
    assert report.coverage == expected.coverage
    assert report.notes == expected.notes
    assert replace(report, sources=expected.sources) == expected
    assert report.sources.version == expected.sources.version


WITHOUT_GROUPS = ("labels", "boxes", "grounding", "tables", "documents")  # whose drawn data have no such column
# The exact median of all pixels needs all images at once; over shards it is that of the bins, which a note says.
METRICS = {"normals": ["angle", "angle_rmse", "angle_median(exact=false)", "within@11.25"]}


@pytest.mark.parametrize("shape", [(3, 3), (3, 2)], ids=["pairs", "hash"])
@pytest.mark.parametrize("task", slow_except(catalogue.TASKS, "weights", "labels", "boxes"))
def test_is_what_all_at_once_gives(task: str, shape: tuple[int, int], tmp_path: Path) -> None:
    sides = write_shards(task, tmp_path, *shape)
    by = [] if task in WITHOUT_GROUPS else ["group"]
    metrics = METRICS.get(task)
    expected = in_one_place(task, sides, *([metrics] if metrics else []), draws=100, by=by)
    report = evaluate_shards(task, *files(tmp_path), metrics, work=tmp_path / "work", workers=1, draws=100, by=by)
    same(report, expected)
    assert report.sources.truth.digest.startswith("units:")
    if shape == (3, 3):  # cut in another way, the same units are the same data
        shutil.rmtree(tmp_path / "truth")
        shutil.rmtree(tmp_path / "pred")
        write_shards(task, tmp_path, 1, 1)
        again = evaluate_shards(task, *files(tmp_path), metrics, work=tmp_path / "work", workers=1, draws=100, by=by)
        assert again.sources.truth.digest == report.sources.truth.digest
        assert again.sources.predictions.digest == report.sources.predictions.digest
        same(again, expected)


RANKED = {
    "boxes": [
        "map", "map50", "map75", "map(area=small)", "map(area=[0, 5000])", "ar@1", "ar@10", "ar@100(area=large)", "ap",
        "ap(kind=voc)", "ap(kind=voc11)", "ap(kind=step)", "ap(kind=voc11, rule=voc)", "ap(label=cat)", "map(max_dets=2)",
        "map(max_dets=300)", "map(iou=0.3:0.6)", "lamr", "precision", "fpr_image", "best_f1", "dap(error=cls)",
        "ap(kind=loop)", "ap(kind=loop, ties=order)", "ap(kind=step, ties=order)", "ap(kind=step, reduction=sum)",
        "map50(kind=loop)",
    ],
    "labels": [
        "roc_auc", "ap", "best_f1", "best_threshold", "tpr_at_fpr@0.1", "macro(ap)", "macro(roc_auc)", "weighted(ap)",
        "micro(ap)", "micro(roc_auc)", "ovo(roc_auc)", "ovo(ap, weighted=true)",
        "ap(kind=loop)", "ap(ties=order)", "macro(ap(kind=loop, ties=order))",
    ],
    "ellipses": ["ap", "ap(iou=0.5:0.95, kind=coco)", "ap(kind=voc, iou=0.5)", "ap(kind=voc11, iou=0.3)", "recall"],
}  # fmt: skip


@pytest.mark.parametrize("units", [40, 1100], ids=["with a jackknife", "many units"])
@pytest.mark.parametrize("task", list(RANKED))
def test_rankings_are_walked_by_class_on_the_workers(
    task: str, units: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal scores across shards, classes that a shard lacks, memory for a few events at a time; nothing is gathered."""
    rng = np.random.default_rng(5)
    truth, predictions = DRAW[task](rng, units // 3 if task == "labels" else units)
    if task == "boxes":
        predictions["score"] = np.round(predictions["score"], 2)
        truth["label"] = np.where(np.array(truth["image"]) == truth["image"][0], "yak", truth["label"])
    elif task == "labels":
        del truth["group"]
    else:
        predictions["score"] = np.round(predictions["score"], 2)
    key = catalogue.find_task(task).truth.key[0]
    shards = {unit: int(rng.integers(4)) for unit in dict.fromkeys(truth[key])}
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, side in (("truth", truth), ("pred", predictions)):
        (tmp_path / name).mkdir()
        listed = {column: list(values) for column, values in side.items()}
        for number in range(4):
            rows = [i for i, unit in enumerate(side[key]) if shards[unit] == number]
            table = pa.table({column: [values[i] for i in rows] for column, values in listed.items()})
            pq.write_table(table, tmp_path / name / f"{number}.parquet")
    wanted = RANKED[task] if units < 1000 else RANKED[task][:9]
    expected = in_one_place(task, (truth, predictions), wanted, draws=100)
    monkeypatch.setattr(run, "_report_in_one_place", None)
    memory = 64 * (300 if units < 1000 else 2000)
    report = evaluate_shards(
        task, *files(tmp_path), wanted, work=tmp_path / "work", workers=1, draws=100, memory=memory
    )
    same(report, expected)


def test_equal_scores_go_by_unit() -> None:
    score = np.array([0.5, 0.9, 0.5, 0.5, 0.9, 0.1])
    unit = np.array([3, 2, 1, 3, 0, 0])
    assert tied_by_unit(score, unit).tolist() == [4, 1, 2, 0, 3, 5]
    assert in_groups(np.array([5, 5, 20, 1, 1]), 10) == [(0, 1), (2,), (3, 4)]


def test_counted_labels_are_the_same_as_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand rows are counted by cell, and so are the shards of so many, though each is small."""
    rng = np.random.default_rng(1)
    ids, label = [f"r{i}" for i in range(12_000)], rng.choice(["a", "b", "c"], 12_000)
    sides: Any = ({"id": ids, "label": label}, {"id": ids, "label": rng.permutation(label)})
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, side in zip(("truth", "pred"), sides, strict=True):
        (tmp_path / name).mkdir()
        for number in range(3):
            table = pa.table({column: list(values)[number::3] for column, values in side.items()})
            pq.write_table(table, tmp_path / name / f"{number}.parquet")
    wanted = ["accuracy", "macro(f1)", "mcc"]
    expected = in_one_place("labels", sides, wanted, draws=100)
    monkeypatch.setattr(run, "_report_in_one_place", None)
    same(evaluate_shards("labels", *files(tmp_path), wanted, work=tmp_path / "w", workers=1, draws=100), expected)


def states(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "states").iterdir())}


def test_a_resumed_run_makes_only_what_is_missing(tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 4, 4)
    first = evaluate_shards("boxes", *files(tmp_path), work=tmp_path / "work", workers=1, draws=100)
    before = states(tmp_path / "work")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "work" / "states").iterdir()}
    gone = [path for i, path in enumerate(sorted(times)) if i % 3 == 0]
    for path in gone:
        path.unlink()
    again = evaluate_shards("boxes", *files(tmp_path), work=tmp_path / "work", workers=1, draws=100)
    assert again.to_json() == first.to_json()
    assert states(tmp_path / "work") == before
    assert [p for p in sorted(times) if p.stat().st_mtime_ns != times[p]] == gone


def test_two_processes_give_the_same_bytes(tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 4, 3)
    reports = []
    for workers in (1, 2):
        report = evaluate_shards("boxes", *files(tmp_path), work=tmp_path / f"{workers}", workers=workers, draws=100)
        reports.append(report.to_json())
    assert reports[0] == reports[1]
    assert states(tmp_path / "1") == states(tmp_path / "2")


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    engine = Local(2)
    try:
        result = dict(engine.run(dies_once, [str(tmp_path / f"{i}") for i in range(5)]))
        assert [result[i] for i in range(5)] == [f"{i}" for i in range(5)]
        poison = dict(engine.run(dies_always, list(range(4))))
        assert poison[2] == Failure("its worker died 4 times")
        assert [poison[i] for i in (0, 1, 3)] == [0, 1, 3]
    finally:
        engine.close()


def dies_once(path: str) -> str:
    if path.endswith("3") and not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Path(path).name


def dies_always(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_guarded_gives_back_what_a_user_caused() -> None:
    def bad(_: Any) -> None:
        raise sy.InputError("no", where="here")

    assert run_guarded(bad, None, 1) == Failure("here: no")


POISON: dict[str, bytes] = {
    "not Parquet": b"PAR1" + b"\0" * 40,
    "nothing": b"",
}


@pytest.mark.parametrize("case", list(POISON))
@pytest.mark.parametrize("shape", [(4, 4), (4, 3)], ids=["pairs", "hash"])
def test_a_poison_shard_is_named_and_left_out_only_if_asked(case: str, shape: tuple[int, int], tmp_path: Path) -> None:
    sides = write_shards("weights", tmp_path, *shape)
    bad = tmp_path / "pred" / "02.parquet"
    bad.write_bytes(POISON[case])
    named: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "draws": 100, "missing": "skip"}
    with pytest.raises(sy.InputError, match=r"pred.02\.parquet: the shard cannot be taken: .*`skip_bad_shards=True`"):
        evaluate_shards("weights", *files(tmp_path), **named)
    report = evaluate_shards("weights", *files(tmp_path), skip_bad_shards=True, **named)
    assert any("1 of " in note and "pred/02.parquet" in note for note in report.notes)
    assert report.coverage.predictions < len(sides[1]["dish"])
    assert report.coverage.matched == report.coverage.predictions


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (4, 3)], ids=["pairs", "hash"])
def test_a_full_disk_is_not_a_bad_shard(
    skip: bool, shape: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third state cannot be written: the run ends, whether bad shards may be left out or not."""
    write_shards("weights", tmp_path, *shape)
    synced = []

    def fsync(handle: int) -> None:
        synced.append(handle)
        if len(synced) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("steelyard.io.write.os.fsync", fsync)
    named: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "draws": 100, "missing": "skip"}
    with pytest.raises(sy.InputError, match=r"cannot be written: No space left on device\. Make room") as caught:
        evaluate_shards("weights", *files(tmp_path), skip_bad_shards=skip, **named)
    assert "skip-bad-shards" not in str(caught.value)


def test_an_error_of_the_system_is_not_of_the_data() -> None:
    def full(item: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert not run_guarded(full, None, 1).of_data


def test_a_copy_that_cannot_be_written_is_not_a_bad_shard(tmp_path: Path) -> None:
    with open(tmp_path / "copy", "wb", buffering=0) as target:
        shards._put(target, b"abc")
        assert (tmp_path / "copy").read_bytes() == b"abc"
    with open(tmp_path / "copy", "rb", buffering=0) as closed, pytest.raises(sy.InputError, match="cannot be written"):
        shards._put(closed, b"abc")


def test_a_value_that_is_wrong_is_named(tmp_path: Path) -> None:
    write_shards("weights", tmp_path, 2, 2)
    (tmp_path / "pred" / "01.csv").write_text("dish,item,weight\nd0,i0,heavy\n")
    (tmp_path / "pred" / "01.parquet").unlink()
    with pytest.raises(sy.InputError, match=r"01\.csv, line 2, column 'weight': 'heavy' is not a number"):
        evaluate_shards("weights", files(tmp_path)[0], str(tmp_path / "pred" / "*"), work=tmp_path / "work", workers=1)


def test_a_missing_prediction_is_the_users_to_decide(tmp_path: Path) -> None:
    write_shards("weights", tmp_path, 2, 2)
    (tmp_path / "pred" / "01.parquet").unlink()
    with pytest.raises(sy.InputError, match="rows of the truth have no prediction"):
        evaluate_shards("weights", *files(tmp_path), work=tmp_path / "work", workers=1)
    report = evaluate_shards("weights", *files(tmp_path), work=tmp_path / "work", workers=1, missing="skip", draws=100)
    assert 0 < report.coverage.missing < report.coverage.truth


def test_a_unit_in_two_shards_counts_once_or_is_an_error(tmp_path: Path) -> None:
    sides = write_shards("weights", tmp_path, 3, 3)
    expected = in_one_place("weights", sides, draws=100)
    for name in ("truth", "pred"):
        shutil.copy(tmp_path / name / "01.parquet", tmp_path / name / "09.parquet")
    report = evaluate_shards("weights", *files(tmp_path), work=tmp_path / "work", workers=1, draws=100)
    assert report.scores == expected.scores
    assert report.coverage == expected.coverage
    assert report.notes[-1] == "8 dishes came more than once and count once."
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "pred" / "09.parquet")
    place = table.column_names.index("weight")
    pq.write_table(
        table.set_column(place, "weight", [[v + 1 for v in table["weight"].to_pylist()]]),
        tmp_path / "pred" / "09.parquet",
    )
    for join in ("pairs", "hash"):
        with pytest.raises(sy.InputError, match=r"dish 'd\d+' came twice with different"):
            evaluate_shards("weights", *files(tmp_path), work=tmp_path / "work", workers=1, join=join)


def test_files_of_another_system(tmp_path: Path) -> None:
    """A path that fsspec opens: here, a file inside a zip."""
    sides = write_shards("weights", tmp_path, 1, 1)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "truth" / "00.parquet", "truth.parquet")
        archive.write(tmp_path / "pred" / "00.parquet", "pred.parquet")
    urls = [f"zip://{name}.parquet::file://{tmp_path / 'all.zip'}" for name in ("truth", "pred")]
    report = evaluate_shards("weights", *urls, work=tmp_path / "work", workers=1, draws=100)
    assert report.scores == in_one_place("weights", sides, draws=100).scores
    pattern = [f"file://{path}" for path in files(tmp_path)]
    assert evaluate_shards("weights", *pattern, work=tmp_path / "work", workers=1, draws=100).scores == report.scores
    with pytest.raises(sy.InputError, match=r"zip://none\.parquet::.*cannot be read"):
        evaluate_shards("weights", urls[0].replace("truth", "none"), urls[1], work=tmp_path / "work", workers=1)
    with pytest.raises(sy.InputError, match="odd://x: cannot be opened"):
        evaluate_shards("weights", "odd://x", urls[1], work=tmp_path / "work", workers=1)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "engine": ({"engine": "dusk"}, "there is no engine 'dusk'. Did you mean 'dask'?"),
    "workers": ({"workers": 0}, "0 workers cannot run anything"),
    "address": ({"address": "tcp://x"}, "the engine local has no address"),
    "join": ({"join": "zip"}, "join='zip' is not a way to join"),
    "pairs": ({"join": "pairs"}, "3 files of truth and 2 of predictions make no pairs"),
    "metric": ({"metrics": "mea"}, "Did you mean 'mae'?"),
    "option": ({"options": {"angle": "radians"}}, "angle"),
    "twice": ({"truth": ["a.csv", "a.csv"]}, "a.csv: the file is named twice"),
    "nothing": ({"truth": "nowhere/*.csv"}, "truth 'nowhere/*.csv': no file has such a name"),
    "missing file": ({"truth": "nowhere.csv"}, "nowhere.csv"),
    **{
        f"{name} in a file": ({name: given}, "'site@groups.csv' lies in a file beside, which shards do not read")
        for name, given in {
            "cluster": "site@groups.csv",
            "strata": "site@groups.csv",
            "by": ["site@groups.csv"],
        }.items()
    },
}


@pytest.mark.parametrize("case", list(BAD))
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    given, message = BAD[case]
    write_shards("weights", tmp_path, 3, 2, units=6)
    named = {
        "truth": files(tmp_path)[0],
        "predictions": files(tmp_path)[1],
        "work": tmp_path / "w",
        "workers": 1,
        **given,
    }
    with pytest.raises(sy.InputError) as error:
        evaluate_shards("weights", **named)
    assert message in str(error.value)


def test_the_command_line(steelyard: Run, tmp_path: Path) -> None:
    sides = write_shards("weights", tmp_path, 2, 2)
    expected = in_one_place("weights", sides, ["mae"], draws=100)
    args = ("evaluate", "weights", "truth/*.parquet", "pred/*.parquet", "-m", "mae", "--draws", "100", "--workers", "1")
    done = steelyard(*args, "--work", "states", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["body"]["scores"] == json.loads(expected.to_json())["body"]["scores"]
    assert list((tmp_path / "states" / "states").glob("*.sums"))
    assert not done.stderr  # a bar only where somebody looks at it
    (tmp_path / "truth" / "01.parquet").write_bytes(b"")
    bad = steelyard(*args)
    assert bad.returncode == 2
    assert "truth/01.parquet" in bad.stderr
    assert steelyard(*args, "--units", "u.csv").returncode == 2


def test_nothing_of_boxes_is_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of much data too: what is sought over all classes, and rankings with errors repaired, are read by the workers."""
    sides = write_shards("boxes", tmp_path, 2, 2)
    monkeypatch.setattr(run, "_report_in_one_place", None)
    report = evaluate_shards("boxes", *files(tmp_path), work=tmp_path / "work", workers=1, draws=100)
    assert list(report.scores) == list(catalogue.find_task("boxes").defaults)
    wanted = ["best_f1", "dap(error=bkg)", "dap(error=fn)"]
    expected = in_one_place("boxes", sides, wanted, draws=100)
    for confidence in (0.95, None):
        again = evaluate_shards(
            "boxes", *files(tmp_path), wanted, work=tmp_path / "work", workers=1, draws=100, confidence=confidence
        )
        for spec in wanted:
            assert again[spec].value == expected[spec].value
            assert confidence is None or again[spec] == expected[spec]


def test_the_command_writes_units_tables_and_draws_of_shards(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    ids, truth = [f"r{i}" for i in range(60)], rng.choice(["cat", "dog"], 60)
    sides = {"id": ids, "label": truth}, {"id": ids, "label": rng.choice(["cat", "dog"], 60)}
    write_shards("labels", tmp_path, 3, 3, data=sides)
    named = [str(tmp_path / name / "*.parquet") for name in ("truth", "pred")]
    more = ["--units", str(tmp_path / "units.csv"), "--tables", str(tmp_path / "tables"), "--save-draws"]
    outcome = CliRunner().invoke(
        cli,
        ["evaluate", "labels", *named, "-m", "accuracy", "--draws", "100", *more, "-o", str(tmp_path / "out.json")],
    )
    assert outcome.exit_code == 0, outcome.output
    right = (truth == sides[1]["label"]).astype(float)
    rows = (tmp_path / "units.csv").read_text().splitlines()
    assert dict(row.split(",") for row in rows[1:]) == {
        unit: f"{value}" for unit, value in zip(ids, right, strict=True)
    }
    assert (tmp_path / "tables" / "confusion.csv").exists()
    assert len(sy.load(tmp_path / "out.json")["accuracy"].draws) == 100
    refused = CliRunner().invoke(cli, ["evaluate", "labels", *named, "--explain", "scikit-learn"])
    assert str(refused.exception) == "`explain` needs all data in one place. Evaluate one file."
