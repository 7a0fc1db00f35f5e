"""Policies, tags, specs and tasks by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import steelyard as sy
from steelyard.align.join import check_policy
from steelyard.cli.options import parse_tags
from steelyard.core import catalogue
from steelyard.core.task import Policy


def refused(act: Callable[[], Any], message: str, kind: type[Exception] = sy.InputError) -> None:
    with pytest.raises(kind, match=message):
        act()


def test_policies_and_names() -> None:
    refused(lambda: check_policy(Policy(missing="skp", extra="error")), "missing='skp' is not a valid policy.*'skip'")
    refused(lambda: parse_tags(["a=1", "a=2"]), "names 'a' twice")
    refused(lambda: parse_tags(["a"]), "'a' is not")
    refused(lambda: sy.convert("a", "b", pixels="half"), "pixels cannot be 'half'")
    refused(lambda: sy.evaluate("labels", {}, {}, "f1(0.5)"), "'f1' takes settings by name only")
    refused(lambda: sy.evaluate("labels", {}, {}, "accuracy@3"), "takes no '@'")
    refused(lambda: catalogue.find_task("tea"), "there is no task 'tea'")
