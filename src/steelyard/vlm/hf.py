"""`hf:FOLDER_OR_ID`: a model of the transformers library, in this process, on a CPU or a GPU. Decoding is greedy.

Padding is on the left, always: with right padding a trained model gives parseable, wrong numbers. The prompts of a
picture share it: its part of the conversation, which comes first, is encoded once, and every prompt (and the follow-
up) goes on from the same key-value cache. Families whose positions depend on more than the order of tokens (Qwen-VL)
are asked without sharing. `--batch` counts pictures; their prompts ride along.
"""

from __future__ import annotations

import copy
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, MissingExtra
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.hf_inputs import Inputs, open_inputs

# model_type: whether the prompts of a picture can share its cache.
FAMILIES = {
    "idefics3": True, "smolvlm": True, "llava": True, "qwen2_vl": False, "qwen2_5_vl": False, "qwen3_vl": False,
}  # fmt: skip
DTYPES = ("float32", "bfloat16", "float16")
_WEIGHTS = ("*.safetensors", "*.bin")


class HuggingFace:
    """A model that is loaded here."""

    workers = 1
    batch = 1

    def __init__(self, name: str, options: ModelOptions) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtra("an hf: model", "vlm-local") from None
        self._torch = torch
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        folder = _folder(name)
        family = _family(folder, name)
        device, dtype = _place(torch, options)
        self._inputs: Inputs = open_inputs(folder, family)
        try:
            model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=getattr(torch, dtype))
            self._model = model.to(device).eval()
        except Exception as error:  # each part of the library has errors of its own
            raise InputError(f"the model cannot be loaded: {_first_line(error)}", where=name) from None
        self._device = device
        self._share = options.share and FAMILIES[family]
        self._options = options
        self.pictures = options.batch
        self.label = Path(name).name
        self.fingerprint = f"hf:{family}:{fingerprint(folder)}"
        self.settings: Mapping[str, Any] = {
            "do_sample": False, "max_tokens": options.max_tokens, "max_side": options.max_side, "dtype": dtype,
        }  # fmt: skip
        self.environment: Mapping[str, Any] = {
            "device": str(device), "batch": options.batch, "share": self._share,
            "torch": torch.__version__, "transformers": transformers.__version__,
        }  # fmt: skip
        self._config = _greedy(model.generation_config, self._inputs.tokenizer, options.max_tokens)
        self._kept: tuple[tuple[str, ...], Any, Any, Any] | None = None

    def close(self) -> None:
        """Let go of the model."""
        self._kept = None
        del self._model

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Answer all conversations in one go."""
        images: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for conversation in conversations:
            picture = conversation.picture
            if picture.digest not in images and picture.digest not in errors:
                try:
                    images[picture.digest] = picture.load(self._options.max_side)
                except InputError as error:
                    errors[picture.digest] = str(error)
        shown = [c for c in conversations if c.picture.digest in images]
        answered = iter(self._answer(shown, images) if shown else [])
        return [
            next(answered) if c.picture.digest in images else Reply("", error=errors[c.picture.digest], attempts=0)
            for c in conversations
        ]

    def _answer(self, conversations: Sequence[Conversation], images: Mapping[str, Any]) -> list[Reply]:
        started = time.perf_counter()
        texts = [self._inputs.render(c.texts) for c in conversations]
        digests = [c.picture.digest for c in conversations]
        torch = self._torch
        try:
            with torch.inference_mode():
                asked = self._shared(texts, digests, images) if self._share else None
                if asked is None:
                    asked = self._inputs.encode(texts, [images[d] for d in digests]).to(self._device)
                given = self._model.generate(**asked, generation_config=self._config)
        except torch.OutOfMemoryError:
            raise PermanentError(f"the {self._device.type} has too little memory. Choose a smaller --batch.") from None
        new = given[:, asked["input_ids"].shape[1] :].tolist()
        lengths = asked["attention_mask"].sum(dim=1).tolist()
        latency = (time.perf_counter() - started) / len(conversations)
        return [self._reply(tokens, length, latency) for tokens, length in zip(new, lengths, strict=True)]

    def _reply(self, tokens: list[int], length: int, latency: float) -> Reply:
        ends = self._config.eos_token_id
        stops = {ends} if isinstance(ends, int) else set(ends or ())
        end = next((place for place, token in enumerate(tokens) if token in stops), None)
        said = tokens if end is None else tokens[:end]
        text = self._inputs.tokenizer.decode(said, skip_special_tokens=True)
        usage = {"prompt_tokens": int(length), "completion_tokens": len(said) + (end is not None)}
        return Reply(text, "length" if end is None else "stop", usage, latency)

    def _shared(self, texts: list[str], digests: list[str], images: Mapping[str, Any]) -> dict[str, Any] | None:
        """Inputs that go on from the pictures' cache; None where the texts cannot be cut behind the picture."""
        torch = self._torch
        cut = [self._inputs.cut(text) for text in texts]
        heads: dict[str, str] = {}
        for digest, (head, _) in zip(digests, cut, strict=True):
            if heads.setdefault(digest, head) != head:
                return None
        tails = [self._inputs.tokens(tail) for _, tail in cut]
        prefix = self._prefix(texts, tails, digests, images)
        if prefix is None:
            return None
        places, cache, prefix_ids, prefix_mask = prefix
        index = torch.tensor([places.index(digest) for digest in digests], device=self._device)
        pad = self._inputs.tokenizer.pad_token_id or 0
        tail_ids, tail_mask = _left_padded(torch, tails, pad, self._device)
        return {
            "input_ids": torch.cat([prefix_ids[index], tail_ids], dim=1),
            "attention_mask": torch.cat([prefix_mask[index], tail_mask], dim=1),
            "past_key_values": _rows_of(cache, index),
        }

    def _prefix(
        self, texts: list[str], tails: list[list[int]], digests: list[str], images: Mapping[str, Any]
    ) -> tuple[tuple[str, ...], Any, Any, Any] | None:
        """The cache of the part up to the end of each picture; the last batch's is kept, for its follow-ups."""
        torch = self._torch
        places = tuple(dict.fromkeys(digests))
        if self._kept is not None and set(places) <= set(self._kept[0]):
            return self._kept
        first = [digests.index(digest) for digest in places]
        encoded = self._inputs.encode([texts[i] for i in first], [images[digest] for digest in places])
        ids = [
            row[mask.bool()].tolist() for row, mask in zip(encoded["input_ids"], encoded["attention_mask"], strict=True)
        ]
        heads = []
        for row, i in zip(ids, first, strict=True):
            if not tails[i] or row[-len(tails[i]) :] != tails[i]:
                return None  # this tokenizer joins what stands before and behind the picture
            heads.append(row[: -len(tails[i])])
        prefix_ids, prefix_mask = _left_padded(torch, heads, self._inputs.tokenizer.pad_token_id or 0, self._device)
        pixels = {k: v for k, v in encoded.to(self._device).items() if k not in ("input_ids", "attention_mask")}
        positions = (prefix_mask.cumsum(dim=1) - 1).clamp(min=0)
        seen = self._model(
            input_ids=prefix_ids, attention_mask=prefix_mask, position_ids=positions, use_cache=True, logits_to_keep=1,
            **self._in_dtype(pixels),
        )  # fmt: skip
        self._kept = (places, seen.past_key_values, prefix_ids, prefix_mask)
        return self._kept

    def _in_dtype(self, pixels: dict[str, Any]) -> dict[str, Any]:
        dtype = self._model.dtype
        return {k: v.to(dtype) if self._torch.is_floating_point(v) else v for k, v in pixels.items()}


def fingerprint(folder: Path) -> str:
    """SHA-256 over the names and contents of everything that the replies depend on."""
    total = hashlib.sha256()
    endings = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt")
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.name.endswith(endings)):
        with path.open("rb") as file:
            total.update(f"{path.name}:{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:32]


def _folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise InputError("the folder has no config.json", where=name, remedy="Give a folder of save_pretrained.")
        if not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
            raise InputError("the model's folder has no weights", where=name, remedy="Weights are *.safetensors files.")
        return folder
    if folder.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise InputError("there is no such model folder", where=name, remedy="Give a folder, or an id as owner/name.")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name))
    except Exception as error:  # the hub's many errors: offline, unknown, private
        raise InputError(f"the model cannot be fetched: {_first_line(error)}", where=name) from None


def _family(folder: Path, name: str) -> str:
    from transformers import AutoConfig

    try:
        family = str(AutoConfig.from_pretrained(folder).model_type)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"config.json is not understood: {_first_line(error)}", where=name) from None
    if family not in FAMILIES:
        known = ", ".join(FAMILIES)
        remedy = f"Known: {known}. Others can be asked through a server: openai:MODEL@URL."
        raise InputError(f"a model of type '{family}' is not supported here", where=name, remedy=remedy)
    return family


def _place(torch: Any, options: ModelOptions) -> tuple[Any, str]:
    name = options.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device {name} cannot be used: {_first_line(error)}", remedy="Try cpu.") from None
    dtype = options.dtype
    if dtype == "auto":
        dtype = {"cuda": "bfloat16", "mps": "float16"}.get(device.type, "float32")
    if dtype not in DTYPES:
        raise InputError(f"--dtype {dtype} is not known", remedy=f"Choose one of: auto, {', '.join(DTYPES)}.")
    return device, dtype


def _greedy(config: Any, tokenizer: Any, max_tokens: int) -> Any:
    """The model's own generation settings, without sampling and beams."""
    config = copy.deepcopy(config)
    config.update(do_sample=False, num_beams=1, max_new_tokens=max_tokens, max_length=None, use_cache=True)
    config.update(temperature=None, top_p=None, top_k=None, min_p=None, typical_p=None, return_dict_in_generate=False)
    if config.eos_token_id is None:
        config.eos_token_id = tokenizer.eos_token_id
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def _left_padded(torch: Any, rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    longest = max(len(row) for row in rows)
    ids = torch.tensor([[pad] * (longest - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask


def _rows_of(cache: Any, index: Any) -> Any:
    """A new cache with the given rows; the old one stays as it is."""
    chosen = type(cache)()
    for number, layer in enumerate(cache.layers):
        chosen.update(layer.keys[index], layer.values[index], number)
    return chosen


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
