//! One token in `f64`, and how far f32 may be from it in any order of summation.

use super::Problem;
use crate::Dtype;

/// The values of a step and the largest error of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The pool after the step: `(value, bound)` of each element.
    pub state: Vec<(f64, f64)>,
    /// o, `out_stride` apart: `(value, bound)` of each element.
    pub out: Vec<(f64, f64)>,
}

/// Half the distance of neighbours at 1, and the smallest step of the type.
fn rounding(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::F32 => (2f64.powi(-24), 2f64.powi(-149)),
        Dtype::Bf16 => (2f64.powi(-8), 2f64.powi(-133)),
        Dtype::F16 => (2f64.powi(-11), 2f64.powi(-24)),
    }
}

/// One token of every sequence, each in its own slot, in `f64` from the exact gates and norms on.
///
/// With u = 2^-24, a sum of K products in any order is off by at most (K + 2) u of the sum of their magnitudes; the error of
/// the delta goes on into the write and, over |k| |q|, into the read, which the fast form takes as (k.q) d.
///
/// # Panics
/// For a problem with slots, offsets or a source.
pub fn reference(p: &Problem<'_>, state: &[f32]) -> Reference {
    assert!(
        p.slots_in.is_none() && p.slots_out.is_none() && p.cu_seqlens.is_none(),
        "one token, each sequence in its own slot"
    );
    let u = rounding(Dtype::F32).0;
    let chain = (p.key_dim + 8) as f64 * u;
    let scale = f64::from(p.scale());
    let size = p.head_size();
    let mut result = Reference {
        state: state.iter().map(|&x| (x.into(), 0.0)).collect(),
        out: vec![(0.0, 0.0); (p.sequences - 1) * p.out_stride + p.value_heads * p.value_dim],
    };
    let stored = |x: f64, bound: f64, dtype: Dtype| {
        let (relative, step) = rounding(dtype);
        (x, bound + relative * (x.abs() + bound) + step)
    };
    for index in 0..p.sequences {
        for head in 0..p.value_heads {
            let x = p.operands(index, head);
            let at = index * p.slot_stride + head * size;
            for c in 0..p.value_dim {
                let decayed =
                    |r: usize| f64::from(x.alpha[r]) * f64::from(state[at + p.place(r, c)]);
                let (k, q) = (|r: usize| f64::from(x.k[r]), |r: usize| f64::from(x.q[r]));
                let (mut retrieved, mut magnitude) = (0.0, 0.0);
                for r in 0..p.key_dim {
                    retrieved += decayed(r) * k(r);
                    magnitude += (decayed(r) * k(r)).abs();
                }
                let (beta, v) = (f64::from(x.beta), f64::from(x.v[c]));
                let delta = beta * (v - retrieved);
                let delta_bound =
                    beta.abs() * (chain * magnitude + 3.0 * u * (v.abs() + magnitude));
                let (mut read, mut read_bound) = (0.0, 0.0);
                for r in 0..p.key_dim {
                    let written = decayed(r) + k(r) * delta;
                    let terms = decayed(r).abs() + (k(r) * delta).abs();
                    let bound = k(r).abs() * delta_bound + 4.0 * u * terms;
                    read += written * q(r);
                    read_bound += q(r).abs() * (bound + chain * terms);
                    result.state[at + p.place(r, c)] = stored(written, bound, p.state_dtype);
                }
                let to = index * p.out_stride + head * p.value_dim + c;
                result.out[to] = stored(read * scale, 1.01 * read_bound * scale.abs(), p.dtype);
            }
        }
    }
    result
}
