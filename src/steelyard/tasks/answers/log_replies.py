"""What samples of lm-eval and lmms-eval hold for a reply: a text, several, or how likely each option is.

Facts: lm_eval/evaluator.py and loggers/evaluation_tracker.py (4e7e0d47f), lmms_eval/evaluator.py and
loggers/evaluation_tracker.py (75571cfe). Both write `filtered_resps`, an entry per request, with every value as text;
lmms-eval drops the outer list where there is one request. A request that asks how likely a continuation is answers with
a pair: the log-likelihood, and whether greedy decoding would have said it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

FLAGS = ("True", "False")


def replies_of(given: Any, target: Any, arguments: Any = None) -> list[str]:
    """The replies to one question: several where it was asked several times, none where only likelihoods were asked.

    Of options the most likely one is the reply, the first of equals: as its number where the target is one, else by
    its text, which `arguments` hold.
    """
    pairs = [given] if _is_pair(given) else given if isinstance(given, list) and all(map(_is_pair, given)) else []
    if pairs:
        return _most_likely(pairs, target, arguments)
    return list(_texts(given)) or [""]


def _texts(given: Any) -> list[str]:
    if isinstance(given, list):
        return [text for one in given for text in _texts(one)]
    return [] if given is None else [str(given)]


def _is_pair(value: Any) -> bool:
    """Whether a value is a log-likelihood and whether it is greedy."""
    return isinstance(value, list) and len(value) == 2 and str(value[1]) in FLAGS and _number(value[0]) is not None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _most_likely(pairs: list[Any], target: Any, arguments: Any) -> list[str]:
    asked = [_argument(arguments, i) for i in range(len(pairs))]
    # For mutual information each option is asked a second time without its question.
    places = [i for i, (context, _) in enumerate(asked) if context != ""] or list(range(len(pairs)))
    if len(places) < 2:
        return []
    best = max(places, key=lambda i: (_number(pairs[i][0]) or 0.0, -i))
    text = asked[best][1]
    by_number = str(target).strip().lstrip("-").isdecimal()
    return [str(best) if by_number or text is None else text.strip()]


def _argument(arguments: Any, place: int) -> tuple[str | None, str | None]:
    """The context and the continuation of a request, where the log has them."""
    one = arguments.get(f"gen_args_{place}") if isinstance(arguments, Mapping) else None
    held = one if isinstance(one, Mapping) else {}
    context, text = held.get("arg_0"), held.get("arg_1")
    return context if isinstance(context, str) else None, text if isinstance(text, str) else None
