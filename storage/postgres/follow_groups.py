"""Groups of follows, each with its members in the shard of its owner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account_state import AccountState
from graph.counts import Limit
from graph.edge import UserId
from graph.follow_group import (
    GROUPS_MAX,
    AddMembers,
    CreateGroup,
    DeleteGroup,
    FollowGroup,
    GroupChange,
    GroupId,
    OrderGroups,
    RemoveMembers,
    RenameGroup,
    SavedGroups,
    ordered,
)
from graph.outcome import REJECTIONS, Outcome
from graph.pace import Pace
from graph.page import (
    Page,
    Position,
    Window,
    cut,
)
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.account_rows import state_and_clock
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import RolledBack, in_transaction
from storage.postgres.own_changes import charge_rate_limit, complete
from storage.postgres.present_follows import present_follows

ENDED_MAX = 2_000
"""How many members whose follow has ended a group keeps. An undo may restore their follows;
otherwise the purge deletes the members. If a group has as many, the next addition deletes those
whose follow no undo can restore."""


@dataclass(frozen=True, slots=True)
class _Statements:
    find_groups: str
    group_page_older: str
    group_page_newer: str
    member_counts: str
    groups_of_members: str
    create_group: str
    rename_group: str
    order_groups: str
    delete_members: str
    delete_group: str
    add_members: str
    remove_members: str
    delete_former_members: str
    is_crowded: str
    delete_ended_members: str


_SQL = sql.load(_Statements, "follow_groups")


class PostgresFollowGroups:
    """Implements `storage.ports.own_data.FollowGroups`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, owner: UserId) -> Sequence[FollowGroup]:
        async with self._postgres.connection() as connection:
            return await _read_groups(connection, owner)

    async def page(self, owner: UserId, group: GroupId, window: Window) -> Page | None:
        statement = _SQL.group_page_newer if window.backward else _SQL.group_page_older
        rows = await self._postgres.fetch(
            statement, owner, *window.after, *window.before, window.size + 1, group
        )
        if not rows:
            return None
        return cut([Position(since, user) for since, user in rows if since is not None], window)

    async def counts(self, owner: UserId, groups: Sequence[GroupId]) -> Mapping[GroupId, int]:
        rows = await self._postgres.fetch(_SQL.member_counts, owner, list(groups))
        counts_found = {row["group_id"]: row["members"] for row in rows}
        return {group: counts_found.get(group, 0) for group in groups}

    async def groups_of(
        self, owner: UserId, users: Sequence[UserId]
    ) -> Mapping[UserId, Sequence[GroupId]]:
        rows = await self._postgres.fetch(_SQL.groups_of_members, owner, users)
        return {row["target_id"]: row["groups"] for row in rows}

    async def change(
        self,
        owner: UserId,
        change: GroupChange,
        pace: Pace,
        restorable_s: int,
        request: IdempotentRequest | None = None,
    ) -> SavedGroups:
        async def save(connection: Connection) -> SavedGroups:
            return await _change_groups(
                _GroupTransaction(connection, owner, request, restorable_s), change, pace
            )

        return await in_transaction(self._postgres, owner, save)


@dataclass(frozen=True, slots=True)
class _GroupTransaction:
    """A transaction that changes the groups of one owner. `restorable_s`: for how long an undo can
    restore a follow that has ended."""

    connection: Connection
    owner: UserId
    request: IdempotentRequest | None
    restorable_s: int


async def _change_groups(
    transaction: _GroupTransaction, change: GroupChange, pace: Pace
) -> SavedGroups:
    """Make a change of groups with its rate limit and its receipt.

    Raises:
        RolledBack: the change is rejected or exceeds `pace`, or changes nothing and has no request.
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    connection, owner, request = transaction.connection, transaction.owner, transaction.request
    # The account may be deleted after this check. The erasure finishes 30 s after the deletion at
    # the earliest, so it also deletes what this transaction writes.
    state, now = await state_and_clock(connection, owner)
    if state is not AccountState.ACTIVE:
        return SavedGroups(Outcome.ACCOUNT_NOT_ACTIVE)
    # `charge_rate_limit` locks the owner's count row until the end of the transaction, as changes
    # of the owner's follows do. So changes of the follows and of the groups run one after the
    # other.
    retry_time = await charge_rate_limit(connection, owner, pace, now)
    result = await _apply_change(transaction, change, now)
    if result.outcome in REJECTIONS or (request is None and result.outcome is Outcome.UNCHANGED):
        raise RolledBack(result)
    if retry_time is not None:
        raise RolledBack(SavedGroups(Outcome.RATE_LIMITED, retry_at=retry_time))
    return await complete(connection, owner, owner, result, now, request, None)


async def _apply_change(
    transaction: _GroupTransaction, change: GroupChange, now: int
) -> SavedGroups:
    groups = await _read_groups(transaction.connection, transaction.owner)
    match change:
        case CreateGroup(name):
            return await _create(transaction, groups, name, now)
        case OrderGroups(first):
            return await _order(transaction, groups, first)
    existing = next((group for group in groups if group.id == change.group), None)
    if existing is None:
        is_deletion = isinstance(change, DeleteGroup)
        return SavedGroups(Outcome.UNCHANGED if is_deletion else Outcome.GROUP_NOT_FOUND)
    connection, owner = transaction.connection, transaction.owner
    match change:
        case RenameGroup(group, name):
            if existing.name == name:
                return SavedGroups(Outcome.UNCHANGED)
            await connection.fetch(_SQL.rename_group, owner, group, name)
            return SavedGroups(Outcome.UPDATED)
        case DeleteGroup(group):
            await connection.fetch(_SQL.delete_members, owner, group)
            await connection.fetch(_SQL.delete_group, owner, group)
            return SavedGroups(Outcome.DELETED)
        case AddMembers():
            return await _add(transaction, change)
        case RemoveMembers(group, users):
            # Only followed users with active accounts are removed, because the owner sees no others
            # in the group. The outcome must not tell a deactivated account from a deleted one.
            dates = await present_follows(connection, owner, users)
            columns = list(dates), list(dates.values())
            removed = await connection.fetch(_SQL.remove_members, owner, group, *columns)
            return SavedGroups(Outcome.UPDATED if removed else Outcome.UNCHANGED)


async def _create(
    transaction: _GroupTransaction, groups: Sequence[FollowGroup], name: str, now: int
) -> SavedGroups:
    if len(groups) >= GROUPS_MAX:
        return SavedGroups(Outcome.GROUP_LIMIT_REACHED, limit=Limit(GROUPS_MAX, len(groups)))
    # Groups are ordered by position, then by id: a new one comes last.
    group = GroupId(max([now, *(existing.id + 1 for existing in groups)]))
    request_id = None if transaction.request is None else transaction.request.id
    await transaction.connection.fetch(
        _SQL.create_group, transaction.owner, group, name, request_id
    )
    return SavedGroups(Outcome.CREATED, created=group)


async def _order(
    transaction: _GroupTransaction, groups: Sequence[FollowGroup], first: Sequence[GroupId]
) -> SavedGroups:
    new_order = ordered(groups, first)
    if new_order == [group.id for group in groups]:
        return SavedGroups(Outcome.UNCHANGED)
    await transaction.connection.fetch(_SQL.order_groups, transaction.owner, new_order)
    return SavedGroups(Outcome.UPDATED)


async def _add(transaction: _GroupTransaction, change: AddMembers) -> SavedGroups:
    connection, owner, group = transaction.connection, transaction.owner, change.group
    users = list(dict.fromkeys(change.users))
    dates = await present_follows(connection, owner, users)
    if len(dates) < len(users):
        missing = tuple(user for user in users if user not in dates)
        return SavedGroups(Outcome.MEMBERS_NOT_FOLLOWED, not_followed=missing)
    columns = list(dates), list(dates.values())
    added = await connection.fetch(_SQL.add_members, owner, group, *columns)
    if not added:
        return SavedGroups(Outcome.UNCHANGED)
    await connection.fetch(_SQL.delete_former_members, owner, *columns)
    crowded = await connection.row(_SQL.is_crowded, owner, group, ENDED_MAX)
    if crowded is not None and crowded["is_crowded"]:
        await connection.fetch(_SQL.delete_ended_members, owner, group, transaction.restorable_s)
    return SavedGroups(Outcome.UPDATED)


async def _read_groups(connection: Connection, owner: UserId) -> list[FollowGroup]:
    rows = await connection.fetch(_SQL.find_groups, owner)
    return [
        FollowGroup(owner, row["group_id"], row["name"], index, row["request_id"])
        for index, row in enumerate(rows)
    ]
