"""The prompts: what is asked about a frame, word for word, and the follow-up where the reply is no number.

The four of the paper ask with or without the food's name, directly or by way of visual cues; `[FOOD_NAME]` is filled
in. Own prompts come from a file: a JSON object of name and text, or one text file a prompt. They say what their answer
is, since every reply is read as grams: a question for kilocalories would be scored as a weight in silence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.vlm.ordinary import read_ordinary

FOOD_NAME = "[FOOD_NAME]"
ANSWERS = ("grams",)
MOST_BYTES = 2**20

_TASK = "Estimate the remaining weight of the food in this image in grams."
_EXPERT = "You are an expert dietician."
_PLATE = "Given the following image of a food item on a plate, estimate the remaining weight of the food in grams."
_NAME = f"The food item in this image is {FOOD_NAME}."
_DENSITY = "Use your knowledge of this food's typical density and portion characteristics to improve your estimate."
_CUES = "Analyze the visual volume, surface area, and apparent thickness of the food to produce your best estimate."
_ONLY = "Respond with ONLY a single numeric value (the estimated weight in grams)."
_NOTHING_ELSE = "Do not include units, explanations, or any other text. Example valid responses: 245.3 or 180"

FOLLOW_UP = (
    "The previous response could not be parsed as a single number. Please respond with ONLY a single numeric value "
    "representing the estimated weight in grams. Nothing else. Example: 245.3"
)


@frozen
class Prompt:
    """A named text; `needs_name` says whether the food's name is filled in."""

    name: str
    text: str

    @property
    def needs_name(self) -> bool:
        """Whether the text asks for the food's name."""
        return FOOD_NAME in self.text

    def render(self, food: str) -> str:
        """The text that is sent."""
        return self.text.replace(FOOD_NAME, food)


PROMPTS: dict[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt("direct", "\n\n".join([_TASK, _ONLY, _NOTHING_ELSE])),
        Prompt("direct+name", "\n\n".join([_TASK, _NAME, _DENSITY, _ONLY, _NOTHING_ELSE])),
        Prompt("reason", "\n\n".join([_EXPERT, _PLATE, _CUES, _ONLY, _NOTHING_ELSE])),
        Prompt(
            "reason+name",
            "\n\n".join([_EXPERT, _PLATE, _NAME, _DENSITY, _CUES, f"{_ONLY} {_NOTHING_ELSE}"]),
        ),
    )
}


def choose_prompts(names: Sequence[str], file: str | Path | None = None, answer: str = "") -> tuple[Prompt, ...]:
    """The prompts of those names: the paper's, or those of a file; all of a file's where none is named."""
    known = read_prompts(Path(file), answer) if file is not None else PROMPTS
    chosen = []
    for name in names or known:
        if name not in known:
            raise InputError(f"there is no prompt '{name}'", remedy=nearest(name, known))
        chosen.append(known[name])
    return tuple(dict.fromkeys(chosen))


def read_prompts(path: Path, answer: str = "") -> dict[str, Prompt]:
    """Prompts from a JSON object of name and text, or from a text file that holds one.

    `answer` says what all of them ask for; in JSON a prompt may say it itself: `{"text": ..., "answer": "grams"}`.
    """
    try:
        text = read_ordinary(path, MOST_BYTES, "file of prompts").decode("utf-8-sig")
        data = json.loads(text) if path.suffix.lower() == ".json" else {path.stem: text}
    except UnicodeDecodeError:
        raise InputError("the prompts are not UTF-8 text", where=str(path), remedy="Save the file as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not valid JSON: {error}", where=str(path)) from None
    if not isinstance(data, dict) or not data:
        raise InputError("holds no prompts", where=str(path), remedy='Example: {"short": "How many grams are left?"}.')
    return {name: _own(name, value, answer, str(path)) for name, value in data.items()}


def _own(name: str, value: object, answer: str, where: str) -> Prompt:
    if isinstance(value, dict) and set(value) <= {"text", "answer"} and isinstance(value.get("answer", ""), str):
        answer = value.get("answer", "") or answer
        value = value.get("text")
    if not isinstance(value, str):
        raise InputError(f"prompt '{name}' is not a text", where=where, remedy="Give each name a text.")
    if not value.strip():
        raise InputError(f"prompt '{name}' is empty", where=where, remedy="Write the text to be asked.")
    if not answer:
        remedy = "If it asks for a weight in grams, add --answer grams. Replies are read as grams, and as nothing else."
        raise InputError(f"prompt '{name}' does not say how its answer is read", where=where, remedy=remedy)
    if answer not in ANSWERS:
        raise InputError(
            f"prompt '{name}' asks for '{answer}', which is not read",
            where=where,
            remedy=f"Known: {', '.join(ANSWERS)}.",
        )
    return Prompt(name, value.strip())
