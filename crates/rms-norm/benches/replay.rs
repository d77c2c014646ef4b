//! Criterion over bench-kit: the hot rows of `cargo xtask bench`, for comparing two trees on one GPU.
//! The library is the one that `cargo xtask compile` makes.

use std::path::Path;
use std::time::Duration;

use bench_kit::timing::Plan;
use bench_kit::{Bench, Gpu, Mode, measure};
use criterion::Criterion;
use parity::Library;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("target/dist/rms-norm/librms_norm.so");
    let opened = Gpu::open(0).and_then(|gpu| Ok((gpu, Library::open(&path)?)));
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
    for bench in rms_norm::bench::benches() {
        if !bench.modes.contains(&Mode::Hot) {
            continue;
        }
        let alone = Bench {
            others: Vec::new(),
            ..bench
        };
        let plan = Plan::default();
        let median = || {
            measure(&gpu, &library, "rms", &alone, Mode::Hot, &plan)
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
