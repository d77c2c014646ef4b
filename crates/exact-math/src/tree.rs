//! The fixed reduction trees (`<ck/tree.cuh>`): their order is part of every exact result.

/// Lanes of a warp.
pub const WARP: usize = 32;

/// The xor butterfly: in each step every lane adds the value of the lane 16, 8, 4, 2, 1 away to its own. Addition
/// commutes, so both partners hold the same bits after a step, and all lanes the returned bits after the last.
#[inline]
pub fn warp_sum(lanes: [f32; WARP]) -> f32 {
    butterfly(lanes, |a, b| a + b)
}

/// The same butterfly for [`maximum`]: NaN only where every lane is NaN.
#[inline]
pub fn warp_max(lanes: [f32; WARP]) -> f32 {
    butterfly(lanes, maximum)
}

/// The xor butterfly for any operation that commutes to the bit; for one that does not, lane 0's result.
#[inline]
pub fn butterfly<T: Copy>(mut lanes: [T; WARP], combine: impl Fn(T, T) -> T) -> T {
    // Lane l < step ends a step with combine(l, l + step); the lanes above hold the same by symmetry.
    let mut step = WARP / 2;
    while step > 0 {
        for lane in 0..step {
            lanes[lane] = combine(lanes[lane], lanes[lane + step]);
        }
        step /= 2;
    }
    lanes[0]
}

/// The larger of two values, as the GPU's `fmaxf`: a NaN loses to a number, and +0 is above -0.
#[inline]
pub fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a > b || (a == b && b.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// The share of thread `thread` of `threads`: items `thread, thread + threads, ...` below `items`, folded in this order
/// from `start`.
#[inline]
pub fn strided_chain<T>(
    items: usize,
    threads: usize,
    thread: usize,
    start: T,
    fold: impl FnMut(T, usize) -> T,
) -> T {
    (thread..items).step_by(threads).fold(start, fold)
}

/// A block's sum: each of its `threads` logical threads makes its [`strided_chain`] from +0, each warp its
/// [`warp_sum`], and the warps' sums, with +0 in the absent places, go through the same butterfly once more.
///
/// `threads` is a multiple of 32 and at most 1024; `add(sum, item)` takes one item in.
pub fn block_sum(items: usize, threads: usize, mut add: impl FnMut(f32, usize) -> f32) -> f32 {
    assert!(
        threads.is_multiple_of(WARP) && (WARP..=WARP * WARP).contains(&threads),
        "threads: {threads}, must be a multiple of 32 and at most 1024"
    );
    let mut warps = [0.0; WARP];
    for (warp, sum) in warps.iter_mut().take(threads / WARP).enumerate() {
        *sum = warp_sum(std::array::from_fn(|lane| {
            strided_chain(items, threads, warp * WARP + lane, 0.0, &mut add)
        }));
    }
    warp_sum(warps)
}
