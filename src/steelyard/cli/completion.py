"""`steelyard completion`: the script that teaches a shell to complete."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell completion script.

    \b
    bash:  eval "$(steelyard completion bash)"
    zsh:   eval "$(steelyard completion zsh)"
    fish:  steelyard completion fish | source
    """
    cls = get_completion_class(shell)
    assert cls is not None  # click knows every shell of the choice
    click.echo(cls(ctx.find_root().command, {}, "steelyard", "_STEELYARD_COMPLETE").source())
