"""Compare the parser of two builds to the bit: this one, with kernels for the machine's instructions, and a plain one.

    python fuzz/twins.py PLAIN

PLAIN is a folder with a steelyard built with -DSTEELYARD_PLAIN=ON. Both parse the same drawn texts, sentences of all
lengths and unknown words among them; every tag, head and relation must be the same. Run by `make fuzz`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy

TEXTS = 2_000


def trees() -> None:
    from fuzz_captions import block, text

    from steelyard import _native
    from steelyard.language import tables

    sys.stderr.write(os.path.abspath(_native.__file__))
    rng = random.Random(0)
    drawn = [text(rng) for _ in range(TEXTS)]
    sys.stdout.buffer.write(_native.caption_trees(tables.parser(), *block(drawn), 1)[0])


def parsed(site: str | None) -> bytes:
    """The trees by this build, or by the one in `site`: then without what the environment installs over it (-S)."""
    command, environment = [sys.executable, __file__], dict(os.environ)
    if site:
        command.insert(1, "-S")
        environment["PYTHONPATH"] = os.pathsep.join([os.path.abspath(site), str(Path(numpy.__file__).parent.parent)])
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    if site and not done.stderr.decode().startswith(os.path.abspath(site)):
        sys.exit(f"this is no build of {site}: {done.stderr.decode()}")
    return done.stdout


def main() -> None:
    if len(sys.argv) < 2:
        return trees()
    own, plain = parsed(None), parsed(sys.argv[1])
    if own != plain:
        sys.exit("the plain build parses otherwise")
    print(f"{TEXTS} texts, {len(own)} bytes of trees: the same in both builds")


if __name__ == "__main__":
    main()
