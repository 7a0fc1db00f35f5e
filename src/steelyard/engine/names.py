"""What models are called: the names that were given, or the stems of their files, made unique."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.core.errors import InvalidValue, TooLarge
from steelyard.core.metric import Metric

LONGEST = 120
IN_MEMORY = "predictions"  # the source of data that no file holds
_ENDINGS = re.compile(r"(\.gz|\.zst|\.bz2|\.xz)?\Z", re.IGNORECASE)


def named_models(predictions: Sequence[Any] | Mapping[str, Any]) -> tuple[list[Any], list[str] | None]:
    """The predictions of all models, and their names where they have any."""
    models = list(predictions.values()) if isinstance(predictions, Mapping) else list(predictions)
    for model in models:
        texts = isinstance(model, list | tuple) and len(model) and all(isinstance(value, str) for value in model)
        if texts or isinstance(model, Metric):
            raise InvalidValue(f"{model!r} is not the predictions of a model", remedy="Give metrics as metrics=...")
    if not isinstance(predictions, Mapping):
        return models, None
    for name in predictions:
        check_name(name)
    return models, list(predictions)


def check_name(name: object) -> None:
    """Refuse what cannot stand as a name in a table."""
    if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
        raise InvalidValue(f"{name!r} is not a name of a model", remedy="Give a text without line breaks: 'ours'.")
    if len(name) > LONGEST:
        raise TooLarge(f"'{name[:40]}...' is too long for a name", remedy=f"Use at most {LONGEST} characters.")


def shown_names(sources: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """A name for each model, all different: its file's stem, or A, B, C for data in memory. Two have none."""
    if names is not None:
        return list(names)
    if len(sources) < 3:
        return [""] * len(sources)
    if set(sources) == {IN_MEMORY}:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return [letters[place] if place < len(letters) else f"model {place + 1}" for place in range(len(sources))]
    return unique([stem(source) for source in sources], sources)


def unique(stems: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Stems, with the folder in front where two are equal, and a number behind where that does not tell them apart."""
    names = list(stems)
    if len(set(names)) < len(names):
        equal = {name for name in names if names.count(name) > 1}
        folders = [os.path.basename(os.path.dirname(source)) for source in sources]
        pairs = zip(names, folders, strict=True)
        names = [f"{folder}/{name}" if name in equal and folder else name for name, folder in pairs]
    taken: set[str] = set()
    for place, name in enumerate(names):
        number, candidate = 2, name
        while candidate in taken or (candidate != name and candidate in names):
            candidate, number = f"{name} {number}", number + 1
        names[place] = candidate
        taken.add(candidate)
    return names


def stem(source: str) -> str:
    """The name of a file or folder without its ending; a source in memory stays as it is."""
    base = os.path.basename(source.rstrip("/\\")) or source
    stem = os.path.splitext(_ENDINGS.sub("", base))[0]
    printable = "".join(mark if mark.isprintable() else " " for mark in stem).strip()
    return printable[:LONGEST] or "model"
