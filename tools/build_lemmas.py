"""Build the table of word endings that lemmas are made with.

    python tools/build_lemmas.py CAPTIONS [WORDNET FOLDER]

SPICE takes the lemmas of nouns and verbs from the class `Morphology` of CoreNLP, with its quirks (graffiti ->
graffitus, people -> people). This script asks that class (in the jar that the PyPI package pycocoevalcap carries;
needs Java) about the words of CAPTIONS (a text of tokenised captions), the words of WordNet and their regular
inflections, and learns which change of ending belongs to which ending: for every ending of the words at hand the
most frequent change, kept where it differs from what the next shorter ending says. Writes
src/steelyard/language/data/lemmas.txt: lines "n|v, ending, number of letters to cut, letters to add"; the longest
ending that fits decides, and ^ marks the beginning of a word.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pycocoevalcap
from build_wordnet import TARGET, read_exceptions

ASK = """
import java.io.*; import edu.stanford.nlp.process.Morphology;
public class Ask {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    Morphology m = new Morphology();
    String s;
    while ((s = in.readLine()) != null) { String[] f = s.split("\\t"); out.println(m.lemma(f[0], f[1])); }
    out.flush();
  }
}
"""
JAR = Path(next(iter(pycocoevalcap.__path__))) / "tokenizer/stanford-corenlp-3.4.1.jar"


def ask(words: list[str], tag: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Ask.java").write_text(ASK)
        subprocess.run(["javac", "-cp", str(JAR), "-d", folder, f"{folder}/Ask.java"], check=True)
        text = "".join(f"{word}\t{tag}\n" for word in words)
        done = subprocess.run(["java", "-cp", f"{JAR}:{folder}", "Ask"], input=text.encode(), stdout=-1, check=True)
    return done.stdout.decode().split("\n")[: len(words)]


def nouns(folder: Path) -> set[str]:
    words = {line.split()[0] for line in (folder / "index.noun").open(encoding="utf-8") if line[0] != " "}
    words = {w for w in words if w.isalpha() or "-" in w}
    return (
        words | {w + "s" for w in words} | {w + "es" for w in words} | {w[:-1] + "ies" for w in words if w[-1] == "y"}
    )


def verbs(folder: Path) -> set[str]:
    words = {line.split()[0] for line in (folder / "index.verb").open(encoding="utf-8") if line[0] != " "}
    words = {w for w in words if w.isalpha()}
    inflected = {w + e for w in words for e in ("s", "es", "ed", "ing")}
    inflected |= {w[:-1] + e for w in words if w[-1] == "e" for e in ("ed", "ing")}
    inflected |= {w[:-1] + e for w in words if w[-1] == "y" for e in ("ies", "ied")}
    doubled = {w + w[-1] + e for w in words if w[-1] in "bdgklmnprstz" and w[-2:-1] in "aeiou" for e in ("ed", "ing")}
    return words | inflected | doubled


def change(word: str, lemma: str) -> tuple[int, str]:
    shared = 0
    while shared < min(len(word), len(lemma)) and word[shared] == lemma[shared]:
        shared += 1
    return len(word) - shared, lemma[shared:]


def learn(changes: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """The change for every ending whose most frequent change is not that of the next shorter ending."""
    counts: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    for word, what in changes.items():
        marked = "^" + word
        for start in range(len(marked) + 1):
            counts[marked[start:]][what] += 1
    rules: dict[str, tuple[int, str]] = {}

    def inherited(ending: str) -> tuple[int, str]:
        for start in range(1, len(ending) + 1):
            if ending[start:] in rules:
                return rules[ending[start:]]
        return (-1, "")

    for ending in sorted(counts, key=lambda e: (len(e), e)):
        before = inherited(ending)
        most = max(counts[ending].values())
        best = min(w for w, c in counts[ending].items() if c == most)
        if best != before and counts[ending][before] < most and len(ending.lstrip("^")) >= best[0]:
            rules[ending] = best
    return rules


def main() -> None:
    captions = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "/usr/share/wordnet")
    seen = {w for w, c in Counter(captions).items() if c > 1 or w.isalpha()} | set(read_exceptions(folder))
    lines = []
    for kind, tag, more in (("n", "NNS", nouns(folder)), ("v", "VBD", verbs(folder))):
        words = sorted(w for w in seen | more if w and "_" not in w and w == w.lower() and w.isascii())
        rules = learn(dict(zip(words, map(change, words, ask(words, tag)), strict=True)))
        lines += [f"{kind}\t{ending}\t{cut}\t{add}" for ending, (cut, add) in sorted(rules.items())]
        print(f"{kind}: {len(words):,} words, {len(rules):,} endings")
    (TARGET / "lemmas.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
