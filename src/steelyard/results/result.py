"""Result: what every kind of result can do. What it looks like is made by renderers, found through the registry."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

from steelyard.results.registry import EXPORT, load, renderer

Path = str | PathLike[str]


class Result:
    """Base of all results."""

    kind: ClassVar[str]

    def render(self, form: str, path: Path | None = None, **options: Any) -> str:
        """The result in a form: "text", "markdown", "html", or one that another package adds; written to `path`."""
        text: str = renderer(self.kind, form)(self, **options)
        if path is not None:
            from steelyard.io.write import write_text  # most programs write nothing

            write_text(path, text)
        return text

    def to_text(self, width: int = 80) -> str:
        """The result as tables for a terminal."""
        return self.render("text", width=width)

    def to_markdown(self, path: Path | None = None) -> str:
        """The result as Markdown, written to `path` where one is given."""
        return self.render("markdown", path)

    def to_html(self, path: Path | None = None, **options: Any) -> str:
        """The result as one self-contained page, written to `path` where one is given."""
        return self.render("html", path, **options)

    def write_figures(self, folder: Path) -> tuple[str, ...]:
        """Write every chart as SVG, PNG and PDF into a folder; gives the paths. Needs steelyard[report]."""
        paths: tuple[str, ...] = load(EXPORT)(renderer(self.kind, "figures")(self), folder)
        return paths

    def __str__(self) -> str:
        return self.to_text()
