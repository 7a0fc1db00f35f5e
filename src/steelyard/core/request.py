"""Request: everything that decides the numbers, checked once. Every path takes it whole, and the report shows it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, TypedDict, TypeVar

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidSetting, InvalidSpec, MissingData, OutOfRange, Unsupported, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import WeightPlan
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Role

Adjust = Literal["max-t", "holm", "fdr", "none"]
Correction = Literal["difference", "rates"]
CORRECTIONS: tuple[Correction, ...] = ("difference", "rates")
ADJUSTMENTS: tuple[Adjust, ...] = ("max-t", "holm", "fdr", "none")
Sequenced = Literal["exact", "approximate"]
SEQUENCES: tuple[Sequenced, ...] = ("exact", "approximate")
Factor = Literal["seeds", "readers", "annotators", "replies"]
FACTORS: tuple[Factor, ...] = ("seeds", "readers", "annotators", "replies")
Fixed = Literal["runs", "items"]
FIXED: tuple[Fixed, ...] = ("runs", "items")
RunDf = Literal["satterthwaite", "hillis"]
RunCovariance = Literal["jackknife", "delong"]
LIKE: Mapping[str, RunCovariance] = {"or-dbm": "jackknife", "mrmcaov-delong": "delong"}  # both with Hillis's df
By = str | Sequence[str | Sequence[str]]
Metrics = Sequence[str | Metric] | str | Metric | None
# Settings that do not say how data are read and joined.
NOT_OF_READING = (
    "by", "explain", "confidence", "draws", "seed", "save_draws", "save_influences", "adjust", "margin", "superiority",
    "cluster",
    "strata", "sequence", "tags",
)  # fmt: skip
TAG, MOST_TAGS, LONGEST_TAG = r"[A-Za-z][A-Za-z0-9._-]{0,63}", 32, 200
F = TypeVar("F", bound=Callable[..., Any])


class Settings(TypedDict, total=False):
    """The settings that `evaluate`, `compare`, `Accumulator` and `evaluate_shards` share, as keyword arguments.

    `delimiter` and `decimal` say how text files are parsed, and are not part of a `Request`.
    """

    by: By
    missing: str | None
    extra: str | None
    columns: Mapping[str, str] | None
    options: Mapping[str, Any] | None
    explain: Sequence[str] | str
    confidence: float | None
    draws: int
    seed: int
    save_draws: bool
    save_influences: bool
    adjust: str
    margin: Mapping[str, Any] | None
    superiority: bool
    cluster: str | None
    strata: str | None
    sequence: str | None
    tags: Mapping[str, str] | None
    delimiter: str | None
    decimal: str | None


class RunDesign(Frozen):
    """How several runs over the same units are read.

    `factor` is what the runs are: "seeds", "readers", "annotators" or "replies". With `paired`, run k of both models
    belongs together (one seed, split or reader). `fixed` "runs" speaks of these runs alone, "items" of these units
    alone. `df` is how degrees of freedom are found: "satterthwaite", or "hillis", which leaves the units' term out.
    `covariance` is that of runs over units: by "jackknife", or for an area under the ROC curve by "delong".
    """

    factor: Factor
    paired: bool = False
    fixed: Fixed | None = None
    df: RunDf = "satterthwaite"
    covariance: RunCovariance = "jackknife"

    @classmethod
    def of(
        cls, runs: str, pair_runs: bool = False, fixed: str | None = None, df: str | None = None,
        cov: str | None = None, like: str | None = None,
    ) -> RunDesign:  # fmt: skip
        """Check what was given. `like` names a program of reader studies whose numbers are wanted."""
        if like is not None:
            if like not in LIKE:
                raise InvalidSetting(
                    f"like='{like}' is not a known preset", remedy=f"Choose one of: {', '.join(LIKE)}."
                )
            if runs != "readers" or df is not None or cov is not None:
                raise Conflict(
                    f"like='{like}' sets the covariance and the degrees of freedom of readers",
                    remedy="Use it with runs='readers', without df and cov.",
                )
            pair_runs, cov = True, LIKE[like]
        limited = {
            "runs": (runs, FACTORS),
            "fixed": (fixed, FIXED),
            "df": (df, ("satterthwaite", "hillis")),
            "cov": (cov, ("jackknife", "delong")),
        }
        for name, (value, choices) in limited.items():
            if value is not None and value not in choices:
                raise InvalidSetting(
                    f"{name}={value!r} is not a valid choice", remedy=f"Choose {' or '.join(choices)}."
                )
        if cov == "delong" and runs == "annotators":
            raise Conflict(
                "cov='delong' needs one truth for all runs, and annotators have a truth each", remedy="Leave cov out."
            )
        return cls(
            runs,  # type: ignore[arg-type]
            bool(pair_runs) or runs == "annotators",
            fixed,  # type: ignore[arg-type]
            df or ("hillis" if runs == "readers" else "satterthwaite"),  # type: ignore[arg-type]
            cov or "jackknife",  # type: ignore[arg-type]
        )


class Request(Frozen):
    """What was asked for.

    `metrics` None is the default set. `by` names columns to slice by, several crossed in one tuple. `missing` says what
    to do with truth that has no prediction ("error", "worst" or "skip") and `extra` with predictions without truth
    ("error" or "skip"); None is the task's custom. `columns` renames the data's columns, `options` are the task's own,
    `explain` names other tools whose numbers the report explains. `confidence` None makes no intervals; `draws` and
    `seed` are of the bootstrap, and `save_draws` keeps every score under its draws. `save_influences` keeps what each
    unit contributes to each score, so that results are compared and pooled without their data. For comparisons,
    `adjust` says how p-values are corrected ("max-t", "holm", "fdr" or "none"), and `margin` how much a metric may
    lose: {"map": 0.005}, or {"mae": "2%"} of the first model's value; `superiority` asks on how many units a model is
    better than the first. `cluster` names the column of units that are resampled together, and `strata` the column
    whose shares were fixed by design and stay the same in every draw. `proxy` names what stands for the truth of units
    that have none, and `judge_correction` how its errors are taken out; `label_probability` names the truth's column of
    the probabilities with which units were chosen to be labelled. With `sequence` intervals hold at every look while
    data grow: "exact" for means of bounded unit scores alone, "approximate" for others too. `runs` says how several
    runs of a model are read. `tags` decide nothing: they are what a reader finds the run by, {"model": "small", "date":
    "2026-03-01"}.
    """

    task: str
    metrics: tuple[str | Metric, ...] | None = None
    by: tuple[tuple[str, ...], ...] = ()
    missing: str | None = None
    extra: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    explain: tuple[str, ...] = ()
    confidence: float | None = 0.95
    draws: int = 1000
    seed: int = 0
    save_draws: bool = False
    adjust: Adjust = "max-t"
    margin: Mapping[str, str] = field(default_factory=dict)
    superiority: bool = False
    cluster: str | None = None
    strata: str | None = None
    proxy: str | None = None
    judge_correction: Correction = "difference"
    label_probability: str | None = None
    sequence: Sequenced | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    runs: RunDesign | None = None
    save_influences: bool = False

    @property
    def level(self) -> float:
        """The confidence of intervals and tests: 0.95 unless the request sets one."""
        return 0.95 if self.confidence is None else self.confidence

    @classmethod
    def of(cls, task: str, metrics: Metrics = None, settings: Settings | None = None) -> Request:
        """Check what was given. An unknown setting is an error that names the nearest."""
        values: dict[str, Any] = dict(settings or {})
        own = ("task", "metrics", "proxy", "judge_correction", "label_probability", "runs")
        setting_names = [one.name for one in fields(cls) if one.name not in own]
        for name in values:
            if name not in setting_names:
                raise TypeError(f"there is no setting '{name}'. {nearest(name, setting_names)}")
        request = cls(
            task,
            _metric_list(metrics),
            tuple(crossed_columns(columns) for columns in _several(values.pop("by", ()), "by")),
            columns=_mapping(values.pop("columns", None), "columns", "{'weight': 'grams'}"),
            options=_mapping(values.pop("options", None), "options", "{'angle': 'radians'}"),
            explain=_tools(values.pop("explain", ())),
            tags=_mapping(values.pop("tags", None), "tags", "{'model': 'small'}"),
            margin={
                str(k): str(v) for k, v in _mapping(values.pop("margin", None), "margins", "{'map': 0.005}").items()
            },
        )
        request = replace(request, **values)
        request.check()
        return request

    def with_runs(
        self, runs: str | None, pair_runs: bool, fixed: str | None, df: str | None, cov: str | None, like: str | None
    ) -> Request:
        """Return the request with several runs; `runs` names their kind."""
        if runs is not None:
            return replace(self, runs=RunDesign.of(runs, pair_runs, fixed, df, cov, like))
        run_settings = {"pair_runs": pair_runs or None, "fixed": fixed, "df": df, "cov": cov, "like": like}
        for name, value in run_settings.items():
            if value is not None:
                raise Conflict(
                    f"`{name}` is only for several runs", remedy="Say what they are, such as `runs='seeds'`."
                )
        return self

    def check(self) -> None:
        """Raise InputError where a setting is out of its range."""
        for name, value, kind in (
            ("confidence", self.confidence, Real),
            ("draws", self.draws, Integral),
            ("seed", self.seed, Integral),
        ):
            if (value is not None or name != "confidence") and not isinstance(value, kind):
                expected = "a number" if kind is Real else "a whole number"
                raise InvalidSetting(f"{name} is {value!r}", remedy=f"It must be {expected}.")
        for name in ("missing", "extra", "adjust", "sequence", "judge_correction"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                raise InvalidSetting(f"{name} is {getattr(self, name)!r}", remedy="Give a text.")
        for name in ("save_draws", "save_influences", "superiority"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidSetting(f"{name} is {getattr(self, name)!r}", remedy="It is True or False.")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise OutOfRange(
                f"a confidence of {self.confidence:g} is not between 0 and 1", remedy="For 95 % write 0.95."
            )
        if self.confidence is not None and not 100 <= self.draws <= 1_000_000:
            raise OutOfRange(f"{self.draws} draws are out of range", remedy="Choose from 100 to 1,000,000.")
        if self.confidence is not None and (1 - self.confidence) * self.draws < 1:
            raise InvalidSetting(
                f"{count_text(self.draws, 'draw')} cannot show a confidence of {self.confidence!r}",
                remedy="Choose a lower level, or more draws: 1 / (1 - level) at least.",
            )
        if self.save_draws and self.confidence is None:
            raise Conflict(
                "without intervals there are no draws to save", remedy="Leave `confidence=None` out, or `save_draws`."
            )
        if self.save_influences and self.confidence is None:
            raise Conflict(
                "without intervals there are no influences to save",
                remedy="Leave `confidence=None` out, or `save_influences`.",
            )
        if self.adjust not in ADJUSTMENTS:
            raise InvalidSetting(
                f"'{self.adjust}' is not a known correction", remedy=f"Choose one of: {', '.join(ADJUSTMENTS)}."
            )
        for name in ("cluster", "strata"):
            column = getattr(self, name)
            if column is not None and not (isinstance(column, str) and column):
                raise InvalidSetting(f"{name} is {column!r}", remedy="Give the name of a column as a text.")
        if self.sequence is not None:
            self._check_sequence()
        check_tags(self.tags)
        if self.cluster is not None and self.cluster == self.strata:
            raise Conflict(
                f"'{self.cluster}' cannot be both cluster and strata",
                remedy="Clusters are resampled and strata are kept: name two different columns.",
            )
        if self.judge_correction not in CORRECTIONS:
            raise InvalidSetting(
                f"'{self.judge_correction}' is not a known correction of a judge",
                remedy=f"Choose {' or '.join(CORRECTIONS)}.",
            )
        if self.label_probability is not None:
            self._check_label_probability()
        if self.judge_correction != "difference" and self.proxy is None:
            raise MissingData("there is no judge to correct", remedy="Give its labels as the proxy.")
        if self.seed < 0:
            raise OutOfRange(f"the seed {self.seed} is negative", remedy="Choose a whole number from 0 up.")
        if self.seed >= 1 << 63:
            raise OutOfRange("the seed has more than 63 bits", remedy="Choose a smaller one.")

    def _check_label_probability(self) -> None:
        if not (isinstance(self.label_probability, str) and self.label_probability):
            raise InvalidSetting(
                f"label_probability is {self.label_probability!r}", remedy="Give the name of a column as a text."
            )
        if self.proxy is None:
            raise InvalidSetting(
                "labels chosen with probabilities need a proxy", remedy="Give a judge's labels as the proxy."
            )
        if self.judge_correction != "difference" or self.cluster is not None:
            other = "`judge_correction='rates'`" if self.judge_correction != "difference" else "`cluster`"
            raise Conflict(f"`label_probability` cannot be combined with {other}", remedy="Leave one of them out.")

    def _check_sequence(self) -> None:
        if self.sequence not in SEQUENCES:
            raise InvalidSetting(
                f"'{self.sequence}' is not a known sequence", remedy=f"Choose one of: {', '.join(SEQUENCES)}."
            )
        if self.confidence is None:
            raise Conflict(
                "without intervals there is no sequence", remedy="Leave `confidence=None` out, or `sequence`."
            )
        if self.superiority:
            raise Conflict("`superiority` cannot be combined with `sequence`", remedy="Leave one of them out.")
        if self.cluster is not None or self.strata is not None or self.proxy is not None:
            raise Unsupported("a sequence of clusters, strata or a proxy is not known", remedy="Leave one of them out.")
        shares = [spec for spec, size in self.margin.items() if str(size).strip().endswith("%")]
        if shares:
            raise Unsupported(
                f"the margin of '{shares[0]}' is a share, which a sequence does not know", remedy="Give it as a number."
            )

    @property
    def plan(self) -> WeightPlan:
        """The bootstrap draws."""
        return WeightPlan(Role.DRAWS, seed=self.seed, rows=self.draws)

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Columns of the data that settings name, beside those that `columns` maps."""
        single = (self.cluster, self.strata, self.proxy, self.label_probability)
        return (*(name for names in self.by for name in names), *(name for name in single if name is not None))

    @property
    def has_design(self) -> bool:
        """Whether units are resampled by cluster or stratum, so that each must be listed."""
        return self.cluster is not None or self.strata is not None

    def policy(self, task: Task) -> Policy:
        """What happens to rows on one side only; "common" is "skip" for a single model."""
        missing = self.missing or task.policy.missing
        return Policy("skip" if missing == "common" else missing, self.extra or task.policy.extra)

    def measuring(self) -> Request:
        """What must be equal in states that are merged: all that decides what is measured."""
        return replace(
            self,
            metrics=None,
            explain=(),
            confidence=None,
            draws=0,
            seed=0,
            save_draws=False,
            save_influences=False,
            adjust="max-t",
            margin={},
            superiority=False,
            sequence=None,
            tags={},
            runs=None,
        )


def check_tags(tags: Mapping[str, Any]) -> None:
    """Raise InputError where a tag cannot be written, shown and asked for."""
    if len(tags) > MOST_TAGS:
        raise InvalidSetting(f"there are {len(tags)} tags", remedy=f"Give {MOST_TAGS} at most.")
    for name, value in tags.items():
        if not isinstance(name, str) or not re.fullmatch(TAG, name):
            raise InvalidSetting(
                f"{name!r} is not a tag name", remedy="Begin with a letter; then letters, digits, '.', '-' and '_'."
            )
        if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TAG or not value.isprintable():
            raise InvalidSetting(
                f"the tag '{name}' is {value!r}", remedy=f"Give a text of one line, at most {LONGEST_TAG} characters."
            )


def _metric_list(metrics: Metrics) -> tuple[str | Metric, ...] | None:
    if metrics is None:
        return None
    listed = (metrics,) if isinstance(metrics, Metric) else _several(metrics, "metrics")
    for name in listed:
        if isinstance(name, type) and issubclass(name, Metric):
            raise InvalidSpec(f"{name.__name__} is a class, not a metric", remedy=f"Write {name.__name__}().")
        if not isinstance(name, str | Metric):
            raise InvalidSpec(f"{name!r} is not a metric", remedy="Give its spec as a text, such as 'mae'.")
    return listed


def crossed_columns(given: Any) -> tuple[str, ...]:
    """The columns of one slicing: a text that joins them by commas, or a sequence of names."""
    split = given.split(",") if isinstance(given, str) else ()
    columns = tuple(name.strip() for name in split) or (tuple(given) if isinstance(given, Sequence) else ())
    if not columns or not all(isinstance(name, str) and name for name in columns):
        raise InvalidSetting(f"{given!r} names no column to slice by", remedy="Give names of columns as texts.")
    return columns


def _mapping(value: Any, name: str, example: str) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidSetting(f"{name} are {value!r}", remedy=f"Give a mapping: {example}.")
    return dict(value or {})


def _several(value: Any, name: str) -> tuple[Any, ...]:
    """What is given alone or several times; None is none."""
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, Iterable) or isinstance(value, type):
        raise InvalidSetting(f"{name} is {value!r}", remedy="Give a text, or a list of texts.")
    return tuple(value)


def _tools(names: Sequence[str] | str) -> tuple[str, ...]:
    """Names of tools, also several in one text with commas between them; a text without a name stays as it is."""
    tools = _several(names, "explain")
    for name in tools:
        if not isinstance(name, str):
            raise InvalidSetting(f"{name!r} names no tool to explain", remedy="Give its name as a text.")
    parts = [part.strip() for name in tools for part in name.split(",")]
    return tuple(dict.fromkeys(part for part in parts if part)) or tools


def takes_settings(*left_out: str) -> Callable[[F], F]:
    """Show the settings behind `**settings` in a function's signature, with their defaults."""
    defaults = {one.name: one for one in fields(Request)}

    def setting_parameter(name: str) -> inspect.Parameter:
        default = defaults[name].default if name in defaults else None
        value = None if default is MISSING else default
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            setting_parameter(name)
            for name in Settings.__annotations__
            if name not in left_out and name not in [p.name for p in own]
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate
