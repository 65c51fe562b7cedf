"""labeltrees.metrics imports a metric's module when the metric is first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from labeltrees import metrics


def test_scores_of_a_stream_do_not_import_scipy():
    code = (
        "from labeltrees.metrics import ProgressiveValidation, log_loss, top_k_accuracy\n"
        "ProgressiveValidation().update([0.5], [True], [0.5])\n"
        "import sys\n"
        "assert not {'scipy', 'sklearn'} & sys.modules.keys(), 'imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_name_is_there_and_callable():
    assert set(metrics.__all__) <= set(dir(metrics))
    for name in metrics.__all__:
        assert callable(getattr(metrics, name))
        assert getattr(metrics, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_metric'"):
        _ = metrics.no_such_metric
