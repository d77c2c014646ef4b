//! The seeds' shapes, every size around the kernels' tiles, every activation, options, values.

use super::spec::*;
use crate::oracle::Activation;
use parity::{Case, Tags};

const BATCHES: [usize; 12] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65];

/// Around quads, chains, narrow and wide products: I, H, O.
const SIZES: [[usize; 3]; 22] = [
    [1, 1, 1],
    [2, 3, 2],
    [3, 5, 7],
    [4, 4, 4],
    [5, 16, 17],
    [12, 24, 12],
    [13, 17, 16],
    [15, 31, 9],
    [16, 32, 32],
    [17, 33, 5],
    [31, 15, 33],
    [32, 40, 3],
    [33, 36, 31],
    [47, 64, 65],
    [48, 65, 64],
    [63, 66, 16],
    [64, 17, 127],
    [65, 100, 20],
    [100, 127, 33],
    [127, 128, 1],
    [128, 129, 4],
    [130, 20, 130],
];

fn activations() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (name, activation) in ACTIVATIONS {
        for kind in [Kind::Forward, Kind::Backward] {
            let direction = direction(kind);
            let id = |layer: &str| format!("{direction}-{name}-in-{layer}");
            let sizes = [9, 5, 9, 6];
            let first = Spec::new(kind, id("first"), sizes);
            specs.push(first.activations(activation, Activation::None).sanitize());
            let second = Spec::new(kind, id("second"), sizes);
            specs.push(second.activations(Activation::Tanh, activation));
            // At the corners: sums of exactly 0, of both signs of zero in the second layer.
            let corner = Spec::new(kind, id("corner"), [9, 5, 9, 6]);
            specs.push(
                corner
                    .activations(activation, activation)
                    .with(EVERYTHING & !B2)
                    .edit(|data| {
                        zero_sums(data);
                        data.parameters[2].fill(-0.0);
                    }),
            );
            // Far from 0, where derivatives vanish.
            let far = Spec::new(kind, id("far"), [9, 5, 9, 6]);
            specs.push(far.activations(activation, activation).edit(|data| {
                data.parameters[0].iter_mut().for_each(|w| *w *= 60.0);
            }));
        }
        let wide = format!("curiosity-{name}-in-second");
        let wide = Spec::new(Kind::Dense, wide, [5, 6, 34, 7]).extra(3);
        specs.push(wide.activations(Activation::Silu, activation));
    }
    specs
}

fn direction(kind: Kind) -> &'static str {
    match kind {
        Kind::Forward => "forward",
        Kind::Backward => "backward",
        Kind::Dense => "curiosity",
        Kind::Indexed => "curiosity-indexed",
        Kind::Risk => "risk",
    }
}

fn sizes() -> Vec<Spec> {
    let mut specs = Vec::new();
    for kind in [Kind::Forward, Kind::Backward] {
        let id = |what: &str| format!("{}-{what}", direction(kind));
        for batch in BATCHES {
            let spec = Spec::new(kind, id(&format!("{batch}-rows")), [batch, 6, 10, 5]);
            specs.push(
                spec.beta(0.5)
                    .activations(Activation::Silu, Activation::None),
            );
        }
        for (i, [inputs, hidden, outputs]) in SIZES.into_iter().enumerate() {
            let name = id(&format!("{inputs}-{hidden}-{outputs}"));
            let (_, second) = ACTIVATIONS[i % ACTIVATIONS.len()];
            let spec = Spec::new(kind, name, [3, inputs, hidden, outputs]);
            specs.push(spec.activations(Activation::Silu, second));
        }
        for (inputs, hidden, outputs) in
            [(512, 512, 512), (512, 3, 2), (7, 511, 300), (256, 128, 256)]
        {
            let name = id(&format!("{inputs}-{hidden}-{outputs}"));
            specs.push(Spec::new(kind, name, [70, inputs, hidden, outputs]));
        }
        // Rows in three tiles of one partial sum; a tile of 32 rows.
        let name = id("128-128-128");
        specs.push(Spec::new(kind, name, [200, 128, 128, 128]).residual());
        let name = id("wide-simulated");
        specs.push(
            Spec::new(kind, name, [33, 66, 72, 66])
                .residual()
                .simulate(),
        );
        for batch in [4097, 8191, 8193] {
            let name = id(&format!("12-24-12-{batch}-rows"));
            specs.push(Spec::new(kind, name, [batch, 12, 24, 12]));
        }
        // More partial sums than 128 units of rows, and more tiles than blocks.
        let name = id("70001-rows");
        specs.push(Spec::new(kind, name, [70_001, 5, 6, 3]));
        let spec = Spec::new(kind, id("8400-rows-simulated"), [8400, 1, 2, 1]);
        specs.push(if kind == Kind::Backward {
            spec.simulate()
        } else {
            spec
        });
        for (name, gaps) in [
            ("of-four", [4, 0, 8, 4]),
            ("odd", [1, 0, 3, 5]),
            ("of-x", [4, 0, 0, 0]),
            ("of-y", [0, 0, 1, 0]),
            ("of-dx", [0, 0, 0, 2]),
        ] {
            for (size, sizes) in [("small", [9, 8, 12, 8]), ("wide", [5, 8, 36, 8])] {
                let spec = Spec::new(kind, id(&format!("gaps-{name}-{size}")), sizes);
                specs.push(spec.gaps(gaps).residual().sanitize());
            }
        }
        for (name, sizes) in [("small", [9, 7, 12, 7]), ("wide", [9, 7, 40, 7])] {
            let spec = Spec::new(kind, id(&format!("residual-{name}")), sizes);
            specs.push(
                spec.residual()
                    .activations(Activation::Relu, Activation::Tanh),
            );
        }
    }
    specs
}

fn seeds() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (inputs, hidden, outputs) in [(12, 24, 12), (24, 24, 12)] {
        let sizes = [8192, inputs, hidden, outputs];
        let id = format!("q-denoise-backward-{inputs}-{hidden}-{outputs}");
        specs.push(Spec::new(Kind::Backward, id, sizes));
    }
    let curiosity = Spec::new(Kind::Dense, "curiosity-128-128-64", [8192, 64, 128, 64]);
    specs.push(curiosity.extra(64));
    let risk = Spec::new(Kind::Risk, "risk-forward-265-64-1", [8192, 256, 64, 1]);
    specs.push(risk.extra(8));
    specs
}

fn curiosity() -> Vec<Spec> {
    let mut specs = Vec::new();
    for kind in [Kind::Dense, Kind::Indexed] {
        let id = |what: &str| format!("{}-{what}", direction(kind));
        let new = |what: &str, sizes: [usize; 4]| Spec::new(kind, id(what), sizes);
        for batch in BATCHES {
            let spec = new(&format!("{batch}-rows"), [batch, 6, 10, 5]).extra(3);
            specs.push(spec.beta(-1.0));
        }
        for [state, action, hidden, outputs] in [
            [1, 1, 1, 1],
            [3, 2, 5, 3],
            [4, 4, 8, 4],
            [6, 5, 33, 6],
            [17, 3, 40, 17],
            [30, 1, 65, 34],
            [64, 8, 128, 64],
            [5, 40, 20, 5],
        ] {
            let spec = new(
                &format!("{state}-{action}-{hidden}-{outputs}"),
                [5, state, hidden, outputs],
            );
            specs.push(
                spec.extra(action)
                    .activations(Activation::GeluTanh, Activation::None)
                    .simulate(),
            );
        }
        specs.push(new("256-256-512-300", [70, 256, 512, 300]).extra(256));
        specs.push(
            new("gaps", [9, 8, 12, 8])
                .extra(4)
                .gaps([4, 4, 4, 0])
                .sanitize(),
        );
        specs.push(
            new("gaps-odd", [9, 8, 36, 8])
                .extra(4)
                .gaps([1, 3, 1, 0])
                .sanitize(),
        );
        for batch in [4097, 8191, 8193] {
            specs.push(new(&format!("8-3-16-8-{batch}-rows"), [batch, 8, 16, 8]).extra(3));
        }
        // Three tiles of a partial sum.
        specs.push(new("17000-rows", [17_000, 2, 3, 2]).extra(2));
        specs.push(
            new("8400-rows-simulated", [8400, 1, 2, 1])
                .extra(2)
                .simulate(),
        );
        for (name, flags) in [
            ("reward", REWARD),
            ("loss", LOSS),
            ("both", REWARD | LOSS),
            ("weights", D_W1 | D_W2),
            ("biases", D_B1 | D_B2 | BIASES),
            ("all-but-loss", EVERYTHING & !LOSS),
            ("all-but-reward", EVERYTHING & !REWARD),
        ] {
            let spec = new(&format!("options-{name}"), [5, 4, 6, 3]).extra(2);
            specs.push(spec.with(flags));
        }
        for (name, value) in [("nan", f32::NAN), ("infinite", f32::INFINITY)] {
            let spec = new(&format!("values-{name}-in-next"), [9, 4, 6, 3]).extra(2);
            specs.push(spec.edit(move |data| data.upstream[4] = value));
            let spec = new(&format!("values-{name}-in-state"), [9, 4, 6, 3]).extra(2);
            specs.push(spec.edit(move |data| data.x[5] = value));
        }
    }
    for (name, action) in [
        ("minus-1", -1),
        ("one-too-many", 3),
        ("least", i32::MIN),
        ("most", i32::MAX),
    ] {
        for (size, hidden) in [("small", 10), ("wide", 34)] {
            let id = format!("curiosity-indexed-{name}-{size}");
            let spec = Spec::new(Kind::Indexed, id, [9, 5, hidden, 4]).extra(3);
            specs.push(spec.edit(move |data| data.index[6] = action).sanitize());
        }
        let id = format!("curiosity-indexed-{name}-without-status");
        let spec = Spec::new(Kind::Indexed, id, [9, 5, 10, 4]).extra(3);
        let spec = spec.with(EVERYTHING & !STATUS);
        specs.push(spec.edit(move |data| data.index.fill(action)));
    }
    let one = Spec::new(
        Kind::Indexed,
        "curiosity-indexed-one-action",
        [70, 5, 10, 4],
    )
    .extra(3);
    specs.push(one.edit(|data| data.index.fill(1)));
    specs
}

fn risk() -> Vec<Spec> {
    let mut specs = Vec::new();
    let new = |what: &str, sizes: [usize; 4]| Spec::new(Kind::Risk, format!("risk-{what}"), sizes);
    for batch in BATCHES {
        specs.push(new(&format!("{batch}-rows"), [batch, 7, 6, 2]).extra(3));
    }
    for [h, isv, hidden, outputs] in [
        [1, 0, 1, 1],
        [4, 4, 8, 1],
        [8, 0, 20, 3],
        [16, 7, 36, 1],
        [33, 3, 64, 2],
        [256, 8, 64, 1],
        [64, 2, 128, 5],
    ] {
        let id = format!("{h}-{isv}-{hidden}-{outputs}");
        specs.push(new(&id, [3, h, hidden, outputs]).extra(isv).simulate());
    }
    specs.push(new("500-11-512-20", [70, 500, 512, 20]).extra(11));
    specs.push(
        new("gaps", [9, 8, 12, 4])
            .extra(4)
            .gaps([4, 4, 4, 0])
            .sanitize(),
    );
    specs.push(
        new("gaps-odd", [9, 8, 36, 4])
            .extra(4)
            .gaps([1, 3, 1, 0])
            .sanitize(),
    );
    for batch in [8191, 8193] {
        specs.push(new(&format!("20-3-16-1-{batch}-rows"), [batch, 20, 16, 1]).extra(3));
    }
    specs
}

fn options() -> Vec<Spec> {
    let mut specs = Vec::new();
    let outputs = [D_W1, D_B1, D_W2, D_B2, DX];
    for bits in 0..4u32 {
        for (what, flags) in [("parameters", D_PARAMETERS), ("dx", DX)] {
            let id = format!("backward-options-{bits:02b}-{what}");
            specs.push(Spec::new(Kind::Backward, id, [5, 6, 7, 3]).with(flags | bits));
        }
        let id = format!("forward-options-{bits:02b}");
        specs.push(Spec::new(Kind::Forward, id, [5, 6, 7, 3]).with(bits));
    }
    for (i, output) in outputs.into_iter().enumerate() {
        let id = format!("backward-gradient-{i}-alone");
        specs.push(Spec::new(Kind::Backward, id, [9, 6, 5, 3]).with(BIASES | output));
        let id = format!("backward-all-gradients-but-{i}");
        let spec = Spec::new(Kind::Backward, id, [9, 6, 5, 3]);
        specs.push(spec.with(EVERYTHING & !output).beta(2.0).gpu_only());
    }
    specs
}

fn values() -> Vec<Spec> {
    let mut specs = Vec::new();
    for kind in [Kind::Forward, Kind::Backward] {
        for (name, value) in [
            ("nan", f32::NAN),
            ("infinite", f32::INFINITY),
            ("huge", 3e38),
            ("subnormal", 1e-40),
        ] {
            for (place, at) in [("x", 0), ("w1", 1), ("w2", 2), ("upstream", 3)] {
                for (activation, kind_of) in
                    [("relu", Activation::Relu), ("tanh", Activation::Tanh)]
                {
                    let id = format!("{}-values-{name}-in-{place}-{activation}", direction(kind));
                    let spec = Spec::new(kind, id, [9, 6, 10, 5]);
                    let spec = spec.activations(kind_of, Activation::None);
                    specs.push(spec.edit(move |data| match at {
                        0 => data.x[25] = value,
                        1 => data.parameters[0][7] = value,
                        2 => data.parameters[2][7] = value,
                        _ => data.upstream[11] = value,
                    }));
                }
            }
        }
        // Products that vanish, of both signs.
        let id = format!("{}-values-small-products", direction(kind));
        specs.push(Spec::new(kind, id, [9, 6, 10, 5]).edit(|data| {
            for x in &mut data.x {
                *x *= 1e-30;
            }
            for parameters in &mut data.parameters {
                for w in parameters {
                    *w *= -1e-15;
                }
            }
        }));
    }
    specs
}

/// Rows so far apart that the second lies beyond 2^31 elements of the first.
fn far() -> Case {
    const STRIDE: usize = 1 << 31;
    let spec = Spec::new(Kind::Forward, "forward-far-rows", [2, 6, 10, 5]);
    Case::exact(spec.id.clone(), "mlp_forward_f32", move |variation| {
        let (mut buffers, places) = split(spec.buffers(variation.seed));
        let rows = vec![0..6, STRIDE..STRIDE + 6];
        buffers[0] = buffers[0].clone().islands(STRIDE + 6, rows);
        let spec = spec.clone();
        parity::Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.forward_params(0, &filled(&places, pointers));
            params.x_stride = STRIDE as i64;
            call_forward(library, &params, stream)
        })
    })
    .tagged(Tags::LARGE)
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = seeds();
    specs.extend(sizes());
    specs.extend(activations());
    specs.extend(curiosity());
    specs.extend(risk());
    specs.extend(options());
    specs.extend(values());
    specs.into_iter().map(Spec::case).chain([far()]).collect()
}
