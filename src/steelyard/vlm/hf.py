"""`hf:FOLDER_OR_ID`: an image-text-to-text model of the transformers library, in this process. Decoding is greedy.

Padding is on the left, always: with right padding a trained model gives parseable, wrong numbers. The prompts of a
picture share it where the family can (`Sharing`): its part of the conversation, which comes first, is encoded once,
and every prompt (and the follow-up) goes on from the same key-value cache. `batch` counts pictures; their prompts
ride along.

Pictures that are encoded once for all that is asked about them: questions go on from the pictures' key-value cache.

The head of a conversation ends behind its last picture; its tokens must begin those of the whole. Some families have
positions in three rows (Qwen-VL), some let the tokens of a picture see each other (Gemma), some look at a window of
tokens. What is known of a family stands in `FAMILIES`; another one is tried when it is loaded. Where pictures cannot be
shared, a sentence says why.

From texts and images to a model's inputs: the chat template, the pictures' tokens, padding on the left.

The call that holds across versions has two steps: the template gives text, then text and images are encoded together.
A processor that wants torchvision for videos alone is put together without it: no video is ever given to a model.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import re
import time
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    Conflict,
    InputError,
    InvalidFile,
    InvalidSetting,
    MissingExtra,
    MissingFile,
    Unsupported,
)
from steelyard.core.frozen import Frozen
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply

DTYPES = ("float32", "bfloat16", "float16")
QUANTIZED = ("4bit", "8bit")
LEAST = {"torch": (2, 4), "transformers": (5, 18)}  # as the extra vlm-local says
_WEIGHTS = ("*.safetensors", "*.bin")
_ENDINGS = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def fingerprint(folder: Path, trusted: bool = False) -> str:
    """SHA-256 over the names and contents of everything that the replies depend on; trusted code is part of it."""
    total = hashlib.sha256()
    endings = (*_ENDINGS, ".py") if trusted else _ENDINGS
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.name.endswith(endings)):
        with path.open("rb") as file:
            total.update(f"{path.name}:{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:32]


def model_folder(name: str, revision: str) -> tuple[Path, str]:
    """The folder of a model, fetched where `name` is an id of the hub, and its commit where that is known."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            remedy = "Leave it out, or give the model's id."
            raise Conflict(f"a folder has no revision '{revision}'", where=name, remedy=remedy)
        if not (folder / "config.json").exists():
            raise MissingFile("the folder has no config.json", where=name, remedy="Give a folder of save_pretrained.")
        if not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
            raise MissingFile(
                "the model's folder has no weights", where=name, remedy="Weights are *.safetensors files."
            )
        return folder, ""
    if folder.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise MissingFile("there is no such model folder", where=name, remedy="Give a folder, or an id as owner/name.")
    from huggingface_hub import snapshot_download

    try:
        fetched = Path(snapshot_download(name, revision=revision or None))
    except Exception as error:  # the hub's many errors: offline, unknown, private
        raise InvalidSetting(f"the model cannot be fetched: {first_line(error)}", where=name) from None
    return fetched, fetched.name if _COMMIT.fullmatch(fetched.name) else ""


def family_of(folder: Path, name: str, trusted: bool) -> str:
    """The type of a model, as its configuration says."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trusted)
    except (OSError, ValueError, KeyError) as error:
        raise InvalidFile(f"config.json is not understood: {first_line(error)}", where=name) from None
    family = str(config.model_type)
    known = type(config) in AutoModelForImageTextToText._model_mapping
    foreign = trusted and "AutoModelForImageTextToText" in (getattr(config, "auto_map", None) or {})
    if not known and not foreign:
        remedy = (
            "The library has no image-text-to-text model of that type. "
            "A server may have one: openai:MODEL@URL. A model with code of its own needs `trust_code=True`."
        )
        raise Unsupported(f"a model of type '{family}' is not supported here", where=name, remedy=remedy)
    return family


def check_versions(*packages: Any) -> None:
    """Refuse packages older than the extra `vlm-local` asks for, before anything is loaded."""
    for package in packages:
        least, version = LEAST[package.__name__], str(package.__version__)
        if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < least:
            name = f"{package.__name__} {'.'.join(map(str, least))} or later"
            what = f"an hf: model needs {name}, and {version} is installed"
            raise InvalidSetting(what, remedy="Run: pip install --upgrade 'steelyard[vlm-local]'.")


def place_of(torch: Any, options: ModelOptions) -> tuple[Any, str]:
    """The device and the type of numbers."""
    name = options.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise Unsupported(f"`device={name}` cannot be used: {first_line(error)}", remedy="Try cpu.") from None
    dtype = options.dtype
    if dtype == "auto":
        dtype = {"cuda": "bfloat16", "mps": "float16"}.get(device.type, "float32")
    if dtype not in DTYPES:
        raise InvalidSetting(f"`dtype={dtype}` is not known", remedy=f"Choose one of: auto, {', '.join(DTYPES)}.")
    return device, dtype


def load_model(folder: Path, name: str, options: ModelOptions, device: Any, dtype: Any) -> Any:
    """The model, on its device, ready to answer."""
    import transformers

    settings: dict[str, Any] = {"dtype": dtype}
    if options.quantize and options.quantize not in QUANTIZED:
        remedy = f"Choose one of: {', '.join(QUANTIZED)}."
        raise InvalidSetting(f"`quantize={options.quantize}` is not known", remedy=remedy)
    if options.attention:
        settings["attn_implementation"] = options.attention
    if options.device_map:
        settings["device_map"] = options.device_map
    try:
        if options.quantize:
            settings["quantization_config"] = transformers.BitsAndBytesConfig(**{f"load_in_{options.quantize}": True})
            settings.setdefault("device_map", {"": device})
        if options.trust_code:
            settings["trust_remote_code"] = True
        model = transformers.AutoModelForImageTextToText.from_pretrained(folder, **settings)
        return (model if "device_map" in settings else model.to(device)).eval()
    except Exception as error:  # each part of the library has errors of its own
        raise InvalidSetting(f"the model cannot be loaded: {first_line(error)}", where=name) from None


def decoding(config: Any, tokenizer: Any, max_tokens: int, temperature: float = 0.0) -> Any:
    """The model's own generation settings, without beams; sampling from all tokens only with a temperature."""
    config = copy.deepcopy(config)
    sampled = temperature > 0
    config.update(do_sample=sampled, num_beams=1, max_new_tokens=max_tokens, max_length=None, use_cache=True)
    config.update(temperature=temperature if sampled else None, top_k=0 if sampled else None)
    config.update(top_p=None, min_p=None, typical_p=None, return_dict_in_generate=False)
    if config.eos_token_id is None:
        config.eos_token_id = tokenizer.eos_token_id
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def seed_of(asked: Sequence[tuple[Conversation, str]]) -> int:
    """A seed that depends on what is asked and how often it was asked before: resumed runs do not repeat replies."""
    known = [(text, conversation.repeat, [p.digest for p in conversation.pictures]) for conversation, text in asked]
    return int.from_bytes(hashlib.sha256(repr(known).encode()).digest()[:8], "big") >> 1


def first_line(error: BaseException) -> str:
    """The first line of an error's text, not too long."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


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


# Families whose replies are known to be the same with sharing, and why others cannot share.
FAMILIES = {
    "idefics3": "", "smolvlm": "", "llava": "", "llava_onevision": "", "internvl": "", "gemma3": "", "qwen2_vl": "",
    "qwen2_5_vl": "", "qwen3_vl": "",
    "paligemma": "its picture sees the text of the question",
}  # fmt: skip
TOLERANCE = 1e-4  # of the logits' spread, in float32
NOISE = 0.05  # the most that rounding alone may move them in other types
_PROBES = ("What is this?", "Look at the image and say in one word what it shows.")


class _Heads(Frozen):
    """Heads that are encoded: by key, with their cache, tokens, mask and shifts of positions."""

    keys: tuple[Hashable, ...]
    cache: Any
    ids: Any
    mask: Any
    deltas: Any


class Sharing:
    """Makes inputs for `generate` that go on from pictures."""

    def __init__(self, torch: Any, model: Any, inputs: Inputs, max_tokens: int) -> None:
        self._torch, self._model, self._inputs, self._max_tokens = torch, model, inputs, max_tokens
        self._takes = set(inspect.signature(model.forward).parameters)
        self._base: Any = getattr(model, "model", None)
        self._rows = hasattr(self._base, "rope_deltas")  # positions in three rows
        self.kept: _Heads | None = None

    def encode(self, texts: Sequence[str], images: Sequence[Sequence[Any]]) -> Any:
        """Inputs without sharing, on the model's device and in its type."""
        encoded = self._inputs.encode(texts, images)
        if "token_type_ids" not in self._takes:
            encoded.pop("token_type_ids", None)
        return encoded.to(self._model.device, dtype=self._model.dtype)

    def inputs(
        self, texts: Sequence[str], pictures: Sequence[Hashable], images: Sequence[Sequence[Any]]
    ) -> dict[str, Any] | None:
        """Inputs that go on from the pictures' cache; None where these texts cannot."""
        torch = self._torch
        cut = [self._inputs.cut(text) for text in texts]
        keys = [(shown, head) for shown, (head, _) in zip(pictures, cut, strict=True)]
        tails = []
        for _, tail in cut:
            ids = self._inputs.behind(tail)
            if not ids:
                return None
            tails.append(ids)
        heads = self._encode_heads(keys, texts, tails, images)
        if heads is None:
            return None
        longest = heads.ids.shape[1] + max(map(len, tails)) + self._max_tokens
        if longest > self._window(heads.cache):
            return None
        index = torch.tensor([heads.keys.index(key) for key in keys], device=self._model.device)
        ids, mask = _left_padded(torch, tails, self._inputs.pad, self._model.device)
        if self._rows:
            self._base.rope_deltas = heads.deltas[index]
        return {
            "input_ids": torch.cat([heads.ids[index], ids], dim=1),
            "attention_mask": torch.cat([heads.mask[index], mask], dim=1),
            "past_key_values": _rows_of(heads.cache, index),
        }

    def release(self) -> None:
        """Leave nothing behind in the model that another call could take for its own."""
        if self._rows:
            self._base.rope_deltas = None

    def _encode_heads(
        self, keys: Sequence[Hashable], texts: Sequence[str], tails: Sequence[list[int]], images: Any
    ) -> _Heads | None:
        """The heads of a batch; the last batch's are kept, for its follow-ups."""
        torch = self._torch
        distinct = tuple(dict.fromkeys(keys))
        if self.kept is not None and set(distinct) <= set(self.kept.keys):
            return self.kept
        first = [keys.index(key) for key in distinct]
        encoded = self.encode([texts[i] for i in first], [images[i] for i in first])
        ids, mask = encoded.pop("input_ids"), encoded.pop("attention_mask")
        rows = [row[seen.bool()].tolist() for row, seen in zip(ids, mask, strict=True)]
        heads = []
        for row, i in zip(rows, first, strict=True):
            if row[-len(tails[i]) :] != tails[i]:
                return None  # this tokenizer joins what stands before and behind the picture
            heads.append(row[: -len(tails[i])])
        device = self._model.device
        head_ids, head_mask = _left_padded(torch, heads, self._inputs.pad, device)
        given: dict[str, Any] = {}
        for name, values in encoded.items():
            if getattr(values, "shape", None) == ids.shape:  # one value for each token
                cut = [v[seen.bool()][: len(h)].tolist() for v, seen, h in zip(values, mask, heads, strict=True)]
                values = _left_padded(torch, cut, 0, device)[0].to(values.dtype)
            given[name] = values
        if not self._rows:
            given["position_ids"] = (head_mask.cumsum(dim=1) - 1).clamp(min=0)
        if "logits_to_keep" in self._takes:
            given["logits_to_keep"] = 1
        seen = self._model(input_ids=head_ids, attention_mask=head_mask, use_cache=True, **given)
        deltas = self._base.rope_deltas if self._rows else None
        self.kept = _Heads(distinct, seen.past_key_values, head_ids, head_mask, deltas)
        return self.kept

    def _window(self, cache: Any) -> float:
        """How many tokens may stand in a row: layers with a window would count the padding between head and tail."""
        if not any(getattr(layer, "is_sliding", False) for layer in cache.layers):
            return float("inf")
        return float(getattr(self._model.config.get_text_config(), "sliding_window", None) or 0)


def why_not(torch: Any, model: Any, inputs: Inputs, family: str) -> str:
    """Why pictures cannot be shared; empty where they can. A family that is not known is tried."""
    if getattr(model.config, "is_encoder_decoder", False):
        return "its encoder reads picture and question together"
    if not inputs.mark:
        return "its processor does not say where the picture stands"
    if family in FAMILIES:
        return FAMILIES[family]
    try:
        moved, noise = _try_sharing(torch, model, inputs)
    except Exception as error:  # whatever an unknown model makes of it
        return f"the family is not known, and a trial failed ({first_line(error)})"
    allowed = TOLERANCE if model.dtype == torch.float32 else min(NOISE, max(TOLERANCE, 3 * noise))
    if moved <= allowed:
        return ""
    return f"the family is not known, and in a trial sharing moved the logits by {moved:.2g} of their spread"


def _try_sharing(torch: Any, model: Any, inputs: Inputs) -> tuple[float, float]:
    """How far sharing moves the first logits of two questions, and how far a batch alone does, in their spread."""
    from PIL import Image

    picture = Image.linear_gradient("L").resize((96, 64)).convert("RGB")
    texts = [inputs.render((probe,)) for probe in _PROBES]
    shown = [[picture]] * 2
    sharing = Sharing(torch, model, inputs, 2)

    def logits(asked: Any) -> Any:
        settings = {"do_sample": False, "max_new_tokens": 1, "min_new_tokens": 1, "pad_token_id": inputs.pad}
        out = model.generate(**asked, **settings, return_dict_in_generate=True, output_logits=True)
        sharing.release()
        return out.logits[0].float()

    with torch.inference_mode():
        alone = torch.cat([logits(sharing.encode([text], [[picture]])) for text in texts])
        batch = logits(sharing.encode(texts, shown))
        asked = sharing.inputs(texts, ["", ""], shown)
        if asked is None:
            raise Unsupported("the text cannot be cut behind the picture")
        shared = logits(asked)
    spread = float(alone.std()) or 1.0
    return float((shared - alone).abs().max()) / spread, float((batch - alone).abs().max()) / spread


def _left_padded(torch: Any, rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    longest = max(len(row) for row in rows)
    ids = torch.tensor([[pad] * (longest - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask


def _rows_of(cache: Any, index: Any) -> Any:
    """A cache of the given rows; the old one stays as it is."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    chosen = copy.copy(cache)
    plain = (DynamicLayer, DynamicSlidingWindowLayer)  # choosing rows gives these new tensors, and changes no old one
    chosen.layers = [copy.copy(one) if type(one) in plain else copy.deepcopy(one) for one in cache.layers]
    for layer in chosen.layers:
        layer.batch_select_indices(index)
    return chosen


class HuggingFace:
    """A model that is loaded here. `notes` are sentences that its user should read."""

    workers = 1
    batch = 1

    def __init__(self, name: str, options: ModelOptions) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtra("an hf: model", "vlm-local") from None
        check_versions(torch, transformers)
        self._torch = torch
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        folder, commit = model_folder(name, options.revision)
        family = family_of(folder, name, options.trust_code)
        device, dtype = place_of(torch, options)
        self._inputs: Inputs = open_inputs(folder, family, options.trust_code)
        self._model = load_model(folder, name, options, device, getattr(torch, dtype))
        why = why_not(torch, self._model, self._inputs, family) if options.share else ""
        self._share = options.share and not why
        self._sharing = Sharing(torch, self._model, self._inputs, options.max_tokens)
        self._options = options
        self.pictures = options.batch
        self.label = Path(name).name
        self.fingerprint = f"hf:{family}:{fingerprint(folder, options.trust_code)}"
        extra = {"quantize": options.quantize, "attention": options.attention, "temperature": options.temperature}
        self.settings: Mapping[str, Any] = {
            "do_sample": options.temperature > 0, "max_tokens": options.max_tokens, "max_side": options.max_side,
            "dtype": dtype, **{key: value for key, value in extra.items() if value},
        }  # fmt: skip
        self.notes = self._notes(name, family, why, commit)
        self.environment: Mapping[str, Any] = {
            "device": str(self._model.device), "batch": options.batch, "share": self._share,
            "torch": torch.__version__, "transformers": transformers.__version__,
            **{key: value for key, value in {"revision": commit, "device_map": options.device_map}.items() if value},
            **({"notes": list(self.notes)} if self.notes else {}),
        }  # fmt: skip
        self._config = decoding(
            self._model.generation_config, self._inputs.tokenizer, options.max_tokens, options.temperature
        )
        self._encodes = bool(getattr(self._model.config, "is_encoder_decoder", False))

    def _notes(self, name: str, family: str, why: str, commit: str) -> tuple[str, ...]:
        notes = []
        if why:
            notes.append(f"a picture is encoded for each question: {family} cannot share it, {why}")
        if not self._inputs.chats:
            notes.append(f"{name} has no chat template: turns stand in lines, and follow-ups may mean little to it")
        if self._options.trust_code:
            notes.append(f"code of {name} {f'({commit}) ' if commit else ''}is run")
        return tuple(notes)

    def close(self) -> None:
        """Let go of the model."""
        del self._sharing, self._model

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Answer all conversations in one go."""
        images: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for picture in (picture for conversation in conversations for picture in conversation.pictures):
            if picture.digest not in images and picture.digest not in errors:
                try:
                    images[picture.digest] = picture.load(self._options.max_side)
                except InputError as error:
                    errors[picture.digest] = str(error)
        asked: list[tuple[Conversation, str]] = []
        replies: list[Reply | None] = []
        for conversation in conversations:
            problem = next((errors[p.digest] for p in conversation.pictures if p.digest in errors), "")
            if not problem:
                try:
                    text = self._inputs.render(conversation.texts, len(conversation.pictures))
                except InputError as error:
                    problem = str(error)
            replies.append(Reply("", error=problem, attempts=0) if problem else None)
            if not problem:
                asked.append((conversation, text))
        answered = iter(self._answer(asked, images) if asked else [])
        return [reply or next(answered) for reply in replies]

    def _answer(self, asked: Sequence[tuple[Conversation, str]], images: Mapping[str, Any]) -> list[Reply]:
        started = time.perf_counter()
        texts = [text for _, text in asked]
        digests = [tuple(picture.digest for picture in c.pictures) for c, _ in asked]
        shown = [[images[digest] for digest in each] for each in digests]
        torch = self._torch
        try:
            with torch.inference_mode():
                given = self._sharing.inputs(texts, digests, shown) if self._share else None
                given = given or self._sharing.encode(texts, shown)
                if self._options.temperature > 0:
                    torch.manual_seed(seed_of(asked))
                made = self._model.generate(**given, generation_config=self._config)
        except torch.OutOfMemoryError:
            kind = self._model.device.type
            raise PermanentError(f"the {kind} has too little memory. Choose a smaller batch.") from None
        except InputError as error:
            return [Reply("", error=str(error), attempts=0)] * len(asked)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise PermanentError(f"{self.label} cannot be asked: {first_line(error)}") from None
        finally:
            self._sharing.release()
        new = made[:, 1 if self._encodes else given["input_ids"].shape[1] :].tolist()
        lengths = given["attention_mask"].sum(dim=1).tolist()
        latency = (time.perf_counter() - started) / len(asked)
        return [self._reply(tokens, length, latency) for tokens, length in zip(new, lengths, strict=True)]

    def _reply(self, tokens: list[int], length: int, latency: float) -> Reply:
        ends = self._config.eos_token_id
        stops = {ends} if isinstance(ends, int) else set(ends or ())
        end = next((place for place, token in enumerate(tokens) if token in stops), None)
        said = tokens if end is None else tokens[:end]
        text = self._inputs.tokenizer.decode(said, skip_special_tokens=True)
        usage = {"prompt_tokens": int(length), "completion_tokens": len(said) + (end is not None)}
        return Reply(text, "length" if end is None else "stop", usage, latency)
