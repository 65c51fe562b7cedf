"""A client of the learning server (`labeltrees serve`), which needs only the standard library."""

from __future__ import annotations

import http.client
import json
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from labeltrees.errors import ArgumentError, LabelTreesError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Client",
    "ExampleResult",
    "LearnResult",
    "ModelClient",
    "PredictResult",
    "RowResult",
    "ServerProblem",
]

Label = str | int
_TRIES = 3
"""Maximum number of times that a request is sent if the connection breaks."""
_PAUSE_SECONDS = 0.1


class ServerProblem(LabelTreesError):  # noqa: N818 - the name in RFC 9457
    """An error that a server returns for a request.

    Attributes
    ----------
    status : int
        The HTTP status.
    kind : str
        The problem's type, such as ``"urn:labeltrees:problem:no-such-model"``.
    """

    def __init__(self, status: int, kind: str, detail: str, retry_after: str | None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.kind, self.detail = status, kind, detail
        self.retry_after = None if retry_after is None else float(retry_after)


@dataclass(frozen=True)
class RowResult:
    """The labels of one row and their probabilities, most likely first."""

    labels: list[Label]
    probabilities: list[float]


@dataclass(frozen=True)
class PredictResult:
    """The labels of every row, from a model that had learned at least ``seq`` examples."""

    seq: int
    rows: list[RowResult]


@dataclass(frozen=True)
class ExampleResult:
    """The prediction for one label of an example, made just before the example was learned."""

    example: int
    label: Label
    p_label: float
    top: Label | None
    p_top: float
    new: bool


@dataclass(frozen=True)
class LearnResult:
    """The numbers of the saved and learned examples, and the predictions for them."""

    first_seq: int
    seq: int
    new_labels: list[Label]
    predicted: list[ExampleResult]
    repeated: bool
    refused: list[int]


class Client:
    """A connection to a server, for one thread at a time.

    Parameters
    ----------
    url : str
        The address of the server, such as ``"http://127.0.0.1:8000"``.
    key : str, optional
        A key, if the server needs one.
    timeout : float, default 30
        Maximum time in seconds to wait for a response.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000")
    >>> demo = client.model("demo")
    >>> demo.name
    'demo'

    Then ``demo.predict([{"text": "import "}], k=3)`` returns the three most likely labels, and
    ``demo.learn([{"text": "import ", "label": "os"}])`` updates the model.
    """

    def __init__(self, url: str, *, key: str | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError.of("url", url, "an address such as http://127.0.0.1:8000")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._before = parts.path.rstrip("/")
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def model(self, name: str) -> ModelClient:
        """Return a client of one model."""
        return ModelClient(self, name)

    def models(self) -> list[dict[str, Any]]:
        """Return a description of every model."""
        found: list[dict[str, Any]] = self.send("GET", "/v1/models")["models"]
        return found

    def is_ready(self) -> bool:
        """Return whether the server is ready to predict and learn."""
        try:
            self.send("GET", "/readyz")
        except ServerProblem as problem:
            if problem.status == 503:
                return False
            raise
        return True

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        tries: int = 1,
    ) -> Any:
        """Send a request and return the content of its response, or raise `ServerProblem`.

        ``body`` is bytes, or a value that JSON can hold. With ``tries`` above 1, the request is
        sent again if the connection breaks. Use this only for requests that may arrive twice.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        own = {"Content-Type": kind, **self._headers, **(headers or {})}
        for left in range(tries - 1, -1, -1):
            try:
                self._connection.request(method, self._before + path, data, own)
                response = self._connection.getresponse()
                return _content(response, response.read())
            except (OSError, http.client.HTTPException):
                self._connection.close()
                if not left:
                    raise
                time.sleep(_PAUSE_SECONDS)
        raise AssertionError("unreachable")


class ModelClient:
    """A client of one model of a server."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self._path = f"/v1/models/{quote(name, safe='')}"

    def predict(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        k: int = 5,
        labels: Sequence[Label] | None = None,
        above: float | None = None,
        min_seq: int = 0,
    ) -> PredictResult:
        """Return the k most likely labels of rows, all likely ones, or the probabilities of some.

        Parameters
        ----------
        rows : sequence of mappings
            Each has ``text`` or ``features``.
        k : int, default 5
            Number of labels per row.
        labels : sequence of labels, optional
            Return the probabilities of these labels instead.
        above : float, optional
            Return every label with at least this probability instead.
        min_seq : int, default 0
            Number of examples that the model must have learned. Pass the ``seq`` of your last
            `learn` to get predictions that include its examples.
        """
        request: dict[str, Any] = {"rows": [dict(row) for row in rows], "k": k, "min_seq": min_seq}
        if labels is not None:
            request["labels"] = list(labels)
        if above is not None:
            request["above"] = above
        found = self._post("predict", request, tries=_TRIES)
        return PredictResult(found["seq"], [RowResult(**row) for row in found["rows"]])

    def learn(
        self, examples: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> LearnResult:
        """Update the model with examples, which are on disk and learned when this returns.

        If the connection breaks, the request is sent again with the same key, so that no example
        is learned twice.

        Parameters
        ----------
        examples : sequence of mappings
            Each has ``text`` or ``features``, ``label`` or ``labels``, and optionally ``weight``.
        idempotency_key : str, optional
            By default a random key.
        """
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        request = {"examples": [dict(example) for example in examples]}
        found = self._post("learn", request, headers={"Idempotency-Key": key}, tries=_TRIES)
        predicted = [ExampleResult(**each) for each in found["predicted"]]
        numbers = found["first_seq"], found["seq"], found["new_labels"]
        return LearnResult(*numbers, predicted, found["repeated"], found["refused"])

    def explain(
        self, row: Mapping[str, Any], label: Label | None = None, *, n_features: int = 10
    ) -> dict[str, Any]:
        """Return an explanation of a label for a row, by default of its most likely label."""
        request = {**row, "n_features": n_features} | ({} if label is None else {"label": label})
        found: dict[str, Any] = self._post("explain", request, tries=_TRIES)["reason"]
        return found

    def describe(self) -> dict[str, Any]:
        """Return the labels, settings, sizes and quality of the model."""
        found: dict[str, Any] = self.client.send("GET", self._path, tries=_TRIES)
        return found

    def quality(self) -> dict[str, Any]:
        """Return scores, learning curve, reliability and new labels."""
        found: dict[str, Any] = self.client.send("GET", f"{self._path}/quality", tries=_TRIES)
        return found

    def search(self, containing: str, *, most: int = 20) -> list[dict[str, Any]]:
        """Return labels that contain a text."""
        query = urlencode({"containing": containing, "most": most})
        found = self.client.send("GET", f"{self._path}/labels?{query}", tries=_TRIES)
        labels: list[dict[str, Any]] = found["labels"]
        return labels

    def snapshot(self) -> int:
        """Write a snapshot now; return its number of learned examples."""
        return int(self.client.send("POST", f"{self._path}/snapshot")["seq"])

    def put(self, model: bytes | Mapping[str, Any]) -> dict[str, Any]:
        """Serve a new model from the bytes of a model file or a description.

        For example, ``{"learns": "text"}`` describes a model of texts without training, and with
        ``"method": "multilabel"`` each text may have any number of labels.
        """
        body = model if isinstance(model, bytes) else dict(model)
        found: dict[str, Any] = self.client.send("PUT", self._path, body)
        return found

    def delete(self) -> None:
        """Delete the model and its examples."""
        self.client.send("DELETE", self._path)

    def _post(self, what: str, body: Any, **rest: Any) -> Any:
        return self.client.send("POST", f"{self._path}/{what}", body, **rest)


def _content(response: http.client.HTTPResponse, body: bytes) -> Any:
    kind = response.headers.get_content_type()
    if response.status >= 400:
        problem = json.loads(body) if kind.endswith("json") else {}
        detail = str(problem.get("detail", response.reason))
        raise ServerProblem(
            response.status,
            str(problem.get("type", "")),
            detail,
            response.headers.get("Retry-After"),
        )
    if not body:
        return None
    return json.loads(body) if kind == "application/json" else body.decode()
