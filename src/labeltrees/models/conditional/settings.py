"""The parameters of conditional probability trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from labeltrees import _core, checks
from labeltrees.checks import Choice, Flag, Integer, Number, Threads, setting
from labeltrees.errors import ArgumentError
from labeltrees.models.conditional.structure import (
    Structure,
    StructureName,
    check_structure,
    is_binary,
    structure_from_json,
    structure_name,
    structure_to_json,
)
from labeltrees.models.online.scaling import StandardRows
from labeltrees.models.online.settings import LOSSES, OPTIMIZERS, RegressorSettings

if TYPE_CHECKING:
    from labeltrees.data.rows import Rows

BalanceName = Literal["examples", "labels"]
BALANCES = {name: getattr(_core.Balance, name) for name in get_args(BalanceName)}
MIN_TABLE = 2**20
"""The least memory, in bytes, that a table can be kept within."""
MIN_REFINED = 2**22
"""The same of one tree and its experts."""

STREAM_CANDIDATES = 4
"""What `refine="auto"` is where rows come one after the other: search is what they cost most."""
FIT_CANDIDATES = 8
"""What it is where `fit` sees them all."""
TABLE_CANDIDATES = 16
"""The same of a table, whose rows are short: candidates cost less, and trees more by comparison."""
LEAST_SHARE = 0.05
"""Least probability of a candidate, as a share of the most likely label's. In tables all labels are
candidates if there is room, because labels are often few and the trees' predictions flat."""
FIT_TREES = 4
"""What `n_trees="auto"` is for `fit` of refined trees from so many rows at most, else 1:"""
MOST_ROWS_OF_TREES = 100_000
TABLE_TREES = 2
"""What it is for tables of more rows than this, where a second pair gains little:"""
SMALL_TABLE = 10_000

FEW_ROWS = 5000
"""What `n_passes="auto"` goes over at least of a table, in this many passes at most:"""
MOST_PASSES = 10

MOST_RERANKER_PASSES = 16
"""Of `fit`; a small table takes little time, and has few rows to learn from:"""
MOST_RERANKER_PASSES_OF_FEW = 64
VERY_FEW_ROWS = 500
"""Below it a fifth of them says too little to stop early by."""

SEEDED = ("auto", "kmeans", "random", "shuffled")
"""Structures of which each seed has its own tree; "auto" is one of them for `fit`."""

Auto = Literal["auto"]


class Shortlist(NamedTuple):
    """How many labels may be candidates of a row, and how likely they must be."""

    n_candidates: int
    least_share: float


class RerankerPasses(NamedTuple):
    """How often rerankers may go over the rows of `fit`."""

    most: int
    is_patient: bool
    """Go on where it seems no help."""
    goes_on: bool
    """Do not begin anew for all rows where more passes were better. Rerankers of a table give the
    same result in two thirds of the time; for texts log loss would be 1 % larger."""


def _arity(name: str, value: Any) -> int:
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        arity = int(value)
        if 2 <= arity <= 2**30 and arity.bit_count() == 1:
            return arity
    raise ArgumentError.of(name, value, "a power of two in [2, 2^30]")


@dataclass(frozen=True, kw_only=True)
class ConditionalSettings(RegressorSettings):
    """The checked parameters of `ConditionalTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> ConditionalSettings(alpha=2)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: alpha must be in [0, 1], got 2.
    """

    structure: Structure = setting("auto", check_structure)
    arity: int = setting(2, _arity)
    n_trees: int | Auto = setting("auto", Integer(1, 1000, words=("auto",)))
    refine: int | Auto = setting("auto", Integer(0, 1000, words=("auto",)))
    alpha: float = setting(0.6, Number(0, 1))
    balance: BalanceName = setting("examples", Choice(get_args(BalanceName)))
    mixing: bool = setting(True, Flag())
    sharpness: float | Auto = setting("auto", Number(0, 10, open_low=True, words=("auto",)))
    n_passes: int | Auto = setting("auto", Integer(1, words=("auto",)))  # type: ignore[assignment]
    novelty: bool = setting(False, Flag())
    max_memory: int | None = setting(None, Integer(MIN_TABLE, 2**63 - 1, optional=True))
    n_jobs: int | None = setting(None, Threads())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_trees not in ("auto", 1) and self.novelty and not self.is_refined:
            raise ArgumentError.of("n_trees", self.n_trees, "1 with novelty=True and refine=0")
        if self.refine == "auto" or self.refine == 0:
            return
        if self.arity > 2 or not is_binary(self.structure):
            allowed = "'auto' or 0 where nodes have more than two children"
            raise ArgumentError.of("refine", self.refine, allowed)
        if self.n_trees not in ("auto", 1) and self.structure_name not in SEEDED:
            allowed = (
                "'kmeans', 'random' or 'shuffled' for several refined trees, which must differ"
            )
            raise ArgumentError.of("structure", self.structure, allowed)
        if not self._has_room:
            allowed = f"at least {self._least_refined} with refine={self.refine}"
            raise ArgumentError.of("max_memory", self.max_memory, allowed)

    @property
    def _least_refined(self) -> int:
        """The least memory, in bytes, that trees and rerankers can be kept within."""
        return MIN_REFINED // 2 * max(2, 1 if self.n_trees == "auto" else self.n_trees)

    @property
    def _has_room(self) -> bool:
        return self.max_memory is None or self.max_memory >= self._least_refined

    @cached_property
    def is_refined(self) -> bool:
        """Whether rerankers refine the probabilities of the trees.

        By default they do for binary trees by logistic loss, unless there is hardly any memory or
        several trees would be alike; squared loss is for the paper's own algorithm.
        """
        if self.refine != "auto":
            return self.refine > 0
        differ = self.n_trees in ("auto", 1) or self.structure_name in SEEDED
        binary = self.arity == 2 and is_binary(self.structure)
        return self.loss == "logistic" and binary and self._has_room and differ

    def shortlist(self, rows: Rows | None = None) -> Shortlist:
        """Which labels are refined, if `fit` sees all these rows or if they come one by one."""
        is_table = isinstance(rows, StandardRows)
        of_fit = TABLE_CANDIDATES if is_table else FIT_CANDIDATES
        auto = STREAM_CANDIDATES if rows is None else of_fit
        n_candidates = auto if self.refine == "auto" else self.refine
        return Shortlist(n_candidates, 0.0 if is_table else LEAST_SHARE)

    def passes(self, rows: Rows) -> int:
        """Return how often `fit` goes over these rows: over a small table several times."""
        if self.n_passes != "auto":
            return self.n_passes
        if not isinstance(rows, StandardRows):
            return 1
        return min(MOST_PASSES, -(-FEW_ROWS // rows.n_rows))

    def reranker_passes(self, rows: Rows) -> RerankerPasses:
        """Return how often rerankers may go over these rows."""
        is_table = isinstance(rows, StandardRows)
        is_small = is_table and rows.n_rows < FEW_ROWS
        most = MOST_RERANKER_PASSES_OF_FEW if is_small else MOST_RERANKER_PASSES
        return RerankerPasses(most, is_table and rows.n_rows < VERY_FEW_ROWS, is_table)

    def on_all(self, rows: Rows) -> ConditionalSettings:
        """Return the settings with the structure and the number of trees that `fit` chooses."""
        several = (
            self.is_refined
            and self.max_memory is None
            and self.structure_name in SEEDED
            and rows.n_rows <= MOST_ROWS_OF_TREES
        )
        large = isinstance(rows, StandardRows) and rows.n_rows > SMALL_TABLE
        n_trees = (TABLE_TREES if large else FIT_TREES) if several else 1
        return self._with_structure("kmeans" if self.is_refined else "online", n_trees)

    def on_stream(self) -> ConditionalSettings:
        """Return the settings with the structure and the number of trees of a stream."""
        return self._with_structure("online", 1)

    def _with_structure(self, structure: StructureName, n_trees: int) -> ConditionalSettings:
        return replace(
            self,
            structure=structure if self.structure_name == "auto" else self.structure,
            n_trees=n_trees if self.n_trees == "auto" else self.n_trees,
        )

    @property
    def structure_name(self) -> str:
        """The structure's name: ``"given"`` for a given tree."""
        return structure_name(self.structure)

    @property
    def n_threads(self) -> int:
        """How many threads learn and answer."""
        return checks.threads("n_jobs", self.n_jobs)

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows; squared loss has no log-odds to mix."""
        return _core.Reading(
            loss=LOSSES[self.loss],
            normalize=self.normalize,
            bias=self.bias,
            mixing=self.mixing and self.loss == "logistic",
            sharpness=self._sharpness,
        )

    @property
    def _sharpness(self) -> float:
        # Rerankers sharpen the candidates, and other labels are better spread out.
        if self.sharpness == "auto":
            return 0.9 if self.is_refined else 1.2
        return self.sharpness

    def tree_learning(self, *, again: bool = False) -> _core.ConditionalLearning:
        """Return how the core learns a binary tree, which may grow."""
        # Of a shuffled tree: where labels go that come later.
        balanced = self.structure_name in ("balanced", "shuffled")
        random = self.structure_name == "random"
        insertion = _core.Insertion.random if random else _core.Insertion.objective
        # A random tree has no balance to keep: counting labels switches the guard off.
        balance = BALANCES["labels" if balanced or random else self.balance]
        return _core.ConditionalLearning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            insertion=insertion,
            balance=balance,
            alpha=1.0 if balanced else self.alpha,
            seed=self.random_state,
            n_threads=self.n_threads,
            again=again,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON takes."""
        return super().to_dict() | {"structure": structure_to_json(self.structure)}

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict) and "structure" in values:
            values = {"refine": 0} | values  # files had none before there were rerankers
            structure = structure_from_json(values["structure"], n_labels=n_labels)
            values = values | {"structure": structure}
        return super().from_dict(values, n_labels=n_labels)
