"""Columns of both sides of `labels`, and its options."""

from __future__ import annotations

from dataclasses import replace

from steelyard.core.options import Option
from steelyard.core.records import Column, Schema

_LABEL = Column("label", "label", required=False, many="flag", meaning="the class: text or an integer")
_LABELS = Column("labels", "labels", required=False, meaning="several classes: a list, or texts between |")

TRUTH = Schema(
    key=("id",),
    columns=(
        Column("id", "id", required=False, meaning="the row; without it sides are joined by position"),
        _LABEL,
        _LABELS,
        Column("group", "id", required=False, meaning="the unit, where rows belong together"),
        Column(
            "weight",
            "number",
            required=False,
            flags=True,
            minimum=0,
            aliases=("sample_weight",),
            meaning="the weight of the row, also called sample_weight",
        ),
    ),
)
PREDICTION = Schema(
    key=("id",),
    columns=(
        Column("id", "id", required=False, meaning="as in the truth"),
        replace(_LABEL, beside="prediction"),
        replace(_LABELS, beside="predictions"),
        Column(
            "score",
            "number",
            required=False,
            many="number",
            flags=True,
            meaning="of the positive class, or score:CLASS",
            beside="score",
        ),
        Column(
            "probability",
            "number",
            required=False,
            minimum=0,
            maximum=1,
            many="number",
            flags=True,
            meaning="of the positive class, or probability:CLASS",
            beside="probability",
        ),
        Column(
            "confidence", "number", required=False, meaning="how sure the label is, for rejection", beside="confidence"
        ),
    ),
)


OPTIONS = (
    Option(
        "classes", "ids", "Classes in order, as a file with one per line; any other label is an error.",
        sides=False, column="label", metavar="FILE",
    ),
    Option(
        "ood", "text", "The label of rows that are out of distribution; all others are in it.",
        sides=False, metavar="LABEL",
    ),
    Option(
        "higher", "choice", "Which rows score higher: id or ood. Needed to score what is out of distribution.",
        choices=("id", "ood"), sides=False,
    ),
    Option(
        "people", "text", "Two columns of the truth with the person of each side of a pair: people are the units.",
        sides=False, metavar="COLUMN,COLUMN",
    ),
    Option(
        "pairing", "choice", "Pairs: those listed, in either order of their sides; those listed, in this order; or all "
        "pairs of images that have vectors.",
        "listed", ("listed", "ordered", "all"), sides=False, reads=True,
    ),
    Option(
        "distance", "choice", "Score of two vectors: the cosine, or minus their distance or its square.", "cosine",
        ("cosine", "l2", "squared"), sides=False, reads=True,
    ),
)  # fmt: skip
