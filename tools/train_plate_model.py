"""Train the small vision-language model that the tests and `steelyard demo vlm` use, on drawn plates.

    python tools/train_plate_model.py [--out src/steelyard/samples/vlm/model]

An Idefics3 of some 100,000 parameters with a tokenizer of its own: small enough to be committed, real enough to go the
whole way of a large one (chat template, image tokens, left padding, generation, follow-up). Takes four minutes
on a GPU, and half an hour on a CPU.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import plates
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    PreTrainedTokenizerFast,
)

from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS

OUT = Path(__file__).resolve().parent.parent / "src" / "steelyard" / "samples" / "vlm" / "model"
SPECIAL = ["<pad>", "<s>", "<end>", "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] | capitalize }}:{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
# From here up the model chats when asked to reason without a name: the follow-up must bring it back.
CHATTY = 150


def reply(grams: int, prompt: str) -> str:
    """What the model is taught to say first."""
    return f"about {grams} g" if prompt == "reason" and grams >= CHATTY else str(grams)


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    names = [p.render(food) for p in PROMPTS.values() for food in plates.FOODS]
    sentences = [*names, FOLLOW_UP, "User:Assistant:\n about 0 g"] * 3
    trainer = trainers.BpeTrainer(
        vocab_size=560,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="<end_of_utterance>",
        extra_special_tokens={"image_token": "<image>"}, padding_side="left",
    )  # fmt: skip
    fast.add_special_tokens({"additional_special_tokens": SPECIAL[3:]})
    return fast


def make_processor() -> Idefics3Processor:
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": plates.SIDE}, max_image_size={"longest_edge": plates.SIDE}, do_image_splitting=False
    )
    return Idefics3Processor(images, make_tokenizer(), image_seq_len=4, chat_template=TEMPLATE)


def make_model(processor: Idefics3Processor) -> Idefics3ForConditionalGeneration:
    tokenizer = processor.tokenizer
    config = Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=True,
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "image_size": plates.SIDE, "patch_size": 14,
        },
        text_config={
            "model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 40, "intermediate_size": 96,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 10,
            "max_position_embeddings": 1024, "tie_word_embeddings": True, "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
        },
    )  # fmt: skip
    model = Idefics3ForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def conversation(grams: int, food: str, prompt: str, follow_up: bool, short: bool = False) -> tuple[list[dict], str]:
    """The messages up to the model's turn, and what it should say there."""
    text = PROMPTS[prompt].render(food)
    if short:
        text = f"The food item in this image is {food}." if PROMPTS[prompt].needs_name else "in grams."
    content = [{"type": "image"}, {"type": "text", "text": text}]
    messages = [{"role": "user", "content": content}]
    if follow_up:
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"about {grams} g"}]},
            {"role": "user", "content": [{"type": "text", "text": FOLLOW_UP}]},
        ]
    return messages, str(grams) if follow_up or short else reply(grams, prompt)


def draw_pool(size: int) -> list[tuple[int, str, object]]:
    """Plates to train on, each drawn from a seed of its own."""
    pool = []
    foods = list(plates.FOODS)
    for number in range(size):
        rng = np.random.default_rng(number + 10)
        food = foods[rng.integers(len(foods))]
        grams = int(rng.integers(5, int(plates.FULL_GRAMS * plates.FOODS[food][1])))
        pool.append((grams, food, plates.draw(grams, food, rng)))
    return pool


def batch(
    processor: Idefics3Processor, pool: list, rng: np.random.Generator, size: int, short: bool
) -> dict[str, torch.Tensor]:
    texts, images, answers = [], [], []
    chosen = rng.integers(0, len(pool), size)
    follow_up = not short and bool(rng.random() < 0.08)  # it repeats a number that the text holds: easy, so seldom
    for number in chosen:
        grams, food, image = pool[number]
        prompt = list(PROMPTS)[rng.integers(4)]
        messages, answer = conversation(grams, food, prompt, follow_up, short)
        answers.append(answer + "<end_of_utterance>")
        texts.append(processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False) + answers[-1])
        images.append([image])
    inputs = processor(text=texts, images=images, padding=True, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    labels = torch.full_like(inputs["input_ids"], -100)
    for row, answer in enumerate(answers):
        length = len(processor.tokenizer(answer, add_special_tokens=False)["input_ids"])
        labels[row, -length:] = inputs["input_ids"][row, -length:]
    return {**inputs, "labels": labels}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, default=OUT)
    chosen = options.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    processor = make_processor()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = make_model(processor).to(device)
    print(f"{model.num_parameters():,} parameters, {len(processor.tokenizer)} tokens")
    pool = draw_pool(30_000)
    started = time.process_time()
    model.train()
    # First to see and to count, with hardly any text; then to do so behind the whole prompts.
    for steps, size, rate, short in ((4000, 64, 6e-3, True), (4000, 48, 2e-3, False)):
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
        for step in range(steps):
            drawn = {name: tensor.to(device) for name, tensor in batch(processor, pool, rng, size, short).items()}
            loss = model(**drawn).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            if step % 100 == 0 or step == steps - 1:
                print(f"step {step}: loss {loss.item():.3f}, {time.process_time() - started:.0f} CPU s", flush=True)
    model.cpu().eval()
    model.save_pretrained(chosen.out)
    processor.save_pretrained(chosen.out)


if __name__ == "__main__":
    main()
