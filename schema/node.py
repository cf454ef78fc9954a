"""The one interface of everything that has an id."""

from typing import Protocol

import strawberry

from engine import Parents, batched


class Identified(Protocol):
    """A row with an id, which its text makes unique in the whole API."""

    @property
    def id(self) -> object: ...


@strawberry.interface(description="An object with an id that `node(id)` finds it by.")
class Node:
    @batched(
        description="The id, unique in the whole API. A user's is the platform's own 64-bit user "
        "id, as a decimal number."
    )
    def id(rows: Parents[Identified]) -> list[strawberry.ID]:
        return [strawberry.ID(str(row.id)) for row in rows]
