"""The map from what trees say to what comes true: the core's agrees with the formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.models.extreme.calibration import Calibration

PARTS = {
    "a": st.floats(0.05, 20), "b": st.floats(0, 20), "c": st.floats(-20, 20), "d": st.floats(-5, 5),
}  # fmt: skip


@given(st.builds(Calibration, **PARTS), st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_calibrating_is_the_formula(calibration, seed, n_rows):
    rng = np.random.default_rng(seed)
    p, mass = rng.random((n_rows, 3)), 5 * rng.random(n_rows)
    a, b, c, d = calibration.a, calibration.b, calibration.c, calibration.d
    logit = a * np.log(p) - b * np.log1p(-p) + c + d * np.log(mass)[:, np.newaxis]
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-logit))
    assert calibration.apply(p, mass) == pytest.approx(expected, rel=1e-9)


@given(st.builds(Calibration, **PARTS))
def test_certain_and_impossible_labels_stay_in_order(calibration):
    q = calibration.apply(np.array([[0.0, 0.3, 1.0]]), np.zeros(1))[0]
    assert q[0] == 0
    assert np.all(np.diff(q) >= 0)
    assert np.all((q >= 0) & (q <= 1))


def test_masses_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="mass"):
        _core.calibrated(np.zeros(3), np.ones(2), (1.0, 1.0, 0.0, 0.5))
