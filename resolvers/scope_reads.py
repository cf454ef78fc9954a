"""The reads of the loaders of a scope: profiles, accounts, and the viewer's relations."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeAlias

from graph.account import Account
from graph.edge import UserId
from graph.page import Page
from graph.profile import Profile
from graph.relation import SELF, Relation
from resolvers.policy import Policy
from storage.ports.reader import AccountsOf, Check, Consistency, ProfilesOf, Reader, RelationsOf

ProfiledPages: TypeAlias = tuple[Mapping[UserId, Page], Mapping[UserId, Profile]]
"""Pages of some users' lists, and profiles of these and of other users."""


async def read_profiles(
    reader: Reader,
    viewer: UserId | None,
    policy: Policy,
    consistency: Consistency,
    users: Sequence[UserId],
) -> Mapping[UserId, Profile]:
    found = await reader.read(viewer, ProfilesOf(users), consistency=consistency)
    return _with_mutual_approval(policy, found) if policy.mutual_approval else found


async def as_protected_profiles(policy: Policy, read: Awaitable[ProfiledPages]) -> ProfiledPages:
    """Await the read, and return every profile as that of a protected account: the policy is that
    every account approves its followers."""
    pages, profiles = await read
    return pages, _with_mutual_approval(policy, profiles)


def _with_mutual_approval(
    policy: Policy, profiles: Mapping[UserId, Profile]
) -> Mapping[UserId, Profile]:
    """The profiles as they apply where every account approves its followers."""
    return {
        user: Profile(policy.account(account), counts)
        for user, (account, counts) in profiles.items()
    }


async def read_accounts(
    reader: Reader, policy: Policy, consistency: Consistency, users: Sequence[UserId]
) -> Mapping[UserId, Account]:
    found = await reader.read(None, AccountsOf(users), consistency=consistency)
    return {user: policy.account(account) for user, account in found.items()}


async def read_viewer_relations(
    reader: Reader, viewer: UserId, consistency: Consistency, users: Sequence[UserId]
) -> Mapping[UserId, Relation]:
    (found,) = await reader.read(
        viewer, RelationsOf([Check(viewer, users)]), consistency=consistency
    )
    return {
        user: SELF if user == viewer else relation
        for user, relation in zip(users, found, strict=True)
    }
