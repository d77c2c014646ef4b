//! Values for the tests of the oracles.

/// Uniform values, the same on every machine.
pub fn uniform(count: usize, seed: u64, low: f32, high: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            low + (high - low) * ((state >> 40) as f32 / (1u64 << 24) as f32)
        })
        .collect()
}
