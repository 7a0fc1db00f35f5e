"""How the kernels of the losses walk arrays: what their programs take is laid out here as the kernels do it, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from support.lazy import lazy

torch = lazy("torch")
layout = lazy("steelyard.losses.layout")

Places = list[tuple[int, ...]]


def key_of(*levels: Sequence[Any]) -> tuple[Any, ...]:
    """What a plan is asked by, with None for what a level lacks."""
    return tuple(
        tuple(
            None if one is None else (tuple(one.shape), tuple(one.stride()), one.dtype)
            for one in (*level, *[None] * 5)[:5]
        )
        for level in levels
    )


def planned(*levels: Sequence[Any], anchors: int | None = None) -> layout.Plan:
    made = layout.plan_of(key_of(*levels), "cpu", anchors)
    assert made is not None
    return made


def refused(*levels: Sequence[Any], anchors: Any = None) -> bool:
    return layout.plan_of(key_of(*levels), "cpu", anchors) is None


def pieces(plan: layout.Plan, rows: int) -> Iterator[tuple[int, int, list[int]]]:
    """Each program: its array, its number among the programs of the array, and the row of the table."""
    table = plan.table.tolist()[:rows]
    for program in range(plan.programs):
        array = max(i for i, row in enumerate(table) if row[0] <= program)
        yield array, program - table[array][0], table[array]


def walked(plan: layout.Plan, levels: int) -> list[Places]:
    """Of each level, where each logit lies that a program takes, with its class and where its label lies."""
    taken: list[Places] = [[] for _ in range(levels)]
    facts = plan.facts
    for array, piece, row in pieces(plan, len(plan.sizes)):
        if array >= levels:
            continue
        if plan.last:
            begin = piece * facts["BLOCK"] * facts["TURNS"]
            for i in range(begin, min(row[1], begin + facts["BLOCK"] * facts["TURNS"])):
                taken[array].append((i, i % facts["CLASSES"], i // facts["CLASSES"]))
            continue
        inner, blocks, second, by_first, by_second, plane, *labels = row[1:10]
        place, chunk = divmod(piece, facts["CHUNKS"])
        line, block = divmod(place, blocks)
        first, line = divmod(line, second)
        for lane in range(block * facts["ANCHORS"], min(inner, (block + 1) * facts["ANCHORS"])):
            label = first * labels[0] + line * labels[1] + lane * labels[2]
            for c in range(chunk * facts["CHUNK"], min(facts["CLASSES"], (chunk + 1) * facts["CHUNK"])):
                taken[array].append((first * by_first + line * by_second + lane + c * plane, c, label))
    return taken


def boxes_walked(plan: layout.Plan, levels: int) -> list[Places]:
    """Of each level, where each coordinate lies, its target, and the label of its anchor."""
    taken: list[Places] = [[] for _ in range(levels)]
    for array, piece, row in pieces(plan, 2 * levels):
        if array < levels:
            continue
        step = plan.facts["BOX_BLOCK"] * plan.facts["BOX_TURNS"]
        for i in range(piece * step, min(row[1], (piece + 1) * step)):
            rest, i3 = divmod(i, row[4])
            rest, i2 = divmod(rest, row[3])
            index = (*divmod(rest, row[2]), i2, i3)
            taken[array - levels].append(
                tuple(sum(k * step for k, step in zip(index, row[at : at + 4], strict=True)) for at in (5, 9, 13))
            )
    return taken


def lies(tensor: Any, index: Sequence[int]) -> int:
    return sum(i * step for i, step in zip(index, tensor.stride(), strict=True))


def every(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield from torch.cartesian_prod(*[torch.arange(n) for n in shape]).reshape(-1, len(shape)).tolist()


def expected(logits: Any, labels: Any) -> Places:
    return sorted((lies(logits, i), i[-1], lies(labels, i[:-1])) for i in every(logits.shape))


def in_planes(*shape: int) -> Any:
    """Logits of images, rows, columns, anchors and classes as a convolution leaves them."""
    batch, height, width, anchors, classes = shape
    return torch.zeros(batch, anchors, classes, height, width).permute(0, 3, 4, 1, 2)


LOGITS: dict[str, Callable[[], list[tuple[Any, Any]]]] = {
    "anchor by anchor": lambda: [(torch.zeros(2, 1300, 7), torch.zeros(2, 1300, dtype=torch.int64))],
    "two levels": lambda: [
        (torch.zeros(2, 40, 5), torch.zeros(2, 40, dtype=torch.int32)),
        (torch.zeros(2, 9, 5), torch.zeros(2, 9, dtype=torch.int32)),
    ],
    "in planes": lambda: [(in_planes(2, 20, 15, 2, 20), torch.zeros(2, 20, 15, 2, dtype=torch.int64))],
    "in planes, labels as well": lambda: [
        (torch.zeros(2, 5, 600).transpose(1, 2), torch.zeros(2, 600, dtype=torch.int64)),
    ],
    "in planes, two levels": lambda: [
        (in_planes(1, 4, 6, 2, 3), torch.zeros(1, 4, 6, 2, dtype=torch.int64)),
        (in_planes(1, 2, 3, 2, 3), torch.zeros(1, 2, 3, 2, dtype=torch.int64)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LOGITS)
def test_programs_take_every_logit_once_with_its_class_and_label(name: str) -> None:
    levels = LOGITS[name]()
    plan = planned(*levels)
    assert plan.labels
    assert plan.last == ("planes" not in name)
    assert [sorted(one) for one in walked(plan, len(levels))] == [expected(*level) for level in levels]
    assert plan.programs == plan.class_programs
    assert plan.sizes == tuple(logits.numel() for logits, _ in levels)
    assert plan.anchors == tuple(labels.numel() for _, labels in levels)
    assert plan.facts["ROUNDS"] * 4096 >= plan.programs


def test_a_program_takes_about_as_many_classes_as_the_next() -> None:
    assert [layout._chunk(classes) for classes in (1, 2, 17, 18, 19, 36, 37, 80, 90)] == [
        2,
        2,
        18,
        18,
        10,
        18,
        14,
        16,
        18,
    ]


@pytest.mark.parametrize("planes", [False, True])
def test_programs_take_every_coordinate_once_with_its_target_and_label(planes: bool) -> None:
    sizes = [(2, 20, 9, 3), (2, 5, 7, 3)]
    levels = []
    for size in sizes:
        logits, boxes = (in_planes(*size, n) if planes else torch.zeros(*size, n) for n in (6, 4))
        labels = torch.zeros(size, dtype=torch.int64)
        levels.append((logits, labels, torch.zeros(size, dtype=torch.bool), boxes, torch.zeros(*size, 4)))
    plan = planned(*levels)
    assert plan.facts["COORDINATES"] == 4
    assert plan.programs > plan.class_programs
    assert [sorted(one) for one in walked(plan, 2)] == [expected(*level[:2]) for level in levels]
    for (_, labels, _, boxes, targets), places in zip(levels, boxes_walked(plan, 2), strict=True):
        wanted = [(lies(boxes, i), lies(targets, i), lies(labels, i[:-1])) for i in every(boxes.shape)]
        assert sorted(places) == sorted(wanted)


def test_arrays_as_a_convolution_leaves_them_are_taken_apart_by_anchors() -> None:
    anchors, classes = 3, 5
    logits, boxes = torch.zeros(2, anchors * classes, 4, 6), torch.zeros(2, anchors * 4, 4, 6)
    labels, targets = torch.zeros(2, 4, 6, anchors, dtype=torch.int64), torch.zeros(2, 4, 6, anchors * 4)
    plan = planned((logits, labels, None, boxes, targets), anchors=anchors)
    views = (in_planes(2, 4, 6, anchors, n) for n in (classes, 4))
    apart, box_view = views
    assert [sorted(one) for one in walked(plan, 1)] == [expected(apart, labels)]
    by_anchor = targets.view(2, 4, 6, anchors, 4)
    wanted = [(lies(box_view, i), lies(by_anchor, i), lies(labels, i[:-1])) for i in every(box_view.shape)]
    assert sorted(boxes_walked(plan, 1)[0]) == sorted(wanted)
    assert refused((logits, labels), anchors=4)  # 15 planes are not of four anchors
    assert refused((logits, labels), anchors=0)
    assert refused((logits, labels), anchors=2.5)
    assert refused((logits[0], labels[0]), anchors=anchors)


def test_labels_are_counted_and_gradients_scaled_in_pieces() -> None:
    labels = [torch.zeros(n, dtype=torch.int64) for n in (40_000, 100)]
    plan = planned(*((torch.zeros(len(one), 2), one) for one in labels))
    programs, work, table = plan.counting()
    assert (programs, work) == (4, 16_384)  # 40,000 labels take three, 100 one
    assert [row[:2] for row in table.tolist()] == [[0, 40_000], [3, 100]]
    programs, table = plan.scaling()
    assert programs == 3  # pieces of 65,536
    assert [row[:2] for row in table.tolist()] == [[0, 80_000], [2, 200]]
    many = planned((torch.empty(20_000_000, 1), torch.empty(20_000_000, dtype=torch.int64)))
    assert many.counting()[:2] == (888, 22_528)  # at most 900 programs, each a multiple of 1,024


def test_steps_of_sixteen_are_read_at_once() -> None:
    labels = torch.zeros(32, dtype=torch.int64)
    assert planned((torch.zeros(32, 5), labels)).aligned
    assert not planned((torch.zeros(31, 5), labels[:31])).aligned
    assert planned((torch.zeros(5, 32).T, labels)).aligned
    assert not planned((torch.zeros(5, 31).T, labels[:31])).aligned


def test_dense_targets() -> None:
    plan = planned((torch.zeros(2, 9, 4), torch.zeros(2, 9, 4, dtype=torch.bool)))
    assert (plan.labels, plan.last) == (False, True)
    assert refused((torch.zeros(2, 4, 9).transpose(1, 2), torch.zeros(2, 9, 4)))


UNKNOWN: dict[str, Callable[[Any, Any, Any], list[Sequence[Any]]]] = {
    "whole numbers for logits": lambda X, T, B: [(X.int(), T)],
    "levels of two types": lambda X, T, B: [(X, T), (X.double(), T)],
    "levels of other classes": lambda X, T, B: [(X, T), (torch.zeros(2, 6, 5), T)],
    "no logits": lambda X, T, B: [(X[:, :0], T[:, :0])],
    "gaps": lambda X, T, B: [(torch.zeros(2, 6, 8)[..., ::2], T)],
    "levels of two types of labels": lambda X, T, B: [(X, T), (X, T.int())],
    "labels of another shape": lambda X, T, B: [(X, T[:, :5])],
    "complex numbers for targets": lambda X, T, B: [(X, X.to(torch.complex64))],
    "labels with gaps": lambda X, T, B: [(X, torch.zeros(2, 12, dtype=torch.int64)[:, ::2])],
    "left out of another shape": lambda X, T, B: [(X, T, torch.zeros(2, 5, dtype=torch.bool))],
    "left out of another type": lambda X, T, B: [(X, T, T)],
    "left out of dense targets": lambda X, T, B: [(X, X, torch.zeros(2, 6, dtype=torch.bool))],
    "boxes without targets": lambda X, T, B: [(X, T, None, B)],
    "boxes of one level": lambda X, T, B: [(X, T), (X, T, None, B, B)],
    "boxes of another type": lambda X, T, B: [(X, T, None, B.double(), B)],
    "boxes of other anchors": lambda X, T, B: [(X, T, None, B[:, :5], B[:, :5])],
    "boxes with gaps": lambda X, T, B: [(X, T, None, torch.zeros(2, 6, 8)[..., ::2], B)],
    "boxes for dense targets": lambda X, T, B: [(X, X, None, B, B)],
    "levels that lie otherwise": lambda X, T, B: [(X, T), (torch.zeros(2, 4, 6).transpose(1, 2), T)],
    "anchors that do not lie in a stretch": lambda X, T, B: [(torch.zeros(6, 2, 4).transpose(0, 1), T)],
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_kernels_do_not_know_is_refused(name: str) -> None:
    logits, labels, boxes = torch.zeros(2, 6, 4), torch.zeros(2, 6, dtype=torch.int64), torch.zeros(2, 6, 4)
    assert refused(*UNKNOWN[name](logits, labels, boxes))


def test_axes_that_cannot_be_joined_are_refused() -> None:
    logits = torch.zeros(5, 2, 3, 2, 3).permute(1, 2, 3, 4, 0)  # four axes of anchors, a plane per class
    labels = torch.zeros(3, 2, 3, 2, dtype=torch.int64).permute(3, 2, 1, 0)  # the other way round
    assert refused((logits, labels))
    boxes = torch.zeros(2, 3, 2, 3, 4)
    targets = torch.zeros(4, 3, 2, 3, 2).permute(4, 3, 2, 1, 0)
    packed = torch.zeros(2, 3, 2, 3, dtype=torch.int64)
    assert refused((torch.zeros(2, 3, 2, 3, 5), packed, None, boxes, targets))


def test_arrays_beyond_what_a_launch_counts_are_refused() -> None:
    """By their shapes alone: nothing so large is made."""
    n = 1 << 31
    level = (((n, 1), (1, 1), torch.float32), ((n,), (1,), torch.int64), None)
    boxes = ((n, 1), (1, 1), torch.float32)
    assert layout.plan_of(((*level, None, None),), "cpu") is not None
    assert layout.plan_of(((*level, boxes, boxes),), "cpu") is None
    wide = 1 << 46
    level = (((wide, 1), (1, 1), torch.float32), ((wide,), (1,), torch.int64), None)
    assert layout.plan_of(((*level, None, None),), "cpu") is None
