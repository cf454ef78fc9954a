"""What the store of accounts promises, cached or not; and the races of its cache, step by step."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from graph.account import DEFAULT, Account, PrivacyChange, Saved
from graph.decision import Outcome
from graph.edge import UserId
from graph.errors import Unavailable
from graph.pace import Pace
from graph.receipt import AlreadyNoted, Request, keyed_id
from graph.visibility import OPEN, Audience, Privacy
from storage.finishing import Finishing
from storage.ports import Accounts
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.outbox import PostgresPending
from storage.redis import packing
from storage.redis.accounts import CachedAccounts
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.own_writes import OwnWrites
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.graphs import users

DEADLINE_S = 20
LEASE_MS = 60_000  # no lease ends by itself in here, however slow the machine is
KEYS = Keys("public")
ONE, TWO = users(1, 2)
PROTECTED = PrivacyChange(protected=True)
CLOSED = Account(Privacy(protected=True))


@pytest.fixture(params=["tables", "cached", "cached, Redis is down"])
async def accounts(
    request: pytest.FixtureRequest, storage_settings: StorageSettings
) -> AsyncIterator[Accounts]:
    settings = storage_settings
    if request.param == "cached, Redis is down":
        settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with open_stores(settings) as stores:
        yield PostgresAccounts(stores.postgres) if request.param == "tables" else stores.accounts


async def test_nearly_everybody_has_said_nothing(accounts: Accounts) -> None:
    for _ in range(2):
        assert await accounts.of([ONE, TWO, ONE]) == {ONE: DEFAULT, TWO: DEFAULT}
    assert await accounts.of([]) == {}


async def test_what_is_not_named_stays_as_it_was(accounts: Accounts) -> None:
    await accounts.of([ONE])
    only_me = PrivacyChange(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    first = (await accounts.set_privacy(ONE, only_me)).account
    assert first.privacy == Privacy(following=Audience.ONLY_ME, followers=Audience.FRIENDS)
    limited = (await accounts.set_following_limit(ONE, 0)).account
    assert limited == Account(first.privacy, following_limit=0)
    then = (await accounts.set_privacy(ONE, PROTECTED)).account
    assert then == Account(replace(first.privacy, protected=True), following_limit=0)
    assert await accounts.of([ONE, TWO]) == {ONE: then, TWO: DEFAULT}
    await accounts.set_following_limit(ONE, None)
    opened = PrivacyChange(False, Audience.EVERYONE, Audience.EVERYONE)
    assert await accounts.set_privacy(ONE, opened) == Saved(Outcome.UPDATED, DEFAULT)
    assert await accounts.of([ONE]) == {ONE: DEFAULT}
    assert await accounts.set_privacy(ONE, opened) == Saved(Outcome.UNCHANGED, DEFAULT)


async def test_of_many_changes_at_once_each_keeps_the_others(accounts: Accounts) -> None:
    await asyncio.gather(
        accounts.set_privacy(ONE, PROTECTED),
        accounts.set_privacy(ONE, PrivacyChange(following=Audience.FRIENDS)),
        accounts.set_privacy(ONE, PrivacyChange(followers=Audience.ONLY_ME)),
        accounts.set_following_limit(ONE, 7),
    )
    privacy = Privacy(True, Audience.FRIENDS, Audience.ONLY_ME)
    assert await accounts.of([ONE]) == {ONE: Account(privacy, 7)}


async def test_a_receipt_is_written_with_its_change_or_neither_is(
    accounts: Accounts, stores: Stores
) -> None:
    request = Request(ONE, keyed_id("k"), b"asked")
    first = await accounts.set_privacy(ONE, PROTECTED, request)
    kept = (await stores.receipts.of(ONE, [request.id]))[request.id]
    assert (kept.receipt.asked, kept.receipt.outcome) == (b"asked", first.outcome)
    assert (kept.other, kept.receipt.taken) == (ONE, None)
    for again in (
        accounts.set_privacy(ONE, PrivacyChange(protected=False), request),
        accounts.set_following_limit(ONE, 7, request),
    ):
        with pytest.raises(AlreadyNoted):
            await again
    assert await accounts.of([ONE]) == {ONE: CLOSED}


async def test_who_changes_too_much_too_fast_is_told_when_to_go_on(
    accounts: Accounts, stores: Stores
) -> None:
    pace = Pace(interval_us=60_000_000, burst=2)
    opened, request = PrivacyChange(protected=False), Request(ONE, keyed_id("k"), b"asked")
    await accounts.set_privacy(ONE, PROTECTED, pace=pace)
    unchanged = [await accounts.set_privacy(ONE, PROTECTED, pace=pace) for _ in range(3)]
    assert unchanged == [Saved(Outcome.UNCHANGED, CLOSED)] * 3, "which costs nothing"
    await accounts.set_privacy(ONE, opened, pace=pace)
    for asked, change in ((None, PROTECTED), (request, PROTECTED), (request, opened)):
        refused = await accounts.set_privacy(ONE, change, asked, pace)
        assert (refused.outcome, refused.account) == (Outcome.RATE_LIMITED, DEFAULT)
        assert refused.retry_at is not None
    assert await accounts.of([ONE]) == {ONE: DEFAULT}
    assert await stores.receipts.of(ONE, [request.id]) == {}


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("limit", [None, 0, 1, 2**31 - 1])
def test_a_cached_account_is_what_was_packed(
    protected: bool, present: bool, limit: int | None
) -> None:
    for following in Audience:
        for followers in Audience:
            account = Account(Privacy(protected, following, followers, present), limit)
            value = packing.account_value(account)
            assert packing.account_in(value) == account
            assert len(value) == (1 if limit is None else 5)
    assert packing.account_value(Account(OPEN)) == b"\0"


class Gated:
    """Accounts whose reads and writes stop, done but unanswered, until they are let go."""

    def __init__(self, worn: Accounts) -> None:
        self._worn = worn
        self.done, self.go = asyncio.Event(), asyncio.Event()

    async def _stop(self) -> None:
        self.done.set()
        await self.go.wait()

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        found = await self._worn.of(users)
        await self._stop()
        return found

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        saved = await self._worn.set_privacy(user, change, request, pace)
        await self._stop()
        return saved

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: Request | None = None
    ) -> Saved:
        raise NotImplementedError


class Broken(Gated):
    """Accounts of which a writer never hears whether they were written."""

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        await self._worn.set_privacy(user, change, request, pace)
        raise Unavailable("PostgreSQL")


def cached(worn: Accounts, stores: Stores) -> CachedAccounts:
    leases = Leases(stores.redis, LEASE_MS, 1)
    own = OwnWrites(PostgresPending(stores.postgres), stores.redis, leases, KEYS, 60)
    return CachedAccounts(worn, own, stores.redis, leases, KEYS, 3600, stores.events, Finishing())


@pytest.fixture
def tables(stores: Stores) -> Accounts:
    return PostgresAccounts(stores.postgres)


async def test_an_old_read_does_not_overwrite_a_newer_write(
    stores: Stores, tables: Accounts
) -> None:
    slow = Gated(tables)
    reading = asyncio.create_task(cached(slow, stores).of([ONE]))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        await stores.accounts.set_privacy(ONE, PROTECTED)
        slow.go.set()
        assert await reading == {ONE: DEFAULT}
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_while_somebody_writes_nobody_remembers(stores: Stores, tables: Accounts) -> None:
    await stores.accounts.of([ONE])
    slow = Gated(tables)
    writing = asyncio.create_task(cached(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        for _ in range(2):
            assert await stores.accounts.of([ONE]) == {ONE: CLOSED}
        (value,) = await stores.redis.pipe([("GET", KEYS.account(ONE))])
        assert value is None
        slow.go.set()
        await writing
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}
    (value,) = await stores.redis.pipe([("GET", KEYS.account(ONE))])
    assert value == packing.account_value(CLOSED)


async def test_a_writer_who_dies_after_the_commit_leaves_nothing_old(
    stores: Stores, tables: Accounts
) -> None:
    await stores.accounts.of([ONE])
    with pytest.raises(Unavailable):
        await cached(Broken(tables), stores).set_privacy(ONE, PROTECTED)
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_a_writer_who_hangs_up_has_written_all_the_same(
    stores: Stores, tables: Accounts
) -> None:
    slow = Gated(tables)
    await stores.accounts.of([ONE])
    writing = asyncio.create_task(cached(slow, stores).set_privacy(ONE, PROTECTED))
    async with asyncio.timeout(DEADLINE_S):
        await slow.done.wait()
        writing.cancel()
        slow.go.set()
        await asyncio.wait([writing])
        while KEYS.account(ONE).encode() not in (await stores.redis.pipe([("KEYS", "*")]))[0]:
            assert await stores.accounts.of([ONE]) == {ONE: CLOSED}


async def test_an_audit_finds_an_account_that_is_wrong(stores: Stores) -> None:
    await stores.accounts.of([ONE, TWO])
    await stores.postgres.fetch("INSERT INTO account (user_id, protected) VALUES (1, true)")
    audited = [batch async for batch in stores.audit.batches()]
    assert sum(batch.compared for batch in audited) == 2
    wrong = [key for batch in audited for key in batch.wrong]
    assert wrong == [KEYS.account(ONE)]
    await stores.audit.forget(wrong)
    assert await stores.accounts.of([ONE]) == {ONE: CLOSED}
