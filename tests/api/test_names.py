"""Policies, tags, specs and tasks by their names."""

from __future__ import annotations

from support.refusal import refuses

import steelyard as sy
from steelyard.align.join import check_policy
from steelyard.cli.options import parse_tags
from steelyard.core import catalogue
from steelyard.core.task import Policy


def test_policies_and_names() -> None:
    with refuses("E-invalid-setting", "missing='skp'", "'skip'"):
        check_policy(Policy(missing="skp", extra="error"))
    with refuses("E-duplicate-key", "'a'"):
        parse_tags(["a=1", "a=2"])
    with refuses("E-invalid-setting", "'a'"):
        parse_tags(["a"])
    with refuses("E-invalid-setting", "pixels", "'half'"):
        sy.convert("a", "b", pixels="half")
    with refuses("E-invalid-spec", "'f1'", "takes"):
        sy.evaluate("labels", {}, {}, "f1(0.5)")
    with refuses("E-invalid-spec", "'@'"):
        sy.evaluate("labels", {}, {}, "accuracy@3")
    with refuses("E-unknown-task", "'tea'"):
        catalogue.find_task("tea")
