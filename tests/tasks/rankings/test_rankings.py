"""Rankings: the specification's example, every format, ties, what is missing, embeddings, and a naive scorer."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusal import refuses

import steelyard as sy
from steelyard import _native

Nested = dict[str, dict[str, float]]

DOG_RANKS = (1, 2, 3, 6, 7, 9)
DOG_RUN: Nested = {"dog": {f"image{i:02d}": 1 - i / 100 for i in range(1, 11)}}
DOG_TRUTH: Nested = {
    "dog": {
        **{f"image{i:02d}": float(i in DOG_RANKS) for i in range(1, 11)},
        **{f"elsewhere{i:02d}": 1.0 for i in range(14)},
    }
}


def score(truth: Any, run: Any, *specs: str, **more: Any) -> list[float]:
    report = sy.evaluate("rankings", truth, run, list(specs), confidence=None, **more)
    return [report[spec].value for spec in specs]


def test_the_dog_example() -> None:
    """Six dogs among the first ten, at ranks 1, 2, 3, 6, 7, 9; twenty dogs in all."""
    precisions = [1 / 1, 2 / 2, 3 / 3, 4 / 6, 5 / 7, 6 / 9]
    expected = [sum(precisions) / 6, sum(precisions) / 10, sum(precisions) / 20]
    scores = score(DOG_TRUTH, DOG_RUN, "ap@10(norm=hits)", "ap@10(norm=min)", "ap@10")
    assert scores == pytest.approx(expected, rel=1e-14)
    assert scores == pytest.approx([0.8413, 0.50476, 0.25238], abs=5e-5)


def test_by_hand() -> None:
    """One query, ranks 1..4 of relevance 3, 0, unjudged, 1; one relevant document (2) was not found."""
    truth = {"q": {"a": 3, "b": 0, "d": 1, "x": 2}}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    expected = {
        "ap": (1 + 2 / 4) / 3,
        "ap@3(norm=min)": 1 / 3,
        "precision@5": 2 / 5,
        "precision": 2 / 4,
        "recall@3": 1 / 3,
        "f1@3": 2 * 1 / (3 + 3),
        "hit@1": 1.0,
        "mrr": 1.0,
        "rprec": 1 / 3,
        "ndcg": (3 + 1 / math.log2(5)) / (3 + 2 / math.log2(3) + 1 / 2),
        "ndcg@3(gain=exponential)": 7 / (7 + 3 / math.log2(3) + 1 / 2),
        "rbp(p=0.5)": 0.5 * (1 + 0.5**3),
        "bpref": (1 + (1 - 1 / min(1, 3))) / 3,
        "err(max=3)": 7 / 8 + (1 / 8) * (1 / 8) / 4,
        "judged@3": 2 / 3,
        "recall(level=2)": 1 / 2,
    }
    assert score(truth, run, *expected) == pytest.approx(list(expected.values()), rel=1e-14)


def test_a_negative_relevance_is_no_judgement() -> None:
    """As if the row were not there: b is judged 0 and counts, c has -1 and does not, and q has no judged document."""
    truth = {"p": {"a": 1, "b": 0, "c": -1, "d": -2}, "q": {"a": -1}}
    run = {"p": {"a": 4.0, "c": 3.0, "b": 2.0, "x": 1.0}, "q": {"a": 1.0}}
    without = {"p": {"a": 1, "b": 0}}
    assert score(truth, run, "judged@2", "judged@3", "judged@4") == [1 / 2, 2 / 3, 2 / 4]
    assert score(without, {"p": run["p"]}, "judged@2", "judged@3", "judged@4") == [1 / 2, 2 / 3, 2 / 4]


def rows(nested: Nested, number: str) -> dict[str, list[Any]]:
    flat = [(q, d, v) for q, row in nested.items() for d, v in row.items()]
    return {"query": [r[0] for r in flat], "doc": [r[1] for r in flat], number: [r[2] for r in flat]}


def drawn(seed: int, queries: int = 30, values: int = 12) -> tuple[Nested, Nested]:
    rng = np.random.default_rng(seed)
    truth: Nested = {}
    run: Nested = {}
    for q in range(queries):
        docs = [f"d{i}" for i in rng.permutation(60)]
        truth[f"q{q}"] = {d: float(rng.integers(-1, 4)) for d in docs[: int(rng.integers(1, 20))]}
        run[f"q{q}"] = {d: float(rng.integers(0, values)) for d in docs if rng.random() < 0.6} or {docs[0]: 1.0}
    return truth, run


def write_all(folder: Path, name: str, nested: Nested, number: str) -> dict[str, Path]:
    """The same rows in every format."""
    import pyarrow
    import pyarrow.parquet

    table = rows(nested, number)
    lines = list(zip(*table.values(), strict=True))
    paths = {kind: folder / f"{name}.{kind}" for kind in ("csv", "tsv", "jsonl", "json", "parquet", "txt", "txt.gz")}
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        text = [separator.join(table), *(separator.join(map(str, line)) for line in lines)]
        paths[kind].write_text("\n".join(text) + "\n")
    paths["jsonl"].write_text("\n".join(json.dumps(dict(zip(table, line, strict=True))) for line in lines))
    paths["json"].write_text(json.dumps(nested))
    pyarrow.parquet.write_table(pyarrow.table(table), paths["parquet"])
    if number == "relevance":
        trec = "".join(f"{q} 0 {d} {int(v)}\n" for q, d, v in lines)
    else:
        trec = "".join(f"{q}\tQ0  {d} {i} {v!r} tag\r\n" for i, (q, d, v) in enumerate(lines))
    paths["txt"].write_text(trec)
    paths["txt.gz"].write_bytes(gzip.compress(trec.encode()))
    return paths


def test_every_format_gives_the_same(tmp_path: Path) -> None:
    import pandas
    import polars
    import pyarrow

    truth, run = drawn(1)
    specs = ["map", "ndcg@5", "bpref", "map(ties=input)", "rbp"]
    expected = sy.evaluate("rankings", truth, run, specs)
    judged, scored = write_all(tmp_path, "truth", truth, "relevance"), write_all(tmp_path, "run", run, "score")
    sources: list[tuple[Any, Any]] = [(judged[kind], scored[kind]) for kind in judged]
    flat = rows(truth, "relevance"), rows(run, "score")
    sources += [flat, (judged["csv"], flat[1]), (truth, scored["parquet"])]
    sources += [tuple(make(side) for side in flat) for make in (pandas.DataFrame, polars.DataFrame, pyarrow.table)]
    sources += [tuple({k: np.array(v, dtype=object) for k, v in side.items()} for side in flat)]
    sources += [tuple({k: np.array(v) for k, v in side.items()} for side in flat)]
    for one, other in sources:
        report = sy.evaluate("rankings", one, other, specs)
        for spec in specs:
            assert report[spec].value == expected[spec].value, (one, spec)
            assert report[spec].interval == expected[spec].interval
        assert report.sources.truth.digest == expected.sources.truth.digest
        assert report.sources.predictions.digest == expected.sources.predictions.digest
        assert report.sources.predictions.rows == expected.sources.predictions.rows


def test_numbers_as_ids_are_their_digits() -> None:
    truth = {"query": [1, 1, 2], "doc": [7, 10, 7], "relevance": [1, 0, 1]}
    run = {"1": {"7": 0.5, "10": 0.5}, "2": {"7": 1.0}}
    for given_run in (run, rows(run, "score"), {1: {7: 0.5, 10: 0.5}, 2: {7: 1}}):
        assert score(truth, given_run, "mrr") == [1.0]  # "7" is larger than "10", as text
    other = {"query": np.array([1, 1, 2]), "doc": np.array([7, 10, 7]), "score": np.array([0.5, 0.5, 1.0])}
    assert score({"1": {"7": 1, "10": 0}, "2": {"7": 1}}, other, "mrr") == [1.0]


def test_queries_in_pieces_are_one_query(tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    run.write_text("a Q0 x 1 3 t\nb Q0 y 1 9 t\n\na Q0 z 2 4 t\n")
    qrels = tmp_path / "qrels"
    qrels.write_text("b 0 y 1\na 0 x 1\n")
    assert score(qrels, run, "mrr") == [(1 / 2 + 1) / 2]


def test_ties() -> None:
    truth = {"q": {"m": 1.0}}
    run = {"q": {"a": 1.0, "m": 1.0, "z": 1.0}}
    specs = ("mrr", "mrr(ties=input)", "mrr(ties=single)")
    assert score(truth, run, *specs) == [1 / 2, 1 / 2, 1 / 2]
    assert score(truth, {"q": {"m": 1.0, "z": 1.0}}, *specs) == [1 / 2, 1, 1 / 2]
    assert score(truth, {"q": {"m": 1.0 + 1e-12, "z": 1.0}}, *specs) == [1, 1, 1 / 2]
    assert score(truth, {"q": {"m": 1e300, "z": 1e200, "y": -1e300}}, *specs) == [1, 1, 1 / 2]
    notes = sy.evaluate("rankings", truth, run, "mrr", confidence=None)["mrr"].notes
    assert any("share their score" in note for note in notes)
    assert not sy.evaluate("rankings", truth, {"q": {"m": 2.0, "z": 1.0}}, "mrr", confidence=None)["mrr"].notes


def test_queries_on_one_side() -> None:
    truth = {"a": {"x": 1}, "b": {"x": 1}, "none": {"x": 0}}
    run = {"a": {"x": 1.0}, "c": {"x": 1.0}}
    report = sy.evaluate("rankings", truth, run, ["map"], confidence=None)
    assert report["map"].value == 0.5  # b counts as 0
    assert report["map"].n_excluded == 1
    assert "not in the run" in report["map"].notes[0]
    assert (report.coverage.missing, report.coverage.extra) == (2, 1)
    assert score(truth, run, "map", missing="skip") == [1.0]
    assert score(truth, run, "map(empty=zero)") == [1 / 3]
    with refuses("E-unmatched", "2", "3", "'b'", "'none'"):
        score(truth, run, "map", missing="error")
    with refuses("E-unmatched", "1", "2", "'c'"):
        score(truth, run, "map", extra="error")


def test_nothing_relevant_is_undefined() -> None:
    report = sy.evaluate("rankings", {"a": {"x": 0}}, {"a": {"x": 1.0}}, ["map", "ndcg"], confidence=None)
    assert math.isnan(report["map"].value)
    assert report["map"].undefined_reason == "no query has a relevant document"
    assert report["ndcg"].undefined_reason == "no query has a document of positive relevance"


def test_slices_and_weights() -> None:
    truth = {
        "query": ["a", "a", "b", "c"], "doc": ["x", "y", "x", "x"], "relevance": [1, 1, 1, 1],
        "kind": ["k", "k", "k", "l"], "color": ["red", "blue", "red", "red"], "sample_weight": [3, 3, 1, 1],
    }  # fmt: skip
    run = {"a": {"x": 2.0, "y": 1.0}, "b": {"z": 2.0, "x": 1.0}, "c": {"w": 1.0}}
    report = sy.evaluate("rankings", truth, run, ["mrr", "recall@1"], by=["kind", "color"], confidence=None)
    assert report["mrr"].value == (3 * 1 + 0.5) / 5
    assert report.slices["kind"]["k"]["mrr"].value == (3 * 1 + 0.5) / 4
    assert report.slices["color"]["blue"]["mrr"].value == 0.5  # x is unjudged there


@pytest.mark.parametrize("distance", ["cosine", "l2"])
@pytest.mark.parametrize("alone", [True, False])
def test_embeddings_against_brute_force(distance: str, alone: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 6, 90)
    vectors = np.round(rng.normal(size=(6, 4))[labels] + rng.normal(size=(90, 4)), 1).astype(np.float32)
    truth: dict[str, Any] = {"query_label": labels}
    run: dict[str, Any] = {"query": vectors}
    query, gallery = vectors.astype(float), vectors.astype(float)
    gallery_labels, hidden = labels, np.eye(90, dtype=bool)
    if not alone:
        truth = {"query_label": labels[:20], "gallery_label": labels[20:]}
        run = {"query": vectors[:20], "gallery": vectors[20:]}
        query, gallery, gallery_labels = query[:20], gallery[20:], labels[20:]
        hidden = np.zeros((20, 70), dtype=bool)
    if distance == "cosine":
        scores = query @ gallery.T / np.linalg.norm(query, axis=1)[:, None] / np.linalg.norm(gallery, axis=1)
    else:
        scores = -np.linalg.norm(query[:, None] - gallery[None], axis=2)
    full, judged = {}, {}
    for i in range(len(query)):
        row = {str(j): float(scores[i, j]) for j in range(len(gallery)) if not hidden[i, j]}
        full[str(i)] = row
        judged[str(i)] = {j: int(gallery_labels[int(j)] == truth["query_label"][i]) for j in row}
    specs = ("map@10(norm=min)", "hit@1", "recall@20", "ndcg@20")
    options = {"distance": distance, "depth": 20}
    expected = score(judged, full, *specs)
    assert score(truth, run, *specs, options=options) == pytest.approx(expected, rel=1e-9)
    np.savez(tmp_path / "labels.npz", **truth)
    np.savez(tmp_path / "vectors.npz", **run)
    assert score(tmp_path / "labels.npz", tmp_path / "vectors.npz", *specs, options=options) == pytest.approx(expected)


def test_distances_as_lists() -> None:
    """The first query finds its two at ranks 1 and 3, the second its one at rank 2."""
    truth = {"query_label": [0, 1], "gallery_label": [0, 1, 0]}
    distances = [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]
    expected = [(5 / 6 + 1 / 2) / 2]
    assert score(truth, {"distance": distances}, "map") == pytest.approx(expected)
    assert score(truth, {"distance": np.array(distances)}, "map") == pytest.approx(expected)


def test_the_curve_of_queries_that_have_nothing_to_find() -> None:
    """Three people in one image each: no query has a match, and the page shows a curve without points."""
    report = sy.evaluate("rankings", {"query_label": [0, 1, 2]}, {"query": np.eye(3)}, ["map", "hit@1"], draws=100)
    assert [math.isnan(score.value) for score in report.scores.values()] == [True, True]
    columns = report.figure("cmc").columns
    assert list(columns["x"]) == [1, 2]
    assert np.isnan([columns["y"], columns["low"], columns["high"]]).all()


def test_embeddings_with_ids_leave_themselves_out() -> None:
    vectors = np.eye(3) + 0.1
    truth = {
        "query_label": ["a"],
        "gallery_label": ["a", "a", "b"],
        "query_id": ["i0"],
        "gallery_id": ["i0", "i1", "i2"],
    }
    report = sy.evaluate(
        "rankings", truth, {"query": vectors[:1], "gallery": vectors}, ["map", "recall@1"], confidence=None
    )
    assert report["recall@1"].value in (0.0, 1.0)
    assert report.units().units.tolist() == ["i0"]
    # its only other relative is i1, which ties with i2 and has the smaller id
    assert report["map"].value == 0.5


def naive(truth: Nested, run: Nested, k: int) -> dict[str, list[float]]:
    """AP@k, nDCG@k and reciprocal rank by sorting, as a first-year student would."""
    result: dict[str, list[float]] = {}
    for query, judged in truth.items():
        listed = sorted(run.get(query, {}).items(), key=lambda item: (item[1], item[0].encode()), reverse=True)
        gains = [judged.get(doc, 0.0) for doc, _ in listed]
        hits, total, first = 0, 0.0, 0.0
        for i, gain in enumerate(gains, start=1):
            if gain >= 1:
                hits += 1
                first = first or 1 / i
                total += hits / i if i <= k else 0
        relevant = sum(g >= 1 for g in judged.values())
        dcg, ideal = (
            sum(g / math.log2(i + 1) for i, g in enumerate(order[:k], start=1) if g > 0)
            for order in (gains, sorted(judged.values(), reverse=True))
        )
        result[query] = [
            total / relevant if relevant else 0.0,
            dcg / ideal if ideal else 0.0,
            first,
        ]
    return result


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False))


@settings(max_examples=60, deadline=None)
@given(
    truth=st.dictionaries(texts, st.dictionaries(texts, st.integers(-1, 4).map(float), min_size=1, max_size=8), min_size=1, max_size=4),
    run=st.dictionaries(texts, st.dictionaries(texts, numbers, max_size=12), max_size=4),
    k=st.integers(1, 6),
    share=st.booleans(),
)  # fmt: skip
def test_agrees_with_a_naive_scorer(truth: Nested, run: Nested, k: int, share: bool) -> None:
    if share:  # the same queries and documents on both sides
        for query, judged in truth.items():
            run[query] = {**dict(zip(judged, [1.0, 0.5, 0.5, 2.0] * 2, strict=False)), **run.get(query, {})}
    expected = naive(truth, run, k)
    specs = [f"map@{k}(empty=zero)", f"ndcg@{k}(empty=zero)", "mrr(empty=zero)"]
    for given_run in (run, rows(run, "score")):
        if not any(run.values()) and given_run is not run:
            continue
        table = sy.evaluate("rankings", truth, given_run, specs, confidence=None).units()
        for i, query in enumerate(table.units.tolist()):
            assert [table.values[spec][i] for spec in specs] == pytest.approx(expected[query], rel=1e-12, abs=1e-15)


def test_long_lists_agree_with_a_naive_scorer() -> None:
    rng = np.random.default_rng(5)
    truth: Nested = {}
    run: Nested = {}
    for q, size in enumerate((1, 2, 17, 300, 5000)):
        docs = [f"doc{i}" for i in rng.permutation(2 * size)]
        truth[f"q{q}"] = {d: float(g) for d, g in zip(docs[::2], rng.integers(0, 3, size), strict=True)}
        scores = rng.choice([rng.normal(size=size), rng.integers(0, 40, size).astype(float)])
        run[f"q{q}"] = dict(zip(docs[:size], scores.tolist(), strict=True))
    expected = naive(truth, run, 1000)
    specs = ["map@1000(empty=zero)", "ndcg@1000(empty=zero)", "mrr(empty=zero)"]
    for given_run in (run, rows(run, "score")):
        table = sy.evaluate("rankings", truth, given_run, specs, confidence=None).units()
        for i, query in enumerate(table.units.tolist()):
            assert [table.values[spec][i] for spec in specs] == pytest.approx(expected[query], rel=1e-11)


@pytest.mark.parametrize("spread", [1e-6, 1e-3, 1.0, 1e6])
def test_single_precision_is_a_run_in_single_precision(spread: float) -> None:
    """Long lists around 1,000, so close that single precision sees few, some or no ties."""
    rng = np.random.default_rng(9)
    scores = 1000 + spread * rng.normal(size=3000)
    docs = [f"doc{i}" for i in rng.permutation(3000)]
    truth = {"q": dict.fromkeys(docs[::31], 1.0)}
    run = {"q": dict(zip(docs, scores.tolist(), strict=True))}
    rounded = {"q": dict(zip(docs, scores.astype(np.float32).astype(float).tolist(), strict=True))}
    for given_run, other in ((run, rounded), (rows(run, "score"), rows(rounded, "score"))):
        assert score(truth, given_run, "map(ties=single)") == score(truth, other, "map")
        assert score(truth, given_run, "map") == pytest.approx([naive(truth, run, 3000)["q"][0]], rel=1e-12)


NUMBERS = ["0", "-0", "1", "+1", "1.", ".5", "-.5e3", "1e5", "1E-5", "0.1", "123456789.987654321", "1e22", "1e23",
           "9007199254740993", "18446744073709551616", "1e-300", "5e-324", "2.2250738585072014e-308", "1e308",
           "0.30000000000000004", "3.14159265358979323846264338327950288", "00012", "1e+2", "-1e-400"]  # fmt: skip


def test_numbers_are_read_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    texts_ = NUMBERS + [repr(float(x)) for x in rng.normal(size=300) * 10.0 ** rng.integers(-30, 30, 300)]
    texts_ += [f"{x:.6f}" for x in rng.uniform(-100, 100, 300)]
    file = np.frombuffer("".join(f"q Q0 d{i} 1 {t} x\n" for i, t in enumerate(texts_)).encode(), dtype=np.uint8)
    values = _native.read_trec(file, 6, 4)[2]
    assert values.tolist() == [float(t) for t in texts_]
    for wrong in ("", "x", "1x", "e5", ".", "-", "1e", "1e+", "--1", "0x10", "1_000", "1,5", "infinite"):
        file = np.frombuffer(f"q Q0 d 1 {wrong or '-'} x\n".encode(), dtype=np.uint8)
        assert _native.read_trec(file, 6, 4)[5][0] in (2, 3), wrong


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    file = np.frombuffer(data, dtype=np.uint8)
    for fields, value in ((6, 4), (4, 3)):
        place, key, values, rows_, _, wrong = _native.read_trec(file, fields, value)
        assert len(place) == len(key) == len(values) >= len(rows_)
        assert np.isfinite(values).all()
        assert 0 <= wrong[0] <= 4


def test_large_file_is_read_in_pieces(tmp_path: Path) -> None:
    """More than one chunk of the parallel reader, with lines and queries across the cuts."""
    lines = [f"query{i // 70000} Q0 document-{i:07d} {i} {i % 977 / 7:.5f} tag-{i % 13}\n" for i in range(250_000)]
    file = np.frombuffer("".join(lines).encode(), dtype=np.uint8)
    results = [_native.read_trec(file, 6, 4, threads) for threads in (1, 2)]
    for one, two in zip(*(result[:5] for result in results), strict=True):
        assert (one == two).all()
    place, _, values, run_row, _, wrong = results[0]
    assert wrong[0] == 0
    assert len(values) == len(lines)
    assert run_row.tolist() == [0, 70000, 140000, 210000]
    for i in (0, 69_999, 70_000, 123_456, 249_999):
        begin, size = divmod(int(place[i]), 1 << 16)
        assert file[begin : begin + size].tobytes() == f"document-{i:07d}".encode()
        assert values[i] == float(f"{i % 977 / 7:.5f}")


def test_native_boundary() -> None:
    """A kernel turns away arrays that do not fit, whatever they hold."""
    text, words, numbers_ = np.zeros(4, np.uint8), np.zeros(2, np.uint64), np.zeros(2)
    starts = np.array([0, 2])
    side = (text, words, words, numbers_, starts)
    none = np.zeros(0, np.int64)
    cases: list[tuple[Any, ...]] = [
        ((text, words + np.uint64(5), words, numbers_, starts), side, np.array([0]), none),
        ((text, words, words[:1], numbers_, starts), side, np.array([0]), none),
        ((text, words, words, numbers_, np.array([0, 3])), side, np.array([0]), none),
        ((text, words, words, numbers_, np.array([1, 2])), side, np.array([0]), none),
        ((text, words, words, numbers_, np.array([0, 2, 1, 2])), side, np.array([0, 0, 0]), none),
        (side, side, np.array([1]), none),
        (side, side, np.array([-2]), none),
        (side, side, np.array([0, 0]), none),
        (side, side, np.array([0]), np.array([0])),
    ]
    for truth, run, run_of, order in cases:
        with refuses(ValueError):
            _native.join_rankings(*truth, *run, run_of, order)
    with refuses(ValueError):
        _native.ranking_hits(np.zeros(2, np.int64), np.zeros(2), np.array([0, 2, 1, 2]), 10, 1.0)
    with refuses(ValueError, "TREC"):
        _native.read_trec(text, 5, 4)
    with refuses(ValueError, "offsets"):
        _native.pack_offsets(text, np.array([0, 9]))
    with pytest.raises(TypeError):
        _native.join_rankings(*side, *side, [0], none)


QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n"
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\nq2 Q0 a 1 0.7 t\n"
BAD = {
    # what is wrong: (qrels, run, all that the message must contain)
    "score that is nan": (QRELS, RUN.replace("0.8", "nan"), ["run.txt, line 2", "score 'nan'", "finite"]),
    "infinite score": (QRELS, RUN.replace("0.8", "-inf"), ["run.txt, line 2", "score '-inf'", "finite"]),
    "score too large": (QRELS, RUN.replace("0.8", "1e999"), ["run.txt, line 2", "score '1e999'", "finite"]),
    "score in words": (QRELS, RUN.replace("0.8", "high"), ["run.txt, line 2", "score 'high' is not a number"]),
    "run line too short": (QRELS, RUN.replace(" 0.7 t", ""), ["run.txt, line 3", "4 fields", "6 are expected", "query Q0 document rank score tag"]),
    "run line too long": (QRELS, RUN.replace("0.7 t", "0.7 t u v"), ["run.txt, line 3", "8 fields", "6 are expected"]),
    "qrels line too short": (QRELS + "q3\n", RUN, ["qrels.txt, line 4", "1 field,", "4 are expected"]),
    "qrels given as a run": (QRELS, QRELS, ["run.txt, line 1", "4 fields", "6 are expected"]),
    "line after a blank one": (QRELS, "\n\n" + RUN.replace("0.9", "x"), ["run.txt, line 3", "score 'x'"]),
    "relevance in words": (QRELS.replace("a 1", "a yes"), RUN, ["qrels.txt, line 1", "relevance 'yes'"]),
    "duplicate in run": (QRELS, RUN + "q1 Q0 a 3 0.1 t\n", ["run.txt, line 4", "query 'q1', document 'a' appears twice", "line 1"]),
    "duplicate in qrels": (QRELS + "q2 0 a 1\n", RUN, ["qrels.txt, line 4", "query 'q2', document 'a' appears twice", "line 3"]),
    "empty run": (QRELS, "", ["run.txt", "empty"]),
    "empty qrels": ("\n \n", RUN, ["qrels.txt", "empty"]),
    "bytes that are not text": (QRELS, b"\xfe\xfd Q0 a 1 0.9 t\n", ["run.txt, line 1", "not UTF-8"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_trec_files(name: str, steelyard: Any, tmp_path: Path) -> None:
    qrels, run, parts = BAD[name]
    (tmp_path / "qrels.txt").write_bytes(qrels if isinstance(qrels, bytes) else qrels.encode())
    (tmp_path / "run.txt").write_bytes(run if isinstance(run, bytes) else run.encode())
    done = steelyard("evaluate", "rankings", "qrels.txt", "run.txt")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    message = " ".join(done.stderr.split())
    for part in parts:
        assert part in message, (part, message)


FLAT = {"query": ["a", "a"], "doc": ["x", "y"], "score": [1.0, 2.0]}
ONE = {"a": {"x": 1}}
BAD_DATA: dict[str, tuple[Any, Any, list[str]]] = {
    "nan in a nested run": (ONE, {"a": {"x": float("nan")}}, ["predictions, query 'a', document 'x'", "'nan'"]),
    "number in place of documents": (ONE, {"a": {"x": 1.0}, "b": 3}, ["predictions: query 'b' holds int"]),
    "number in place of judgements": ({"a": {"x": 1}, "b": 3}, ONE, ["truth: query 'b' holds int"]),
    "text in a nested run": (ONE, {"a": {"x": "0.5"}}, ["query 'a', document 'x'", "'0.5' is not allowed"]),
    "true in a nested run": (ONE, {"a": {"x": True}}, ["query 'a', document 'x'", "'True'"]),
    "empty id in a nested run": (ONE, {"a": {" ": 1.0}}, ["id is empty"]),
    "ids that are one": (ONE, {"a": {"x": 1.0, " x": 2.0}}, ["document 'x' appears twice"]),
    "number and text that are one": (ONE, {"a": {7: 1.0, "7": 2.0}}, ["document '7' appears twice"]),
    "queries that are one": (ONE, {"a": {"x": 1.0}, "a ": {"x": 2.0}}, ["query 'a' appears twice"]),
    "id without UTF-8": (ONE, {"a": {"\udc80": 1.0}}, ["UTF-8"]),
    "id too long": (ONE, {"a": {"x" * 70000: 1.0}}, ["65,535"]),
    "nan in a column": (ONE, {**FLAT, "score": [1.0, float("nan")]}, ["predictions, row 1, column 'score'", "'nan'"]),
    "duplicate in columns": (ONE, {**FLAT, "doc": ["x", "x"]}, ["predictions, row 1", "appears twice", "row 0"]),
    "empty id in a column": (ONE, {**FLAT, "doc": ["x", None]}, ["predictions, row 1, column 'doc'", "id is empty"]),
    "missing column": (ONE, {"query": ["a"], "doc": ["x"]}, ["'score' is missing"]),
    "missing id column": (ONE, {"query": ["a"], "score": [1]}, ["'doc' is missing"]),
    "unknown metric": (ONE, FLAT, []),
    "vectors of two lengths": ({"query_label": [1]}, {"query": np.ones((1, 2)), "gallery": np.ones((1, 3))}, ["2 in 'query' and 3 in 'gallery'"]),
    "vector with nan": ({"query_label": [1, 1]}, {"query": np.array([[1.0, 2], [np.nan, 0]])}, ["array 'query', row 1", "not finite"]),
    "vector of zeros": ({"query_label": [1, 1]}, {"query": np.array([[1.0, 2], [0, 0]])}, ["row 1", "no direction"]),
    "vectors of several lengths": ({"query_label": [1], "gallery_label": [1, 1]}, {"query": np.ones((1, 2)), "gallery": [[1.0, 2], [3]]}, ["array 'gallery'"]),
    "distances of several lengths": ({"query_label": [1, 1]}, {"query_label": [1, 1], "distance": [[1.0, 2], [3]]}, ["array 'distance'"]),
    "distance that is not finite": ({"query_label": [1], "gallery_label": [1]}, {"distance": np.array([[np.inf]])}, ["array 'distance', row 0"]),
    "labels too few": ({"query_label": [1]}, {"query": np.ones((2, 2))}, ["differ in the number of query vectors"]),
    "no labels of the gallery": ({"query_label": [1]}, {"query": np.ones((1, 2)), "gallery": np.ones((2, 2))}, ["'gallery_label' is missing"]),
    "unknown array": ({"query_label": [1]}, {"query": np.ones((1, 2)), "galery": np.ones((2, 2))}, ["'galery'", "Did you mean 'gallery'?"]),
    "matrix of one dimension": ({"query_label": [1]}, {"query_label": [1], "query": np.ones(3)}, ["shape (3,)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_in_memory(name: str) -> None:
    truth, run, parts = BAD_DATA[name]
    spec = "mpa" if name == "unknown metric" else "map"
    with pytest.raises(sy.InputError) as caught:
        sy.evaluate("rankings", truth, run, spec)
    for part in parts or ["'mpa'", "map"]:
        assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("spec", "part"),
    [("map@0", "k cannot be 0"), ("map@1.5", "k cannot be 1.5"), ("map(norm=all)", "norm cannot be all"),
     ("rbp(p=1)", "p cannot be 1"), ("rbp(p=0)", "p cannot be 0"), ("ndcg(gain=log)", "gain cannot be log"),
     ("map(ties=best)", "ties cannot be best"), ("recall(level=-1)", "level cannot be -1"),
     ("err(max=1)", "a relevance of 2 is above max=1")],
)  # fmt: skip
def test_bad_settings(spec: str, part: str) -> None:
    with pytest.raises(sy.InputError, match="metric") as caught:
        sy.evaluate("rankings", {"a": {"x": 2}}, {"a": {"x": 1.0}}, spec)
    assert part in str(caught.value)


def test_columns_are_mapped(tmp_path: Path) -> None:
    run = {"topic": ["a"], "image": ["x"], "similarity": [0.5]}
    columns = {"prediction.query": "topic", "prediction.doc": "image", "score": "similarity"}
    assert score({"a": {"x": 1}}, run, "map", columns=columns) == [1.0]
    with refuses("E-unknown-name", "mapped"):
        score({"a": {"x": 1}}, run, "map", columns={"document": "image"})
    with refuses("E-missing-column", "'imge'"):
        score({"a": {"x": 1}}, FLAT, "map", columns={"doc": "imge"})


def test_same_whatever_the_threads() -> None:
    truth, run = drawn(8, queries=200)
    flat_truth, flat_run = (_native.pack_nested(side) for side in (truth, run))
    run_of = np.array([list(run).index(q) for q in truth], dtype=np.int64)
    none = np.zeros(0, np.int64)
    results = [
        _native.join_rankings(*flat_truth[0], *flat_truth[1:], *flat_run[0], *flat_run[1:], run_of, none, threads)
        for threads in (1, 2, 4)
    ]
    nested = _native.join_nested(*flat_truth[0], *flat_truth[1:], run, run_of)
    for other in (*results[1:], nested):
        for one, two in zip(results[0][:5], other[:5], strict=True):
            assert (one == two).all()
