"""The model that a spec names."""

from __future__ import annotations

from steelyard.core.errors import InputError
from steelyard.vlm.backend import Backend, ModelOptions


def open_backend(spec: str, options: ModelOptions) -> Backend:
    """The model that a spec names: `hf:FOLDER_OR_ID` or `openai:MODEL@URL`."""
    options.check()
    kind, colon, rest = spec.partition(":")
    if colon and rest and kind == "hf":
        from steelyard.vlm.hf import HuggingFace

        return HuggingFace(rest, options)
    if colon and rest and kind == "openai":
        from steelyard.vlm.openai import OpenAI

        return OpenAI(rest, options)
    raise InputError(f"'{spec}' is no model", remedy="Write hf:FOLDER_OR_ID or openai:MODEL@URL.")
