"""`lvis`: reading LVIS's files and its federated evaluation. `LVISVis`, which draws with OpenCV, is left out."""

import logging

from steelyard.compat.lvis.eval import LVISEval
from steelyard.compat.lvis.lvis import LVIS
from steelyard.compat.lvis.results import LVISResults

logging.basicConfig(  # as the package does when it is imported: its warnings are printed in this form
    format="[%(asctime)s] %(name)s %(levelname)s: %(message)s", datefmt="%m/%d %H:%M:%S", level=logging.WARNING
)

__all__ = ["LVIS", "LVISEval", "LVISResults"]
