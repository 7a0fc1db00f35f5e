"""What readings took, added up, and a budget that ends a run before it is spent.

A question may cost at most two turns: the largest prompt so far and a reply of the longest length, and the same again
with the follow-up. It is asked only where that fits into what is left beside all that is under way. A reply that came
without counts of tokens counts as such a turn.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.core.errors import OutOfRange, Unsupported
from steelyard.results.vlm import Effort
from steelyard.vlm.journal import JournalEntry, Turn
from steelyard.vlm.plan import RunPlan
from steelyard.vlm.prices import Price, Prices
from steelyard.vlm.usage import tokens_of

SLOW = 0.95
COUNTS = ("questions", "replies", "uncounted", "images", "input", "cached", "output", "thought")
LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens")  # what settings call the longest reply


@dataclass
class Tally:
    """Tokens, replies and seconds of readings, added up; the fields are those of `Effort`."""

    questions: int = 0
    replies: int = 0
    uncounted: int = 0
    images: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    thought: int = 0
    largest: int | None = None
    seconds: list[float] = field(default_factory=list)

    def add(self, turns: Sequence[Turn], pictures: int = 1) -> None:
        """Count a conversation about so many pictures; a turn that failed took nothing that is known."""
        self.questions += 1
        came = [turn for turn in turns if not turn.error]
        for turn in came:
            tokens = tokens_of(turn.usage)
            self.replies += 1
            self.images += pictures
            if tokens.prompt is None or tokens.completion is None:
                self.uncounted += 1
                continue
            self.input += tokens.prompt
            self.cached += min(tokens.cached, tokens.prompt)
            self.output += tokens.completion
            self.thought += min(tokens.reasoning, tokens.completion)
            self.largest = max(self.largest or 0, tokens.prompt)
        if came:
            self.seconds.append(math.fsum(turn.latency for turn in came))

    def cost(self, price: Price) -> float:
        """What was counted costs."""
        return price.cost(self.input, self.cached, self.output, self.images)

    def effort(self, price: Price | None = None, currency: str = "") -> Effort:
        """All that was counted; with a price, what it cost."""
        median = slow = math.nan
        if self.seconds:
            ordered = sorted(self.seconds)
            median, slow = statistics.median(ordered), ordered[math.ceil(SLOW * len(ordered)) - 1]
        return Effort(
            self.questions, self.replies, self.uncounted, self.images, self.input, self.cached, self.output,
            self.thought, median, slow, None if price is None else self.cost(price), currency if price else "",
        )  # fmt: skip


@dataclass
class Spending:
    """What a run has cost so far, of all models in its journal, and what it may cost."""

    prices: Prices
    model: str
    price: Price
    longest: int
    budget: float | None = None
    tallies: dict[str, Tally] = field(default_factory=dict)
    rates: dict[str, Price] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    follow_up: int = 0
    pictures: int = 1  # of a question, at most

    def count(self, readings: Iterable[JournalEntry]) -> None:
        """Count what readings took, of whichever model. InputError where a budget cannot be kept."""
        for reading in readings:
            if reading.model not in self.rates:
                self.rates[reading.model] = self.prices.of(reading.model, self.labels.get(reading.model, ""))
            self.tallies.setdefault(reading.model, Tally()).add(reading.turns, reading.pictures)
        silent = [model for model, tally in self.tallies.items() if tally.uncounted and tally.largest is None]
        lost = next((model for model in silent if self.budget is not None and not self.rates[model].free), None)
        if lost is not None:
            raise Unsupported(
                f"the model '{lost}' does not say how many tokens its replies take",
                remedy="No budget can be kept: leave `budget` out.",
            )

    @property
    def cost(self) -> float:
        """What was spent; replies without counts at the most that they can have cost."""
        return math.fsum(
            tally.cost(self.rates[model])
            + tally.uncounted * self.rates[model].cost(tally.largest or 0, output=self.longest)
            for model, tally in self.tallies.items()
        )

    def _most(self, largest: int) -> float:
        """The most that a question can cost, with its follow-up, which holds the first reply."""
        prompts = largest + (largest + self.longest + self.follow_up)
        return self.price.cost(prompts, output=2 * self.longest, images=2 * self.pictures)

    def room(self, asked: int, under_way: int) -> bool:
        """Whether so many questions may be asked beside those that are under way."""
        if self.budget is None or self.price.free:
            return True
        tally = self.tallies.get(self.model, Tally())
        if tally.largest is None and under_way:  # the first reply says how long prompts are
            return False
        return self.cost + (asked + under_way) * self._most(tally.largest or 0) <= self.budget


def spending(prices: Prices, budget: float | None, plan: RunPlan) -> Spending:
    """Nothing spent yet by a plan. InputError where its model has no price, or the budget is none."""
    if budget is not None and not 0 < budget < math.inf:
        raise OutOfRange(f"a budget of {budget:g} is none", remedy="Give an amount above 0.")
    price = prices.of(plan.model, plan.label)
    longest = next((plan.settings[name] for name in LIMITS if isinstance(plan.settings.get(name), int)), 0)
    again = [prompt.follow_up or plan.follow_up for prompt in plan.prompts_by_name().values()]
    account = Spending(prices, plan.model, price, longest, budget, follow_up=max(len(text.encode()) for text in again))
    account.rates[plan.model] = price
    return account


def effort_of_all(tallies: Mapping[str, Tally], labels: Mapping[str, str], prices: Prices | None) -> Effort:
    """What all models of a run took together; `labels` are their names by the model's spec."""
    every = Tally()
    for tally in tallies.values():
        for name in COUNTS:
            setattr(every, name, getattr(every, name) + getattr(tally, name))
        every.seconds += tally.seconds
    effort = every.effort()
    if prices is None:
        return effort
    cost = math.fsum(tally.cost(prices.of(model, labels.get(model, ""))) for model, tally in tallies.items())
    return replace(effort, cost=cost, currency=prices.currency)
