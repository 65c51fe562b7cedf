#!/usr/bin/env bash
# All Python tests with every documented example; arguments go to pytest. `make test` runs the core's
# own tests and the riskiest Python tests under sanitizers before. LABELTREES_TESTS=thorough tries
# more cases.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
cores=$(python -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)')

pytest -n "$cores" --dist worksteal --doctest-modules --doctest-glob='*.md' \
  --pyargs ./tests labeltrees README.md docs "$@"
