"""Masks of MOTSChallenge."""

from __future__ import annotations

import os
from typing import Any

from steelyard.compat.trackeval import utils
from steelyard.compat.trackeval.datasets._challenge import _Challenge, challenge_defaults
from steelyard.compat.trackeval.datasets._mots import _Mots


class MOTSChallenge(_Mots, _Challenge):
    """MOTSChallenge: pedestrians."""

    first_timestep = 1

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        defaults = challenge_defaults()
        del defaults["BENCHMARK"], defaults["DO_PREPROC"]
        return defaults

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        self.class_name_to_class_id = {"pedestrian": "2", "ignore": "10"}
        self._find_files("MOTS")

    def steelyard_inputs(self, tracker: str) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for a tracker."""
        self._check_report(self._sequences_there())
        results = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol)
        return "tracking", self.gt_fol, results, {"options": {"benchmark": "mots"}}
