"""The drop-in for jiwer against jiwer itself, on drawn sentences."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random

import jiwer
import pytest
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import jiwer as ours

WORDS = [
    "a",
    "b",
    "the",
    "dog",
    "Dog",
    "can't",
    "they're",
    "won't",
    "n't",
    "*",
    "[laugh]",
    "<unk>",
    "é",
    "e\u0301",
    "x!",
]
SPACES = [" ", " ", " ", "  ", "\t", "\n ", " \t "]
FIELDS = ("wer", "mer", "wil", "wip", "hits", "substitutions", "insertions", "deletions", "references", "hypotheses")


def drawn(seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)

    def sentence(longest: int) -> str:
        return "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randint(0, longest)))

    count, longest = rng.randint(1, 8), rng.choice([3, 12, 90])
    references = [sentence(longest) for _ in range(count)]
    return references, [text if rng.random() < 0.2 else sentence(longest) for text in references]


def same_output(mine, theirs) -> None:
    for field in dataclasses.fields(theirs):
        if field.name != "alignments":
            value, wanted = getattr(mine, field.name), getattr(theirs, field.name)
            assert (value, type(value)) == (wanted, type(wanted)), field.name
    assert [[dataclasses.astuple(chunk) for chunk in chunks] for chunks in mine.alignments] == [
        [dataclasses.astuple(chunk) for chunk in chunks] for chunks in theirs.alignments
    ]


@pytest.mark.parametrize("seed", range(30))
def test_outputs_and_texts_are_those_of_jiwer(seed) -> None:
    references, hypotheses = drawn(seed)
    for process in ("process_words", "process_characters"):
        mine, theirs = (getattr(package, process)(references, hypotheses) for package in (ours, jiwer))
        same_output(mine, theirs)
        for width in (None, 20, 60):
            for flag in (False, True):
                wanted = jiwer.visualize_alignment(theirs, flag, not flag, width)
                assert ours.visualize_alignment(mine, flag, not flag, width) == wanted
        assert list(map(dict, ours.collect_error_counts(mine))) == list(map(dict, jiwer.collect_error_counts(theirs)))
        for top_k in (None, 2):
            wanted = jiwer.visualize_error_counts(theirs, top_k=top_k)
            assert ours.visualize_error_counts(mine, top_k=top_k) == wanted
        assert str(mine) == str(theirs)
    for rate in ("wer", "mer", "wil", "wip", "cer"):
        assert getattr(ours, rate)(references, hypotheses) == getattr(jiwer, rate)(references, hypotheses)


TRANSFORMS = {
    "lower": lambda package: [package.ToLowerCase()],
    "upper": lambda package: [package.ToUpperCase()],
    "punctuation": lambda package: [package.RemovePunctuation()],
    "kaldi": lambda package: [package.RemoveKaldiNonWords()],
    "contractions": lambda package: [package.ExpandCommonEnglishContractions()],
    "white space": lambda package: [package.RemoveWhiteSpace()],
    "white space as blanks": lambda package: [package.RemoveWhiteSpace(replace_by_space=True)],
    "words": lambda package: [package.SubstituteWords({"dog": "the cat", "a": "b"})],
    "regexes": lambda package: [package.SubstituteRegexes({r"\b(\w)\b": r"<\1>", "o+": "u"})],
    "specific words": lambda package: [package.RemoveSpecificWords(["the", "a"])],
    "tokens": lambda package: [package.transforms.BaseRemoveTransform(["og", "g", "b"], "o")],
    "spaces": lambda package: [package.RemoveMultipleSpaces(), package.Strip()],
    "empty": lambda package: [package.RemoveEmptyStrings()],
    "single": lambda package: [package.ReduceToSingleSentence("-"), package.ReduceToListOfListOfWords("-")],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_those_of_jiwer(name) -> None:
    mine, theirs = (package.Compose(TRANSFORMS[name](package)) for package in (ours, jiwer))
    for seed in range(10):
        sentences = drawn(seed)[0]
        for value in (sentences, sentences[0], [], ""):
            assert mine(value) == theirs(value)


@pytest.mark.parametrize("name", jiwer.transformations.__all__)
def test_pipelines_are_those_of_jiwer(name) -> None:
    for seed in range(10):
        references, hypotheses = drawn(seed)
        mine, theirs = (
            package.process_words(references, hypotheses, getattr(package, name), getattr(package, name))
            for package in (ours, jiwer)
        )
        same_output(mine, theirs)


def test_all_names_of_jiwer_but_the_command() -> None:
    public = {name for name in dir(jiwer) if not name.startswith("_")}
    assert public - set(dir(ours)) <= {"cli"}
    assert public <= {*compat.jiwer.__all__, *(part[1:] for part in compat.DROP_INS["jiwer"].modules), "cli"}


def failure(call):
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("nothing is raised")


@pytest.mark.parametrize(
    "call",
    [
        lambda package: package.process_words(["a", "b"], ["a"]),
        lambda package: package.process_words("a", "b", package.Strip()),
        lambda package: package.process_words("a", "b", hypothesis_transform=lambda _: [[1]]),
        lambda package: package.process_words((1,), "a"),
        lambda package: package.wer(),
        lambda package: package.AlignmentChunk("equal", 2, 1, 0, 0),
        lambda package: package.AlignmentChunk("equal", 1, 1, 1, 0),
        lambda package: package.AlignmentChunk("other", 0, 1, 0, 0),
        lambda package: package.AbstractTransform()("a"),
    ],
)
def test_what_jiwer_rejects_is_rejected(call) -> None:
    assert failure(lambda: call(ours)) == failure(lambda: call(jiwer))


def test_outputs_are_copied_pickled_and_compared() -> None:
    output = ours.process_words("this is a", "this was a test")
    assert pickle.loads(pickle.dumps(output)) == output == copy.deepcopy(output)
    chunks = [("equal", 0, 1, 0, 1), ("substitute", 1, 2, 1, 2), ("equal", 2, 3, 2, 3), ("insert", 3, 3, 3, 4)]
    assert output.alignments == [[ours.AlignmentChunk(*chunk) for chunk in chunks]]
    with pytest.raises(AttributeError):
        output.cer  # noqa: B018


def test_a_report_has_the_rates_with_intervals() -> None:
    references = ["one two three", "four five", "", "six seven eight nine"] * 5
    hypotheses = ["one too three", "", "ten", "six seven eight nine"] * 5
    words = ours.process_words(references, hypotheses)
    report = compat.report(words, draws=100)
    assert {name: score.value for name, score in report.scores.items()} == {
        name: pytest.approx(getattr(words, name)) for name in ("wer", "mer", "wil", "wip")
    }
    letters = ours.process_characters(references, hypotheses)
    assert compat.report(letters, draws=100).scores["cer"].value == pytest.approx(letters.cer)
    split = ours.ReduceToListOfListOfWords("-")
    with refuses("E-unsupported", "blanks"):
        compat.report(ours.process_words("a b-c", "a b-c", split, split))
