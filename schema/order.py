"""In which order lists are read, and which of their entries. Knows nothing of how."""

from datetime import datetime
from enum import Enum
from typing import Annotated

import strawberry

from resolvers.overlap import Filter
from schema.arguments import moment


@strawberry.enum(description="Which way round a list is read.")
class OrderDirection(Enum):
    ASC = strawberry.enum_value("ASC", description="What is least comes first: the oldest.")
    DESC = strawberry.enum_value("DESC", description="What is most comes first: the newest.")


@strawberry.enum(description="By what a list is ordered.")
class ListOrderField(Enum):
    DATE = strawberry.enum_value("DATE", description="By when each of its entries began.")


@strawberry.enum(description="By what a list of friends is ordered.")
class FriendOrderField(Enum):
    DATE = strawberry.enum_value("DATE", description="By when each friendship began.")
    AFFINITY = strawberry.enum_value(
        "AFFINITY",
        description="By how much the viewer has to do with each of them, most first. Of the "
        "viewer's own friends only: of anybody else's it is an error.",
    )


@strawberry.input(description="In which order a list is read.")
class ListOrder:
    field: ListOrderField = strawberry.field(default=ListOrderField.DATE, description="By what.")
    direction: OrderDirection = strawberry.field(
        default=OrderDirection.DESC, description="Which way round."
    )


Order = Annotated[
    ListOrder | None, strawberry.argument(description="The newest first, if nothing is said.")
]


@strawberry.input(description="In which order a list of friends is read.")
class FriendOrder:
    field: FriendOrderField = strawberry.field(
        default=FriendOrderField.DATE, description="By what."
    )
    direction: OrderDirection = strawberry.field(
        default=OrderDirection.DESC, description="Which way round."
    )


@strawberry.input(description="Which followers are shown: those of whom all holds that is given.")
class FollowerFilter:
    viewer_follows: bool | None = strawberry.field(
        default=None,
        description="Whether the viewer follows them, openly or by a whisper. Somebody has to be "
        "signed in for this: the error is `UNAUTHENTICATED`, and the user is null.",
    )
    since: datetime | None = strawberry.field(
        default=None, description="Only who has followed since then: a date with a time zone."
    )

    @property
    def chosen(self) -> Filter:
        """The filter as a use case takes it."""
        return Filter(
            self.viewer_follows, None if self.since is None else moment("filter.since", self.since)
        )


def is_oldest_first(order: ListOrder | FriendOrder | None) -> bool:
    """Whether the oldest entries come first; they do not, if nothing is said."""
    return order is not None and order.direction is OrderDirection.ASC
