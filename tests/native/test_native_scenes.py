"""Graphs of captions whose trees are written by hand: every rule of the described reading, and what the parser gets wrong.

What a caption describes is read off the English by the lines of docs/captions.md; the trees of "misread" captions hang
words as the parser does when it takes a verb for a noun, or a place for another noun's.
"""

from __future__ import annotations

import pytest

from steelyard.language import scene
from steelyard.language.scene import Graph, Token


def tree(text: str) -> list[Token]:
    """A tree from words with their tags, heads and relations: "a/DT/2/det man/NN/0/root"."""
    return [Token(w, t, int(h), r) for w, t, h, r in (word.split("/") for word in text.split())]


def read(text: str, graph: Graph = "described") -> set[str]:
    return {", ".join(entry) for entry in scene.tuples_of_tree(tree(text), graph)}


A_MAN = "a/DT/2/det man/NN/0/root "
DESCRIBED = {
    # Participles and adjectives.
    "the/DT/2/det car/NN/4/nsubj is/VBZ/4/cop parked/JJ/0/root beside/IN/7/case a/DT/7/det house/NN/4/nmod":
        "car; house; car, beside, house",
    "the/DT/2/det car/NN/4/nsubjpass is/VBZ/4/auxpass parked/VBN/0/root by/IN/7/case a/DT/7/det house/NN/4/nmod":
        "car; house; car, by, house",
    "a/DT/2/det car/NN/0/root parked/VBN/2/acl by/IN/6/case a/DT/6/det house/NN/3/nmod": "car; house; car, by, house",
    "the/DT/2/det ball/NN/4/nsubjpass is/VBZ/4/auxpass hit/VBD/0/root by/IN/7/case a/DT/7/det bat/NN/4/nmod":
        "ball; bat; bat, hit, ball",
    A_MAN + "walking/VBG/2/acl by/IN/6/case a/DT/6/det lake/NN/3/nmod": "man; lake; man, walk by, lake",
    A_MAN + "alone/JJ/2/amod on/IN/6/case a/DT/6/det bench/NN/3/nmod": "man; bench; man, on, bench; man, alone",
    A_MAN + "ready/JJ/2/amod for/IN/6/case a/DT/6/det bath/NN/3/nmod": "man; bath; man, ready for, bath",
    A_MAN + "similar/JJ/2/amod to/TO/6/case a/DT/6/det bear/NN/3/nmod": "man; bear; man, similar to, bear",
    A_MAN + "busy/JJ/2/amod with/IN/6/case a/DT/6/det book/NN/3/nmod": "man; book; man, busy with, book",
    A_MAN + "happy/JJ/2/amod that/IN/7/mark a/DT/6/det dog/NN/7/nsubj barks/VBZ/3/ccomp":
        "man; man, happy; dog; dog, bark",
    "a/DT/2/det man/NN/3/nsubj keeps/VBZ/0/root warm/JJ/3/xcomp": "man; man, keep; man, warm",
    # Particles and what leads to a verb.
    A_MAN + "looking/VBG/2/acl up/RB/3/advmod at/IN/7/case a/DT/7/det plane/NN/3/nmod": "man; plane; man, look up at, plane",
    A_MAN + "walking/VBG/2/acl slowly/RB/3/advmod on/IN/6/case sand/NN/3/nmod": "man; sand; man, walk on, sand",
    "a/DT/2/det boy/NN/4/nsubj is/VBZ/4/aux getting/VBG/0/root ready/JJ/4/xcomp to/TO/7/mark catch/VB/5/xcomp "
    "a/DT/9/det ball/NN/7/dobj": "boy; ball; boy, get ready to catch, ball",
    "an/DT/2/det elephant/NN/3/nsubj raises/VBZ/0/root its/PRP$/5/nmod:poss trunk/NN/3/dobj to/TO/7/mark grab/VB/5/acl "
    "a/DT/9/det branch/NN/7/dobj":
        "elephant; trunk; branch; elephant, raise, trunk; elephant, grab, branch; elephant, have, trunk",
    "a/DT/2/det place/NN/0/root to/TO/4/mark sit/VB/2/acl": "place",
    # Clauses.
    "a/DT/2/det boy/NN/0/root watching/VBG/2/acl a/DT/5/det cat/NN/10/nsubj sitting/VBG/5/acl on/IN/9/case a/DT/9/det "
    "bed/NN/6/nmod sleep/VB/3/ccomp": "boy; cat; bed; boy, watch, cat; cat, sit on, bed; cat, sleep",
    "a/DT/2/det sign/NN/3/nsubj says/VBZ/0/root that/IN/7/mark a/DT/6/det dog/NN/7/nsubj barks/VBZ/3/ccomp":
        "sign; dog; dog, bark",
    A_MAN + "watching/VBG/2/acl who/WP/5/nsubj plays/VBZ/3/ccomp": "man",
    "the/DT/2/det hat/NN/0/root that/WDT/6/dobj a/DT/5/det man/NN/6/nsubj wears/VBZ/2/acl:relcl": "hat; man; man, wear, hat",
    A_MAN + "who/WP/4/nsubj smiles/VBZ/2/acl:relcl": "man; man, smile",
    "a/DT/2/det day/NN/0/root when/WRB/6/advmod a/DT/5/det man/NN/6/nsubj flies/VBZ/2/acl:relcl a/DT/8/det "
    "kite/NN/6/dobj": "day; man; kite; man, fly, kite",
    "the/DT/2/det car/NN/4/nsubjpass is/VBZ/4/auxpass parked/VBN/0/root and/CC/4/cc shines/VBZ/4/conj":
        "car; car, parked; car, shine",
    "the/DT/2/det car/NN/4/nsubjpass is/VBZ/4/auxpass parked/VBN/0/root and/CC/4/cc new/JJ/4/conj":
        "car; car, parked; car, new",
    "cars/NNS/3/nsubjpass are/VBP/3/auxpass parked/VBN/0/root and/CC/3/cc shine/VBP/3/conj": "car; car, parked; car, shine",
    # Several together.
    "a/DT/2/det herd/NN/0/root of/IN/4/case sheep/NNS/2/nmod grazing/VBG/2/acl": "herd; sheep; herd, of, sheep; sheep, graze",
    "a/DT/2/det group/NN/0/root standing/VBG/2/acl on/IN/5/case grass/NN/3/nmod": "group; grass; group, stand on, grass",
    "a/DT/2/det cat/NN/0/root and/CC/2/cc a/DT/5/det dog/NN/2/conj sitting/VBG/5/acl on/IN/9/case a/DT/9/det bed/NN/6/nmod":
        "cat; dog; bed; cat, sit on, bed; dog, sit on, bed",
    "a/DT/2/det cat/NN/0/root sitting/VBG/2/acl on/IN/6/case a/DT/6/det bed/NN/3/nmod and/CC/2/cc a/DT/9/det dog/NN/2/conj":
        "cat; bed; dog; cat, sit on, bed",
    A_MAN + "with/IN/5/case a/DT/5/det dog/NN/2/nmod and/CC/5/cc a/DT/8/det cat/NN/5/conj or/CC/5/cc a/DT/11/det bird/NN/5/conj":
        "man; dog; cat; bird; man, with, dog; man, with, cat; man, with, bird",
    A_MAN + "on/IN/7/case and/CC/3/cc near/IN/3/conj a/DT/7/det bench/NN/2/nmod": "man; bench; man, on, bench; man, near, bench",
    "100s/CD/0/root of/IN/3/case birds/NNS/1/nmod": "bird; bird, 100s",
    "a/DT/2/det group/NN/0/root in/IN/5/case a/DT/5/det park/NN/2/nmod sitting/VBG/2/acl":
        "group; park; group, in, park; group, sit",
    "boats/NNS/3/nsubjpass are/VBP/3/auxpass docked/VBN/0/root and/CC/3/cc shine/VB/3/conj": "boat; boat, docked; boat, shine",
    "lots/NNS/0/root of/IN/3/case red/JJ/1/nmod": "lot",
    "one/CD/0/root of/IN/4/case the/DT/4/det dogs/NNS/1/nmod": "dog; dog, one",
    "one/NN/0/root of/IN/3/case dogs/NNS/1/nmod": "one; dog; one, of, dog",
    "many/JJ/2/det:qmod dogs/NNS/0/root": "dog; dog, many",
    "Number/NN/0/root 5/CD/1/nummod": "number",
    "his/PRP$/2/nmod:poss dog/NN/0/root": "dog",
    A_MAN + "in/IN/4/case red/JJ/2/nmod": "man",
    # Prepositions of several words.
    "the/DT/2/det boat/NN/5/nsubj is/VBZ/5/cop in/IN/5/case front/NN/0/root of/IN/8/case a/DT/8/det house/NN/5/nmod":
        "boat; house; boat, in front of, house",
    A_MAN + "on/IN/5/case a/DT/5/det bed/NN/2/nmod and/CC/5/cc in/IN/8/case front/NN/5/conj of/IN/11/case a/DT/11/det "
    "tv/NN/8/nmod": "man; bed; tv; man, on, bed; man, in front of, tv",
    A_MAN + "in/IN/4/case addition/NN/2/nmod to/TO/6/mark sleeping/VBG/4/acl": "man; man, sleep",
    "a/DT/2/det cat/NN/0/root on/IN/4/case top/NN/2/nmod of/IN/7/case a/DT/7/det car/NN/2/nmod": "cat; car; cat, on top of, car",
    "top/NN/0/root of/IN/4/case a/DT/4/det car/NN/1/nmod": "top; car; top, of, car",
    # Where a phrase hangs.
    "a/DT/2/det vase/NN/0/root of/IN/4/case flowers/NNS/2/nmod on/IN/7/case a/DT/7/det table/NN/4/nmod":
        "vase; flower; table; vase, of, flower; vase, on, table",
    "a/DT/2/det vase/NN/0/root with/IN/4/case flowers/NNS/2/nmod on/IN/7/case a/DT/7/det table/NN/4/nmod":
        "vase; flower; table; vase, with, flower; flower, on, table",
    A_MAN + "sitting/VBG/2/acl on/IN/6/case a/DT/6/det bench/NN/3/nmod at/IN/8/case night/NN/2/nmod":
        "man; bench; night; man, sit on, bench; man, sit at, night",
    "a/DT/2/det picture/NN/0/root of/IN/5/case a/DT/5/det man/NN/2/nmod sitting/VBG/5/acl in/IN/9/case a/DT/9/det park/NN/2/nmod":
        "picture; man; park; picture, of, man; man, sit in, park",
    "a/DT/2/det boy/NN/0/root on/IN/5/case a/DT/5/det skateboard/NN/2/nmod holding/VBG/5/acl a/DT/8/det rope/NN/6/dobj":
        "boy; skateboard; rope; boy, on, skateboard; boy, hold, rope",
    "a/DT/2/det table/NN/0/root with/IN/5/case a/DT/5/det cup/NN/2/nmod holding/VBG/5/acl a/DT/8/det pen/NN/6/dobj":
        "table; cup; pen; table, with, cup; cup, hold, pen",
    "man/NN/0/root cup/NN/4/dep of/IN/4/case coffee/NN/1/nmod": "man; cup; coffee; man, of, coffee",
}  # fmt: skip

MISREAD = {
    # "bears" as a verb.
    "the/DT/2/det teddy/NN/3/nsubj bears/VBZ/0/root sitting/VBG/3/xcomp on/IN/7/case a/DT/7/det bed/NN/4/nmod":
        "bear; bed; bear, teddy; bear, sit on, bed",
    "a/DT/2/det group/NN/5/nsubj of/IN/4/case teddy/NN/2/nmod bears/VBP/0/root sitting/VBG/5/xcomp there/RB/5/advmod":
        "group; bear; bear, teddy; group, of, bear; bear, sit",
    "a/DT/2/det man/NN/3/nsubj sit/VBP/0/root eating/VBG/3/xcomp": "man; man, eat",
    "a/DT/2/det man/NN/3/nsubj walks/VBZ/0/root talking/VBG/3/xcomp": "man; man, talk",
    # A verb as a plural, and plurals that are none.
    "a/DT/3/det woman/NN/3/compound waves/NNS/0/root": "woman; woman, wave",
    "an/DT/3/det owl/NN/3/compound sleeps/NNS/0/root": "owl; owl, sleep",
    "the/DT/3/det woman/NN/3/compound waves/NNS/0/root": "wave; wave, woman",
    "a/DT/3/det ski/NN/3/compound goggles/NNS/0/root": "goggles; goggles, ski",
    # An object as a verb.
    "a/DT/2/det boy/NN/4/nsubj wearing/VBG/2/acl glasses/VBZ/0/root on/IN/7/case a/DT/7/det bed/NN/4/nmod":
        "boy; glass; bed; boy, wear, glass; boy, wear on, bed",
    "a/DT/2/det boy/NN/4/nsubj wearing/VBG/2/acl glasses/VBZ/0/root eating/VBG/4/xcomp cake/NN/5/dobj":
        "boy; glass; cake; boy, wear, glass; boy, eat, cake",
    "a/DT/2/det dog/NN/4/nsubj barking/VBG/2/acl runs/VBZ/0/root": "dog; dog, bark; dog, run",
    # A participle as a noun.
    "a/DT/2/det boy/NN/0/root in/IN/6/case a/DT/6/det uniform/NN/6/compound holding/NN/2/nmod a/DT/8/det bat/NN/6/dep":
        "boy; uniform; bat; boy, in, uniform; boy, hold, bat",
    "a/DT/3/det man/NN/3/compound standing/NN/0/root outside/RB/3/advmod and/CC/3/cc a/DT/7/det dog/NN/3/conj":
        "man; dog; man, stand",
    "a/DT/3/det man/NN/3/compound standing/NN/0/root outside/RB/3/advmod and/CC/3/cc waving/VBG/3/conj":
        "man; man, stand; man, wave",
    "a/DT/2/det dog/NN/0/root and/CC/2/cc a/DT/6/det man/NN/6/compound holding/NN/2/conj a/DT/8/det cup/NN/2/dep":
        "dog; man; cup; dog, hold, cup; man, hold, cup",
    # Who does it, behind a preposition.
    A_MAN + "with/IN/6/mark a/DT/5/det dog/NN/6/nsubj sitting/VBG/2/advcl": "man; dog; man, with, dog; dog, sit",
    "a/DT/2/det man/NN/3/nsubj sits/VBZ/0/root on/IN/7/mark a/DT/6/det chair/NN/7/nsubj rocking/VBG/3/advcl":
        "man; chair; man, sit on, chair; chair, rock",
    "a/DT/2/det man/NN/3/nsubj sits/VBZ/0/root while/IN/7/mark a/DT/6/det dog/NN/7/nsubj sleeping/VBG/3/advcl":
        "man; man, sit; dog; dog, sleep",
    "with/IN/4/mark a/DT/3/det dog/NN/4/nsubj sitting/VBG/0/root": "dog; dog, sit",
    A_MAN + "by/IN/4/mark walking/VBG/2/advcl": "man; man, walk",
    "a/DT/2/det sink/NN/0/root and/CC/2/cc a/DT/5/det tub/NN/2/conj sitting/VBG/2/acl there/RB/6/advmod":
        "sink; tub; sink, sit; tub, sit",
    "a/DT/4/det man/NN/3/compound holding/NN/4/compound cup/NN/0/root": "cup; cup, holding",
    # Adjectives as prepositions.
    "very/RB/2/advmod full/JJ/4/case of/IN/4/case food/NN/0/root": "food",
}  # fmt: skip


def caption(text: str) -> str:
    return " ".join(token.word for token in tree(text))


@pytest.mark.parametrize("text", [*DESCRIBED, *MISREAD], ids=caption)
def test_what_a_caption_describes(text: str) -> None:
    assert read(text) == set({**DESCRIBED, **MISREAD}[text].split("; "))


@pytest.mark.parametrize("word", ["in", "on", "at", "by", "near"])
def test_who_acts_at_a_place(word: str) -> None:
    """ "a boy near a tree eating an apple": no tree eats."""
    text = f"a/DT/2/det boy/NN/0/root {word}/IN/6/mark a/DT/5/det tree/NN/6/nsubj eating/VBG/2/acl an/DT/8/det apple/NN/6/dobj"
    assert read(text) == {"boy", "tree", "apple", f"boy, {word}, tree", "boy, eat, apple"}


@pytest.mark.parametrize("word", ["for", "like", "as", "than"])
def test_what_is_no_place_stays_where_it_hangs(word: str) -> None:
    text = f"a/DT/2/det boy/NN/0/root jumping/VBG/2/acl {word}/IN/6/case a/DT/6/det frog/NN/2/nmod"
    assert read(text) == {"boy", "frog", "boy, jump", f"boy, {word}, frog"}


# By the rules of the original SPICE.
ORIGINAL = {
    "a/DT/2/det man/NN/3/nsubj sits/VBZ/0/root Monday/NNP/3/nmod:tmod": "man; monday; man, sit tmod, monday",
    "buses/NNS/0/root 5/CD/1/nummod": "bus",
    "two/CD/2/nummod Alps/NNPS/0/root": "alp; alp, two",
}


@pytest.mark.parametrize("text", ORIGINAL, ids=caption)
def test_what_the_original_reads(text: str) -> None:
    assert read(text, "original") == set(ORIGINAL[text].split("; "))


def test_no_words_describe_nothing() -> None:
    assert scene.tuples_of_tree([]) == scene.tuples_of_tree([], "described") == ()
