"""A client of the learning server (`labeltrees serve`), with nothing but the standard library."""

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

__all__ = ["Answer", "Client", "Foreseen", "Learned", "ModelClient", "Predicted", "ServerProblem"]

Label = str | int
_TRIES = 3
_PAUSE = 0.1


class ServerProblem(LabelTreesError):  # noqa: N818 - as RFC 9457 calls it
    """What a server says is wrong with a request.

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
class Answer:
    """The labels of one row and their probabilities, likeliest first."""

    labels: list[Label]
    probabilities: list[float]


@dataclass(frozen=True)
class Predicted:
    """Answers by a model that had learned at least the first ``seq`` examples."""

    seq: int
    rows: list[Answer]


@dataclass(frozen=True)
class Foreseen:
    """What the model said of an example just before it learned it."""

    example: int
    label: Label
    p_label: float
    top: Label | None
    p_top: float
    new: bool


@dataclass(frozen=True)
class Learned:
    """The numbers of examples that are safe and learned, and what was foreseen of them."""

    first_seq: int
    seq: int
    new_labels: list[Label]
    foreseen: list[Foreseen]
    repeated: bool
    refused: list[int]


class Client:
    """A connection to a server; for one thread at a time.

    Parameters
    ----------
    url : str
        Where the server is, such as ``"http://127.0.0.1:8000"``.
    key : str, optional
        A key, if the server wants one.
    timeout : float, default 30
        How many seconds to wait for an answer.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000")
    >>> demo = client.model("demo")
    >>> demo.name
    'demo'

    ``demo.predict([{"text": "import "}], k=3)`` then asks, and ``demo.learn([{"text": "import ",
    "label": "os"}])`` teaches.
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
        """Return what asks and teaches one model."""
        return ModelClient(self, name)

    def models(self) -> list[dict[str, Any]]:
        """Return what is known of every model."""
        found: list[dict[str, Any]] = self.send("GET", "/v1/models")["models"]
        return found

    def is_ready(self) -> bool:
        """Return whether everything can be asked and taught."""
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
        """Send a request and return what its JSON holds, or raise `ServerProblem`.

        ``body`` is bytes, or what JSON takes. With ``tries`` above 1, a request is sent again
        if the connection broke: only for those that may arrive twice.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        own = {"Content-Type": kind, **self._headers, **(headers or {})}
        for left in range(tries - 1, -1, -1):
            try:
                self._connection.request(method, self._before + path, data, own)
                answer = self._connection.getresponse()
                return _content(answer, answer.read())
            except (OSError, http.client.HTTPException):
                self._connection.close()
                if not left:
                    raise
                time.sleep(_PAUSE)
        raise AssertionError("unreachable")


class ModelClient:
    """Asks and teaches one model of a server."""

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
    ) -> Predicted:
        """Return the k likeliest labels of rows, the probabilities of some, or all likely ones.

        Parameters
        ----------
        rows : sequence of mappings
            Each has ``text`` or ``features``.
        k : int, default 5
            How many labels per row.
        labels : sequence of labels, optional
            The labels whose probabilities are wanted instead.
        above : float, optional
            Every label with at least this probability instead.
        min_seq : int, default 0
            How many examples the model must have learned: the ``seq`` of your last `learn`.
        """
        asked: dict[str, Any] = {"rows": [dict(row) for row in rows], "k": k, "min_seq": min_seq}
        if labels is not None:
            asked["labels"] = list(labels)
        if above is not None:
            asked["above"] = above
        found = self._post("predict", asked, tries=_TRIES)
        return Predicted(found["seq"], [Answer(**row) for row in found["rows"]])

    def learn(
        self, examples: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> Learned:
        """Teach examples, which are on disk and learned when this returns.

        If the connection breaks the request is sent again with the same key, so that no example
        is learned twice.

        Parameters
        ----------
        examples : sequence of mappings
            Each has ``text`` or ``features``, ``label`` or ``labels``, and perhaps ``weight``.
        idempotency_key : str, optional
            By default a random one.
        """
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        asked = {"examples": [dict(example) for example in examples]}
        found = self._post("learn", asked, headers={"Idempotency-Key": key}, tries=_TRIES)
        foreseen = [Foreseen(**each) for each in found["foreseen"]]
        numbers = found["first_seq"], found["seq"], found["new_labels"]
        return Learned(*numbers, foreseen, found["repeated"], found["refused"])

    def explain(
        self, row: Mapping[str, Any], label: Label | None = None, *, n_features: int = 10
    ) -> dict[str, Any]:
        """Return why a row gives a label, by default its likeliest, its probability."""
        asked = {**row, "n_features": n_features} | ({} if label is None else {"label": label})
        found: dict[str, Any] = self._post("explain", asked, tries=_TRIES)["reason"]
        return found

    def describe(self) -> dict[str, Any]:
        """Return the model's labels, settings, sizes and quality."""
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
        """Write a snapshot now; return how many examples it has learned."""
        return int(self.client.send("POST", f"{self._path}/snapshot")["seq"])

    def put(self, model: bytes | Mapping[str, Any]) -> dict[str, Any]:
        """Serve it: a model file's bytes, or ``{"learns": "text"}`` for one that knows nothing."""
        body = model if isinstance(model, bytes) else dict(model)
        found: dict[str, Any] = self.client.send("PUT", self._path, body)
        return found

    def delete(self) -> None:
        """Forget the model and its examples."""
        self.client.send("DELETE", self._path)

    def _post(self, what: str, body: Any, **rest: Any) -> Any:
        return self.client.send("POST", f"{self._path}/{what}", body, **rest)


def _content(answer: http.client.HTTPResponse, body: bytes) -> Any:
    kind = answer.headers.get_content_type()
    if answer.status >= 400:
        said = json.loads(body) if kind.endswith("json") else {}
        detail = str(said.get("detail", answer.reason))
        raise ServerProblem(
            answer.status, str(said.get("type", "")), detail, answer.headers.get("Retry-After")
        )
    if not body:
        return None
    return json.loads(body) if kind == "application/json" else body.decode()
