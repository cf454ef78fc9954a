"""The users from 401 on in the sample graph: each has a different relationship to user 1.

They are created by the ordinary rules, so the graph shows only states that can occur.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from time import time

from graph.account import PrivacyChange
from graph.account_state import AccountState
from graph.affinity import Interaction, InteractionKind, Scale
from graph.edge import Kind, Millis, Pair, UserId
from graph.follow_group import AddMembers, CreateGroup
from graph.privacy import Audience
from resolvers import actions
from resolvers.accounts import change_state
from resolvers.actions import Action
from resolvers.follow_groups import ADD, CREATE, change_groups, viewers_groups
from resolvers.interactions import record_interactions
from resolvers.new_followers import mark_followers_seen
from resolvers.pinned_following import set_pinned_following
from resolvers.policy import Policy
from resolvers.private_notes import set_note
from resolvers.relationship import change
from resolvers.relationship_settings import change_privacy
from resolvers.scope import Scope
from storage.stores import Stores

ME = UserId(1)
WHISPERED_TO, WHISPERS = UserId(401), UserId(402)
CLOSE, CLOSEST = UserId(403), UserId(404)
MUTED, MUTED_UNTIL = UserId(405), UserId(406)
ASKED, ASKED_SECRETLY = UserId(407), UserId(408)
ASKS, ASKS_TOO = UserId(409), UserId(410)
BLOCKED, BLOCKS = UserId(411), UserId(412)
FOR_FOLLOWERS, FOR_FRIENDS, FOR_NOBODY = UserId(413), UserId(414), UserId(415)
PROTECTED = UserId(416)
FOLLOWS_ME, FRIEND_OF_FRIEND, DISMISSED = UserId(417), UserId(418), UserId(419)
DEACTIVATED = UserId(420)
LAST = DEACTIVATED

FOLLOWS = (
    (ME, CLOSE),
    (CLOSE, ME),
    (ME, CLOSEST),
    (CLOSEST, ME),
    (ME, MUTED),
    (ME, FOR_FOLLOWERS),
    (ME, FOR_FRIENDS),
    (FOLLOWS_ME, ME),
    (DISMISSED, ME),
    (DEACTIVATED, ME),
    (CLOSE, FRIEND_OF_FRIEND),
)
"""The follows that the rest builds on. The first has the newest date."""

GROUPS = {"Lisbon": (CLOSE, CLOSEST, WHISPERED_TO), "Work": (CLOSE, MUTED)}
"""The groups of user 1, and their members."""

DESCRIPTIONS: Mapping[UserId, str] = {
    ME: "the viewer of the examples",
    UserId(2): "a star, followed by more than a third of all",
    UserId(400): "follows nobody",
    WHISPERED_TO: "user 1 whispers to this user",
    WHISPERS: "whispers to user 1",
    CLOSE: "a friend of user 1, a close follow with notifications and a note",
    CLOSEST: "the friend whom user 1 messages most",
    MUTED: "muted by user 1",
    ASKED: "protected; user 1 asks to follow",
    ASKS: "asks to follow user 1",
    BLOCKED: "blocked by user 1",
    BLOCKS: "has blocked user 1",
    FOR_FOLLOWERS: "lists are open to followers",
    FOR_FRIENDS: "lists are open to friends",
    FOR_NOBODY: "lists are hidden from everybody",
    PROTECTED: "protected: a follow is a request",
    FOLLOWS_ME: "follows user 1, not followed back",
    FRIEND_OF_FRIEND: "a friend of user 1 follows this user",
    DEACTIVATED: "a deactivated account",
}
"""The situation that each user demonstrates, for the viewer switcher of the playground."""

MUTE_END = Millis(int(datetime(2099, 1, 1, tzinfo=UTC).timestamp() * 1000))
FOLLOWERS_SEEN = Millis(int(datetime(2025, 12, 28, tzinfo=UTC).timestamp() * 1000))
"""User 1 marks the followers until this date as seen, which are all but the newest."""


async def create_relationships(stores: Stores, policy: Policy, scale: Scale) -> None:
    """Create the relationships to user 1. Safe to repeat after an interruption."""
    for user, privacy in _settings():
        await change_privacy(Scope(stores, user, policy), privacy)
    for actor, target, action in _changes(policy):
        await change(Scope(stores, actor, policy), target, action)
    await set_note(Scope(stores, ME, policy), CLOSE, "Met in Lisbon.")
    await _add_groups(Scope(stores, ME, policy))
    await set_pinned_following(Scope(stores, ME, policy), [CLOSEST, CLOSE])
    await mark_followers_seen(Scope(stores, ME, policy), FOLLOWERS_SEEN)
    # Turning protection off accepts no requests: two requests to user 1 stay pending.
    await change_privacy(Scope(stores, ME, policy), PrivacyChange(protected=False))
    service = Scope(stores, None, policy, is_service=True, affinity_scale=scale)
    await record_interactions(service, list(_interactions(Millis(int(time() * 1000)))))
    await change_state(service, DEACTIVATED, AccountState.DEACTIVATED)


async def _add_groups(scope: Scope) -> None:
    existing = {group.name: group for group in await viewers_groups(scope)}
    for name, members in GROUPS.items():
        group = existing.get(name)
        if group is None:
            group = (await change_groups(scope, CREATE, CreateGroup(name))).group
        assert group is not None
        await change_groups(scope, ADD, AddMembers(group.id, members))


def _settings() -> Iterator[tuple[UserId, PrivacyChange]]:
    for user in (ME, ASKED, ASKED_SECRETLY, PROTECTED):
        yield user, PrivacyChange(protected=True)
    for user, audience in (
        (FOR_FOLLOWERS, Audience.FOLLOWERS),
        (FOR_FRIENDS, Audience.FRIENDS),
        (FOR_NOBODY, Audience.ONLY_ME),
    ):
        yield user, PrivacyChange(following=audience, followers=audience)


def _changes(policy: Policy) -> Iterator[tuple[UserId, UserId, Action]]:
    yield ME, WHISPERED_TO, actions.follow(policy, Kind.WHISPER)
    yield ME, CLOSE, actions.update_follow(None, close_follow=True, notify=True)
    yield ME, MUTED, actions.mute(None)
    yield ME, MUTED_UNTIL, actions.mute(MUTE_END)
    yield ME, ASKED, actions.follow(policy, message="We met in Lisbon.")
    yield ME, ASKED_SECRETLY, actions.follow(policy, Kind.WHISPER)
    yield WHISPERS, ME, actions.follow(policy, Kind.WHISPER)
    yield ME, WHISPERS, actions.accept_request(policy)
    yield ASKS, ME, actions.follow(policy, message="Your talk was great!")
    yield ASKS_TOO, ME, actions.follow(policy)
    yield ME, BLOCKED, actions.block(policy)
    yield BLOCKS, ME, actions.block(policy)
    yield ME, DISMISSED, actions.dismiss()


def _interactions(now: Millis) -> Iterator[Interaction]:
    for other, kind, times in (
        (CLOSEST, InteractionKind.MESSAGED, 40),
        (CLOSE, InteractionKind.COMMENTED, 20),
        (FOLLOWS_ME, InteractionKind.LIKED, 30),
        (FRIEND_OF_FRIEND, InteractionKind.VIEWED_PROFILE, 30),
    ):
        yield Interaction(Pair(ME, other), kind, now, times)
