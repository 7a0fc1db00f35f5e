"""Answers: edits of lines and pages beside rapidfuzz and jiwer, and ANLS and VQA accuracy of a many answers.

Texts are drawn: words of letters, with characters substituted and lost. A peer that is not installed is left out.
"""

from __future__ import annotations

from measure import measure, sized, table

DRAWN = """
import numpy as np
rng = np.random.default_rng(1)
words = np.array(["".join(map(chr, rng.integers(97, 123, n))) for n in rng.integers(2, 10, 20_000)], dtype=object)
def lines(count, length):
    return [" ".join(words[row]) for row in rng.integers(0, len(words), (count, length))]
def noisy(text, share=0.05):
    keep = rng.random(len(text)) > share / 3
    made = np.where(rng.random(len(text)) < share, "x", np.array(list(text)))
    return "".join(made[keep])
"""
LINES = (
    DRAWN
    + """
references = lines({count}, {words})
said = [noisy(text) for text in references]
"""
)
OURS = """
import steelyard as sy
from steelyard.language import edits
sy.use_threads(1)
edits.edit_counts(edits.characters(["a"]), edits.characters(["b"]))
few = {"question": [1, 2], "answer": ["a", "b"]}
sy.evaluate("answers", few, few, confidence=None)
"""
DISTANCES = "edits.text_distances(references, said)"
COUNTS = "edits.text_counts(references, said)"
TASK = """
ids = np.arange(len(references))
truth = {"question": ids, "answer": np.array(references, dtype=object)}
replies = {"question": ids, "answer": np.array(said, dtype=object)}
"""
RAPIDFUZZ = (
    "from rapidfuzz import process\nfrom rapidfuzz.distance import Levenshtein\nLevenshtein.distance('a', 'b')\n"
)
JIWER = "import {package}\nimport steelyard as sy\nsy.use_threads(1)\n{package}.wer('a', 'b')\n"
VQA = (
    DRAWN
    + """
pool = np.array([*lines(5000, 1), *lines(5000, 2), "yes", "no", "2", "red"], dtype=object)
answers = pool[rng.integers(0, len(pool), {answers})]
truth = {{"question": np.repeat(np.arange({answers} // 10), 10), "answer": answers}}
replies = {{"question": np.arange({answers} // 10), "answer": answers[::10].copy()}}
"""
)

VQA_EVAL = """
import contextlib
from steelyard.compat.vqaEvaluation.vqaEval import VQAEval
from steelyard.compat.vqaTools.vqa import VQA
side, said = VQA(), VQA()
types = {"question_type": "what", "answer_type": "other"}
side.qa = {i: {"answers": [{"answer": text, "answer_id": k} for k, text in enumerate(answers[10 * i : 10 * i + 10])],
               **types} for i in range(len(answers) // 10)}
side.dataset = {"annotations": [{"question_id": i} for i in side.qa]}
said.qa = {i: {"answer": answers[10 * i]} for i in side.qa}
"""


def evaluate(metric: str) -> str:
    """One evaluation of one metric, without an interval."""
    return f"sy.evaluate('answers', truth, replies, {metric!r}, confidence=None)"


def main() -> None:
    """Print the tables."""
    for title, count, words in (
        ("lines of 12 words", sized(20_000, 200), 12),
        ("pages of 960 words", sized(20, 2), 960),
    ):
        setup = LINES.format(count=count, words=words)
        table(
            f"Edits of characters, {count:,} {title} (goal: at most 1.5 of rapidfuzz)",
            "steelyard, distances",
            {
                "steelyard, distances": measure(DISTANCES, OURS + setup),
                "rapidfuzz, distances in one call": measure(
                    "process.cpdist(references, said, scorer=Levenshtein.distance, workers=1)", RAPIDFUZZ + setup
                ),
                "rapidfuzz, distance by distance": measure(
                    "[Levenshtein.distance(a, b) for a, b in zip(references, said)]", RAPIDFUZZ + setup
                ),
                "steelyard, with the edits of the alignment": measure(COUNTS, OURS + setup),
                "rapidfuzz, with the edits of the alignment": measure(
                    "[Levenshtein.editops(a, b) for a, b in zip(references, said)]", RAPIDFUZZ + setup
                ),
                "steelyard, cer of evaluate": measure(evaluate("cer"), OURS + setup + TASK),
                "jiwer, process_characters": measure(
                    "jiwer.process_characters(references, said)", "import jiwer\n" + setup
                ),
            },
        )
    count = sized(20_000, 200)
    setup = LINES.format(count=count, words=12)
    table(
        f"Drop-in for jiwer, {count:,} lines of 12 words",
        "steelyard.compat.jiwer, process_words",
        {
            f"{package}, {call}{read}": measure(
                f"{package}.{call}(references, said){read}", JIWER.format(package=package) + setup
            )
            for call, read in (("process_words", ""), ("process_words", ".alignments"), ("process_characters", ""))
            for package in ("steelyard.compat.jiwer", "jiwer")
        },
    )
    many = sized(200_000, 2_000)
    setup = LINES.format(count=many, words=2) + TASK
    table(
        f"{many:,} answers, from columns to the number (goal: 5 CPU s per million)",
        "steelyard, anls@0.5",
        {
            "steelyard, anls@0.5": measure(evaluate("anls@0.5"), OURS + setup, repeat=1),
            "steelyard, vqa, ten people per question": measure(
                evaluate("vqa"), OURS + VQA.format(answers=many), repeat=1
            ),
            "steelyard.compat.vqaEvaluation, ten people per question": measure(
                "with contextlib.redirect_stdout(None):\n    VQAEval(side, said).evaluate()",
                VQA.format(answers=many) + VQA_EVAL,
                repeat=1,
            ),
        },
    )


if __name__ == "__main__":
    main()
