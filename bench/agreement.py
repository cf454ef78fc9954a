"""Checks that all contestants give the same answers, before anything is timed."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from bench.answers import WrongAnswer, answers
from bench.contestants import Contestant
from bench.graphql_requests import Request
from bench.processes import ServerProcess

COMPARED = 50
"""The number of requests whose answers are compared."""

_DATE = re.compile(r"\d{4}-\d\d-\d\dT")


async def _do_nothing() -> None:
    return


async def check_agreement(
    shape: str,
    contestants: Sequence[tuple[Contestant, ServerProcess]],
    requests: Mapping[str, Sequence[Request]],
    prepare_caches: Callable[[], Awaitable[None]] = _do_nothing,
) -> None:
    """Send the same requests to all contestants. `prepare_caches` is called before each.

    Raises WrongAnswer if an answer differs from that of the first contestant.
    """
    expected: list[bytes] = []
    for contestant, server in contestants:
        await prepare_caches()
        received = await _answers_of(server, requests[contestant.name])
        expected = expected or received
        for number, (correct, given) in enumerate(zip(expected, received, strict=True)):
            if _differs(contestant, correct, given):
                raise WrongAnswer(
                    f"{shape}, request {number}: {contestant.name} does not agree.\n"
                    f"{contestants[0][0].name}: {_shortened(_data(correct))}\n"
                    f"{contestant.name}: {_shortened(contestant.normalise(_data(given)))}"
                )


async def _answers_of(server: ServerProcess, requests: Sequence[Request]) -> list[bytes]:
    return await asyncio.to_thread(lambda: list(answers(server.url, requests[:COMPARED])))


def _differs(contestant: Contestant, correct: bytes, given: bytes) -> bool:
    if contestant.same_bytes:
        return given != correct
    ours, theirs = (contestant.normalise(_data(answer)) for answer in (correct, given))
    return bool(_with_parsed_dates(ours) != _with_parsed_dates(theirs))


def _with_parsed_dates(data: Any) -> Any:
    """The data with dates parsed, because servers format them differently."""
    match data:
        case dict():
            return {key: _with_parsed_dates(value) for key, value in data.items()}
        case list():
            return list(map(_with_parsed_dates, data))
        case str() if _DATE.match(data):
            return datetime.fromisoformat(data)
        case _:
            return data


def _data(answer: bytes) -> Any:
    return orjson.loads(answer)["data"]


def _shortened(data: Any) -> str:
    return orjson.dumps(data).decode()[:1_500]
