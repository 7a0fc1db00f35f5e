"""BLEU of sentences and corpora, with smoothing and the bootstrap."""

from __future__ import annotations

import logging
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steelyard.compat.sacrebleu.metrics.base import Score, Signature
from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer
from steelyard.core.errors import Unsupported
from steelyard.tasks.captions.ngrams import overlap

MAX_NGRAM_ORDER = 4
_NATIVE_ORDER = 4  # up to which the core counts
_LEAST_LOG = -9999999999  # sacrebleu's logarithm of 0
_TOKENIZERS = {
    "none": "tokenizer_none.NoneTokenizer",
    "zh": "tokenizer_zh.TokenizerZh",
    "13a": "tokenizer_13a.Tokenizer13a",
    "intl": "tokenizer_intl.TokenizerV14International",
    "char": "tokenizer_char.TokenizerChar",
}
_WITH_MODELS = ("ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K")
_LOGGER = logging.getLogger("sacrebleu")


class BLEUSignature(Signature):
    """The settings of BLEU."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        super().__init__(args)
        self._abbr |= {"case": "c", "eff": "e", "tok": "tok", "smooth": "s"}
        smooth = args["smooth_method"]
        default = BLEU.SMOOTH_DEFAULTS[smooth]
        if default is not None:
            value = args["smooth_value"]
            smooth += f"[{default if value is None else value:.2f}]"
        self.info |= {
            "case": "lc" if args["lowercase"] else "mixed",
            "eff": "yes" if args["effective_order"] else "no",
            "tok": args["tokenizer_signature"],
            "smooth": smooth,
        }


class BLEUScore(Score):
    """BLEU with its counts, precisions and brevity penalty."""

    def __init__(
        self,
        score: float,
        counts: list[int],
        totals: list[int],
        precisions: list[float],
        bp: float,
        sys_len: int,
        ref_len: int,
    ) -> None:
        super().__init__("BLEU", score)
        self.bp = bp
        self.counts = counts
        self.totals = totals
        self.sys_len = sys_len
        self.ref_len = ref_len
        self.precisions = precisions
        self.prec_str = "/".join(f"{precision:.1f}" for precision in precisions)
        self.ratio = sys_len / ref_len if ref_len else 0
        lengths = f"ratio = {self.ratio:.3f} hyp_len = {sys_len:d} ref_len = {ref_len:d}"
        self._verbose = f"{self.prec_str} (BP = {bp:.3f} {lengths})"


class _References(NamedTuple):
    """The references of all segments, in tokens."""

    texts: list[list[str]]
    raw: list[list[str]]


class BLEU:
    """BLEU with its settings; `references` are tokenised once for all calls without references."""

    SMOOTH_DEFAULTS: ClassVar[dict[str, float | None]] = {"none": None, "floor": 0.1, "add-k": 1, "exp": None}
    TOKENIZERS = (_TOKENIZERS | dict.fromkeys(_WITH_MODELS)).keys()
    TOKENIZER_DEFAULT = "13a"
    _TOKENIZER_MAP: ClassVar[dict[str, str]] = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
    _SIGNATURE_TYPE = BLEUSignature

    def __init__(
        self,
        lowercase: bool = False,
        force: bool = False,
        tokenize: str | None = None,
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        max_ngram_order: int = MAX_NGRAM_ORDER,
        effective_order: bool = False,
        trg_lang: str = "",
        references: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self.n_bootstrap: int | None = None
        self.seed: str | None = None
        self._force = force
        self.trg_lang = trg_lang
        self.lowercase = lowercase
        self.smooth_value = smooth_value
        self.smooth_method = smooth_method
        self.max_ngram_order = max_ngram_order
        self.effective_order = effective_order
        if smooth_method not in self.SMOOTH_DEFAULTS:
            raise AssertionError(f"Unknown smooth_method {smooth_method!r}")
        own = self._TOKENIZER_MAP.get(trg_lang)
        if tokenize is not None and own is not None and tokenize != own:
            language = {"zh": "Chinese", "ja": "Japanese", "ko": "Korean"}[trg_lang]
            _LOGGER.warning(f"Consider using the '{own}' or 'spm' tokenizer for {language}.")
        self.tokenizer = _create_tokenizer(tokenize or own or self.TOKENIZER_DEFAULT)
        self.tokenizer_signature = self.tokenizer.signature()
        self._ref_cache = None if references is None else self._cache_references(references)
        self._last: tuple[list[str], list[list[str]]] | None = None

    @staticmethod
    def compute_bleu(
        correct: list[int],
        total: list[int],
        sys_len: int,
        ref_len: int,
        smooth_method: str = "none",
        smooth_value: float | None = None,
        effective_order: bool = False,
        max_ngram_order: int = MAX_NGRAM_ORDER,
    ) -> BLEUScore:
        """BLEU from counts. With `add-k` the lists are changed."""
        if smooth_method not in BLEU.SMOOTH_DEFAULTS:
            raise AssertionError(f"Unknown smooth_method {smooth_method!r}")
        value: Any = BLEU.SMOOTH_DEFAULTS[smooth_method] if smooth_value is None else smooth_value
        penalty = 1.0
        if sys_len < ref_len:
            penalty = math.exp(1 - ref_len / sys_len) if sys_len > 0 else 0.0
        precisions = [0.0] * max_ngram_order
        if not any(correct):
            return BLEUScore(0.0, correct, total, precisions, penalty, sys_len, ref_len)
        halved = 1.0
        order = max_ngram_order
        for n in range(max_ngram_order):
            if smooth_method == "add-k" and n > 0:
                correct[n] += value
                total[n] += value
            if total[n] == 0:
                break
            if effective_order:
                order = n + 1
            if correct[n] != 0:
                precisions[n] = 100.0 * correct[n] / total[n]
            elif smooth_method == "exp":
                halved *= 2
                precisions[n] = 100.0 / (halved * total[n])
            elif smooth_method == "floor":
                precisions[n] = 100.0 * value / total[n]
        logs = sum(_LEAST_LOG if precision == 0.0 else math.log(precision) for precision in precisions[:order])
        return BLEUScore(penalty * math.exp(logs / order), correct, total, precisions, penalty, sys_len, ref_len)

    def sentence_score(self, hypothesis: str, references: Sequence[str]) -> BLEUScore:
        """BLEU of one sentence."""
        if not self.effective_order:
            _LOGGER.warning("It is recommended to enable `effective_order` for sentence-level BLEU.")
        if not isinstance(hypothesis, str):
            raise TypeError(f"{type(self).__name__}: The argument `hyp` should be a string.")
        if isinstance(references, str) or not isinstance(references, Sequence):
            raise TypeError(f"{type(self).__name__}: The argument `refs` should be a sequence of strings.")
        if not isinstance(references[0], str) and references[0] is not None:
            raise TypeError(f"{type(self).__name__}: Each element of `refs` should be a string.")
        stats = self._extract_corpus_statistics([hypothesis], [[reference] for reference in references])
        return self._aggregate_and_compute(stats)

    def corpus_score(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None, n_bootstrap: int = 1
    ) -> BLEUScore:
        """BLEU of a corpus; with `n_bootstrap` above 1, its interval from that number of resamples."""
        self._check_corpus_score_args(hypotheses, references)
        stats = self._extract_corpus_statistics(hypotheses, references)
        score = self._aggregate_and_compute(stats)
        if n_bootstrap > 1:
            self.n_bootstrap = n_bootstrap
            self.seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
            rng = np.random.default_rng(None if self.seed == "none" else int(self.seed))
            rows = np.array(stats, dtype=np.float32)
            draws = rng.choice(len(rows), size=(n_bootstrap, len(rows)), replace=True)
            score.estimate_ci([self._compute_score_from_stats(rows[draw].sum(0)) for draw in draws])
        return score

    def get_signature(self) -> BLEUSignature:
        """The settings that the last score depends on."""
        return self._SIGNATURE_TYPE(self.__dict__)

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the corpus that was scored last."""
        settings = (self.tokenizer_signature, self.smooth_method, self.effective_order, self.max_ngram_order)
        if self._last is None or settings != ("13a", "exp", False, 4):
            raise Unsupported(
                "only a corpus that was scored with sacrebleu's default settings has a report",
                remedy="Call corpus_score of BLEU() or BLEU(lowercase=True) first.",
            )
        hypotheses, references = self._last
        pairs = [(i, text.rstrip()) for i, segment in enumerate(references, 1) for text in segment]
        truth = {"image": [i for i, _ in pairs], "caption": [text for _, text in pairs]}
        ids = list(range(1, len(hypotheses) + 1))
        predictions = {"image": ids, "caption": [text.rstrip() for text in hypotheses]}
        return "captions", truth, predictions, {"metrics": f"sacrebleu(case={'lower' if self.lowercase else 'mixed'})"}

    def _check_corpus_score_args(self, hyps: Sequence[str], refs: Sequence[Sequence[str]] | None) -> None:
        problem = None
        if not isinstance(hyps, Sequence):
            problem = "`hyps` should be a sequence of strings."
        elif not isinstance(hyps[0], str):
            problem = "Each element of `hyps` should be a string."
        elif any(line is None for line in hyps):
            problem = "Undefined line in hypotheses stream!"
        if refs is not None:
            if not isinstance(refs, Sequence):
                problem = "`refs` should be a sequence of sequence of strings."
            elif not isinstance(refs[0], Sequence):
                problem = "Each element of `refs` should be a sequence of strings."
            elif not isinstance(refs[0][0], str) and refs[0][0] is not None:
                problem = "`refs` should be a sequence of sequence of strings."
        if problem is not None:
            raise TypeError(f"{type(self).__name__}: {problem}")

    def _preprocess_segment(self, sent: str) -> str:
        return self.tokenizer((sent.lower() if self.lowercase else sent).rstrip())

    def _cache_references(self, references: Sequence[Sequence[str]]) -> _References:
        raw = [[text for text in segment if text is not None] for segment in zip(*references, strict=False)]
        counts = {len(segment) for segment in raw}
        self.num_refs = counts.pop() if len(counts) == 1 else -1
        return _References([[self._preprocess_segment(text) for text in segment] for segment in raw], raw)

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> list[list[int]]:
        """Lengths, then matched and all n-grams of each order, by segment."""
        cache = self._cache_references(references) if references else self._ref_cache
        if not cache or not cache.texts:
            raise RuntimeError("No references provided and the cache is empty.")
        raw = list(hypotheses[: len(cache.texts)])
        if not self._force and sum(text.endswith(" .") for text in raw) >= 100:
            _LOGGER.warning("That's 100 lines that end in a tokenized period ('.')")
            _LOGGER.warning("It looks like you forgot to detokenize your test data, which may hurt your score.")
            _LOGGER.warning(
                "If you insist your data is detokenized, or don't care, "
                "you can suppress this message with the `force` parameter."
            )
        candidates = [self._preprocess_segment(text) for text in raw]
        self._last = raw, cache.raw[: len(raw)]
        return _count(candidates, cache.texts[: len(raw)], self.max_ngram_order)

    def _aggregate_and_compute(self, stats: list[list[int]]) -> BLEUScore:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Any) -> BLEUScore:
        return self.compute_bleu(
            correct=stats[2 : 2 + self.max_ngram_order],
            total=stats[2 + self.max_ngram_order :],
            sys_len=int(stats[0]),
            ref_len=int(stats[1]),
            smooth_method=self.smooth_method,
            smooth_value=self.smooth_value,
            effective_order=self.effective_order,
            max_ngram_order=self.max_ngram_order,
        )


def _create_tokenizer(name: str) -> BaseTokenizer:
    if name in _WITH_MODELS:
        raise Unsupported(
            f"the tokenizer {name!r} needs a model or a dictionary that the drop-in for sacrebleu does not have",
            remedy="Tokenise the texts yourself and use tokenize='none', or use sacrebleu itself.",
        )
    module, _, of_class = _TOKENIZERS[name].partition(".")
    tokenizer: BaseTokenizer = getattr(import_module(f"steelyard.compat.sacrebleu.tokenizers.{module}"), of_class)()
    return tokenizer


def _count(candidates: list[str], references: list[list[str]], order: int) -> list[list[int]]:
    """Words, words of the closest reference, matched and all n-grams, by segment."""
    for candidate, segment in zip(candidates, references, strict=True):
        if not segment and candidate.split():
            raise TypeError("argument of type 'NoneType' is not iterable")
    if order > _NATIVE_ORDER:
        pairs = zip(candidates, references, strict=True)
        return [_count_long(text.split(), [t.split() for t in segment], order) for text, segment in pairs]
    starts = np.cumsum([0, *map(len, references)], dtype=np.int64)
    texts = [" ".join(text.split()) for segment in references for text in segment]
    columns = overlap([" ".join(text.split()) for text in candidates], texts, starts)
    columns["closest"][np.diff(starts) == 0] = -1  # sacrebleu's length of no reference
    names = [f"{name}{n}" for name in ("matched", "guessed") for n in range(1, order + 1)]
    table = [columns[name].astype(int).tolist() for name in ("length", "closest", *names)]
    return [list(row) for row in zip(*table, strict=True)]


def _count_long(candidate: list[str], references: list[list[str]], order: int) -> list[int]:
    """The same counts of one segment, for n-grams of any length."""
    closest = min((abs(len(candidate) - len(r)), len(r)) for r in references)[1] if references else -1
    matched, guessed = [], []
    for n in range(1, order + 1):
        grams = _grams(candidate, n)
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= _grams(reference, n)
        matched.append((grams & most).total())
        guessed.append(grams.total())
    return [len(candidate), closest, *matched, *guessed]


def _grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))
