"""Checks of `anomalies`: scores that are turned around or scaled map by map, blurred or shrunk masks, and specks.

And scores that other tools would see as equal, because they apply a sigmoid in single precision.
"""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.counts import share_text
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.opening import read_regular
from steelyard.core.pairs import Array
from steelyard.core.records import median
from steelyard.maps.each import for_each
from steelyard.maps.png import png_file
from steelyard.tasks.anomalies.data import AnomalyPairs

CHECKS = with_ids(Checks())
QUICK, MOST = 6, 200  # maps that are looked at
SAMPLE = 20_000  # pixels of a map that are ranked
SATURATED = 17.0  # from here on a sigmoid in single precision is 1
SPECK, SPECK_SHARE = 5, 1e-4  # pixels of a region, and its share of the image, below which it is a speck


class Look(Frozen):
    """What was seen of one map: its range, the share that a sigmoid makes equal, and its AUROC where it has both."""

    name: str
    low: float
    high: float
    equal: float
    area: float


class Looks(Frozen):
    """What was seen of some maps; `refused` is why evaluation refuses one."""

    maps: tuple[Look, ...] = ()
    refused: str = ""


def _look(pairs: AnomalyPairs, pair: int) -> Look | str:
    try:
        picture = pairs.picture(pair)
    except InputError as error:
        return str(error)
    scores, area = picture.scores, float("nan")
    if picture.mask is not None:
        places, flat = np.flatnonzero(picture.mask.view(bool)), scores.ravel()
        others = scores.size - len(places)
        if len(places) and others:
            chosen = evenly(others, SAMPLE)
            chosen = chosen + np.searchsorted(places - np.arange(len(places)), chosen, side="right")  # without a mask
            few = flat[places[evenly(len(places), SAMPLE)]], flat[chosen]
            hit, other = (np.sort(values.astype(np.float64)) for values in few)
            below = np.searchsorted(other, hit, "left") + np.searchsorted(other, hit, "right")
            area = float(below.mean() / 2 / len(other))
    low, high = float(scores.min()), float(scores.max())
    equal = float((scores >= SATURATED).mean()) if low < 0 or high > 1 else 0.0
    return Look(str(pairs.truth["image"][pairs.truth_row[pair]]), low, high, equal, area)


def _looks(data: CheckData) -> Looks:
    """Some maps of both kinds of images, looked at once."""
    if "looks" not in data.read:
        looks = Looks()
        pairs: AnomalyPairs | None = data.pairs
        if pairs is not None and "map" in pairs.prediction:
            try:
                kinds = [np.flatnonzero(pairs.defective), np.flatnonzero(~pairs.defective)]
                most = (QUICK if data.quick else MOST) // 2
                chosen = np.concatenate([kind[evenly(len(kind), most)] for kind in kinds])
                chosen = np.array([pair for pair in chosen.tolist() if pairs.has_map(pair)], dtype=np.int64)
                seen = for_each(len(chosen), lambda i: _look(pairs, int(chosen[i])))
                refused = next((one for one in seen if isinstance(one, str)), "")
                looks = Looks(tuple(one for one in seen if isinstance(one, Look)), refused)
            except InputError as error:
                looks = Looks((), str(error))
        data.read["looks"] = looks
    seen_looks: Looks = data.read["looks"]
    return seen_looks


@CHECKS.add("maps-refused", "error", "evaluation refuses the maps or masks", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    text = _looks(data).refused
    return Problem("Evaluation refuses these maps.", 1, 1, (text,)) if text else None


@CHECKS.add(
    "scores-reversed",
    "warning",
    "defective pixels score lower than others, so that every area is below chance",
    "Are these similarities? Set the option invert=yes.",
)
def reversed_scores(data: CheckData) -> Problem | None:
    """Most defective images have an AUROC of pixels below a half, or the images do by their scores."""
    areas = [look for look in _looks(data).maps if not np.isnan(look.area)]
    below = [look for look in areas if look.area < 0.5]
    if len(areas) >= 3 and median(np.array([look.area for look in areas])) < 0.4:
        return Problem(
            f"{share_text(len(below), len(areas), 'defective image', 'have')} lower scores on defects than elsewhere.",
            len(below),
            len(areas),
            tuple(f"{look.name}: AUROC {look.area:.2f}" for look in below),
        )
    pairs: AnomalyPairs | None = data.pairs
    if pairs is None or "score" not in pairs.prediction or "map" in pairs.prediction:
        return None
    rows = pairs.prediction_row >= 0
    score, defective = pairs.prediction["score"][pairs.prediction_row[rows]], pairs.defective[rows]
    if min(defective.sum(), (~defective).sum()) < 5:
        return None
    good = np.sort(score[~defective])
    lower = np.searchsorted(good, score[defective], "left") + np.searchsorted(good, score[defective], "right")
    area = float(np.mean(lower) / 2 / len(good))
    if area >= 0.4:
        return None
    return Problem(f"The AUROC of images is {area:.2f}: good images score higher.", int(defective.sum()), len(score))


@CHECKS.add(
    "self-scaled-maps",
    "warning",
    "each map was scaled by itself, so that scores of two images cannot be compared",
    "Scale all maps of an object alike, or write the scores as they are.",
)
def self_scaled(data: CheckData) -> Problem | None:
    """Every map has the same minimum and the same maximum."""
    maps = [look for look in _looks(data).maps if look.high > look.low]
    if len(maps) < 4 or len({(look.low, look.high) for look in maps}) > 1:
        return None
    return Problem(
        f"Each map has minimum {maps[0].low:g} and maximum {maps[0].high:g}: the maxima of all images are equal.",
        len(maps),
        len(maps),
        tuple(look.name for look in maps),
    )


@CHECKS.add(
    "sigmoid-ties",
    "note",
    "tools that apply a sigmoid in single precision see many of these scores as equal; Steelyard does not",
    "Scale the scores to 0 to 1 before giving them to such a tool.",
    quick=False,
)
def sigmoid_ties(data: CheckData) -> Problem | None:
    """Scores from about 17 up, which become 1."""
    maps = _looks(data).maps
    share = float(np.mean([look.equal for look in maps])) if maps else 0.0
    if share < 0.01:
        return None
    top = max(look.high for look in maps)
    return Problem(
        f"The maps reach {top:.3g}; tools that apply a sigmoid see {share:.0%} of these scores as equal.",
        sum(look.equal > 0 for look in maps),
        len(maps),
    )


@CHECKS.add(
    "constant-maps",
    "warning",
    "a map has one value everywhere, so it locates nothing",
    "Look at the maps.",
    quick=False,
)
def constant_maps(data: CheckData) -> Problem | None:
    """Maps with a single value."""
    maps = _looks(data).maps
    flat = [look for look in maps if look.low == look.high]
    if len(flat) < max(1, 0.1 * len(maps)):
        return None
    what = f"{share_text(len(flat), len(maps), 'map', 'have')} one value everywhere."
    return Problem(what, len(flat), len(maps), tuple(look.name for look in flat))


def _masked(data: CheckData) -> Array:
    pairs: AnomalyPairs | None = data.pairs
    if pairs is None or "map" not in pairs.truth or _looks(data).refused:
        return np.zeros(0, np.int64)
    places = np.flatnonzero(pairs.defective)
    return places[evenly(len(places), QUICK if data.quick else MOST)]


@CHECKS.add(
    "blurred-masks",
    "warning",
    "masks have several values beside 0, as after resizing with blur or JPEG; all of them count as defective",
    "Write masks of two values, or set the option mask_level=128.",
    side="truth",
)
def blurred_masks(data: CheckData) -> Problem | None:
    """Masks with more than one value that is not 0."""
    pairs, places = data.pairs, _masked(data)
    if not len(places) or pairs.options.of("mask_level") is not None:
        return None
    counts = {int(pair): int((pairs.mask_values(int(pair)) != 0).sum()) for pair in places}
    odd = [pair for pair, count in counts.items() if count > 1]
    if not odd:
        return None
    names = tuple(f"{pairs.truth.place(int(pairs.truth_row[pair]))}: {counts[pair]} values" for pair in odd)
    what = f"{share_text(len(odd), len(places), 'mask', 'have')} more than one value beside 0."
    return Problem(what, len(odd), len(places), names)


@CHECKS.add(
    "shrunk-masks",
    "warning",
    "masks are smaller than their images: tiny regions vanish and AUPRO rises",
    "Use the masks in their own size, and enlarge the maps (resize=bilinear).",
    side="truth",
    quick=False,
)
def shrunk_masks(data: CheckData) -> Problem | None:
    """Masks whose size is not that of the image file."""
    pairs, places = data.pairs, _masked(data)
    files = pairs.truth.other.get("file") if pairs is not None else None
    if files is None:
        return None
    odd = []
    for pair in places.tolist():
        row = int(pairs.truth_row[pair])
        mask, file = pairs.open_mask(row)[0], str(files[row])
        if mask is None or not file.lower().endswith(".png"):
            continue
        size = png_file(read_regular(file), file).shape
        if mask.shape[0] < size[0] or mask.shape[1] < size[1]:
            odd.append(f"{file}: {size[1]}×{size[0]}, its mask {mask.shape[1]}×{mask.shape[0]}")
    if not odd:
        return None
    what = f"{share_text(len(odd), len(places), 'mask', 'are')} smaller than the image."
    return Problem(what, len(odd), len(places), tuple(odd))


@CHECKS.add(
    "specks",
    "warning",
    "regions of a few pixels weigh as much as whole defects in AUPRO",
    "Look at the masks: specks often come from editing or from resizing.",
    side="truth",
    quick=False,
)
def specks(data: CheckData) -> Problem | None:
    """Regions below five pixels in images of ten thousand times as many."""
    pairs, places = data.pairs, _masked(data)
    small, every, names = 0, 0, []
    for pair in places.tolist():
        mask = pairs.open_mask(int(pairs.truth_row[pair]))[0]
        if mask is None:
            continue
        labels, count = _native.connected_parts(mask)
        sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
        tiny = int(((sizes < SPECK) & (sizes < SPECK_SHARE * mask.size)).sum())
        small, every = small + tiny, every + count
        names += [pairs.truth.place(int(pairs.truth_row[pair]))] if tiny else []
    if small < max(2, 0.1 * every):
        return None
    what = f"{share_text(small, every, 'region', 'have')} fewer than {SPECK} pixels."
    return Problem(what, small, every, tuple(names))
