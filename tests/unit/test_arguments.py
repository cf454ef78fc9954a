"""A list of ids is read with the same results and errors as each id alone."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.edge import MAX_USER_ID, user_id_of
from graph.errors import BadInput
from schema.arguments import each_user_id, user_id, user_ids
from schema.federation import Representation, users_of
from schema.node import PREFIXED_CHARS_MAX, USERS_IN_ID, parsed_id

valid_ids = st.integers(1, MAX_USER_ID).map(str)
invalid_ids = st.sampled_from(
    ("", "0", "01", "-1", "+1", " 1", "1 ", "1.0", "1e3", "1,2", "1_0", "٣", "x", "null", "[1]")
) | st.sampled_from((MAX_USER_ID + 1, 2**64, 10**30, 10**400)).map(str)


@given(texts=st.lists(valid_ids, max_size=5))
def test_the_ids_of_a_list_are_returned_in_its_order(texts: list[str]) -> None:
    assert user_ids("ids", texts, 5) == [user_id("ids", text) for text in texts]


@given(
    before=st.lists(valid_ids, max_size=3), bad=invalid_ids, after=st.lists(valid_ids, max_size=3)
)
def test_an_invalid_id_has_the_same_message_alone_and_in_a_list(
    before: list[str], bad: str, after: list[str]
) -> None:
    with pytest.raises(BadInput) as alone:
        user_id("ids", bad)
    with pytest.raises(BadInput) as among_others:
        user_ids("ids", [*before, bad, *after], 7)
    assert str(among_others.value) == str(alone.value)


async def test_invalid_items_leave_nothing_to_the_garbage_collector() -> None:
    async def read() -> None:
        texts = ["x"] * 1_000
        assert len(each_user_id("ids", texts, 1_000)) == 1_000
        assert (
            len(await users_of([Representation({"__typename": "Nobody"})] * 1_000, 1_000)) == 1_000
        )

    await read()
    gc.collect()
    gc.disable()
    try:
        await read()
        assert gc.collect() < 100
    finally:
        gc.enable()


class LengthOnly(str):
    """A text of which only the length can be read."""

    __slots__ = ()

    def _fail(self, *_: object) -> Any:
        raise AssertionError("the characters of this text were read")

    read: Any = _fail
    isascii = isdecimal = split = encode = __getitem__ = read


@pytest.mark.parametrize("read", [user_id_of, parsed_id])
@pytest.mark.parametrize("start", ["", "group:"])
def test_an_id_that_is_too_long_is_rejected_by_its_length(
    read: Callable[[str], object], start: str
) -> None:
    assert read(LengthOnly(start + "1" * (PREFIXED_CHARS_MAX + 1))) is None


@pytest.mark.parametrize(("prefix", "users"), USERS_IN_ID.items())
def test_the_longest_ids_with_a_prefix_are_accepted(prefix: str, users: int) -> None:
    text = ":".join([prefix, *[str(MAX_USER_ID)] * users])
    assert parsed_id(text) == (prefix, [MAX_USER_ID] * users)


@pytest.mark.parametrize("character", ["9", "z"])
def test_a_list_that_repeats_a_long_text_takes_little_memory(character: str) -> None:
    texts = [character * 100_000] * 1_000
    tracemalloc.start()
    try:
        found = each_user_id("ids", texts, 1_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {type(error) for error in found} == {BadInput}
    assert peak < 3_000_000
    assert max(len(str(error)) for error in found) < 200
