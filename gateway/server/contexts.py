"""Creates the contexts of operations from their headers."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from engine import take_turns_for
from gateway.authentication.identify import Authentication, Identity
from gateway.graphql import freshness
from gateway.graphql.cost_limits import CostLimits, service_caller
from gateway.http.client_address import FORWARDING, ClientAddresses
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


TakeTurns: TypeAlias = Callable[[Headers], None]
"""Lets this task take turns of the event loop for the sender of these headers: see `contexts_of`. A
token that was not verified before counts as none."""

_SIGNED_IN = None
"""The group of viewers and services, and of work that has no caller."""
_ANONYMOUS = "anonymous"

# A named tuple's own constructor is a Python function, which takes twice as long.
_new_context: Callable[[tuple[RequestScope, Sequence[str]]], Context] = partial(
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
    """A function that creates contexts with these stores, limits and consistency.

    The task that calls it takes turns of the event loop for the caller whose budget is charged: a
    viewer or a service of this space, or an address in all spaces. All addresses together take
    turns with the viewers and services, so that a client with many addresses gets half of the turns
    at most. Without trusted proxies, all clients of a unix socket are one address: they share their
    turns as they share a budget.
    """
    policy, debits, space = config.policy, costs.debits, id(stores)

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
            take_turns_for((_SIGNED_IN, (space, caller)))
        elif viewer is None:
            caller, debit = addresses.address_of(headers), debits.addresses
            take_turns_for((_ANONYMOUS, caller))
        else:
            caller, debit = viewer, debits.viewers
            take_turns_for((_SIGNED_IN, (space, caller)))
        scope.caller, scope.debit = caller, partial(debit, caller)
        return _new_context((scope, tokens))

    return context_of


def turns_of_senders(authentication: Authentication, context_of: ContextOf) -> TakeTurns:
    """A `TakeTurns` for requests that this authentication will identify."""

    def take_turns(headers: Headers) -> None:
        # Without the other headers, some of which are long and have not been checked.
        sender = [(name, value) for name in FORWARDING for value in headers.every(name)]
        context_of(Headers(sender, headers.client), authentication.verified(headers))

    return take_turns


def caller_of(context: Context) -> Hashable:
    """The caller whose share of an overloaded server a request uses: differs between spaces."""
    return id(context.scope.stores), context.scope.caller
