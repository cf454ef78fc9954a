"""Creates the contexts of operations from their headers."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Protocol

from gateway.authentication.identify import Identity
from gateway.graphql import freshness
from gateway.graphql.costs import CostLimits, service_caller
from gateway.http.client_address import ClientAddresses
from gateway.http.headers import Headers
from gateway.settings.config import Config
from graph.edge import UserId
from resolvers.scope import Scope as RequestScope
from schema.context import Context
from storage.ports.reader import Consistency
from storage.stores import Stores


class ContextOf(Protocol):
    """Creates the context of one operation. `identity` is passed if it is known already."""

    def __call__(self, headers: Headers, identity: Identity | None = None) -> Context: ...


# A named tuple's own constructor is a Python function, which takes twice as long.
_new_context: Callable[[tuple[RequestScope, Sequence[str], int | str]], Context] = partial(
    tuple.__new__, Context
)


def contexts_of(
    stores: Stores,
    config: Config,
    identify: Callable[[Headers], Identity],
    costs: CostLimits,
    addresses: ClientAddresses,
    consistency: Consistency = Consistency.CACHED,
) -> ContextOf:
    """A function that creates contexts with these stores, limits and consistency."""
    policy, debits = config.policy, costs.debits

    def context_of(headers: Headers, identity: Identity | None = None) -> Context:
        caller_identity = identify(headers) if identity is None else identity
        viewer = None if caller_identity.user_id is None else UserId(caller_identity.user_id)
        scope = RequestScope(
            stores,
            viewer,
            policy,
            is_service=caller_identity.service,
            affinity_scale=config.affinity,
            consistency=consistency,
        )
        if caller_identity.client is not None:
            scope.client = caller_identity.client
        tokens = freshness.tokens_in(headers) if freshness.HEADER_NAME in headers else ()
        caller: str | int
        if caller_identity.service:
            caller, debit = service_caller(caller_identity.client), debits.services
        elif viewer is None:
            caller, debit = addresses.of(headers), debits.addresses
        else:
            caller, debit = viewer, debits.viewers
        scope.debit = partial(debit, caller)
        return _new_context((scope, tokens, caller))

    return context_of


def caller_of(context: Context) -> Hashable:
    """The caller whose share of an overloaded server a request uses: differs between spaces."""
    return id(context.scope.stores), context.caller
