"""How a process writes its log: lines of text for a person, or of JSON for a collector."""

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType


class LogFormat(StrEnum):
    """What one line of the log is."""

    TEXT = "text"
    JSON = "json"


class JsonFormatter(logging.Formatter):
    """One object a line: time (RFC 3339), level, logger, process, message, exception if any."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line)  # in ASCII: a message may hold half of a surrogate pair


def set_up_logging(log_format: LogFormat) -> None:
    """Writes everything from INFO up to standard error, as JSON also what ends the process."""
    handler = logging.StreamHandler()
    if log_format is LogFormat.TEXT:
        text = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        handler.setFormatter(logging.Formatter(text))
    else:
        handler.setFormatter(JsonFormatter())
        logging.captureWarnings(True)
        sys.excepthook = _log_exception
        threading.excepthook = _log_thread_exception
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("gateway").critical(
        "uncaught %s", kind.__name__, exc_info=(kind, error, trace)
    )


def _log_thread_exception(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is not None:
        _log_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)
