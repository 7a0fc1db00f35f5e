"""From frames to a score: values by hand, controls, prompts word for word, bad input, single dishes."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import struct
import zlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image
from support.lazy import lazy
from support.refusal import refuses
from support.vlm_help import Scripted, completion, frames_csv, grey_of, picture, sent_grey, serving

from steelyard import api
from steelyard.core.errors import InputError
from steelyard.render.remarks import merge_remarks
from steelyard.vlm import images
from steelyard.vlm.frames import read_frames
from steelyard.vlm.nutrition5k import read_dishes
from steelyard.vlm.nutrition5k import write_frames as nutrition5k_frames
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS, Prompt, choose_prompts, read_prompts
from steelyard.vlm.readings import read_run
from steelyard.vlm.run import run
from steelyard.vlm.score import score

scipy_stats = lazy("scipy.stats")

ALL = tuple(PROMPTS.values())


def ask(folder: Path, answer, prompts=ALL, out: str = "run", **options):
    return run(read_frames(folder / "frames.csv"), Scripted(answer), prompts, folder / out, **options)


# --- prompts: the listings as they are printed, paragraph by paragraph ------------------------------------------------

LISTING_1 = [
    "Estimate the remaining weight of the food in this image in grams.",
    "The food item in this image is [FOOD_NAME].",
    "Use your knowledge of this food's typical density and portion characteristics to improve your estimate.",
    "Respond with ONLY a single numeric value (the estimated weight in grams).",
    "Do not include units, explanations, or any other text. Example valid responses: 245.3 or 180",
]
LISTING_3 = [
    "You are an expert dietician.",
    "Given the following image of a food item on a plate, estimate the remaining weight of the food in grams.",
    "Analyze the visual volume, surface area, and apparent thickness of the food to produce your best estimate.",
    "Respond with ONLY a single numeric value (the estimated weight in grams).",
    "Do not include units, explanations, or any other text. Example valid responses: 245.3 or 180",
]


def test_prompts_word_for_word() -> None:
    assert PROMPTS["direct+name"].text.split("\n\n") == LISTING_1
    assert PROMPTS["direct"].text.split("\n\n") == [LISTING_1[0], *LISTING_1[3:]]
    assert PROMPTS["reason"].text.split("\n\n") == LISTING_3
    assert PROMPTS["reason+name"].text.split("\n\n") == [
        *LISTING_3[:2], *LISTING_1[1:3], LISTING_3[2], f"{LISTING_3[3]} {LISTING_3[4]}",
    ]  # fmt: skip
    assert FOLLOW_UP == (
        "The previous response could not be parsed as a single number. Please respond with ONLY a single numeric value "
        "representing the estimated weight in grams. Nothing else. Example: 245.3"
    )
    assert "is rice." in PROMPTS["direct+name"].render("rice")


def test_own_prompts(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"short": "Grams of [FOOD_NAME]?", "plain": "Grams?"}')
    (tmp_path / "one.txt").write_text("How much?\n")
    assert choose_prompts([], tmp_path / "p.json", "grams") == (
        Prompt("short", "Grams of [FOOD_NAME]?"),
        Prompt("plain", "Grams?"),
    )
    assert read_prompts(tmp_path / "one.txt", "grams") == {"one": Prompt("one", "How much?")}
    assert choose_prompts(["reason", "direct"]) == (PROMPTS["reason"], PROMPTS["direct"])
    with refuses("E-unknown-name", "'reasn'", "'reason'"):
        choose_prompts(["reasn"])
    for text in ("[]", "{}", '{"a": 1}', '{"a": " "}', "{"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=r"bad\.json"):
            read_prompts(tmp_path / "bad.json")
    (tmp_path / "empty.txt").write_text(" \n")
    with refuses("E-empty-input", "empty.txt"):
        read_prompts(tmp_path / "empty.txt")
    frames_csv(tmp_path)
    ask(tmp_path, lambda c: str(grey_of(c)), choose_prompts([], tmp_path / "p.json", "grams"))
    result = score(tmp_path / "run", draws=100)
    assert [row.prompt for row in result.rows] == ["short", "plain"]
    assert [pair.question for pair in result.pairs] == ["is it the better prompt?"]


# --- scores --------------------------------------------------------------------------------------------------------


def test_score_by_hand(tmp_path: Path) -> None:
    """Two meals of three frames: 200, 150, 100 and 180, 130, 80 g, at 1.5 kcal a gram."""
    frames_csv(tmp_path)

    def answer(c):
        text = c.texts[0]
        grams = grey_of(c)
        if "The food item" in text:
            return str(grams)
        return str(grams + 10) if "dietician" not in text else "I cannot say." if grams == 80 else str(grams - 20)

    ask(tmp_path, answer)
    result = score(tmp_path / "run", draws=200)
    rows = {row.prompt: row for row in result.rows}
    direct = rows["direct"].report
    assert direct["mae_overall"].value == 10
    assert direct["pmae_overall"].value == pytest.approx(100 * 60 / 840)
    assert direct["mae_initial"].value == 10
    assert direct["mae_consumed"].value == 0
    assert direct["mae_kcal"].value == 15
    assert direct["slope"].value == pytest.approx(1)
    assert direct["rises"].value == 0
    assert direct["heaping@10"].value == 0  # the truth is round, too
    assert rows["direct+name"].report["mae_overall"].value == 0
    reason = rows["reason"]
    assert (reason.parsed, reason.readings, reason.followed_up) == (5, 6, 1)
    assert reason.outcomes == {"ok": 5, "refusal": 1}
    assert reason.report["mae_overall"].value == 20
    assert reason.report.coverage.missing == 1
    # The best constant guess for 80..200 is their median, 140: errors 60, 10, 40, 40, 10, 60.
    assert rows["direct"].guess == 140
    assert rows["direct"].constant["mae_overall"].a.value == pytest.approx(220 / 6)
    pairs = {(p.a, p.b): p for p in result.pairs}
    assert set(pairs) == {
        ("direct", "direct+name"),
        ("reason", "reason+name"),
        ("direct", "reason"),
        ("direct+name", "reason+name"),
    }
    assert pairs["direct", "direct+name"].comparison["mae_overall"].difference == -10
    assert pairs["direct", "direct+name"].question == "does the name help?"
    assert pairs["direct", "reason"].frames == 5  # on the frames that both have
    assert pairs["direct", "reason"].comparison["mae_overall"].difference == 10
    text = result.to_text()
    for part in (
        "5/6",
        "83.33 %",
        "16.67 %",
        "refusal",
        "Does the name help?",
        "Does reasoning help?",
        "constant guess",
    ):
        assert part in text
    assert max(map(len, text.partition("Does the name help?")[0].splitlines())) <= 80
    data = json.loads(result.to_json(tmp_path / "s.json"))
    assert data["body"]["rows"][0]["report"]["scores"]["mae_overall"]["value"] == 10
    assert "| `mae_overall` | 10" in result.to_markdown(tmp_path / "s.md")


def test_it_is_what_evaluate_says(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=5, length=3)
    ask(tmp_path, lambda c: str(grey_of(c) // 7 * 5), ALL[:1])
    row = score(tmp_path / "run").rows[0]
    taken = read_run(tmp_path / "run").taken
    predictions = {
        "sequence": [t.frame.sequence for t in taken],
        "t": [t.frame.t for t in taken],
        "weight": [t.answer.grams for t in taken],
    }
    report = api.evaluate("sequences", tmp_path / "frames.csv", predictions, list(row.report.scores))
    for spec, result in report.scores.items():
        assert (result.value, result.interval) == (row.report[spec].value, row.report[spec].interval)


def test_controls_show_whether_the_image_was_looked_at(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=6)
    looks = ask(tmp_path, lambda c: str(grey_of(c)), out="looks", controls=True)
    guesses = ask(tmp_path, lambda c: "100", out="guesses", controls=True)
    # 18 frames, two of which look the same, with 4 prompts; a grey image with 4; another meal's image needs no new
    # question where the food is the same.
    assert looks.wanted == guesses.wanted == 17 * 4 + 4
    row = score(tmp_path / "looks", draws=200).rows[0]
    assert set(row.controls) == {"blank", "swapped"}
    assert row.controls["blank"]["mae_overall"].b.value == 0
    assert row.controls["blank"]["mae_overall"].a.value > 20
    assert row.controls["swapped"]["mae_overall"].a.value > 15
    blind = score(tmp_path / "guesses", draws=200)
    for row in blind.rows:
        assert row.report["slope"].value == 0
        assert row.constant["mae_overall"].difference == 0
        for comparison in row.controls.values():
            assert comparison["mae_overall"].difference == 0
            assert comparison["mae_overall"].verdict == "no difference shown"
    assert "Is the image looked at?" in blind.to_text()


def test_several_models(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    frames = read_frames(tmp_path / "frames.csv")
    run(frames, Scripted(lambda c: str(grey_of(c)), "good"), ALL[:2], tmp_path / "run")
    run(frames, Scripted(lambda c: "140", "flat"), ALL[:2], tmp_path / "run")
    run(frames, Scripted(lambda c: "150", "flat"), ALL[:2], tmp_path / "other")
    both = score(tmp_path / "run", draws=100)
    assert {row.model for row in both.rows} == {"good", "flat"}
    pair = next(p for p in both.pairs if p.question == "is it the better model?")
    assert (pair.a, pair.b) == ("good: direct", "flat: direct")
    assert pair.comparison["mae_overall"].a.value == 0
    assert len(score([tmp_path / "run", tmp_path / "other"], draws=100).rows) == 6


def test_parse_again_without_asking(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    ask(tmp_path, lambda c: f"Let me think.\n{grey_of(c)}", ALL[:1])
    taken = read_run(tmp_path / "run").taken
    assert {t.answer.outcome for t in taken} == {"one_number_in_text"}
    assert math.isnan(taken[0].answer.grams)
    assert taken[0].answer.lenient == taken[0].frame.weight
    done = steelyard("vlm", "parse", "run", "--mode", "last_line")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ok", "6"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "run" / "readings.csv").read_text())))
    assert [float(row["grams"]) for row in rows] == [200, 150, 100, 180, 130, 80]
    assert {row["turn"] for row in rows} == {"1"}
    assert score(tmp_path / "run", mode="last_line", draws=100).rows[0].report["mae_overall"].value == 0


def test_slope_and_rises_against_another_implementation() -> None:
    rng = np.random.default_rng(3)
    n = 40
    keys = {"sequence": np.repeat(np.arange(n), 5), "t": np.tile(np.arange(5), n)}
    truth = np.sort(rng.uniform(10, 300, (n, 5)), axis=1)[:, ::-1]
    predicted = np.round(truth * 0.7 + rng.normal(30, 25, (n, 5)))
    report = api.evaluate(
        "sequences",
        {**keys, "weight": truth.ravel()},
        {**keys, "weight": predicted.ravel()},
        ["slope", "rises", "heaping@10", "heaping@50"],
        draws=200,
    )
    assert report["slope"].value == pytest.approx(scipy_stats.linregress(truth.ravel(), predicted.ravel()).slope)
    rises = sum(b > a for row in predicted for a, b in itertools.pairwise(row))
    assert report["rises"].value == pytest.approx(100 * rises / (4 * n))
    for step in (10, 50):
        assert report[f"heaping@{step}"].value == pytest.approx(100 * np.mean(predicted % step == 0))


# --- Nutrition5k ---------------------------------------------------------------------------------------------------

INGREDIENTS = "ingr_1,rice,150,195,0.4,42,3.9,ingr_2,peas,50,40,0.2,7,2.7"


@pytest.mark.parametrize("count", ["", "2,"])
def test_nutrition5k(tmp_path: Path, count: str, steelyard) -> None:
    lines = [f"dish_{i},235,{200 + i},0.6,49,6.6,{count}{INGREDIENTS}" for i in range(3)]
    (tmp_path / "meta.csv").write_text("\n".join(lines) + "\n")
    dishes = list(read_dishes(tmp_path / "meta.csv"))
    assert dishes[1].ingredients == (("rice", 150.0), ("peas", 50.0))
    assert (dishes[1].mass, dishes[1].kcal_per_g) == (201, 235 / 201)
    for i in range(2):
        (tmp_path / "img" / f"dish_{i}").mkdir(parents=True)
        picture(tmp_path / "img" / f"dish_{i}" / "rgb.png", 200 + i)
    done = steelyard("vlm", "nutrition5k", "meta.csv", "img", "-o", "frames.csv")
    assert done.returncode == 0, done.stderr
    assert "2 dishes, 1 without an image left out" in done.stderr
    frames = read_frames(tmp_path / "frames.csv")
    assert [(f.sequence, f.t, f.food, f.weight) for f in frames] == [
        ("dish_0", 0, "rice, peas", 200),
        ("dish_1", 0, "rice, peas", 201),
    ]
    ask(tmp_path, lambda c: str(grey_of(c) + 4))
    row = score(tmp_path / "run", task="weights", draws=100).rows[0]
    assert row.report["mae"].value == 4
    assert row.report["wape"].value == pytest.approx(800 / 401)
    with refuses("E-invalid-setting", "'weight'"):
        score(tmp_path / "run", task="weight")


def test_nutrition5k_bad(tmp_path: Path) -> None:
    for text, message in {
        "d,1,2\n": ("E-invalid-file", "3"),
        "d,x,2,3,4,5\n": ("E-invalid-number", "m.csv, dish 'd'"),
        "d,1,2,3,4,5,ingr_1,rice\n": ("E-invalid-file", "m.csv, dish 'd'", "divide"),
        "d,1,-2,3,4,5\n": ("E-invalid-file", "m.csv, dish 'd'"),
    }.items():
        (tmp_path / "m.csv").write_text(text)
        with refuses(*message):
            list(read_dishes(tmp_path / "m.csv"))
    (tmp_path / "m.csv").write_text("d,1,2,3,4,5\n")
    with refuses("E-empty-input", "m.csv"):
        nutrition5k_frames(tmp_path / "m.csv", tmp_path, tmp_path / "f.csv")


# --- pictures ------------------------------------------------------------------------------------------------------


def test_pictures_are_upright_opaque_and_of_a_stated_size(tmp_path: Path) -> None:
    wide = Image.new("RGB", (40, 20), (255, 0, 0))
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    wide.save(tmp_path / "turned.jpg", exif=exif)
    assert images.read_picture(tmp_path / "turned.jpg").load().size == (20, 40)
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert images.read_picture(tmp_path / "clear.png").load().getpixel((0, 0)) == (255, 255, 255)
    pillow_heif.register_heif_opener()
    for name in ("a.webp", "a.png", "a.jpg", "a.heic"):
        Image.new("RGB", (3000, 1500)).save(tmp_path / name)
        assert images.read_picture(tmp_path / name).load(1024).size == (1024, 512)
    assert images.read_picture(tmp_path / "a.png").load(5000).size == (3000, 1500)
    blank = images.blank(images.read_picture(tmp_path / "clear.png"))
    assert (blank.load().size, blank.load().getpixel((3, 3))) == ((8, 8), (128, 128, 128))


def bomb(path: Path, side: int) -> None:
    """A PNG whose header promises more pixels than anyone has memory for."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b""))


# --- bad input: the message, and the rest of the run goes on ----------------------------------------------------------


def test_bad_pictures_do_not_stop_the_rest(tmp_path: Path, steelyard) -> None:
    path = frames_csv(tmp_path)
    bomb(tmp_path / "bomb.png", 11_000)
    bomb(tmp_path / "huge.png", 60_000)
    (tmp_path / "text.png").write_text("no picture")
    source = picture(tmp_path / "big.png", 90, (200, 200)).read_bytes()
    (tmp_path / "cut.png").write_bytes(source[: len(source) // 2])
    bad = {
        "gone.png": "there is no such image",
        "text.png": "does not decode",
        "cut.png": "damaged or truncated",
        "bomb.png": "decompression bomb",
        "huge.png": "decompression bomb",
    }
    lines = [f"bad,{t},{name},rice,100,1.5" for t, name in enumerate(bad)] + ["bad,9,0_0.png,,100,1.5"]
    path.write_text(path.read_text() + "\n".join(lines) + "\n")
    with serving(lambda h, n, body: h.send(completion(str(sent_grey(body))))) as server:
        done = steelyard(
            "vlm",
            "run",
            "frames.csv",
            "--model",
            f"openai:m@{server.url}",
            "--out",
            "run",
            "--prompts",
            "direct,direct+name",
        )
    assert done.returncode == 1
    assert done.stdout == ""
    for name, text in bad.items():
        if name != "cut.png":  # found when it is shown
            assert f"{name}: " in done.stderr
            assert text in done.stderr
    assert "2 failed" in done.stderr
    assert "damaged or truncated" in done.stderr
    assert "9 could not be asked" in done.stderr
    result = score(tmp_path / "run", draws=100)
    rows = {row.prompt: row for row in result.rows}
    assert (rows["direct"].parsed, rows["direct"].readings) == (7, 12)
    assert (rows["direct+name"].parsed, rows["direct+name"].readings) == (6, 12)
    assert rows["direct+name"].outcomes["failed"] == 6
    problems = " ".join(rows["direct+name"].problems)
    for text in (*bad.values(), "gives the food's name, and the frame has none"):
        assert text in problems
    assert "no number from 6 readings" in " ".join(result.to_text().split())


BAD: dict[str, tuple[str, list[str], list[str]]] = {
    "duplicate frame": ("sequence,t,image\ns,0,a.png\ns,0,b.png\n", [], ["frames.csv, line 3", "sequence 's', t '0' appears twice, first at frames.csv, line 2"]),
    "no image column": ("sequence,t\ns,0\n", [], ["frames.csv", "'image' is missing"]),
    "no rows": ("sequence,t,image\n", [], ["frames.csv", "no frames"]),
    "t is not a number": ("sequence,t,image\ns,first,a.png\n", [], ["frames.csv, line 2", "'first' is not a number"]),
    "unknown prompt": ("sequence,t,image\ns,0,a.png\n", ["--prompts", "drect"], ["no prompt 'drect'", "'direct'"]),
    "unknown model": ("sequence,t,image\ns,0,a.png\n", ["--model", "gpt"], ["'gpt' is not a model", "hf:FOLDER_OR_ID"]),
    "no such folder": ("sequence,t,image\ns,0,a.png\n", ["--model", "hf:./nowhere/at/all"], ["./nowhere/at/all", "no such model folder"]),
    "unreachable": ("sequence,t,image\ns,0,0_0.png\n", ["--model", "openai:m@http://127.0.0.1:9/v1", "--retries", "1"], ["http://127.0.0.1:9/v1 cannot be reached", "Is the server running"]),
    "password in the URL": ("sequence,t,image\ns,0,0_0.png\n", ["--model", "openai:m@http://a:b@h/v1"], ["holds a name, a password or a query"]),
    "concurrency of zero": ("sequence,t,image\ns,0,0_0.png\n", ["--concurrency", "0"], ["--concurrency 0 is out of range"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, tmp_path: Path, steelyard) -> None:
    text, options, expected = BAD[name]
    picture(tmp_path / "0_0.png", 10)
    (tmp_path / "frames.csv").write_text(text)
    model = [] if "--model" in options else ["--model", "openai:m@http://127.0.0.1:9/v1"]
    done = steelyard("vlm", "run", "frames.csv", "--out", "run", *model, *options)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for part in expected:
        assert part in done.stderr


def test_a_wrong_key_ends_the_run(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    with serving(lambda h, n, body: h.send({"error": {"message": "bad key sk-123456"}}, 401)) as server:
        done = steelyard(
            "vlm",
            "run",
            "frames.csv",
            "--model",
            f"openai:m@{server.url}",
            "--out",
            "run",
            "--key-env",
            "MY_KEY",
            MY_KEY="sk-123456",
        )
    assert done.returncode == 2
    assert "refuses the key (401: bad key [key]). Check the key in the environment variable MY_KEY." in done.stderr
    assert "sk-123456" not in done.stderr + "".join(p.read_text() for p in (tmp_path / "run").iterdir())


def test_folders_that_are_no_run(tmp_path: Path, steelyard) -> None:
    (tmp_path / "empty").mkdir()
    for command in ("parse", "score"):
        done = steelyard("vlm", command, "empty")
        assert (done.returncode, done.stdout) == (2, "")
        assert "empty: not the folder of a run" in done.stderr
    frames_csv(tmp_path)
    path = tmp_path / "frames.csv"
    path.write_text("\n".join(",".join(line.split(",")[:4]) for line in path.read_text().splitlines()) + "\n")
    ask(tmp_path, lambda c: "5")
    assert "no frame has a true weight" in steelyard("vlm", "score", "run").stderr
    (tmp_path / "run" / "run.json").write_text('{"schema": "other"}')
    assert "schema 'other' is not known" in steelyard("vlm", "score", "run").stderr


# --- the whole way -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_demo(tmp_path: Path, steelyard) -> None:
    pytest.importorskip("transformers")
    done = steelyard("demo", "vlm", "--output", "here", PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stderr
    for part in ("direct+name", "Does the name help?", "Is the image looked at?", "followed up"):
        assert part in done.stdout
    table = done.stdout.partition("one question each")[2].partition("report.html, ")[0]
    assert max(map(len, table.splitlines())) <= 80
    data = json.loads((tmp_path / "here" / "vlm" / "score.json").read_text())
    rows = {row["prompt"]: row for row in data["body"]["rows"]}
    assert all(row["parsed"] == row["readings"] == 48 for row in rows.values())
    assert rows["reason"]["followed_up"] > 0
    named = next(p for p in data["body"]["pairs"] if (p["a"], p["b"]) == ("direct", "direct+name"))
    assert named["comparison"]["differences"]["mae_overall"]["verdict"] == "better"
    assert {"blank", "swapped"} == set(rows["direct"]["controls"])


@pytest.mark.slow
def test_a_real_server(tmp_path: Path) -> None:
    """`transformers serve` over the sample's model gives what the model gives here."""
    import shutil
    import socket
    import subprocess
    import sys
    import time
    import urllib.request

    program = Path(sys.executable).with_name("transformers")
    if not program.exists():
        pytest.skip("transformers has no command line here")
    from steelyard.vlm.backend import Conversation, ModelOptions
    from steelyard.vlm.models import open_backend

    sample = Path(str(files("steelyard") / "samples" / "vlm"))
    shutil.copytree(sample / "model", tmp_path / "model")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "log.txt").open("w")
    server = subprocess.Popen(
        [program, "serve", str(tmp_path / "model"), "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
        stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 180
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail((tmp_path / "log.txt").read_text()[-2000:])
                time.sleep(0.5)
        frames = read_frames(sample / "frames.csv")[:4]
        talks = [Conversation(f.picture, (p.render(f.food),)) for f in frames for p in ALL]
        talks.append(Conversation(frames[0].picture, (ALL[2].render(""), "about 163 g", FOLLOW_UP)))
        remote = open_backend(
            f"openai:{tmp_path / 'model'}@http://127.0.0.1:{port}/v1", ModelOptions(timeout=60, max_tokens=16)
        )
        local = open_backend(f"hf:{tmp_path / 'model'}", ModelOptions(device="cpu", max_tokens=16))
        there, here = remote.generate(talks), local.generate(talks)
        remote.close()
        assert [r.error for r in there] == [""] * len(talks)
        assert [r.text for r in there] == [r.text for r in here]
        assert all(r.usage["completion_tokens"] > 0 for r in there)
    finally:
        server.terminate()
        server.wait(30)
        log.close()


# --- what a score says, and which readings it leaves out -----------------------------------------------------------------


def silent_at_80(c) -> str:
    return "I cannot say." if grey_of(c) == 80 else str(grey_of(c))


def test_frames_without_a_number(tmp_path: Path) -> None:
    """200, 150, 100 and 180, 130, 80 g, of which the last is not read: as 0 g it is off by 80 g."""
    frames_csv(tmp_path)
    ask(tmp_path, silent_at_80, (PROMPTS["direct"],))
    left_out = score(tmp_path / "run", draws=100)
    assert left_out.rows[0].report["mae_overall"].value == 0
    worst = score(tmp_path / "run", draws=100, missing="worst")
    assert worst.rows[0].report["mae_overall"].value == pytest.approx(80 / 6)
    assert worst.rows[0].report.request.missing == "worst"
    assert worst.rows[0].constant == left_out.rows[0].constant  # compared on the frames that both have
    with refuses("E-unmatched", "s1"):
        score(tmp_path / "run", draws=100, missing="error")
    ask(tmp_path, lambda c: "I cannot say.", (PROMPTS["direct"],), out="mute")
    assert score(tmp_path / "mute", draws=100).rows[0].report is None
    mute = score(tmp_path / "mute", draws=100, missing="worst")  # 200, 150, 100, 180, 130, 80 g as 0 g
    assert mute.rows[0].report["mae_overall"].value == pytest.approx(840 / 6)
    assert "mae_overall" in mute.to_text()
    assert "mae_overall" in mute.to_html()
    with refuses("E-invalid-setting", "missing='guess'"):
        score(tmp_path / "run", missing="guess")


def test_every_remark_of_the_scores_is_said(tmp_path: Path) -> None:
    """mae_consumed leaves out the meal whose last frame has no number."""
    frames_csv(tmp_path)
    ask(tmp_path, lambda c: silent_at_80(c) if "The food item" not in c.texts[0] else str(grey_of(c)), ALL[:2])
    result = score(tmp_path / "run", draws=100)
    rows = {row.prompt: row for row in result.rows}
    said = [note for s in rows["direct"].report.scores.values() for note in s.notes]
    own = [
        note for note in said if note not in [n for s in rows["direct+name"].report.scores.values() for n in s.notes]
    ]
    assert said
    for form in (result.to_text(), result.to_markdown(), result.to_html()):
        flat = " ".join(form.split()).replace("&#x27;", "'")
        for note in merge_remarks(said, rows["direct"].report.scores):
            assert note in flat
        for note in merge_remarks(own, rows["direct"].report.scores):
            assert f"direct: {note}" in flat
        assert "direct: mae_consumed and pmae_consumed leave out 1 sequence without a frame t = 0 or without a" in flat


def test_prompts_that_the_last_run_did_not_ask(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    ask(tmp_path, silent_at_80, ALL)
    assert score(tmp_path / "run", draws=100).notes == ()
    ask(tmp_path, silent_at_80, (PROMPTS["reason"],))
    result = score(tmp_path / "run", draws=100)
    assert [row.prompt for row in result.rows] == ["reason"]
    (note,) = result.notes
    assert "not shown (scripted: direct, direct+name, reason+name)" in note
    for form in (result.to_text(), result.to_markdown(), result.to_html()):
        assert "not shown (scripted: direct, direct+name, reason+name)" in " ".join(form.split())


def test_without_intervals_and_quietly(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    ask(tmp_path, silent_at_80, ALL[:2])
    done = steelyard("vlm", "score", "run", "--ci", "none", "-q", "-o", "score.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mae_overall" in done.stdout
    result = api.load(tmp_path / "score.json")
    assert result.confidence is None
    assert all(s.interval is None for row in result.rows for s in row.report.scores.values())
    done = steelyard("vlm", "score", "run", "--ci", "much")
    assert (done.returncode, "--ci 'much' is not a level" in done.stderr) == (2, True)
    done = steelyard("vlm", "score", "run", "--missing", "worst", "--json")
    assert json.loads(done.stdout)["body"]["rows"][0]["report"]["request"]["missing"] == "worst"


# --- frames that are a folder, and columns of other names ------------------------------------------------------------


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    """Pictures in the folder are sequences of their own, those in a folder inside are one, 2 before 10."""
    here = tmp_path / "meals"
    for name in (
        "a.png",
        "b.png",
        "b.jpg",
        "lunch/10.png",
        "lunch/2.png",
        "lunch/1.png",
        "week/1/x.png",
        ".hidden.png",
    ):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        picture(here / name, 100)
    (here / "notes.txt").write_text("no picture")
    frames = read_frames(here)
    assert [(f.sequence, f.t, f.image) for f in frames] == [
        ("a", 0, "a.png"), ("b.jpg", 0, "b.jpg"), ("b.png", 0, "b.png"),
        ("lunch", 0, "lunch/1.png"), ("lunch", 1, "lunch/2.png"), ("lunch", 2, "lunch/10.png"), ("week/1", 0, "week/1/x.png"),
    ]  # fmt: skip
    assert all(f.picture is not None for f in frames)
    (tmp_path / "empty").mkdir()
    with refuses("E-empty-input", "picture"):
        read_frames(tmp_path / "empty")
    (tmp_path / "empty" / "frames.csv").write_text("sequence,t,image\n")
    with refuses("E-empty-input", "frames.csv"):
        read_frames(tmp_path / "empty")


def test_run_a_folder_and_say_why_prompts_cannot_be_asked(tmp_path: Path, steelyard) -> None:
    (tmp_path / "meals").mkdir()
    for i in range(3):
        picture(tmp_path / "meals" / f"{i}.png", 100 + i)
    with serving(lambda handler, number, body: handler.send(completion(str(sent_grey(body))))) as server:
        model = f"openai:m@{server.url}"
        done = steelyard("vlm", "run", "meals", "--model", model, "--out", "run")
        assert done.returncode == 1
        assert "6 could not be asked (6: the prompt gives the food's name, and the frame has none)" in done.stderr
        assert (
            "add a column 'food' with the food's name, or choose prompts without it: --prompts direct,reason"
            in done.stderr
        )
        done = steelyard("vlm", "run", "meals", "--model", model, "--out", "run", "--prompts", "direct,reason")
        assert (done.returncode, "6 readings, 6 held already" in done.stderr) == (0, True)


def test_columns_of_other_names(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    text = (tmp_path / "frames.csv").read_text().replace("sequence,t,image,food,weight", "meal,t,photo,dish,grams", 1)
    (tmp_path / "own.csv").write_text(text)
    with serving(lambda handler, number, body: handler.send(completion(str(sent_grey(body))))) as server:
        command = [
            "vlm",
            "run",
            "own.csv",
            "--model",
            f"openai:m@{server.url}",
            "--out",
            "run",
            "--prompts",
            "direct+name",
        ]
        done = steelyard(*command)
        assert (done.returncode, "--map" in done.stderr) == (2, True)
        names = {"sequence": "meal", "image": "photo", "food": "dish", "weight": "grams"}
        maps = [part for name, column in names.items() for part in ("--map", f"{name}={column}")]
        done = steelyard(*command, *maps)
        assert done.returncode == 0, done.stderr
        assert "is rice." in json.dumps(server.requests[0][2])
        done = steelyard(*command, "--map", "image=foto")
        assert (done.returncode, "column 'foto' is missing, which 'image' is mapped to" in done.stderr) == (2, True)
        done = steelyard(*command, "--map", "picture=photo")
        assert (done.returncode, "column 'picture' cannot be mapped" in done.stderr) == (2, True)
    assert score(tmp_path / "run", draws=100).rows[0].report["mae_overall"].value == 0
