"""What every field is given besides its parent. Knows nothing of HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass

import strawberry

from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Context:
    """One request, to a field."""

    scope: Scope
    tokens: Sequence[str] = ()
    """What the request's own header says that the answer has to be as fresh as."""


Info = strawberry.Info[Context, None]


def scope_of(info: Info) -> Scope:
    return info.context.scope
