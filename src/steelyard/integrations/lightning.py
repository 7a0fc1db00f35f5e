"""A callback of Lightning: what validation and test steps return is gathered over all ranks, reported and logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.core.errors import MissingKey, MissingPackage
from steelyard.core.request import Metrics
from steelyard.integrations.batches import as_batch
from steelyard.loggers.flat import flat
from steelyard.partial.accumulator import Accumulator
from steelyard.results.report import Report
from steelyard.torch import sync

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError:
        raise MissingPackage("steelyard.integrations.lightning", "lightning") from None

TakeSides = Callable[[Any, Any], tuple[Any, Any]]


class Evaluation(Callback):
    """Evaluate a task in every validation and test epoch: `Trainer(callbacks=[Evaluation("labels", "accuracy")])`.

    A step returns a dict with "truth" and "predictions", and "ids" where they are arrays; or `sides(outputs, batch)`
    gives truth and predictions. `report` is the last one; scores are logged behind `val/` and `test/`, with intervals
    where `intervals` says so. Other settings are those of an `Accumulator`.
    """

    def __init__(
        self, task: str, metrics: Metrics = None, *, sides: TakeSides | None = None, intervals: bool = False,
        **settings: Any,
    ) -> None:  # fmt: skip
        self.metrics, self.sides, self.intervals = metrics, sides, intervals
        self.state = Accumulator(task, **settings)
        self.seen = 0
        self.report: Report | None = None

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin with nothing."""
        self.state, self.seen = self.state.empty(), 0

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Take a batch."""
        if self.sides is not None:
            truth, predictions, ids = *self.sides(outputs, batch), None
        elif isinstance(outputs, Mapping) and {"truth", "predictions"} <= outputs.keys():
            truth, predictions, ids = outputs["truth"], outputs["predictions"], outputs.get("ids")
        else:
            raise MissingKey(
                "the step returns no truth and predictions",
                remedy='Return {"truth": ..., "predictions": ..., "ids": ...}, or give sides=.',
            )
        sides = as_batch(self.state, truth, predictions, ids, self.seen, trainer.global_rank)
        self.state.update(*sides)
        self.seen += len(next(iter(sides[0].values()))) if isinstance(sides[0], dict) else 0

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Report and log."""
        self._end(trainer, pl_module, "val/")

    def on_test_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin with nothing."""
        self.on_validation_epoch_start(trainer, pl_module)

    def on_test_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Take a batch."""
        self.on_validation_batch_end(trainer, pl_module, outputs, batch, batch_idx, dataloader_idx)

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Report and log."""
        self._end(trainer, pl_module, "test/")

    def _end(self, trainer: Any, pl_module: Any, prefix: str) -> None:
        if trainer.sanity_checking:
            return
        settings: dict[str, Any] = {} if self.intervals else {"confidence": None}
        self.report = sync(self.state).report(self.metrics, **settings)
        pl_module.log_dict(flat(self.report, prefix))
