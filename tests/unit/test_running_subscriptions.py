"""How many subscriptions an address has, and how long the documents are that subscriptions keep."""

from collections.abc import Callable

import pytest
from graphql import DocumentNode

from gateway.graphql.request import RequestRejected
from gateway.graphql.running_subscriptions import (
    ADDRESS_MIN,
    CALLER_DIVISOR,
    CHARACTERS_MAX,
    RunningSubscriptions,
)

LONG = CHARACTERS_MAX // CALLER_DIVISOR


@pytest.fixture
def running() -> RunningSubscriptions:
    return RunningSubscriptions(1_000, caller_of=lambda context: context)


def document() -> DocumentNode:
    return DocumentNode(definitions=())


def is_rejected(add: Callable[[], object]) -> bool:
    """Whether the rejection of `add` is an overload. Fails if `add` is not rejected."""
    with pytest.raises(RequestRejected) as raised:
        add()
    return (raised.value.code, raised.value.status) == ("OVERLOADED", 503)


def test_an_address_leaves_subscriptions_to_others(running: RunningSubscriptions) -> None:
    shared = document()
    removes = [running.add(shared, 10, "one", is_address=True) for _ in range(ADDRESS_MIN)]
    assert is_rejected(lambda: running.add(shared, 10, "one", is_address=True))
    running.add(shared, 10, "other", is_address=True)
    for _ in range(2 * ADDRESS_MIN):  # the subscriptions of viewers are counted by the storage
        running.add(shared, 10, 7, is_address=False)
    removes.pop()()
    running.add(shared, 10, "one", is_address=True)


def test_the_documents_of_a_caller_are_limited(running: RunningSubscriptions) -> None:
    half = document()
    remove = running.add(half, LONG // 2, 7, is_address=False)
    running.add(document(), LONG // 2, 7, is_address=False)
    assert is_rejected(lambda: running.add(document(), 10, 7, is_address=False))
    again = running.add(half, LONG // 2, 7, is_address=False)  # `half` is kept already
    running.add(document(), 10, 8, is_address=False)
    remove()
    assert is_rejected(lambda: running.add(document(), 10, 7, is_address=False))
    again()
    running.add(document(), LONG // 2, 7, is_address=False)


def test_the_documents_of_all_callers_are_limited(running: RunningSubscriptions) -> None:
    removes = [
        running.add(document(), LONG, caller, is_address=False) for caller in range(CALLER_DIVISOR)
    ]
    assert is_rejected(lambda: running.add(document(), 10, "new", is_address=True))
    for remove in removes:
        remove()
    assert not running._documents
    assert not running._characters
    assert not running._of_addresses
    assert running._all_characters == 0
