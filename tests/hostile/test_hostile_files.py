"""The contract of every model file: forged with right checksums, it is refused or answers soundly.

Each tensor and each fact of each kind of file gets each kind of damage. What loads nevertheless is
asked everything, described, drawn, copied and taught: nothing may crash, hang, raise anything but
the library's errors, or give a probability that is none.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from tests.contract.subjects import BY_ITSELF
from tests.hostile.damages import array_damages, fact_damages, fact_places
from tests.hostile.exercise import exercise
from tests.hostile.files import NAMES, WITH_OWN_SETTINGS, seen_before, stored

from labeltrees.errors import ModelFormatError
from labeltrees.models.registry import model_from

THOROUGH = os.environ.get("LABELTREES_TESTS") == "thorough"
# Under sanitizers every damage is tried, as `make test` does first: they see what is only luck
# without them. Otherwise a quarter is, another one for each tensor and fact.
SHARE = 1 if THOROUGH or "asan" in os.environ.get("LD_PRELOAD", "") else 4


def fault_of(file):
    """Return what is wrong with the model that a file makes, "" if it is refused or sound."""
    try:
        model = model_from(file)
    except ModelFormatError:
        return ""
    except Exception as error:
        return f"loading raised {error!r}"
    try:
        exercise(model)
    except Exception as error:
        return f"asking raised {error!r}"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_file_is_sound(name):
    exercise(model_from(stored(name)))


def lom_without_ledgers():
    """Nodes that say they have labels, and no ledger that has one."""
    lom = stored("LOMtree").tensors
    empty = {name: lom[name][:0] for name in ("ledgers.keys", "ledgers.counts", "ledgers.means")}
    return empty | {"nodes.weight": np.zeros_like(lom["nodes.weight"])}


def extreme_with_rows_past_its_weights(n_children=1000, n_rows=1000):
    """Rows of weights that start far behind the last weight, and an end that is right."""
    return {
        "vocabulary.text": np.frombuffer(b"".join(b"%06d" % i for i in range(n_children)), "u1"),
        "vocabulary.ends": 6 + 6 * np.arange(n_children),
        "tree0.parent": np.append(-1, np.zeros(n_children)).astype(np.int32),
        "tree0.label": np.append(-1, np.arange(n_children)).astype(np.int32),
        "tree0.biases": np.zeros(n_children + 1, np.float32),
        "tree0.reach": np.ones(n_children + 1, np.float32),
        "tree0.features": np.zeros(1, np.int32),
        "tree0.feature_rows": np.array([0, n_rows], np.uint32),
        "tree0.row_parents": np.zeros(n_rows, np.int32),
        "tree0.row_starts": np.append(np.arange(n_rows) * n_children, 5).astype(np.uint32),
        "tree0.columns": np.zeros(5, np.uint8),
        "tree0.values": np.zeros(5, np.uint16),
    }


def tail_that_ends_below_zero():
    """Starts that lead far away, and an end that SciPy takes for no entries at all."""
    starts = stored("extreme, tail").tensors["tail.starts"].copy()
    starts[3], starts[-1] = 2**40, -1
    return {"tail.starts": starts}


FORGERIES = {
    "ledgers without entries": ("LOMtree", lom_without_ledgers),
    "rows past the weights": ("extreme", extreme_with_rows_past_its_weights),
    "a tail that ends below zero": ("extreme, tail", tail_that_ends_below_zero),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_tensors_that_are_wrong_together_are_refused(forgery):
    name, forge = FORGERIES[forgery]
    sound = stored(name)
    with pytest.raises(ModelFormatError):
        model_from(replace(sound, tensors=sound.tensors | forge()))


def inside(name):
    """Return a boosted model of one round whose member is the model of another file."""
    member, outer = stored(name), stored("Adacond of stumps")
    tensors = {f"members.0.{tensor}": array for tensor, array in member.tensors.items()}
    tensors |= {t: a for t, a in outer.tensors.items() if t.startswith("vocabulary.")}
    tensors |= {t: a[:1] for t, a in outer.tensors.items() if t.startswith("boosting.")}
    facts = outer.facts | {"members": [{"model": member.model, "facts": member.facts}]}
    return replace(outer, tensors=tensors, facts=facts)


@pytest.mark.parametrize("name", NAMES)
def test_any_model_may_be_boosted_in_a_file_if_it_gives_distributions(name):
    if stored(name).model in BY_ITSELF:
        with pytest.raises(ModelFormatError, match="does not predict a distribution"):
            model_from(inside(name))
    elif stored(name).tensors.keys() & {"vocabulary.integers"}:
        with pytest.raises(ModelFormatError):  # its labels are others
            model_from(inside(name))
    else:
        exercise(model_from(inside(name)))


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # numbers past all measure may overflow
@pytest.mark.parametrize("name", NAMES)
def test_every_damaged_tensor_is_refused_or_harmless(name):
    sound, again = stored(name), seen_before(name)
    faults = []
    for number, (tensor, array) in enumerate(sorted(sound.tensors.items())):
        # Of what other files have as well a part is enough, another one for each tensor.
        step = SHARE * (5 if tensor in again and not THOROUGH else 1)
        for damage, damaged in islice(array_damages(array), number % step, None, step):
            tensors = sound.tensors | {tensor: np.array(damaged)}
            if fault := fault_of(replace(sound, tensors=tensors)):
                faults.append(f"{tensor}, {damage}: {fault}")
    assert faults == []


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("name", NAMES if THOROUGH else WITH_OWN_SETTINGS)
def test_every_damaged_fact_is_refused_or_harmless(name):
    sound = stored(name)
    faults = []
    for number, place in enumerate(fact_places(sound.facts)):
        damages = fact_damages(sound.facts, place)
        for damage, facts in islice(damages, number % SHARE, None, SHARE):
            if fault := fault_of(replace(sound, facts=facts)):
                faults.append(f"{damage}: {fault}")
    assert faults == []
