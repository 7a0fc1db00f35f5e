"""Alignments and errors as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from steelyard.compat.jiwer.process import AlignmentChunk, CharacterOutput, WordOutput

__all__ = ["collect_error_counts", "visualize_alignment", "visualize_error_counts"]

_MARKS = {"equal": " ", "substitute": "S", "delete": "D", "insert": "I"}
_HEADS = ("REF: ", "HYP: ", "     ")


def visualize_alignment(
    output: WordOutput | CharacterOutput,
    show_measures: bool = True,
    skip_correct: bool = True,
    line_width: int | None = None,
) -> str:
    """The words or characters of each pair of sentences below each other, and the error rates."""
    between = "" if isinstance(output, CharacterOutput) else " "
    text = ""
    for i, chunks in enumerate(output.alignments):
        if skip_correct and all(chunk.type == "equal" for chunk in chunks) and len(chunks) <= 1:
            continue
        lines = _lines(output.references[i], output.hypotheses[i], chunks, between, line_width)
        text += f"=== SENTENCE {i + 1} ===\n\n{lines}\n"
    if not show_measures:
        return text[:-1]
    rates = ("cer",) if isinstance(output, CharacterOutput) else ("mer", "wil", "wip", "wer")
    counts = " ".join(
        f"{name}={getattr(output, name)}" for name in ("substitutions", "deletions", "insertions", "hits")
    )
    summary = "\n".join(f"{name}={getattr(output, name) * 100:.2f}%" for name in rates)
    return f"{text}=== SUMMARY ===\nnumber of sentences: {len(output.alignments)}\n{counts}\n\n{summary}\n"


def _lines(true: list[str], said: list[str], chunks: list[AlignmentChunk], between: str, width: int | None) -> str:
    """The three lines of a sentence; a new block of three begins where a column would pass the width."""
    blocks: list[list[list[str]]] = [[[], [], []]]
    length = len(_HEADS[0])
    for chunk in chunks:
        if chunk.type not in _MARKS:
            raise ValueError(f"unparseable op name={chunk.type}")
        left = true[chunk.ref_start_idx : chunk.ref_end_idx]
        right = said[chunk.hyp_start_idx : chunk.hyp_end_idx]
        if chunk.type == "delete":
            right = ["*"] * len(left)
        elif chunk.type == "insert":
            left = ["*"] * len(right)
        for a, b in zip(left, right, strict=False):
            column = max(len(a), len(b), 1)
            if width is not None and length + column > width:
                blocks.append([[], [], []])
                length = len(_HEADS[0])
            if a == "*":
                a = "*" * column
            elif b == "*":
                b = "*" * column
            for row, word in zip(blocks[-1], (a, b, _MARKS[chunk.type]), strict=True):
                row.append(word.rjust(column))
            length += column + len(between)
    return "\n\n".join("\n".join(map(_line, _HEADS, rows, [between] * 3)) for rows in blocks) + "\n"


def _line(head: str, words: list[str], between: str) -> str:
    return head + between.join(words) if words or not between else head[:-1]


def collect_error_counts(
    output: WordOutput | CharacterOutput,
) -> tuple[dict[tuple[str, str], int], dict[str, int], dict[str, int]]:
    """How often what was substituted, inserted and deleted, chunk by chunk."""
    substitutions: dict[tuple[str, str], int] = defaultdict(int)
    insertions: dict[str, int] = defaultdict(int)
    deletions: dict[str, int] = defaultdict(int)
    between = " " if isinstance(output, WordOutput) else ""
    for true, said, chunks in zip(output.references, output.hypotheses, output.alignments, strict=True):
        for chunk in chunks:
            before = between.join(true[chunk.ref_start_idx : chunk.ref_end_idx])
            after = between.join(said[chunk.hyp_start_idx : chunk.hyp_end_idx])
            if chunk.type == "insert":
                insertions[after] += 1
            elif chunk.type == "delete":
                deletions[before] += 1
            elif chunk.type == "substitute":
                substitutions[before, after] += 1
    return substitutions, insertions, deletions


def visualize_error_counts(
    output: WordOutput | CharacterOutput,
    show_substitutions: bool = True,
    show_insertions: bool = True,
    show_deletions: bool = True,
    top_k: int | None = None,
) -> str:
    """The errors and how often they occur, the most frequent first."""
    shown = (show_substitutions, show_insertions, show_deletions)
    titles = ("SUBSTITUTIONS", "INSERTIONS", "DELETIONS")
    lists = [_listed(errors, top_k) for errors in collect_error_counts(output)]
    text = ""
    for show, title, rows in zip(shown, titles, lists, strict=True):
        if show:
            text += ("\n" if text else "") + f"=== {title} ===\n{rows}"
    return text.removesuffix("\n")


def _listed(errors: Mapping[Any, int], top_k: int | None) -> str:
    if not errors:
        return "none"
    frequent = sorted(errors.items(), key=lambda item: item[1], reverse=True)[:top_k]
    rows = [((words,) if isinstance(words, str) else words, count) for words, count in frequent]
    width = max(len(word) for words, _ in rows for word in words)
    return "".join(f"{' --> '.join(word.ljust(width) for word in words)} = {count}x\n" for words, count in rows)
