#!/usr/bin/env bash
# What is tested with an installed wheel, with other versions of what it stands on:
#   tools/versions.sh dist/labeltrees-*-cp311-cp311-*.whl "scikit-learn==1.6.* numpy==1.26.*" ...
# without versions, those of docs/development/platforms.md. Each has an environment in build/versions; PYTHON
# makes it. VERSIONS_TESTS: what is run.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=${1:?a wheel}
shift
[ $# -gt 0 ] || set -- "scikit-learn==1.6.* numpy==1.26.* scipy==1.11.*" "scikit-learn==1.6.*" \
  "scikit-learn==1.7.*" "numpy==1.26.*" "scikit-learn"
tests=${VERSIONS_TESTS:-tests/contract tests/conditional tests/extreme tests/text}
work=$PWD/build/versions
mkdir -p "$work"
status=0
table=""
for wanted in "$@"; do
  name=$(tr -c 'a-z0-9.\n' _ <<<"$wanted")
  env=$work/$name
  rm -rf "$env"
  "${PYTHON:-python3}" -m venv "$env"
  arrow=pyarrow
  [[ $wanted != *numpy==1.* ]] || arrow='pyarrow<20'  # newer ones need NumPy 2
  # shellcheck disable=SC2086
  "$env/bin/python" -m pip -qq --disable-pip-version-check install --only-binary :all: $wanted "$wheel" \
    hypothesis matplotlib pandas polars "$arrow" 'pytest<9' pytest-xdist  # pytest 9 warns of scikit-learn 1.6
  said=$work/$name.log  # scikit-learn 1.6 asks SciPy for what newer versions deprecate
  # shellcheck disable=SC2086
  PATH=$env/bin:$PATH "$env/bin/python" -m pytest -q -n "${VERSIONS_JOBS:-2}" -p no:cacheprovider \
    -W 'ignore:scipy.optimize:DeprecationWarning' $tests \
    >"$said" 2>&1 || { status=1; grep -E '^(FAILED|ERROR)' "$said" | head -n 20; }
  table+=$("$env/bin/python" -c 'import platform, numpy, scipy, sklearn
print("| %s | %s | %s | %s |" % (platform.python_version(), sklearn.__version__, numpy.__version__, scipy.__version__), end="")')
  table+=" $(tail -n 1 "$said" | tr -d =)"$'|\n'
  echo "$wanted: $(tail -n 1 "$said")"
done
echo
printf '| Python | scikit-learn | NumPy | SciPy | tests |\n|---|---|---|---|---|\n%s' "$table"
exit $status
