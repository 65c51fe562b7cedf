#!/usr/bin/env bash
# The core and its tests with every compiler of this machine: g++, clang++ (with libc++ too, where it
# is installed), g++ for arm64 and for Windows, and clang for macOS, where .venv has the package
# ziglang. Warnings are errors. What is built for another processor or system runs in qemu-aarch64
# or wine, if they are installed; wine keeps its files in build/compilers/wine unless WINEPREFIX
# says where. Nothing runs what is built for macOS.
#   tools/compilers.sh gcc arm64     only these
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
export WINEPREFIX=${WINEPREFIX:-$PWD/build/compilers/wine} WINEDEBUG=${WINEDEBUG:--all}
unset MAKEFLAGS
mkdir -p build/compilers
status=0
table=$(printf '%-9s %-42s %s' build compiler 'core tests')
# `zig TOOL ARGUMENT...`: a program that stands for a tool of the package ziglang; none without it.
zig() {
  local program=$PWD/build/compilers/zig-$1
  python -c 'import ziglang' 2>/dev/null || return 0
  printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "$PWD/.venv/bin/python" "$*" >"$program"
  chmod +x "$program"
  echo "$program"
}
first_of() { local each; for each in "$@"; do command -v "$each" && return; done || true; }

# `try NAME COMPILER RUNNER FLAG...`: a row of the table.
try() {
  local name=$1 compiler=$2 runner=$3 build=build/compilers/$1 said program
  shift 3
  if [ -z "$compiler" ]; then
    table+=$'\n'$(printf '%-9s %-42s %s' "$name" none 'not tried: no such compiler')
    return
  fi
  said=$(
    cmake -S . -B "$build" -G Ninja -DLABELTREES_TESTS=ON -DLABELTREES_MODULE=OFF -DLABELTREES_WERROR=ON \
      -DCMAKE_CXX_COMPILER="$compiler" "$@" >"$build.log" 2>&1 &&
      cmake --build "$build" >>"$build.log" 2>&1 || { tail -n 30 "$build.log" >&2; echo 'not built'; exit; }
    program=$build/core_tests
    [ -e "$program" ] || program+=.exe
    if [ "$runner" = none ]; then echo 'built; nothing here runs it'; exit; fi
    # shellcheck disable=SC2086
    $runner "$program" >"$build.said" 2>&1 || grep -v '^ ' "$build.said" >&2
    tail -n 1 "$build.said"
  )
  case $said in *" 0 failed"* | built*) ;; *) status=1 ;; esac
  table+=$'\n'$(printf '%-9s %-42s %s' "$name" "$("$compiler" --version | head -n 1 | cut -c -42)" "$said")
}

[ $# -gt 0 ] || set -- gcc clang libc++ arm64 windows macos
for which in "$@"; do
  case $which in
    gcc) try gcc "$(first_of g++)" "" ;;
    clang) try clang "$(first_of clang++ clang++-19 clang++-16 clang++-14)" "" ;;
    libc++)
      compiler=$(first_of clang++ clang++-19 clang++-16 clang++-14)
      if [ -n "$compiler" ] && ! echo '#include <span>' |
        "$compiler" -std=c++20 -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then compiler=""; fi
      try libc++ "$compiler" "" -DCMAKE_CXX_FLAGS=-stdlib=libc++
      ;;
    arm64)
      runner=$(first_of qemu-aarch64 qemu-aarch64-static)
      try arm64 "$(first_of aarch64-linux-gnu-g++)" "${runner:-none}" \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
      ;;
    windows)
      runner=$(first_of wine64 wine /usr/lib/wine/wine64)  # the last without Debian's package wine
      try windows "$(first_of x86_64-w64-mingw32-g++-posix)" "${runner:-none}" \
        -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_EXE_LINKER_FLAGS=-static
      ;;
    macos)
      try macos "$(zig c++ -target aarch64-macos)" none -DCMAKE_SYSTEM_NAME=Darwin \
        -DCMAKE_SYSTEM_PROCESSOR=arm64 -DCMAKE_AR="$(zig ar)" -DCMAKE_RANLIB="$(zig ranlib)"
      ;;
    *) echo "compilers.sh: $which is none of gcc, clang, libc++, arm64, windows, macos" >&2; exit 2 ;;
  esac
done
echo "$table"
exit $status
