"""Changes of the viewer's relationships: rate-limited, and repeatable by idempotency keys."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid4

from graph.consistency import Moment, moment_of
from graph.decision import REJECTIONS, Before, Decision, Outcome
from graph.edge import Pair, UserId
from graph.errors import KithError
from graph.pace import paced
from graph.receipt import (
    AlreadyNoted,
    AlreadySpent,
    Kept,
    KeyReused,
    Note,
    Receipt,
    digest,
    keyed_id,
    read_undo_token,
    undo_token,
)
from graph.relation import SELF, Relation, column_of
from graph.transitions import among_active, taken_by
from resolvers import actions, result, visibility
from resolvers.actions import Action
from resolvers.scope import Scope

AT_ONCE = 4
"""How many changes of one call run concurrently: half of a process's connections."""


class Change(NamedTuple):
    """An action and its target."""

    target: UserId
    action: Action


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """The result of a change, and the relation of viewer and target after it, as the viewer may see
    it. Without a target if the viewer may not know that either.
    """

    target: UserId | None = None
    relation: Relation | None = None
    undo_token: str | None = None
    moment: Moment | None = None
    """The moment of the change, or of finding it already made. None: it was rejected."""


async def change(
    scope: Scope, target: UserId, action: Action, idempotency_key: str | None = None
) -> Result:
    """Apply the viewer's action to `target`. A repeated action succeeds without effect.

    With a key that was used before, it returns the first result.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL is. The change may or may not be applied; repeating it is safe.
    """
    actor = scope.must_have_viewer()
    if target == actor:
        return Result(action.to_self, target, SELF)
    pair = Pair(actor, target)
    if idempotency_key is None:
        return await _done(scope, pair, action, uuid4(), keyed=False)
    receipt_id = keyed_id(idempotency_key)
    kept = await _kept(scope, actor, [receipt_id])
    if receipt_id not in kept:
        try:
            return await _done(scope, pair, action, receipt_id, keyed=True)
        except AlreadyNoted:  # two copies of the request run concurrently
            kept = await _kept(scope, actor, [receipt_id])
    return await _told_again(scope, pair, kept[receipt_id].receipt, action.asked(target))


async def change_many(
    scope: Scope, changes: Mapping[int, Change], idempotency_key: str | None = None
) -> dict[int, Result | KithError]:
    """Apply each of `changes` independently, those with the same target in order of their places.
    Return a result or error for each place. The key applies to each change with its place.

    Raises:
        Unauthenticated: the request has no viewer.
        KeyReused: the key was used with another change at any place.
        Unavailable: with a key, PostgreSQL is.
    """
    actor = scope.must_have_viewer()
    if idempotency_key is not None:
        await _must_be_same(scope, actor, changes, idempotency_key)
    results: dict[int, Result | KithError] = {}
    places: dict[UserId, list[int]] = {}
    for place in sorted(changes):
        places.setdefault(changes[place].target, []).append(place)
    free = asyncio.Semaphore(AT_ONCE)

    async def change_all(mine: Sequence[int]) -> None:
        async with free:
            for place in mine:
                key = None if idempotency_key is None else _placed(idempotency_key, place)
                try:
                    results[place] = await change(scope, *changes[place], key)
                except KithError as error:
                    results[place] = error

    await asyncio.gather(*map(change_all, places.values()))
    return results


async def _must_be_same(
    scope: Scope, actor: UserId, changes: Mapping[int, Change], key: str
) -> None:
    """Raise KeyReused if the key was used with any other change."""
    ids = {place: keyed_id(_placed(key, place)) for place in changes}
    kept = await _kept(scope, actor, list(ids.values()))
    for place, (target, action) in changes.items():
        found = kept.get(ids[place])
        if found is not None and found.receipt.asked != action.asked(target):
            raise KeyReused


def _placed(key: str, place: int) -> str:
    """The key of one change in a list."""
    return f"{key}\n{place}"


async def undo(scope: Scope, token: str, idempotency_key: str | None = None) -> Result:
    """Undo a change of the viewer's. Raises as `change` does."""
    actor = scope.must_have_viewer()
    named = read_undo_token(token)
    keyed = None if idempotency_key is None else keyed_id(idempotency_key)
    kept = await _kept(scope, actor, [one for one in (named, keyed) if one is not None])
    if keyed is not None and (first := kept.get(keyed)) is not None:
        asked = digest(actions.UNDO, first.other, token)
        return await _told_again(scope, Pair(actor, first.other), first.receipt, asked)
    found = kept.get(named) if named else None
    if named is None or found is None or found.receipt.taken is None:
        return Result(Outcome.UNDO_UNKNOWN)
    if found.age_us > scope.limits.undo_s * 1_000_000:
        return await _told(scope, Pair(actor, found.other), Outcome.UNDO_EXPIRED)
    action = actions.undo(scope.limits, named, found.receipt.taken)
    pair = Pair(actor, found.other)
    try:
        result = await change(scope, found.other, action, idempotency_key)
    except AlreadySpent:
        result = await _told(scope, pair, Outcome.CANNOT_UNDO)
    if keyed is None or result.outcome is not Outcome.CANNOT_UNDO:
        return result
    first = (await _kept(scope, actor, [keyed])).get(keyed)
    if first is None:
        return result
    return await _told_again(scope, pair, first.receipt, action.asked(found.other))


async def _done(
    scope: Scope, pair: Pair, action: Action, receipt_id: UUID, *, keyed: bool
) -> Result:
    note = _note(action, pair.target, receipt_id, keyed=keyed)
    rule = paced(among_active(action.rule), scope.limits.pace, noted=keyed)
    here = scope.limits.before
    decision = await scope.stores.writes.edges.change(
        pair,
        lambda before: rule(here(before)),
        lambda before, decided: note(here(before), decided),
        action.spends,
    )
    scope.forget()
    return Result(
        decision.outcome,
        pair.target,
        await _seen(scope, pair.target, decision),
        undo_token(receipt_id) if action.takes and decision.steps else None,
        _moment(pair, decision),
        limit=decision.limit,
        retry_at=decision.retry_at,
    )


async def _told_again(scope: Scope, pair: Pair, first: Receipt, asked: bytes) -> Result:
    """The first result of a repeated request, or IDEMPOTENCY_KEY_REUSED for a different one."""
    if first.asked != asked:
        return await _told(scope, pair, Outcome.IDEMPOTENCY_KEY_REUSED)
    return await _told(scope, pair, first.outcome, undo_token(first.id) if first.taken else None)


async def _told(scope: Scope, pair: Pair, outcome: Outcome, token: str | None = None) -> Result:
    """A result with a known outcome and the present relation."""
    if pair.source == pair.target:  # the key was used for an action on oneself
        return Result(outcome, pair.target, SELF)
    now = await scope.stores.writes.edges.change(
        pair, lambda b: Decision(outcome, (), b.edge, b.back)
    )
    return Result(
        outcome,
        pair.target,
        await _seen(scope, pair.target, now),
        token,
        moment=_moment(pair, now),
    )


def _note(action: Action, target: UserId, receipt_id: UUID, *, keyed: bool) -> Note:
    """Write a receipt for changes that can be undone, and for requests with a key. A rejected
    change has none, because the same request may succeed later.
    """

    def note(before: Before, decision: Decision) -> Receipt | None:
        taken = taken_by(before, decision) if action.takes and decision.steps else None
        if decision.outcome in REJECTIONS or not (taken or keyed):
            return None
        return Receipt(receipt_id, action.asked(target), decision.outcome, taken)

    return note


async def _kept(scope: Scope, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, Kept]:
    return await scope.stores.writes.receipts.of(actor, ids)


def _moment(pair: Pair, decision: Decision) -> Moment | None:
    return None if decision.outcome in REJECTIONS else moment_of(pair, decision.at)


async def _seen(scope: Scope, target: UserId, decision: Decision) -> Relation:
    (seen,) = visibility.own(scope, await scope.absent(), [target], column_of([decision.relation]))
    return seen
