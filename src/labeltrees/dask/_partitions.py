"""The arguments of `fit` as partitions, and their checked rows on a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.readers import FileLayout
from labeltrees.data.rows import Rows, as_rows
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.several_labels import form_of, raw_relevance_of
from labeltrees.models.extreme.relevance import RawRelevance, relevance_of_entries
from labeltrees.models.extreme.spilling import rows_and_relevance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.models.model import FormName


@dataclass(frozen=True)
class Partition:
    """The checked rows of a partition with their relevance."""

    rows: Rows
    relevance: RawRelevance
    form: FormName | None
    """The form in which rows name their labels; None for a partition without rows."""


@dataclass(frozen=True)
class PartitionFacts:
    """The facts of a partition that other partitions need."""

    n_rows: int
    width: int
    n_stored: int
    labels: NDArray[Any]
    """The labels of the partition in the order of its ids."""
    counts: NDArray[np.int64]
    """The number of rows with each label."""
    largest: float
    most: float | None
    form: FormName | None


def futures_of(client: Any, collection: Any, name: str) -> list[Any]:
    """Return the partitions of a Dask collection, or of a list of them, as futures."""
    from dask.delayed import Delayed
    from distributed import Future

    parts = partitions_of(collection, name)
    futures = []
    for part in parts:
        if isinstance(part, Future):
            futures.append(part)
        elif isinstance(part, Delayed):
            futures.append(client.compute(part))
        else:
            futures += client.scatter([part], hash=False)  # scatter would split a bare list
    return futures


def partitions_of(collection: Any, name: str) -> list[Any]:
    """Return the partitions of a Dask collection or a list."""
    if hasattr(collection, "to_delayed"):
        if getattr(collection, "ndim", 1) == 2 and getattr(collection, "numblocks", (1, 1))[1] > 1:
            allowed = "one block wide: rechunk((rows, -1))"
            raise ArgumentError.of(name, f"{collection.numblocks} blocks", allowed)
        return list(np.ravel(collection.to_delayed()))
    if isinstance(collection, list | tuple) and len(collection):
        return list(collection)
    allowed = "a Dask collection or a list of partitions"
    raise ArgumentError.of(name, type(collection).__name__, allowed)


def pairs_of(client: Any, X: Any, Y: Any) -> list[tuple[Any, Any]]:
    """Return the partitions of X and Y in pairs, as futures."""
    return zipped(futures_of(client, X, "X"), futures_of(client, Y, "y"))


def zipped(left: list[Any], right: list[Any]) -> list[tuple[Any, Any]]:
    """Return the partitions of X and y in pairs, or raise `ArgumentError`."""
    if len(left) != len(right):
        raise ArgumentError(f"y has {len(right)} partitions, but X has {len(left)}.")
    return list(zip(left, right, strict=True))


def part_of(X: Any, y: Any, classes: ArrayLike | None, number: int) -> Partition:
    """Return a checked partition."""
    if getattr(X, "shape", (1,))[0] == 0:
        width = int(X.shape[1])
        rows = Rows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), width)
        nothing = relevance_of_entries(np.zeros(1, np.int64), [], np.empty(0))
        return Partition(rows, nothing, None)
    try:
        rows, relevance = as_rows(X), raw_relevance_of(y, classes)
    except DataError as error:
        raise DataError(f"partition {number}: {error}") from None
    if relevance.n_rows != rows.n_rows:
        n = relevance.n_rows
        raise DataError(f"partition {number}: y has {n} rows for the {rows.n_rows} rows of X.")
    return Partition(rows, relevance, form_of(y))


def read_file(facts: dict[str, Any], path: str, vectorizer: Vectorizer | None) -> Partition:
    """Return the rows of a file, which the calling worker reads."""
    rows, relevance = rows_and_relevance(FileLayout.from_facts(facts, path).open(vectorizer), None)
    return Partition(rows, relevance, "lists")


def facts_of(part: Partition) -> PartitionFacts:
    """Return the facts of a partition that other partitions need."""
    relevance = part.relevance
    return PartitionFacts(
        part.rows.n_rows,
        part.rows.n_features,
        len(part.rows.indices),
        relevance.vocabulary.labels,
        np.bincount(relevance.labels, minlength=len(relevance.vocabulary)),
        float(relevance.relevance.max(initial=0.0)),
        relevance.most,
        part.form,
    )
