"""Remarks that several metrics share, said once."""

from __future__ import annotations

from collections.abc import Iterable

_PLURAL = {"rests": "rest", "has": "have", "leaves": "leave", "is": "are"}
_MOST = 6


def merged(remarks: Iterable[str], specs: Iterable[str]) -> list[str]:
    """Each remark once: "rmse rests on ..." and "r2 rests on ..." become "rmse and r2 rest on ...".

    A remark belongs to a metric where it begins with its spec; others stay as they are, in their order.
    """
    known = sorted(specs, key=len, reverse=True)
    shared: dict[str, list[str]] = {}
    for remark in dict.fromkeys(remarks):
        spec = next((name for name in known if remark.startswith(f"{name} ")), "")
        shared.setdefault(remark[len(spec) :] if spec else remark, []).append(spec)
    return [_said(rest, named) for rest, named in shared.items()]


def _said(rest: str, named: list[str]) -> str:
    if len(named) == 1:
        return named[0] + rest
    verb, _, more = rest.strip().partition(" ")
    more = more.replace("the interval is likely", "their intervals are likely")
    first, last = named[:-1], named[-1]
    if len(named) > _MOST:
        first, last = named[: _MOST - 1], f"{len(named) - _MOST + 1} more metrics"
    return f"{', '.join(first)} and {last} {_PLURAL.get(verb, verb)} {more}"
