"""Task `grounding`: objects that a text names in an image, and the boxes, masks or points of the reply.

Metrics
    One object for each expression: `acc@0.5`, `acc@0.5:0.95`, `mean_iou`, `centre`, `pointing`, `recall@5`. Any number,
    or none: `exact_set`, `set_f1`, `n_acc`, `t_acc`, `box_precision`, `box_recall`, `box_f1`. Masks: `oiou`, `miou`,
    `p@0.5`. And `answered`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Policy, Task
from steelyard.tasks.grounding.concepts import CONCEPTS
from steelyard.tasks.grounding.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.grounding.mask_metrics import MASK_METRICS
from steelyard.tasks.grounding.metrics import METRICS

ONE = ("acc@0.5", "acc@0.5:0.95", "mean_iou", "centre", "answered")
MASKS = ("oiou", "miou", "p@0.5", "p@0.7", "p@0.9")
SETS = ("exact_set", "set_f1", "n_acc", "t_acc", "answered")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by how many objects expressions name."""
    if "concepts" in metadata.holds:
        return ("cgf1", "pmf1", "il_mcc", "item_f1")
    if "masks" in metadata.holds:
        return MASKS
    if "points" in metadata.holds:
        return ("pointing", "answered")
    return ONE if "one" in metadata.holds else SETS


TASK = Task(
    name="grounding",
    title="Visual grounding",
    unit="image",
    item="expression",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*METRICS, *MASK_METRICS, *CONCEPTS),
    defaults=ONE,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="grounding",
    views="steelyard.tasks.grounding.views",
    checks="steelyard.tasks.grounding.checks",
    policy=Policy(missing="worst"),
)
