"""A callback of Keras: the model's predictions for held-out data are evaluated after every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import api
from steelyard.core import catalogue
from steelyard.core.errors import MissingPackage
from steelyard.core.plain import to_numpy
from steelyard.core.request import Metrics
from steelyard.loggers.flat import flat
from steelyard.results.report import Report

try:
    import keras
except ImportError:
    raise MissingPackage("steelyard.integrations.keras", "keras") from None


class Evaluation(keras.callbacks.Callback):
    """Evaluate a task on `x` and `y` after each epoch: `model.fit(..., callbacks=[Evaluation("labels", x, y)])`.

    Scores go into the epoch's logs as `val_accuracy`, where EarlyStopping and ModelCheckpoint see them if they come
    later in the list; `reports` keeps the reports. `intervals` makes intervals too; other settings are those of
    `evaluate`. Label maps have their channels where Keras has them (`keras.config.image_data_format()`).
    """

    def __init__(
        self, task: str, x: Any, y: Any, metrics: Metrics = None, *, prefix: str = "val_", intervals: bool = False,
        batch_size: int | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.task, self.x, self.y, self.metrics = task, x, y, metrics
        self.prefix, self.batch_size = prefix, batch_size
        self.settings = settings if intervals else {"confidence": None, **settings}
        self.reports: list[Report] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Predict, evaluate, and write into the logs."""
        predictions = np.asarray(self.model.predict(self.x, batch_size=self.batch_size, verbose=0))
        if predictions.ndim == 2 and predictions.shape[1] == 1:
            predictions = predictions[:, 0]
        truth = self.y
        if catalogue.find_task(self.task).score_rules is not None:
            truth, predictions = _channels_first(truth), _channels_first(predictions)
        self.reports.append(api.evaluate(self.task, truth, predictions, self.metrics, **self.settings))
        if logs is not None:
            logs.update(flat(self.reports[-1], self.prefix))


def _channels_first(maps: Any) -> Any:
    """Images × height × width × channels with the channels behind the images; other shapes as they are."""
    if getattr(maps, "ndim", 0) != 4 or keras.config.image_data_format() == "channels_first":
        return maps
    return np.moveaxis(np.asarray(to_numpy(maps)), -1, 1)
