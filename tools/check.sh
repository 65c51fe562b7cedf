#!/usr/bin/env bash
# Format, lint, types and layers. `--fix` rewrites what can be rewritten.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
mapfile -t cpp < <(find cpp -name '*.hpp' -o -name '*.cpp')
if [ "${1:-}" = --fix ]; then
  "$bin/ruff" check --quiet --fix --exit-zero .
  "$bin/ruff" format --quiet .
  "$bin/clang-format" -i "${cpp[@]}"
fi
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/clang-format" --dry-run --Werror "${cpp[@]}"
"$bin/mypy"
"$bin/lint-imports"
