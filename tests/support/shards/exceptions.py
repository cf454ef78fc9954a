"""The known violations. The list only shrinks: an entry that nothing needs any more is an error."""

from collections.abc import Iterable, Mapping

from tests.support.shards.rules import Violation

EXCEPTIONS: Mapping[str, frozenset[str]] = {}


def unexpected(violations: Iterable[Violation]) -> list[str]:
    """One line for each violation without an exception, and for each exception without a
    violation."""
    found = list(violations)
    lines = [str(v) for v in found if v.rule not in EXCEPTIONS.get(v.statement, ())]
    seen = {(v.statement, v.rule) for v in found}
    lines += [
        f"{statement}: nothing violates {rule} any more. Delete it from exceptions.py."
        for statement, rules in EXCEPTIONS.items()
        for rule in sorted(rules)
        if (statement, rule) not in seen
    ]
    return lines
