//! Decay, beta and norm in every form, and values at their edges.

use super::spec::*;
use crate::{Beta, Decay, Dtype, Norm};
use parity::Case;

/// What a + dt_bias is made to be: far below, at and above where softplus changes form, and where exp overflows.
const GATES: [f32; 10] = [
    -1e30, -100.0, -20.0, 0.0, 19.99, 20.0, 20.01, 88.0, 89.0, 1000.0,
];

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (decay, d) in [
        (Decay::Linear, "linear"),
        (Decay::Log, "log"),
        (Decay::Gate, "gate"),
    ] {
        for (beta, b) in [
            (Beta::Given, "given"),
            (Beta::Sigmoid, "sigmoid"),
            (Beta::TwiceSigmoid, "twice"),
        ] {
            for key_decay in [false, true] {
                let keys = if key_decay { "-keys" } else { "" };
                specs.push(
                    Spec::step(format!("gates-{d}-{b}{keys}"), [2, 1, 3, 20, 9])
                        .types(Dtype::Bf16, Dtype::F32)
                        .change(|spec| {
                            (spec.decay, spec.beta) = (decay, beta);
                            spec.key_decay = key_decay;
                        }),
                );
            }
        }
    }
    let gate = |name: String| {
        Spec::step(name, [1, 1, 10, 8, 5]).change(|spec| {
            (spec.decay, spec.beta) = (Decay::Gate, Beta::Sigmoid);
        })
    };
    specs.push(gate("softplus-edges".into()).edit(|data| {
        data.dt_bias.fill(0.0);
        data.g[..10].copy_from_slice(&GATES);
        data.beta[..10].copy_from_slice(&GATES);
    }));
    for (name, a_log) in [("large", 80.0), ("overflow", 100.0), ("small", -110.0)] {
        specs.push(gate(format!("a-log-{name}")).edit(move |data| {
            data.a_log.fill(a_log);
            data.dt_bias.fill(0.0);
            data.g[..10].copy_from_slice(&GATES);
        }));
    }
    // alpha underflows to 0: legal, the state is forgotten.
    let step = |name: &str| Spec::step(name, [1, 1, 2, 16, 8]);
    specs.extend([
        step("decay-underflows")
            .change(|spec| spec.decay = Decay::Log)
            .edit(|data| {
                data.g.fill(-200.0);
            }),
        step("decay-subnormal")
            .change(|spec| spec.decay = Decay::Log)
            .edit(|data| {
                data.g.fill(-95.0);
            }),
        step("decay-0").edit(|data| data.g.fill(0.0)),
        step("decay-minus-1").edit(|data| data.g.fill(-1.0)),
        step("decay-nan").edit(|data| data.g[1] = f32::NAN),
        step("decay-infinite").edit(|data| data.g[1] = f32::INFINITY),
        step("beta-2").edit(|data| data.beta.fill(2.0)),
        step("beta-nan").edit(|data| data.beta[0] = f32::NAN),
        step("state-infinite").edit(|data| data.state[3] = f32::INFINITY),
        step("state-nan").edit(|data| data.state[3] = f32::NAN),
        step("state-subnormal").edit(|data| data.state.iter_mut().for_each(|x| *x *= 1e-42)),
        step("v-infinite").edit(|data| data.v[3] = f32::NEG_INFINITY),
        step("k-nan").edit(|data| data.k[3] = f32::NAN),
        step("minus-zeros").edit(|data| {
            data.state.fill(-0.0);
            data.v.fill(-0.0);
        }),
        step("largest-values").edit(|data| {
            data.v.fill(3e38);
            data.q.fill(1.0);
        }),
        // o beyond f16 is an infinity.
        step("f16-overflows")
            .types(Dtype::F16, Dtype::F16)
            .edit(|data| {
                data.state.fill(60000.0);
                data.q.fill(1.0);
            }),
        step("scale-given").change(|spec| spec.scale = Some(0.37)),
        step("scale-0").change(|spec| spec.scale = Some(0.0)),
        step("scale-negative").change(|spec| spec.scale = Some(-2.5)),
    ]);
    for (norm, name) in [
        (Norm::EpsOutside(1e-6), "outside"),
        (Norm::EpsInside(1e-6), "inside"),
        (Norm::EpsOutside(0.0), "outside-0"),
        (Norm::EpsInside(0.0), "inside-0"),
        (Norm::EpsInside(1e3), "inside-1000"),
    ] {
        let norm = |kind: &str, sizes| {
            Spec::step(format!("norm-{name}-{kind}"), sizes).change(|spec| spec.norm = norm)
        };
        specs.push(norm("plain", [2, 1, 2, 21, 6]));
        specs.push(norm("128x128", [1, 1, 1, 128, 128]));
        specs.push(norm("zero-key", [1, 1, 1, 12, 6]).edit(|data| data.k.fill(0.0)));
        specs.push(norm("huge", [1, 1, 1, 12, 6]).edit(|data| data.k.fill(1e25)));
        specs.push(norm("tiny", [1, 1, 1, 12, 6]).edit(|data| data.q.fill(1e-30)));
    }
    specs.into_iter().map(Spec::case).collect()
}
