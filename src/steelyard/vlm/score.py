"""The score of a run: for each model and prompt the errors of the paper, and whether the instrument can be trusted.

The errors, their intervals over sequences and the paired comparisons are those of `evaluate` and `compare`; nothing is
computed here. Readings without a number are missing: the coverage says how many, and prompts are compared on the frames
that both have. Own questions are scored by `score_answers`. Examples are the largest errors, and some frames that gave
no number.
"""

from __future__ import annotations

import base64
import io
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import ClassVar

from steelyard import api
from steelyard.core.errors import InputError, InvalidSetting, MissingData, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.request import By, Request
from steelyard.render.numbers import signed_text, value_text
from steelyard.results.comparison import Comparison
from steelyard.results.details import Details, Example, Heard, Turn
from steelyard.results.report import Report
from steelyard.results.vlm import Effort, Pair, PromptScore, RunSource, VlmScore
from steelyard.vlm.answers import OUTCOMES, PARSER_VERSION
from steelyard.vlm.frames import Frame
from steelyard.vlm.images import Picture
from steelyard.vlm.plan import BLANK, REAL, SWAPPED
from steelyard.vlm.prices import Prices, read_prices
from steelyard.vlm.readings import Taken, VlmRun, read_run
from steelyard.vlm.recalibrate import FOLDS, cross_fit
from steelyard.vlm.score_answers import Replies, by_repeat, medians, replies, spread
from steelyard.vlm.score_answers import pairs as own_pairs
from steelyard.vlm.score_answers import row as own_row
from steelyard.vlm.sides import Asked, Key, check_columns, columns_beside, metrics_by_task, weight_sides
from steelyard.vlm.spending import Tally, effort_of_all

WORST, FAILED = 4, 2
SIDE = 180  # pixels of a small picture


class LazyRunDetails(Frozen, Details):
    """The runs behind a score."""

    lazy: ClassVar[bool] = True
    runs: tuple[VlmRun, ...]

    def examples(self, images: str | PathLike[str] | None = None) -> tuple[Example, ...]:
        """Frames that are worth a look; `images` is the folder of their pictures."""
        chosen = []
        for run in self.runs:
            readings: dict[tuple[str, int], list[Taken]] = {}
            for taken in run.taken:
                if taken.variant == REAL and taken.asked.weighs:
                    readings.setdefault((taken.frame.sequence, taken.frame.t), []).append(taken)
            chosen += [_example(readings[key], images) for key in _choose_examples(readings)]
        return tuple(chosen)


def _choose_examples(readings: dict[tuple[str, int], list[Taken]]) -> list[tuple[str, int]]:
    errors = {}
    for key, taken in readings.items():
        sizes = [
            abs(r.answer.grams - r.frame.weight) for r in taken if r.answer.ok and r.frame.weight == r.frame.weight
        ]
        if sizes:
            errors[key] = max(sizes)
    worst = sorted(errors, key=lambda key: (-errors[key], key))[:WORST]
    failed = [key for key, taken in readings.items() if any(not r.answer.ok for r in taken)][:FAILED]
    return list(dict.fromkeys([*worst, *failed]))


def _example(taken: Sequence[Taken], images: str | PathLike[str] | None) -> Example:
    frame = taken[0].frame
    weight = f"{value_text(frame.weight)} g" if frame.weight == frame.weight else "unknown"
    heard = []
    for reading in taken:
        answer = f"{value_text(reading.answer.grams)} g" if reading.answer.ok else reading.answer.outcome
        off = ""
        if reading.answer.ok and frame.weight == frame.weight:
            off = f" ({signed_text(reading.answer.grams - frame.weight)} g)"
        turns = tuple(Turn(turn.ask, turn.reply, turn.error) for turn in reading.conversation)
        heard.append(Heard(reading.model, reading.prompt, answer, off, reading.problem, turns))
    food = f", {frame.food}" if frame.food else ""
    title = f"{frame.sequence}, frame {frame.t}{food}"
    return Example(title, weight, *_thumbnail(frame.picture, frame.image, images), tuple(heard))


def _thumbnail(picture: Picture | None, image: str, images: str | PathLike[str] | None) -> tuple[str, int, int]:
    """A small picture as base64 of a JPEG with its size, only of the very file that the model was shown."""
    if images is None or picture is None:
        return "", 0, 0
    try:
        loaded = Picture(picture.digest, picture.width, picture.height, Path(images) / image).load(SIDE)
    except InputError:  # missing, no picture, or another one by now
        return "", 0, 0
    buffer = io.BytesIO()
    loaded.save(buffer, format="JPEG", quality=80)
    return base64.b64encode(buffer.getvalue()).decode("ascii"), *loaded.size


METRICS: dict[str, tuple[str, ...]] = {
    "sequences": (
        "mae_overall", "pmae_overall", "mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed", "mae_kcal",
        "pmae_kcal", "slope", "rises", "heaping@10",
    ),
    "weights": ("mae", "wape", "mape", "bias", "slope", "heaping@10"),
}  # fmt: skip
MISSING = ("error", "worst", "skip")
# Which prompts are compared, and what the comparison asks.
SCALE = "how much of the error is a wrong scale?"
NAME_HELPS, REASON_HELPS = "does the name help?", "does reasoning help?"
PAIRS = (
    ("direct", "direct+name", NAME_HELPS),
    ("reason", "reason+name", NAME_HELPS),
    ("direct", "reason", REASON_HELPS),
    ("direct+name", "reason+name", REASON_HELPS),
)


def score(
    folders: Sequence[str | Path] | str | Path,
    metrics: Sequence[str] | str | None = None,
    *,
    task: str = "sequences",
    by: By = (),
    confidence: float | None = 0.95,
    draws: int = 1000,
    seed: int = 0,
    save_draws: bool = False,
    save_influences: bool = False,
    cluster: str | None = None,
    strata: str | None = None,
    weight: str | None = None,
    prices: Prices | str | Path | None = None,
    mode: str | None = None,
    missing: str = "skip",
    recalibrate: bool = False,
) -> VlmScore:
    """Score runs: errors with intervals, differences between prompts, checks of the instrument, what it took.

    `metrics` are those of the task and of `answers`; each question takes those that its task has. `by`, `cluster`,
    `strata` and `weight` name columns of the frames, as in `evaluate`; the first three also a column of a table of
    sequences beside, as "person@people.csv". `prices` say what tokens cost. With `confidence` None there are no
    intervals. `missing` says what becomes of frames without a number in the scores of weights: "skip" leaves them out,
    "worst" scores them as the task scores a missing prediction, "error" refuses them; prompts are compared on the
    frames that both have. `recalibrate` also scores weights after a linear recalibration by cross-fitting, one line for
    all and one for each food.
    """
    if task not in METRICS:
        raise InvalidSetting(f"a run cannot be scored as '{task}'", remedy=nearest(task, METRICS))
    design = {"cluster": cluster, "strata": strata}
    comparison = {"confidence": confidence, "draws": draws, "seed": seed, **design}
    report = {**comparison, "by": by, "save_draws": save_draws, "save_influences": save_influences}
    request = Request.of(task, metrics, {**report, "missing": missing})  # type: ignore[arg-type]
    if missing not in MISSING:
        raise InvalidSetting(f"missing='{missing}' is not a choice", remedy=nearest(str(missing), MISSING))
    named = {name: "by" for names in request.by for name in names}
    named |= {name: option for option, name in design.items() if name}
    priced = read_prices(prices) if isinstance(prices, str | Path) else prices
    runs = [read_run(place, mode) for place in ([folders] if isinstance(folders, str | Path) else folders)]
    beside = columns_beside(runs, named)
    for run in runs:
        check_columns(run, [name for name in (*named, weight) if name and name not in beside])
    taken = [taken.asked for run in runs for taken in run.taken]
    tasks = list(dict.fromkeys(task if one.weighs else one.kind.task for one in taken))
    specs = [str(spec) for spec in request.metrics or ()]
    asked = Asked(metrics_by_task(specs, tasks), tuple(named), weight, report, comparison, beside, missing)
    return _score_runs(runs, task, asked, priced, recalibrate)


def _score_runs(runs: Sequence[VlmRun], task: str, asked: Asked, prices: Prices | None, recalibrate: bool) -> VlmScore:
    rows: list[PromptScore] = []
    predictions: dict[tuple[str, str], dict[Key, float]] = {}
    truths: dict[Key, Frame] = {}
    own: list[Replies] = []
    repaired: list[tuple[str, str, str, Mapping[Key, Frame], Mapping[Key, float], Mapping[Key, float]]] = []
    shown: set[Key] = set()
    taken_names: set[tuple[str, str]] = set()
    for run in runs:
        labels = {plan.model: plan.label for plan in run.plans}
        truth = _truth(run) if any(taken.asked.weighs for taken in run.taken) else {}
        truths |= truth
        groups: dict[tuple[str, str], dict[str, list[Taken]]] = {}
        for taken in run.taken:
            groups.setdefault((taken.model, taken.prompt), {}).setdefault(taken.variant, []).append(taken)
        for (model, prompt), variants in groups.items():
            label = model if (model, prompt) not in taken_names else f"{model} ({run.folder})"
            taken_names.add((label, prompt))
            effort = _effort(variants[REAL], prices, labels)
            if not variants[REAL][0].asked.weighs:
                own.append(replies(label, by_repeat(variants[REAL])[0], str(run.folder)))
                shown |= set(own[-1].truth)
                rows.append(own_row(own[-1], variants, asked, str(run.folder), effort))
                continue
            sets = [_values(readings, truth) for readings in by_repeat(variants[REAL])]
            values = medians(sets)
            predictions[label, prompt] = values
            scored = _row(label, prompt, variants, sets, truth, task, asked, effort)
            rows.append(scored)
            others = {f"{prompt} (median)": values} if len(sets) > 1 else {}
            if recalibrate and values:
                repairs = _recalibrated(prompt, values, truth, asked)
                others |= repairs
                repaired += [(label, prompt, name, truth, values, read) for name, read in repairs.items()]
            rows += [_derived(scored, name, read, truth, task, asked) for name, read in others.items()]
    return VlmScore(
        task=task if predictions or not own else own[0].task if len({one.task for one in own}) == 1 else "answers",
        rows=tuple(rows),
        pairs=(*_pairs(predictions, truths, task, asked), *_repairs(repaired, task, asked), *own_pairs(own, asked)),
        frames=len(shown | set(truths)),
        confidence=asked.comparison["confidence"],
        parser=PARSER_VERSION,
        runs=tuple(_source(run, prices) for run in runs),
        notes=(*(_unasked_remark(run) for run in runs if run.unasked), *_method_remarks(rows, bool(repaired))),
        details=LazyRunDetails(tuple(runs)),
    )


def _method_remarks(rows: Sequence[PromptScore], recalibrated: bool) -> list[str]:
    remarks = []
    if any(row.repeats > 1 for row in rows):
        remarks.append(
            "Scores of repeated questions are means over the repeats, with intervals for other meals and replies. "
            "Prompts are compared by the medians of their repeats."
        )
    if recalibrated:
        remarks.append(
            f"Recalibrated: weights are a + b times the reading, with a line that was fitted on {FOLDS - 1} of {FOLDS} "
            "parts of the sequences and applied to the other one. The lines themselves are not resampled."
        )
    return remarks


def _recalibrated(
    prompt: str, values: Mapping[Key, float], truth: Mapping[Key, Frame], asked: Asked
) -> dict[str, dict[Key, float]]:
    """Readings repaired by one line, and by a line for each food where that differs; by the name of their row."""
    clusters = None
    if cluster := asked.comparison.get("cluster"):
        beside = asked.beside.get(cluster)
        clusters = {key[0]: beside[key[0]] if beside else truth[key].text(cluster) for key in values}
    repairs = {f"{prompt} (recalibrated)": cross_fit(values, truth, clusters=clusters)}
    if len({truth[key].food for key in values}) > 1:
        by_food = cross_fit(values, truth, by_food=True, clusters=clusters)
        if by_food != repairs[f"{prompt} (recalibrated)"]:
            repairs[f"{prompt} (by food)"] = by_food
    return repairs


def _repairs(
    repaired: Sequence[tuple[str, str, str, Mapping[Key, Frame], Mapping[Key, float], Mapping[Key, float]]],
    task: str,
    asked: Asked,
) -> list[Pair]:
    """Raw readings against repaired ones."""
    several = len({model for model, *_ in repaired}) > 1
    pairs = []
    for model, prompt, name, truth, values, read in repaired:
        a, b = (f"{model}: {one}" if several else one for one in (prompt, name))
        comparison = _compare(truth, values, read, task, asked.of(task, METRICS[task]), asked)
        pairs.append(Pair(a, b, SCALE, len(values), comparison))
    return pairs


def _derived(
    row: PromptScore, name: str, values: Mapping[Key, float], truth: Mapping[Key, Frame], task: str, asked: Asked
) -> PromptScore:
    """The row of numbers that were made of readings: medians, or recalibrated ones."""
    metrics = asked.of(task, METRICS[task])
    report = None
    if values or asked.missing != "skip":
        sides = weight_sides(truth, values, task, asked)
        report = api.evaluate(task, *sides, metrics, missing=asked.missing, **asked.report)
    return PromptScore(
        model=row.model,
        prompt=name,
        report=report,
        readings=row.readings // row.repeats,
        parsed=len(values),
        followed_up=0,
        outcomes={},
        lost={},
        problems={},
        constant=row.constant,
        guess=row.guess,
        controls={},
        made_of=row.prompt,
    )


def _unasked_remark(run: VlmRun) -> str:
    held = "; ".join(f"{model}: {', '.join(prompts)}" for model, prompts in run.unasked.items())
    return (
        f"{run.folder} also holds replies to prompts that the last run did not ask, which are not shown ({held}). Name "
        "all prompts in 'vlm run' to show them again; what was answered is not asked again."
    )


def _source(run: VlmRun, prices: Prices | None) -> RunSource:
    models = tuple(f"{plan.model} ({plan.fingerprint[:16]})" for plan in run.plans)
    prompts = {name: text for plan in run.plans for name, text in plan.prompts.items()}
    labels = {plan.model: plan.label for plan in run.plans}
    return RunSource(str(run.folder), models, prompts, effort_of_all(run.tallies, labels, prices))


def _effort(taken: Sequence[Taken], prices: Prices | None, labels: Mapping[str, str]) -> Effort:
    """What the questions of one prompt took; one that two frames share was asked once."""
    tally = Tally()
    for reading in {r.key: r for r in taken if r.conversation}.values():
        tally.add(reading.conversation, reading.pictures)
    if prices is None:
        return tally.effort()
    return tally.effort(prices.of(taken[0].spec, labels[taken[0].spec]), prices.currency)


def _truth(run: VlmRun) -> dict[Key, Frame]:
    weighed = {(f.sequence, f.t): f for f in run.frames if f.valid and not math.isnan(f.weight)}
    if not weighed:
        raise MissingData(
            "no frame has a true weight",
            where=str(run.folder),
            remedy="Add a column 'weight' to the frames and run again.",
        )
    return weighed


def _values(taken: Sequence[Taken], truth: Mapping[Key, Frame]) -> dict[Key, float]:
    """The strict readings of the frames whose truth is known."""
    return {
        (r.frame.sequence, r.frame.t): r.answer.grams
        for r in taken
        if r.answer.ok and (r.frame.sequence, r.frame.t) in truth
    }


def _row(
    model: str,
    prompt: str,
    variants: Mapping[str, Sequence[Taken]],
    sets: Sequence[Mapping[Key, float]],
    truth: Mapping[Key, Frame],
    task: str,
    asked: Asked,
    effort: Effort,
) -> PromptScore:
    values = medians(sets)
    real = variants[REAL]
    outcomes = dict(Counter(r.answer.outcome for r in real))
    report = constant = None
    guess = math.nan
    metrics = asked.of(task, METRICS[task])
    if len(sets) > 1:
        report = _repeated_report(sets, truth, task, metrics, asked)
    elif values or asked.missing != "skip":
        sides = weight_sides(truth, values, task, asked)
        report = api.evaluate(task, *sides, metrics, missing=asked.missing, **asked.report)
    if values:
        guess = statistics.median(truth[key].weight for key in values)
        constant = _compare(truth, dict.fromkeys(values, guess), values, task, metrics[:1], asked)
    controls = {}
    for variant in (BLANK, SWAPPED):
        other = _values(variants.get(variant, ()), truth)
        if set(other) & set(values):
            controls[variant] = _compare(truth, other, values, task, metrics[:1], asked)
    return PromptScore(
        model=model,
        prompt=prompt,
        report=report,
        readings=len(real),
        parsed=sum(r.answer.ok for r in real),
        followed_up=sum(r.turns > 1 for r in real),
        outcomes=outcomes,
        lost={outcome: OUTCOMES[outcome] for outcome in outcomes if outcome != "ok"},
        problems=dict(Counter(r.problem for r in real if r.problem)),
        constant=constant,
        guess=guess,
        controls=controls,
        effort=effort,
        repeats=len(sets),
        spread=spread(sets),
    )


def _repeated_report(
    sets: Sequence[Mapping[Key, float]], truth: Mapping[Key, Frame], task: str, metrics: Sequence[str], asked: Asked
) -> Report | None:
    """The means over repeats. Frames without a number in a repeat are left out of all, unless they count as wrong."""
    common = {key: frame for key, frame in truth.items() if asked.missing != "skip" or all(key in one for one in sets)}
    if not common:
        return None
    sides = [weight_sides(common, {k: one[k] for k in common if k in one}, task, asked) for one in sets]
    named = {str(number): side for number, (_, side) in enumerate(sides, 1)}
    missing = "error" if asked.missing == "skip" else asked.missing
    return api.evaluate(task, sides[0][0], named, metrics, missing=missing, runs="replies", **asked.report)


def _compare(
    truth: Mapping[Key, Frame],
    a: Mapping[Key, float],
    b: Mapping[Key, float],
    task: str,
    metrics: Sequence[str],
    asked: Asked,
) -> Comparison:
    """B against A on the frames that both have."""
    common = {key: frame for key, frame in truth.items() if key in a and key in b}
    side, first = weight_sides(common, {key: a[key] for key in common}, task, asked)
    _, second = weight_sides(common, {key: b[key] for key in common}, task, asked)
    return api.compare(task, side, first, second, metrics, **asked.comparison)


def _pairs(
    predictions: Mapping[tuple[str, str], Mapping[Key, float]], truth: Mapping[Key, Frame], task: str, asked: Asked
) -> list[Pair]:
    models = list(dict.fromkeys(model for model, _ in predictions))
    wanted = []
    for model in models:
        prompts = [prompt for m, prompt in predictions if m == model]
        builtin = [(a, b, why) for a, b, why in PAIRS if a in prompts and b in prompts]
        named = {name for a, b, _ in builtin for name in (a, b)}
        own = [(prompts[0], b, "is it the better prompt?") for b in prompts[1:] if b not in named]
        wanted += [((model, a), (model, b), why) for a, b, why in [*builtin, *own]]
    for model in models[1:]:
        for prompt in (p for m, p in predictions if m == model and (models[0], p) in predictions):
            wanted.append(((models[0], prompt), (model, prompt), "is it the better model?"))
    compared = []
    several = len(models) > 1
    for a, b, why in wanted:
        common = set(predictions[a]) & set(predictions[b])
        if common:
            names = [f"{model}: {prompt}" if several else prompt for model, prompt in (a, b)]
            metrics = asked.of(task, METRICS[task])
            comparison = _compare(truth, predictions[a], predictions[b], task, metrics, asked)
            compared.append(Pair(names[0], names[1], why, len(common), comparison))
    return compared
