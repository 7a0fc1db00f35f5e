"""Examples of every metric: each can be made, is its spec, and appears once."""

from __future__ import annotations

import pytest
from support.refusal import refuses

from steelyard.core import catalogue


@pytest.mark.parametrize("name", sorted(catalogue.MODULES))
def test_examples_are_their_specs(name: str) -> None:
    for cls in catalogue.find_task(name).metrics:
        specs = [str(metric) for metric in cls.examples()]
        assert specs
        assert len(set(specs)) == len(specs)
        assert [catalogue.parse(spec, name) for spec in specs] == list(cls.examples())


def test_a_reader_who_never_stops() -> None:
    with refuses("E-invalid-spec", "'rbp'", "1"):
        catalogue.parse("rbp(p=1)", "rankings")
