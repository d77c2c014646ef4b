//! The designs that the bench compares with: near the oracle's values.

use super::scan_spec::*;
use crate::ffi;
use crate::oracle::temporal_scan::{Upstream, gradients, temporal_scan};
use parity::{Buffer, Case, Class, Element, Instance, Tags};

/// Other orders of sums of up to a few thousand terms near 1.
const WITHIN: f64 = 1e-4;

fn near(name: &'static str, values: &[f32]) -> Buffer {
    let reference: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
    let bound = reference.iter().map(|x| WITHIN * (1.0 + x.abs())).collect();
    Buffer::output_bound(name, Element::F32, reference, bound)
}

fn forward(sizes: [usize; 4]) -> Case {
    let [batch, steps, features, states] = sizes;
    let id = format!("baseline-forward-{batch}x{steps}x{features}x{states}");
    let spec = Spec::new(id.clone(), sizes).with(OUT | FINAL | BIASES | X0);
    Case::exact(id, "m2_baseline_temporal_scan", move |variation| {
        let data = spec.draw(variation.seed);
        let want = temporal_scan(&spec.problem(&data));
        let mut bound = spec.inputs(&data);
        bound.push(Bound(near("out", &want.out), |p, x| p.out = x));
        bound.push(Bound(near("final_state", &want.final_state), |p, x| {
            p.final_state = x
        }));
        let (buffers, sets) = split(bound);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            // SAFETY: the type is the header's prototype.
            let scan = unsafe {
                library.function::<ffi::m2_baseline_temporal_scan_fn>("m2_baseline_temporal_scan")
            }?;
            let params = spec.forward_params(&filled(&sets, pointers));
            // SAFETY: the runner passes live buffers of the sizes in `params`.
            Ok(unsafe { scan(&params, stream) })
        })
    })
    .of_class(Class::Tolerance)
    .tagged(Tags::SANITIZE | Tags::SIMULATE)
}

fn backward(sizes: [usize; 4]) -> Case {
    let [batch, steps, features, states] = sizes;
    let id = format!("baseline-backward-{batch}x{steps}x{features}x{states}");
    let spec = Spec::new(id.clone(), sizes).with(D_WEIGHTS | BIASES | X0);
    Case::exact(id, "m2_baseline_scan_backward", move |variation| {
        let data = spec.draw(variation.seed);
        let upstream = Upstream {
            out: &data.d_out,
            final_state: None,
        };
        let want = gradients(&spec.problem(&data), &upstream).weights;
        let mut bound = spec.inputs(&data);
        bound.push(Bound(Buffer::input("d_out", &data.d_out), |p, x| {
            p.d_out = x
        }));
        let sets: [(&str, Set); 3] = [
            ("d_w_a", |p, x| p.d_parameters[0] = x),
            ("d_w_b", |p, x| p.d_parameters[1] = x),
            ("d_w_c", |p, x| p.d_parameters[2] = x),
        ];
        for ((name, set), sums) in sets.into_iter().zip(&want) {
            bound.push(Bound(near(name, sums), set));
        }
        let workspace = Buffer::workspace("workspace", spec.workspace_bytes());
        bound.push(Bound(workspace, |p, x| p.workspace = x));
        let (buffers, sets) = split(bound);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            // SAFETY: the type is the header's prototype.
            let scan = unsafe {
                library.function::<ffi::m2_baseline_scan_backward_fn>("m2_baseline_scan_backward")
            }?;
            let params = spec.backward_params(0, &filled(&sets, pointers));
            // SAFETY: the runner passes live buffers of the sizes in `params`.
            Ok(unsafe { scan(&params, stream) })
        })
        .nodes(2)
    })
    .of_class(Class::Tolerance)
    .tagged(Tags::SANITIZE | Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for sizes in [[9, 3, 20, 5], [17, 8, 33, 16], [2, 11, 8, 20]] {
        cases.push(forward(sizes));
        cases.push(backward(sizes));
    }
    cases
}
