"""Checks of `captions`: texts that are empty, copied, out of order, or no captions."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.counts import count_text, share_text

CHECKS = with_ids(Checks(), repeats=False)
MOST = 2000  # images whose texts are compared
NO_CAPTION = {"none", "nan", "null", "n/a", "na", "-", "undefined", "error", "todo", "[]", "{}"}
TOKENS = re.compile(r"</?s>|<pad>|<unk>|<\|[^|>]*\|>|\[(?:CLS|SEP|PAD|UNK|MASK)\]|<(?:start|end|bos|eos)>|##\w|▁|Ġ")
BROKEN = re.compile("�|Ã[\x80-\xbf¡-¿©¨ª]|â€")


def _texts(data: CheckData) -> tuple[list[str], list[list[set[str]]], list[list[str]]] | None:
    """Candidates, and their references as sets of words and as texts, of images in the order of the candidates."""
    if "texts" in data.read:
        read_texts: tuple[list[str], list[list[set[str]]], list[list[str]]] | None = data.read["texts"]
        return read_texts
    data.read["texts"] = None
    pairs = data.pairs
    if pairs is None or "caption" not in pairs.truth or "caption" not in pairs.prediction:
        return None
    count = len(pairs.units)
    most = 100 if data.quick else MOST
    first = (count - most) // 2 if count > most else 0  # neighbours stay neighbours
    order = np.argsort(pairs.prediction_row, kind="stable")  # as the captions stand
    chosen = order[first : first + min(count, most)].tolist()
    starts = np.searchsorted(pairs.owner, np.arange(count + 1))
    captions, references = pairs.prediction["caption"], pairs.truth["caption"]
    texts, theirs = [], []
    for i in chosen:
        row = int(pairs.prediction_row[i])
        texts.append("" if row < 0 else str(captions[row]))
        theirs.append([str(references[r]) for r in pairs.truth_row[starts[i] : starts[i + 1]].tolist()])
    sets = [[_words(text) for text in own] for own in theirs]
    data.read["texts"] = texts, sets, theirs
    return data.read["texts"]  # type: ignore[no-any-return]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _similarity(words: set[str], references: list[set[str]]) -> float:
    return max((len(words & own) / max(1, len(words | own)) for own in references), default=0.0)


@CHECKS.add(
    "captions-shifted", "error", "captions stand at another image: the order or the ids differ",
    "Join captions by the image's id, not by their order.",
)  # fmt: skip
def shifted_captions(data: CheckData) -> Problem | None:
    """Candidates that fit the references of the next image or the one before better than their own."""
    texts = _texts(data)
    if texts is None or len(texts[0]) < FEW:
        return None
    words, count = [_words(text) for text in texts[0]], len(texts[0])
    own = np.array([_similarity(w, r) for w, r in zip(words, texts[1], strict=True)])
    far = float(np.mean([_similarity(words[i], texts[1][(i + count // 2) % count]) for i in range(count)]))
    for step in (1, -1) if data.quick else (1, -1, 2, -2):
        rows = np.arange(max(0, -step), count - max(0, step))
        moved = np.array([_similarity(words[i], texts[1][i + step]) for i in rows.tolist()])
        gain = moved - own[rows]
        sure = gain.mean() > max(0.04, 4 * gain.std() / np.sqrt(len(rows)))
        if sure and moved.mean() - far > 2 * max(0.0, float(own.mean()) - far):
            return Problem(
                f"Captions share {own.mean():.0%} of their words with a reference of their own image, and "
                f"{moved.mean():.0%} "
                f"with one of the image {abs(step)} {'further on' if step > 0 else 'before'}.",
                count, count, some_rows(data.pairs.prediction, data.pairs.prediction_row[:3], "caption"),
            )  # fmt: skip
    return None


@CHECKS.add(
    "nothing-fits", "warning", "captions fit their own image no better than any other",
    "Are these captions of the same images?",
    quick=False,
)  # fmt: skip
def nothing_fits(data: CheckData) -> Problem | None:
    """Similarity to references of the own image and of images far away."""
    texts = _texts(data)
    if texts is None or len(texts[0]) < 50 or len(set(texts[0])) < 10:
        return None
    words, count = [_words(text) for text in texts[0]], len(texts[0])
    own = np.array([_similarity(w, r) for w, r in zip(words, texts[1], strict=True)])
    far = np.array([_similarity(words[i], texts[1][(i + count // 2) % count]) for i in range(count)])
    gain = own - far
    if gain.mean() > 2 * gain.std() / np.sqrt(count) and gain.mean() > 0.02:
        return None
    return Problem(
        f"Captions share {own.mean():.0%} of their words with a reference of their image, and "
        f"{far.mean():.0%} with one of "
        "another image.",
        count, count, some_rows(data.pairs.prediction, data.pairs.prediction_row[:3], "caption"),
    )  # fmt: skip


def _such(data: CheckData, test: object, what: str) -> Problem | None:
    prediction = data.prediction
    if prediction is None or "caption" not in prediction or not callable(test):
        return None
    if "tuples" in prediction:  # the graph stands in its place
        return None
    looked = evenly(len(prediction), 2000 if data.quick else 1 << 30)
    captions = prediction["caption"]
    rows = [row for row in looked.tolist() if test(str(captions[row]))]
    if not rows:
        return None
    many = "1 caption is" if len(rows) == 1 else f"{len(rows)} captions are"
    return Problem(what.format(many), len(rows), len(looked), some_rows(prediction, rows, "caption"))


@CHECKS.add("empty-captions", "warning", "empty captions score 0", "Did the model give no answer?")
def empty(data: CheckData) -> Problem | None:
    """Candidates without a word."""
    return _such(data, lambda text: not text.strip(), "{} empty, which scores 0.")


@CHECKS.add(
    "lists-of-captions", "note", "a list in one cell of the truth is read as several references",
    "Nothing need be done.", side="truth",
)  # fmt: skip
def lists(data: CheckData) -> Problem | None:
    """Cells of the truth that hold several captions."""
    if data.pairs is None or len(data.pairs.truth) <= len(data.truth):
        return None
    rows = [row for row, text in enumerate(data.truth["caption"].tolist()) if str(text).startswith("[")]
    return Problem(
        f"{count_text(len(rows), 'caption', 'are', 'of the truth')} lists; each text of a list is read as a reference.",
        len(rows), len(data.truth), some_rows(data.truth, rows, "caption"),
    )  # fmt: skip


@CHECKS.add(
    "no-caption", "warning", "texts such as 'None' or a list are scored as captions", "Give one text per image."
)
def no_caption(data: CheckData) -> Problem | None:
    """Candidates that are what a program writes for nothing, or hold a list or an object."""

    def odd(text: str) -> bool:
        text = text.strip()
        return text.lower() in NO_CAPTION or (text[:1] in "[{" and text[-1:] in "]}" and len(text) > 1)

    return _such(data, odd, "{} not a caption: what a program writes for nothing, or a list.")


@CHECKS.add(
    "special-tokens", "warning", "tokens of the model count as words", "Decode without special tokens.", quick=False
)
def special_tokens(data: CheckData) -> Problem | None:
    """Tokens that a model's own text knows and a caption does not."""
    return _such(data, TOKENS.search, "{} written with special tokens.")


@CHECKS.add("encoding", "warning", "broken letters count as other words", "Read and write texts as UTF-8.", quick=False)
def encoding(data: CheckData) -> Problem | None:
    """Letters that were decoded by another table."""
    return _such(data, BROKEN.search, "{} written with letters that were decoded wrongly.")


@CHECKS.add("copies-of-truth", "warning", "captions that are references themselves", "Are these captions of a model?")
def copies(data: CheckData) -> Problem | None:
    """Candidates equal to a reference, letter by letter."""
    texts = _texts(data)
    if texts is None or len(texts[0]) < FEW:
        return None
    rows = [i for i, (text, own) in enumerate(zip(texts[0], texts[2], strict=True)) if text.strip() and text in own]
    if len(rows) < 0.3 * len(texts[0]):
        return None
    return Problem(
        f"{len(rows) / len(texts[0]):.0%} of the captions are equal to a reference of their image.",
        len(rows), len(texts[0]), tuple(f"'{texts[0][i]}'" for i in rows[:3]),
    )  # fmt: skip


@CHECKS.add("constant", "warning", "most images have the same caption", "Are these the model's answers?")
def constant(data: CheckData) -> Problem | None:
    """A caption that stands for more than half of the images."""
    texts = _texts(data)
    if texts is None or len(texts[0]) < FEW:
        return None
    text, count = Counter(texts[0]).most_common(1)[0]
    if count <= 0.5 * len(texts[0]) or not text.strip():
        return None
    share = share_text(count, len(texts[0]), "caption", "are")
    return Problem(f"{share} the same.", count, len(texts[0]), (f"'{text}'",))


@CHECKS.add(
    "repeated-references", "note", "a reference that appears twice weighs double in CIDEr", "Keep each reference once.",
    side="truth", quick=False,
)  # fmt: skip
def repeated_references(data: CheckData) -> Problem | None:
    """References of an image that are equal."""
    if "caption" not in data.truth:
        return None
    seen: set[tuple[str, str]] = set()
    rows = []
    for row, key in enumerate(zip(map(str, data.truth["image"].tolist()), data.truth["caption"].tolist(), strict=True)):
        rows += [row] if key in seen else []
        seen.add(key)
    if not rows:
        return None
    return Problem(
        "References appear twice at an image.", len(rows), len(data.truth), some_rows(data.truth, rows, "caption")
    )
