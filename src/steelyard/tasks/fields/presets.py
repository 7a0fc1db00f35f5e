"""Presets of disparity and flow, the options of both, and how options become joined pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.errors import Conflict
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.tasks.fields.data import join_fields, readings_of
from steelyard.tasks.fields.errors import ErrorPairs
from steelyard.tasks.fields.options import COMMON, Chosen, preset_option

Presets = Mapping[str, Mapping[str, Any]]
SPRING = {"several": True, "average": "pixel"}
DISPARITY_PRESETS: Presets = {
    "kitti2015": {"rule": "kitti", "holes": "fill", "average": "pixel", "defaults": ("d1", "epe", "density")},
    "kitti2012": {"rule": "kitti", "holes": "fill", "average": "image", "defaults": ("bad@3", "epe", "density")},
    "middlebury": {
        "holes": "outlier",
        "average": "image",
        "mask_value": 255.0,
        "defaults": ("bad@2", "epe", "rms", "density"),
    },
    "eth3d": {
        "holes": "skip",
        "average": "image",
        "mask_value": 255.0,
        "defaults": ("bad@1", "epe", "rms", "a@90", "density"),
    },
    "sintel": {"average": "pixel", "sintel": True, "mask_marks_invalid": True},
    "things": {"average": "pixel", "below": 192.0, "defaults": ("epe", "bad@1", "bad@3")},
    "spring": {**SPRING, "defaults": ("bad@1", "epe", "d1")},
}
FLOW_PRESETS: Presets = {
    "kitti2015": {"rule": "kitti", "holes": "fill", "average": "pixel", "defaults": ("fl", "epe", "density")},
    "kitti2012": {"rule": "kitti", "holes": "fill", "average": "image", "defaults": ("bad@3", "epe", "density")},
    "sintel": {
        "average": "pixel",
        "mask_marks_invalid": True,
        "defaults": ("epe", "epe(of=s0-10)", "epe(of=s10-40)", "epe(of=s40+)"),
    },
    "things": {"average": "pixel"},
    "spring": {**SPRING, "defaults": ("bad@1", "epe", "fl", "wauc")},
    "raft": {"average": "pixel", "defaults": ("epe(average=image)", "fl(average=pixel)")},
    "viper": {"average": "pixel", "limit": 512.0, "defaults": ("wauc", "epe")},
}
HOLES = Option(
    "holes",
    "choice",
    "Treat pixels without an estimate as outliers, as good, skip them, or fill them as KITTI does.",
    default="outlier",
    choices=("outlier", "good", "skip", "fill"),
    sides=False,
)
DISPARITY_OPTIONS = (
    preset_option(DISPARITY_PRESETS),
    HOLES,
    Option(
        "negate",
        "choice",
        "Change the sign of predictions, which some models write negative.",
        default="no",
        choices=("no", "yes"),
        sides=False,
    ),
    Option(
        "max_disparity",
        "number",
        "Clip predictions to between 0 and this number, in pixels of the prediction.",
        minimum=0,
        sides=False,
        metavar="PIXELS",
    ),
    Option(
        "round", "choice", "Round predictions to whole disparities.", default="no", choices=("no", "yes"), sides=False
    ),
    *COMMON,
)
FLOW_OPTIONS = (
    preset_option(FLOW_PRESETS),
    HOLES,
    Option("negate", "choice", "Change the sign of predictions.", default="no", choices=("no", "yes"), sides=False),
    *COMMON,
)


def join_disparity(truth: Records, prediction: Records, policy: Policy, options: Options) -> ErrorPairs:
    """Join maps of disparity by image."""
    return _join(truth, prediction, policy, Chosen.from_presets(options, DISPARITY_PRESETS), 1)


def join_flow(truth: Records, prediction: Records, policy: Policy, options: Options) -> ErrorPairs:
    """Join maps of flow by image."""
    return _join(truth, prediction, policy, Chosen.from_presets(options, FLOW_PRESETS), 2)


def _join(truth: Records, prediction: Records, policy: Policy, chosen: Chosen, channels: int) -> ErrorPairs:
    return join_fields(ErrorPairs, truth, prediction, policy, **error_settings(chosen, channels))


def error_settings(chosen: Chosen, channels: int) -> dict[str, Any]:
    """The fields of `ErrorPairs` that options and the preset set."""
    disparity = channels == 1
    several = bool(chosen.setting("several", False))
    if several and chosen.of("resize") != "off":
        raise Conflict(
            "the preset spring compares pixels with two by two truths", remedy="Leave out the option `resize`."
        )
    readings = readings_of(
        chosen,
        "disparity" if disparity else "flow",
        channels,
        sintel=bool(chosen.setting("sintel", False)),
        limit=chosen.setting("limit"),
    )
    return {
        "readings": readings,
        "resize": chosen.of("resize"),
        "mask_value": chosen.setting("mask_value"),
        "mask_marks_invalid": chosen.setting("mask_marks_invalid", False),
        "channels": channels,
        "holes": chosen.of("holes"),
        "average": chosen.setting("average", "pixel"),
        "rule": chosen.setting("rule", "exact"),
        "preset": chosen.name,
        "changed": ", ".join(chosen.changed()),
        "several": several,
        "negate": chosen.of("negate") == "yes",
        "clip": chosen.of("max_disparity") if disparity else None,
        "round": disparity and chosen.of("round") == "yes",
        "below": chosen.setting("below"),
    }


def disparity_defaults(metadata: Metadata) -> tuple[str, ...]:
    """What a report of disparity shows."""
    return _defaults(DISPARITY_PRESETS, metadata, ("epe", "d1", "bad@1", "bad@2", "density"))


def flow_defaults(metadata: Metadata) -> tuple[str, ...]:
    """What a report of flow shows."""
    return _defaults(FLOW_PRESETS, metadata, ("epe", "fl", "bad@1", "wauc"))


def _defaults(presets: Presets, metadata: Metadata, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    specs: tuple[str, ...] = presets.get(metadata.flags["preset"], {}).get("defaults", otherwise)
    return specs


__all__ = [
    "DISPARITY_OPTIONS",
    "DISPARITY_PRESETS",
    "FLOW_OPTIONS",
    "FLOW_PRESETS",
    "disparity_defaults",
    "flow_defaults",
    "join_disparity",
    "join_flow",
]
