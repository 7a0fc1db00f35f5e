"""Captions: parsing to tuples, and BLEU, ROUGE-L and CIDEr beside pycocoevalcap; CPU seconds of fresh processes."""

from __future__ import annotations

from measure import measure, sized, table

TEXTS = f"""
import numpy as np
rng = np.random.default_rng(0)
things = ["dog", "cat", "man", "woman", "car", "bus", "table", "bowl", "horse", "boat", "kite", "pizza", "clock"]
words = ["red", "blue", "small", "large", "old", "young", "wooden", "black", "white", "green"]
doing = ["sitting on", "standing next to", "riding", "holding", "in front of", "near", "under", "looking at"]
def caption():
    a, b, c = rng.choice(things, 3)
    x, y = rng.choice(words, 2)
    return f"a {{x}} {{a}} {{rng.choice(doing)}} a {{y}} {{b}} {{rng.choice(doing)}} the {{c}}"
images, references = {sized(5000, 50)}, 5
candidates = [caption() for _ in range(images)]
truth = [[caption() for _ in range(references)] for _ in range(images)]
"""

table(
    "20,000 different captions, tokens to tuples, one thread (goal: 20,000 per second; the original does 12.6)",
    "steelyard",
    {
        "steelyard": measure(
            "_native.caption_tuples(tables.parser(), tables.lemmas(), *block, 1)",
            TEXTS
            + """
from steelyard import _native
from steelyard.language import tables
from steelyard.language.tokens import pack
distinct = list(dict.fromkeys(candidates + [t for texts in truth for t in texts]))[:20000]
block = pack(distinct)
tables.parser(), tables.lemmas()
""",
        ),
    },
)

table(
    "BLEU-1..4, ROUGE-L, CIDEr of 5,000 images with 5 references, same tokens (goal: 20 times faster, < 300 MB)",
    "steelyard",
    {
        "steelyard": measure(
            "overlap(candidates, flat, starts)",
            TEXTS
            + """
from steelyard.tasks.captions.ngrams import overlap
flat = [t for texts in truth for t in texts]
starts = np.arange(0, len(flat) + 1, references, dtype=np.int64)
""",
        ),
        "pycocoevalcap": measure(
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            "    for scorer in (Bleu(4), Rouge(), Cider()):\n"
            "        scorer.compute_score(gts, res)",
            TEXTS
            + """
import contextlib, io
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.cider.cider import Cider
gts = dict(enumerate(truth))
res = {i: [text] for i, text in enumerate(candidates)}
""",
            repeat=1,
        ),
    },
)

SCORERS = """
import contextlib, io
from {package}.bleu.bleu import Bleu
from {package}.rouge.rouge import Rouge
from {package}.cider.cider import Cider
import steelyard as sy
sy.use_threads(1)
gts = dict(enumerate(truth))
res = {{i: [text] for i, text in enumerate(candidates)}}
"""
table(
    "Drop-in for pycocoevalcap: Bleu, Rouge and Cider of 5,000 images with 5 references",
    "steelyard.compat.pycocoevalcap",
    {
        package: measure(
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            "    for scorer in (Bleu(4), Rouge(), Cider()):\n"
            "        scorer.compute_score(gts, res)",
            TEXTS + SCORERS.format(package=package),
            repeat=1,
        )
        for package in ("steelyard.compat.pycocoevalcap", "pycocoevalcap")
    },
)

table(
    "The whole evaluation of 5,000 images with 5 references: tokens, SPICE with its parts, n-grams, intervals",
    "steelyard",
    {
        "steelyard": measure(
            "sy.evaluate('captions', {'image': image, 'caption': flat}, results)",
            TEXTS
            + """
import steelyard as sy
flat = [t for texts in truth for t in texts]
image = [i for i in range(images) for _ in range(references)]
results = {"image": list(range(images)), "caption": candidates}
""",
            repeat=1,
        ),
    },
)

SENTENCES = f"""
import random
rng = random.Random(0)
words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(5000)]
references = [" ".join(rng.choices(words, k=25)) + "." for _ in range({sized(20000, 100)})]
hypotheses = [" ".join(w if rng.random() < 0.7 else rng.choice(words) for w in r.split()) for r in references]
"""

table(
    "Drop-in for sacrebleu, corpus_bleu of 20,000 sentences of 25 words",
    "steelyard.compat.sacrebleu",
    {
        package: measure(
            "sacrebleu.corpus_bleu(hypotheses, [references])", SENTENCES + f"import {package} as sacrebleu\n"
        )
        for package in ("steelyard.compat.sacrebleu", "sacrebleu")
    },
)
