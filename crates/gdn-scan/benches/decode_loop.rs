//! Tokens per second of a decode loop: 48 layers, each the norm of a hidden state of 2048, the recurrence of 16/48 heads of
//! 128 and the norm of every head's output; 64 tokens in one graph, with the kernels of this crate and of rms-norm and with
//! the designs that they replace. Profiler times of one kernel overstate what a model gains; this is what is left when
//! launches follow each other and every layer's state comes from memory. The matrix products of a model are not in it.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use bench_kit::timing::Plan;
use bench_kit::{Bench, Gpu, Mode, Oracle, Prepared, Variant, Work, measure};
use gdn_scan::oracle::{self, Problem};
use gdn_scan::{HeadMap, ffi};
use parity::{Buffer, Class, Library, Random};
use rms_norm::oracle::Elements;

const LAYERS: usize = 48;
const TOKENS: usize = 64;
const KEY_HEADS: usize = 16;
const VALUE_HEADS: usize = 48;
const DIM: usize = 128;
const STATE: usize = VALUE_HEADS * DIM * DIM;
const KEYS: usize = KEY_HEADS * DIM;
const VALUES: usize = VALUE_HEADS * DIM;
const HIDDEN: usize = 2048;
const EPS: f32 = 1e-6;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dist = root.join("target/dist");
    let opened = Gpu::open(0).and_then(|gpu| {
        let step = Library::open(dist.join("gdn-scan/libgdn_scan.so"))?;
        let norm = Library::open(dist.join("rms-norm/librms_norm.so"))?;
        Ok((gpu, step, Arc::new(norm)))
    });
    let (gpu, library, norm) = match opened {
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
    match measure(&gpu, &library, "gdn", &decode_loop(&norm), Mode::Hot, &plan) {
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

/// One call is one token: every layer, each on its own state.
fn decode_loop(norm: &Arc<Library>) -> Bench {
    let variant = |entry: &'static str, replaced: bool| {
        let norm = norm.clone();
        move |library: &Library| token(library, entry, &norm, replaced)
    };
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
        kernel: Variant::kernel(variant("gdn_scan_step_f32", false)),
        others: vec![
            Variant::baseline("seed two pass", 0.0, variant("gdn_baseline_two_pass", true)),
            Variant::baseline(
                "seed four pass",
                0.0,
                variant("gdn_baseline_four_pass", true),
            ),
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
    let hidden = uniforms("hidden", HIDDEN, -2.0, 2.0);
    let hidden_gamma = uniforms("hidden gamma", HIDDEN, 0.5, 1.5);
    let head_gamma = uniforms("head gamma", DIM, 0.5, 1.5);
    let mut after = state.clone();
    let mut out = vec![0.0; LAYERS * VALUES];
    let mut normal = vec![0.0; LAYERS * HIDDEN];
    let mut heads = vec![0.0; LAYERS * VALUES];
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
        for layer in 0..LAYERS {
            let of = |all: &[f32], each: usize| all[layer * each..(layer + 1) * each].to_vec();
            let gamma = of(&hidden_gamma, HIDDEN);
            normal[layer * HIDDEN..][..HIDDEN]
                .copy_from_slice(&normalised(&of(&hidden, HIDDEN), &gamma));
            let gamma = of(&head_gamma, DIM);
            heads[layer * VALUES..][..VALUES]
                .copy_from_slice(&normalised(&of(&out, VALUES), &gamma));
        }
    }
    vec![
        Buffer::in_out("state", &state, &after),
        Buffer::input("q", &q),
        Buffer::input("k", &k),
        Buffer::input("v", &v),
        Buffer::input("g", &g),
        Buffer::input("beta", &beta),
        Buffer::output("out", &out),
        Buffer::input("hidden", &hidden),
        Buffer::input("hidden gamma", &hidden_gamma),
        Buffer::output("normal", &normal),
        Buffer::input("head gamma", &head_gamma),
        Buffer::output("heads", &heads),
    ]
}

/// Rows as long as gamma.
fn normalised(x: &[f32], gamma: &[f32]) -> Vec<f32> {
    let n = gamma.len();
    let rows = x.len() / n;
    let problem =
        rms_norm::oracle::Problem::packed(Elements::F32(x), Elements::F32(gamma), rows, n, EPS);
    (0..rows)
        .flat_map(|row| rms_norm::oracle::norm(&problem, row).y)
        .collect()
}

/// x, gamma, y of `rows` rows of `n` to a status.
type Norm = Box<dyn Fn([*mut f32; 3], usize, usize, *mut c_void) -> c_int>;

fn norm_entry(library: &Library, replaced: bool) -> parity::Result<Norm> {
    if replaced {
        // SAFETY: the entry has this prototype in its header.
        let norm =
            unsafe { library.function::<rms_norm::ffi::rms_baseline_f32_fn>("rms_baseline_f32")? };
        return Ok(Box::new(move |[x, gamma, y], rows, n, stream| {
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { norm(x, gamma, y, rows as i64, n as i64, EPS, stream) }
        }));
    }
    // SAFETY: the entry has this prototype in its header.
    let norm = unsafe { library.function::<rms_norm::ffi::rms_norm_f32_fn>("rms_norm_f32")? };
    Ok(Box::new(move |[x, gamma, y], rows, n, stream| {
        // SAFETY: bench-kit passes live buffers of these sizes.
        unsafe { norm(x, gamma, y, rows as i64, n as i64, 0, 0, EPS, stream) }
    }))
}

fn token(
    library: &Library,
    entry: &'static str,
    norms: &Library,
    replaced: bool,
) -> parity::Result<Prepared> {
    let norm = norm_entry(norms, replaced)?;
    // SAFETY: the three entries have this one prototype in the header.
    let step = unsafe { library.function::<ffi::gdn_scan_step_f32_fn>(entry)? };
    let [n_v, n_k, d] = [VALUE_HEADS, KEY_HEADS, DIM].map(|size| size as c_int);
    let call = move |x: &[*mut c_void], stream: *mut c_void| {
        for layer in 0..LAYERS {
            let at = |buffer: usize, elements: usize| {
                x[buffer].cast::<f32>().wrapping_add(layer * elements)
            };
            let hidden = [at(7, HIDDEN), at(8, HIDDEN), at(9, HIDDEN)];
            let status = norm(hidden, 1, HIDDEN, stream);
            if status != 0 {
                return status;
            }
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
            let heads = [at(6, VALUES), at(10, DIM), at(11, VALUES)];
            let status = norm(heads, VALUE_HEADS, DIM, stream);
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
