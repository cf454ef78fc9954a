"""Turns of parsing: each iteration of the event loop parses a bounded amount."""

import asyncio
from collections.abc import Callable

from gateway.http.parsing_turns import ITERATION_COST, ParsingTurns


def parser(name: str, done: list[str], cost: int = ITERATION_COST) -> Callable[[], int]:
    def parse() -> int:
        done.append(name)
        return cost

    return parse


async def test_input_that_arrives_alone_is_parsed_at_once() -> None:
    turns = ParsingTurns()
    done: list[str] = []
    for name in "ab":
        assert turns.parse(parser(name, done))
        assert done[-1] == name
        await asyncio.sleep(0)


async def test_inputs_of_one_iteration_are_parsed_at_once_up_to_its_cost() -> None:
    turns = ParsingTurns()
    done: list[str] = []
    short = parser("a", done, ITERATION_COST // 2)
    assert [turns.parse(short) for _ in range(4)] == [True, True, False, False]
    await asyncio.sleep(0)
    assert turns.parse(short)


async def test_further_inputs_are_parsed_in_the_next_iterations_in_their_order() -> None:
    turns = ParsingTurns()
    done: list[str] = []
    assert turns.parse(parser("a", done))
    for name in "bcd":
        turns.wait(parser(name, done))
    parsed = []
    for _ in range(4):
        await asyncio.sleep(0)
        parsed.append("".join(done))
        assert turns.parse(parser("e", done)) is (done[-1] == "e")
    assert parsed == ["a", "ab", "abc", "abcd"]


async def test_an_error_does_not_end_the_turns_of_others() -> None:
    def failing() -> int:
        raise LookupError("no")

    turns = ParsingTurns()
    done: list[str] = []
    loop = asyncio.get_running_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
    turns.wait(failing)
    turns.wait(parser("a", done))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert done == ["a"]
    assert [type(error) for error in errors] == [LookupError]
