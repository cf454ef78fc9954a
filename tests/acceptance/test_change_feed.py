"""The consumer in docs/events.md, run as printed against a real change feed."""

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
        exec(code, names)
    return names


@pytest.fixture
def client(redis_url: str) -> Iterator[Any]:
    """A client of the broker."""
    url = urlsplit(redis_url)
    slashed_url = f"{url.scheme}://{url.path}?{url.query}"  # redis-py requires //
    with redis.Redis.from_url(slashed_url, decode_responses=True) as opened:
        yield opened


async def test_a_consumer_group_receives_every_change_once_and_in_order(
    example: dict[str, Any], client: Any, stores: Stores
) -> None:
    await follows(stores, (1, 7), (2, 7), (7, 1))
    await drain_all(stores)
    example["join"](client)
    example["join"](client)
    seen: list[dict[str, str]] = []
    assert example["consume"](client, "first", seen.append) == 3
    await unfollows(stores, (1, 7))
    await drain_all(stores)
    assert example["consume"](client, "second", seen.append) == 1
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


async def test_an_event_is_not_acknowledged_if_its_handler_fails(
    example: dict[str, Any], client: Any, stores: Stores
) -> None:
    await follows(stores, (1, 7))
    await drain_all(stores)
    example["join"](client)

    def fail(_: dict[str, str]) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        example["consume"](client, "first", fail)
    stream = f"kith:public:events:{lane_of(UserId(7))}"
    assert client.xpending(stream, example["GROUP"])["pending"] == 1


async def test_has_lost_is_true_after_unread_events_were_trimmed(
    example: dict[str, Any], client: Any, stores: Stores
) -> None:
    example["join"](client)
    stream = f"kith:public:events:{lane_of(UserId(7))}"
    assert not example["has_lost"](client, stream)
    await follows(stores, (1, 7))
    await drain_all(stores)
    example["consume"](client, "first", lambda _: None)
    assert not example["has_lost"](client, stream)
    await follows(stores, (2, 7))
    await drain_all(stores)
    client.xtrim(stream, maxlen=1, approximate=False)
    assert example["has_lost"](client, stream)
