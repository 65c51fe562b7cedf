"""Every error the library raises on purpose.

LabelTreesError
├── ArgumentError (ValueError)        an argument outside its range
│   └── TreeStructureError            edges or lists that are not a tree over labels
├── LabelTypeError (TypeError)        labels that are neither strings nor integers, or both
├── DataError (ValueError)            a feature matrix or data file with bad content
│   └── DataFileError                 the same, naming file and line
├── FrozenModelError (RuntimeError)   learning asked of a model saved without its state
├── ForkedModelError (RuntimeError)   a model in a child of fork that was changing in the parent
├── DivergedError (ArithmeticError)   weights grew without bound
├── TooLargeError (MemoryError)       an answer larger than the memory allowed for it
├── NoSpaceError (OSError)            a folder without room for what does not fit into memory
└── ModelFormatError (ValueError)     a model file that is truncated, damaged or foreign

A question to a model that has learned nothing raises scikit-learn's ``NotFittedError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

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
    """The root of the library's errors."""


class ArgumentError(LabelTreesError, ValueError):
    """An argument outside its allowed range."""

    @classmethod
    def of(cls, name: str, value: object, allowed: str) -> ArgumentError:
        """Return the error for ``name=value`` where only ``allowed`` is.

        >>> str(ArgumentError.of("k", 0, "in [1, n_labels=3993]"))
        'k must be in [1, n_labels=3993], got 0.'
        """
        return cls(f"{name} must be {allowed}, got {value!r}.")


class TreeStructureError(ArgumentError):
    """Edges, arrays or nested lists that do not describe a tree over labels."""


class LabelTypeError(LabelTreesError, TypeError):
    """Labels that are neither strings nor integers, or a mixture of both."""


class DataError(LabelTreesError, ValueError):
    """A feature matrix, label list or data file with content that cannot be used."""


class DataFileError(DataError):
    """A data file with a bad line, named as ``file:line``."""

    def __init__(self, path: str | PathLike[str], line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = str(path)
        self.line = line
        self.reason = reason

    def __reduce__(self) -> tuple[type[DataFileError], tuple[str, int, str]]:
        return type(self), (self.path, self.line, self.reason)


class FrozenModelError(LabelTreesError, RuntimeError):
    """Learning was asked of a model that was saved with ``keep_state=False``."""


class ForkedModelError(LabelTreesError, RuntimeError):
    """A model that another thread was changing when this process was forked."""


class DivergedError(LabelTreesError, ArithmeticError):
    """The weights would grow without bound: the learning rate is too large for the data.

    The row that the error names has changed nothing; those before it were learned. With several
    threads (``n_jobs``), other rows learned together with it may have been learned, or in part.
    Either way the model answers, can be saved, and goes on learning.
    """


class TooLargeError(LabelTreesError, MemoryError):
    """The answer would need more memory than its limit allows."""

    @classmethod
    def of_threshold(
        cls, n_rows: int, max_entries: int, threshold: float, max_bytes: int
    ) -> TooLargeError:
        """Return the error of too many labels above a threshold."""
        return cls(
            f"{n_rows} rows have more than {max_entries:,} labels with probability >= "
            f"threshold={threshold:g}, over max_bytes={max_bytes:,}: raise the threshold, "
            "pass fewer rows, or raise max_bytes."
        )


class NoSpaceError(LabelTreesError, OSError):
    """A folder has no room for the data that training keeps in files."""


class ModelFormatError(LabelTreesError, ValueError):
    """A file that is not a model, or is one that is truncated, damaged or too new."""
