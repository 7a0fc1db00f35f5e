"""Log a result to MLflow: metrics, where they come from as tags, and the result itself as an artifact."""

from __future__ import annotations

from steelyard.core.errors import MissingPackage
from steelyard.loggers.flat import Result, facts, flat, replace_characters, result_of

FORBIDDEN = r"[^\w\-. /]+"  # what the name of a metric may not hold


def log(result: Result, *, run_id: str | None = None, prefix: str = "", step: int | None = None) -> dict[str, float]:
    """Log to a run, the active one where none is named; gives the metrics under the names that MLflow has.

    MLflow takes no brackets and signs in names: `ap(iou=0.5)` becomes `ap_iou_0.5`.
    """
    try:
        import mlflow
    except ImportError:
        raise MissingPackage("logging to MLflow", "mlflow") from None
    loaded = result_of(result)
    values = replace_characters(flat(loaded, prefix), FORBIDDEN)
    mlflow.log_metrics(values, step=step, run_id=run_id)
    if run_id is None:
        mlflow.set_tags(facts(loaded))
    else:
        for name, text in facts(loaded).items():
            mlflow.MlflowClient().set_tag(run_id, name, text)
    mlflow.log_dict(loaded.to_dict(), "result.json", run_id)
    return values
