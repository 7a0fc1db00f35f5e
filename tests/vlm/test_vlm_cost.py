"""Cost of runs: prices that the user gives, a budget that ends a run, and what was spent after a resume."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.refusal import refuses
from support.vlm_help import Scripted, completion, frames_csv, grey_of, picture, serving

from steelyard.render.numbers import money_text
from steelyard.vlm.backend import Conversation, Reply
from steelyard.vlm.frames import read_frames
from steelyard.vlm.journal import read_journal
from steelyard.vlm.prices import Price, Prices, read_prices
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS
from steelyard.vlm.questions import question
from steelyard.vlm.run import run
from steelyard.vlm.score import score

DIRECT = (PROMPTS["direct"],)
UNIT = Price(1.0, 1.0, 1.0, 0.0, 1.0)  # 1 a token
PROMPT, LONGEST = 90, 8  # tokens of each prompt, and of the longest reply
EACH = PROMPT + 2
MOST = PROMPT + (PROMPT + LONGEST + len(FOLLOW_UP)) + 2 * LONGEST  # what a question may cost with its follow-up


class Counted(Scripted):
    """A model that says how many tokens its replies took."""

    usage = {"prompt_tokens": PROMPT, "completion_tokens": 2}
    batch, workers = 1, 1

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(r.text, r.finish, self.usage, 0.25, 1, r.error) for r in super().generate(conversations)]


def ask(folder: Path, budget: float | None, workers: int = 1, price: Price = UNIT, usage: dict | None = None):
    frames_csv(folder, sequences=3)  # nine readings
    model = Counted(lambda c: str(grey_of(c)))
    model.workers = workers
    model.usage = Counted.usage if usage is None else usage
    prices = Prices("prices.yaml", {"scripted": price}, "USD")
    frames = read_frames(folder / "frames.csv")
    return run(frames, model, DIRECT, folder / "run", prices=prices, budget=budget), len(model.asked)


# --- prices ----------------------------------------------------------------------------------------------------------


def test_a_price_by_hand() -> None:
    price = Price(input=2.5, output=10, cached=0.25, image=0.001, per=1e6)
    # 176 new and 1,024 cached tokens in, 310 out, two pictures
    assert price.cost(1200, 1024, 310, 2) == pytest.approx((176 * 2.5 + 1024 * 0.25 + 310 * 10) / 1e6 + 0.002)


def test_tables_of_prices(tmp_path: Path) -> None:
    texts = {
        "p.yaml": "models:\n  m: {input: 2.5, output: 10, currency: EUR, as_of: 2026-08-01}\n",
        "p.toml": '[models."m"]\ninput = 2.5\noutput = 10\ncurrency = "EUR"\n',
        "p.json": '{"models": {"m": {"input": 2.5, "output": 10, "currency": "EUR"}}}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        prices = read_prices(tmp_path / name)
        assert (prices.models, prices.currency) == ({"m": Price(2.5, 10.0, 2.5, 0.0, 1e6)}, "EUR")
    assert prices.of("openai:m@http://host/v1", "m") == prices.models["m"]
    with refuses("E-unknown-name", "p.json", "'n'"):
        prices.of("openai:n@http://host/v1", "n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", ("E-empty-input", "p.json")),
        ("[]", ("E-empty-input", "p.json")),
        ('{"models": []}', ("E-empty-input", "p.json")),
        ('{"modles": {}}', ("E-unknown-name", "'modles'", "'models'")),
        ('{"models": {"m": 3}}', ("E-invalid-value", "'m'", "3")),
        ('{"models": {"m": {"input": 1}}}', ("E-missing-key", "'m'", "'output'")),
        ('{"models": {"m": {"input": 1, "output": -2}}}', ("E-invalid-value", "'m'", "output")),
        ('{"models": {"m": {"input": "x", "output": 2}}}', ("E-invalid-value", "'m'", "input", "'x'")),
        ('{"models": {"m": {"input": true, "output": 2}}}', ("E-invalid-value", "'m'", "input", "True")),
        ('{"models": {"m": {"input": 1e999, "output": 2}}}', ("E-invalid-value", "'m'", "input", "inf")),
        ('{"models": {"m": {"input": 1, "output": 2, "per": 0}}}', ("E-out-of-range", "0")),
        ('{"models": {"m": {"input": 1, "output": 2, "outputs": 0}}}', ("E-unknown-name", "'outputs'", "'output'")),
        ('{"models": {"m": {"input": 1, "output": 2, "currency": 3}}}', ("E-invalid-value", "3")),
        (
            '{"models": {"m": {"input": 1, "output": 2}, "n": {"input": 1, "output": 2, "currency": "EUR"}}}',
            ("E-conflict", "'m'", "'n'", "EUR"),
        ),
        ('{"models": {"m": {"input": 1, "input": 1, "output": 2}}}', ("E-invalid-file", "'input'")),
    ],
)
def test_bad_tables_of_prices(tmp_path: Path, text: str, message: tuple[str, ...]) -> None:
    (tmp_path / "p.json").write_text(text)
    with refuses(*message, "p.json"):
        read_prices(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("amount", "text"),
    [(5, "5.00 USD"), (1234.5, "1,234.50 USD"), (0.12, "0.12 USD"), (0.0013, "0.0013 USD"), (0, "0.00 USD")],
)
def test_money_is_short(amount: float, text: str) -> None:
    assert money_text(amount, "USD") == text


# --- budget ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 4])
def test_a_budget_ends_a_run_before_it_is_spent(tmp_path: Path, workers: int) -> None:
    budget = MOST + 2.5 * EACH  # a question must fit whole: with 3 paid for, a fourth does not
    progress, asked = ask(tmp_path, budget, workers)
    assert (asked, progress.done, progress.left, progress.out_of_budget) == (3, 3, 6, True)
    assert progress.cost == 3 * EACH <= budget
    assert len(read_journal(tmp_path / "run")) == 3


def test_what_was_spent_counts_after_a_resume(tmp_path: Path) -> None:
    ask(tmp_path, MOST + 2.5 * EACH)
    again, asked = ask(tmp_path, MOST + 2.5 * EACH)
    assert (asked, again.held, again.cost, again.out_of_budget) == (0, 3, 3 * EACH, True)
    more, asked = ask(tmp_path, MOST + 4.5 * EACH)
    assert (asked, more.held, more.cost, more.out_of_budget) == (2, 3, 5 * EACH, True)
    last, asked = ask(tmp_path, 1e6)
    assert (asked, last.held, last.cost, last.out_of_budget, last.left) == (4, 5, 9 * EACH, False, 0)


def test_what_failed_and_was_asked_again_is_paid_for_twice(tmp_path: Path) -> None:
    """The first turn of a reading was paid for, even where its follow-up fails."""
    frames_csv(tmp_path, sequences=1, length=1)
    prices = Prices("p", {"scripted": UNIT}, "USD")
    frames = read_frames(tmp_path / "frames.csv")

    def lost(c: Conversation) -> str:
        if len(c.texts) > 1:
            raise ValueError("lost")
        return "no idea"

    assert run(frames, Counted(lost), DIRECT, tmp_path / "run", prices=prices).cost == EACH
    assert run(frames, Counted(lambda c: "200"), DIRECT, tmp_path / "run", prices=prices).cost == 2 * EACH


def test_every_picture_of_a_question_is_paid_for(tmp_path: Path) -> None:
    """Two pictures each, shown again with the follow-up: 0.5 a picture, and nothing for tokens."""
    for grey, name in ((100, "a.png"), (120, "b.png"), (140, "c.png")):
        picture(tmp_path / name, grey)
    (tmp_path / "frames.csv").write_text("sequence,t,image,other,count\ns0,0,a.png,b.png,1\ns1,0,b.png,c.png,2\n")
    spec = {"prompt": "How many?", "target": "count", "answer": "integer", "images": ["image", "other"]}
    count = question("count", spec, "q")
    prices = Prices("p", {"scripted": Price(0, 0, 0, 0.5)}, "USD")
    frames = read_frames(tmp_path / "frames.csv", shots=["image", "other"])
    model = Counted(lambda c: "1" if grey_of(c) == 100 else "No idea.")
    progress = run(frames, model, (count,), tmp_path / "run", prices=prices)
    assert progress.cost == 0.5 * 2 * (1 + 2)
    effort = score(tmp_path / "run", "answered", prices=prices).rows[0].effort
    assert (effort.images, effort.cost) == (6, 3.0)
    fresh = run(frames, Counted(model.answer), (count,), tmp_path / "other", prices=prices, budget=1.9)
    assert (fresh.done, fresh.cost, fresh.out_of_budget) == (0, 0, True)  # the first alone could cost 2.00


def test_a_budget_needs_prices_and_counts(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    frames = read_frames(tmp_path / "frames.csv")
    with refuses("E-invalid-setting", "budget", "prices"):
        run(frames, Counted(lambda c: "1"), DIRECT, tmp_path / "run", budget=5)
    for budget in (0, -1, float("nan"), float("inf")):
        with refuses("E-out-of-range", "budget"):
            ask(tmp_path, budget)
    with refuses("E-unknown-name", "price", "'scripted'"):
        run(frames, Counted(lambda c: "1"), DIRECT, tmp_path / "run", prices=Prices("p", {"m": UNIT}, "USD"))
    assert not (tmp_path / "run" / "journal.jsonl").exists()
    with refuses("E-unsupported", "'scripted'"):
        ask(tmp_path, 1e6, usage={})
    assert len(read_journal(tmp_path / "run")) == 1  # the one that was asked is kept
    progress, _ = ask(tmp_path, 1e-9, price=Price(0, 0, 0), usage={})  # what costs nothing needs no counts
    assert (progress.cost, progress.left) == (0, 0)


def test_a_reply_without_counts_costs_the_most_that_it_can(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    counts = iter([Counted.usage, {}, Counted.usage, {"prompt_tokens": 5}, Counted.usage, Counted.usage])

    class Sometimes(Counted):
        usage = property(lambda self: next(counts))  # type: ignore[assignment]

    prices = Prices("p", {"scripted": UNIT}, "USD")
    model = Sometimes(lambda c: str(grey_of(c)))
    frames = read_frames(tmp_path / "frames.csv")
    progress = run(frames, model, DIRECT, tmp_path / "run", prices=prices, budget=1e6)
    assert progress.cost == 4 * EACH + 2 * (PROMPT + LONGEST)


def test_the_command_stops_with_its_own_exit_code(tmp_path: Path, steelyard) -> None:
    frames_csv(tmp_path)
    (tmp_path / "prices.json").write_text(
        json.dumps({"models": {"m": {"input": 1, "output": 1, "per": 1, "currency": "EUR"}}})
    )
    (tmp_path / "other.json").write_text('{"models": {"n": {"input": 1, "output": 1}}}')
    with serving(lambda h, n, b: h.send(completion("150"))) as server:
        args = ["vlm", "run", "frames.csv", "--model", f"openai:m@{server.url}", "--prompts", "direct", "--out", "run"]
        args += ["--max-tokens", str(LONGEST)]
        stopped = steelyard(*args, "--prices", "prices.json", "--budget", str(MOST + 2.5 * EACH))
        assert stopped.returncode == 3, stopped.stderr
        assert f"{3 * EACH}.00 EUR spent" in stopped.stderr
        assert "does not cover another question; 3 readings not asked" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        bad = steelyard(*args, "--prices", "other.json", "--budget", "5")
        assert (bad.returncode, "there is no price of the model 'm'" in bad.stderr) == (2, True)
        assert steelyard(*args, "--budget", "5").returncode == 2
        assert len(server.requests) == 3
        done = steelyard(*args, "--prices", "prices.json")
        assert done.returncode == 0, done.stderr
        assert f"{6 * EACH}.00 EUR spent" in done.stderr
