"""What a list shows and in which order: all of it stands in the address, so that a view can be shared."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from steelyard.core.frozen import Frozen
from steelyard.view.entry import Entry

A_PAGE = 50
MOST_PICKED = 64
_LONGEST, _MOST_TAGS = 300, 16
_ID = re.compile(r"[0-9a-f]{16}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
SORTS = {"date": "date", "name": "name", "task": "task", "model": "model", "data": "data set", "units": "units"}
GROUPS = {"task": "task", "data": "data set", "model": "model", "kind": "kind"}
_TEXTS = ("q", "task", "kind", "model", "data", "since", "until", "sort", "group", "metric", "over")


class Query(Frozen):
    """A view of the list. `sort` begins with "-" where the largest comes first; `at` is the page, `runs` are picked."""

    q: str = ""
    task: str = ""
    kind: str = ""
    model: str = ""
    data: str = ""
    tags: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    sort: str = "-date"
    group: str = ""
    metric: str = ""
    over: str = "time"
    at: int = 0
    runs: tuple[str, ...] = ()

    @property
    def narrowed(self) -> bool:
        """Whether anything is left out."""
        return any((self.q, self.task, self.kind, self.model, self.data, self.tags, self.since, self.until))

    def text(self, **changes: Any) -> str:
        """The query of an address, with nothing in it that is as it is anyway."""
        shown, plain = replace(self, **changes), Query()
        pairs = [(name, value) for name in _TEXTS if (value := getattr(shown, name)) != getattr(plain, name)]
        pairs += [("tag", tag) for tag in shown.tags] + ([("at", str(shown.at))] if shown.at else [])
        return urlencode([*pairs, *(("run", run) for run in shown.runs)])


def parse_query(text: str) -> tuple[Query, bool]:
    """The view that an address asks for, and whether it names nothing else. What cannot be meant is left out."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=400)
    except ValueError:
        return Query(), False
    pairs = [(name, value) for name, value in pairs if len(value) <= _LONGEST and value.isprintable()]
    last = {name: value.strip() for name, value in pairs if name in _TEXTS}
    fields = {name: value for name, value in last.items() if value}
    for name in ("since", "until"):
        if not _is_day(fields.get(name, "2000-01-01")):
            del fields[name]
    if fields.get("sort", "name").removeprefix("-").partition(":")[0] not in (*SORTS, "metric", "tag"):
        del fields["sort"]
    if fields.get("group", "task").partition(":")[0] not in (*GROUPS, "tag"):
        del fields["group"]
    if fields.get("over") not in ("time", "runs"):
        fields.pop("over", None)
    tags = tuple(dict.fromkeys(value.strip() for name, value in pairs if name == "tag" and "=" in value))
    runs = tuple(dict.fromkeys(value for name, value in pairs if name == "run" and _ID.fullmatch(value)))
    pages = [value for name, value in pairs if name == "at" and re.fullmatch(r"[0-9]{1,6}", value)]
    query = Query(**fields, tags=tags[:_MOST_TAGS], runs=runs[:MOST_PICKED], at=int(pages[-1]) if pages else 0)
    return query, all(name in (*_TEXTS, "tag", "run", "at") for name, _ in pairs)


def matching(entries: Iterable[Entry], query: Query) -> list[Entry]:
    """The entries that a view shows, in its order."""
    words = query.q.casefold().split()
    low, high = _day(query.since), _day(query.until, end=True)
    wanted = [tuple(tag.split("=", 1)) for tag in query.tags]
    matches = [
        entry
        for entry in entries
        if (not query.task or entry.task == query.task)
        and (not query.kind or entry.kind == query.kind)
        and (not query.model or query.model in entry.models)
        and (not query.data or entry.data == query.data)
        and all(entry.tags.get(name) == value for name, value in wanted)
        and (math.isnan(low) or entry.date >= low)
        and (math.isnan(high) or entry.date < high)
        and all(word in entry.haystack for word in words)
    ]
    down = query.sort.startswith("-")
    by = query.sort.removeprefix("-")
    matches.sort(key=lambda entry: entry.name)
    matches.sort(key=lambda entry: _rank(entry, by, query.metric), reverse=down)
    matches.sort(key=lambda entry: _lacks(entry, by, query.metric))
    if query.group:
        matches.sort(key=lambda entry: (group_of(entry, query.group) == "", natural(group_of(entry, query.group))))
    return matches


def group_of(entry: Entry, group: str) -> str:
    """The name of the group that an entry is in."""
    kind, _, name = group.partition(":")
    if kind == "tag":
        return entry.tags.get(name, "")
    return str(getattr(entry, kind)) if kind in GROUPS else ""


def common(texts: Iterable[str], most: int = 200) -> list[str]:
    """Texts that occur, the common ones if there are many, in their order."""
    counted = Counter(text for text in texts if text)
    return sorted((text for text, _ in counted.most_common(most)), key=natural)


def fits(entry: Entry, picked: Sequence[Entry]) -> bool:
    """Whether a run can be compared with those that are picked: the same task, on the same truth."""
    if entry.kind != "report":
        return False
    return all((entry.task, entry.truth) == (other.task, other.truth) for other in picked)


def _rank(entry: Entry, by: str, metric: str) -> Any:
    kind, _, name = by.partition(":")
    if kind == "metric":
        score = entry.scores.get(metric)
        return math.inf if score is None or math.isnan(score.value) else score.value
    if kind == "tag":
        return natural(entry.tags.get(name, ""))
    value = getattr(entry, by)
    return natural(value) if isinstance(value, str) else value


def _lacks(entry: Entry, by: str, metric: str) -> bool:
    """Whether an entry has nothing to sort by, so that it stands last in any order."""
    kind, _, name = by.partition(":")
    if kind == "metric":
        score = entry.scores.get(metric)
        return score is None or math.isnan(score.value)
    return name not in entry.tags if kind == "tag" else getattr(entry, by) == ""


def natural(text: str) -> list[tuple[int, float, str]]:
    """A key that puts 9 in front of 10, in texts too."""
    parts = re.split(r"([0-9]{1,15})", text.casefold())
    return [(0, float(part), "") if i % 2 else (1, 0.0, part) for i, part in enumerate(parts)]


def _is_day(text: str) -> bool:
    return bool(_DAY.fullmatch(text)) and not math.isnan(_day(text))


def _day(text: str, end: bool = False) -> float:
    """The first second of a day, or the first one behind it."""
    try:
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return (day + timedelta(days=1) if end else day).timestamp()
    except (ValueError, OverflowError):
        return math.nan
