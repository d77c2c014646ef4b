//! The list of steps, run by plain loops over host memory, against the formula in f64.

use super::*;
use crate::oracle::composed::{self, ComposedScan};
use crate::oracle::reference::{self, Near, Precision};
use crate::oracle::temporal_scan::{TemporalScan, Upstream};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// The reference's bounds are those of chains of at least 96 terms, in f32 roundings; four times as much holds for sums
/// of up to 384 terms in any order.
const ANY_ORDER: f64 = 4.0;

struct Host;

impl Matrix {
    unsafe fn get(&self, row: usize, column: usize) -> f32 {
        let at = if self.transposed {
            column * self.pitch + row
        } else {
            row * self.pitch + column
        };
        // SAFETY: the caller promises that it is inside.
        unsafe { *self.at.add(at) }
    }
}

unsafe fn values<'a>(at: *const f32, count: usize) -> Option<&'a [f32]> {
    // SAFETY: the caller promises it.
    (!at.is_null()).then(|| unsafe { from_raw_parts(at, count) })
}

impl Engine for Host {
    unsafe fn product(&mut self, p: Product) -> Result<()> {
        let (wide_a, wide_b) = (p.a.transposed, p.b.transposed);
        assert!(p.a.pitch >= if wide_a { p.rows } else { p.inner });
        assert!(p.b.pitch >= if wide_b { p.inner } else { p.columns });
        assert!(p.pitch >= p.columns);
        for r in 0..p.rows {
            for c in 0..p.columns {
                // SAFETY: the caller promises it.
                unsafe {
                    let terms = (0..p.inner).map(|k| p.a.get(r, k) * p.b.get(k, c));
                    let sum: f32 = terms.sum();
                    let to = p.to.add(r * p.pitch + c);
                    *to = if p.beta == 0.0 {
                        sum
                    } else {
                        sum + p.beta * *to
                    };
                }
            }
        }
        Ok(())
    }

    unsafe fn sum(&mut self, p: Sum) -> Result<()> {
        for r in 0..p.rows {
            for c in 0..p.columns {
                // SAFETY: the caller promises it.
                unsafe {
                    let a = p.alpha * p.a.get(r, c);
                    let to = p.to.add(r * p.pitch + c);
                    *to = if p.beta == 0.0 { a } else { a + p.beta * *to };
                }
            }
        }
        Ok(())
    }

    unsafe fn fill(&mut self, to: *mut f32, value: f32, count: usize) -> Result<()> {
        // SAFETY: the caller promises it.
        unsafe { from_raw_parts_mut(to, count) }.fill(value);
        Ok(())
    }

    unsafe fn copy(&mut self, to: *mut f32, from: *const f32, count: usize) -> Result<()> {
        // SAFETY: the caller promises it.
        unsafe { ptr::copy_nonoverlapping(from, to, count) };
        Ok(())
    }

    unsafe fn scan(&mut self, p: &m2_composed_scan_params) -> Result<()> {
        let [batch, steps, features, states] =
            [p.batch, p.steps, p.features, p.states].map(|x| x as usize);
        let current_stride = p.current_stride as usize;
        // SAFETY: the caller promises it.
        unsafe {
            let scanned = composed::scan(&ComposedScan {
                batch,
                steps,
                features,
                states,
                readout: match p.readout as u32 {
                    crate::ffi::M2_READOUT_CONTEXT => Readout::Context,
                    _ => Readout::TileAdd,
                },
                current_stride,
                projections: from_raw_parts(p.projections, batch * steps * 2 * states),
                readouts: values(p.readouts, batch * states).unwrap_or(&vec![0.0; batch * states]),
                current: from_raw_parts(p.current, (batch - 1) * current_stride + features),
                biases: [p.bias_a, p.bias_b, p.bias_c].map(|bias| values(bias, states)),
                initial: values(p.x0, batch * states),
            });
            if !p.out.is_null() {
                from_raw_parts_mut(p.out, scanned.out.len()).copy_from_slice(&scanned.out);
            }
            if !p.final_state.is_null() {
                from_raw_parts_mut(p.final_state, batch * states)
                    .copy_from_slice(&scanned.final_state);
            }
        }
        Ok(())
    }

    unsafe fn scan_backward(&mut self, p: &m2_composed_scan_backward_params) -> Result<()> {
        let [batch, steps, features, states] =
            [p.batch, p.steps, p.features, p.states].map(|x| x as usize);
        let (readout, out) = match p.readout as u32 {
            crate::ffi::M2_READOUT_CONTEXT => (Readout::Context, states),
            crate::ffi::M2_READOUT_SUM => (Readout::Sum, 1),
            _ => (Readout::TileAdd, features),
        };
        // SAFETY: the caller promises it.
        unsafe {
            let projections = from_raw_parts_mut(p.projections, batch * steps * 2 * states);
            let readouts = from_raw_parts_mut(p.readouts, batch * states);
            let gradients = composed::backward(
                &ComposedScan {
                    batch,
                    steps,
                    features,
                    states,
                    readout,
                    current_stride: features,
                    projections,
                    readouts,
                    current: &[],
                    biases: [p.bias_a, p.bias_b, p.bias_c].map(|bias| values(bias, states)),
                    initial: values(p.x0, batch * states),
                },
                &Upstream {
                    out: from_raw_parts(p.d_out, batch * out),
                    final_state: values(p.d_final, batch * states),
                },
            );
            projections.copy_from_slice(&gradients.projections);
            readouts.copy_from_slice(&gradients.readouts);
            if !p.d_x0.is_null() {
                from_raw_parts_mut(p.d_x0, batch * states).copy_from_slice(&gradients.initial);
            }
        }
        Ok(())
    }
}

fn uniform(count: usize, seed: u64, most: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            most * ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
        })
        .collect()
}

/// What a call reads.
struct Data {
    sizes: [usize; 4],
    gap: usize,
    history: Vec<f32>,
    current: Vec<f32>,
    weights: [Vec<f32>; 3],
    biases: [Vec<f32>; 3],
    x0: Vec<f32>,
}

impl Data {
    fn new(sizes: [usize; 4], gap: usize) -> Data {
        let [batch, steps, features, states] = sizes;
        let scale = 1.7 / (features as f32).sqrt();
        Data {
            sizes,
            gap,
            history: uniform(batch * (steps * (features + gap) + gap), 1, 1.7),
            current: uniform(batch * (features + gap), 2, 1.7),
            weights: [3, 4, 5].map(|seed| uniform(features * states, seed, scale)),
            biases: [6, 7, 8].map(|seed| uniform(states, seed, 0.5)),
            x0: uniform(batch * states, 9, 1.0),
        }
    }

    fn inputs(&self, readout: Readout, optional: bool) -> Inputs {
        let [batch, steps, features, states] = self.sizes;
        let step_stride = features + self.gap;
        let given = |values: &Vec<f32>| {
            if optional {
                values.as_ptr()
            } else {
                ptr::null()
            }
        };
        Inputs {
            batch,
            steps,
            features,
            states,
            readout,
            history_stride: steps * step_stride + self.gap,
            step_stride,
            current_stride: features + self.gap,
            history: self.history.as_ptr(),
            current: self.current.as_ptr(),
            weights: [0, 1, 2].map(|i| self.weights[i].as_ptr()),
            biases: [0, 1, 2].map(|i| given(&self.biases[i])),
            x0: given(&self.x0),
        }
    }

    fn problem(&self, readout: Readout, optional: bool) -> TemporalScan<'_> {
        let inputs = self.inputs(readout, optional);
        TemporalScan {
            readout,
            history_stride: inputs.history_stride,
            step_stride: inputs.step_stride,
            current_stride: inputs.current_stride,
            biases: [0, 1, 2].map(|i| optional.then_some(&self.biases[i][..])),
            initial: optional.then_some(&self.x0[..]),
            ..TemporalScan::packed(
                self.sizes,
                &self.history,
                &self.current,
                [0, 1, 2].map(|i| &self.weights[i][..]),
            )
        }
    }
}

fn out_len([batch, _, features, states]: [usize; 4], readout: Readout) -> usize {
    batch
        * match readout {
            Readout::Context => states,
            Readout::Sum => 1,
            Readout::TileAdd => features,
        }
}

fn near(what: &str, got: &[f32], want: &[Near]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*got) - want.value).abs();
        let bound = ANY_ORDER * want.bound;
        assert!(error <= bound, "{what}[{i}]: {error:e} beyond {bound:e}");
    }
}

const READOUTS: [Readout; 3] = [Readout::Context, Readout::Sum, Readout::TileAdd];
/// B, K, H, S and the gaps between rows.
const SIZES: [([usize; 4], usize); 5] = [
    ([9, 3, 20, 5], 0),
    ([9, 3, 20, 5], 4),
    ([1, 9, 33, 17], 3),
    ([30, 8, 64, 16], 0),
    ([2, 70, 3, 70], 1),
];

/// A scratch of NaN: what is read of it was written by the call itself.
fn scratch(sizes: [usize; 4], backward: bool) -> Vec<f32> {
    vec![f32::NAN; scratch_elements(sizes, backward)]
}

#[test]
fn the_composed_scan_is_near_the_formula() {
    for (sizes, gap) in SIZES {
        let data = Data::new(sizes, gap);
        for readout in READOUTS {
            for optional in [true, false] {
                let want = reference::temporal_scan(
                    &data.problem(readout, optional),
                    Precision::ThreeTf32,
                );
                let mut out = vec![f32::NAN; out_len(sizes, readout)];
                let mut last = vec![f32::NAN; sizes[0] * sizes[3]];
                let inputs = data.inputs(readout, optional);
                let mut memory = scratch(sizes, false);
                // SAFETY: every buffer has the size that the sizes ask for.
                unsafe {
                    forward(
                        &mut Host,
                        &inputs,
                        out.as_mut_ptr(),
                        last.as_mut_ptr(),
                        memory.as_mut_ptr(),
                    )
                }
                .unwrap();
                near("out", &out, &want.out);
                near("final_state", &last, &want.final_state);
                last.fill(f32::NAN);
                // SAFETY: as above.
                unsafe {
                    forward(
                        &mut Host,
                        &inputs,
                        ptr::null_mut(),
                        last.as_mut_ptr(),
                        memory.as_mut_ptr(),
                    )
                }
                .unwrap();
                near("final_state alone", &last, &want.final_state);
            }
        }
    }
}

#[test]
fn the_composed_gradients_are_near_the_formula() {
    for (sizes @ [batch, steps, features, states], gap) in SIZES {
        let data = Data::new(sizes, gap);
        for readout in READOUTS {
            for (optional, beta) in [(true, 0.0), (true, -0.5), (false, 1.0)] {
                let problem = data.problem(readout, optional);
                let d_out = uniform(out_len(sizes, readout), 10, 1.0);
                let d_final = uniform(batch * states, 11, 1.0);
                let upstream = Upstream {
                    out: &d_out,
                    final_state: optional.then_some(&d_final[..]),
                };
                let want = reference::gradients(&problem, &upstream, Precision::ThreeTf32);
                let start = |count: usize, seed: u64| match beta {
                    0.0 => vec![f32::NAN; count],
                    _ => uniform(count, seed, 1.0),
                };
                let mut weights = [12, 13, 14].map(|seed| start(features * states, seed));
                let mut biases = [15, 16, 17].map(|seed| start(states, seed));
                let before = (weights.clone(), biases.clone());
                let mut history = vec![f32::NAN; batch * steps * features];
                let mut current = vec![f32::NAN; batch * features];
                let mut x0 = vec![f32::NAN; batch * states];
                let targets = Targets {
                    weights: weights.each_mut().map(|w| w.as_mut_ptr()),
                    biases: biases.each_mut().map(|b| b.as_mut_ptr()),
                    beta,
                    history: history.as_mut_ptr(),
                    current: current.as_mut_ptr(),
                    x0: x0.as_mut_ptr(),
                };
                let d_final = match optional {
                    true => d_final.as_ptr(),
                    false => ptr::null(),
                };
                let inputs = data.inputs(readout, optional);
                let mut memory = scratch(sizes, true);
                // SAFETY: every buffer has the size that the sizes ask for.
                unsafe {
                    backward(
                        &mut Host,
                        &inputs,
                        d_out.as_ptr(),
                        d_final,
                        &targets,
                        memory.as_mut_ptr(),
                    )
                }
                .unwrap();
                for i in 0..3 {
                    let sums = reference::accumulated(beta, &before.0[i], &want.weights[i]);
                    near(&format!("d_w {i}"), &weights[i], &sums);
                    let sums = reference::accumulated(beta, &before.1[i], &want.biases[i]);
                    near(&format!("d_bias {i}"), &biases[i], &sums);
                }
                near("d_history", &history, &want.history);
                near("d_current", &current, &want.current);
                near("d_x0", &x0, &want.initial);
            }
        }
    }
}

#[test]
fn gradients_of_no_samples_are_what_beta_leaves() {
    let data = Data::new([0, 3, 4, 2], 0);
    let inputs = data.inputs(Readout::Context, true);
    for (beta, want) in [(0.0, 0.0), (-0.5, -1.0)] {
        let mut weights = vec![2.0f32; 8];
        let mut bias = vec![2.0f32; 2];
        let null = ptr::null_mut();
        let targets = Targets {
            weights: [null, weights.as_mut_ptr(), null],
            biases: [null, null, bias.as_mut_ptr()],
            beta,
            history: null,
            current: null,
            x0: null,
        };
        // SAFETY: nothing but the targets is touched without samples.
        unsafe { backward(&mut Host, &inputs, ptr::null(), ptr::null(), &targets, null) }.unwrap();
        assert_eq!((weights, bias), (vec![want; 8], vec![want; 2]));
    }
}

#[test]
fn a_scratch_has_room_for_projections_weights_and_sums() {
    let sizes = [8192, 8, 256, 16];
    // Projections, readouts, weights, contexts, ones.
    let forward = 8192 * 8 * 32 + 8192 * 16 + 256 * 32 + 8192 * 16 + 64;
    assert_eq!(scratch_elements(sizes, false), forward);
    // Projections, readouts, weights, their gradients, ones.
    let backward = 8192 * 8 * 32 + 8192 * 16 + 2 * 256 * 32 + 8192 * 8;
    assert_eq!(scratch_elements(sizes, true), backward);
    assert!(scratch_elements([usize::MAX / 2, 8, 8, 8], true) > usize::MAX / 2);
}
