"""What a call is refused with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import steelyard as sy


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


def refused_evaluation(task: str, truth: Any, predicted: Any, metrics: Any = None, **settings: Any) -> str:
    """The message of an evaluation without intervals."""
    return refused(sy.evaluate, task, truth, predicted, metrics, confidence=None, **settings)
