"""Batched and derived fields, which graphql-core and the schema language see as plain fields."""

import asyncio
from typing import Annotated, Any, NamedTuple, NewType

import orjson
import pytest
import strawberry
from strawberry import Info
from strawberry.schema.config import StrawberryConfig

from engine import Engine, ItemOrError, MaybeAwaitable, Parents, batched, derived, row_classes


class BookRow(NamedTuple):
    title: str
    kind: int


@strawberry.type
@row_classes(BookRow)
class Book:
    title: str
    is_novel: bool = derived("kind", lambda kind: kind == 1, description="Not a poem.")

    @batched(description="Pages of paper.", deprecation_reason="Nobody prints.")
    async def pages(
        books: Parents[BookRow],
        info: Info,
        per_sheet: Annotated[int, strawberry.argument(description="Of 1 or 2.")] = 2,
    ) -> list[ItemOrError[int]]:
        return [len(book.title) // per_sheet if per_sheet else ValueError("0") for book in books]

    @batched(name="sequel", graphql_type="Book | None")
    def next_one(books: Parents[BookRow]) -> list[BookRow | None]:
        return [None if book.kind else BookRow(book.title + " II", 1) for book in books]

    @batched
    def too_short(books: Parents[BookRow]) -> list[int]:
        return []

    @batched
    def copies(books: Parents[BookRow], sold: bool = False) -> MaybeAwaitable[list[int]]:
        items = [len(book.title) for book in books]
        return slowly(items) if sold else items

    @batched
    def quoted(books: Parents[BookRow], sold: bool = False) -> "MaybeAwaitable[list[int]]":
        return slowly([2] * len(books)) if sold else [1] * len(books)

    @batched
    def soon_too_short(books: Parents[BookRow], sold: bool = False) -> MaybeAwaitable[list[int]]:
        return slowly([]) if sold else []


async def slowly(items: list[int]) -> list[int]:
    await asyncio.sleep(0)
    return items


@strawberry.type
class Query:
    @batched(graphql_type=list[Book])
    def books(roots: Parents[None], titles: list[str]) -> list[list[BookRow]]:
        return [[BookRow(title, 0) for title in titles]]


SCHEMA = strawberry.Schema(Query)

SDL = '''type Book {
  title: String!

  """Not a poem."""
  isNovel: Boolean!

  """Pages of paper."""
  pages(
    """Of 1 or 2."""
    perSheet: Int! = 2
  ): Int! @deprecated(reason: "Nobody prints.")
  sequel: Book
  tooShort: Int!
  copies(sold: Boolean! = false): Int!
  quoted(sold: Boolean! = false): Int!
  soonTooShort(sold: Boolean! = false): Int!
}

type Query {
  books(titles: [String!]!): [Book!]!
}'''

QUERY = """query($titles: [String!]!, $per: Int! = 1) {
    books(titles: $titles) { title isNovel pages(perSheet: $per) sequel { title isNovel } }
}"""


def test_the_schema_language_shows_plain_fields() -> None:
    assert SCHEMA.as_str() == SDL


async def test_both_executors_use_the_same_resolvers() -> None:
    given: dict[str, Any] = {"titles": ["Emma", "Ulysses"]}
    expected = await SCHEMA.execute(QUERY, variable_values=given)
    result = await Engine(SCHEMA).execute(query=QUERY, variables=given)
    assert expected.errors is None
    assert result.data == expected.data
    assert result.data is not None
    assert result.data["books"][0] == {
        "title": "Emma",
        "isNovel": False,
        "pages": 4,
        "sequel": {"title": "Emma II", "isNovel": True},
    }


async def test_a_resolver_may_return_its_items_or_an_awaitable() -> None:
    query = """{ books(titles: ["Emma", "Ulysses"]) {
        copies sold: copies(sold: true) title quoted late: quoted(sold: true)
    } }"""
    expected = await SCHEMA.execute(query)
    result = await Engine(SCHEMA).execute(query=query)
    assert result.data == expected.data
    assert orjson.dumps(result.data) == orjson.dumps(expected.data)  # in their order
    assert result.data is not None
    ulysses = {"copies": 7, "sold": 7, "title": "Ulysses", "quoted": 1, "late": 2}
    assert result.data["books"][1] == ulysses


@pytest.mark.parametrize(
    "field", ["pages(perSheet: 0)", "tooShort", "soonTooShort", "soonTooShort(sold: true)"]
)
async def test_both_executors_report_the_same_errors(field: str) -> None:
    query = f'{{ books(titles: ["Emma"]) {{ {field} }} }}'
    expected = await SCHEMA.execute(query)
    result = await Engine(SCHEMA).execute(query=query)
    assert expected.errors is not None
    assert [e.formatted for e in result.errors] == [e.formatted for e in expected.errors]


def test_a_batched_resolver_can_be_called_directly() -> None:
    too_short: Any = Book.too_short
    assert too_short([BookRow("Emma", 0)]) == []


def test_a_batched_resolver_must_return_a_list() -> None:
    def number(rows: Parents[int]) -> int:
        return 1

    wrong: Any = number
    with pytest.raises(TypeError, match="returns list"):
        strawberry.type(type("Wrong", (), {"number": batched(wrong)}))


def test_a_batched_resolver_must_take_its_parents() -> None:
    def number() -> list[int]:
        return []

    wrong: Any = number
    with pytest.raises(TypeError, match="takes its parents"):
        batched(wrong)


UserId = NewType("UserId", int)


@strawberry.interface
class Node:
    @batched(graphql_type=strawberry.ID)
    def id(nodes: Parents[UserId]) -> list[UserId]:
        return list(nodes)


def book_of(number: int) -> Any:
    return BookRow(f"Book {number}", number)


@strawberry.type
@row_classes(UserId)
class User(Node):
    book: Book = derived("real", book_of)


@strawberry.type
class Users:
    @batched(graphql_type="Node | None")
    def node(roots: Parents[None], id: strawberry.ID) -> list[UserId | None]:  # noqa: A002
        return [UserId(int(id)) if id.isdigit() else None for _ in roots]


@pytest.mark.parametrize("id", ["7", "x"])
async def test_a_plain_id_can_be_the_row_of_an_object(id: str) -> None:  # noqa: A002
    schema = strawberry.Schema(Users, types=[User])
    query = "query($id: ID!) { node(id: $id) { id __typename ... on User { book { title } } } }"
    expected = await schema.execute(query, variable_values={"id": id})
    result = await Engine(schema).execute(query=query, variables={"id": id})
    assert expected.errors is None
    assert result.data == expected.data
    user = {"id": "7", "__typename": "User", "book": {"title": "Book 7"}}
    assert result.data == {"node": user if id == "7" else None}


class OwnInfo(Info[Any, Any]):
    @property
    def context(self) -> Any:
        return f"{super().context} of our own"


@strawberry.type
class Informed:
    @batched
    def informed(roots: Parents[None], info: Info, at_all: bool = True) -> list[list[str]]:
        attributes = [
            info.field_name,
            info.python_name,
            info.context,
            info.root_value,
            info.path.as_list(),
            info.query,
            info.operation.name and info.operation.name.value,
            info.variable_values,
            info.return_type,
            [getattr(field, "alias", None) for field in info.selected_fields],
            type(info.schema).__name__,
            info.get_argument_definition("at_all") is not None,
            isinstance(info, OwnInfo),
        ]
        return [list(map(str, attributes))] * len(roots)


@pytest.mark.parametrize("info_class", [Info, OwnInfo])
async def test_info_has_the_same_attributes_as_under_graphql_core(info_class: type[Info]) -> None:
    schema = strawberry.Schema(Informed, config=StrawberryConfig(info_class=info_class))
    query = "query Asked($on: Boolean!) { again: informed(atAll: $on) }"
    given: dict[str, Any] = {"on": False}
    expected = await schema.execute(
        query, variable_values=given, context_value="a context", root_value="a root"
    )
    engine = Engine(schema)
    result = await engine.execute(query=query, variables=given, context="a context", root="a root")
    assert expected.errors is None
    assert result.data == expected.data
    assert engine.counters.planned == 1
