"""The way through the pictures of a unit that has many: neighbours, what to look at, and a strip of all of them."""

from __future__ import annotations

from html import escape

from steelyard.core.counts import count_text
from steelyard.core.scene import Steps

COLUMNS = 240  # at most, of a strip; each stands for the step of its stretch in which there is most to see
HIGH = 10


def steps_bar(steps: Steps, at: int, address: str) -> str:
    """Links to the steps before and behind, to those with something to see, and to all of them in strips."""
    place = steps.numbers.index(at)
    last = len(steps.numbers) - 1
    turn = [f'<span class="legend">{place + 1:,} of {count_text(len(steps.numbers), steps.name)}</span>']
    ways = (0, "⇤ first", ""), (place - 1, "← before", "prev"), (place + 1, "next →", "next"), (last, "last ⇥", "")
    turn += [_link(address, steps, to, text, rel) for to, text, rel in ways if 0 <= to <= last and to != place]
    for name, counts in steps.counts.items():
        seen = [i for i, count in enumerate(counts) if count]
        before, behind = [i for i in seen if i < place], [i for i in seen if i > place]
        if before:
            turn.append(_link(address, steps, before[-1], f"← {name}", ""))
        if behind:
            turn.append(_link(address, steps, behind[0], f"{name} →", ""))
    lanes = "".join(_lane(steps, name, counts, place, address) for name, counts in steps.counts.items())
    return f'<p class="turn">{"".join(turn)}</p><div class="lanes">{lanes}</div>'


def _link(address: str, steps: Steps, to: int, text: str, relation: str) -> str:
    rel = f' rel="{relation}"' if relation else ""
    return f'<a href="{escape(address)}?at={steps.numbers[to]}"{rel}>{escape(text)}</a>'


def _lane(steps: Steps, name: str, counts: tuple[int, ...], place: int, address: str) -> str:
    """One strip: a column per step or stretch of steps, as high as its count."""
    total, most = len(counts), max(counts, default=0)
    columns = min(total, COLUMNS)
    drawn = ""
    for column in range(columns):
        first, behind = column * total // columns, (column + 1) * total // columns
        best = max(range(first, behind), key=lambda i: counts[i])
        here = first <= place < behind
        high = HIGH * counts[best] / most if most else 0.0
        words = f"{steps.name} {steps.numbers[best]}: {counts[best]} {name}"
        drawn += (
            f'<a href="{escape(address)}?at={steps.numbers[best]}" tabindex="-1"><title>{escape(words)}</title>'
            f'<rect class="{"here" if here else "step"}" x="{column}" y="0" width="1" height="{HIGH}"/>'
            f'<rect class="count" x="{column}" y="{HIGH - high:.2f}" width="1" height="{high:.2f}"/></a>'
        )
    label = escape(f"{name} by {steps.name}: {sum(counts)} in all")
    return (
        f'<span class="legend">{escape(name)} <small>{sum(counts):,}</small></span>'
        f'<svg class="lane" viewBox="0 0 {max(1, columns)} {HIGH}" preserveAspectRatio="none" role="group" '
        f'aria-label="{label}">{drawn}</svg>'
    )
