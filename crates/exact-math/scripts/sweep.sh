#!/bin/sh
# Checks every function's error bound on all 2^32 inputs: about ten minutes of one core in all.
set -eu
cd "$(dirname "$0")/.."
# The host's own fma and vector width; without them each fma is a call. The bytes are the same, and the folder is apart
# because other flags mean other builds.
export RUSTFLAGS="-C target-cpu=native"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-../../target}/sweep"
exec cargo test --release --package exact-math --test accuracy -- --ignored --nocapture
