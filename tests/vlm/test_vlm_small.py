"""The sample's model without PyTorch: the same replies in NumPy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.vlm.backend import Conversation, ModelOptions
from steelyard.vlm.frames import read_frames
from steelyard.vlm.images import blank, read_picture
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import FOLLOW_UP, PROMPTS
from steelyard.vlm.small import SampleModel, Tokens, is_sample_model, sample_token

transformers = lazy("transformers")
SAMPLE = Path(str(files("steelyard") / "samples" / "vlm"))
MODEL = SAMPLE / "model"
OPTIONS = ModelOptions(device="cpu", max_tokens=16)
WITHOUT_TORCH = "import sys; sys.modules['torch'] = sys.modules['transformers'] = sys.modules['tokenizers'] = None; "


def without_latency(replies: list[Any]) -> list[Any]:
    return [(reply.text, reply.finish, reply.usage, reply.error) for reply in replies]


def test_replies_are_those_of_transformers(tmp_path: Path) -> None:
    from PIL import Image

    Image.linear_gradient("L").resize((200, 123)).convert("RGB").save(tmp_path / "wide.png")
    frames = read_frames(SAMPLE / "frames.csv")[::6]
    pictures = [frame.picture for frame in frames] + [blank(frames[0].picture), read_picture(tmp_path / "wide.png")]
    foods = [*(frame.food for frame in frames), "crème brûlée 2½ ²", "hot dog_7"]
    asked = [
        Conversation(picture, (prompt.render(food),))
        for picture, food in zip(pictures, foods, strict=True)
        for prompt in PROMPTS.values()
    ]
    asked += [Conversation(picture, (PROMPTS["reason"].render(""), "about 230 g", FOLLOW_UP)) for picture in pictures]
    small, large = SampleModel(str(MODEL), OPTIONS), open_backend(f"hf:{MODEL}", OPTIONS)
    assert type(large).__name__ == "HuggingFace"
    assert (small.fingerprint, small.settings) == (large.fingerprint, large.settings)
    assert without_latency(small.generate(asked)) == without_latency(large.generate(asked))
    short = ModelOptions(device="cpu", max_tokens=2)
    cut = SampleModel(str(MODEL), short).generate(asked[:4])
    assert without_latency(cut) == without_latency(open_backend(f"hf:{MODEL}", short).generate(asked[:4]))
    assert {reply.finish for reply in cut} == {"length"}
    small.close()


def test_tokens_are_those_of_transformers() -> None:
    tokens = Tokens(json.loads((MODEL / "tokenizer.json").read_text("utf-8")))
    reference = transformers.AutoTokenizer.from_pretrained(MODEL)
    for text in (
        "User:Estimate the weight.<end_of_utterance>\nAssistant:",
        "it's we'll  two  blanks \n\n lines\t1234.5 g, 2½ ² ٣ 中文 naïve café_x 🍜 __ 'd",
        "",
    ):
        ids = tokens.encode(text)
        assert ids == reference(text, add_special_tokens=False)["input_ids"]
        assert tokens.decode(ids) == reference.decode(ids, skip_special_tokens=True)


def test_without_torch_the_model_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The numbers are those that transformers gives: see above."""
    for name in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    shutil.copytree(MODEL, tmp_path / "model")
    backend = open_backend(f"hf:{tmp_path / 'model'}", OPTIONS)
    assert isinstance(backend, SampleModel)
    picture = read_frames(SAMPLE / "frames.csv")[0].picture
    replies = backend.generate([Conversation(picture, (prompt.render("rice"),)) for prompt in PROMPTS.values()])
    assert [reply.text for reply in replies] == ["163", "246", "about 241 g", "246"]
    gone = tmp_path / "gone.png"
    shutil.copy(str(picture.path), gone)
    lost = read_picture(gone)
    gone.unlink()
    (reply,) = backend.generate([Conversation(lost, ("?",))])
    assert (reply.text, reply.attempts) == ("", 0)
    assert "gone.png" in reply.error


def test_another_model_is_not_the_sample(tmp_path: Path) -> None:
    assert is_sample_model(str(MODEL))
    assert not is_sample_model(str(tmp_path))
    assert not is_sample_model("owner/model")


@pytest.mark.slow
def test_the_demo_without_torch(tmp_path: Path, steelyard) -> None:
    code = f"{WITHOUT_TORCH} sys.argv = ['steelyard', 'demo', 'vlm']; from steelyard.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "runs on NumPy" in done.stdout
    assert "steelyard vlm run IMAGES/" in done.stdout.partition("\nNext:\n")[2]
    assert steelyard("demo", "vlm", "--output", "torch").returncode == 0
    folders = [tmp_path / name / "vlm" for name in ("steelyard-demo", "torch")]
    scores = [json.loads((folder / "score.json").read_text())["body"]["rows"] for folder in folders]
    values = [[row["report"]["scores"]["mae_overall"]["value"] for row in rows] for rows in scores]
    assert values[0] == values[1]


def test_sampled_tokens_have_the_probabilities_of_the_softmax() -> None:
    rng = np.random.default_rng(1)
    logits = np.log(np.array([0.7, 0.2, 0.1], np.float32))
    drawn = np.bincount([sample_token(logits, 1.0, rng) for _ in range(4000)], minlength=3) / 4000
    np.testing.assert_allclose(drawn, [0.7, 0.2, 0.1], atol=0.04)  # 5 standard errors of the first
    assert {sample_token(logits, 0.01, rng) for _ in range(50)} == {0}


def test_repeats_of_the_model_differ_and_runs_do_not() -> None:
    frame = read_frames(SAMPLE / "frames.csv")[0]
    asked = [Conversation(frame.picture, (PROMPTS["direct"].text,), (), repeat) for repeat in range(6)]
    hot = SampleModel(str(MODEL), ModelOptions(device="cpu", max_tokens=16, temperature=2.0))
    first, second = (without_latency(hot.generate(asked)) for _ in range(2))
    assert first == second
    assert len({text for text, *_ in first}) > 2
    assert (hot.settings["do_sample"], hot.settings["temperature"]) == (True, 2.0)
