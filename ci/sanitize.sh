#!/bin/sh
# Every backend's cases in the simulator, compiled with AddressSanitizer and
# UndefinedBehaviorSanitizer: the kernels' host and device code alike.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --package xtask
target=${CARGO_TARGET_DIR:-target}
preload="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for manifest in crates/*/*.backend.json; do
  name=$(basename "$manifest" .backend.json)
  library=$(cargo run --quiet --package simulator --example build -- "crates/$name" asan)
  echo "$name: $library"
  # Leaks are cudart's business and the test program's; what the kernels touch is ours.
  LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    "$target/debug/xtask" simulate --backend "$name" --order forward --child "$library" > "$log"
  if grep -E '^\{"(failure|broken)"' "$log" || ! grep -q '^{"end"' "$log"; then
    echo "$name: the run under the sanitizers failed" >&2
    exit 1
  fi
done
