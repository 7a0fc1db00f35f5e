"""Prose and names are present-day English: no word of a list, "per class" rather than "one a class", and names that say
what a thing is.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

READ = ("src", "native", "docs", "tools", "benchmarks", "fuzz", "README.md", "CONTRIBUTING.md", "Makefile")
ENDINGS = {".py", ".pyi", ".cpp", ".hpp", ".h", ".md", ".txt", ""}
EXCEPT = {
    "benchmarks/results",  # what was printed on the day
    "src/steelyard/language/scene.py",  # English prepositions that captions may hold
    "src/steelyard/language/data",  # words and the licence of WordNet
    "tools/build_wordnet.py",  # the licence of WordNet
}
WORDS = """
albeit amidst amongst anew behold betwixt boiled dwell dwells forthwith heed heeded heeding heeds hereby hereof
heretofore hitherto hither hopeless kin learnt lest likeness mend mended mending mends naught nigh notwithstanding
nought oft ought perchance shall spoilt sundry thence thereof therein therewith thither thrice told unto upon whence
whereby wherein whereof whereupon wherewith whilst wholly withal wrought yonder
"""
LISTED = re.compile(rf"\b(?:{'|'.join(WORDS.split())})\b", re.IGNORECASE)

THINGS = """
answer bit block box byte candidate caption case cell chunk class code column count detection dict digit digest entry
event factor figure file flag image index interval item key kB KB label line list mask MB number object pair part point
query request row score stream sum text tuple value vector visit volume weight word
"""
PLURALS = [
    f"{thing}{'es' if thing[-1] in 'sx' else 's'}" for thing in THINGS.split() if thing not in ("kB", "KB", "MB")
]
UNITS = """
answer batch bin block box caption case category cell class cluster column detection document draw entry example file
frame group image instance item key keypoint label line mask metric model name number object page pair pixel point
prediction query question rank reading record row rule sample second score segment sequence shard side slice step task
thread threshold token track unit value video volume voxel word
"""
GAP = r"(?:[ \t]+|\s*\n\s*(?:(?://|#)[ \t]*)?)"  # a line may end in between, and the next may be a comment
PER = re.compile(
    rf"(?:\b(?:an?|one|two|three|four|several|few|[\d,.]*\d){GAP}(?:(?:\w+ )?(?:{'|'.join([*THINGS.split(), *PLURALS])}){GAP})?"
    rf"|\b(?:rows|bytes|bits|detections|labels|KB|kB|MB|GB){GAP})"
    rf"(?P<a>an?){GAP}(?:{'|'.join(UNITS.split())})\b",
    re.IGNORECASE,
)


@cache
def files() -> dict[Path, str]:
    """Every file that is read, with its text."""
    every = [p for name in READ for p in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))]
    read = [p for p in every if p.suffix in ENDINGS and p.is_file() and not _excepted(p)]
    return {path: path.read_text("utf-8") for path in read}


def _excepted(path: Path) -> bool:
    return any(
        p.relative_to(ROOT).as_posix() in EXCEPT for p in (path, *path.parents) if p != ROOT and ROOT in p.parents
    )


def hits(text: str) -> list[tuple[int, str]]:
    every = [*LISTED.finditer(text), *PER.finditer(text)]
    return sorted((text.count("\n", 0, hit.start()) + 1, " ".join(hit[0].split())) for hit in every)


def test_the_prose_has_no_word_of_the_list_and_says_per() -> None:
    read = files()
    assert len(read) > 300
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {words!r}"
        for path, text in read.items()
        for line, words in hits(text)
    ]
    assert not wrong, "write in present-day English, and 'per class' for 'one a class':\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "Make it anew.",
        "errors MENDED",
        "one row a class",
        "several labels an image",
        "8 bytes a unit",
        "one a\n# line",
        "20,000 a second",
    ],
)
def test_such_words_are_seen(text: str) -> None:
    assert hits(text)


@pytest.mark.parametrize("text", ["one row per class", "recommend", "Give every row a label.", "names a file"])
def test_other_words_pass(text: str) -> None:
    assert not hits(text)


NAMES = {
    "found": "name what it holds: match, path, rows, values",
    "Found": "name what it is",
    "Apart": "name what it is",
    "Sides": "name what it is",
    "told": "name what it holds",
    "likeness": "similarity",
    "how": "name what it holds: options, reading, change",
}
ANY_NAME = re.compile(rf"\b(?:{'|'.join(NAMES)})\b(?! (?!in\b|if\b)\w)")  # but for prose, such as "how many"
CODE = ("src", "tools", "fuzz", "examples", "benchmarks", "tests")


def bound(text: str) -> Iterator[tuple[int, str]]:
    """Every name that code gives to something, with its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.alias):
            yield node.lineno, node.asname or node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name


def test_names_say_what_a_thing_is() -> None:
    read = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    assert len(read) > 400
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}:{line}: '{name}': {NAMES[name]}"
        for path in read
        for text in [path.read_text("utf-8")]
        if ANY_NAME.search(text)  # parsing is slow
        for line, name in bound(text)
        if name in NAMES
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code",
    [
        "found = 1", "found: int = 1", "found, rest = 1, 2", "for found in x: pass", "def f(found): pass", "x = lambda found: 1",
        "[1 for found in x]", "(found := 1)", "with x as found: pass", "def found(): pass", "import x as found",
        "class A:\n    found: int", "try: pass\nexcept E as found: pass", "match x:\n    case [found, *_]: pass", "match x:\n    case found if y: pass",
    ],
)  # fmt: skip
def test_such_names_are_seen(code: str) -> None:
    assert "found" in {name for _, name in bound(code)}
    assert ANY_NAME.search(code)


# Phrases of an older style that must not come back.
PHRASES = {
    "is no NOUN": r"(?:'|\}'|\bit|\bthat|\bwhich|\bthis|\bwhat) is no (?!longer|more\b|less\b|worse\b)[a-z]",
    "stands twice": r"\bstands? twice\b|\bmay stand once\b",
    "to be had": r"\bto be had\b|\b(?:cannot|can|could|may) be had\b|\bhad from\b",
    "how it was had": r"\b(?:it|they|these|that) (?:was|were|are) had\b",
    "one to beat": r"\bone to beat\b",
    "made falling": r"\bmade falling\b",
    "positives an image": r"\b(?:positives|detections|boxes|errors|alarms|marks) an? (?:image|class|unit|row|frame|video|case)\b",
    "Ctrl-C ends": r"\bCtrl-C ends\b",
    "unit that is drawn": r"\bunits? that (?:is|are) drawn\b",
    "too few or too many draws": r"\b(?:draws|bins|inch) are too few or too many\b",
}


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_do_not_come_back(phrase: str) -> None:
    lines = [
        f"{path.relative_to(ROOT).as_posix()}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]!r}"
        for path, text in files().items()
        for hit in re.finditer(PHRASES[phrase], text)
    ]
    assert not lines, "\n".join(lines)
