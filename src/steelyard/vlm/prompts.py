"""The prompts: what is asked about a frame, word for word, and the follow-up where the reply is not a number.

The four of the paper ask with or without the food's name, directly or by way of visual cues; they are in `food.toml`.
Other sets that come with the package are in `sets`.
Questions of every kind come from a file like it (`questions`). A file of prompts is a JSON object of name and text, or
one text file a prompt. They say what their answer is, since every reply is read as grams: a question for kilocalories
would be scored as a weight in silence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from steelyard.core.errors import (
    DuplicateKey,
    EmptyInput,
    InputError,
    InvalidFile,
    InvalidText,
    InvalidValue,
    MissingKey,
    UnknownName,
    nearest,
)
from steelyard.vlm.ordinary import read_ordinary
from steelyard.vlm.questions import Prompt, read_questions

ANSWERS = ("grams",)
MOST_BYTES = 2**20

_FOOD = read_questions(Path(__file__).with_name("food.toml"))
PROMPTS: dict[str, Prompt] = {name: Prompt(name, one.text) for name, one in _FOOD.items()}
FOLLOW_UP = _FOOD["direct"].follow_up
_SETS = Path(__file__).with_name("sets")
SETS = {  # questions that come with the package, by name
    "food": Path(__file__).with_name("food.toml"),
    **{name: _SETS / f"{name}.toml" for name in ("nutrients", "ingredients", "portion", "eaten", "pages")},
}


def choose_prompts(
    names: Sequence[str],
    file: str | Path | None = None,
    answer: str = "",
    questions: str | Path | None = None,
) -> tuple[Prompt, ...]:
    """The prompts of those names: the paper's, or those of a file; all of a file's where none is named.

    `questions` names a file of questions, or a set of `SETS`; they stand beside the others.
    """
    prompts = read_prompts(Path(file), answer) if file is not None else PROMPTS
    default = prompts
    if questions is not None:
        own = read_questions(SETS.get(str(questions), Path(questions)))
        for name, prompt in own.items():
            if name in prompts and not (prompt.weighs and prompt.text == prompts[name].text):
                raise DuplicateKey(
                    f"question '{name}' has the name of another prompt",
                    where=str(questions),
                    remedy="Give it a name of its own.",
                )
        default = own if file is None else {**prompts, **own}
        prompts = {**prompts, **own}
    chosen = []
    for name in names or default:
        if name not in prompts:
            raise UnknownName(f"there is no prompt '{name}'", remedy=nearest(name, prompts))
        chosen.append(prompts[name])
    return tuple(dict.fromkeys(chosen))


def read_prompts(path: Path, answer: str = "") -> dict[str, Prompt]:
    """Prompts from a JSON object of name and text, or from a text file that holds one.

    `answer` says what all of them ask for; in JSON a prompt may say it itself: `{"text": ..., "answer": "grams"}`.
    """
    try:
        text = read_ordinary(path, MOST_BYTES, "file of prompts").decode("utf-8-sig")
        data = json.loads(text) if path.suffix.lower() == ".json" else {path.stem: text}
    except UnicodeDecodeError:
        raise InvalidText("the prompts are not UTF-8 text", where=str(path), remedy="Save the file as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InvalidFile(f"not valid JSON: {error}", where=str(path)) from None
    if not isinstance(data, dict) or not data:
        raise EmptyInput("holds no prompts", where=str(path), remedy='Example: {"short": "How many grams are left?"}.')
    return {name: _own(name, value, answer, str(path)) for name, value in data.items()}


def _own(name: str, value: object, answer: str, where: str) -> Prompt:
    if isinstance(value, dict) and set(value) <= {"text", "answer"} and isinstance(value.get("answer", ""), str):
        answer = value.get("answer", "") or answer
        value = value.get("text")
    if not isinstance(value, str):
        raise InvalidValue(f"prompt '{name}' is not a text", where=where, remedy="Give each name a text.")
    if not value.strip():
        raise EmptyInput(f"prompt '{name}' is empty", where=where, remedy="Write the text to be asked.")
    if not answer:
        remedy = "If it asks for a weight in grams, add `answer='grams'`: replies are then read as grams."
        raise MissingKey(f"prompt '{name}' does not say how its answer is read", where=where, remedy=remedy)
    if answer not in ANSWERS:
        raise InvalidValue(
            f"prompt '{name}' asks for '{answer}', which is not read",
            where=where,
            remedy=f"Known: {', '.join(ANSWERS)}.",
        )
    return Prompt(name, value.strip())
