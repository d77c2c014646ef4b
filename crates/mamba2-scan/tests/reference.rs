//! The fast entries' reference: the exact oracle is within its bounds, and they are no wider than they say.

mod common;

use common::uniform;
use mamba2_scan::oracle::reference::{self, Near, Precision};
use mamba2_scan::oracle::temporal_scan::{
    Readout, TemporalScan, Upstream, accumulated, gradients, temporal_scan,
};

struct Data {
    history: Vec<f32>,
    current: Vec<f32>,
    weights: [Vec<f32>; 3],
    biases: [Vec<f32>; 3],
    x0: Vec<f32>,
}

fn data([batch, steps, features, states]: [usize; 4]) -> Data {
    let scale = 1.7 / (features as f32).sqrt();
    Data {
        history: uniform(batch * steps * features, 1, -1.7, 1.7),
        current: uniform(batch * features, 2, -1.7, 1.7),
        weights: [3, 4, 5].map(|seed| uniform(features * states, seed, -scale, scale)),
        biases: [6, 7, 8].map(|seed| uniform(states, seed, -0.5, 0.5)),
        x0: uniform(batch * states, 9, -1.0, 1.0),
    }
}

fn scan(data: &Data, sizes: [usize; 4], readout: Readout) -> TemporalScan<'_> {
    TemporalScan {
        readout,
        biases: [0, 1, 2].map(|i| Some(&data.biases[i][..])),
        initial: Some(&data.x0),
        ..TemporalScan::packed(
            sizes,
            &data.history,
            &data.current,
            [0, 1, 2].map(|i| &data.weights[i][..]),
        )
    }
}

/// The largest part of a bound that an error takes, and the largest bound.
fn worst(got: &[f32], near: &[Near]) -> [f64; 2] {
    assert_eq!(got.len(), near.len());
    let pairs = got.iter().zip(near);
    pairs.fold([0.0; 2], |[part, bound], (got, near)| {
        let error = (f64::from(*got) - near.value).abs();
        [part.max(error / near.bound), bound.max(near.bound)]
    })
}

#[test]
fn the_exact_oracle_is_within_the_bounds_of_three_products() {
    for (sizes, widest) in [
        ([5, 8, 64, 16], 5e-3),
        ([9, 3, 20, 5], 5e-3),
        ([3, 11, 8, 20], 5e-3),
    ] {
        for readout in [Readout::Context, Readout::Sum, Readout::TileAdd] {
            let data = data(sizes);
            let scan = scan(&data, sizes, readout);
            let got = temporal_scan(&scan);
            let near = reference::temporal_scan(&scan, Precision::ThreeTf32);
            let d_out = uniform(scan.out_len(), 10, -1.0, 1.0);
            let upstream = Upstream {
                out: &d_out,
                final_state: Some(&data.x0),
            };
            let got_back = gradients(&scan, &upstream);
            let near_back = reference::gradients(&scan, &upstream, Precision::ThreeTf32);
            let mut pairs = vec![
                (&got.out, &near.out),
                (&got.final_state, &near.final_state),
                (&got_back.history, &near_back.history),
                (&got_back.current, &near_back.current),
                (&got_back.initial, &near_back.initial),
            ];
            pairs.extend(got_back.weights.iter().zip(&near_back.weights));
            pairs.extend(got_back.biases.iter().zip(&near_back.biases));
            for (i, (got, near)) in pairs.into_iter().enumerate() {
                let [part, bound] = worst(got, near);
                assert!(
                    part <= 1.0,
                    "{sizes:?} {readout:?} output {i}: {part} of the bound"
                );
                assert!(
                    bound < widest,
                    "{sizes:?} {readout:?} output {i}: bound {bound}"
                );
            }
        }
    }
}

#[test]
fn one_product_is_held_to_less_than_three() {
    let sizes = [3, 8, 64, 16];
    let data = data(sizes);
    let scan = scan(&data, sizes, Readout::Context);
    let three = reference::temporal_scan(&scan, Precision::ThreeTf32);
    let one = reference::temporal_scan(&scan, Precision::Tf32);
    for (three, one) in three.out.iter().zip(&one.out) {
        assert_eq!(three.value, one.value);
        assert!(three.bound * 10.0 < one.bound);
    }
}

#[test]
fn a_gradient_is_added_to_what_was_there() {
    let sums = [1.0, -2.0].map(|value| Near { value, bound: 0.5 });
    let before = [4.0, f32::NAN];
    assert_eq!(reference::accumulated(0.0, &before, &sums), sums);
    let got = reference::accumulated(2.0, &[4.0, 1.0], &sums);
    let want = accumulated(2.0, &[4.0, 1.0], &[1.0, -2.0]);
    for (got, want) in got.iter().zip(want) {
        assert_eq!(got.value, f64::from(want));
        assert!(got.bound >= 0.5 && got.bound < 0.51);
    }
}
