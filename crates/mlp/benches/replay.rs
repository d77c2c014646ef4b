//! Criterion over bench-kit: the hot rows of `cargo xtask bench`, for comparing two trees on one GPU.
//! The library is the one that `cargo xtask compile` makes.

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = root.join("target/dist/mlp/libmlp.so");
    bench_kit::replay::main(&library, "mlp", mlp::bench::benches());
}
