"""The operation names of metrics: bounded, and those that are most frequent."""

from gateway.graphql.operation_names import CANDIDATES_PER_NAME, OTHER, OperationNames


class Series:
    """Counts requests, as the metrics do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.recent = 0

    def since_last(self) -> int:
        recent, self.recent = self.recent, 0
        return recent


def request(names: OperationNames[Series], name: str, times: int = 1) -> str:
    """Count requests. Returns the label value of the last one."""
    for _ in range(times):
        series = names.series.get(name) or names.unlisted(name)
        series.recent += 1
    return series.name


def of(most: int) -> tuple[OperationNames[Series], list[str]]:
    removed: list[str] = []
    return OperationNames(most, Series, removed.append), removed


def test_a_name_has_its_own_series_while_there_is_room() -> None:
    names, _ = of(2)
    assert [request(names, name) for name in ("A", "B", "C")] == ["A", "B", OTHER]


def test_a_more_frequent_name_replaces_the_least_frequent_one() -> None:
    names, removed = of(2)
    request(names, "Attack1")
    request(names, "A", 5)
    request(names, "B", 9)
    names.rebalance(Series.since_last)
    assert removed == ["Attack1"]
    assert request(names, "B") == "B"
    assert request(names, "Attack1") == OTHER


def test_names_as_frequent_as_each_other_keep_their_series() -> None:
    names, removed = of(1)
    for _ in range(5):
        request(names, "A", 3)
        request(names, "B", 3)
        names.rebalance(Series.since_last)
    assert removed == []


def test_text_that_is_no_name_has_no_series() -> None:
    names, _ = of(5)
    for name in ("", "a" * 65, 'a"} 1\n', "é", "1a"):
        assert names.unlisted(name).name == OTHER


def test_the_names_that_are_counted_have_a_bound() -> None:
    names, _ = of(3)
    for n in range(1_000):
        request(names, f"N{n}")
    assert len(names._candidates) == 3 * CANDIDATES_PER_NAME
