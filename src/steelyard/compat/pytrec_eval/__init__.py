"""pytrec_eval's own names: trec_eval's measures of runs that are dicts; see docs/compat/pytrec_eval.md."""

from steelyard.compat.pytrec_eval.evaluator import (
    RelevanceEvaluator,
    compute_aggregated_measure,
    parse_qrel,
    parse_run,
    supported_measures,
    supported_nicknames,
)

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]
