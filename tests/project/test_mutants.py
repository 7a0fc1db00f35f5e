"""The tool that changes the source: the share of a sample, and the record that the scorecard takes of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import make_trust
import mutant_table
import mutant_words
import pytest
from support.paths import ROOT


def file(name: str, mutants: int, noticed: int, survived: int) -> mutant_table.File:
    """A file of which some mutants were run."""
    codes = {f"x__mutmut_{i}": 1 if i < noticed else 0 for i in range(noticed + survived)}
    return mutant_table.File(name, Path(name), mutants, codes)


def test_a_share_weighs_files_by_all_of_their_mutants() -> None:
    files = [file("core/a.py", 100, 9, 1), file("core/b.py", 300, 5, 0)]
    share, error = mutant_table.estimate(files)
    assert share == pytest.approx((100 * 0.9 + 300 * 1.0) / 400)
    assert error == pytest.approx(math.sqrt((100 / 400) ** 2 * (0.9 * 0.1 / 9) * (1 - 10 / 100)))


def test_a_file_that_was_run_whole_adds_no_error() -> None:
    assert mutant_table.estimate([file("core/a.py", 10, 9, 1)]) == (0.9, 0.0)


def test_files_of_which_few_were_run_are_taken_together() -> None:
    files = [
        file("core/a.py", 100, 9, 1),
        file("core/b.py", 30, 2, 0),
        file("core/c.py", 20, 1, 1),
        file("d.py", 2, 2, 0),
    ]
    share, error = mutant_table.estimate(files)
    assert share == pytest.approx((100 * 0.9 + 50 * 0.75 + 2 * 1.0) / 152)
    few = (50 / 152) ** 2 * (0.75 * 0.25 / 3) * (1 - 4 / 50)
    assert error == pytest.approx(math.sqrt((100 / 152) ** 2 * (0.9 * 0.1 / 9) * (1 - 10 / 100) + few))


NAMES = frozenset({"left out", "table row"})
BEFORE = """
def f(n, kind):
    if kind == "left out":
        raise InvalidValue(f"{n} rows are {'more than' if n else 'no'} enough", where="column weight", n="left out")
    remedy = f"{n:0>3} rows are empty. " + "Give a number in every row."
    return {"table row": n, "n": "of them"}[kind], "%d of %d" % (n, n), measured("normal mixture, approximate", remedy)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Give a number in every row.", "GIVE A NUMBER IN EVERY ROW."),
        ("Give a number in every row.", "XXGive a number in every row.XX"),
        (" rows are empty. ", " ROWS ARE EMPTY. "),
        (" rows are {", " ROWS ARE {"),
        ("column weight", "XXcolumn weightXX"),
        ("'more than'", "'MORE THAN'"),
    ],
)
@pytest.mark.parametrize("indent", ["", "    "])
def test_a_change_within_a_sentence_is_one_of_words(before: str, after: str, indent: str) -> None:
    one, other = (indent_by(text, indent) for text in (BEFORE, BEFORE.replace(before, after)))
    assert one != other
    assert mutant_words.changes_words_only(one, other, NAMES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('== "left out"', '== "LEFT OUT"'),
        ('n="left out"', 'n="LEFT OUT"'),  # raised, and compared elsewhere
        ("normal mixture, approximate", "XXnormal mixture, approximateXX"),  # neither raised nor a sentence
        ('"of them"', '"OF THEM"'),
        ('"table row"', '"XXtable rowXX"'),  # is a key
        ('"n"', '"XXnXX"'),  # no white space
        ("'no'", "'NO'"),
        ('"Give a number in every row."', "None"),
        (' + "Give a number in every row."', ""),
        ('where="column weight"', 'what="column weight"'),
        ("InvalidValue", "MissingValue"),
        ("==", "!="),
        ("{n:0>3}", "{n:0>4}"),
        ("{n:0>3}", "{n!r:0>3}"),
        ("if n else", "if not n else"),
        ("if kind", "if not kind"),
        ("def f(n, kind)", "def f(n, kind, more)"),
        ('"Give a number', 'b"Give a number'),
    ],
)
def test_any_other_change_is_one_of_the_code(before: str, after: str) -> None:
    changed = BEFORE.replace(before, after)
    assert changed != BEFORE
    assert not mutant_words.changes_words_only(BEFORE, changed, NAMES)
    assert not mutant_words.changes_words_only(changed, BEFORE, NAMES)


def test_a_sentence_and_a_number_changed_at_once_are_code() -> None:
    changed = BEFORE.replace("every row", "EVERY ROW").replace("{n:0>3}", "{n + 1:0>3}")
    assert not mutant_words.changes_words_only(BEFORE, changed, NAMES)


@pytest.mark.parametrize("text", [", ", " ", "x y z", "%H %M", "weight", "", "\n- 1"])
def test_separators_and_single_words_are_no_sentences(text: str) -> None:
    assert not mutant_words.is_words(text, frozenset(), raised=True)


def indent_by(text: str, indent: str) -> str:
    return "".join(indent + line if line.strip() else line for line in text.splitlines(keepends=True))


def test_names_are_what_a_source_reads(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text(
        """
KINDS = ("in order", "as drawn")
MEANING = {"key of a mapping": "said of it"}
def f(x, way="as it is"):
    'What it does to rows.'
    if way == "no truth" or way in ("not known", x) or x not in {"bad rows"}:
        fail("There is no truth.", remedy="Give it.")
    match x:
        case "one pattern" | "other pattern":
            return "pattern found"
    line = "a b cd".split() + x.split(", or ") + ["%d per unit" % x, "{} per row".format(x)]
    found = re.search("units? of", x) or x.get("table row", "no such row") or x["sub script"]
    return f"{x: <as is} of all", x.replace(*("with that", x)), x.once("row columns" if x else f"row {x} sums"), line
""",
        encoding="utf-8",
    )
    assert mutant_words.names_of([source]) == {
        "in order",
        "as drawn",
        "key of a mapping",
        "no truth",
        "not known",
        "bad rows",
        "one pattern",
        "other pattern",
        "a b cd",
        ", or ",
        "%d per unit",
        "{} per row",
        "units? of",
        "table row",
        "no such row",
        "sub script",
        " <as is",
        "with that",
        "row columns",
        "row ",
        " sums",
    }


def test_words_are_told_apart_in_what_mutmut_makes(tmp_path: Path) -> None:
    made = [
        "class C:",
        "    def xǁCǁm__mutmut_orig(self):",
        '        raise Fault("no such row", 1)',
        "    def xǁCǁm__mutmut_1(self):",
        '        raise Fault("NO SUCH ROW", 1)',
        "    def xǁCǁm__mutmut_2(self):",
        '        raise Fault("no such row", 2)',
        "def x_g__mutmut_orig():",
        "    raise Fault('left out')",
        "def x_g__mutmut_1():",
        "    raise Fault('LEFT OUT')",
    ]
    spans = {
        "xǁCǁm__mutmut_orig": [2, 3],
        "xǁCǁm__mutmut_1": [4, 5],
        "xǁCǁm__mutmut_2": [6, 7],
        "x_g__mutmut_orig": [8, 9],
        "x_g__mutmut_1": [10, 11],
    }
    path = tmp_path / "a.py"
    path.write_text("\n".join(made), encoding="utf-8")
    (tmp_path / "a.py.spans").write_text(json.dumps({"spans": spans}), encoding="utf-8")
    keys = [f"p.a.{name}" for name in ("xǁCǁm__mutmut_1", "xǁCǁm__mutmut_2", "x_g__mutmut_1")]
    assert mutant_table.words_only(path, keys, NAMES) == {"p.a.xǁCǁm__mutmut_1"}
    assert mutant_table.words_only(path, keys, frozenset()) == {"p.a.xǁCǁm__mutmut_1", "p.a.x_g__mutmut_1"}
    survived = mutant_table.File("core/a.py", path, 3, dict.fromkeys(keys, 0), frozenset(keys[:1]))
    text, shares = mutant_table.table({"core": [survived]}, None)
    others, words = text.partition("## Not noticed\n\n")[2].split("## Not noticed, words only\n\n")
    assert (keys[0] in others, keys[1] in others, keys[2] in others) == (False, True, True)
    assert (
        words
        == f'- {keys[0]}\n      -         raise Fault("no such row", 1)\n      +         raise Fault("NO SUCH ROW", 1)\n'
    )
    assert shares == {"core": 0.0}


def nothing_made(folder: Path) -> Path:
    """A file without any function."""
    (folder / "a.py.spans").write_text('{"spans": {}}', encoding="utf-8")
    (folder / "a.py").write_text("", encoding="utf-8")
    return folder / "a.py"


def test_the_share_without_words_weighs_files_by_their_other_mutants(tmp_path: Path) -> None:
    path = nothing_made(tmp_path)
    codes = {**{f"w{i}": 0 for i in range(6)}, **{f"c{i}": int(i < 8) for i in range(10)}}
    words = frozenset({*(f"w{i}" for i in range(6)), *(f"not run {i}" for i in range(34))})
    one = mutant_table.File("core/a.py", path, 100, codes, words)
    other = mutant_table.File("core/b.py", path, 20, {f"c{i}": 1 for i in range(20)})
    nothing_but_words = mutant_table.File("core/c.py", path, 5, dict.fromkeys("vwxyz", 0), frozenset("vwxyz"))
    files = [one, other, nothing_but_words]
    text, shares = mutant_table.table({"core": files}, 1)
    assert shares["core"] == pytest.approx((60 * 0.8 + 20 * 1.0) / 80)
    every = (100 * 8 / 16 + 20 * 1.0 + 5 * 0.0) / 125
    error = math.sqrt((60 / 80) ** 2 * (0.8 * 0.2 / 9) * (1 - 10 / 60))
    low = 0.85 - 1.96 * error
    assert f"| core | 125 | 41 | 28 | {every:.1%} |" in text
    assert f"| core without words | 80 | 30 | 28 | 85.0% | {error:.2%} | {low:.1%} | 100.0% |" in text
    assert "| core/a.py | 100 | 16 | 8 | 0 | 8 | 50.0% | 6 | 80.0% |" in text
    assert "| core/c.py | 5 | 5 | 0 | 0 | 5 | 0.0% | 5 |  |" in text


def test_files_without_a_run_change_of_the_code_are_left_to_the_others() -> None:
    few = mutant_table.File("core/b.py", Path("b"), 9, dict.fromkeys("vwxyz", 0), frozenset("vwxyz"))
    assert mutant_table.estimate([few.without_words(), file("core/a.py", 10, 9, 1)]) == (0.9, 0.0)


def test_the_scorecard_takes_both_shares_and_their_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {f"m{i}": int(i < 9) for i in range(10)}
    whole = [mutant_table.File("core/a.py", nothing_made(tmp_path), 10, codes, frozenset({"m9"}))]
    part = [file("tasks/b.py", 1001, 501, 0)]
    text, shares = mutant_table.table({"core": whole, "tasks": part}, 3)
    assert shares == {"core": 1.0, "tasks": 1.0}
    assert "drawn by file with seed 3" in text
    (tmp_path / "mutants.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(make_trust, "OUT", tmp_path)
    record = make_trust.take_mutants()
    row = {
        "mutants": "1001",
        "run": "501",
        "noticed": "501",
        "share": "100.0%",
        "error": "0.00%",
        "low": "100.0%",
        "high": "100.0%",
    }
    assert record["rooms"]["tasks"] == {**row, "behaviour": row}
    shown = make_trust.shown_mutants(record)
    assert "| core | 10 | 10 | 90.0 % | all were run | 9 | 9 | 100.0 % | all were run |" in shown
    assert (
        "| tasks | 1,001 | 501 | 100.0 % | 100.0 % to 100.0 % | 1,001 | 501 | 100.0 % | 100.0 % to 100.0 % |" in shown
    )
    assert "**Below the 90 %" not in shown


def test_the_scorecard_shows_a_record_without_the_second_share() -> None:
    row = {
        "mutants": "8798",
        "run": "625",
        "noticed": "519",
        "share": "82.7%",
        "error": "1.41%",
        "low": "79.9%",
        "high": "85.4%",
    }
    shown = make_trust.shown_mutants({"rooms": {"core": row}})
    assert "| core | 8,798 | 625 | 82.7 % | 79.9 % to 85.4 % |\n" in shown
    assert "**Below the 90 % that the project asks for**: core." in shown


@pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux")
def test_a_command_of_a_test_runs_in_a_fork_and_brings_back_what_it_reached(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tools")!r})
os.chdir({str(ROOT)!r})
import mutant_tests
mutant_tests.run_commands_here()
from hostile import child
from support import forked
perform = child.perform
def reach(args, python):
    mutant_tests.HITS.add("reached in the fork")
    perform(args, python)
child.perform = reach
done = forked.CommandLine().run(["--version"], Path({str(tmp_path)!r}), {{}})
print(os.getpid(), done.returncode, done.stdout.split()[0], *mutant_tests.HITS)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    process, *rest = done.stdout.split(maxsplit=1)
    assert (process.isdigit(), rest, done.stderr) == (True, ["0 steelyard reached in the fork\n"], "")
