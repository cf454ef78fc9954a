"""Checks that all contestants give the same answers, before anything is timed."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from bench.answers import WrongAnswer, answers
from bench.contestants import Contestant
from bench.processes import ServerProcess
from bench.questions import Question

COMPARED = 50

_DATE = re.compile(r"\d{4}-\d\d-\d\dT")


async def _as_they_are() -> None:
    return


async def agree(
    shape: str,
    entered: Sequence[tuple[Contestant, ServerProcess]],
    questions: Mapping[str, Sequence[Question]],
    caches: Callable[[], Awaitable[None]] = _as_they_are,
) -> None:
    """Send the same requests to all contestants; `caches` prepares the caches before each.

    Raises WrongAnswer if an answer differs from that of the first contestant.
    """
    truth: list[bytes] = []
    for contestant, server in entered:
        await caches()
        received = await _asked(server, questions[contestant.name])
        truth = truth or received
        for turn, (right, given) in enumerate(zip(truth, received, strict=True)):
            if _differs(contestant, right, given):
                raise WrongAnswer(
                    f"{shape}, request {turn}: {contestant.name} does not agree.\n"
                    f"{entered[0][0].name}: {_shown(_data(right))}\n"
                    f"{contestant.name}: {_shown(contestant.normalise(_data(given)))}"
                )


async def _asked(server: ServerProcess, questions: Sequence[Question]) -> list[bytes]:
    return await asyncio.to_thread(lambda: list(answers(server.url, questions[:COMPARED])))


def _differs(contestant: Contestant, right: bytes, given: bytes) -> bool:
    if contestant.same_bytes:
        return given != right
    ours, theirs = (contestant.normalise(_data(answer)) for answer in (right, given))
    return bool(_moments(ours) != _moments(theirs))


def _moments(data: Any) -> Any:
    """The data with dates parsed, because servers format them differently."""
    match data:
        case dict():
            return {key: _moments(value) for key, value in data.items()}
        case list():
            return list(map(_moments, data))
        case str() if _DATE.match(data):
            return datetime.fromisoformat(data)
        case _:
            return data


def _data(answer: bytes) -> Any:
    return orjson.loads(answer)["data"]


def _shown(data: Any) -> str:
    return orjson.dumps(data).decode()[:1_500]
