"""Checks of `answers`: replies that stand at another question, that hold more than the answer, or that never differ."""

from __future__ import annotations

import re
from collections import Counter

from steelyard.checks.check import FEW, QUICK, WHOLE, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.counts import share_text

CHECKS = with_ids(Checks(), repeats=False)
TOKENS = re.compile(r"(?s:.*?)(?:</?s>|<pad>|<unk>|<eos>|<\|[^|>]*\|>|\[(?:PAD|UNK|EOS)\]|</?think>)")
LABEL = re.compile(r"\s*(?:the\s+)?(?:final\s+)?answer\s*(?:is|:)", re.IGNORECASE)
MOST_ALIKE = 0.9


def _replies(data: CheckData) -> tuple[list[int], list[str]]:
    """Rows of replies and their texts; a sample where there are many."""
    pairs = data.pairs
    if pairs is None or "answer" not in pairs.prediction or not len(pairs.accepted):
        return [], []
    rows = data.paired_rows[1]
    return rows.tolist(), [str(text) for text in pairs.prediction["answer"][rows].tolist()]


def _such(data: CheckData, pattern: re.Pattern[str], verb: str, what: str) -> Problem | None:
    rows, texts = _replies(data)
    such = [(row, text) for row, text in zip(rows, texts, strict=True) if pattern.match(text)]
    if not such:
        return None
    return Problem(
        f"{share_text(len(such), len(texts), 'reply', verb)} {what}, as '{such[0][1][:40]}'.",
        len(such),
        len(texts),
        some_rows(data.pairs.prediction, [row for row, _ in such[:3]], "answer"),
    )


@CHECKS.add(
    "answer-tokens", "warning", "replies hold marks of the model: <s>, <|end|>, <think>",
    "Decode without special tokens, and leave thoughts out.",
)  # fmt: skip
def tokens(data: CheckData) -> Problem | None:
    """Marks that no reader should see."""
    return _such(data, TOKENS, "hold", "marks of the model")


@CHECKS.add(
    "answer-labelled", "warning", "replies begin with 'Answer:', which no comparison takes off",
    "Keep what stands behind it.",
)  # fmt: skip
def labelled_replies(data: CheckData) -> Problem | None:
    """Replies with a label in front, where true answers have none."""
    if data.pairs is not None and any(LABEL.match(str(text)) for text in data.pairs.accepted[:100].tolist()):
        return None
    return _such(data, LABEL, "begin", "with a label")


@CHECKS.add(
    "answer-constant", "warning", "nearly all replies are the same, and true answers are not",
    "Were the pictures looked at?",
)  # fmt: skip
def constant(data: CheckData) -> Problem | None:
    """One reply to nearly everything."""
    _, texts = _replies(data)
    if len(texts) < FEW:
        return None
    (reply, count), *_ = Counter(text.strip().lower() for text in texts).most_common(1)
    accepted = Counter(
        str(text).strip().lower() for text in data.pairs.accepted[: QUICK if data.quick else WHOLE].tolist()
    )
    if count < MOST_ALIKE * len(texts) or accepted.most_common(1)[0][1] >= MOST_ALIKE * accepted.total():
        return None
    return Problem(f"{share_text(count, len(texts), 'reply', 'are')} '{reply[:40]}'.", count, len(texts))
