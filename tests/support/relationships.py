"""Change relationships with the mutations that front ends use."""

from typing import Any

from storage.stores import Stores
from tests.support.gateway import Gateway

ERRORS = """
userErrors {
  __typename code message field
  ... on FollowingLimitReached { limit current }
  ... on BlockLimitReached { limit current }
  ... on RateLimited { retryAt }
  ... on CannotUndo { reason }
}
"""
RESULT_FIELDS = (
    f"outcome changed relation {{ state followedAt followedByAt }} user {{ id }} undoToken {ERRORS}"
)

CHANGE_SETTINGS = """
mutation ($input: UpdateRelationshipSettingsInput!) {
  updateRelationshipSettings(input: $input) {
    outcome changed userErrors { __typename code field }
    settings { ...all } viewer { relationshipSettings { ...all } user { id } } clientMutationId
  }
}
fragment all on RelationshipSettings {
  protected followingAudience followersAudience followingLimit
}
"""


async def change(
    gateway: Gateway, viewer: int, mutation: str, target: int | str | None = None, **given: Any
) -> Any:
    """Execute a mutation as `viewer`. `given`: more fields of its input. Returns its payload."""
    if target is not None:
        given["userId"] = str(target)
    kind = mutation[0].upper() + mutation[1:]
    query = f"""mutation ($input: {kind}Input!) {{ payload: {mutation}(input: $input) {{
        {RESULT_FIELDS} clientMutationId viewer {{ user {{ id }} }} }} }}"""
    return (await gateway.data(query, viewer, input=given))["payload"]


async def outcome(
    gateway: Gateway, viewer: int, mutation: str, target: int, **given: Any
) -> tuple[str, str]:
    """Execute a mutation. Returns its outcome and the state of the relation afterwards."""
    payload = await change(gateway, viewer, mutation, target, **given)
    return payload["outcome"], payload["relation"]["state"]


async def change_many(gateway: Gateway, viewer: int, *changes: Any, key: str | None = None) -> Any:
    """Execute changes, each (action, target user[, more input]). Returns the payload."""
    query = f"""mutation ($input: ChangeRelationshipsInput!) {{
        payload: changeRelationships(input: $input) {{
            changes {{ {RESULT_FIELDS} }} {ERRORS} viewer {{ user {{ id }} }} }} }}"""
    given = [
        {"action": action, "userId": str(target), **(how[0] if how else {})}
        for action, target, *how in changes
    ]
    return (await gateway.data(query, viewer, input={"changes": given, "idempotencyKey": key}))[
        "payload"
    ]


async def change_settings(gateway: Gateway, viewer: int | None, **settings: Any) -> Any:
    """Change the relationship settings of a viewer. Returns the payload."""
    return (await gateway.data(CHANGE_SETTINGS, viewer, input=settings))[
        "updateRelationshipSettings"
    ]


async def protect(stores: Stores, *users: int) -> None:
    """Make the accounts of these users protected, who must have no row in `account` yet."""
    for user in users:
        await stores.servers.postgres.fetch(
            f"INSERT INTO account (user_id, protected) VALUES ({user}, true)"
        )


async def deactivate(stores: Stores, user: int) -> None:
    """Deactivate the account in the table, without announcing it to gateways. The user must have no
    row in `account` yet."""
    await stores.servers.postgres.fetch(f"INSERT INTO account (user_id, state) VALUES ({user}, 1)")
