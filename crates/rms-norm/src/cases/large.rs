//! Shapes of the bench and tensors of gigabytes: a few rows hold numbers and are looked at, every
//! other element is NaN and so is its row.

use super::spec::*;
use crate::oracle::{self, Problem, Tensor};
use crate::{Dtype, ffi};
use parity::{Buffer, Case, Instance, Path, Random, Tags, Variation};
use std::ops::Range;

/// A packed problem of which these rows count.
#[derive(Clone)]
struct Large {
    id: String,
    rows: usize,
    n: usize,
    /// Elements between rows.
    stride: usize,
    dtype: Dtype,
    residual: bool,
    looked_at: Vec<usize>,
}

impl Large {
    fn ranges(&self, stride: usize) -> Vec<Range<usize>> {
        let range = |&row: &usize| row * stride..row * stride + self.n;
        self.looked_at.iter().map(range).collect()
    }

    fn spread(&self, buffer: Buffer, stride: usize) -> Buffer {
        let count = (self.rows - 1) * stride + self.n;
        buffer.islands(count, self.ranges(stride))
    }

    fn instance(&self, variation: &Variation) -> Instance {
        let (n, few) = (self.n, self.looked_at.len());
        let draw = |name: &str, count| {
            Values::of(
                self.dtype,
                &Random::named(variation.seed, name).normals(count, 1.0),
            )
        };
        let (x, gamma) = (draw("x", few * n), draw("gamma", n));
        let residual = self.residual.then(|| draw("residual", few * n));
        let mut problem = Problem::packed(x.elements(), gamma.elements(), few, n, 1e-6);
        problem.residual = residual.as_ref().map(|residual| Tensor {
            elements: residual.elements(),
            strides: problem.x.strides,
        });
        let rows: Vec<_> = (0..few).map(|row| oracle::norm(&problem, row)).collect();
        let output = |name, values: Vec<f32>| match self.dtype {
            Dtype::Bf16 => Buffer::output(name, &parity::to_bf16(&values)),
            _ => Buffer::output(name, &values),
        };
        let y = output("y", rows.iter().flat_map(|row| row.y.clone()).collect());
        let mut buffers = vec![
            self.spread(x.input("x"), self.stride),
            gamma.input("gamma"),
            self.spread(y, n),
        ];
        if let Some(residual) = &residual {
            let sum = output(
                "residual_out",
                rows.iter().flat_map(|row| row.sum.clone()).collect(),
            );
            buffers.push(self.spread(residual.input("residual"), n));
            buffers.push(self.spread(sum, n));
        }
        let (large, path) = (self.clone(), variation.path);
        Instance::new(buffers, move |library, x, stream| {
            let mut spec = Spec::new("", large.rows, large.n).dtype(large.dtype);
            spec.residual = large.residual.then_some(large.dtype);
            let mut params: ffi::rms_norm_params = spec.params(path);
            params.x_strides[0] = large.stride as i64;
            (params.x, params.gamma, params.y) = (x[0], x[1], x[2]);
            if large.residual {
                (params.residual, params.residual_out) = (x[3], x[4]);
            }
            norm(library, &params, stream)
        })
    }

    fn case(self, paths: &[Path]) -> Case {
        Case::exact(self.id.clone(), "rms_norm", move |v: &Variation| {
            self.instance(v)
        })
        .tagged(Tags::LARGE)
        .on_paths(paths)
    }
}

fn large(id: impl Into<String>, rows: usize, n: usize, dtype: Dtype) -> Large {
    // First, last, and some between.
    let mut looked_at = vec![0, 1, rows / 3, rows / 2, rows.saturating_sub(2), rows - 1];
    looked_at.retain(|&row| row < rows);
    looked_at.sort_unstable();
    looked_at.dedup();
    Large {
        id: id.into(),
        rows,
        n,
        stride: n,
        dtype,
        residual: false,
        looked_at,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let all = [Path::AUTOMATIC, WARP, BLOCK];
    for (rows, n) in [
        (1, 2048),
        (1, 4096),
        (1, 16384),
        (3, 4096),
        (32, 4096),
        (512, 4096),
        (4096, 4096),
        (16384, 8192),
        (32768, 1024),
        (131_072, 128),
    ] {
        cases.push(large(format!("{rows}x{n}-f32"), rows, n, Dtype::F32).case(&all));
    }
    for (rows, n) in [
        (1, 4096),
        (1, 16384),
        (4096, 4096),
        (16384, 8192),
        (131_072, 128),
    ] {
        let mut one = large(format!("{rows}x{n}-bf16"), rows, n, Dtype::Bf16);
        cases.push(one.clone().case(&all));
        if rows == 4096 || rows == 16384 {
            one.id += "-residual";
            one.residual = true;
            cases.push(one.case(&all));
        }
    }
    // More than 2^31 elements, and more than 2^32 bytes: every row of them there.
    cases.push(large("elements-beyond-32-bits", 270_000, 8192, Dtype::Bf16).case(&[BLOCK]));
    cases.push(
        large(
            "narrow-elements-beyond-32-bits",
            17_000_000,
            128,
            Dtype::Bf16,
        )
        .case(&[WARP]),
    );
    // Few rows, 2^30 elements apart.
    let mut apart = large("rows-2-to-the-30-apart", 4, 5120, Dtype::Bf16);
    apart.stride = (1 << 30) + 8;
    apart.looked_at = vec![0, 1, 2, 3];
    cases.push(apart.clone().case(&all));
    apart.id += "-odd";
    apart.stride += 1;
    cases.push(apart.case(&[Path::AUTOMATIC, BLOCK]));
    cases
}
