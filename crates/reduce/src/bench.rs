//! The cases of the bench: packed f32 matrices, as gradients of biases and splines come.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};

use crate::oracle::{Columns, Elements, Options, Values, columns};
use crate::{Sum, ffi};

/// Most columns for which a thread or a block a column is worth waiting for: the designs replaced
/// take milliseconds beyond.
const BASELINE_MAX_COLS: usize = 64;

#[derive(Clone, Copy)]
struct Shape {
    matrices: usize,
    rows: usize,
    cols: usize,
}

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    use Mode::{Cold, Hot};
    let both: &[Mode] = &[Hot, Cold];
    let mut benches: Vec<Bench> = [
        ([524_288, 3], both),
        ([524_288, 1], &[Hot]),
        ([524_288, 12], both),
        ([524_288, 64], &[Cold]),
        ([8192, 256], both),
        ([8192, 900], &[Cold]),
        ([8192, 1800], &[Cold]),
        ([8192, 12_288], &[Cold]),
        ([65_536, 1024], &[Cold]),
        ([1_048_576, 128], &[Cold]),
    ]
    .into_iter()
    .map(|([rows, cols], modes): ([usize; 2], &[Mode])| {
        bench(
            format!("{rows}x{cols}"),
            Shape {
                matrices: 1,
                rows,
                cols,
            },
            modes,
        )
    })
    .collect();
    let grouped = Shape {
        matrices: 130,
        rows: 524_288,
        cols: 3,
    };
    benches.push(bench("grouped-130x524288x3".into(), grouped, &[Cold]));
    benches
}

/// Sums of a training step, hot, with the designs replaced whatever they take.
pub fn of_step([rows, cols]: [usize; 2]) -> Bench {
    let shape = Shape {
        matrices: 1,
        rows,
        cols,
    };
    let mut bench = bench(format!("{rows}x{cols}"), shape, &[Mode::Hot]);
    if cols > BASELINE_MAX_COLS {
        bench.others.extend(shape.baselines());
    }
    bench
}

fn bench(id: String, shape: Shape, modes: &[Mode]) -> Bench {
    let mut others = Vec::new();
    let single = shape.matrices == 1;
    if single {
        let name = if shape.rows > 8192 {
            "iqn entry"
        } else {
            "kan entry"
        };
        others.push(Variant::also(name, move |library| shape.entry(library)));
    }
    if single && shape.cols <= BASELINE_MAX_COLS {
        others.extend(shape.baselines());
    }
    Bench {
        id,
        entry: if single {
            "red_columns"
        } else {
            "red_columns_grouped"
        },
        class: Class::Exact,
        modes: modes.to_vec(),
        work: shape.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| shape.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| shape.sum(library)),
        others,
        under_floor: None,
    }
}

impl Shape {
    fn baselines(self) -> [Variant; 3] {
        // f32 chains of up to a million terms near 1.
        let within = self.rows as f64 * 1e-4;
        [
            Variant::baseline("thread per column", within, move |library| {
                self.thread_per_column(library)
            }),
            Variant::baseline("block per column", within, move |library| {
                self.block_per_column(library)
            }),
            Variant::baseline("cub segmented reduce", within, move |library| {
                self.cub(library)
            }),
        ]
    }

    fn work(&self) -> Work {
        let elements = self.matrices * self.rows * self.cols;
        Work {
            read: (elements * size_of::<f32>()) as u64,
            written: (self.matrices * self.cols * size_of::<f32>()) as u64,
            // Seven additions an element, at the rate of as many multiply-adds.
            fmas: 7 * elements as u64,
        }
    }

    fn buffers(&self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let Shape {
            matrices,
            rows,
            cols,
        } = *self;
        let x = Random::named(seed, "x").uniforms(matrices * rows * cols, -1.0, 1.0);
        let zeros = vec![0.0; cols];
        let options = Options {
            sum: Sum::F32x2,
            mean: false,
            alpha: 1.0,
            beta: 0.0,
            before: Elements::F32(&zeros),
        };
        let mut out = Vec::with_capacity(matrices * cols);
        for matrix in x.chunks((rows * cols).max(1)) {
            match oracle {
                Oracle::Skip => out.extend(&zeros),
                Oracle::Run => {
                    let sums = columns(&Columns::packed(
                        Elements::F32(matrix),
                        [rows, cols],
                        options,
                    ));
                    let Values::F32(sums) = sums else {
                        unreachable!("results have the type of `before`")
                    };
                    out.extend(sums);
                }
            }
        }
        let mut buffers = vec![Buffer::input("x", &x), Buffer::output("out", &out)];
        if matrices > 1 {
            // `red_matrix` in words; offsets are behind x and out.
            let table: Vec<u64> = (0..matrices)
                .flat_map(|i| {
                    let x = (i * rows * cols * size_of::<f32>()) as u64;
                    let out = (i * cols * size_of::<f32>()) as u64;
                    [x, out, rows as u64, cols as u64, 0, 1.0f32.to_bits().into()]
                })
                .collect();
            buffers.push(Buffer::input("matrices", &table));
        }
        buffers
    }

    fn params(&self) -> ffi::red_sum_params {
        ffi::red_sum_params {
            struct_size: size_of::<ffi::red_sum_params>() as u32,
            dtype: ffi::RED_F32 as i32,
            out_dtype: ffi::RED_OUT_F32 as i32,
            accumulator: ffi::RED_SUM_F32X2 as i32,
            path: ffi::RED_PATH_AUTO as i32,
            splits: 0,
            mean: 0,
            reserved: 0,
            rows: self.rows as i64,
            cols: self.cols as i64,
            ld: 0,
            table_rows: 0,
            count: self.matrices as i64,
            max_rows: self.rows as i64,
            alpha: 1.0,
            beta: 0.0,
            x: ptr::null(),
            weights: ptr::null(),
            mask: ptr::null(),
            index: ptr::null(),
            offsets: ptr::null(),
            matrices: ptr::null(),
            out: ptr::null_mut(),
            status: ptr::null_mut(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }

    fn sum(&self, library: &Library) -> parity::Result<Prepared> {
        let grouped = self.matrices > 1;
        let (entry, ask) = if grouped {
            ("red_columns_grouped", "red_columns_grouped_workspace_bytes")
        } else {
            ("red_columns", "red_columns_workspace_bytes")
        };
        // SAFETY: the types are the header's prototypes, one for all sums.
        let (sum, ask) = unsafe {
            (
                library.function::<ffi::red_columns_fn>(entry)?,
                library.function::<ffi::red_columns_workspace_bytes_fn>(ask)?,
            )
        };
        let params = self.params();
        // SAFETY: it reads sizes alone.
        let workspace_bytes = unsafe { ask(&params) };
        let call = move |x: &[*mut c_void], stream| {
            let params = ffi::red_sum_params {
                x: x[0],
                out: x[1],
                matrices: if grouped {
                    x[2].cast_const().cast()
                } else {
                    ptr::null()
                },
                workspace: x[2 + usize::from(grouped)],
                workspace_bytes,
                ..params
            };
            // SAFETY: bench-kit passes live buffers of the sizes above, and a zeroed workspace.
            unsafe { sum(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }

    fn entry(&self, library: &Library) -> parity::Result<Prepared> {
        let name = if self.rows > 8192 {
            "red_iqn_bias_grad_f32"
        } else {
            "red_kan_grad_f32"
        };
        // SAFETY: the types are the header's prototypes; both entries have one.
        let (sum, ask) = unsafe {
            (
                library.function::<ffi::red_iqn_bias_grad_f32_fn>(name)?,
                library.function::<ffi::red_columns_workspace_bytes_fn>(
                    "red_columns_workspace_bytes",
                )?,
            )
        };
        // SAFETY: it reads sizes alone.
        let workspace_bytes = unsafe { ask(&self.params()) };
        let (rows, cols) = (self.rows as i64, self.cols as i64);
        let call = move |x: &[*mut c_void], stream| {
            let (input, out) = (x[0].cast_const().cast(), x[1].cast());
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { sum(input, out, rows, cols, x[2], workspace_bytes, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }

    fn thread_per_column(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let sum = unsafe {
            library.function::<ffi::red_baseline_thread_per_column_fn>(
                "red_baseline_thread_per_column",
            )?
        };
        let (rows, cols) = (self.rows as i64, self.cols as i64);
        let call = move |x: &[*mut c_void], stream| {
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { sum(x[0].cast_const().cast(), x[1].cast(), rows, cols, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    fn block_per_column(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let sum = unsafe {
            library.function::<ffi::red_baseline_block_per_column_fn>(
                "red_baseline_block_per_column",
            )?
        };
        let workspace_bytes = self.rows.div_ceil(256) * self.cols * size_of::<f32>();
        let (rows, cols) = (self.rows as i64, self.cols as i64);
        let call = move |x: &[*mut c_void], stream| {
            let (input, out) = (x[0].cast_const().cast(), x[1].cast());
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { sum(input, out, rows, cols, x[2], workspace_bytes, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }

    /// In a library of the bench's own, which lies beside the backend's.
    fn cub(&self, library: &Library) -> parity::Result<Prepared> {
        type Ask = unsafe extern "C" fn(i64, i64) -> usize;
        type Sum = unsafe extern "C" fn(
            *const f32,
            *mut f32,
            i64,
            i64,
            *mut c_void,
            usize,
            *mut c_void,
        ) -> c_int;
        let path = library.path().with_file_name("../cub/libcub.so");
        let cub = Arc::new(Library::open(path)?);
        // SAFETY: the types are the prototypes of cub_columns.h.
        let (ask, sum) = unsafe {
            (
                cub.function::<Ask>("cub_columns_workspace_bytes")?,
                cub.function::<Sum>("cub_columns_f32")?,
            )
        };
        let (rows, cols) = (self.rows as i64, self.cols as i64);
        // SAFETY: it takes sizes alone.
        let workspace_bytes = unsafe { ask(rows, cols) };
        let call = move |x: &[*mut c_void], stream| {
            let _open = &cub;
            let (input, out) = (x[0].cast_const().cast(), x[1].cast());
            // SAFETY: bench-kit passes live buffers of these sizes, and the library is open.
            unsafe { sum(input, out, rows, cols, x[2], workspace_bytes, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
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
            .filter(|row| row.backend == "reduce")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let benches = benches();
        let measured: BTreeSet<_> = benches
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).into()))
            })
            .collect();
        assert_eq!(measured, wanted);
    }

    #[test]
    fn replaced_designs_stand_beside_the_narrow_cases() {
        for bench in benches() {
            let narrow =
                ["524288x1", "524288x3", "524288x12", "524288x64"].contains(&bench.id.as_str());
            assert_eq!(
                bench.others.iter().any(|other| other.baseline),
                narrow,
                "{}",
                bench.id
            );
        }
    }
}
