//! The fast twins of the gated scan: within the bounds of the f64 formula, in each precision.

use super::refusals::*;
use super::scan_spec::*;
use crate::ffi::*;
use crate::oracle::reference::{self, Near, Precision};
use crate::oracle::temporal_scan::{Readout, Upstream};
use parity::{Buffer, Case, Class, Element, Instance, Library, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr::null;

const FORWARD: &str = "m2_temporal_scan_fast_f32";
const BACKWARD: &str = "m2_scan_backward_fast_f32";

fn enumerator(precision: Precision) -> i32 {
    let precision = match precision {
        Precision::ThreeTf32 => M2_PRECISION_3XTF32,
        Precision::Tf32 => M2_PRECISION_TF32,
    };
    precision as i32
}

fn apart(values: &[Near]) -> (Vec<f64>, Vec<f64>) {
    values.iter().map(|x| (x.value, x.bound)).unzip()
}

fn near(name: &'static str, values: &[Near]) -> Buffer {
    let (reference, bound) = apart(values);
    Buffer::output_bound(name, Element::F32, reference, bound)
}

fn forward_buffers(spec: &Spec, precision: Precision, seed: u64) -> Vec<Bound> {
    let data = spec.draw(seed);
    let scanned = reference::temporal_scan(&spec.problem(&data), precision);
    let mut bound = spec.inputs(&data);
    if spec.has(OUT) {
        bound.push(Bound(near("out", &scanned.out), |p, x| p.out = x));
    }
    if spec.has(FINAL) {
        let buffer = near("final_state", &scanned.final_state);
        bound.push(Bound(buffer, |p, x| p.final_state = x));
    }
    bound
}

fn backward_buffers(spec: &Spec, precision: Precision, seed: u64) -> Vec<Bound> {
    let data = spec.draw(seed);
    let upstream = Upstream {
        out: &data.d_out,
        final_state: spec.has(D_FINAL).then_some(&data.d_final[..]),
    };
    let gradients = reference::gradients(&spec.problem(&data), &upstream, precision);
    let mut bound = spec.backward_inputs(&data);
    let sums = gradients.weights.iter().chain(&gradients.biases);
    for (i, ((name, set), sums)) in GRADIENT_SETS.into_iter().zip(sums).enumerate() {
        if spec.has(D_W_A << i) {
            let before = &data.before[i];
            let (values, bounds) = apart(&reference::accumulated(spec.beta, before, sums));
            bound.push(Bound(
                Buffer::in_out_bound(name, before, values, bounds),
                set,
            ));
        }
    }
    let outputs: [(u32, &'static str, &[Near], Set); 3] = [
        (D_HISTORY, "d_history", &gradients.history, |p, x| {
            p.d_history = x
        }),
        (D_CURRENT, "d_current", &gradients.current, |p, x| {
            p.d_current = x
        }),
        (D_X0, "d_x0", &gradients.initial, |p, x| p.d_x0 = x),
    ];
    for (flag, name, values, set) in outputs {
        if spec.has(flag) {
            bound.push(Bound(near(name, values), set));
        }
    }
    let workspace = Buffer::workspace("workspace", spec.workspace_bytes());
    bound.push(Bound(workspace, |p, x| p.workspace = x));
    bound
}

fn call_forward(
    library: &Library,
    params: *const m2_temporal_scan_params,
    precision: i32,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<m2_temporal_scan_fast_f32_fn>(FORWARD) }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { scan(params, precision, stream) })
}

fn call_backward(
    library: &Library,
    params: *const m2_scan_backward_params,
    precision: i32,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<m2_scan_backward_fast_f32_fn>(BACKWARD) }?;
    // SAFETY: as above.
    Ok(unsafe { scan(params, precision, stream) })
}

/// The simulator takes a multiplication's lanes one by one: it runs what is asked for by name, and of the others those of
/// `SIMULATED`.
fn tags(spec: &Spec) -> Tags {
    const SIMULATED: [&str; 22] = [
        "fast-forward-tile-add-0-samples",
        "fast-backward-tile-add-0-samples",
        "-tile-add-7-samples",
        "fast-forward-context-5-samples",
        "fast-forward-sum-5-samples",
        "-sum-9-states",
        "-sum-17-states",
        "fast-backward-3-steps",
        "fast-backward-7-steps",
        "fast-forward-1-steps",
        "fast-forward-9-steps",
        "-33-features",
        "fast-backward-100-features",
        "fast-backward-gaps-odd",
        "fast-forward-gaps-of-four",
        "-gates-7",
        "fast-backward-gates-10",
        "fast-backward-values-nan-in-history",
        "fast-backward-values-nan-in-current",
        "fast-forward-values-nan-in-w-b",
        "fast-forward-values-cancelling",
        "fast-backward-values-small-products",
    ];
    let id = &spec.id;
    // Once is enough for what takes longest.
    let long = id.starts_with("tf32-") && id.contains("00-samples");
    let simulated = spec.tags.contains(Tags::SIMULATE) && !long
        || SIMULATED.iter().any(|end| id.ends_with(end))
        || id.contains("fast-") && id.contains("-0000-")
        || id.ends_with("fast-backward-options-gradient-6-alone")
        || id.ends_with("fast-backward-options-all-gradients-but-7");
    let rest = [Tags::SANITIZE, Tags::LARGE]
        .into_iter()
        .filter(|tag| spec.tags().contains(*tag))
        .fold(Tags::NONE, |tags, tag| tags | tag);
    if simulated {
        rest | Tags::SIMULATE
    } else {
        rest
    }
}

fn forward_case(spec: Spec, precision: Precision) -> Case {
    let (id, tags) = (spec.id.clone(), tags(&spec));
    Case::exact(id, FORWARD, move |variation: &Variation| {
        let (buffers, sets) = split(forward_buffers(&spec, precision, variation.seed));
        let spec = spec.clone();
        let nodes = usize::from(spec.sizes[0] > 0);
        Instance::new(buffers, move |library, pointers, stream| {
            let params = spec.forward_params(&filled(&sets, pointers));
            call_forward(library, &params, enumerator(precision), stream)
        })
        .nodes(nodes)
    })
    .of_class(Class::Fast)
    .tagged(tags)
}

fn backward_case(spec: Spec, precision: Precision) -> Case {
    let (id, tags) = (spec.id.clone(), tags(&spec));
    let mut paths = vec![STAGED, AUTOMATIC];
    if spec.fuses() {
        paths.push(FUSED);
    }
    Case::exact(id, BACKWARD, move |variation: &Variation| {
        let (buffers, sets) = split(backward_buffers(&spec, precision, variation.seed));
        let (spec, path) = (spec.clone(), variation.path);
        let nodes = spec.backward_nodes(path);
        Instance::new(buffers, move |library, pointers, stream| {
            let params = spec.backward_params(path, &filled(&sets, pointers));
            call_backward(library, &params, enumerator(precision), stream)
        })
        .nodes(nodes)
    })
    .of_class(Class::Fast)
    .tagged(tags)
    .on_paths(&paths)
}

/// Every scan, and what its backward call is asked for.
fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    specs.push(Spec::new("8192x8x256x16", [8192, 8, 256, 16]).with(OUT | D_WEIGHTS));
    for batch in [8191, 8193] {
        let spec = Spec::new(format!("{batch}x8x256x16"), [batch, 8, 256, 16]);
        specs.push(spec.with(EVERYTHING));
    }
    for (name, readout) in READOUTS {
        for batch in [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 65] {
            let spec = Spec::new(format!("{name}-{batch}-samples"), [batch, 3, 12, 5]);
            specs.push(spec.readout(readout).with(EVERYTHING));
        }
        for states in [1, 3, 4, 8, 9, 15, 16, 17, 24, 32, 64] {
            let spec = Spec::new(format!("{name}-{states}-states"), [6, 2, 20, states]);
            specs.push(spec.readout(readout).with(EVERYTHING).beta(0.5));
        }
    }
    for steps in [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33, 64,
    ] {
        let spec = Spec::new(format!("{steps}-steps"), [5, steps, 8, 3]);
        specs.push(spec.with(EVERYTHING).sanitize());
    }
    for features in [
        1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 36, 63, 64, 65, 100, 127, 192, 255, 256, 257, 1024,
    ] {
        let spec = Spec::new(format!("{features}-features"), [3, 8, features, 16]);
        specs.push(spec.with(EVERYTHING).readout(Readout::TileAdd));
    }
    // Every warp, step and state of the tuned kernels, and more tiles than are in shared memory.
    specs.push(
        Spec::new("2x8x256x16", [2, 8, 256, 16])
            .with(EVERYTHING)
            .simulate(),
    );
    specs.push(Spec::new("100x8x256x16", [100, 8, 256, 16]).with(EVERYTHING));
    specs.push(Spec::new("4000x8x64x16", [4000, 8, 64, 16]).with(EVERYTHING));
    specs.push(
        Spec::new("2100-samples", [2100, 1, 4, 3])
            .with(EVERYTHING)
            .beta(-1.0)
            .simulate(),
    );
    specs.push(Spec::new("70000-samples", [70_000, 2, 8, 4]).with(EVERYTHING));
    specs.push(
        Spec::new("4300-samples-tile-add", [4300, 1, 3, 2])
            .with(OUT)
            .readout(Readout::TileAdd)
            .simulate(),
    );
    specs.extend(with_gaps(6));
    specs.extend(with_gates(5));
    let values = [("nan", f32::NAN), ("subnormal", 1e-40), ("large", 1e15)];
    specs.extend(with_values(&values));
    // What a multiplication of big parts alone leaves out: big parts cancel, small ones do not.
    specs.push(values_spec("cancelling").edit(|data| {
        for row in data.history.chunks_mut(8) {
            for pair in row.chunks_mut(2) {
                (pair[0], pair[1]) = (1.0 + 3e-4, -1.0);
            }
        }
        for weights in &mut data.weights {
            for pair in weights.chunks_mut(10) {
                let (low, high) = pair.split_at_mut(5);
                high.copy_from_slice(low);
            }
        }
    }));
    specs
}

/// Every combination of optional inputs, and of gradients asked for.
fn options() -> (Vec<Spec>, Vec<Spec>) {
    let mut forward = Vec::new();
    let mut backward = Vec::new();
    let inputs = [BIAS_A, BIAS_B, BIAS_C, X0];
    for (name, readout) in READOUTS {
        for bits in 0..16u32 {
            let flags = (0..4)
                .filter(|i| bits >> i & 1 == 1)
                .fold(0, |flags, i| flags | inputs[i]);
            let spec = |what: &str| {
                let id = format!("options-{name}-{bits:04b}-{what}");
                Spec::new(id, [3, 2, 5, 3]).readout(readout)
            };
            forward.push(spec("out").with(flags | OUT));
            forward.push(spec("both").with(flags | OUT | FINAL));
            forward.push(spec("final").with(flags | FINAL));
            backward.push(spec("weights").with(flags | D_WEIGHTS));
            backward.push(spec("inputs").with(flags | D_INPUTS | D_FINAL));
        }
    }
    let outputs = [
        D_W_A, D_W_B, D_W_C, D_BIAS_A, D_BIAS_B, D_BIAS_C, D_HISTORY, D_CURRENT, D_X0,
    ];
    for (i, output) in outputs.into_iter().enumerate() {
        let id = format!("options-gradient-{i}-alone");
        backward.push(Spec::new(id, [5, 3, 6, 5]).with(BIASES | X0 | output));
        let id = format!("options-all-gradients-but-{i}");
        let others = (D_PARAMETERS | D_INPUTS) & !output;
        backward.push(Spec::new(id, [5, 3, 6, 5]).with(others).beta(2.0));
    }
    (forward, backward)
}

type AlterForward = fn(&mut m2_temporal_scan_params, &mut i32);
type AlterBackward = fn(&mut m2_scan_backward_params, &mut i32);

fn forward_refusal(id: &str, code: u32, alter: AlterForward) -> Case {
    let id = format!("fast-forward-refuses-{id}");
    let spec = Spec::new(id.clone(), [3, 2, 8, 4]).with(EVERYTHING);
    Case::exact(id, FORWARD, move |variation| {
        let (mut buffers, sets) = split(spec.forward_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.forward_params(&filled(&sets, pointers));
            let mut precision = M2_PRECISION_3XTF32 as i32;
            alter(&mut params, &mut precision);
            call_forward(library, &params, precision, stream)
        })
        .refused(code as c_int)
    })
    .of_class(Class::Fast)
    .tagged(Tags::SIMULATE)
}

fn backward_refusal(id: &str, code: u32, alter: AlterBackward) -> Case {
    let id = format!("fast-backward-refuses-{id}");
    let spec = Spec::new(id.clone(), [3, 2, 8, 4]).with(EVERYTHING);
    Case::exact(id, BACKWARD, move |variation| {
        let (mut buffers, sets) = split(spec.backward_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.backward_params(0, &filled(&sets, pointers));
            let mut precision = M2_PRECISION_3XTF32 as i32;
            alter(&mut params, &mut precision);
            call_backward(library, &params, precision, stream)
        })
        .refused(code as c_int)
    })
    .of_class(Class::Fast)
    .tagged(Tags::SIMULATE)
}

/// The checks are the exact entries'; here is one of each kind, and the precision's.
fn refusals() -> Vec<Case> {
    const BAD_WORKSPACE: u32 = 9000;
    fn off<T>(pointer: *const T) -> *const T {
        pointer.wrapping_byte_add(1)
    }
    let forward: [(&str, u32, AlterForward); 15] = [
        ("precision-2", BAD_ENUM + M2_ARG_precision, |_, x| *x = 2),
        ("precision-minus-1", BAD_ENUM + M2_ARG_precision, |_, x| {
            *x = -1
        }),
        ("struct-size-0", BAD_STRUCT + M2_ARG_struct_size, |p, _| {
            p.struct_size = 0
        }),
        ("readout-3", BAD_ENUM + M2_ARG_readout, |p, _| p.readout = 3),
        ("batch-minus-1", BAD_SIZE + M2_ARG_batch, |p, _| {
            p.batch = -1
        }),
        ("steps-0", BAD_SIZE + M2_ARG_steps, |p, _| p.steps = 0),
        ("steps-65", UNSUPPORTED + M2_ARG_steps, |p, _| p.steps = 65),
        ("features-1025", UNSUPPORTED + M2_ARG_features, |p, _| {
            p.features = 1025
        }),
        ("states-65", UNSUPPORTED + M2_ARG_states, |p, _| {
            p.states = 65
        }),
        ("step-stride-7", BAD_STRIDE + M2_ARG_step_stride, |p, _| {
            p.step_stride = 7
        }),
        ("null-history", NULL_POINTER + M2_ARG_history, |p, _| {
            p.history = null()
        }),
        ("null-w-c", NULL_POINTER + M2_ARG_w_c, |p, _| p.w_c = null()),
        ("misaligned-x0", MISALIGNED + M2_ARG_x0, |p, _| {
            p.x0 = off(p.x0)
        }),
        ("no-output", NULL_POINTER + M2_ARG_out, |p, _| {
            p.out = null::<f32>().cast_mut();
            p.final_state = null::<f32>().cast_mut();
        }),
        (
            "final-state-on-out",
            OVERLAP + M2_ARG_final_state,
            |p, _| p.final_state = p.out,
        ),
    ];
    let backward: [(&str, u32, AlterBackward); 13] = [
        ("precision-2", BAD_ENUM + M2_ARG_precision, |_, x| *x = 2),
        ("precision-minus-1", BAD_ENUM + M2_ARG_precision, |_, x| {
            *x = -1
        }),
        ("struct-size-0", BAD_STRUCT + M2_ARG_struct_size, |p, _| {
            p.struct_size = 0
        }),
        ("path-3", BAD_ENUM + M2_ARG_path, |p, _| p.path = 3),
        ("beta-nan", BAD_VALUE + M2_ARG_beta, |p, _| {
            p.beta = f32::NAN
        }),
        ("fused-of-9-steps", UNSUPPORTED + M2_ARG_path, |p, _| {
            p.path = M2_BACKWARD_FUSED as i32;
            p.batch = 0;
            p.steps = 9;
        }),
        ("states-65", UNSUPPORTED + M2_ARG_states, |p, _| {
            p.states = 65
        }),
        ("null-d-out", NULL_POINTER + M2_ARG_d_out, |p, _| {
            p.d_out = null()
        }),
        ("misaligned-d-out", MISALIGNED + M2_ARG_d_out, |p, _| {
            p.d_out = off(p.d_out)
        }),
        ("d-w-b-on-d-w-a", OVERLAP + M2_ARG_d_w_b, |p, _| {
            p.d_w_b = p.d_w_a
        }),
        ("no-workspace", BAD_WORKSPACE + M2_ARG_workspace, |p, _| {
            p.workspace = null::<c_void>().cast_mut();
            p.workspace_bytes = 0;
        }),
        (
            "short-workspace",
            BAD_WORKSPACE + M2_ARG_workspace_bytes,
            |p, _| p.workspace_bytes = 64,
        ),
        ("no-output", NULL_POINTER + M2_ARG_d_w_a, |p, _| {
            let none = null::<f32>().cast_mut();
            (p.d_w_a, p.d_w_b, p.d_w_c) = (none, none, none);
            (p.d_bias_a, p.d_bias_b, p.d_bias_c) = (none, none, none);
            (p.d_history, p.d_current, p.d_x0) = (none, none, none);
        }),
    ];
    let mut cases = Vec::new();
    for (id, code, alter) in forward {
        cases.push(forward_refusal(id, code, alter));
    }
    for (id, code, alter) in backward {
        cases.push(backward_refusal(id, code, alter));
    }
    for (entry, id) in [
        (FORWARD, "fast-forward-refuses-null-params"),
        (BACKWARD, "fast-backward-refuses-null-params"),
    ] {
        let case = Case::exact(id, entry, move |_| {
            let out = Buffer::output_unwritten::<f32>("out", 4);
            Instance::new(vec![out], move |library, _, stream| {
                if entry == FORWARD {
                    call_forward(library, null(), 0, stream)
                } else {
                    call_backward(library, null(), 0, stream)
                }
            })
            .refused((NULL_POINTER + M2_ARG_params) as c_int)
        });
        cases.push(case.of_class(Class::Fast));
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, precision) in [("fast", Precision::ThreeTf32), ("tf32", Precision::Tf32)] {
        let prefixed = |spec: &Spec, direction: &str| {
            let mut spec = spec.clone();
            spec.id.insert_str(0, &format!("{name}-{direction}-"));
            spec
        };
        // What is optional does not depend on how a product is made.
        if precision == Precision::ThreeTf32 {
            let (forward, backward) = options();
            for spec in &forward {
                cases.push(forward_case(prefixed(spec, "forward"), precision));
            }
            for spec in &backward {
                cases.push(backward_case(prefixed(spec, "backward"), precision));
            }
        }
        let specs = specs().into_iter().filter(|spec| {
            let twice = ["context-", "sum-"].iter().any(|x| spec.id.starts_with(x));
            precision == Precision::ThreeTf32 || !twice
        });
        for spec in specs {
            cases.push(forward_case(prefixed(&spec, "forward"), precision));
            if spec.flags == OUT {
                continue;
            }
            cases.push(backward_case(prefixed(&spec, "backward"), precision));
            if spec.id == "8192x8x256x16" {
                let full = prefixed(&spec, "backward-full");
                let full = full.with(D_WEIGHTS | D_HISTORY | D_CURRENT);
                cases.push(backward_case(full, precision));
            }
        }
    }
    cases.extend(refusals());
    cases
}
