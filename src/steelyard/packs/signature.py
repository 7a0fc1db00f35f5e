"""Detached signatures, checked by the programs that make them: ssh-keygen or gpg."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from steelyard.core.errors import InvalidFile, NotInstalled
from steelyard.core.opening import check_readable, open_regular, read_regular

NAMESPACE = "file"  # of signatures by ssh-keygen -Y sign
MOST = 1 << 20  # bytes of a signature
SECONDS = 120
SSH = b"-----BEGIN SSH SIGNATURE-----"


def check_signature(pack: str, signature: str, signers: str | None) -> str:
    """Who signed a pack, in a sentence; raises where the signature is not that of the pack.

    `signers` is a file of allowed signers of ssh-keygen, or of public keys of gpg.
    """
    data = read_regular(signature, signature, most=MOST)
    pack, signature = os.path.abspath(pack), os.path.abspath(signature)  # no name begins like an option
    if signers is not None:
        check_readable(signers, signers, pipes=False)
        signers = os.path.abspath(signers)
    check = _check_ssh if data.lstrip().startswith(SSH) else _check_gpg
    return check(pack, signature, signers)


def _check_ssh(pack: str, signature: str, signers: str | None) -> str:
    program = _program("ssh-keygen", "OpenSSH", signature)
    if signers is None:
        _run_on(pack, [program, "-Y", "check-novalidate", "-n", NAMESPACE, "-s", signature], pack, signature)
        return "The signature is that of the pack. Who signed it was not checked: give `signers`."
    principals = _run_on(
        pack,
        [program, "-Y", "find-principals", "-s", signature, "-f", signers],
        pack,
        signature,
        "its key is not in the file of signers",
    )
    name = principals.strip().splitlines()[0] if principals.strip() else ""
    command = [program, "-Y", "verify", "-f", signers, "-I", name, "-n", NAMESPACE, "-s", signature]
    _run_on(pack, command, pack, signature)
    return f"Signed by {name}."


def _check_gpg(pack: str, signature: str, signers: str | None) -> str:
    program = _program("gpg", "GnuPG", signature)
    command = [program, *_long("batch"), *_long("no-tty"), *_long("status-fd", "1")]
    with tempfile.TemporaryDirectory() as home:
        if signers is not None:  # only the keys of the file, not those of the user
            os.chmod(home, 0o700)
            command += [*_long("homedir", home), *_long("trust-model", "always"), *_long("no-autostart")]
            _run_on(None, [*command, *_long("import", signers)], pack, signature, "the file of signers holds no key")
        said = _run_on(None, [*command, *_long("verify", signature, pack)], pack, signature)
    statuses = [line.split(" ", 3)[1:] for line in said.splitlines() if line.startswith("[GNUPG:] ")]
    names = {status: rest[-1] for status, *rest in statuses if rest}
    if "GOODSIG" in names:
        return f"Signed by {names['GOODSIG']}."
    if "EXPKEYSIG" in names:
        return f"Signed by {names['EXPKEYSIG']}, whose key has expired since."
    # gpg ends with 0 for a revoked key, too.
    raise _invalid(pack, signature, "its key was revoked" if "REVKEYSIG" in names else "gpg does not call it good")


def _long(name: str, *values: str) -> list[str]:
    """A long option of another program."""
    return [f"--{name}", *values]


def _program(name: str, package: str, signature: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise NotInstalled(
            f"the signature needs the program {name}, which is not installed",
            where=signature,
            remedy=f"Install {package}, or leave `signature` out.",
        )
    return path


def _run_on(
    stdin: str | None, command: Sequence[str], pack: str, signature: str, wrong: str = "it does not match the pack"
) -> str:
    """What a program prints that reads a file; raises where it fails."""
    file = open_regular(stdin, stdin) if stdin is not None else None
    try:
        done = subprocess.run(
            command,
            stdin=file or subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise InvalidFile("the signature cannot be checked: the program does not end", where=signature) from None
    finally:
        if file is not None:
            file.close()
    if done.returncode:
        raise _invalid(pack, signature, wrong)
    return done.stdout.decode("utf-8", "replace")


def _invalid(pack: str, signature: str, why: str) -> InvalidFile:
    return InvalidFile(f"the signature of '{pack}' is not valid: {why}", where=signature, remedy="Do not use it.")
