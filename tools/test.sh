#!/usr/bin/env bash
# The core's own tests under sanitizers, then the Python tests and every documented example.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
cmake -S . -B build/core-tests -G Ninja -DLABELTREES_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >build/core-tests.log 2>&1 ||
  { cat build/core-tests.log; exit 1; }
cmake --build build/core-tests | tail -n 1
build/core-tests/core_tests
pytest tests "$@"
pytest --doctest-modules --pyargs labeltrees -q
pytest --doctest-glob='*.md' -q README.md docs
