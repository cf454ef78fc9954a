"""A model of groups in plain Python, without any lag.

A member counts only while the owner's follow has the same date as when the member was added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from graph.edge import Millis
from graph.outcome import Outcome

Followed = Callable[[int], Millis | None]
"""Returns since when the owner follows a user; None if not, or if the user is absent."""


@dataclass
class Group:
    name: str
    members: dict[int, Millis] = field(default_factory=dict)
    """The users who were added, with the dates of the follows at that time."""

    def shown(self, followed: Followed) -> dict[int, Millis]:
        """The members who count now."""
        return {user: since for user, since in self.members.items() if followed(user) == since}


@dataclass
class Groups:
    """The groups of one owner by their ids, in order. Each change returns its outcome."""

    groups: dict[str, Group] = field(default_factory=dict)

    def rename(self, group: str, name: str) -> Outcome:
        if group not in self.groups:
            return Outcome.GROUP_NOT_FOUND
        before, self.groups[group].name = self.groups[group].name, name
        return Outcome.UNCHANGED if before == name else Outcome.UPDATED

    def reorder(self, first: Sequence[str]) -> Outcome:
        before = list(self.groups)
        leading = [group for group in dict.fromkeys(first) if group in before]
        after = leading + [group for group in before if group not in leading]
        self.groups = {group: self.groups[group] for group in after}
        return Outcome.UNCHANGED if after == before else Outcome.UPDATED

    def delete(self, group: str) -> Outcome:
        return Outcome.DELETED if self.groups.pop(group, None) else Outcome.UNCHANGED

    def add(self, group: str, user: int, followed: Followed) -> Outcome:
        if group not in self.groups:
            return Outcome.GROUP_NOT_FOUND
        since = followed(user)
        if since is None:
            return Outcome.MEMBERS_NOT_FOLLOWED
        for each in self.groups.values():  # drop the memberships of earlier follows
            if each.members.get(user, since) != since:
                del each.members[user]
        if user in self.groups[group].members:
            return Outcome.UNCHANGED
        self.groups[group].members[user] = since
        return Outcome.UPDATED

    def remove(self, group: str, user: int, followed: Followed) -> Outcome:
        if group not in self.groups:
            return Outcome.GROUP_NOT_FOUND
        if user not in self.groups[group].shown(followed):
            return Outcome.UNCHANGED
        del self.groups[group].members[user]
        return Outcome.UPDATED

    def of(self, user: int, followed: Followed) -> list[str]:
        """The groups that a user is in."""
        return [name for name, group in self.groups.items() if user in group.shown(followed)]

    def forget(self, user: int) -> None:
        for group in self.groups.values():
            group.members.pop(user, None)
