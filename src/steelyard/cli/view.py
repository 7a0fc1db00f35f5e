"""`steelyard view`: the results of a folder in the browser."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import sys

import click

from steelyard.cli.say import say
from steelyard.core.errors import InvalidSetting, MissingExtra, UnreadableFile
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
@click.option(
    "--read-only",
    is_flag=True,
    help="Assert that nothing can be changed through the viewer, which always holds; --host requires it.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="IPv4 address to listen on; any other than the default is reachable from other machines.",
)
@click.option(
    "--server-name",
    "names",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Host name that browsers use for a reverse proxy in front; can be repeated.",
)
@click.option("--prefix", default="", metavar="/PATH", help="Path of the viewer below a reverse proxy.")
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="File with the token of URLs and of 'Authorization: Bearer'; otherwise a new one is drawn at each start.",
)
def view(
    folder: str,
    port: int,
    open_it: bool,
    read_only: bool,
    host: str,
    names: tuple[str, ...],
    prefix: str,
    token_file: str | None,
) -> None:
    """Browse the results in DIR: runs, comparisons and single units.

    Results are the JSON files of 'evaluate', 'compare', 'gate --json', 'plan -o' and 'vlm score'. If DIR also contains
    the ground truth and predictions, images are shown with their boxes, ellipses and frames. The server accepts
    connections from this machine only unless --host says otherwise; its address contains a token that changes with
    every start.
    """
    shown = Folder(folder)
    try:
        from steelyard.view.connections import server
        from steelyard.view.server import make_app
    except ImportError:
        raise MissingExtra("steelyard view", "view") from None
    local = host in ("127.0.0.1", "localhost")
    if not local and not read_only:
        raise InvalidSetting(f"--host {host} needs --read-only", remedy="Add --read-only, or leave --host out.")
    if host == "0.0.0.0" and not names:
        raise InvalidSetting(
            "--host 0.0.0.0 needs a name to answer to", remedy="Add --server-name with the host name in the URL."
        )
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidSetting(f"--server-name {name} is not a host name", remedy="Give NAME or NAME:PORT.")
    prefix = prefix.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise InvalidSetting(
            f"--prefix {prefix} is not a plain path", remedy="Use letters, digits, - and _ after a slash: /eval."
        )
    token = secrets.token_urlsafe(24) if token_file is None else _token(token_file)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)  # whoever reads the address may ask at once, and waits until the server is there
    except OSError as error:
        raise InvalidSetting(
            f"cannot listen on {host}, port {port}: {error.strerror}", remedy="Leave --port and --host out."
        ) from None
    address = listening.getsockname()[1]
    place = f"http://{names[0] if names and not local else f'127.0.0.1:{address}'}{prefix}/{token}/"
    say(place)
    reach = "on this machine only" if local else f"to every machine that reaches {host}:{address}"
    say(f"Serving {shown.root} {reach}. Press Ctrl-C to stop.", err=True)
    if open_it:
        click.launch(place)
    own = () if host == "0.0.0.0" else (f"{host}:{address}",)
    app = make_app(shown, token, address, hosts=(*names, *own), prefix=prefix)
    with listening, contextlib.suppress(KeyboardInterrupt):
        server(app).run(sockets=[listening])
    if app.workers.working:  # a thread that still reads or computes is not waited for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


_NAME = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_PREFIX = re.compile(r"(/[A-Za-z0-9_-]+)*")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


def _token(path: str) -> str:
    """The token in a file, whose white space does not count."""
    try:
        with open(path, encoding="ascii") as file:
            token = file.read(1000).strip()
    except (OSError, UnicodeDecodeError):
        raise UnreadableFile("cannot be read", where=path, remedy="Give a file that holds the token.") from None
    if not _TOKEN.fullmatch(token):
        raise InvalidSetting(
            f"the token in {path} is not 16 to 200 letters, digits, - or _",
            remedy="Make one: python -c 'import secrets; print(secrets.token_urlsafe(24))'.",
        )
    return token
