#!/usr/bin/env bash
# Make .venv ready: `setup.sh run` installs the package, `serve` also the server's dependencies, `docs` also
# those of the documentation site, `dev` also all tools. The package is editable: Python runs src/labeltrees,
# so only a change of C++ or of dependencies needs this script again. Without such a change it does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:?run, serve, docs or dev}
unset MAKEFLAGS  # ninja is not one of make's jobs
fail() { echo "labeltrees: $1" >&2; exit 1; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

check_compiler() {
  local compiler=${CXX:-c++} probe
  [ -n "${CXX:-}" ] || command -v c++ >/dev/null 2>&1 || compiler=g++
  command -v "$compiler" >/dev/null 2>&1 ||
    fail "a C++ compiler is needed and none was found by the name '$compiler' (install g++ or clang++, or set CXX)."
  probe=$(mktemp -d)
  trap 'rm -rf "$probe"' RETURN
  echo '#include <span>
#include <bit>
int main() { int a[2] = {1, 2}; std::span<int> s(a); return std::popcount(3u) - int(s.size()); }' >"$probe/probe.cpp"
  "$compiler" -std=c++20 "$probe/probe.cpp" -o "$probe/probe" >/dev/null 2>&1 ||
    fail "the C++ compiler '$compiler' is too old: C++20 is needed (g++ 11, clang 14, or newer)."
}

# One number for everything that is compiled or part of the package's metadata.
fingerprint() {
  { find cpp/include cpp/src cpp/bindings -type f -print0
    printf '%s\0' pyproject.toml CMakeLists.txt src/labeltrees/__init__.py tools/setup.sh
  } | LC_ALL=C sort -z | xargs -0 cksum | cksum
}

# Compile what has changed of the core, and put the module into src/labeltrees.
build_core() {
  local build=build/core log=build/core.log
  mkdir -p build
  { PATH=$PWD/.venv/bin:$PATH cmake -S . -B "$build" -G Ninja -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
      -Dnanobind_DIR="$(.venv/bin/python -m nanobind --cmake_dir)" &&
    PATH=$PWD/.venv/bin:$PATH cmake --build "$build" &&
    rm -f src/labeltrees/_core*.so && PATH=$PWD/.venv/bin:$PATH cmake --install "$build" --prefix src
  } >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
}

# scikit-build-core would add an import hook that comes before PYTHONPATH, and sanitize.sh and other
# worktrees name their copy there. A line with the path is enough.
install_editable() {
  pip install --no-build-isolation --no-deps --force-reinstall -C wheel.cmake=false -C wheel.py-api=py3 \
    -C editable.mode=inplace --editable . || return
  rm -f .venv/lib/python*/site-packages/_editable_skbc_labeltrees.*
  echo "$PWD/src" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/labeltrees.pth"
}

stamp=.venv/.installed-$kind
now="$kind $(fingerprint)"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ] && compgen -G 'src/labeltrees/_core*.so' >/dev/null; then exit 0; fi

if [ ! -x .venv/bin/python ]; then
  python=$(find_python)
  [ -n "$python" ] || fail "Python 3.11 or newer is needed and none was found (install it, or set PYTHON)."
  check_compiler
  echo "labeltrees: making .venv with $("$python" --version)"
  "$python" -m venv .venv >/dev/null 2>&1 || {
    rm -rf .venv
    fail "'$python -m venv' failed: install Python's venv and pip (on Debian: python3-venv)."
  }
else
  check_compiler
fi

pip() { .venv/bin/python -m pip -qq --disable-pip-version-check "$@"; }
read_list() {
  .venv/bin/python - "$1" <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
kind = sys.argv[1]
tools = project["build-system"]["requires"] + ["cmake>=3.26", "ninja>=1.11"]
extras = project["project"]["optional-dependencies"].get(kind, [])
rest = [] if kind == "build" else project["project"]["dependencies"] + extras
print(*tools, *rest, sep="\n")
PY
}
requirements=.venv/.requirements-$kind
rest=""
no_dependencies="the dependencies could not be installed; the lines above say why."
read_list "$kind" >"$requirements.new"
if ! cmp -s "$requirements.new" "$requirements"; then
  echo "labeltrees: installing what it depends on"
  read_list build >.venv/.requirements-build
  pip install -r .venv/.requirements-build || fail "$no_dependencies"
  pip install -r "$requirements.new" &  # the build needs none of them: they come meanwhile
  rest=$!
fi
echo "labeltrees: building the package"
rm -f .venv/.installed-*
is_built=yes
build_core && install_editable || is_built=no
if [ -n "$rest" ]; then
  wait "$rest" || fail "$no_dependencies"
  mv "$requirements.new" "$requirements"
fi
[ $is_built = yes ] || fail "the package could not be built; the lines above say why."
echo "$now" >"$stamp"
