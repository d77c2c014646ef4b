//! The cases of the bench: packed weighted rows, with and without a residual, as engines call them.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use half::bf16;
use parity::{Buffer, Class, Library, Random};

use crate::oracle::{self, Elements, Problem, Tensor};
use crate::{Dtype, ResidualMode, ffi};

/// The sizes of a case.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    n: usize,
    dtype: Dtype,
    residual: bool,
}

const EPS: f32 = 1e-6;

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    use Mode::{Cold, Hot};
    let f32 = |rows, n| Shape::new(rows, n, Dtype::F32);
    let bf16 = |rows, n| Shape::new(rows, n, Dtype::Bf16);
    vec![
        f32(1, 2048).bench(Hot).direct(),
        f32(1, 4096).bench(Hot).direct(),
        f32(1, 16384).bench(Hot).direct(),
        f32(3, 4096).bench(Hot),
        f32(32, 4096).bench(Hot),
        f32(512, 4096).bench(Cold),
        f32(4096, 4096).bench(Cold),
        f32(16384, 8192).bench(Cold),
        f32(32768, 1024).bench(Cold),
        f32(131_072, 128).bench(Cold),
        bf16(1, 4096).bench(Hot),
        bf16(1, 16384).bench(Hot),
        bf16(4096, 4096).bench(Cold),
        bf16(16384, 8192).bench(Cold),
        bf16(131_072, 128).bench(Cold),
        bf16(4096, 4096).with_residual().bench(Cold),
        bf16(16384, 8192).with_residual().bench(Cold),
    ]
}

/// Adds the calls without a graph: what an engine that does not capture pays.
trait WithDirect {
    fn direct(self) -> Self;
}

impl WithDirect for Bench {
    fn direct(mut self) -> Self {
        self.others.insert(0, self.kernel.direct("direct"));
        self
    }
}

/// A tensor in its element type.
enum Values {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
}

impl Values {
    fn of(dtype: Dtype, values: Vec<f32>) -> Values {
        match dtype {
            Dtype::Bf16 => Values::Bf16(parity::to_bf16(&values)),
            _ => Values::F32(values),
        }
    }

    fn elements(&self) -> Elements<'_> {
        match self {
            Values::F32(x) => Elements::F32(x),
            Values::Bf16(x) => Elements::Bf16(x),
        }
    }

    fn input(&self, name: &'static str) -> Buffer {
        match self {
            Values::F32(x) => Buffer::input(name, x),
            Values::Bf16(x) => Buffer::input(name, x),
        }
    }

    fn output(&self, name: &'static str) -> Buffer {
        match self {
            Values::F32(x) => Buffer::output(name, x),
            Values::Bf16(x) => Buffer::output(name, x),
        }
    }
}

impl Shape {
    fn new(rows: usize, n: usize, dtype: Dtype) -> Self {
        Self {
            rows,
            n,
            dtype,
            residual: false,
        }
    }

    fn with_residual(mut self) -> Self {
        self.residual = true;
        self
    }

    fn id(&self) -> String {
        let dtype = if self.dtype == Dtype::Bf16 {
            "bf16"
        } else {
            "f32"
        };
        let residual = if self.residual { "-residual" } else { "" };
        format!("{}x{}-{dtype}{residual}", self.rows, self.n)
    }

    fn bench(self, mode: Mode) -> Bench {
        let mut others = Vec::new();
        if self.dtype == Dtype::F32 {
            others.push(Variant::also("first entry", move |library| {
                self.first_entry(library)
            }));
            others.push(Variant::baseline("scalar 1024", 0.0, move |library| {
                self.baseline(library)
            }));
        }
        Bench {
            id: self.id(),
            entry: "rms_norm",
            class: Class::Exact,
            modes: vec![mode],
            work: self.work(),
            cold_bytes: COLD_BYTES,
            build: Arc::new(move |seed, oracle| self.buffers(seed, oracle)),
            kernel: Variant::kernel(move |library| self.norm(library)),
            others,
            under_floor: None,
        }
    }

    fn element(&self) -> u64 {
        if self.dtype == Dtype::Bf16 { 2 } else { 4 }
    }

    fn work(&self) -> Work {
        let rows = (self.rows * self.n) as u64 * self.element();
        let tensors = if self.residual { 2 } else { 1 };
        Work {
            read: tensors * rows + self.n as u64 * self.element(),
            written: tensors * rows,
            fmas: 0,
        }
    }

    fn buffers(&self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let (rows, n) = (self.rows, self.n);
        // Uniform numbers are quick to draw.
        let draw = |name: &str, count: usize| {
            Values::of(
                self.dtype,
                Random::named(seed, name).uniforms(count, -2.0, 2.0),
            )
        };
        let x = draw("x", rows * n);
        let gamma = draw("gamma", n);
        let residual = self.residual.then(|| draw("residual", rows * n));
        let mut y = vec![0.0; rows * n];
        let mut sum = vec![0.0; if self.residual { rows * n } else { 0 }];
        if oracle == Oracle::Run {
            let mut problem = Problem::packed(x.elements(), gamma.elements(), rows, n, EPS);
            problem.residual_mode = ResidualMode::Unrounded;
            problem.residual = residual.as_ref().map(|residual| Tensor {
                elements: residual.elements(),
                strides: problem.x.strides,
            });
            for row in 0..rows {
                let of = row * n..(row + 1) * n;
                let normalised = oracle::norm(&problem, row);
                y[of.clone()].copy_from_slice(&normalised.y);
                if self.residual {
                    sum[of].copy_from_slice(&normalised.sum);
                }
            }
        }
        let mut buffers = vec![x.input("x"), gamma.input("gamma")];
        buffers.extend(residual.map(|residual| residual.input("residual")));
        buffers.push(Values::of(self.dtype, y).output("y"));
        if self.residual {
            buffers.push(Values::of(self.dtype, sum).output("residual_out"));
        }
        buffers
    }

    fn params(&self) -> ffi::rms_norm_params {
        let dtype = self.dtype.code();
        ffi::rms_norm_params {
            struct_size: size_of::<ffi::rms_norm_params>() as u32,
            x_dtype: dtype,
            gamma_dtype: dtype,
            y_dtype: dtype,
            residual_dtype: dtype,
            gamma_mode: 0,
            residual_mode: 0,
            quantisation: 0,
            path: 0,
            eps: EPS,
            min_scale: 0.0,
            reserved: 0.0,
            n: self.n as i64,
            rows: self.rows as i64,
            channels: 0,
            samples: 0,
            gamma_sizes: [0; 4],
            add_sizes: [0; 4],
            x_strides: [0; 3],
            residual_strides: [0; 3],
            gamma_strides: [0; 3],
            add_strides: [0; 3],
            y_strides: [0; 3],
            residual_out_strides: [0; 3],
            x: ptr::null(),
            residual: ptr::null(),
            gamma: ptr::null(),
            add: ptr::null(),
            tensor_scale: ptr::null(),
            y: ptr::null_mut(),
            residual_out: ptr::null_mut(),
            token_scales: ptr::null_mut(),
            rstd: ptr::null_mut(),
        }
    }

    fn norm(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let norm = unsafe { library.function::<ffi::rms_norm_fn>("rms_norm")? };
        let (params, with_residual) = (self.params(), self.residual);
        let call = move |x: &[*mut c_void], stream| {
            let mut params = ffi::rms_norm_params {
                x: x[0],
                gamma: x[1],
                ..params
            };
            if with_residual {
                params.residual = x[2];
                params.y = x[3];
                params.residual_out = x[4];
            } else {
                params.y = x[2];
            }
            // SAFETY: bench-kit passes live buffers of the sizes above.
            unsafe { norm(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    fn first_entry(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let norm = unsafe { library.function::<ffi::rms_norm_f32_fn>("rms_norm_f32")? };
        let (rows, n) = (self.rows as i64, self.n as i64);
        let call = move |x: &[*mut c_void], stream| {
            let (from, gamma, to) = (x[0].cast(), x[1].cast(), x[2].cast());
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { norm(from, gamma, to, rows, n, 0, 0, EPS, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    fn baseline(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let norm = unsafe { library.function::<ffi::rms_baseline_f32_fn>("rms_baseline_f32")? };
        let (rows, n) = (self.rows as i64, self.n as i64);
        let call = move |x: &[*mut c_void], stream| {
            let (from, gamma, to) = (x[0].cast(), x[1].cast(), x[2].cast());
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { norm(from, gamma, to, rows, n, EPS, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bench_kit::bench::class_name;
    use bench_kit::targets::Targets;

    #[test]
    fn every_row_of_the_targets_is_measured_and_no_other() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        let wanted: BTreeSet<_> = targets
            .rows
            .iter()
            .filter(|row| row.backend == "rms-norm")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let benches = benches();
        let measured: Vec<_> = benches
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).into()))
            })
            .collect();
        assert_eq!(measured.len(), 17);
        assert_eq!(measured.into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn sets_hold_the_sizes_of_their_case_and_the_oracle_s_answer() {
        for bench in benches()
            .into_iter()
            .filter(|bench| bench.work.read < 1 << 20)
        {
            let without = (bench.build)(3, Oracle::Skip);
            let with = (bench.build)(3, Oracle::Run);
            let bytes = |buffers: &[Buffer], places: std::ops::Range<usize>| {
                buffers[places]
                    .iter()
                    .map(|buffer| buffer.initial.len() as u64)
                    .sum::<u64>()
            };
            for buffers in [&without, &with] {
                assert_eq!(bytes(buffers, 0..2), bench.work.read, "{}", bench.id);
                assert_eq!(bytes(buffers, 2..3), bench.work.written, "{}", bench.id);
            }
            assert_eq!(without[0].initial, with[0].initial);
            assert_ne!(without[2].expected, with[2].expected);
        }
    }
}
