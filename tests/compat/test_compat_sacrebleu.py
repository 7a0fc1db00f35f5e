"""The drop-in for sacrebleu against sacrebleu, to the bit, and by hand."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU as THEIRS
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import sacrebleu as ours
from steelyard.compat.sacrebleu.metrics import BLEU

TOKENS = ("13a", "none", "char", "intl", "zh")
SMOOTHING = (("exp", None), ("none", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 0.5))
TEXT = (
    "the The dog man 2.5 1,000 end. , . ... (x) -5 3-4 a.b it's &amp; &lt;b&gt; “quoted” – €5 100% ½ 狗 咬，了 ok\u2003x "
    "<skipped> x-\ny \u2a6e \u2a6d + = $3.50 \U00020001 é٣.٤ \t tab\there"
)
PIECES = TEXT.split(" ")


def draw(rng: random.Random, words: int) -> str:
    return "".join(
        rng.choice(PIECES[: rng.choice((6, len(PIECES)))]) + rng.choice((" ", " ", "")) for _ in range(words)
    )


def draw_corpus(seed: int) -> tuple[list[str], list[list[str | None]]]:
    rng = random.Random(seed)
    count = rng.choice((1, 3, 12))
    sets = rng.randint(1, 3)
    hypotheses = [draw(rng, rng.randint(0, 14)) for _ in range(count)]
    references: list[list[str | None]] = [
        [h if rng.random() < 0.2 else draw(rng, rng.randint(0, 14)) for h in hypotheses] for _ in range(sets)
    ]
    if sets > 1 and rng.random() < 0.3:
        references[-1][0] = None
    return hypotheses, references


def fields(score) -> list[object]:
    """Everything that a score has, with the types of its numbers."""
    return [(name, repr(value)) for name, value in sorted(vars(score).items())]


@pytest.mark.parametrize("tokenize", TOKENS)
def test_tokens_are_those_of_sacrebleu(tokenize: str) -> None:
    rng = random.Random(1)
    for _ in range(300):
        text = draw(rng, 12)
        theirs = THEIRS(tokenize=tokenize).tokenizer(text)
        assert BLEU(tokenize=tokenize).tokenizer(text).split() == theirs.split()


def test_corpora() -> None:
    for seed in range(300):
        hypotheses, references = draw_corpus(seed)
        method, value = SMOOTHING[seed % len(SMOOTHING)]
        settings = {
            "tokenize": TOKENS[seed % len(TOKENS)],
            "smooth_method": method,
            "smooth_value": value,
            "lowercase": seed % 7 == 0,
            "effective_order": seed % 4 == 0,
            "max_ngram_order": (4, 4, 4, 2, 6)[seed // 5 % 5],
        }
        theirs, mine = THEIRS(**settings), BLEU(**settings)
        a, b = theirs.corpus_score(hypotheses, references), mine.corpus_score(hypotheses, references)
        assert fields(b) == fields(a)
        assert str(b) == str(a)
        signature = str(theirs.get_signature())
        assert (str(mine.get_signature()), mine.get_signature().format(short=True)) == (
            signature,
            theirs.get_signature().format(short=True),
        )
        assert b.format(width=4, signature=signature, is_json=True) == a.format(
            width=4, signature=signature, is_json=True
        )
        sentence = [row[-1] for row in references]
        assert fields(mine.sentence_score(hypotheses[-1], sentence)) == fields(
            theirs.sentence_score(hypotheses[-1], sentence)
        )


@pytest.mark.parametrize("name", ["corpus_bleu", "raw_corpus_bleu", "sentence_bleu"])
def test_functions(name: str) -> None:
    for seed in range(40):
        hypotheses, references = draw_corpus(seed)
        if name == "sentence_bleu":
            hypotheses, references = hypotheses[-1], [row[-1] for row in references]
        assert str(getattr(ours, name)(hypotheses, references)) == str(getattr(sacrebleu, name)(hypotheses, references))


def test_bootstrap_has_the_same_draws() -> None:
    hypotheses, references = draw_corpus(5)
    for settings in ({}, {"smooth_method": "add-k"}):
        theirs, mine = THEIRS(**settings), BLEU(**settings)
        a = theirs.corpus_score(hypotheses, references, n_bootstrap=60)
        b = mine.corpus_score(hypotheses, references, n_bootstrap=60)
        assert (fields(b), b.format(score_only=True)) == (fields(a), a.format(score_only=True))
        assert str(mine.get_signature()) == str(theirs.get_signature())
        assert "bs:60|seed:12345" in str(mine.get_signature())


def test_references_are_tokenised_once() -> None:
    hypotheses, references = draw_corpus(5)
    metric = BLEU(references=references)
    assert str(metric.corpus_score(hypotheses, None)) == str(BLEU().corpus_score(hypotheses, references))
    with pytest.raises(RuntimeError):
        BLEU().corpus_score(hypotheses, None)
    with refuses(ValueError, "references"):
        BLEU().get_signature()


def test_by_hand() -> None:
    score = ours.corpus_bleu(["a b c d"], [["a b c e f"]], smooth_method="none", use_effective_order=True)
    # 3 of 4 words, 2 of 3 pairs, 1 of 2 triples, none of 1: the score is 0 without smoothing
    assert (score.counts, score.totals, score.sys_len, score.ref_len) == ([3, 2, 1, 0], [4, 3, 2, 1], 4, 5)
    assert score.precisions == pytest.approx([75, 200 / 3, 50, 0])
    assert score.score == 0
    smooth = ours.corpus_bleu(["a b c d"], [["a b c e f"]])
    assert smooth.score == pytest.approx(100 * 2.718281828459045 ** (1 - 5 / 4) * (3 / 4 * 2 / 3 / 2 / 2) ** 0.25)


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [(3, [["a"]]), ([3], [["a"]]), (["a", None], [["a", "b"]]), (["a"], 3), (["a"], [3]), (["a"], [[3]]),
     (["a"], [[None]])],
)  # fmt: skip
def test_wrong_types_are_refused_alike(hypotheses, references) -> None:
    with pytest.raises(TypeError) as theirs:
        THEIRS().corpus_score(hypotheses, references)
    with pytest.raises(TypeError) as mine:
        BLEU().corpus_score(hypotheses, references)
    assert references == [[None]] or mine.value.args == theirs.value.args


@pytest.mark.parametrize(
    ("hypothesis", "references"), [(["a b"], ["a b"]), (None, ["a b"]), ("a b", "a b"), ("a b", 3), ("a b", [["a b"]])]
)
def test_wrong_types_of_a_sentence_are_refused_alike(hypothesis: Any, references: Any) -> None:
    messages = []
    for package in (BLEU, THEIRS):
        with pytest.raises(TypeError) as caught:
            package(effective_order=True).sentence_score(hypothesis, references)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_score_with_an_interval_as_text() -> None:
    """The mean and the half width of resamples, in a line and in JSON, with the settings."""
    hypotheses, references = draw_corpus(5)
    texts = []
    for package in (BLEU, THEIRS):
        metric = package()
        score = metric.corpus_score(hypotheses, references, n_bootstrap=50)
        signature = metric.get_signature().format(short=True)
        texts.append(
            [
                score.format(width=3, score_only=True),
                score.format(signature=signature),
                score.format(signature=signature, is_json=True),
            ]
        )
    assert texts[0] == texts[1]
    assert "±" in texts[0][0]


def test_tokenizers_with_models_and_unknown_settings_are_refused() -> None:
    assert list(BLEU.TOKENIZERS) == sorted(THEIRS.TOKENIZERS, key=list(BLEU.TOKENIZERS).index)
    for name in set(BLEU.TOKENIZERS) - set(TOKENS):
        with refuses("E-unsupported", name):
            BLEU(tokenize=name)
    with refuses("E-unsupported", "ja-mecab"):
        BLEU(trg_lang="ja")
    with pytest.raises(KeyError):
        BLEU(tokenize="14a")
    with pytest.raises(AssertionError):
        BLEU(smooth_method="more")


def test_warnings(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["a ."] * 100
    for metric in (THEIRS, BLEU):
        with caplog.at_level(logging.WARNING, logger="sacrebleu"):
            metric().corpus_score(lines, [lines])
            metric(force=True).corpus_score(lines, [lines])
            metric().sentence_score("a b", ["a b"])
            metric(tokenize="13a", trg_lang="zh")
            metric(trg_lang="zh")
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 10
    assert messages[:5] == messages[5:]


def test_report_has_the_same_score() -> None:
    hypotheses = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
    references = [["The dog bit the man.", "It was not unexpected.", "The man bit him first."]]
    for lowercase in (False, True):
        metric = BLEU(lowercase=lowercase)
        value = metric.corpus_score(hypotheses, references).score
        report = compat.report(metric, confidence=None)
        assert next(iter(report.scores.values())).value == pytest.approx(value, rel=1e-12)
    with refuses("E-unsupported"):
        compat.report(BLEU(tokenize="none"))
