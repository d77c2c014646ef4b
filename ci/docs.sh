#!/bin/sh
# Builds the documentation as docs.rs does: no toolkit, no network, the kernels left out.
set -eu
cd "$(dirname "$0")/.."
for manifest in crates/*/*.backend.json; do
  name=$(basename "$manifest" .backend.json)
  DOCS_RS=1 NVCC=/nonexistent RUSTDOCFLAGS="-D warnings" \
    cargo doc --quiet --no-deps --package "$name" --features cuda-13000
done
DOCS_RS=1 NVCC=/nonexistent RUSTDOCFLAGS="-D warnings" \
  cargo doc --quiet --no-deps --package mamba2-scan --features composed,cuda-13000
DOCS_RS=1 RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --workspace
