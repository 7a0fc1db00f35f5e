"""The frames of a sequence in the viewer and in `draw`: what is where, what happens in each, and the image below."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from PIL import Image
from support.refusal import refuses
from support.viewer import TOKEN, Server, evaluate, run_id

import steelyard as sy
from steelyard.core.scene import Steps
from steelyard.view.pages import COLUMNS, steps_bar

# Track 1 is found as 7, missed in frame 2, found as 8 from frame 3 on; in frame 4 something else is seen.
TRUTH = "".join(f"{frame},1,{10 * frame},20,30,40,1,1,1\n" for frame in (1, 2, 3, 4))
RESULT = "1,7,10,20,30,40,1\n3,8,30,20,30,40,1\n4,8,40,20,30,40,1\n4,9,200,20,30,40,1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("steps")
    for name in ("SEQ-1", "SEQ-2"):
        (root / "truth" / name / "gt").mkdir(parents=True)
        (root / "truth" / name / "gt" / "gt.txt").write_text(TRUTH)
        (root / "found").mkdir(exist_ok=True)
        (root / "found" / f"{name}.txt").write_text(RESULT)
    (root / "truth" / "SEQ-1" / "img1").mkdir()
    Image.new("RGB", (320, 240), "tan").save(root / "truth" / "SEQ-1" / "img1" / "000003.jpg")
    (root / "other").mkdir()
    for name in ("SEQ-1", "SEQ-2"):
        (root / "other" / f"{name}.txt").write_text(RESULT.replace(",8,", ",7,"))
    evaluate(root, "tracking", "truth", "found", "a.json", ["hota", "idsw"])
    evaluate(root, "tracking", "truth", "other", "b.json", ["hota", "idsw"])
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    yield made
    made.close()


def counts(page: str) -> dict[str, list[int]]:
    """What the strips say of each frame."""
    by_name: dict[str, list[int]] = {}
    for text in re.findall(r"<title>(frame \d+: \d+ \w+)</title>", page):
        count, name = text.split(": ")[1].split()
        by_name.setdefault(name, []).append(int(count))
    return by_name


def test_the_page_of_a_sequence_begins_where_a_name_is_lost(server: Server) -> None:
    page = server.get(f"/run/{run_id('a.json')}/unit/0").text
    assert counts(page) == {"switches": [0, 0, 1, 0], "missed": [0, 1, 0, 0], "extra": [0, 0, 0, 1]}
    assert "Sequence SEQ-1, frame 3" in page
    assert "matched 1, switches 1, missed 0, extra 0" in page
    assert "3 of 4 frames" in page
    assert re.findall(r"\?at=(\d+)\"( rel=\"\w+\")?>([^<]+)</a>", page) == [
        ("1", "", "⇤ first"), ("2", ' rel="prev"', "← before"), ("4", ' rel="next"', "next →"), ("4", "", "last ⇥"),
        ("2", "", "← missed"), ("4", "", "extra →"),
    ]  # fmt: skip


def test_a_frame_by_its_number(server: Server) -> None:
    page = server.get(f"/run/{run_id('a.json')}/unit/0?at=4").text
    assert "Sequence SEQ-1, frame 4" in page
    assert "matched 1, switches 0, missed 0, extra 1" in page
    assert re.findall(r">([TP]\d)</text>", page) == ["T1", "P8", "P9"]


def test_a_frame_that_is_not_there_shows_the_first_to_see(server: Server) -> None:
    assert "frame 3</title>" in server.get(f"/run/{run_id('a.json')}/unit/0?at=99").text
    assert server.get(f"/run/{run_id('a.json')}/unit/0?at=-1").status == 404
    assert server.get(f"/run/{run_id('a.json')}/unit/0?at=x").status == 404


def test_the_image_of_a_frame_lies_below(server: Server) -> None:
    page = server.get(f"/run/{run_id('a.json')}/unit/0?at=3").text
    address = re.search(r'<image href="([^"]+)"', page)
    assert address is not None
    path = unescape(address[1]).removeprefix(f"/{TOKEN}")
    assert path == f"/run/{run_id('a.json')}/image/0?at=3"
    image = server.get(path)
    assert (image.status, image.headers["content-type"]) == (200, "image/jpeg")
    without = server.get(f"/run/{run_id('a.json')}/unit/0?at=4").text
    assert "<image" not in without
    assert "does not lie in the folder" in without
    assert server.get(f"/run/{run_id('a.json')}/image/0?at=4").status == 404


def test_two_models_show_one_frame(server: Server) -> None:
    page = server.get(f"/beside/0?run={run_id('a.json')}&run={run_id('b.json')}&at=2").text
    assert page.count("Sequence SEQ-1, frame 2") == 4  # as title and as text of either picture
    assert f"/beside/0?run={run_id('a.json')}&amp;run={run_id('b.json')}&amp;at=3" in page


def test_draw_takes_a_frame(folder: Path, steelyard) -> None:  # type: ignore[no-untyped-def]
    files = str(folder / "truth"), str(folder / "found")
    assert "matched 0, switches 0, missed 1, extra 0" in sy.draw("tracking", *files, "SEQ-2", step=2)
    assert sy.draw("tracking", *files, "SEQ-2") == sy.draw("tracking", *files, "SEQ-2", step=3)
    done = steelyard("draw", "tracking", *files, "--unit", "SEQ-2", "--frame", "2")
    assert "missed 1" in done.stdout
    with refuses("E-unknown-name", "'SEQ-2'", "frame 9"):
        sy.draw("tracking", *files, "SEQ-2", step=9)
    boxes = Path(sy.__file__).parent / "samples" / "boxes"
    with refuses("E-unsupported", "'boxes'"):
        sy.draw("boxes", boxes / "truth.json", boxes / "model_a.json", 1, step=2)


def test_a_long_sequence_has_as_many_columns_as_fit_and_hides_no_event() -> None:
    frames = 3000
    switches = [0] * frames
    switches[1234] = 2
    steps = Steps("frame", tuple(range(1, frames + 1)), {"switches": tuple(switches)}, 1235)
    shown = steps_bar(steps, 1, "/x")
    assert shown.count("<title>") == COLUMNS
    assert "frame 1235: 2 switches" in shown
    assert '<a href="/x?at=1235">switches →</a>' in shown


def test_a_folder_of_data_with_a_link_in_it_is_not_read(folder: Path, tmp_path: Path) -> None:
    for name in ("truth", "found"):
        shutil.copytree(folder / name, tmp_path / "runs" / name)
    (tmp_path / "secret.txt").write_text(TRUTH)
    evaluate(tmp_path / "runs", "tracking", "truth", "found", "a.json", ["hota"])
    made = Server(tmp_path / "runs")
    try:
        assert made.get(f"/run/{run_id('a.json')}/units").status == 200
    finally:
        made.close()
    (tmp_path / "runs" / "truth" / "SEQ-2" / "gt" / "gt.txt").unlink()
    (tmp_path / "runs" / "truth" / "SEQ-2" / "gt" / "gt.txt").symlink_to(tmp_path / "secret.txt")
    made = Server(tmp_path / "runs")
    try:
        answer = made.get(f"/run/{run_id('a.json')}/units")
    finally:
        made.close()
    assert answer.status == 404
    assert "do not lie in the folder" in answer.text


def test_a_map_of_the_truth_is_not_taken_for_the_photo(tmp_path: Path) -> None:
    shutil.copytree(Path(sy.__file__).parent / "samples" / "segmentation", tmp_path / "maps")
    evaluate(tmp_path / "maps", "segmentation", "truth", "model_a", "a.json", ["miou"], draws=100)
    made = Server(tmp_path / "maps")
    try:
        page = made.get(f"/run/{run_id('a.json')}/unit/0")
        image = made.get(f"/run/{run_id('a.json')}/image/0")
    finally:
        made.close()
    assert (page.status, image.status) == (200, 404)
    assert "Difference" in page.text


@pytest.mark.parametrize(("task", "spec"), [("anomalies", "pixel_auroc"), ("depth", "abs_rel"), ("images", "psnr")])
def test_shows_units_of_folders(task: str, spec: str, tmp_path: Path) -> None:
    shutil.copytree(Path(sy.__file__).parent / "samples" / task, tmp_path / "data")
    evaluate(tmp_path / "data", task, "truth", "model_a", "a.json", [spec], draws=100)
    made = Server(tmp_path / "data")
    try:
        page = made.get(f"/run/{run_id('a.json')}/unit/0")
    finally:
        made.close()
    assert page.status == 200
    assert page.text.count("data:image/png") >= 3  # truth, prediction and error, or scores and regions
