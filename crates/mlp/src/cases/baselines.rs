//! The designs that the bench compares with: near the oracle's values.

use super::spec::*;
use parity::{Buffer, Case, Class, Element, Instance, Role, Tags};

/// Other orders of sums of up to a few hundred terms near 1.
const WITHIN: f64 = 1e-4;

/// Expected within a bound in place of to the byte.
fn near(bound: Vec<Bound>) -> Vec<Bound> {
    bound
        .into_iter()
        .map(|Bound(buffer, place)| {
            let is_float = place != PUT_STATUS;
            if !matches!(buffer.role, Role::Output | Role::InOut) || !is_float {
                return Bound(buffer, place);
            }
            let expected = buffer.expected.as_deref().unwrap_or_default();
            let reference: Vec<f64> = expected
                .chunks_exact(4)
                .map(|b| f64::from(f32::from_ne_bytes([b[0], b[1], b[2], b[3]])))
                .collect();
            let bounds = reference.iter().map(|x| WITHIN * (1.0 + x.abs())).collect();
            let buffer = Buffer::output_bound(buffer.name, Element::F32, reference, bounds);
            Bound(buffer, place)
        })
        .collect()
}

fn case(spec: Spec) -> Case {
    let entry = match spec.kind {
        Kind::Risk => "mlp_baseline_risk_forward",
        Kind::Backward => "mlp_baseline_backward",
        _ => "mlp_baseline_curiosity_step",
    };
    Case::exact(spec.id.clone(), entry, move |variation| {
        let (buffers, places) = split(near(spec.buffers(variation.seed)));
        let spec = spec.clone();
        let nodes = if spec.kind == Kind::Risk { 1 } else { 2 };
        Instance::new(buffers, move |library, pointers, stream| {
            let p = filled(&places, pointers);
            match spec.kind {
                Kind::Risk => call_baseline_risk(library, &spec.risk_params(0, &p), stream),
                Kind::Backward => {
                    call_baseline_backward(library, &spec.backward_params(0, &p), stream)
                }
                _ => call_baseline_curiosity(library, &spec.curiosity_params(0, &p), stream),
            }
        })
        .nodes(nodes)
    })
    .of_class(Class::Tolerance)
    .tagged(Tags::SANITIZE | Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for [batch, inputs, hidden, outputs] in [[9, 5, 7, 3], [20, 12, 24, 12]] {
        let id = |what: &str| format!("baseline-{what}-{inputs}-{hidden}-{outputs}");
        let sizes = [batch, inputs, hidden, outputs];
        let flags = EVERYTHING & !STATUS;
        cases.push(case(Spec::new(Kind::Backward, id("backward"), sizes)));
        let dense = Spec::new(Kind::Dense, id("curiosity"), sizes).extra(3);
        cases.push(case(dense.with(flags)));
        let indexed = Spec::new(Kind::Indexed, id("curiosity-indexed"), sizes).extra(3);
        cases.push(case(indexed.with(flags)));
        cases.push(case(Spec::new(Kind::Risk, id("risk"), sizes).extra(2)));
    }
    cases
}
