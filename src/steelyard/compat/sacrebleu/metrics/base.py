"""Scores with their text, and signatures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

VERSION = "2.6.0"  # of the sacrebleu whose numbers these are


class Score:
    """A score and, after a bootstrap, its mean and half the width of its interval."""

    def __init__(self, name: str, score: float) -> None:
        self.name = name
        self.score = score
        self._mean = -1.0
        self._ci = -1.0
        self._verbose = ""

    def format(self, width: int = 2, score_only: bool = False, signature: str = "", is_json: bool = False) -> str:
        """The score as a line of text or as JSON."""
        number = f"{self.score:.{width}f}"
        fields: dict[str, Any] = {"name": self.name, "score": float(number), "signature": signature}
        if self._mean > 0:
            mean, half = f"{self._mean:.{width}f}", f"{self._ci:.{width}f}"
            confidence = f"μ = {mean} ± {half}"
            number += f" ({confidence})"
            fields |= {"confidence_mean": float(mean), "confidence_var": float(half), "confidence": confidence}
        if score_only:
            return number
        if is_json:
            if self._verbose:
                fields["verbose_score"] = self._verbose
            for item in signature.split("|"):
                key, value = item.split(":")
                fields[key] = value
            return json.dumps(fields, indent=1, ensure_ascii=False)
        name = f"{self.name}|{signature}" if signature else self.name
        return f"{name} = {number} {self._verbose}" if self._verbose else f"{name} = {number}"

    def estimate_ci(self, scores: Sequence[Score]) -> None:
        """Set mean and interval from the scores of resamples."""
        values = sorted(score.score for score in scores)
        cut = len(values) // 40
        self._ci = 0.5 * (values[len(values) - cut - 1] - values[cut])
        self._mean = statistics.mean(values)

    def __repr__(self) -> str:
        return self.format()


class Signature:
    """The settings that a score depends on."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        self._abbr = {
            "version": "v",
            "nrefs": "#",
            "test": "t",
            "lang": "l",
            "subset": "S",
            "origlang": "o",
            "bs": "bs",
            "ar": "ar",
            "seed": "rs",
        }
        if "num_refs" not in args:
            raise ValueError("Number of references unknown, please evaluate the metric first.")
        self.info: dict[str, Any] = {
            "version": VERSION,
            "nrefs": "var" if args["num_refs"] == -1 else args["num_refs"],
            "bs": args.get("n_bootstrap"),
            "ar": None,
            "seed": args.get("seed"),
            "test": args.get("test_set"),
            "lang": args.get("langpair"),
            "origlang": args.get("origlang"),
            "subset": args.get("subset"),
        }

    def format(self, short: bool = False) -> str:
        """The signature as text; the version comes last."""
        pairs = []
        for name in [*(name for name in self.info if name != "version"), "version"]:
            value = self.info[name]
            if value is not None:
                text = ("no", "yes")[value] if isinstance(value, bool) else value
                pairs.append(f"{self._abbr[name] if short else name}:{text}")
        return "|".join(pairs)

    def update(self, key: str, value: Any) -> None:
        """Set an item."""
        self.info[key] = value

    def __str__(self) -> str:
        return self.format()

    __repr__ = __str__
