"""Comparisons by truth on some units and a proxy on all: the page's formulas written out, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.engine_states import Endless, High, Mean, state_of
from support.lazy import lazy

import steelyard as sy
from steelyard.core.draws import unit_keys
from steelyard.core.request import Request
from steelyard.engine.compare import combine_models, compare
from steelyard.engine.flips import Coins, Influence, flip_test
from steelyard.engine.proxy import proxy_scores
from steelyard.engine.sides import sides_of
from steelyard.results.score import Difference

scipy_stats = lazy("scipy.stats")

N, REST = 30, 200
RNG = np.random.default_rng(12)
TRUE = RNG.uniform(3, 7, (N + REST, 1)) + RNG.normal(0, 1, (N + REST, 2)) + np.array([0.0, 0.4])
CHEAP = TRUE + RNG.normal(0.5, 0.4, (N + REST, 1)) + RNG.normal(0, 0.3, (N + REST, 2))
REQUEST = Request("any", draws=499, seed=4, proxy="judge.csv")
Y, F, REST_F = TRUE[:N], CHEAP[:N], CHEAP[N:]


def sides(metrics: Any, y: Any = Y, f: Any = F, rest: Any = REST_F, request: Request = REQUEST) -> list[Any]:
    """The sides of models, one per column."""
    states = [[state_of(values[:, k]) for k in range(values.shape[1])] for values in (y, f, rest)]
    scores = [proxy_scores(*mine, metrics, request) for mine in zip(*states, strict=True)]
    truth = sides_of(states[0], metrics, request, scores)
    judged, others = (sides_of(one, metrics, request, [{}] * len(one)) for one in states[1:])
    return [
        type(side)(side.state, side.scores, side.plain, side.drawn, side.leave_one_out, side.influences, same, more)
        for side, same, more in zip(truth, judged, others, strict=True)
    ]


def compared(metric: Any, *data: Any, request: Request = REQUEST) -> Difference:
    first, second = sides([metric], *data, request=request)
    return compare(first, second, [metric], request)[str(metric)].difference


def by_hand(y: Any, f: Any, rest: Any) -> tuple[float, Any, float, float, float]:
    """theta, psi scaled to V, lambda, s^2 and var D_F, from the differences of single units."""
    n = len(y)
    keys = unit_keys(state_of(np.zeros(n)).units.ids)
    half = np.argsort(np.argsort(keys)) % 2 == 0
    spread = rest.var(ddof=1) / len(rest)
    trust = []
    for mine in (half, ~half):
        both = np.cov(y[mine], f[mine]) / n
        trust.append(float(np.clip(both[0, 1] / (both[1, 1] + spread), 0, 1)))
    mean = sum(trust) / 2
    theta = y.mean() + mean * (rest.mean() - f.mean())
    psi_y = y - y.mean()
    r = psi_y - mean * (f - f.mean())
    s2 = ((r**2).sum() + 4 * (psi_y**2).sum() / (n - 1)) / (n + 3)
    wanted = s2 / n + mean**2 * spread
    return theta, r * math.sqrt(wanted / ((r**2).sum() / (n * (n - 1)))), mean, s2, spread


@pytest.mark.parametrize("metric", [Mean(), High()])
def test_a_difference_by_truth_and_proxy(metric: Any) -> None:
    y, f, rest = (values[:, 1] - values[:, 0] for values in (Y, F, REST_F))
    theta, psi, trust, s2, spread = by_hand(y, f, rest)
    assert 0.3 < trust < 1
    result = compared(metric)
    coins = Coins.of(state_of(Y[:, 0]).units, 4, 499)
    expected = flip_test(theta, Influence(coins, psi, coins.sums(psi[:, np.newaxis])[:, 0]), 0.95)
    assert result.difference == pytest.approx(theta, rel=1e-12)
    assert result.interval == pytest.approx(expected.interval, rel=1e-9)
    assert (result.p, result.p_method) == (pytest.approx(expected.p), expected.method)
    assert result.se == pytest.approx(math.sqrt(s2 / N + trust**2 * spread))
    assert result.null_hypothesis == f"both models have the same {metric} in the population of units"
    about = result.few_labels
    assert about is not None
    alone = compare(*sides_of([state_of(Y[:, k]) for k in (0, 1)], [metric], REQUEST), [metric], REQUEST)
    by_truth = alone[str(metric)].difference
    assert (about.labelled, about.others, about.correction) == (N, REST, "difference")
    assert about.trust == pytest.approx(trust)
    assert (about.residual_variance, about.proxy_variance) == (pytest.approx(s2), pytest.approx(spread))
    assert about.labels_alone == pytest.approx(y.mean())
    assert about.labels_interval == pytest.approx(by_truth.interval)
    assert about.labels_se == pytest.approx(by_truth.se)
    assert about.proxy_alone == pytest.approx(rest.mean())
    assert result.interval is not None
    assert by_truth.interval is not None
    narrower = 100 - 100 * (result.interval[1] - result.interval[0]) / (by_truth.interval[1] - by_truth.interval[0])
    assert narrower > 10
    assert result.notes[0] == (
        f"{metric}: 30 labelled and 200 judged units, λ {trust:.2f}; the difference is {y.mean():.4g} by truth alone, "
        f"and the interval is {narrower:.0f} % narrower."
    )
    assert (result.a.few_labels is not None, result.b.few_labels is not None) == (True, True)


def test_p_and_interval_agree() -> None:
    """p <= 0.05 exactly where 0 lies outside, over shifts of the second model."""
    seen = set()
    for shift in np.linspace(-1.2, 0.6, 37):
        moved = np.array([0.0, shift])
        result = compared(High(), Y + moved, F + moved, REST_F + moved)
        assert result.interval is not None
        outside = not result.interval[0] <= 0 <= result.interval[1]
        assert (result.p <= 0.05) == outside
        seen.add(outside)
    assert seen == {True, False}


def test_distances_take_gap_and_total() -> None:
    """Biases of +1 and -1 are equal distances: the total decides, and it has a trust of its own."""
    y = Y - Y.mean(axis=0) + np.array([1.0, -1.0])
    f, rest = F - Y.mean(axis=0) + np.array([1.0, -1.0]), REST_F - Y.mean(axis=0) + np.array([1.0, -1.0])
    result = compared(Endless(), y, f, rest)
    gap, total = (by_hand(*(values[:, 1] + s * values[:, 0] for values in (y, f, rest)))[0] for s in (-1, 1))
    assert abs(gap) > 1
    assert result.difference == pytest.approx(
        math.copysign(1, gap) * math.copysign(1, total) * min(abs(gap), abs(total))
    )
    assert result.p > 0.05
    assert result.interval is not None
    assert result.interval[0] <= 0 <= result.interval[1]


def test_a_judge_that_is_right_leaves_what_pseudo_units_say() -> None:
    """No residual: the influences are those of truth, scaled to the pseudo-units' variance and the others' own."""
    y = Y[:, 1] - Y[:, 0]
    rest = np.tile([[4.0, 4.5]], (50, 1))  # every difference alike: var D_F is 0 and the judge is trusted whole
    result = compared(High(), Y, Y, rest)
    assert result.difference == pytest.approx(0.5)
    assert result.few_labels is not None
    assert result.few_labels.trust == pytest.approx(1.0)
    assert result.se == pytest.approx(math.sqrt(4 * y.var(ddof=1) / (N + 3) / N))


def test_labelled_units_that_agree_are_labels_alone() -> None:
    y = np.stack([np.linspace(2, 6, N), np.linspace(2, 6, N) + 0.5], axis=1)
    result = compared(High(), y)
    assert result.difference == pytest.approx(0.5)
    assert result.few_labels is not None
    assert result.few_labels.trust == 0.0
    assert result.p_method == "agreement"
    assert result.interval == pytest.approx(result.few_labels.labels_interval)


def test_without_a_value_by_the_proxy_labels_are_compared() -> None:
    states = [state_of(Y[:, k]) for k in (0, 1)]
    nothing = [state_of(REST_F[:, k], n=np.zeros(REST)) for k in (0, 1)]
    scores = [proxy_scores(a, a, b, [High()], REQUEST) for a, b in zip(states, nothing, strict=True)]
    truth = sides_of(states, [High()], REQUEST, scores)
    judged, others = (sides_of(one, [High()], REQUEST, [{}] * 2) for one in (states, nothing))
    both = [
        type(s)(s.state, s.scores, s.plain, s.drawn, s.leave_one_out, s.influences, j, o)
        for s, j, o in zip(truth, judged, others, strict=True)
    ]
    result = compare(*both, [High()], REQUEST)["high"].difference
    assert result.difference == pytest.approx(Y[:, 1].mean() - Y[:, 0].mean())
    assert result.few_labels is None
    assert result.notes[0] == "high is compared by truth alone: it has no value by the proxy."


def test_pairs_of_a_leaderboard_are_those_of_compare() -> None:
    every = sides([High()])
    value, influence = combine_models(High(), every, 1, 0, -1.0)
    result = compared(High())
    assert value == pytest.approx(result.difference)
    assert influence.se == pytest.approx(result.se)


# Through the public functions


def labels(seed: int = 1, labelled: int = 60, others: int = 400) -> tuple[Any, Any, list[Any], Any]:
    """Truth of some, predictions of three models, the second and third better, and a judge right nine times in ten."""
    rng = np.random.default_rng(seed)
    count = labelled + others
    ids, true = np.arange(count), rng.integers(0, 3, count)

    def said(right: float) -> Any:
        return np.where(rng.random(count) < right, true, (true + rng.integers(1, 3, count)) % 3)

    models = [{"id": ids, "label": said(right)} for right in (0.6, 0.75, 0.85)]
    site = np.array(["north", "south"])[ids % 2]
    truth = {"id": ids[:labelled], "label": true[:labelled], "site": site[:labelled]}
    return truth, {"id": ids, "label": true}, models, {"id": ids, "label": said(0.9), "site": site}


def test_models_slices_and_ranks() -> None:
    truth, _, models, judge = labels()
    result = sy.compare("labels", truth, models, metrics=["accuracy", "macro(recall)"], proxy=judge, by=["site"])
    assert result.standings["accuracy"].ranks[0][1] == 3
    assert result.standings["accuracy"].ranks[0] == (3, 3)
    first = result[0]
    assert first.notes[0].startswith("Truth on 60 units, and a proxy (in memory) on these and 400 more")
    assert first.a.sources.proxy is not None
    assert first.a.request.proxy == "in memory"
    for spec in ("accuracy", "macro(recall)"):
        one = first[spec]
        assert one.few_labels is not None
        assert (one.few_labels.labelled, one.few_labels.others, one.family) == (60, 400, 4)
    north = first.slices["site"]["north"]["accuracy"]
    assert north.few_labels is not None
    assert (north.few_labels.labelled, north.few_labels.others) == (30, 200)
    assert sy.load(first.to_dict()) == first
    text = first.to_text()
    assert "60 labelled and 400 judged units" in " ".join(text.split())


def test_two_models_are_the_first_of_several(tmp_path: Any) -> None:
    truth, _, models, judge = labels()
    two = sy.compare("labels", truth, models[0], models[1], ["accuracy"], proxy=judge)["accuracy"]
    three = sy.compare("labels", truth, models, metrics=["accuracy"], proxy=judge)[0]["accuracy"]
    assert (two.difference, two.interval, two.p) == (three.difference, three.interval, three.p)
    whole = {"id": judge["id"], "label": [*truth["label"], *[None] * 400], "judge": judge["label"]}
    by_column = sy.compare("labels", whole, models[0], models[1], ["accuracy"], proxy="judge")["accuracy"]
    assert (by_column.difference, by_column.interval, by_column.p) == (two.difference, two.interval, two.p)
    shuffled = np.random.default_rng(3).permutation(460)
    mixed = {name: np.asarray(column)[shuffled] for name, column in judge.items()}
    again = sy.compare("labels", truth, models[0], models[1], ["accuracy"], proxy=mixed)["accuracy"]
    assert (again.difference, again.p) == (two.difference, two.p)
    assert again.interval == pytest.approx(two.interval)


def test_equal_predictions_do_not_differ() -> None:
    truth, _, models, judge = labels()
    result = sy.compare("labels", truth, models[0], models[0], ["accuracy"], proxy=judge)["accuracy"]
    assert (result.difference, result.interval, result.verdict) == (0.0, (0.0, 0.0), "no difference shown")


def test_clusters_and_margins() -> None:
    truth, _, models, judge = labels(labelled=60, others=300)
    person = np.arange(360) // 6
    given = {**truth, "person": person[:60]}
    proxy = {**judge, "person": person}
    result = sy.compare("labels", given, models[0], models[2], ["accuracy"], proxy=proxy, cluster="person",
                        margin={"accuracy": "5%"})["accuracy"]  # fmt: skip
    assert result.few_labels is not None
    assert result.margin_verdict == "not worse"
    assert result.margin_relative == 0.05
    assert result.margin == pytest.approx(0.05 * result.a.value)


def test_metrics_of_rankings_have_a_difference_too() -> None:
    rng = np.random.default_rng(8)
    count, labelled = 400, 80
    ids, true = np.arange(count), (rng.random(count) < 0.4).astype(int)
    models = [{"id": ids, "score": 1 / (1 + np.exp(-(gain * true + rng.normal(size=count))))} for gain in (0.8, 2.5)]
    judge = {"id": ids, "label": np.where(rng.random(count) < 0.9, true, 1 - true)}
    truth = {"id": ids[:labelled], "label": true[:labelled]}
    result = sy.compare("labels", truth, *models, ["roc_auc", "ap"], proxy=judge, draws=300)
    expected = scipy_stats.norm.cdf(2.5 / math.sqrt(2)) - scipy_stats.norm.cdf(0.8 / math.sqrt(2))
    one = result["roc_auc"]
    assert one.interval is not None
    assert one.interval[0] < expected < one.interval[1]
    assert one.few_labels is not None
    assert one.se < one.few_labels.labels_se
    assert result["ap"].verdict == "better"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"strata": "site"}, "`proxy` cannot be combined with `strata`"),
        ({"sequence": "exact"}, "a sequence of clusters, strata or a proxy is not known"),
        ({"proxy": "judge"}, "the proxy 'judge' is neither a file nor a column"),
        ({"proxy": {"id": [0, 1], "label": [0, 1]}, "extra": "skip"}, "has truth and no proxy"),
    ],
)
def test_what_a_comparison_with_a_proxy_refuses(settings: dict[str, Any], said: str) -> None:
    truth, _, models, judge = labels()
    with pytest.raises(sy.InputError, match=said):
        sy.compare("labels", truth, models[0], models[1], ["accuracy"], **{"proxy": judge, **settings})
