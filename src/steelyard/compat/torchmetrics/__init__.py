"""`torchmetrics.detection` on Steelyard's kernels; all other modules are those of torchmetrics itself."""

import torchmetrics  # noqa: F401  # first of all: while it is imported, it imports its modules for detection
