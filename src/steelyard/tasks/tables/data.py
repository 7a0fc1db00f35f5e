"""Task `tables`: the data, from what was read to tables with their replies.

Conventions
    A row is a table, and the unit. Truth: `table` (its name) and `html`, and optionally `boxes`, a JSON list with the
    box [x1, y1, x2, y2] of each cell in the order of the HTML, null where a cell has none. Predictions likewise.
    A table without a prediction scores 0, and so does a reply in which there is no table.
    The truth holds one table in each row. A reply with several is an error, or with `several=first` its first counts.
"""

from __future__ import annotations

from steelyard.align.join import join_rows
from steelyard.core.errors import Conflict, InvalidValue, TooLarge
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Pairs
from steelyard.core.records import Column, Records, Schema, weight_column
from steelyard.core.task import Policy
from steelyard.tasks.tables.trees import MOST_CELLS, parse_tables

LONGEST = 1 << 24  # characters of a table's HTML
SHOWN = 60  # characters of it that a message names
BOXES = "boxes of the cells, in the order of the HTML: a JSON list of [x1, y1, x2, y2] or null"

TRUTH = Schema(
    key=("table",),
    columns=(
        Column("table", "id", aliases=("filename", "image", "imgid"), meaning="the table"),
        Column("html", "text", meaning="the table as HTML"),
        Column("boxes", "text", required=False, meaning=BOXES),
        weight_column("table"),
    ),
)
PREDICTION = Schema(
    key=("table",),
    columns=(
        Column("table", "id", aliases=("filename", "image", "imgid"), meaning="as in the truth"),
        Column("html", "text", empty=True, beside="predicted", meaning="the reply, with the table as HTML"),
        Column("boxes", "text", required=False, meaning=BOXES),
    ),
)
OPTIONS = (
    Option(
        "several",
        "choice",
        "A reply with several tables: an error, or its first counts.",
        "error",
        ("error", "first"),
        sides=False,
    ),
)


class TablePairs(Pairs):
    """Tables with their replies; `held` says whether cells have boxes."""

    held: frozenset[str] = frozenset()

    @property
    def metadata(self) -> Metadata:
        """Tables have no classes; whether cells have boxes decides what is shown."""
        return Metadata(holds=self.held)

    def texts(self) -> tuple[list[str], list[str]]:
        """The HTML of each table and of its reply, empty where there is none."""
        own = self.truth_column("html").tolist()
        replies = self.prediction["html"]
        return own, ["" if row < 0 else str(replies[row] or "") for row in self.prediction_row.tolist()]


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> TablePairs:
    """Join tables and replies by name."""
    _check_texts(truth, "truth", "error")
    _check_texts(prediction, "prediction", str(options.of("several")))
    pairs = join_rows(truth, prediction, ("table",), policy, "sample_weight")
    held = frozenset({"boxes"} if "boxes" in truth and "boxes" in prediction else ())
    return TablePairs(**{name: getattr(pairs, name) for name in Pairs.__dataclass_fields__}, held=held)


def _check_texts(records: Records, side: str, several: str) -> None:
    for row, text in enumerate(records["html"].tolist()):
        text = str(text or "")
        if len(text) > LONGEST:
            raise TooLarge(
                f"the HTML has {len(text):,} characters",
                where=records.where(row, "html"),
                remedy=f"At most {LONGEST:,} are read.",
            )
        tables = parse_tables(text)
        if side == "truth" and (not tables or not tables[0].cells):
            raise InvalidValue(
                f"'{text[:SHOWN]}' is not a table with cells",
                where=records.where(row, "html"),
                remedy="The truth of each row is HTML with one <table>.",
            )
        if len(tables) > 1 and several == "error":
            raise Conflict(
                f"table '{records['table'][row]}' has {len(tables)} tables",
                where=records.where(row, "html"),
                remedy="Give each a row of its own, or choose several=first for replies.",
            )
        if side == "truth" and len(tables[0].cells) > MOST_CELLS:
            raise TooLarge(
                f"the table has {len(tables[0].cells):,} cells",
                where=records.where(row, "html"),
                remedy=f"At most {MOST_CELLS:,} are compared.",
            )
