"""Results of all kinds come back equal from JSON and from pickle, and hold no data once they are detached."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import pickle
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lazy import lazy
from support.tiers import slow_except
from support.viewer import Server, run_id
from typing_extensions import TypeAliasType

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.core import registry
from steelyard.core.explanation import Explanation, Step
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.slice import slice_key
from steelyard.results import codec
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.forms import form_of
from steelyard.results.gate import Gate, Verdict
from steelyard.results.origin import Model, SourceInfo, Sources, TaskFacts
from steelyard.results.plan import MetricPlan, Planned, PlanTable, StudyPlan
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score
from steelyard.results.sets import Drift, DriftGroup, Pool, PooledSet
from steelyard.results.vlm import Pair, PromptScore, RunSource, VlmScore

jsonschema = lazy("jsonschema")

DRAWS = 100
TRUTH = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [100, 50, 200, 10, 80, 0], "food": list("rstrst")}
A = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [110, 40, 150, 30, 90, 5]}
B = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [101, 51, 199, 11, 81, 1]}

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["a, b", "inf", "nan", "null", ""]
)
number = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0])
count = st.integers(0, (1 << 63) - 1)
texts = st.lists(text, max_size=3).map(tuple)
share = st.floats(0, 1) | st.just(math.nan)
interval = st.none() | st.tuples(number, number).filter(lambda ends: not ends[0] > ends[1])
better = st.sampled_from(["lower", "higher", "zero", "one", "none"])
draws = st.none() | st.lists(number, min_size=DRAWS, max_size=DRAWS).map(np.array)


def fitted(one: Any) -> Any:
    """A score or a difference whose interval holds its value: another one is refused."""
    value = one.value if isinstance(one, Score) else one.difference
    if one.interval is None or math.isnan(value):
        return one
    return dataclasses.replace(one, interval=(min(one.interval[0], value), max(one.interval[1], value)))


def scores_of(spec: str) -> st.SearchStrategy[Score]:
    return st.builds(
        Score, spec=st.just(spec), label=text, value=number, interval=interval, units=count, n_excluded=count,
        excluded=text, undefined_reason=text, notes=texts, better=better, measured_in=text, draws=draws,
    ).map(fitted)  # fmt: skip


def differences_of(spec: str) -> st.SearchStrategy[Difference]:
    return st.builds(
        Difference, spec=st.just(spec), label=text, a=scores_of(spec), b=scores_of(spec), difference=number,
        interval=interval, p=share, p_holm=share, verdict=text, units=count, undefined_reason=text, better=better, measured_in=text,
    ).map(fitted)  # fmt: skip


@st.composite
def by_spec(draw: st.DrawFn, make: Any) -> dict[str, Any]:
    return {spec: draw(make(spec)) for spec in draw(st.lists(text, max_size=2, unique=True))}


@st.composite
def by_slice(draw: st.DrawFn, make: Any) -> dict[Any, Any]:
    """Some slicings, some of them crossed, some without a slice."""
    by_name: dict[Any, Any] = {}
    for by in draw(st.lists(st.lists(text, min_size=1, max_size=2), max_size=2)):
        values = draw(st.lists(st.lists(text, min_size=len(by), max_size=len(by)), max_size=2))
        by_name[slice_key(by)] = {slice_key(value): draw(by_spec(make)) for value in values}
    return by_name


named = st.dictionaries(text, text, max_size=2)
request = st.builds(
    Request, task=text, metrics=st.none() | texts, by=st.lists(texts, max_size=2).map(tuple),
    missing=st.none() | text, extra=st.none() | text, columns=named, options=named, explain=texts,
    confidence=st.none() | st.floats(0.01, 0.98), draws=st.just(DRAWS), seed=count,
)  # fmt: skip
facts = st.builds(TaskFacts, title=text, unit=text, item=text)
coverage = st.builds(Coverage, count, count, count, count, count, text)
side = st.builds(SourceInfo, source=text, rows=count, digest=text)
sources = st.builds(Sources, truth=side, predictions=side, version=text)
numbers = st.dictionaries(text, number, max_size=2)
step = st.builds(Step, setting=text, ours=text, theirs=text, reason=text, values=numbers)
explanation = st.builds(
    Explanation, tool=text, version=text, ours=numbers, steps=st.lists(step, max_size=1).map(tuple), theirs=numbers,
    remarks=texts,
)  # fmt: skip
report = st.builds(
    Report, request=request, task_facts=facts, scores=by_spec(scores_of), slices=by_slice(scores_of),
    coverage=coverage, sources=sources, notes=texts, explanations=st.lists(explanation, max_size=1).map(tuple),
)  # fmt: skip
model = st.builds(Model, request=request, sources=sources, coverage=coverage)
comparison = st.builds(
    Comparison, task_facts=facts, a=model, b=model, differences=by_spec(differences_of),
    slices=by_slice(differences_of), notes=texts,
)  # fmt: skip
lineup = st.builds(Lineup, st.lists(comparison, min_size=1, max_size=2).map(tuple), notes=texts)
verdict = st.builds(
    Verdict, rule=text, outcome=st.sampled_from(["pass", "fail", "undecided"]), reason=text, metric=text, label=text,
    where=text, value=number, interval=interval, bound=number, baseline=st.none() | number,
    difference=st.none() | number, difference_interval=interval, p=st.none() | number, level=st.none() | number,
    method=st.sampled_from(["value", "interval", "paired randomisation", "paired draws", "unpaired"]), better=better,
    measured_in=text, notes=texts,
)  # fmt: skip
gate = st.builds(
    Gate, task=text, unit=text, units=count, result=text, baseline=st.none() | text, confidence=st.none() | number,
    verdicts=st.lists(verdict, min_size=1, max_size=2).map(tuple), notes=texts,
)  # fmt: skip
counts = st.dictionaries(text, count, max_size=2)
prompt_score = st.builds(
    PromptScore, model=text, prompt=text, report=st.none() | report, readings=count, parsed=count, followed_up=count,
    outcomes=counts, lost=named, problems=counts, constant=st.none() | comparison, guess=number,
    controls=st.dictionaries(text, comparison, max_size=1),
)  # fmt: skip
pair = st.builds(Pair, a=text, b=text, question=text, frames=count, comparison=comparison)
vlm_score = st.builds(
    VlmScore, task=text, rows=st.lists(prompt_score, max_size=1).map(tuple), pairs=st.lists(pair, max_size=1).map(tuple),
    frames=count, confidence=st.none() | number, parser=count,
    runs=st.lists(st.builds(RunSource, folder=text, models=texts, prompts=named), max_size=1).map(tuple), notes=texts,
)  # fmt: skip
planned = st.none() | st.builds(Planned, units=count, cautious=count, low=count, high=count)
plan_table = st.builds(
    PlanTable, row_name=text, column_name=text, rows=st.tuples(count), columns=st.tuples(count),
    cells=st.tuples(st.tuples(st.tuples(number, number))),
)  # fmt: skip
metric_plan = st.builds(
    MetricPlan, spec=text, measured_in=text, curve=st.tuples(st.tuples(count, number, number)),
    target=st.none() | number, needed=planned, spread=st.tuples(number, number), width=st.none() | number,
    needed_for_width=planned, table=st.none() | plan_table,
)  # fmt: skip
plan = st.builds(
    StudyPlan, task=text, unit=text, units=count, power=number, confidence=number,
    metrics=st.lists(metric_plan, min_size=1, max_size=2).map(tuple), pilot=text, notes=texts,
)  # fmt: skip
pooled_set = st.builds(PooledSet, name=text, units=count, weight=number)
pool = st.builds(
    Pool, task=text, unit=text, confidence=number, sets=st.lists(pooled_set, min_size=1, max_size=2).map(tuple),
    drawn=st.sampled_from(["fixed", "random"]), weights=text, shared_units=count, notes=texts,
)  # fmt: skip
drift_group = st.builds(DriftGroup, value=text, old_units=count, new_units=count, share=number, excluded=st.booleans())
drift = st.builds(
    Drift, task=text, unit=text, confidence=number, old=text, new=text, units=st.tuples(count, count),
    differences=comparison.map(lambda made: made.differences), by=st.just(""),
    plain=st.dictionaries(text, number, max_size=2), mix=st.dictionaries(text, number, max_size=2),
    groups=st.lists(drift_group, max_size=2).map(tuple), notes=texts,
)  # fmt: skip
DRAWN = {
    "report": report, "comparison": comparison, "lineup": lineup, "gate": gate, "vlm-score": vlm_score, "plan": plan,
    "pool": pool, "drift": drift,
}  # fmt: skip


@cache
def validator() -> Any:
    schema = json.loads((files("steelyard.results") / "schema" / "result-2.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("kind", DRAWN)
def test_what_is_written_is_what_is_read(kind: str) -> None:
    @settings(max_examples=12, deadline=None)
    @given(DRAWN[kind])
    def holds(result: Any) -> None:
        data = json.loads(result.to_json())
        assert data["kind"] == kind
        assert codec.decode(data) == result
        assert codec.encode(codec.decode(data)) == data
        assert pickle.loads(pickle.dumps(result)) == result
        validator().validate(data)

    holds()


def test_every_kind_is_drawn() -> None:
    assert set(DRAWN) == set(codec.KINDS)
    assert validator().schema == codec.schema()


@cache
def kinds() -> dict[str, Any]:
    """A result of each kind that has live evidence, or the parts of one."""
    compared = sy.compare("weights", TRUTH, [A, B, TRUTH], metrics=["mae"], by=["food"], draws=DRAWS)
    made = sy.evaluate("weights", TRUTH, A, by=["food", ("food", "dish")], draws=DRAWS, save_draws=True)
    row = PromptScore("m", "direct", made, 6, 5, 0, {"ok": 5}, {}, {}, compared[0], 80.0, {"blank": compared[1]})
    scored = VlmScore("weights", (row,), (Pair("a", "b", "is it better?", 5, compared[0]),), 6, 0.95, 1)
    return {"report": made, "comparison": compared[0], "lineup": compared, "vlm-score": scored}


@pytest.mark.parametrize("kind", slow_except(["report", "comparison", "lineup", "vlm-score"], "report", "comparison"))
def test_details_come_back(kind: str) -> None:
    result = kinds()[kind]
    data = json.loads(result.to_json(details=True))
    again = codec.decode(data)
    assert again == result
    assert codec.encode(again) == data
    assert again.to_html() == result.to_html()
    validator().validate(data)
    stored = result.with_details()
    assert pickle.loads(pickle.dumps(stored)).to_html() == result.to_html()
    assert json.loads(stored.detach().to_json()) == data


def test_numbers_do_not_depend_on_evidence() -> None:
    report = kinds()["report"]
    assert report == report.detach() == report.with_details()
    assert report != sy.evaluate("weights", TRUTH, A, by=["food", ("food", "dish")], draws=DRAWS)  # without the draws
    for lacking in (report.detach(), pickle.loads(pickle.dumps(report)), codec.decode(report.to_dict())):
        with pytest.raises(ValueError, match=r"holds no units.*with_details.*`details=True`"):
            lacking.units()
        with pytest.raises(KeyError, match=r"not a figure.*with_details"):
            lacking.figure("agreement")
        assert "with details" in lacking.to_html()


def arrays(value: Any, seen: dict[int, Any] | None = None) -> dict[int, Any]:
    """Every array that can be reached from a value, and what the arrays are views of."""
    seen = {} if seen is None else seen
    if isinstance(value, np.ndarray):
        seen[id(value)] = value
        arrays(value.base, seen)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in vars(value):
            arrays(getattr(value, name), seen)
    elif isinstance(value, Mapping):
        for one in value.values():
            arrays(one, seen)
    elif isinstance(value, tuple | list):
        for one in value:
            arrays(one, seen)
    return seen


@pytest.mark.parametrize("task", ["weights", "boxes"])
@pytest.mark.parametrize("form", ["detach", "pickle", "with_details"])
def test_no_array_of_the_data_stays_alive(task: str, form: str) -> None:
    folder = files("steelyard") / "samples" / task
    ending = "json" if task == "boxes" else "csv"
    sides = [str(folder / f"{name}.{ending}") for name in ("truth", "model_a", "model_b")]
    results: list[Any] = [sy.evaluate(task, *sides[:2], draws=DRAWS), sy.compare(task, *sides, draws=DRAWS)]
    change = {"pickle": lambda result: pickle.loads(pickle.dumps(result))}.get(form, lambda r: getattr(r, form)())
    kept = [change(result) for result in results]
    own = set() if form != "with_details" else set(arrays(kept))  # the ids of units, which a table of units has
    held = [weakref.ref(array) for result in results for key, array in arrays(result.details).items() if key not in own]
    assert len(held) > 20
    del results
    gc.collect()
    assert sum(one() is not None for one in held) == 0
    assert len(kept) == 2


def test_a_slice_is_a_tuple_of_values() -> None:
    truth = {"dish": ["1", "2"], "weight": [10, 20], "food": ["p, q", "p"], "cut": ["r", "q, r"]}
    report = sy.evaluate("weights", truth, {"dish": ["1", "2"], "weight": [11, 25]}, ["mae"], by=[("food", "cut")])
    again = codec.decode(json.loads(report.to_json()))
    for one in (report, again):
        assert one.slices["food", "cut"]["p, q", "r"]["mae"].value == 1
        assert one.slices["food", "cut"]["p", "q, r"]["mae"].value == 5
    rule = 'mae[food="p", cut="q, r"] > 4'
    assert [v.outcome for v in sy.gate(again, [rule, 'mae[food="p, q", cut=r] > 4']).verdicts] == ["fail", "pass"]


def test_a_gate_takes_what_is_about_one_model() -> None:
    results = kinds()
    two = Lineup(results["lineup"].comparisons[:1])
    assert sy.gate(two.to_dict(), "mae > 1000").outcome == "pass"
    with pytest.raises(sy.InputError, match=r"holds several models: A, B, C.*Name one with `model=NAME`"):
        sy.gate(results["lineup"].to_dict(), "mae > 1")
    assert sy.gate(results["vlm-score"].to_dict(), "mae > 100000").outcome == "pass"  # of one prompt
    with pytest.raises(sy.InputError, match="is a gate: it holds verdicts"):
        sy.gate(sy.gate(results["report"], "mae > 1").to_dict(), "mae > 1")


KINDS = ["report", "comparison", "lineup", "vlm-score", "gate"]


@cache
def every_kind() -> dict[str, Any]:
    results = kinds()
    return {**results, "gate": sy.gate(results["report"], ["mae > 1", "mae > 1000"])}


@pytest.mark.parametrize("kind", KINDS)
def test_the_viewer_shows_every_kind(kind: str, tmp_path: Path) -> None:
    result = every_kind()[kind]
    result.to_json(tmp_path / f"{kind}.json")
    server = Server(tmp_path)
    try:
        row = next(part for part in server.get("/").text.split("<tr>") if f"{kind}.json" in part)
        assert "weights" in row
        assert 'class="problem"' not in row
        page = server.get(f"/run/{run_id(f'{kind}.json')}")
        assert page.status == 200
        assert "<h1>" in page.text
    finally:
        server.close()


def test_the_command_takes_every_kind(tmp_path: Path, steelyard: Callable[..., Any]) -> None:
    for kind, result in every_kind().items():
        result.to_json(tmp_path / f"{kind}.json")
        assert sy.load(tmp_path / f"{kind}.json") == result
        shown = CliRunner().invoke(
            cli, ["report", str(tmp_path / f"{kind}.json"), "-o", str(tmp_path / f"{kind}.html")]
        )
        assert shown.exit_code == 0, shown.output
        assert (tmp_path / f"{kind}.html").read_text(encoding="utf-8") == result.detach().to_html()
    done = steelyard("report", "gate.json", "--figures", "charts")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a gate has no form 'figures'" in done.stderr
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".html"] * 5 + [".json"] * 5


def test_forms_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    point = metadata.EntryPoint("report.shout", "json:dumps", "steelyard.renderers")
    report = kinds()["report"]
    registry.plugins.cache_clear()
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == "steelyard.renderers" else [])
    with pytest.raises(TypeError, match="not JSON serializable"):
        report.render("shout")
    with pytest.raises(sy.InputError, match=r"a report has no form 'slides'.*text, markdown, html, .*, shout, json"):
        report.render("slides")
    with pytest.raises(sy.InputError, match="a gate has no form 'figures'"):
        sy.gate(report, "mae > 1").write_figures("nowhere")
    registry.plugins.cache_clear()


def test_a_named_alias_is_what_it_stands_for() -> None:
    """NDArray is one from NumPy 2.5 on; its draws must still be written."""
    inner = TypeVar("inner")
    alias = TypeAliasType("alias", np.ndarray[tuple[int, ...], np.dtype[inner]], type_params=(inner,))
    assert form_of(alias[Any] | None).encode(np.array([1.5])) == form_of(np.ndarray).encode(np.array([1.5]))
    number = TypeAliasType("number", float)
    assert form_of(TypeAliasType("numbers", tuple[number, ...])).encode((1.5, 2.0)) == [1.5, 2.0]
    optional = TypeAliasType("optional", inner | None, type_params=(inner,))

    arrays = {"direct": alias[Any] | None, "named": optional[np.ndarray[Any, Any]]}
    Held = dataclasses.make_dataclass("Held", [*arrays.items(), ("text", str | None)])
    assert form_of(Held).encode(Held(None, None, None)) == {"text": None}
