"""From texts and images to a model's inputs: the chat template, the pictures' tokens, padding on the left.

The call that holds across versions has two steps: the template gives text, then text and images are encoded together.
A processor that wants torchvision for videos alone is put together without it: no video is ever given to a model.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InvalidSetting, Unsupported
from steelyard.vlm.hf_load import first_line


def messages_of(texts: Sequence[str], pictures: int = 1) -> list[dict[str, Any]]:
    """A conversation as chat templates take it; the pictures come first in the first turn."""
    messages: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if i == 0:
            content = [{"type": "image"}] * pictures + content
        messages.append({"role": "assistant" if i % 2 else "user", "content": content})
    return messages


class Inputs:
    """Inputs through a model's processor. `chats` says whether the model has a template for turns."""

    def __init__(self, processor: Any) -> None:
        self.processor, self.tokenizer = processor, processor.tokenizer
        mark = getattr(processor, "image_token", None)
        self.mark = str(getattr(mark, "content", mark) or "")
        self.chats = bool(getattr(processor, "chat_template", None) or getattr(self.tokenizer, "chat_template", None))
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token

    @property
    def pad(self) -> int:
        """The token that fills rows up."""
        return int(self.tokenizer.pad_token_id or 0)

    def render(self, texts: Sequence[str], pictures: int = 1) -> str:
        """The conversation as the model reads it, up to where it speaks.

        Without a template the turns stand in lines, the pictures' marks before them.
        """
        if self.mark and any(self.mark in text for text in texts):
            raise InvalidSetting(f"the text holds '{self.mark}', which stands for a picture", remedy="Take it out.")
        if not self.chats:
            return self.mark * pictures + "\n".join(texts)
        rendered: str = self.processor.apply_chat_template(
            messages_of(texts, pictures), add_generation_prompt=True, tokenize=False
        )
        if self.mark and rendered.count(self.mark) != pictures:
            raise Unsupported("the chat template does not place the image", remedy="Such a model cannot be asked here.")
        return rendered

    def cut(self, text: str) -> tuple[str, str]:
        """A rendered text up to the end of the last picture's mark, and behind it."""
        head, mark, tail = text.rpartition(self.mark)
        return head + mark, tail

    def behind(self, tail: str) -> list[int] | None:
        """The tokens of a text that stands behind a picture's mark; None if the mark is not a token of its own."""
        ids: list[int] = self.tokenizer(self.mark + tail, add_special_tokens=False)["input_ids"]
        alone = self.tokenizer.convert_tokens_to_ids(self.mark)
        return ids[1:] if ids and ids[0] == alone and alone != self.tokenizer.unk_token_id else None

    def encode(self, texts: Sequence[str], images: Sequence[Sequence[Any]]) -> Any:
        """Tensors for a batch: for each text its images."""
        try:
            encoded = self.processor(
                text=list(texts), images=[list(shown) for shown in images], padding=True, return_tensors="pt"
            )
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise Unsupported(f"the model's processor does not take the question: {first_line(error)}") from None
        encoded.pop("labels", None)
        return encoded


def open_inputs(folder: Path, family: str, trusted: bool = False) -> Inputs:
    """The inputs of a model."""
    from transformers import AutoProcessor

    try:
        try:
            processor = AutoProcessor.from_pretrained(folder, trust_remote_code=trusted)
        except (ImportError, ValueError, OSError) as error:
            processor = _without_videos(folder, family)
            if processor is None:
                raise error from None
        if not hasattr(processor, "tokenizer"):
            processor = _without_videos(folder, family) or processor
        return Inputs(processor)
    except Exception as error:  # each part of the library has errors of its own
        raise InvalidSetting(f"the processor cannot be loaded: {first_line(error)}", where=str(folder)) from None


class _NoVideos:
    """Stands where a video processor is wanted. It has what is looked at before a video is given."""

    merge_size = num_frames = 1
    temporal_patch_size = 1
    video_sampling: dict[str, int] = {"fps": 1, "max_frames": 1, "video_size": 1}
    model_input_names: tuple[str, ...] = ()


def _without_videos(folder: Path, family: str) -> Any:
    """A family's processor that has no part for videos; None where the library has no such family."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    kind = getattr(transformers, PROCESSOR_MAPPING_NAMES.get(family) or "", None)
    if kind is None:
        return None

    def check(self: Any, name: str, part: Any) -> Any:
        return None if isinstance(part, _NoVideos) else kind.check_argument_for_proper_class(self, name, part)

    plain = type(kind.__name__, (kind,), {"check_argument_for_proper_class": check})
    parts = []
    for name in kind.get_attributes():
        if name == "tokenizer":
            parts.append(transformers.AutoTokenizer.from_pretrained(folder))
        elif name == "image_processor":
            parts.append(transformers.AutoImageProcessor.from_pretrained(folder))
        elif name == "video_processor":
            parts.append(_NoVideos())
        else:
            return None
    return plain(**dict(zip(kind.get_attributes(), parts, strict=True)), **_settings(kind, folder))


def _settings(kind: Any, folder: Path) -> dict[str, Any]:
    """What a folder says of its processor, as far as the class takes it: its own file, and its chat template."""
    try:
        held = dict(kind.get_processor_dict(folder)[0])
    except OSError:  # there is no such file
        held = {}
    wanted = set(inspect.signature(kind.__init__).parameters) - set(kind.get_attributes())
    return {name: value for name, value in held.items() if name in wanted}
