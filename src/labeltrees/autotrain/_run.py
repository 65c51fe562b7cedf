"""Gather rows, choose a method, fit it and measure it, in memory or row by row."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain._fitting import Features
from labeltrees.autotrain._held_out import fit_measured
from labeltrees.autotrain._memory import gather, gather_in_files, given_up, narrowed, room_for_data
from labeltrees.autotrain._options import (
    AUTO_STREAM_METHODS,
    Effort,
    MethodOptions,
    Recipe,
    method_for,
    online_method_for,
    streaming_methods,
)
from labeltrees.autotrain._report import (
    TrainingReport,
    features_text,
    found_in,
    in_files_text,
    joined_text,
    limited_text,
    next_steps,
)
from labeltrees.autotrain._streaming import learn_stream
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import DataProfile
from labeltrees.data.same_rows import join_same_rows
from labeltrees.errors import ArgumentError
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.extreme.spilling import CAN_SPILL, space_in
from labeltrees.models.registry import methods
from labeltrees.progress import Progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from labeltrees.autotrain._memory import GatheredRows
    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.input import Input
    from labeltrees.models.method import Method

_TOO_LARGE = "the data do not fit into memory"


@dataclass
class TrainingRun:
    """The data and the arguments of one training, and the ways to carry it out."""

    source: Input
    method: str
    options: MethodOptions
    effort: Effort
    one_label: OneLabel | None
    join_rows: bool | None
    vectorizer: str | None
    folder: str | os.PathLike[str] | None
    shows_progress: bool

    def choose(self) -> TrainingReport:
        """Train on all rows if they fit into memory, else from files or row by row."""
        with self._progress("reading") as progress:
            chunks = _counted(self.source.texts_or_rows(), progress)
            gathered = gather(chunks, room_for_data(), name=self.source.path)
        profile = self._profile(gathered)
        if gathered.rest is None:
            return self._together(narrowed(gathered.data), profile)
        held, rest = [gathered.data], gathered.rest
        del gathered  # its memory is free once its last reader is done
        chunks = chain(given_up(held), rest)
        if self._trains_from_files(profile):
            return self._from_files(chunks, profile)
        report = self._row_by_row(chunks, profile.n_rows)
        report.n_unlabelled += profile.n_unlabelled
        return report

    def _profile(self, gathered: GatheredRows) -> DataProfile:
        return DataProfile.of(
            [gathered.data],
            is_whole=gathered.rest is None,
            n_unlabelled=gathered.n_unlabelled,
            layout=self.source.layout,
        )

    def online(self, *, in_order: bool) -> TrainingReport:
        """Learn row by row, at constant memory."""
        why = "rows are learned in their order" if in_order else "online learning was requested"
        recipe, because = self._online_recipe(why)
        return self._stream(recipe, self.source.chunks, in_order=in_order, why=because)

    def continued(self, init: str, model: Any, *, in_order: bool) -> TrainingReport:
        """Continue with a model that was saved at ``init``; its rows are read as its own were."""
        reuses = "cannot be set, because init reuses the saved model's settings."
        if self.method != "auto":
            raise ArgumentError(reuses, argument="method")
        for name in ("vectorizer", *self.options.settings):
            if name != "vectorizer" or self.vectorizer is not None:
                raise ArgumentError(reuses, argument=name)
        if not can(model, Updates):
            allowed = "a model that learns row by row"
            raise ArgumentError.of("init", f"{init} with a {type(model).__name__}", allowed)
        why = f"training continues from {init}"
        return self._stream(None, self.source.chunks, in_order=in_order, why=why, begun=model)

    def _together(
        self, data: Chunk, profile: DataProfile, folder: Path | None = None
    ) -> TrainingReport:
        """Train on all rows, in memory or, if there is a folder, in files there."""
        found, n_unlabelled = found_in(self.source.path, profile), profile.n_unlabelled
        if folder is not None:
            found += in_files_text(folder, profile)
        elif self.join_rows or (self.join_rows is None and profile.ratings):
            data = join_same_rows([data])
            self.source, profile = replace(self.source, join_rows=True), DataProfile.of([data])
            found.append(joined_text(profile))
        recipe, why = self._recipe(profile)
        if recipe.method.streams and recipe.method.several_labels:
            RaggedLabels.of_chunk(data, self.source.path)  # raises for a bad relevance
        with nullcontext() if folder is None else space_in(folder):
            outcome = fit_measured(
                data, profile, recipe,
                features=self._features(profile, recipe.method, folder), name="labeltrees",
                jobs=self.options.n_jobs, stage=self._progress, vary=self._may_vary, folder=folder,
            )  # fmt: skip
        if outcome.n_compared is not None:
            found.append(f"Settings were compared on {outcome.n_compared:,} of the rows.")
        found += limited_text(outcome.model, recipe.settings)
        return TrainingReport(
            outcome.model,
            self._with_features(outcome.features.transform),
            recipe.method.name,
            recipe.method.describe(outcome.model),
            why,
            [*found, *self.source.assumed],
            data.n_rows,
            len(outcome.model.vocabulary),
            n_unlabelled,
            outcome.measured,
            outcome.from_all,
            facts=_sizes(outcome.model) | outcome.recipe.facts,
            shows_facts=bool(outcome.recipe.facts),
            detail=features_text(outcome.features, outcome.model.n_features),
            advice=next_steps(data, outcome.measured),
        )

    @property
    def _may_vary(self) -> bool:
        return self.method == "auto" and self.effort != "fast" and not self.options.settings

    def _trains_from_files(self, profile: DataProfile) -> bool:
        """Return whether rows that do not fit into memory are trained on all together."""
        if self.method == "auto" and self.one_label is not None:
            return False
        name = method_for(profile)[0] if self.method == "auto" else self.method
        return CAN_SPILL and methods()[name].trains_from_files

    def _from_files(self, chunks: Iterable[Chunk], profile: DataProfile) -> TrainingReport:
        """Train on rows that do not fit into memory from files, all together."""
        self._check_not_held(_TOO_LARGE)
        self._recipe(profile)  # raises for wrong settings before the rest is read
        progress = self._progress("keeping rows in files")
        with space_in(self.folder) as folder, progress:
            known = _counted(self.source.with_features(chunks), progress)
            gathered = gather_in_files(known, folder)
        n_unlabelled = profile.n_unlabelled + gathered.n_unlabelled
        return self._together(gathered.data, profile.refined(gathered.data, n_unlabelled), folder)

    def _row_by_row(self, chunks: Iterable[Chunk], n_profiled: int) -> TrainingReport:
        """Learn rows that do not fit into memory one by one."""
        found = [
            f"The rows do not fit into memory, so they are learned one by one. The first "
            f"{n_profiled:,} rows decided on the method."
        ]
        recipe, why = self._online_recipe(_TOO_LARGE)
        once = iter([self.source.with_features(chunks)])

        def read() -> Iterable[Chunk]:
            return next(once, None) or self.source.chunks()

        return self._stream(recipe, read, in_order=False, why=why, found=found)

    def _stream(
        self,
        recipe: Recipe | None,
        read: Callable[[], Iterable[Chunk]],
        *,
        in_order: bool,
        why: str,
        found: Iterable[str] = (),
        begun: Any = None,
    ) -> TrainingReport:
        """Train a new model of a recipe, or an existing one, row by row."""
        self._check_stream(why, is_new=recipe is not None)
        settings = begun.settings if recipe is None else recipe.settings

        def start(n_features: int) -> Any:
            return begun if recipe is None else recipe.method.start(settings, n_features)

        with self._progress("learning") as progress:
            streamed = learn_stream(
                read,
                start,
                in_order=in_order,
                one_label=self._learned_label(recipe, begun),
                path=self.source.path,
                n_passes=1 if recipe is None else self.options.n_passes,
                seed=self.options.seed,
                name="labeltrees",
                advance=lambda n, shown: progress.advance(n, **shown),
            )
        summary, model = streamed.progressive, streamed.model
        name = type(model).__name__ if recipe is None else recipe.method.name
        order = "in the order of the data" if in_order else "in mixed order"
        return TrainingReport(
            model,
            self.source,
            name,
            name if recipe is None else recipe.method.description,
            why,
            [*found, *limited_text(model, settings), *self.source.assumed],
            summary.n_rows,
            len(model.vocabulary),
            streamed.n_unlabelled,
            streamed.measured,
            in_order,
            progressive=_progressive(summary),
            detail=f"Rows were learned one by one, {order}.",
            facts=_sizes(model),
        )

    def _check_stream(self, why: str, *, is_new: bool) -> None:
        """Raise `ArgumentError` for an argument of no use to what learns row by row."""
        if is_new:
            self.options.check_stream()
        if self.effort != "usual":
            raise ArgumentError(f"needs all rows in memory, but {why}.", argument="effort")
        self._check_not_held(why)

    def _check_not_held(self, why: str) -> None:
        """Raise `ArgumentError` for an argument that needs all rows in memory."""
        if self.join_rows:
            raise ArgumentError(f"needs all rows in memory, but {why}.", argument="join_rows")
        if self.vectorizer in ("tfidf", "counts"):
            raise ArgumentError(
                f"{self.vectorizer} needs all texts in memory, but {why}.", argument="vectorizer"
            )
        self._check_texts(self.source.is_text)

    def _check_texts(self, is_text: bool) -> None:
        if self.vectorizer is not None and not is_text:
            raise ArgumentError(
                "is for texts, but these data have no texts. Remove it.", argument="vectorizer"
            )

    def _recipe(self, profile: DataProfile) -> tuple[Recipe, str]:
        """Return how a model of all rows is made, and why."""
        name, why = self.method, "it was requested"
        if self.method == "auto":
            name, why = method_for(profile)
        recipe = self.options.recipe(
            name,
            why=why if self.method == "auto" else "",
            effort=self.effort,
            one_label=self.source.one_label,
            of_texts=profile.is_text,
        )
        self._check_one_label(recipe.method, why)
        return recipe, why

    def _check_one_label(self, method: Method, why: str) -> None:
        if self.one_label is not None and method.several_labels:
            raise ArgumentError(
                f"is for methods of one label per row, but {method.name} learns all labels of a "
                f"row together. It was chosen because {why}.",
                argument="one_label",
            )

    def _online_recipe(self, why: str) -> tuple[Recipe, str]:
        """Return how rows are learned one by one, and why, which ``why`` is a part of."""
        if self.method != "auto":
            if not methods()[self.method].streams:
                allowed = f"one of {', '.join(streaming_methods())}, because {why}"
                raise ArgumentError.of("method", self.method, allowed)
            recipe = self.options.recipe(self.method)
            self._check_one_label(recipe.method, "it was requested")
            return recipe, why
        name, because = online_method_for(self.source.profile)
        if self.one_label is not None or not methods()[name].several_labels:
            return self.options.recipe(AUTO_STREAM_METHODS[0], why=why), why
        why = f"{because} and {why}"
        return self.options.recipe(name, why=why), why

    def _learned_label(self, recipe: Recipe | None, begun: Any) -> OneLabel | None:
        """Return the one label of a row that a model learns, or None if it learns all together."""
        kind = begun if recipe is None else recipe.method.model_class
        if not kind.takes_label_sets:
            return self.source.one_label
        if self.one_label is not None:
            raise ArgumentError(
                "is for models of one label per row, but this model learns all labels of a row "
                "together. Remove it.",
                argument="one_label",
            )
        return None

    def _features(self, profile: DataProfile, method: Method, folder: Path | None) -> Features:
        """Return how features are made of texts, which are not fitted yet."""
        self._check_texts(profile.is_text)
        if not profile.is_text:
            return Features()
        from labeltrees.transforms import default_text_features, hashed_text_features

        if self.vectorizer == "hashing" or folder is not None:
            return Features(hashed_text_features())
        if (self.vectorizer or method.text_features) == "counts":
            from sklearn.feature_extraction.text import CountVectorizer

            return Features(CountVectorizer(dtype=np.float32))
        return Features(default_text_features())

    def _with_features(self, transform: Any) -> Input:
        return self.source if transform is None else replace(self.source, vectorizer=transform)

    def _progress(self, what: str) -> Progress:
        return Progress(what, enabled=self.shows_progress)


def _counted(chunks: Iterable[Chunk], progress: Progress) -> Iterator[Chunk]:
    for chunk in chunks:
        progress.advance(chunk.n_rows)
        yield chunk


def _progressive(summary: Any) -> dict[str, float | None]:
    """Return the scores of predictions made before rows were learned."""
    names = ("squared_loss", "precision_at_1", "precision_at_5", "ndcg_at_5", "log_loss_seen")
    return {name: getattr(summary, name) for name in names if name in summary.to_dict()}


def _sizes(model: Any) -> dict[str, Any]:
    facts = model.describe()
    return {name: facts[name] for name in ("trees", "depth", "weights") if name in facts}
