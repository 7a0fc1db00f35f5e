"""`steelyard verify`: check an evidence pack."""

from __future__ import annotations

import click

from steelyard.cli.say import say
from steelyard.cli.streams import end_with


@click.command()
@click.argument("pack", type=click.Path())
@click.option("--data", metavar="DIR", type=click.Path(), help="Directory of the data, if they are not in the pack.")
@click.option("--digests-only", is_flag=True, help="Check digests, and compute nothing again.")
@click.option(
    "--signature", metavar="FILE", type=click.Path(), help="Detached signature of the pack, by ssh-keygen or gpg."
)
@click.option(
    "--signers",
    metavar="FILE",
    type=click.Path(),
    help="Who may sign: a file of allowed signers (ssh-keygen) or of public keys (gpg).",
)
@click.option(
    "--tolerance",
    type=float,
    default=1e-9,
    show_default=True,
    metavar="X",
    help="Numbers are equal if they differ by at most this share of their size.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify(
    pack: str,
    data: str | None,
    digests_only: bool,
    signature: str | None,
    signers: str | None,
    tolerance: float,
    as_json: bool,
) -> int:
    """Check an evidence pack: exit 0 equal, 1 different.

    Every digest is checked, and every result is computed again from the data and compared number by number.

    \b
    steelyard verify pack.zip
    steelyard verify pack.zip --data data/
    steelyard verify pack.zip --signature pack.zip.sig --signers allowed_signers
    """
    from steelyard.packs.verify import verify as check

    outcome = check(
        pack, data=data, digests_only=digests_only, signature=signature, signers=signers, tolerance=tolerance
    )
    end_with(outcome.exit_code)
    say(outcome.to_json() if as_json else outcome.to_text(), nl=not as_json)
    return outcome.exit_code
