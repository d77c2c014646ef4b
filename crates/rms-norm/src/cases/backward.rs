//! The gradients: of every type, at every alignment, with and without the forward call's scales, and
//! rows enough for every length of the column sum's chains.

use super::spec::{Kind, Spec, Values, X};
use crate::oracle::{self, Backward};
use crate::{Dtype, GammaMode, ffi};
use exact_math::column::{Accumulator, F32x2, LANES, chain};
use half::{bf16, f16};
use parity::{Buffer, Case, Instance, Random, Role, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

/// What dx shares its memory with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Nothing,
    X,
    Dy,
}

#[derive(Debug, Clone)]
struct Gradient {
    id: String,
    rows: usize,
    n: usize,
    x: Dtype,
    gamma: Option<Dtype>,
    gamma_mode: GammaMode,
    /// Elements between rows beyond n: of x, dy, dx.
    gaps: [usize; 3],
    rstd: bool,
    dx: bool,
    dgamma: bool,
    over: Over,
    kind: Kind,
    eps: f32,
}

type Set = fn(&mut ffi::rms_norm_backward_params, *mut c_void);

impl Gradient {
    fn new(id: impl Into<String>, rows: usize, n: usize) -> Gradient {
        Gradient {
            id: format!("backward-{}-{rows}x{n}", id.into()),
            rows,
            n,
            x: Dtype::F32,
            gamma: Some(Dtype::F32),
            gamma_mode: GammaMode::Plain,
            gaps: [0; 3],
            rstd: false,
            dx: true,
            dgamma: true,
            over: Over::Nothing,
            kind: Kind::Normal,
            eps: 1e-6,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Gradient)) -> Gradient {
        change(&mut self);
        self
    }

    fn dtype(mut self, dtype: Dtype) -> Gradient {
        (self.x, self.gamma) = (dtype, Some(dtype));
        self
    }

    fn stride(&self, tensor: usize) -> usize {
        self.n + self.gaps[tensor]
    }

    fn elements(&self, tensor: usize) -> usize {
        match self.rows {
            0 => 0,
            rows => (rows - 1) * self.stride(tensor) + self.n,
        }
    }

    fn gamma_dtype(&self) -> Dtype {
        self.gamma.unwrap_or(Dtype::F32)
    }

    fn workspace_bytes(&self) -> usize {
        let chunks = self.rows.div_ceil(LANES * chain(self.rows));
        let scales = if self.rstd { 0 } else { 4 * self.rows };
        if self.dgamma {
            chunks * self.n * size_of::<F32x2>() + scales
        } else {
            0
        }
    }

    fn nodes(&self) -> usize {
        if self.rows == 0 {
            return usize::from(self.dgamma);
        }
        let rows = self.dx || self.dgamma && !self.rstd;
        usize::from(rows) + 2 * usize::from(self.dgamma)
    }

    fn params(&self) -> ffi::rms_norm_backward_params {
        let stride = |tensor: usize| match self.gaps[tensor] {
            0 if self.n.is_multiple_of(2) => 0,
            _ => self.stride(tensor) as i64,
        };
        ffi::rms_norm_backward_params {
            struct_size: size_of::<ffi::rms_norm_backward_params>() as u32,
            x_dtype: self.x.code(),
            gamma_dtype: self.gamma_dtype().code(),
            gamma_mode: self.gamma_mode.code(),
            eps: self.eps,
            reserved: 0.0,
            n: self.n as i64,
            rows: self.rows as i64,
            x_stride: stride(0),
            dy_stride: stride(1),
            dx_stride: stride(2),
            x: null(),
            gamma: null(),
            dy: null(),
            rstd: null(),
            dx: null_mut(),
            dgamma: null_mut(),
            workspace: null_mut(),
            workspace_bytes: self.workspace_bytes(),
        }
    }

    /// Rows, `stride` apart, of packed ones; what lies between is 0 and left alone.
    fn spread(&self, packed: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; self.elements(2)];
        for (row, values) in packed.chunks_exact(self.n).enumerate() {
            all[row * self.stride(2)..][..self.n].copy_from_slice(values);
        }
        all
    }

    fn buffers(&self, seed: u64) -> Vec<(Buffer, Set)> {
        let mut forward = Spec::new("", self.rows, self.n).kind(self.kind);
        forward.gaps[X] = [self.gaps[0], 0, 0];
        let x = Values::of(self.x, &forward.drawn(seed, X));
        let normals = |name: &str, count| Random::named(seed, name).normals(count, 1.0);
        let dy = Values::of(self.x, &normals("dy", self.elements(1)));
        let gamma = self
            .gamma
            .map(|dtype| Values::of(dtype, &normals("gamma", self.n)));
        let rstd: Vec<f32> = (0..self.rows)
            .map(|row| {
                let row: Vec<f32> = (0..self.n)
                    .map(|j| x.elements().at(row * self.stride(0) + j))
                    .collect();
                oracle::scale(oracle::sum_of_squares(&row), self.n, self.eps)
            })
            .collect();
        let gradients = oracle::backward(&Backward {
            n: self.n,
            rows: self.rows,
            x: x.elements(),
            x_stride: self.stride(0),
            gamma: gamma.as_ref().map(Values::elements),
            gamma_mode: self.gamma_mode,
            dy: dy.elements(),
            dy_stride: self.stride(1),
            rstd: self.rstd.then_some(&rstd[..]),
            eps: self.eps,
        });
        let dx = Values::of(self.x, &self.spread(&gradients.dx));
        let gaps = |buffer: Buffer| {
            (1..self.rows).fold(buffer, |buffer, row| {
                let next = row * self.stride(2);
                buffer.untouched(next - self.gaps[2]..next)
            })
        };
        let in_place = |before: &Values, name| {
            gaps(match (before, &dx) {
                (Values::F32(x), Values::F32(dx)) => Buffer::in_out(name, x, dx),
                (Values::Bf16(x), Values::Bf16(dx)) => Buffer::in_out(name, x, dx),
                (Values::F16(x), Values::F16(dx)) => Buffer::in_out(name, x, dx),
                _ => Buffer::output_unwritten::<f32>(name, 0),
            })
        };
        let mut all: Vec<(Buffer, Set)> = Vec::new();
        all.push(if self.over == Over::X {
            (in_place(&x, "x_and_dx"), |p, x| {
                (p.x, p.dx) = (x, x);
            })
        } else {
            (x.input("x"), |p, x| p.x = x)
        });
        all.push(if self.over == Over::Dy {
            (in_place(&dy, "dy_and_dx"), |p, x| {
                (p.dy, p.dx) = (x, x);
            })
        } else {
            (dy.input("dy"), |p, x| p.dy = x)
        });
        if let Some(gamma) = &gamma {
            all.push((gamma.input("gamma"), |p, x| p.gamma = x));
        }
        if self.rstd {
            all.push((Buffer::input("rstd", &rstd), |p, x| p.rstd = x.cast()));
        }
        if self.dx && self.over == Over::Nothing {
            let buffer = match &dx {
                Values::F32(x) => Buffer::output("dx", x),
                Values::Bf16(x) => Buffer::output("dx", x),
                Values::F16(x) => Buffer::output("dx", x),
            };
            all.push((gaps(buffer), |p, x| p.dx = x));
        }
        if self.dgamma {
            let sums = &gradients.dgamma;
            let buffer = match self.gamma_dtype() {
                Dtype::Bf16 => {
                    let sums: Vec<_> = sums.iter().map(|s| bf16::from_bits(s.to_bf16())).collect();
                    Buffer::output("dgamma", &sums)
                }
                Dtype::F16 => {
                    let sums: Vec<_> = sums.iter().map(|s| f16::from_bits(s.to_f16())).collect();
                    Buffer::output("dgamma", &sums)
                }
                _ => {
                    let sums: Vec<_> = sums.iter().map(|s| s.to_f32()).collect();
                    Buffer::output("dgamma", &sums)
                }
            };
            all.push((buffer, |p, x| p.dgamma = x));
            let workspace = Buffer::workspace("workspace", self.workspace_bytes());
            all.push((workspace, |p, x| p.workspace = x));
        }
        all
    }

    fn instance(
        &self,
        seed: u64,
        alter: fn(&mut ffi::rms_norm_backward_params),
        unwritten: bool,
    ) -> Instance {
        let (mut buffers, sets): (Vec<Buffer>, Vec<Set>) = self.buffers(seed).into_iter().unzip();
        if unwritten {
            for buffer in &mut buffers {
                if matches!(buffer.role, Role::Output | Role::InOut) {
                    buffer.expected = Some(buffer.initial.clone());
                    buffer.untouched.clear();
                    buffer.untouched.push(0..buffer.count());
                }
            }
        }
        let gradient = self.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            // SAFETY: the types are the header's prototypes.
            let (backward, workspace_bytes) = unsafe {
                (
                    library.function::<ffi::rms_norm_backward_fn>("rms_norm_backward")?,
                    library.function::<ffi::rms_norm_backward_workspace_bytes_fn>(
                        "rms_norm_backward_workspace_bytes",
                    )?,
                )
            };
            let mut params = gradient.params();
            for (set, &pointer) in sets.iter().zip(pointers) {
                set(&mut params, pointer);
            }
            // SAFETY: it reads the struct alone.
            let asked = unsafe { workspace_bytes(&params) };
            if !unwritten && asked != gradient.workspace_bytes() {
                eprintln!("workspace of {asked} bytes asked for");
                return Ok(-1);
            }
            alter(&mut params);
            // SAFETY: the runner passes live buffers of these sizes, or the call must refuse them.
            Ok(unsafe { backward(&params, stream) })
        })
    }

    fn case(self) -> Case {
        let work = self.rows * self.n;
        let tags = if work <= 1100 && self.x != Dtype::F16 || self.n == 4612 {
            Tags::SIMULATE | Tags::SANITIZE
        } else {
            Tags::NONE
        };
        Case::exact(
            self.id.clone(),
            "rms_norm_backward",
            move |v: &Variation| self.instance(v.seed, |_| {}, false).nodes(self.nodes()),
        )
        .tagged(tags)
    }

    fn refused(self, code: u32, alter: fn(&mut ffi::rms_norm_backward_params)) -> Case {
        Case::exact(
            self.id.clone(),
            "rms_norm_backward",
            move |v: &Variation| self.instance(v.seed, alter, true).refused(code as c_int),
        )
        .tagged(Tags::SIMULATE)
    }
}

fn refusals() -> Vec<Case> {
    use ffi::*;
    type Alter = fn(&mut rms_norm_backward_params);
    let rows: Vec<(&str, u32, Alter)> = vec![
        ("struct", 6000 + RMS_ARG_struct_size, |p| p.struct_size -= 4),
        ("x-dtype", 4000 + RMS_ARG_x_dtype, |p| p.x_dtype = 3),
        ("gamma-dtype", 8000 + RMS_ARG_gamma_dtype, |p| {
            p.gamma_dtype = 1
        }),
        ("gamma-mode", 8000 + RMS_ARG_gamma_mode, |p| {
            p.gamma_mode = 2
        }),
        ("eps", 3000 + RMS_ARG_eps, |p| p.eps = f32::NAN),
        ("n", 2000 + RMS_ARG_n, |p| p.n = 0),
        ("rows", 2000 + RMS_ARG_rows, |p| p.rows = -1),
        ("x-stride", 5000 + RMS_ARG_x_strides, |p| p.x_stride = -1),
        ("dy-stride", 5000 + RMS_ARG_dy_strides, |p| {
            p.dy_stride = i64::MAX / 2
        }),
        ("dx-stride", 5000 + RMS_ARG_dx_strides, |p| p.dx_stride = 7),
        ("no-x", 1000 + RMS_ARG_x, |p| p.x = null()),
        ("no-dy", 1000 + RMS_ARG_dy, |p| p.dy = null()),
        ("no-output", 1000 + RMS_ARG_dx, |p| {
            (p.dx, p.dgamma) = (null_mut(), null_mut())
        }),
        ("misaligned-dy", 10_000 + RMS_ARG_dy, |p| {
            p.dy = p.dy.wrapping_byte_add(2)
        }),
        ("misaligned-dx", 10_000 + RMS_ARG_dx, |p| {
            p.dx = p.dx.wrapping_byte_add(2)
        }),
        ("misaligned-dgamma", 10_000 + RMS_ARG_dgamma, |p| {
            p.dgamma = p.dgamma.wrapping_byte_add(2);
        }),
        ("misaligned-workspace", 10_000 + RMS_ARG_workspace, |p| {
            p.workspace = p.workspace.wrapping_byte_add(4);
        }),
        ("dx-partly-on-x", 7000 + RMS_ARG_dx, |p| {
            p.dx = p.x.cast_mut().wrapping_byte_add(16);
        }),
        ("dgamma-on-gamma", 7000 + RMS_ARG_dgamma, |p| {
            p.dgamma = p.gamma.cast_mut()
        }),
        ("no-workspace", 9000 + RMS_ARG_workspace, |p| {
            p.workspace = null_mut()
        }),
        ("short-workspace", 9000 + RMS_ARG_workspace_bytes, |p| {
            p.workspace_bytes -= 1
        }),
    ];
    rows.into_iter()
        .map(|(id, code, alter)| Gradient::new(format!("refuses-{id}"), 3, 8).refused(code, alter))
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, dtype) in [
        ("f32", Dtype::F32),
        ("bf16", Dtype::Bf16),
        ("f16", Dtype::F16),
    ] {
        for (rows, n) in [
            (3, 64),
            (2, 100),
            (5, 33),
            (1, 1),
            (2, 1025),
            (1, 4096),
            (70, 20),
        ] {
            cases.push(Gradient::new(name, rows, n).dtype(dtype).case());
            let all = Gradient::new(format!("all-{name}"), rows, n).dtype(dtype);
            cases.push(
                all.with(|g| {
                    g.gamma_mode = GammaMode::OnePlus;
                    g.gaps = [4, 8, 12];
                    g.rstd = true;
                })
                .case(),
            );
        }
        for n in [96, 1027] {
            let of = |what: &str| Gradient::new(format!("{what}-{name}"), 2, n).dtype(dtype);
            cases.push(of("f32-weight").with(|g| g.gamma = Some(Dtype::F32)).case());
            cases.push(of("no-weight").with(|g| g.gamma = None).case());
            cases.push(of("dx-alone").with(|g| g.dgamma = false).case());
            cases.push(of("dgamma-alone").with(|g| g.dx = false).case());
            cases.push(
                of("dgamma-alone-rstd")
                    .with(|g| (g.dx, g.rstd) = (false, true))
                    .case(),
            );
            cases.push(
                of("over-x")
                    .with(|g| (g.over, g.dgamma) = (Over::X, false))
                    .case(),
            );
            cases.push(
                of("over-dy")
                    .with(|g| (g.over, g.dgamma) = (Over::Dy, false))
                    .case(),
            );
        }
    }
    for kind in Kind::ALL {
        for (rows, n) in [(4, 70), (2, 1024)] {
            let id = format!("kind-{}", kind.name());
            cases.push(Gradient::new(id, rows, n).with(|g| g.kind = kind).case());
        }
    }
    for (name, eps) in [("0", 0.0), ("1e-1", 0.1), ("10", 10.0)] {
        for n in [64, 1025] {
            let id = format!("eps-{name}");
            cases.push(Gradient::new(id, 6, n).with(|g| g.eps = eps).case());
        }
    }
    // Chunks: one, one and a row, three, and the longer chains; no rows at all.
    for (rows, n) in [
        (0, 40),
        (128, 3),
        (129, 3),
        (384, 5),
        (4096, 4),
        (4097, 36),
        (8193, 40),
        (20000, 64),
        (1, 4612),
        (300, 5120),
    ] {
        cases.push(Gradient::new("rows", rows, n).case());
        cases.push(
            Gradient::new("rows-bf16", rows, n)
                .dtype(Dtype::Bf16)
                .case(),
        );
    }
    cases.extend(refusals());
    cases
}
