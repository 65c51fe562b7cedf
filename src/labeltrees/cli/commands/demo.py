"""The command `labeltrees demo`, which trains on Python code and completes some lines."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import typer

from labeltrees import checks
from labeltrees.cli.report import (
    JsonOption,
    QuietOption,
    progressive_pairs,
    say,
    say_curve,
    say_json,
    say_pairs,
    say_table,
)
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.python_source import N_FEATURES, PythonSource, next_identifier_rows
from labeltrees.metrics import ProgressiveValidation
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.progress import Progress
from labeltrees.store import check_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.metrics import ProgressiveSummary

LINES = (
    "import os\n\ndef listing(folder):\n    return sorted(os.",
    "class Stack:\n    def __init__(self, items):\n        self.items = ",
    "try:\n    import ssl\nexcept ",
    "def read(path):\n    with open(path, encoding='utf-8') as ",
    "    def test_empty(self):\n        value = self.make()\n        self.",
    "def __eq__(self, other):\n    if not isinstance(other, ",
)
"""Beginnings of code, which the model completes."""

_ALL_ALIKE = np.empty(0, dtype=np.float32)  # no weights


def demo(
    order: Annotated[
        str,
        typer.Option(help="Order of the examples: 'files' as the code is written, or 'shuffled'."),
    ] = "files",
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder of Python code to use instead of the standard library."),
    ] = None,
    limit: Annotated[int, typer.Option(min=10, help="Maximum number of examples.")] = 1_500_000,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the model.")] = Path(
        "labeltrees-demo.safetensors"
    ),
    keep_state: Annotated[
        bool,
        typer.Option(
            help="Save what the model needs to continue learning. The file is much larger."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --order shuffled.")] = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train on Python code to predict the next identifier, and complete some lines.

    Example:
        labeltrees demo

    By default the code is Python's standard library. Use --folder for other code.
    """
    checks.choice("--order", order, ("files", "shuffled"))
    check_out(out)
    source = PythonSource(folder, order=cast("Any", order), seed=seed, limit=limit)
    n_examples = source.count()
    where = str(folder) if folder else f"Python {platform.python_version()}'s standard library"
    if not json:
        say(f"Which identifier comes next? The data are {n_examples:,} examples from")
        say(f"{where} (order: {order}). Each is predicted, then learned, on one core.\n")
    run = _Run(
        n_examples,
        start_on_stream(ConditionalSettings(), N_FEATURES),
        start_on_stream(ConditionalSettings(refine=0), N_FEATURES),
    )
    with Progress("learning", total=n_examples, enabled=not quiet) as progress:
        run.over(source, progress)
    run.model.save(out, keep_state=keep_state, extra={"input": {"format": "python"}})
    completions = [_complete(run.model, line) for line in LINES]
    summary = run.validation.summary()
    if json:
        say_json(_as_json(run, summary, out, completions))
        return
    _say_scores(run, summary)
    _say_completions(completions)
    say(f"\nThe model is saved to {out} ({out.stat().st_size / 1e6:,.0f} MB). Try next:")
    say(f"  labeltrees inspect {out}")
    say("  labeltrees demo --order shuffled --folder YOUR_CODE")
    say("  labeltrees stream YOUR_DATA.tsv        (label<TAB>text on every line)")


@dataclass
class _Run:
    """A refined tree, a plain tree and two simple baselines over the same stream."""

    n_examples: int
    model: Any
    plain: Any
    seconds_learning: float = 0.0

    def __post_init__(self) -> None:
        self.validation = ProgressiveValidation(n_expected=self.n_examples)
        self.plain_scores = ProgressiveValidation(n_expected=self.n_examples)
        self.table_scores = ProgressiveValidation(n_expected=self.n_examples)
        self.cache_scores = ProgressiveValidation(n_expected=self.n_examples)

    def over(self, source: PythonSource, progress: Progress) -> None:
        table, cache = FrequencyTable(), Cache()
        for chunk in source:
            started = time.perf_counter()
            labels = RaggedLabels.of_single(chunk.labels)
            seen = self.model.update(chunk.rows, labels, _ALL_ALIKE, k=1)
            self.seconds_learning += time.perf_counter() - started
            self.validation.observe(seen, labels)
            plain = self.plain.update(chunk.rows, labels, _ALL_ALIKE, k=1)
            self.plain_scores.observe(plain, labels)
            hits, p_label = table.update(chunk.labels)
            self.table_scores.update(p_label, hits, is_new=seen.is_new)
            hits = cache.update(chunk.contexts, chunk.labels)
            self.cache_scores.update(hits.astype(float), hits)
            progress.advance(
                chunk.n_rows,
                acc=float((seen.top[:, 0] == chunk.labels).mean()),
                labels=len(self.model.vocabulary),
            )


class FrequencyTable:
    """Predicts the most frequent label so far, with its relative frequency.

    >>> table = FrequencyTable()
    >>> table.update(["a", "b", "b", "b"])[0].tolist()
    [False, False, False, True]
    """

    def __init__(self) -> None:
        self._count: dict[Any, int] = {}
        self._total = 0
        self._best: Any = None

    def update(self, labels: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Predict and then learn each label; return which were right, and their probabilities."""
        correct = np.zeros(len(labels), dtype=bool)
        p_label = np.zeros(len(labels))
        count = self._count
        for i, label in enumerate(labels):
            seen = count.get(label, 0)
            if self._total:
                correct[i] = label == self._best
                p_label[i] = seen / self._total
            count[label] = seen + 1
            self._total += 1
            if self._best is None or seen + 1 > count[self._best]:
                self._best = label
        return correct, p_label


class Cache:
    """Predicts the last label after the same three tokens, or else two, or else one.

    >>> cache = Cache()
    >>> contexts = np.array([[1, 2, 3], [1, 2, 3], [9, 2, 3]])
    >>> cache.update(contexts, ["x", "x", "x"]).tolist()
    [False, True, True]
    """

    def __init__(self) -> None:
        self._last: tuple[dict[Any, Any], ...] = ({}, {}, {})

    def update(self, contexts: NDArray[Any], labels: Any) -> NDArray[np.bool_]:
        """Predict and then remember each label; return which predictions were right.

        ``contexts`` has the tokens before each label, the nearest last.
        """
        correct = np.zeros(len(labels), dtype=bool)
        three, two, one = self._last
        for i, ((a, b, c), label) in enumerate(zip(contexts.tolist(), labels, strict=True)):
            guess = three.get((a, b, c))
            if guess is None:
                guess = two.get((b, c))
            if guess is None:
                guess = one.get(c)
            correct[i] = guess == label
            three[a, b, c] = two[b, c] = one[c] = label
        return correct


def _complete(model: Any, text: str) -> dict[str, Any]:
    rows = next_identifier_rows(text)
    started = time.perf_counter()
    labels, probabilities = model.top_labels(rows, min(4, len(model.vocabulary)))
    seconds = time.perf_counter() - started
    return {
        "text": text,
        "labels": labels[0].tolist(),
        "probabilities": probabilities[0].tolist(),
        "microseconds": 1e6 * seconds,
    }


def _say_scores(run: _Run, summary: ProgressiveSummary) -> None:
    say_curve(summary)
    say("\n  Scores over the last 20 % of the stream:\n")
    say_table(("", "accuracy", "log loss"), _rivals(run, summary))
    say()
    say_pairs(
        progressive_pairs(summary)
        | {
            "labels": len(run.model.vocabulary),
            "depth of the tree": run.model.tree.depth,
            "speed": f"{summary.n_rows / run.seconds_learning:,.0f} examples/s",
        }
    )


def _rivals(run: _Run, summary: ProgressiveSummary) -> list[tuple[str, float | None, float | None]]:
    rows: list[tuple[str, float | None, float | None]] = []
    for name, scores, has_probabilities in (
        ("conditional probability tree with reranker", summary, True),
        ("the tree without reranker", run.plain_scores.summary(), True),
        ("last label after the same 3, 2 or 1 tokens", run.cache_scores.summary(), False),
        ("frequency table", run.table_scores.summary(), True),
    ):
        tail = scores.tail or scores
        rows.append((name, tail.accuracy, tail.log_loss_seen if has_probabilities else None))
    return rows


def _say_completions(completions: list[dict[str, Any]]) -> None:
    say("\nWhat comes next?\n")
    for completion in completions:
        shown = completion["text"].rsplit("\n", 1)[-1].strip()
        pairs = zip(completion["labels"], completion["probabilities"], strict=True)
        answer = "  ".join(f"{label} {p:.2f}" for label, p in pairs)
        say(f"  {shown + '…':<42} {answer}   ({completion['microseconds']:.0f} µs)")


def _as_json(
    run: _Run, summary: ProgressiveSummary, out: Path, completions: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "refined": summary.to_dict(),
        "tree": run.plain_scores.summary().to_dict(),
        "cache_accuracy_tail": (run.cache_scores.summary().tail or summary).accuracy,
        "frequency_table_accuracy_tail": (run.table_scores.summary().tail or summary).accuracy,
        "labels": len(run.model.vocabulary),
        "seconds_predicting_and_learning": run.seconds_learning,
        "model": str(out),
        "model_bytes": out.stat().st_size,
        "completions": completions,
    }
