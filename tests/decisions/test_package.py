"""labeltrees.decisions is public, and needs neither a model nor scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import labeltrees
from labeltrees import decisions


def test_every_name_is_there():
    assert labeltrees.decisions is decisions
    for name in decisions.__all__:
        assert getattr(decisions, name).__name__ == name


def test_deciding_imports_no_model_and_no_scikit_learn():
    code = (
        "import sys\n"
        "from labeltrees.decisions import expected_f1_sets\n"
        "assert expected_f1_sets([[0.9]]).sets.nnz == 1\n"
        "assert not {'sklearn', 'labeltrees.models', 'labeltrees._core'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
