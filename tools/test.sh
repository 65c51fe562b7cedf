#!/usr/bin/env bash
# The core's own tests under sanitizers, then the Python tests with every documented example.
# One after the other, as each keeps all cores busy. LABELTREES_TESTS=thorough tries more cases.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH

core_tests() {
  cmake -S . -B build/core-tests -G Ninja -DLABELTREES_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >build/core-tests.log 2>&1 ||
    { cat build/core-tests.log; exit 1; }
  cmake --build build/core-tests | tail -n 1
  build/core-tests/core_tests
}

python_tests() {
  local cores
  cores=$(python -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)')
  pytest -n "$cores" --dist worksteal --doctest-modules --doctest-glob='*.md' \
    --pyargs ./tests labeltrees README.md docs "$@"
}

core_tests
python_tests "$@"
