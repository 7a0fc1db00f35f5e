"""Readings of a run: every question of its plans, with what the parser makes of the reply that the journal holds.

Parsing is repeated each time, so that a better parser needs no asking again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from steelyard.core.frozen import Frozen
from steelyard.io.write import csv_text, write_text
from steelyard.vlm.answers import PARSER_VERSION, Answer, check_mode
from steelyard.vlm.frames import Frame, stored_frames
from steelyard.vlm.journal import JournalEntry, Turn, read_journal
from steelyard.vlm.plan import RunPlan, questions, read_plans
from steelyard.vlm.questions import Prompt
from steelyard.vlm.run import FRAMES
from steelyard.vlm.spending import Tally

NAME = "readings.csv"
_COLUMNS = (
    "model", "prompt", "variant", "sequence", "t", "outcome", "grams", "lenient", "turn", "turns", "reply", "problem",
    "parser", "answer", "tokens_in", "tokens_out", "seconds", "repeat",
)  # fmt: skip


class Taken(Frozen):
    """A question and what was read: `turn` is the reply that gave the answer, of `turns`; 0 where there is none.

    `spec` is the model's spec, `key` the reading's in the journal, `repeat` how often the same was asked before.
    """

    model: str
    prompt: str
    variant: str
    frame: Frame
    asked: Prompt
    answer: Answer
    turn: int = 0
    turns: int = 0
    reply: str = ""
    problem: str = ""
    conversation: tuple[Turn, ...] = field(default=(), repr=False)
    key: str = field(default="", repr=False)
    spec: str = ""
    pictures: int = 1
    repeat: int = 0


class VlmRun(Frozen):
    """What a run's folder holds; `tallies` is what all of its journal took, by the model's spec.

    `unasked` are the prompts that the journal holds replies to and the last run of their model did not ask, by model.
    """

    folder: Path
    frames: tuple[Frame, ...]
    plans: tuple[RunPlan, ...]
    taken: tuple[Taken, ...]
    tallies: Mapping[str, Tally] = field(default_factory=dict, repr=False)
    unasked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_run(folder: str | Path, mode: str | None = None) -> VlmRun:
    """Read a run's folder and parse its replies; `mode` reads them in another way than the run did."""
    if mode is not None:
        check_mode(mode)
    place = Path(folder)
    plans = read_plans(place)
    frames = stored_frames(place / FRAMES)
    asked = [(plan, question) for plan in plans for question in questions(plan, frames)]
    tallies: dict[str, Tally] = {}
    prompts: dict[str, dict[str, None]] = {}

    def tally(reading: JournalEntry) -> None:
        prompts.setdefault(reading.model, {})[reading.prompt] = None
        tallies.setdefault(reading.model, Tally()).add(reading.turns, reading.pictures)

    held = read_journal(place, [question.key for _, question in asked], tally)
    labels = [plan.label for plan in plans]
    taken = []
    for plan, question in asked:
        label = plan.label if labels.count(plan.label) == 1 else plan.model
        what = (label, question.prompt, question.variant, question.frame, question.asked)
        reading = held.get(question.key) if question.key else None
        if reading is None:
            problem = question.problem or "it was not asked yet"
            taken.append(Taken(*what, Answer("failed"), problem=problem, spec=plan.model, repeat=question.repeat))
        else:
            parsed = _parse_reading(what, reading, mode or plan.mode, plan.most)
            parsed = replace(parsed, pictures=reading.pictures, repeat=question.repeat)
            taken.append(replace(parsed, key=question.key, spec=plan.model))
    unasked = {
        plan.label if labels.count(plan.label) == 1 else plan.model: tuple(
            name for name in prompts.get(plan.model, ()) if name not in plan.prompts
        )
        for plan in plans
    }
    return VlmRun(
        place, frames, tuple(plans), tuple(taken), tallies, {name: held for name, held in unasked.items() if held}
    )


def _parse_reading(what: tuple[str, str, str, Frame, Prompt], reading: JournalEntry, mode: str, most: float) -> Taken:
    turns = reading.turns
    answer = Answer("failed")
    for number, turn in enumerate(turns, 1):
        if turn.error:
            return Taken(*what, Answer("failed"), number, len(turns), problem=turn.error, conversation=turns)
        answer = what[-1].read(turn.reply, turn.finish, mode=mode, most=most)
        if answer.ok:
            return Taken(*what, answer, number, len(turns), turn.reply, conversation=turns)
    return Taken(*what, answer, len(turns), len(turns), turns[-1].reply, conversation=turns)


def write_readings(path: Path, taken: Sequence[Taken]) -> None:
    """Every reading in a row, for whoever wants to look."""
    rows = [
        [
            r.model, r.prompt, r.variant, r.frame.sequence, r.frame.t, r.answer.outcome, r.answer.grams,
            r.answer.lenient, r.turn, r.turns, r.reply, r.problem, PARSER_VERSION, r.answer.said, *_took(r),
            r.repeat + 1,
        ]
        for r in taken
    ]  # fmt: skip
    write_text(path, csv_text(_COLUMNS, rows))


def _took(reading: Taken) -> tuple[int | str, int | str, float | str]:
    """Tokens in and out, and seconds, of all turns; empty where they are not known."""
    tally = Tally()
    tally.add(reading.conversation, reading.pictures)
    counted = tally.replies > 0 and not tally.uncounted
    seconds = round(tally.seconds[0], 4) if tally.seconds else ""
    return tally.input if counted else "", tally.output if counted else "", seconds
