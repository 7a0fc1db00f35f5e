"""`hf:FOLDER_OR_ID`: an image-text-to-text model of the transformers library, in this process. Decoding is greedy.

Padding is on the left, always: with right padding a trained model gives parseable, wrong numbers. The prompts of a
picture share it where the family can (`hf_share`): its part of the conversation, which comes first, is encoded once,
and every prompt (and the follow-up) goes on from the same key-value cache. `batch` counts pictures; their prompts
ride along.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, MissingExtra
from steelyard.vlm.backend import Conversation, ModelOptions, PermanentError, Reply
from steelyard.vlm.hf_inputs import Inputs, open_inputs
from steelyard.vlm.hf_load import (
    check_versions,
    family_of,
    fingerprint,
    first_line,
    greedy,
    load_model,
    model_folder,
    place_of,
)  # fmt: skip
from steelyard.vlm.hf_share import Sharing, why_not


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
        extra = {"quantize": options.quantize, "attention": options.attention}
        self.settings: Mapping[str, Any] = {
            "do_sample": False, "max_tokens": options.max_tokens, "max_side": options.max_side, "dtype": dtype,
            **{key: value for key, value in extra.items() if value},
        }  # fmt: skip
        self.notes = self._notes(name, family, why, commit)
        self.environment: Mapping[str, Any] = {
            "device": str(self._model.device), "batch": options.batch, "share": self._share,
            "torch": torch.__version__, "transformers": transformers.__version__,
            **{key: value for key, value in {"revision": commit, "device_map": options.device_map}.items() if value},
            **({"notes": list(self.notes)} if self.notes else {}),
        }  # fmt: skip
        self._config = greedy(self._model.generation_config, self._inputs.tokenizer, options.max_tokens)
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
                made = self._model.generate(**given, generation_config=self._config)
        except torch.OutOfMemoryError:
            kind = self._model.device.type
            raise PermanentError(f"the {kind} has too little memory. Choose a smaller batch.") from None
        except InputError as error:
            return [Reply("", error=str(error), attempts=0)] * len(asked)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise PermanentError(f"{self.label} cannot be asked: {first_line(error)}") from None
        finally:
            self._sharing.done()
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
