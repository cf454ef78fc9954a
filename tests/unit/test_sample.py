"""The sample graph is the same on every machine, and shows what the examples ask for."""

from gateway.sample import CAST, sample_edges


def test_it_is_the_same_every_time() -> None:
    assert list(sample_edges()) == list(sample_edges())


def test_its_edges_are_good_and_distinct() -> None:
    edges = list(sample_edges())
    pairs = {(source, target) for source, target, _ in edges}
    assert len(pairs) == len(edges)
    assert all(
        source != target and {source, target} <= set(range(1, CAST.stop))
        for source, target in pairs
    )


def test_the_examples_have_something_to_show() -> None:
    pairs = {(source, target) for source, target, _ in sample_edges()}
    friends = [target for source, target in pairs if source == 1 and (target, 1) in pairs]
    assert len(friends) >= 3
    assert (1, 399) not in pairs
