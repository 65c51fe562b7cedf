"""What `labeltrees train` has to say: what was found, chosen and measured, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.cli.report import say, say_pairs, say_table
from labeltrees.cli.units import size_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.autotrain.training import Measured

__all__ = ["Trained", "say_trained"]


@dataclass
class Trained:
    """The result of a training, for people and for machines."""

    out: Path
    data: str
    """The file, or what stands for it."""
    found: list[str]
    """What was found in the data: one sentence each."""
    method: str
    model: str
    """The model in words."""
    why: str
    n_rows: int
    n_labels: int
    n_without_label: int = 0
    measured: Measured | None = None
    from_all: bool = True
    progressive: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    """Sizes of the model, and what its training found."""
    shows_facts: bool = False
    """Whether people are shown the facts as well."""
    advice: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        measured: dict[str, Any] = {}
        if self.measured is not None:
            measured = {
                "held_out_rows": self.measured.n_rows,
                "held_out_parts": self.measured.n_parts,
                "scores": self.measured.table,
            }
        return {
            "model": str(self.out),
            "data": self.data,
            "found": self.found,
            "method": self.method,
            "why": self.why,
            "examples": self.n_rows,
            "labels": self.n_labels,
            "rows_without_label": self.n_without_label,
            "learned_from_held_out_rows": self.from_all,
            **measured,
            **{f"progressive_{name}": value for name, value in self.progressive.items()},
            **self.facts,
            "advice": self.advice,
            "seconds": round(self.seconds, 3),
            "file_bytes": self.out.stat().st_size,
        }


def say_trained(trained: Trained) -> None:
    """Print the result for people."""
    for sentence in trained.found:
        say(f"  {sentence}")
    say(f"  Chosen: {trained.model}, because {trained.why}.")
    say()
    if trained.measured is not None:
        _say_measured(trained.measured)
        say()
    if trained.shows_facts:
        say_pairs({name.replace("_", " "): value for name, value in trained.facts.items()})
        say()
    if trained.progressive:
        say("  Predicted before learned, in the order in which rows were learned:")
        say_pairs({f"  {_in_words(name)}": v for name, v in trained.progressive.items()})
        say()
    if trained.measured is not None:
        learned = "has learned from the held-out rows too" if trained.from_all else (
            "has not learned from the held-out rows"
        )  # fmt: skip
        say(f"  The saved model {learned}.")
    size = size_in_words(trained.out.stat().st_size)
    say(f"  Saved to {trained.out} ({size}), {trained.seconds:.1f} s in all.")
    for sentence in trained.advice:
        say(f"  {sentence}")


def _say_measured(measured: Measured) -> None:
    where = f"{measured.n_rows:,} rows held out"
    if measured.n_parts > 1:
        where = f"all rows, held out in {measured.n_parts} parts"
    names = list(dict.fromkeys(name for row in measured.table.values() for name in row))
    say_table(
        [f"on {where}", *names],
        [[who, *(row.get(name) for name in names)] for who, row in measured.table.items()],
    )


def _in_words(score: str) -> str:
    """Return what a table calls a score.

    >>> _in_words("precision_at_5"), _in_words("squared_loss")
    ('P@5', 'squared loss')
    """
    short = score.replace("precision_at_", "P@").replace("ndcg_at_", "nDCG@")
    return short.replace("_", " ")
