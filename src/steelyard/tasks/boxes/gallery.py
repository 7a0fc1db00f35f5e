"""Images of boxes that are worth a look: which, what is drawn over them, and counts at every score threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.frozen import Frozen
from steelyard.core.gallery import WORST, Layer, Mark, MarkKind, MarkRole, Parts, Shot, Sweep, mark_bounds, round_parts
from steelyard.core.outline import mask_rings
from steelyard.core.pairs import Array
from steelyard.core.quads import corners_of
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.errors import HIT, KINDS, TITLES, breakdown
from steelyard.tasks.boxes.matches import AREAS, STANDARD_AREAS, UNCOUNTED, match_objects, matches
from steelyard.tasks.boxes.pairs import CROWD, BoxPairs, KeypointSimilarity, MaskIou, ProbIou, QuadIou
from steelyard.tasks.boxes.settings import MOST, class_names, on_grid, thresholds

IOU, SCORE, BACKGROUND_IOU = 0.5, 0.5, 0.1
POOL = 200  # units, the worst first, in which images of each kind of error are looked for
MOST_SHOTS, EACH = 40, 3  # images of a page, and of a kind of error
MOST_MARKS = 80  # objects of each side that are drawn over an image
FINE, COARSE = 101, 21  # thresholds of a sweep
MOST_FINE, MOST_CONFUSED, MOST_CLASSES = 5_000, 100_000, 30  # detections, detections, classes


class Confused(Frozen):
    """Rows of truths and detections at a score threshold: hits, mix-ups, detections on nothing, missed objects."""

    hits: Array  # detections
    mixed: tuple[Array, Array]  # truths and detections of another class
    background: Array
    missed: Array


def confused(pairs: BoxPairs, cache: SharedCache, iou: float, score: float, max_dets: int) -> Confused:
    """Match within the class, then what is left over of a side with what is left over of the other."""
    levels, places = on_grid(iou)
    m = matches(pairs, cache, thresholds(levels), STANDARD_AREAS, MOST)[0]
    in_use = m.places() & (m.score >= score) & (m.rank < max_dets)
    hit, ignored = m.bit(places[0])
    single = matches(pairs, cache, (float(iou),), (AREAS["all"],), MOST)[0]
    paired = single.places() & (single.score >= score) & (single.rank < max_dets) & single.bit(0)[0]
    taken = np.zeros(len(pairs.image), dtype=bool)
    taken[single.partner[paired]] = True
    truths = np.flatnonzero(~taken & ((pairs.flags & UNCOUNTED) == 0) & (pairs.area <= AREAS["all"][1]))
    rest = m.order[in_use & ~hit & ~ignored]
    rest = rest[np.argsort(-pairs.d_score[rest], kind="stable")]
    left = pairs.part(truths, rest).of_one_class()
    rest_matches = match_objects(left, (float(iou),), ((0.0, np.inf),), MOST)[0]
    used = rest_matches.places()
    predicted, partner = rest[rest_matches.order[used]], rest_matches.partner[used]
    paired_rows = partner >= 0
    missed = np.ones(len(truths), dtype=bool)
    missed[partner[paired_rows]] = False
    return Confused(
        m.order[in_use & hit],
        (truths[partner[paired_rows]], predicted[paired_rows]),
        predicted[~paired_rows],
        truths[missed],
    )


def confusion_counts(pairs: BoxPairs, cells: Confused) -> Array:
    """Counts, truth by prediction, with the background last."""
    classes = pairs.classes
    table = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    hits = pairs.d_label[cells.hits]
    np.add.at(table, (hits, hits), 1)
    np.add.at(table, (pairs.label[cells.mixed[0]], pairs.d_label[cells.mixed[1]]), 1)
    table[classes, :classes] = np.bincount(pairs.d_label[cells.background], minlength=classes)
    table[:classes, classes] = np.bincount(pairs.label[cells.missed], minlength=classes)
    return table


def sweep(pairs: BoxPairs) -> Sweep | None:
    """True positives, false positives, missed objects and the confusion matrix at every score threshold."""
    if not len(pairs.d_score) or not len(pairs.image):
        return None
    work = SharedCache()
    levels, places = on_grid(IOU)
    m = matches(pairs, work, thresholds(levels), STANDARD_AREAS, MOST)[0]
    hit, ignored = m.bit(places[0])
    in_use = m.places()
    scores = _scores(pairs)
    objects = int(np.count_nonzero(m.counts))
    right, wrong = np.sort(m.score[in_use & hit]), np.sort(m.score[in_use & ~hit & ~ignored])
    tp, fp = (len(side) - np.searchsorted(side, scores, side="left") for side in (right, wrong))
    cells: tuple[tuple[int, ...], ...] = ()
    if pairs.classes <= MOST_CLASSES and _work(pairs) <= MOST_CONFUSED:
        tables = [confusion_counts(pairs, confused(pairs, work, IOU, float(score), MOST)) for score in scores]
        cells = tuple(_sparse(table) for table in tables)
    counts = tuple((int(a), int(b), objects - int(a)) for a, b in zip(tp, fp, strict=True))
    start = int(np.argmin(np.abs(scores - SCORE)))
    return Sweep(IOU, tuple(scores.tolist()), start, counts, tuple(class_names(pairs.metadata)), cells)


def _scores(pairs: BoxPairs) -> Array:
    """Thresholds from 0 to 1, or where scores are not between them, from the least to the highest and 0.5."""
    scores, count = pairs.d_score, FINE if _work(pairs) <= MOST_FINE else COARSE
    if not len(scores):
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    if low >= 0 and high <= 1:
        return np.round(np.linspace(0.0, 1.0, count), 2)
    return np.unique([*np.linspace(low, high, count), *([SCORE] if low < SCORE < high else [])])


def _work(pairs: BoxPairs) -> int:
    """Detections, where a mask counts as ten boxes: so much longer takes its comparison."""
    return len(pairs.d_score) * (10 if isinstance(pairs.similarity, MaskIou) else 1)


def _sparse(table: Array) -> tuple[int, ...]:
    i, j = np.nonzero(table)
    return tuple(np.stack([i, j, table[i, j]], axis=1).ravel().tolist())


def shown_units(pairs: BoxPairs, badness: Array) -> tuple[list[int], int]:
    """Units to show, and how many of them are the worst: those come first, then examples of each kind of error."""
    m = matches(pairs, SharedCache(), (IOU,), (AREAS["all"],), MOST)[0]
    hit, ignored = m.bit(0)
    in_use = m.places() & (m.score >= SCORE)
    units = len(pairs.units)
    wrong = np.bincount(m.image[in_use & ~hit & ~ignored], minlength=units)
    wrong += np.bincount(pairs.image, minlength=units) - np.bincount(m.image[in_use & hit], minlength=units)
    finite = np.flatnonzero(np.isfinite(badness))
    order = finite[np.lexsort((-wrong[finite], -badness[finite]))]
    worst = order[:WORST].tolist()
    pool = order[:POOL]
    pool = pool[np.cumsum(np.bincount(pairs.d_image, minlength=units)[pool]) <= MOST_FINE]
    part, place = _part(pairs, pool), {unit: rank for rank, unit in enumerate(pool.tolist())}
    chosen = dict.fromkeys(worst)
    for images in _images_by_error(part):
        have = sum(image in chosen for image in images)
        for image in sorted((image for image in images if image not in chosen), key=lambda image: place[image]):
            if have >= EACH or len(chosen) >= MOST_SHOTS:
                break
            chosen[image] = None
            have += 1
    return list(chosen), len(worst)


def _images_by_error(part: BoxPairs) -> Iterable[list[int]]:
    """The images of each kind of error and each cell of the confusion matrix beside its diagonal, common ones first."""
    work = SharedCache()
    kinds = breakdown(part, work, IOU, BACKGROUND_IOU)
    images: dict[Any, list[int]] = {}
    seen = part.d_score[kinds.row] >= SCORE
    for row, kind in zip(kinds.row[seen].tolist(), kinds.kind[seen].tolist(), strict=True):
        if kind != HIT:
            images.setdefault(kind, []).append(int(part.d_image[row]))
    images["miss"] = part.image[kinds.missed].tolist()
    cells = confused(part, work, IOU, SCORE, MOST)
    t, d = cells.mixed
    for true, predicted, image in zip(
        part.label[t].tolist(), part.d_label[d].tolist(), part.image[t].tolist(), strict=True
    ):
        images.setdefault((true, predicted), []).append(image)
    for true, image in zip(part.label[cells.missed].tolist(), part.image[cells.missed].tolist(), strict=True):
        images.setdefault((true, -1), []).append(image)
    for predicted, row in zip(part.d_label[cells.background].tolist(), cells.background.tolist(), strict=True):
        images.setdefault((-1, predicted), []).append(int(part.d_image[row]))
    return (list(dict.fromkeys(rows)) for rows in sorted(images.values(), key=len, reverse=True))


def _part(pairs: BoxPairs, units: Sequence[int] | Array) -> BoxPairs:
    """The objects of some images. All images stay."""
    wanted = np.zeros(len(pairs.units), dtype=bool)
    wanted[np.asarray(units, dtype=np.int64)] = True
    return pairs.select(wanted[np.concatenate([pairs.image, pairs.d_image])])


def shots(pairs: BoxPairs, units: Sequence[int]) -> list[Shot]:
    """The images at these places, with what is drawn over them."""
    part, work = _part(pairs, units), SharedCache()
    m = matches(part, work, (IOU,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places())
    hit, ignored = (flags[places] for flags in m.bit(0))
    rows, names = m.order[places], class_names(pairs.metadata)
    partner_score = np.full(len(part.image), np.nan)
    partner_score[m.partner[places[hit]]] = m.score[places[hit]]
    outcome = {row: (bool(h), bool(i)) for row, h, i in zip(rows.tolist(), hit.tolist(), ignored.tolist(), strict=True)}
    tags = _tags(part, work, _scores(pairs))
    files, sizes = _files(pairs, units), _sizes(pairs, units)
    listed = []
    for place, unit in enumerate(units):
        marks = []
        for row in np.flatnonzero(part.image == unit)[:MOST_MARKS].tolist():
            uncounted, matched = bool(part.flags[row] & UNCOUNTED), not np.isnan(partner_score[row])
            name = names[part.label[row]] + (" (crowd)" if part.flags[row] & CROWD else "")
            marks.append(
                _mark(
                    part,
                    "truth",
                    row,
                    name,
                    matched,
                    not uncounted,
                    partner_score[row] if matched else None,
                    tags.get(("truth", row), ()),
                )
            )
        mine = rows[part.d_image[rows] == unit]
        mine = mine[np.argsort(-part.d_score[mine], kind="stable")][:MOST_MARKS]
        for row in mine.tolist():
            right, neither = outcome[row]
            label = f"{names[part.d_label[row]]} {part.d_score[row]:.2f}"
            marks.append(
                _mark(
                    part,
                    "prediction",
                    row,
                    label,
                    right,
                    not neither,
                    float(part.d_score[row]),
                    tags.get(("prediction", row), ()),
                )
            )
        size = sizes[place]
        name = str(pairs.units[unit])
        shown = files[place][0] if files[place] and files[place][0] != name else ""
        listed.append(
            Shot(
                unit=name,
                title=f"{name} {shown}".strip(),
                bounds=mark_bounds(marks) if size is None else (0.0, 0.0, float(size[0]), float(size[1])),
                layers=(Layer(tuple(marks)),),
                files=files[place],
                fits=size is not None,
            )
        )
    return listed


def _files(pairs: BoxPairs, units: Sequence[int]) -> list[tuple[str, ...]]:
    named = pairs.image_fields.get("file_name")
    listed = []
    for unit in units:
        name = None if named is None else named[unit]
        listed.append(tuple(dict.fromkeys([*([name] if isinstance(name, str) else []), str(pairs.units[unit])])))
    return listed


def _sizes(pairs: BoxPairs, units: Sequence[int]) -> list[tuple[int, int] | None]:
    """Width and height of the images, where the truth gives them."""
    fields = [pairs.image_fields.get(name) for name in ("width", "height")]
    listed: list[tuple[int, int] | None] = []
    for unit in units:
        size = [0 if field is None or not isinstance(field[unit], int) else int(field[unit]) for field in fields]
        listed.append((size[0], size[1]) if all(0 < side < 1 << 20 for side in size) else None)
    return listed


def _mark(
    pairs: BoxPairs,
    role: MarkRole,
    row: int,
    label: str,
    matched: bool,
    counts: bool,
    score: float | None,
    tags: tuple[str, ...],
) -> Mark:
    kind, parts = _parts(pairs, role, row)
    return Mark(kind, role, parts, label, matched, counts, None if score is None else float(score), tags)


def _parts(pairs: BoxPairs, role: MarkRole, row: int) -> tuple[MarkKind, Parts]:
    """An object as it is compared: its outline, its corners, its points, or its box."""
    truth = role == "truth"
    shape = pairs.shape if truth else pairs.d_shape
    if isinstance(pairs.similarity, MaskIou):
        rings = mask_rings(np.asarray(_native.mask_decode([shape[row]]))[0].T)
        if rings:
            return "rings", round_parts(rings)
    elif isinstance(pairs.similarity, KeypointSimilarity):
        points = np.asarray(shape[row], dtype=float).reshape(-1, 3)
        points = points[points[:, 2] > 0] if truth else points
        if len(points):
            return "points", round_parts(points[:, :2].tolist())
    elif isinstance(pairs.similarity, QuadIou | ProbIou):
        corners = corners_of(shape[[row]]) if shape.shape[1] == 5 else shape[[row]]
        return "rings", round_parts([corners[0].tolist()])
    return "box", round_parts([(pairs.box if truth else pairs.d_box)[row].tolist()])


def _tags(part: BoxPairs, work: SharedCache, scores: Array) -> dict[tuple[str, int], tuple[str, ...]]:
    """What is wrong with each object: the kind of error, and its cells of the confusion matrix.

    A cell comes with the places of the thresholds from which and to which it holds: "cell:1>2:30-55".
    """
    tags: dict[tuple[str, int], list[str]] = {}
    kinds = breakdown(part, work, IOU, BACKGROUND_IOU)
    for row, kind in zip(kinds.row.tolist(), kinds.kind.tolist(), strict=True):
        if kind != HIT:
            tags.setdefault(("prediction", row), []).append(f"error:{TITLES[KINDS[kind - 1]]}")
    for row in np.flatnonzero(kinds.missed).tolist():
        tags.setdefault(("truth", row), []).append(f"error:{TITLES['miss']}")
    held: dict[tuple[tuple[str, int], str], list[int]] = {}
    nothing = part.classes
    for place, score in enumerate(scores.tolist() if part.classes <= MOST_CLASSES else ()):
        cells = confused(part, work, IOU, score, MOST)
        rows: list[tuple[tuple[str, int], int, int]] = []
        for t, d in zip(cells.mixed[0].tolist(), cells.mixed[1].tolist(), strict=True):
            rows += [(key, int(part.label[t]), int(part.d_label[d])) for key in (("truth", t), ("prediction", d))]
        rows += [(("truth", t), int(part.label[t]), nothing) for t in cells.missed.tolist()]
        rows += [(("prediction", d), nothing, int(part.d_label[d])) for d in cells.background.tolist()]
        rows += [(("prediction", d), int(part.d_label[d]), int(part.d_label[d])) for d in cells.hits.tolist()]
        for key, true, predicted in rows:
            held.setdefault((key, f"cell:{true}>{predicted}"), []).append(place)
    for (key, cell), places in held.items():
        for first, last in _runs(places):
            tags.setdefault(key, []).append(f"{cell}:{first}-{last}")
    return {key: tuple(listed) for key, listed in tags.items()}


def _runs(places: list[int]) -> Iterable[tuple[int, int]]:
    """The first and last of each run of whole numbers that follow one another."""
    start = 0
    for i in range(1, len(places) + 1):
        if i == len(places) or places[i] != places[i - 1] + 1:
            yield places[start], places[i - 1]
            start = i
