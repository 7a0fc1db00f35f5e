"""`steelyard parse`: the scene graph of a caption, as SPICE sees it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from steelyard.cli.say import say
from steelyard.core.errors import EmptyInput, InvalidSetting, InvalidText
from steelyard.io.write import write_text
from steelyard.language import scene, tokens
from steelyard.render import scene as drawing


@click.command()
@click.argument("captions", nargs=-1, metavar="CAPTION...")
@click.option(
    "--graph",
    type=click.Choice(scene.GRAPHS),
    default="original",
    show_default=True,
    help="Parse by the rules of the original SPICE, or into everything that the caption describes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line and caption.")
@click.option("--svg", "svg", type=click.Path(dir_okay=False), help="Also draw the graph to this SVG file.")
@click.option("--tree", is_flag=True, help="Also print the dependency tree.")
def parse(captions: tuple[str, ...], graph: scene.Graph, as_json: bool, svg: str | None, tree: bool) -> None:
    """Print the scene graph of a caption.

    Without CAPTION, captions are read from standard input, one per line.

    steelyard parse "a red car beside a white house"
    """
    try:
        texts = list(captions) or [line.strip() for line in sys.stdin if line.strip()]
        "".join(texts).encode()
    except UnicodeError:
        raise InvalidText("a caption is not UTF-8 text", remedy="Give captions as UTF-8.") from None
    if not texts:
        raise EmptyInput("there is no caption", remedy='Example: steelyard parse "a red car beside a white house".')
    if svg and len(texts) > 1:
        raise InvalidSetting(f"--svg draws one caption, and there are {len(texts)}", remedy="Give one.")
    tokenised = tokens.ptb(texts)
    graphs = [scene.tuples_of(lines) for lines in scene.tuple_lines(tokenised, graph)]
    if svg:
        write_text(svg, drawing.as_svg(texts[0], graphs[0]))
        say(f"Wrote {svg}", err=True)
    for number, (text, words, tuples) in enumerate(zip(texts, tokenised, graphs, strict=True)):
        rows = [(t.word, t.tag, t.head, t.relation) for t in scene.trees([words])[0]] if tree else None
        if as_json:
            say(drawing.as_json(text, tuples, rows))
            continue
        if number:
            say()
        if len(texts) > 1:
            say(f"# {text}")
        if rows is not None:
            for place, row in enumerate(rows, start=1):
                say("\t".join(map(str, (place, *row))))
            say()
        say(drawing.as_text(tuples) or "(no object)")
    if graph == "original" and not as_json:
        _say_lacking(tokenised, graphs)


def _say_lacking(tokenised: Sequence[str], graphs: Sequence[scene.Tuples]) -> None:
    """Say where the original's rules read no relation and a described graph has one."""
    silent = [words for words, tuples in zip(tokenised, graphs, strict=True) if not _relations(tuples)]
    lacking = sum(_relations(scene.tuples_of(lines)) for lines in scene.tuple_lines(silent, "described"))
    if lacking:
        which = "this caption has" if len(graphs) == 1 else f"{lacking} of {len(graphs)} captions have"
        say(f"By the rules of the original SPICE {which} no relation; --graph described finds one.", err=True)


def _relations(tuples: scene.Tuples) -> bool:
    return any(len(parts) == 3 for parts in tuples)
