"""Maps of flow measured on a device: see `tasks.fields.device_errors`."""

from __future__ import annotations

from typing import Any

from steelyard.core.options import Options
from steelyard.tasks.fields.device_errors import ErrorCounter, error_counter
from steelyard.tasks.fields.presets import FLOW_PRESETS


def counter(options: Options, device: Any) -> ErrorCounter:
    """The counter of these options on a device."""
    return error_counter(options, FLOW_PRESETS, 2, device)
