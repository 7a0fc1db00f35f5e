"""Make the sample data of `steelyard demo documents`: drawn, not measured. Run: python tools/make_documents_sample.py

Pages of reports with a header, a title, paragraphs, a table and now and then a formula, in one or two columns. Model A
reads letters well, and invents or repeats text on some pages; model B misreads more letters and mixes up columns.
"""

from __future__ import annotations

import make_samples
import numpy as np

WORDS = str.split(
    "the scale was read twice before lunch and the mean of both readings is given in grams for each plate while small "
    "differences between kitchens remain since portions of rice soup and bread are weighed warm and covered by two "
    "people who write down time place and number of guests on every sheet that is later copied and checked against the "
    "menu"
)
FORMULAS = ("m = \\frac{a + b}{2}", "d = |a - b|", "s^2 = \\frac{1}{n - 1} \\sum_i (x_i - m)^2")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def paragraph(rng: np.random.Generator, words: int) -> str:
    text = " ".join(rng.choice(WORDS, words))
    return text[0].upper() + text[1:] + "."


def table(rng: np.random.Generator) -> list[list[str]]:
    rows = [["plate", "before", "after"]]
    for plate in range(int(rng.integers(2, 5))):
        rows.append([f"{plate + 1}", *(str(v) for v in rng.integers(80, 600, 2))])
    return rows


def html(rows: list[list[str]]) -> str:
    return "<table>" + "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows) + "</table>"


def misread(rng: np.random.Generator, text: str, share: float) -> str:
    letters = [rng.choice(list(LETTERS)) if c.isalpha() and rng.random() < share else c for c in text]
    return "".join(letters)


def misread_table(rng: np.random.Generator, rows: list[list[str]], share: float) -> str:
    cells = [[str(int(c) + 7) if c.isdigit() and rng.random() < share else c for c in row] for row in rows]
    if rng.random() < share:
        del cells[-1]
    return html(cells)


def main() -> None:
    rng = np.random.default_rng(20261119)
    truth: list[list[object]] = []
    models: dict[str, list[list[object]]] = {"model_a": [], "model_b": []}
    for document in range(16):
        layout = ("one column", "two columns")[document % 2]
        for number in range(int(rng.integers(2, 5))):
            page = f"report_{document:02d}_page_{number + 1}"
            blocks = [("header", f"Report {document + 1}"), ("title", paragraph(rng, 4).rstrip("."))]
            blocks += [("text", paragraph(rng, int(rng.integers(15, 45)))) for _ in range(int(rng.integers(3, 7)))]
            cells = table(rng)
            blocks.insert(int(rng.integers(3, len(blocks))), ("table", html(cells)))
            if rng.random() < 0.4:
                blocks.append(("formula", f"$$ {rng.choice(FORMULAS)} $$"))
            for place, (kind, text) in enumerate(blocks):
                truth.append([page, place + 1, kind, text, place + 1, layout, f"report_{document:02d}"])
            for model, share, swap, invent in (("model_a", 0.01, 0.05, 0.2), ("model_b", 0.04, 0.5, 0.03)):
                said = []
                for kind, text in blocks:
                    if kind == "header" and rng.random() < 0.5:
                        continue
                    if kind == "table":
                        said.append(misread_table(rng, cells, 2 * share))
                    elif kind == "title":
                        said.append("# " + misread(rng, text, share))
                    else:
                        said.append(misread(rng, text, share) if kind != "formula" else text)
                if layout == "two columns" and rng.random() < swap and len(said) > 4:
                    said[2], said[4] = said[4], said[2]
                if rng.random() < invent:
                    extra = said[-2] if rng.random() < 0.4 else paragraph(rng, 30)
                    said.append(extra)
                if rng.random() < 0.08:
                    del said[3]
                models[model].append([page, "\n\n".join(said)])
    folder = make_samples.SAMPLES / "documents"
    header = ["page", "block", "type", "text", "order", "layout", "document"]
    make_samples.write(folder / "truth.csv", header, truth)
    for model, rows in models.items():
        make_samples.write(folder / f"{model}.csv", ["page", "markdown"], rows)
    (folder / "sample.json").write_text('{"by": "layout"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
