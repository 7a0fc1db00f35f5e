"""Backends by stand-ins: no library is loaded and nothing is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.refusal import refused
from support.vlm_help import picture

from steelyard.vlm import images, server
from steelyard.vlm.backend import Conversation, ModelOptions, Reply
from steelyard.vlm.hf import HuggingFace, Inputs, Sharing, _without_videos, decoding, load_model, open_inputs, why_not
from steelyard.vlm.wire import Wire


class Tokenizer:
    """Words are tokens; the mark is one of them."""

    pad_token_id: int | None = None
    eos_token = "</s>"
    unk_token_id = 0
    chat_template = "yes"

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [9] if text == "<image>" else [9, 4]}

    def convert_tokens_to_ids(self, mark: str) -> int:
        return 9


class Processor:
    """A processor whose template places so many pictures."""

    image_token = "<image>"
    chat_template = "yes"

    def __init__(self, placed: int = 1) -> None:
        self.tokenizer, self.placed = Tokenizer(), placed

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return "user: " + "<image>" * self.placed


def test_a_tokenizer_without_a_filling_token_fills_with_its_end() -> None:
    inputs = Inputs(Processor())
    assert (inputs.tokenizer.pad_token, inputs.tokenizer.padding_side) == ("</s>", "left")


def test_a_template_that_places_no_picture_is_refused() -> None:
    assert Inputs(Processor(2)).render(["How many?"], 2) == "user: <image><image>"
    assert refused(lambda: Inputs(Processor(0)).render(["How many?"])) == (
        "the chat template does not place the image. Such a model cannot be asked here."
    )


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in of transformers that knows two families."""

    class Odd:
        @staticmethod
        def get_attributes() -> list[str]:
            return ["tokenizer", "ears"]

    made = ModuleType("transformers")
    mapping = ModuleType("transformers.models.auto.processing_auto")
    mapping.PROCESSOR_MAPPING_NAMES = {"odd": "Odd"}  # type: ignore[attr-defined]
    made.Odd = Odd  # type: ignore[attr-defined]
    made.AutoTokenizer = SimpleNamespace(from_pretrained=lambda folder: Tokenizer())  # type: ignore[attr-defined]
    for name in ("transformers", "transformers.models", "transformers.models.auto"):
        monkeypatch.setitem(sys.modules, name, made)
    monkeypatch.setitem(sys.modules, mapping.__name__, mapping)
    return made


def gives(value: Any) -> Any:
    def from_pretrained(folder: Path, **settings: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return SimpleNamespace(from_pretrained=from_pretrained)


def test_processors_of_families_that_are_not_known(library: Any, tmp_path: Path) -> None:
    assert [_without_videos(tmp_path, family) for family in ("odd", "none")] == [None, None]
    library.AutoProcessor = gives(ValueError("no such processor\nmore"))
    assert refused(lambda: open_inputs(tmp_path, "none")) == (
        f"{tmp_path}: the processor cannot be loaded: no such processor"
    )
    library.AutoProcessor = gives(SimpleNamespace())
    assert refused(lambda: open_inputs(tmp_path, "none")) == (
        f"{tmp_path}: the processor cannot be loaded: 'types.SimpleNamespace' object has no attribute 'tokenizer'"
    )


def test_code_of_a_model_is_run_where_it_is_trusted(library: Any, tmp_path: Path) -> None:
    given: list[dict[str, Any]] = []

    class Model:
        def to(self, device: str) -> Model:
            return self

        def eval(self) -> Model:
            return self

    model = Model()
    library.AutoModelForImageTextToText = SimpleNamespace(
        from_pretrained=lambda folder, **settings: given.append(settings) or model
    )
    assert load_model(tmp_path, "m", ModelOptions(trust_code=True), "cpu", "float32") is model
    assert given == [{"dtype": "float32", "trust_remote_code": True}]
    local = HuggingFace.__new__(HuggingFace)
    local._inputs, local._options = Inputs(Processor()), ModelOptions(trust_code=True)
    assert local._notes("m", "odd", "", "abc") == ("code of m (abc) is run",)
    assert local._notes("m", "odd", "", "") == ("code of m is run",)


class Config:
    """Settings of generation."""

    eos_token_id: int | None = None
    pad_token_id: int | None = None
    is_encoder_decoder = False

    def update(self, **values: Any) -> None:
        vars(self).update(values)


def test_settings_without_an_end_take_the_tokenizers() -> None:
    config = decoding(Config(), SimpleNamespace(eos_token_id=2, pad_token_id=3), 8)
    assert (config.eos_token_id, config.pad_token_id, config.max_new_tokens) == (2, 3, 8)


def test_models_whose_pictures_cannot_be_shared() -> None:
    model = SimpleNamespace(config=Config(), forward=lambda input_ids: None)
    inputs = Inputs(Processor())
    inputs.mark = ""
    assert why_not(None, model, inputs, "odd") == "its processor does not say where the picture stands"
    model.config.is_encoder_decoder = True
    assert why_not(None, model, inputs, "odd") == "its encoder reads picture and question together"


def test_a_text_that_ends_with_its_picture_is_not_shared() -> None:
    sharing = Sharing(None, SimpleNamespace(forward=lambda input_ids: None), Inputs(Processor()), 8)
    assert sharing.inputs(["user: <image>"], ["a"], [[]]) is None


def test_an_image_of_a_kind_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    assert refused(lambda: images.read_picture(tmp_path / "a.heic")) == (
        f"{tmp_path / 'a.heic'}: HEIC images need pillow-heif. Install it: pip install pillow-heif."
    )


def test_another_error_of_a_client_stays() -> None:
    wire = Wire("http://127.0.0.1:9/", {}, 1.0, 1)
    client = wire._client

    def stream(*_: Any, **__: Any) -> Any:
        raise RuntimeError("other")

    wire._client = SimpleNamespace(stream=stream)
    try:
        with pytest.raises(RuntimeError, match=r"^other$"):
            wire.post(b"")
    finally:
        wire._client = client
        wire.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[server.Server, Conversation]]:
    shown = images.read_picture(picture(tmp_path / "a.png", 7))
    made = server.Server("openai", "m@http://127.0.0.1:9/v1", ModelOptions(retries=1))
    try:
        yield made, Conversation(shown, ("How many?",))
    finally:
        made.close()


def test_a_server_that_answered_before_may_be_away_once(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, conversation = asked
    monkeypatch.setattr(made, "_answered", True)

    def sent(body: bytes) -> Reply:
        raise server._Unreachable("away")

    monkeypatch.setattr(made, "_send_body", sent)
    (reply,) = made.generate([conversation])
    assert (reply.text, reply.error, reply.attempts, reply.refused) == ("", "away", 1, False)


def test_a_name_of_the_limit_is_changed_once(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, conversation = asked
    fields: list[str] = []

    def sent(body: bytes) -> Reply:
        fields.append(made._field)
        raise server._OtherField("by another name")

    monkeypatch.setattr(made, "_send_body", sent)
    first = made._field
    replies = [made.generate([conversation])[0].error for _ in range(2)]
    assert replies == ["by another name"] * 2
    assert fields == [first, server._OTHER[first], server._OTHER[first]]


def test_a_name_that_another_thread_changed_is_taken(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, conversation = asked
    first = made._field

    def sent(body: bytes) -> Reply:
        if made._field == first:
            made._field, made._switched = server._OTHER[first], True  # what the other thread does meanwhile
            raise server._OtherField("by another name")
        return Reply("7")

    monkeypatch.setattr(made, "_send_body", sent)
    assert made.generate([conversation])[0].text == "7"
