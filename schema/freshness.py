"""How fresh an answer is, as a type; and how fresh it has to be, before anything is run.

Knows nothing of lanes.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import strawberry

from graph.consistency import Moment, read_tokens, write_token
from graph.errors import BadInput
from resolvers import freshness
from resolvers.scope import Scope
from schema.rows import date

HEADER, ARGUMENT, FIELD = "X-Consistency-Token", "atLeastAsFresh", "freshness"

TOKENS_MAX = 16

LAG_MAX = 2**31 - 1

AtLeastAsFresh = Annotated[
    str | None,
    strawberry.argument(
        description="A `consistencyToken`: the whole answer is at least as fresh as its change. If "
        "it cannot be so in time, the error is `STALE`."
    ),
]
"""Declared by the fields of the root, and read before they are: it holds for all of them."""


@strawberry.type(description="How fresh a page is.")
class ListFreshness:
    as_of: datetime = strawberry.field(
        description="All changes of the list that were acknowledged by then are in this page; "
        "later ones may be."
    )
    lag_ms: int = strawberry.field(
        description="How long ago that was when the answer was begun, in milliseconds."
    )
    degraded: bool = strawberry.field(
        description="Whether the caches were out of order: the answer is right, and was dear."
    )


async def begin(
    scope: Scope, *, header: Sequence[str], arguments: Sequence[str], looks: bool
) -> None:
    """Before anything is read: waits until the answer can be as fresh as it has to be, by tokens in
    a header and in arguments, and looks how fresh that is, if somebody asks.

    Raises:
        BadInput: a token is none, or there are too many.
        Stale: it was not so in time.
        Unavailable: PostgreSQL is.
    """
    moments = [*_moments(HEADER, header), *_moments(ARGUMENT, arguments)]
    if moments:
        await freshness.reach(scope, moments)
    if looks:
        await freshness.note_arrival(scope)


async def token_of_accounts(scope: Scope) -> str | None:
    """The `consistencyToken` of what has just been said of an account, or found to be so."""
    moment = await freshness.accounts_now(scope)
    return None if moment is None else write_token(moment)


def shown(found: freshness.Freshness) -> ListFreshness:
    return ListFreshness(
        as_of=date(found.as_of), lag_ms=min(found.lag_ms, LAG_MAX), degraded=found.is_degraded
    )


def _moments(argument: str, tokens: Sequence[str]) -> list[Moment]:
    if len(tokens) > TOKENS_MAX:
        raise BadInput(argument, f"{len(tokens)} tokens are too many: use at most {TOKENS_MAX}.")
    return read_tokens(argument, tokens)
