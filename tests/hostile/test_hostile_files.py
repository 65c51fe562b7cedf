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
from tests.hostile.damages import array_damages, fact_damages, fact_places
from tests.hostile.exercise import exercise
from tests.hostile.files import NAMES, WITH_OWN_SETTINGS, seen_before, stored

from labeltrees.errors import ModelFormatError
from labeltrees.models.registry import model_from

THOROUGH = os.environ.get("LABELTREES_TESTS") == "thorough"


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


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # numbers past all measure may overflow
@pytest.mark.parametrize("name", NAMES)
def test_every_damaged_tensor_is_refused_or_harmless(name):
    sound, again = stored(name), seen_before(name)
    faults = []
    for number, (tensor, array) in enumerate(sorted(sound.tensors.items())):
        # Of what other files have as well a part is enough, another one for each tensor.
        step = 5 if tensor in again and not THOROUGH else 1
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
    for place in fact_places(sound.facts):
        for damage, facts in fact_damages(sound.facts, place):
            if fault := fault_of(replace(sound, facts=facts)):
                faults.append(f"{damage}: {fault}")
    assert faults == []
