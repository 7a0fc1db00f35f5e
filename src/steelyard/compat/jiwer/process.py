"""Aligning sentences by words or characters, and what the alignments add up to.

Edits are counted by the native core for all sentences at once. The chunks of the alignments are created when
`alignments` is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from steelyard.compat.jiwer.transformations import cer_default, wer_default
from steelyard.core.errors import Unsupported
from steelyard.language import edits

__all__ = ["AlignmentChunk", "CharacterOutput", "WordOutput", "process_characters", "process_words"]

Sentences = list[list[str]]
Transform = Callable[[Any], Any]
_TYPES = {edits.SUBSTITUTED: "substitute", edits.DELETED: "delete", edits.INSERTED: "insert"}
_CHUNKS = frozenset(("equal", *_TYPES.values()))


@dataclass
class AlignmentChunk:
    """Neighbouring words or characters that are equal, substituted, deleted or inserted."""

    type: str
    ref_start_idx: int
    ref_end_idx: int
    hyp_start_idx: int
    hyp_end_idx: int

    def __post_init__(self) -> None:
        if self.type == "replace":
            self.type = "substitute"
        elif self.type not in _CHUNKS:
            raise ValueError("")
        if self.ref_start_idx > self.ref_end_idx:
            raise ValueError(f"ref_start_idx={self.ref_start_idx} is larger than ref_end_idx={self.ref_end_idx}")
        if self.hyp_start_idx > self.hyp_end_idx:
            raise ValueError(f"hyp_start_idx={self.hyp_start_idx} is larger than hyp_end_idx={self.hyp_end_idx}")


class _Output:
    """Base of the outputs: `alignments` is computed the first time that it is read."""

    _encoded: tuple[edits.EncodedTexts, edits.EncodedTexts]
    references: Sentences
    hypotheses: Sentences

    @classmethod
    def _create(cls, encoded: tuple[edits.EncodedTexts, edits.EncodedTexts], **values: Any) -> Any:
        output = cls.__new__(cls)
        output.__dict__.update(values, _encoded=encoded)
        return output

    def __getattr__(self, name: str) -> Any:
        if name != "alignments" or "_encoded" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        self.alignments = _alignments(self.references, self.hypotheses, *self.__dict__.pop("_encoded"))
        return self.alignments

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def _inputs(self, between: str, *metrics: str) -> tuple[str, Any, Any, dict[str, Any]]:
        sides = []
        for sentences in (self.references, self.hypotheses):
            if between and any(between in word for sentence in sentences for word in sentence):
                raise Unsupported(
                    "words with blanks in them cannot be reported",
                    remedy="Split sentences at blanks, or join the parts of a word by another character.",
                )
            texts = [between.join(sentence) for sentence in sentences]
            sides.append({"question": list(range(len(texts))), "answer": texts})
        return "answers", sides[0], sides[1], {"metrics": list(metrics)}


@dataclass
class WordOutput(_Output):
    """What `process_words` returns."""

    references: Sentences
    hypotheses: Sentences
    alignments: list[list[AlignmentChunk]]
    wer: float
    mer: float
    wil: float
    wip: float
    hits: int
    substitutions: int
    insertions: int
    deletions: int

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the same sentences."""
        return self._inputs(" ", "wer", "mer", "wil", "wip")


@dataclass
class CharacterOutput(_Output):
    """What `process_characters` returns."""

    references: Sentences
    hypotheses: Sentences
    alignments: list[list[AlignmentChunk]]
    cer: float
    hits: int
    substitutions: int
    insertions: int
    deletions: int

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the same sentences."""
        return self._inputs("", "cer")


def process_words(
    reference: str | list[str],
    hypothesis: str | list[str],
    reference_transform: Transform = wer_default,
    hypothesis_transform: Transform = wer_default,
) -> WordOutput:
    """Align sentences, after the transforms have split them into words."""
    sides, joined = [], []
    for sentences, transform, side in (
        (reference, reference_transform, "reference"),
        (hypothesis, hypothesis_transform, "hypothesis"),
    ):
        split = transform([sentences] if isinstance(sentences, str) else sentences)
        sides.append(split)
        joined.append(_joined(split, side))
    references, hypotheses = sides
    if len(references) != len(hypotheses):
        raise ValueError(
            "After applying the transforms on the reference and hypothesis sentences, their lengths must match. "
            f"Instead got {len(references)} reference and {len(hypotheses)} hypothesis sentences."
        )
    if all(_is_characters(split, texts) for split, texts in zip(sides, joined, strict=True)):
        encoded = edits.characters(joined[0]), edits.characters(joined[1])
    else:
        encoded = edits.words(references, hypotheses)  # type: ignore[assignment]
    hits, substitutions, deletions, insertions = edits.edit_counts(*encoded).sum(axis=0, dtype=int).tolist()
    errors, said = substitutions + deletions + insertions, hits + substitutions + insertions
    true = hits + substitutions + deletions
    rates: tuple[float, float, float]
    if true:
        rates = errors / true, errors / (hits + errors), (hits / true) * (hits / said) if said else 0
    else:
        rates = insertions, int(said > 0), int(said == 0)
    output: WordOutput = WordOutput._create(
        encoded,
        references=references,
        hypotheses=hypotheses,
        wer=rates[0],
        mer=rates[1],
        wil=1 - rates[2],
        wip=rates[2],
        hits=hits,
        substitutions=substitutions,
        insertions=insertions,
        deletions=deletions,
    )
    return output


def process_characters(
    reference: str | list[str],
    hypothesis: str | list[str],
    reference_transform: Transform = cer_default,
    hypothesis_transform: Transform = cer_default,
) -> CharacterOutput:
    """Align sentences, after the transforms have split them into characters."""
    words = process_words(reference, hypothesis, reference_transform, hypothesis_transform)
    shared = {name: getattr(words, name) for name in ("references", "hypotheses", "hits", "substitutions")}
    output: CharacterOutput = CharacterOutput._create(
        words._encoded, **shared, cer=words.wer, insertions=words.insertions, deletions=words.deletions
    )
    return output


def _joined(sentences: Any, side: str) -> list[str]:
    """Each sentence without anything between its words; this checks that they are lists of lists of strings."""
    if isinstance(sentences, list) and all(isinstance(sentence, list) for sentence in sentences):
        try:
            return ["".join(sentence) for sentence in sentences]
        except TypeError:
            pass
    raise ValueError(
        f"After applying the transformation, each {side} should be a list of strings, with each string being a single "
        "word or character.Please ensure the given transformation reduces the input to a list of list strings."
    )


def _is_characters(sentences: Sentences, joined: list[str]) -> bool:
    """Whether each string is one character."""
    return all(
        len(sentence) == len(text) and "" not in sentence for sentence, text in zip(sentences, joined, strict=True)
    )


def _alignments(
    references: Sentences, hypotheses: Sentences, reference: edits.EncodedTexts, hypothesis: edits.EncodedTexts
) -> list[list[AlignmentChunk]]:
    """The chunks of each pair of sentences: neighbouring edits of a type are one, and what is equal lies between."""
    runs: list[list[tuple[str, int, int, int, int]]] = [[] for _ in references]
    at = [(0, 0)] * len(references)
    for pair, edit, true, said in edits.edit_steps(reference, hypothesis)[::-1].tolist():
        chunks, (i, j) = runs[pair], at[pair]
        gap = true - i if true >= 0 else said - j
        if gap:
            chunks.append(("equal", i, i + gap, j, j + gap))
            i, j = i + gap, j + gap
        end = i + (edit != edits.INSERTED), j + (edit != edits.DELETED)
        kind = _TYPES[edit]
        if chunks and chunks[-1][0] == kind:
            _, first, _, begin, _ = chunks[-1]
            chunks[-1] = (kind, first, end[0], begin, end[1])
        else:
            chunks.append((kind, i, end[0], j, end[1]))
        at[pair] = end
    for chunks, (i, j), true_words, words in zip(runs, at, references, hypotheses, strict=True):
        if i < len(true_words):
            chunks.append(("equal", i, len(true_words), j, len(words)))
    return [[AlignmentChunk(*chunk) for chunk in chunks] for chunks in runs]
