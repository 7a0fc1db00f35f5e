"""The settings of an evaluation, under the names that pycocotools gives them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from steelyard.core.errors import Unsupported

KINDS = ("segm", "bbox", "keypoints", "keypoints_crowd", "boundary")
CROWD_SIGMAS = (79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89, 79, 79)  # of the 14 points of CrowdPose


class Params:
    """Settings of an evaluation.

    `boundary` (masks by the lesser of IoU and boundary IoU) and `keypoints_crowd` (CrowdPose) are additions. For
    keypoints, `use_area` takes the area of an annotation; else it is 0.53 times that of its box, as CrowdPose has it.
    """

    def __init__(self, iouType: str = "segm", kpt_oks_sigmas: Any = None, use_area: bool | None = None) -> None:
        if iouType not in KINDS:
            raise Unsupported(f"iouType '{iouType}' is not supported", remedy=f"Choose one of {', '.join(KINDS)}.")
        self.iouType = iouType
        self.useSegm = None
        crowd = iouType == "keypoints_crowd"
        self.use_area = not crowd if use_area is None else bool(use_area)
        if iouType in ("keypoints", "keypoints_crowd"):
            self.setKpParams()
            if crowd:
                self.kpt_oks_sigmas = np.array([value / 100 for value in CROWD_SIGMAS]) / 10.0
            if kpt_oks_sigmas is not None:
                self.kpt_oks_sigmas = np.array(kpt_oks_sigmas, dtype=np.float64)
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

    def __deepcopy__(self, memo: Any) -> Params:
        """A copy. Ids cannot be changed, and there may be many of them: their lists are copied, not each id."""
        twin = copy.copy(self)
        for name, value in self.__dict__.items():
            flat = name in ("imgIds", "catIds") and isinstance(value, list)
            setattr(twin, name, list(value) if flat else copy.deepcopy(value, memo))
        return twin

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
