"""The outlines of a mask as closed lines of few corners, for pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE = 96  # cells of the longer side of a mask that is outlined; a finer one is thinned
MOST_RINGS = 6
FEW = 12  # corners that a ring keeps
NEAR = 1.0  # cells: corners nearer to the straight piece between two others are left out

Point = tuple[float, float]


def mask_rings(mask: NDArray[np.generic], side: int = SIDE) -> list[list[float]]:
    """Corners x1 y1 x2 y2 ... around each part and each hole of a mask (height by width), the longest first."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return []
    top, left = int(rows[0]), int(columns[0])
    inside = np.asarray(mask[top : rows[-1] + 1, left : columns[-1] + 1] != 0)
    step = -(-max(inside.shape) // side)
    rings = sorted(_rings(inside[::step, ::step]), key=len, reverse=True)[:MOST_RINGS]
    listed = []
    for ring in rings:
        corners = _simplify(ring) if len(ring) > FEW else ring
        if len(corners) >= 3:
            listed.append([value for x, y in corners for value in (left + x * step, top + y * step)])
    return listed


def _rings(cells: NDArray[np.bool_]) -> list[list[Point]]:
    """Walk along the edges between cells inside and outside, with the inside on the right."""
    padded = np.pad(cells, 1)
    middle = padded[1:-1, 1:-1]
    edges: dict[Point, list[Point]] = {}
    for beside, start, end in (
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    ):
        for y, x in np.argwhere(middle & ~beside).tolist():
            edges.setdefault((x + start[0], y + start[1]), []).append((x + end[0], y + end[1]))
    rings = []
    while edges:
        first = next(iter(edges))
        ring, at = [first], first
        while True:
            ends = edges[at]
            following = ends.pop()
            if not ends:
                del edges[at]
            if following == first:
                break
            ring.append(following)
            at = following
        rings.append(_straight(ring))
    return rings


def _straight(ring: list[Point]) -> list[Point]:
    """Without the points between two others on a line along an axis."""
    return [
        point
        for before, point, after in zip([ring[-1], *ring[:-1]], ring, [*ring[1:], ring[0]], strict=True)
        if not (before[0] == point[0] == after[0] or before[1] == point[1] == after[1])
    ]


def _simplify(ring: list[Point]) -> list[Point]:
    """Without corners that lie near the straight piece between two others (Ramer, Douglas, Peucker)."""
    points = np.array([*ring, ring[0]])
    far = int(np.argmax(((points - points[0]) ** 2).sum(axis=1)))
    needed, spans = {0, far}, [(0, far), (far, len(points) - 1)]
    while spans:
        start, end = spans.pop()
        if end - start < 2:
            continue
        along, offset = points[end] - points[start], points[start + 1 : end] - points[start]
        share = np.clip(offset @ along / max(along @ along, 1.0), 0.0, 1.0)  # of the way to the nearest point between
        distance = np.hypot(*(offset - share[:, None] * along).T)
        at = int(distance.argmax())
        if distance[at] > NEAR:
            needed.add(start + 1 + at)
            spans += [(start, start + 1 + at), (start + 1 + at, end)]
    return [ring[place] for place in sorted(needed)]
