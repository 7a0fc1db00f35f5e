"""The first import of NumPy, with threads that sleep while there is nothing to do.

OpenBLAS, which NumPy's wheels bring, starts a thread for each core as soon as it is loaded, and every one of them
spins for 2^26 ticks of the machine's clock before it sleeps: on two cores of aarch64 0.07 CPU seconds, a fifth of a
whole small evaluation. It reads how long to spin once, when it is loaded, from a variable of the environment. That is
set here to 2^20 ticks (a few milliseconds at most, so that calls in close succession still find the threads awake),
around the import alone: nothing is left in the environment, a value that the user has set stays, and so does a NumPy
that is loaded already.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "OPENBLAS_THREAD_TIMEOUT"  # a power of two


def load_numpy() -> None:
    """Import NumPy."""
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = "20"
    try:
        import numpy  # noqa: F401
    finally:
        os.environ.pop(VARIABLE, None)


load_numpy()
