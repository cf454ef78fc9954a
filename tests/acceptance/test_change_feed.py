"""The example of docs/events.md, as printed, with a real feed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from graph.edge import UserId
from graph.lane import lane_of
from storage.stores import Stores
from tests.support.graphs import drain_all, follows, unfollows

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


@pytest.fixture
def example() -> dict[str, Any]:
    """The names that the page's example defines."""
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)  # the page's own code
    return names


@pytest.fixture
def server(redis_url: str) -> Iterator[Any]:
    url = urlsplit(redis_url)
    path = f"{url.scheme}://{url.path}?{url.query}"  # redis-py wants both slashes
    with redis.Redis.from_url(path, decode_responses=True) as opened:
        yield opened


async def test_a_group_applies_every_change_once_in_its_order(
    example: dict[str, Any], server: Any, stores: Stores
) -> None:
    await follows(stores, (1, 7), (2, 7), (7, 1))
    await drain_all(stores)
    example["join"](server)
    example["join"](server)
    seen: list[dict[str, str]] = []
    assert example["consume"](server, "first", seen.append) == 3
    await unfollows(stores, (1, 7))
    await drain_all(stores)
    assert example["consume"](server, "second", seen.append) == 1
    towards_seven = [event for event in seen if event["target"] == "7"]
    assert [(e["source"], e["before"], e["after"]) for e in towards_seven] == [
        ("1", "NONE", "FOLLOW"),
        ("2", "NONE", "FOLLOW"),
        ("1", "FOLLOW", "NONE"),
    ]
    assert set(towards_seven[0]) == {
        *("id", "version", "actor", "source", "target", "before", "after", "since"),
        *("flags_before", "flags_after"),
    }


async def test_a_consumer_that_fails_has_not_acknowledged(
    example: dict[str, Any], server: Any, stores: Stores
) -> None:
    await follows(stores, (1, 7))
    await drain_all(stores)
    example["join"](server)

    def fails(_: dict[str, str]) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        example["consume"](server, "first", fails)
    stream = f"kith:public:events:{lane_of(UserId(7))}"
    assert server.xpending(stream, example["GROUP"])["pending"] == 1


async def test_a_group_can_tell_that_it_has_lost_something(
    example: dict[str, Any], server: Any, stores: Stores
) -> None:
    example["join"](server)
    stream = f"kith:public:events:{lane_of(UserId(7))}"
    assert not example["has_lost"](server, stream)
    await follows(stores, (1, 7))
    await drain_all(stores)
    example["consume"](server, "first", lambda _: None)
    assert not example["has_lost"](server, stream)
    await follows(stores, (2, 7))
    await drain_all(stores)
    server.xtrim(stream, maxlen=1, approximate=False)
    assert example["has_lost"](server, stream)
