"""The configuration of a worker, from that of a process."""

from collections.abc import Mapping

from gateway.services.bulk_work import BulkWork
from gateway.settings.config import Config
from workers.job_settings import JobSettings
from workers.spaces import SpaceWorkerSettings


def job_settings(config: Config) -> JobSettings:
    """The settings of the jobs of one space."""
    return JobSettings(
        config.storage,
        config.policy.undo_s,
        config.verified_rows,
        config.webhooks,
        BulkWork(config.policy),
    )


def worker_spaces(config: Config) -> SpaceWorkerSettings:
    """The other spaces that a worker serves."""

    def jobs_of(space: str, overrides: Mapping[str, str]) -> JobSettings:
        return job_settings(config.for_space(space, overrides))

    spaces = config.spaces
    return SpaceWorkerSettings(spaces.allows, jobs_of, spaces.open_max, spaces.connections_max)
