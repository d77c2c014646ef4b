#!/bin/sh
# The parity suite on this machine's GPU, under the sanitizers too; without a GPU it fails.
# The evidence files it writes are this job's result.
set -eu
cd "$(dirname "$0")/.."
cargo xtask compile
cargo xtask gpu-parity --require-gpu --sanitize
