"""The sample graph: the same on every machine, with the relations that the examples query."""

from gateway.sample import CAST, sample_edges


def test_the_sample_graph_is_the_same_every_time() -> None:
    assert list(sample_edges()) == list(sample_edges())


def test_the_edges_of_the_sample_graph_are_valid_and_distinct() -> None:
    edges = list(sample_edges())
    pairs = {(source, target) for source, target, _ in edges}
    assert len(pairs) == len(edges)
    assert all(
        source != target and {source, target} <= set(range(1, CAST.stop))
        for source, target in pairs
    )


def test_user_1_has_friends_and_does_not_follow_user_399() -> None:
    pairs = {(source, target) for source, target, _ in sample_edges()}
    friends = [target for source, target in pairs if source == 1 and (target, 1) in pairs]
    assert len(friends) >= 3
    assert (1, 399) not in pairs
