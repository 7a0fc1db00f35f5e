"""What a process loads as it starts: names by a table, commands by another, both true to what they stand for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import steelyard as sy
from steelyard.cli.commands import TEXTS
from steelyard.cli.main import cli


def loaded(code: str) -> set[str]:
    """The modules that are loaded after some code."""
    show = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_public_name_is_found() -> None:
    assert set(sy._MODULES) | {"__version__"} == set(sy.__all__)
    for name, home in sy._MODULES.items():
        assert getattr(sy, name).__module__ == f"steelyard.{home}" or home == "api"
    assert dir(sy) == sorted(sy.__all__)
    assert not hasattr(sy, "evaluated")


def test_metrics_is_a_function_whatever_is_imported_before() -> None:
    loaded("import steelyard.core.catalogue\nimport steelyard as sy\nassert str(sy.metrics('weights')[0]) == 'mae'")


def test_the_import_loads_numpy_and_nothing_of_the_engine() -> None:
    rooms = {name for name in loaded("import steelyard") if name.startswith("steelyard.")}
    assert rooms == {"steelyard.idle", "steelyard.version"}


def test_a_folder_of_maps_needs_no_reader_of_tables(tmp_path: Path) -> None:
    Image.fromarray(np.eye(3, dtype=np.uint8)).save(tmp_path / "a.png")
    code = f"import steelyard as sy\nsy.evaluate('segmentation', {str(tmp_path)!r}, {str(tmp_path)!r}, confidence=None)"
    modules = loaded(code)
    assert "steelyard.maps.png" in modules
    assert not {"steelyard.io.read", "steelyard.io.json", "steelyard.io.csv", "steelyard.render.text"} & modules


def test_plain_tables_need_no_reader_of_packed_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,label\n1,a\n2,b\n")
    path = str(tmp_path / "a.csv")
    code = f"import steelyard as sy\nsy.evaluate('labels', {path!r}, {path!r}, confidence=None)"
    modules = loaded(code)
    assert "steelyard.io.csv" in modules
    assert not {"steelyard.io.excel", "zipfile", "gzip", "tempfile"} & modules


def test_data_in_memory_need_no_reader_of_files() -> None:
    sides = "{'dish': [1, 2, 3], 'item': [1, 1, 1], 'weight': [1, 2, 4]}, " * 2
    code = f"import steelyard as sy\nsy.evaluate('weights', {sides} draws=100)"
    slow = {"pathlib", "json", "csv", "statistics", "hashlib", "_hashlib", "steelyard.io.csv", "steelyard.io.shapes"}
    slow |= {"steelyard.engine.sequence", "steelyard.results.comparison", "steelyard.engine.margins"}
    assert not slow & (loaded(code) - loaded("import numpy"))


def test_help_loads_no_command() -> None:
    code = (
        "import contextlib, io\nfrom steelyard.cli.main import cli\n"
        "with contextlib.redirect_stdout(io.StringIO()): cli(['--help'], standalone_mode=False)"
    )
    modules = loaded(code)
    assert not {f"steelyard.cli.{name}" for name in TEXTS} & modules
    assert "steelyard.api" not in modules


def test_the_list_of_commands_says_what_their_help_says() -> None:
    assert list(cli.commands) == list(TEXTS)
    for name, command in cli.commands.items():
        assert command.name == name
        assert inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " ") == TEXTS[name]
