//! The sums in plain Rust: the definition of every result, to the bit.
//!
//! All sums follow the tree of [`exact_math::column`]. What follows a sum - division by the number of
//! kept rows, alpha, beta - happens in the accumulator's precision; the result is rounded once.

use exact_math::column::{Accumulator, F32x2, column_sum};
use half::{bf16, f16};

use crate::Sum;

/// Elements of a matrix.
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// f32
    F32(&'a [f32]),
    /// bfloat16
    Bf16(&'a [bf16]),
    /// IEEE half precision
    F16(&'a [f16]),
}

impl Elements<'_> {
    /// Element `i`, exactly.
    pub fn get(&self, i: usize) -> f32 {
        match self {
            Elements::F32(x) => x[i],
            Elements::Bf16(x) => x[i].to_f32(),
            Elements::F16(x) => x[i].to_f32(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(x) => x.len(),
            Elements::Bf16(x) => x.len(),
            Elements::F16(x) => x.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Results, in the type that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// f32
    F32(Vec<f32>),
    /// bfloat16
    Bf16(Vec<bf16>),
    /// IEEE half precision
    F16(Vec<f16>),
}

impl Values {
    /// Result `i` as f32.
    pub fn get(&self, i: usize) -> f32 {
        self.elements().get(i)
    }

    /// As elements.
    pub fn elements(&self) -> Elements<'_> {
        match self {
            Values::F32(x) => Elements::F32(x),
            Values::Bf16(x) => Elements::Bf16(x),
            Values::F16(x) => Elements::F16(x),
        }
    }

    fn push<A: Accumulator>(&mut self, sum: A) {
        match self {
            Values::F32(out) => out.push(sum.to_f32()),
            Values::Bf16(out) => out.push(bf16::from_bits(sum.to_bf16())),
            Values::F16(out) => out.push(f16::from_bits(sum.to_f16())),
        }
    }
}

/// What every sum has besides its terms.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What sums are kept in.
    pub sum: Sum,
    /// Divides by the number of kept terms.
    pub mean: bool,
    /// Factor of the sum.
    pub alpha: f32,
    /// Factor of what `out` held; 0: it is not read.
    pub beta: f32,
    /// What `out` held, in the type of the results.
    pub before: Elements<'a>,
}

/// A sum over the rows of x.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// `[rows, cols]`, rows `ld` apart; with an index `[table_rows, cols]`.
    pub x: Elements<'a>,
    /// Terms of a column.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Elements between rows.
    pub ld: usize,
    /// A factor for each term.
    pub weights: Option<&'a [f32]>,
    /// Nonzero keeps a term.
    pub mask: Option<&'a [u8]>,
    /// Term r is row `index[r]` of the table; one outside of it is left out.
    pub index: Option<(&'a [i32], usize)>,
    /// The rest.
    pub options: Options<'a>,
}

impl<'a> Columns<'a> {
    /// Packed rows, every one of them.
    pub fn packed(x: Elements<'a>, [rows, cols]: [usize; 2], options: Options<'a>) -> Columns<'a> {
        Columns {
            x,
            rows,
            cols,
            ld: cols,
            weights: None,
            mask: None,
            index: None,
            options,
        }
    }

    /// The row of x that is term `r`, where there is one.
    fn source(&self, r: usize) -> Option<usize> {
        if self.mask.is_some_and(|mask| mask[r] == 0) {
            return None;
        }
        match self.index {
            None => Some(r),
            Some((index, table_rows)) => usize::try_from(index[r])
                .ok()
                .filter(|&row| row < table_rows),
        }
    }
}

fn with_accumulator<R>(
    sum: Sum,
    f32x2: impl FnOnce() -> R,
    f64: impl FnOnce() -> R,
    f32: impl FnOnce() -> R,
) -> R {
    match sum {
        Sum::F32x2 => f32x2(),
        Sum::F64 => f64(),
        Sum::F32 => f32(),
    }
}

fn finish<A: Accumulator>(options: &Options<'_>, place: usize, sum: A, kept: u64) -> A {
    let sum = match (options.mean, kept) {
        (false, _) => sum,
        (true, 0) => A::ZERO,
        (true, kept) => sum.divided(kept),
    };
    let sum = sum.scaled(options.alpha);
    if options.beta == 0.0 {
        sum
    } else {
        sum.add_product(options.beta, options.before.get(place))
    }
}

fn columns_in<A: Accumulator>(c: &Columns<'_>, first: usize, out: &mut Values) {
    let kept = (0..c.rows).filter(|&r| c.source(r).is_some()).count() as u64;
    for col in 0..c.cols {
        let sum = column_sum(c.rows, |sum: A, r| match c.source(r) {
            None => sum,
            Some(row) => {
                let x = c.x.get(row * c.ld + col);
                match c.weights {
                    Some(weights) => sum.add_product(weights[r], x),
                    None => sum.add(x),
                }
            }
        });
        out.push(finish(&c.options, first + col, sum, kept));
    }
}

fn columns_into(c: &Columns<'_>, first: usize, out: &mut Values) {
    match c.options.sum {
        Sum::F32x2 => columns_in::<F32x2>(c, first, out),
        Sum::F64 => columns_in::<f64>(c, first, out),
        Sum::F32 => columns_in::<f32>(c, first, out),
    }
}

fn empty_like(before: &Elements<'_>) -> Values {
    match before {
        Elements::F32(_) => Values::F32(Vec::new()),
        Elements::Bf16(_) => Values::Bf16(Vec::new()),
        Elements::F16(_) => Values::F16(Vec::new()),
    }
}

/// `red_columns`: results in the type of `before`, whose contents count where beta is not 0.
pub fn columns(c: &Columns<'_>) -> Values {
    let mut out = empty_like(&c.options.before);
    columns_into(c, 0, &mut out);
    out
}

fn from(x: Elements<'_>, first: usize) -> Elements<'_> {
    match x {
        Elements::F32(x) => Elements::F32(&x[first.min(x.len())..]),
        Elements::Bf16(x) => Elements::Bf16(&x[first.min(x.len())..]),
        Elements::F16(x) => Elements::F16(&x[first.min(x.len())..]),
    }
}

/// `red_rows`: x `[rows, cols]`, rows `ld` apart, to `[rows]`.
pub fn rows(x: Elements<'_>, [rows, cols]: [usize; 2], ld: usize, options: Options<'_>) -> Values {
    let mut out = empty_like(&options.before);
    for row in 0..rows {
        let c = Columns::packed(from(x, row * ld), [cols, 1], options);
        columns_into(&c, row, &mut out);
    }
    out
}

/// What `red_segments` sums over.
#[derive(Debug, Clone, Copy)]
pub struct Segments<'a> {
    /// `[rows, cols]`, rows `ld` apart.
    pub x: Elements<'a>,
    /// Rows of x.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Elements between rows.
    pub ld: usize,
    /// `[segments + 1]`. A segment whose bounds decrease, are negative, pass `rows` or hold more than `max_rows` counts as
    /// empty.
    pub offsets: &'a [i64],
    /// The most rows of a segment.
    pub max_rows: usize,
    /// The rest.
    pub options: Options<'a>,
}

impl Segments<'_> {
    /// The rows of segment `s`; `None`: its bounds are bad.
    pub fn bounds(&self, s: usize) -> Option<(usize, usize)> {
        let begin = usize::try_from(self.offsets[s]).ok()?;
        let end = usize::try_from(self.offsets[s + 1]).ok()?;
        (begin <= end && end <= self.rows && end - begin <= self.max_rows).then_some((begin, end))
    }
}

/// `red_segments`: to `[segments, cols]`.
pub fn segments(s: &Segments<'_>) -> Values {
    let mut out = empty_like(&s.options.before);
    for segment in 0..s.offsets.len().saturating_sub(1) {
        let (begin, end) = s.bounds(segment).unwrap_or((0, 0));
        let c = Columns {
            ld: s.ld,
            ..Columns::packed(from(s.x, begin * s.ld), [end - begin, s.cols], s.options)
        };
        columns_into(&c, segment * s.cols, &mut out);
    }
    out
}

/// `red_moments`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The sum of squares.
    pub sum_squares: f32,
    /// Its root.
    pub norm: f32,
    /// The largest magnitude that is not NaN.
    pub max_abs: f32,
    /// NaNs and infinities.
    pub non_finite: i64,
}

/// The root of a sum in double-float: the root of its leading part, and a step of Newton's.
fn root(sum: F32x2) -> f32 {
    let leading = sum.to_f32();
    if leading.is_nan() || leading <= 0.0 || leading.is_infinite() {
        return leading.sqrt();
    }
    let guess = leading.sqrt();
    let (high, low) = exact_math::column::two_sum(sum.high, sum.low);
    let rest = (-guess).mul_add(guess, high) + low;
    guess + rest / (guess + guess)
}

/// `red_moments`: `sum` is [`Sum::F32x2`] or [`Sum::F64`].
pub fn moments(x: Elements<'_>, sum: Sum) -> Moments {
    let square = |i: usize| x.get(i);
    let (sum_squares, norm) = with_accumulator(
        sum,
        || {
            let total: F32x2 = column_sum(x.len(), |sum: F32x2, i| {
                sum.add_product(square(i), square(i))
            });
            (total.to_f32(), root(total))
        },
        || {
            let total: f64 =
                column_sum(x.len(), |sum: f64, i| sum.add_product(square(i), square(i)));
            (total.to_f32(), total.sqrt() as f32)
        },
        || panic!("moments have no f32 accumulator"),
    );
    let magnitudes = || (0..x.len()).map(|i| x.get(i).abs());
    Moments {
        sum_squares,
        norm,
        max_abs: magnitudes().filter(|x| !x.is_nan()).fold(0.0, f32::max),
        non_finite: magnitudes().filter(|x| !x.is_finite()).count() as i64,
    }
}

/// Degree of the splines.
const DEGREE: usize = 3;

/// Every cubic B-spline over the knots at `x`, by the recursion of Cox and de Boor.
pub fn splines(knots: &[f32], x: f32) -> Vec<f32> {
    let last = knots.len() - 1;
    let mut b = vec![0.0_f32; last];
    let holding = (0..last).rev().find(|&j| knots[j] <= x && x < knots[j + 1]);
    let at = if x == knots[last] {
        (0..last)
            .rev()
            .find(|&j| knots[j] < knots[j + 1])
            .or(holding)
    } else {
        holding
    };
    if let Some(at) = at {
        b[at] = 1.0;
    }
    // A quotient by 0 counts as 0: it belongs to a spline of no width.
    let share = |part: f32, whole: f32| if whole == 0.0 { 0.0 } else { part / whole };
    for d in 1..=DEGREE {
        for g in 0..last - d {
            let left = share(x - knots[g], knots[g + d] - knots[g]) * b[g];
            let right = share(knots[g + d + 1] - x, knots[g + d + 1] - knots[g + 1]) * b[g + 1];
            b[g] = if at.is_some() { left + right } else { 0.0 };
        }
    }
    b.truncate(last - DEGREE);
    b
}

/// `red_kan_spline_grad_f32`: x `[rows, inputs]`, dy `[rows, outputs]` to `[inputs, splines, outputs]`.
pub fn kan_spline_grad(
    x: &[f32],
    dy: &[f32],
    knots: &[f32],
    [rows, inputs, outputs]: [usize; 3],
) -> Vec<f32> {
    let count = knots.len() - 1 - DEGREE;
    let mut out = Vec::with_capacity(inputs * count * outputs);
    for i in 0..inputs {
        let at: Vec<Vec<f32>> = (0..rows)
            .map(|r| splines(knots, x[r * inputs + i]))
            .collect();
        out.extend((0..count * outputs).map(|place| {
            let (g, o) = (place / outputs, place % outputs);
            let sum = column_sum(rows, |sum: F32x2, r| match at[r][g] {
                0.0 => sum,
                factor => sum.add_product(factor, dy[r * outputs + o]),
            });
            sum.to_f32()
        }));
    }
    out
}
