"""The context that every resolver receives."""

from collections.abc import Sequence
from typing import NamedTuple

import strawberry

from resolvers.scope import Scope


class Context(NamedTuple):
    """The context of one request. A tuple, because one is made for each request."""

    scope: Scope
    tokens: Sequence[str] = ()
    """The consistency tokens in the request's header."""


Info = strawberry.Info[Context, None]


def scope_of(info: Info) -> Scope:
    return info.context.scope
