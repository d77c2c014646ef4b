//! The composed path as a list of matrix products and scans, whoever runs them: cuBLAS and the library, or a test.
//!
//! The gate's and the input's weights are laid side by side first, [H, 2 S], so that one product reads the history for
//! both: two into the halves of one buffer would read it twice, and it is nearly all the bytes that there are. So with
//! their gradients, which a product leaves side by side and two small additions take apart.

use crate::Result;
use crate::ffi::{m2_composed_scan_backward_params, m2_composed_scan_params};
use crate::oracle::temporal_scan::Readout;
use launch::lengths::product;
use std::ptr;

/// A row-major matrix in device memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) at: *const f32,
    /// Elements between rows.
    pub(crate) pitch: usize,
    /// Taken by columns.
    pub(crate) transposed: bool,
}

/// `to[rows, columns] = a b + beta to`, with `inner` terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) inner: usize,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) beta: f32,
    pub(crate) to: *mut f32,
    pub(crate) pitch: usize,
}

/// `to[rows, columns] = alpha a + beta to`; `a` may be `to` where beta is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) alpha: f32,
    pub(crate) a: Matrix,
    pub(crate) beta: f32,
    pub(crate) to: *mut f32,
    pub(crate) pitch: usize,
}

/// What runs the steps, in order. With beta 0, what was there is not read.
pub(crate) trait Engine {
    /// # Safety
    /// Every matrix lies in live memory of the engine's kind, and nothing else touches it until the work is done; so
    /// below.
    unsafe fn product(&mut self, p: Product) -> Result<()>;
    /// # Safety
    /// As above.
    unsafe fn sum(&mut self, p: Sum) -> Result<()>;
    /// # Safety
    /// As above.
    unsafe fn fill(&mut self, to: *mut f32, value: f32, count: usize) -> Result<()>;
    /// # Safety
    /// As above.
    unsafe fn copy(&mut self, to: *mut f32, from: *const f32, count: usize) -> Result<()>;
    /// # Safety
    /// As above.
    unsafe fn scan(&mut self, p: &m2_composed_scan_params) -> Result<()>;
    /// # Safety
    /// As above.
    unsafe fn scan_backward(&mut self, p: &m2_composed_scan_backward_params) -> Result<()>;
}

/// Sizes, strides and inputs of a scan, checked; null for what is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs {
    pub(crate) batch: usize,
    pub(crate) steps: usize,
    pub(crate) features: usize,
    pub(crate) states: usize,
    pub(crate) readout: Readout,
    pub(crate) history_stride: usize,
    pub(crate) step_stride: usize,
    pub(crate) current_stride: usize,
    pub(crate) history: *const f32,
    pub(crate) current: *const f32,
    pub(crate) weights: [*const f32; 3],
    pub(crate) biases: [*const f32; 3],
    pub(crate) x0: *const f32,
}

/// Where gradients go; null for what is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets {
    pub(crate) weights: [*mut f32; 3],
    pub(crate) biases: [*mut f32; 3],
    pub(crate) beta: f32,
    pub(crate) history: *mut f32,
    pub(crate) current: *mut f32,
    pub(crate) x0: *mut f32,
}

/// Rows of the history that lie at one pitch, and of the projections that are theirs.
struct Block {
    from: usize,
    pitch: usize,
    rows: usize,
    /// In rows of the projections.
    to: usize,
    to_pitch: usize,
}

/// Parts of a scratch begin at multiples of it.
const ALIGN: usize = 64;

/// Offsets of a scratch's parts, in elements; saturated where the sizes are beyond memory.
struct Scratch {
    /// [B, K, 2 S]: gates and inputs, or their gradients.
    projections: usize,
    /// [B, S]
    readouts: usize,
    /// [H, 2 S]: the gate's and the input's weights.
    weights: usize,
    /// [H, 2 S]: their gradients. In a forward call [B, S]: contexts.
    sums: usize,
    /// [B K]; in a forward call [S].
    ones: usize,
    end: usize,
}

impl Scratch {
    fn of([batch, steps, features, states]: [usize; 4], backward: bool) -> Scratch {
        let mut end = 0usize;
        let mut part = |sizes: &[usize]| {
            let at = end;
            let rounded = product(sizes).div_ceil(ALIGN).saturating_mul(ALIGN);
            end = end.saturating_add(rounded);
            at
        };
        let projections = part(&[batch, steps, 2, states]);
        let readouts = part(&[batch, states]);
        let weights = part(&[features, 2, states]);
        let sums = if backward {
            part(&[features, 2, states])
        } else {
            part(&[batch, states])
        };
        let ones = if backward {
            part(&[batch, steps])
        } else {
            part(&[states])
        };
        Scratch {
            projections,
            readouts,
            weights,
            sums,
            ones,
            end,
        }
    }
}

/// Elements of scratch that a forward or backward call needs, whatever its options; saturates.
pub(crate) fn scratch_elements(sizes: [usize; 4], backward: bool) -> usize {
    Scratch::of(sizes, backward).end
}

fn matrix(at: *const f32, pitch: usize) -> Matrix {
    Matrix {
        at,
        pitch,
        transposed: false,
    }
}

fn transposed(at: *const f32, pitch: usize) -> Matrix {
    Matrix {
        at,
        pitch,
        transposed: true,
    }
}

impl Inputs {
    fn sizes(&self) -> [usize; 4] {
        [self.batch, self.steps, self.features, self.states]
    }

    fn rows(&self) -> usize {
        self.batch * self.steps
    }

    /// All rows at once where samples follow each other as steps do, else a block for each step.
    fn blocks(&self) -> Vec<Block> {
        let even = self.history_stride == self.steps * self.step_stride;
        if even || self.batch == 1 {
            return vec![Block {
                from: 0,
                pitch: self.step_stride,
                rows: self.rows(),
                to: 0,
                to_pitch: 1,
            }];
        }
        let block = |t: usize| Block {
            from: t * self.step_stride,
            pitch: self.history_stride,
            rows: self.batch,
            to: t,
            to_pitch: self.steps,
        };
        (0..self.steps).map(block).collect()
    }

    /// Gates and inputs without their biases.
    ///
    /// # Safety
    /// As [`Engine::product`].
    unsafe fn project(
        &self,
        engine: &mut impl Engine,
        weights: *mut f32,
        projections: *mut f32,
    ) -> Result<()> {
        let (features, states) = (self.features, self.states);
        for half in 0..2 {
            let side_by_side = Sum {
                rows: features,
                columns: states,
                alpha: 1.0,
                a: matrix(self.weights[half], states),
                beta: 0.0,
                to: weights.wrapping_add(half * states),
                pitch: 2 * states,
            };
            // SAFETY: the caller promises it.
            unsafe { engine.sum(side_by_side) }?;
        }
        for block in self.blocks() {
            let projected = Product {
                rows: block.rows,
                columns: 2 * states,
                inner: features,
                a: matrix(self.history.wrapping_add(block.from), block.pitch),
                b: matrix(weights, 2 * states),
                beta: 0.0,
                to: projections.wrapping_add(block.to * 2 * states),
                pitch: block.to_pitch * 2 * states,
            };
            // SAFETY: the caller promises it.
            unsafe { engine.product(projected) }?;
        }
        Ok(())
    }

    /// Readouts without their bias.
    fn read_out(&self, readouts: *mut f32) -> Product {
        Product {
            rows: self.batch,
            columns: self.states,
            inner: self.features,
            a: matrix(self.current, self.current_stride),
            b: matrix(self.weights[2], self.states),
            beta: 0.0,
            to: readouts,
            pitch: self.states,
        }
    }
}

/// The scan.
///
/// # Safety
/// Pointers are to memory of the engine's kind, of the sizes in `p`; `scratch` has as many elements as
/// [`scratch_elements`] says. Nothing else touches any of it until the work is done.
pub(crate) unsafe fn forward(
    engine: &mut impl Engine,
    p: &Inputs,
    out: *mut f32,
    final_state: *mut f32,
    scratch: *mut f32,
) -> Result<()> {
    use crate::ffi::{M2_READOUT_CONTEXT, M2_READOUT_TILE_ADD};
    if p.batch == 0 {
        return Ok(());
    }
    let parts = Scratch::of(p.sizes(), false);
    let projections = scratch.wrapping_add(parts.projections);
    let readouts = scratch.wrapping_add(parts.readouts);
    let contexts = scratch.wrapping_add(parts.sums);
    let ones = scratch.wrapping_add(parts.ones);
    let sums = p.readout == Readout::Sum && !out.is_null();
    let readout = match p.readout {
        Readout::Context | Readout::Sum => M2_READOUT_CONTEXT,
        Readout::TileAdd => M2_READOUT_TILE_ADD,
    };
    let scan = m2_composed_scan_params {
        struct_size: size_of::<m2_composed_scan_params>() as u32,
        readout: readout as i32,
        batch: p.batch as i64,
        steps: p.steps as i64,
        features: p.features as i64,
        states: p.states as i64,
        current_stride: p.current_stride as i64,
        projections,
        readouts: if out.is_null() { ptr::null() } else { readouts },
        current: p.current,
        bias_a: p.biases[0],
        bias_b: p.biases[1],
        bias_c: p.biases[2],
        x0: p.x0,
        out: if sums { contexts } else { out },
        final_state,
    };
    // SAFETY: all of it the caller promises, and the parts do not overlap.
    unsafe {
        p.project(engine, scratch.wrapping_add(parts.weights), projections)?;
        if !out.is_null() {
            engine.product(p.read_out(readouts))?;
        }
        engine.scan(&scan)?;
        if sums {
            engine.fill(ones, 1.0, p.states)?;
            engine.product(Product {
                rows: p.batch,
                columns: 1,
                inner: p.states,
                a: matrix(contexts, p.states),
                b: matrix(ones, 1),
                beta: 0.0,
                to: out,
                pitch: 1,
            })?;
        }
    }
    Ok(())
}

/// A parameter's gradient of no samples.
///
/// # Safety
/// As [`Engine::sum`].
unsafe fn scale(engine: &mut impl Engine, to: *mut f32, count: usize, beta: f32) -> Result<()> {
    // SAFETY: the caller promises it.
    unsafe {
        if beta == 0.0 {
            return engine.fill(to, 0.0, count);
        }
        engine.sum(Sum {
            rows: 1,
            columns: count,
            alpha: beta,
            a: matrix(to, count),
            beta: 0.0,
            to,
            pitch: count,
        })
    }
}

/// Its gradients, from those of the readout and the final state.
///
/// # Safety
/// As [`forward`].
pub(crate) unsafe fn backward(
    engine: &mut impl Engine,
    p: &Inputs,
    d_out: *const f32,
    d_final: *const f32,
    to: &Targets,
    scratch: *mut f32,
) -> Result<()> {
    use crate::ffi::{M2_READOUT_CONTEXT, M2_READOUT_SUM, M2_READOUT_TILE_ADD};
    let (features, states, beta) = (p.features, p.states, to.beta);
    if p.batch == 0 {
        let weights = to.weights.map(|to| (to, features * states));
        let biases = to.biases.map(|to| (to, states));
        for (to, count) in weights.into_iter().chain(biases) {
            if !to.is_null() {
                // SAFETY: the caller promises it.
                unsafe { scale(engine, to, count, beta) }?;
            }
        }
        return Ok(());
    }
    let parts = Scratch::of(p.sizes(), true);
    let projections = scratch.wrapping_add(parts.projections);
    let readouts = scratch.wrapping_add(parts.readouts);
    let weights = scratch.wrapping_add(parts.weights);
    let sums = scratch.wrapping_add(parts.sums);
    let ones = scratch.wrapping_add(parts.ones);
    let readout = match p.readout {
        Readout::Context => M2_READOUT_CONTEXT,
        Readout::Sum => M2_READOUT_SUM,
        Readout::TileAdd => M2_READOUT_TILE_ADD,
    };
    let scan = m2_composed_scan_backward_params {
        struct_size: size_of::<m2_composed_scan_backward_params>() as u32,
        readout: readout as i32,
        batch: p.batch as i64,
        steps: p.steps as i64,
        features: features as i64,
        states: states as i64,
        bias_a: p.biases[0],
        bias_b: p.biases[1],
        bias_c: p.biases[2],
        x0: p.x0,
        d_out,
        d_final,
        projections,
        readouts,
        d_x0: to.x0,
    };
    // SAFETY: all of it the caller promises, and the parts do not overlap.
    unsafe {
        p.project(engine, weights, projections)?;
        engine.product(p.read_out(readouts))?;
        engine.scan_backward(&scan)?;
        if !to.weights[0].is_null() || !to.weights[1].is_null() {
            for (i, block) in p.blocks().into_iter().enumerate() {
                engine.product(Product {
                    rows: features,
                    columns: 2 * states,
                    inner: block.rows,
                    a: transposed(p.history.wrapping_add(block.from), block.pitch),
                    b: matrix(
                        projections.wrapping_add(block.to * 2 * states),
                        block.to_pitch * 2 * states,
                    ),
                    beta: if i == 0 { 0.0 } else { 1.0 },
                    to: sums,
                    pitch: 2 * states,
                })?;
            }
        }
        for half in 0..2 {
            if !to.weights[half].is_null() {
                engine.sum(Sum {
                    rows: features,
                    columns: states,
                    alpha: 1.0,
                    a: matrix(sums.wrapping_add(half * states), 2 * states),
                    beta,
                    to: to.weights[half],
                    pitch: states,
                })?;
            }
        }
        if !to.weights[2].is_null() {
            engine.product(Product {
                rows: features,
                columns: states,
                inner: p.batch,
                a: transposed(p.current, p.current_stride),
                b: matrix(readouts, states),
                beta,
                to: to.weights[2],
                pitch: states,
            })?;
        }
        if to.biases.iter().any(|to| !to.is_null()) {
            engine.fill(ones, 1.0, p.rows())?;
        }
        for (which, &to) in to.biases.iter().enumerate() {
            if to.is_null() {
                continue;
            }
            let (inner, terms) = match which {
                2 => (p.batch, matrix(readouts, states)),
                half => (
                    p.rows(),
                    matrix(projections.wrapping_add(half * states), 2 * states),
                ),
            };
            engine.product(Product {
                rows: 1,
                columns: states,
                inner,
                a: matrix(ones, inner),
                b: terms,
                beta,
                to,
                pitch: states,
            })?;
        }
        if !to.history.is_null() {
            engine.product(Product {
                rows: p.rows(),
                columns: features,
                inner: 2 * states,
                a: matrix(projections, 2 * states),
                b: transposed(weights, 2 * states),
                beta: 0.0,
                to: to.history,
                pitch: features,
            })?;
        }
        if !to.current.is_null() {
            let adds = p.readout == Readout::TileAdd;
            if adds {
                engine.copy(to.current, d_out, p.batch * features)?;
            }
            engine.product(Product {
                rows: p.batch,
                columns: features,
                inner: states,
                a: matrix(readouts, states),
                b: transposed(p.weights[2], states),
                beta: if adds { 1.0 } else { 0.0 },
                to: to.current,
                pitch: features,
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
