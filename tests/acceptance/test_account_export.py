"""The export of everything that is stored about one user, over HTTP and on the command line."""

import json
import logging
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.services import account_export
from gateway.settings.config import Config
from graph.account_export import OutgoingEntry
from graph.edge import Flags, Kind, UserId
from graph.errors import BadInput
from graph.follow_group import AddMembers, CreateGroup, GroupId
from resolvers import account_export as resolvers_account_export
from resolvers.policy import Policy
from storage.postgres import account_exports
from storage.postgres.connection.pool import Postgres
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.gateway import DEVELOPMENT, Gateway, running_gateway
from tests.support.graphs import as_pair, drain_all
from tests.support.json_schema import violations
from tests.support.loop_ticks import loop_ticks

SUBJECT = 42
AS_SERVICE = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}
SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schema" / "account-export.schema.json").read_text()
)


async def get_export(gateway: Gateway, headers: dict[str, str] | None = None) -> httpx.Response:
    headers = AS_SERVICE if headers is None else headers
    return await gateway.http.get(f"/export/account/{SUBJECT}", headers=headers)


async def exported_document(gateway: Gateway) -> Any:
    """The exported document, checked against its JSON schema."""
    response = await get_export(gateway)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    document = response.json()
    assert violations(document, SCHEMA) == []
    return document


def kinds_by_user(entries: list[dict[str, Any]]) -> dict[str, str]:
    return {entry["userId"]: entry["kind"] for entry in entries}


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Edges of all kinds but requests from and to the subject, and an edge between two others."""
    await edges(
        stores,
        {
            (SUBJECT, 1): (Kind.FOLLOW, Flags.CLOSE_FOLLOW | Flags.NOTIFY),
            (SUBJECT, 2): Kind.WHISPER,
            (SUBJECT, 4): Kind.BLOCK,
            (SUBJECT, 5): (Kind.NONE, Flags.MUTED),
            (SUBJECT, 6): (Kind.NONE, Flags.DISMISSED),
            (SUBJECT, 20): (Kind.FOLLOW, Flags.MUTED),
            (SUBJECT, 21): Kind.FOLLOW,
            (1, SUBJECT): (Kind.FOLLOW, Flags.MUTED | Flags.CLOSE_FOLLOW),
            (7, SUBJECT): Kind.WHISPER,
            (9, SUBJECT): Kind.BLOCK,
            (10, SUBJECT): (Kind.NONE, Flags.MUTED),
            (22, SUBJECT): Kind.FOLLOW,
            (1, 2): Kind.FOLLOW,
        },
    )
    await drain_all(stores)


PROTECT = "mutation { updateRelationshipSettings(input: { protected: true }) { outcome } }"
FOLLOW = """
mutation Follow($to: ID!, $message: String) {
  followUser(input: { userId: $to, message: $message }) { outcome }
}
"""
DEACTIVATE = (
    "mutation Deactivate($id: ID!) { deactivateAccount(input: { userId: $id }) { outcome } }"
)


@pytest.mark.usefixtures("graph")
async def test_the_account_and_all_edges_that_the_user_may_see_are_exported(
    gateway: Gateway, stores: Stores
) -> None:
    await gateway.data(PROTECT, SUBJECT)
    await gateway.data(PROTECT, 3)
    await gateway.data(FOLLOW, SUBJECT, to="3", message="Hello")
    await gateway.data(FOLLOW, 8, to=str(SUBJECT), message="May I?")
    await drain_all(stores)
    document = await exported_document(gateway)
    assert document["userId"] == str(SUBJECT)
    account = document["account"]
    assert (account["state"], account["protected"]) == ("ACTIVE", True)
    assert account["rateLimitedUntil"] is not None
    outgoing = {entry["userId"]: entry for entry in document["outgoing"]}
    assert kinds_by_user(document["outgoing"]) == {
        "1": "FOLLOW",
        "2": "WHISPER",
        "3": "REQUEST",
        "4": "BLOCK",
        "5": "NONE",
        "6": "NONE",
        "20": "FOLLOW",
        "21": "FOLLOW",
    }
    assert (outgoing["1"]["closeFollow"], outgoing["1"]["notify"]) == (True, True)
    assert (outgoing["5"]["muted"], outgoing["6"]["dismissed"]) == (True, True)
    assert outgoing["3"]["message"] == "Hello"
    incoming = {entry["userId"]: entry for entry in document["incoming"]}
    assert kinds_by_user(document["incoming"]) == {
        "1": "FOLLOW",
        "7": "WHISPER",
        "8": "REQUEST",
        "22": "FOLLOW",
    }
    assert incoming["8"]["message"] == "May I?"


@pytest.mark.usefixtures("graph")
async def test_absent_accounts_are_hidden_as_in_lists(gateway: Gateway) -> None:
    for user in ("20", "21", "22"):
        await gateway.as_service.data(DEACTIVATE, id=user)
    document = await exported_document(gateway)
    outgoing = {entry["userId"]: entry for entry in document["outgoing"]}
    assert "21" not in outgoing
    assert (outgoing["20"]["kind"], outgoing["20"]["muted"]) == ("NONE", True)
    assert outgoing["20"]["since"] is None
    assert kinds_by_user(document["incoming"]) == {"1": "FOLLOW", "7": "WHISPER"}


@pytest.mark.usefixtures("graph")
async def test_whispers_that_are_hidden_from_their_targets_are_not_exported(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(whispers_hidden=True)) as gateway:
        document = await exported_document(gateway)
    assert kinds_by_user(document["incoming"]) == {"1": "FOLLOW", "22": "FOLLOW"}
    assert kinds_by_user(document["outgoing"])["2"] == "WHISPER"


async def test_only_the_users_own_private_notes_affinities_and_receipts_are_exported(
    gateway: Gateway, stores: Stores
) -> None:
    for pair in (as_pair(SUBJECT, 1), as_pair(1, SUBJECT)):
        await stores.own_data.private_notes.set_note(pair, f"by {pair.source}")
    await stores.own_data.affinities.record({as_pair(SUBJECT, 1): 5.0, as_pair(1, SUBJECT): 6.0})
    unfollow = "mutation Unfollow($to: ID!) { unfollowUser(input: { userId: $to }) { outcome } }"
    for viewer, other in ((SUBJECT, 1), (1, SUBJECT)):
        await gateway.data(FOLLOW, viewer, to=str(other))
        await gateway.data(unfollow, viewer, to=str(other))
    document = await exported_document(gateway)
    assert document["notes"] == [{"userId": "1", "note": f"by {SUBJECT}"}]
    assert document["affinities"] == [{"userId": "1", "rank": 5.0}]
    (receipt,) = document["receipts"]
    assert (receipt["userId"], receipt["outcome"]) == ("1", "UNFOLLOWED")
    assert receipt["undo"]["outgoing"]["kind"] == "FOLLOW"
    assert receipt["undo"]["incoming"]["kind"] == "NONE"


@pytest.mark.usefixtures("graph")
async def test_pins_and_the_time_of_seen_followers_are_exported(
    gateway: Gateway, stores: Stores
) -> None:
    mark = "mutation { markFollowersSeen(input: {}) { outcome } }"
    assert (await gateway.data(mark, SUBJECT))["markFollowersSeen"]["outcome"] == "UPDATED"
    pinned = stores.own_data.pinned_following
    await pinned.replace(UserId(SUBJECT), [UserId(21), UserId(2), UserId(1)])
    await pinned.replace(UserId(1), [UserId(SUBJECT)])
    await gateway.as_service.data(DEACTIVATE, id="21")
    document = await exported_document(gateway)
    assert document["account"]["followersSeenUntil"] is not None
    since = {entry["userId"]: entry["since"] for entry in document["outgoing"]}
    assert document["pins"] == [{"userId": user, "followedAt": since[user]} for user in ("2", "1")]


@pytest.mark.usefixtures("graph")
async def test_groups_and_their_members_are_exported(gateway: Gateway, stores: Stores) -> None:
    groups, pace = stores.own_data.follow_groups, Policy().pace
    group_ids: list[GroupId] = []
    for owner, name, members in (
        (SUBJECT, "Work", (1, 2)),
        (SUBJECT, "Family", (2, 20)),
        (1, "Theirs", (SUBJECT,)),
    ):
        created = await groups.change(UserId(owner), CreateGroup(name), pace, 900)
        assert created.created is not None
        group_ids.append(created.created)
        added = AddMembers(created.created, tuple(map(UserId, members)))
        await groups.change(UserId(owner), added, pace, 900)
    await gateway.as_service.data(DEACTIVATE, id="20")
    document = await exported_document(gateway)
    work, family, _ = map(str, group_ids)
    assert document["groups"] == [
        {"groupId": work, "name": "Work"},
        {"groupId": family, "name": "Family"},
    ]
    since = {entry["userId"]: entry["since"] for entry in document["outgoing"]}
    assert document["groupMembers"] == [
        {
            "userId": user,
            "groups": [{"groupId": group, "followedAt": since[user]} for group in user_groups],
        }
        for user, user_groups in (("1", [work]), ("2", [work, family]))
    ]


@pytest.mark.parametrize(("hidden", "kind"), [(False, "WHISPER"), (True, "NONE")])
async def test_an_undo_record_does_not_show_a_hidden_whisper_or_anothers_flags(
    storage_settings: StorageSettings, stores: Stores, hidden: bool, kind: str
) -> None:
    await edges(stores, {(1, SUBJECT): (Kind.WHISPER, Flags.MUTED | Flags.CLOSE_FOLLOW)})
    await drain_all(stores)
    async with running_gateway(storage_settings, Policy(whispers_hidden=hidden)) as gateway:
        block = 'mutation { blockUser(input: { userId: "1" }) { outcome } }'
        await gateway.data(block, SUBJECT)
        (receipt,) = (await exported_document(gateway))["receipts"]
    assert receipt["undo"]["incoming"]["kind"] == kind
    assert receipt["undo"]["incoming"].keys() == {"kind", "since", "message"}


async def test_a_user_without_rows_has_an_empty_export(gateway: Gateway) -> None:
    document = await exported_document(gateway)
    sections = [name for name, value in document.items() if isinstance(value, list)]
    assert len(sections) == 8
    assert [document[name] for name in sections] == [[]] * 8
    assert document["account"]["followersSeenUntil"] is None
    assert document["account"]["followingAudience"] == "EVERYONE"


async def test_long_sections_are_read_in_ranges_and_written_in_slices(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = range(100, 107)
    await edges(stores, {(SUBJECT, other): Kind.FOLLOW for other in others})
    await edges(stores, {(other, SUBJECT): Kind.FOLLOW for other in others})
    for other in others:
        await stores.own_data.private_notes.set_note(as_pair(SUBJECT, other), "Met at work")
    await stores.own_data.affinities.record({as_pair(SUBJECT, other): 1.0 for other in others})
    unfollow = "mutation Unfollow($to: ID!) { unfollowUser(input: { userId: $to }) { outcome } }"
    for other in others:
        await gateway.data(unfollow, SUBJECT, to=str(other))
        await gateway.data(FOLLOW, SUBJECT, to=str(other))
    await drain_all(stores)
    whole = await exported_document(gateway)
    for size in (1, 3, 7):
        monkeypatch.setattr(resolvers_account_export, "RANGE", size)
        monkeypatch.setattr(account_export, "SLICE", 2)
        document = await exported_document(gateway)
        document["exportedAt"] = whole["exportedAt"]
        assert document == whole
    for section in ("outgoing", "incoming", "notes", "affinities", "receipts"):
        assert len(whole[section]) == len(others), section


async def test_an_iteration_of_the_event_loop_makes_at_most_500_entries(
    gateway: Gateway, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    await postgres.fetch(
        "INSERT INTO following (from_user_id, to_user_id, since, version, kind)"
        " SELECT $1, 1000 + s, 1700000000000 + s, 1, 1 FROM generate_series(1, 3000) s",
        SUBJECT,
    )
    make_entry = account_exports._outgoing
    async with loop_ticks() as ticks:

        def counted_make_entry(row: Any) -> OutgoingEntry:
            ticks.add("entries", 1)
            return make_entry(row)

        monkeypatch.setattr(account_exports, "_outgoing", counted_make_entry)
        document = await exported_document(gateway)
    assert len(document["outgoing"]) == ticks.total["entries"] == 3_000
    assert ticks.most["entries"] <= 500


async def test_only_a_service_without_a_user_gets_an_export_and_each_request_is_audited(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")
    user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, SUBJECT)}"}
    for_user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, SUBJECT, SERVICE)}"}
    for headers in (user, for_user, {}):
        assert (await get_export(gateway, headers)).status_code == 403
    assert (await get_export(gateway)).status_code == 200
    audited = [
        [getattr(record, name, None) for name in ("actor", "action", "target", "result")]
        for record in caplog.records
    ]
    assert audited == [
        ["user 42", "export account", SUBJECT, "FORBIDDEN"],
        ["service for user 42", "export account", SUBJECT, "FORBIDDEN"],
        ["anonymous", "export account", SUBJECT, "FORBIDDEN"],
        ["service", "export account", SUBJECT, "OK"],
    ]


@pytest.mark.parametrize(("path", "parameter"), [("one", "user"), ("0", "user"), ("4?x=1", "x")])
async def test_the_error_names_the_invalid_parameter(
    gateway: Gateway, path: str, parameter: str
) -> None:
    response = await gateway.http.get(f"/export/account/{path}", headers=AS_SERVICE)
    assert response.status_code == 400
    assert f"`{parameter}`" in response.text


@pytest.mark.usefixtures("graph")
async def test_the_command_writes_the_same_document_as_http(
    gateway: Gateway,
    storage_settings: StorageSettings,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    config = Config(storage_settings, DEVELOPMENT, Policy())
    file = tmp_path / "42.json"
    await account_export.run(config, UserId(SUBJECT), file)
    await account_export.run(config, UserId(SUBJECT), None)
    printed = json.loads(capfdbinary.readouterr().out)
    written = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    expected = await exported_document(gateway)
    for document in (printed, written):
        document["exportedAt"] = expected["exportedAt"]
        assert document == expected
    with pytest.raises(BadInput, match="exists"):
        await account_export.run(config, UserId(SUBJECT), file)
