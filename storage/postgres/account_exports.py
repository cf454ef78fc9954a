"""Reads all that is stored about one user, in ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from graph.account_export import (
    AccountEntry,
    AffinityEntry,
    GroupEntry,
    MemberEntry,
    NoteEntry,
    OutgoingEntry,
    PinEntry,
    ReceiptEntry,
)
from graph.account_state import AccountState
from graph.edge import Edge, Flags, Kind, Millis, UserId
from graph.new_followers import NEVER_SEEN
from graph.outcome import Outcome
from storage.postgres import sql
from storage.postgres.account_rows import account_of
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres
from storage.postgres.receipts import read_undo_record

_DERIVED = "it is computed from columns that are exported"
_ONLY_OWNER = "only the owner of the edge may see it"

EXPORTED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "account": {"is_counted": "it is a state of a job"},
        "following": {},
        "follower": {
            "version": f"{_ONLY_OWNER}: it also changes with the flags",
            "flags": _ONLY_OWNER,
        },
        "following_count": dict.fromkeys(
            ("follows", "friends", "whispers", "requests", "blocks", "specials", "mutes"), _DERIVED
        ),
        "private_note": {},
        "pinned_following": {"position": "the entries are in this order"},
        "follow_group": {
            "position": "the entries are in this order",
            "request_id": "it is the id of a receipt",
        },
        "follow_group_member": {},
        "affinity": {},
        "receipt": {"asked": "it is a digest of the request"},
    }
)
"""The tables of which an account export has the user's rows, each with the columns that it leaves
out, and why. A test compares them with the database."""

NOT_EXPORTED: Mapping[str, str] = MappingProxyType(
    {
        "follower_count": "it counts the rows of `follower`, also the blocks of other users",
        "affinity_count": "it counts the rows of `affinity`",
        "outbox": "its rows copy edges of `following`, and are deleted within a second",
        "webhook_delivery": "its rows copy edges of `following` for the log of an endpoint, for a"
        " week",
        "bulk_operation": "it belongs to a service, and its rows name no user",
        "bulk_slice": "it belongs to the operation of a service, and its texts are deleted 3 days"
        " after the end",
        "canary": "its users do not exist",
        "verification": "it is the position of a job",
        "bulk_load": "it is the progress of a command",
        "function": "it names functions of the database",
        "migration": "it names migrations",
        "lane_count": "it is a setting of the space",
        "space": "it names spaces",
        "webhook_endpoint": "it names endpoints of services",
    }
)
"""All other tables, and why no row of them is in an account export."""


@dataclass(frozen=True, slots=True)
class _Statements:
    account: str
    own_counts: str
    outgoing: str
    notes: str
    pins: str
    groups: str
    group_members: str
    affinities: str
    receipts: str


_SQL = sql.load(_Statements, "account_exports")


class PostgresAccountExports:
    """Implements `storage.ports.exports.AccountExports` with one statement per range."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def account(self, user: UserId) -> AccountEntry:
        row = await self._postgres.row(_SQL.account, user)
        count_row = await self._postgres.row(_SQL.own_counts, user)
        assert row is not None
        return AccountEntry(
            account_of(row),
            AccountState(row["state"]),
            row["changed_at"],
            row["deleted_at"],
            row["erased_at"],
            0 if count_row is None else count_row["paced_until"],
            NEVER_SEEN if count_row is None else count_row["followers_seen"],
        )

    async def outgoing(self, user: UserId, after: UserId, limit: int) -> Sequence[OutgoingEntry]:
        rows = await self._postgres.fetch(_SQL.outgoing, user, after, limit)
        return list(map(_outgoing, rows))

    async def notes(self, user: UserId, after: UserId, limit: int) -> Sequence[NoteEntry]:
        rows = await self._postgres.fetch(_SQL.notes, user, after, limit)
        return [NoteEntry(row["id"], row["note"]) for row in rows]

    async def pins(self, user: UserId) -> Sequence[PinEntry]:
        rows = await self._postgres.fetch(_SQL.pins, user)
        return [PinEntry(row["id"], row["since"]) for row in rows]

    async def groups(self, user: UserId) -> Sequence[GroupEntry]:
        rows = await self._postgres.fetch(_SQL.groups, user)
        return [GroupEntry(row["id"], row["name"]) for row in rows]

    async def group_members(self, user: UserId, after: UserId, limit: int) -> Sequence[MemberEntry]:
        rows = await self._postgres.fetch(_SQL.group_members, user, after, limit)
        return [
            MemberEntry(row["id"], list(zip(row["groups"], row["dates"], strict=True)))
            for row in rows
        ]

    async def affinities(self, user: UserId, after: UserId, limit: int) -> Sequence[AffinityEntry]:
        rows = await self._postgres.fetch(_SQL.affinities, user, after, limit)
        return [AffinityEntry(row["id"], row["rank"]) for row in rows]

    async def receipts(self, user: UserId, after: int, limit: int) -> Sequence[ReceiptEntry]:
        rows = await self._postgres.fetch(_SQL.receipts, user, UUID(int=after), limit)
        return list(map(_receipt, rows))


def _outgoing(row: Record) -> OutgoingEntry:
    edge = Edge(Kind(row["kind"]), Flags(row["flags"]), row["since"], row["version"])
    muted_until = row["muted_until"]
    until = None if muted_until is None else Millis(muted_until)
    return OutgoingEntry(row["id"], edge, row["message"], until)


def _receipt(row: Record) -> ReceiptEntry:
    return ReceiptEntry(
        row["id"].int,
        row["other_id"] or None,
        row["made_at"],
        Outcome[row["outcome"]],
        read_undo_record(row["taken"], row["messages"] or (None, None)),
        row["recorded"],
    )
