"""The operations with which the model test reads and changes the service."""

EVERYTHING = """
query ($ids: [ID!]!, $others: [ID!]!, $signedIn: Boolean!) {
  users(ids: $ids) {
    id followingCount followerCount friendCount
    following(first: 100) {
      access totalCount unavailableCount edges { since: followedAt node { id } }
    }
    followers(first: 100) {
      access totalCount unavailableCount edges { since: followedAt isNew node { id } }
    }
    friends(first: 100) {
      access totalCount unavailableCount edges { since: friendsSince node { id } }
    }
    newFollowersCount
    relationWith(ids: $others) { ...relation }
    relationMask(ids: $others)
    viewerRelation { ...relation }
    followersYouKnow(first: 100) @include(if: $signedIn) {
      access totalCount edges { since: followedAt node { id } }
    }
  }
  viewer @include(if: $signedIn) {
    newFollowersCount
    pinnedFollowing { id }
    closeFollows(first: 100) { totalCount edges { since: followedAt node { id } } }
    blockedUsers(first: 100) { totalCount edges { since: blockedAt node { id } } }
    mutedUsers(first: 100) { totalCount edges { node { id } } }
    oldestCloseFollows: closeFollows(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    oldestBlocked: blockedUsers(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    oldestMuted: mutedUsers(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    outgoingFollowRequests(first: 100) {
      totalCount edges { since: requestedAt node { to { id } } }
    }
    incomingFollowRequests(first: 100) {
      totalCount edges { since: requestedAt node { from { id } } }
    }
  }
}
fragment relation on Relation {
  from { id } to { id } state following followedBy followedAt followedByAt friendsSince
  requestedAt requestedByAt blockedAt mutedUntil whispering requested requestedBy blocking muted
  closeFollow notify note
}
"""

GROUPS_OF = """
query ($id: ID!, $others: [ID!]!) {
  user(id: $id) {
    relationWith(ids: $others) { groupIds }
    %s
  }
  viewer { followGroups { id name position memberCount } }
}
"""
MEMBERS = """
    following(first: 100, filter: {groupId: "%s"}) {
      totalCount edges { since: followedAt node { id } }
    }
"""

CHANGE_GROUP = """
mutation ($input: %sInput!) {
  payload: %s(input: $input) { outcome changed userErrors { code } %s }
}
"""
GROUP_RESULTS = {
    "createFollowGroup": "group { id name position memberCount }",
    "renameFollowGroup": "group { name }",
    "reorderFollowGroups": "",
    "deleteFollowGroup": "deletedGroupId",
    "addToFollowGroup": "group { memberCount }",
    "removeFromFollowGroup": "group { memberCount }",
}

SET_NOTE = """
mutation ($user: ID!, $note: String) { payload: setNote(input: { userId: $user, note: $note }) {
  outcome changed userErrors { code } relation { note }
} }
"""

VERSION = """
query ($from: ID!, $to: ID!) { user(id: $from) { relationWith(ids: [$to]) { version } } }
"""

SETTINGS = """
mutation ($protected: Boolean!, $following: ListAudience!, $followers: ListAudience!) {
  updateRelationshipSettings(input: {
    protected: $protected, followingAudience: $following, followersAudience: $followers
  }) { outcome userErrors { code } settings { protected followingAudience followersAudience } }
}
"""

PIN = """
mutation ($ids: [ID!]!) { payload: setPinnedFollowing(input: { userIds: $ids }) {
  outcome userErrors { code } viewer { pinnedFollowing { id } }
} }
"""

MARK_SEEN = """
mutation ($upTo: DateTime) { payload: markFollowersSeen(input: { upTo: $upTo }) {
  outcome userErrors { code }
  viewer {
    newFollowersCount
    user { followers(first: 100) { edges { since: followedAt isNew node { id } } } }
  }
} }
"""

PAGE = """
query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
  user(id: $id) { page: %s(first: $first, after: $after, last: $last, before: $before) {
    access edges { since: %s node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""
