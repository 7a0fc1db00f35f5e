"""The model of the sample in NumPy: `steelyard demo vlm` needs no PyTorch.

It is an Idefics3 of 100,000 parameters (see README.md in its folder): a vision transformer, a projection of every 2 × 2
patches to one token, and a Llama of two layers. Its replies are those of the transformers library. Any other model
needs the extra `vlm-local`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.records import Array
from steelyard.vlm.backend import Conversation, ModelOptions, Reply
from steelyard.vlm.hf import fingerprint, seed_of

IMAGE = "<image>"
# What the processor makes of the mark of a picture: a frame around its four tokens.
SHOWN = f"<fake_token_around_image><global-img>{IMAGE * 4}<fake_token_around_image>"
# Words as GPT-2 cuts them; digits stand alone before that.
_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_DIGITS = re.compile(r"(\d)")


def is_sample_model(name: str) -> bool:
    """Whether a folder holds the model of the sample, unchanged."""
    folder = Path(name).expanduser()
    if not (folder / "model.safetensors").is_file():
        return False
    with as_file(files("steelyard") / "samples" / "vlm" / "model") as own:
        return fingerprint(folder) == fingerprint(own)


def sample_token(logits: Array, temperature: float, rng: np.random.Generator) -> int:
    """A token with the probabilities that the softmax of its logits, divided by the temperature, gives."""
    scaled = (logits.astype(np.float64) - float(logits.max())) / temperature
    shares = np.exp(scaled)
    return int(rng.choice(len(shares), p=shares / shares.sum()))


class SampleModel:
    """The sample's model. `notes` are sentences that its user should read."""

    workers = 1
    batch = 1

    def __init__(self, name: str, options: ModelOptions) -> None:
        folder = Path(name).expanduser()
        self._weights = read_safetensors(folder / "model.safetensors")
        self._config = json.loads((folder / "config.json").read_text("utf-8"))
        self._tokens = Tokens(json.loads((folder / "tokenizer.json").read_text("utf-8")))
        self._options = options
        self.pictures = options.batch
        self.label = folder.name
        self.fingerprint = f"hf:{self._config['model_type']}:{fingerprint(folder)}"
        self.settings: Mapping[str, Any] = {
            "do_sample": options.temperature > 0,
            "max_tokens": options.max_tokens,
            "max_side": options.max_side,
            "dtype": "float32",
            **({"temperature": options.temperature} if options.temperature else {}),
        }
        self.notes = ("PyTorch is not installed, so the sample's model runs on NumPy. Other models need it.",)
        self.environment: Mapping[str, Any] = {"device": "cpu", "batch": options.batch, "numpy": np.__version__}

    def close(self) -> None:
        """Let go of the model."""
        self._weights = {}

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Answer conversations one by one; a picture is encoded once."""
        shown: dict[str, Array] = {}
        replies = []
        for conversation in conversations:
            started = time.perf_counter()
            try:
                for picture in conversation.pictures:
                    if picture.digest not in shown:
                        shown[picture.digest] = self._encode_picture(picture.load(self._options.max_side))
            except InputError as error:
                replies.append(Reply("", error=str(error), attempts=0))
                continue
            encoded = [shown[picture.digest] for picture in conversation.pictures]
            replies.append(self._answer(conversation, encoded, started))
        return replies

    def _answer(self, conversation: Conversation, pictures: Sequence[Array], started: float) -> Reply:
        prompt = render(conversation.texts, len(pictures))
        tokens = self._tokens.encode(prompt)
        rng = np.random.default_rng(seed_of([(conversation, prompt)])) if self._options.temperature > 0 else None
        states = self._weights["model.text_model.embed_tokens.weight"][tokens]
        states[np.array(tokens) == self._config["image_token_id"]] = np.concatenate(pictures)
        end, said = self._config["text_config"]["eos_token_id"], []
        for token in self._continue(states, rng):
            said.append(token)
            if token == end or len(said) == self._options.max_tokens:
                break
        stopped = said[-1] == end
        usage = {"prompt_tokens": len(tokens), "completion_tokens": len(said)}
        text = self._tokens.decode(said[:-1] if stopped else said)
        return Reply(text, "stop" if stopped else "length", usage, time.perf_counter() - started)

    # The picture

    def _encode_picture(self, image: Any) -> Array:
        """A picture as states of the text model."""
        vision = self._config["vision_config"]
        side, patch = vision["image_size"], vision["patch_size"]
        pixels = np.asarray(resize(image, side), dtype=np.float32) / np.float32(127.5) - 1
        count = side // patch
        patches = pixels.reshape(count, patch, count, patch, 3).transpose(0, 2, 4, 1, 3).reshape(count * count, -1)
        name = "model.vision_model.embeddings"
        weight = self._weights[f"{name}.patch_embedding.weight"]
        states = patches @ weight.reshape(len(weight), -1).T + self._weights[f"{name}.patch_embedding.bias"]
        states = states + self._weights[f"{name}.position_embedding.weight"]
        for layer in range(vision["num_hidden_layers"]):
            states = self._see(states, f"model.vision_model.encoder.layers.{layer}", vision)
        states = self._normalize(states, "model.vision_model.post_layernorm", vision["layer_norm_eps"])
        scale = self._config["scale_factor"]
        blocks = states.reshape(count // scale, scale, count // scale, scale, -1).transpose(0, 2, 1, 3, 4)
        merged = blocks.reshape((count // scale) ** 2, -1)
        return _float32(merged @ self._weights["model.connector.modality_projection.proj.weight"].T)

    def _see(self, states: Array, name: str, config: Mapping[str, Any]) -> Array:
        """One layer of the vision model."""
        eps = config["layer_norm_eps"]
        normal = self._normalize(states, f"{name}.layer_norm1", eps)
        query, key, value = (
            _heads(self._linear(normal, f"{name}.self_attn.{part}_proj"), config["num_attention_heads"])
            for part in "qkv"
        )
        states = states + self._linear(_attend(query, key, value), f"{name}.self_attn.out_proj")
        wide = self._linear(self._normalize(states, f"{name}.layer_norm2", eps), f"{name}.mlp.fc1")
        inner = np.tanh(np.float32(np.sqrt(2 / np.pi)) * (wide + np.float32(0.044715) * wide**3))
        return _float32(states + self._linear(wide * (1 + inner) / 2, f"{name}.mlp.fc2"))

    def _normalize(self, states: Array, name: str, eps: float) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(eps))
        return _float32(scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])

    def _linear(self, states: Array, name: str) -> Array:
        bias = self._weights.get(f"{name}.bias")
        product = states @ self._weights[f"{name}.weight"].T
        return product if bias is None else product + bias

    # The text

    def _continue(self, states: Array, rng: np.random.Generator | None) -> Iterator[int]:
        """The likeliest or a sampled token behind the states, then behind each token that was given, without end."""
        embedding = self._weights["model.text_model.embed_tokens.weight"]
        layers = self._config["text_config"]["num_hidden_layers"]
        past: list[tuple[Array, Array] | None] = [None] * layers
        begin = 0
        while True:
            read, begin = states, begin + len(states)
            for layer in range(layers):
                read, past[layer] = self._read(
                    read, f"model.text_model.layers.{layer}", begin - len(states), past[layer]
                )
            logits = (self._scale(read[-1:], "model.text_model.norm") @ embedding.T)[0]
            token = int(np.argmax(logits)) if rng is None else sample_token(logits, self._options.temperature, rng)
            yield token
            states = embedding[[token]]

    def _read(
        self, states: Array, name: str, begin: int, past: tuple[Array, Array] | None
    ) -> tuple[Array, tuple[Array, Array]]:
        """One layer of the text model, with the keys and values that it leaves for the next token."""
        config = self._config["text_config"]
        normal = self._scale(states, f"{name}.input_layernorm")
        query, key, value = (
            _heads(self._linear(normal, f"{name}.self_attn.{part}_proj"), config["num_attention_heads"])
            for part in "qkv"
        )
        turn = _rotation(begin, len(states), config["head_dim"], config["rope_parameters"]["rope_theta"])
        query, key = _rotate(query, turn), _rotate(key, turn)
        if past is not None:
            key, value = np.concatenate([past[0], key], axis=1), np.concatenate([past[1], value], axis=1)
        states = states + self._linear(_attend(query, key, value, causal=True), f"{name}.self_attn.o_proj")
        normal = self._scale(states, f"{name}.post_attention_layernorm")
        gate = self._linear(normal, f"{name}.mlp.gate_proj")
        wide = gate / (1 + np.exp(-gate)) * self._linear(normal, f"{name}.mlp.up_proj")
        return _float32(states + self._linear(wide, f"{name}.mlp.down_proj")), (key, value)

    def _scale(self, states: Array, name: str) -> Array:
        eps = np.float32(self._config["text_config"]["rms_norm_eps"])
        scaled = states / np.sqrt((states**2).mean(axis=-1, keepdims=True) + eps)
        return _float32(scaled * self._weights[f"{name}.weight"])


def render(texts: Sequence[str], pictures: int = 1) -> str:
    """A conversation as the model reads it, up to where it speaks: what its chat template gives."""
    parts = []
    for i, text in enumerate(texts):
        role = "Assistant" if i % 2 else "User"
        parts.append(f"{role}:{SHOWN * pictures if i == 0 else ''}{text}<end_of_utterance>\n")
    return "".join(parts) + "Assistant:"


def resize(image: Any, side: int) -> Any:
    """The picture as a square: its longer side is fitted first, as the model's processor does."""
    from PIL.Image import Resampling

    width, height = image.size
    if width >= height:
        size = side, max(int(side / (width / height)), 1)
    else:
        size = max(int(side * (width / height)), 1), side
    size = size[0] + size[0] % 2, size[1] + size[1] % 2
    for wanted in (size, (side, side)):
        if image.size != wanted:
            image = image.resize(wanted, Resampling.LANCZOS)
    return image


def read_safetensors(path: Path) -> dict[str, Array]:
    """The tensors of a file, all of them float32."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, about in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            values = np.frombuffer(data[start + begin : start + end], dtype="<f4")
            tensors[name] = values.reshape(about["shape"]).astype(np.float32)
    return tensors


def _float32(values: Array) -> Array:
    return values.astype(np.float32, copy=False)


def _heads(states: Array, count: int) -> Array:
    """Tokens × features as heads × tokens × features."""
    return states.reshape(len(states), count, -1).transpose(1, 0, 2)


def _attend(query: Array, key: Array, value: Array, causal: bool = False) -> Array:
    """What tokens take from the values of others; with `causal`, only from earlier ones and themselves."""
    scores = query @ key.transpose(0, 2, 1) * np.float32(query.shape[-1] ** -0.5)
    if causal:
        rows, columns = scores.shape[1:]
        scores = np.where(np.tri(rows, columns, columns - rows, dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    return _float32(mixed.transpose(1, 0, 2).reshape(query.shape[1], -1))


def _rotation(begin: int, count: int, size: int, theta: float) -> tuple[Array, Array]:
    """Cosines and sines of the positions from `begin`."""
    rates = 1 / np.float32(theta) ** (np.arange(0, size, 2, dtype=np.float32) / size)
    angles = np.outer(np.arange(begin, begin + count, dtype=np.float32), rates)
    angles = np.concatenate([angles, angles], axis=1)
    return _float32(np.cos(angles)), _float32(np.sin(angles))


def _rotate(states: Array, turn: tuple[Array, Array]) -> Array:
    half = states.shape[-1] // 2
    other = np.concatenate([-states[..., half:], states[..., :half]], axis=-1)
    return _float32(states * turn[0] + other * turn[1])


class Tokens:
    """Byte-pair encoding, as the model's tokenizer.json describes it."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        model = described["model"]
        self._ids: dict[str, int] = model["vocab"]
        self._words = {number: word for word, number in self._ids.items()}
        self._ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
        self._special = [entry["content"] for entry in described["added_tokens"]]
        longest = sorted(self._special, key=len, reverse=True)
        self._marks = re.compile("(" + "|".join(map(re.escape, longest)) + ")")
        self._letters = byte_letters()
        self._seen: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, in which special tokens are written by name."""
        tokens = []
        for i, part in enumerate(self._marks.split(text)):
            if i % 2:
                tokens.append(self._ids[part])
                continue
            for piece in _DIGITS.split(part):
                for word in _WORDS.findall(piece):
                    if word not in self._seen:
                        self._seen[word] = [self._ids[token] for token in self._merge(word)]
                    tokens += self._seen[word]
        return tokens

    def _merge(self, word: str) -> list[str]:
        parts = [self._letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(parts)]
            best = min(ranks)
            if best == len(self._ranks):
                break
            place = ranks.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        letters = {letter: byte for byte, letter in enumerate(self._letters)}
        words = (self._words[token] for token in tokens)
        plain = "".join(word for word in words if word not in self._special)
        return bytes(letters[letter] for letter in plain).decode("utf-8", "replace")


@cache
def byte_letters() -> list[str]:
    """The letter that stands for each byte: itself where it can be seen, else one from U+0100 on."""
    seen = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in seen else chr(next(others)) for byte in range(256)]
