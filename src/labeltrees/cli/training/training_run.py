"""One training: read, choose, learn, measure, save."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain.features import Features
from labeltrees.autotrain.gathering import gather, gather_in_files, given_up, narrowed
from labeltrees.autotrain.memory_shares import room_for_data
from labeltrees.autotrain.method_choice import method_for, online_method_for
from labeltrees.autotrain.streaming import learn_stream
from labeltrees.autotrain.training import train_on_all
from labeltrees.cli.methods import Chosen, Wanted, stream_names
from labeltrees.cli.training.recipes import Effort, recipe_of
from labeltrees.cli.training.trained import Trained
from labeltrees.cli.training.training_words import (
    advice,
    features_in_words,
    found_in,
    how_to_ask,
    joined_in_words,
    kept_in_files,
    limited_in_words,
)
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import DataProfile
from labeltrees.data.same_rows import join_same_rows
from labeltrees.errors import ArgumentError
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.extreme.spilling import CAN_SPILL, space_in
from labeltrees.models.registry import methods
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from labeltrees.autotrain.gathering import Gathered
    from labeltrees.cli.inputs import Input
    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.models.method import Method

__all__ = ["CHOOSES", "TrainingRun"]

CHOOSES = ("conditional", "xreg")
"""What `--model auto` takes, by the data."""
_NO_ROOM = "the file does not fit into memory"


class TrainingRun:
    """What `labeltrees train` was told, and the ways to carry it out."""

    def __init__(
        self,
        source: Input,
        out: Path,
        model: str,
        wanted: Wanted,
        *,
        effort: Effort,
        labels: str | None,
        join_rows: bool | None,
        vectorizer: str | None,
        folder: Path | None,
        keep_state: bool,
        quiet: bool,
    ) -> None:
        self.source, self.out, self.model, self.wanted = source, out, model, wanted
        self.effort, self.labels, self.vectorizer = effort, labels, vectorizer
        self.join_rows, self.keep_state, self.quiet = join_rows, keep_state, quiet
        self.folder = folder

    def choose(self) -> Trained:
        """Train on the whole file if it fits into memory, else from files or row by row."""
        with Progress("reading", enabled=not self.quiet) as progress:
            chunks = _counted(self.source.texts_or_rows(), progress)
            gathered = gather(chunks, room_for_data(), name=self.source.path)
        if gathered.rest is None:
            return self._together(narrowed(gathered.data), self._profile(gathered))
        profile = self._profile(gathered)
        held, rest = [gathered.data], gathered.rest
        del gathered  # what is held in memory goes with its last reader
        chunks = chain(given_up(held), rest)
        if self._learns_from_files(profile):
            return self._from_files(chunks, profile)
        trained = self._row_by_row(chunks, profile.n_rows)
        trained.n_without_label += profile.n_unlabelled
        return trained

    def _profile(self, gathered: Gathered) -> DataProfile:
        return DataProfile.of(
            [gathered.data],
            is_whole=gathered.rest is None,
            n_unlabelled=gathered.n_unlabelled,
            layout=self.source.layout,
        )

    def _together(self, data: Chunk, profile: DataProfile, folder: Path | None = None) -> Trained:
        """Train on all rows, in memory or, if there is a folder, in files there."""
        found, n_unlabelled = found_in(self.source.path, profile), profile.n_unlabelled
        if folder is not None:
            found += kept_in_files(folder, profile)
        elif self.join_rows or (self.join_rows is None and profile.ratings):
            data = join_same_rows([data])
            self.source, profile = replace(self.source, join_rows=True), DataProfile.of([data])
            found.append(joined_in_words(profile))
        chosen, why = self._chosen(profile)
        if chosen.method.streams and chosen.method.several_labels:
            RaggedLabels.of_chunk(data, self.source.path)  # raises for a bad relevance
        recipe = recipe_of(
            chosen, effort=self.effort, one_label=self.source.labels, of_texts=profile.is_text
        )
        with nullcontext() if folder is None else space_in(folder):
            outcome = train_on_all(
                data, profile, recipe,
                features=self._features(profile, recipe.method, folder), name="labeltrees",
                jobs=chosen.jobs, stage=self._stage,
                vary=self.model == "auto" and self.effort != "fast" and not self.wanted.given,
                folder=folder,
            )  # fmt: skip
        if outcome.n_compared is not None:
            found.append(f"Settings were compared on {outcome.n_compared:,} of the rows.")
        found += limited_in_words(outcome.model, recipe.settings)
        self._save(outcome.model, outcome.features.transform)
        return Trained(
            self.out,
            self.source.path,
            [*found, *self.source.assumed],
            recipe.method.name,
            recipe.method.describe(outcome.model)
            + features_in_words(outcome.features, outcome.model.n_features),
            why,
            data.n_rows,
            len(outcome.model.vocabulary),
            n_unlabelled,
            outcome.measured,
            outcome.from_all,
            facts=_sizes(outcome.model) | outcome.recipe.facts,
            shows_facts=bool(outcome.recipe.facts),
            advice=advice(data, outcome.measured, self.out),
        )

    def online(self, *, in_order: bool) -> Trained:
        """Learn row by row, at constant memory."""
        why = "rows are to be learned in their order" if in_order else "--online was given"
        chosen, kind = self._chosen_online(why)
        return self._stream(chosen, self.source.chunks, in_order=in_order, why=why, kind=kind)

    def go_on(self, init: Path, model: Any, *, in_order: bool) -> Trained:
        """Go on from a model that was saved at ``init``; the source is read as its own was."""
        if self.model != "auto" or self.wanted.given:
            raise ArgumentError("--init goes on with the model's own settings: give none of them.")
        if not can(model, Updates):
            name = type(model).__name__
            raise ArgumentError(f"--init {init}: {name} cannot learn row by row.")
        why = f"--init {init} was given"
        return self._stream(None, self.source.chunks, in_order=in_order, why=why, start=model)

    def _learns_from_files(self, profile: DataProfile) -> bool:
        """Whether rows that do not fit into memory are learned all together nevertheless."""
        if self.model == "auto" and self.labels is not None:
            return False
        name = method_for(profile)[0] if self.model == "auto" else self.model
        return CAN_SPILL and methods()[name].trains_from_files

    def _from_files(self, chunks: Iterable[Chunk], profile: DataProfile) -> Trained:
        """Learn rows that do not fit into memory from files, all together."""
        self._check_not_held(_NO_ROOM)
        self._chosen(profile)  # options are refused before the rest is read
        progress = Progress("keeping rows in files", enabled=not self.quiet)
        with space_in(self.folder) as folder, progress:
            known = _counted(self.source.with_features(chunks), progress)
            gathered = gather_in_files(known, folder)
        n_unlabelled = profile.n_unlabelled + gathered.n_unlabelled
        data = gathered.data
        return self._together(data, profile.refined(data, n_unlabelled), folder)

    def _row_by_row(self, chunks: Iterable[Chunk], n_looked_at: int) -> Trained:
        """Learn rows that do not fit into memory one by one."""
        found = [
            f"There is no room for the whole file in memory, so it is learned row by row. "
            f"The first {n_looked_at:,} rows were looked at."
        ]
        chosen, kind = self._chosen_online(_NO_ROOM)
        once = iter([self.source.with_features(chunks)])

        def read() -> Iterable[Chunk]:
            return next(once, None) or self.source.chunks()

        return self._stream(chosen, read, in_order=False, why=_NO_ROOM, kind=kind, found=found)

    def _stream(
        self,
        chosen: Chosen | None,
        read: Callable[[], Iterable[Chunk]],
        *,
        in_order: bool,
        why: str,
        kind: str = "",
        found: Sequence[str] = (),
        start: Any = None,
    ) -> Trained:
        self._check_stream(chosen, why)

        def make(n_features: int) -> Any:
            if start is not None:
                return start
            assert chosen is not None
            return chosen.method.start(chosen.settings(), n_features)

        wanted = start.settings if chosen is None else chosen.settings()
        one_label = self._one_label(chosen, start)
        with Progress("learning", enabled=not self.quiet) as progress:
            streamed = learn_stream(
                read,
                make,
                in_order=in_order,
                one_label=one_label,
                path=self.source.path,
                n_passes=1 if chosen is None else self.wanted.n_passes,
                seed=self.wanted.seed,
                name="labeltrees",
                advance=lambda n, shown: progress.advance(n, **shown),
            )
        self._save(streamed.model, self.source.vectorizer)
        summary, model = streamed.progressive, streamed.model
        found = [*found, *limited_in_words(model, wanted)]
        method = type(model).__name__ if chosen is None else chosen.name
        what = method if chosen is None else chosen.method.description
        order = "in the order of the file" if in_order else "in mixed order"
        return Trained(
            self.out,
            self.source.path,
            [*found, *self.source.assumed],
            method,
            f"{what} that learns row by row, {order}",
            f"{kind} and {why}" if kind else why,
            summary.n_rows,
            len(model.vocabulary),
            streamed.n_unlabelled,
            streamed.measured,
            from_all=in_order,
            progressive=_progressive(summary),
            facts=_sizes(model),
            advice=[how_to_ask(self.out)],
        )

    def _check_stream(self, chosen: Chosen | None, why: str) -> None:
        """Raise `ArgumentError` for an option of no use to what learns row by row."""
        if chosen is not None:
            self.wanted.check_stream()
        if self.effort != "usual":
            raise ArgumentError(f"--{self.effort} needs all rows in memory, and {why}.")
        self._check_not_held(why)

    def _check_not_held(self, why: str) -> None:
        """Raise `ArgumentError` for an option that needs all rows in memory."""
        if self.join_rows:
            raise ArgumentError(f"--join-rows needs all rows in memory, and {why}.")
        if self.vectorizer in ("tfidf", "counts"):
            option = f"--vectorizer {self.vectorizer}"
            raise ArgumentError(f"{option} needs all texts in memory, and {why}.")
        if self.vectorizer is not None and not self.source.is_text:
            raise ArgumentError(f"--vectorizer {self.vectorizer}: these data have no texts.")

    def _chosen_online(self, why: str) -> tuple[Chosen, str]:
        """Return the method that learns row by row, as ``why`` says it must.

        Also what kind of rows decided between methods; "" if that is nothing special.
        """
        if self.model != "auto":
            if self.model not in stream_names():
                raise ArgumentError(
                    f"--model {self.model} needs all rows in memory, and they do not fit; "
                    f"{', '.join(stream_names())} learn row by row."
                )
            return self.wanted.of(self.model), ""
        name, kind = online_method_for(self.source.profile)
        if self.labels is not None or not methods()[name].several_labels:
            return self.wanted.of("conditional", why=why), ""
        return self.wanted.of(name, why=f"{kind} and {why}"), kind

    def _one_label(self, chosen: Chosen | None, model: Any) -> OneLabel | None:
        """Return what a model that was opened, or a chosen one, learns of rows with several."""
        kind = model if chosen is None else chosen.method.model_class
        if not kind.takes_label_sets:
            return self.source.labels
        if self.labels is not None:
            raise ArgumentError(
                f"--labels {self.labels} is for models of one label per row; this one learns all "
                "labels of a row together."
            )
        return None

    def _chosen(self, profile: DataProfile) -> tuple[Chosen, str]:
        name, why = self.model, "--model says so"
        if self.model == "auto":
            name, why = method_for(profile)
        chosen = self.wanted.of(name, why=why if self.model == "auto" else "")
        if self.labels is not None and chosen.method.several_labels:
            raise ArgumentError(
                f"--labels {self.labels} is for models of one label per row; --model {name} learns "
                f"all labels of a row together, and was chosen because {why}."
            )
        return chosen, why

    def _features(self, profile: DataProfile, method: Method, folder: Path | None) -> Features:
        if not profile.is_text:
            if self.vectorizer is not None:
                raise ArgumentError(f"--vectorizer {self.vectorizer}: these data have no texts.")
            return Features()
        from labeltrees.transforms import default_text_features, hashed_text_features

        if self.vectorizer == "hashing" or folder is not None:
            return Features(hashed_text_features())
        if (self.vectorizer or method.text_features) == "counts":
            from sklearn.feature_extraction.text import CountVectorizer

            return Features(CountVectorizer(dtype=np.float32))
        return Features(default_text_features())

    def _save(self, model: Any, transform: Any) -> None:
        source = self.source if transform is None else replace(self.source, vectorizer=transform)
        source.save(model, self.out, keep_state=self.keep_state)

    @contextmanager
    def _stage(self, what: str) -> Iterator[None]:
        with Progress(what, enabled=not self.quiet):
            yield


def _counted(chunks: Iterable[Chunk], progress: Progress) -> Iterator[Chunk]:
    for chunk in chunks:
        progress.advance(chunk.n_rows)
        yield chunk


def _progressive(summary: Any) -> dict[str, float | None]:
    """Return what is told of predictions made before rows were learned."""
    names = ("squared_loss", "precision_at_1", "precision_at_5", "ndcg_at_5", "log_loss_seen")
    return {name: getattr(summary, name) for name in names if name in summary.to_dict()}


def _sizes(model: Any) -> dict[str, Any]:
    facts = model.describe()
    return {name: facts[name] for name in ("trees", "depth", "weights") if name in facts}
