"""Counts of what each caller uses of a limit that all share."""

from collections import Counter
from collections.abc import Hashable


def give_back(shares: Counter[Hashable], caller: Hashable, count: int = 1) -> None:
    """Take `count` off the share of a caller. One that holds nothing is dropped, so that the shares
    do not grow with the number of callers."""
    shares[caller] -= count
    if not shares[caller]:
        del shares[caller]
