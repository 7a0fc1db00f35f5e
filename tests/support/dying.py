"""A function that kills its process, in a module that workers of a cluster can import."""

from __future__ import annotations

import os
import signal


def dies_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number
