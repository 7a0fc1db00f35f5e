"""Sentences as text: what matched underlined, what did not struck through, and the tuples of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from steelyard.core.figure import Figure
from steelyard.render.numbers import value_text


def sentences(figure: Figure) -> str:
    """One block per caption."""
    blocks = []
    for image, spice, said in zip(
        figure.columns["image"], figure.columns["spice"], figure.facts["sentences"], strict=True
    ):
        blocks.append(
            f'<div class="sentence"><h4>{escape(str(image))} <small>SPICE {value_text(float(spice))}</small></h4>'
            f"<p class=said>{_marked(said['words']) or '(empty)'}</p>{_tuples(said)}"
            f"<details><summary>References</summary><ul>"
            f"{''.join(f'<li>{escape(str(text))}</li>' for text in said['references'])}</ul></details></div>"
        )
    return "".join(blocks)


def _marked(words: Sequence[Sequence[str]]) -> str:
    tags = {"hit": ("<ins>", "</ins>"), "miss": ("<del>", "</del>")}
    shown = []
    for word, state in words:
        before, after = tags.get(state, ("", ""))
        shown.append(f"{before}{escape(str(word))}{after}")
    return " ".join(shown)


def _tuples(said: Mapping[str, Any]) -> str:
    rows = (("matched", "hit", said["matched"]), ("not in the references", "miss", said["wrong"]),
            ("missed", "lost", said["missed"]))  # fmt: skip
    parts = []
    for name, kind, tuples in rows:
        inside = "".join(f'<li class="{kind}">{escape(str(text))}</li>' for text in tuples) or "<li>none</li>"
        parts.append(f'<div><dt>{name}</dt><dd><ul class="tuples">{inside}</ul></dd></div>')
    return f"<dl>{''.join(parts)}</dl>"
