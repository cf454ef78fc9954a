"""Limits on the number of Python function calls of a request, which stand for its CPU time."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import pytest
import uvloop

from bench.counting import Calls, counted, send_all
from bench.graphql_requests import request
from bench.shapes import BY_NAME
from gateway.server.app import Gateway
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.gateway import DEVELOPMENT
from tests.support.graphs import drain_all, follows

STAR, FAN, FANS = 1, 2, 25

# Limits on the calls of one request, 10% above the present numbers. A commit that makes a request
# cheaper lowers its limit; a commit that raises a limit gives the reason.
# The static cost and the admission of an operation take 15 calls; its id and its metrics take 4 to
# 6: one for each histogram.
ONE_CHECK_CALLS_MAX = 113
PAGE_OF_20_CALLS_MAX = 186
# A follow sends a mark before its commit, and compares more of its decision: 40 calls.
FOLLOW_CALLS_MAX = 400


def test_one_check_stays_within_its_limit_of_calls(storage_settings: StorageSettings) -> None:
    calls = cheapest_calls(
        storage_settings, "states-1", [{"user": str(FAN), "ids": [str(STAR)]}] * 40
    )
    assert calls.python_calls <= ONE_CHECK_CALLS_MAX, calls.most_called(40)


def test_a_hundred_checks_make_at_most_12_calls_more_than_the_limit_of_one(
    storage_settings: StorageSettings,
) -> None:
    others = [str(STAR), *map(str, range(1_000, 1_099))]
    calls = cheapest_calls(storage_settings, "states-100", [{"user": str(FAN), "ids": others}] * 40)
    assert calls.python_calls <= ONE_CHECK_CALLS_MAX + 12, calls.most_called(40)


def test_a_page_of_20_stays_within_its_limit_of_calls(storage_settings: StorageSettings) -> None:
    calls = cheapest_calls(storage_settings, "followers-20", [{"user": str(STAR)}] * 40)
    assert calls.python_calls <= PAGE_OF_20_CALLS_MAX, calls.most_called(40)


@pytest.mark.plain("its commits take longer, which starts timers")
def test_a_follow_stays_within_its_limit_of_calls(storage_settings: StorageSettings) -> None:
    inputs = [{"input": {"userId": str(other)}} for other in range(100, 140)]
    calls = cheapest_calls(storage_settings, "follow", inputs)
    assert calls.python_calls <= FOLLOW_CALLS_MAX, calls.most_called(40)


def cheapest_calls(
    settings: StorageSettings, shape: str, variables: Sequence[Mapping[str, object]]
) -> Calls:
    """The calls of the cheapest of these requests, after the first quarter has filled the caches.
    On a busy machine a late request starts timers, which adds calls and never saves any.

    It runs on uvloop, like a gateway: the loop of asyncio is in Python, and would be counted.
    """
    requests = [request(BY_NAME[shape].document, values, FAN) for values in variables]
    quarter = len(requests) // 4

    async def count() -> Calls:
        async with open_stores(settings) as stores:
            await follows(stores, *((fan, STAR) for fan in range(FAN, FAN + FANS)))
            await drain_all(stores)
        gateway = Gateway(Config(settings, DEVELOPMENT, Policy()))
        async with gateway.lifespan():
            await send_all(gateway, requests[:quarter])
            counts = [await counted(gateway, [one]) for one in requests[quarter:]]
            return min(counts, key=attrgetter("python_calls"))

    return uvloop.run(count())
