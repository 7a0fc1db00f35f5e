"""A LaTeX that tests compile tables with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HOW = "needs pdflatex with booktabs: install it (Debian: apt-get install texlive-latex-recommended)"
DOCUMENT = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}%s\\end{document}\n"


def find() -> str | None:
    """The path of a pdflatex that has booktabs, or None."""
    program, files = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if program is None or files is None:
        return None
    return program if subprocess.run([files, "booktabs.sty"], capture_output=True).returncode == 0 else None


def compiled(table: str, folder: Path) -> str:
    """What LaTeX said of a document that holds a table; raises where it is refused."""
    program = find()
    assert program is not None
    (folder / "paper.tex").write_text(DOCUMENT % table, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    said = done.stdout.decode(errors="replace")
    if done.returncode:
        raise AssertionError(said)
    return said
