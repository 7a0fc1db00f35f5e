"""Make the sample data of `steelyard demo tables`: drawn, not measured. Run: python tools/make_tables_sample.py

Tables of a nutrition report, half of them with cells that span rows or columns. Model A reads letters well and loses
spans and rows now and then; model B keeps the structure and misreads letters.
"""

from __future__ import annotations

import make_samples
import numpy as np

FOODS = ("Brown rice", "Lentil soup", "Apple", "Rye bread", "Salmon", "Yoghurt", "Potato salad", "Oats")
HEADS = ("Energy (kcal)", "Protein (g)", "Fat (g)", "Fibre (g)", "Salt (g)")
Row = list[tuple[str, int, int]]  # text, rowspan, colspan


def drawn_table(rng: np.random.Generator, spans: bool) -> list[Row]:
    """A table with a header row or two and one food in each row."""
    columns = int(rng.integers(2, 5))
    heads = [str(head) for head in rng.choice(HEADS, columns, replace=False)]
    rows: list[Row] = []
    if spans:
        rows.append([("Food", 2, 1), ("per 100 g", 1, columns)])
        rows.append([(head, 1, 1) for head in heads])
    else:
        rows.append([("Food", 1, 1), *((head, 1, 1) for head in heads)])
    for food in rng.choice(FOODS, int(rng.integers(3, 8)), replace=False):
        rows.append([(str(food), 1, 1), *((f"{rng.uniform(0, 30):.1f}", 1, 1) for _ in heads)])
    return rows


def misread(rng: np.random.Generator, text: str, share: float) -> str:
    """The text with a share of its letters replaced."""
    return "".join(str(rng.choice(list("0138lIO.,"))) if rng.random() < share else letter for letter in text)


def replied(
    rng: np.random.Generator, rows: list[Row], letters: float, rows_lost: float, spans_lost: float
) -> list[Row]:
    """What a model says of a table."""
    said: list[Row] = []
    for place, row in enumerate(rows):
        if place > 1 and rng.random() < rows_lost:
            continue
        plain = rng.random() < spans_lost
        said.append([(misread(rng, text, letters), *((1, 1) if plain else (high, wide))) for text, high, wide in row])
    return said


def html(rows: list[Row]) -> str:
    """A table as HTML."""

    def cell(text: str, high: int, wide: int) -> str:
        spans = (f' rowspan="{high}"' if high > 1 else "") + (f' colspan="{wide}"' if wide > 1 else "")
        return f"<td{spans}>{text}</td>"

    return "<table>" + "".join(f"<tr>{''.join(cell(*part) for part in row)}</tr>" for row in rows) + "</table>"


def main() -> None:
    rng = np.random.default_rng(20261118)
    truth: list[list[object]] = []
    models: dict[str, list[list[object]]] = {"model_a": [], "model_b": []}
    for place in range(60):
        name, spans = f"table_{place:02d}", place % 2 == 1
        rows = drawn_table(rng, spans)
        truth.append([name, html(rows), "spans" if spans else "plain"])
        for model, letters, rows_lost, spans_lost in (("model_a", 0.005, 0.06, 0.3), ("model_b", 0.04, 0.01, 0.05)):
            if rng.random() >= 0.02:
                models[model].append([name, html(replied(rng, rows, letters, rows_lost, spans_lost))])
    folder = make_samples.SAMPLES / "tables"
    folder.mkdir(exist_ok=True)
    make_samples.write(folder / "truth.csv", ["table", "html", "kind"], truth)
    for model, rows in models.items():
        make_samples.write(folder / f"{model}.csv", ["table", "html"], rows)
    (folder / "sample.json").write_text('{"by": "kind"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
