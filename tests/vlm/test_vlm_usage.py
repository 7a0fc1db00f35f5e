"""Counts of tokens, by the vocabularies of three providers, from a server's answer to the journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.vlm_help import completion, frames_csv, serving

from steelyard.vlm.backend import ModelOptions
from steelyard.vlm.frames import read_frames
from steelyard.vlm.journal import read_journal
from steelyard.vlm.models import open_backend
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.run import run
from steelyard.vlm.usage import Tokens, read_usage, tokens_of

OPENAI = {
    "prompt_tokens": 1200,
    "completion_tokens": 310,
    "total_tokens": 1510,
    "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 256},
}
# As the providers document them: Anthropic's input_tokens leave out what is cached, Gemini's prompt count does not.
ANTHROPIC = {"input_tokens": 40, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 60, "output_tokens": 7}
GEMINI = {"promptTokenCount": 300, "cachedContentTokenCount": 200, "candidatesTokenCount": 5, "thoughtsTokenCount": 90}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (OPENAI, Tokens(1200, 1024, 310, 256)),
        (ANTHROPIC, Tokens(1100, 1000, 7, 0)),
        (GEMINI, Tokens(300, 200, 95, 90)),
        ({"promptTokenCount": 300, "thoughtsTokenCount": 64}, Tokens(300, 0, 64, 64)),  # cut off while it thinks
        ({"prompt_tokens": 5}, Tokens(5, 0, None, 0)),
        ({}, Tokens()),
        ([1], Tokens()),
        ({"prompt_tokens": -1, "completion_tokens": True, "x": {"y": {"z": 1}}}, Tokens()),
    ],
)
def test_three_vocabularies(usage: object, tokens: Tokens) -> None:
    assert tokens_of(read_usage(usage, str)) == tokens


def test_counts_and_time_reach_the_journal(tmp_path: Path) -> None:
    answer = completion("245") | {"usage": OPENAI}
    with serving(lambda h, n, b: h.send(answer)) as server:
        backend = open_backend(f"openai:m@{server.url}", ModelOptions())
        run(read_frames(frames_csv(tmp_path))[:1], backend, (PROMPTS["direct"],), tmp_path / "run")
        backend.close()
    (reading,) = read_journal(tmp_path / "run").values()
    assert reading.turns[0].usage == {
        "prompt_tokens": 1200,
        "completion_tokens": 310,
        "total_tokens": 1510,
        "prompt_tokens_details.cached_tokens": 1024,
        "prompt_tokens_details.audio_tokens": 0,
        "completion_tokens_details.reasoning_tokens": 256,
    }
    assert tokens_of(reading.turns[0].usage) == Tokens(1200, 1024, 310, 256)
    assert reading.turns[0].latency > 0
