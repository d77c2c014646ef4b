//! Seeded inputs: one small generator, the same on every machine and for ever.

use half::{bf16, f16};

/// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"): one
/// 64-bit state, equal streams from equal seeds on every platform.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for `seed`. Nearby seeds give unrelated streams.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// A generator for one named part of a case, so that adding a buffer to a case does not
    /// change the contents of the others.
    pub fn named(seed: u64, name: &str) -> Random {
        // FNV-1a over the name, then mixed with the seed by one step of the generator.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut random = Random::new(seed ^ hash);
        random.next_u64();
        random
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in `0..limit`. The bias of the plain multiplication is below 2^-32 for the
    /// limits of tests.
    ///
    /// # Panics
    /// When `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "there is no integer below 0");
        ((u128::from(self.next_u64()) * limit as u128) >> 64) as usize
    }

    /// An integer in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True with probability `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in [low, high), rounded to f32.
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        (f64::from(low) + self.unit() * (f64::from(high) - f64::from(low))) as f32
    }

    /// About normal with mean 0 and variance 1: the sum of twelve uniforms less 6. Needs no
    /// transcendental function, so it is the same bits on every platform.
    pub fn normal(&mut self) -> f32 {
        ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0) as f32
    }

    /// `count` values about normal, times `scale`.
    pub fn normals(&mut self, count: usize, scale: f32) -> Vec<f32> {
        (0..count).map(|_| self.normal() * scale).collect()
    }

    /// `count` values in [low, high).
    pub fn uniforms(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| self.uniform(low, high)).collect()
    }
}

/// Rounds every value to bf16, nearest even.
pub fn to_bf16(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&value| bf16::from_f32(value)).collect()
}

/// Rounds every value to f16, nearest even.
pub fn to_f16(values: &[f32]) -> Vec<f16> {
    values.iter().map(|&value| f16::from_f32(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        // The reference outputs of SplitMix64 for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn names_and_seeds_give_different_streams() {
        let first = |mut random: Random| random.next_u64();
        let a = first(Random::named(1, "query"));
        assert_eq!(a, first(Random::named(1, "query")));
        assert_ne!(a, first(Random::named(2, "query")));
        assert_ne!(a, first(Random::named(1, "candidates")));
    }

    #[test]
    fn ranges_hold() {
        let mut random = Random::new(7);
        let mut sum = 0.0;
        for _ in 0..10_000 {
            assert!(random.below(3) < 3);
            let value = random.uniform(-2.0, 5.0);
            assert!((-2.0..=5.0).contains(&value));
            sum += f64::from(random.normal());
        }
        assert!(
            (sum / 10_000.0).abs() < 0.05,
            "the mean of normals was {}",
            sum / 10_000.0
        );
    }
}
