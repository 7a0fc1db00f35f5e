"""The vision-language runner: its own cost per reading, resuming a million readings, and sharing a picture's encoding.

python benchmarks/bench_vlm.py [--device cuda]

On a GPU a model of realistic size is asked: the layers of SmolVLM's 2.2 billion, with random weights.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from measure import Run, record, sized

from steelyard.vlm.backend import Conversation, ModelOptions, Reply
from steelyard.vlm.frames import Frame, read_frames
from steelyard.vlm.images import Picture
from steelyard.vlm.journal import NAME, Journal, JournalEntry, Turn, text_digest
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.run import run

DEVICE = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu"
SAMPLE = Path(str(files("steelyard") / "samples" / "vlm"))


class Instant:
    """A model that costs nothing: what is left is the runner's own."""

    label = fingerprint = "instant"
    settings: dict[str, int] = {}
    environment: dict[str, int] = {}
    batch, pictures, workers = 16, 0, 1

    def generate(self, conversations):
        return [Reply("245")] * len(conversations)

    def close(self) -> None:
        pass


def overhead() -> None:
    frames = tuple(
        Frame(f"s{i // 10}", i % 10, "", "rice", 100.0, picture=Picture(f"{i:064x}", 8, 8))
        for i in range(sized(5000, 100))
    )
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        done = run(frames, Instant(), tuple(PROMPTS.values()), folder).done
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    record("Runner of vision-language models", f"steelyard, {done:,} readings", Run(cpu, wall, 0))
    print(
        "\nThe runner's own cost, journal brought to disk after each batch of 16 (goal: under 0.1 CPU ms per reading)"
    )
    print(f"  {done:,} readings: {1000 * cpu / done:.3f} CPU ms and {1000 * wall / done:.3f} ms per reading")


def resume(readings: int = sized(1_000_000, 1000)) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prompt = PROMPTS["reason+name"].text
        turn = Turn(prompt, "245.3", "stop", {"prompt_tokens": 900, "completion_tokens": 5}, 1.2345)
        line = JournalEntry("0" * 32, "hf:model", "reason+name", "f" * 64, (turn,)).line()
        with open(Path(folder) / NAME, "wb") as file:
            file.write(
                json.dumps({"text": text_digest(prompt), "body": prompt}, separators=(",", ":")).encode() + b"\n"
            )
            for number in range(readings):
                file.write(line.replace(b"0" * 32, b"%032x" % number, 1))
        size = os.path.getsize(Path(folder) / NAME)
        cpu, wall = time.process_time(), time.perf_counter()
        with Journal(Path(folder)) as journal:
            resumed = len(journal.done)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    name = f"steelyard, a journal of {resumed:,} readings resumes"
    record("Runner of vision-language models", name, Run(cpu, wall, 0))
    print(f"\nA journal of {resumed:,} readings ({size / 1e6:.0f} MB) resumes (goal: under 5 s)")
    print(f"  {cpu:.2f} CPU s, {wall:.2f} s")


def enlarged(folder: Path, side: int) -> str:
    """The plate model's layers with random weights, for pictures that take their usual share of a conversation."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(SAMPLE / "model")
    config.vision_config.image_size = side
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    processor = AutoProcessor.from_pretrained(SAMPLE / "model")
    processor.image_seq_len = (side // 28) ** 2
    processor.image_processor.size = processor.image_processor.max_image_size = {"longest_edge": side}
    processor.save_pretrained(folder)
    return f"hf:{folder}"


def realistic(folder: Path) -> str:
    """A language model of 1.6 billion weights and a picture encoder of 0.4, random; a picture takes 576 tokens."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

    torch.manual_seed(0)
    side = 672
    config = AutoConfig.from_pretrained(SAMPLE / "model")
    text, vision = config.text_config, config.vision_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = 2048, 8192, 24
    text.num_attention_heads = text.num_key_value_heads = 32
    text.head_dim, text.max_position_embeddings = 64, 4096
    vision.hidden_size, vision.intermediate_size, vision.num_hidden_layers = 1152, 4304, 27
    vision.num_attention_heads, vision.image_size = 16, side
    with torch.device(DEVICE):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    print(f"\n{sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion random weights")
    processor = AutoProcessor.from_pretrained(SAMPLE / "model")
    processor.image_seq_len = (side // 28) ** 2
    processor.image_processor.size = processor.image_processor.max_image_size = {"longest_edge": side}
    processor.save_pretrained(folder)
    return f"hf:{folder}"


def sharing(model: str, frames, batch: int, title: str, dtype: str = "float32", tokens: int = 6) -> None:
    """The same questions, prompt by prompt without sharing, and with all prompts of a picture at once."""
    print(f"\n{title}: {len(frames)} frames × 4 prompts, {batch} pictures per batch")
    print(f"  {tokens} tokens per reply, {dtype}, {DEVICE}")
    prompts = tuple(PROMPTS.values())
    cost, said = {}, {}
    for name, share, rounds in (("four runs", False, [(p,) for p in prompts]), ("one run, shared", True, [prompts])):
        backend = open_backend(
            model, ModelOptions(share=share, batch=batch, device=DEVICE, dtype=dtype, max_tokens=tokens)
        )
        best = (float("inf"), float("inf"))
        for _ in range(2):
            cpu, wall = time.process_time(), time.perf_counter()
            for chosen in rounds:
                for i in range(0, len(frames), batch):
                    asked = [(f, p) for f in frames[i : i + batch] for p in chosen]
                    replies = backend.generate([Conversation(f.picture, (p.render(f.food),)) for f, p in asked])
                    for (f, p), reply in zip(asked, replies, strict=True):
                        said.setdefault((f.sequence, f.t, p.name), set()).add(reply.text)
            best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
        backend.close()
        cost[name] = best
        record(title, f"steelyard, {name}", Run(*best, 0))
        print(f"  {name:<24} {best[0]:8.2f} CPU s {best[1]:8.2f} s")
    ours, other = cost["one run, shared"], cost["four runs"]
    print(f"  {'ratio':<24} {other[0] / ours[0]:8.2f} ×     {other[1] / ours[1]:8.2f} ×")
    print(f"  replies that differ: {sum(len(texts) > 1 for texts in said.values())} of {len(said)}")


def main() -> None:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        torch = None
    overhead()
    resume()
    if torch is None:
        print("\nsharing: not run, transformers is not installed")
        record("The plate model", "steelyard, one run, shared", "transformers is not installed")
        return
    frames = read_frames(SAMPLE / "frames.csv")[: sized(10**6, 2)]
    if DEVICE != "cpu":
        with tempfile.TemporaryDirectory() as folder:
            model = realistic(Path(folder))
            for batch, tokens in ((4, 6), (4, 64), (8, 6)):
                sharing(model, frames, batch, "A model of realistic size", "bfloat16", tokens)
            sharing(model, frames[:8], 4, "The same in single precision", "float32", 6)
        return
    torch.set_num_threads(1)
    sharing(f"hf:{SAMPLE / 'model'}", frames, 4, "The plate model, whose picture is 8 of about 110 tokens")
    with tempfile.TemporaryDirectory() as folder:
        title = "The same layers with pictures of 448 pixels, 260 of about 360 tokens (goal: 2.5 × or more)"
        sharing(enlarged(Path(folder), 448), frames[:12], 4, title)


if __name__ == "__main__":
    main()
