//! The gated scan: the shape it was made for, every size around its tiles, options, saturated gates.

use super::scan_spec::*;
use crate::oracle::temporal_scan::Readout;
use parity::{Case, Instance, Tags};

const STEPS: [usize; 19] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33, 64,
];
const STATES: [usize; 10] = [1, 3, 4, 15, 16, 17, 24, 32, 33, 64];
const FEATURES: [usize; 14] = [1, 2, 3, 4, 5, 31, 32, 33, 36, 64, 100, 127, 256, 260];
const BATCHES: [usize; 8] = [0, 1, 2, 7, 8, 9, 63, 65];

/// Every scan, and what its backward call is asked for.
fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    // The shape of the replaced kernels, and samples that fill no tile.
    specs.push(Spec::new("8192x8x256x16", [8192, 8, 256, 16]).with(OUT | D_WEIGHTS));
    for batch in [8191, 8193] {
        let spec = Spec::new(format!("{batch}x8x256x16"), [batch, 8, 256, 16]);
        specs.push(spec.with(EVERYTHING));
    }
    for (name, readout) in READOUTS {
        let id = |what: &str| format!("{name}-{what}");
        for batch in BATCHES {
            let sizes = [batch, 3, 12, 5];
            let spec = Spec::new(id(&format!("{batch}-samples")), sizes).readout(readout);
            specs.push(spec.with(EVERYTHING));
        }
        for states in STATES {
            let spec = Spec::new(id(&format!("{states}-states")), [9, 2, 20, states]);
            specs.push(spec.readout(readout).with(EVERYTHING).beta(0.5));
        }
    }
    for steps in STEPS {
        let spec = Spec::new(format!("{steps}-steps"), [5, steps, 8, 3]);
        specs.push(spec.with(EVERYTHING).sanitize());
        let spec = Spec::new(format!("{steps}-steps-of-18-states"), [3, steps, 6, 18]);
        specs.push(spec.with(OUT | D_PARAMETERS | D_INPUTS));
    }
    for features in FEATURES {
        let spec = Spec::new(format!("{features}-features"), [10, 2, features, 4]);
        specs.push(spec.with(EVERYTHING).readout(Readout::TileAdd));
        let spec = Spec::new(format!("{features}-features-of-seed"), [9, 8, features, 16]);
        specs.push(spec.with(OUT | D_PARAMETERS));
    }
    specs.push(Spec::new("1024-features-64-states", [9, 3, 1024, 64]).with(EVERYTHING));
    specs.push(
        Spec::new("1024-features-simulated", [2, 1, 1024, 16])
            .with(EVERYTHING)
            .simulate(),
    );
    specs.push(Spec::new("64-steps-64-states-1024-features", [40, 64, 1024, 64]).with(EVERYTHING));
    // Every warp, step and state of the kernel for the seed's sizes.
    specs.push(
        Spec::new("2x8x256x16", [2, 8, 256, 16])
            .with(EVERYTHING)
            .simulate(),
    );
    // More than 128 partial sums' worth of tiles, and a block's warps more than once.
    specs.push(Spec::new("1033-samples", [1033, 1, 2, 1]).with(EVERYTHING));
    specs.push(
        Spec::new("2100-samples", [2100, 1, 4, 3])
            .with(EVERYTHING)
            .beta(-1.0),
    );
    specs.push(Spec::new("70000-samples", [70_000, 2, 8, 4]).with(EVERYTHING));
    specs.push(
        Spec::new("8500-samples-tile-add", [8500, 1, 3, 2])
            .with(OUT)
            .readout(Readout::TileAdd)
            .simulate(),
    );
    specs.extend(with_gaps(10));
    specs.extend(with_gates(9));
    specs.extend(with_values(&[
        ("nan", f32::NAN),
        ("infinite", f32::INFINITY),
        ("huge", 3e38),
        ("subnormal", 1e-40),
    ]));
    specs
}

/// Every combination of optional inputs, and of gradients asked for.
fn options() -> (Vec<Spec>, Vec<Spec>) {
    let mut forward = Vec::new();
    let mut backward = Vec::new();
    let inputs = [BIAS_A, BIAS_B, BIAS_C, X0];
    let chosen = |bits: u32, of: &[u32]| {
        (0..of.len())
            .filter(|i| bits >> i & 1 == 1)
            .fold(0, |flags, i| flags | of[i])
    };
    for (name, readout) in READOUTS {
        for bits in 0..16 {
            let flags = chosen(bits, &inputs);
            let spec = |what: &str| {
                let id = format!("options-{name}-{bits:04b}-{what}");
                // All run on a GPU; a third is enough for the simulator.
                Spec::new(id, [3, 2, 5, 3])
                    .readout(readout)
                    .gpu_only(bits % 3 != 0)
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
        backward.push(Spec::new(id, [9, 3, 6, 5]).with(BIASES | X0 | output));
        let id = format!("options-all-gradients-but-{i}");
        let others = (D_PARAMETERS | D_INPUTS) & !output;
        backward.push(Spec::new(id, [9, 3, 6, 5]).with(others).beta(2.0));
    }
    (forward, backward)
}

/// Samples so far apart that the second lies beyond 2^31 elements of the first.
fn far() -> Case {
    const STRIDE: usize = 1 << 31;
    let spec = Spec::new("forward-far-samples", [2, 2, 36, 5]);
    let of_sample = 2 * 36;
    Case::exact(spec.id.clone(), "m2_temporal_scan_f32", move |variation| {
        let (mut buffers, sets) = split(spec.forward_buffers(variation.seed));
        let samples = vec![0..of_sample, STRIDE..STRIDE + of_sample];
        buffers[0] = buffers[0].clone().islands(STRIDE + of_sample, samples);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.forward_params(&filled(&sets, pointers));
            params.history_stride = STRIDE as i64;
            super::scan_spec::forward(library, &params, stream)
        })
    })
    .tagged(Tags::LARGE)
}

pub(super) fn cases() -> Vec<Case> {
    let prefixed = |spec: &Spec, prefix: &str| {
        let mut spec = spec.clone();
        spec.id.insert_str(0, &format!("{prefix}-"));
        spec
    };
    let (mut forward, mut backward) = options();
    for spec in &mut forward {
        spec.id.insert_str(0, "forward-");
    }
    for spec in &mut backward {
        spec.id.insert_str(0, "backward-");
    }
    for spec in specs() {
        forward.push(prefixed(&spec, "forward"));
        if spec.flags == OUT {
            continue;
        }
        let seed = spec.id == "8192x8x256x16";
        backward.push(prefixed(
            &spec,
            if seed { "backward-weights" } else { "backward" },
        ));
        if seed {
            backward.push(prefixed(&spec, "backward-full").with(D_WEIGHTS | D_HISTORY | D_CURRENT));
        }
    }
    let forward = forward.into_iter().map(Spec::forward_case);
    let backward = backward.into_iter().map(Spec::backward_case);
    forward.chain(backward).chain([far()]).collect()
}
