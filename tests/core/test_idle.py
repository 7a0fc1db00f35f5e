"""The first import of NumPy leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steelyard.idle import VARIABLE


@pytest.mark.parametrize(
    ("given", "code", "expected"),
    [
        (None, "", "None 20"),  # set while NumPy is loaded, gone afterwards
        ("7", "", "7 7"),  # the user's own
        (None, "import numpy", "None None"),  # loaded before: too late, and none of our business
    ],
)
def test_the_environment_is_as_it_was(given: str | None, code: str, expected: str) -> None:
    program = f"""
import os, sys
{code}
seen = [os.environ.get({VARIABLE!r})]
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            seen[0] = os.environ.get({VARIABLE!r})
sys.meta_path.insert(0, Watch())
import steelyard
print(os.environ.get({VARIABLE!r}), seen[0])
"""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if given is not None:
        environment[VARIABLE] = given
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True, timeout=60
    )
    assert done.stdout.strip() == expected
