"""What a gateway tells Prometheus: its process, and how far the workers are behind."""

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graph.errors import Unavailable
from storage.stores import Stores

_waiting = Gauge("kith_outbox_waiting", "Changes that the reverse side does not have yet.")
_oldest = Gauge("kith_outbox_oldest_seconds", "Age of the oldest of them: the lag of this moment.")
_queued = Gauge("kith_jobs_queued", "Lanes that wait for a worker.")
_statements = Gauge("kith_postgres_statements", "Statements outside of transactions, ever sent.")
_round_trips = Gauge("kith_redis_round_trips", "Pipelines ever sent to Redis.")


class Metrics:
    """Asks the stores when it is asked. A part that is down keeps its last numbers."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.show)]

    async def show(self, _: Request) -> Response:
        try:
            backlog = await self._stores.outbox.backlog()
            _waiting.set(backlog.waiting)
            _oldest.set(backlog.oldest_s)
            _queued.set(await self._stores.lanes.queued())
        except Unavailable:
            pass
        _statements.set(self._stores.postgres.statements)
        _round_trips.set(self._stores.redis.round_trips)
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
