//! Each function's largest error against `f64`: on a sample by default, over all 2^32 inputs with `--ignored`
//! (`scripts/sweep.sh` runs that in release mode).

use std::ops::RangeInclusive;

/// A function with its reference, and the bound its documentation states.
struct Claim {
    name: &'static str,
    worst: fn(RangeInclusive<u32>, usize) -> Worst,
    /// Largest error in units in the last place of the result.
    bound: f64,
}

/// One claim a line; each makes its own copy of [`worst`], so that both functions are inlined into the loop.
macro_rules! claims {
    ($($name:ident: $reference:expr, $bound:expr;)*) => {
        const CLAIMS: &[Claim] = &[$(Claim {
            name: stringify!($name),
            worst: |bits, step| worst(exact_math::$name, |x| $reference(x).into(), bits, step),
            bound: $bound,
        }),*];
    };
}

claims! {
    exp: exp, 0.9;
    log: f64::ln, 0.95;
    log1p: log1p, 1.5;
    sigmoid: sigmoid, 2.8;
    softplus: softplus, 1.9;
    rsqrt_rn: rsqrt, 0.500_001;
    tanh: f64::tanh, 1.4;
    tanh_slope: tanh_slope, 5.1;
    erf: erf, 1.13;
    silu: silu, 3.4;
    silu_slope: silu_slope, 4.3;
    gelu_erf: gelu_erf, 6.5;
    gelu_erf_slope: gelu_erf_slope, 4.0;
    gelu_tanh: gelu_tanh, 3.0;
    gelu_tanh_slope: gelu_tanh_slope, 2.5;
}

/// `f64::exp` without the call where `f32` cannot tell: a sweep spends most of its inputs there.
fn exp(x: f64) -> f64 {
    if x.abs() < 1e-9 {
        1.0 + x
    } else if x > 100.0 {
        f64::INFINITY
    } else if x < -120.0 {
        0.0
    } else {
        exp_called(x)
    }
}

/// Not inlined, because the compiler moves a bare `exp` ahead of the conditions that are to avoid it.
#[inline(never)]
fn exp_called(x: f64) -> f64 {
    x.exp()
}

fn log1p(x: f64) -> f64 {
    if x.abs() < 1e-9 {
        x - 0.5 * x * x
    } else {
        x.ln_1p()
    }
}

fn sigmoid(x: f64) -> f64 {
    let z = exp(-x.abs());
    if x < 0.0 {
        z / (1.0 + z)
    } else {
        1.0 / (1.0 + z)
    }
}

fn softplus(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else {
        x.max(0.0) + log1p(exp(-x.abs()))
    }
}

/// An exact value and the magnitude whose ulps its error is measured in: its own, or, where terms cancel or a rounded
/// argument is magnified, the sum of the terms' magnitudes times the magnification.
#[derive(Clone, Copy)]
struct Exact {
    value: f64,
    magnitude: f64,
}

impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        Exact {
            value,
            magnitude: value,
        }
    }
}

fn tanh_slope(x: f64) -> f64 {
    4.0 * sigmoid(2.0 * x) * sigmoid(-2.0 * x)
}

/// The limit of `x * factor` where the factor vanishes faster than `x` grows.
fn times(x: f64, factor: f64) -> f64 {
    if factor == 0.0 { 0.0 } else { x * factor }
}

fn silu(x: f64) -> f64 {
    times(x, sigmoid(x))
}

fn silu_slope(x: f64) -> Exact {
    let (a, b) = (sigmoid(x), sigmoid(-x));
    Exact {
        value: a + times(a * x, b),
        magnitude: a + times(a * x.abs(), b) + 1e-36,
    }
}

/// `erf` by its series `2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (2n+1)!!`, whose terms are all of one sign.
fn erf_series(x: f64) -> f64 {
    /// 2/3, 2/5, 2/7, ...: what a term is multiplied with besides x^2. Enough for |x| <= 2.
    const FACTORS: [f64; 40] = {
        let mut factors = [0.0; 40];
        let mut n = 0;
        while n < factors.len() {
            factors[n] = 2.0 / (2 * n + 3) as f64;
            n += 1;
        }
        factors
    };
    let (square, mut term, mut sum) = (x * x, x, x);
    for factor in FACTORS {
        term *= square * factor;
        sum += term;
        if term.abs() <= sum.abs() * 1e-17 {
            break;
        }
    }
    std::f64::consts::FRAC_2_SQRT_PI * exp(-square) * sum
}

/// `erfc` by its continued fraction, for `x >= 2`.
fn erfc_fraction(x: f64) -> f64 {
    let mut k = (200.0 / (x * x)).ceil() + 12.0;
    let mut f = x;
    while k > 0.0 {
        f = x + 0.5 * k / f;
        k -= 1.0;
    }
    exp(-x * x) / (f * std::f64::consts::PI.sqrt())
}

fn erf(x: f64) -> f64 {
    if x.abs() < 2.0 {
        erf_series(x)
    } else if x.abs() > 6.0 {
        1f64.copysign(x)
    } else {
        (1.0 - erfc_fraction(x.abs())).copysign(x)
    }
}

/// The normal distribution below `x`.
fn normal(x: f64) -> f64 {
    let t = x * std::f64::consts::FRAC_1_SQRT_2;
    if t.abs() > 12.0 {
        // erfc(12) is below every f32.
        if t > 0.0 { 1.0 } else { 0.0 }
    } else if t.abs() < 2.0 {
        0.5 + 0.5 * erf_series(t)
    } else if t > 0.0 {
        1.0 - 0.5 * erfc_fraction(t)
    } else {
        0.5 * erfc_fraction(-t)
    }
}

fn gelu_erf(x: f64) -> f64 {
    times(x, normal(x))
}

fn gelu_erf_slope(x: f64) -> Exact {
    let density = times(x, exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt());
    Exact {
        value: normal(x) + density,
        magnitude: normal(x) + density.abs() + 1e-36,
    }
}

/// `v` of GELU's tanh form and `x v'`.
fn gelu_argument(x: f64) -> (f64, f64) {
    let c = 2.0 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    (
        c * (x + 0.044715 * x * x * x),
        c * (x + 3.0 * 0.044715 * x * x * x),
    )
}

fn gelu_tanh(x: f64) -> Exact {
    let v = gelu_argument(x).0;
    let value = times(x, sigmoid(v));
    Exact {
        value,
        magnitude: times(1.0 + v.abs(), value),
    }
}

fn gelu_tanh_slope(x: f64) -> Exact {
    let (v, xv) = gelu_argument(x);
    let (a, b) = (sigmoid(v), sigmoid(-v));
    let terms = a + times(xv.abs() * a, b) + 1e-36;
    Exact {
        value: a + times(xv * a, b),
        magnitude: times(1.0 + v.abs(), terms),
    }
}

fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// The error of `got` in ulps of the exact value. A result of the wrong class (NaN, infinity) is infinitely wrong;
/// infinity counts as 2^128 where rounding alone would give it or one ulp less.
fn error_in_ulps(got: f32, exact: &Exact) -> f64 {
    let Exact {
        value: exact,
        magnitude,
    } = *exact;
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    // Halfway between the largest finite f32 and 2^128.
    const OVERFLOW: f64 = 3.402_823_567_797_366e38;
    if exact.abs() >= OVERFLOW {
        return if f64::from(got) == f64::INFINITY.copysign(exact) {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let got = if got.is_infinite() {
        340_282_366_920_938_463_463_374_607_431_768_211_456.0_f64.copysign(f64::from(got))
    } else {
        f64::from(got)
    };
    (got - exact).abs() * places_per_unit(magnitude)
}

/// How many ulps of an f32 of this magnitude make one.
#[inline(always)]
fn places_per_unit(magnitude: f64) -> f64 {
    // In the exponent field of f64; below the normal f32 the spacing stays.
    let exponent = (magnitude.to_bits() >> 52 & 0x7ff).max(1023 - 126);
    f64::from_bits((2046 + 23 - exponent) << 52)
}

#[derive(Clone, Copy)]
struct Worst {
    ulps: f64,
    at: f32,
}

/// The worst input among `first, first + step, ...` of the bit patterns in `bits`.
#[inline(always)]
fn worst(
    function: impl Fn(f32) -> f32,
    reference: impl Fn(f64) -> Exact,
    bits: RangeInclusive<u32>,
    step: usize,
) -> Worst {
    /// Results are made a tile at a time, in a loop of its own that the compiler can vectorise.
    const TILE: usize = 256;
    let (first, last) = (u64::from(*bits.start()), u64::from(*bits.end()));
    let mut worst = Worst { ulps: 0.0, at: 0.0 };
    let mut exact = [Exact {
        value: 0.0,
        magnitude: 0.0,
    }; TILE];
    let mut next = first;
    while next <= last {
        // The last tile's surplus repeats the last pattern.
        let inputs: [f32; TILE] =
            std::array::from_fn(|i| f32::from_bits((next + (i * step) as u64).min(last) as u32));
        let mut results = [0.0; TILE];
        for (result, &x) in results.iter_mut().zip(&inputs) {
            *result = function(x);
        }
        for (exact, &x) in exact.iter_mut().zip(&inputs) {
            *exact = reference(f64::from(x));
        }
        // The plain case, in a loop that vectorises as well; what it cannot judge comes out as NaN or too large.
        let mut distances = [0.0; TILE];
        for ((distance, exact), &got) in distances.iter_mut().zip(&exact).zip(&results) {
            let got = f64::from(got);
            let off = (got - exact.value).abs() * places_per_unit(exact.magnitude);
            *distance = if got == exact.value { 0.0 } else { off };
        }
        for (i, &distance) in distances.iter().enumerate() {
            if distance.is_nan() || distance > worst.ulps {
                let ulps = error_in_ulps(results[i], &exact[i]);
                if ulps > worst.ulps {
                    worst = Worst {
                        ulps,
                        at: inputs[i],
                    };
                }
            }
        }
        next += (TILE * step) as u64;
    }
    worst
}

/// [`worst`] over every pattern, on all cores.
fn worst_of_all(claim: &Claim, step: usize) -> Worst {
    const CHUNKS: u32 = 256;
    let next = std::sync::atomic::AtomicU32::new(0);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    let mut found = Worst { ulps: 0.0, at: 0.0 };
                    loop {
                        let chunk = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if chunk >= CHUNKS {
                            return found;
                        }
                        let first = chunk * (u32::MAX / CHUNKS + 1);
                        let here = (claim.worst)(first..=first + u32::MAX / CHUNKS, step);
                        if here.ulps > found.ulps {
                            found = here;
                        }
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|w| w.join().expect("a worker panicked"))
            .max_by(|a, b| a.ulps.total_cmp(&b.ulps))
            .expect("at least one core")
    })
}

fn check(step: usize) {
    let mut broken = Vec::new();
    for claim in CLAIMS {
        let start = std::time::Instant::now();
        let found = worst_of_all(claim, step);
        println!(
            "{:24} {:.4} ulp at {:e} (bound {}) {:?}",
            claim.name,
            found.ulps,
            found.at,
            claim.bound,
            start.elapsed()
        );
        if found.ulps > claim.bound {
            broken.push(format!(
                "{}: {} ulp at {:e}, bound {}",
                claim.name, found.ulps, found.at, claim.bound
            ));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn errors_stay_within_their_bounds_on_a_sample() {
    check(4099);
}

#[test]
#[ignore = "all 2^32 inputs: minutes in release mode; scripts/sweep.sh"]
fn errors_stay_within_their_bounds_on_every_input() {
    check(1);
}
