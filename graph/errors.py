"""The errors that Kith raises on purpose. Clients see only an id of any other exception.

KithError
├── BadInput             an argument is invalid; the message says what is allowed
│   ├── BadCursor        a cursor is damaged, or belongs to another version or list
│   └── BadToken         a consistency token is damaged, or belongs to another version
├── Unauthenticated      the request has no viewer and needs one
├── Forbidden            the request needs the scope `service`
├── ChangesLost          the change feed no longer has the changes after a cursor
├── Stale                the data is older than the request requires; a retry can succeed
└── Unavailable          a component is down or too slow; a retry can succeed
    └── Overloaded       a limit is reached, for example a queue is full
"""


class KithError(Exception):
    """The base class. `code` becomes `extensions.code`; clients see the message."""

    code = "INTERNAL"


class BadInput(KithError):
    """An argument is invalid. `message` is what follows the argument's name: "must be …"."""

    code = "BAD_USER_INPUT"

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"`{argument}` {message}")
        self.argument = argument


class BadCursor(BadInput):
    pass


class BadToken(BadInput):
    pass


class Unauthenticated(KithError):
    code = "UNAUTHENTICATED"


class Forbidden(KithError):
    code = "FORBIDDEN"


class ChangesLost(KithError):
    """The change feed no longer has the changes after a cursor."""

    code = "CHANGES_LOST"

    def __init__(self) -> None:
        super().__init__(
            "Changes after this cursor are no longer kept. Export the graph again, and continue"
            " from the cursor of that export."
        )


class Stale(KithError):
    """A change is not visible yet. The request can succeed after `retry_after_ms`."""

    code = "STALE"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(
            "The changes of the consistency token are not visible yet. Repeat the request after "
            f"{retry_after_ms} ms, or send it without the token."
        )
        self.retry_after_ms = retry_after_ms


class Unavailable(KithError):
    """A component is down. `part` is its name, for operators and clients."""

    code = "UNAVAILABLE"

    def __init__(self, part: str, message: str | None = None) -> None:
        super().__init__(message or f"{part} is unavailable. Try again later.")
        self.part = part


class Overloaded(Unavailable):
    code = "OVERLOADED"
