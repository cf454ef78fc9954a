"""Ends a block on the signals that mean "stop"."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_signalled() -> Iterator[None]:
    """Cancel the body on the first SIGINT, SIGTERM or SIGHUP, then end as if it had returned.

    Later signals have no effect: the body is cleaning up, with its own deadlines. Use it in the
    main thread only, as the outermost block, so that nothing starts unprotected.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    received: list[bool] = []

    def stop() -> None:
        if not received and task is not None:
            received.append(task.cancel())

    handled = _not_ignored()
    for signum in handled:
        loop.add_signal_handler(signum, stop)
    try:
        yield
    except asyncio.CancelledError:
        if not received or task is None or task.uncancel() > 0:
            raise
    finally:
        for signum in handled:
            loop.remove_signal_handler(signum)


def _not_ignored() -> list[signal.Signals]:
    # Signals that were ignored at the start stay ignored: `nohup make dev` must survive SIGHUP.
    return [signum for signum in _STOP if signal.getsignal(signum) is not signal.SIG_IGN]
