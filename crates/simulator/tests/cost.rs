//! What the simulator costs: figures for docs/simulator.md, not a check.
//! `cargo test -p simulator --test cost -- --ignored --nocapture`

mod support;

use std::ffi::{c_int, c_void};

use simulator::Flavor;
use support::Simulator;

/// Nanoseconds that this thread has run: other processes do not count.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux keeps count");
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "measures, on Linux"]
fn a_step_and_an_access() {
    type Cost = unsafe extern "C" fn(c_int, c_int, c_int, *mut f32, *mut c_void) -> c_int;
    const KINDS: [&str; 6] = [
        "__syncwarp",
        "__shfl_xor_sync",
        "__syncthreads",
        "shared read + write",
        "global read + write",
        "shared read by all",
    ];
    for flavor in [Flavor::Plain, Flavor::Checked] {
        let sim = Simulator::load(flavor);
        let f: Cost = sim.symbol("simk_cost");
        let mut memory = vec![0.0f32; 1024];
        sim.in_out(&mut memory);
        for (kind, name) in KINDS.iter().enumerate() {
            for threads in [32, 256, 1024] {
                let steps = 400_000 / threads;
                let run = |steps: c_int| {
                    let begin = processor_time();
                    // SAFETY: a float a thread.
                    let code = unsafe {
                        f(
                            kind as c_int,
                            steps,
                            threads,
                            memory.as_ptr().cast_mut(),
                            sim.stream,
                        )
                    };
                    assert_eq!(code, 0);
                    processor_time() - begin
                };
                let best = (0..7).map(|_| run(steps) - run(0)).fold(f64::MAX, f64::min);
                println!(
                    "{:8} {name:20} {threads:5} threads: {:6.1} ns a thread and step",
                    flavor.name(),
                    best / f64::from(steps) / f64::from(threads)
                );
            }
        }
        assert_eq!(sim.take_report(), None);
    }
}
