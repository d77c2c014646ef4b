//! The fixed trees: their order, and that no lane matters.

use exact_math::tree::{WARP, block_sum, butterfly, maximum, strided_chain, warp_max, warp_sum};

/// The butterfly as the device runs it: every lane, every step.
fn all_lanes(mut lanes: [f32; WARP], combine: fn(f32, f32) -> f32) -> [f32; WARP] {
    for step in [16, 8, 4, 2, 1] {
        lanes = std::array::from_fn(|lane| combine(lanes[lane], lanes[lane ^ step]));
    }
    lanes
}

fn scattered(seed: u32) -> [f32; WARP] {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 * 1e-3 - 8000.0
    })
}

#[test]
fn every_lane_ends_with_the_returned_bits() {
    for seed in 0..100 {
        let lanes = scattered(seed);
        let (sum, max) = (warp_sum(lanes), warp_max(lanes));
        assert!(
            all_lanes(lanes, |a, b| a + b)
                .iter()
                .all(|x| x.to_bits() == sum.to_bits())
        );
        assert!(
            all_lanes(lanes, maximum)
                .iter()
                .all(|x| x.to_bits() == max.to_bits())
        );
        assert_eq!(max, lanes.into_iter().fold(f32::NEG_INFINITY, f32::max));
    }
}

#[test]
fn the_sum_adds_the_farthest_partner_first() {
    // 2^24 + 1 rounds back to 2^24, so only an order that meets -2^24 before the ones keeps them.
    let mut lanes = [0.0; WARP];
    lanes[0] = 16_777_216.0;
    lanes[16] = -16_777_216.0;
    lanes[1] = 1.0;
    assert_eq!(warp_sum(lanes), 1.0);
    lanes.swap(1, 16);
    lanes.swap(16, 8);
    // Now 2^24 meets nothing at 16, the 1 at 8, and -2^24 last.
    assert_eq!(warp_sum(lanes), 0.0);
}

#[test]
fn the_butterfly_combines_low_lane_first() {
    let order = butterfly(std::array::from_fn(|lane| lane as u64), |a, b| a * 31 + b);
    let mut lanes: [u64; WARP] = std::array::from_fn(|lane| lane as u64);
    for step in [16, 8, 4, 2, 1] {
        lanes = std::array::from_fn(|l| lanes[l & !step] * 31 + lanes[l | step]);
    }
    assert_eq!(order, lanes[0]);
}

#[test]
fn the_maximum_prefers_numbers_to_nan_and_plus_zero_to_minus_zero() {
    let same = |a: f32, b: f32| assert_eq!(a.to_bits(), b.to_bits());
    same(maximum(0.0, -0.0), 0.0);
    same(maximum(-0.0, 0.0), 0.0);
    same(maximum(-0.0, -0.0), -0.0);
    same(maximum(f32::NAN, -1.0), -1.0);
    same(maximum(-1.0, f32::NAN), -1.0);
    same(maximum(1.0, 2.0), 2.0);
    same(maximum(2.0, 1.0), 2.0);
    assert!(maximum(f32::NAN, f32::NAN).is_nan());
    assert_eq!(maximum(f32::NEG_INFINITY, f32::INFINITY), f32::INFINITY);
}

#[test]
fn a_chain_takes_every_threads_item_in_order() {
    let items = strided_chain(10, 4, 1, Vec::new(), |mut seen, i| {
        seen.push(i);
        seen
    });
    assert_eq!(items, [1, 5, 9]);
    assert!(
        strided_chain(2, 4, 3, Vec::<usize>::new(), |_, _| unreachable!(
            "no items"
        ))
        .is_empty()
    );
}

#[test]
fn a_block_sums_warps_by_the_same_butterfly() {
    let items: Vec<f32> = (0..3000).map(|i| (i as f32 * 0.37).sin()).collect();
    for threads in [32, 256, 1024] {
        let mut warps = [0.0; WARP];
        for (w, warp) in warps.iter_mut().take(threads / WARP).enumerate() {
            let mut lanes = [0.0_f32; WARP];
            for (l, lane) in lanes.iter_mut().enumerate() {
                let mut i = w * WARP + l;
                while i < items.len() {
                    *lane = items[i].mul_add(items[i], *lane);
                    i += threads;
                }
            }
            *warp = all_lanes(lanes, |a, b| a + b)[7];
        }
        let want = all_lanes(warps, |a, b| a + b)[21];
        assert_eq!(
            block_sum(items.len(), threads, |s, i| items[i].mul_add(items[i], s)).to_bits(),
            want.to_bits()
        );
    }
    assert_eq!(block_sum(0, 256, |_, _| f32::NAN).to_bits(), 0);
}

#[test]
#[should_panic(expected = "threads: 48, must be a multiple of 32")]
fn a_block_of_half_warps_is_refused() {
    block_sum(1, 48, |s, _| s);
}
