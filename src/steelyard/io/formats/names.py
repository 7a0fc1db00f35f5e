"""Lists of class names: a text file with one per line, or the `names` of a YAML file as YOLO has it.

Only that part of YAML is read: a list or a mapping from 0 up, in block or in one line, with or without quotes.
"""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.core.errors import DuplicateKey, EmptyCell, InvalidFile, InvalidNumber, InvalidValue, MissingKey
from steelyard.core.numerals import is_whole
from steelyard.io.text import open_text

_KEY = re.compile(r"^([A-Za-z_][\w-]*)\s*:\s*(.*)$")


def read_names(path: Path) -> tuple[list[str], bool]:
    """The names in order, and whether the labels hold keypoints (`kpt_shape`)."""
    source = str(path)
    with open_text(path, source) as file:
        lines = file.read().splitlines()
    if path.suffix.lower() not in (".yaml", ".yml"):
        names = [line.strip() for line in lines if line.strip()]
        return _check_unique(names, source), False
    return _from_yaml(lines, source)


def read_settings(path: Path) -> dict[str, str]:
    """The settings of a YAML file that are one text on one line, such as `path` and `val`."""
    source = str(path)
    with open_text(path, source) as file:
        lines = file.read().splitlines()
    settings = {}
    for number, line in enumerate(lines, start=1):
        match = _KEY.match(line)
        text = _bare(match[2]) if match else ""
        if match and text:
            settings[match[1]] = _scalar(text, f"{source}, line {number}")
    return settings


def _from_yaml(lines: list[str], source: str) -> tuple[list[str], bool]:
    points = any(line.startswith("kpt_shape") for line in lines)
    for number, line in enumerate(lines):
        match = _KEY.match(line)
        if not match or match[1] != "names":
            continue
        rest = _bare(match[2])
        if rest:
            at = number
            while rest[0] in "[{" and rest[-1] not in "]}" and at + 1 < len(lines):  # goes on over several lines
                at += 1
                rest = f"{rest} {_bare(lines[at])}".strip()
            return _check_unique(_inline(rest, f"{source}, line {number + 1}"), source), points
        return _check_unique(_block(lines, number + 1, source), source), points
    return [], points


def _block(lines: list[str], start: int, source: str) -> list[str]:
    listed: list[str] = []
    mapped: dict[int, str] = {}
    for number in range(start, len(lines)):
        line = _bare(lines[number])
        if not line:
            continue
        where = f"{source}, line {number + 1}"
        if line == "-" or line.startswith("- "):
            listed.append(_scalar(line[1:], where))
        elif lines[number][0] in " \t":
            key, colon, value = line.partition(":")
            if not colon:
                raise InvalidFile(f"'{line}' is not a class name", where=where, remedy="Write '0: name'.")
            _put(mapped, key, value, where)
        else:
            break
    return listed or _in_order(mapped, source)


def _inline(text: str, where: str) -> list[str]:
    if text[0] not in "[{" or text[-1] != {"[": "]", "{": "}"}[text[0]]:
        raise InvalidValue(f"'names' is '{text}'", where=where, remedy="It must be a list or a mapping from 0 up.")
    parts = _split(text[1:-1])
    if text[0] == "[":
        return [_scalar(part, where) for part in parts]
    mapped: dict[int, str] = {}
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon:
            raise InvalidFile(f"'{part}' is not a class name", where=where, remedy="Write '0: name'.")
        _put(mapped, key, value, where)
    return _in_order(mapped, where)


def _split(text: str) -> list[str]:
    """At commas outside quotes; nothing stands behind the last."""
    parts = [part.strip() for part in re.findall(r"""((?:'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^,])*)(?:,|$)""", text)]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _put(mapped: dict[int, str], key: str, value: str, where: str) -> None:
    key = key.strip().strip("'\"")
    if not is_whole(key, 9):
        raise InvalidNumber(f"class '{key}' is not a number", where=where, remedy="Classes count from 0.")
    if int(key) in mapped:
        raise DuplicateKey(f"class {key} is named twice", where=where, remedy="Name each once.")
    mapped[int(key)] = _scalar(value, where)


def _in_order(mapped: dict[int, str], source: str) -> list[str]:
    for i in range(len(mapped)):
        if i not in mapped:
            raise MissingKey(f"class {i} has no name", where=source, remedy="Names count from 0 without a gap.")
    return [mapped[i] for i in range(len(mapped))]


def _bare(line: str) -> str:
    """A line without a comment behind it."""
    quote = ""
    for i, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i].strip()
    return line.strip()


def _scalar(text: str, where: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if not text:
        raise EmptyCell("an empty name of a class", where=where, remedy="Name every class.")
    return text


def _check_unique(names: list[str], source: str) -> list[str]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DuplicateKey(f"class '{name}' appears twice", where=source, remedy="Names of classes are unique.")
    return names
