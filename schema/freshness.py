"""The freshness of a list as a GraphQL type, and the wait for consistency tokens."""

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
"""The maximum number of tokens in the headers of a request, and of those in its arguments."""

LAG_MS_MAX = 2**31 - 1
"""The greatest `Int` of GraphQL."""

AtLeastAsFresh = Annotated[
    str | None,
    strawberry.argument(
        description="A `consistencyToken`. The whole response includes the change that the token "
        "is from, or the request fails with the error `STALE` if that takes too long."
    ),
]
"""An argument of root fields. It is read before execution and applies to the whole request."""


@strawberry.type(description="How fresh a page of a list is.")
class ListFreshness:
    as_of: datetime = strawberry.field(
        description="The page includes all changes of the list that were committed by this "
        "time. It can also include later ones."
    )
    lag_ms: int = strawberry.field(
        description="The time from `asOf` to the moment before this page was read, in "
        "milliseconds. 0 if the "
        "page is completely up to date."
    )
    degraded: bool = strawberry.field(
        description="Whether the caches were unavailable. The page is correct, but was expensive "
        "to read."
    )


async def begin(
    scope: Scope, *, header: Sequence[str], arguments: Sequence[str], reads_freshness: bool
) -> None:
    """Wait, before anything is read, until the response can include the changes of all tokens.

    With `reads_freshness`, also determine how fresh the lists are, for their field `freshness`.

    Raises:
        BadInput: a token is invalid, or there are too many.
        Stale: the changes did not arrive in time.
        Unavailable: PostgreSQL is unavailable.
    """
    moments = [*_moments(HEADER, header), *_moments(ARGUMENT, arguments)]
    if moments:
        await freshness.reach(scope, moments)
    if reads_freshness:
        await freshness.read_watermarks(scope)


async def token_of_accounts(scope: Scope, *, is_delayed: bool) -> str | None:
    """Return the `consistencyToken` for a change of settings or of an account's state that was just
    made. None if PostgreSQL is unavailable. `is_delayed`: whether a cache may lack the change."""
    moment = await freshness.accounts_now(scope, may_be_stale_in_cache=is_delayed)
    return None if moment is None else write_token(moment)


def list_freshness(found: freshness.Freshness) -> ListFreshness:
    return ListFreshness(
        as_of=date(found.as_of), lag_ms=min(found.lag_ms, LAG_MS_MAX), degraded=found.is_degraded
    )


def _moments(argument: str, tokens: Sequence[str]) -> list[Moment]:
    if len(tokens) > TOKENS_MAX:
        raise BadInput(argument, f"must have at most {TOKENS_MAX} tokens in one request.")
    return read_tokens(argument, tokens)
