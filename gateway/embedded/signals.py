"""Turns the signals that mean "stop" into the end of a block. Knows nothing of what it holds."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_signalled() -> Iterator[None]:
    """Cancels its body at the first SIGINT, SIGTERM or SIGHUP, then ends as if it had returned.

    Further signals change nothing: the body is cleaning up, and its own deadlines bound that.
    Main thread only; the outermost block, so that nothing starts unprotected.
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
    # What we were started to ignore stays ignored: `nohup make dev` shall outlive its terminal.
    return [signum for signum in _STOP if signal.getsignal(signum) is not signal.SIG_IGN]
