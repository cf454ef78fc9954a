"""The orders and filters of lists."""

from datetime import datetime
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import enum_value

from resolvers.overlap import FollowerCriteria
from schema.arguments import moment


@strawberry.enum(description="The direction of an order.")
class OrderDirection(Enum):
    ASC = enum_value(
        "ASC", description="Ascending: the oldest first, or the least close friend first."
    )
    DESC = enum_value(
        "DESC", description="Descending: the newest first, or the closest friend first."
    )


@strawberry.enum(description="The value by which a list is ordered.")
class ListOrderField(Enum):
    DATE = enum_value("DATE", description="The date of each entry.")


@strawberry.enum(description="The value by which a list of friends is ordered.")
class FriendOrderField(Enum):
    DATE = enum_value("DATE", description="The date on which each friendship began.")
    AFFINITY = enum_value(
        "AFFINITY",
        description="The closeness of each friend, computed from the viewer's recorded "
        "interactions. Only for the viewer's own friends; otherwise the error is `BAD_USER_INPUT`.",
    )


@strawberry.input(description="The order of a list.")
class ListOrder:
    field: ListOrderField = strawberry.field(
        default=ListOrderField.DATE, description="The value to order by."
    )
    direction: OrderDirection = strawberry.field(
        default=OrderDirection.DESC, description="The direction of the order."
    )


Order = Annotated[
    ListOrder | None,
    strawberry.argument(description="The order of the list: newest first by default."),
]


@strawberry.input(description="The order of a list of friends.")
class FriendOrder:
    field: FriendOrderField = strawberry.field(
        default=FriendOrderField.DATE, description="The value to order by."
    )
    direction: OrderDirection = strawberry.field(
        default=OrderDirection.DESC, description="The direction of the order."
    )


@strawberry.input(
    description="A filter for followers. If several fields are given, all of them apply."
)
class FollowerFilter:
    viewer_follows: bool | None = strawberry.field(
        default=None,
        description="True: only followers whom the viewer follows. False: only followers whom the "
        "viewer does not follow. If nobody is signed in, the viewer follows no one.",
    )
    since: datetime | None = strawberry.field(
        default=None, description="Only followers who have followed since this date."
    )

    @property
    def criteria(self) -> FollowerCriteria:
        """The filter as the use cases take it."""
        return FollowerCriteria(
            self.viewer_follows, None if self.since is None else moment("filter.since", self.since)
        )


@strawberry.input(description="A filter for the users whom a user follows.")
class FollowingFilter:
    group_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Only members of this group of the viewer's. Only for the viewer's own list; "
        "otherwise, and if the viewer has no such group, the error is `BAD_USER_INPUT`.",
    )


def is_oldest_first(order: ListOrder | FriendOrder) -> bool:
    """Whether the oldest entries come first."""
    return order.direction is OrderDirection.ASC
