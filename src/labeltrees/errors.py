"""All errors that the library raises on purpose.

LabelTreesError
├── ArgumentError (ValueError)        an argument outside its range
│   └── TreeStructureError            edges or lists that are not a tree over labels
├── LabelTypeError (TypeError)        labels that are neither strings nor integers, or both
├── DataError (ValueError)            a feature matrix or data file with bad content
│   └── DataFileError                 the same, naming file and line
├── FrozenModelError (RuntimeError)   update of a model saved without its state
├── ForkedModelError (RuntimeError)   a model in a child of fork that was changing in the parent
├── DivergedError (ArithmeticError)   weights grew without bound
├── TooLargeError (MemoryError)       a result that needs more memory than is allowed
├── NoSpaceError (OSError)            a folder without room for training data in files
└── ModelFormatError (ValueError)     a model file that is truncated, damaged or foreign

A prediction before `fit` raises scikit-learn's ``NotFittedError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike
    from typing import Self

__all__ = [
    "ArgumentError",
    "DataError",
    "DataFileError",
    "DivergedError",
    "ForkedModelError",
    "FrozenModelError",
    "LabelTreesError",
    "LabelTypeError",
    "ModelFormatError",
    "NoSpaceError",
    "TooLargeError",
    "TreeStructureError",
]


class LabelTreesError(Exception):
    """The base class of the library's errors.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.errors import LabelTreesError
    >>> try:
    ...     ConditionalTreeClassifier(alpha=2).fit([[1]], ["a"])
    ... except LabelTreesError as error:
    ...     print(error)
    alpha must be in [0, 1], got 2.
    """


class ArgumentError(LabelTreesError, ValueError):
    """Report an argument outside its allowed range.

    Attributes
    ----------
    argument : str or None
        The argument's name, or None if the message does not begin with one.
    value : object
        The value that was passed. Unpickling gives the text of a value that is not a plain one.
    allowed : str or None
        The allowed values as text, for example ``"an integer in [1, 10]"``.
    problem : str
        The message without the argument's name.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.errors import ArgumentError
    >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> try:
    ...     model.predict_top_k([[1, 1]], k=0)
    ... except ArgumentError as error:
    ...     print(error)
    ...     error.argument, error.value, error.allowed
    k must be an integer in [1, n_labels=2], got 0.
    ('k', 0, 'an integer in [1, n_labels=2]')
    """

    def __init__(
        self,
        problem: str,
        *,
        argument: str | None = None,
        value: object = None,
        allowed: str | None = None,
    ) -> None:
        super().__init__(problem if argument is None else f"{argument} {problem}")
        self.problem = problem
        self.argument = argument
        self.value = value
        self.allowed = allowed

    @classmethod
    def of(cls, name: str, value: object, allowed: str) -> Self:
        """Return the error for ``name=value`` if only ``allowed`` is valid.

        >>> str(ArgumentError.of("k", 0, "in [1, n_labels=3993]"))
        'k must be in [1, n_labels=3993], got 0.'
        """
        problem = f"must be {allowed}, got {value!r}."
        return cls(problem, argument=name, value=value, allowed=allowed)

    def renamed(self, argument: str) -> Self:
        """Return the same error with the name that the user knows the argument by.

        >>> str(ArgumentError.of("n_trees", 0, "an integer >= 1").renamed("--n-trees"))
        '--n-trees must be an integer >= 1, got 0.'
        """
        return type(self)(self.problem, argument=argument, value=self.value, allowed=self.allowed)

    def __reduce__(self) -> tuple[Any, ...]:
        plain = self.value is None or type(self.value) in (bool, int, float, str)
        fields = self.argument, self.value if plain else repr(self.value), self.allowed
        return _argument_error, (type(self), self.problem, *fields)


def _argument_error(
    kind: type[ArgumentError],
    problem: str,
    argument: str | None,
    value: object,
    allowed: str | None,
) -> ArgumentError:
    """Rebuild a pickled error, because pickle passes no keyword arguments."""
    return kind(problem, argument=argument, value=value, allowed=allowed)


class TreeStructureError(ArgumentError):
    """Edges, arrays or nested lists that do not describe a tree over labels.

    Examples
    --------
    >>> from labeltrees import LabelTree
    >>> LabelTree.from_nested([[0, 1], 0])
    Traceback (most recent call last):
    ...
    labeltrees.errors.TreeStructureError: label 0 has two leaves.
    """


class LabelTypeError(LabelTreesError, TypeError):
    """Labels that are neither strings nor integers, or a mixture of both.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> ConditionalTreeClassifier().fit([[1], [2]], [0.5, 1.5])
    Traceback (most recent call last):
    ...
    labeltrees.errors.LabelTypeError: labels must be all strings or all integers, got float.
    """


class DataError(LabelTreesError, ValueError):
    """A feature matrix, label list or data file with content that cannot be used.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> ConditionalTreeClassifier().fit([[1], [float("nan")]], ["a", "b"])
    Traceback (most recent call last):
    ...
    labeltrees.errors.DataError: row 1 of X has NaN, inf or a number past float32: nan.
    """


class DataFileError(DataError):
    r"""A data file with a bad line, named as ``file:line``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from labeltrees.data.readers import read_xc
    >>> Path("bad.txt").write_text("1 3 2\n0 0:1 1:much\n")
    19
    >>> next(read_xc("bad.txt"))
    Traceback (most recent call last):
    ...
    labeltrees.errors.DataFileError: bad.txt:2: the value of '1:much' is not a finite number.
    """

    def __init__(self, path: str | PathLike[str], line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = str(path)
        self.line = line
        self.reason = reason

    def __reduce__(self) -> tuple[type[DataFileError], tuple[str, int, str]]:
        return type(self), (self.path, self.line, self.reason)


class FrozenModelError(LabelTreesError, RuntimeError):
    """An update of a model that was saved with ``keep_state=False``.

    Examples
    --------
    >>> import labeltrees
    >>> model = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> model.save("small.safetensors", keep_state=False)
    >>> labeltrees.load("small.safetensors").partial_fit([[1, 1]], ["a"])
    Traceback (most recent call last):
    ...
    labeltrees.errors.FrozenModelError: this model was saved with keep_state=False, ...
    """


class ForkedModelError(LabelTreesError, RuntimeError):
    """A model that another thread was updating when this process was forked."""


class DivergedError(LabelTreesError, ArithmeticError):
    """A learning rate that is too large for the data, so that weights would grow without bound.

    The model has learned all rows before the row that the error names, and nothing from that row.
    With several threads (``n_jobs``), it may have learned other rows of the same batch, or parts of
    them. In both cases you can use, save and update the model.

    Attributes
    ----------
    row : int or None
        The position of the row in the data passed, where one row is to blame.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class TooLargeError(LabelTreesError, MemoryError):
    """A result that would need more memory than its limit allows.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> model.predict_proba([[1, 1]] * 1000, max_bytes=100)
    Traceback (most recent call last):
    ...
    labeltrees.errors.TooLargeError: 1000 rows x 2 labels need 16,000 bytes, over max_bytes=100. ...
    """

    @classmethod
    def of_threshold(
        cls, n_rows: int, max_entries: int, threshold: float, max_bytes: int
    ) -> TooLargeError:
        """Return the error for too many labels above a threshold."""
        return cls(
            f"{n_rows} rows have more than {max_entries:,} labels with probability >= "
            f"threshold={threshold:g}, over max_bytes={max_bytes:,}. Raise the threshold, "
            "pass fewer rows, or raise max_bytes."
        )


class NoSpaceError(LabelTreesError, OSError):
    """A folder without room for the data that training keeps in files."""


class ModelFormatError(LabelTreesError, ValueError):
    """A file that is not a model, or is one that is truncated, damaged or too new.

    Examples
    --------
    >>> from pathlib import Path
    >>> import labeltrees
    >>> Path("notes.safetensors").write_bytes(b"not a model")
    11
    >>> labeltrees.load("notes.safetensors")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ModelFormatError: notes.safetensors is not a model file: ...
    """
