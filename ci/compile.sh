#!/bin/sh
# ci/compile.sh BACKEND ARCH: compiles one backend for one architecture and checks the result.
set -eu
cd "$(dirname "$0")/.."
cargo xtask compile --backend "$1" --arch "$2"
