# Written by tools/make_stub.py; not by hand.
"""The compiled core of Steelyard: flat arrays in, flat arrays out."""

from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def simd() -> str:
    """
    The set of instructions that was chosen: baseline or avx2. STEELYARD_SIMD=baseline chooses the first.
    """

def pack_scores(scores: NDArray[numpy.generic], skip: NDArray[numpy.uint8], sorted: bool = True) -> bytes:
    """
    Scores sorted, counted and packed, without those that are skipped; or, where they need not be sorted, those of single precision in groups.
    """

def mask_regions(mask: NDArray[numpy.uint8], corners: bool) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Places of the pixels of connected regions, region after region, and where each ends. With corners, pixels touch at corners too.
    """

def unpack_lzw(packed: bytes, count: int) -> bytes:
    """At most so many bytes that LZW packed, as TIFF files have it."""

def unpack_scores(packed: NDArray[numpy.uint8]) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    The distinct scores that were packed, rising, and how often each occurs.
    """

def sum_scores(packed: NDArray[numpy.uint8], places: NDArray[numpy.int64], overlap: NDArray[numpy.float64], positive: NDArray[numpy.float64], saturation: NDArray[numpy.int64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    The distinct scores of packed sets, rising, with sums of what each adds to the overlap of its set and of how often it occurs, times factors of the sets.
    """

def count_scores(packed: NDArray[numpy.uint8], places: NDArray[numpy.int64], thresholds: NDArray[numpy.float64], weights: NDArray[numpy.float64], each: bool) -> NDArray[numpy.float64]:
    """
    How many scores of packed sets lie at or above, and above, rising thresholds: of each set, or their sum.
    """

def arrow_stream(names: list[object], kinds: list[object], columns: list[object]) -> object:
    """
    A table as a capsule 'arrow_array_stream'. kinds: 'u' texts, 'g' numbers, 'l' counts; None and nan are null.
    """

class BoxFigure(enum.Enum):
    """What is read along a ranking of detections."""

    coco = 0
    """Mean precision on a grid of recalls, as COCO has it."""

    grid = 1
    """The same on any grid."""

    area = 2
    """Area under the envelope of precision."""

    step = 3
    """Area under the steps, one for each score."""

    miss = 4
    """Log-average miss rate."""

    best_f1 = 5
    """
    The best F1, and in place of the recall the score that it is reached at.
    """

    recall = 6
    """The recall alone."""

    curves = 7
    """Precision and score at each recall of the grid."""

class Ranked:
    """
    Matched detections by class and falling score, and the truths by class.
    """

    def __init__(self, begin: NDArray[numpy.int64], end: NDArray[numpy.int64], image: NDArray[numpy.int32], score: NDArray[numpy.float64], rank: NDArray[numpy.uint16], hit: NDArray[numpy.uint32], ignored: NDArray[numpy.uint32], truth_begin: NDArray[numpy.int64], truth_image: NDArray[numpy.int32], counts: NDArray[numpy.uint8], thresholds: int, most: int) -> None:
        """
        `hit` and `ignored` have a bit for each threshold, `counts` is 1 where a truth counts; `most` detections of a class count in an image.
        """

    def curves(self, weights: NDArray[numpy.float64], grid: NDArray[numpy.float64], scores: bool = True, threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Precision (thresholds, grid, classes), recall (thresholds, classes) and scores (as precision, or of no threshold where they are not asked for) under one row of weights; nan for a class without truth.
        """

    def figures(self, weights: NDArray[numpy.float64], figure: BoxFigure, grid: NDArray[numpy.float64], threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        A figure and the recall, mean over the classes with truth, for each row of weights and threshold.
        """

    def draws(self, weights: NDArray[numpy.uint8], rows: int, figure: BoxFigure, grid: NDArray[numpy.float64], threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        The same to 1.2e-7 for rows of counts, which lie as (groups, units, 32 rows); of four figures.
        """

    def left_out(self, group: NDArray[numpy.int32], groups: int, figure: BoxFigure, grid: NDArray[numpy.float64], threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        The same figures without each group of images, to the second order of a group's share of a class. `group` is by image; -1 is never left out.
        """

def boxes_match(objects: object, rules: object) -> dict[str, NDArray[numpy.generic]]:
    """
    Match detections to truth. Gives, with detections by class and falling score: begin and end of each class, the detections' rows (order), their rank in their image, bits of hit and ignored by area; begin of each class among the truths, the truths' rows; and each detection's partner and overlap at the first threshold.
    """

def coco_read(path: str, truth: bool, threads: int = 0, what: int = 0, ids: object | None = None, sizes: object | None = None, compact: bool = False) -> dict[str, object] | tuple[int, str, bool, str, int, str]:
    """
    Columns of a COCO file as a dict, or a tuple (byte, what, syntax, section, record, key) that says what is wrong. `what`: 0 boxes, 1 masks, 2 keypoints, 3 rotated boxes; `ids` and `sizes` of images serve results with polygons; `compact`: masks as `mask_column` gives them, and keypoints of results without their flags.
    """

def coco_parse(text: bytes, truth: bool, threads: int = 0, what: int = 0, ids: object | None = None, sizes: object | None = None) -> dict[str, object] | tuple[int, str, bool, str, int, str]:
    """The same from bytes in memory."""

def result_columns(results: list[object], complete: bool, boxes: bool = True) -> object:
    """
    Image, category, box, score and area of results that are dicts, or None where only Python can read them.
    """

def complete_results(results: list[object]) -> int:
    """
    Add polygon, area, id and crowd flag to results that `result_columns` has read; their number.
    """

def match_cells(d_begin: NDArray[numpy.int64], t_begin: NDArray[numpy.int64], ious: NDArray[numpy.float64], t_ignored: NDArray[numpy.uint8], crowd: NDArray[numpy.uint8], takes: NDArray[numpy.uint8], thresholds: NDArray[numpy.float64], threads: int = 0) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    Rows of the matched truths (areas, thresholds, detections) and detections (areas, thresholds, truths); -1: none.
    """

def score_cells(d_begin: NDArray[numpy.int64], t_begin: NDArray[numpy.int64], ious: NDArray[numpy.float64], t_ignored: NDArray[numpy.uint8], crowd: NDArray[numpy.uint8], takes: NDArray[numpy.uint8], thresholds: NDArray[numpy.float64], category: NDArray[numpy.int64], score: NDArray[numpy.float64], d_outside: NDArray[numpy.uint8], t_counts: NDArray[numpy.uint8], limits: NDArray[numpy.int64], recalls: NDArray[numpy.float64], categories: int, threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Precision (thresholds, recalls, categories, areas, limits), last recall and scores as pycocotools accumulates them; -1 where no truth counts.
    """

def order_cells(category: NDArray[numpy.int32], image: NDArray[numpy.int32], score: NDArray[numpy.float64], categories: int, images: int, by_category: bool) -> NDArray[numpy.int32]:
    """Rows by cell, and in a cell by falling score."""

def cell_box_ious(d_begin: NDArray[numpy.int64], t_begin: NDArray[numpy.int64], d_rows: NDArray[numpy.int32], t_rows: NDArray[numpy.int32], d_box: NDArray[numpy.float64], t_box: NDArray[numpy.float64], crowd: NDArray[numpy.uint8]) -> NDArray[numpy.float64]:
    """IoU of all pairs in each cell, flat."""

def reference_curves(order: NDArray[numpy.int64], score: NDArray[numpy.float64], hit: NDArray[numpy.uint8], ignored: NDArray[numpy.uint8], positives: float, recalls: NDArray[numpy.float64], threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Precision, last recall and scores as pycocotools accumulates them."""

def count_above(scores: NDArray[numpy.float32], starts: NDArray[numpy.int64], high: NDArray[numpy.float32], low: NDArray[numpy.float32]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    How many scores of each row lie above the high end of its thresholds; and those between a threshold's ends: its number, and the column.
    """

@overload
def depth_pack(truth: NDArray[numpy.float32], prediction: NDArray[numpy.float32], mask: NDArray[numpy.uint8] | None, top: int, bottom: int, left: int, right: int, low: float, high: float, closed: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], int, int]: ...

@overload
def depth_pack(truth: NDArray[numpy.float64], prediction: NDArray[numpy.float64], mask: NDArray[numpy.uint8] | None, top: int, bottom: int, left: int, right: int, low: float, high: float, closed: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], int, int]:
    """
    True and predicted depths of valid pixels, how many predictions are not finite, and the first such place.
    """

def depth_fit(x: NDArray[numpy.float64], y: NDArray[numpy.float64], inverse: bool, positive: bool) -> NDArray[numpy.float64]:
    """Count, means and centred products of x and y, or 1 / y."""

def depth_sums(g: NDArray[numpy.float64], x: NDArray[numpy.float64], invert: bool, disparity: bool, scale: float, shift: float, floor: float, low: float, high: float, thresholds: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Sums of errors of changed predictions, moments of their logarithms, and counts below thresholds.
    """

@overload
def depth_edges(truth: NDArray[numpy.float32], prediction: NDArray[numpy.float32], valid: NDArray[numpy.uint8] | None, ratios: NDArray[numpy.float64]) -> NDArray[numpy.int64]: ...

@overload
def depth_edges(truth: NDArray[numpy.float64], prediction: NDArray[numpy.float64], valid: NDArray[numpy.uint8] | None, ratios: NDArray[numpy.float64]) -> NDArray[numpy.int64]:
    """
    Edges by direction, of prediction, truth and both, by how many of the ratios they exceed.
    """

@overload
def normal_angles(truth: NDArray[numpy.float32], prediction: NDArray[numpy.float32], mask: NDArray[numpy.uint8] | None) -> tuple[NDArray[numpy.float64], int, int, int]: ...

@overload
def normal_angles(truth: NDArray[numpy.float64], prediction: NDArray[numpy.float64], mask: NDArray[numpy.uint8] | None) -> tuple[NDArray[numpy.float64], int, int, int]:
    """
    Angles of valid pixels in degrees, predictions of length 0, those not finite, and the first such place.
    """

def angle_sums(angles: NDArray[numpy.float64], limits: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    Sum of angles and of their squares, counts below limits, and counts by bin.
    """

def match_runs(blocks: NDArray[numpy.uint32], block_ends: NDArray[numpy.int64], block_glue: NDArray[numpy.uint32], block_pages: NDArray[numpy.int64], pieces: NDArray[numpy.uint32], piece_ends: NDArray[numpy.int64], piece_glue: NDArray[numpy.uint32], piece_pages: NDArray[numpy.int64], stretch: float, slack: float, share: float, threads: int = 0) -> NDArray[numpy.int64]:
    """
    Disjoint matches of runs of blocks and runs of pieces on each page: first and last block, first and last piece, edits, and the longer length.
    """

def set_threads(count: int) -> int:
    """
    Threads for calls that do not ask for a number, 0 for the machine's; gives what was set before.
    """

def unit_keys(text: bytes, ends: NDArray[numpy.int64]) -> NDArray[numpy.uint64]:
    """
    64-bit keys of unit ids, given as one UTF-8 text and where each id ends in it.
    """

def unit_keys_of_integers(ids: NDArray[numpy.int64]) -> NDArray[numpy.uint64]:
    """64-bit keys of integer ids: those of their decimal texts."""

def poisson_totals(keys: NDArray[numpy.uint64], columns: NDArray[numpy.float64], seed: int, first: int, count: int, threads: int = 0, copies: NDArray[numpy.int64] | None = None) -> NDArray[numpy.float64]:
    """
    Column totals, one row per draw, under Poisson(1) weights of the units; Poisson(n) for n copies.
    """

def flip_totals(keys: NDArray[numpy.uint64], columns: NDArray[numpy.float64], seed: int, first: int, count: int, threads: int = 0) -> NDArray[numpy.float64]:
    """Column totals, one row per draw, under fair coin flips of the units."""

def poisson_scatter(keys: NDArray[numpy.uint64], owner: NDArray[numpy.int64], code: NDArray[numpy.int32], value: NDArray[numpy.float64], size: int, seed: int, first: int, count: int, threads: int = 0, copies: NDArray[numpy.int64] | None = None) -> NDArray[numpy.float64]:
    """
    Totals of entries by their code, one row per draw, under the weights of poisson_totals.
    """

def poisson_weights(keys: NDArray[numpy.uint64], seed: int, first: int, count: int, copies: NDArray[numpy.int64] | None = None) -> NDArray[numpy.float64]:
    """The weights that poisson_totals multiplies with, draws x units."""

def poisson_counts(keys: NDArray[numpy.uint64], seed: int, first: int, count: int, threads: int = 0) -> NDArray[numpy.uint8]:
    """The weights of poisson_weights as bytes, (groups, units, 32 draws)."""

def edit_distances(reference: NDArray[numpy.uint32], reference_ends: NDArray[numpy.int64], hypothesis: NDArray[numpy.uint32], hypothesis_ends: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.int64]:
    """The least number of edits that make each row of symbols the other."""

def edit_counts(reference: NDArray[numpy.uint32], reference_ends: NDArray[numpy.int64], hypothesis: NDArray[numpy.uint32], hypothesis_ends: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.int64]:
    """
    Symbols that are kept, substituted, deleted and inserted by one alignment with the least edits, by row.
    """

def edit_steps(reference: NDArray[numpy.uint32], reference_ends: NDArray[numpy.int64], hypothesis: NDArray[numpy.uint32], hypothesis_ends: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """
    The edits of that alignment, back to front: row, edit (1 substituted, 2 deleted, 3 inserted), both places or -1.
    """

def ellipse_matrix(truth: NDArray[numpy.float64], detected: NDArray[numpy.float64], distance: int, weights: NDArray[numpy.float64], threads: int = 0) -> NDArray[numpy.float64]:
    """Distances of every truth to every detection."""

def ellipse_pairwise(truth: NDArray[numpy.float64], detected: NDArray[numpy.float64], distance: int, weights: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The distance of each row of one side to the same row of the other."""

def ellipse_overlap(truth: NDArray[numpy.float64], detected: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    The area that each row of one side shares with the same row of the other.
    """

def ellipse_match(truth: NDArray[numpy.float64], detected: NDArray[numpy.float64], truth_ends: NDArray[numpy.int64], detected_ends: NDArray[numpy.int64], distance: int, weights: NDArray[numpy.float64], optimal: bool, threads: int = 0) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64]]:
    """
    Pair truths with detections image by image: for each pair its image, truth, detection and distance.
    """

def ellipse_match_by_score(truth: NDArray[numpy.float64], detected: NDArray[numpy.float64], truth_ends: NDArray[numpy.int64], detected_ends: NDArray[numpy.int64], scores: NDArray[numpy.float64], ious: NDArray[numpy.float64], threads: int = 0) -> NDArray[numpy.uint8]:
    """
    Which detections find a truth, highest score first: one row per detection, one column per IoU.
    """

def assign(cost: NDArray[numpy.float64], optimal: bool) -> NDArray[numpy.int64]:
    """Pair rows with columns, each used once: the column of each row, or -1."""

def png_kind(data: bytes) -> tuple[int, int, int, int, bool, bool, str]:
    """
    Height, width, bits and channels of a PNG, whether it has a palette or is interlaced, and what is wrong.
    """

def png_samples(data: bytes) -> NDArray[numpy.generic]:
    """All samples of a PNG: height × width × channels."""

def png_grey(data: bytes, scale: float, zero_is_missing: bool) -> NDArray[numpy.float32]:
    """A grey PNG of 16 bits, divided by a scale; 0 may become nan."""

def png_flow(data: bytes) -> NDArray[numpy.float32]:
    """Flow of a PNG as KITTI writes it: height × width × 2, nan for none."""

def field_errors(truth: NDArray[numpy.generic], predicted: NDArray[numpy.generic], bits: NDArray[numpy.generic], channels: int, regions: NDArray[numpy.int32], speeds: NDArray[numpy.float64], thresholds: NDArray[numpy.float64], wauc: bool, angles: bool, kitti: bool, each: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Sums of the errors of a field by group, and the error of each pixel."""

def fill_rows(field: NDArray[numpy.generic], rest: float) -> NDArray[numpy.generic]:
    """
    The field with gaps filled as KITTI fills them; empty rows between others take `rest`.
    """

def focal_of_planes(logits: NDArray[numpy.float32], labels: NDArray[numpy.int64], size: Sequence[int], logit_steps: Sequence[int], label_steps: Sequence[int], classes: int, class_step: int, alpha_class: float, alpha_background: float, gamma: float, slope: NDArray[numpy.float32] | None, threads: int) -> float:
    """
    The sum of the focal loss of logits that lie in planes of a class each, along two axes of lines of anchors; and its derivative, into `slope`. A label is a class, -2 where an anchor does not count, or another number.
    """

def focal_of_rows(logits: NDArray[numpy.float32], labels: NDArray[numpy.int64], classes: int, alpha_class: float, alpha_background: float, gamma: float, slope: NDArray[numpy.float32] | None, threads: int) -> float:
    """The same of logits that lie anchor by anchor."""

def frame_ious(truth: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction: NDArray[numpy.float64], prediction_sizes: NDArray[numpy.int64], of_truth: bool = False) -> NDArray[numpy.float64]:
    """
    IoU of the boxes (left, top, right, low) of each frame, or the share of the first; the matrices flat.
    """

def frame_select(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64], truth: NDArray[numpy.uint8], prediction: NDArray[numpy.uint8]) -> NDArray[numpy.float64]:
    """The similarities of the chosen rows and columns of each frame."""

def frame_pairs(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64], truth: NDArray[numpy.uint8], prediction: NDArray[numpy.uint8], least: float, lift: float = 0.0) -> NDArray[numpy.int64]:
    """
    The truth row that each prediction is paired with by similarity, among the chosen rows, or -1.
    """

def frame_sums(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64]) -> NDArray[numpy.float64]:
    """The similarity that pairing each frame adds up to."""

def frame_hota(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64], truth_track: NDArray[numpy.int64], prediction_track: NDArray[numpy.int64], truth_tracks: int, prediction_tracks: int) -> NDArray[numpy.int64]:
    """The prediction row that HOTA pairs each truth row with, or -1."""

def frame_clear(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64], truth_track: NDArray[numpy.int64], prediction_track: NDArray[numpy.int64], truth_tracks: int, prediction_tracks: int, threshold: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    The counts of CLEAR, and the prediction row that each truth row is matched with, or -1.
    """

def frame_identity(similarity: NDArray[numpy.float64], truth_sizes: NDArray[numpy.int64], prediction_sizes: NDArray[numpy.int64], truth_track: NDArray[numpy.int64], prediction_track: NDArray[numpy.int64], truth_tracks: int, prediction_tracks: int, threshold: float) -> NDArray[numpy.float64]:
    """IDTP, IDFN and IDFP."""

def mask_contours(first: list[object], second: list[object], radius: int) -> NDArray[numpy.int64]:
    """
    Of each pair of masks: pixels of both outlines, and of each within the radius of the other.
    """

def image_similarity(x: NDArray[numpy.generic], y: NDArray[numpy.generic], taps: NDArray[numpy.float64], edges: str, c1: float, c2: float, correction: float = 1.0, positive: bool = False, universal: bool = False, eps: float = 0.0, contrast: bool = False, map: bool = False) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Mean SSIM (or Wang's universal index) and contrast of each channel, and the map where it is asked for.
    """

def image_halve(picture: NDArray[numpy.generic]) -> NDArray[numpy.float64]:
    """Means of 2 by 2 pixels; an odd end is left out."""

def image_information(x: NDArray[numpy.generic], y: NDArray[numpy.generic], scale: float, eps: float) -> NDArray[numpy.float64]:
    """
    Visual information of each channel: what the distorted picture y has, and all that there is.
    """

def image_errors(x: NDArray[numpy.generic], y: NDArray[numpy.generic]) -> NDArray[numpy.int64]:
    """Sums of squared and of absolute differences of each channel."""

def oks(d_points: NDArray[numpy.float64], t_points: NDArray[numpy.float64], t_box: NDArray[numpy.float64], t_area: NDArray[numpy.float64], sigmas: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    Object keypoint similarity, detections by truths; points are x, y, v in turn.
    """

def oks_exponents(d_begin: NDArray[numpy.int64], t_begin: NDArray[numpy.int64], d_rows: NDArray[numpy.int32], t_rows: NDArray[numpy.int32], d_points: NDArray[numpy.float64], t_points: NDArray[numpy.float64] | NDArray[numpy.int16], t_box: NDArray[numpy.float64], t_area: NDArray[numpy.float64], sigmas: NDArray[numpy.float64], least: float, first: int, last: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    What exp is asked of for the pairs in the cells from `first` to `last`, where each pair begins, and its place among all pairs. Pairs that are surely less alike than `least` are left out.
    """

def oks_means(values: NDArray[numpy.float64], begin: NDArray[numpy.int64]) -> NDArray[numpy.float64]:
    """The mean of the values of each pair, added as NumPy adds them."""

def keypoints_match(objects: object, rules: object, sigmas: NDArray[numpy.float64]) -> dict[str, NDArray[numpy.generic]]:
    """As boxes_match, by object keypoint similarity."""

def fingerprint(bytes: NDArray[numpy.uint8]) -> bytes:
    """A 256-bit fingerprint of bytes."""

def fingerprint_words(words: NDArray[numpy.uint64]) -> bytes:
    """
    The fingerprint of eight-byte values, as that of their little-endian bytes.
    """

def extent(values: NDArray[numpy.int64]) -> tuple[int, int]:
    """The lowest and the highest value."""

def confusion(truth: NDArray[numpy.int64], prediction: NDArray[numpy.int64], low: int, size: int) -> NDArray[numpy.int64] | None:
    """
    Counts of (truth, prediction) for values from `low` on; None where one lies outside.
    """

def factor_rows(rows: NDArray[numpy.uint32]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Codes of fixed-width rows of characters, and the place where each distinct row stands first.
    """

def factor_texts(texts: list[object]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]] | None:
    """The same of a list of strings; None where it holds anything else."""

class WordNet:
    """Synsets of words, from the table that tools/build_wordnet.py writes."""

    def __init__(self, table: bytes) -> None: ...

    def similar(self, word: bytes) -> NDArray[numpy.uint32]:
        """Numbers of the synsets of a word and of its stem."""

class Lemmas:
    """Lemmas of words, from the table that tools/build_lemmas.py writes."""

    def __init__(self, table: bytes) -> None: ...

    def lemma(self, word: bytes, tag: bytes) -> bytes:
        """The lemma of a lower-cased word with a Penn Treebank tag."""

class ParserModel:
    """
    The trained tagger and parser, from the file that tools/train_parser.py writes.
    """

    def __init__(self, packed: bytes) -> None: ...

def caption_tuples(model: ParserModel, lemmas: Lemmas, texts: bytes, ends: NDArray[numpy.int64], threads: int = 0, described: bool = False) -> tuple[bytes, NDArray[numpy.int64]]:
    """
    Scene-graph tuples of tokenised captions, by the original's rules or as they describe the scene.
    """

def caption_trees(model: ParserModel, texts: bytes, ends: NDArray[numpy.int64], threads: int = 0) -> tuple[bytes, NDArray[numpy.int64]]:
    """
    Dependency trees of tokenised captions, as lines of word, tag, head and relation.
    """

def ptb_tokens(texts: bytes, ends: NDArray[numpy.int64], keep_marks: bool = False, threads: int = 0) -> tuple[bytes, NDArray[numpy.int64]]:
    """Penn Treebank tokens of texts, lower-cased and between blanks."""

def usual_boxes(texts: list[object]) -> NDArray[numpy.float64]:
    """
    The four numbers of each reply that is one box in a usual form, and nan for all others.
    """

def ngram_overlap(candidates: bytes, candidate_ends: NDArray[numpy.int64], references: bytes, reference_ends: NDArray[numpy.int64], starts: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.float64]:
    """
    Overlap of tokenised captions with their references, one row per image; columns as in ngrams.hpp.
    """

def meteor_counts(wordnet: WordNet, candidates: bytes, candidate_ends: NDArray[numpy.int64], references: bytes, reference_ends: NDArray[numpy.int64], starts: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.float64]:
    """
    METEOR's counts of tokenised captions, one row per image; columns as in meteor.hpp.
    """

def snowball_stem(word: bytes) -> bytes:
    """The Snowball stem of a lower-cased English word."""

def tree_tuples(lemmas: Lemmas, trees: bytes, ends: NDArray[numpy.int64], described: bool = False) -> tuple[bytes, NDArray[numpy.int64]]:
    """
    Scene-graph tuples of dependency trees given as lines of word, tag, head and relation.
    """

def scene_scores(wordnet: WordNet, candidates: bytes, candidate_ends: NDArray[numpy.int64], references: bytes, reference_ends: NDArray[numpy.int64], synonyms: bool = True, threads: int = 0) -> NDArray[numpy.int32]:
    """
    Numbers of tuples and of matches, [image, category, (candidate, reference, matched, matched one to one)].
    """

def mask_encode(pixels: NDArray[numpy.uint8]) -> list[dict[str, object]]:
    """Masks of pixels (height, width, masks)."""

def mask_decode(masks: list[object]) -> NDArray[numpy.uint8]:
    """Pixels (masks, width, height) of masks of one size."""

def mask_merge(masks: list[object], intersect: bool = False) -> dict[str, object]:
    """The union, or what all have in common."""

def mask_area(masks: list[object]) -> NDArray[numpy.uint32]:
    """Pixels that are set."""

def mask_box(masks: list[object]) -> NDArray[numpy.float64]:
    """The smallest box around what is set: x, y, width, height."""

def mask_fingerprint(masks: list[object]) -> bytes:
    """A 256-bit fingerprint of packed masks."""

def mask_sizes(masks: list[object]) -> NDArray[numpy.int64]:
    """Height and width of packed masks."""

def mask_polygons(polygons: list[object], height: int, width: int) -> list[dict[str, object]]:
    """The mask of each polygon."""

def mask_united(polygons: list[object], height: int, width: int) -> dict[str, object]:
    """The mask of all polygons together."""

def mask_boxes(boxes: NDArray[numpy.float64], height: int, width: int) -> list[dict[str, object]]:
    """The mask of each box."""

def mask_copy(mask: object) -> dict[str, object]:
    """The mask as COCO compresses it, from any form."""

def mask_boundary(mask: object, ratio: float) -> dict[str, object]:
    """What of a mask lies near where it ends."""

def mask_pack(segmentation: object, height: int = -1, width: int = -1) -> bytes:
    """The packed mask of polygons in an image of that size, or of a mask."""

def thread_count() -> int:
    """How many threads a kernel uses."""

def map_cells(a: NDArray[numpy.generic], b: NDArray[numpy.generic]) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.int64]]:
    """
    How often two values stand at the same place: values of a, of b, and counts, by a and then b.
    """

def map_bands(map: NDArray[numpy.generic], distance: int, inside: int, kept: int = -1) -> NDArray[numpy.generic]:
    """
    The map with `inside` wherever so many erosions leave a pixel; pixels of `kept` stay.
    """

def map_recode(map: NDArray[numpy.generic], values: NDArray[numpy.uint32], codes: NDArray[numpy.uint16], other: int) -> NDArray[numpy.uint16]:
    """Codes in the place of values; `other` for those that are not listed."""

def map_pack(map: NDArray[numpy.generic]) -> bytes:
    """A map as runs, in bytes."""

def map_unpack(packed: bytes) -> NDArray[numpy.generic]:
    """The map that `map_pack` packed."""

def map_boxes(map: NDArray[numpy.generic]) -> tuple[NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    The values of a map, the first and last place of each along every axis, and how many there are.
    """

def surface_distances(a: NDArray[numpy.generic], b: NDArray[numpy.generic], spacing: NDArray[numpy.float64], method: str) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    Distances from the surface of a to that of b and back: distance, weight and count, twice.
    """

def squared_distances(mask: NDArray[numpy.generic], spacing: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The squared distance of each place to the nearest one that is set."""

def connected_parts(mask: NDArray[numpy.generic]) -> tuple[NDArray[numpy.int32], int]:
    """Numbers of connected parts, and how many there are."""

def dilate_mask(mask: NDArray[numpy.generic], times: int) -> NDArray[numpy.uint8]:
    """The mask grown so many times."""

def element_sizes(spacing: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    Lengths or areas of a surface's elements, by the code of their neighbourhood.
    """

def masks_match(objects: object, rules: object, boundary: float = 0.0) -> dict[str, NDArray[numpy.generic]]:
    """
    As boxes_match, by the IoU of packed masks; with `boundary`, a share of the diagonal, also of their boundaries.
    """

def mask_iou(detections: list[object], truths: list[object], crowd: NDArray[numpy.uint8], boundary: float = 0.0) -> NDArray[numpy.float64]:
    """IoU of masks, detections by truths; -1 where their sizes differ."""

def cell_mask_ious(d_begin: NDArray[numpy.int64], t_begin: NDArray[numpy.int64], d_rows: NDArray[numpy.int32], t_rows: NDArray[numpy.int32], d_masks: tuple[NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint8]], t_masks: tuple[NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint8]], crowd: NDArray[numpy.uint8], boundary: float = 0.0, least: float = 0.0, threads: int = 0) -> NDArray[numpy.float64]:
    """
    IoU of all pairs in each cell, flat; -1 where sizes differ. A pair below `least` may be 0.
    """

def mask_column(masks: list[object]) -> tuple[NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint8]]:
    """
    Masks as a column: size and extent of each, where its compressed text begins, and all texts.
    """

def boxes_iou(detections: NDArray[numpy.float64], truths: NDArray[numpy.float64], crowd: NDArray[numpy.uint8]) -> NDArray[numpy.float64]:
    """IoU of boxes, detections by truths."""

class PngFile:
    """A PNG in memory: what its chunks say, and its pixels."""

    def __init__(self, data: bytes) -> None: ...

    @property
    def fault(self) -> str:
        """What is wrong with its chunks, or ''."""

    @property
    def height(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def channels(self) -> int: ...

    @property
    def plain(self) -> bool:
        """Whether its pixels are read here."""

    @property
    def depth(self) -> int: ...

    @property
    def interlaced(self) -> bool: ...

    def rows(self) -> NDArray[numpy.uint8]:
        """The bytes of all rows, as they are packed in the file."""

    def map(self) -> NDArray[numpy.generic]:
        """All pixels: whole numbers, colours as r + 256 g + 65536 b."""

def png_cells(a: PngFile, b: PngFile) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.int64]]:
    """As `map_cells` of the pixels of two files."""

def gunzip(data: bytes, most: int) -> NDArray[numpy.uint8]:
    """The bytes of a gzip file, of which there are at most `most`."""

def places(ids: NDArray[numpy.int64], column: NDArray[numpy.int64]) -> NDArray[numpy.int32]:
    """
    Where each value of a column stands among distinct ids; -1 where it does not.
    """

def first_repeated(ids: NDArray[numpy.int64]) -> int:
    """
    The first row whose id stands in an earlier row; -1 where there is none.
    """

def quads_iou(detections: NDArray[numpy.float64], truths: NDArray[numpy.float64], crowd: NDArray[numpy.uint8]) -> NDArray[numpy.float64]:
    """
    IoU of quadrilaterals x1 y1 ... x4 y4, detections by truths; of a crowd the share of the detection inside.
    """

def rectangles_iou(detections: NDArray[numpy.float64], truths: NDArray[numpy.float64], crowd: NDArray[numpy.uint8]) -> NDArray[numpy.float64]:
    """
    The same of rectangles cx, cy, width, height, angle (radians, x towards y).
    """

def rectangles_probiou(detections: NDArray[numpy.float64], truths: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    The similarity of Gaussians that stand for rectangles (probIoU), detections by truths.
    """

def probiou_match(objects: object, rules: object) -> dict[str, NDArray[numpy.generic]]:
    """As boxes_match, by probIoU of rectangles."""

def quad_shapes(quads: NDArray[numpy.float64]) -> NDArray[numpy.uint8]:
    """Shapes of quadrilaterals: 0 convex, 1 dented, 2 crossed, 3 flat."""

def quads_match(objects: object, rules: object) -> dict[str, NDArray[numpy.generic]]:
    """
    As boxes_match, by the IoU of quadrilaterals; the boxes must enclose them.
    """

def rank_order(scores: NDArray[numpy.float64], positive: NDArray[numpy.uint8]) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint8], NDArray[numpy.uint8]]:
    """
    Places of the scores from the highest to the lowest, 1 where a run of equal scores ends, and what each is.
    """

def ranked(weights: NDArray[numpy.float64], owner: NDArray[numpy.int64], positive: NDArray[numpy.uint8], last: NDArray[numpy.uint8], value: NDArray[numpy.float64], figure: int, limit: float = 0.0, threads: int = 0) -> NDArray[numpy.float64]:
    """
    One value for each row of weights (without owners, of even weights); figure: 0 AP, 1 ROC AUC, 2 best F1, 3 its rank, 4 TPR at an FPR.
    """

def ranked_draws(weights: NDArray[numpy.uint8], draws: int, begin: NDArray[numpy.int64], unit: NDArray[numpy.int32], positive: NDArray[numpy.uint8], last: NDArray[numpy.uint8], figure: int, threads: int = 0) -> NDArray[numpy.float64]:
    """
    The same of several rankings for rows of counts, which lie as (groups, units, 32 rows), to the bit; figure: 0 AP, 1 ROC AUC.
    """

def ranked_left_out(group: NDArray[numpy.int32], groups: int, begin: NDArray[numpy.int64], unit: NDArray[numpy.int32], positive: NDArray[numpy.uint8], last: NDArray[numpy.uint8], figure: int, threads: int = 0) -> NDArray[numpy.float64]:
    """
    The same with one group of units left out for each row; `group` is by unit, -1 is never left out.
    """

def ranked_each(starts: NDArray[numpy.int64], positive: NDArray[numpy.uint8], last: NDArray[numpy.uint8], value: NDArray[numpy.float64], figure: int, limit: float = 0.0) -> NDArray[numpy.float64]:
    """The same for each unit alone, whose events stand together."""

def ranked_ap(weights: NDArray[numpy.float64], truths: NDArray[numpy.float64], owner: NDArray[numpy.int64], hit: NDArray[numpy.uint8], closes: NDArray[numpy.uint8], rule: int, threads: int = 0) -> NDArray[numpy.float64]:
    """
    Average precision, one per row of weights, of events sorted by falling score; `closes` ends equal scores.
    """

def ranked_ap_by_unit(truths: NDArray[numpy.float64], owner: NDArray[numpy.int64], hit: NDArray[numpy.uint8], closes: NDArray[numpy.uint8], rule: int) -> NDArray[numpy.float64]:
    """
    Average precision of each unit alone; events sorted by unit, then by falling score.
    """

def ranking_repeats(text: NDArray[numpy.uint8], place: NDArray[numpy.uint64], key: NDArray[numpy.uint64], value: NDArray[numpy.float64], starts: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.int64]:
    """
    The first id that appears twice in a query: (row, earlier row), or -1 twice.
    """

def join_rankings(truth_text: NDArray[numpy.uint8], truth_place: NDArray[numpy.uint64], truth_key: NDArray[numpy.uint64], relevance: NDArray[numpy.float64], truth_starts: NDArray[numpy.int64], run_text: NDArray[numpy.uint8], run_place: NDArray[numpy.uint64], run_key: NDArray[numpy.uint64], score: NDArray[numpy.float64], run_starts: NDArray[numpy.int64], run_of: NDArray[numpy.int64], run_order: NDArray[numpy.int64], threads: int = 0) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.uint64], NDArray[numpy.int64]]:
    """
    Ranks of the truth's rows (0: not retrieved) by the rules id, input and single, rows in the order of rank, which queries had ties, a sum of row hashes for each query of the run, and the run's first repeated id.
    """

def join_nested(truth_text: NDArray[numpy.uint8], truth_place: NDArray[numpy.uint64], truth_key: NDArray[numpy.uint64], relevance: NDArray[numpy.float64], truth_starts: NDArray[numpy.int64], run: dict[str, dict[str, float]], run_of: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint64]] | None:
    """
    As join_rankings for {query: {document: score}}, with each run query's rows and sum of row hashes; or None.
    """

def ranking_sums(key: NDArray[numpy.uint64], value: NDArray[numpy.float64], starts: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.uint64]:
    """A sum of row hashes for each query."""

def ranking_hits(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], k: int, level: float) -> NDArray[numpy.float64]:
    """
    Number relevant, hits, sum of precisions at hits, rank of the first hit; one row per query.
    """

def ranking_r_hits(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], level: float) -> NDArray[numpy.float64]:
    """Number relevant R, hits among the first R."""

def ranking_gain(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], k: int, level: float, exponential: bool) -> NDArray[numpy.float64]:
    """Discounted gain, and the ideal one."""

def ranking_rbp(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], p: float, level: float, graded: bool) -> NDArray[numpy.float64]:
    """Rank-biased precision."""

def ranking_err(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], k: int, most: float) -> NDArray[numpy.float64]:
    """Expected reciprocal rank."""

def ranking_bpref(rank: NDArray[numpy.int64], relevance: NDArray[numpy.float64], starts: NDArray[numpy.int64], level: float) -> NDArray[numpy.float64]:
    """Binary preference."""

def count_at(thresholds: NDArray[numpy.float64], score: NDArray[numpy.float64], first: NDArray[numpy.int32], second: NDArray[numpy.int32], counts: NDArray[numpy.int64]) -> None:
    """
    Add scores between rising thresholds, and at them, to rows of counts: those of their one or two owners.
    """

def rates_read_at_hits(figure: int, parameters: NDArray[numpy.float64]) -> bool:
    """
    Whether a figure needs no other scores than those of hits, beside how many others lie between them.
    """

def rates(weights: NDArray[numpy.float64], owner: NDArray[numpy.int64], second: NDArray[numpy.int64], kind: NDArray[numpy.uint8], last: NDArray[numpy.uint8], value: NDArray[numpy.float64], score: NDArray[numpy.float64], figure: int, parameters: NDArray[numpy.float64], threads: int = 0) -> NDArray[numpy.float64]:
    """
    One figure of ranked events for each row of weights; an event with two owners weighs their product.
    """

def rates_each(starts: NDArray[numpy.int64], kind: NDArray[numpy.uint8], last: NDArray[numpy.uint8], value: NDArray[numpy.float64], score: NDArray[numpy.float64], figure: int, parameters: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The same for each unit alone, whose events stand together."""

def kitti_match(view: int, truth_begin: NDArray[numpy.int64], truth_box: NDArray[numpy.float64], truth_group: NDArray[numpy.int32], truth_own: NDArray[numpy.uint8], truth_levels: NDArray[numpy.uint8], truth_alpha: NDArray[numpy.float64], begin: NDArray[numpy.int64], box: NDArray[numpy.float64], group: NDArray[numpy.int32], small: NDArray[numpy.uint8], alpha: NDArray[numpy.float64], score: NDArray[numpy.float64], region_begin: NDArray[numpy.int64], region: NDArray[numpy.float64], least: NDArray[numpy.float64], levels: int, threads: int = 0) -> dict[str, object]:
    """Events and truths of KITTI's matching by class and level, in order."""

def kitti_areas(weights: NDArray[numpy.float64], truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], hits: NDArray[numpy.int32], tp: NDArray[numpy.int32], fp: NDArray[numpy.int32], similarity: NDArray[numpy.float64], threads: int = 0) -> NDArray[numpy.float64]:
    """
    R11 and R40 of precision and of similarity for each row of weights, from events by falling score.
    """

def kitti_areas_by_unit(truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], hits: NDArray[numpy.int32], tp: NDArray[numpy.int32], fp: NDArray[numpy.int32], similarity: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The same of each unit alone, from events by unit and falling score."""

def kitti_curve(weights: NDArray[numpy.float64], truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], hits: NDArray[numpy.int32], tp: NDArray[numpy.int32], fp: NDArray[numpy.int32], similarity: NDArray[numpy.float64]) -> tuple[int, NDArray[numpy.float64]]:
    """
    How many places are reached, and score, precision and similarity at the 41 places.
    """

def solid_overlaps(view: int, a: NDArray[numpy.float64], b: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    The IoU of pairs of boxes: in the image (view 0), on the ground (1), in space (2).
    """

def centre_match(truth_begin: NDArray[numpy.int64], truth_box: NDArray[numpy.float64], truth_group: NDArray[numpy.int32], truth_attribute: NDArray[numpy.int32], begin: NDArray[numpy.int64], box: NDArray[numpy.float64], group: NDArray[numpy.int32], attribute: NDArray[numpy.int32], score: NDArray[numpy.float64], distances: NDArray[numpy.float64], error_at: int, half: NDArray[numpy.uint8], threads: int = 0) -> tuple[NDArray[numpy.uint8], NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    Of each detection the distances at which it finds a truth, as bits; its errors and its truth at one of them.
    """

def centre_scores(weights: NDArray[numpy.float64], truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], bits: NDArray[numpy.uint8], errors: NDArray[numpy.float64], distances: int, error_at: int, threads: int = 0) -> NDArray[numpy.float64]:
    """
    Average precision at each distance, then five errors, for each row of weights, from events by falling score.
    """

def centre_scores_by_unit(truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], bits: NDArray[numpy.uint8], errors: NDArray[numpy.float64], distances: int, error_at: int) -> NDArray[numpy.float64]:
    """The same of each unit alone, from events by unit and falling score."""

def centre_curves(weights: NDArray[numpy.float64], truths: NDArray[numpy.float64], score: NDArray[numpy.float64], unit: NDArray[numpy.int32], bits: NDArray[numpy.uint8], errors: NDArray[numpy.float64], distances: int, error_at: int) -> NDArray[numpy.float64]:
    """
    Precision at 101 recalls for each distance, then confidence and errors at these.
    """

def read_kitti(paths: Sequence[str], results: bool, threads: int = 0) -> dict[str, object] | tuple[int, int, int, int, bytes]:
    """
    Lines of KITTI's label files as columns; or what is wrong: file, line, field, how many fields, text.
    """

def parse_nuscenes(text: bytes, results: bool) -> dict[str, object] | tuple[int, bool, str, bytes, str, int]:
    """The same of a text in memory."""

def read_nuscenes(path: str, results: bool) -> dict[str, object] | tuple[int, bool, str, bytes, str, int]:
    """
    Boxes of a nuScenes file as columns; or what is wrong: byte, whether it is not JSON, what, sample, key, box.
    """

class BoxStream:
    """
    A class of detections that comes in parts by falling score; units weigh 1.
    """

    def __init__(self, thresholds: int, most: int, figure: BoxFigure, grid: NDArray[numpy.float64], positives: float, images: float) -> None:
        """As Ranked.figures, or Ranked.curves."""

    def feed(self, score: NDArray[numpy.float64], rank: NDArray[numpy.uint16], hit: NDArray[numpy.uint32], ignored: NDArray[numpy.uint32]) -> None:
        """The next part; equal scores in one."""

    def result(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]] | tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """What all parts give."""

class LabelStream:
    """A ranking of rows that comes in parts by falling score; units weigh 1."""

    def __init__(self, figure: int, limit: float, positives: float, negatives: float) -> None:
        """`figure` as for ranked, but 3 gives the score and not its rank."""

    def feed(self, score: NDArray[numpy.float64], positive: NDArray[numpy.uint8]) -> None:
        """The next part; equal scores in one."""

    def result(self) -> float:
        """What all parts give."""

def table_scan(texts: bytes, ends: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.int64]:
    """Tables of each text, and rows, columns, cells and notes of the first."""

def table_cells(text: bytes) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], bytes]:
    """
    Tables of a text (begin, end, rows, columns, notes, cells), their cells (row, column, rowspan, colspan, header, end of the text) and the texts of these.
    """

def table_distances(truth: bytes, truth_ends: NDArray[numpy.int64], reply: bytes, reply_ends: NDArray[numpy.int64], rules: int, structure: bool, header: bool, tokens: bool, ignore: bytes, threads: int = 0) -> NDArray[numpy.float64]:
    """
    Edit distance of the trees of each pair of tables, nodes of the larger one, and status.
    """

def table_grids(truth: bytes, truth_ends: NDArray[numpy.int64], reply: bytes, reply_ends: NDArray[numpy.int64], kind: int, rules: int, overlap: int, text: int, truth_boxes: NDArray[numpy.float64], truth_box_ends: NDArray[numpy.int64], reply_boxes: NDArray[numpy.float64], reply_box_ends: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.float64]:
    """
    GriTS of each pair of tables: sum of similarity, its upper bound, places of both grids, and status.
    """

def table_shared_cells(truth: bytes, truth_ends: NDArray[numpy.int64], reply: bytes, reply_ends: NDArray[numpy.int64], threads: int = 0) -> NDArray[numpy.int64]:
    """
    Cells that both tables of each pair have, cells of either, and whether their shapes are the same.
    """

def table_path(truth: bytes, reply: bytes) -> tuple[NDArray[numpy.int64], int]:
    """
    Edits that make one table the other (row and cell of both, -1 for none), and status.
    """

def pack_objects(array: object) -> int | tuple[NDArray[numpy.uint8], NDArray[numpy.uint64], NDArray[numpy.uint64]]:
    """
    Ids of an object array of strings: (text, place, key), or the first row that holds none.
    """

def pack_runs(array: object) -> int | tuple[tuple[NDArray[numpy.uint8], NDArray[numpy.uint64], NDArray[numpy.uint64]], NDArray[numpy.int64]]:
    """
    As pack_objects, with runs of equal ids stored once, and the row where each run begins.
    """

def pack_integers(values: NDArray[numpy.int64]) -> tuple[NDArray[numpy.uint8], NDArray[numpy.uint64], NDArray[numpy.uint64]]:
    """Integers as ids, in decimal digits."""

def pack_nested(nested: dict[str, dict[str, float]]) -> tuple[object, object] | tuple[tuple[NDArray[numpy.uint8], NDArray[numpy.uint64], NDArray[numpy.uint64]], NDArray[numpy.float64], NDArray[numpy.int64]]:
    """
    Ids, numbers and starts of {query: {document: number}}; or (query, document) of what is wrong.
    """

def pack_offsets(text: NDArray[numpy.uint8], offsets: NDArray[numpy.int64]) -> int | tuple[NDArray[numpy.uint64], NDArray[numpy.uint64]]:
    """
    Places and keys of ids that lie one after the other in a text; or the first row that holds none.
    """

def text_runs(text: NDArray[numpy.uint8], place: NDArray[numpy.uint64], key: NDArray[numpy.uint64]) -> NDArray[numpy.int64]:
    """Rows where the id differs from the one before."""

def tracking_overlaps(truth: NDArray[numpy.float64], truth_frame: NDArray[numpy.int64], truth_ends: NDArray[numpy.int64], prediction: NDArray[numpy.float64], prediction_frame: NDArray[numpy.int64], prediction_ends: NDArray[numpy.int64], threads: int = 0) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]:
    """
    Pairs of boxes (left, top, right, low) of one frame that overlap: their rows and IoU, run by run.
    """

def tracking_matches(truth_frame: NDArray[numpy.int64], truth_ends: NDArray[numpy.int64], prediction_frame: NDArray[numpy.int64], prediction_ends: NDArray[numpy.int64], truth_row: NDArray[numpy.int32], prediction_row: NDArray[numpy.int32], similarity: NDArray[numpy.float64], lift: float = 0.0, threads: int = 0) -> NDArray[numpy.int64]:
    """
    The truth row that each prediction is matched with in its frame, or -1.
    """

def tracking_scores(truth_frame: NDArray[numpy.int64], truth_track: NDArray[numpy.int32], truth_ends: NDArray[numpy.int64], truth_scored: NDArray[numpy.uint8], prediction_frame: NDArray[numpy.int64], prediction_track: NDArray[numpy.int32], prediction_ends: NDArray[numpy.int64], prediction_scored: NDArray[numpy.uint8], truth_row: NDArray[numpy.int32], prediction_row: NDArray[numpy.int32], similarity: NDArray[numpy.float64], threshold: float = 0.5, last_match: bool = False, threads: int = 0) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8]]:
    """
    Sums of HOTA, of what association loses, of CLEAR and of Identity by run, over the rows that are scored; CLEAR's partner and event by truth row.
    """

def tracking_codes(frame: NDArray[numpy.int64], track: NDArray[numpy.int64], ends: NDArray[numpy.int64], threads: int = 0) -> tuple[NDArray[numpy.int32], int]:
    """
    Codes of the tracks of each run; then the first row whose track its frame has twice, or -1.
    """

def number_rows(text: bytes, width: int) -> tuple[int, NDArray[numpy.float64], NDArray[numpy.uint8], NDArray[numpy.int32], int, int, bytes]:
    """
    How many rows there are, then their first numbers (columns, rows at most), how many each has and its line; then line, field and text of the first field that is not a number.
    """

def assign_scipy(cost: NDArray[numpy.float64]) -> NDArray[numpy.int64]:
    """
    Pair rows with columns at the lowest total, ties as scipy breaks them: the column of each row, or -1.
    """

def read_trec(file: NDArray[numpy.uint8], fields: int, value_field: int, threads: int = 0) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint64], tuple[int, int, int]]:
    """
    Lines of a TREC file: documents (place, key), values, runs of equal queries (row, place), and (what is wrong, where, fields).
    """
