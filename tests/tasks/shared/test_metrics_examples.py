"""Examples of every metric: each can be made, is its spec, and appears once."""

from __future__ import annotations

import pytest

import steelyard as sy
from steelyard.core import catalogue


@pytest.mark.parametrize("name", sorted(catalogue.MODULES))
def test_examples_are_their_specs(name: str) -> None:
    for cls in catalogue.find_task(name).metrics:
        specs = [str(metric) for metric in cls.examples()]
        assert specs
        assert len(set(specs)) == len(specs)
        assert [catalogue.parse(spec, name) for spec in specs] == list(cls.examples())


def test_a_reader_who_never_stops() -> None:
    with pytest.raises(sy.InputError) as raised:
        catalogue.parse("rbp(p=1)", "rankings")
    assert str(raised.value) == "metric 'rbp': p cannot be 1. It must be below 1: such a reader never stops."
