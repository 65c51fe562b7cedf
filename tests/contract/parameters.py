"""Values that a parameter must refuse or take, made from the check that its settings declare."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from labeltrees.checks import Choice, Flag, Integer, Number, Threads
from labeltrees.models.settings import RandomState

SPECIAL = {
    "structure": (["oak", "", None, 3, True, b"online"], ["kmeans"]),
    "arity": ([0, 1, 3, 6, 2.0, True, "8", None, 2**31, -2], [2, 4, 2**30, np.int64(8)]),
    "penalty": (
        [-1, math.nan, "much", "", [], [1.0, -1.0], ["x"], None, True],
        ["auto", 0, 2.5, [1.0, 0.5]],
    ),
    "class_weight": (
        ["equal", "", 3, True, ["balanced"], {"a": -1.0}, {"a": math.nan}, {"a": "much"}, {2.5: 1}],
        ["balanced", None, {"a": 2.0, "b": 0.0}, {3: 1.5, -1: 1}],
    ),
    "verbose": ([-1, 1.5, "yes", None, [1]], [True, False, 1, np.int64(2)]),
    "categorical": (
        ["colour", 3, True, [-1], [1.5], ["x"], [None], [0, 0]],
        [None, [], [0], [2, 1]],
    ),
    "norm": ([None, 3, True, ["total_variation"]], ["total_variation", len]),
}
"""Wrong and right values of parameters with a check of their own."""


def declared(settings_class):
    """Return name, default and check of every parameter."""
    return [(each.name, each.default, each.metadata["check"]) for each in fields(settings_class)]


def wrong_values(name, check):
    """Return values that are refused: of another type, or just outside the range."""
    match check:
        case Integer(low=low, high=high, optional=optional):
            above = [] if high is None else [high + 1]
            none = [] if optional else [None]
            return [low - 1, *above, low + 0.5, float(low), True, str(low), math.nan, [low], *none]
        case Number():
            below = check.low if check.open_low else math.nextafter(check.low, -math.inf)
            finite = check.high < math.inf
            most = check.high if check.open_high else math.nextafter(check.high, math.inf)
            above = [most] if finite else []
            none = [] if check.optional else [None]
            return [below, *above, -math.inf, math.inf, math.nan, True, "much", [0.5], 1j, *none]
        case Flag():
            return ["no", "True", 1, 0, None, [True]]
        case Choice(allowed=allowed):
            none = [] if None in allowed else [None]
            return ["oak", "", str(allowed[-1]).upper(), 0, True, [allowed[-1]], *none]
        case Threads():
            return [0, 1.5, 2.0, "2", True, [1]]
        case RandomState(high=high):
            return [-1, high + 1, 1.5, "0", True, [0]]
    return SPECIAL[name][0]


def right_values(name, check):
    """Return values that are taken: the ends of the range, and what is allowed besides."""
    match check:
        case Integer(low=low, high=high, optional=optional):
            return [low, np.int64(low + 1), *([high] if high else []), *([None] * optional)]
        case Number():
            inside = check.low + 1e-3 if check.open_low else check.low
            most = 0.999 if check.open_high else min(check.high, 1e6)
            none = [None] if check.optional else []
            return [inside, np.float32(most), most, *check.words, *none]
        case Flag():
            return [True, False, np.bool_(True)]
        case Choice(allowed=allowed):
            return list(allowed)
        case Threads():
            return [None, 1, 3, -1, np.int64(2)]
        case RandomState(high=high):
            return [0, np.int32(7), high]
    return SPECIAL[name][1]
