"""A list of ids is read with the same results and errors as each id alone."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.edge import MAX_USER_ID
from graph.errors import BadInput
from schema.arguments import each_user_id, user_id, user_ids
from schema.federation import Representation, users_of

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
