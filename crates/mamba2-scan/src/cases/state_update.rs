//! The decode step: models' shapes, every option, slots, awkward sizes, hostile values.

use super::update_spec::*;
use crate::oracle::Dtype::{self, Bf16, F16, F32};
use parity::{Case, Instance, Tags};

const STATE_DIMS: [usize; 24] = [
    1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 29, 32, 33, 36, 63, 64, 96, 100, 127, 128, 129, 192, 256, 260,
];
const HEAD_DIMS: [usize; 9] = [1, 3, 5, 8, 19, 21, 31, 33, 64];
/// State and inputs.
const TYPES: [(&str, Dtype, Dtype); 6] = [
    ("f32-f32", F32, F32),
    ("f32-bf16", F32, Bf16),
    ("bf16-f32", Bf16, F32),
    ("bf16-bf16", Bf16, Bf16),
    ("f16-f32", F16, F32),
    ("f16-bf16", F16, Bf16),
];

/// Heads, groups, rows of a head, elements of a row, of layers that people run.
const MODELS: [(&str, [usize; 4]); 6] = [
    ("128x64x128-g8", [128, 8, 64, 128]),
    ("80x64x128-g1", [80, 1, 64, 128]),
    ("48x64x128-g1", [48, 1, 64, 128]),
    ("32x128x256-g2", [32, 2, 128, 256]),
    ("24x64x256-g1", [24, 1, 64, 256]),
    ("16x64x96-g4", [16, 4, 64, 96]),
];

fn models() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (name, [heads, groups, rows, n]) in MODELS {
        let spec = |batch: usize, kind: &str| {
            let id = format!("state-update-b{batch}-{name}{kind}");
            Spec::new(id, [batch, heads, groups, rows, n])
        };
        // What the bench measures.
        specs.push(spec(1, "").with(MODEL));
        specs.push(spec(8, "").with(MODEL));
        specs.push(spec(3, "-bf16").with(MODEL).types(Bf16, Bf16));
        specs.push(spec(2, "-f16-clamped").with(MODEL | CLAMP).types(F16, Bf16));
    }
    specs
}

fn sizes() -> Vec<Spec> {
    let mut specs = Vec::new();
    for n in STATE_DIMS {
        let id = |kind: &str| format!("update-n-{n}-{kind}");
        specs.push(Spec::new(id("f32"), [2, 2, 1, 5, n]).with(DIRECT | GATE | SOFTPLUS));
        specs.push(
            Spec::new(id("bf16"), [1, 2, 2, 9, n])
                .with(MODEL)
                .types(Bf16, Bf16),
        );
    }
    for n in [512, 1000, 1024] {
        specs.push(Spec::new(format!("update-n-{n}"), [1, 2, 1, 3, n]).with(MODEL));
    }
    for rows in HEAD_DIMS {
        let id = |n: usize| format!("update-rows-{rows}-of-{n}");
        for n in [64, 128, 256] {
            specs.push(Spec::new(id(n), [1, 2, 1, rows, n]).with(MODEL | DIRECT_PER_CHANNEL));
        }
        specs.push(Spec::new(id(6), [1, 3, 3, rows, 6]).with(MODEL | DT_PER_CHANNEL));
    }
    for (name, state, io) in TYPES {
        for n in [62, 64, 96, 128, 256] {
            let id = format!("update-{name}-{n}");
            specs.push(
                Spec::new(id, [2, 4, 2, 10, n])
                    .with(MODEL)
                    .types(state, io)
                    .sanitize(),
            );
        }
    }
    specs.push(Spec::new("update-no-sequence", [0, 4, 2, 8, 16]).with(MODEL));
    specs.push(Spec::new("update-no-sequence-of-a-pool", [0, 4, 2, 8, 16]).slots(3));
    specs.push(Spec::new("update-300-sequences", [300, 2, 1, 3, 8]).with(MODEL));
    specs.push(Spec::new("update-2100-sequences", [2100, 32, 1, 1, 4]).with(MODEL));
    specs.push(Spec::new("update-one-of-everything", [1, 1, 1, 1, 1]).with(MODEL));
    specs
}

/// Every combination of what may be there or not.
fn options() -> Vec<Spec> {
    let choices = [GATE, BIAS, SOFTPLUS, CLAMP, DT_PER_CHANNEL, A_LOG];
    let directs = [0, DIRECT, DIRECT | DIRECT_PER_CHANNEL];
    let mut specs = Vec::new();
    for (k, direct) in directs.into_iter().enumerate() {
        for bits in 0..1u32 << choices.len() {
            let flags = (0..choices.len())
                .filter(|i| bits >> i & 1 == 1)
                .fold(direct, |flags, i| flags | choices[i]);
            let id = format!("update-options-{k}-{bits:06b}");
            // All run on a GPU; one in seven is enough for the simulator.
            let batch = if (bits as usize + k * 64).is_multiple_of(7) {
                1
            } else {
                3
            };
            let rows = if batch == 1 { 6 } else { 90 };
            specs.push(Spec::new(id, [batch, 2, 1, rows, 40]).with(flags));
        }
    }
    specs.push(
        Spec::new("update-dt-bf16", [2, 3, 1, 7, 64])
            .with(MODEL | DT_BF16)
            .sanitize(),
    );
    specs.push(
        Spec::new("update-dt-bf16-per-channel", [2, 3, 1, 7, 64])
            .with(MODEL | DT_BF16 | DT_PER_CHANNEL)
            .types(F32, Bf16),
    );
    specs
}

fn groups() -> Vec<Spec> {
    // Heads 0 and 1 are of group 0: h / (H / G), never h % G.
    let one_group = |name: &str, live: usize| {
        Spec::new(format!("update-{name}"), [1, 4, 2, 6, 64])
            .sanitize()
            .edit(move |data| {
                for (i, b) in data.b.iter_mut().enumerate() {
                    *b = f32::from(u8::from(i / 64 == live));
                }
                data.state.fill(0.0);
            })
    };
    let mut specs = vec![
        one_group("only-the-first-groups-heads-move", 0),
        one_group("only-the-second-groups-heads-move", 1),
    ];
    for (heads, groups) in [(1, 1), (6, 2), (6, 3), (8, 8), (24, 4)] {
        let id = format!("update-{heads}-heads-of-{groups}-groups");
        specs.push(Spec::new(id, [2, heads, groups, 4, 36]).with(MODEL));
    }
    specs
}

fn slots() -> Vec<Spec> {
    let pool = |name: &str, n: usize| {
        Spec::new(format!("update-slots-{name}-{n}"), [4, 2, 1, 6, n])
            .slots(7)
            .with(MODEL | STATUS)
            .sanitize()
    };
    let mut specs = Vec::new();
    for n in [20, 64, 128] {
        let given = move |name: &str, slots_in: Option<[i32; 4]>, slots_out: Option<[i32; 4]>| {
            pool(name, n).edit(move |data| {
                data.slots_in = slots_in.map(Vec::from);
                data.slots_out = slots_out.map(Vec::from);
            })
        };
        specs.extend([
            given("in-place", Some([5, 0, 6, 2]), None),
            given(
                "in-place-both-given",
                Some([5, 0, 6, 2]),
                Some([5, 0, 6, 2]),
            ),
            given("pads", Some([-1, 3, -1, 0]), None),
            given(
                "pads-both-given",
                Some([-1, 3, -7, 0]),
                Some([-1, 3, i32::MIN, 0]),
            ),
            given("zero-starts", Some([-1, 3, -1, 1]), Some([4, 3, 0, 1])),
            given("not-stored", Some([5, 0, 6, 2]), Some([5, -1, -1, 2])),
            given("moved", Some([5, 0, 6, 2]), Some([1, 4, 3, 2])),
            given("shared-start", Some([5, 5, 5, 5]), Some([0, 1, 2, 3])),
            given("out-alone", None, Some([4, 5, 6, -1])),
            given("in-beyond-the-pool", Some([0, 7, 1, 2]), Some([0, 3, 1, 2])),
            given("in-far-beyond-the-pool", Some([0, 1, i32::MAX, 2]), None),
            given(
                "out-beyond-the-pool",
                Some([0, 6, 1, 2]),
                Some([0, 6, 1, 7]),
            ),
        ]);
    }
    specs.push(
        pool("beyond-the-pool-with-the-status-set", 32).edit(|data| {
            data.slots_in = Some(vec![0, 9, 1, 2]);
            data.status = 0x0200_0003;
        }),
    );
    specs.push(
        Spec::new(
            "update-slots-beyond-the-pool-without-a-status",
            [2, 2, 1, 5, 32],
        )
        .edit(|data| {
            data.slots_in = Some(vec![2, 0]);
        }),
    );
    specs.push(
        Spec::new("update-slots-of-an-empty-pool", [2, 2, 1, 5, 32])
            .slots(0)
            .with(STATUS)
            .edit(|data| data.slots_in = Some(vec![-1, -1])),
    );
    // Nothing of a pad is read: not-a-numbers in it show nowhere.
    specs.push(pool("pads-of-nans", 64).edit(|data| {
        data.slots_in = Some(vec![2, -1, 4, -1]);
        let half = data.x.len() / 4;
        data.x[half..2 * half].fill(f32::NAN);
    }));
    specs
}

fn layouts() -> Vec<Spec> {
    let spec = |name: &str, n: usize, gaps| {
        Spec::new(format!("update-gaps-{name}-{n}"), [3, 2, 1, 6, n])
            .with(MODEL)
            .gaps(gaps)
            .sanitize()
    };
    let mut specs = Vec::new();
    for n in [36, 64, 128, 256] {
        specs.push(spec("of-four", n, [4, 8, 4, 12, 16, 4, 8]));
        specs.push(spec("odd", n, [5, 1, 3, 7, 9, 1, 3]));
        specs.push(spec("of-the-state", n, [1, 0, 0, 0, 0, 0, 0]));
        specs.push(spec("of-b", n, [0, 0, 0, 2, 0, 0, 0]));
        specs.push(spec("of-four-bf16", n, [4, 8, 4, 12, 16, 4, 8]).types(Bf16, Bf16));
    }
    specs
}

fn values() -> Vec<Spec> {
    let spec = |name: &str| {
        Spec::new(format!("update-values-{name}"), [1, 6, 1, 5, 36]).with(MODEL | STATUS)
    };
    let mut specs = Vec::new();
    // Around softplus' threshold, its far ends, where exp overflows and where it vanishes.
    for (name, values) in [
        (
            "steps-near-the-threshold",
            [20.0, 20.000_002, 19.99, 25.0, 88.0, 89.0],
        ),
        (
            "steps-far-below",
            [-16.6, -20.0, -88.0, -104.0, -1e4, f32::NEG_INFINITY],
        ),
        (
            "steps-far-above",
            [104.0, 1e3, 1e10, f32::MAX, f32::INFINITY, 30.0],
        ),
        (
            "steps-not-a-number",
            [f32::NAN, 0.0, -0.0, 1.0, f32::NAN, 2.0],
        ),
    ] {
        let edit = move |data: &mut Data| {
            data.dt.copy_from_slice(&values);
            data.dt_bias.fill(0.0);
        };
        specs.push(spec(name).edit(edit));
        specs.push(
            spec(&format!("{name}-clamped"))
                .clamp([0.001, 0.1])
                .edit(edit),
        );
        let plain = Spec::new(format!("update-values-{name}-plain"), [1, 6, 1, 5, 36]);
        specs.push(plain.with(DIRECT).edit(edit));
    }
    for (name, clamp) in [
        ("one-value", [0.05, 0.05]),
        ("no-upper-end", [0.01, f32::INFINITY]),
        ("all", [f32::NEG_INFINITY, f32::INFINITY]),
        ("zero", [0.0, 0.0]),
        ("negative", [-0.5, -0.1]),
    ] {
        specs.push(spec(&format!("clamp-{name}")).clamp(clamp));
    }
    for (name, a) in [
        ("fast-decay", -1e4),
        ("no-decay", 0.0),
        ("growth", 5.0),
        ("overflowing-growth", 1e4),
        ("infinite-decay", f32::NEG_INFINITY),
        ("nan-decay", f32::NAN),
    ] {
        let id = format!("update-values-{name}");
        specs.push(
            Spec::new(id, [2, 2, 1, 5, 64])
                .with(SOFTPLUS)
                .edit(move |data| {
                    data.a.fill(a);
                    data.slots_in = Some(vec![-1, 0]);
                    data.slots_out = Some(vec![1, 0]);
                }),
        );
    }
    for (name, z) in [
        ("gates-saturated", [-88.0, -104.0, 88.0, 104.0, -120.0]),
        (
            "gates-infinite",
            [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0],
        ),
    ] {
        specs.push(spec(name).edit(move |data| data.z[..5].copy_from_slice(&z)));
    }
    for (name, value) in [
        ("nan", f32::NAN),
        ("infinite", f32::INFINITY),
        ("huge", 3e38),
    ] {
        specs.push(spec(&format!("state-{name}")).edit(move |data| data.state[40] = value));
        specs.push(spec(&format!("x-{name}")).edit(move |data| data.x[3] = value));
        specs.push(spec(&format!("b-{name}")).edit(move |data| data.b[35] = value));
        specs.push(spec(&format!("c-{name}")).edit(move |data| data.c[0] = value));
    }
    specs.push(spec("state-subnormal").edit(|data| {
        for s in &mut data.state {
            *s *= 1e-39;
        }
        data.b.fill(0.0);
    }));
    specs.push(
        Spec::new("update-values-f16-state-overflows", [1, 2, 1, 4, 64])
            .types(F16, F32)
            .with(DIRECT)
            .edit(|data| {
                for s in &mut data.state {
                    *s *= 40_000.0;
                }
                data.a.fill(0.7);
                data.dt.fill(1.0);
            }),
    );
    specs.push(
        Spec::new(
            "update-values-bf16-state-keeps-its-sum-in-f32",
            [1, 2, 1, 8, 128],
        )
        .types(Bf16, F32)
        .sanitize(),
    );
    specs
}

/// Slots so far apart that the second lies beyond 2^31 elements and 2^32 bytes of the first.
fn far() -> Case {
    const STRIDE: usize = (1 << 31) + 8;
    let spec = Spec::new("update-far-slots", [2, 2, 1, 3, 36]).types(Bf16, F32);
    let of_slot = 2 * 3 * 36;
    Case::exact(spec.id.clone(), "m2_state_update", move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation.seed));
        let slots = vec![0..of_slot, STRIDE..STRIDE + of_slot];
        buffers[0] = buffers[0].clone().islands(STRIDE + of_slot, slots);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            params.slot_stride = STRIDE as i64;
            update(library, &params, stream)
        })
    })
    .tagged(Tags::LARGE)
    .on_paths(&PATHS)
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = models();
    specs.extend(sizes());
    specs.extend(options());
    specs.extend(groups());
    specs.extend(slots());
    specs.extend(layouts());
    specs.extend(values());
    let mut cases: Vec<Case> = specs.into_iter().map(Spec::case).collect();
    cases.push(far());
    cases
}
