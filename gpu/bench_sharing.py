"""Sharing a picture among four questions, for three families with random weights of realistic size.

python gpu/bench_sharing.py [--device cuda] [--small]

It needs torch and transformers, and nothing else: neither tokenizers nor pictures, whose tokens and pixels are drawn.
What is measured is the way of `steelyard vlm run`: all questions about a picture go on from its cache, against four
runs that each encode every picture again. Drawing the pixels is not measured.
"""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.feature_extraction_utils import BatchFeature

SOURCE = Path(__file__).resolve().parent.parent / "src" / "steelyard"
if "steelyard" not in sys.modules:  # only modules that are plain Python are used: no build is needed
    package = types.ModuleType("steelyard")
    package.__path__ = [str(SOURCE)]
    sys.modules["steelyard"] = package

from steelyard.vlm.hf import Sharing  # noqa: E402

DEVICE = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu"
SMALL = "--small" in sys.argv or DEVICE == "cpu"
VOCABULARY, IMAGE, PAD = 32_000, 7, 0
PICTURES, TAILS, BEFORE = 4, (110, 90, 130, 60), 12  # tokens of the four questions; those before a picture
GOAL = 2.5
DRAWN: dict[Any, Any] = {}


class Drawn:
    """Inputs as `Sharing` wants them: a text is the number of its question, and its tokens are drawn."""

    pad = PAD

    def __init__(self, tokens: int, pixels: Any, types_of: Any = None) -> None:
        self._tokens, self._pixels, self._types = tokens, pixels, types_of
        drawn = torch.Generator().manual_seed(3)
        self._tails = [torch.randint(10, VOCABULARY, (n,), generator=drawn).tolist() for n in TAILS]
        self._before = torch.randint(10, VOCABULARY, (BEFORE,), generator=drawn).tolist()

    def cut(self, text: str) -> tuple[str, str]:
        return "", text

    def behind(self, tail: str) -> list[int]:
        return self._tails[int(tail)]

    def encode(self, texts: list[str], images: list[Any]) -> BatchFeature:
        rows = [[*self._before, *[IMAGE] * self._tokens, *self._tails[int(text)]] for text in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([[PAD] * (longest - len(row)) + row for row in rows])
        data = {"input_ids": ids, "attention_mask": (ids != PAD).long(), **self._pixels(images)}
        if self._types:
            data[self._types] = (ids == IMAGE).long()
        return BatchFeature(data)


def sized(realistic: dict[str, int], small: dict[str, int]) -> dict[str, int]:
    return {**realistic, **small} if SMALL else realistic


def text(**more: Any) -> dict[str, Any]:
    return {"vocab_size": VOCABULARY, "pad_token_id": PAD, "bos_token_id": 1, "eos_token_id": 2, **more}


def llava() -> tuple[Any, Any, Drawn]:
    side, patch = 336, 14
    vision = sized({"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
                   {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4})  # fmt: skip
    words = sized({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 32,
                   "num_key_value_heads": 32, "max_position_embeddings": 4096},
                  {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 4})  # fmt: skip
    config = transformers.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", **vision, "image_size": side, "patch_size": patch, "projection_dim": 64},
        text_config={"model_type": "llama", **text(**words)}, image_token_id=IMAGE, image_seq_length=(side // patch) ** 2,
    )  # fmt: skip
    inputs = Drawn(
        (side // patch) ** 2, lambda shown: {"pixel_values": torch.stack([noise(one, 3, side, side) for one in shown])}
    )
    return transformers.LlavaForConditionalGeneration, config, inputs


def qwen2_5_vl() -> tuple[Any, Any, Drawn]:
    grid = 16 if SMALL else 48  # patches of 14 pixels on a side; four make a token
    vision = sized({"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 2048, "num_heads": 16},
                   {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 64, "num_heads": 4})  # fmt: skip
    words = sized({"hidden_size": 2048, "intermediate_size": 11_008, "num_hidden_layers": 36, "num_attention_heads": 16,
                   "num_key_value_heads": 2, "max_position_embeddings": 8192},
                  {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 2})  # fmt: skip
    section = [2, 3, 3] if SMALL else [16, 24, 24]
    config = transformers.Qwen2_5_VLConfig(
        vision_config={**vision, "patch_size": 14, "window_size": 112, "fullatt_block_indexes": [1] if SMALL else [7, 15, 23, 31]},
        text_config=text(**words, rope_parameters={"rope_type": "default", "mrope_section": section, "rope_theta": 1e6}),
        image_token_id=IMAGE, video_token_id=8, vision_start_token_id=5, vision_end_token_id=6,
    )  # fmt: skip

    def pixels(shown: list[Any]) -> dict[str, Any]:
        values = torch.cat([noise(one, grid * grid, 3 * 2 * 14 * 14) for one in shown])
        return {"pixel_values": values, "image_grid_thw": torch.tensor([[1, grid, grid]] * len(shown))}

    inputs = Drawn(grid * grid // 4, pixels, "mm_token_type_ids")
    return transformers.Qwen2_5_VLForConditionalGeneration, config, inputs


def gemma3() -> tuple[Any, Any, Drawn]:
    side, tokens = (112, 16) if SMALL else (896, 256)
    vision = sized({"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16},
                   {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4})  # fmt: skip
    words = sized({"hidden_size": 2560, "intermediate_size": 10_240, "num_hidden_layers": 34, "num_attention_heads": 8,
                   "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 8192, "sliding_window": 1024},
                  {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 2, "head_dim": 16})  # fmt: skip
    config = transformers.Gemma3Config(
        vision_config={**vision, "image_size": side, "patch_size": 14}, text_config=text(**words), mm_tokens_per_image=tokens,
        boi_token_index=5, eoi_token_index=6, image_token_index=IMAGE,
    )  # fmt: skip
    inputs = Drawn(
        tokens,
        lambda shown: {"pixel_values": torch.stack([noise(one, 3, side, side) for one in shown])},
        "token_type_ids",
    )
    return transformers.Gemma3ForConditionalGeneration, config, inputs


def noise(shown: list[int], *shape: int) -> Any:
    """The pixels of a picture, which is a number; drawn once."""
    if (shown[0], shape) not in DRAWN:
        DRAWN[shown[0], shape] = torch.randn(*shape, generator=torch.Generator().manual_seed(shown[0]))
    return DRAWN[shown[0], shape]


def ask(model: Any, sharing: Sharing, asked: list[tuple[int, int]], share: bool, tokens: int) -> list[list[int]]:
    """The replies to pairs of picture and question."""
    texts, shown = [str(question) for _, question in asked], [[picture] for picture, _ in asked]
    with torch.inference_mode():
        given = sharing.inputs(texts, [picture for picture, _ in asked], shown) if share else None
        assert given is not None or not share, "it cannot share"
        given = given or sharing.encode(texts, shown)
        made = model.generate(**given, do_sample=False, min_new_tokens=tokens, max_new_tokens=tokens, pad_token_id=PAD)
        sharing.release()
        new: list[list[int]] = made[:, given["input_ids"].shape[1] :].tolist()
    return new


def measure(model: Any, inputs: Drawn, tokens: int, batches: int) -> tuple[float, float, int]:
    """Seconds of four runs and of one that shares, and how many replies differ."""
    sharing = Sharing(torch, model, inputs, tokens)  # type: ignore[arg-type]
    seconds, said = {}, {}
    for share in (False, True):
        best = float("inf")
        for _ in range(3):
            wait()
            started = time.perf_counter()
            replies: dict[tuple[int, int], list[int]] = {}
            for batch in range(batches):
                pictures = [batch * PICTURES + place for place in range(PICTURES)]
                sharing.kept = None
                rounds = (
                    [[(p, q) for p in pictures for q in range(4)]]
                    if share
                    else [[(p, q) for p in pictures] for q in range(4)]
                )
                for asked in rounds:
                    replies |= dict(zip(asked, ask(model, sharing, asked, share, tokens), strict=True))
            wait()
            best = min(best, time.perf_counter() - started)
        seconds[share], said[share] = best, replies
    differing = sum(said[False][key] != said[True][key] for key in said[True])
    return seconds[False], seconds[True], differing


def wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE
    print(
        f"Sharing a picture among four questions: {name}, torch {torch.__version__}, transformers {transformers.__version__}"
    )
    print(f"random weights{', small: no figure means anything' if SMALL else ''}; {PICTURES} pictures per batch")
    transformers.utils.logging.set_verbosity_error()
    for make in (llava, qwen2_5_vl, gemma3):
        kind, config, inputs = make()
        for dtype in (torch.float32,) if SMALL else (torch.bfloat16, torch.float32):
            torch.manual_seed(0)
            before = torch.get_default_dtype()
            torch.set_default_dtype(dtype)
            with torch.device(DEVICE):
                model = kind(config).eval()
            torch.set_default_dtype(before)
            count = sum(parameter.numel() for parameter in model.parameters())
            print(f"\n{make.__name__}, {count / 1e9:.2f} billion weights, {inputs._tokens} tokens per picture, {dtype}")
            for tokens in (4,) if SMALL else (6, 64) if dtype == torch.bfloat16 else (6,):
                plain, shared, differing = measure(model, inputs, tokens, 1 if SMALL else 3)
                enough = "" if plain / shared >= GOAL or SMALL else f", below the goal of {GOAL}"
                print(f"  {tokens:2} tokens per reply: four runs {plain:7.3f} s, shared {shared:7.3f} s, ratio {plain / shared:.2f}{enough}; "
                      f"replies that differ: {differing} of {12 * 4 if not SMALL else 16}", flush=True)  # fmt: skip
            del model
            if DEVICE == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
