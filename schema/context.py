"""What every field is given besides its parent. Knows nothing of HTTP."""

from collections.abc import Sequence
from typing import NamedTuple

import strawberry

from resolvers.scope import Scope


class Context(NamedTuple):
    """One request, to a field. A tuple, for it is made as often as requests come."""

    scope: Scope
    tokens: Sequence[str] = ()
    """What the request's own header says that the answer has to be as fresh as."""


Info = strawberry.Info[Context, None]


def scope_of(info: Info) -> Scope:
    return info.context.scope
