"""The one interface of everything that has an id."""

from typing import cast

import strawberry

from engine import Parents, batched


@strawberry.interface(description="An object with an id that `node(id)` finds it by.")
class Node:
    @batched(
        description="The id, unique in the whole API. A user's is the platform's own 64-bit user "
        "id, as a decimal number."
    )
    def id(rows: Parents[object]) -> list[strawberry.ID]:
        return cast("list[strawberry.ID]", list(map(str, rows)))
