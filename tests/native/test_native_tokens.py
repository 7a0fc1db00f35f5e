"""Tokens of the native core: every rule of the Penn Treebank tokeniser, as Stanford's own gives it."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import _native
from steelyard.language import tokens

# What PTBTokenizer of Stanford CoreNLP 3.4.1 says with -preserveLines -lowerCase, as pycocoevalcap calls it, less the
# marks that pycocoevalcap drops. The file was read as UTF-8.
STANFORD = {
    "a\xa0b\u3000c\ufeffd e\u2002f\u200bg": "a b c d e f g",
    "‘hi’ ‛hi": "hi hi",
    "“quoted” «french» „low‟": "quoted french „ low ‟",
    "a–b — c―d": "a b c d",
    "wait… what": "wait what",
    "it´s 5′": "it ´ s 5 ′",
    "50° 5×5 6÷2 ª µ º": "50 ° 5 × 5 6 ÷ 2 ª µ º",
    "→ right 。 😀 smile": "→ right 。 smile",
    "a😀b x\u200dy": "a b x y",
    "café naïve 日本": "café naïve 日本",
    "ÉCOLE × Þ ŠKODA": "école × þ škoda",
    "АБРЯ Ё": "абря ё",
    "ΑΠΩ ΣΑΣ": "απω σας",
    "£5 €5 ¤5 50¢": "# 5 $ 5 $ 5 50 cents",
    "½ cup ¼ ¾ ⅓ ⅔": "1/2 cup 1/4 3/4 1/3 2/3",
    "the dog’s DON’T can’t": "the dog 's do n't ca n't",
    "o’clock d’or": "o’clock d’or",
    "he's I'm she'd we'll they're I've": "he 's i 'm she 'd we 'll they 're i 've",
    "HE'S I'M SHE'D WE'LL THEY'RE I'VE": "he 's i 'm she 'd we 'll they 're i 've",
    "'s 'm 'sx": "'s 'm sx",
    "rock 'n' roll": "rock 'n' roll",
    "rock 'N roll": "rock 'n roll",
    "rock'n'roll": "rock 'n' roll",
    "the '70s were": "the '70s were",
    "the '10s '7os '71s '80sx": "the 10s 7os 71s '80s x",
    "'em 'til 'till 'cause": "'em 'til 'till 'cause",
    "'tis 'TWAS 'tissue 'causes 'tillx": "'t is 't was 't issue 'cause s 'till x",
    "'quoted' dogs' x": "quoted dogs x",
    "http://a.b/c?d=e, www.site.com. HTTPS://X.Y/": "http://a.b/c?d=e www.site.com https://x.y/",
    "the httpx www": "the httpx www",
    "(see http://x.y).": "-lrb- see http://x.y -rrb-",
    "1,000 10:30 6:40PM a,b a:b 3-4 x-ray a.b and/or": "1,000 10:30 6:40 pm a b a b 3-4 x-ray a.b and/or",
    "1,a a,1 AT&T a&b A&b R&D": "1 a a ,1 at&t a & b a & b r&d",
    "me@x.org me@": "me@x.org me @",
    "w/ him/her's 1/2": "w / him/her 's 1/2",
    "t.v. u.s. U.S.A. p.o.v. is": "t.v. u.s. u.s.a. p.o.v. is",
    "Mr. Smith Dr. No": "mr. smith dr. no",
    "Ph.D. x.yz. b": "ph.d. x.yz b",
    "plan b. next": "plan b. next",
    "No. 5 and no. nos. 7 eq.": "no. 5 and no nos. 7 eq",
    "etc., word; word.; end": "etc. word word. end",
    "St. Louis Ave.": "st. louis ave.",
    "cannot gonna gotta lemme gimme wanna CANNOT": "can not gon na got ta lem me gim me wan na can not",
    "don't won't ain't do n't": "do n't wo n't ai n't do n't",
    "int't b't": "int t b t",
    "dunkin' somethin' ol' x'": "dunkin' somethin' ol' x",
    "l' amour d' j'": "l' amour d' j'",
    "o'clock s'mores c'mon li'l nor'easter cont'd c'est cap'n": "o'clock s'mores c'mon li'l nor'easter cont 'd c'est cap'n",
    "O'Brien jack o'lantern D'Angelo hors d'oeuvres l'eau": "o'brien jack o'lantern d'angelo hors d'oeuvres l'eau",
    "y'all Y'know I'Ed n'est N'Ex y'5": "y' all y' know i ed n'est n'ex y 5",
    "ma'am Hawai'i Xi'an ma'y ma'Yes ca'Foo": "ma'am hawai'i xi'an ma y ma'yes ca'foo",
    "b'ar abc'def J'x1 A'5a x'yz o'k": "b ar abc def j' x1 a 5a x yz o k",
    "j'ai l'x": "j' ai l' x",
    "\"hi\" ``hi'' `x": "hi hi x",
    "(a) [b] {c}": "-lrb- a -rrb- -lsb- b -rsb- -lcb- c -rcb-",
    "! ? !? !! ?!": "!? !! ?!",
    "a - b -- c --- d": "a b c d",
    "-5 (-5) -5.5 -5,000 +5 -5a x-5 --5 -.5 -x +": "-5 -lrb- -5 -rrb- -5.5 -5,000 +5 -5 a x-5 5 -.5 x +",
    "a.b .5 3.5 ,5 :5 . , :": "a.b .5 3.5 ,5 :5",
    ". .. ... ....": "",
    "&amp; &lt; &gt; &quot; & &foo;": "& < > & & foo",
    "> >> < << * ** = #": "> >> < << * ** = #",
    "$5 % ^ @ ~ | \\ / _ a_b": "$ 5 % ^ @ ~ | \\ / _ a_b",
    "tab\tx\x7fy": "tab x y",
    "#dog #Dog's #1a a#dog #é #dog#cat ## # x": "#dog #dog 's # 1a a #dog #é #dog #cat ## # x",
    "@Dog_1 @5a me@dog @é @dog.cat @@x @ x": "@dog_1 @ 5a me@dog @ é @dog cat @@ x @ x",
    "'nx '90x d'x 5. x": "nx 90x d' x 5 x",
    "5.5. é.b. é. x www. x": "5.5 é.b é x www x",
    "5'4\" tall 5' 90's": "5 4 tall 5 90 's",
}
# The same with the marks.
MARKS = {
    "“a” ‘b’ c": "`` a '' ` b ' c",
    "wait ... a - b -- c": "wait ... a - b -- c",
    "— …": "-- ...",
    "a, b; c: d. E? F!": "a , b ; c : d. e ? f !",
    "x . . y .. z": "x . . y . . z",
    "Mr. X saw it. Then": "mr. x saw it . then",
}


@pytest.mark.parametrize("text", STANFORD)
def test_tokens_are_those_of_stanford(text: str) -> None:
    assert tokens.ptb([text]) == [STANFORD[text]]


@pytest.mark.parametrize("text", MARKS)
def test_marks_are_those_of_stanford(text: str) -> None:
    assert tokens.ptb([text], marks=True) == [MARKS[text]]


def test_the_period_of_an_abbreviation_at_the_end_is_a_mark_too() -> None:
    """As the Treebank has it; the parser was trained on such sentences."""
    assert tokens.ptb(["a dog etc.", "it is b.", "b. is it"], marks=True) == ["a dog etc. .", "it is b .", "b. is it"]


def test_bytes_that_are_no_text_separate_tokens() -> None:
    block = b"a\xffb c\xc3 d\xe2\x80 e\xf5f g\xc1h\xe2\x80"
    data, ends = _native.ptb_tokens(block, np.array([len(block)]), False)
    assert (bytes(data), list(ends)) == (b"a b c d e f g h", [15])
