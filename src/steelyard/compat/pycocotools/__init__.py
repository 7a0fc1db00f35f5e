"""pycocotools' own modules and names: `COCO`, `COCOeval`, `mask`; see docs/compat.md."""

from steelyard.compat.pycocotools import coco, cocoeval, mask
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.cocoeval import COCOeval, Params

__all__ = ["COCO", "COCOeval", "Params", "coco", "cocoeval", "mask"]
