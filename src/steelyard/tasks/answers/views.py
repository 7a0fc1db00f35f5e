"""What is shown of answers beside scores: characters that are mixed up, yes and no, numbers, every reply.

Why other tools say another number of the same replies: one setting at a time, on these data.

Sources: lmms-eval 75571cfe (tasks vqav2, docvqa, chartqa, pope; api/metrics.py), VLMEvalKit e8e78f05
(dataset/utils/vqa_eval.py and yorn.py, smp/misc.py), inspect_ai 56828e8 (scorer/_classification.py), lm-eval 4e7e0d47f
(api/metrics.py), and VQA's own script, GT-Vision-Lab/VQA a013f00.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.language import answers as alike
from steelyard.language import edits
from steelyard.language.replies import YES_NO
from steelyard.tasks.answers.choices import YesNoCounts, truth_of_yes_no
from steelyard.tasks.answers.data import AnswerPairs
from steelyard.tasks.answers.sums import AnlsSum, EditSums, ExactSum, numbers_of, shares_apart
from steelyard.tasks.answers.texts import Said, said_texts
from steelyard.tasks.shared.agreement import agreement, other_texts
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

TEXTS = ("exact", "anls@0.5", "relaxed@0.05", "word_f1")
YES_OR_NO = ("yn_accuracy", "yn_precision", "yn_recall", "yn_f1", "yes_ratio")
SINGLE_STOPS = re.compile(r"(?<!\d)\.(?!\d)")
TEXT_ONLY = "They see the text of a reply alone: what became of the question is not in their data."


class AnswerConventions(Frozen):
    """How replies are scored. The defaults are ours."""

    outcomes: str = field(default="no answer where it is not ok", metadata={"title": "outcome of a reply"})
    weights: str = field(default="as given", metadata={"title": "weights of units"})
    vqa_texts: str = field(default="where people differ", metadata={"title": "VQA's rule for texts is applied"})
    vqa_stops: str = field(default="as VQA's script does", metadata={"title": "full stops in VQA's rule"})
    equal: str = field(default="lower, single blanks", metadata={"title": "when texts are equal"})
    around: str = field(default="kept", metadata={"title": "blanks around a reply, in relaxed accuracy"})
    bags: str = field(default="bags of words", metadata={"title": "what F1 compares"})
    reader: str = field(default="one of the words", metadata={"title": "how yes and no are read"})
    neither: str = field(default="misses a yes", metadata={"title": "a reply that is neither"})
    ratio: str = field(default="of what is said", metadata={"title": "yes ratio"})


OURS = AnswerConventions()
_WEIGHTS = "No weights are known there."
TOOLS: dict[str, Tool[AnswerConventions]] = {
    tool.name: tool
    for tool in (
        Tool(
            "lmms-eval", "75571cfe",
            AnswerConventions(
                outcomes="not known", weights="not known", vqa_texts="always", equal="as they are",
                reader="nothing but the word", neither="left out of recall", ratio="of what is true",
            ),
            {
                "outcomes": TEXT_ONLY, "weights": _WEIGHTS,
                "vqa_texts": "Texts are processed even where all people say the same: \"Yes\" is right for \"yes\".",
                "equal": "exact_match compares texts as they are, with case and blanks.",
                "reader": "\"Yes.\" and \"Yes, there is\" are neither yes nor no.",
                "neither": "A reply that is neither does not count as a missed yes: recall and F1 do not see it.",
                "ratio": "It counts the true answers that are yes, whatever the model says.",
            },
            ("vqa", *TEXTS[:3], *YES_OR_NO),
            ("Tasks have filters of their own before they score; a log shows what came of them.",),
        ),
        Tool(
            "vlmevalkit", "e8e78f05",
            AnswerConventions(
                outcomes="not known", weights="not known", vqa_texts="always", vqa_stops="kept behind a digit",
                equal="lower, stripped", around="stripped", reader="one of the words, by VQA's marks",
            ),
            {
                "outcomes": TEXT_ONLY, "weights": _WEIGHTS,
                "vqa_texts": "Texts are processed even where all people say the same: \"Yes\" is right for \"yes\".",
                "vqa_stops": "The look-behind is spelt right there: \"3.\" is not \"3\".",
                "equal": "Blanks inside a text stay as they are.",
                "around": "\" north \" is right for \"north\".",
                "reader": "Marks go as in VQA's rule: \"yes:\" does not count as yes.",
            },
            ("vqa", *TEXTS[:3], *YES_OR_NO[:4]),
            (
                "With a judge, replies that it cannot read are asked about again; these numbers are without.",
                "Its table of contractions is shorter than that of VQA's script.",
            ),
        ),
        Tool(
            "inspect", "56828e8", AnswerConventions(
                outcomes="not known", weights="not known", equal="sets of words", bags="sets of words, two digits",
            ),
            {
                "outcomes": TEXT_ONLY, "weights": _WEIGHTS,
                "equal": "exact() compares sets of words, without marks and articles: order and repeats do not count.",
                "bags": "f1() compares sets, and rounds each question to two digits.",
            },
            (TEXTS[0], TEXTS[3]),
            ("match() and includes() look for the target inside the reply: other questions than these.",),
        ),
        Tool(
            "lm-eval", "4e7e0d47f", AnswerConventions(outcomes="not known", weights="not known", equal="as they are"),
            {
                "outcomes": TEXT_ONLY, "weights": _WEIGHTS,
                "equal": "exact_match compares texts as they are; its tasks may ignore case or marks.",
            },
            TEXTS[:1],
        ),
        Tool(
            "vqa", "a013f00", AnswerConventions(outcomes="not known", weights="not known"),
            {"outcomes": TEXT_ONLY, "weights": _WEIGHTS}, ("vqa",),
            ("Answers of people without answer_id that are equal are one there: ten of ten \"yes\" score 0.",),
        ),
    )
}  # fmt: skip


def explain(pairs: AnswerPairs, names: Any) -> tuple[Explanation, ...]:
    """An explanation for each tool that is named."""
    texts = said_texts(pairs, SharedCache())
    return tuple(_of_tool(pairs, texts, tool) for tool in find_tools(names, TOOLS).values())


def _of_tool(pairs: AnswerPairs, texts: Said, tool: Tool[AnswerConventions]) -> Explanation:
    """What a tool prints of such data: yes and no, several people's answers, or texts."""
    if "yes or no" in pairs.held:
        fitting = [name for name in tool.prints if name in YES_OR_NO]
    elif "many" in pairs.held:
        fitting = [name for name in tool.prints if name == "vqa"]
    else:
        fitting = [name for name in tool.prints if name in TEXTS]
    prints = tuple(fitting) or tool.prints[:1]
    return explain_tool(replace(tool, prints=prints), partial(outcomes_of, pairs, texts, prints))


def outcomes_of(
    pairs: AnswerPairs, texts: Said, names: tuple[str, ...], conventions: AnswerConventions
) -> dict[str, float]:
    """The numbers that come of a way."""
    if conventions.outcomes != OURS.outcomes:
        texts = replace(texts, answered=np.ones(len(texts.reply), dtype=bool))
    weight = np.ones(len(texts.reply))
    if pairs.weight is not None and conventions.weights == OURS.weights:
        weight = np.asarray(pairs.weight, dtype=np.float64)[pairs.owner]
    if names[0] in YES_OR_NO:
        return _yes_no(texts, weight, conventions)
    made = {name: _SCORES[name](texts, conventions) for name in names}
    total = weight.sum()
    return {name: float((scores * weight).sum() / total) if total else float("nan") for name, scores in made.items()}


def _codes(values: list[Any]) -> Array:
    place: dict[Any, int] = {}
    return np.array([place.setdefault(one, len(place)) for one in values], dtype=np.int64)


def _vqa(texts: Said, conventions: AnswerConventions) -> Array:
    stops = {} if conventions.vqa_stops == OURS.vqa_stops else {"stops": SINGLE_STOPS}
    code = _codes(texts.each(lambda text: alike.vqa(text, **stops)))
    begin, of = texts.begin[:-1], texts.of
    hits = np.add.reduceat((code[texts.accepted] == code[texts.reply][of]).astype(np.int64), begin)
    if conventions.vqa_texts == OURS.vqa_texts:
        plain = _codes(texts.each(alike.plain))
        own = plain[texts.accepted]
        differs = np.add.reduceat((own != own[begin][of]).astype(np.int64), begin) > 0
        same = np.add.reduceat((own == plain[texts.reply][of]).astype(np.int64), begin)
        hits = np.where(differs, hits, same)
    people = np.diff(texts.begin)
    others = hits * np.minimum(1.0, (hits - 1) / 3) + (people - hits) * np.minimum(1.0, hits / 3)
    return np.where(texts.answered, others / people, 0.0)


def _exact(texts: Said, conventions: AnswerConventions) -> Array:
    shape: Callable[[str], Any] = {
        "as they are": alike.NORMS["as_is"], "lower, stripped": alike.NORMS["lower"], "sets of words": _word_set,
    }.get(conventions.equal, alike.normalise_spaces)  # fmt: skip
    code = _codes(texts.each(shape))
    return texts.best((code[texts.accepted] == code[texts.reply][texts.of]).astype(float))


def _anls(texts: Said, conventions: AnswerConventions) -> Array:
    value = 1 - shares_apart(texts, "raw")
    return texts.best(np.where(value < 0.5, 0.0, value))


def _relaxed_scores(texts: Said, conventions: AnswerConventions) -> Array:
    replies = texts.each(str.strip if conventions.around != OURS.around else str)
    pairs = zip(texts.reply[texts.of].tolist(), texts.accepted.tolist(), strict=True)
    return texts.best(np.array([alike.relaxed_match(replies[r], texts.distinct[a]) for r, a in pairs], dtype=float))


def _word_f1(texts: Said, conventions: AnswerConventions) -> Array:
    pairs = list(zip(texts.reply[texts.of].tolist(), texts.accepted.tolist(), strict=True))
    if conventions.bags == OURS.bags:
        bags = texts.each(lambda text: alike.squad(text).split())
        return texts.best(np.array([alike.bag_f1(bags[r], bags[a]) for r, a in pairs]))
    sets = texts.each(_word_set)
    return np.round(texts.best(np.array([_set_f1(sets[r], sets[a]) for r, a in pairs])), 2)


def _set_f1(reply: frozenset[str], answer: frozenset[str]) -> float:
    shared = len(reply & answer)
    precision = shared / len(reply) if reply else 1.0
    recall = shared / len(answer) if answer else 1.0
    return 2 * precision * recall / (precision + recall) if precision or recall else 0.0


def _word_set(text: str) -> frozenset[str]:
    """The words of a text as inspect's exact() and f1() see them: numbers by value, no marks, no articles."""
    words = []
    for token in re.split("[ -]", text):
        word = token.casefold()
        number = alike.to_float(word)
        if number is None:
            word = word.translate(str.maketrans("", "", string.punctuation))
            number = alike.to_float(word)
        words += re.sub(r"\b(a|an|the)\b", " ", word if number is None else str(number)).split()
    return frozenset(words)


_SCORES: dict[str, Callable[[Said, AnswerConventions], Array]] = {
    "vqa": _vqa, "exact": _exact, "anls@0.5": _anls, "relaxed@0.05": _relaxed_scores, "word_f1": _word_f1,
}  # fmt: skip


def _by_marks(text: str) -> str:
    words = alike.strip_marks(text.lower(), SINGLE_STOPS).split()
    says = [word for word in ("yes", "no") if word in words]
    return says[0] if len(says) == 1 else "other"


def _yes_no(texts: Said, weight: Array, conventions: AnswerConventions) -> dict[str, float]:
    read = {"nothing but the word": YES_NO["whole"], "one of the words, by VQA's marks": _by_marks}
    words = texts.each(read.get(conventions.reader, YES_NO["word"]))
    says = np.array([{"yes": 1, "no": 0}.get(word, -1) for word in words], dtype=np.int64)[texts.reply]
    says = np.where(texts.answered, says, -1)
    true = truth_of_yes_no(texts)

    def count(t: int, s: int) -> float:
        return float(weight[(true == t) & (says == s)].sum())

    tp, fp, tn, fn = count(1, 1), count(0, 1), count(0, 0), count(1, 0)
    other_yes, other_no = count(1, -1), count(0, -1)
    missed = fn + (other_yes if conventions.neither == OURS.neither else 0.0)
    yes, said_any = (
        (tp + fp, tp + fp + tn + fn)
        if conventions.ratio == OURS.ratio
        else (tp + fn + other_yes, tp + fp + tn + fn + other_yes + other_no)
    )
    return {
        "yn_accuracy": _over(tp + tn, tp + fp + tn + fn + other_yes + other_no),
        "yn_precision": _over(tp, tp + fp),
        "yn_recall": _over(tp, tp + missed),
        "yn_f1": _over(2 * tp, 2 * tp + fp + missed),
        "yes_ratio": _over(yes, said_any),
    }


def _over(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


MOST_CONFUSIONS = 20
MOST_QUESTIONS = 20_000  # whose texts are aligned for a picture
NOTHING = "nothing"
SHOWN = {" ": "blank", "\n": "line end", "\t": "tab"}
BINS = 20


def tables(pairs: AnswerPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """What the data allow."""
    makers: dict[str, Callable[[], Table]] = {}
    if "answers" not in state.metadata.holds or not len(pairs.owner):
        return makers
    if "yes or no" in state.metadata.holds:
        makers["yes_no"] = lambda: yes_no(pairs)
    else:
        makers["confusions"] = lambda: confusions(pairs)
    return makers


def figures(pairs: AnswerPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """What the data allow."""
    held, makers = state.metadata.holds, dict[str, Callable[[], Figure]]()
    if "answers" not in held or not len(pairs.owner):
        return makers
    if "yes or no" in held:
        return {"yes_no": lambda: yes_no_figure(pairs)}
    true, replied = numbers_of(pairs, SharedCache(), "whole")
    finite = np.isfinite(true) & np.isfinite(replied)
    if "numbers" in held and finite.any():
        makers["agreement"] = lambda: agreement(true[finite], replied[finite], "question", "as answered")
    if "choices" not in held:
        makers["similarity"] = lambda: similarity_figure(pairs)
        makers["confusions"] = lambda: confusions_figure(pairs)
    return makers


def yes_no(pairs: AnswerPairs) -> Table:
    """Questions by what is true and what was said."""
    counts = YesNoCounts().of_questions(pairs, SharedCache()).sum(axis=0)
    values = np.array([[counts[0], counts[3], counts[4]], [counts[1], counts[2], counts[5]]], dtype=float)
    return Table("yes_no", "Yes and no", "true", ("yes", "no"), ("yes", "no", "other"), values)


def yes_no_figure(pairs: AnswerPairs) -> Figure:
    """The table, shaded by the share of each row."""
    table = yes_no(pairs)
    share = np.nan_to_num(ratio(table.values, table.values.sum(axis=1, keepdims=True)))
    i, j = (place.ravel() for place in np.indices(table.values.shape))
    return Figure(
        "yes_no",
        "matrix",
        "Yes and no",
        {
            "row": [table.rows[k] for k in i],
            "column": [table.columns[k] for k in j],
            "count": table.values[i, j],
            "share": share[i, j],
            "text": [f"{value:g}" if value else "" for value in table.values[i, j]],
        },
        {"x": "said", "y": "true"},
        "Rows are true answers, columns what replies say; other is neither, or both. Shade is the share of the row.",
        table,
    )


def _frequent_edits(pairs: AnswerPairs) -> list[tuple[str, int]]:
    """The most frequent edits, as "a as o", with how often they come."""
    some = pairs if len(pairs.owner) <= MOST_QUESTIONS else pairs.select(np.arange(len(pairs.owner)) < MOST_QUESTIONS)
    work, statistic = SharedCache(), EditSums("characters")
    texts = said_texts(some, work, empty=True)
    true, replied = statistic.texts(some, work)
    first = np.zeros(len(texts.accepted), dtype=bool)
    first[texts.begin[:-1]] = texts.answered  # of several accepted answers the first is aligned
    counts: Counter[tuple[str, str]] = Counter()
    for row, _, i, j in edits.edit_steps(edits.characters(true), edits.characters(replied)).tolist():
        if first[row]:
            wanted = NOTHING if i < 0 else _name(true[row][i])
            counts[wanted, NOTHING if j < 0 else _name(replied[row][j])] += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(f"{wanted} as {read}", count) for (wanted, read), count in ranked[:MOST_CONFUSIONS]]


def _name(character: str) -> str:
    return SHOWN.get(character, character if character.isprintable() else f"U+{ord(character):04X}")


def confusions(pairs: AnswerPairs) -> Table:
    """The most frequent edits of characters."""
    counted = _frequent_edits(pairs)
    values = np.array([[count] for _, count in counted], dtype=float).reshape(-1, 1)
    return Table("confusions", "Characters that are mixed up", "edit", tuple(n for n, _ in counted), ("times",), values)


def confusions_figure(pairs: AnswerPairs) -> Figure:
    """The table as a bar chart."""
    counted = _frequent_edits(pairs)
    return Figure(
        "confusions",
        "bars",
        "Characters that are mixed up",
        {"name": [name for name, _ in counted], "value": np.array([count for _, count in counted], dtype=float)},
        {"x": "times"},
        "What stands in the first accepted answer, as what the reply has; as nothing: left out, nothing as: added. "
        "Questions without an answer are not in it.",
        confusions(pairs),
    )


def similarity_figure(pairs: AnswerPairs) -> Figure:
    """How alike replies and answers are, before a threshold."""
    values = AnlsSum(0.0).of_questions(pairs, SharedCache())
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.histogram(values, edges)[0]
    return Figure(
        "similarity",
        "histogram",
        "How alike replies and answers are",
        {"low": edges[:-1], "high": edges[1:], "count": counts.astype(float)},
        {"x": "1 - edit distance / length", "y": "questions"},
        "ANLS without its threshold. What stands just below 1 is nearly right.",
    )


def listing(pairs: AnswerPairs, state: State) -> Listing | None:
    """Every question: what is accepted, the reply, and whether it is right."""
    if "answers" not in state.metadata.holds:
        return None
    work = SharedCache()
    texts = said_texts(pairs, work, empty=True)
    accepted = [
        " | ".join(dict.fromkeys(texts.distinct[k] for k in texts.accepted[low:high].tolist()))
        for low, high in zip(texts.begin[:-1].tolist(), texts.begin[1:].tolist(), strict=True)
    ]
    columns: dict[str, Array | Texts] = {"question": Texts.of(pairs.truth_column("question").tolist())}
    if pairs.grouped:
        columns["unit"] = Texts.of(pairs.units[pairs.owner].tolist())
    columns |= {"accepted": Texts.of(accepted), "reply": Texts.of([texts.distinct[k] for k in texts.reply.tolist()])}
    if all(texts.distinct[k].strip() for k in set(texts.accepted.tolist())):
        columns["similarity"] = AnlsSum(0.0).of_questions(pairs, work)
        columns["exact"] = ExactSum().of_questions(pairs, work)
    columns |= other_texts(pairs, pairs.truth_row)
    return Listing("questions", "Questions", columns, x="similarity" if "similarity" in columns else "")


__all__ = ["explain", "figures", "listing", "tables"]
