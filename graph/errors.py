"""Everything that Kith itself says no to. What is not in this tree is a bug, and masked as one.

KithError
├── BadInput             the caller's words are wrong: say which argument, and what is allowed
│   ├── BadCursor        a cursor that is broken, of another version or of another list
│   └── BadToken         a consistency token that is broken, or of another version
├── Unauthenticated      nobody is asking, and somebody must
├── Forbidden            somebody is asking, but it is for others to ask: for services
├── Stale                the answer would be older than it may be; soon it will not
└── Unavailable          a part is down or too slow; the same call may work again soon
    └── Overloaded       a bound was reached: the queue in front of a part is full
"""


class KithError(Exception):
    """The root. `code` is what `extensions.code` says; the message is written for the caller."""

    code = "INTERNAL"


class BadInput(KithError):
    code = "BAD_USER_INPUT"

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"{argument}: {message}")
        self.argument = argument


class BadCursor(BadInput):
    pass


class BadToken(BadInput):
    pass


class Unauthenticated(KithError):
    code = "UNAUTHENTICATED"


class Forbidden(KithError):
    code = "FORBIDDEN"


class Stale(KithError):
    """What was written has not arrived yet; in `retry_after_ms` the same call may work."""

    code = "STALE"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(
            "What this answer has to be as fresh as has not arrived yet; please try again."
        )
        self.retry_after_ms = retry_after_ms


class Unavailable(KithError):
    """A part is down. `part` names it for operators and for the caller."""

    code = "UNAVAILABLE"

    def __init__(self, part: str, message: str | None = None) -> None:
        super().__init__(message or f"{part} is unavailable at the moment; please try again.")
        self.part = part


class Overloaded(Unavailable):
    code = "OVERLOADED"
