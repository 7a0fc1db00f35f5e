"""The result of a comparison, and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RAISED = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ۹ʳˢᵗᵘᵛʷˣʸᶻ"
_LABELS = {
    "hits": "Hits",
    "hit_rate": "Hit Rate",
    "precision": "P",
    "recall": "Recall",
    "f1": "F1",
    "r-precision": "R-Prec",
    "mrr": "MRR",
    "map": "MAP",
    "dcg": "DCG",
    "dcg_burges": "DCG Burges",
    "ndcg": "NDCG",
    "ndcg_burges": "NDCG Burges",
    "bpref": "BPref",
}
_TESTS = {"student": "paired Student's t-test", "tukey": "Tukey's HSD test"}
_PREAMBLE = r"""========================
% Add in preamble
\usepackage{graphicx}
\usepackage{booktabs}
========================


% To change the table size, act on the resizebox argument `0.8`.
\begin{table*}[ht]
\centering
\caption{
Overall effectiveness of the models.
The best results are highlighted in boldface.
Superscripts denote significant differences in """


class FrozensetDict(MutableMapping[Any, Any]):
    """A mapping from pairs in any order."""

    def __init__(self, arg: Mapping[Any, Any] | None = None) -> None:
        self._map: dict[frozenset[Any], Any] = {}
        self.update(arg or {})

    def __getitem__(self, key: Any) -> Any:
        return self._map[frozenset(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._map[frozenset(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._map[frozenset(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)


class Report:
    """Scores of several runs, with the p-values of their differences."""

    def __init__(
        self,
        model_names: list[str],
        results: dict[str, dict[str, float]],
        comparisons: FrozensetDict,
        metrics: list[str],
        max_p: float,
        win_tie_loss: dict[tuple[str, str], dict[str, dict[str, int]]],
        rounding_digits: int = 3,
        show_percentages: bool = False,
        stat_test: str = "student",
    ) -> None:
        self.model_names = model_names
        self.results = results
        self.comparisons = comparisons
        self.metrics = metrics
        self.max_p = max_p
        self.win_tie_loss = win_tie_loss
        self.rounding_digits = rounding_digits
        self.show_percentages = show_percentages
        self.stat_test = stat_test

    def format_score(self, score: float) -> str:
        """A score with the digits of the report."""
        digits = self.rounding_digits
        if self.show_percentages:
            score, digits = score * 100, max(0, digits - 2)
        return f"{round(score, digits):.{digits}f}"

    def get_metric_label(self, m: str) -> str:
        """The heading of a metric."""
        name, level, number = m.partition("-l")
        name, at, cut = name.partition("@")
        label = name.upper() if name.startswith("rbp") else _LABELS[name]
        return f"{label}{at}{cut}{level}{number}"

    def get_stat_test_label(self, stat_test: str) -> str:
        """The name of a test."""
        return _TESTS[stat_test]

    def _beaten(self, model: str, metric: str) -> list[bool]:
        """Whether a model is significantly better than each."""
        return [
            other != model
            and bool(self.comparisons[model, other][metric]["significant"])
            and self.results[model][metric] > self.results[other][metric]
            for other in self.model_names
        ]

    def get_superscript_for_table(self, model: str, metric: str) -> str:
        """The letters of the models that a model is better than, raised."""
        return "".join(_RAISED[i] for i, beaten in enumerate(self._beaten(model, metric)) if beaten)

    def get_superscript_for_latex(self, model: str, metric: str) -> str:
        """The letters of the models that a model is better than."""
        return "".join(_LETTERS[i] for i, beaten in enumerate(self._beaten(model, metric)) if beaten)

    def get_phantoms_for_latex(self, model: str, metric: str) -> str:
        """The letters of the other models."""
        beaten = self._beaten(model, metric)
        return "".join(_LETTERS[i] for i, other in enumerate(self.model_names) if other != model and not beaten[i])

    def to_table(self) -> str:
        """The table as text."""
        rows = [
            [_LETTERS[i], model]
            + [self.format_score(score) + self.get_superscript_for_table(model, m) for m, score in scores.items()]
            for i, (model, scores) in enumerate(self.results.items())
        ]
        return _table(["#", "Model", *map(self.get_metric_label, self.metrics)], rows)

    def to_latex(self) -> str:
        """The table for LaTeX."""
        best: dict[str, str | None] = {}
        for metric in self.metrics:
            top = 0.0
            best[metric] = None
            for model in self.model_names:
                score = round(self.results[model][metric], self.rounding_digits)
                if top < score:
                    top, best[metric] = score, model
        lines = [
            rf"{_PREAMBLE}{self.get_stat_test_label(self.stat_test)} with $p \le {self.max_p}$.",
            "}",
            r"\resizebox{0.8\textwidth}{!}{",
            r"\begin{tabular}{c|l" + "|c" * len(self.metrics) + "}",
            r"\toprule",
            r"\textbf{\#}",
            r"& \textbf{Model}",
            *(rf"& \textbf{{{self.get_metric_label(metric)}}}" for metric in self.metrics),
        ]
        lines[-1] += r" \\ "
        lines.append(r"\midrule")
        rows = []
        for i, model in enumerate(self.model_names):
            cells = []
            for metric in self.metrics:
                number = self.format_score(self.results[model][metric])
                text = rf"\textbf{{{number}}}" if best[metric] == model else number
                raised = self.get_superscript_for_latex(model, metric)
                phantoms = self.get_phantoms_for_latex(model, metric)
                cells.append(rf"{text}$^{{{raised}}}$\hphantom{{$^{{{phantoms}}}$}} ")
            rows.append(f"{_LETTERS[i]} &\n{model} &\n" + "&\n".join(cells) + r"\\")
        lines.append("\n".join(rows).replace("_", r"\_").replace("$^{}$", ""))
        lines += [r"\bottomrule", r"\end{tabular}", "}", r"\label{tab:results}", r"\end{table*}"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Scores, p-values and counts of wins, ties and losses."""
        report: dict[str, Any] = {
            "stat_test": self.stat_test,
            "metrics": self.metrics,
            "model_names": self.model_names,
        }
        for model in self.model_names:
            others = [other for other in self.model_names if other != model]
            report[model] = {
                "scores": self.results[model],
                "comparisons": {
                    other: {m: self.comparisons[{model, other}][m]["p_value"] for m in self.metrics} for other in others
                },
                "win_tie_loss": {
                    other: {m: self.win_tie_loss[(model, other)][m] for m in self.metrics} for other in others
                },
            }
        return report

    def to_dataframe(self) -> Any:
        """The scores as a pandas data frame."""
        import pandas as pd

        scores = {name: self.results[name] for name in self.model_names}
        return pd.DataFrame.from_dict(scores, orient="index").reset_index().rename(columns={"index": "model_names"})

    def save(self, path: str) -> None:
        """Write the report as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=4), encoding="utf-8")

    def print_results(self) -> None:
        """Print the scores as JSON."""
        print(json.dumps(self.results, indent=4))

    def __str__(self) -> str:
        return self.to_table()

    __repr__ = __str__


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under headings: text to the left, columns of numbers by their points."""
    columns = []
    for i, header in enumerate(headers):
        cells = [row[i].strip() for row in rows]
        width = len(header) + 2
        if all(map(_is_number, cells)):
            whole = all(cell.lstrip("+-").isdigit() for cell in cells)
            texts = cells if whole else [format(float(cell), "g") for cell in cells]
            behind = [len(text) - text.rfind(".") - 1 if "." in text else -1 for text in texts]
            texts = [text + " " * (max(behind) - n) for text, n in zip(texts, behind, strict=True)]
            width = max(width, *map(len, texts))
            columns.append([header.rjust(width), "-" * width, *(text.rjust(width) for text in texts)])
        else:
            width = max(width, *map(len, cells))
            columns.append([header.ljust(width), "-" * width, *(text.ljust(width) for text in cells)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
