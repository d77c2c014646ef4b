//! Several networks in one launch: each has the bytes of its own call.

use super::spec::*;
use crate::ffi;
use crate::oracle::Activation;
use parity::{Case, Instance, Library, Tags};
use std::ffi::{c_int, c_void};

/// The buffers of all networks, and each one's share of the pointers.
type Parts = Vec<(Spec, Vec<usize>)>;

fn call(
    library: &Library,
    parts: &Parts,
    pointers: &[*mut c_void],
    stream: *mut c_void,
) -> parity::Result<c_int> {
    let mut rest = pointers;
    let mut places = Vec::new();
    for (spec, of_spec) in parts {
        let (own, others) = rest.split_at(of_spec.len());
        places.push((spec, filled(of_spec, own)));
        rest = others;
    }
    let count = parts.len() as i32;
    if parts[0].0.kind == Kind::Forward {
        let params: Vec<_> = places.iter().map(|(s, p)| s.forward_params(0, p)).collect();
        // SAFETY: the type is the header's prototype.
        let group =
            unsafe { library.function::<ffi::mlp_forward_group_f32_fn>("mlp_forward_group_f32") }?;
        // SAFETY: the runner passes live buffers of the sizes in `params`.
        return Ok(unsafe { group(params.as_ptr(), count, stream) });
    }
    let params: Vec<_> = places
        .iter()
        .map(|(s, p)| s.backward_params(0, p))
        .collect();
    // SAFETY: the type is the header's prototype.
    let group =
        unsafe { library.function::<ffi::mlp_backward_group_f32_fn>("mlp_backward_group_f32") }?;
    // SAFETY: as above.
    Ok(unsafe { group(params.as_ptr(), count, stream) })
}

fn group(id: &str, kind: Kind, specs: Vec<Spec>, large: bool) -> Case {
    let backward = kind == Kind::Backward;
    let prefix = if backward { "backward" } else { "forward" };
    let entry = if backward {
        "mlp_backward_group_f32"
    } else {
        "mlp_forward_group_f32"
    };
    let rows = usize::from(specs.iter().any(|s| s.batch > 0));
    let sums = usize::from(backward && specs.iter().any(|s| s.has(D_PARAMETERS)));
    let tags = if large {
        Tags::NONE
    } else {
        Tags::SIMULATE | Tags::SANITIZE
    };
    Case::exact(format!("{prefix}-group-{id}"), entry, move |variation| {
        let mut buffers = Vec::new();
        let mut parts = Parts::new();
        for (i, spec) in specs.iter().enumerate() {
            let seed = variation.seed ^ (i as u64) << 32;
            let (own, places) = split(spec.buffers(seed));
            buffers.extend(own);
            parts.push((spec.clone(), places));
        }
        Instance::new(buffers, move |library, pointers, stream| {
            call(library, &parts, pointers, stream)
        })
        .nodes(rows + sums)
    })
    .tagged(tags)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in [Kind::Forward, Kind::Backward] {
        let new = |sizes: [usize; 4]| Spec::new(kind, "", sizes);
        let one = vec![new([9, 12, 24, 12])];
        cases.push(group("of-one", kind, one, false));
        let small = vec![
            new([9, 12, 24, 12]).residual(),
            new([1, 3, 5, 2]).activations(Activation::Silu, Activation::Sigmoid),
            new([0, 4, 4, 4]).beta(1.0),
            new([17, 24, 24, 12]).with(EVERYTHING & !BIASES).beta(-2.0),
        ];
        cases.push(group("of-small", kind, small, false));
        let mixed = vec![
            new([5, 3, 4, 2]),
            new([9, 40, 36, 33]).with(BIASES | DX),
            new([20, 8, 8, 8]).gaps([4, 0, 4, 4]),
        ];
        cases.push(group("of-mixed", kind, mixed, false));
        let empty = vec![new([0, 3, 4, 2]), new([0, 5, 4, 1])];
        cases.push(group("without-rows", kind, empty, false));
        let eight = (0..8).map(|i| new([3 + i, 2 + i, 3 + i, 1 + i])).collect();
        cases.push(group("of-eight", kind, eight, false));
        let seeds = vec![
            new([8192, 12, 24, 12]),
            new([8191, 24, 24, 12]),
            new([8193, 64, 128, 64]),
        ];
        cases.push(group("of-seeds", kind, seeds, true));
    }
    cases
}
