"""Result: what every kind of result can do. What it looks like is made by renderers, found through the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from os import PathLike
from typing import Any, ClassVar, Self

from steelyard.core.counts import count_text
from steelyard.core.deprecated import Renamed, RenamedKeywords
from steelyard.core.framed import Framed
from steelyard.core.visible import visible
from steelyard.results.details import NONE, Details, DetailsData, StoredDetails
from steelyard.results.origin import TaskFacts
from steelyard.results.registry import CHECK_FIGURES, EXPORT, GALLERY, PLOT, SHEETS, has_form, load, renderer

Path = str | PathLike[str]


class Result(Framed, metaclass=RenamedKeywords):
    """Base of all results: plain data that compare, pickle and are read back equal; details lie beside them."""

    kind: ClassVar[str]
    notes: tuple[str, ...]
    details: Details
    evidence = Renamed("details")

    def render(self, form: str, path: Path | None = None, **options: Any) -> str:
        """The result in a form ("text", "markdown", "html", or one that another package adds), written to `path`."""
        text: str = renderer(self.kind, form)(self, **options)
        if form == "markdown":  # names in the data must not steer a terminal, or turn the direction of writing
            text = visible(text)
        if path is not None:
            from steelyard.io.write import write_text  # most programs write nothing

            write_text(path, text)
        return text

    @property
    def verdict(self) -> str:
        """What the result comes to, in one or two sentences made from its numbers; empty for a plan."""
        return self.render("verdict") if has_form(self.kind, "verdict") else ""

    def to_text(self, width: int = 80, **options: Any) -> str:
        """The result as tables for a terminal. A lineup takes `pairs=True`: each model's differences from the first."""
        return self.render("text", width=width, **options)

    def to_markdown(self, path: Path | None = None) -> str:
        """The result as Markdown, written to `path` where one is given."""
        return self.render("markdown", path)

    def to_html(self, path: Path | None = None, **options: Any) -> str:
        """The result as one self-contained page, written to `path` where one is given."""
        return self.render("html", path, **options)

    def to_latex(self, path: Path | None = None, **options: Any) -> str:
        """The result as a table of a paper, for the package booktabs, written to `path` where one is given.

        `interval` is "sub" (ends below and above the value), "brackets" or "none"; `caption` and `label` are LaTeX. A
        lineup takes `marks`: "first" stars what differs from the first model, "letters" groups what is not shown to.
        """
        return self.render("latex", path, **options)

    def to_frame(self) -> Any:
        """The result as columns that pandas, polars, pyarrow and DuckDB take: `polars.DataFrame(report.to_frame())`."""
        return renderer(self.kind, "frame")(self)

    def to_csv(self, path: Path | None = None) -> str:
        """The rows of `to_frame` as CSV text, written to `path` where one is given."""
        return self.render("csv", path)

    def to_excel(self, path: Path) -> None:
        """Write a workbook: scores, units and tables, a sheet each. Needs steelyard[excel]."""
        load(SHEETS)(renderer(self.kind, "sheets")(self), path)

    def to_json(self, path: Path | None = None, *, details: bool = False) -> str:
        """The result as JSON text; with `details`, all that the page shows. Details that are stored are kept anyway."""
        return self.render("json", path, details=details)

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """The result as plain values, as the JSON schema describes them."""
        data: dict[str, Any] = renderer(self.kind, "dict")(self, details=details)
        return data

    def write_figures(self, folder: Path, **look: Any) -> tuple[str, ...]:
        """Write every chart into a folder; gives the paths. PNG and PDF need steelyard[report].

        `formats` are of "svg", "png", "pdf"; `width` is a length such as "85mm" or "3.3in", or "1col", "1.5col",
        "2col"; `dpi` is the resolution of PNG, `font` the family of the letters. The background is white unless
        `transparent` is set.
        """
        draw = renderer(self.kind, "figures")
        load(CHECK_FIGURES)(**look)
        paths: tuple[str, ...] = load(EXPORT)(draw(self), folder, **look)
        return paths

    def plot(self, name: str, width: float = 540) -> Any:
        """Draw a figure: `report.plot("roc")`. Notebooks display it.

        The result is a drawing whose `str` is HTML with SVG. The names are those of `report.figures`, and of the files
        that `write_figures` writes. `width` is in pixels.
        """
        return load(PLOT)(self, name, width)

    def detach(self) -> Self:
        """The result without lazy details, so that it keeps no array of the data alive."""
        return self._change_details(lambda details: NONE if details.lazy else details)

    def with_details(self) -> Self:
        """The result with its details stored as data: it can be pickled and no longer needs the inputs."""
        return self._change_details(lambda details: StoredDetails(details.data()) if details.lazy else details)

    def _change_details(self, change: Callable[[Details], Details]) -> Self:
        inside = [result._change_details(change) for result in inner_results(self)]
        rebuilt = with_inner_results(self, inside)
        changed: Self = replace(rebuilt, details=change(rebuilt.details))
        return changed

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": NONE if self.details.lazy else self.details}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing of it can be changed

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str | None:
        """What a notebook shows; nothing of its own for a kind that has only text."""
        return self.render("notebook") if has_form(self.kind, "notebook") else None

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


class TaskResult(Result):
    """Base of the results of one task."""

    task_facts: TaskFacts

    @property
    def title(self) -> str:
        """What the task is called."""
        return self.task_facts.title

    @property
    def unit(self) -> str:
        """What is resampled: dish, image."""
        return self.task_facts.unit

    def gallery(self, n: int = 6, images: Path | None = None) -> Any:
        """Draw the `n` worst units, or of a comparison those that differ most: `report.gallery(4, images="images/")`.

        Notebooks display it, and `save(path)` writes it as a page. `images` is the folder of the images to lie under
        the marks; it needs Pillow. There are at most 12 units, 8 of a comparison.
        """
        return load(GALLERY)(self, n, images)


class Holder:
    """Base of what is not a result and holds results, as a row of a score of VLMs does."""


def inner_results(value: Any) -> list[Result]:
    """The results inside a result, in the order in which its fields hold them."""
    results: list[Result] = []
    _rebuilt(value, lambda result: results.append(result) or result, outer=True)  # type: ignore[func-returns-value]
    return results


def with_inner_results(result: Any, inside: list[Any]) -> Any:
    """The result with others inside, in the order of `inner_results`."""
    left = iter(inside)
    return _rebuilt(result, lambda _: next(left), outer=True) if inside else result


def _rebuilt(value: Any, change: Callable[[Result], Any], *, outer: bool = False) -> Any:
    if isinstance(value, Result) and not outer:
        return change(value)
    if isinstance(value, tuple):
        return tuple(_rebuilt(one, change) for one in value)
    if isinstance(value, Mapping):
        return {key: _rebuilt(one, change) for key, one in value.items()}
    if outer or isinstance(value, Holder):
        names = [field.name for field in fields(value) if field.name != "details"]
        return replace(value, **{name: _rebuilt(getattr(value, name), change) for name in names})
    return value


def details_of(result: Result) -> DetailsData | None:
    """The stored details of a result and of those inside it; None where there are none."""
    parts = tuple(details_of(one) for one in inner_results(result))
    own = result.details.kept if isinstance(result.details, StoredDetails) else None
    if own is None and not any(part is not None for part in parts):
        return None
    return replace(own or DetailsData(), parts=parts)


def with_stored(result: Any, details: DetailsData | None) -> Any:
    """The result with details that were read. Raises ValueError where they are not those of such a result."""
    if details is None:
        return result
    inside = inner_results(result)
    if len(details.parts) != len(inside):
        raise ValueError(f"there are {count_text(len(details.parts), 'part')} of details for {len(inside)} results")
    changed = [with_stored(one, part) for one, part in zip(inside, details.parts, strict=True)]
    return replace(with_inner_results(result, changed), details=StoredDetails(replace(details, parts=())))
