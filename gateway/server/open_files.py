"""The system's limit on open files, which counts connections too."""

import logging
import resource
from dataclasses import replace

from gateway.http.open_connections import ConnectionLimits

log = logging.getLogger(__name__)

OTHER_FILES = 256
"""Files besides the clients' connections: servers, libraries, logs."""


def within_open_files(limits: ConnectionLimits) -> ConnectionLimits:
    """Return limits that the process's limit on open files allows. It is raised first, if possible.

    Without free files a process cannot accept a connection in the place of another.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    if allowed == wanted:
        return limits
    connections_max = max(1, allowed - OTHER_FILES)
    log.warning(
        "KITH_HTTP_CONNECTIONS_MAX is %d, but the limit on open files (%d) allows %d connections",
        limits.connections_max,
        allowed,
        connections_max,
    )
    return replace(limits, connections_max=connections_max)
