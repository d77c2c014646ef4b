//! The algorithm, as plain Rust: [`score_into`] returns the bytes that every code path of the
//! library returns, [`reference()`] the same quantities by the textbook formula in `f64`, with a
//! bound on the distance between the two.
//!
//! [`score_into`] is the definition: the order of every sum is written out here once, as
//! `include/scoring.h` states it, and nothing depends on the number of questions, on the other
//! candidates, on strides or on alignment.

use crate::Similarity;
use exact_math::tree::{WARP as LANES, warp_sum};
use exact_math::{exp, log};
use half::{bf16, f16};
use std::borrow::Cow;
use std::ops::Range;

/// Consecutive elements that one lane takes at a time: 16 bytes of f32.
const GROUP: usize = 4;
/// Elements of one segment of a sum: the accumulators of a lane are added up after each.
const SEGMENT: usize = 512;
/// Candidates of one softmax tile.
const TILE: usize = 256;
/// Sums of squares below it have lost digits to subnormal terms, or all of them to zero.
const RESCUE_BELOW: f32 = f32::from_bits((127 - 100) << 23);

/// Elements of queries or candidates, read as f32 (exactly, whatever their type).
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// IEEE half precision.
    F16(&'a [f16]),
}

impl<'a> Elements<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(x) => x.len(),
            Elements::Bf16(x) => x.len(),
            Elements::F16(x) => x.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, start: usize, dim: usize) -> Cow<'a, [f32]> {
        let row = start..start + dim;
        match self {
            Elements::F32(x) => Cow::Borrowed(&x[row]),
            Elements::Bf16(x) => x[row].iter().map(|x| x.to_f32()).collect(),
            Elements::F16(x) => x[row].iter().map(|x| x.to_f32()).collect(),
        }
    }
}

/// Where question `i` finds candidate `k`.
#[derive(Debug, Clone, Copy)]
pub enum Layout<'a> {
    /// Row `k` of block `i` of candidates `[Q, K, D]`.
    Dense {
        /// Elements between blocks.
        question_stride: usize,
    },
    /// Row `offsets[i] + k` of candidates `[sum_k, D]`.
    Ragged {
        /// `[Q + 1]`, ascending.
        offsets: &'a [i32],
        /// Candidates in all.
        sum_k: usize,
    },
    /// Row `k` of candidates `[K, D]`.
    Shared,
    /// Row `indices[i * K + k]` of a table `[table_rows, D]`.
    Indexed {
        /// `[Q, K]`.
        indices: &'a [i32],
        /// Rows of the table.
        table_rows: usize,
    },
    /// Row `indices[offsets[i] + k]` of a table `[table_rows, D]`.
    RaggedIndexed {
        /// `[sum_k]`.
        indices: &'a [i32],
        /// `[Q + 1]`, ascending.
        offsets: &'a [i32],
        /// Indices in all.
        sum_k: usize,
        /// Rows of the table.
        table_rows: usize,
    },
}

/// One call, as slices. Optional arrays are absent when `None`.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// `[Q, D]`, rows `query_stride` apart.
    pub queries: Elements<'a>,
    /// Rows `candidate_stride` apart, arranged as `layout` says.
    pub candidates: Elements<'a>,
    /// Q.
    pub questions: usize,
    /// K, or with offsets an upper bound of each question's.
    pub max_k: usize,
    /// D.
    pub dim: usize,
    /// Elements between queries, at least D.
    pub query_stride: usize,
    /// Elements between candidates, at least D.
    pub candidate_stride: usize,
    /// How candidates are found.
    pub layout: Layout<'a>,
    /// Dot product or cosine.
    pub similarity: Similarity,
    /// Factor of the similarity.
    pub scale: f32,
    /// Divisor of the scaled similarity.
    pub temperature: f32,
    /// `[Q]`: in place of `scale`.
    pub scales: Option<&'a [f32]>,
    /// `[Q]`: in place of `temperature`.
    pub temperatures: Option<&'a [f32]>,
    /// Per candidate: nonzero keeps.
    pub mask: Option<&'a [u8]>,
    /// Per candidate: added to the logit.
    pub bias: Option<&'a [f32]>,
    /// `[Q]`: multiplied in place of the division by the query's norm (cosine).
    pub query_inverse_norms: Option<&'a [f32]>,
    /// Per stored candidate row: multiplied in place of the division by its norm (cosine).
    pub candidate_inverse_norms: Option<&'a [f32]>,
    /// Width of the top lists.
    pub top_k: usize,
}

impl<'a> Problem<'a> {
    /// Packed rows, scale and temperature 1, nothing optional.
    pub fn packed(
        similarity: Similarity,
        queries: Elements<'a>,
        candidates: Elements<'a>,
        [questions, max_k, dim]: [usize; 3],
    ) -> Problem<'a> {
        Problem {
            queries,
            candidates,
            questions,
            max_k,
            dim,
            query_stride: dim,
            candidate_stride: dim,
            layout: Layout::Dense {
                question_stride: max_k * dim,
            },
            similarity,
            scale: 1.0,
            temperature: 1.0,
            scales: None,
            temperatures: None,
            mask: None,
            bias: None,
            query_inverse_norms: None,
            candidate_inverse_norms: None,
            top_k: 0,
        }
    }

    /// Elements of the per-candidate arrays: Q * K, or sum_k with offsets.
    pub fn positions(&self) -> usize {
        match self.layout {
            Layout::Ragged { sum_k, .. } | Layout::RaggedIndexed { sum_k, .. } => sum_k,
            _ => self.questions * self.max_k,
        }
    }

    /// The per-candidate entries of question `i`; `None` where its offsets are bad.
    pub fn span(&self, i: usize) -> Option<Range<usize>> {
        match self.layout {
            Layout::Ragged { offsets, sum_k } | Layout::RaggedIndexed { offsets, sum_k, .. } => {
                let start = usize::try_from(offsets[i]).ok()?;
                let end = usize::try_from(offsets[i + 1]).ok()?;
                let count = end.checked_sub(start)?;
                (end <= sum_k && count <= self.max_k).then_some(start..end)
            }
            _ => Some(i * self.max_k..(i + 1) * self.max_k),
        }
    }

    /// The stored row of the candidate at per-candidate entry `position`, the `k`-th of question
    /// `i`, and its first element; `None` where its index is outside the table.
    fn row(&self, i: usize, k: usize, position: usize) -> Option<(usize, usize)> {
        let within =
            |index: i32, rows: usize| usize::try_from(index).ok().filter(|&row| row < rows);
        let row = match self.layout {
            Layout::Dense { question_stride } => {
                return Some((position, i * question_stride + k * self.candidate_stride));
            }
            Layout::Ragged { .. } => position,
            Layout::Shared => k,
            Layout::Indexed {
                indices,
                table_rows,
            }
            | Layout::RaggedIndexed {
                indices,
                table_rows,
                ..
            } => within(indices[position], table_rows)?,
        };
        Some((row, row * self.candidate_stride))
    }
}

/// What goes wrong with values that only the device sees, by their numbers in the status word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum DeviceStatus {
    /// Offsets decrease, are negative, or pass `sum_k` or `max_k`.
    BadOffsets = 1,
    /// An index outside the table.
    BadIndex = 2,
    /// A question's temperature or scale is not finite or not above 0, or its inverse is not finite.
    BadTemperature = 3,
}

impl DeviceStatus {
    /// The status word that reports this of `question`.
    pub fn word(self, question: usize) -> u32 {
        (self as u32) << 24 | question.min((1 << 24) - 1) as u32
    }
}

/// Every output of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Per candidate.
    pub probabilities: Vec<f32>,
    /// Per candidate; a masked candidate's is -inf.
    pub logits: Vec<f32>,
    /// Per candidate.
    pub log_probabilities: Vec<f32>,
    /// `[Q]`.
    pub log_sum_exp: Vec<f32>,
    /// `[Q]`; -1 for none.
    pub argmax: Vec<i32>,
    /// `[Q, top_k]`.
    pub top_values: Vec<f32>,
    /// `[Q, top_k]`; -1 for none.
    pub top_indices: Vec<i32>,
    /// `[Q]`.
    pub expected_index: Vec<f32>,
    /// The status word.
    pub status: u32,
}

impl Scores {
    /// Outputs of the problem's sizes, all zero.
    pub fn zeroed(problem: &Problem<'_>) -> Scores {
        let (positions, questions) = (problem.positions(), problem.questions);
        Scores {
            probabilities: vec![0.0; positions],
            logits: vec![0.0; positions],
            log_probabilities: vec![0.0; positions],
            log_sum_exp: vec![0.0; questions],
            argmax: vec![0; questions],
            top_values: vec![0.0; questions * problem.top_k],
            top_indices: vec![0; questions * problem.top_k],
            expected_index: vec![0.0; questions],
            status: 0,
        }
    }
}

/// [`score_into`] zeroed outputs.
pub fn score(problem: &Problem<'_>) -> Scores {
    let mut scores = Scores::zeroed(problem);
    score_into(problem, &mut scores);
    scores
}

/// Scores every question. Per-candidate entries that belong to no question stay as they are, and
/// so does a status word that is not 0.
///
/// # Panics
/// When a slice is shorter than the problem's sizes say, as slices do.
pub fn score_into(problem: &Problem<'_>, scores: &mut Scores) {
    for i in 0..problem.questions {
        let mut status = None;
        let span = problem.span(i).unwrap_or_else(|| {
            status = Some(DeviceStatus::BadOffsets);
            0..0
        });
        let logits = question_logits(problem, i, span.clone(), &mut status);
        if scores.status == 0 {
            scores.status = status.map_or(0, |status| status.word(i));
        }
        let softmax = Softmax::of(&logits);
        scores.log_sum_exp[i] = softmax.log_sum_exp();
        scores.expected_index[i] = softmax.expected_index();
        let ranking = softmax.best(&logits, problem.top_k.max(1));
        scores.argmax[i] = ranking.first().map_or(-1, |&k| k as i32);
        for place in 0..problem.top_k {
            let slot = i * problem.top_k + place;
            let k = ranking.get(place);
            scores.top_indices[slot] = k.map_or(-1, |&k| k as i32);
            scores.top_values[slot] = match k {
                Some(&k) => softmax.probability(logits[k]),
                None if softmax.is_nan() => f32::NAN,
                None => 0.0,
            };
        }
        for (&logit, position) in logits.iter().zip(span) {
            scores.logits[position] = logit;
            scores.probabilities[position] = softmax.probability(logit);
            scores.log_probabilities[position] = softmax.log_probability(logit);
        }
    }
}

/// Whether a scale or temperature can be used: finite, above 0, with a finite inverse.
fn usable(x: f32) -> bool {
    x > 0.0 && x < f32::INFINITY && 1.0 / x < f32::INFINITY
}

/// The logits of one question: -inf for a masked candidate, whatever its elements hold.
fn question_logits(
    problem: &Problem<'_>,
    i: usize,
    span: Range<usize>,
    status: &mut Option<DeviceStatus>,
) -> Vec<f32> {
    let scale = problem.scales.map_or(problem.scale, |scales| scales[i]);
    let temperature = problem.temperatures.map_or(problem.temperature, |t| t[i]);
    let legal = usable(scale) && usable(temperature);
    if !legal {
        status.get_or_insert(DeviceStatus::BadTemperature);
    }
    let elements = problem.queries.row(i * problem.query_stride, problem.dim);
    let query = Side::new(
        &elements,
        problem.query_inverse_norms.map(|inverses| inverses[i]),
    );
    let mut logits = Vec::with_capacity(span.len());
    for (k, position) in span.enumerate() {
        if problem.mask.is_some_and(|mask| mask[position] == 0) {
            logits.push(f32::NEG_INFINITY);
            continue;
        }
        let Some((row, start)) = problem.row(i, k, position) else {
            status.get_or_insert(DeviceStatus::BadIndex);
            logits.push(f32::NEG_INFINITY);
            continue;
        };
        if !legal {
            logits.push(f32::NAN);
            continue;
        }
        let elements = problem.candidates.row(start, problem.dim);
        let value = match problem.similarity {
            Similarity::Dot => sum_of_products(&query.elements, &elements),
            Similarity::Cosine { eps } => {
                let inverse = problem
                    .candidate_inverse_norms
                    .map(|inverses| inverses[row]);
                cosine(&query, &Side::new(&elements, inverse), eps)
            }
        };
        let logit = value * scale / temperature;
        logits.push(problem.bias.map_or(logit, |bias| logit + bias[position]));
    }
    logits
}

/// The sum of `a[e] * b[e]` in the fixed order. In a segment of 512, element e goes to lane
/// (e / 4) % 32, accumulator e % 4, each accumulator one fma chain, and a lane is
/// (a0 + a1) + (a2 + a3). A lane adds up its segments; lanes are added by the butterfly.
fn sum_of_products(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for (a, b) in a.chunks(SEGMENT).zip(b.chunks(SEGMENT)) {
        let mut sums = [[0.0f32; GROUP]; LANES];
        for (group, (a, b)) in a.chunks(GROUP).zip(b.chunks(GROUP)).enumerate() {
            for ((sum, &a), &b) in sums[group % LANES].iter_mut().zip(a).zip(b) {
                *sum = a.mul_add(b, *sum);
            }
        }
        for (lane, [a0, a1, a2, a3]) in lanes.iter_mut().zip(sums) {
            *lane += (a0 + a1) + (a2 + a3);
        }
    }
    warp_sum(lanes)
}

/// A query or a candidate as the cosine sees it.
struct Side<'a> {
    elements: Cow<'a, [f32]>,
    squares: f32,
    /// Supplied by the caller: then the norm is not looked at.
    inverse: Option<f32>,
}

impl<'a> Side<'a> {
    fn new(elements: &'a [f32], inverse: Option<f32>) -> Side<'a> {
        let squares = sum_of_products(elements, elements);
        Side {
            elements: Cow::Borrowed(elements),
            squares,
            inverse,
        }
    }

    /// Whether the sum of squares overflowed, underflowed or is NaN.
    fn needs_rescue(&self) -> bool {
        let in_range = self.squares >= RESCUE_BELOW && self.squares < f32::INFINITY;
        self.inverse.is_none() && !in_range
    }

    /// The same vector and eps, times the power of two that brings the largest element to [1, 2).
    /// `None` for a vector with a NaN or an infinity.
    fn rescued(&self, eps: f32) -> Option<(Side<'static>, f32)> {
        if self.elements.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let largest = self.elements.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        let exponent = exponent(largest);
        let elements: Vec<f32> = self
            .elements
            .iter()
            .map(|&x| times_power_of_two(x, -exponent))
            .collect();
        let squares = sum_of_products(&elements, &elements);
        let side = Side {
            elements: Cow::Owned(elements),
            squares,
            inverse: self.inverse,
        };
        Some((side, times_power_of_two(eps, -exponent)))
    }

    /// `value` divided by this vector's norm.
    fn normalise(&self, value: f32, eps: f32) -> f32 {
        if let Some(inverse) = self.inverse {
            return value * inverse;
        }
        let norm = self.squares.sqrt().max(eps);
        // A zero vector with eps 0. Its products are zeros already, unless the other vector, whose
        // inverse norm was supplied, is not finite: then they are NaN, and stay so.
        if norm == 0.0 { value } else { value / norm }
    }
}

/// floor(log2(x)) for x > 0, subnormals included; 0 for 0.
fn exponent(x: f32) -> i32 {
    if x == 0.0 {
        0
    } else if x < f32::MIN_POSITIVE {
        // The position of the highest bit, counted in units of the least subnormal.
        x.to_bits().ilog2() as i32 - 149
    } else {
        (x.to_bits() >> 23) as i32 - 127
    }
}

/// x * 2^n for |n| <= 149 in two steps, because 2^n itself need not be a normal number.
fn times_power_of_two(x: f32, n: i32) -> f32 {
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    let half = n / 2;
    x * power(half) * power(n - half)
}

/// (q.c / max(|q|, eps)) / max(|c|, eps). One division after the other: the product of two norms
/// overflows and underflows where neither norm does.
fn cosine(query: &Side<'_>, candidate: &Side<'_>, eps: f32) -> f32 {
    if !query.needs_rescue() && !candidate.needs_rescue() {
        let dot = sum_of_products(&query.elements, &candidate.elements);
        return candidate.normalise(query.normalise(dot, eps), eps);
    }
    let rescue = |side: &Side<'_>| {
        if side.needs_rescue() {
            return side.rescued(eps);
        }
        let same = Side {
            elements: Cow::Owned(side.elements.to_vec()),
            squares: side.squares,
            inverse: side.inverse,
        };
        Some((same, eps))
    };
    let (Some((query, query_eps)), Some((candidate, candidate_eps))) =
        (rescue(query), rescue(candidate))
    else {
        return f32::NAN;
    };
    let dot = sum_of_products(&query.elements, &candidate.elements);
    candidate.normalise(query.normalise(dot, query_eps), candidate_eps)
}

/// A tile's, or a whole question's, largest logit and its sums relative to it.
#[derive(Debug, Clone, Copy)]
struct Partial {
    max: f32,
    /// Sum of exp(logit - max).
    sum: f32,
    /// Sum of k * exp(logit - max).
    weighted: f32,
}

impl Partial {
    /// One tile: lane l takes candidates l, l + 32, ... of it.
    fn of_tile(first: usize, logits: &[f32]) -> Partial {
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            return Partial {
                max,
                sum: 0.0,
                weighted: 0.0,
            };
        }
        let mut sums = [0.0f32; LANES];
        let mut weighted = [0.0f32; LANES];
        for (k, &logit) in logits.iter().enumerate() {
            let (lane, term) = (k % LANES, exp(logit - max));
            sums[lane] += term;
            weighted[lane] = ((first + k) as f32).mul_add(term, weighted[lane]);
        }
        Partial {
            max,
            sum: warp_sum(sums),
            weighted: warp_sum(weighted),
        }
    }

    /// All tiles: lane l takes tiles l, l + 32, ...
    fn merged(tiles: &[Partial]) -> Partial {
        let max = tiles
            .iter()
            .map(|tile| tile.max)
            .fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            return Partial {
                max,
                sum: 0.0,
                weighted: 0.0,
            };
        }
        let mut sums = [0.0f32; LANES];
        let mut weighted = [0.0f32; LANES];
        for (t, tile) in tiles.iter().enumerate() {
            let (lane, factor) = (t % LANES, exp(tile.max - max));
            sums[lane] = tile.sum.mul_add(factor, sums[lane]);
            weighted[lane] = tile.weighted.mul_add(factor, weighted[lane]);
        }
        Partial {
            max,
            sum: warp_sum(sums),
            weighted: warp_sum(weighted),
        }
    }
}

/// What a question's results are made of.
#[derive(Debug, Clone, Copy)]
enum Softmax {
    /// A logit is NaN or +inf: so is everything NaN.
    Nan,
    /// No candidate, none unmasked, or only logits of -inf.
    Empty,
    /// The usual case.
    Of(Partial),
}

impl Softmax {
    fn of(logits: &[f32]) -> Softmax {
        if logits.iter().any(|&x| x.is_nan() || x == f32::INFINITY) {
            return Softmax::Nan;
        }
        let tiles: Vec<Partial> = logits
            .chunks(TILE)
            .enumerate()
            .map(|(t, logits)| Partial::of_tile(t * TILE, logits))
            .collect();
        let all = Partial::merged(&tiles);
        if all.max == f32::NEG_INFINITY {
            Softmax::Empty
        } else {
            Softmax::Of(all)
        }
    }

    fn is_nan(&self) -> bool {
        matches!(self, Softmax::Nan)
    }

    fn probability(&self, logit: f32) -> f32 {
        match self {
            Softmax::Nan => f32::NAN,
            Softmax::Empty => 0.0,
            Softmax::Of(all) => exp(logit - all.max) / all.sum,
        }
    }

    fn log_probability(&self, logit: f32) -> f32 {
        match self {
            Softmax::Nan => f32::NAN,
            Softmax::Empty => f32::NEG_INFINITY,
            Softmax::Of(all) => (logit - all.max) - log(all.sum),
        }
    }

    fn log_sum_exp(&self) -> f32 {
        match self {
            Softmax::Nan => f32::NAN,
            Softmax::Empty => f32::NEG_INFINITY,
            Softmax::Of(all) => all.max + log(all.sum),
        }
    }

    fn expected_index(&self) -> f32 {
        match self {
            Softmax::Nan => f32::NAN,
            Softmax::Empty => 0.0,
            Softmax::Of(all) => all.weighted / all.sum,
        }
    }

    /// The candidates of the `count` largest logits above -inf, equals by rising index.
    fn best(&self, logits: &[f32], count: usize) -> Vec<usize> {
        if self.is_nan() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..logits.len())
            .filter(|&k| logits[k] > f32::NEG_INFINITY)
            .collect();
        // The sort is stable; zeros of either sign are equal.
        order.sort_by(|&a, &b| {
            logits[b]
                .partial_cmp(&logits[a])
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        order.truncate(count);
        order
    }
}

mod reference;

pub use reference::{Bounded, Reference, reference};
