"""The native core trusts nothing: an argument that does not fit is a ValueError, whatever was meant with it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard import _native
from steelyard.io.container import container_bytes, parse_container
from steelyard.tasks.boxes.pairs import MatchRules

NAN, INF = float("nan"), float("inf")


def ints(*values: int, kind: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype=kind)


def reals(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def flags(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint8)


# Two classes in three images, four detections, three truths: begin, end, image, score, rank, hit, ignored, truth_begin,
# truth_image, counts, thresholds and the most detections of an image.
RANKED: tuple[Any, ...] = (
    ints(0, 2), ints(2, 4), ints(0, 1, 1, 2, kind=np.int32), reals(0.9, 0.5, 0.8, 0.8), ints(0, 0, 0, 0, kind=np.uint16),
    ints(1, 0, 1, 1, kind=np.uint32), ints(0, 0, 0, 0, kind=np.uint32), ints(0, 1, 3), ints(0, 1, 2, kind=np.int32),
    flags(1, 1, 1), 1, 100,
)  # fmt: skip
COCO, AREA, MISS = _native.BoxFigure.coco, _native.BoxFigure.area, _native.BoxFigure.miss
GRID = np.linspace(0, 1, 101)


def figures(weights: Any = None, ranked: Any = RANKED, figure: Any = COCO, grid: Any = GRID) -> Any:
    return _native.Ranked(*ranked).figures(np.ones((2, 3)) if weights is None else weights, figure, grid, 1)


def class_curves(*weights: float) -> Any:
    return _native.Ranked(*RANKED).curves(reals(*weights), GRID)


def with_score(*scores: float) -> tuple[Any, ...]:
    return (*RANKED[:3], reals(*scores), *RANKED[4:])


def drawn(rows: int) -> Any:
    return _native.Ranked(*RANKED).draws(np.zeros((0, 3, 32), np.uint8), rows, COCO, GRID, 1)


def left_out(group: list[int], groups: int, figure: Any = COCO) -> Any:
    return _native.Ranked(*RANKED).left_out(ints(*group, kind=np.int32), groups, figure, GRID, 1)


def side(values: np.ndarray, *names: str) -> tuple[Any, ...]:
    column = np.empty(len(names), dtype=object)
    column[:] = names
    return (*_native.pack_objects(column), values, ints(0, len(names)))


def join(relevance: np.ndarray, score: np.ndarray) -> Any:
    truth, run = side(relevance, "a", "b"), side(score, "a", "b", "c")
    return _native.join_rankings(*truth, *run, ints(0), ints(), 1)


def scored(entry: str, *settings: Any, relevance: Any = (1.0, 0.0), rank: Any = (1, 2), starts: Any = (0, 2)) -> Any:
    return getattr(_native, entry)(ints(*rank), reals(*relevance), ints(*starts), *settings)


def matched(images: int = 2, labels: int = 1, area: float = 9.0, ranges: Any = (0.0, 1e10)) -> Any:
    one = (ints(0, kind=np.int32), ints(0, kind=np.int32), np.ones((1, 4)))
    objects = SimpleNamespace(
        units=images, classes=labels, image=one[0], label=one[1], box=one[2], area=reals(area), flags=flags(0),
        d_image=one[0], d_label=one[1], d_box=one[2], d_score=reals(0.5), d_area=None,
    )  # fmt: skip
    return _native.boxes_match(objects, MatchRules(reals(0.5), reals(*ranges).reshape(1, 2), 5, threads=1))


def ranked(weights: Any = (1.0, 1.0), value: Any = (), limit: float = 0.5) -> Any:
    return _native.ranked(
        reals(*weights).reshape(1, 2), ints(0, 1), flags(1, 0), flags(1, 1), reals(*value), 0, limit, 1
    )


def detection_ap(weights: Any = (1.0, 1.0), truths: Any = (1.0, 1.0)) -> Any:
    return _native.ranked_ap(reals(*weights).reshape(1, 2), reals(*truths), ints(0, 1), flags(1, 0), flags(1, 1), 0, 1)


def oks(box: float = 9.0, area: float = 9.0) -> Any:
    return _native.oks(np.ones((1, 3)), np.ones((1, 3)), np.full((1, 4), box), reals(area), reals(0.1))


def curves(positives: float = 2.0, recalls: Any = (0.0, 1.0)) -> Any:
    return _native.reference_curves(
        ints(0), reals(0.5), flags(1).reshape(1, 1), flags(0).reshape(1, 1), positives, reals(*recalls), 1
    )


def packed(**head: int) -> bytes:
    """A mask of 9 x 9 whose head says something else; the words are height, width, area, left, top, right, low."""
    mask = _native.mask_pack({"size": [9, 9], "counts": [0, 81]})
    words = np.frombuffer(mask, np.uint32).copy()
    for name, value in head.items():
        words[["height", "width", "area", "left", "top", "right", "low"].index(name)] = value
    return words.tobytes()


RESULTS = b'[{"image_id": 1, "category_id": 1, "segmentation": [[1, 1, 5, 1, 5, 5]], "score": 0.5}]'


def sizes(ids: Any, of: Any) -> Any:
    return _native.coco_parse(RESULTS, False, 1, 1, ids, of)


ELLIPSE = reals(1, 1, 0, 2, 1).reshape(1, 5)
STREAM = (1, 100, MISS, reals(0.1, 1.0), 2.0, 2.0)


def edits(name: str, ends: np.ndarray) -> Any:
    symbols = ints(7, 8, 9, kind=np.uint32)
    return getattr(_native, name)(symbols, ends, symbols, ints(2, 3))


def above(starts: Any = (0, 1, 2), high: Any = (0.5, 0.5), low: Any = (0.4, 0.4)) -> Any:
    scores = np.ones((2, 3), dtype=np.float32)
    return _native.count_above(scores, ints(*starts), *(np.array(end, dtype=np.float32) for end in (high, low)))


def focal(**changed: Any) -> Any:
    given: dict[str, Any] = {"logits": np.zeros(24, dtype=np.float32), "labels": ints(0, 0, 0, 0), "gamma": 2.0}
    given |= {"size": (1, 2, 2), "logit_steps": (0, 12), "label_steps": (0, 2, 1), "classes": 6, "class_step": 2}
    given |= {"alpha_class": 0.5, "alpha_background": 0.5, "slope": None, "threads": 1} | changed
    if "rows" in given:
        for name in ("rows", "size", "logit_steps", "label_steps", "class_step"):
            del given[name]
        return _native.focal_of_rows(**given)
    return _native.focal_of_planes(**given)


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("count_above, thresholds of another row", lambda: above(starts=(0, 2)), "each row of scores has its thresholds"),
    ("count_above, thresholds that do not exist", lambda: above(starts=(0, 1, 3)), "cover the thresholds"),
    ("count_above, thresholds that fall", lambda: above(starts=(0, 3, 2)), "cover the thresholds"),
    ("count_above, thresholds with one end", lambda: above(low=(0.4,)), "a threshold has two ends"),
    ("count_above, ends of thresholds that cross", lambda: above(low=(0.6, 0.4)), "not in order"),
    ("count_above, an end that is not a number", lambda: above(high=(NAN, 0.5)), "not in order"),
    ("focal_of_planes, another gamma", lambda: focal(gamma=3.0), "gamma is none of"),
    ("focal_of_planes, a negative factor", lambda: focal(alpha_class=-1.0), "a factor of the loss is negative"),
    ("focal_of_planes, a factor that is not a number", lambda: focal(alpha_background=NAN), "not a number"),
    ("focal_of_planes, lines that are too long", lambda: focal(size=(1, 2, 3)), "a step leads out of the array"),
    ("focal_of_planes, classes that do not exist", lambda: focal(classes=7), "a step leads out of the array"),
    ("focal_of_planes, a step beyond numbers", lambda: focal(class_step=2**62), "a step leads out of the array"),
    ("focal_of_planes, labels too few", lambda: focal(labels=ints(0, 0, 0)), "a step leads out of the array"),
    ("focal_of_planes, a short slope", lambda: focal(slope=np.zeros(3, np.float32)), "differ in size"),
    ("focal_of_planes, too many classes", lambda: focal(classes=2**31, class_step=0), "too many classes"),
    ("focal_of_rows, labels too few", lambda: focal(rows=True, labels=ints(0, 0)), "each label has a logit"),
    ("focal_of_rows, no classes", lambda: focal(rows=True, classes=0), "each label has a logit"),
    ("Ranked.figures, negative weight", lambda: figures(-np.ones((2, 3))), "a weight is negative or not finite"),
    ("Ranked.figures, nan weight", lambda: figures(np.full((2, 3), NAN)), "a weight is negative or not finite"),
    ("Ranked.figures, infinite weight", lambda: figures(np.full((2, 3), INF)), "a weight is negative or not finite"),
    ("Ranked.figures, nan score", lambda: figures(ranked=with_score(0.9, NAN, 0.8, 0.8)), "must fall"),
    ("Ranked.figures, first score nan", lambda: figures(ranked=with_score(NAN, 0.5, 0.8, 0.8)), "must fall"),
    ("Ranked.figures, rising score", lambda: figures(ranked=with_score(0.5, 0.9, 0.8, 0.8)), "must fall"),
    ("Ranked.figures, nan in the grid", lambda: figures(figure=MISS, grid=reals(0.1, NAN, 1)), "the grid must be finite"),
    ("Ranked.curves, negative weight", lambda: class_curves(1, -1, 1), "negative"),
    ("Ranked.curves, nan weight", lambda: class_curves(1, NAN, 1), "negative"),
    ("Ranked.draws, 2^64 rows", lambda: drawn(2**64 - 1), "the groups do not hold so many rows"),
    ("Ranked.left_out, too many groups", lambda: left_out([0, 1, 2], 4), "more groups than images"),
    ("Ranked.left_out, a group too high", lambda: left_out([0, 3, 1], 3), "a group is out of range"),
    ("Ranked.left_out, a group too low", lambda: left_out([0, -2, 1], 3), "a group is out of range"),
    ("Ranked.left_out, few images", lambda: left_out([0, 1], 2), "an image is out of range"),
    ("Ranked.left_out, an area", lambda: left_out([0, 1, 2], 3, AREA), "this figure cannot be counted"),
    ("boxes_match, too many images", lambda: matched(images=2**31 - 1), "too many images or classes"),
    ("boxes_match, too many classes", lambda: matched(labels=2**31 - 1), "too many images or classes"),
    ("boxes_match, nan area", lambda: matched(area=NAN), "an area is not finite"),
    ("boxes_match, nan range", lambda: matched(ranges=(0.0, NAN)), "area range is not a number"),
    ("join_rankings, nan score", lambda: join(reals(1, 0), reals(0.5, NAN, 0.1)), "is not finite"),
    ("join_rankings, -inf score", lambda: join(reals(1, 0), reals(0.5, -INF, -INF)), "is not finite"),
    ("join_rankings, nan relevance", lambda: join(reals(1, NAN), reals(3, 2, 1)), "is not finite"),
    ("ranking_gain, nan relevance", lambda: scored("ranking_gain", 9, 1.0, False, relevance=(NAN, 1)), "not a number"),
    ("ranking_gain, nan level", lambda: scored("ranking_gain", 9, NAN, False), "a setting is not a number"),
    ("ranking_hits, nan level", lambda: scored("ranking_hits", 9, NAN), "a setting is not a number"),
    ("ranking_rbp, p of 2", lambda: scored("ranking_rbp", 2.0, 1.0, False), "from 0 to 1"),
    ("ranking_err, nan most", lambda: scored("ranking_err", 9, NAN), "a setting is not a number"),
    ("ranked, negative weight", lambda: ranked(weights=(1.0, -1.0)), "a weight is negative or not finite"),
    ("ranked, nan value", lambda: ranked(value=(1.0, NAN)), "a weight is negative or not finite"),
    ("ranked, nan limit", lambda: ranked(limit=NAN), "the limit is not a number"),
    ("ranked_ap, nan weight", lambda: detection_ap(weights=(1.0, NAN)), "a weight is negative or not finite"),
    ("ranked_ap, negative truths", lambda: detection_ap(truths=(1.0, -1.0)), "a number of truths is negative"),
    ("ellipse_match_by_score, nan IoU",
     lambda: _native.ellipse_match_by_score(ELLIPSE, ELLIPSE, ints(1), ints(1), reals(0.5), reals(NAN)), "from 0 to 1"),
    ("oks, nan area", lambda: oks(area=NAN), "an area is not finite"),
    ("oks, infinite box", lambda: oks(box=INF), "a box is not finite"),
    ("match_cells, nan threshold",
     lambda: _native.match_cells(ints(0, 1), ints(0, 1), reals(0.5), flags(0).reshape(1, 1), flags(0), flags(1), reals(NAN)),
     "a threshold is not a number"),
    ("reference_curves, infinite positives", lambda: curves(positives=INF), "there must be a truth"),
    ("reference_curves, nan recall", lambda: curves(recalls=(0.0, NAN)), "a recall is not a number"),
    ("masks, right of the image", lambda: _native.mask_fingerprint([packed(right=99)]), "the extent of a packed mask"),
    ("masks, more set than there is", lambda: _native.mask_fingerprint([packed(area=82)]), "the extent of a packed mask"),
    ("coco_parse, sizes that are none", lambda: sizes(ints(1), [[9, 9]]), "a size is height and width"),
    ("coco_parse, ids that are none", lambda: sizes(reals(1), ints(9, 9).reshape(1, 2)), "the ids of images"),
    ("coco_parse, an id of bytes", lambda: sizes([b"x"], ints(9, 9).reshape(1, 2)), "the ids of images must be texts"),
    ("coco_read, a path with a zero", lambda: _native.coco_read(__file__ + "\0.json", True), "cannot be opened"),
    ("BoxStream, nan in the grid", lambda: _native.BoxStream(1, 9, MISS, reals(0.1, NAN, 1.0), 2.0, 2.0), "must be finite"),
    ("LabelStream, nan limit", lambda: _native.LabelStream(4, NAN, 2.0, 2.0), "the limit is not a number"),
    ("poisson_weights, more than a terabyte",
     lambda: _native.poisson_weights(np.zeros(64, np.uint64), 0, 0, 2**32), "larger than a terabyte"),
    ("poisson_totals, more than a terabyte",
     lambda: _native.poisson_totals(np.zeros(1, np.uint64), np.zeros((1, 64)), 0, 0, 2**32), "larger than a terabyte"),
    ("edit_counts, falling ends", lambda: edits("edit_counts", ints(2, 1)), "the ends of the rows must rise"),
    ("edit_counts, negative end", lambda: edits("edit_counts", ints(-1, 3)), "the ends of the rows must rise"),
    ("edit_distances, end outside", lambda: edits("edit_distances", ints(1, 4)), "the ends of the rows must rise"),
    ("edit_distances, symbols left", lambda: edits("edit_distances", ints(1, 2)), "must end with the symbols"),
    ("usual_boxes, a reply of bytes", lambda: _native.usual_boxes([b"[1, 2, 3, 4]"]), "replies must be texts"),
    ("edit_steps, other rows", lambda: edits("edit_steps", ints(3)), "references and hypotheses must be as many"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(act: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        act()


def test_the_same_arguments_without_the_fault_are_taken() -> None:
    """So that each of the above is refused for its fault alone."""
    value, recall = figures()
    assert value.shape == recall.shape == (2, 1)
    assert np.isfinite(value).all()
    for made in (
        join(reals(1, 0), reals(3, 2, 1)),
        matched(),
        oks(),
        edits("edit_counts", ints(1, 3)),
        curves(),
        sizes(ints(1), ints(9, 9).reshape(1, 2)),
    ):
        assert made is not None
    assert ranked()[0] == 1.0
    assert detection_ap()[0] == 0.5
    assert _native.mask_sizes([packed()]).tolist() == [[9, 9]]
    assert _native.BoxStream(*STREAM).result() is not None
    assert scored("ranking_gain", 9, 1.0, False).tolist() == [[1.0, 1.0]]


def test_scores_beyond_single_precision() -> None:
    """In single precision, as trec_eval holds them, -1e300 and -1e301 are both -inf: equal, so the larger id is first."""
    ids, of_input, single, *_ = join(reals(1, 1), reals(5.0, -1e300, -1e301))
    assert ids.tolist() == [1, 2]
    assert of_input.tolist() == [1, 2]
    assert single.tolist() == [1, 3]


def test_a_signed_state_with_nan_is_refused() -> None:
    """Its checksum fits, its contents do not: they are looked at as an input's are."""
    state = sy.Accumulator("rankings")
    state.update({"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5, "c": 0.1}})
    kind, facts, arrays = parse_container(state.to_bytes(), "a state")
    assert (
        sy.Accumulator.from_bytes(container_bytes(kind, facts, arrays)).report(["mrr"], confidence=None)["mrr"].value
        == 0.5
    )

    def refused(name: str, value: Any) -> None:
        changed = arrays[name].copy()
        changed[1] = value
        with pytest.raises(sy.InputError, match=r"x\.state"):
            sy.Accumulator.from_bytes(container_bytes(kind, facts, {**arrays, name: changed}), "x.state")

    refused("prediction.values", NAN)
    refused("truth.values", -INF)
    refused("prediction.starts", 2)
    refused("prediction.ends", 99)
