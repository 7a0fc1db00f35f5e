"""The runner: asks what is not yet in the journal, follows up once, and writes each reading down.

Batches go to the model's workers; the main thread alone writes the journal. What goes wrong with one frame is written
down as that reading's failure, and the run goes on.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.core.errors import DuplicateKey, EmptyInput, InvalidSetting, MissingColumn, OutOfRange
from steelyard.vlm.answers import MOST_GRAMS, check_mode
from steelyard.vlm.backend import Backend, Conversation, PermanentError, Reply
from steelyard.vlm.frames import FRAMES as KNOWN
from steelyard.vlm.frames import Frame, write_frames
from steelyard.vlm.journal import Journal, JournalEntry, Turn, every_reading
from steelyard.vlm.plan import MOST_REPEATS, Question, RunPlan, merged_plans, questions, save_plans
from steelyard.vlm.prices import Prices
from steelyard.vlm.prompts import FOLLOW_UP
from steelyard.vlm.questions import Prompt
from steelyard.vlm.spending import Spending, spending

FRAMES = "frames.csv"
SAME = 3  # so many equal failures before any answer end a run
REFUSED = 10  # so many pictures on end that are refused in the same words end one that has answers


@dataclass
class Progress:
    """Where a run stands: readings asked in this run, and those that the journal held already."""

    wanted: int = 0
    held: int = 0
    done: int = 0
    parsed: int = 0
    followed_up: int = 0
    failed: int = 0
    unaskable: int = 0
    started: float = 0.0
    last_error: str = ""
    cost: float | None = None
    out_of_budget: bool = False
    reasons: Counter[str] = field(default_factory=Counter)  # why readings could not be asked

    @property
    def left(self) -> int:
        """Readings still to be asked."""
        return self.wanted - self.held - self.done - self.failed - self.unaskable

    @property
    def rate(self) -> float:
        """Readings a second so far."""
        return (self.done + self.failed) / max(1e-9, time.monotonic() - self.started)


def run(
    frames: Sequence[Frame],
    backend: Backend,
    prompts: Sequence[Prompt],
    out: str | Path,
    *,
    model: str = "",
    mode: str = "whole",
    most: float = MOST_GRAMS,
    controls: bool = False,
    repeat: int = 1,
    give_up: int = 50,
    prices: Prices | None = None,
    budget: float | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Progress:
    """Ask everything that the journal in `out` does not hold yet.

    `repeat` asks each question so many times, which makes sense where replies are sampled. `give_up` ends the run after
    so many readings failed one after the other; three that fail in the same words end it where the model has not
    answered yet, and ten consecutive pictures that are refused in the same words where it has. With `prices` the cost
    of all that the journal holds is counted, and `budget` ends the run before a question that could go beyond it.
    `watch` is called after each batch.
    """
    check_mode(mode)
    if budget is not None and prices is None:
        raise InvalidSetting("a budget needs prices", remedy="Give them with `prices=FILE`.")
    if not prompts:
        raise EmptyInput("no prompt is asked for")
    _check_prompts(prompts, frames)
    if not 0 < most < math.inf:
        raise OutOfRange(f"the most that a meal can weigh is {most:g}", remedy="Choose grams above 0.")
    if not 1 <= repeat <= MOST_REPEATS:
        raise OutOfRange(f"a question cannot be asked {repeat} times", remedy=f"Choose 1 to {MOST_REPEATS}.")
    folder = Path(out)
    plan = RunPlan(
        model=model or backend.label,
        label=backend.label,
        fingerprint=backend.fingerprint,
        settings=dict(backend.settings),
        prompts={prompt.name: prompt.text for prompt in prompts},
        follow_up=FOLLOW_UP,
        mode=mode,
        most=most,
        controls=controls,
        environment=dict(backend.environment),
        asks={prompt.name: prompt.spec for prompt in prompts if prompt.spec},
        repeat=repeat,
    )
    spent = None if prices is None else spending(prices, budget, plan)
    with Journal(folder) as journal:
        plans = merged_plans(folder, plan)
        own = [*(name for frame in frames for name in frame.columns), *(name for one in plans for name in one.columns)]
        write_frames(folder / FRAMES, frames, list(dict.fromkeys(own)))
        save_plans(folder, plans)
        progress = Progress(started=time.monotonic())
        if spent is not None:
            spent.labels = {one.model: one.label for one in plans}
            spent.count(every_reading(folder))
            progress.cost = spent.cost
        todo: list[Question] = []
        planned: set[str] = set()
        for question in questions(plan, frames):
            if not question.key:
                progress.wanted += 1
                progress.unaskable += 1
                progress.reasons[question.problem] += 1
            elif question.key not in planned:  # the same picture and prompt are asked about once
                planned.add(question.key)
                progress.wanted += 1
                if question.key.encode() in journal.done:
                    progress.held += 1
                else:
                    todo.append(question)
        if spent is not None:
            spent.pictures = max((1 + len(question.more) for question in todo), default=1)
        try:
            _ask_all(backend, plan, todo, journal, progress, give_up, watch or (lambda progress: None), spent)
        finally:
            if dict(backend.environment) != plan.environment:  # what the first question found out
                save_plans(folder, [*plans[:-1], replace(plan, environment=dict(backend.environment))])
    return progress


def _check_prompts(prompts: Sequence[Prompt], frames: Sequence[Frame]) -> None:
    names = [prompt.name for prompt in prompts]
    for prompt in prompts:
        if names.count(prompt.name) > 1:
            raise DuplicateKey(f"two prompts are called '{prompt.name}'", remedy="Give each its own name.")
        for column in prompt.needs if prompt.fills else ():
            if column not in KNOWN.names and any(column not in frame.columns for frame in frames):
                raise MissingColumn(
                    f"question '{prompt.name}' needs the column '{column}', which the frames have not",
                    remedy="Add the column to the frames.",
                )


def _ask_all(
    backend: Backend,
    plan: RunPlan,
    todo: Sequence[Question],
    journal: Journal,
    progress: Progress,
    give_up: int,
    watch: Callable[[Progress], None],
    spent: Spending | None,
) -> None:
    batches = _batches(backend, todo)
    row = _FailedRow(give_up)
    asked = {question.key: question.asked for question in todo}
    watch(progress)
    pool = ThreadPoolExecutor(backend.workers, thread_name_prefix="ask")
    try:
        for finished in _in_flight(pool, backend, plan, batches, spent):
            readings = [reading for batch in finished for reading in batch]
            journal.append(readings)
            for reading in readings:
                _count(progress, reading, plan, asked[reading.key])
                row.add(reading, progress)
            if spent is not None:
                spent.count(readings)
                progress.cost = spent.cost
            watch(progress)
            row.check()
        progress.out_of_budget = progress.left > 0
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _FailedRow:
    """Readings that failed one after the other, and whether they show that no further question can succeed."""

    def __init__(self, give_up: int) -> None:
        self._give_up = give_up
        self._failed = self._same = 0
        self._words = ""
        self._refused: set[str] = set()  # pictures that were refused in those words
        self._message = ""

    def add(self, reading: JournalEntry, progress: Progress) -> None:
        """Count the next reading. The first that shows that no other can succeed decides, whatever came with it."""
        if reading.error != self._words:
            self._words, self._same, self._refused = reading.error, 0, set()
        self._same += 1
        self._failed = self._failed + 1 if reading.error else 0
        if reading.turns and reading.turns[-1].refused:
            self._refused.add(reading.image)
        first = self._words and self._same >= SAME and not progress.done and not progress.held
        if not self._message and (self._failed >= self._give_up or first or len(self._refused) >= REFUSED):
            self._message = (
                f"{self._failed} readings failed one after the other, the last: {progress.last_error}. "
                "What was read is kept; run the same command again to go on."
            )

    def check(self) -> None:
        """Raise PermanentError if the readings so far end the run."""
        if self._message:
            raise PermanentError(self._message)


def _batches(backend: Backend, todo: Sequence[Question]) -> Iterator[Sequence[Question]]:
    """Questions in the batches that a backend wants; those about one picture stay together where it counts pictures."""
    if not backend.pictures:
        yield from (todo[start : start + backend.batch] for start in range(0, len(todo), backend.batch))
        return
    by_picture: dict[str, list[Question]] = {}
    for question in todo:
        by_picture.setdefault(question.picture_digests, []).append(question)
    # A blank picture may be asked about with every food's name: no group may fill a batch by itself.
    groups = [group[i : i + 8] for group in by_picture.values() for i in range(0, len(group), 8)]
    for start in range(0, len(groups), backend.pictures):
        yield [question for group in groups[start : start + backend.pictures] for question in group]


def _in_flight(
    pool: ThreadPoolExecutor,
    backend: Backend,
    plan: RunPlan,
    batches: Iterator[Sequence[Question]],
    spent: Spending | None = None,
) -> Iterator[list[list[JournalEntry]]]:
    """Keep the workers busy without holding every question at once; give what is finished, as it finishes.

    Where the budget has no room for the next batch, what is under way is waited for; then there may be.
    """
    waiting: dict[Future[list[JournalEntry]], int] = {}  # with how many questions each asks
    batch = next(batches, None)
    while True:
        while batch is not None and len(waiting) < backend.workers + 2:
            if spent is not None and not spent.room(len(batch), sum(waiting.values())):
                break
            waiting[pool.submit(converse, backend, plan, batch)] = len(batch)
            batch = next(batches, None)
        if not waiting:
            return
        wait(waiting, return_when=FIRST_COMPLETED)
        finished = [future for future in waiting if future.done()]
        waiting = {future: asked for future, asked in waiting.items() if future not in finished}
        whole, broken = [], None
        for future in finished:
            error = future.exception()
            if error is None:
                whole.append(future.result())
            else:
                broken = error
        yield whole  # written down before an error ends the run
        if broken is not None:
            raise broken


def converse(backend: Backend, plan: RunPlan, batch: Sequence[Question]) -> list[JournalEntry]:
    """Ask a batch, and ask those again whose reply is not an answer."""
    talks = [Conversation(q.picture, (q.text,), q.more, q.repeat) for q in batch if q.picture is not None]
    first = backend.generate(talks)
    turns = [[_turn(question.text, reply)] for question, reply in zip(batch, first, strict=True)]
    again = [
        place
        for place, (question, reply) in enumerate(zip(batch, first, strict=True))
        if not reply.error and not question.asked.read(reply.text, reply.finish, mode=plan.mode, most=plan.most).ok
    ]
    if again:
        second = backend.generate(
            [
                replace(talks[place], texts=(batch[place].text, first[place].text, batch[place].follow_up))
                for place in again
            ]
        )
        for place, reply in zip(again, second, strict=True):
            turns[place].append(_turn(batch[place].follow_up, reply))
    return [
        JournalEntry(question.key, plan.model, question.prompt, question.picture_digests, tuple(asked))
        for question, asked in zip(batch, turns, strict=True)
    ]


def _turn(ask: str, reply: Reply) -> Turn:
    return Turn(ask, reply.text, reply.finish, reply.usage, reply.latency, reply.attempts, reply.error, reply.refused)


def _count(progress: Progress, reading: JournalEntry, plan: RunPlan, asked: Prompt) -> None:
    if reading.error:
        progress.failed += 1
        progress.last_error = reading.error
        return
    progress.done += 1
    progress.followed_up += len(reading.turns) > 1
    last = reading.turns[-1]
    progress.parsed += asked.read(last.reply, last.finish, mode=plan.mode, most=plan.most).ok
