"""The metrics of events, and `MetricsHost`, which computes them with what they depend on."""

from __future__ import annotations

import inspect
import logging
import time
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.compat.motmetrics import math_util
from steelyard.compat.motmetrics.lap import linear_sum_assignment
from steelyard.compat.motmetrics.mot import MOTAccumulator

EXTRA = ("ASCEND", "TRANSFER", "MIGRATE")


def _dependencies(function: Any) -> list[str]:
    """The names of the arguments behind the first that have no default."""
    spec = inspect.getfullargspec(function)
    return spec.args[1 : len(spec.args) - len(spec.defaults or ())]


class MetricsHost:
    """Metrics by name, with their dependencies."""

    def __init__(self) -> None:
        self.metrics: dict[str, dict[str, Any]] = {}

    def register(
        self,
        fnc: Any,
        deps: Any = "auto",
        name: Any = None,
        helpstr: Any = None,
        formatter: Any = None,
        fnc_m: Any = None,
        deps_m: Any = "auto",
    ) -> None:
        """Add a metric: a function of the events and of the metrics that its other arguments name.

        `fnc_m` combines the results of several sequences.
        """
        assert fnc is not None, f"No function given for metric {name}"
        name = fnc.__name__ if name is None else name
        if helpstr is None:
            helpstr = " ".join((inspect.getdoc(fnc) or "No description.").split())
        if fnc_m is None:
            fnc_m = globals().get(name + "_m")
        if fnc_m is None:
            deps_m = None
        self.metrics[name] = {
            "name": name,
            "fnc": fnc,
            "fnc_m": fnc_m,
            "deps": _dependencies(fnc) if deps == "auto" else deps or [],
            "deps_m": _dependencies(fnc_m) if deps_m == "auto" else deps_m if fnc_m is None else deps_m or [],
            "help": helpstr,
            "formatter": formatter,
        }

    @property
    def names(self) -> list[str]:
        """The names of all metrics."""
        return [metric["name"] for metric in self.metrics.values()]

    @property
    def formatters(self) -> dict[str, Any]:
        """The formatters of the metrics that have one."""
        return {name: m["formatter"] for name, m in self.metrics.items() if m["formatter"] is not None}

    def list_metrics(self, include_deps: bool = False) -> Any:
        """A table of names, descriptions and, on request, dependencies."""
        import pandas as pd

        fields = {"Name": "name", "Description": "help", **({"Dependencies": "deps"} if include_deps else {})}
        rows = [tuple(metric[field] for field in fields.values()) for metric in self.metrics.values()]
        return pd.DataFrame(rows, columns=list(fields))

    def list_metrics_markdown(self, include_deps: bool = False) -> str:
        """The same in Markdown."""
        import pandas as pd

        table = self.list_metrics(include_deps=include_deps)
        line = pd.DataFrame([[":---"] * len(table.columns)], columns=table.columns)
        text: str = pd.concat([line, table]).to_csv(sep="|", index=False)
        return text

    def compute(
        self,
        df: Any,
        ana: Any = None,
        metrics: Any = None,
        return_dataframe: bool = True,
        return_cached: bool = False,
        name: Any = None,
    ) -> Any:
        """Metrics of an accumulator or a table of events, as a table with one row or a dict."""
        events = events_to_df_map(df.events if isinstance(df, MOTAccumulator) else df)
        cache: dict[str, Any] = {}
        listed = _listed(metrics)
        for metric in listed:
            cache[metric] = self._compute(events, metric, cache, {"ana": ana}, parent="summarize")
        return _result(cache, listed, return_dataframe, return_cached, name)

    def compute_overall(
        self,
        partials: Any,
        metrics: Any = None,
        return_dataframe: bool = True,
        return_cached: bool = False,
        name: Any = None,
    ) -> Any:
        """Metrics of several sequences together, from the results of each."""
        cache: dict[str, Any] = {}
        listed = _listed(metrics)
        for metric in listed:
            cache[metric] = self._compute_overall(partials, metric, cache, parent="summarize")
        return _result(cache, listed, return_dataframe, return_cached, name)

    def compute_many(
        self, dfs: Any, anas: Any = None, metrics: Any = None, names: Any = None, generate_overall: bool = False
    ) -> Any:
        """Metrics of several accumulators, a row each; with `generate_overall` also of all together."""
        import pandas as pd

        assert names is None or len(names) == len(dfs)
        start = time.time()
        listed = _listed(metrics)
        names = list(range(len(dfs))) if names is None else names
        anas = [None] * len(dfs) if anas is None else anas
        partials = [
            self.compute(df, ana=ana, metrics=listed, name=name, return_cached=True, return_dataframe=False)
            for df, ana, name in zip(dfs, anas, names, strict=False)
        ]
        logging.info("partials: %.3f seconds.", time.time() - start)
        rows = [_result(part, listed, True, False, name) for part, name in zip(partials, names, strict=False)]
        if generate_overall:
            rows.append(self.compute_overall(partials, metrics=listed, name="OVERALL"))
        logging.info("mergeOverall: %.3f seconds.", time.time() - start)
        return pd.concat(rows)

    def _metric(self, name: str, parent: Any) -> Any:
        assert name in self.metrics, f"Cannot find metric {name} required by {parent}."
        return self.metrics[name]

    def _compute(self, df_map: Any, name: str, cache: Any, options: Any, parent: Any = None) -> Any:
        metric = self._metric(name, parent)
        if cache.get(name) is not None:
            return cache[name]
        for dependency in metric["deps"]:
            if cache.get(dependency) is None:
                cache[dependency] = self._compute(df_map, dependency, cache, options, parent=name)
        values = [cache[dependency] for dependency in metric["deps"]]
        keywords = {} if inspect.getfullargspec(metric["fnc"]).defaults is None else options
        return metric["fnc"](df_map, *values, **keywords)

    def _compute_overall(self, partials: Any, name: str, cache: Any, parent: Any = None) -> Any:
        metric = self._metric(name, parent)
        if cache.get(name) is not None:
            return cache[name]
        for dependency in metric["deps_m"]:
            if cache.get(dependency) is None:
                cache[dependency] = self._compute_overall(partials, dependency, cache, parent=name)
        assert metric["fnc_m"] is not None, f"merge function for metric {name} is None"
        return metric["fnc_m"](partials, *(cache[dependency] for dependency in metric["deps_m"]))


def _listed(metrics: Any) -> Any:
    if metrics is None:
        return motchallenge_metrics
    return [metrics] if isinstance(metrics, str) else metrics


def _result(cache: Any, metrics: Any, return_dataframe: bool, return_cached: bool, name: Any) -> Any:
    data = cache if return_cached else {metric: cache[metric] for metric in metrics}
    if not return_dataframe:
        return data
    import pandas as pd

    return pd.DataFrame(data, index=[0 if name is None else name])


class DataFrameMap:
    """A table of events: all, the RAW ones, those that are not (`extra`), and of these the main ones (`noraw`)."""

    def __init__(self, full: Any, raw: Any = None, noraw: Any = None, extra: Any = None) -> None:
        self.full = full
        for name, table in (("raw", raw), ("noraw", noraw), ("extra", extra)):
            if table is not None:
                self.__dict__[name] = table

    @cached_property
    def raw(self) -> Any:
        """The RAW events."""
        return self.full[self.full.Type == "RAW"]

    @cached_property
    def noraw(self) -> Any:
        """MATCH, SWITCH, MISS and FP."""
        return self.full[~self.full.Type.isin(["RAW", *EXTRA])]

    @cached_property
    def extra(self) -> Any:
        """All that are not RAW."""
        return self.full[self.full.Type != "RAW"]


def events_to_df_map(df: Any) -> DataFrameMap:
    """A table of events in the parts that metrics read."""
    return DataFrameMap(df)


def num_frames(df: Any) -> Any:
    """Total number of frames."""
    return df.full.index.get_level_values(0).unique().shape[0]


def obj_frequencies(df: Any) -> Any:
    """Total number of occurrences of individual objects over all frames."""
    return df.noraw.OId.value_counts()


def pred_frequencies(df: Any) -> Any:
    """Total number of occurrences of individual predictions over all frames."""
    return df.noraw.HId.value_counts()


def num_unique_objects(df: Any, obj_frequencies: Any) -> Any:
    """Total number of unique object ids encountered."""
    return len(obj_frequencies)


def num_matches(df: Any) -> Any:
    """Total number matches."""
    return (df.noraw.Type == "MATCH").sum()


def num_switches(df: Any) -> Any:
    """Total number of track switches."""
    return (df.noraw.Type == "SWITCH").sum()


def num_transfer(df: Any) -> Any:
    """Total number of track transfer."""
    return (df.extra.Type == "TRANSFER").sum()


def num_ascend(df: Any) -> Any:
    """Total number of track ascend."""
    return (df.extra.Type == "ASCEND").sum()


def num_migrate(df: Any) -> Any:
    """Total number of track migrate."""
    return (df.extra.Type == "MIGRATE").sum()


def num_false_positives(df: Any) -> Any:
    """Total number of false positives (false-alarms)."""
    return (df.noraw.Type == "FP").sum()


def num_misses(df: Any) -> Any:
    """Total number of misses."""
    return (df.noraw.Type == "MISS").sum()


def num_detections(df: Any, num_matches: Any, num_switches: Any) -> Any:
    """Total number of detected objects including matches and switches."""
    return num_matches + num_switches


def num_objects(df: Any, obj_frequencies: Any) -> Any:
    """Total number of unique object appearances over all frames."""
    return obj_frequencies.sum()


def num_predictions(df: Any, pred_frequencies: Any) -> Any:
    """Total number of unique prediction appearances over all frames."""
    return pred_frequencies.sum()


def track_ratios(df: Any, obj_frequencies: Any) -> Any:
    """Ratio of assigned to total appearance count per unique object id."""
    tracked = df.noraw[df.noraw.Type != "MISS"]["OId"].value_counts()
    return tracked.div(obj_frequencies).fillna(0.0)


def mostly_tracked(df: Any, track_ratios: Any) -> Any:
    """Number of objects tracked for at least 80 percent of lifespan."""
    return track_ratios[track_ratios >= 0.8].count()


def partially_tracked(df: Any, track_ratios: Any) -> Any:
    """Number of objects tracked between 20 and 80 percent of lifespan."""
    return track_ratios[(track_ratios >= 0.2) & (track_ratios < 0.8)].count()


def mostly_lost(df: Any, track_ratios: Any) -> Any:
    """Number of objects tracked less than 20 percent of lifespan."""
    return track_ratios[track_ratios < 0.2].count()


def num_fragmentations(df: Any, obj_frequencies: Any) -> Any:
    """Total number of switches from tracked to not tracked."""
    import pandas as pd

    codes = pd.factorize(df.noraw["OId"])[0]
    missed = (df.noraw["Type"] == "MISS").to_numpy()
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    codes, missed = codes[order], missed[order]
    tracked = np.flatnonzero(~missed)
    if not len(tracked):
        return 0
    last = np.zeros(codes[-1] + 1, dtype=np.int64) - 1
    last[codes[tracked]] = tracked  # places rise: the last one stays
    starts = np.flatnonzero(missed[1:] & ~missed[:-1] & (codes[1:] == codes[:-1])) + 1
    return np.int64((starts < last[codes[starts]]).sum())


def motp(df: Any, num_detections: Any) -> Any:
    """Multiple object tracker precision."""
    return math_util.quiet_divide(df.noraw["D"].sum(), num_detections)


def motp_m(partials: Any, num_detections: Any) -> Any:
    """`motp` of all sequences."""
    total: Any = 0
    for part in partials:
        total += part["motp"] * part["num_detections"]
    return math_util.quiet_divide(total, num_detections)


def mota(df: Any, num_misses: Any, num_switches: Any, num_false_positives: Any, num_objects: Any) -> Any:
    """Multiple object tracker accuracy."""
    return 1.0 - math_util.quiet_divide(num_misses + num_switches + num_false_positives, num_objects)


def precision(df: Any, num_detections: Any, num_false_positives: Any) -> Any:
    """Number of detected objects over sum of detected and false positives."""
    return math_util.quiet_divide(num_detections, num_false_positives + num_detections)


def recall(df: Any, num_detections: Any, num_objects: Any) -> Any:
    """Number of detections over number of objects."""
    return math_util.quiet_divide(num_detections, num_objects)


def extract_counts_from_df_map(df: Any) -> tuple[Any, Any, Any]:
    """In how many frames each object, each hypothesis and each pair of them appears: three dicts by id."""
    import pandas as pd

    frame = pd.factorize(df.raw.index.get_level_values(0))[0]
    (o_codes, o_ids), (h_codes, h_ids) = (pd.factorize(df.raw[column]) for column in ("OId", "HId"))
    counts = []
    for codes, ids in ((o_codes, o_ids), (h_codes, h_ids)):
        seen = np.unique(codes.astype(np.int64) * (frame.max(initial=0) + 1) + frame)
        number = np.bincount(seen[seen >= 0] // (frame.max(initial=0) + 1), minlength=len(ids))
        counts.append({id_: int(number[i]) for i, id_ in sorted(enumerate(ids), key=lambda item: item[1])})
    there = (o_codes >= 0) & (h_codes >= 0) & df.raw["D"].notna().to_numpy()
    pairs, number = np.unique(o_codes[there].astype(np.int64) * len(h_ids) + h_codes[there], return_counts=True)
    keyed = {
        (o_ids[pair // len(h_ids)], h_ids[pair % len(h_ids)]): count
        for pair, count in zip(pairs.tolist(), number.tolist(), strict=True)
    }
    return counts[0], counts[1], dict(sorted(keyed.items()))


def id_global_assignment(df: Any, ana: Any = None) -> Any:
    """ID measures: Global min-cost assignment for ID measures."""
    ocs, hcs, tps = extract_counts_from_df_map(df)
    o_place, h_place = ({id_: i for i, id_ in enumerate(sorted(counts))} for counts in (ocs, hcs))
    no, nh = len(ocs), len(hcs)
    fpmatrix, fnmatrix = np.zeros((no + nh, no + nh)), np.zeros((no + nh, no + nh))
    fpmatrix[no:, :nh] = np.nan
    fnmatrix[:no, nh:] = np.nan
    for id_, count in ocs.items():
        fnmatrix[o_place[id_], [*range(nh), nh + o_place[id_]]] = count
    for id_, count in hcs.items():
        fpmatrix[[*range(no), no + h_place[id_]], h_place[id_]] = count
    for (oid, hid), count in tps.items():
        for matrix in (fpmatrix, fnmatrix):
            matrix[o_place[oid], h_place[hid]] -= count
    costs = fpmatrix + fnmatrix
    rids, cids = linear_sum_assignment(costs)
    return {
        "fpmatrix": fpmatrix,
        "fnmatrix": fnmatrix,
        "rids": rids,
        "cids": cids,
        "costs": costs,
        "min_cost": costs[rids, cids].sum(),
    }


def idfp(df: Any, id_global_assignment: Any) -> Any:
    """ID measures: Number of false positive matches after global min-cost matching."""
    return id_global_assignment["fpmatrix"][id_global_assignment["rids"], id_global_assignment["cids"]].sum()


def idfn(df: Any, id_global_assignment: Any) -> Any:
    """ID measures: Number of false negatives matches after global min-cost matching."""
    return id_global_assignment["fnmatrix"][id_global_assignment["rids"], id_global_assignment["cids"]].sum()


def idtp(df: Any, id_global_assignment: Any, num_objects: Any, idfn: Any) -> Any:
    """ID measures: Number of true positives matches after global min-cost matching."""
    return num_objects - idfn


def idp(df: Any, idtp: Any, idfp: Any) -> Any:
    """ID measures: global min-cost precision."""
    return math_util.quiet_divide(idtp, idtp + idfp)


def idr(df: Any, idtp: Any, idfn: Any) -> Any:
    """ID measures: global min-cost recall."""
    return math_util.quiet_divide(idtp, idtp + idfn)


def idf1(df: Any, idtp: Any, num_objects: Any, num_predictions: Any) -> Any:
    """ID measures: global min-cost F1 score."""
    return math_util.quiet_divide(2 * idtp, num_objects + num_predictions)


def _summed(name: str) -> Any:
    """A function that adds a metric of all sequences."""

    def add(partials: Any) -> Any:
        return sum(part[name] for part in partials)

    return add


simple_add_func = [
    num_frames,
    num_unique_objects,
    num_matches,
    num_switches,
    num_transfer,
    num_ascend,
    num_migrate,
    num_false_positives,
    num_misses,
    num_detections,
    num_objects,
    num_predictions,
    mostly_tracked,
    partially_tracked,
    mostly_lost,
    num_fragmentations,
    idfp,
    idfn,
    idtp,
]
for _function in simple_add_func:
    globals()[_function.__name__ + "_m"] = _summed(_function.__name__)
mota_m, precision_m, recall_m, idp_m, idr_m, idf1_m = mota, precision, recall, idp, idr, idf1  # ratios of sums

_WHOLE, _SHARE = "{:d}".format, "{:.1%}".format
_FORMATTED: list[tuple[Any, Any]] = [
    (num_frames, _WHOLE),
    (obj_frequencies, _WHOLE),
    (pred_frequencies, _WHOLE),
    (num_matches, _WHOLE),
    (num_switches, _WHOLE),
    (num_transfer, _WHOLE),
    (num_ascend, _WHOLE),
    (num_migrate, _WHOLE),
    (num_false_positives, _WHOLE),
    (num_misses, _WHOLE),
    (num_detections, _WHOLE),
    (num_objects, _WHOLE),
    (num_predictions, _WHOLE),
    (num_unique_objects, _WHOLE),
    (track_ratios, None),
    (mostly_tracked, _WHOLE),
    (partially_tracked, _WHOLE),
    (mostly_lost, _WHOLE),
    (num_fragmentations, None),
    (motp, "{:.3f}".format),
    (mota, _SHARE),
    (precision, _SHARE),
    (recall, _SHARE),
    (id_global_assignment, None),
    (idfp, None),
    (idfn, None),
    (idtp, None),
    (idp, _SHARE),
    (idr, _SHARE),
    (idf1, _SHARE),
]


def create() -> MetricsHost:
    """A host with all metrics of this module."""
    host = MetricsHost()
    for function, formatter in _FORMATTED:
        host.register(function, formatter=formatter)
    return host


motchallenge_metrics = [
    "idf1",
    "idp",
    "idr",
    "recall",
    "precision",
    "num_unique_objects",
    "mostly_tracked",
    "partially_tracked",
    "mostly_lost",
    "num_false_positives",
    "num_misses",
    "num_switches",
    "num_fragmentations",
    "mota",
    "motp",
    "num_transfer",
    "num_ascend",
    "num_migrate",
]
