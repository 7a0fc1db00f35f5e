"""Run the examples of the README and the docs, and hold their printed output against what really comes out.

    python tools/run_docs.py [--update] [PAGE...]

A `console` block holds commands behind `$` and their output; a `python` block runs in the page's own namespace, and a
`text` block right behind it is what it prints. A comment `<!-- sample: TASK -->` lays that task's sample files into the
page's folder. `--update` writes the real output into the page; without it, a difference is an error.

A number with more digits than machines agree on (sums, exp and logarithms differ in the last ones) is shown
with ten, and the digest of a result, which is of all digits, as "sha256:...". Seconds that replies of a model took
differ each time: they are shown as 0.0 s.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"<!-- sample: (?P<sample>\w+) -->\n|(?P<fence>^```(?P<kind>console|python)\n(?P<code>.*?)^```\n)"
    r"(?P<output>\n?^```text\n(?P<text>.*?)^```\n)?",
    re.M | re.S,
)


LONG = re.compile(r"(?<![\w.])\d+\.\d{11,}(?![\w.])")
DIGEST = re.compile(r'^(  "digest": "sha256:)[0-9a-f]{64}"', re.M)
TIMES = re.compile(r"^ +time, .*$", re.M)
SECONDS = re.compile(r"[\d.]+ s *")
Command = Callable[[list[str]], subprocess.CompletedProcess[str]]


def pages() -> list[Path]:
    """Every page that holds examples."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fresh(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `steelyard ARGUMENTS` in a process of its own."""
    start = "import sys; sys.argv[0] = 'steelyard'; from steelyard.cli.main import main; main()"
    return _process([sys.executable, "-c", start, *arguments])


def run(page: Path, steelyard: Command = fresh) -> str:
    """The page with the output that its examples really have; `steelyard` runs its commands."""
    namespace: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return BLOCK.sub(lambda match: _block(match, namespace, steelyard), page.read_text(encoding="utf-8"))
        finally:
            os.chdir(before)


def _block(match: re.Match[str], namespace: dict[str, Any], steelyard: Command = fresh) -> str:
    if match["sample"]:
        shutil.copytree(ROOT / "src" / "steelyard" / "samples" / match["sample"], ".", dirs_exist_ok=True)
        return match[0]
    if match["kind"] == "console":
        return f"```console\n{_console(match['code'], steelyard)}```\n" + (match["output"] or "")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(match["code"], "<example>", "exec"), namespace)
    text = _steady(printed.getvalue())
    return match["fence"] + (f"\n```text\n{text}```\n" if text else "")


def _process(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def _console(code: str, steelyard: Command) -> str:
    lines = []
    for command in re.findall(r"^\$ (.*)$", code, re.M):
        arguments = shlex.split(command)
        result = steelyard(arguments[1:]) if arguments[0] == "steelyard" else _process(arguments)
        lines.append(f"$ {command}\n{_steady(result.stdout + result.stderr)}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _steady(text: str) -> str:
    """The text that comes out on every machine, each time."""
    text = TIMES.sub(lambda line: SECONDS.sub(lambda one: "0.0 s".ljust(len(one[0])), line[0]).rstrip(), text)
    return LONG.sub(lambda match: f"{float(match[0]):.10g}", DIGEST.sub(r'\1..."', text))


def main() -> None:
    named = [Path(name).resolve() for name in sys.argv[1:] if not name.startswith("-")]
    stale = []
    for page in named or pages():
        text = run(page)
        old = page.read_text(encoding="utf-8")
        if text == old:
            continue
        if "--update" in sys.argv:
            page.write_text(text, encoding="utf-8")
        else:
            stale.append(page.name)
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), page.name, "real"))
    if stale:
        sys.exit(f"examples differ from what really comes out: {', '.join(stale)}; run tools/run_docs.py --update")


if __name__ == "__main__":
    main()
