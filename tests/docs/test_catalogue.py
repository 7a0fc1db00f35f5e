"""The catalogue in the docs is what the metric classes say of themselves."""

from __future__ import annotations

import make_catalogue


def test_the_catalogue_is_what_the_metrics_say() -> None:
    assert make_catalogue.stale(make_catalogue.pages()) == []
