"""What a report of anomalies shows beside its scores, on three images of twenty pixels, by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.asked import pixels
from support.shown import check_listing, check_table

import steelyard as sy

# A good image with the scores 0.00 to 0.19, and two defective ones that score 0 but at the places named here.
# `hole` has a region of two pixels (0.9 and 0.8), one of a single pixel (0.1), and a normal pixel of 0.85;
# `cut` has a region of three pixels (0.7, 0.6 and 0.05).
NORMAL = 20 + 17 + 17
CUT = {(1, 0): 0.7, (1, 1): 0.6, (1, 2): 0.05}
HOLE = {(0, 0): 0.9, (0, 1): 0.8, (3, 4): 0.1}


@cache
def report(*metrics: str, large: bool = False) -> sy.Report:
    """The report of the three images; with `large`, the good one has 100,000 pixels, of which 20 score 0.5."""
    maps, masks = np.zeros((3, 4, 5)), np.zeros((3, 4, 5), dtype=np.uint8)
    for place, scores in ((0, CUT), (1, HOLE)):
        for (row, column), score in scores.items():
            maps[place, row, column], masks[place, row, column] = score, 255
    maps[1, 2, 2] = 0.85
    maps[2] = np.arange(20).reshape(4, 5) / 100
    good = np.zeros((250, 400))
    good[0, :20] = 0.5
    truth = {
        "image": ["d1", "d2", "g"],
        "label": [1, 1, 0],
        "mask": [*masks[:2], good.astype(np.uint8) if large else masks[2]],
        "defect": ["cut", "hole", ""],
    }
    predictions = {"image": ["d1", "d2", "g"], "map": [*maps[:2], good if large else maps[2]], "score": [0.7, 0.9, 0.2]}
    return sy.evaluate("anomalies", truth, predictions, list(metrics) or None, confidence=None)


def test_objects() -> None:
    """Of all defective pixels the scores rank above 54, 53, 53, 53, 43.5 and 38.5 of 54 normal ones."""
    auroc = (54 + 3 * 53 + 43.5 + 38.5) / (6 * NORMAL)
    precision = (1 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 16 + 6 / 22) / 6
    # Overlap by false positives: 1/6 up to 1, 5/9 up to 10, up to 8/9 at 11, 8/9 up to 15, up to 1 at 16, then 1.
    wide = 1 / 6 + 9 * 5 / 9 + (5 / 9 + 8 / 9) / 2 + 4 * 8 / 9 + (8 / 9 + 1) / 2 + 0.3 * NORMAL - 16
    narrow = 1 / 6 + (0.05 * NORMAL - 1) * 5 / 9
    columns = ("images", "defective", "regions", "AUROC of pixels", "AP of pixels", "AUPRO 0.3", "AUPRO 0.05")
    values = [3, 2, 3, auroc, precision, wide / (0.3 * NORMAL), narrow / (0.05 * NORMAL), 1]
    check_table(
        report().table("objects"), ("objects", "Objects", "object"), ["all"], [*columns, "AUROC of images"], values
    )


# At a false positive rate of 0.05 two normal pixels may be flagged: the threshold is 0.6, which flags the one of 0.85.


def test_kinds_of_defects() -> None:
    columns = ("images", "regions", "median area", "overlap at FPR 0.05", "share missed", "AUPIMO")
    values = [[1, 2, 1.5, 1 / 2, 1 / 2, np.nan], [1, 1, 3, 2 / 3, 0, np.nan]]
    head = ("defects", "Kinds of defects, the worst first", "defect")
    check_table(report().table("defects"), head, ["hole", "cut"], columns, values)


def test_every_image() -> None:
    columns = {
        "image": ["d1", "d2", "g"],
        "kind": ["defective", "defective", "good"],
        "defect": ["cut", "hole", ""],
        "score": [0.7, 0.9, 0.2],
        "overlap at FPR 0.05": [2 / 3, 1 / 2, np.nan],
        "false area": [0, 1 / 17, 0],
    }
    check_listing(report().listing(), ("images", "Images"), columns, "kind", "score")


def test_recall_over_good_images() -> None:
    """Twenty of 100,000 good pixels are more than 1e-4: the threshold is above 0.5, with two of three pixels of `cut`.

    So it is in `hole`. At a rate of 0.05 of all normal pixels every defective pixel is found, and no normal one but 21.
    """
    listing, table = report(large=True).listing(), report(large=True).table("defects")
    assert listing is not None
    assert listing.columns["AUPIMO"] == pytest.approx([2 / 3, 2 / 3, np.nan], nan_ok=True)
    assert listing.columns["overlap at FPR 0.05"] == pytest.approx([1, 1, np.nan], nan_ok=True)
    assert listing.columns["false area"] == pytest.approx([0, 1 / 17, 20 / 100_000])
    assert table is not None
    assert dict(zip(table.rows, table.values.tolist(), strict=True)) == {
        "hole": [1, 2, 1.5, 1, 0, pytest.approx(2 / 3)],
        "cut": [1, 1, 3, 1, 0, pytest.approx(2 / 3)],
    }


@pytest.mark.parametrize("logarithmic", [False, True])
def test_overlap_by_false_positive_rate(logarithmic: bool) -> None:
    shown = report().figure("pro_curve_log" if logarithmic else "pro_curve")
    rates = np.geomspace(1e-5, 1, 240) if logarithmic else np.linspace(0, 1, 240)
    steps = np.searchsorted([1, 11, 16], rates * NORMAL, side="right")
    assert list(shown.columns) == ["x", "y", "series"]
    np.testing.assert_allclose(shown.columns["x"], np.log10(rates) if logarithmic else rates, atol=1e-12)
    np.testing.assert_allclose(shown.columns["y"], np.array([1 / 6, 5 / 9, 8 / 9, 1])[steps], atol=1e-12)
    assert shown.columns["series"] == ["all"] * 240
    rate = "false positive rate"
    assert shown.facts == {"x": f"{rate}, power of ten" if logarithmic else rate, "y": "mean region overlap"}


def test_regions_by_area() -> None:
    """Areas of 1, 2 and 3 in thirds at 5/3 and 7/3."""
    shown = report().figure("region_sizes")
    areas, overlaps = 10 ** shown.columns["x"], shown.columns["y"]
    assert sorted(zip(areas.round(9).tolist(), overlaps.round(9).tolist(), strict=True)) == [
        (1, 0),
        (2, 1),
        (3, round(2 / 3, 9)),
    ]
    assert shown.facts == {"x": "area in pixels, power of ten", "y": "share found at FPR 0.05", "item": "region"}
    names = ["area up to 1.66667", "up to 2.33333", "up to 3"]
    head = ("region_sizes", "Regions by area", "area")
    check_table(shown.table, head, names, ["regions", "mean overlap"], [[1, 0], [1, 1], [1, 2 / 3]])


def test_scores_of_pixels() -> None:
    """Sixty bins from a quarter of the range below the lowest defective score to a little above the highest."""
    shown = report().figure("score_counts")
    low = 0.05 - 0.25 * 0.85
    edges = np.linspace(low, 0.9 + 0.05 * 0.85, 61)
    normal = np.concatenate([np.arange(20) / 100, [0.85], np.zeros(33)])
    defective = [0.9, 0.8, 0.1, 0.7, 0.6, 0.05]
    middle = (edges[1:] + edges[:-1]) / 2
    counts = [np.histogram(scores, edges)[0] for scores in (normal, defective)]
    np.testing.assert_allclose(shown.columns["x"], [*middle, *middle])
    np.testing.assert_allclose(shown.columns["y"], np.log10(np.concatenate(counts) + 1), atol=1e-12)
    assert shown.columns["series"] == ["normal"] * 60 + ["defective"] * 60
    assert shown.facts == {"x": "score", "y": "pixels + 1, power of ten"}
    # F1 is 8/11 at 0.6: 4 of 6 defective pixels, 1 normal one. 30 % are 16 normal pixels, 1 % is none.
    assert "best F1 0.6; FPR 0.3 0.05; FPR 0.05 0.6; FPR 0.01 0.9" in shown.caption


def test_images_to_look_at() -> None:
    """The worst is `hole`: half of its regions is missed, and one of 17 normal pixels flagged."""
    shown = report().figure("worst_images")
    assert shown.columns["image"] == ["d2", "d1", "g"]
    assert shown.columns["cost"] == pytest.approx([1 / 2 + 1 / 17, 1 / 3, 0])
    assert shown.facts["panels"] == ["scores", "regions"]
    head = ("worst_images", "Images to look at", "image")
    columns = ("overlap at FPR 0.05", "share of normal pixels flagged")
    check_table(shown.table, head, ["d2", "d1", "g"], columns, [[1 / 2, 1 / 17], [2 / 3, 0], [np.nan, 0]])
    hit, missed, alarm, plain = "00c2a8", "d7263d", "f89628", "f3f3f0"
    hole, cut, good = (pixels(picture) for picture in shown.columns["regions"])
    expected = [[plain] * 5 for _ in range(4)]
    assert good == expected
    expected[0][0] = expected[0][1] = hit
    expected[2][2], expected[3][4] = alarm, missed
    assert hole == expected
    assert cut == [[plain] * 5, [hit, hit, missed, plain, plain], [plain] * 5, [plain] * 5]


def test_scores_as_colours() -> None:
    """All defects lie at the edge of their region; the rest go from blue at -0.33 or less to yellow at 0.9."""
    hole, cut, good = (pixels(picture) for picture in report().figure("worst_images").columns["scores"])
    assert {hole[0][0], hole[0][1], hole[3][4], *cut[1][:3]} == {"00c2a8"}
    assert len({colour for row in cut for colour in row}) == 2
    assert good[0][0] == cut[0][0] == hole[0][2]
    lightness = [sum(int(colour[k : k + 2], 16) for k in (0, 2, 4)) for row in good for colour in row]
    assert lightness == sorted(lightness)
    assert len(set(lightness)) > 10


def test_what_was_not_asked_for_is_not_shown() -> None:
    only = report("image_auroc")
    assert list(only.figures) == []
    columns = {
        "image": ["d1", "d2", "g"],
        "kind": ["defective", "defective", "good"],
        "defect": ["cut", "hole", ""],
        "score": [0.7, 0.9, 0.2],
    }
    check_listing(only.listing(), ("images", "Images"), columns, "kind", "score")
    maps = report("pixel_auroc").listing()
    assert maps is not None
    assert (list(maps.columns)[3:], maps.x) == (["overlap at FPR 0.05", "false area"], "false area")
