#!/usr/bin/env bash
# `sanitize.sh address,undefined`: the core's tests, then the Python tests of what strangers may
# send, with core and bindings under these sanitizers.
# `sanitize.sh thread`: the core's tests of threads.
# `sanitize.sh thread learners`: those of what learns online, and only this is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
unset MAKEFLAGS  # ninja is not one of make's jobs
sanitizers=${1:?address,undefined or thread}
build=build/sanitized-${sanitizers//,/-}
module=ON tests="" only=""
if [ "$sanitizers" = thread ]; then
  module=OFF tests=threads
  if [ "${2:-}" = learners ]; then
    build+=-learners tests=threads_learn
    only="cpp/src/((platform|rows|tree|online|conditional|filter|lom)/|baselines/one_against_all)|cpp/tests/(main|online/test_threads)[.]cpp"
  fi
fi

mkdir -p build
cmake -S . -B "$build" -G Ninja -DLABELTREES_TESTS=ON -DLABELTREES_MODULE=$module \
  -DLABELTREES_SANITIZE="$sanitizers" -DLABELTREES_ONLY="$only" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" \
  -Dnanobind_DIR="$(python -m nanobind --cmake_dir)" -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
  >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target $([ $module = ON ] && echo _core) core_tests >"$build.log" 2>&1 ||
  { tail -n 40 "$build.log"; exit 1; }
"$build/core_tests" $tests &  # mostly one thread: the Python tests run beside it
core_tests=$!
if [ $module = OFF ]; then
  wait $core_tests
  exit 0
fi

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
  wait $core_tests
  exit 0
fi
# Python itself keeps memory at its end, and asks for more than there is in some tests.
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_segv=1 LD_PRELOAD=$preload \
  PYTHONPATH=$PWD/$build/package:$PWD python -m pytest -q -p no:cacheprovider -n "$(nproc)" \
  tests/contract/test_threads.py tests/hostile/test_hostile_files.py
wait $core_tests
