"""Scores as OpenTelemetry metrics in its JSON (OTLP), for collectors and dashboards; no package is needed.

Each number is a gauge. Its attributes say the slice and the model; the resource says where the numbers come from.
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Mapping

from steelyard.core.errors import MissingData
from steelyard.loggers.flat import Result, facts, flat, result_of
from steelyard.version import __version__


def metrics_json(
    result: Result, *, time: float | None = None, attributes: Mapping[str, str] | None = None,
    prefix: str = "steelyard/",
) -> str:  # fmt: skip
    """The body of an export request for `/v1/metrics`: one gauge for each number of `flat`.

    `time` is seconds since 1970, now where it is not given; `attributes` are put on the resource.
    """
    loaded = result_of(result)
    values = flat(loaded, prefix)
    if not values:
        raise MissingData("no score of the result is defined", remedy="Evaluate data that have one.")
    at = str(round((clock.time() if time is None else time) * 1e9))
    own = {"service.name": "steelyard", **facts(loaded), **(attributes or {})}
    gauges = [
        {"name": name, "gauge": {"dataPoints": [{"timeUnixNano": at, "asDouble": value}]}}
        for name, value in values.items()
    ]
    resource = {"attributes": [{"key": key, "value": {"stringValue": str(text)}} for key, text in own.items()]}
    scope = {"scope": {"name": "steelyard", "version": __version__}, "metrics": gauges}
    return json.dumps({"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}, ensure_ascii=False)
