"""The drop-in for pycocoevalcap against what pycocoevalcap 1.2 and SPICE 1.0 say of 250 images."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest
from support.paths import ROOT
from support.refusal import refuses

from steelyard import compat
from steelyard.compat.pycocoevalcap.bleu.bleu import Bleu
from steelyard.compat.pycocoevalcap.cider.cider import Cider
from steelyard.compat.pycocoevalcap.eval import COCOEvalCap
from steelyard.compat.pycocoevalcap.meteor.meteor import Meteor
from steelyard.compat.pycocoevalcap.rouge.rouge import Rouge
from steelyard.compat.pycocoevalcap.spice.spice import Spice
from steelyard.compat.pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from steelyard.compat.pycocotools.coco import COCO

DATA = ROOT / "tests" / "data" / "captions"
CORPUS = json.loads((DATA / "corpus_250.json").read_text())
with gzip.open(DATA / "coco_250.jsonl.gz", "rt", encoding="utf-8") as _file:
    IMAGES = [json.loads(line) for line in _file]
GTS = {row["image"]: row["references_tokens"] for row in IMAGES}
RES = {row["image"]: [row["candidate_tokens"]] for row in IMAGES}


def test_bleu_is_equal_to_the_bit(capsys) -> None:
    score, scores = Bleu(4).compute_score(GTS, RES)
    assert score == CORPUS["bleu"]
    assert scores == [[row["bleu"][n] for row in IMAGES] for n in range(4)]
    assert Bleu(2).compute_score(GTS, RES, verbose=0) == (score[:2], scores[:2])
    counts, ratio = capsys.readouterr().out.splitlines()
    assert counts.startswith("{'testlen': ")
    assert float(ratio.removeprefix("ratio: ")) > 0
    with pytest.raises(IndexError):
        Bleu(5).compute_score(GTS, RES)


def test_bleu_prints_its_counts(capsys) -> None:
    assert Bleu().compute_score({1: ["a b c d e", "a b"]}, {1: ["a b d"]})[0][0] == 1.0 * (3 + 1e-15) / (3 + 1e-9)
    printed = "{'testlen': 3, 'reflen': 2, 'guess': [3, 2, 1, 0], 'correct': [3, 1, 0, 0]}\nratio: 1.4999999992500004\n"
    assert capsys.readouterr().out == printed


def test_rouge_and_cider() -> None:
    score, scores = Rouge().compute_score(GTS, RES)
    assert (score, scores.tolist()) == (CORPUS["rouge_l"], [row["rouge_l"] for row in IMAGES])
    score, scores = Cider().compute_score(GTS, RES)
    assert score == pytest.approx(CORPUS["cider"], rel=1e-13)
    np.testing.assert_allclose(scores, [row["cider"] for row in IMAGES], rtol=1e-12, atol=1e-14)
    assert (type(score), scores.dtype) == (np.float64, np.float64)


def test_rouge_counts_empty_words_between_blanks() -> None:
    # 'a', '' and 'b' against 'a' and 'b': precision 2/3, recall 1
    beta = 1.2**2
    assert Rouge().calc_score(["a  b"], ["a b"]) == pytest.approx((1 + beta) * 2 / 3 / (1 + beta * 2 / 3))
    assert Rouge().calc_score([""], [""]) == 1.0
    assert Rouge().calc_score(["a"], [""]) == 0.0


def test_spice_has_all_parts() -> None:
    score, scores = Spice().compute_score(GTS, RES)
    ours = dict(zip(sorted(GTS), scores, strict=True))
    wanted = np.array([row["spice"]["All"][3] for row in IMAGES])
    image = np.array([ours[row["image"]]["All"]["f"] for row in IMAGES])
    assert score == np.mean([part["All"]["f"] for part in scores])
    assert abs(score - wanted.mean()) < 0.005
    assert np.corrcoef(image, wanted)[0, 1] > 0.96
    assert list(scores[0]) == ["All", "Relation", "Cardinality", "Attribute", "Size", "Color", "Object"]
    equal = 0
    for row in IMAGES:
        for name, (tp, candidate, reference, f) in row["spice"].items():
            part = ours[row["image"]][name]
            assert list(part) == ["pr", "re", "f", "tp", "fp", "fn"]
            if (part["tp"], part["fp"], part["fn"]) == (tp, candidate - tp, reference - tp):
                equal += 1
                assert part["f"] == pytest.approx(f) if f is not None else math.isnan(part["f"])
    assert equal > 1000


def test_meteor_is_that_of_the_original_where_no_paraphrase_counts() -> None:
    gts = {1: ["a man rides a horse", "a man"], 2: ["a dog on grass"], 3: ["a well-known man"]}
    score, scores = Meteor().compute_score(gts, {1: ["a horse rides a man"], 2: ["the car"], 3: ["a well known man"]})
    assert scores == pytest.approx([0.45827172913153946, 0.0, 1.0], abs=1e-14)  # METEOR 1.5 by pycocoevalcap 1.2
    assert score == pytest.approx(0.3832907155570807, abs=1e-14)


def test_tokens_are_the_original_ones() -> None:
    raw = {row["image"]: [{"caption": text} for text in [row["candidate"], *row["references"]]] for row in IMAGES}
    wanted = {row["image"]: [row["candidate_tokens"], *row["references_tokens"]] for row in IMAGES}
    assert PTBTokenizer().tokenize(raw | {"none": []}) == wanted


@pytest.mark.parametrize("res", [{}, {1: []}, {1: ["a", "b"]}, {1: ("a",)}, {2: ["a"]}])
@pytest.mark.parametrize("scorer", [Bleu, Rouge, Cider, Meteor, Spice])
def test_captions_that_do_not_fit(scorer, res) -> None:
    with pytest.raises(AssertionError):
        scorer().compute_score({1: ["a"]}, res)
    with pytest.raises(AssertionError):
        scorer().compute_score({1: []}, {1: ["a"]})


def test_settings_that_are_not_computed() -> None:
    with refuses("E-unsupported", "sigma"):
        Cider(sigma=3.0).compute_score(GTS, RES)
    rouge = Rouge()
    rouge.beta = 1.0
    with refuses("E-unsupported", "beta"):
        rouge.compute_score(GTS, RES)


def test_evaluation_of_files_and_its_report(capsys) -> None:
    truth, results = COCO(), COCO()
    texts = [(row["image"], text) for row in IMAGES for text in row["references"]]
    truth.dataset = {
        "images": [{"id": row["image"]} for row in IMAGES],
        "annotations": [{"id": i + 1, "image_id": image, "caption": text} for i, (image, text) in enumerate(texts)],
    }
    truth.createIndex()
    results = truth.loadRes([{"image_id": row["image"], "caption": row["candidate"]} for row in IMAGES])
    capsys.readouterr()
    evaluator = COCOEvalCap(truth, results)
    evaluator.evaluate()
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["tokenization...", "setting up scorers...", "computing Bleu score..."]
    assert printed[5:8] == [f"Bleu_{n}: {CORPUS['bleu'][n - 1]:.3f}" for n in (1, 2, 3)]
    assert printed[9::2] == [f"computing {name} score..." for name in ("METEOR", "Rouge", "CIDEr", "SPICE")]
    assert list(evaluator.eval) == ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr", "SPICE"]
    by_image = {entry["image_id"]: entry for entry in evaluator.evalImgs}
    assert by_image == evaluator.imgToEval
    first = IMAGES[0]
    assert [by_image[first["image"]][f"Bleu_{n}"] for n in (1, 2, 3, 4)] == first["bleu"]
    scores = compat.report(evaluator, confidence=None).scores
    names = {"bleu@4": "Bleu_4", "rouge_l": "ROUGE_L", "cider": "CIDEr", "spice": "SPICE"}
    assert {name: scores[name].value for name in names} == {
        name: pytest.approx(evaluator.eval[theirs]) for name, theirs in names.items()
    }
