#!/bin/sh
# Builds each program of ci/dependents as a user would: with the kernels (NVCC names the compiler),
# and proves that none of the tools' packages come along.
set -eu
cd "$(dirname "$0")/.."
for manifest in ci/dependents/*/Cargo.toml; do
  dir=$(dirname "$manifest")
  echo "$dir"
  SCORING_CUDA_ARCHS=90 cargo build --quiet --manifest-path "$manifest"
  tree=$(cargo tree --quiet --manifest-path "$manifest" -e normal --prefix none)
  for tool in jsonschema schemars clap criterion insta bindgen plotters indicatif object parity bench-kit; do
    if printf '%s\n' "$tree" | grep -q "^$tool v"; then
      echo "$dir pulls $tool, which is a tool's" >&2
      exit 1
    fi
  done
  # Without a GPU the program must end with one sentence, not a panic.
  name=$(basename "$dir")
  target=${CARGO_TARGET_DIR:-$dir/target}
  if message=$("$target/debug/$name" 2>&1); then
    echo "$message"
  else
    case $message in
      *panicked*) echo "$name panicked: $message" >&2; exit 1 ;;
      *) echo "without a GPU: $message" ;;
    esac
  fi
done
