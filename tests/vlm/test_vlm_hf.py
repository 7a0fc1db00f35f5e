"""The `hf:` backend with a real model: the committed plate model, and random ones of the other families."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from support.lazy import lazy
from support.paths import ROOT

from steelyard.core.errors import InputError, MissingExtra
from steelyard.vlm.answers import parse_reply
from steelyard.vlm.backend import Conversation, ModelOptions
from steelyard.vlm.frames import read_frames
from steelyard.vlm.hf import LEAST, messages_of
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS

torch = lazy("torch")
transformers = lazy("transformers")

SAMPLE = Path(str(files("steelyard") / "samples" / "vlm"))
MODEL = SAMPLE / "model"


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def frames():
    return [frame for frame in read_frames(SAMPLE / "frames.csv") if frame.sequence <= "meal06"]


@pytest.fixture(scope="module")
def questions(frames):
    return [Conversation(f.picture, (p.render(f.food),)) for f in frames for p in PROMPTS.values()]


def opened(share: bool, model: Path = MODEL, **options):
    return open_backend(f"hf:{model}", ModelOptions(**{"share": share, "device": "cpu", "max_tokens": 16, **options}))


def alone(questions):
    """Each conversation by itself, as the library's own documentation has it: no padding, no sharing."""
    processor = transformers.AutoProcessor.from_pretrained(MODEL)
    model = transformers.AutoModelForImageTextToText.from_pretrained(MODEL).eval()
    for c in questions:
        text = processor.apply_chat_template(messages_of(c.texts), add_generation_prompt=True, tokenize=False)
        inputs = processor(text=[text], images=[[c.picture.load()]], return_tensors="pt")
        inputs.pop("token_type_ids", None)
        given = model.generate(**inputs, do_sample=False, max_new_tokens=16)
        yield processor.batch_decode(given[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)[0]


def test_replies_are_the_same_alone_in_batches_and_shared(questions) -> None:
    questions = questions[:32]
    expected = list(alone(questions))
    for share in (False, True):
        backend = opened(share)
        for size in (4, 12, 32):
            replies = [r for i in range(0, 32, size) for r in backend.generate(questions[i : i + size])]
            assert [r.text for r in replies] == expected
            assert {r.finish for r in replies} == {"stop"}


def test_sampled_replies_differ_between_repeats_and_not_between_runs(questions) -> None:
    asked = [replace(question, repeat=repeat) for question in questions[:4] for repeat in range(3)]
    said = []
    for _ in range(2):
        model = opened(True, temperature=3.0)
        said.append([reply.text for reply in model.generate(asked)])
        model.close()
    assert said[0] == said[1]
    assert len(set(said[0])) > 4
    other = opened(True, temperature=3.0)
    assert [reply.text for reply in other.generate([replace(one, repeat=one.repeat + 3) for one in asked])] != said[0]
    assert other.settings["temperature"] == 3.0
    other.close()


def test_follow_ups_share_the_picture_too(questions) -> None:
    reason = [q for q in questions if "dietician" in q.texts[0] and "The food item in this image is" not in q.texts[0]]
    shared, plain = opened(True), opened(False)
    first = shared.generate(questions)
    chats = [(q, r) for q, r in zip(questions, first, strict=True) if r.text.startswith("about")]
    assert chats
    assert all(q in reason for q, _ in chats)
    again = [Conversation(q.picture, (q.texts[0], r.text, FOLLOW_UP)) for q, r in chats]
    seen = shared._sharing.kept
    replies = shared.generate(again)
    assert shared._sharing.kept is seen  # the picture was not looked at again
    assert [r.text for r in replies] == [r.text for r in plain.generate(again)]
    assert all(parse_reply(r.text).ok for r in replies)


def test_the_model_reads_the_plate(frames) -> None:
    """What random weights could not show: the right image goes with the right prompt."""
    backend = opened(True)
    named = [Conversation(f.picture, (PROMPTS["direct+name"].render(f.food),)) for f in frames]
    errors = [abs(float(r.text) - f.weight) for r, f in zip(backend.generate(named), frames, strict=True)]
    assert sum(errors) / len(errors) < 8
    swapped = [Conversation(f.picture, c.texts) for f, c in zip(frames[::-1], named, strict=True)]
    wrong = [abs(float(r.text) - f.weight) for r, f in zip(backend.generate(swapped), frames, strict=True)]
    assert sum(wrong) > 3 * sum(errors)


def test_padding_is_on_the_left(questions) -> None:
    backend = opened(False)
    assert backend._inputs.tokenizer.padding_side == "left"
    mixed = sorted(questions, key=lambda c: len(c.texts[0]))[:: len(questions) // 8]
    assert [r.text for r in backend.generate(mixed)] == [backend.generate([c])[0].text for c in mixed]


def test_a_reply_that_is_cut_off_says_so(questions) -> None:
    (reply,) = opened(True, max_tokens=1).generate(questions[:1])
    assert (reply.finish, reply.usage["completion_tokens"]) == ("length", 1)


def test_a_damaged_picture_fails_alone(questions, tmp_path: Path) -> None:
    from steelyard.vlm.images import read_picture

    source = questions[0].picture.path.read_bytes()
    (tmp_path / "cut.png").write_bytes(source[: len(source) // 2])
    bad = Conversation(read_picture(tmp_path / "cut.png"), questions[0].texts)
    replies = opened(True).generate([questions[0], bad, questions[1]])
    assert "damaged or truncated" in replies[1].error
    assert [r.text for r in replies[::2]] == [r.text for r in opened(True).generate(questions[:2])]


def test_fingerprint_follows_every_file(tmp_path: Path) -> None:
    from steelyard.vlm.hf import fingerprint

    shutil.copytree(MODEL, tmp_path / "m")
    before = fingerprint(tmp_path / "m")
    assert before == fingerprint(MODEL)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"):
        path = tmp_path / "m" / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert fingerprint(tmp_path / "m") != before
        path.write_bytes(data)
    assert fingerprint(tmp_path / "m") == before


@pytest.mark.parametrize(
    ("config", "weights", "text"),
    [
        (None, False, "no config.json"),
        ("{}", False, "no weights"),
        ('{"model_type": "bert"}', True, "type 'bert' is not supported here"),
        ("{}", True, "config.json is not understood"),
    ],
)
def test_folders_that_hold_no_model(config: str | None, weights: bool, text: str, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    if weights:
        (tmp_path / "model.safetensors").write_bytes(b"\0" * 16)
    with pytest.raises(InputError, match=text):
        open_backend(f"hf:{tmp_path}", ModelOptions(device="cpu"))


def test_bad_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model folder"):
        open_backend(f"hf:{tmp_path / 'nowhere' / 'at' / 'all'}", ModelOptions())
    with pytest.raises(InputError, match="`dtype=float8`"):
        opened(True, dtype="float8")
    with pytest.raises(InputError, match="`device=abacus` cannot be used"):
        opened(True, device="abacus")
    broken = tmp_path / "broken"
    shutil.copytree(MODEL, broken)
    (broken / "model.safetensors").write_bytes(b"\0" * 64)
    with pytest.raises(InputError, match="cannot be loaded"):
        open_backend(f"hf:{broken}", ModelOptions(device="cpu"))


@pytest.mark.parametrize(
    ("package", "version", "words"),
    [
        ("transformers", "5.17.3", "needs transformers 5.18 or later, and 5.17.3 is installed"),
        ("transformers", "4.57.0.dev0", "needs transformers 5.18 or later, and 4.57.0.dev0 is installed"),
        ("torch", "2.3.1+cpu", r"needs torch 2.4 or later, and 2.3.1\+cpu is installed"),
    ],
)
def test_older_packages_are_refused_at_the_first_use(package, version, words, monkeypatch) -> None:
    # The module that an import gives now: transformers replaces itself when it is loaded.
    monkeypatch.setattr(importlib.import_module(package), "__version__", version)
    with pytest.raises(InputError, match=rf"{words}\. Run: pip install --upgrade 'steelyard\[vlm-local\]'"):
        opened(share=False)


def test_the_oldest_packages_are_those_of_the_extra() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["vlm-local"]
    for name, least in LEAST.items():
        assert f"{name}>={'.'.join(map(str, least))}" in extra


def test_import_does_not_bring_the_heavy_ones() -> None:
    code = (
        "import sys, steelyard.vlm, steelyard.vlm.run, steelyard.vlm.score, steelyard.cli.main;"
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("torch", "transformers", "PIL", "httpx", "tenacity", "huggingface_hub"):
        assert f"'{heavy}'" not in loaded


def test_without_torch_servers_are_asked_and_local_models_say_what_they_need(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The extra `vlm` has neither torch nor transformers."""
    for name in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises ImportError
    open_backend("openai:m@http://127.0.0.1:9/v1", ModelOptions()).close()
    with pytest.raises(
        MissingExtra, match=r"an hf: model needs an optional part: pip install 'steelyard\[vlm-local\]'"
    ):
        open_backend("hf:owner/model", ModelOptions())
    shutil.copytree(MODEL, tmp_path / "model")
    (tmp_path / "model" / "generation_config.json").write_text("{}")
    with pytest.raises(MissingExtra):  # a model that was changed is not the sample's
        open_backend(f"hf:{tmp_path / 'model'}", ModelOptions())


def test_extras_for_servers_have_no_torch() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {extra: {part.split(">")[0] for part in extras[extra]} for extra in ("vlm", "vlm-local")}
    assert names["vlm-local"] - names["vlm"] == {"torch", "transformers"}
    assert names["vlm"] == {"pillow", "httpx", "tenacity", "pyyaml"}
