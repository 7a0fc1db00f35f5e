"""Metrics in the shape of torchmetrics: update, compute, reset, forward; exact under torch.distributed.

What is gathered is an accumulator. `compute` brings those of all ranks together, so that uneven batches count as they
are, and with `ids` a unit that a padded sampler repeats counts once.
"""

from __future__ import annotations

from typing import Any

from steelyard.core import catalogue
from steelyard.core.errors import InvalidSpec, MissingPackage, Unsupported
from steelyard.core.request import Metrics
from steelyard.integrations.batches import as_batch
from steelyard.partial.accumulator import Accumulator
from steelyard.results.report import Report
from steelyard.torch import sync

try:
    import torch
    from torchmetrics import Metric
except ImportError:
    raise MissingPackage("steelyard.integrations.torchmetrics", "torchmetrics") from None


class Scores(Metric):
    """Metrics of a task as a dict of tensors by spec: `Scores("labels", ["accuracy", "macro(f1)"])`.

    `update(preds, target)` takes arrays, or both sides as `evaluate` takes them; `settings` are those of an
    `Accumulator`. `report()` has intervals too. A checkpoint of the module does not hold what was gathered.
    """

    full_state_update = False
    is_differentiable = False

    def __init__(self, task: str, metrics: Metrics = None, **settings: Any) -> None:
        super().__init__(sync_on_compute=False)
        self.specs = metrics
        self.gathered = Accumulator(task, **settings)
        self.seen = 0

    def update(self, preds: Any, target: Any, ids: Any = None) -> None:
        """Take a batch."""
        rank = torch.distributed.get_rank() if _is_distributed() else 0
        batch = as_batch(self.gathered, target, preds, ids, self.seen, rank)
        self.gathered.update(*batch)
        self.seen += len(next(iter(batch[0].values()))) if isinstance(batch[0], dict) else 0

    def compute(self) -> Any:
        """The metrics over the batches of all ranks."""
        report = sync(self.gathered).report(self.specs, confidence=None)
        return {spec: torch.tensor(score.value) for spec, score in report.scores.items()}

    def forward(self, preds: Any, target: Any, ids: Any = None) -> Any:
        """Take a batch, and give the metrics of it alone."""
        self.update(preds, target, ids)
        alone = self.gathered.empty()
        alone.update(*as_batch(alone, target, preds, ids, 0, 0))
        report = alone.report(self.specs, confidence=None)
        self._forward_cache = {spec: torch.tensor(score.value) for spec, score in report.scores.items()}
        return self._forward_cache

    def report(self, **settings: Any) -> Report:
        """The whole report, with intervals, over the batches of all ranks."""
        return sync(self.gathered).report(self.specs, **settings)

    def reset(self) -> None:
        """Forget all batches."""
        super().reset()
        self.gathered, self.seen = self.gathered.empty(), 0

    def merge_state(self, incoming_state: Any) -> None:
        """Take over what another one of the same settings has gathered."""
        if not isinstance(incoming_state, Scores):
            raise Unsupported("only metrics of Steelyard can be merged into one", remedy="Give the metric itself.")
        self.gathered.merge(incoming_state.gathered)
        self._computed = None


class Score(Scores):
    """One metric of a task as a tensor: `Score("labels", "accuracy")`, as `self.log` of Lightning takes it."""

    def __init__(self, task: str, metric: str, **settings: Any) -> None:
        super().__init__(task, [metric], **settings)
        self._better = {"higher": True, "lower": False}.get(catalogue.parse(metric, task).better)

    @property
    def higher_is_better(self) -> bool | None:
        """Whether more is better, None where neither end is best."""
        return self._better

    def compute(self) -> Any:
        return _only(super().compute())

    def forward(self, preds: Any, target: Any, ids: Any = None) -> Any:
        return _only(super().forward(preds, target, ids))


def _only(values: dict[str, Any]) -> Any:
    if len(values) != 1:
        raise InvalidSpec(f"the metric is {len(values)} numbers", remedy="Use Scores, or ask for one.")
    return next(iter(values.values()))


def _is_distributed() -> bool:
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())
