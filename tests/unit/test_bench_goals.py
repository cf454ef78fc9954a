"""The figures that the bench prints beside its goals."""

import pytest

from bench.goals import Verdict, formatted


@pytest.mark.parametrize(
    ("verdict", "printed"),
    [
        (Verdict("ratio", 0.7, 0.7), "0.70"),
        (Verdict("ratio", 0.7, 0.698), "0.698"),
        (Verdict("ratio", 0.7, 0.5923), "0.59"),
        (Verdict("ratio", 0.7, 0.704), "0.70"),
        (Verdict("at most", 1.2, 1.204, at_least=False), "1.204"),
        (Verdict("a second", 500_000, 935_233.65), "935,234"),
        (Verdict("a second", 500_000, 499_999.6), "499,999.6"),
    ],
)
def test_the_printed_figure_does_not_contradict_the_verdict(verdict: Verdict, printed: str) -> None:
    assert formatted(verdict.goal, verdict.reached, verdict.met) == printed
