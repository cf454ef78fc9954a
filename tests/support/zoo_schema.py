"""A schema that uses all features of the engine, with many fields that fail.

The number of an animal determines the results of its fields: some values are null where they must
not be, some resolvers raise, and some items of a batch are exceptions.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import strawberry
from graphql import GraphQLError
from strawberry import Info

from engine import (
    ColumnarRows,
    ItemOrError,
    MaybeAwaitable,
    Parents,
    batched,
    column_of,
    derived,
    row_classes,
)
from tests.support.zoo_values import (
    MOODS,
    START,
    TAG,
    ZONES,
    Broken,
    CatRow,
    Mood,
    Tag,
    fated,
    luck,
    raised,
)


@strawberry.input
class Filter:
    ids: list[strawberry.ID]
    name: str | None = "any"
    mood: Mood | None = None
    tags: list[Tag] | None = None
    inner: "Filter | None" = None


@strawberry.input(one_of=True)
class Choice:
    id: strawberry.Maybe[strawberry.ID]
    mood: strawberry.Maybe[Mood]
    among: strawberry.Maybe[Filter]


@strawberry.interface
class Animal:
    name: str | None

    @batched
    def id(animals: Parents[Any]) -> list[strawberry.ID]:
        # For some, a number with too many digits to convert to a string.
        return [animal.number if animal.number % 29 else 10**5000 for animal in animals]  # type: ignore[misc]

    @batched(description="Counted for all at once.")
    async def friend_count(
        animals: Parents[Any], info: Info, least: int = 0
    ) -> list[ItemOrError[int]]:
        assert info.field_name == "friendCount"
        if least == 13:
            raise Broken("`least` must not be 13")
        return [fated(animal.number, "friend_count", animal.number + least) for animal in animals]

    @batched
    def age(
        animals: Parents[Any], guessed: bool = True
    ) -> MaybeAwaitable[list[ItemOrError[int | None]]]:
        ages = [fated(animal.number, "age", animal.number % 5 or None) for animal in animals]
        return ages if guessed else later(ages)

    @batched(serialized=True)
    def label(animals: Parents[Any], times: int = 1) -> list[str | None]:
        if times == 13:
            raise Broken("`times` must not be 13")
        return [f"No. {animal.number}" * times or None for animal in animals]

    @batched(serialized=True)
    def seen(animals: Parents[Any], ago: int = 0) -> list[datetime]:
        if ago == 13:
            raise Broken("`ago` must not be 13")
        return [START + timedelta(days=animal.number - ago) for animal in animals]

    @batched(graphql_type="Pair | None")
    def pair(animals: Parents[Any]) -> ColumnarRows[tuple[int, int]]:
        return pairs_of([animal.number for animal in animals], [1] * len(animals))

    @batched(graphql_type="list[Pair]")
    def pairs(animals: Parents[Any], count: int = 2, columnar: bool = True) -> list[Any]:
        lists = [pairs_of(range(count), [animal.number] * count) for animal in animals]
        return [rows if columnar or len(rows) % 2 else list(rows) for rows in lists]

    @batched(graphql_type=list[int])
    def nothings(animals: Parents[Any]) -> list[ColumnarRows[tuple[int]]]:
        return [ColumnarRows(()) for _ in animals]

    @batched
    async def friends(
        animals: Parents[Any],
        first: Annotated[int, strawberry.argument(description="How many.")] = 2,
    ) -> list[ItemOrError[list["Animal | None"]]]:
        return [
            fated(
                animal.number, "friends", [animal_of(animal.number + 1 + i) for i in range(first)]
            )
            for animal in animals
        ]


@strawberry.type
@row_classes(CatRow)
class Cat(Animal):
    lives: int = derived("flags", lambda flags: fated(flags, "lives", 9 - flags))
    mood: Mood | None = derived("flags", MOODS.__getitem__)
    luck: int = derived("lucky", lambda lucky: lucky[0])
    last: int | None
    previous: int | None = derived("last", lambda last: last - 1)

    @batched
    def weight(cats: Parents[CatRow]) -> list[float]:
        return [fated(cat.number, "weight", WEIGHTS[cat.number % len(WEIGHTS)]) for cat in cats]

    @batched
    def born(cats: Parents[CatRow]) -> list[datetime | None]:
        return [
            (START + timedelta(days=cat.number)).replace(tzinfo=ZONES[cat.number % len(ZONES)])
            if cat.number % 5
            else None
            for cat in cats
        ]

    @strawberry.field
    async def enemy(self: Any, info: Info) -> "Thing | None":
        return thing_of(raised(fated(self.number, "enemy", self.number + 3)))  # type: ignore[no-any-return]

    @strawberry.field
    def grid(self: Any, size: int = 2) -> list[list[int | None] | None]:
        if size > 3:
            raise GraphQLError("too large", extensions={"code": "SIZE"})
        return [
            None if luck(row, "grid") == 1 else [fated(self.number + row, "cell", row)] * size
            for row in range(size)
        ]


@strawberry.type
class Dog(Animal):
    number: int
    mood: Mood
    tags: list[Tag]

    @strawberry.field
    def owner(self, who: Filter | None = None) -> str:
        return raised(fated(self.number, "owner", f"{who}"))  # type: ignore[no-any-return]

    @strawberry.field(deprecation_reason="Dogs have packs.")  # type: ignore[untyped-decorator]
    async def pack(self, least: int = 1) -> list["Dog"]:
        return [raised(fated(self.number + 1, "pack", dog_of(self.number + 5)))] * least


@strawberry.type
class Rock:
    """Its rows are numbers."""

    @batched
    def number(rocks: Parents[int]) -> list[int]:
        return list(rocks)

    @batched
    async def above(rocks: Parents[int]) -> list["Rock | None"]:
        return [rock + 7 if rock % 3 else None for rock in rocks]  # type: ignore[misc]

    @batched
    def text(rocks: Parents[int], upper: bool = False) -> list[str]:
        if upper:
            raise Broken("`upper` is not supported")
        return ["rock" for _ in rocks]


@strawberry.type
class Pair:
    """Its rows are tuples, stored as columns."""

    left: int = derived(0, lambda left: fated(left, "left", left))
    is_odd: bool = derived(1, lambda right: right % 2 == 1)

    @batched
    def right(pairs: Parents[tuple[int, int]]) -> Sequence[int]:
        return column_of(pairs, 1)

    @batched
    def sum(pairs: Parents[tuple[int, int]]) -> list[int]:
        return [left + right for left, right in pairs]


@strawberry.type
class Stone:
    """Its rows are recognized by `is_type_of`, one by one."""

    label: str

    @classmethod
    def is_type_of(cls, row: Any, info: Any) -> bool:
        return isinstance(row, Pebble) and row.label != "pebble 9"


@dataclass
class Pebble:
    label: str


Thing = Annotated[Cat | Dog | Stone, strawberry.union("Thing")]


WEIGHTS = [*(number / 4 for number in range(20)), float("inf"), float("nan"), 10**400]


async def later(ages: list[ItemOrError[int | None]]) -> list[ItemOrError[int | None]]:
    await asyncio.sleep(0)
    return ages


def pairs_of(left: Sequence[int], right: Sequence[int]) -> ColumnarRows[tuple[int, int]]:
    return ColumnarRows(left, right)


def cat_of(number: int) -> CatRow:
    return CatRow(number, None if number % 4 == 0 else f"cat {number}", number % 4)


def dog_of(number: int) -> Dog:
    tags: list[Any] = ["good", "bad"] if number % 6 == 0 else ["good"] * (number % 3)
    mood: Any = None if number % 7 == 0 else list(Mood)[number % 3]
    return Dog(number=number, name=f"dog {number}", mood=mood, tags=tags)


def animal_of(number: int) -> Any:
    if number % 11 == 0:
        return None
    return cat_of(number) if number % 2 else dog_of(number)


def thing_of(number: int | None) -> Any:
    if number is None or number % 13 == 0:
        return object() if number else None
    return Pebble(f"pebble {number}") if number % 3 == 0 else animal_of(number)


@strawberry.type
class Query:
    @strawberry.field
    def animal(self, id: strawberry.ID) -> Animal | None:  # noqa: A002
        return animal_of(int(id))  # type: ignore[no-any-return]

    @strawberry.field
    async def cat(self, number: int = 3) -> Cat:
        return raised(fated(number, "cat", cat_of(number)))  # type: ignore[no-any-return]

    @strawberry.field
    def kitten(self, number: int = 3) -> Cat:
        return raised(fated(number, "kitten", cat_of(number)))  # type: ignore[no-any-return]

    @batched
    async def animals(
        roots: Parents[Any], ids: list[strawberry.ID], moods: list[Mood] | None = None
    ) -> list[list[Animal]]:
        return [[animal_of(int(id)) for id in ids] for _ in roots]  # noqa: A001

    @strawberry.field
    def dogs(self, filter: Filter, first: int = 3) -> list[Dog | None] | None:  # noqa: A002
        numbers = [int(id) for id in filter.ids]  # noqa: A001
        return [dog_of(number) for number in numbers[:first]]

    @strawberry.field
    def things(self, numbers: list[int]) -> list[Thing | None]:
        return (thing_of(number) for number in numbers)  # type: ignore[return-value]

    @batched
    def rocks(roots: Parents[Any], count: int = 2) -> list[list["Rock"] | None]:
        return [tuple(range(count)) if count >= 0 else None for _ in roots]  # type: ignore[misc]

    @strawberry.field
    def echo(
        self,
        text: str | None = "nothing",
        ratio: float = 0.5,
        flag: bool = True,
        moment: datetime | None = None,
        tags: list[list[Tag] | None] | None = None,
        mood: Mood = Mood.CALM,
        inner: Filter | None = strawberry.UNSET,
    ) -> str:
        return repr((text, ratio, flag, moment, tags, mood, inner))

    @batched
    def chosen(
        roots: Parents[Any], choice: Choice, others: list[Choice] | None = None
    ) -> list[str]:
        return [repr((choice, others)) for _ in roots]

    @strawberry.field
    def zoo(self) -> "Query":
        return Query()

    @strawberry.field
    def not_a_list(self) -> list[int] | None:
        return 7  # type: ignore[return-value]


@strawberry.type
class Adoption:
    """A payload, most of whose fields are attributes."""

    outcome: Mood
    adopted: Animal | None
    others: list[Thing | None]
    note: str | None

    @batched
    async def price(adoptions: Parents["Adoption"], tip: int = 0) -> list[ItemOrError[int]]:
        return [fated(len(adoption.others), "price", tip) for adoption in adoptions]


async def text_later(text: str) -> str:
    return text


@strawberry.type
class Mutation:
    """Every resolver appends its begin to the context, a list. Those that wait append their end."""

    @strawberry.mutation
    def rename(self, info: Info, id: strawberry.ID, name: str) -> Animal:  # noqa: A002
        info.context.append(f"rename {id} to {name}")
        return raised(fated(int(id), "rename", animal_of(int(id))))  # type: ignore[no-any-return]

    @strawberry.mutation
    def clean(self, info: Info, number: int = 3) -> Thing | None:
        info.context.append(f"clean {number}")
        return thing_of(raised(fated(number, "clean", number)))  # type: ignore[no-any-return]

    @strawberry.mutation
    async def adopt(self, info: Info, filter: Filter, number: int = 2) -> Adoption | None:  # noqa: A002
        info.context.append(f"adopt {number} {filter}")
        await asyncio.sleep(0)
        info.context.append("adopted")
        if luck(number, "adopt") == 0:
            raise Broken(f"the animal {number} cannot be adopted")
        numbers = [int(id) for id in filter.ids]  # noqa: A001
        mood: Any = None if luck(number, "mood") == 1 else Mood.CALM
        others = [thing_of(other) for other in numbers]
        return Adoption(outcome=mood, adopted=animal_of(number), others=others, note=filter.name)

    @batched
    async def feed(roots: Parents[Any], info: Info, ids: list[strawberry.ID]) -> list[list[Animal]]:
        info.context.append(f"feed {ids}")
        await asyncio.sleep(0)
        info.context.append("fed")
        return [[animal_of(int(id)) for id in ids] for _ in roots]  # noqa: A001

    @batched
    def count(roots: Parents[Any], info: Info, step: int = 1) -> list[ItemOrError[int | None]]:
        info.context.append(f"count {step}")
        if step == 13:
            raise Broken("`step` must not be 13")
        return [fated(step, "count", step) for _ in roots]

    @strawberry.mutation
    def gossip(self, info: Info, number: int = 3) -> list[str]:
        """For the number 13, returns an awaitable item, which a plan leaves to graphql-core."""
        info.context.append(f"gossip {number}")
        items: list[Any] = ["first", text_later("last") if number == 13 else "last"]
        return items

    @strawberry.mutation
    def zoo(self, info: Info) -> Query:
        info.context.append("zoo")
        return Query()


schema = strawberry.Schema(Query, Mutation, types=[Cat, Dog, Stone], scalar_overrides={Tag: TAG})
