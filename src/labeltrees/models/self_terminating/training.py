"""From rows and targets to a self-terminating tree: what is to be chosen is chosen, then grown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.self_terminating.growing import bin_rows, grow_core
from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel
from labeltrees.models.self_terminating.penalty_choice import choose_growth
from labeltrees.models.self_terminating.settings import GAINS, POWERS

if TYPE_CHECKING:
    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.self_terminating.growing import Targets
    from labeltrees.models.self_terminating.settings import SelfTerminatingSettings

__all__ = ["check_categories", "train_self_terminating"]

MOST_CATEGORY = 2**22
"""The largest value of a category: halves between whole numbers are exact up to there."""


def train_self_terminating(
    settings: SelfTerminatingSettings, rows: Rows, targets: Targets, vocabulary: LabelVocabulary
) -> SelfTerminatingTreeModel:
    """Return the tree grown on rows; it stops by itself."""
    check_categories(settings, rows)
    if settings.form == "scalar" and len(vocabulary) > 2:
        raise ArgumentError.of("form", "scalar", f"'vector' for {len(vocabulary)} labels, not two")
    growth, penalties = settings.growth(), settings.penalties(rows.n_rows)
    scale = settings.penalty_scale
    if penalties is None:
        powers = POWERS if settings.weight_power == "auto" else (growth.weight_power,)
        gains = GAINS[settings.criterion] if settings.min_gain == "auto" else None
        penalty, growth = choose_growth(
            rows, targets, growth, seed=settings.random_state, powers=powers, gains=gains
        )
        penalties = [penalty / scale]
    in_core = [penalty * scale for penalty in penalties]
    core = grow_core(bin_rows(rows, growth), targets, in_core, growth)
    model = SelfTerminatingTreeModel(
        settings, vocabulary, core, rows.n_features, penalties,
        growth.weight_power, growth.min_gain,
    )  # fmt: skip
    model.penalties = penalties[: int(model.depths().max()) + 1]
    if callable(settings.penalty):  # a file has no room for code
        model.settings = replace(settings, penalty=model.penalties)
    return model


def check_categories(settings: SelfTerminatingSettings, rows: Rows) -> None:
    """Raise an error unless categorical features are there and hold few whole numbers."""
    _, features, values = rows.arrays
    most = settings.max_bins - 1  # zero has a bin besides
    for feature in settings.categories:
        if feature >= rows.n_features:
            allowed = f"features below {rows.n_features}"
            raise ArgumentError.of("categorical", settings.categorical, allowed)
        own = values[features == feature]
        own = np.unique(own[~np.isnan(own) & (own != 0)])
        is_category = (own == np.floor(own)) & (own >= 0) & (own <= MOST_CATEGORY)
        if not is_category.all():
            raise DataError(
                f"feature {feature} is categorical: its values must be whole numbers in "
                f"[0, {MOST_CATEGORY}] or NaN, got {own[~is_category][0]:g}."
            )
        if len(own) > most:
            raise DataError(
                f"feature {feature} is categorical and has {len(own)} values other than 0; at most "
                f"{most} fit (max_bins={settings.max_bins})."
            )
