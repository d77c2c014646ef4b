//! A thin shell of criterion over [`measure()`]: the hot rows, for comparing two trees on one GPU.

use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use parity::Library;

use crate::timing::Plan;
use crate::{Bench, Gpu, Mode, measure};

/// The `main` of a kernel crate's bench. `library` is what `cargo xtask compile` makes, `prefix`
/// that of its C functions. Where there is no GPU or no library it says so and measures nothing.
pub fn main(library: &Path, prefix: &str, benches: Vec<Bench>) {
    let opened = Gpu::open(0).and_then(|gpu| Ok((gpu, Library::open(library)?)));
    let (gpu, library) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            println!("could not measure: {error}");
            return;
        }
    };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .without_plots()
        .configure_from_args();
    for bench in benches {
        if !bench.modes.contains(&Mode::Hot) {
            continue;
        }
        let alone = Bench {
            others: Vec::new(),
            ..bench
        };
        let plan = Plan::default();
        let median = || {
            measure(&gpu, &library, prefix, &alone, Mode::Hot, &plan)
                .map(|measured| Duration::from_secs_f64(measured.kernel.median_us * 1e-6))
        };
        if let Err(error) = median() {
            println!("could not measure: {error}");
            continue;
        }
        // Criterion counts iterations, bench-kit replays: a call's median stands for each iteration.
        criterion.bench_function(&alone.id, |bencher| {
            bencher.iter_custom(|iterations| {
                let call = median().expect("the same call was measured before");
                call.mul_f64(iterations as f64)
            });
        });
    }
    criterion.final_summary();
}
