"""Fail where an object of kernels/wide/ emits a weak symbol, or any that is not in the namespace of its target.

    python weak_symbols.py OBJECT ...

The linker keeps one copy of a weak symbol for all callers. If it took that of an object with AVX2, a machine without it
would stop at an unknown instruction. Uses `nm`, on Windows `dumpbin`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

TARGETS = ("baseline", "avx2")


def wrong_of_nm(path: str) -> list[str]:
    """Symbols that are defined here and weak (W, V, u), or global outside of the target's namespace."""
    lines = subprocess.run(["nm", "-C", path], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [match for line in lines if (match := re.match(r"[0-9a-f]+ (\w) (.*)", line))]
    inside = tuple(f"steelyard::{name}::" for name in TARGETS)
    return [
        f"{kind} {name}"
        for kind, name in (m.groups() for m in found)
        if kind in "WVu" or (kind in "TDBR" and not name.startswith(inside))
    ]


def wrong_of_dumpbin(path: str) -> list[str]:
    """COMDAT sections that any object may supply: 'pick any' stands in the line behind the section's symbol."""
    text = subprocess.run(["dumpbin", "/symbols", path], check=True, capture_output=True, text=True).stdout
    picked = re.findall(r"selection\s+2 \(pick any\)[^\n]*\n(?:[^\n]*\n)?[^\n]*External\s+\|\s+(\S+)", text)
    return [name for name in picked if not any(f"@{target}@" in name for target in TARGETS)]


def main() -> int:
    wrong_of = wrong_of_nm if shutil.which("nm") else wrong_of_dumpbin
    wrong = [f"{path}: {symbol}" for path in sys.argv[1:] for symbol in wrong_of(path)]
    print("\n".join(wrong) or f"{len(sys.argv) - 1} objects without a weak symbol")
    return bool(wrong) or len(sys.argv) < 2


if __name__ == "__main__":
    sys.exit(main())
