//! The mode with llama.cpp's operations.
//!
//! Its sum is exact everywhere. Its scale comes from the GPU's approximations: a case bounds it and
//! y around the same operations correctly rounded, on every device, and the recorded bytes of an
//! H200 (`fixtures/README.md`) are asked for on the GPU alone.

use super::real::floats;
use super::spec::{Kind, Spec, X};
use crate::{ffi, oracle};
use parity::{Buffer, Case, Class, Element, Instance, Path, Random, Tags};
use serde_json::Value;
use std::ffi::c_void;

static RECORDED: &[u8] = include_bytes!("../../fixtures/ggml_rms_norm.safetensors");
static LIST: &str = include_str!("../../fixtures/ggml_rms_norm.json");

/// Rows, weight and addend of a call; their lengths are their sizes.
#[derive(Clone)]
struct Call {
    rows: usize,
    n: usize,
    eps: f32,
    x: Vec<f32>,
    gamma: Option<Vec<f32>>,
    add: Option<Vec<f32>>,
}

impl Call {
    fn inputs(&self) -> Vec<Buffer> {
        let mut buffers = vec![Buffer::input("x", &self.x)];
        buffers.extend(self.gamma.as_ref().map(|g| Buffer::input("gamma", g)));
        buffers.extend(self.add.as_ref().map(|a| Buffer::input("add", a)));
        buffers
    }

    /// Inputs, y, and with `whole` the sums and the scales.
    fn instance(&self, outputs: Vec<Buffer>, whole: bool) -> Instance {
        let mut buffers = self.inputs();
        buffers.extend(outputs);
        let (rows, n, eps) = (self.rows, self.n, self.eps);
        let gamma = self.gamma.as_ref().map(Vec::len);
        let add = self.add.as_ref().map(Vec::len);
        Instance::new(buffers, move |library, pointers, stream| {
            // SAFETY: the type is the header's prototype.
            let norm = unsafe { library.function::<ffi::rms_norm_ggml_fn>("rms_norm_ggml") }?;
            let mut next = pointers.iter().copied();
            let mut take = |wanted: bool| -> *mut c_void {
                if wanted {
                    next.next().unwrap_or(std::ptr::null_mut())
                } else {
                    std::ptr::null_mut()
                }
            };
            let mut params = Spec::new("", rows, n).params(0);
            params.eps = eps;
            params.gamma_sizes = [gamma.unwrap_or(0) as i64, 0, 0, 0];
            params.add_sizes = [add.unwrap_or(0) as i64, 0, 0, 0];
            params.add_strides = [0; 3];
            params.x = take(true);
            params.gamma = take(gamma.is_some());
            params.add = take(add.is_some());
            params.y = take(true);
            let sums = take(whole).cast();
            params.rstd = take(whole).cast();
            // SAFETY: the runner passes live buffers of these sizes.
            Ok(unsafe { norm(&params, sums, stream) })
        })
    }
}

fn recorded() -> Vec<Case> {
    let list: Vec<Value> = serde_json::from_str(LIST).unwrap_or_default();
    list.into_iter()
        .map(|entry| {
            let number = |key: &str| entry[key].as_u64().unwrap_or(0) as usize;
            let (id, rows, n) = (number("id"), number("rows"), number("n"));
            let eps = entry["eps"].as_f64().unwrap_or(0.0) as f32;
            let variant = entry["variant"].as_str().unwrap_or("").replace('_', "-");
            Case::exact(
                format!("ggml-recorded-{id}-{variant}-{rows}x{n}"),
                "rms_norm_ggml",
                move |_| {
                    let tensor = |name: &str| floats(RECORDED, &format!("{id}.{name}"));
                    let some = |values: Vec<f32>| (!values.is_empty()).then_some(values);
                    let call = Call {
                        rows,
                        n,
                        eps,
                        x: tensor("x"),
                        gamma: some(tensor("gamma")),
                        add: some(tensor("add")),
                    };
                    call.instance(vec![Buffer::output("y", &tensor("y"))], false)
                },
            )
            // The bytes of one GPU's special-function unit.
            .on_paths(&[Path::needing("sm-90", 0, 90)])
        })
        .collect()
}

/// The approximations are within 1 and 2 ulps and the mean's fma sees the first: 4 in all.
const SCALE_ULPS: f64 = 4.0;

fn bounded(id: String, rows: usize, n: usize, kind: Kind, weights: usize, eps: f32) -> Case {
    Case::exact(id, "rms_norm_ggml", move |variation| {
        let x = Spec::new("", rows, n).kind(kind).drawn(variation.seed, X);
        let mut random = Random::named(variation.seed, "weights");
        let gamma = (weights > 0).then(|| random.normals(n, 1.0));
        let add = (weights > 1).then(|| random.normals(n, 1.0));
        let (mut sums, mut scales, mut y, mut within) = (vec![], vec![], vec![], vec![]);
        for row in x.chunks_exact(n) {
            let sum = oracle::ggml_sum(row);
            let scale = oracle::ggml_scale(sum, n, eps);
            sums.push(sum);
            scales.push(f64::from(scale));
            let out = oracle::ggml(row, gamma.as_deref(), add.as_deref(), scale);
            let products = oracle::ggml(row, gamma.as_deref(), None, scale);
            for (out, product) in out.iter().zip(products) {
                y.push(f64::from(*out));
                // The scale's error, each rounding, and what flushes to zero.
                let terms = (SCALE_ULPS + 2.0) * f64::from(product.abs()) + f64::from(out.abs());
                within.push(terms * f64::from(f32::EPSILON) + 2.0 * f64::from(f32::MIN_POSITIVE));
            }
        }
        let scales_within = scales
            .iter()
            .map(|s| s * SCALE_ULPS * f64::from(f32::EPSILON))
            .collect();
        let call = Call {
            rows,
            n,
            eps,
            x,
            gamma,
            add,
        };
        call.instance(
            vec![
                Buffer::output_bound("y", Element::F32, y, within),
                Buffer::output("sums", &sums),
                Buffer::output_bound("scales", Element::F32, scales, scales_within),
            ],
            true,
        )
    })
    .of_class(Class::Tolerance)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = recorded();
    for (rows, n) in [
        (3, 31),
        (2, 64),
        (1, 1000),
        (1, 1024),
        (1, 1100),
        (2, 4096),
        (1, 7168),
    ] {
        for kind in Kind::ALL {
            for (name, weights) in [("plain", 0), ("mul", 1), ("mul-add", 2)] {
                let id = format!("ggml-{name}-{rows}x{n}-{}", kind.name());
                let mut case = bounded(id, rows, n, kind, weights, 1e-6);
                if n <= 1100 && kind != Kind::Uniform && kind != Kind::Outlier {
                    case = case.tagged(Tags::SIMULATE);
                }
                cases.push(case);
            }
        }
    }
    cases
}
