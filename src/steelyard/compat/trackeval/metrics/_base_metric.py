"""What the metrics share: sums over sequences, tables and files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval.plotting import note_left_out
from steelyard.compat.trackeval.utils import TrackEvalException


class _BaseMetric(ABC):
    """A family of numbers. Subclasses set their fields and compute a sequence."""

    @abstractmethod
    def __init__(self) -> None:
        self.plottable = False
        self.integer_fields: list[str] = []
        self.float_fields: list[str] = []
        self.array_labels: Any = []
        self.integer_array_fields: list[str] = []
        self.float_array_fields: list[str] = []
        self.fields: list[str] = []
        self.summary_fields: list[str] = []
        self.registered = False

    @_timing.time
    @abstractmethod
    def eval_sequence(self, data: Any) -> Any:
        """The numbers of one sequence."""

    @abstractmethod
    def combine_sequences(self, all_res: Any) -> Any:
        """The numbers of all sequences of a class."""

    @abstractmethod
    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = False) -> Any:
        """The mean over classes."""

    @abstractmethod
    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        """The numbers of all classes' detections together."""

    def plot_single_tracker_results(self, all_res: Any, tracker: Any, output_folder: Any, cls: Any) -> None:
        """Curves are not drawn; a warning says so."""
        if self.plottable:
            note_left_out()

    @classmethod
    def get_name(cls) -> str:
        """The name of the class."""
        return cls.__name__

    @staticmethod
    def _combine_sum(all_res: Any, field: str) -> Any:
        return sum([res[field] for res in all_res.values()])

    @staticmethod
    def _combine_weighted_av(all_res: Any, field: str, comb_res: Any, weight_field: str) -> Any:
        weighted = sum([res[field] * res[weight_field] for res in all_res.values()])
        return weighted / np.maximum(1.0, comb_res[weight_field])

    @staticmethod
    def _not_empty(all_res: Any, fields: tuple[str, ...]) -> Any:
        """The classes with a detection on either side."""
        return {key: res for key, res in all_res.items() if np.any(sum(res[field] for field in fields) > 0)}

    def _class_average(self, all_res: Any, summed: list[str], averaged: list[str], counts: tuple[str, ...] = ()) -> Any:
        """Sums of some fields and means of others over classes; with `counts`, over those that are not empty."""
        chosen = self._not_empty(all_res, counts) if counts else all_res
        res = {field: self._combine_sum(chosen, field) for field in summed}
        return {**res, **{field: np.mean([one[field] for one in chosen.values()], axis=0) for field in averaged}}

    def print_table(self, table_res: Any, tracker: str, cls: str) -> None:
        """Print a row per sequence, then their combination."""
        print("")
        self._row_print([self.get_name() + ": " + tracker + "-" + cls, *self.summary_fields])
        for seq, results in sorted(table_res.items()):
            if seq != "COMBINED_SEQ":
                self._row_print([seq, *self._summary_row(results)])
        self._row_print(["COMBINED", *self._summary_row(table_res["COMBINED_SEQ"])])

    def _summary_row(self, results_: Any) -> list[str]:
        texts = []
        for field in self.summary_fields:
            if field in self.float_array_fields:
                texts.append(f"{100 * np.mean(results_[field]):1.5g}")
            elif field in self.float_fields:
                texts.append(f"{100 * float(results_[field]):1.5g}")
            elif field in self.integer_fields:
                texts.append(f"{int(results_[field]):d}")
            else:
                raise NotImplementedError("Summary function not implemented for this field type.")
        return texts

    @staticmethod
    def _row_print(*argv: Any) -> None:
        first, *others = argv[0] if len(argv) == 1 else argv
        print(f"{first:<35}" + "".join(f"{other!s:<10}" for other in others))

    def summary_results(self, table_res: Any) -> dict[str, str]:
        """The fields of the summary file, as texts."""
        return dict(zip(self.summary_fields, self._summary_row(table_res["COMBINED_SEQ"]), strict=True))

    def detailed_results(self, table_res: Any) -> Any:
        """The fields of the detailed file, by sequence."""
        labels = [str(int(100 * label)) for label in self.array_labels]
        fields = self.float_fields + self.integer_fields
        for field in self.float_array_fields + self.integer_array_fields:
            fields += [field + "___" + label for label in [*labels, "AUC"]]
        detailed = {}
        for seq, res in table_res.items():
            row = self._detailed_row(res)
            if len(row) != len(fields):
                raise TrackEvalException(f"Field names and data have different sizes ({len(row)} and {len(fields)})")
            detailed[seq] = dict(zip(fields, row, strict=True))
        return detailed

    def _detailed_row(self, res: Any) -> list[Any]:
        row = [res[field] for field in self.float_fields + self.integer_fields]
        for field in self.float_array_fields + self.integer_array_fields:
            row += [res[field][i] for i in range(len(self.array_labels))]
            row.append(np.mean(res[field]))
        return row
