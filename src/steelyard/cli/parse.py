"""`steelyard parse`: the scene graph of a caption, as SPICE sees it."""

from __future__ import annotations

import sys

import click

from steelyard.cli.say import say
from steelyard.core.errors import InputError
from steelyard.io.write import write_text
from steelyard.language import scene, tokens
from steelyard.report import scene as drawing


@click.command()
@click.argument("captions", nargs=-1, metavar="CAPTION...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a caption.")
@click.option("--svg", "svg", type=click.Path(dir_okay=False), help="Draw the graph into this SVG file.")
@click.option("--tree", is_flag=True, help="Print the dependency tree too.")
def parse(captions: tuple[str, ...], as_json: bool, svg: str | None, tree: bool) -> None:
    """Print the scene graph of a caption: objects, attributes and relations.

    Without CAPTION, captions are read from standard input, one a line.

    steelyard parse "a red car beside a white house"
    """
    texts = list(captions) or [line.strip() for line in sys.stdin if line.strip()]
    if not texts:
        raise InputError("there is no caption", remedy='Example: steelyard parse "a red car beside a white house".')
    if svg and len(texts) > 1:
        raise InputError(f"--svg draws one caption, and there are {len(texts)}", remedy="Give one.")
    tokenised = tokens.ptb(texts)
    graphs = [scene.tuples_of(lines) for lines in scene.tuple_lines(tokenised)]
    if svg:
        write_text(svg, drawing.as_svg(texts[0], graphs[0]))
        say(f"Wrote {svg}", err=True)
    for number, (text, words, graph) in enumerate(zip(texts, tokenised, graphs, strict=True)):
        if as_json:
            say(drawing.as_json(text, graph))
            continue
        if number:
            say()
        if len(texts) > 1:
            say(f"# {text}")
        if tree:
            for place, token in enumerate(scene.trees([words])[0], start=1):
                say(f"{place}\t{token.word}\t{token.tag}\t{token.head}\t{token.relation}")
            say()
        say(drawing.as_text(graph) or "(no object)")
