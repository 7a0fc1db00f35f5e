"""Task `rankings`: lists of documents (images, items) for queries, scored against judgements.

Conventions
    The unit is the query. Where people are known (cameras, probes), queries of one person are resampled together.
    Truth: `query`, `doc`, `relevance`; predictions: `query`, `doc`, `score`, the higher the better. Ranks come from the
    scores; where scores are equal, the larger document id stands first, as in trec_eval.
    A query that the run lacks counts as 0 and is counted; one that the truth lacks cannot be scored and is counted.
    A document without judgement is not relevant. A query without a relevant document cannot tell a good list from a
    bad one: it is left out and counted.

Metrics
    `hits` holds those that know relevant and not relevant, `graded` those of a reader who goes down the list.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.align.rankings import RankedPairs, join_rankings
from steelyard.core.embeddings import Embeddings
from steelyard.core.options import Options
from steelyard.core.records import Column, Records, Schema, weight_column
from steelyard.core.task import Policy, Task
from steelyard.tasks.rankings import embeddings, graded, hits, identities, open_set

KEY = ("query", "doc")
TRUTH = Schema(
    key=KEY,
    columns=(
        Column("query", "id", meaning="the query, which is the unit"),
        Column("doc", "id", meaning="the document: an image, an item"),
        Column(
            "relevance",
            "number",
            flags=True,
            meaning="0: judged not relevant; 1 or more: relevant; below 0: not judged",
        ),
        Column(
            "exclude",
            "number",
            required=False,
            flags=True,
            minimum=0,
            maximum=1,
            meaning="1: taken out of the list of this query before ranks are counted",
        ),
        weight_column("query", "weight"),
    ),
)
PREDICTION = Schema(
    key=KEY,
    columns=(
        Column("query", "id", meaning="as in the truth"),
        Column("doc", "id", meaning="as in the truth"),
        Column("score", "number", meaning="the higher, the nearer to the top"),
    ),
)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> RankedPairs:
    """Find the rank of every judged document."""
    if identities.has_probes(truth) or identities.has_probes(prediction):
        pairs = join_rankings(*identities.as_lists(truth, prediction, options), KEY, policy, weight="sample_weight")
        return replace(pairs, default_cluster=identities.PERSON)
    if isinstance(truth, Embeddings) and isinstance(prediction, Embeddings):
        return embeddings.under_protocol(truth, prediction, policy, options)
    truth, prediction = embeddings.prepare(truth, prediction, options)
    level = embeddings.landmark_level(options)
    if level is not None:
        truth = embeddings.landmarks(truth, level)
    return join_rankings(truth, prediction, KEY, policy, weight="sample_weight")


TASK = Task(
    name="rankings",
    title="Ranked lists, query by query",
    unit="query",
    item="query",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*hits.METRICS, *graded.METRICS, *open_set.METRICS),
    defaults=(
        "map",
        "map@10",
        "ndcg",
        "ndcg@10",
        "precision@10",
        "recall@10",
        "recall@100",
        "mrr",
        "hit@1",
        "hit@10",
        "rprec",
    ),
    options=embeddings.OPTIONS,
    spellings={"mp": "precision_to_last"},
    reader="rankings",
    policy=Policy(missing="worst", extra="skip"),
    views="steelyard.tasks.rankings.views",
    checks="steelyard.tasks.rankings.checks",
)
