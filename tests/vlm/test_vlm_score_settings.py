"""`vlm score` as a caller of the engine: metrics, slices, clusters, weights, cost; and who takes its JSON."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.vlm_help import Scripted, frames_csv, grey_of

import steelyard as sy
from steelyard import api
from steelyard.core.errors import InputError
from steelyard.view.folder import Folder
from steelyard.view.server import make_app
from steelyard.vlm.backend import Conversation, Reply
from steelyard.vlm.frames import read_frames
from steelyard.vlm.prices import Price, Prices
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.questions import question
from steelyard.vlm.run import run
from steelyard.vlm.score import score

BOTH = (PROMPTS["direct"], PROMPTS["direct+name"])
PRICE = Prices("prices.toml", {"scripted": Price(2.0, 10.0, 0.5, 0.0, 100.0)}, "EUR")
USAGE = {"prompt_tokens": 90, "completion_tokens": 2, "prompt_tokens_details.cached_tokens": 40}
EACH = (50 * 2.0 + 40 * 0.5 + 2 * 10.0) / 100  # of one reply, by hand: 1.4


class Counted(Scripted):
    """A model that says how many tokens its replies took, and for how long: half a second."""

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(r.text, r.finish, USAGE, 0.5, 1, r.error) for r in super().generate(conversations)]


def errs(c: Conversation) -> str:
    """Off by 10 g without the name, by 4 g with it; light plates need a second question."""
    if len(c.texts) == 1 and grey_of(c) < 60:
        return "I see a plate."
    return str(grey_of(c) + (4 if "The food item" in c.texts[0] else 10))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four meals of three frames, at two sites, of two people each, with weights 1 and 3."""
    here = tmp_path_factory.mktemp("settings")
    rows = frames_csv(here, sequences=4).read_text().splitlines()
    more = [
        "site,person,share",
        *(f"{'north' if i < 6 else 'south'},p{i // 3 % 2},{1 if i < 6 else 3}" for i in range(12)),
    ]
    (here / "frames.csv").write_text("\n".join(f"{a},{b}" for a, b in zip(rows, more, strict=True)) + "\n")
    frames = read_frames(here / "frames.csv")
    run(frames, Counted(errs), BOTH, here / "run", prices=PRICE)
    return here


def values_of(folder: Path) -> dict[str, list[Any]]:
    """What the model said to the first prompt, in the frames' order, as predictions."""
    frames = read_frames(folder / "frames.csv")
    said = [f.weight + 10 for f in frames]
    return {"sequence": [f.sequence for f in frames], "t": [f.t for f in frames], "weight": said}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"by": ["site"]}, {"by": ["site"]}),
        ({"by": [("site", "food")]}, {"by": [("site", "food")]}),
        ({"cluster": "person"}, {"cluster": "person"}),
        ({"strata": "site"}, {"strata": "site"}),
        ({"weight": "share"}, {"columns": {"truth.sample_weight": "share"}}),
        ({"save_draws": True, "draws": 200, "seed": 3}, {"save_draws": True, "draws": 200, "seed": 3}),
    ],
)
def test_settings_are_those_of_evaluate(folder: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """The same numbers as `evaluate` gives for the frames' file and what was said."""
    made = score(folder / "run", ["mae_overall", "bias"], **ours).rows[0].report
    wanted = api.evaluate("sequences", folder / "frames.csv", values_of(folder), ["mae_overall", "bias"], **theirs)
    assert made.scores == wanted.scores
    assert made.slices == wanted.slices
    assert bool(made.slices) == ("by" in ours)


@pytest.mark.parametrize("setting", [{"by": ["{}"]}, {"by": [("food", "{}")]}, {"cluster": "{}"}, {"strata": "{}"}])
def test_a_column_in_a_table_beside_is_one_of_the_frames(folder: Path, tmp_path: Path, setting: dict[str, Any]) -> None:
    def named(name: str) -> dict[str, Any]:
        return eval(repr(setting).replace("{}", name))  # type: ignore[no-any-return]

    site = {f.sequence: f.text("site") for f in read_frames(folder / "frames.csv")}
    table = tmp_path / "sites.csv"
    table.write_text("sequence,place\n" + "".join(f"{s},{place}\n" for s, place in [*site.items(), ("other", "far")]))
    made, wanted = (score(folder / "run", "mae_overall", **named(name)) for name in (f"place@{table}", "site"))
    assert [row.report.scores for row in made.rows] == [row.report.scores for row in wanted.rows]
    slices = [[list(each.values()) for each in one.rows[0].report.slices.values()] for one in (made, wanted)]
    assert slices[0] == slices[1]
    assert bool(slices[0]) == ("by" in setting)
    table.write_text("sequence,place\ns0,north\n")
    with pytest.raises(InputError, match=r"sites.csv: sequence 's1' has no row, which `(by|cluster|strata)` needs"):
        score(folder / "run", "mae_overall", **named(f"place@{table}"))


def test_a_weight_by_hand(tmp_path: Path) -> None:
    """Two meals off by 10 g and 40 g, of weights 3 and 1: (3 * 10 + 40) / 4."""
    frames_csv(tmp_path, length=1)
    text = (tmp_path / "frames.csv").read_text().splitlines()
    (tmp_path / "frames.csv").write_text("\n".join(f"{a},{b}" for a, b in zip(text, ["w", "3", "1"], strict=True)))
    off = {200: 10, 180: 40}
    run(
        read_frames(tmp_path / "frames.csv"),
        Scripted(lambda c: str(grey_of(c) + off[grey_of(c)])),
        BOTH[:1],
        tmp_path / "run",
    )
    assert score(tmp_path / "run", "mae_overall", weight="w").rows[0].report["mae_overall"].value == 17.5


def test_slices_are_shown(folder: Path) -> None:
    result = score(folder / "run", "mae_overall", by=["site"])
    assert result.rows[0].report.slices["site"]["north"]["mae_overall"].value == 10
    for text in (result.to_text(), result.to_markdown(), result.to_html()):
        assert "By site (mae_overall)" in text
        assert "south" in text


def test_metrics_go_to_the_tasks_that_have_them(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    lines = (tmp_path / "frames.csv").read_text().splitlines()
    (tmp_path / "frames.csv").write_text(
        "\n".join(f"{a},{b}" for a, b in zip(lines, ["dog", *["yes"] * 6], strict=True))
    )
    dog = question("dog", {"prompt": "A dog?", "target": "dog", "answer": "yes/no"}, "q")
    model = Scripted(lambda c: "Yes" if "dog" in c.texts[0] else str(grey_of(c)))
    run(read_frames(tmp_path / "frames.csv"), model, (*BOTH[:1], dog), tmp_path / "run")
    chosen = score(tmp_path / "run", ["mae_overall", "yn_recall", "exact"], draws=100)
    assert [list(row.report.scores) for row in chosen.rows] == [["mae_overall"], ["yn_recall", "exact"]]
    one = score(tmp_path / "run", "mae_overall", draws=100)
    assert [len(row.report.scores) > 1 for row in one.rows] == [False, True]  # the question keeps its own
    with pytest.raises(InputError, match=r"mae_overal.*mae_overall"):
        score(tmp_path / "run", "mae_overal", draws=100)


def test_columns_that_are_not_there(folder: Path, tmp_path: Path) -> None:
    for setting in ({"by": ["sight"]}, {"cluster": "sight"}, {"weight": "sight"}):
        with pytest.raises(
            InputError, match=r"run: the frames of this run have no column 'sight'.*run the same command"
        ):
            score(folder / "run", **setting)
    with pytest.raises(InputError, match=r"frame 0 of sequence 's0'.*'north' in the column 'site' is not a number"):
        score(folder / "run", weight="site")


# --- what it took ----------------------------------------------------------------------------------------------------


def test_effort_by_hand(folder: Path) -> None:
    """Twelve questions a prompt, one of which is followed up (the plate of 40 g)."""
    result = score(folder / "run", "mae_overall", prices=PRICE)
    effort = result.rows[0].effort
    assert (effort.questions, effort.replies, effort.uncounted, effort.images) == (12, 13, 0, 13)
    assert (effort.input, effort.cached, effort.output, effort.thought) == (13 * 90, 13 * 40, 13 * 2, 0)
    assert (effort.median, effort.slow) == (0.5, 1.0)  # the slowest of twelve had two turns
    assert (effort.cost, effort.currency) == (pytest.approx(13 * EACH), "EUR")
    assert result.runs[0].effort.cost == pytest.approx(26 * EACH)
    text, page, marked = result.to_text(), result.to_html(), result.to_markdown()
    for part in ("tokens in", "1,170 (44 % cached)", "18.20 EUR", "1.52 EUR", "0.5 s", "36.40 EUR"):
        for shown in (text, page, marked):
            assert part in shown
    data = json.loads(result.to_json())
    assert data["body"]["rows"][0]["effort"]["cost"] == pytest.approx(13 * EACH)
    assert sy.load(result.to_dict()) == result
    plain = score(folder / "run", "mae_overall")
    assert plain.rows[0].effort.cost is None
    assert "EUR" not in plain.to_text()
    with pytest.raises(InputError, match="no price of the model 'scripted'"):
        score(folder / "run", prices=Prices("p", {"m": Price(1, 1, 1)}, "EUR"))


def test_the_demo_of_a_model_without_counts_shows_none(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    run(read_frames(tmp_path / "frames.csv"), Scripted(lambda c: str(grey_of(c))), BOTH[:1], tmp_path / "run")
    made = score(tmp_path / "run", "mae_overall", prices=PRICE)
    assert made.rows[0].effort.uncounted == 6
    assert "tokens in" not in made.to_text()
    assert "6 replies without counts of tokens, whose cost is unknown" in " ".join(made.to_text().split())


# --- who takes it ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(folder: Path) -> Path:
    score(folder / "run", ["mae_overall", "slope"], save_draws=True, by=["site"]).to_json(folder / "score.json")
    return folder / "score.json"


def test_gate_takes_it(stored: Path, steelyard) -> None:
    held = steelyard("gate", stored, "--model", "direct", "--fail-if", "mae_overall > 20")
    assert held.returncode == 0, held.stderr
    assert steelyard("gate", stored, "--model", "direct", "--fail-if", "mae_overall > 5").returncode == 1
    better = ["--model", "direct+name", "--baseline", "direct", "--fail-if", "mae_overall > baseline"]
    assert steelyard("gate", stored, *better).returncode == 0
    other = ["--model", "direct", "--baseline", stored, "--fail-if", "mae_overall > baseline, p < 0.05"]
    same = steelyard("gate", stored, *other)  # the prompt of that name of another score
    assert (same.returncode, f"direct of {stored}" in same.stdout) == (0, True)
    lost = steelyard("gate", stored, "--fail-if", "mae_overall > 20")
    assert (lost.returncode, "direct, direct+name" in lost.stderr) == (2, True)


def test_plan_takes_it(folder: Path, stored: Path, steelyard, tmp_path: Path) -> None:
    def noisy(c: Conversation) -> str:
        return str(grey_of(c) + (1 if "The food item" in c.texts[0] else grey_of(c) % 7))

    run(read_frames(folder / "frames.csv"), Scripted(noisy), BOTH, tmp_path / "run")
    score(tmp_path / "run", "mae_overall").to_json(tmp_path / "s.json")
    args = ["--model", "direct+name", "--baseline", "direct", "--target", "mae_overall=1", "--json"]
    done = steelyard("plan", "s.json", *args)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["body"]["metrics"][0]["needed"]["units"] > 1


def test_compare_takes_it(stored: Path, steelyard) -> None:
    within = steelyard("compare", stored, "--model", "direct+name", "--baseline", "direct", "--json")
    assert within.returncode == 0, within.stderr
    made = sy.load(json.loads(within.stdout))
    assert made["mae_overall"].difference == -6
    assert made.differences == sy.load(stored).pairs[0].comparison.differences
    assert (made.a.name, made.b.name) == ("direct", "direct+name")
    two = steelyard("compare", stored, stored, "--baseline", "direct", "--model", "direct+name")
    assert two.returncode == 0, two.stderr
    assert "the paired bootstrap draws of both results" in " ".join(two.stdout.split())
    for args in ([stored], [stored, stored], [stored, stored, stored], [stored, "--model", "x", "--baseline", "y"]):
        bad = steelyard("compare", *args)
        assert (bad.returncode, "Traceback" in bad.stderr, bool(bad.stderr)) == (2, False, True)
    assert steelyard("compare", "weights", "truth.csv").returncode == 2


def test_view_takes_it(stored: Path) -> None:
    """The list names the score, and its page shows prompts, slices and tokens."""
    client = TestClient(make_app(Folder(stored.parent), "t", 8765), base_url="http://127.0.0.1:8765")
    listed = client.get("/t/")
    assert (listed.status_code, "score.json" in listed.text.replace("<wbr>", "")) == (200, True)
    page = client.get(f"/t/run/{hashlib.sha256(b'score.json').hexdigest()[:16]}")
    assert page.status_code == 200
    for part in ("direct+name", "By site (mae_overall)", "1,170 (44 % cached)"):
        assert part in page.text


def test_evaluate_and_compare_take_what_parse_writes(folder: Path, steelyard) -> None:
    done = steelyard("vlm", "parse", folder / "run", "--to", "sides")
    assert done.returncode == 0, done.stderr
    with (folder / "run" / "readings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    took = {(row["turns"], row["tokens_in"], row["tokens_out"], row["seconds"]) for row in rows}
    assert took == {("1", "90", "2", "0.5"), ("2", "180", "4", "1.0")}
    args = ["--by", "site", "-m", "mae_overall", "--missing", "skip", "--json"]
    one = steelyard("evaluate", "sequences", "sides/truth.csv", "sides/scripted--direct.csv", *args)
    report = sy.load(json.loads(one.stdout))
    row = score(folder / "run", "mae_overall", by=["site"]).rows[0]
    assert report.scores == row.report.scores
    assert report.slices == row.report.slices
    both = ["sides/truth.csv", "sides/scripted--direct.csv", "sides/scripted--direct+name.csv"]
    two = steelyard("compare", "sequences", *both, "-m", "mae_overall", "--json")
    assert sy.load(json.loads(two.stdout))["mae_overall"].difference == -6


def test_own_questions_are_written_as_answers(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    lines = (tmp_path / "frames.csv").read_text().splitlines()
    (tmp_path / "frames.csv").write_text(
        "\n".join(f"{a},{b}" for a, b in zip(lines, ["dog", *["yes"] * 6], strict=True))
    )
    dog = question("dog", {"prompt": "A dog?", "target": "dog", "answer": "yes/no"}, "q")
    run(read_frames(tmp_path / "frames.csv"), Scripted(lambda c: "Yes"), (dog,), tmp_path / "run")
    assert steelyard("vlm", "parse", "run", "--to", "sides").returncode == 0
    with (tmp_path / "sides" / "dog-truth.csv").open(newline="") as file:
        assert {row["answer"] for row in csv.DictReader(file)} == {"yes"}
    args = ["sides/dog-truth.csv", "sides/scripted--dog.csv", "-m", "yn_accuracy", "--json"]
    done = steelyard("evaluate", "answers", *args)
    assert sy.load(json.loads(done.stdout))["yn_accuracy"].value == 1


def test_the_command_takes_the_settings(folder: Path, steelyard, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        '[models.scripted]\ninput = 2\ncached = 0.5\noutput = 10\nper = 100\ncurrency = "EUR"\n'
    )
    args = ["-m", "mae_overall", "--by", "site,food", "--cluster", "person", "--weight", "share", "--prices", "p.toml"]
    done = steelyard("vlm", "score", folder / "run", *args, "--save-draws", "-o", "s.json", "-o", "s.html")
    assert done.returncode == 0, done.stderr
    assert "18.20 EUR" in done.stdout
    made: Any = sy.load(tmp_path / "s.json").rows[0].report
    assert (made.request.cluster, made.request.by) == ("person", (("site", "food"),))
    assert made["mae_overall"].draws is not None
