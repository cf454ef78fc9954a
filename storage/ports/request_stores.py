"""The stores that the requests of a gateway use, in groups."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from storage.ports.accounts import Absences, Accounts, AccountStates
from storage.ports.bulk import BulkOperations
from storage.ports.edges import EdgeNotes, Edges, Receipts
from storage.ports.events import ChangeFeed, Feeds, Subscriptions
from storage.ports.exports import AccountExports, Exports
from storage.ports.lanes import CatchUp, LaneProgress
from storage.ports.limits import Usages
from storage.ports.lists import Blocks, Overlaps, OwnLists
from storage.ports.own_data import FollowGroups, PinnedFollowing, PrivateNotes, SeenFollowers
from storage.ports.reader import Reader
from storage.ports.suggestions import Affinities, SampledUsers

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reads:
    """The stores of edges, lists and accounts that queries read."""

    reader: Reader
    own_lists: OwnLists
    overlaps: Overlaps
    blocks: Blocks
    edge_notes: EdgeNotes
    sampled_users: SampledUsers
    absences: Absences


@dataclass(frozen=True, slots=True)
class Writes:
    """The stores of edges and accounts that mutations change, with their receipts and limits."""

    edges: Edges
    accounts: Accounts
    account_states: AccountStates
    receipts: Receipts
    usages: Usages
    bulk: BulkOperations


@dataclass(frozen=True, slots=True)
class OwnData:
    """The stores of data that only its user sees, which queries read and mutations change."""

    private_notes: PrivateNotes
    follow_groups: FollowGroups
    seen_followers: SeenFollowers
    pinned_following: PinnedFollowing
    affinities: Affinities


@dataclass(frozen=True, slots=True)
class ExportStores:
    """The stores that exports read."""

    lists: Exports
    accounts: AccountExports


@dataclass(frozen=True, slots=True)
class Changes:
    """The stores by which a request reads changes, and waits for them."""

    feeds: Feeds
    change_feed: ChangeFeed
    subscriptions: Subscriptions
    progress: LaneProgress
    catch_up: CatchUp


class Shielded(Protocol):
    """Runs changes that the cancellation of their request does not stop."""

    async def run(self, change: Coroutine[Any, Any, T]) -> T:
        """Return the change's result. If the caller is cancelled, the change continues."""
        ...


class RequestStores(Protocol):
    """The stores and services that the requests of a gateway use."""

    @property
    def reads(self) -> Reads: ...
    @property
    def writes(self) -> Writes: ...
    @property
    def own_data(self) -> OwnData: ...
    @property
    def exports(self) -> ExportStores: ...
    @property
    def changes(self) -> Changes: ...
    @property
    def shielded(self) -> Shielded: ...
