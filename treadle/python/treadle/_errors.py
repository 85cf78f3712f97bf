"""Treadle's exceptions: TensorFlow's class names and codes, all subclasses of `Error`."""


class Error(Exception):
    """The base class of errors of graphs and runs.

    Attributes:
        code: the canonical code, an int (TensorFlow's and gRPC's numbers).
        message: the subject, what was found, what was expected, and the likely fix.
        node: for an imported program, the name of the node that the message begins with; or None.
    """

    code: int = 2
    message: str
    node: str | None

    def __init__(self, message: str = "", *, node: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.node = node


class CancelledError(Error):
    """The run was cancelled, by a signal or by another thread."""

    code = 1


class UnknownError(Error):
    """An error of no other kind, such as an exception in a Python op."""

    code = 2


class InvalidArgumentError(Error):
    """The graph, a feed, a fetch or the input of an op is malformed."""

    code = 3


class DeadlineExceededError(Error):
    """The run took longer than its timeout."""

    code = 4


class NotFoundError(Error):
    """A file, a resource or an entry does not exist."""

    code = 5


class AlreadyExistsError(Error):
    """Something with this name already exists."""

    code = 6


class PermissionDeniedError(Error):
    """The operation is not permitted."""

    code = 7


class ResourceExhaustedError(Error):
    """Memory or another resource is exhausted."""

    code = 8


class FailedPreconditionError(Error):
    """The state doesn't allow the operation; for example, a variable is uninitialized."""

    code = 9


class AbortedError(Error):
    """The operation was aborted, for example because of a conflict with another."""

    code = 10


class OutOfRangeError(Error):
    """The end was reached, such as that of a queue or an iterator."""

    code = 11


class UnimplementedError(Error):
    """Treadle doesn't support this op, dtype or option."""

    code = 12


class InternalError(Error):
    """A bug in Treadle."""

    code = 13


class UnavailableError(Error):
    """A required resource is not available now."""

    code = 14


class DataLossError(Error):
    """Data is corrupted or lost."""

    code = 15


class UnauthenticatedError(Error):
    """The caller is not authenticated."""

    code = 16


class MissingKeyError(NotFoundError, KeyError):
    """A mapping has no such key; also a KeyError, as Python expects of mappings."""

    __str__ = Error.__str__


# Shown to users as treadle.Error, treadle.NotFoundError and so on.
ERRORS = [Error, *Error.__subclasses__()]
for _error in ERRORS:
    _error.__module__ = "treadle"
