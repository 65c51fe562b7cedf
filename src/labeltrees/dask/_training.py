"""The graph of the training tasks, which are the functions of `tasks` and `planning`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from labeltrees.dask import _partitions as partitions
from labeltrees.dask import _planning as planning
from labeltrees.dask import _tasks as tasks
from labeltrees.dask._blocks import joined, pick
from labeltrees.data.ragged import starts_of
from labeltrees.data.readers.files import layout_facts
from labeltrees.models.extreme.spilling import label_ranges
from labeltrees.models.extreme.training import held_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.models.extreme.model import ExtremeModel
    from labeltrees.models.extreme.settings import ExtremeSettings
    from labeltrees.models.extreme.training import TrainingSize

_RANGES_PER_THREAD = 2
_LEAST_LABELS = 4000
"""Number of labels below which one task clusters a tree, because sending labels takes longer."""
_BLOCKS_PER_THREAD = 4
"""Largest number of blocks per thread. Small partitions are joined, because each needs a task for
every group of nodes."""


def current_client(client: Any) -> Any:
    """Return the client, or if it is None the current client of Dask."""
    if client is not None:
        return client
    from distributed import get_client

    return get_client()


@dataclass
class Submitter:
    """Submits the tasks of one fit under separate keys, so that fits do not share results."""

    client: Any
    run: str
    number: int = 0

    @classmethod
    def of(cls, client: Any) -> Submitter:
        """Return a submitter with new keys."""
        return cls(client, uuid4().hex[:12])

    def __call__(self, task: Callable[..., Any], *args: Any, priority: int = 0) -> Any:
        """Return the future of a task."""
        self.number += 1
        key = f"labeltrees-{task.__name__}-{self.run}-{self.number}"
        return self.client.submit(task, *args, key=key, priority=priority)

    @property
    def n_threads(self) -> int:
        """The number of tasks that the cluster runs at the same time."""
        n_threads: int = sum(self.client.nthreads().values())
        return max(1, n_threads)


def parts_of_pairs(
    submit: Submitter, pairs: list[tuple[Any, Any]], classes: ArrayLike | None
) -> list[Any]:
    """Return the checked partitions of a collection, as futures."""
    return [
        submit(partitions.part_of, X, y, classes, number) for number, (X, y) in enumerate(pairs)
    ]


def parts_of_files(submit: Submitter, paths: list[str], vectorizer: Vectorizer | None) -> list[Any]:
    """Return the rows of files as futures; each file is read by one worker."""
    facts = submit(layout_facts, paths[0])
    return [submit(partitions.read_file, facts, path, vectorizer) for path in paths]


@dataclass(frozen=True)
class _Learned:
    """The training data of trees, on the cluster."""

    units: list[Any]
    held: list[Any]
    given: list[Any]
    scale: float


def train_on_cluster(
    submit: Submitter, parts: list[Any], settings: ExtremeSettings, *, same_width: bool
) -> ExtremeModel:
    """Return the model that one machine makes of all partitions, one below the other."""
    n_threads = submit.n_threads
    found = [submit(partitions.facts_of, part) for part in parts]
    whole = submit(tasks.merged, found, same_width)
    size, rows_of_parts, scale = submit(_outline, whole).result()
    size.check(settings)
    learned = _learned(submit, parts, whole, rows_of_parts, scale, settings)
    del parts, found
    facts = submit.client.gather(
        [submit(tasks.block_facts, unit, settings.max_memory is not None) for unit in learned.units]
    )
    features = {int(f) for each in facts for f in each.features}
    n_entries = sum(each.n_entries for each in facts)
    size = size.met(n_features=len(features), n_entries=n_entries)
    ranges = submit(_ranges, whole, min(64, _RANGES_PER_THREAD * n_threads)).result()
    plans = _plans(submit, learned.units, whole, ranges, size, settings)
    means = _means(submit, learned.given, ranges, size, settings)
    learned.given.clear()  # The cluster frees results without references.
    trained = _trained(submit, learned.units, plans, size, settings)
    learned.units.clear()
    is_graded = any(each.is_graded for each in facts)
    model: ExtremeModel = submit(
        tasks.finish, whole, settings, learned.scale, is_graded, plans, trained, learned.held, means
    ).result()
    return model


def _outline(whole: tasks.Whole) -> tuple[TrainingSize, tuple[int, ...], float]:
    return whole.size, whole.rows_of_parts, whole.scale


def _ranges(whole: tasks.Whole, n_ranges: int) -> list[tuple[int, int]]:
    return label_ranges(whole.counts, n_ranges)


def _learned(
    submit: Submitter,
    parts: list[Any],
    whole: Any,
    rows_of_parts: tuple[int, ...],
    scale: float,
    settings: ExtremeSettings,
) -> _Learned:
    """Return the blocks of all partitions; held-out rows are drawn by their number among all."""
    chosen = np.flatnonzero(held_numbers(sum(rows_of_parts), settings) >= 0)
    edges = starts_of(rows_of_parts)
    cuts = np.searchsorted(chosen, edges)
    held_in = [chosen[cuts[i] : cuts[i + 1]] - edges[i] for i in range(len(rows_of_parts))]
    binary = settings.relevance == "binary"
    given = [
        submit(tasks.block_of, part, whole, held, int(first), binary)
        for part, held, first in zip(parts, held_in, cuts[:-1], strict=True)
    ]
    learned, scale = given, 1.0 if binary else scale
    if settings.relevance == "propensity":
        most = [submit(tasks.most_weighted, block, whole, settings) for block in given]
        scale = max(submit.client.gather(most))
        learned = [submit(tasks.reweighted, block, whole, settings, scale) for block in given]
    units = _coarse(submit, [submit(tasks.unit_block, block) for block in learned])
    held_blocks = [
        submit(tasks.held_of, block, own, held)
        for block, own, held in zip(given, learned, held_in, strict=True)
        if len(held)
    ]
    return _Learned(
        units, held_blocks, given if settings.tail is None else _coarse(submit, given), scale
    )


def _coarse(submit: Submitter, blocks: list[Any]) -> list[Any]:
    """Return the blocks, joined with neighbours where there are many more blocks than threads."""
    n = min(len(blocks), _BLOCKS_PER_THREAD * submit.n_threads)
    cuts = np.linspace(0, len(blocks), n + 1).astype(int).tolist()
    return [
        blocks[begin] if end - begin == 1 else submit(joined, blocks[begin:end])
        for begin, end in pairwise(cuts)
    ]


def _plans(
    submit: Submitter,
    units: list[Any],
    whole: Any,
    ranges: list[tuple[int, int]],
    size: TrainingSize,
    settings: ExtremeSettings,
) -> list[Any]:
    """Return the clustered trees, which share the mean features of labels in memory."""
    features = _features(submit, units, ranges, size)
    whole_tree = size.n_labels < _LEAST_LABELS
    numbers = range(settings.n_trees)
    crowns = [
        submit(planning.crown_of, features, settings, number, whole_tree) for number in numbers
    ]
    n_parts = submit(_n_parts, crowns[0]).result()  # the same for all trees
    return [
        _plan(submit, features, crown, n_parts, whole, settings, number)
        for number, crown in zip(numbers, crowns, strict=True)
    ]


def _features(
    submit: Submitter, units: list[Any], ranges: list[tuple[int, int]], size: TrainingSize
) -> Any:
    """Return the mean features of all labels, computed by ranges of labels."""
    return submit(
        planning.all_features,
        [
            submit(
                tasks.label_features,
                [submit(pick, unit, begin, end) for unit in units],
                size.n_labels,
            )
            for begin, end in ranges
        ],
    )


def _n_parts(crown: planning.Crown) -> int:
    return len(crown.subtrees)


def _plan(
    submit: Submitter,
    features: Any,
    crown: Any,
    n_parts: int,
    whole: Any,
    settings: ExtremeSettings,
    number: int,
) -> Any:
    """Return a clustered tree. A task for each child of the root orders the labels below it."""
    orders = []
    for part in range(n_parts):
        below = submit(planning.part_below, features, crown, part)
        # This frees the features of a subtree before those of the next one are taken.
        orders.append(submit(planning.ordered_part, below, settings, number, priority=1))
    return submit(planning.plan_tree, crown, orders, whole, settings)


def _means(
    submit: Submitter,
    given: list[Any],
    ranges: list[tuple[int, int]],
    size: TrainingSize,
    settings: ExtremeSettings,
) -> list[Any]:
    """Return the mean rows for a tail classifier by ranges of labels, or [] without one."""
    if settings.tail is None:
        return []
    return [
        ((begin, end), submit(
            tasks.label_means,
            [submit(pick, block, begin, end) for block in given],
            size.n_labels,
        ))
        for begin, end in ranges
    ]  # fmt: skip


def _trained(
    submit: Submitter,
    units: list[Any],
    plans: list[Any],
    size: TrainingSize,
    settings: ExtremeSettings,
) -> list[list[Any]]:
    """Return the trained groups of nodes of each tree. Groups with the most work start first."""
    outlines = submit.client.gather([submit(_groups_of, plan) for plan in plans])
    train = partial(_train, submit, units, size, settings)
    return [
        [train(plan, number, group, *each) for group, each in enumerate(outline)]
        for number, (plan, outline) in enumerate(zip(plans, outlines, strict=True))
    ]


def _groups_of(plan: planning.TreePlan) -> list[tuple[bool, int]]:
    return [(group.has_root, group.work) for group in plan.groups]


def _train(
    submit: Submitter,
    units: list[Any],
    size: TrainingSize,
    settings: ExtremeSettings,
    plan: Any,
    number: int,
    group: int,
    has_root: bool,
    work: int,
) -> Any:
    pieces = units if has_root else [
        submit(tasks.pick_group, unit, plan, group, priority=work) for unit in units
    ]  # fmt: skip
    return submit(tasks.train_group, pieces, plan, group, size, settings, number, priority=work)
