//! Mamba-2's decode step: `m2_state_update`.

use super::Dtype;
use exact_math::{exp, silu, softplus};

/// Consecutive elements of a lane.
const QUAD: usize = 4;
/// The most lanes of a row.
const WARP: usize = 32;

/// What decays the state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay<'a> {
    /// `A` of each head.
    A(&'a [f32]),
    /// `ln(-A)` of each head.
    Log(&'a [f32]),
}

/// What the status word says of the first bad device value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// An entry of `slots_in` beyond the pool.
    BadSlotIn = 1,
    /// An entry of `slots_out` beyond the pool.
    BadSlotOut = 2,
}

impl DeviceStatus {
    /// The status word.
    pub fn word(self, sequence: usize) -> u32 {
        (self as u32) << 24 | sequence.min(0xff_ffff) as u32
    }
}

/// Sizes and inputs of a step. Strides are in elements, between sequences or slots.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct StateUpdate<'a> {
    pub state_type: Dtype,
    pub io_type: Dtype,
    pub batch: usize,
    pub heads: usize,
    pub groups: usize,
    pub head_dim: usize,
    pub state_dim: usize,
    pub slots: usize,
    pub slot_stride: usize,
    pub x_stride: usize,
    pub dt_stride: usize,
    pub b_stride: usize,
    pub c_stride: usize,
    pub z_stride: usize,
    pub y_stride: usize,
    pub softplus: bool,
    /// Least and largest step.
    pub clamp: Option<[f32; 2]>,
    pub dt_per_channel: bool,
    pub d_per_channel: bool,
    pub slots_in: Option<&'a [i32]>,
    pub slots_out: Option<&'a [i32]>,
    pub x: &'a [f32],
    pub dt: &'a [f32],
    pub decay: Decay<'a>,
    pub dt_bias: Option<&'a [f32]>,
    pub b: &'a [f32],
    pub c: &'a [f32],
    pub d: Option<&'a [f32]>,
    pub z: Option<&'a [f32]>,
}

impl<'a> StateUpdate<'a> {
    /// Packed f32 arrays, a slot for each sequence, nothing optional. Sizes: batch, heads, groups, rows of a head,
    /// elements of a row.
    pub fn packed(
        [batch, heads, groups, head_dim, state_dim]: [usize; 5],
        x: &'a [f32],
        dt: &'a [f32],
        decay: Decay<'a>,
        [b, c]: [&'a [f32]; 2],
    ) -> StateUpdate<'a> {
        StateUpdate {
            state_type: Dtype::F32,
            io_type: Dtype::F32,
            batch,
            heads,
            groups,
            head_dim,
            state_dim,
            slots: batch,
            slot_stride: heads * head_dim * state_dim,
            x_stride: heads * head_dim,
            dt_stride: heads,
            b_stride: groups * state_dim,
            c_stride: groups * state_dim,
            z_stride: heads * head_dim,
            y_stride: heads * head_dim,
            softplus: false,
            clamp: None,
            dt_per_channel: false,
            d_per_channel: false,
            slots_in: None,
            slots_out: None,
            x,
            dt,
            decay,
            dt_bias: None,
            b,
            c,
            d: None,
            z: None,
        }
    }

    /// Where sequence `b` starts and where its state goes: `None` for a zero start and for a state that is not stored.
    /// A slot beyond the pool is as none, and the status word, where it is 0, takes it.
    pub fn slots_of(&self, b: usize, status: &mut u32) -> [Option<usize>; 2] {
        let raw_in = self.slots_in.map_or(b as i64, |slots| slots[b].into());
        let mut look = |raw: i64, cause: DeviceStatus| {
            let slot = usize::try_from(raw).ok()?;
            if slot < self.slots {
                return Some(slot);
            }
            if *status == 0 {
                *status = cause.word(b);
            }
            None
        };
        let slot_in = look(raw_in, DeviceStatus::BadSlotIn);
        let slot_out = match self.slots_out {
            Some(slots) => look(slots[b].into(), DeviceStatus::BadSlotOut),
            None => slot_in,
        };
        [slot_in, slot_out]
    }

    /// The step `d` and the decay's exponent `A d` of a row.
    fn step(&self, b: usize, h: usize, row: usize) -> [f32; 2] {
        let at = if self.dt_per_channel {
            h * self.head_dim + row
        } else {
            h
        };
        let mut d = self.dt[b * self.dt_stride + at];
        if let Some(bias) = self.dt_bias {
            d += bias[h];
        }
        if self.softplus {
            d = softplus(d);
        }
        if let Some([least, most]) = self.clamp {
            // Comparisons that let NaN through.
            d = if d < least { least } else { d };
            d = if d > most { most } else { d };
        }
        let a = match self.decay {
            Decay::A(a) => a[h],
            Decay::Log(a) => -exp(a[h]),
        };
        [d, a * d]
    }
}

/// Lanes of a row: the least power of two whose groups of four reach N, at most a warp.
pub fn lanes_of_row(state_dim: usize) -> usize {
    state_dim.div_ceil(QUAD).next_power_of_two().min(WARP)
}

/// `sum_n s[n] * c[n]`, in the order of the header.
fn row_sum(s: &[f32], c: &[f32]) -> f32 {
    let lanes = lanes_of_row(s.len());
    let mut accumulators = [[0.0f32; QUAD]; WARP];
    for (n, (s, c)) in s.iter().zip(c).enumerate() {
        let sum = &mut accumulators[n / QUAD % lanes][n % QUAD];
        *sum = s.mul_add(*c, *sum);
    }
    let mut sums = accumulators.map(|[a0, a1, a2, a3]| (a0 + a1) + (a2 + a3));
    let mut away = lanes / 2;
    while away > 0 {
        for lane in 0..away {
            sums[lane] += sums[lane + away];
        }
        away /= 2;
    }
    sums[0]
}

/// Updates the pool of states and fills `y`; the status word is set where it is 0.
pub fn state_update(p: &StateUpdate<'_>, state: &mut [f32], y: &mut [f32], status: &mut u32) {
    let (heads, rows, n) = (p.heads, p.head_dim, p.state_dim);
    let mut next = vec![0.0; n];
    for b in 0..p.batch {
        let [slot_in, slot_out] = p.slots_of(b, status);
        for h in 0..heads {
            let group = h / (heads / p.groups);
            let row_b = &p.b[b * p.b_stride + group * n..][..n];
            let row_c = &p.c[b * p.c_stride + group * n..][..n];
            for row in 0..rows {
                let channel = h * rows + row;
                let out = &mut y[b * p.y_stride + channel];
                if slot_in.is_none() && slot_out.is_none() {
                    *out = 0.0;
                    continue;
                }
                let [d, exponent] = p.step(b, h, row);
                let e = exp(exponent);
                let x = p.x[b * p.x_stride + channel];
                let dx = d * x;
                let at = |slot: usize| slot * p.slot_stride + channel * n;
                match slot_in {
                    Some(slot) => next.copy_from_slice(&state[at(slot)..][..n]),
                    None => next.fill(0.0),
                }
                for (s, b) in next.iter_mut().zip(row_b) {
                    *s = *s * e + dx * b;
                }
                if let Some(slot) = slot_out {
                    for (stored, s) in state[at(slot)..][..n].iter_mut().zip(&next) {
                        *stored = p.state_type.round(*s);
                    }
                }
                let mut sum = row_sum(&next, row_c);
                if let Some(d) = p.d {
                    sum += d[if p.d_per_channel { channel } else { h }] * x;
                }
                if let Some(z) = p.z {
                    sum *= silu(z[b * p.z_stride + channel]);
                }
                *out = p.io_type.round(sum);
            }
        }
    }
}

/// A value of the f64 formula and how far f32 may be from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The formula's value.
    pub value: f64,
    /// The largest difference.
    pub bound: f64,
}

/// The formula in f64, with the bound of the f32 arithmetic before values are rounded to 16 bits: the new state of
/// each sequence, `[B, H, P, N]`, and y, `[B, H, P]`. For finite inputs, and slots within the pool.
pub fn reference(p: &StateUpdate<'_>, state: &[f32]) -> [Vec<Bounded>; 2] {
    const EPS: f64 = 1.0 / (1 << 24) as f64;
    let n = p.state_dim;
    let mut states = Vec::new();
    let mut outputs = Vec::new();
    let mut ignored = 0;
    for b in 0..p.batch {
        let [slot_in, _] = p.slots_of(b, &mut ignored);
        for h in 0..p.heads {
            let group = h / (p.heads / p.groups);
            for row in 0..p.head_dim {
                let channel = h * p.head_dim + row;
                let at = if p.dt_per_channel { channel } else { h };
                let mut d = f64::from(p.dt[b * p.dt_stride + at]);
                let mut d_error = 0.0;
                if let Some(bias) = p.dt_bias {
                    d += f64::from(bias[h]);
                    d_error = d.abs() * EPS;
                }
                if p.softplus && d <= 20.0 {
                    // Its slope is below 1, and its relative error 4 halves of an ulp.
                    d = d.exp().ln_1p();
                    d_error += 4.0 * EPS * d;
                }
                if let Some([least, most]) = p.clamp {
                    d = d.clamp(least.into(), most.into());
                }
                let a = match p.decay {
                    Decay::A(a) => f64::from(a[h]),
                    Decay::Log(a) => -f64::from(a[h]).exp(),
                };
                let e = (a * d).exp();
                let e_error = e * ((a * d).abs() * 4.0 * EPS + a.abs() * d_error + 2.0 * EPS);
                let x = f64::from(p.x[b * p.x_stride + channel]);
                let (mut sum, mut sum_error, mut terms) = (0.0, 0.0, 0.0);
                for i in 0..n {
                    let s = slot_in.map_or(0.0, |slot| {
                        f64::from(state[slot * p.slot_stride + channel * n + i])
                    });
                    let input = f64::from(p.b[b * p.b_stride + group * n + i]);
                    let next = s * e + d * x * input;
                    let size = (s * e).abs() + (d * x * input).abs();
                    let error =
                        s.abs() * e_error + (x * input).abs() * d_error + 3.0 * EPS * size + 1e-37;
                    states.push(Bounded {
                        value: next,
                        bound: error,
                    });
                    let c = f64::from(p.c[b * p.c_stride + group * n + i]);
                    sum += next * c;
                    terms += (next * c).abs() + error * c.abs();
                    sum_error += error * c.abs();
                }
                // Chains of N / 128 terms, then seven additions.
                sum_error += terms * EPS * (n as f64 / 128.0 + 9.0);
                if let Some(direct) = p.d {
                    let term = f64::from(direct[if p.d_per_channel { channel } else { h }]) * x;
                    sum += term;
                    sum_error += EPS * (2.0 * term.abs() + sum.abs());
                }
                if let Some(z) = p.z {
                    let z = f64::from(z[b * p.z_stride + channel]);
                    let gate = z / (1.0 + (-z).exp());
                    sum_error = sum_error * gate.abs() + sum.abs() * gate.abs() * 8.0 * EPS + 1e-37;
                    sum *= gate;
                }
                outputs.push(Bounded {
                    value: sum,
                    bound: sum_error,
                });
            }
        }
    }
    [states, outputs]
}
