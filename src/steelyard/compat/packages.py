"""The packages that have a drop-in."""

from __future__ import annotations

from typing import NamedTuple


class DropIn(NamedTuple):
    """What a drop-in replaces. Its modules are in `steelyard.compat.PACKAGE` under the names that they have there."""

    version: str  # of the package whose behaviour it reproduces
    modules: tuple[str, ...]  # below the package, with their dot; "" is the package itself
    replaces: str  # the names that people import
    differs: str  # in a sentence; the page docs/compat/PACKAGE.md has the rest


DROP_INS: dict[str, DropIn] = {
    "pycocotools": DropIn(
        "2.0.11",
        ("", ".coco", ".cocoeval", ".mask"),
        "COCO, COCOeval, mask",
        "Empty results give a score of 0, and broken masks an error, where pycocotools stops or crashes.",
    ),
    "lvis": DropIn(
        "0.5.3",
        ("", ".lvis", ".results", ".eval"),
        "LVIS, LVISResults, LVISEval",
        "LVISVis is left out. Empty results give a score of 0, and broken masks an error, where lvis stops.",
    ),
    "jiwer": DropIn(
        "4.0.0",
        ("", ".alignment", ".measures", ".process", ".transformations", ".transforms"),
        "wer, mer, wil, wip, cer, process_words, process_characters, visualize_alignment, transforms",
        "Alignments are computed when they are read; the command `jiwer` is left out.",
    ),
    "pytrec_eval": DropIn(
        "0.5",
        ("",),
        "RelevanceEvaluator, parse_run, parse_qrel, supported_measures, compute_aggregated_measure",
        "All 34 measures; those of preferences are left out.",
    ),
    "vqaEvaluation": DropIn(
        "a013f00",
        ("", ".vqaEval"),
        "VQAEval",
        "Python 3; people's answers are processed once per distinct text.",
    ),
    "vqaTools": DropIn(
        "a013f00",
        ("", ".vqa"),
        "VQA",
        "Python 3; `info` and `getImgIds(quesIds=...)` work, where the original stops.",
    ),
    "trackeval": DropIn(
        "1.3.0",
        (
            "",
            ".eval",
            ".utils",
            ".plotting",
            "._timing",
            ".metrics",
            ".metrics._base_metric",
            ".metrics.hota",
            ".metrics.clear",
            ".metrics.identity",
            ".metrics.count",
            ".metrics.vace",
            ".metrics.j_and_f",
            ".metrics.track_map",
            ".datasets",
            ".datasets._base_dataset",
            ".datasets.mot_challenge_2d_box",
            ".datasets.kitti_2d_box",
            ".datasets.mots_challenge",
            ".datasets.kitti_mots",
            ".datasets.davis",
            ".datasets.youtube_vis",
        ),
        "Evaluator; datasets of MOTChallenge, KITTI, DAVIS and YouTube-VIS; all metrics but IDEucl; utils",
        "No plots; USE_PARALLEL takes threads instead of processes.",
    ),
    "pycocoevalcap": DropIn(
        "1.2",
        (
            "",
            ".eval",
            ".bleu",
            ".bleu.bleu",
            ".cider",
            ".cider.cider",
            ".meteor",
            ".meteor.meteor",
            ".rouge",
            ".rouge.rouge",
            ".spice",
            ".spice.spice",
            ".tokenizer",
            ".tokenizer.ptbtokenizer",
        ),
        "COCOEvalCap, Bleu, Rouge, Cider, Meteor, Spice, PTBTokenizer; no Java",
        "METEOR has no paraphrases, SPICE another parser: scores of images correlate 0.98 and 0.97.",
    ),
    "motmetrics": DropIn(
        "1.4.0",
        ("", ".mot", ".metrics", ".io", ".utils", ".distances", ".lap", ".preprocess", ".math_util"),
        "MOTAccumulator; metrics.create, io.loadtxt, io.render_summary, utils.compare_to_groundtruth, distances, lap",
        "Runs with NumPy 2 and pandas 2 and 3. The solvers munkres and ortools, and the apps, are left out.",
    ),
    "torchmetrics": DropIn(
        "1.9.0",
        (
            ".detection",
            ".detection.mean_ap",
            ".detection.iou",
            ".detection.giou",
            ".detection.diou",
            ".detection.ciou",
            ".detection.panoptic_qualities",
        ),
        "the metrics of torchmetrics.detection",
        "The rest of torchmetrics stays, and must be installed; torchvision and pycocotools are not needed.",
    ),
    "panopticapi": DropIn(
        "7bb4655",
        ("", ".evaluation", ".utils"),
        "evaluation.pq_compute, PQStat, utils.rgb2id, id2rgb, IdGenerator",
        "Converters and visualisation are left out. Images are compared in threads of one process.",
    ),
    "sacrebleu": DropIn(
        "2.6.0",
        (
            "",
            ".compat",
            ".metrics",
            ".metrics.base",
            ".metrics.bleu",
            ".tokenizers",
            ".tokenizers.tokenizer_base",
            ".tokenizers.tokenizer_none",
            ".tokenizers.tokenizer_13a",
            ".tokenizers.tokenizer_char",
            ".tokenizers.tokenizer_intl",
            ".tokenizers.tokenizer_zh",
        ),
        "corpus_bleu, sentence_bleu, raw_corpus_bleu, metrics.BLEU with signatures and bootstrap",
        "No chrF, TER, test sets and command; tokenizers 13a, none, char, intl and zh.",
    ),
    "cityscapesscripts": DropIn(
        "2.3.0",
        (
            "",
            ".evaluation",
            ".evaluation.evalPixelLevelSemanticLabeling",
            ".evaluation.evalPanopticSemanticLabeling",
            ".helpers",
            ".helpers.labels",
        ),
        "evalPixelLevelSemanticLabeling, evalPanopticSemanticLabeling, helpers.labels",
        "Runs with NumPy 2.4. Other modules are the package's own and need it: instances, 3D boxes, preparation.",
    ),
    "ranx": DropIn(
        "0.3.21",
        (
            "",
            ".data_structures",
            ".data_structures.qrels",
            ".data_structures.run",
            ".data_structures.report",
            ".meta",
            ".meta.evaluate",
            ".meta.compare",
        ),
        "Qrels, Run, evaluate with its 14 metrics, compare and its Report",
        "No fusion, normalisation, plots, ranxhub and Fisher's test; no compiling at the first call.",
    ),
}
