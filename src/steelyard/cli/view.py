"""`steelyard view`: the results of a folder in the browser, on this machine alone."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys

import click

from steelyard.cli.say import say
from steelyard.core.errors import InvalidSetting, MissingExtra
from steelyard.view.folder import Folder


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--port",
    default=0,
    show_default="a free one",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Port to listen on.",
)
@click.option("--open/--no-open", "open_it", default=False, help="Open the page in a browser.")
def view(folder: str, port: int, open_it: bool) -> None:
    """Browse the results in DIR: search, plot and compare runs, read reports, and look at single units.

    Results are the JSON files of 'evaluate', 'compare', 'gate --json', 'plan -o' and 'vlm score'. If DIR also contains
    the ground truth and predictions, images are shown with their boxes, ellipses and frames. The server accepts
    connections from this machine only; its address contains a token that changes with every start.
    """
    shown = Folder(folder)
    try:
        from steelyard.view.connections import server
        from steelyard.view.server import make_app
    except ImportError:
        raise MissingExtra("steelyard view", "view") from None
    token = secrets.token_urlsafe(24)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(1024)  # whoever reads the address may ask at once, and waits until the server is there
    except OSError as error:
        raise InvalidSetting(f"cannot listen on port {port}: {error.strerror}", remedy="Leave --port out.") from None
    address = listening.getsockname()[1]
    place = f"http://127.0.0.1:{address}/{token}/"
    say(place)
    say(f"Serving {shown.root} on this machine only. Press Ctrl-C to stop.", err=True)
    if open_it:
        click.launch(place)
    app = make_app(shown, token, address)
    with listening, contextlib.suppress(KeyboardInterrupt):
        server(app).run(sockets=[listening])
    if app.workers.working:  # a thread that still reads or computes is not waited for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
