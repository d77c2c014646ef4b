//! The recurrence as plain Rust: [`scan`] returns the bytes that every code path of the library returns.
//! [`reference()`] is one token in `f64`, with a bound on the distance of any order of summation.
//!
//! Values are f32 throughout: those of a 16-bit type are given as the f32 that equal them, and results are rounded to their
//! type and come back as f32. Nothing depends on the number of sequences, on slots, strides or layout.

mod reference;

pub use reference::{Reference, reference};

use crate::{Beta, Decay, Dtype, HeadMap, Layout, Norm};
use exact_math::{exp, rsqrt_rn, sigmoid, softplus};

/// One call, as slices; see `gdn_scan.h`. Start from [`Problem::step`] or [`Problem::tokens`] and change what differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem<'a> {
    /// B.
    pub sequences: usize,
    /// H.
    pub key_heads: usize,
    /// HV, a multiple of H.
    pub value_heads: usize,
    /// K.
    pub key_dim: usize,
    /// V.
    pub value_dim: usize,
    /// With `cu_seqlens`: token rows in all.
    pub total_t: usize,
    /// T, or with `cu_seqlens` a bound of every sequence's.
    pub max_t: usize,
    /// Slots of the state pool.
    pub slots: usize,
    /// Elements between slots.
    pub slot_stride: usize,
    /// Elements between rows of q.
    pub q_stride: usize,
    /// Elements between rows of k.
    pub k_stride: usize,
    /// Elements between rows of v.
    pub v_stride: usize,
    /// Elements between rows of o.
    pub out_stride: usize,
    /// Elements between rows of g.
    pub g_stride: usize,
    /// Elements between rows of beta.
    pub beta_stride: usize,
    /// Of q, k, v, o and raw gates.
    pub dtype: Dtype,
    /// Of states and snapshots.
    pub state_dtype: Dtype,
    /// Of states and snapshots.
    pub layout: Layout,
    /// From value heads to key heads.
    pub head_map: HeadMap,
    /// What `g` holds.
    pub decay: Decay,
    /// What `beta` holds.
    pub beta_form: Beta,
    /// What is done to q and k.
    pub norm: Norm,
    /// One decay for each key.
    pub key_decay: bool,
    /// Factor of o; `None`: `1.0f32 / sqrt(K)`.
    pub scale: Option<f32>,
    /// Whether states after tokens are kept: 0 all, n the last n of each sequence.
    pub snapshots: Option<usize>,
    /// Rows of the snapshots.
    pub snapshot_rows: usize,
    /// `[slots]`: where states are read in place of the pool that is written.
    pub source: Option<&'a [f32]>,
    /// `[B]`.
    pub slots_in: Option<&'a [i32]>,
    /// `[B]`.
    pub slots_out: Option<&'a [i32]>,
    /// `[B + 1]`.
    pub cu_seqlens: Option<&'a [i32]>,
    /// `[rows, H, K]`.
    pub q: &'a [f32],
    /// `[rows, H, K]`.
    pub k: &'a [f32],
    /// `[rows, HV, V]`.
    pub v: &'a [f32],
    /// `[rows, HV]`, or `[rows, HV, K]` with `key_decay`.
    pub g: &'a [f32],
    /// `[rows, HV]`.
    pub beta: &'a [f32],
    /// `[HV]`, for [`Decay::Gate`].
    pub a_log: &'a [f32],
    /// `[HV]`, or `[HV, K]` with `key_decay`, for [`Decay::Gate`].
    pub dt_bias: &'a [f32],
}

/// What comes back beside the state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// `[rows, HV, V]`, `out_stride` apart; rows of no sequence are 0.
    pub out: Vec<f32>,
    /// `[snapshot_rows, HV]` states; those of no token are 0.
    pub snapshots: Vec<f32>,
    /// Token rows that belong to a sequence.
    pub written_rows: Vec<bool>,
    /// Snapshot rows that were written.
    pub written_snapshots: Vec<bool>,
    /// The status word of a call that found it 0.
    pub status: u32,
}

/// Cause of the status word: bad `cu_seqlens`.
const BAD_OFFSETS: u32 = 1;
/// Cause of the status word: a slot beyond the pool.
const BAD_SLOT: u32 = 2;

/// A sequence of the call.
struct Sequence {
    first: usize,
    tokens: usize,
    from: Option<usize>,
    to: Option<usize>,
    pad: bool,
}

impl<'a> Problem<'a> {
    /// One token of each sequence, everything packed and in its default form; the arrays are empty yet.
    pub fn step(sizes: [usize; 5]) -> Problem<'a> {
        Problem::tokens(sizes, 1)
    }

    /// `tokens` tokens of each sequence. Sizes are B, H, HV, K and V.
    pub fn tokens(
        [sequences, key_heads, value_heads, key_dim, value_dim]: [usize; 5],
        tokens: usize,
    ) -> Problem<'a> {
        Problem {
            sequences,
            key_heads,
            value_heads,
            key_dim,
            value_dim,
            total_t: sequences * tokens,
            max_t: tokens,
            slots: sequences,
            slot_stride: value_heads * key_dim * value_dim,
            q_stride: key_heads * key_dim,
            k_stride: key_heads * key_dim,
            v_stride: value_heads * value_dim,
            out_stride: value_heads * value_dim,
            g_stride: value_heads,
            beta_stride: value_heads,
            dtype: Dtype::F32,
            state_dtype: Dtype::F32,
            layout: Layout::Kv,
            head_map: HeadMap::Grouped,
            decay: Decay::Linear,
            beta_form: Beta::Given,
            norm: Norm::None,
            key_decay: false,
            scale: None,
            snapshots: None,
            snapshot_rows: 0,
            source: None,
            slots_in: None,
            slots_out: None,
            cu_seqlens: None,
            q: &[],
            k: &[],
            v: &[],
            g: &[],
            beta: &[],
            a_log: &[],
            dt_bias: &[],
        }
    }

    /// Token rows of q, k, v, g, beta and o.
    pub fn rows(&self) -> usize {
        match self.cu_seqlens {
            Some(_) => self.total_t,
            None => self.sequences * self.max_t,
        }
    }

    /// Elements of a head's state.
    fn head_size(&self) -> usize {
        self.key_dim * self.value_dim
    }

    fn key_head(&self, head: usize) -> usize {
        match self.head_map {
            HeadMap::Grouped => head / (self.value_heads / self.key_heads),
            HeadMap::Tiled => head % self.key_heads,
        }
    }

    /// Place of key r and value c in a head's state.
    fn place(&self, r: usize, c: usize) -> usize {
        match self.layout {
            Layout::Kv => r * self.value_dim + c,
            Layout::Vk => c * self.key_dim + r,
        }
    }

    /// The factor of o.
    pub fn scale(&self) -> f32 {
        self.scale.unwrap_or(1.0 / (self.key_dim as f32).sqrt())
    }

    fn sequence(&self, index: usize, status: &mut u32) -> Sequence {
        let mut report = |cause: u32| {
            if *status == 0 {
                *status = cause << 24 | index.min(0xff_ffff) as u32;
            }
        };
        let (mut first, mut tokens) = (index * self.max_t, self.max_t);
        if let Some(offsets) = self.cu_seqlens {
            let (begin, end) = (i64::from(offsets[index]), i64::from(offsets[index + 1]));
            let good = begin >= 0
                && begin <= end
                && end <= self.total_t as i64
                && end - begin <= self.max_t as i64;
            (first, tokens) = if good {
                (begin as usize, (end - begin) as usize)
            } else {
                report(BAD_OFFSETS);
                (0, 0)
            };
        }
        let from = self
            .slots_in
            .map_or(index as i64, |slots| slots[index].into());
        let to = self.slots_out.map_or(from, |slots| slots[index].into());
        if from.max(to) >= self.slots as i64 {
            report(BAD_SLOT);
            return Sequence {
                first,
                tokens,
                from: None,
                to: None,
                pad: true,
            };
        }
        Sequence {
            first,
            tokens,
            from: usize::try_from(from).ok(),
            to: usize::try_from(to).ok(),
            pad: from < 0 && to < 0,
        }
    }

    /// q or k of a token and key head, normalised.
    fn key_vector(&self, values: &[f32], at: usize) -> Vec<f32> {
        let x = &values[at..at + self.key_dim];
        let sum = || x.iter().fold(0.0, |sum: f32, x| sum + x * x);
        let factor = match self.norm {
            Norm::None => return x.to_vec(),
            Norm::EpsOutside(eps) => 1.0 / (sum().sqrt() + eps),
            Norm::EpsInside(eps) => rsqrt_rn(sum() + eps),
        };
        x.iter().map(|x| x * factor).collect()
    }

    /// The decay of a token, head and key.
    fn alpha(&self, token: usize, head: usize, r: usize) -> f32 {
        let each = if self.key_decay {
            head * self.key_dim + r
        } else {
            head
        };
        let g = self.g[token * self.g_stride + each];
        match self.decay {
            Decay::Linear => g,
            Decay::Log => exp(g),
            Decay::Gate => exp(-(exp(self.a_log[head]) * softplus(g + self.dt_bias[each]))),
        }
    }

    fn beta(&self, token: usize, head: usize) -> f32 {
        let b = self.beta[token * self.beta_stride + head];
        match self.beta_form {
            Beta::Given => b,
            Beta::Sigmoid => sigmoid(b),
            Beta::TwiceSigmoid => 2.0 * sigmoid(b),
        }
    }

    /// The operands of one token and head.
    fn operands(&self, token: usize, head: usize) -> Operands<'a> {
        let kh = self.key_head(head) * self.key_dim;
        let v = token * self.v_stride + head * self.value_dim;
        Operands {
            q: self.key_vector(self.q, token * self.q_stride + kh),
            k: self.key_vector(self.k, token * self.k_stride + kh),
            v: &self.v[v..v + self.value_dim],
            alpha: (0..self.key_dim)
                .map(|r| self.alpha(token, head, r))
                .collect(),
            beta: self.beta(token, head),
        }
    }

    /// The row of the snapshots that token t of a sequence goes to.
    fn snapshot_row(&self, index: usize, sequence: &Sequence, t: usize) -> Option<usize> {
        match self.snapshots? {
            0 => Some(sequence.first + t),
            count => {
                let dropped = sequence.tokens.saturating_sub(count);
                (t >= dropped).then(|| index * count + t - dropped)
            }
        }
    }
}

/// One token of one head, with every gate and norm applied.
struct Operands<'a> {
    q: Vec<f32>,
    k: Vec<f32>,
    v: &'a [f32],
    alpha: Vec<f32>,
    beta: f32,
}

/// Runs the call on the pool of states.
///
/// # Panics
/// When a slice is shorter than the sizes say.
pub fn scan(problem: &Problem<'_>, state: &mut [f32]) -> Results {
    let p = problem;
    let (rows, size) = (p.rows(), p.head_size());
    let values = p.value_heads * p.value_dim;
    let out = if rows == 0 {
        0
    } else {
        (rows - 1) * p.out_stride + values
    };
    let mut results = Results {
        out: vec![0.0; out],
        snapshots: vec![0.0; p.snapshot_rows * p.value_heads * size],
        written_rows: vec![false; rows],
        written_snapshots: vec![false; p.snapshot_rows],
        status: 0,
    };
    // All states are read before any is written: a pool may be permuted in place.
    let before = p.source.unwrap_or(state).to_vec();
    for index in 0..p.sequences {
        let sequence = p.sequence(index, &mut results.status);
        for t in 0..sequence.tokens {
            results.written_rows[sequence.first + t] = true;
        }
        if sequence.pad {
            continue;
        }
        for head in 0..p.value_heads {
            let at = |slot: usize| slot * p.slot_stride + head * size;
            let mut head_state = match sequence.from {
                Some(slot) => before[at(slot)..at(slot) + size].to_vec(),
                None => vec![0.0; size],
            };
            for t in 0..sequence.tokens {
                let token = sequence.first + t;
                let to = token * p.out_stride + head * p.value_dim;
                let o = &mut results.out[to..to + p.value_dim];
                step(p, &p.operands(token, head), &mut head_state, o);
                if let Some(row) = p.snapshot_row(index, &sequence, t) {
                    let at = (row * p.value_heads + head) * size;
                    results.snapshots[at..at + size].copy_from_slice(&head_state);
                    results.written_snapshots[row] = true;
                }
            }
            if let Some(slot) = sequence.to {
                state[at(slot)..at(slot) + size].copy_from_slice(&head_state);
            }
        }
    }
    results
}

/// The definition: one token of one head.
fn step(p: &Problem<'_>, operands: &Operands<'_>, state: &mut [f32], o: &mut [f32]) {
    let Operands {
        q,
        k,
        v,
        alpha,
        beta,
    } = operands;
    for c in 0..p.value_dim {
        let mut retrieved = 0.0f32;
        for r in 0..p.key_dim {
            let s = &mut state[p.place(r, c)];
            *s *= alpha[r];
            retrieved += *s * k[r];
        }
        let delta = beta * (v[c] - retrieved);
        let mut read = 0.0f32;
        for r in 0..p.key_dim {
            let s = &mut state[p.place(r, c)];
            let written = *s + k[r] * delta;
            read += written * q[r];
            *s = p.state_dtype.round(written);
        }
        o[c] = p.dtype.round(read * p.scale());
    }
}
