"""All scores of a results file of captions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard.compat.pycocoevalcap.bleu.bleu import Bleu
from steelyard.compat.pycocoevalcap.cider.cider import Cider
from steelyard.compat.pycocoevalcap.meteor.meteor import Meteor
from steelyard.compat.pycocoevalcap.rouge.rouge import Rouge
from steelyard.compat.pycocoevalcap.spice.spice import Spice
from steelyard.compat.pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer


class COCOEvalCap:
    """The scores of the captions in `cocoRes` by the references in `coco`."""

    def __init__(self, coco: Any, cocoRes: Any) -> None:
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, float] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.coco = coco
        self.cocoRes = cocoRes
        self.params: dict[str, Any] = {"image_id": coco.getImgIds()}

    def evaluate(self) -> None:
        """Score everything; the numbers are in `eval`, and by image in `evalImgs` and `imgToEval`."""
        images = self.params["image_id"]
        gts = {image: self.coco.imgToAnns[image] for image in images}
        res = {image: self.cocoRes.imgToAnns[image] for image in images}
        print("tokenization...")
        tokenizer = PTBTokenizer()
        truth, candidates = tokenizer.tokenize(gts), tokenizer.tokenize(res)
        print("setting up scorers...")
        scorers: list[tuple[Any, list[str]]] = [
            (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
            (Meteor(), ["METEOR"]),
            (Rouge(), ["ROUGE_L"]),
            (Cider(), ["CIDEr"]),
            (Spice(), ["SPICE"]),
        ]
        for scorer, methods in scorers:
            print(f"computing {scorer.method()} score...")
            score, scores = scorer.compute_score(truth, candidates)
            if len(methods) == 1:
                score, scores = [score], [scores]
            for method, value, values in zip(methods, score, scores, strict=True):
                self.setEval(value, method)
                self.setImgToEvalImgs(values, truth.keys(), method)
                print(f"{method}: {value:0.3f}")
        self.setEvalImgs()

    def setEval(self, score: float, method: str) -> None:
        """Keep a score of all images."""
        self.eval[method] = score

    def setImgToEvalImgs(self, scores: Iterable[Any], imgIds: Iterable[Any], method: str) -> None:
        """Keep the scores of the images."""
        for image, score in zip(imgIds, scores, strict=False):
            self.imgToEval.setdefault(image, {"image_id": image})[method] = score

    def setEvalImgs(self) -> None:
        """List the scores of the images."""
        self.evalImgs = list(self.imgToEval.values())

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the same captions."""
        sides = []
        for captions in (self.coco.imgToAnns, self.cocoRes.imgToAnns):
            rows = [(image, row["caption"]) for image in self.params["image_id"] for row in captions[image]]
            sides.append({"image": [image for image, _ in rows], "caption": [text for _, text in rows]})
        metrics = ["bleu@1", "bleu@2", "bleu@3", "bleu@4", "meteor(level=corpus)", "rouge_l", "cider", "spice"]
        return "captions", sides[0], sides[1], {"metrics": metrics}
