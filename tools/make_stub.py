"""Write src/steelyard/_native.pyi, the types of the compiled core, from the module as it is installed.

    python tools/make_stub.py [--check]

nanobind's stub generator reads the signatures out of the module. Here every array becomes `NDArray[type]`: in the
signatures it is `f8[:]`, `i4[:,:]` or `u1[...]` (native/bindings/arrays.hpp), or has nanobind's own longer name. Shapes
and order are checked by the bindings and said in their messages. The file is committed, and
tests/native/test_stub.py compares it; `--check` does too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parent.parent / "src" / "steelyard" / "_native.pyi"
KINDS = {"f": "float", "i": "int", "u": "uint"}
HEAD = "# Written by tools/make_stub.py; not by hand.\n"


def stub() -> str:
    """The text of the stub."""
    from nanobind.stubgen import StubGen  # type: ignore[import-not-found]

    from steelyard import _native

    generator = StubGen(_native, quiet=True)
    generator.put(_native)
    text: str = generator.get()
    text = re.sub(r"Annotated\[(NDArray(?:\[numpy\.\w+\])?), dict\([^()]*(?:\([^()]*\)[^()]*)*\)\]", r"\1", text)
    text = re.sub(
        r"\b([fiu])([1248])\[(?::|:,:|\.\.\.)\]",
        lambda match: f"NDArray[numpy.{KINDS[match[1]]}{8 * int(match[2])}]",
        text,
    )
    text = re.sub(r"NDArray(?=[,)\]: |])(?!\[)", "NDArray[numpy.generic]", text)
    text = text.replace("from typing import Annotated\n\n", "").replace(
        "import NDArray[numpy.generic]", "import NDArray"
    )
    text = text.replace(": dict,", ": dict[str, dict[str, float]],").replace(
        ": dict)", ": dict[str, dict[str, float]])"
    )
    text = re.sub(r": list(?=[,)])", ": list[object]", text)
    text = text.replace("-> list:", "-> list[dict[str, object]]:").replace("-> dict:", "-> dict[str, object]:")
    lines = [line.rstrip() for line in text.splitlines()]
    return HEAD + "\n".join(lines).strip() + "\n"


def main() -> int:
    """Write it, or say whether it is current."""
    if sys.argv[1:] != ["--check"]:
        STUB.write_text(stub(), encoding="utf-8")
        return 0
    if STUB.read_text(encoding="utf-8") == stub():
        return 0
    print(f"{STUB} is not current: run tools/make_stub.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
