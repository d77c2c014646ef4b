//! Tokens per second of a decode loop: the recurrence of 48 layers of 16/48 heads of 128, 64 tokens in one graph, with this
//! crate's step and with the designs that it replaces. Profiler times of one kernel overstate what a model gains; this is
//! what is left when launches follow each other and every layer's state comes from memory.
//!
//! The layers' norms are not in the loop: it runs `gdn_scan_step_f32` and the baselines alone, on one library.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use bench_kit::timing::Plan;
use bench_kit::{Bench, Gpu, Mode, Oracle, Prepared, Variant, Work, measure};
use gdn_scan::oracle::{self, Problem};
use gdn_scan::{HeadMap, ffi};
use parity::{Buffer, Class, Library, Random};

const LAYERS: usize = 48;
const TOKENS: usize = 64;
const KEY_HEADS: usize = 16;
const VALUE_HEADS: usize = 48;
const DIM: usize = 128;
const STATE: usize = VALUE_HEADS * DIM * DIM;
const KEYS: usize = KEY_HEADS * DIM;
const VALUES: usize = VALUE_HEADS * DIM;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("target/dist/gdn-scan/libgdn_scan.so");
    let opened = Gpu::open(0).and_then(|gpu| Ok((gpu, Library::open(&path)?)));
    let (gpu, library) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            println!("could not measure: {error}");
            return;
        }
    };
    let plan = Plan {
        min_calls: TOKENS,
        max_calls: TOKENS,
        ..Plan::default()
    };
    match measure(&gpu, &library, "gdn", &decode_loop(), Mode::Hot, &plan) {
        Ok(measured) => {
            let report = |name: &str, us: f64| {
                println!(
                    "{name:16} {us:9.1} us a token, {:8.0} tokens per second",
                    1e6 / us
                );
            };
            report("kernel", measured.kernel.median_us);
            for (name, _, timing) in &measured.others {
                report(name, timing.median_us);
            }
        }
        Err(error) => println!("could not measure: {error}"),
    }
}

/// One call is one token: a step of every layer, each on its own state.
fn decode_loop() -> Bench {
    let variant = |entry: &'static str| move |library: &Library| token(library, entry);
    let states = (LAYERS * STATE * size_of::<f32>()) as u64;
    Bench {
        id: "decode-loop-48-layers-16x48-128".into(),
        entry: "gdn_scan_step_f32",
        class: Class::Exact,
        modes: vec![Mode::Hot],
        work: Work {
            read: states,
            written: states,
            fmas: 0,
        },
        cold_bytes: 0,
        build: Arc::new(buffers),
        kernel: Variant::kernel(variant("gdn_scan_step_f32")),
        others: vec![
            Variant::baseline("seed two pass", 0.0, variant("gdn_baseline_two_pass")),
            Variant::baseline("seed four pass", 0.0, variant("gdn_baseline_four_pass")),
        ],
        under_floor: None,
    }
}

/// The layers one after another, in every buffer.
fn buffers(seed: u64, oracle: Oracle) -> Vec<Buffer> {
    let uniforms = |name: &str, count: usize, low: f32, high: f32| {
        Random::named(seed, name).uniforms(LAYERS * count, low, high)
    };
    let key = (3.0 / DIM as f32).sqrt();
    let state = uniforms("state", STATE, -1.0, 1.0);
    let q = uniforms("q", KEYS, -key, key);
    let k = uniforms("k", KEYS, -key, key);
    let v = uniforms("v", VALUES, -1.0, 1.0);
    let g = uniforms("g", VALUE_HEADS, 0.5, 1.0);
    let beta = uniforms("beta", VALUE_HEADS, 0.0, 1.0);
    let mut after = state.clone();
    let mut out = vec![0.0; LAYERS * VALUES];
    if oracle == Oracle::Run {
        // A layer is to the oracle what a sequence of a batch is.
        let problem = Problem {
            head_map: HeadMap::Tiled,
            q: &q,
            k: &k,
            v: &v,
            g: &g,
            beta: &beta,
            ..Problem::step([LAYERS, KEY_HEADS, VALUE_HEADS, DIM, DIM])
        };
        out = oracle::scan(&problem, &mut after).out;
    }
    vec![
        Buffer::in_out("state", &state, &after),
        Buffer::input("q", &q),
        Buffer::input("k", &k),
        Buffer::input("v", &v),
        Buffer::input("g", &g),
        Buffer::input("beta", &beta),
        Buffer::output("out", &out),
    ]
}

fn token(library: &Library, entry: &'static str) -> parity::Result<Prepared> {
    // SAFETY: the three entries have this one prototype in the header.
    let step = unsafe { library.function::<ffi::gdn_scan_step_f32_fn>(entry)? };
    let [n_v, n_k, d] = [VALUE_HEADS, KEY_HEADS, DIM].map(|size| size as c_int);
    let call = move |x: &[*mut c_void], stream: *mut c_void| {
        for layer in 0..LAYERS {
            let at = |buffer: usize, elements: usize| {
                x[buffer].cast::<f32>().wrapping_add(layer * elements)
            };
            // SAFETY: bench-kit passes live buffers of `LAYERS` times these sizes.
            let status = unsafe {
                step(
                    at(0, STATE),
                    at(1, KEYS),
                    at(2, KEYS),
                    at(3, VALUES),
                    at(4, VALUE_HEADS),
                    at(5, VALUE_HEADS),
                    at(6, VALUES),
                    n_v,
                    n_k,
                    d,
                    stream,
                )
            };
            if status != 0 {
                return status;
            }
        }
        0
    };
    Ok(Prepared {
        workspace_bytes: 0,
        call: Box::new(call),
    })
}
