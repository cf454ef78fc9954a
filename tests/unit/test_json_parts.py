"""The JSON of large responses is that of orjson, in parts."""

from datetime import UTC, datetime
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from engine import Turns
from gateway.http.json_parts import PART_BYTES, dumps_in_turns, json_parts

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.just(datetime.now(UTC)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)

LARGE = {
    "data": {
        "users": [
            {"id": str(user), "relationWith": [{"state": "NONE", "to": user}] * 1_000}
            for user in range(60)
        ]
    }
}


@given(VALUES)
def test_the_parts_are_the_json_of_any_value(value: Any) -> None:
    assert b"".join(json_parts(value)) == orjson.dumps(value)


async def test_a_large_response_is_written_in_turns() -> None:
    turns = Turns()
    expected = orjson.dumps(LARGE)
    assert await dumps_in_turns(LARGE, turns) == expected
    assert turns.taken >= len(expected) / (2 * PART_BYTES)
    assert max(map(len, json_parts(LARGE))) <= 2 * PART_BYTES


async def test_a_long_flat_list_takes_few_parts() -> None:
    numbers = list(range(100_000))
    parts = list(json_parts(numbers))
    assert b"".join(parts) == orjson.dumps(numbers)
    assert len(parts) < 50
