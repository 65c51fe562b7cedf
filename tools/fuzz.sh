#!/usr/bin/env bash
# Fuzz the readers of text, the reader of Python source, and model files: FUZZ_SECONDS in all, 600
# unless it says otherwise. Findings are left in build/fuzz; the exit status is 1 if there is any.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
seconds=$((${FUZZ_SECONDS:-600} / 4))
seed=${FUZZ_SEED:-$(date +%s)}
out=build/fuzz
compiler=${CXX:-$(command -v clang++ || command -v c++ || command -v g++)}
mkdir -p "$out"

cmake -S . -B build/fuzzers -G Ninja -DLABELTREES_FUZZ=ON -DCMAKE_CXX_COMPILER="$compiler" >"$out/build.log" 2>&1 &&
  cmake --build build/fuzzers >>"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }

status=0
table=$(printf '%-14s %12s %9s' part inputs findings)
add_row() { table+=$'\n'$(printf '%-14s %12s %9s' "$1" "$2" "$3"); [ "$3" = 0 ] || status=1; }

# What libFuzzer finds interesting stays in build/fuzz/corpus for the next time.
fuzz_text() {
  local part=$1 findings=$out/$1 corpus=$out/corpus/$1 log=$out/$1.log ended=0 n_inputs n_found
  mkdir -p "$findings" "$corpus"
  build/fuzzers/cpp/fuzz/fuzz_"$part" -max_total_time="$seconds" -seed="$seed" -max_len=4096 -timeout=60 -report_slow_units=60 \
    -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "cpp/fuzz/corpus/$part" >"$log" 2>&1 || ended=$?
  n_inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  n_found=$(find "$findings" -type f | wc -l)
  if [ "$ended" != 0 ]; then
    tail -n 40 "$log"
    [ "$n_found" != 0 ] || n_found=1
  fi
  add_row "$part" "${n_inputs:-?}" "$n_found"
}

# A finding has a seed: `python -m tests.hostile.fuzz --replay` tries it again.
fuzz_models() {
  local log=$out/models.log ended=0 n_found
  python -m tests.hostile.fuzz --seconds $((2 * seconds)) --seed "$seed" --findings "$out/models" >"$log" 2>&1 || ended=$?
  n_found=$(find "$out" -path "$out/models/*" -type f | wc -l)
  if [ "$ended" != 0 ]; then
    cat "$log"
    [ "$n_found" != 0 ] || n_found=1
  fi
  add_row models "$(sed -n 's/^models: \([0-9]*\) .*/\1/p' "$log")" "$n_found"
}

rm -rf "$out/readers" "$out/python_source" "$out/models"
fuzz_text readers
fuzz_text python_source
fuzz_models
echo "$table"
echo "seed $seed; findings, if any, are in $out"
exit "$status"
