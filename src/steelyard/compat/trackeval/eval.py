"""`Evaluator`: all metrics on all trackers of all datasets."""

from __future__ import annotations

import os
import time
import traceback
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import Any

from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval.metrics import Count
from steelyard.compat.trackeval.utils import TrackEvalException
from steelyard.core.errors import MissingData, Unsupported

COMBINED = "COMBINED_SEQ"


class Evaluator:
    """Evaluates metrics on datasets, prints tables and writes files, as its config says."""

    @staticmethod
    def get_default_eval_config() -> dict[str, Any]:
        """The defaults. USE_PARALLEL evaluates sequences in threads; PLOT_CURVES only warns."""
        return {
            "USE_PARALLEL": False,
            "NUM_PARALLEL_CORES": 8,
            "BREAK_ON_ERROR": True,
            "RETURN_ON_ERROR": False,
            "LOG_ON_ERROR": os.path.join(utils.get_code_path(), "error_log.txt"),
            "PRINT_RESULTS": True,
            "PRINT_ONLY_COMBINED": False,
            "PRINT_CONFIG": True,
            "TIME_PROGRESS": True,
            "DISPLAY_LESS_PROGRESS": True,
            "OUTPUT_SUMMARY": True,
            "OUTPUT_EMPTY_CLASSES": True,
            "OUTPUT_DETAILED": True,
            "PLOT_CURVES": True,
        }

    def __init__(self, config: Any = None) -> None:
        self.config = utils.init_config(config, self.get_default_eval_config(), "Eval")
        self._evaluated: list[tuple[Any, str]] = []
        if self.config["TIME_PROGRESS"] and not self.config["USE_PARALLEL"]:
            _timing.DO_TIMING = True
            if self.config["DISPLAY_LESS_PROGRESS"]:
                _timing.DISPLAY_LESS_PROGRESS = True

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The task, files and settings with which `steelyard.compat.report` scores what was evaluated."""
        if len(self._evaluated) != 1:
            raise MissingData(
                f"{len(self._evaluated)} trackers were evaluated",
                remedy="Call evaluate with one dataset and one tracker before the report.",
            )
        dataset, tracker = self._evaluated[0]
        if not hasattr(dataset, "steelyard_inputs"):
            raise Unsupported(
                f"{dataset.get_name()} has no report", remedy="Use MotChallenge2DBox, Kitti2DBox, or a MOTS dataset."
            )
        inputs: tuple[str, Any, Any, dict[str, Any]] = dataset.steelyard_inputs(tracker)
        return inputs

    @_timing.time
    def evaluate(self, dataset_list: Any, metrics_list: Any, show_progressbar: bool = False) -> Any:
        """The results `res[dataset][tracker][sequence][class][metric][field]`, and a message for each tracker."""
        config = self.config
        metrics_list = [*metrics_list, Count()]
        metric_names = utils.validate_metrics_list(metrics_list)
        metrics = dict(zip(metric_names, metrics_list, strict=True))
        self._evaluated = []
        output_res: Any = {}
        output_msg: Any = {}
        for dataset, dataset_name in [(dataset, dataset.get_name()) for dataset in dataset_list]:
            output_res[dataset_name], output_msg[dataset_name] = {}, {}
            tracker_list, seq_list, class_list = dataset.get_eval_info()
            print(
                f"\nEvaluating {len(tracker_list)} tracker(s) on {len(seq_list)} sequence(s) for {len(class_list)} "
                f"class(es) on {dataset_name} dataset using the following metrics: {', '.join(metric_names)}\n"
            )
            for tracker in tracker_list:
                try:
                    print(f"\nEvaluating {tracker}\n")
                    start = time.time()
                    res = self._sequences(dataset, tracker, seq_list, class_list, metrics, show_progressbar)
                    combined_classes = _combine(res, dataset, class_list, metrics)
                    if config["TIME_PROGRESS"]:
                        print(f"\nAll sequences for {tracker} finished in {time.time() - start:.2f} seconds")
                    self._write(res, dataset, tracker, metrics, combined_classes)
                    output_res[dataset_name][tracker] = res
                    output_msg[dataset_name][tracker] = "Success"
                    self._evaluated.append((dataset, tracker))
                except Exception as error:
                    output_res[dataset_name][tracker] = None
                    expected = type(error) is TrackEvalException
                    output_msg[dataset_name][tracker] = str(error) if expected else "Unknown error occurred."
                    print(f"Tracker {tracker} was unable to be evaluated.")
                    print(error)
                    traceback.print_exc()
                    if config["LOG_ON_ERROR"] is not None:
                        with open(config["LOG_ON_ERROR"], "a") as file:
                            print(dataset_name, tracker, traceback.format_exc(), "\n\n\n", sep="\n", file=file)
                    if config["BREAK_ON_ERROR"]:
                        raise
                    if config["RETURN_ON_ERROR"]:
                        return output_res, output_msg
        return output_res, output_msg

    def _sequences(
        self, dataset: Any, tracker: str, seq_list: Any, class_list: Any, metrics: Any, show_progressbar: bool
    ) -> Any:
        """The results of each sequence."""
        sequence = partial(
            eval_sequence,
            dataset=dataset,
            tracker=tracker,
            class_list=class_list,
            metrics_list=list(metrics.values()),
            metric_names=list(metrics),
        )
        if not self.config["USE_PARALLEL"]:
            return {
                seq: eval_sequence(seq, dataset, tracker, class_list, list(metrics.values()), list(metrics))
                for seq in _shown(sorted(seq_list), show_progressbar)
            }
        if show_progressbar:
            seq_list = sorted(seq_list)
        with ThreadPool(self.config["NUM_PARALLEL_CORES"]) as pool:
            results = list(_shown(pool.imap(sequence, seq_list), show_progressbar, len(seq_list)))
        return dict(zip(seq_list, results, strict=True))

    def _write(self, res: Any, dataset: Any, tracker: str, metrics: Any, combined_classes: list[str]) -> None:
        """Print tables and write files, as the config says."""
        config = self.config
        folder, shown = dataset.get_output_fol(tracker), dataset.get_display_name(tracker)
        for cls, combined in res[COMBINED].items():
            if not config["OUTPUT_EMPTY_CLASSES"] and not combined["Count"]["Dets"] > 0:
                continue
            summaries, details = [], []
            for name, metric in metrics.items():
                if cls in combined_classes:
                    table = {COMBINED: combined[name]}
                else:
                    table = {seq: of_classes[cls][name] for seq, of_classes in res.items()}
                if config["PRINT_RESULTS"] and config["PRINT_ONLY_COMBINED"]:
                    if not dataset.should_classes_combine or cls in combined_classes:
                        metric.print_table({COMBINED: table[COMBINED]}, shown, cls)
                elif config["PRINT_RESULTS"]:
                    metric.print_table(table, shown, cls)
                if config["OUTPUT_SUMMARY"]:
                    summaries.append(metric.summary_results(table))
                if config["OUTPUT_DETAILED"]:
                    details.append(metric.detailed_results(table))
                if config["PLOT_CURVES"]:
                    metric.plot_single_tracker_results(table, shown, cls, folder)
            if config["OUTPUT_SUMMARY"]:
                utils.write_summary_results(summaries, cls, folder)
            if config["OUTPUT_DETAILED"]:
                utils.write_detailed_results(details, cls, folder)


def _shown(sequences: Any, show_progressbar: bool, total: int | None = None) -> Any:
    """The sequences behind a progress bar, where one is wanted and tqdm is installed."""
    if not show_progressbar:
        return sequences
    try:
        from tqdm import tqdm
    except ImportError:
        return sequences
    return tqdm(sequences, total=total)


def _combine(res: Any, dataset: Any, class_list: Any, metrics: Any) -> list[str]:
    """Add the results of all sequences, and of classes together; returns the names of the latter."""
    combined: Any = {
        cls: {
            name: metric.combine_sequences({seq: of_classes[cls][name] for seq, of_classes in res.items()})
            for name, metric in metrics.items()
        }
        for cls in class_list
    }
    names = []
    if dataset.should_classes_combine:
        names += ["cls_comb_cls_av", "cls_comb_det_av", "all"]
        every = {cls: of_class for cls, of_class in combined.items() if cls not in names}
        averaged, summed = {}, {}
        for name, metric in metrics.items():
            classes = {cls: of_class[name] for cls, of_class in every.items()}
            averaged[name] = metric.combine_classes_class_averaged(classes)
            summed[name] = metric.combine_classes_det_averaged(classes)
        combined["cls_comb_cls_av"], combined["cls_comb_det_av"] = averaged, summed
    if dataset.use_super_categories:
        for category, members in dataset.super_categories.items():
            names.append(category)
            of_members = {cls: of_class for cls, of_class in combined.items() if cls in members}
            combined[category] = {
                name: metric.combine_classes_det_averaged({cls: one[name] for cls, one in of_members.items()})
                for name, metric in metrics.items()
            }
    res[COMBINED] = combined
    return names


@_timing.time
def eval_sequence(
    seq: str, dataset: Any, tracker: str, class_list: Any, metrics_list: Any, metric_names: Any
) -> dict[str, Any]:
    """The results of one sequence by class and metric."""
    raw_data = dataset.get_raw_seq_data(tracker, seq)
    seq_res = {}
    for cls in class_list:
        data = dataset.get_preprocessed_seq_data(raw_data, cls)
        seq_res[cls] = {
            name: metric.eval_sequence(data) for name, metric in zip(metric_names, metrics_list, strict=True)
        }
    return seq_res
