"""Why other tools print other numbers for the same scores: how rates are read, and how areas are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial

import numpy as np

from steelyard.core.catalogue import parse
from steelyard.core.errors import Unsupported
from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader, SharedCache
from steelyard.tasks.labels.data import LabelPairs
from steelyard.tasks.labels.walks import Confidence
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

AT_MOST, NEAREST, IMPOSTOR = "the largest TAR with FAR up to f", "the nearest FAR", "the lowest impostor score accepted"
CROSSING, MEAN, SMALLER = (
    "where the curves cross",
    "the mean where they are nearest",
    "the smaller mean beside it",
)
STEPS, LINES = "steps", "straight lines"
ALL, THINNED = "all points", "scikit-learn's thinned curve"
SUM, TRAPEZOID = "the mean over all numbers of rows", "trapezoids from the first row on"
FAR_RULES = {AT_MOST: "at_most", NEAREST: "nearest", IMPOSTOR: "impostor"}
EER_RULES = {CROSSING: "crossing", MEAN: "mean", SMALLER: "pyeer"}
FARS = ("0.0001", "0.001", "0.01", "0.1")


class RateConventions(Frozen):
    """How rates and areas are read. The defaults are ours."""

    far: str = field(default=AT_MOST, metadata={"title": "the point at a FAR"})
    eer: str = field(default=CROSSING, metadata={"title": "equal error rate"})
    aupr: str = field(default=STEPS, metadata={"title": "precision between points"})
    curve: str = field(default=ALL, metadata={"title": "points of the ROC curve"})
    risk: str = field(default=SUM, metadata={"title": "area under risk"})


LINED = "Points are joined, which is too high where precision falls between them."
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "insightface",
            "7fadd420, ijb_11.py",
            RateConventions(far=NEAREST),
            {"far": "The nearest point may lie above f: a few accepts more, and a higher TAR."},
            tuple(f"tar@{far}" for far in FARS),
        ),
        Tool(
            "bob",
            "bob.measure 6.1.1",
            RateConventions(far=IMPOSTOR, eer=MEAN),
            {
                "far": "The threshold stays at an impostor score, so genuine pairs just below it are refused.",
                "eer": "FAR and FRR are averaged at one threshold, where they may still differ.",
            },
            ("eer", *(f"tar@{far}" for far in FARS)),
        ),
        Tool(
            "pyeer",
            "0.5.6",
            RateConventions(far=NEAREST, eer=SMALLER),
            {
                "far": "The nearest point may lie above f.",
                "eer": "Of the two points around the crossing it takes the one with the smaller sum.",
            },
            ("eer", *(f"frr@{far}" for far in FARS[1:])),
            (
                "It has no point above all scores: for equal scores it prints EER 1 and AUC 0.",
                "A score that is nan counts as the highest.",
            ),
        ),
        Tool(
            "openood",
            "3c35632, compute_all_metrics",
            RateConventions(aupr=LINES, curve=THINNED),
            {
                "aupr": LINED,
                "curve": "Points in the middle of equal diagonal steps are dropped, and the reading jumps to the next.",
            },
            ("fpr@95(positive=ood)", "roc_auc", "aupr(positive=id)", "aupr(positive=ood)", "id_accuracy"),
            (
                "It prints percent.",
                "Of several OOD sets it prints the mean of their values (slices by source), not that of all pooled.",
            ),
        ),
        Tool(
            "pytorch-ood",
            "0.4.0, OODMetrics",
            RateConventions(aupr=LINES),
            {"aupr": LINED},
            ("fpr@95(positive=ood)", "roc_auc", "aupr(positive=id)", "aupr(positive=ood)"),
        ),
        Tool(
            "torch-uncertainty",
            "0.13.0",
            RateConventions(risk=TRAPEZOID),
            {"risk": "The first row counts half, and the area is divided by 1 - 1/n."},
            ("aurc", "augrc"),
            ("Its unstable sort orders rows of equal confidence; here their mean over all orders counts.",),
        ),
    )
}


def explain(pairs: LabelPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these scores, and what each of their settings does."""
    named = find_tools(tools, TOOLS)
    if pairs.several or (len(pairs.classes) != 2 and any("aurc" not in tool.prints for tool in named.values())):
        raise Unsupported(
            f"there are {len(pairs.classes)} classes, and these tools score two kinds of rows",
            where=pairs.truth.source,
            remedy="Score pairs that are genuine or not, or name the OOD label with the option `ood=LABEL`.",
        )
    return tuple(explain_tool(tool, partial(values, pairs, tool.prints)) for tool in named.values())


def values(pairs: LabelPairs, prints: tuple[str, ...], way: RateConventions) -> Mapping[str, float]:
    """Every number that a tool prints, as it reads it."""
    return {spec: _value(pairs, spec, way) for spec in prints}


def _value(pairs: LabelPairs, spec: str, way: RateConventions) -> float:
    if spec in ("aurc", "augrc") and way.risk == TRAPEZOID:
        return _trapezoids(pairs, spec)
    name, settings = spec.partition("@")[0].partition("(")[0], []
    if name in ("tar", "frr"):
        settings = [f"rule={FAR_RULES[way.far]}"]
    elif name == "eer":
        settings = [f"rule={EER_RULES[way.eer]}"]
    elif name == "aupr" and way.aupr == LINES:
        settings = ["rule=trapezoid"]
    elif name == "fpr" and way.curve == THINNED:
        settings = ["rule=thinned"]
    whole = spec[:-1] + ", " + settings[0] + ")" if settings and spec.endswith(")") else spec
    metric = parse(f"{spec}({settings[0]})" if settings and not spec.endswith(")") else whole, "labels")
    needs = dict.fromkeys(n.ranking if isinstance(n, RankingReader) else n for n in metric.requirements())
    return float(State.of(pairs, list(needs)).totals(POINT).of(metric)[0])


def _trapezoids(pairs: LabelPairs, name: str) -> float:
    """The area under risk, or generalised risk, over coverage from 1/n to 1, divided by 1 - 1/n."""
    columns = Confidence().measure(pairs, SharedCache()).events.columns
    wrong = columns["positive"].astype(float)
    many = len(wrong)
    if many < 2:
        return float("nan")
    run = np.cumsum(np.append(False, columns["score"][1:] != columns["score"][:-1]))
    wrong = (np.bincount(run, wrong) / np.bincount(run))[run]  # the mean over orders of equal rows
    k = np.arange(1, many + 1)
    risks = np.cumsum(wrong) / (k if name == "aurc" else many)
    return float((risks[1:] + risks[:-1]).sum() / 2 / many / (1 - 1 / many))
