"""Logs of other harnesses that few people have: whole columns of questions, or a whole message."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.read_help import write
from support.refusal import refused, refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.io.sources import read_side
from steelyard.tasks.answers.reader import ZSTANDARD, read_log

HEAD = {"version": 2, "status": "success", "eval": {"task": "t"}}


def sample(**more: Any) -> dict[str, Any]:
    output = {"completion": "cat", "choices": [{"stop_reason": "stop"}]}
    return {"id": 1, "target": "cat", "output": output, **more}


def archive(path: Path, samples: dict[str, Any], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.writestr("header.json", json.dumps(HEAD))
        for name, text in samples.items():
            packed.writestr(f"samples/{name}.json", text if isinstance(text, bytes) else json.dumps(text))
    return path


def columns(path: Path, form: str) -> dict[str, Any]:
    return {name: column.tolist() for name, column in read_log(path, path.name, form).columns.items()}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_an_archive_of_inspect(method: int, tmp_path: Path) -> None:
    """Members in either plain method; choices are kept as JSON, and what is not a plain value of the metadata is left out."""
    more = {
        "choices": ["cat", "dog"],
        "metadata": {"light": "day", "id": 3, "list": [1]},
        "scores": {"s": {"value": "C"}},
    }
    path = archive(tmp_path / "a.eval", {"1": sample(**more)}, method)
    assert columns(path, "inspect") == {
        "question": [1], "answers": [["cat"]], "prediction": ["cat"], "outcome": ["ok"],
        "choices": ['["cat", "dog"]'], "light": ["day"], "id": [3], "logged:s": [1.0],
    }  # fmt: skip


def test_a_folder_of_archives(tmp_path: Path) -> None:
    """Questions of several files begin with the name of theirs."""
    for name in ("a", "b"):
        archive(tmp_path / f"{name}.eval", {"1": sample()})
    write(tmp_path, {"notes.txt": ""})
    assert columns(tmp_path, "inspect") == {
        "question": ["a/1", "b/1"], "answers": [["cat"]] * 2, "prediction": ["cat"] * 2, "outcome": ["ok"] * 2,
        "file": ["a", "b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("target", "answers"),
    [
        ('["a", 1]', ["a", "1"]),
        ("['a', 2.5]", ["a", "2.5"]),
        ("[]", ["[]"]),
        ("[[1]]", ["[[1]]"]),
        ("[x", ["[x"]),
        (["a", 1], ["a", "1"]),
        (None, [""]),
    ],
)
def test_accepted_answers_of_a_target(target: Any, answers: list[str], tmp_path: Path) -> None:
    """A text that is a list of plain values is one; any other text is an answer as it stands."""
    write(tmp_path, {"a.json": json.dumps({**HEAD, "samples": [sample(target=target)]})})
    assert columns(tmp_path / "a.json", "inspect")["answers"] == [answers]


def test_an_archive_that_cannot_be_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.eval", {"1": sample()})
    whole = path.read_bytes()

    def message() -> str:
        return refused(lambda: read_log(path, "a.eval", "inspect"))

    damaged = "a.eval, samples/1.json: the member is damaged. Copy the file again."
    path.write_bytes(whole.replace(b'"completion": "cat"', b'"completion": "dog"'))
    assert message() == damaged
    place = whole.index(b"PK\x03\x04", 4)
    path.write_bytes(whole[:place] + b"PK\x03\x09" + whole[place + 4 :])
    assert message() == damaged
    archive(path, {"1": b'{"id": "\xff"}'})
    assert message() == "a.eval, samples/1.json: the text is not UTF-8. Is the file whole?"
    archive(path, {"1": sample()}, zipfile.ZIP_BZIP2)
    assert message() == "a.eval, header.json: method 12 is not known. Write it as .json."
    path.write_bytes(whole[:-30])
    assert message() == "a.eval: the archive cannot be read. Was the run ended while it was written?"
    path.write_bytes(whole)
    archive(path, {"1": json.dumps(sample()).encode() + b" " * 300_000}, zipfile.ZIP_DEFLATED)
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "100KB")
    assert "bytes once unpacked, far more than its size says" in message()


def test_zstandard_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The method of a member stands in two places of an archive; only that of the list at its end is looked at."""
    path = archive(tmp_path / "a.eval", {"1": sample()})
    whole = bytearray(path.read_bytes())
    place = whole.index(b"PK\x01\x02")
    whole[place + 10 : place + 12] = ZSTANDARD.to_bytes(2, "little")
    path.write_bytes(bytes(whole))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with refuses("E-not-installed", "a.eval", "header.json", "inspect"):
        read_log(path, "a.eval", "inspect")


def test_a_deflated_member_that_is_none(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", {"1": sample()})
    whole = bytearray(path.read_bytes())
    place = whole.index(b"PK\x01\x02")
    whole[place + 10 : place + 12] = zipfile.ZIP_DEFLATED.to_bytes(2, "little")
    path.write_bytes(bytes(whole))
    with refuses("E-unreadable-file", "a.eval", "header.json"):
        read_log(path, "a.eval", "inspect")


def test_sides_of_answers_that_are_refused(tmp_path: Path) -> None:
    truth = {"annotations": [{"question_id": 1, "answers": [{"answer": "cat"}]}]}
    write(tmp_path, {"t.json": json.dumps(truth), "t.csv": "question,answer\n", "p.csv": "question,answer\n1,cat\n"})
    task = catalogue.find_task("answers")
    path = tmp_path / "t.json"
    with refuses("E-empty-input", str(path)):
        read_side(task, path, {}, "prediction")
    write(tmp_path, {"log.json": json.dumps({**HEAD, "samples": [sample()]})})
    for predictions in ("p.csv", "log.json"):
        with refuses("E-empty-input", str(tmp_path / "t.csv")):
            sy.evaluate("answers", tmp_path / "t.csv", tmp_path / predictions)
