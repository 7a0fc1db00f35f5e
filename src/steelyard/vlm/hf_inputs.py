"""From texts and images to a model's inputs: the chat template, the picture's tokens, padding on the left.

The call that holds across versions has two steps: the template gives text, then text and images are encoded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError


def messages_of(texts: Sequence[str]) -> list[dict[str, Any]]:
    """A conversation as chat templates take it; the picture comes first in the first turn."""
    messages: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if i == 0:
            content.insert(0, {"type": "image"})
        messages.append({"role": "assistant" if i % 2 else "user", "content": content})
    return messages


class Inputs:
    """Inputs through the model's own processor."""

    def __init__(self, processor: Any, tokenizer: Any, image_token: str) -> None:
        self.processor, self.tokenizer, self.image_token = processor, tokenizer, image_token
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token

    def render(self, texts: Sequence[str]) -> str:
        """The conversation as the model reads it, up to where it speaks."""
        rendered: str = self.processor.apply_chat_template(
            messages_of(texts), add_generation_prompt=True, tokenize=False
        )
        if rendered.count(self.image_token) != 1 and self.image_token not in "".join(texts):
            raise InputError("the chat template does not place the image", remedy="Such a model cannot be asked here.")
        return rendered

    def cut(self, text: str) -> tuple[str, str]:
        """A rendered text up to the end of the picture's mark, and behind it."""
        head, mark, tail = text.partition(self.image_token)
        return head + mark, tail

    def tokens(self, text: str) -> list[int]:
        """A text's tokens, without any that mark a beginning."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def encode(self, texts: Sequence[str], images: Sequence[Any]) -> Any:
        """Tensors for a batch: one image a text."""
        encoded = self.processor(
            text=list(texts), images=[[image] for image in images], padding=True, return_tensors="pt"
        )
        encoded.pop("token_type_ids", None)
        return encoded


class QwenInputs(Inputs):
    """Inputs of the Qwen-VL family, whose processor asks for more than is needed to show a picture."""

    def __init__(self, image_processor: Any, tokenizer: Any) -> None:
        super().__init__(tokenizer, tokenizer, "<|image_pad|>")
        self.image_processor = image_processor

    def encode(self, texts: Sequence[str], images: Sequence[Any]) -> Any:
        """Each picture's mark is repeated once for every patch that the model sees."""
        encoded = self.image_processor(images=list(images), return_tensors="pt")
        merged = self.image_processor.merge_size**2
        written = []
        for text, grid in zip(texts, encoded["image_grid_thw"], strict=True):
            head, tail = self.cut(text)
            written.append(head + self.image_token * (int(grid.prod()) // merged - 1) + tail)
        for name, values in self.tokenizer(written, padding=True, return_tensors="pt").items():
            if name != "token_type_ids":
                encoded[name] = values
        mark = self.tokenizer.convert_tokens_to_ids(self.image_token)
        encoded["mm_token_type_ids"] = (encoded["input_ids"] == mark).long()
        return encoded


def open_inputs(folder: Path, family: str) -> Inputs:
    """The inputs of a model's family."""
    from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer

    try:
        if family.startswith("qwen"):
            return QwenInputs(AutoImageProcessor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
        processor = AutoProcessor.from_pretrained(folder)
        token = processor.image_token
        return Inputs(processor, processor.tokenizer, getattr(token, "content", token))
    except (OSError, ValueError, ImportError, AttributeError) as error:
        first = str(error).strip().splitlines()[:1]
        raise InputError(f"the processor cannot be loaded: {''.join(first)}", where=str(folder)) from None
