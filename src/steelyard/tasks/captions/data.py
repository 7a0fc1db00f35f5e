"""Task `captions`: the data, from what was read to texts by image."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from steelyard.align.join import check_policy
from steelyard.core.counts import count_text, share_text
from steelyard.core.errors import (
    DuplicateKey,
    EmptyCell,
    InvalidFile,
    InvalidValue,
    MissingColumn,
    TooLarge,
    Unmatched,
    first_few,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Coverage, no_slice_column
from steelyard.core.records import Column, Records, Schema, as_object, constant_in_unit, factorize, weight_column
from steelyard.core.statistic import SharedCache
from steelyard.core.task import Policy
from steelyard.language import scene, tokens


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Lists of captions as what they hold: each text of the truth's is a reference; a candidate's holds one."""
    return _references(truth), _candidates(prediction)


def captions_of_list(text: str) -> list[str] | None:
    """The captions of a JSON list of texts; None where it is none."""
    if not text.startswith("["):
        return None
    try:
        captions = json.loads(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(captions, list) and all(isinstance(one, str) for one in captions)
    return captions if whole and captions else None


def _lists(records: Records) -> dict[int, list[str]]:
    if "caption" not in records:
        return {}
    rows = [row for row, text in enumerate(records["caption"].tolist()) if str(text).startswith("[")]
    lists = {row: captions_of_list(str(records["caption"][row])) for row in rows}
    return {row: captions for row, captions in lists.items() if captions is not None}


def _references(records: Records) -> Records:
    lists = _lists(records)
    if not lists:
        return records
    captions = records["caption"].tolist()
    texts = [text for row, one in enumerate(captions) for text in lists.get(row, [one])]
    many = [len(lists.get(row, (0,))) for row in range(len(captions))]
    taken = records.take(np.repeat(np.arange(len(captions)), many))
    return replace(taken, columns={**taken.columns, "caption": as_object(texts)})


def _candidates(records: Records) -> Records:
    lists = _lists(records)
    if not lists:
        return records
    captions = records["caption"].tolist()
    for row, texts in lists.items():
        if len(texts) > 1:
            raise InvalidValue(
                f"the caption is a list of {len(texts)}",
                where=records.where(row, "caption"),
                remedy="Give one caption per image.",
            )
        captions[row] = texts[0]
    return replace(records, columns={**records.columns, "caption": as_object(captions)})


LONGEST_CAPTION = 1 << 20
_TUPLES = "the scene graph, given instead of parsed: a list of lists of one to three words"

TRUTH = Schema(
    key=("image",),
    columns=(
        Column("image", "id", aliases=("image_id",), meaning="the image, which is the unit; several rows each"),
        Column("caption", "text", required=False, meaning="a reference caption"),
        Column("tuples", "text", required=False, meaning=_TUPLES),
        weight_column("image", "weight"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(
        Column("image", "id", aliases=("image_id",), meaning="as in the truth, one row each"),
        Column("caption", "text", required=False, meaning="the candidate caption"),
        Column("tuples", "text", required=False, meaning=_TUPLES),
    ),
)


class CaptionPairs(Frozen):
    """Images with the rows of their references, in the order of ids, and the row of their candidate or -1.

    `weight` is the user's weight of each image; None is 1 for all.
    """

    truth: Records
    prediction: Records
    units: Array
    owner: Array
    truth_row: Array
    prediction_row: Array
    coverage: Coverage
    weight: Array | None = None

    @property
    def metadata(self) -> Metadata:
        """Captions have no classes."""
        return Metadata()

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column of the truth, one value a reference, or else of the predictions, one value per image."""
        values = self.truth.find(name)
        if values is not None:
            return values[self.truth_row], self.owner
        values = self.prediction.find(name)
        if values is not None and (len(self.units) == 0 or self.prediction_row.min() >= 0):
            return values[self.prediction_row], np.arange(len(self.units))
        raise no_slice_column(self.truth, name)

    def select(self, keep: Array) -> CaptionPairs:
        """The part whose references a mask keeps. All units stay."""
        return replace(self, owner=self.owner[keep], truth_row=self.truth_row[keep])


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> CaptionPairs:
    """Join references and candidates by image."""
    truth, prediction = prepare(truth, prediction, options)
    check_policy(policy)
    for records in (truth, prediction):
        if "caption" not in records and "tuples" not in records:
            has = ", ".join(f"'{name}'" for name in [*records.columns, *records.other])
            raise MissingColumn(
                f"column 'caption' is missing; the columns are {has}",
                where=records.source,
                remedy="Rename the column, or map it: `columns={'caption': 'YOUR_COLUMN'}`.",
            )
    units, (of_truth, of_prediction) = factorize(truth["image"], prediction["image"])
    order = np.argsort(of_prediction, kind="stable")
    twice = np.flatnonzero(of_prediction[order][1:] == of_prediction[order][:-1])
    if len(twice):
        first, second = int(order[twice[0]]), int(order[twice[0] + 1])
        raise DuplicateKey(
            f"image '{units[of_prediction[second]]}' has two candidates, the first at {prediction.place(first)}",
            where=prediction.place(second),
            remedy="Give one caption per image.",
        )
    row_of = np.full(len(units), -1, dtype=np.int64)
    row_of[of_prediction] = np.arange(len(prediction))
    referenced = np.zeros(len(units), dtype=bool)
    referenced[of_truth] = True
    missing, extra = np.flatnonzero(referenced & (row_of < 0)), np.flatnonzero(~referenced)
    if len(missing) and policy.missing == "error":
        raise Unmatched(
            f"{share_text(len(missing), int(referenced.sum()), 'image', 'have')} no candidate: "
            f"{first_few(units[missing])}",
            where=prediction.source,
            remedy="Add them, or choose `missing='worst'` or `missing='skip'`.",
        )
    if len(extra) and policy.extra == "error":
        raise Unmatched(
            f"{count_text(len(extra), 'image', 'have')} a candidate and no reference: {first_few(units[extra])}",
            where=truth.source,
            remedy="Add references, or choose `extra='skip'`.",
        )
    used = referenced & (row_of >= 0) if policy.missing == "skip" else referenced
    rows = np.flatnonzero(used[of_truth])
    rows = rows[np.argsort(of_truth[rows], kind="stable")]
    number = np.cumsum(used) - 1
    matched = int((referenced & (row_of >= 0)).sum())
    coverage = Coverage(int(referenced.sum()), len(prediction), matched, len(missing), len(extra), policy.missing)
    owner, weight = number[of_truth[rows]], None
    if "sample_weight" in truth:
        weight = np.nan_to_num(constant_in_unit(truth, "sample_weight", owner, rows, int(used.sum())))
    return CaptionPairs(truth, prediction, units[used], owner, rows, row_of[used], coverage, weight)


class Captions(Frozen):
    """Captions and given scene graphs: one candidate per image, and the references of all, by image.

    The references of image i go from `starts[i]` to `starts[i + 1]`.
    """

    candidates: list[str]
    references: list[str]
    candidate_graphs: list[str | None]
    reference_graphs: list[str | None]
    starts: Array

    def of(self, image: int) -> list[str]:
        """The references of an image."""
        return self.references[self.starts[image] : self.starts[image + 1]]


def captions(pairs: CaptionPairs, cache: SharedCache) -> Captions:
    """The texts as they were written."""

    def make() -> Captions:
        references, reference_graphs = _side(pairs.truth, pairs.truth_row, reference=True)
        candidates, candidate_graphs = _side(pairs.prediction, pairs.prediction_row, reference=False)
        counts = np.bincount(pairs.owner, minlength=len(pairs.units))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Captions(candidates, references, candidate_graphs, reference_graphs, starts)

    return cache.once("captions", make)


def tokenise_pairs(pairs: CaptionPairs, cache: SharedCache) -> tuple[list[str], list[str]]:
    """Candidates and references in tokens of the Penn Treebank, as COCO's captions are scored."""

    def make() -> tuple[list[str], list[str]]:
        texts = captions(pairs, cache)
        every, units = tokens.ptb([*texts.candidates, *texts.references]), len(pairs.units)
        return every[:units], every[units:]

    return cache.once("tokens", make)


def _side(records: Records, rows: Array, *, reference: bool) -> tuple[list[str], list[str | None]]:
    """Captions and given scene graphs of some rows; a row of -1 has neither."""
    captions, graphs = records.find("caption"), records.find("tuples")
    texts: list[str] = []
    scene_graphs: list[str | None] = []
    for row in rows.tolist():
        text = "" if row < 0 or captions is None else str(captions[row])
        graph = "" if row < 0 or graphs is None else str(graphs[row])
        if len(text) > LONGEST_CAPTION:
            raise TooLarge(
                f"the caption has {count_text(len(text), 'character')}",
                where=records.where(row, "caption"),
                remedy=f"At most {LONGEST_CAPTION:,} are taken.",
            )
        if reference and not text.strip() and not graph:
            raise EmptyCell(
                "the reference caption is empty", where=records.where(row, "caption"), remedy="Remove the row."
            )
        texts.append(text)
        scene_graphs.append(_graph(graph, records.where(row, "tuples")) if graph else None)
    return texts, scene_graphs


def _graph(text: str, where: str) -> str:
    try:
        return scene.lines_of(json.loads(text), where)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidFile(
            "the scene graph is not valid JSON", where=where, remedy='Example: [["car"], ["car", "red"]].'
        ) from None
