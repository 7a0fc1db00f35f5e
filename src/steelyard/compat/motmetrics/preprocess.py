"""Removing results on objects that are not scored."""

from __future__ import annotations

import logging
import time
from configparser import ConfigParser
from typing import Any

import numpy as np

from steelyard.compat.motmetrics.distances import iou_matrix
from steelyard.compat.motmetrics.lap import linear_sum_assignment

DISTRACTORS = (2, 7, 8, 12)  # persons on vehicles, static persons, distractors, reflections
BOX = ["X", "Y", "Width", "Height"]


def preprocessResult(res: Any, gt: Any, inifile: Any) -> Any:
    """The results without those that match a distractor or an object with a negative visibility."""
    start = time.time()
    config = ConfigParser()
    config.read(inifile, encoding="utf8")
    dropped = []
    for t in range(1, int(config["Sequence"]["seqLength"]) + 1):
        if t not in res.index or t not in gt.index:
            continue
        results, truth = res.loc[t], gt.loc[t]
        distance = iou_matrix(truth[BOX].values, results[BOX].values, max_iou=0.5)
        off = truth["ClassId"].isin(DISTRACTORS).to_numpy() | (truth["Visibility"] < 0.0).to_numpy()
        ids = results.index.tolist()
        for i, j in zip(*linear_sum_assignment(distance), strict=True):
            if np.isfinite(distance[i, j]) and off[i]:
                dropped.append((t, ids[j]))
    kept = res.drop(labels=dropped)
    logging.info("Preprocess take %.3f seconds and remove %d boxes.", time.time() - start, len(dropped))
    return kept
