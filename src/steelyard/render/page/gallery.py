"""Images on a page: thumbnails with what was found, missed and made up, counts by score threshold, two models at once.

The page is complete without its script. The script (gallery.js) adds the slider, legends that hide a kind of mark,
images by kind of error, and the swipe between two models.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from os import PathLike

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.gallery import Gallery, Mark, Shot, Sweep
from steelyard.io.thumbnails import ImageFolder, Thumbnail
from steelyard.render.charts.draw import number
from steelyard.render.charts.layout import fit_names, text_width

WIDE, TALL = 360.0, 480.0  # of a shot, in its own units
LETTERS = 11.0
PAGE_BYTES = 6_000_000  # of a page: thumbnails are left out first
FRAME_BYTES = 1_000_000  # of a page beside its other sections: style, script, marks over images
IMAGE_BYTES = 2_500_000  # of all thumbnails of a page
STATES = {
    "tp": "true positive",
    "fp": "false positive",
    "fn": "missed (false negative)",
    "gt": "true object that was found",
    "nc": "counts neither way",
}

Bounds = tuple[float, float, float, float]
Words = Sequence[tuple[str, str]]


class Thumbnails:
    """The thumbnails of a page, as long as they fit. Without a folder there are none."""

    def __init__(self, images: str | PathLike[str] | None, room: int) -> None:
        self.folder = None if images is None else ImageFolder(images)
        self.room = min(IMAGE_BYTES, room)
        self.shown = self.dropped = self.lacking = 0

    def find(self, files: tuple[str, ...]) -> Thumbnail | None:
        """The thumbnail of a file with one of these names; None where there is no file, or no room left."""
        if self.folder is None or not files:
            return None
        small = self.folder.thumbnail(files)
        if small is None:
            self.lacking += 1
            return None
        size = -(-len(small.data) // 3) * 4
        if size > self.room:
            self.dropped += 1
            return None
        self.room -= size
        self.shown += 1
        return small


class Section(Frozen):
    """The body of a section, and whether it holds thumbnails."""

    body: str
    pictures: bool = False


def report_gallery(gallery: Gallery | None, images: str | PathLike[str] | None, room: int) -> Section:
    """The worst units, then those of other errors, with the counts at a score threshold."""
    if gallery is None or not gallery.shots:
        return Section("")
    thumbnails = Thumbnails(images, room)
    drawn = [(shot, _shot(shot, f"shot-{i}", gallery, thumbnails)) for i, shot in enumerate(gallery.shots)]
    worst = [html for shot, html in drawn if shot.worst]
    others = [html for shot, html in drawn if not shot.worst]
    units = count_text(2, gallery.unit).partition(" ")[2]
    frames = len(worst) > len({shot.unit for shot in gallery.shots if shot.worst})
    counted = len({shot.unit for shot in gallery.shots})
    note = f"The worst {units} by {gallery.by}" + (", at their switches" if frames else "") + "."
    note += f" {counted} of {gallery.of:,} {units} are shown.{_missing(thumbnails, gallery.shots)}"
    more = (
        f'<details class="more"><summary>Other errors: {count_text(len(others), "image")}</summary>'
        f'<div class="shots">{"".join(others)}</div></details>'
        if others
        else ""
    )
    body = (
        f'<div class="gallery" data-threshold="{"" if gallery.threshold is None else repr(gallery.threshold)}">'
        f"{_sweep(gallery.sweep)}{_legend(gallery.shots, gallery.words)}"
        f'<p class="filter" hidden><output aria-live="polite"></output> <button type="button" class="plain">Show all'
        f'</button></p><p class="legend">{escape(note)}</p><div class="shots">{"".join(worst)}</div>{more}</div>'
    )
    return Section(body, thumbnails.shown > 0)


def pair_galleries(
    galleries: Sequence[tuple[str, str, Gallery | None]], images: str | PathLike[str] | None, room: int
) -> Section:
    """For each pair of models, the units on which they differ most, one model over the other."""
    thumbnails, parts = Thumbnails(images, room), []
    for place, (first, name, gallery) in enumerate(galleries):
        if gallery is None or not gallery.shots:
            continue
        units = count_text(2, gallery.unit).partition(" ")[2]
        drawn = [
            _pair(shot, f"pair-{place}-{i}", gallery, thumbnails, (first, name)) for i, shot in enumerate(gallery.shots)
        ]
        heading = f"<h3>{escape(first)} and {escape(name)}</h3>" if len(galleries) > 1 else ""
        counted = len({shot.unit for shot in gallery.shots})
        note = (
            f"The {units} whose {gallery.by} differs most: {counted} of {gallery.of:,}. "
            f"{'' if gallery.threshold is None else f'Detections with a score from {gallery.threshold:g}. '}"
            f"{_missing(thumbnails, gallery.shots).strip()}"
        )
        parts.append(
            f'{heading}<div class="gallery">{_legend(gallery.shots, gallery.words)}'
            f'<p class="legend">{escape(note.strip())}</p>'
            f'<div class="shots pairs">{"".join(drawn)}</div></div>'
        )
    return Section("".join(parts), thumbnails.shown > 0)


def gallery_shots(
    gallery: Gallery, images: str | PathLike[str] | None, most: int, names: tuple[str, str] | None = None
) -> str:
    """The first units of a gallery with what marks mean, for a notebook; `names` are the models of a comparison."""
    thumbnails = Thumbnails(images, IMAGE_BYTES)
    units = list(dict.fromkeys(shot.unit for shot in gallery.shots if shot.worst))[:most]
    shots = [shot for shot in gallery.shots if shot.unit in units and shot.worst]
    own = hashlib.sha256(repr((shots, names)).encode("utf-8", "replace")).hexdigest()[:8]  # ids of several galleries
    drawn = [
        _shot(shot, f"shot-{own}-{i}", gallery, thumbnails)
        if names is None
        else _pair(shot, f"pair-{own}-{i}", gallery, thumbnails, names)
        for i, shot in enumerate(shots)
    ]
    said = count_text(2, gallery.unit).partition(" ")[2]
    chosen = f"The worst {said} by {gallery.by}" if names is None else f"The {said} whose {gallery.by} differs most"
    note = f"{chosen}: {len(units)} of {gallery.of:,}.{_missing(thumbnails, shots)}"
    kind = "shots" if names is None else "shots pairs"
    legend = f'{_legend(shots, gallery.words)}<p class="legend"><small>{escape(note)}</small></p>'
    return f'{legend}<div class="{kind}">{"".join(drawn)}</div>'


def _missing(thumbnails: Thumbnails, shots: Sequence[Shot]) -> str:
    """What a reader must know of images that are not there."""
    files = [files for shot in shots for files in (shot.files, *(m.files for one in shot.layers for m in one.marks))]
    wanted = sum(map(bool, files))
    if not wanted:  # they show no image, such as scenes from above
        return ""
    if thumbnails.folder is None:
        return " Give the folder of the images when the page is written to see them under the marks."
    parts = [f" Thumbnails: {thumbnails.shown} of {wanted}."] if thumbnails.shown < wanted else []
    parts += [f" {count_text(thumbnails.lacking, 'file')} not found."] if thumbnails.lacking else []
    parts += [f" {thumbnails.dropped} left out to keep the page small."] if thumbnails.dropped else []
    return "".join(parts)


def _legend(shots: Sequence[Shot], words: Words) -> str:
    """What the marks mean; the script makes buttons of them that hide a kind."""
    present = {_state(mark, None) for shot in shots for layer in shot.layers for mark in layer.marks}
    present |= set() if words else {"tp", "fp", "fn"}
    entries = "".join(
        f'<span class="entry" data-state="{state}"><svg width="30" height="14" aria-hidden="true">'
        f'<g class="mark {state}"><rect x="2" y="2" width="26" height="10"/></g></svg>{escape(text)}</span>'
        for state, text in (STATES | dict(words)).items()
        if state in present
    )
    return f'<div class="key" role="group" aria-label="Marks that are shown">{entries}</div>'


def _state(mark: Mark, threshold: float | None) -> str:
    if mark.role == "pair":
        return "pair"
    if not mark.counts:
        return "nc"
    if mark.role == "prediction":
        return "tp" if mark.matched else "fp"
    has_partner = mark.matched and (threshold is None or mark.score is None or mark.score >= threshold)
    return "gt" if has_partner else "fn"


def _hidden(mark: Mark, threshold: float | None) -> bool:
    below = threshold is not None and mark.score is not None and mark.score < threshold
    return mark.role == "prediction" and below


def _counts(marks: Sequence[Mark], gallery: Gallery) -> str:
    threshold = gallery.threshold
    states = [_state(mark, threshold) for mark in marks if not _hidden(mark, threshold)]
    if gallery.words:
        return ", ".join(f"{states.count(state)} {word}" for state, word in gallery.words if state != "gt")
    return ", ".join(f"{states.count(state)} {state.upper()}" for state in ("tp", "fp", "fn"))


def _shot(shot: Shot, name: str, gallery: Gallery, thumbnails: Thumbnails) -> str:
    layer, small = shot.layers[0], thumbnails.find(shot.files)
    svg = _drawing(shot, layer.marks, name, gallery, small, thumbnails, first=True)
    return (
        f'<figure class="shot" id="{name}">{svg}<figcaption>{escape(shot.title)}<small>'
        f'<span class="count">{_counts(layer.marks, gallery)}</span>; {escape(layer.summary)}</small></figcaption>'
        "</figure>"
    )


def _pair(shot: Shot, name: str, gallery: Gallery, thumbnails: Thumbnails, names: tuple[str, str]) -> str:
    small, sides = thumbnails.find(shot.files), []
    for place, (layer, model) in enumerate(zip(shot.layers, names, strict=False)):
        svg = _drawing(shot, layer.marks, name, gallery, small, thumbnails, first=place == 0)
        sides.append(
            f'<div class="side" data-model="{escape(model)}">{svg}<p><b>{escape(model)}</b> <small>'
            f"{_counts(layer.marks, gallery)}; {escape(layer.summary)}</small></p></div>"
        )
    return (
        f'<figure class="shot swipe" id="{name}"><figcaption>{escape(shot.title)}</figcaption>'
        f'<div class="sides">{"".join(sides)}</div></figure>'
    )


def _drawing(
    shot: Shot, marks: Sequence[Mark], name: str, gallery: Gallery, small: Thumbnail | None, thumbnails: Thumbnails, *,
    first: bool,
) -> str:  # fmt: skip
    """Marks over the image, to scale; the image of a second drawing is that of the first."""
    threshold = gallery.threshold
    left, top, right, bottom = shot.bounds if shot.fits or small is None else (0.0, 0.0, small.width, small.height)
    width, height = right - left, bottom - top
    scale = min(WIDE / width, TALL / height)
    wide, high = width * scale, height * scale
    frame = Frame(left, top, scale, wide, high)
    body = [f'<rect class="ground" width="{number(wide)}" height="{number(high)}"/>']
    if small is not None and first:
        data = base64.b64encode(small.data).decode("ascii")
        body.append(
            f'<image id="{name}-image" href="data:{small.media};base64,{data}" width="{number(wide)}" '
            f'height="{number(high)}" preserveAspectRatio="none"/>'
        )
    elif small is not None:
        body.append(f'<use href="#{name}-image"/>')
    tiles = {place: thumbnails.find(mark.files) for place, mark in enumerate(marks) if mark.files}
    labels = _labels(marks, frame, threshold, tiles)
    words = STATES | dict(gallery.words)
    for place, mark in enumerate(marks):
        body.append(_tile(mark, frame, tiles.get(place)))
        body.append(_mark(mark, frame, threshold, labels.get(place, ""), words))
    said = f"{shot.title}: {_counts(marks, gallery)}"
    return (
        f'<svg{"" if small is None else " class=pictured"} viewBox="0 0 {number(wide)} {number(high)}" '
        f'width="{number(wide)}" height="{number(high)}" role="img" '
        f'aria-label="{escape(said)}">{"".join(body)}</svg>'
    )


class Frame(Frozen):
    """How pixels of an image become units of a drawing."""

    left: float
    top: float
    scale: float
    wide: float
    high: float

    def points(self, part: Sequence[float]) -> list[tuple[float, float]]:
        """Pairs of numbers as points."""
        return [
            ((x - self.left) * self.scale, (y - self.top) * self.scale)
            for x, y in zip(part[::2], part[1::2], strict=True)
        ]


def _shape(mark: Mark, frame: Frame) -> str:
    drawn = []
    for part in mark.parts:
        if mark.kind == "box":
            (x, y), w, h = frame.points(part[:2])[0], part[2] * frame.scale, part[3] * frame.scale
            drawn.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"/>')
        elif mark.kind == "ellipse":
            (x, y), (_, _, degrees, a, b) = frame.points(part[:2])[0], part
            drawn.append(
                f'<ellipse cx="{number(x)}" cy="{number(y)}" rx="{number(a * frame.scale)}" '
                f'ry="{number(b * frame.scale)}" transform="rotate({number(degrees)} {number(x)} {number(y)})"/>'
            )
        elif mark.kind == "points":
            (x, y) = frame.points(part)[0]
            drawn.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="3"/>')
        elif mark.kind == "line":
            (x, y), (x2, y2) = frame.points(part)
            drawn.append(f'<path d="M{number(x)} {number(y)}L{number(x2)} {number(y2)}"/>')
    if mark.kind == "rings":
        rings = [" ".join(f"{number(x)} {number(y)}" for x, y in frame.points(part)) for part in mark.parts]
        drawn.append(f'<path d="{"".join(f"M{ring}z" for ring in rings)}"/>')
    return "".join(drawn)


def _tile(mark: Mark, frame: Frame, small: Thumbnail | None) -> str:
    """The image that fills a box."""
    if small is None:
        return ""
    x, y = frame.points(mark.parts[0][:2])[0]
    wide, high = (side * frame.scale for side in mark.parts[0][2:])
    data = base64.b64encode(small.data).decode("ascii")
    return (
        f'<image href="data:{small.media};base64,{data}" x="{number(x)}" y="{number(y)}" width="{number(wide)}" '
        f'height="{number(high)}"/>'
    )


def _mark(mark: Mark, frame: Frame, threshold: float | None, label: str, words: Mapping[str, str]) -> str:
    state = _state(mark, threshold)
    said = f"{words.get(state, 'pair')}{': ' if mark.label else ''}{mark.label}"
    held = f' data-r="{mark.role[0]}"' if mark.score is not None or mark.tags else ""
    if mark.score is not None:
        held += f' data-s="{mark.score!r}"'
    if mark.tags:
        held += f' data-t="{escape("|".join(mark.tags))}"'
    hidden = " below" if _hidden(mark, threshold) else ""
    return f'<g class="mark {state}{hidden}"{held}><title>{escape(said)}</title>{_shape(mark, frame)}{label}</g>'


Room = tuple[float, float, float, float]


def _labels(
    marks: Sequence[Mark], frame: Frame, threshold: float | None, tiles: Mapping[int, Thumbnail | None]
) -> dict[int, str]:
    """Labels where there is room for them, those that are seen first; what has none keeps its tooltip.

    Boxes that stand for an image have the first word where the image is drawn, else the rest of the label: its name.
    """
    order = {"fp": 0, "tp": 1, "fn": 2, "pair": 3, "nc": 4, "gt": 5}

    def rank(place: int) -> tuple[bool, int, float]:
        mark = marks[place]
        return _hidden(mark, threshold), order[_state(mark, threshold)], -(mark.score or 0.0)

    taken: list[Room] = []
    drawn: dict[int, str] = {}
    for place in sorted((i for i, mark in enumerate(marks) if mark.label and mark.parts), key=rank):
        mark = marks[place]
        text, room_for = mark.label, 110.0
        if place in tiles:
            first, _, rest = mark.label.partition(" ")
            text, room_for = first if tiles[place] is not None else rest, mark.parts[0][2] * frame.scale * 1.2
        text = fit_names([text], room_for, LETTERS)[0]
        wide = text_width(text, LETTERS) * 1.02
        x0, y0, x1, y1 = _extent(mark, frame)
        for x, y in (
            (x0, y0 - 3),
            (x0, y1 + LETTERS),
            (x0 + 3, y0 + LETTERS + 1),
            (x1 - wide, y0 - 3),
            (x1 - wide, y1 + LETTERS),
            (x1 + 3, y0 + LETTERS),
            (x0 - wide - 3, y0 + LETTERS),
        ):
            x = max(1.0, min(x, frame.wide - wide - 1))
            room = (x - 1, y - LETTERS, x + wide + 1, y + 3)
            fits = room[1] >= 0 and room[3] <= frame.high and room[0] >= 0 and room[2] <= frame.wide
            if fits and not any(_overlap(room, other) for other in taken):
                taken.append(room)
                drawn[place] = f'<text x="{number(x)}" y="{number(y)}">{escape(text)}</text>'
                break
    return drawn


def _extent(mark: Mark, frame: Frame) -> Room:
    points = []
    for part in mark.parts:
        if mark.kind == "box":
            points += frame.points((part[0], part[1], part[0] + part[2], part[1] + part[3]))
        elif mark.kind == "ellipse":
            reach = max(part[3], part[4])
            points += frame.points((part[0] - reach, part[1] - reach, part[0] + reach, part[1] + reach))
        else:
            points += frame.points(part)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def _overlap(a: Room, b: Room) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def rates_of(counts: tuple[int, int, int]) -> dict[str, str]:
    """What a table of counts shows: true positives, false positives, misses, precision, recall and F1."""
    tp, fp, fn = counts
    rates = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "F1": (2 * tp, 2 * tp + fp + fn)}
    shown = {"TP": str(tp), "FP": str(fp), "FN": str(fn)}
    return shown | {name: f"{part / whole:.3f}" if whole else "–" for name, (part, whole) in rates.items()}


PLOT, EDGE = 200.0, 28.0


def _sweep(sweep: Sweep | None) -> str:
    """Counts at the default threshold, the curve of all thresholds, and what the script needs to move along it."""
    if sweep is None:
        return ""
    at = sweep.scores[sweep.start]
    data = {
        "scores": sweep.scores,
        "start": sweep.start,
        "counts": sweep.counts,
        "classes": sweep.classes,
        "cells": sweep.cells,
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    cells = "".join(
        f'<div><dt>{name}</dt><dd data-of="{name}">{value}</dd></div>'
        for name, value in rates_of(sweep.counts[sweep.start]).items()
    )
    return (
        f'<div class="sweep"><div class="beside"><h3 id="sweep-title">At a score of <span data-of="score">{at:g}</span>'
        f' or more</h3><p class="control" hidden><label for="threshold">Score threshold</label> <input type="range" '
        f'id="threshold" min="0" max="{len(sweep.scores) - 1}" step="1" value="{sweep.start}"></p>'
        f'<dl class="rates">{cells}</dl>'
        f'<output class="unseen" for="threshold" aria-live="polite"></output>'
        f'<p class="legend">All classes together, matched at IoU {sweep.iou:g}.</p></div>{_plot(sweep)}</div>'
        f'<script type="application/octet-stream" id="sweep-data">{text}</script>'
    )


def _plot(sweep: Sweep) -> str:
    """Precision against recall along the thresholds, with a point at the default."""
    points = []
    for tp, fp, fn in sweep.counts:
        points.append((tp / (tp + fn), tp / (tp + fp)) if tp + fp and tp + fn else None)
    line = " ".join(f"{number(EDGE + PLOT * x)},{number(8 + PLOT * (1 - y))}" for x, y in filter(None, points))
    start = points[sweep.start]
    at = (EDGE + PLOT * start[0], 8 + PLOT * (1 - start[1])) if start is not None else (EDGE, 8.0)
    grid = "".join(
        f'<path class="s-line" d="M{number(EDGE)} {number(8 + PLOT * part)}h{PLOT:g}"/>'
        f'<path class="s-line" d="M{number(EDGE + PLOT * part)} 8v{PLOT:g}"/>'
        for part in (0.0, 0.5, 1.0)
    )
    text = "".join(
        f'<text class="f-soft" font-size="11" text-anchor="{anchor}" x="{number(x)}" y="{number(y)}">{words}</text>'
        for words, anchor, x, y in (
            ("1", "end", EDGE - 5, 12),
            ("0", "end", EDGE - 5, 12 + PLOT),
            ("0", "middle", EDGE, PLOT + 22),
            ("1", "middle", EDGE + PLOT, PLOT + 22),
            ("recall", "middle", EDGE + PLOT / 2, PLOT + 22),
        )
    )
    text += (
        f'<text class="f-soft" font-size="11" text-anchor="middle" '
        f'transform="translate(12 {PLOT / 2 + 8:g}) rotate(-90)">precision</text>'
    )
    return (
        f'<svg class="chart plot" viewBox="0 0 {EDGE + PLOT + 8:g} {PLOT + 28:g}" width="{EDGE + PLOT + 8:g}" '
        f'height="{PLOT + 28:g}" role="img" aria-label="Precision against recall at all score thresholds">{grid}{text}'
        f'<polyline class="s-c1" fill="none" stroke-width="2" points="{line}"/>'
        f'<circle class="f-c2" r="5" cx="{number(at[0])}" cy="{number(at[1])}" data-of="point"/></svg>'
    )
