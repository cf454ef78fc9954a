"""The wake-ups, events and notifications that a space sends through Redis."""

from storage.ports.accounts import Absences
from storage.queue import ArqErasures, ArqLanes
from storage.redis.change_notifier import BLOCK_MS, ChangeNotifier
from storage.redis.events import RedisEvents, Retention
from storage.redis.keys import Keys
from storage.redis.multiplexed import NOTIFIER, MultiplexedWire
from storage.settings import StorageSettings
from storage.store_groups import Broker, Servers


def broker_of(settings: StorageSettings, servers: Servers) -> Broker:
    retention = Retention(
        settings.events.events_max,
        settings.events.events_kept_s,
        settings.events.feed_max,
        settings.events.feed_kept_s,
    )
    return Broker(
        lanes=ArqLanes(servers.broker, settings.space),
        erasures=ArqErasures(servers.broker, settings.space),
        events=RedisEvents(
            servers.broker,
            Keys(settings.space),
            retention,
            whispers_hidden=settings.events.whispers_hidden,
        ),
    )


def notifier_of(settings: StorageSettings, absences: Absences) -> ChangeNotifier:
    wire = MultiplexedWire(
        settings.redis_url,
        BLOCK_MS / 1000 + settings.connections.redis_timeout_s,
        purpose=NOTIFIER,
    )
    return ChangeNotifier(
        wire, Keys(settings.space), settings.connections.redis_retry_after_s, absences.expire
    )
