//! The cases of the bench.

use bench_kit::Bench;

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    Vec::new()
}
