"""The operation names in metrics: a limited number, those of the most frequent operations."""

from gateway.graphql.operation_names import CANDIDATES_PER_NAME, OTHER, OperationNames


class Series:
    """Counts requests, in place of a series of metrics."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.recent = 0

    def since_last(self) -> int:
        recent, self.recent = self.recent, 0
        return recent


def count_requests(names: OperationNames[Series], name: str, times: int = 1) -> str:
    """Count requests. Returns the label value of the last one."""
    for _ in range(times):
        series = names.series.get(name) or names.unlisted(name)
        series.recent += 1
    return series.name


def names_with_limit(names_max: int) -> tuple[OperationNames[Series], list[str]]:
    removed: list[str] = []
    return OperationNames(names_max, Series, removed.append), removed


def test_names_up_to_the_limit_have_their_own_series() -> None:
    names, _ = names_with_limit(2)
    assert [count_requests(names, name) for name in ("A", "B", "C")] == ["A", "B", OTHER]


def test_a_more_frequent_name_replaces_the_least_frequent_one() -> None:
    names, removed = names_with_limit(2)
    count_requests(names, "Attack1")
    count_requests(names, "A", 5)
    count_requests(names, "B", 9)
    names.rebalance(Series.since_last)
    assert removed == ["Attack1"]
    assert count_requests(names, "B") == "B"
    assert count_requests(names, "Attack1") == OTHER


def test_names_as_frequent_as_each_other_keep_their_series() -> None:
    names, removed = names_with_limit(1)
    for _ in range(5):
        count_requests(names, "A", 3)
        count_requests(names, "B", 3)
        names.rebalance(Series.since_last)
    assert removed == []


def test_a_text_that_is_not_a_name_has_no_series() -> None:
    names, _ = names_with_limit(5)
    for name in ("", "a" * 65, 'a"} 1\n', "é", "1a"):
        assert names.unlisted(name).name == OTHER


def test_the_number_of_counted_names_is_bounded() -> None:
    names, _ = names_with_limit(3)
    for n in range(1_000):
        count_requests(names, f"N{n}")
    assert len(names._candidates) == 3 * CANDIDATES_PER_NAME
