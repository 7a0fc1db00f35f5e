"""The settings of an evaluation, under the names that pycocotools gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.errors import InputError

KINDS = ("segm", "bbox", "keypoints", "boundary")


class Params:
    """Settings of an evaluation; `boundary` (masks by the lesser of IoU and boundary IoU) is an addition."""

    def __init__(self, iouType: str = "segm") -> None:
        if iouType not in KINDS:
            raise InputError(f"iouType '{iouType}' is not supported", remedy=f"Choose one of {', '.join(KINDS)}.")
        self.iouType = iouType
        self.useSegm = None
        if iouType == "keypoints":
            self.setKpParams()
        else:
            self.setDetParams()
        if iouType == "boundary":
            self.dilation_ratio = 0.02

    def _common(self) -> None:
        self.imgIds: list[Any] = []
        self.catIds: list[Any] = []
        self.iouThrs = np.linspace(0.5, 0.95, 10)
        self.recThrs = np.linspace(0.0, 1.0, 101)
        self.useCats = 1

    def setDetParams(self) -> None:
        """The settings of boxes and masks."""
        self._common()
        self.maxDets = [1, 10, 100]
        self.areaRng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "small", "medium", "large"]

    def setKpParams(self) -> None:
        """The settings of keypoints."""
        self._common()
        self.maxDets = [20]
        self.areaRng = [[0, 1e10], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "medium", "large"]
        body = (26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89)
        self.kpt_oks_sigmas = np.array([value / 100 for value in body]) / 10.0
