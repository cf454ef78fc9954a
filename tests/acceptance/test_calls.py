"""How many functions of Python a request calls: what it costs a gateway, counted, never timed."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import pytest
import uvloop

from bench.counting import Calls, counted, send_all
from bench.questions import question
from bench.shapes import BY_NAME
from gateway.server.app import Gateway
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.gateway import DEVELOPMENT
from tests.support.graphs import drain_all, follows

STAR, FAN, FANS = 1, 2, 25

# A tenth above what is called today. A commit that makes a request cheaper lowers these;
# a commit that raises one gives the reason.
# The static cost and the admission of an operation take 15 calls; its id and its metrics take 4 to
# 6: one for each histogram.
ONE_CHECK_MOST = 113
A_PAGE_OF_20_MOST = 186
# A follow sends a mark before its commit, and compares more of its decision: 40 calls.
A_FOLLOW_MOST = 400


def test_one_check_calls_no_more_than_it_has_to(storage_settings: StorageSettings) -> None:
    calls = asked(storage_settings, "states-1", [{"user": str(FAN), "ids": [str(STAR)]}] * 40)
    assert calls.python_calls <= ONE_CHECK_MOST, calls.most_called(40)


def test_a_hundred_checks_call_hardly_more_than_one(storage_settings: StorageSettings) -> None:
    others = [str(STAR), *map(str, range(1_000, 1_099))]
    calls = asked(storage_settings, "states-100", [{"user": str(FAN), "ids": others}] * 40)
    assert calls.python_calls <= ONE_CHECK_MOST + 12, calls.most_called(40)


def test_a_page_of_20_calls_no_more_than_it_has_to(storage_settings: StorageSettings) -> None:
    calls = asked(storage_settings, "followers-20", [{"user": str(STAR)}] * 40)
    assert calls.python_calls <= A_PAGE_OF_20_MOST, calls.most_called(40)


@pytest.mark.plain("its commits take longer, which starts timers")
def test_a_follow_calls_no_more_than_it_has_to(storage_settings: StorageSettings) -> None:
    inputs = [{"input": {"userId": str(other)}} for other in range(100, 140)]
    calls = asked(storage_settings, "follow", inputs)
    assert calls.python_calls <= A_FOLLOW_MOST, calls.most_called(40)


def asked(
    settings: StorageSettings, shape: str, variables: Sequence[Mapping[str, object]]
) -> Calls:
    """The calls of the cheapest of these requests, after the first quarter has filled the caches.
    On a busy machine a late request starts timers, which adds calls and never saves any.

    On the event loop of a gateway: asyncio's own is in Python, and would be counted.
    """
    questions = [question(BY_NAME[shape].document, of_one, FAN) for of_one in variables]
    quarter = len(questions) // 4

    async def ask() -> Calls:
        async with open_stores(settings) as stores:
            await follows(stores, *((fan, STAR) for fan in range(FAN, FAN + FANS)))
            await drain_all(stores)
        gateway = Gateway(Config(settings, DEVELOPMENT, Policy()))
        async with gateway.lifespan():
            await send_all(gateway, questions[:quarter])
            counts = [await counted(gateway, [one]) for one in questions[quarter:]]
            return min(counts, key=attrgetter("python_calls"))

    return uvloop.run(ask())
