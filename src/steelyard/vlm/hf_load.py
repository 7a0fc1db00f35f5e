"""Loading a model of the transformers library through its auto classes: from a folder, or from the hub."""

from __future__ import annotations

import copy
import hashlib
import re
from pathlib import Path
from typing import Any

from steelyard.core.errors import Conflict, InvalidFile, InvalidSetting, MissingFile, Unsupported
from steelyard.vlm.backend import ModelOptions

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


def greedy(config: Any, tokenizer: Any, max_tokens: int) -> Any:
    """The model's own generation settings, without sampling and beams."""
    config = copy.deepcopy(config)
    config.update(do_sample=False, num_beams=1, max_new_tokens=max_tokens, max_length=None, use_cache=True)
    config.update(temperature=None, top_p=None, top_k=None, min_p=None, typical_p=None, return_dict_in_generate=False)
    if config.eos_token_id is None:
        config.eos_token_id = tokenizer.eos_token_id
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def first_line(error: BaseException) -> str:
    """The first line of an error's text, not too long."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
