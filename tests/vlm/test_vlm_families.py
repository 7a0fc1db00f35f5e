"""Tiny models of several families, run for real: alone, in batches and sharing a picture they give the same replies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image
from support import vlm_families
from support.lazy import lazy
from support.tiers import slow_except

from steelyard.core.errors import InputError
from steelyard.vlm import hf
from steelyard.vlm.backend import Conversation, ModelOptions
from steelyard.vlm.images import read_picture
from steelyard.vlm.models import open_backend

torch = lazy("torch")

# One processor of the library asks NumPy 2 for an array in its old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")
ASKED = ("How heavy?", "Is there a dog in the picture? Answer yes or no, please.", "Which colour has it?")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    """Models by family, each made once."""
    place = tmp_path_factory.mktemp("families")
    return lambda name: place / name if (place / name).exists() else getattr(vlm_families, name)(place / name)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory):
    """Pictures of unequal shape, on which much is to be seen."""
    place = tmp_path_factory.mktemp("pictures")
    drawn = torch.Generator().manual_seed(0)
    for number, (width, height) in enumerate([(60, 40), (33, 80)]):
        pixels = torch.randint(0, 256, (height, width, 3), generator=drawn, dtype=torch.uint8)
        Image.fromarray(pixels.numpy()).save(place / f"{number}.png")
    return [read_picture(path) for path in sorted(place.iterdir())]


def opened(folder: Path, **options):
    return open_backend(f"hf:{folder}", ModelOptions(**{"device": "cpu", "max_tokens": 4, **options}))


def texts(backend, conversations) -> list[str]:
    replies = backend.generate(conversations)
    assert not any(reply.error for reply in replies)
    return [reply.text for reply in replies]


def conversations(pictures):
    """One picture, two pictures, and a follow-up."""
    one = [Conversation(picture, (ask,)) for picture in pictures for ask in ASKED]
    two = [Conversation(pictures[0], (ask,), (pictures[1],)) for ask in ASKED[:2]]
    return one, two, [Conversation(c.picture, (*c.texts, "about 5", "Say it again.")) for c in one[::2]]


@pytest.mark.parametrize("family", slow_except(vlm_families.SHARING, "llava", "gemma3"))
def test_sharing_gives_the_same_replies(family: str, made, pictures) -> None:
    shared, plain = opened(made(family)), opened(made(family), share=False)
    assert shared.environment["share"] is True
    assert shared.notes == ()
    one, two, again = conversations(pictures)
    alone = [texts(plain, [conversation])[0] for conversation in one]
    assert len(set(alone)) > 1  # they depend on what is shown and asked
    assert texts(plain, one) == alone
    assert texts(shared, one) == alone
    kept = shared._sharing.kept
    assert len(kept.keys) == len(pictures)  # each picture was encoded once, for all its questions
    assert texts(shared, again) == texts(plain, again)
    assert shared._sharing.kept is kept  # and not looked at again
    assert texts(shared, two) == [texts(plain, [conversation])[0] for conversation in two]
    assert len(shared._sharing.kept.keys) == 1
    assert family in shared.fingerprint


def test_beyond_its_window_a_model_encodes_each_picture(pictures, tmp_path: Path) -> None:
    folder = vlm_families.gemma3(tmp_path / "narrow", window=24)
    shared, plain = opened(folder), opened(folder, share=False)
    one, _, _ = conversations(pictures)
    assert texts(shared, one) == texts(plain, one)
    given = shared._sharing.inputs(
        [shared._inputs.render(c.texts) for c in one], ["x"] * 6, [[Image.new("RGB", (9, 9))]] * 6
    )
    assert given is None


def test_a_picture_that_sees_the_question_is_not_shared(made, pictures) -> None:
    backend, plain = opened(made("paligemma")), opened(made("paligemma"), share=False)
    assert backend.environment["share"] is False
    assert backend.notes[0] == (
        "a picture is encoded for each question: paligemma cannot share it, its picture sees the text of the question"
    )
    assert "no chat template" in backend.notes[1]
    assert backend.environment["notes"] == list(backend.notes)
    one, _, again = conversations(pictures)
    alone = [texts(plain, [conversation])[0] for conversation in one]
    assert len(set(alone)) > 1
    assert texts(backend, one) == alone  # in a padded batch: needs the types of tokens
    texts(backend, again)


def test_a_family_that_is_not_known_is_tried(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf, "FAMILIES", {})
    assert opened(made("qwen2_5_vl")).environment["share"] is True
    backend = opened(made("paligemma"))
    assert backend.environment["share"] is False
    assert "the family is not known, and a trial failed (the text cannot be cut behind the picture)" in backend.notes[0]
    assert opened(made("paligemma"), share=False).notes == backend.notes[1:]
    real = hf._rows_of

    def off_by_little(cache, index):
        chosen = real(cache, index)
        chosen.layers[0].values = chosen.layers[0].values * 0.99
        return chosen

    monkeypatch.setattr(hf, "_rows_of", off_by_little)
    backend = opened(made("qwen2_5_vl"))
    assert backend.environment["share"] is False
    assert "in a trial sharing moved the logits by" in backend.notes[0]


def test_options_reach_the_library(made, tmp_path: Path) -> None:
    eager = opened(made("llava"), attention="eager", device_map="cpu", dtype="bfloat16")
    assert eager._model.config._attn_implementation == "eager"
    assert eager._model.dtype == torch.bfloat16
    assert (eager.settings["attention"], eager.settings["dtype"]) == ("eager", "bfloat16")
    assert eager.environment["device_map"] == "cpu"
    plain = opened(made("llava"))
    assert set(eager.settings) - set(plain.settings) == {"attention"}  # what is not said changes no key
    for options, words in (
        ({"attention": "eagre"}, "the model cannot be loaded"),
        ({"quantize": "2bit"}, "`quantize=2bit` is not known. Choose one of: 4bit, 8bit"),
        ({"quantize": "4bit"}, "the model cannot be loaded: .*bitsandbytes"),
        ({"revision": "main"}, "a folder has no revision 'main'"),
    ):
        with pytest.raises(InputError, match=words):
            opened(made("llava"), **options)


def test_a_model_with_code_of_its_own_is_not_run_unasked(made, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    shutil.copytree(made("llava"), folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModelForImageTextToText": "mine.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InputError, match=r"config.json is not understood|type 'mine' is not supported"):
        opened(folder)
    assert not (tmp_path / "ran").exists()


def test_a_text_that_holds_the_mark_of_a_picture_fails_alone(made, pictures) -> None:
    backend = opened(made("llava"))
    talks = [Conversation(pictures[0], (text,)) for text in ("How heavy?", "What is <image>?")]
    first, second = backend.generate(talks)
    assert first.text == backend.generate(talks[:1])[0].text
    assert second.error == "the text holds '<image>', which stands for a picture. Take it out."
