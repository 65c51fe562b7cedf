"""Errors of the server, with their HTTP status and body (RFC 9457).

ServeError (LabelTreesError)
├── Problem               the response to a request: status, title and what to do
└── DamagedLogError       a log that was changed after it was written
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


class ServeError(LabelTreesError):
    """An error of the server."""


class DamagedLogError(ServeError):
    """A log that was changed after it was written."""


class Problem(ServeError):  # noqa: N818 - the name in RFC 9457
    """A response that describes what is wrong with a request, as in RFC 9457.

    Parameters
    ----------
    status : int
        The HTTP status.
    detail : str
        What is wrong with this request, and what to do.
    kind : str
        The last part of the problem's type, such as ``"no-such-model"``.
    headers : dict, optional
        Headers of the response, such as ``Retry-After``.

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
        """Return the problem as values that JSON can hold."""
        about = f"urn:labeltrees:problem:{self.kind}" if self.kind else "about:blank"
        return {
            "type": about,
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }


def problem_of(error: Exception) -> Problem | None:
    """Return the response to a request that raised an error, None for an unexpected error.

    >>> problem_of(ArgumentError.of("k", 0, "in [1, 1000]")).status
    422
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, FrozenModelError):
        return Problem(409, str(error), kind="cannot-learn")
    if isinstance(error, TooLargeError):
        return Problem(413, str(error), kind="response-too-large")
    if isinstance(error, DataFileError):
        return Problem(422, f"Row {error.line}: {error.reason}", kind="bad-row")
    if isinstance(error, (ArgumentError, DataError, LabelTypeError, ModelFormatError)):
        return Problem(422, str(error), kind="bad-content")
    if isinstance(error, DivergedError):
        return Problem(422, str(error), kind="diverged")
    return None
