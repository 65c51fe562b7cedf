"""From rows and targets to a self-terminating tree: what is to be chosen is chosen, then grown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labeltrees.models.self_terminating.growing import bin_rows, grow_core
from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel
from labeltrees.models.self_terminating.penalty_choice import choose_growth
from labeltrees.models.self_terminating.settings import GAINS, POWERS

if TYPE_CHECKING:
    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.self_terminating.growing import Targets
    from labeltrees.models.self_terminating.settings import SelfTerminatingSettings

__all__ = ["train_self_terminating"]


def train_self_terminating(
    settings: SelfTerminatingSettings, rows: Rows, targets: Targets, vocabulary: LabelVocabulary
) -> SelfTerminatingTreeModel:
    """Return the tree grown on rows; it stops by itself."""
    growth, penalties = settings.growth(), settings.penalties(rows.n_rows)
    if penalties is None:
        powers = POWERS if settings.weight_power == "auto" else (growth.weight_power,)
        gains = GAINS[settings.criterion] if settings.min_gain == "auto" else None
        penalty, growth = choose_growth(
            rows, targets, growth, seed=settings.random_state, powers=powers, gains=gains
        )
        penalties = [penalty]
    core = grow_core(bin_rows(rows, growth), targets, penalties, growth)
    model = SelfTerminatingTreeModel(
        settings, vocabulary, core, rows.n_features, penalties,
        growth.weight_power, growth.min_gain,
    )  # fmt: skip
    model.penalties = penalties[: int(model.depths().max()) + 1]
    if callable(settings.penalty):  # a file has no room for code
        model.settings = replace(settings, penalty=model.penalties)
    return model
