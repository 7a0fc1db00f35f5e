"""How tests check errors: by their kind and the data that they must name, never by their sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import steelyard as sy
from steelyard.core.errors import SteelyardError


@contextmanager
def refuses(kind: str | type[Exception], *names: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of a code ("E-duplicate-key") or class whose message names each of the texts, as whole words."""
    with pytest.raises(SteelyardError if isinstance(kind, str) else kind) as caught:
        yield caught
    error = caught.value
    if isinstance(kind, str):
        assert error.code == kind, f"{error.code}: {error}"
    else:
        assert type(error) is kind, f"{type(error).__name__}: {error}"
    check_names(str(error), *names)


def check_names(message: str, *names: str) -> None:
    """Each of the texts is in a message and does not continue there as a longer word or number."""
    for name in names:
        assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message), f"{name!r} is not named: {message}"


def refused(act: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The message of the InputError that a call raises."""
    with pytest.raises(sy.InputError) as caught:
        act(*arguments, **named)
    return str(caught.value)


def refused_parts(act: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[str, str, str]:
    """What is wrong, where, and the remedy."""
    with pytest.raises(sy.InputError) as caught:
        act(*arguments, **named)
    return caught.value.what, caught.value.where, caught.value.remedy


@contextmanager
def warns_renamed(old: str, new: str) -> Iterator[None]:
    """Expect the DeprecationWarning that names what an old name is called now."""
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(f'{old} is deprecated, use {new}')}$"):
        yield
