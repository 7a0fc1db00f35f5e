"""Pictures that are encoded once for all that is asked about them: questions go on from the pictures' key-value cache.

The head of a conversation ends behind its last picture; its tokens must begin those of the whole. Some families have
positions in three rows (Qwen-VL), some let the tokens of a picture see each other (Gemma), some look at a window of
tokens. What is known of a family stands in `FAMILIES`; another one is tried when it is loaded. Where pictures cannot be
shared, a sentence says why.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable, Sequence
from typing import Any

from steelyard.core.errors import InvalidSetting
from steelyard.core.frozen import frozen
from steelyard.vlm.hf_inputs import Inputs
from steelyard.vlm.hf_load import first_line

# Families whose replies are known to be the same with sharing, and why others cannot share.
FAMILIES = {
    "idefics3": "", "smolvlm": "", "llava": "", "llava_onevision": "", "internvl": "", "gemma3": "", "qwen2_vl": "",
    "qwen2_5_vl": "", "qwen3_vl": "",
    "paligemma": "its picture sees the text of the question",
}  # fmt: skip
TOLERANCE = 1e-4  # of the logits' spread, in float32
NOISE = 0.05  # the most that rounding alone may move them in other types
_PROBES = ("What is this?", "Look at the image and say in one word what it shows.")


@frozen
class _Heads:
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
        heads = self._encoded(keys, texts, tails, images)
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

    def done(self) -> None:
        """Leave nothing behind in the model that another call could take for its own."""
        if self._rows:
            self._base.rope_deltas = None

    def _encoded(
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
        moved, noise = _tried(torch, model, inputs)
    except Exception as error:  # whatever an unknown model makes of it
        return f"the family is not known, and a trial failed ({first_line(error)})"
    allowed = TOLERANCE if model.dtype == torch.float32 else min(NOISE, max(TOLERANCE, 3 * noise))
    if moved <= allowed:
        return ""
    return f"the family is not known, and in a trial sharing moved the logits by {moved:.2g} of their spread"


def _tried(torch: Any, model: Any, inputs: Inputs) -> tuple[float, float]:
    """How far sharing moves the first logits of two questions, and how far a batch alone does, in their spread."""
    from PIL import Image

    picture = Image.linear_gradient("L").resize((96, 64)).convert("RGB")
    texts = [inputs.render((probe,)) for probe in _PROBES]
    shown = [[picture]] * 2
    sharing = Sharing(torch, model, inputs, 2)

    def logits(asked: Any) -> Any:
        settings = {"do_sample": False, "max_new_tokens": 1, "min_new_tokens": 1, "pad_token_id": inputs.pad}
        out = model.generate(**asked, **settings, return_dict_in_generate=True, output_logits=True)
        sharing.done()
        return out.logits[0].float()

    with torch.inference_mode():
        alone = torch.cat([logits(sharing.encode([text], [[picture]])) for text in texts])
        batch = logits(sharing.encode(texts, shown))
        asked = sharing.inputs(texts, ["", ""], shown)
        if asked is None:
            raise InvalidSetting("the text cannot be cut behind the picture")
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
