"""Log a result to Weights & Biases: scores as metrics, where they come from in the run's configuration."""

from __future__ import annotations

from typing import Any

from steelyard.core.errors import MissingData, MissingPackage
from steelyard.loggers.flat import Result, facts, flat, result_of


def log(result: Result, run: Any = None, *, prefix: str = "", step: int | None = None) -> dict[str, float]:
    """Log to a run, the active one where none is given; gives the metrics."""
    if run is None:
        try:
            import wandb
        except ImportError:
            raise MissingPackage("logging to Weights & Biases", "wandb") from None
        run = wandb.run
    if run is None:
        raise MissingData(
            "there is no active run of Weights & Biases", remedy="Call wandb.init() first, or give a run."
        )
    loaded = result_of(result)
    values = flat(loaded, prefix)
    run.config.update(facts(loaded), allow_val_change=True)
    run.log(values, step=step)
    return values
