"""The model that a spec names."""

from __future__ import annotations

from importlib.util import find_spec

from steelyard.core.errors import InvalidSetting
from steelyard.vlm.backend import Backend, ModelOptions
from steelyard.vlm.interfaces import INTERFACES


def open_backend(spec: str, options: ModelOptions) -> Backend:
    """The model that a spec names: `hf:FOLDER_OR_ID`, `openai:MODEL@URL`, `anthropic:MODEL` or `gemini:MODEL`."""
    options.check()
    kind, colon, rest = spec.partition(":")
    if colon and rest and kind == "hf":
        from steelyard.vlm.hf import HuggingFace
        from steelyard.vlm.small import SampleModel, is_sample_model

        if not all(map(find_spec, ("torch", "transformers"))) and is_sample_model(rest):
            return SampleModel(rest, options)
        return HuggingFace(rest, options)
    if colon and rest and kind in INTERFACES:
        from steelyard.vlm.server import Server

        return Server(kind, rest, options)
    raise InvalidSetting(
        f"'{spec}' is not a model", remedy="Write hf:FOLDER_OR_ID, openai:MODEL@URL, anthropic:MODEL or gemini:MODEL."
    )
