"""Compact letters: models that share one are not shown to differ.

They are computed by insert and absorb (Piepho 2004): all models begin in one group; each pair that differs splits every
group that holds both, and a group that lies in another is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compact_letters(order: Sequence[int], different: Iterable[tuple[int, int]]) -> dict[int, str]:
    """The letters of each model of `order`, the best first; nothing where there are more groups than letters."""
    groups = [frozenset(order)]
    for i, j in different:
        split: list[frozenset[int]] = []
        for group in groups:
            split += [group - {i}, group - {j}] if i in group and j in group else [group]
        groups = _maximal_groups(split)
        if len(groups) > len(ALPHABET):
            return {}
    place = {model: at for at, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[model] for model in group))
    return {
        model: "".join(letter for letter, group in zip(ALPHABET, groups, strict=False) if model in group)
        for model in order
    }


def _maximal_groups(groups: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The groups that lie in no other."""
    maximal: list[frozenset[int]] = []
    for group in sorted(set(groups), key=lambda one: (-len(one), sorted(one))):
        if not any(group <= other for other in maximal):
            maximal.append(group)
    return maximal
