//! Criterion over bench-kit: the hot rows of `cargo xtask bench`, for comparing two trees on one GPU.
//! The library is the one that `cargo xtask compile` makes.

use std::path::Path;
use std::time::Duration;

use bench_kit::timing::Plan;
use bench_kit::{Gpu, Mode, measure};
use criterion::Criterion;
use parity::Library;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("target/dist/scoring/libscoring.so");
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
    for bench in scoring::bench::benches() {
        if !bench.modes.contains(&Mode::Hot) {
            continue;
        }
        // Criterion counts iterations; bench-kit counts replays. A call's median stands for each.
        criterion.bench_function(&bench.id, |bencher| {
            bencher.iter_custom(|iterations| {
                let alone = bench_kit::Bench {
                    others: Vec::new(),
                    ..bench.clone()
                };
                let plan = Plan::default();
                match measure(&gpu, &library, "cs", &alone, Mode::Hot, &plan) {
                    Ok(measured) => Duration::from_secs_f64(measured.kernel.median_us * 1e-6)
                        .mul_f64(iterations as f64),
                    Err(error) => panic!("{error}"),
                }
            });
        });
    }
    criterion.final_summary();
}
