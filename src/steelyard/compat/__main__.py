"""`python -m steelyard.compat PROGRAM [ARGS]`: run a program with the drop-ins in the place of the packages."""

from __future__ import annotations

import os
import runpy
import sys

from steelyard.compat.install import install
from steelyard.core.errors import SteelyardError

USAGE = """usage: python -m steelyard.compat [--only PACKAGE,...] PROGRAM [ARGS]
       python -m steelyard.compat [--only PACKAGE,...] -m MODULE [ARGS]

Run a Python program with Steelyard's drop-ins instead of the packages that they replace.
`steelyard compat` lists them."""


def main(arguments: list[str]) -> None:
    """Install the drop-ins, and run the program as Python would."""
    only: list[str] = []
    while arguments[:1] == ["--only"] and len(arguments) > 1:
        only += arguments[1].split(",")
        arguments = arguments[2:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return
    as_module = arguments[:1] == ["-m"]
    arguments = arguments[as_module:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(_fail(USAGE))
    try:
        install(*only)
    except SteelyardError as error:
        sys.exit(_fail(f"Error: {error} [{error.code}]"))
    program = arguments[0]
    sys.argv = arguments
    if as_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif not os.path.exists(program):
        sys.exit(_fail(f"Error: {program}: no such file [E-missing-file]"))
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
        runpy.run_path(program, run_name="__main__")


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    main(sys.argv[1:])
