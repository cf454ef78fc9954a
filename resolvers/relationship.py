"""Changes of the viewer's relationships: rate-limited, and repeatable by idempotency keys."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from graph.consistency import Moment, moment_of
from graph.counts import Limit
from graph.decision_types import Decision, PairState
from graph.edge import Millis, Pair, UserId
from graph.errors import KithError
from graph.outcome import REJECTIONS, Outcome
from graph.pace import paced
from graph.receipt import (
    KeyReused,
    Receipt,
    ReceiptConsumed,
    ReceiptExists,
    digest_of,
    keyed_id,
    read_undo_token,
    undo_token,
)
from graph.relation import SELF, Relation
from graph.rules import among_active
from resolvers import actions, result, visibility
from resolvers.actions import Action
from resolvers.audit import audited
from resolvers.relation_versions import if_unchanged
from resolvers.remaining_limits import reached_limit
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
    it. `target` is None if the undo token is unknown.
    """

    target: UserId | None = None
    relation: Relation | None = None
    undo_token: str | None = None
    moment: Moment | None = None
    """When the change was made, or found to be made already. None: it was rejected."""


def change(
    scope: Scope, target: UserId, action: Action, idempotency_key: str | None = None
) -> Awaitable[Result]:
    """Apply the viewer's action to `target`.

    Without a key, a repeated action changes nothing; with an expected version, and for an undo, it
    is rejected. With the key of an earlier request that was not rejected, the result has the
    outcome and the undo token of that request, and the current relation.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL cannot be reached. The change may or may not be applied; repeating
            it is safe.
    """
    if scope.is_service:
        pending_change = _change(scope, target, action, idempotency_key)
        return audited(scope, action.name, target, pending_change)
    return _change(scope, target, action, idempotency_key)


async def change_once(
    scope: Scope, change: Change, key: str, *, is_repeated: bool, is_paced: bool
) -> Result:
    """Apply a change of a bulk operation at most once under its idempotency key.

    `is_repeated`: whether the change may have been made before. If not, its receipt is not looked
    up, which saves a statement. `is_paced`: whether the viewer's rate limit applies.

    Raises as `change` does.
    """
    target, action = change.target, change.action.in_list()
    actor = scope.must_have_viewer()
    if target == actor:
        return Result(action.to_self, target, SELF)
    return await _write_once(
        scope, Pair(actor, target), action, key, is_repeated=is_repeated, is_paced=is_paced
    )


async def _change(
    scope: Scope, target: UserId, action: Action, idempotency_key: str | None
) -> Result:
    actor = scope.must_have_viewer()
    if target == actor:
        return Result(action.to_self, target, SELF)
    pair = Pair(actor, target)
    if idempotency_key is None:
        return await _write(scope, pair, action, None)
    return await _write_once(scope, pair, action, idempotency_key)


async def _write_once(
    scope: Scope,
    pair: Pair,
    action: Action,
    idempotency_key: str,
    *,
    is_repeated: bool = True,
    is_paced: bool = True,
) -> Result:
    """Apply an action, or return the first result under the key.

    After a rejection without a receipt, the key is looked up again: see
    `idempotency.run_idempotently`.
    """
    key = keyed_id(idempotency_key)
    result = await _first_result(scope, pair, action, key) if is_repeated else None
    if result is not None:
        return result
    with suppress(ReceiptExists):  # two copies of the request run concurrently
        result = await _write(scope, pair, action, key, is_paced=is_paced)
    if result is None or (is_repeated and result.outcome in action.without_receipt):
        result = await _first_result(scope, pair, action, key) or result
    assert result is not None
    return result


async def _first_result(scope: Scope, pair: Pair, action: Action, key: UUID) -> Result | None:
    """The first result under the key, or IDEMPOTENCY_KEY_REUSED if it is of another action. None:
    there is none."""
    stored = (await scope.stores.writes.receipts.get_many(pair.source, [key])).get(key)
    if stored is None:
        return None
    is_same = action.is_of(stored.receipt, pair.target)
    return await _repeated(scope, pair, stored.receipt, is_same=is_same)


async def change_many(
    scope: Scope,
    changes: Mapping[int, Change],
    idempotency_key: str | None = None,
    sent: object = None,
) -> dict[int, Result | KithError]:
    """Apply each of `changes`, which are by their place in the request, independently, and those
    with the same target in order of their places. Return a result or error for each place.

    After a result that is not final (`is_final`), the later changes of the same target are not
    tried, and have the same result: otherwise a repeat would make them first.

    The key applies to each change with its place. It is compared with `sent`, the whole list as
    sent, with invalid changes. With a key, rejections are stored too, except those in
    `actions.WITHOUT_RECEIPT_IN_LISTS`.

    Raises:
        Unauthenticated: the request has no viewer.
        KeyReused: the key was used with another list. No change was made.
        Unavailable: with a key, PostgreSQL cannot be reached.
    """
    actor = scope.must_have_viewer()
    list_digest = None
    if idempotency_key is not None:
        list_digest = digest_of("changeRelationships", sent)
        await _must_be_same(scope, actor, changes, idempotency_key, list_digest)
    results: dict[int, Result | KithError] = {}
    places: dict[UserId, list[int]] = {}
    for place in sorted(changes):
        places.setdefault(changes[place].target, []).append(place)
    free = asyncio.Semaphore(AT_ONCE)

    async def change_one(place: int) -> Result | KithError:
        key = None if idempotency_key is None else _placed(idempotency_key, place)
        target, action = changes[place]
        try:
            return await change(scope, target, action.in_list(list_digest), key)
        except KithError as error:
            return error

    async def change_all(mine: Sequence[int]) -> None:
        async with free:
            for number, place in enumerate(mine):
                results[place] = await change_one(place)
                if not is_final(results[place]):
                    results.update(dict.fromkeys(mine[number:], results[place]))
                    return

    first = next((target for target in places if target != actor), None)
    if idempotency_key is not None and first is not None:
        # Changes of oneself have no receipt. The first other change is made before the rest: of
        # two lists that are sent at once with one key, only one can write its receipt.
        mine = places.pop(first)
        await change_all(mine)
        if _outcome(results[mine[0]]) is Outcome.IDEMPOTENCY_KEY_REUSED:
            raise KeyReused
    await asyncio.gather(*map(change_all, places.values()))
    return results


def is_final(result: Result | KithError | None) -> bool:
    """Whether a repeat of a change in a list returns the same result, and does not try again. None:
    the change has failed."""
    outcome = _outcome(result)
    return outcome is not None and outcome not in actions.WITHOUT_RECEIPT_IN_LISTS


def _outcome(result: Result | KithError | None) -> Outcome | None:
    return result.outcome if isinstance(result, Result) else None


async def _must_be_same(
    scope: Scope, actor: UserId, changes: Mapping[int, Change], key: str, list_digest: bytes
) -> None:
    """Raise KeyReused if the key was used with another list."""
    # Another list may be longer, or have valid changes in other places.
    places = {keyed_id(_placed(key, place)): place for place in range(scope.policy.changes_max)}
    stored = await scope.stores.writes.receipts.get_many(actor, list(places))
    for receipt_id, found in stored.items():
        change = changes.get(places[receipt_id])
        is_same = found.receipt.digest == list_digest
        if change is not None:
            is_same = is_same or change.action.is_of(found.receipt, change.target)
        if not is_same:
            raise KeyReused


def _placed(key: str, place: int) -> str:
    """The key of one change in a list."""
    return f"{key}\n{place}"


async def undo(
    scope: Scope,
    token: str,
    idempotency_key: str | None = None,
    if_version: str | None = None,
) -> Result:
    """Undo a change of the viewer's; with `if_version`, only if the relation has this version.

    Raises as `change` does.
    """
    actor = scope.must_have_viewer()
    named = read_undo_token(token)
    key = None if idempotency_key is None else keyed_id(idempotency_key)
    stored = await scope.stores.writes.receipts.get_many(
        actor, [one for one in (named, key) if one is not None]
    )
    if key is not None and (first := stored.get(key)) is not None:
        digest = digest_of(actions.UNDO, first.other, token, *actions.digest_part_of(if_version))
        is_same = first.receipt.digest == digest
        return await _repeated(scope, Pair(actor, first.other), first.receipt, is_same=is_same)
    found = stored.get(named) if named else None
    if named is None or found is None or found.receipt.undo is None:
        return Result(Outcome.UNDO_UNKNOWN)
    pair = Pair(actor, found.other)
    if found.age_us > scope.policy.undo_s * 1_000_000:
        return await current_result(scope, pair, Outcome.UNDO_EXPIRED)
    action = actions.undo(scope.policy, named, found.receipt.undo)
    action = replace(action, if_version=if_version)
    return await change(scope, found.other, action, idempotency_key)


async def _write(
    scope: Scope, pair: Pair, action: Action, key: UUID | None, *, is_paced: bool = True
) -> Result:
    """Decide the action and write the decision, with a receipt under `key` if there is one."""
    policy = scope.policy
    rule = action.rule
    if action.if_version is not None:
        absent = await scope.absent()
        rule = if_unchanged(scope, absent, pair.target, action.if_version, rule)
    rule = among_active(rule)
    if is_paced:
        rule = paced(rule, policy.pace, has_key=key is not None)

    def decide(state: PairState) -> Decision:
        state = policy.applied_to(state)
        return action.with_receipt(pair.target, key, state, rule(state))

    try:
        decision = await scope.stores.writes.edges.change(pair, decide)
    except ReceiptConsumed:  # by another undo with the same token
        return await current_result(scope, pair, Outcome.CANNOT_UNDO)
    scope.reread_fresh()
    receipt = decision.receipt
    return Result(
        decision.outcome,
        pair.target,
        visibility.own_relation(scope, await scope.absent(), pair.target, decision.relation),
        undo_token(receipt.id) if receipt is not None and receipt.undo is not None else None,
        _moment(pair, decision.outcome, decision.at),
        limit=decision.limit,
        retry_at=decision.retry_at,
        is_delayed=decision.is_delayed,
    )


async def _repeated(scope: Scope, pair: Pair, first: Receipt, *, is_same: bool) -> Result:
    """The first result of a repeated request, or IDEMPOTENCY_KEY_REUSED for a different one."""
    if not is_same:
        return await current_result(scope, pair, Outcome.IDEMPOTENCY_KEY_REUSED)
    return await current_result(
        scope,
        pair,
        first.outcome,
        undo_token(first.id) if first.undo else None,
        limit=await reached_limit(scope, pair.source, first.outcome),
    )


async def current_result(
    scope: Scope,
    pair: Pair,
    outcome: Outcome,
    token: str | None = None,
    *,
    limit: Limit | None = None,
    retry_at: Millis | None = None,
) -> Result:
    """A result with a known outcome and the current relation."""
    if pair.source == pair.target:  # the key was used for an action on oneself
        return Result(outcome, pair.target, SELF)
    decision = await scope.stores.writes.edges.read(pair)
    scope.reread_fresh()
    relation = visibility.own_relation(scope, await scope.absent(), pair.target, decision.relation)
    moment = _moment(pair, outcome, decision.at)
    return Result(
        outcome,
        pair.target,
        relation,
        token,
        moment,
        limit=limit,
        retry_at=retry_at,
        is_delayed=decision.is_delayed,
    )


def _moment(pair: Pair, outcome: Outcome, at: int) -> Moment | None:
    return None if outcome in REJECTIONS else moment_of(pair, at)
