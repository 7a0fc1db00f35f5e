"""A metric as a scorer of scikit-learn: for cross_val_score, GridSearchCV and all else that takes `scoring=`."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from steelyard import api
from steelyard.core import catalogue
from steelyard.core.errors import InvalidSetting, Unsupported
from steelyard.core.frozen import Frozen

RESPONSES = ("predict", "predict_proba", "decision_function")


class Scorer(Frozen):
    """Called with an estimator, its inputs and the truth, it gives one number, of which more is better."""

    task: str
    metric: str
    response: str = "predict"
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The metric's value, its sign turned where less is better; nan where it is undefined."""
        predictions = getattr(estimator, self.response)(X)
        truth: Any = y
        if self.response != "predict":
            predictions = np.asarray(predictions)
            column = "probability" if self.response == "predict_proba" else "score"
            if predictions.ndim == 1:  # the decision of two classes is one number, that of the second
                predictions = np.stack([-predictions, predictions], axis=1)
            truth = {"label": _whole(np.asarray(y))}
            predictions = {column: dict(zip(_whole(np.asarray(estimator.classes_)), predictions.T, strict=True))}
        value = api.score(self.task, truth, predictions, self.metric, **self.settings)
        return -value if catalogue.parse(self.metric, self.task).better == "lower" else value


def _whole(labels: Any) -> Any:
    """Labels, with 0 and 1 for false and true."""
    return labels.astype(np.int64) if labels.dtype.kind == "b" else labels


def scorer(metric: str, task: str = "labels", *, response: str = "predict", **settings: Any) -> Scorer:
    """A scorer for `scoring=`. `response` is the estimator's method that is asked.

    >>> from steelyard.integrations.sklearn import scorer
    >>> cross_val_score(model, X, y, scoring=scorer("macro(f1)"))  # doctest: +SKIP
    """
    if response not in RESPONSES:
        raise InvalidSetting(f"'{response}' is not a valid method", remedy=f"Choose one of: {', '.join(RESPONSES)}.")
    if catalogue.parse(metric, task).better not in ("higher", "lower"):
        raise Unsupported(f"more of '{metric}' is neither better nor worse", remedy="Choose another metric.")
    return Scorer(task, metric, response, settings)
