#!/usr/bin/env bash
# The core's own tests and the riskiest Python tests under sanitizers, then all Python tests with
# every documented example. One after the other, as each keeps all cores busy.
# LABELTREES_TESTS=thorough tries more cases.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
cores=$(python -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)')

python_tests() {
  pytest -n "$cores" --dist worksteal --doctest-modules --doctest-glob='*.md' \
    --pyargs ./tests labeltrees README.md docs "$@"
}

tools/sanitize.sh address,undefined
python_tests "$@"
