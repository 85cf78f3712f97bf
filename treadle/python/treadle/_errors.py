"""The exceptions of treadle: TensorFlow's class names and codes, all under `Error`."""


class Error(Exception):
    """Whatever a graph or a run can fail with.

    Attributes:
        code: the canonical code, an int (TensorFlow's and gRPC's numbers).
        message: what is wrong: the subject, what was found, what was expected, the likely fix.
        node: of an imported program, the name of the node that the message begins with; or None.
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
    """Something of this name exists already."""

    code = 6


class PermissionDeniedError(Error):
    """The caller may not do this."""

    code = 7


class ResourceExhaustedError(Error):
    """There is no memory, or no room, left."""

    code = 8


class FailedPreconditionError(Error):
    """The state does not allow it: a variable without value, say."""

    code = 9


class AbortedError(Error):
    """The operation was given up, as others were under way."""

    code = 10


class OutOfRangeError(Error):
    """There is nothing left: a queue or an iterator is at its end."""

    code = 11


class UnimplementedError(Error):
    """Treadle lacks this op, dtype or option."""

    code = 12


class InternalError(Error):
    """A fault of treadle itself."""

    code = 13


class UnavailableError(Error):
    """Something that is needed cannot be reached now."""

    code = 14


class DataLossError(Error):
    """Data is damaged or lost."""

    code = 15


class UnauthenticatedError(Error):
    """The caller has not said who they are."""

    code = 16


class MissingKeyError(NotFoundError, KeyError):
    """A mapping has no such key: a KeyError too, so that mappings are what Python expects."""

    __str__ = Error.__str__


# Users meet them as treadle.Error, treadle.NotFoundError and so on.
ERRORS = [Error, *Error.__subclasses__()]
for _error in ERRORS:
    _error.__module__ = "treadle"
