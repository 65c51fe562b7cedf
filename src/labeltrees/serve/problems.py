"""What goes wrong while a server works, as errors that know their HTTP status (RFC 9457).

ServeError (LabelTreesError)
├── Problem               an answer to a request: status, title and what to do
└── DamagedLogError       a log whose content has changed since it was written
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from labeltrees.errors import (
    ArgumentError,
    DataError,
    DataFileError,
    DivergedError,
    FrozenModelError,
    LabelTreesError,
    LabelTypeError,
    ModelFormatError,
    TooLargeError,
)

__all__ = ["DamagedLogError", "Problem", "ServeError", "problem_of"]


class ServeError(LabelTreesError):
    """What goes wrong while a server works."""


class DamagedLogError(ServeError):
    """A log whose content is not what was written."""


class Problem(ServeError):  # noqa: N818 - as RFC 9457 calls it
    """An answer that says what is wrong with a request, as RFC 9457 wants it.

    Parameters
    ----------
    status : int
        The HTTP status.
    detail : str
        What is wrong here, and what to do.
    kind : str
        The last part of the problem's type, such as ``"no-such-model"``.
    headers : dict, optional
        Headers of the answer, such as ``Retry-After``.

    Examples
    --------
    >>> Problem(404, "There is no model 'x'.", kind="no-such-model").body()["title"]
    'Not Found'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str = "",
        headers: dict[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind
        self.headers, self.members = headers or {}, members

    def body(self) -> dict[str, Any]:
        """Return the problem as JSON takes it."""
        about = f"urn:labeltrees:problem:{self.kind}" if self.kind else "about:blank"
        return {
            "type": about,
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }


def problem_of(error: Exception) -> Problem | None:
    """Return what is answered to a request that raised an error; None if nobody foresaw it.

    >>> problem_of(ArgumentError.of("k", 0, "in [1, 1000]")).status
    422
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, FrozenModelError):
        return Problem(409, str(error), kind="cannot-learn")
    if isinstance(error, TooLargeError):
        return Problem(413, str(error), kind="answer-too-large")
    if isinstance(error, DataFileError):
        return Problem(422, f"Row {error.line}: {error.reason}", kind="bad-row")
    if isinstance(error, (ArgumentError, DataError, LabelTypeError, ModelFormatError)):
        return Problem(422, str(error), kind="bad-content")
    if isinstance(error, DivergedError):
        return Problem(422, str(error), kind="diverged")
    return None
