"""The keys of a JWKS URL: fetched at the start, refreshed in the background, kept if a fetch fails.

One task makes all requests, one at a time, so any number of callers share a fetch.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import httpx
from prometheus_client import Counter, Gauge

from gateway.authentication.jwks_url import FetchFailed, JwksUrl, check_jwks_url, download_key_set
from gateway.authentication.token_keys import KeySet, TokenKey, parse_key_set
from graph.errors import Unavailable

log = logging.getLogger(__name__)

_fetches = Counter("kith_jwks_fetches", "Fetches of KITH_JWKS_URL, by outcome.", ["outcome"])
_fetched_at = Gauge("kith_jwks_fetched_timestamp_seconds", "When the last fetch succeeded.")
_keys_in_use = Gauge("kith_jwks_keys", "Keys of KITH_JWKS_URL in use.")

RETRY_FIRST_S, RETRY_MAX_S = 1.0, 60.0
"""The pause after the first failed fetch, and its maximum: it doubles after each further one, and
is never longer than `refresh_s`."""
WAITING_MAX = 1_000
"""The maximum number of requests that wait for a fetch. Others do not wait, and are rejected with
503 if the key of their token is unknown."""


class RemoteKeys:
    """The last valid keys of a JWKS URL. `on_change` is called when they have been replaced.

    Used by one event loop, within `refreshing`.
    """

    def __init__(self, settings: JwksUrl, on_change: Callable[[], None]) -> None:
        check_jwks_url(settings.url)
        self._settings = settings
        self._on_change = on_change
        self.keys: tuple[TokenKey, ...] = ()
        self._content = b""
        self._failure: str | None = "no keys have been fetched yet"
        self._failures = 0
        """Failed fetches since the last successful one."""
        self._fetching = False
        self._waiting = 0
        self._requested = asyncio.Event()
        self._requested_at = self._fetched_at = -float("inf")
        self._attempt: asyncio.Future[None] | None = None
        """Done when the running fetch ends, or else the next one. None outside `refreshing`."""

    @contextlib.asynccontextmanager
    async def refreshing(self) -> AsyncIterator[None]:
        """Refresh the keys while the block runs. The block begins after the first attempt.

        Raises ValueError for an invalid proxy or invalid certificates in the environment.
        """
        # httpx would log the URL of each request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._requested = asyncio.Event()
        self._attempt = asyncio.get_running_loop().create_future()
        async with self._client() as client:
            task = asyncio.create_task(self._refresh(client))
            try:
                await asyncio.wait([self._attempt])
                yield
            finally:
                self._attempt = None
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @property
    def uncertain(self) -> bool:
        """Whether the URL may have unknown keys: the last fetch failed, or one is requested or
        running."""
        return self._failure is not None or self._fetching or self._requested.is_set()

    async def wait(self) -> None:
        """Wait for the running or requested attempt, at most `wait_ms`. Return at once if
        `WAITING_MAX` requests wait."""
        if self._attempt is None or self._waiting >= WAITING_MAX:
            return
        self._waiting += 1
        try:
            await asyncio.wait([self._attempt], timeout=self._settings.wait_ms / 1000)
        finally:
            self._waiting -= 1

    def request_fetch(self) -> bool:
        """Request a fetch because of an unknown `kid`, at most one in `unknown_key_every_s`.
        Returns whether a fetch is requested or running.
        """
        if self._attempt is None:
            return False
        if not self._fetching and not self._requested.is_set():
            now = asyncio.get_running_loop().time()
            if now < self._requested_at + self._settings.unknown_key_every_s:
                return False
            self._requested_at = now
            self._requested.set()
        return True

    async def probe_keys(self) -> None:
        """Raise Unavailable while there are no keys at all."""
        if not self.keys:
            raise self._unavailable()

    async def probe_provider(self) -> None:
        """Raise Unavailable if the last fetch failed."""
        if self._failure is not None:
            raise self._unavailable()

    def _unavailable(self) -> Unavailable:
        return Unavailable("identity provider", f"KITH_JWKS_URL: {self._failure}")

    def _client(self) -> httpx.AsyncClient:
        # http:// is allowed for this machine only, which a proxy cannot reach.
        outside = urlsplit(self._settings.url).scheme == "https"
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
        # Applies to one read or write. The deadline of the whole fetch is shorter.
        timeout_s = 2 * self._settings.fetch_deadline_ms / 1000
        try:
            return httpx.AsyncClient(trust_env=outside, limits=limits, timeout=timeout_s)
        except (OSError, ValueError) as error:
            raise ValueError(
                "KITH_JWKS_URL cannot be fetched: SSL_CERT_FILE, SSL_CERT_DIR or HTTPS_PROXY is"
                f" wrong: {error}"
            ) from None

    async def _refresh(self, client: httpx.AsyncClient) -> None:
        """Fetch now, and then after each pause or when a fetch is requested."""
        while True:
            self._fetching = True
            self._requested.clear()
            await self._try_once(client)
            self._fetching = False
            self._end_attempt()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s()):
                    await self._requested.wait()

    def _end_attempt(self) -> None:
        ended, self._attempt = self._attempt, asyncio.get_running_loop().create_future()
        if ended is not None:
            ended.set_result(None)

    def _pause_s(self) -> float:
        # Jitter, because the processes of a deployment start at the same time.
        jitter = random.uniform(0.8, 1.0)
        if self._failure is None:
            return self._settings.refresh_s * jitter
        pause_s = min(RETRY_FIRST_S * 2.0 ** min(self._failures - 1, 10), RETRY_MAX_S)
        return min(pause_s, self._settings.refresh_s) * jitter

    async def _try_once(self, client: httpx.AsyncClient) -> None:
        """Fetch, and record the success or the failure. Raises nothing."""
        try:
            changed = await self._fetch(client)
        except FetchFailed as failure:
            self._record_failure(str(failure))
        except Exception:
            log.exception("unexpected error in a fetch of KITH_JWKS_URL")
            self._record_failure("the fetch failed")
        else:
            self._failure, self._failures = None, 0
            self._fetched_at = asyncio.get_running_loop().time()
            _fetches.labels("changed" if changed else "unchanged").inc()
            _fetched_at.set(time.time())

    def _record_failure(self, reason: str) -> None:
        """Record and log a failed fetch. Drop the keys if none has succeeded for `kept_s`."""
        self._failure = reason
        self._failures += 1
        _fetches.labels("failed").inc()
        kept = f"the last {len(self.keys)} stay in use" if self.keys else "there are none"
        log.warning("KITH_JWKS_URL returned no keys: %s; %s", reason, kept)
        kept_s, now = self._settings.kept_s, asyncio.get_running_loop().time()
        if self.keys and kept_s and now > self._fetched_at + kept_s:
            log.error("no keys of KITH_JWKS_URL for %d s: the last ones are dropped", kept_s)
            # A key that the provider has withdrawn meanwhile must not stay valid for ever.
            self._replace(b"", ())

    async def _fetch(self, client: httpx.AsyncClient) -> bool:
        """Fetch the keys, and replace them if they have changed. Return whether they have. Raises
        FetchFailed."""
        deadline_ms = self._settings.fetch_deadline_ms
        try:
            async with asyncio.timeout(deadline_ms / 1000):
                content = await download_key_set(client, self._settings.url)
        except TimeoutError:
            raise FetchFailed(f"there was no whole answer within {deadline_ms} ms") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            log.info("KITH_JWKS_URL: %s", error)
            raise FetchFailed(f"the request failed with {type(error).__name__}") from None
        if content == self._content:
            return False
        try:
            # In a thread: parsing a hundred RSA keys would delay requests.
            found = await asyncio.to_thread(parse_key_set, content)
        except ValueError as error:
            raise FetchFailed(f"the answer {error}".rstrip(".")) from None
        self._log_and_replace(content, found)
        return True

    def _log_and_replace(self, content: bytes, found: KeySet) -> None:
        for problem in found.problems[:10]:
            log.warning("KITH_JWKS_URL: %s", problem)
        log.info("KITH_JWKS_URL returned %s keys", len(found.keys))
        self._replace(content, found.keys)

    def _replace(self, content: bytes, keys: tuple[TokenKey, ...]) -> None:
        self.keys, self._content = keys, content
        _keys_in_use.set(len(keys))
        self._on_change()
