"""Tiny models of several families with random weights, made on the spot and saved as their users save them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from support.lazy import lazy

torch = lazy("torch")
transformers = lazy("transformers")

PLATES = Path(str(files("steelyard") / "samples" / "vlm")) / "model"
TEMPLATE = (PLATES / "chat_template.jinja").read_text(encoding="utf-8")


def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(PLATES)


def text(tokens: Any, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokens), "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048,
        "pad_token_id": tokens.pad_token_id, "bos_token_id": 1, "eos_token_id": tokens.eos_token_id, **more,
    }  # fmt: skip


VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4}


def named(tokens: Any, template: str | None = None, **names: str) -> Any:
    """The same tokenizer with more special tokens, which it has under names, as those of their families have."""
    tokens.add_special_tokens({"additional_special_tokens": list(names.values())})
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens.backend_tokenizer, pad_token=tokens.pad_token, eos_token=tokens.eos_token,
        bos_token=tokens.bos_token or tokens.eos_token, extra_special_tokens=names, chat_template=template,
    )  # fmt: skip


def save(model: Any, place: Path, *parts: Any, scale: float = 0.3) -> Path:
    # Larger weights than the library draws: with its own, every reply would be the same token.
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
    model.save_pretrained(place)
    for part in parts:
        part.save_pretrained(place)
    return place


def llava(place: Path) -> Path:
    tokens = tokenizer()
    vision = {"model_type": "clip_vision_model", **VISION, "image_size": 28, "patch_size": 14, "projection_dim": 32}
    config = transformers.LlavaConfig(
        vision_config=vision, text_config={"model_type": "llama", **text(tokens)},
        image_token_id=tokens.convert_tokens_to_ids("<image>"), image_seq_length=4,
    )  # fmt: skip
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    processor = transformers.LlavaProcessor(
        images, tokens, patch_size=14, vision_feature_select_strategy="default", image_token="<image>",
        num_additional_image_tokens=1, chat_template=TEMPLATE,
    )  # fmt: skip
    return save(transformers.LlavaForConditionalGeneration(config), place, processor)


def _qwen(place: Path, config: Any, model: Any, images: Any, vision: dict[str, Any], rope: dict[str, Any]) -> Path:
    marks = {"image": "<|image_pad|>", "vision_start": "<|vision_start|>", "vision_end": "<|vision_end|>",
             "video": "<|video_pad|>"}  # fmt: skip
    template = TEMPLATE.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    tokens = named(tokenizer(), template, **{f"{name}_token": mark for name, mark in marks.items()})
    ids = {f"{name}_token_id": tokens.convert_tokens_to_ids(mark) for name, mark in marks.items()}
    made = config(vision_config=vision, text_config={**text(tokens), "rope_parameters": rope}, **ids)
    return save(model(made), place, images, tokens)


def qwen2_5_vl(place: Path) -> Path:
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32, "num_heads": 2, "patch_size": 14,
        "window_size": 56, "fullatt_block_indexes": [1],
    }  # fmt: skip
    images = transformers.Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=84 * 84)
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}
    kinds = transformers.Qwen2_5_VLConfig, transformers.Qwen2_5_VLForConditionalGeneration
    return _qwen(place, *kinds, images, vision, rope)


def qwen3_vl(place: Path) -> Path:
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32, "num_heads": 2, "patch_size": 14,
        "deepstack_visual_indexes": [0], "num_position_embeddings": 16,
    }  # fmt: skip
    images = transformers.Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=84 * 84)
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": True, "rope_theta": 1e4}
    kinds = transformers.Qwen3VLConfig, transformers.Qwen3VLForConditionalGeneration
    return _qwen(place, *kinds, images, vision, rope)


def gemma3(place: Path, window: int = 512) -> Path:
    tokens = tokenizer()
    names = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    tokens = named(tokens, **names)
    layers = ["sliding_attention", "full_attention"]
    config = transformers.Gemma3Config(
        vision_config={**VISION, "image_size": 28, "patch_size": 7},
        text_config=text(tokens, head_dim=8, sliding_window=window, layer_types=layers),
        mm_tokens_per_image=4, boi_token_index=tokens.boi_token_id, eoi_token_index=tokens.eoi_token_id,
        image_token_index=tokens.image_token_id,
    )  # fmt: skip
    images = transformers.Gemma3ImageProcessorPil(size={"height": 28, "width": 28})
    template = TEMPLATE.replace("<image>", "<start_of_image>")
    processor = transformers.Gemma3Processor(images, tokens, chat_template=template, image_seq_length=4)
    return save(transformers.Gemma3ForConditionalGeneration(config), place, processor, scale=0.15)


def paligemma(place: Path) -> Path:
    tokens = named(tokenizer(), image_token="<image>")
    images = transformers.SiglipImageProcessorPil(size={"height": 28, "width": 28})
    images.image_seq_length = 4
    processor = transformers.PaliGemmaProcessor(images, tokens)
    config = transformers.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **VISION, "image_size": 28, "patch_size": 14},
        text_config={"model_type": "gemma", **text(tokens, head_dim=8)}, projection_dim=32, hidden_size=32,
        image_token_index=processor.image_token_id,
    )  # fmt: skip
    return save(transformers.PaliGemmaForConditionalGeneration(config), place, processor)


def internvl(place: Path) -> Path:
    tokens = tokenizer()
    names = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    tokens = named(tokens, TEMPLATE.replace("<image>", "<IMG_CONTEXT>"), **names)
    config = transformers.InternVLConfig(
        vision_config={**VISION, "image_size": [28, 28], "patch_size": [7, 7]},
        text_config={"model_type": "qwen2", **text(tokens)}, image_token_id=tokens.context_image_token_id,
        image_seq_length=4,
    )  # fmt: skip
    images = transformers.GotOcr2ImageProcessorPil(
        size={"height": 28, "width": 28}, crop_to_patches=True, max_patches=4
    )
    place.mkdir()
    (place / "processor_config.json").write_text('{"image_seq_length": 4, "processor_class": "InternVLProcessor"}')
    return save(transformers.InternVLForConditionalGeneration(config), place, images, tokens)


SHARING = {f.__name__: f for f in (llava, qwen2_5_vl, qwen3_vl, gemma3, internvl)}
