"""What people come for, from end to end: a paper compiled by a real LaTeX, and a notebook run by a real kernel."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import latex
import make_notebook
import pytest
import run_docs
from support.lazy import lazy
from support.paths import ROOT

nbformat = lazy("nbformat")
nbclient = lazy("nbclient")


@pytest.mark.skipif(latex.find() is None, reason=latex.HOW)
def test_the_paper_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    run_docs.BLOCK.sub(lambda match: run_docs._block(match, namespace), page)
    program = latex.find()
    assert program is not None
    for _ in range(2):
        command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
        said = done.stdout.decode(errors="replace")
        assert done.returncode == 0, said
    assert "undefined" not in said  # the reference is there
    assert "Overfull" not in said  # and nothing is wider than the page
    assert r"\newlabel{tab:weights}" in (tmp_path / "paper.aux").read_text()
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow  # test_taken_away.py runs a small notebook in `make test`
def test_the_notebook_prints_what_its_page_shows(tmp_path: Path) -> None:
    page = ROOT / "docs" / "training.md"
    book = nbformat.from_dict(make_notebook.notebook(page))
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    printed = [
        "".join(output["text"] for output in cell["outputs"] if output["output_type"] == "stream")
        for cell in book["cells"]
        if cell["cell_type"] == "code"
    ]
    shown = re.findall(r"^```text\n(.*?)^```\n", page.read_text(encoding="utf-8"), re.M | re.S)
    assert [run_docs._steady(text) for text in printed if text] == shown
    tables = [
        output["data"]["text/html"]
        for cell in book["cells"]
        for output in cell.get("outputs", ())
        if output["output_type"] == "execute_result"
    ]
    report, figure, slices, confusion, comparison = tables
    assert report.count("<svg") >= 3  # a strip for each interval
    assert figure.count("<svg") == 1
    assert slices.count("<details open>") == 1
    assert "Confusion matrix" in confusion
    assert "Undecided in Accuracy" in comparison  # the verdict
    assert (tmp_path / "roc.svg").read_text(encoding="utf-8").startswith("<svg ")
    assert "trained" in comparison


def test_the_notebook_is_that_of_its_page() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "make_notebook.py", "--check"], check=True)
