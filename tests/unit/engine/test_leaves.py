"""Leaf values are serialized exactly as by graphql-core."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
import strawberry
from graphql import GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString
from graphql.execution import Executor
from hypothesis import given
from hypothesis import strategies as st

from engine.leaves import leaf_completion

ZONES: list[tzinfo | None] = [
    UTC,
    None,
    timezone(timedelta(hours=-3, minutes=-30)),
    timezone(timedelta(seconds=1172)),
    ZoneInfo("Europe/Amsterdam"),
    ZoneInfo("UTC"),
]


@strawberry.type
class Query:
    moment: datetime


DATETIME: Any = strawberry.Schema(Query)._schema.get_type("DateTime")


class _Field:
    parent = "Query"
    name = "leaf"


async def completed(declared: Any, column: list[Any], *, may_be_null: bool) -> list[Any]:
    counters = dict.fromkeys(("count_field_errors", "count_bytes"), lambda *_: None)
    run: Any = type("_Run", (), {"root_values": None, **counters})()
    field: Any = _Field()
    cells = leaf_completion(field, declared, may_be_null=may_be_null, orjson_datetimes=True)
    return [
        f"{type(cell).__name__}: {cell}" if isinstance(cell, Exception) else cell
        for cell in cells.complete(column, run)
    ]


def completed_by_graphql_core(declared: Any, value: Any, *, may_be_null: bool) -> Any:
    if value is None:
        null = "TypeError: Cannot return null for non-nullable field Query.leaf."
        return None if may_be_null else null
    try:
        return Executor.complete_leaf_value(declared, value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


moments = st.lists(
    st.none() | st.datetimes() | st.datetimes(timezones=st.just(UTC))
    | st.datetimes(timezones=st.sampled_from([zone for zone in ZONES if zone])), max_size=4
)  # fmt: skip


@given(moments)
@pytest.mark.filterwarnings("error")
def test_datetimes_are_serialized_as_by_isoformat(column: list[Any]) -> None:
    import asyncio

    cells = asyncio.run(completed(DATETIME, column, may_be_null=True))
    expected = [value if value is None else value.isoformat() for value in column]
    assert orjson.dumps(cells) == orjson.dumps(expected)


anything = st.lists(
    st.none() | st.booleans() | st.integers(-(2**33), 2**33) | st.floats() | st.text(max_size=3)
    | st.just(object()), max_size=3
)  # fmt: skip


@given(
    st.sampled_from([GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString]),
    anything,
    st.booleans(),
)
def test_any_column_of_any_scalar_is_completed_as_by_graphql_core(
    declared: Any, column: list[Any], may_be_null: bool
) -> None:
    import asyncio

    cells = asyncio.run(completed(declared, column, may_be_null=may_be_null))
    expected = [completed_by_graphql_core(declared, v, may_be_null=may_be_null) for v in column]
    assert repr(cells) == repr(expected)
