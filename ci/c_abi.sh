#!/bin/sh
# Calls each compiled library from Python, through its C ABI alone; the kernels too where there is
# a GPU.
set -eu
cd "$(dirname "$0")/.."
for test in crates/*/tests/ctypes_test.py; do
  name=$(basename "$(dirname "$(dirname "$test")")")
  python3 "$test" "target/dist/$name/lib$(echo "$name" | tr - _).so"
done
