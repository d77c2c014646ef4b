//! The decode step's oracle against the f64 formula, and the properties that the header promises.

mod common;

use common::uniform;
use mamba2_scan::oracle::Dtype;
use mamba2_scan::oracle::state_update::{Decay, StateUpdate, reference, state_update};

struct Data {
    sizes: [usize; 5],
    state: Vec<f32>,
    x: Vec<f32>,
    dt: Vec<f32>,
    a: Vec<f32>,
    bias: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    d: Vec<f32>,
    z: Vec<f32>,
}

impl Data {
    fn new(sizes: [usize; 5]) -> Data {
        let [batch, heads, groups, rows, n] = sizes;
        Data {
            sizes,
            state: uniform(batch * heads * rows * n, 1, -2.0, 2.0),
            x: uniform(batch * heads * rows, 2, -2.0, 2.0),
            dt: uniform(batch * heads, 3, -6.0, 1.0),
            a: uniform(heads, 4, -16.0, -0.5),
            bias: uniform(heads, 5, -1.0, 0.5),
            b: uniform(batch * groups * n, 6, -1.0, 1.0),
            c: uniform(batch * groups * n, 7, -1.0, 1.0),
            d: uniform(heads * rows, 8, -1.0, 1.0),
            z: uniform(batch * heads * rows, 9, -4.0, 4.0),
        }
    }

    fn step(&self) -> StateUpdate<'_> {
        StateUpdate {
            softplus: true,
            dt_bias: Some(&self.bias),
            d: Some(&self.d),
            d_per_channel: true,
            z: Some(&self.z),
            ..StateUpdate::packed(
                self.sizes,
                &self.x,
                &self.dt,
                Decay::A(&self.a),
                [&self.b, &self.c],
            )
        }
    }
}

/// The step's new states and outputs.
fn run(step: &StateUpdate<'_>, state: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let mut next = state.to_vec();
    let mut y = vec![0.0; step.batch * step.y_stride];
    let mut status = 0;
    state_update(step, &mut next, &mut y, &mut status);
    assert_eq!(status, 0);
    (next, y)
}

#[test]
fn every_size_is_within_the_bound_of_the_formula() {
    for n in [1, 3, 16, 63, 64, 65, 96, 128, 129, 256, 1000] {
        let data = Data::new([2, 4, 2, 3, n]);
        for (softplus, clamp) in [(true, None), (true, Some([0.01, 0.2])), (false, None)] {
            let step = StateUpdate {
                softplus,
                clamp,
                ..data.step()
            };
            let (next, y) = run(&step, &data.state);
            let [states, outputs] = reference(&step, &data.state);
            for (what, got, want) in [("state", next, states), ("y", y, outputs)] {
                assert_eq!(got.len(), want.len());
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let off = (f64::from(*got) - want.value).abs();
                    // dt of both signs: without softplus a state may grow, within f32.
                    assert!(
                        off <= want.bound,
                        "{what} {i} of {n}: was {got:e}, must be {want:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_bound_of_the_formula_is_tight_enough_to_mean_something() {
    let data = Data::new([1, 4, 2, 3, 128]);
    let [states, outputs] = reference(&data.step(), &data.state);
    for want in states.iter().chain(&outputs) {
        assert!(want.bound < 2e-3, "{want:?}");
    }
}

#[test]
fn a_sequence_alone_and_in_a_batch_gets_the_same_bits() {
    let data = Data::new([3, 4, 2, 5, 100]);
    let step = data.step();
    let (next, y) = run(&step, &data.state);
    for b in 0..3 {
        let row = |values: &[f32], stride: usize| values[b * stride..(b + 1) * stride].to_vec();
        let (x, dt) = (row(&data.x, step.x_stride), row(&data.dt, step.dt_stride));
        let z = row(&data.z, step.z_stride);
        let (rb, rc) = (row(&data.b, step.b_stride), row(&data.c, step.c_stride));
        let alone = StateUpdate {
            z: Some(&z),
            ..StateUpdate {
                x: &x,
                dt: &dt,
                b: &rb,
                c: &rc,
                batch: 1,
                slots: 1,
                ..step.clone()
            }
        };
        let (one_next, one_y) = run(&alone, &row(&data.state, step.slot_stride));
        assert_eq!(one_next, row(&next, step.slot_stride));
        assert_eq!(one_y, row(&y, step.y_stride));
    }
}

#[test]
fn heads_of_a_group_share_its_input_and_no_other_does() {
    // Four heads in two groups; only the first group's input is not zero.
    let mut data = Data::new([1, 4, 2, 2, 8]);
    data.state.fill(0.0);
    data.b[8..].fill(0.0);
    let (next, _) = run(&data.step(), &data.state);
    let moved: Vec<bool> = next
        .chunks(16)
        .map(|head| head.iter().any(|s| *s != 0.0))
        .collect();
    assert_eq!(moved, [true, true, false, false]);
}

#[test]
fn a_pad_gives_zero_and_leaves_every_slot_alone() {
    let data = Data::new([2, 2, 1, 3, 8]);
    let slots = [-1, 1];
    let step = StateUpdate {
        slots_in: Some(&slots),
        ..data.step()
    };
    let (next, y) = run(&step, &data.state);
    assert!(y[..6].iter().all(|y| y.to_bits() == 0));
    assert_eq!(next[..48], data.state[..48]);
    assert_ne!(next[48..], data.state[48..]);
}

#[test]
fn a_slot_beyond_the_pool_is_reported_once_and_counts_as_none() {
    let data = Data::new([2, 2, 1, 3, 8]);
    let slots = [0, 2];
    let step = StateUpdate {
        slots_in: Some(&slots),
        ..data.step()
    };
    let mut next = data.state.clone();
    let mut y = vec![1.0; 12];
    let mut status = 0;
    state_update(&step, &mut next, &mut y, &mut status);
    assert_eq!(status, 0x0100_0001);
    assert_eq!(next[48..], data.state[48..]);
    assert!(y[6..].iter().all(|y| y.to_bits() == 0));
}

#[test]
fn y_reads_the_state_before_it_is_rounded() {
    let data = Data::new([1, 2, 1, 4, 64]);
    let full = run(&data.step(), &data.state);
    for state_type in [Dtype::Bf16, Dtype::F16] {
        let step = StateUpdate {
            state_type,
            ..data.step()
        };
        let rounded = run(&step, &data.state);
        assert_eq!(rounded.1, full.1);
        assert_ne!(rounded.0, full.0);
        let again: Vec<f32> = full.0.iter().map(|s| state_type.round(*s)).collect();
        assert_eq!(rounded.0, again);
    }
}

#[test]
fn the_logarithm_of_a_is_taken_anew_in_every_call() {
    let mut data = Data::new([1, 2, 1, 4, 16]);
    for a in &mut data.a {
        *a = -a.abs().ln();
    }
    let log = StateUpdate {
        decay: Decay::Log(&data.a),
        ..data.step()
    };
    let first = run(&log, &data.state);
    let changed: Vec<f32> = data.a.iter().map(|a| a + 0.5).collect();
    let second = run(
        &StateUpdate {
            decay: Decay::Log(&changed),
            ..log
        },
        &data.state,
    );
    assert_ne!(first, second);
}
