"""Labels and their ids."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees import store
from labeltrees.errors import DataError, LabelTypeError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.store import Tensors

_MAX_LABELS = 2**30  # A binary tree over them has at most 2^31 - 1 nodes.


class LabelSorting(NamedTuple):
    """The sorted order of labels, as the id of each place and the place of each id."""

    ids: NDArray[np.int64]
    places: NDArray[np.int32]
    in_order: bool
    """Whether the ids are sorted as well."""


def _sorting(ids: NDArray[np.int64]) -> LabelSorting:
    places = np.empty(len(ids), dtype=np.int32)
    places[ids] = np.arange(len(ids), dtype=np.int32)
    for array in (ids, places):  # The arrays are shared.
        array.flags.writeable = False
    return LabelSorting(ids, places, bool((ids[1:] > ids[:-1]).all()))


class _Adding:
    """The lock for adding labels, which is new in a child process after a fork."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.lock = threading.Lock()


_adding = _Adding()


class LabelVocabulary:
    """Labels in the order in which they were first seen, with ids that never change.

    Labels are all strings or all integers, as the first one is. Several threads may add and look
    up labels at the same time.

    Examples
    --------
    >>> vocabulary = LabelVocabulary()
    >>> vocabulary.add(["plum", "fig", "plum"])
    array([0, 1, 0], dtype=int32)
    >>> vocabulary.ids(["fig", "lime"])
    array([ 1, -1], dtype=int32)
    >>> vocabulary.labels[[1, 0]]
    array(['fig', 'plum'], dtype=object)
    """

    def __init__(self, labels: ArrayLike = ()) -> None:
        self._id_of: dict[str | int, int] = {}
        self._kind: type[str] | type[int] | None = None
        self._names: list[str | int] = []  # Labels by id. It grows before `_id_of` does.
        # The first names, with room for more.
        self._array: NDArray[Any] = np.empty(0, dtype=np.int64)
        self._n_in_array = 0
        self._sorting = _sorting(np.empty(0, dtype=np.int64))  # The order of the first labels.
        self.add(labels)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, label: object) -> bool:
        return label in self._id_of

    def __repr__(self) -> str:
        kind = self._kind.__name__ if self._kind else "empty"
        return f"LabelVocabulary({len(self)} labels, {kind})"

    @property
    def is_text(self) -> bool:
        """Whether the labels are strings."""
        return self._kind is str

    @property
    def labels(self) -> NDArray[Any]:
        """Every label, by id: an int64 array, or an object array of strings."""
        n_labels = len(self._names)  # Other threads may add labels meanwhile.
        if n_labels > self._n_in_array:
            with _adding.lock:
                self._fill_array()
        return self._array[:n_labels]

    def sorting(self, n_labels: int | None = None) -> LabelSorting | None:
        """Return the sorted order of the first ``n_labels`` labels, or None if ids are sorted.

        The default ``n_labels`` is the number of all labels. The order is kept until labels are
        added. Sorting a few new labels into many sorted ones takes O(n_labels) time.

        >>> vocabulary = LabelVocabulary(["plum", "fig", "lime"])
        >>> vocabulary.labels[vocabulary.sorting().ids]
        array(['fig', 'lime', 'plum'], dtype=object)
        """
        n = len(self._names) if n_labels is None else n_labels
        before = self._sorting  # Another thread may replace it meanwhile.
        if len(before.ids) < n:
            ids = np.concatenate([before.ids, np.arange(len(before.ids), n)])
            # The labels that are sorted already are one run of this merge sort.
            before = self._sorting = _sorting(ids[np.argsort(self.labels[ids], kind="stable")])
        if len(before.ids) > n:
            before = _sorting(before.ids[before.ids < n])
        return None if before.in_order else before

    def _fill_array(self) -> None:
        n_labels, n_before = len(self._names), self._n_in_array
        array = self._array
        if n_labels > len(array):  # The size is doubled, so that adding labels one by one is fast.
            dtype = object if self._kind is str else np.int64
            array = np.empty(max(n_labels, 2 * len(array)), dtype=dtype)
            array[:n_before] = self._array[:n_before]
        array[n_before:n_labels] = self._names[n_before:n_labels]
        self._array = array
        self._n_in_array = n_labels

    def add(self, labels: ArrayLike) -> NDArray[np.int32]:
        """Return the ids of labels, after giving the next ids to new labels.

        A bad label raises an error and leaves the vocabulary as it was.
        """
        values, kind = _as_list(labels)
        self._check_kind(kind)
        id_of = self._id_of
        if any(label not in id_of for label in values):
            with _adding.lock:
                self._check_kind(kind)
                self._add_new(values, kind)
        return _to_ids(map(id_of.__getitem__, values), len(values))

    def _add_new(self, values: list[Any], kind: type[str] | type[int] | None) -> None:
        new = [label for label in dict.fromkeys(values) if label not in self._id_of]
        n_before = len(self._names)
        if n_before + len(new) > _MAX_LABELS:
            raise DataError(f"a vocabulary can have at most {_MAX_LABELS} labels.")
        ids = {label: n_before + i for i, label in enumerate(new)}
        self._kind = kind
        self._names += new
        self._id_of.update(ids)

    def ids(self, labels: ArrayLike) -> NDArray[np.int32]:
        """Return the ids of labels, or -1 for a label that is not in the vocabulary."""
        values, kind = _as_list(labels)
        self._check_kind(kind)
        get = self._id_of.get
        return _to_ids((get(label, -1) for label in values), len(values))

    def to_tensors(self) -> Tensors:
        """Return the labels as arrays of numbers, for the model file."""
        names = self._names[:]  # Other threads may add labels meanwhile.
        if self._kind is not str:
            return {"vocabulary.integers": np.array(names, dtype=np.int64)}
        return store.text_tensors("vocabulary", [str(label) for label in names])

    @classmethod
    def from_tensors(cls, tensors: Tensors) -> LabelVocabulary:
        """Return the vocabulary from the arrays of `to_tensors`."""
        if "vocabulary.integers" in tensors:
            integers = store.tensor(tensors, "vocabulary.integers", np.int64)
            labels: list[str] | list[int] = integers.tolist()
        else:
            labels = store.texts(tensors, "vocabulary")
        vocabulary = cls(labels)
        if len(vocabulary) != len(labels):
            raise ModelFormatError("the vocabulary contains a label twice.")
        return vocabulary

    def _check_kind(self, kind: type[str] | type[int] | None) -> None:
        if self._kind is not None and kind is not None and kind is not self._kind:
            raise LabelTypeError(
                f"labels must be all strings or all integers. The labels of this model are "
                f"{self._kind.__name__}, got {kind.__name__}."
            )


def _to_ids(ids: Iterable[int], count: int) -> NDArray[np.int32]:
    return np.fromiter(ids, dtype=np.int32, count=count)


def _as_list(labels: ArrayLike) -> tuple[list[Any], type[str] | type[int] | None]:
    # np.asarray would turn [1, "a"] into two strings, so every entry of a list is checked.
    array = labels if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
    if array.ndim != 1:
        raise DataError(f"labels must have one dimension, got {array.ndim}.")
    if array.dtype.kind == "U":
        return array.tolist(), str
    if array.dtype.kind in "iub":
        if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
            raise LabelTypeError("integer labels must lie in [-2^63, 2^63).")
        return array.astype(np.int64).tolist(), int
    if array.dtype.kind != "O":
        raise LabelTypeError(f"labels must be strings or integers, got dtype {array.dtype}.")
    return _objects_as_list(array)


def _objects_as_list(array: NDArray[Any]) -> tuple[list[Any], type[str] | type[int] | None]:
    values = array.tolist()
    kinds = set(map(type, values))
    if kinds <= {str}:
        return values, (str if values else None)
    if all(issubclass(kind, str) for kind in kinds):
        return list(map(str, values)), str
    if all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds):
        integers = list(map(int, values))
        if min(integers) < -(2**63) or max(integers) >= 2**63:
            raise LabelTypeError("integer labels must lie in [-2^63, 2^63).")
        return integers, int
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise LabelTypeError(f"labels must be all strings or all integers, got {names}.")
