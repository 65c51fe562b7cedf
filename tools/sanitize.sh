#!/usr/bin/env bash
# `sanitize.sh address,undefined`: the core's tests, then the Python tests of what strangers may
# send, with core and bindings under these sanitizers.
# `sanitize.sh thread [NAME]`: the core's tests of threads, or those with this in their names.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
sanitizers=${1:?address,undefined or thread}
build=build/sanitized-${sanitizers//,/-}
module=ON
[ "$sanitizers" = thread ] && module=OFF

mkdir -p build
cmake -S . -B "$build" -G Ninja -DLABELTREES_TESTS=ON -DLABELTREES_MODULE=$module \
  -DLABELTREES_SANITIZE="$sanitizers" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -Dnanobind_DIR="$(python -m nanobind --cmake_dir)" -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
  >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target $([ $module = ON ] && echo _core) core_tests >"$build.log" 2>&1 ||
  { tail -n 40 "$build.log"; exit 1; }
if [ "$sanitizers" = thread ]; then
  exec "$build/core_tests" "${2:-threads}"
fi
"$build/core_tests"

# The package as it is, with the sanitized module in it.
rm -rf "$build/package"
mkdir -p "$build/package"
cp -r src/labeltrees "$build/package/"
rm -f "$build"/package/labeltrees/_core.*
cp "$build"/_core*.so "$build/package/labeltrees/"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
preload=$("$compiler" -print-file-name=libasan.so):$("$compiler" -print-file-name=libstdc++.so.6)
if [ ! -e "${preload%%:*}" ]; then
  echo "the compiler has no libasan.so to load first: the bindings are not tested under sanitizers"
  exit 0
fi
# Python itself keeps memory at its end, and asks for more than there is in some tests.
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_segv=1 LD_PRELOAD=$preload \
  PYTHONPATH=$PWD/$build/package:$PWD python -m pytest -q -p no:cacheprovider -n "$(nproc)" \
  tests/contract/test_threads.py tests/contract/test_edge_data.py tests/hostile/test_hostile_files.py
