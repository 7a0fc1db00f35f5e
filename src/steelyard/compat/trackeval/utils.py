"""Configs, and the files that results are written to."""

from __future__ import annotations

import argparse
import csv
import os
from importlib.machinery import PathFinder
from typing import Any

FIRST_FIELDS = (
    "HOTA",
    "DetA",
    "AssA",
    "DetRe",
    "DetPr",
    "AssRe",
    "AssPr",
    "LocA",
    "OWTA",
    "HOTA(0)",
    "LocA(0)",
    "HOTALocA(0)",
    "MOTA",
    "MOTP",
    "MODA",
    "CLR_Re",
    "CLR_Pr",
    "MTR",
    "PTR",
    "MLR",
    "CLR_TP",
    "CLR_FN",
    "CLR_FP",
    "IDSW",
    "MT",
    "PT",
    "ML",
    "Frag",
    "sMOTA",
    "IDF1",
    "IDR",
    "IDP",
    "IDTP",
    "IDFN",
    "IDFP",
    "Dets",
    "GT_Dets",
    "IDs",
    "GT_IDs",
)


class TrackEvalException(Exception):
    """An error that TrackEval expects: wrong files, wrong settings."""


def init_config(config: Any, default_config: Any, name: str | None = None) -> Any:
    """The config with the defaults for what it lacks (the dict that is passed is completed), printed if it says so."""
    if config is None:
        config = default_config
    else:
        for key, value in default_config.items():
            config.setdefault(key, value)
    if name and config["PRINT_CONFIG"]:
        print(f"\n{name} Config:")
        for key, value in config.items():
            print("%-20s : %-30s" % (key, value))  # noqa: UP031 - a format of its own fails for None and lists
    return config


def update_config(config: Any) -> Any:
    """The config with what the command line sets: `--NAME value`."""
    parser = argparse.ArgumentParser()
    for setting, value in config.items():
        if value is None or type(value) is list:
            parser.add_argument("--" + setting, nargs="+")
        else:
            parser.add_argument("--" + setting)
    for setting, text in vars(parser.parse_args()).items():
        if text is None:
            continue
        if type(config[setting]) is bool:
            if text not in ("True", "False"):
                raise Exception("Command line parameter " + setting + "must be True or False")
            config[setting] = text == "True"
        elif type(config[setting]) is int:
            config[setting] = int(text)
        else:
            config[setting] = text
    return config


def get_code_path() -> str:
    """The folder above the package TrackEval, where its data lie: of a checkout that is on the path, or installed.

    Without the package it is the working directory.
    """
    spec = PathFinder.find_spec("trackeval")
    if spec is None or spec.origin is None:
        return os.path.abspath(".")
    return os.path.abspath(os.path.join(os.path.dirname(spec.origin), ".."))


def validate_metrics_list(metrics_list: Any) -> list[str]:
    """The names of the metrics, which must differ, as must their fields."""
    names = [metric.get_name() for metric in metrics_list]
    if len(names) != len(set(names)):
        raise TrackEvalException("Code being run with multiple metrics of the same name")
    fields = [field for metric in metrics_list for field in metric.fields]
    if len(fields) != len(set(fields)):
        raise TrackEvalException("Code being run with multiple metrics with fields of the same name")
    return names


def write_summary_results(summaries: Any, cls: str, output_folder: str) -> None:
    """Write `CLASS_summary.txt`: one line of fields, one of values; known fields first."""
    values = {field: value for summary in summaries for field, value in summary.items()}
    first = {field: values[field] for field in FIRST_FIELDS if values.get(field) is not None}
    ordered = {**first, **values}
    with _open(output_folder, cls + "_summary.txt") as file:
        writer = csv.writer(file, delimiter=" ")
        writer.writerow(ordered)
        writer.writerow(ordered.values())


def write_detailed_results(details: Any, cls: str, output_folder: str) -> None:
    """Write `CLASS_detailed.csv`: a row per sequence, then their combination."""
    with _open(output_folder, cls + "_detailed.csv") as file:
        writer = csv.writer(file)
        writer.writerow(["seq", *(field for detail in details for field in detail["COMBINED_SEQ"])])
        rows = [(seq, seq) for seq in sorted(details[0]) if seq != "COMBINED_SEQ"]
        for name, seq in [*rows, ("COMBINED", "COMBINED_SEQ")]:
            writer.writerow([name, *(value for detail in details for value in detail[seq].values())])


def _open(folder: str, name: str) -> Any:
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, "w", newline="")


def load_detail(file: str) -> dict[str, dict[str, float]]:
    """The numbers of a file that `write_detailed_results` wrote, by sequence and field."""
    data = {}
    keys: list[str] = []
    with open(file) as lines:
        for i, line in enumerate(lines):
            seq, *values = line.replace("\r", "").replace("\n", "").split(",")
            if i == 0:
                keys = values
            elif len(values) == len(keys) and seq:
                data["COMBINED_SEQ" if seq == "COMBINED" else seq] = dict(zip(keys, map(float, values), strict=True))
    return data
