"""The fixture `steelyard_gate`: a test fails where a rule does.

    def test_model(steelyard_gate):
        report = steelyard.evaluate("weights", "truth.csv", "predictions.csv")
        steelyard_gate(report, "mae > 30", "bias > 10")

Steelyard itself is imported when the fixture is first called: a suite that does not use it pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from steelyard import Gate

CHOICES = ("fail", "skip", "pass")


class GateFixture(Protocol):
    """What the fixture gives: call it with a result and rules that say when it fails."""

    def __call__(
        self,
        result: Any,
        *rules: str,
        baseline: Any = None,
        other_truth: bool = False,
        undecided: str | None = None,
        ledger: Any = None,
        looks: int | None = None,
        fresh_units: bool = False,
    ) -> Gate:
        """Gate a report, a comparison, the path of a result or what `to_dict` gave."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What an undecided rule does to a test, for the whole suite."""
    parser.addini("steelyard_undecided", "what an undecided gate does to its test: fail, skip or pass", default="fail")


@pytest.fixture
def steelyard_gate(request: pytest.FixtureRequest) -> GateFixture:
    """Hold a result to rules: the test fails where one fails, with the numbers that decided."""

    def check(
        result: Any,
        *rules: str,
        baseline: Any = None,
        other_truth: bool = False,
        undecided: str | None = None,
        ledger: Any = None,
        looks: int | None = None,
        fresh_units: bool = False,
    ) -> Gate:
        from steelyard import gate

        __tracebackhide__ = True
        policy = undecided or request.config.getini("steelyard_undecided")
        if policy not in CHOICES:
            raise pytest.UsageError(f"undecided='{policy}' is none of {', '.join(CHOICES)}")
        verdict = gate(
            result, rules, baseline=baseline, other_truth=other_truth, ledger=ledger, looks=looks,
            fresh_units=fresh_units,
        )  # fmt: skip
        if verdict.outcome == "fail" or (verdict.outcome == "undecided" and policy == "fail"):
            pytest.fail(str(verdict), pytrace=False)
        if verdict.outcome == "undecided" and policy == "skip":
            pytest.skip(str(verdict))
        return verdict

    return check
