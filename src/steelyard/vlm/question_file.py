"""Files of questions and of prices as plain values: TOML, JSON, or YAML where PyYAML is there. No key may appear twice.

YAML is read by its texts: `yes`, `12:30` and `010` stay what they are. Anchors, aliases and tags are refused.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    DuplicateKey,
    EmptyInput,
    InputError,
    InvalidFile,
    InvalidText,
    InvalidValue,
    MissingExtra,
    UnknownFormat,
)
from steelyard.vlm.ordinary import read_ordinary

MOST_BYTES = 2**20
DEEPEST = 20  # a file of questions needs four
ENDINGS = (".yaml", ".yml", ".toml", ".json")


def read_file(path: Path, what: str = "questions", begin: str = "Begin it with 'questions:'.") -> dict[str, Any]:
    """The object that a file holds; `what` names what it is of, and `begin` says how it starts."""
    ending = path.suffix.lower()
    where = str(path)
    if ending not in ENDINGS:
        endings = ", ".join(ENDINGS)
        raise UnknownFormat(f"'{path.suffix}' is not a format of {what}", where=where, remedy=f"Known: {endings}.")
    data = read_ordinary(path, MOST_BYTES, f"file of {what}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidText(f"the {what} are not UTF-8 text", where=where, remedy="Save the file as UTF-8.") from None
    try:
        if ending == ".toml":
            held: Any = tomllib.loads(text)
        elif ending == ".json":
            held = json.loads(text, object_pairs_hook=_once)
        else:
            held = _yaml(text, what)
    except (InputError, RecursionError, ValueError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        remedy = "" if isinstance(error, InputError) else "Correct the file; docs/vlm.md shows one."
        raise InvalidFile(f"the {what} are not readable: {why}", where=where, remedy=remedy) from None
    if not isinstance(held, dict):
        raise EmptyInput(f"holds no {what}", where=where, remedy=begin)
    return held


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for name, value in pairs:
        if name in held:
            raise DuplicateKey(f"'{name}' appears twice", remedy="Give each its own name.")
        held[name] = value
    return held


def _yaml(text: str, what: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtra(f"a YAML file of {what} (.toml and .json do without)", "vlm") from None
    depth = 0
    try:
        for token in yaml.scan(text, yaml.BaseLoader):
            depth += type(token).__name__.endswith(("MappingStartToken", "SequenceStartToken"))
            depth -= type(token).__name__.endswith(("MappingEndToken", "SequenceEndToken", "BlockEndToken"))
            if depth > DEEPEST:  # its scanner takes time with the square of the depth
                raise RecursionError
            if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
                line = token.start_mark.line + 1
                raise InvalidFile(f"line {line} has an anchor, an alias or a tag", remedy="Write the text out.")
        node = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    return _plain(node)


def _plain(node: Any) -> Any:
    """A node of YAML as texts, lists and objects of them."""
    if node is None or node.id == "scalar":
        return node.value if node is not None else None
    if node.id == "sequence":
        return [_plain(one) for one in node.value]
    pairs = []
    for key, value in node.value:
        if key.id != "scalar":
            line = key.start_mark.line + 1
            raise InvalidValue(f"line {line} has a key that is not text", remedy="Give each entry a name.")
        pairs.append((key.value, _plain(value)))
    return _once(pairs)
