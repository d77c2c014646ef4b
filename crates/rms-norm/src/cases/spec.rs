//! From a description of a problem to buffers, the call and what must come back.

use crate::oracle::{self, Elements, Problem, Repeated, Tensor};
use crate::{Dtype, GammaMode, Quantisation, ResidualMode, ffi};
use half::{bf16, f16};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

/// What rows hold before they are rounded to their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// About normal.
    Normal,
    /// Uniform in [-10, 10).
    Uniform,
    /// Around the least normal numbers of f32, subnormals among them.
    Tiny,
    /// Near 1e15: squares near 1e30.
    Big,
    /// Normal, with one element of 20000 in each row.
    Outlier,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] = [
        Kind::Normal,
        Kind::Uniform,
        Kind::Tiny,
        Kind::Big,
        Kind::Outlier,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::Uniform => "uniform",
            Kind::Tiny => "tiny",
            Kind::Big => "big",
            Kind::Outlier => "outlier",
        }
    }

    fn draw(self, random: &mut Random, count: usize, row: usize) -> Vec<f32> {
        match self {
            Kind::Uniform => random.uniforms(count, -10.0, 10.0),
            Kind::Normal => random.normals(count, 1.0),
            Kind::Tiny => random.normals(count, 1e-38),
            Kind::Big => random.normals(count, 1e15),
            Kind::Outlier => {
                let mut values = random.normals(count, 1.0);
                for start in (0..count).step_by(row) {
                    let end = count.min(start + row);
                    values[start + random.below(end - start)] = 20_000.0;
                }
                values
            }
        }
    }
}

/// The tensors of a call, in the order of the gaps.
pub(super) const X: usize = 0;
pub(super) const RESIDUAL: usize = 1;
pub(super) const GAMMA: usize = 2;
pub(super) const ADD: usize = 3;
pub(super) const Y: usize = 4;
pub(super) const RESIDUAL_OUT: usize = 5;

/// What y shares its memory with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alias {
    Nothing,
    X,
    Add,
}

/// Drawn values, each tensor from its first to its last element.
#[derive(Debug, Clone, Default)]
pub(super) struct Data {
    pub(super) tensors: [Vec<f32>; 4],
    /// Elements between rows of x.
    pub(super) row: usize,
    pub(super) n: usize,
}

impl Data {
    /// A row of x (channels and samples packed).
    pub(super) fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.tensors[X][row * self.row..][..self.n]
    }
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A problem by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    pub(super) n: usize,
    /// Rows, channels, samples.
    pub(super) rows: [usize; 3],
    pub(super) x: Dtype,
    pub(super) gamma: Option<Dtype>,
    pub(super) y: Dtype,
    pub(super) residual: Option<Dtype>,
    pub(super) add: bool,
    pub(super) residual_out: bool,
    pub(super) residual_in_place: bool,
    pub(super) rstd: bool,
    pub(super) alias: Alias,
    pub(super) gamma_mode: GammaMode,
    pub(super) residual_mode: ResidualMode,
    pub(super) quantisation: Quantisation,
    pub(super) eps: f32,
    pub(super) gamma_sizes: [usize; 4],
    pub(super) add_sizes: [usize; 4],
    /// Elements between rows, channels and samples beyond what lies packed.
    pub(super) gaps: [[usize; 3]; 6],
    /// Channels adjacent, rows outside: the heads of a token.
    pub(super) rows_outside: bool,
    pub(super) kind: Kind,
    pub(super) tags: Tags,
    pub(super) paths: Option<Vec<Path>>,
    edit: Option<Edit>,
}

/// Elements up to which a case is run in the simulator.
const SIMULATED: usize = 1300;
/// Elements from which a case is large.
const LARGE: usize = 1 << 23;

impl Spec {
    pub(super) fn new(id: impl Into<String>, rows: usize, n: usize) -> Spec {
        Spec {
            id: id.into(),
            n,
            rows: [rows, 1, 1],
            x: Dtype::F32,
            gamma: Some(Dtype::F32),
            y: Dtype::F32,
            residual: None,
            add: false,
            residual_out: false,
            residual_in_place: false,
            rstd: false,
            alias: Alias::Nothing,
            gamma_mode: GammaMode::Plain,
            residual_mode: ResidualMode::Unrounded,
            quantisation: Quantisation::None,
            eps: 1e-6,
            gamma_sizes: [n, 1, 1, 1],
            add_sizes: [n, rows, 1, 1],
            gaps: [[0; 3]; 6],
            rows_outside: false,
            kind: Kind::Normal,
            tags: Tags::NONE,
            paths: None,
            edit: None,
        }
    }

    /// x, gamma (and add) and y of one type.
    pub(super) fn dtype(mut self, dtype: Dtype) -> Spec {
        (self.x, self.y, self.gamma) = (dtype, dtype, Some(dtype));
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Spec)) -> Spec {
        change(&mut self);
        self
    }

    pub(super) fn kind(mut self, kind: Kind) -> Spec {
        self.kind = kind;
        self
    }

    pub(super) fn quantised(mut self, quantisation: Quantisation) -> Spec {
        self.y = quantisation.dtype().unwrap_or(self.y);
        self.quantisation = quantisation;
        self
    }

    pub(super) fn sanitize(mut self) -> Spec {
        self.tags = self.tags | Tags::SANITIZE;
        self
    }

    /// In the simulator whatever its size.
    pub(super) fn simulate(mut self) -> Spec {
        self.tags = self.tags | Tags::SIMULATE;
        self
    }

    /// Changes the drawn contents.
    pub(super) fn edit(mut self, edit: impl Fn(&mut Data) + Send + Sync + 'static) -> Spec {
        self.edit = Some(Arc::new(edit));
        self
    }

    pub(super) fn total(&self) -> usize {
        self.rows.iter().product()
    }

    /// Sizes of a tensor: columns, rows, channels, samples.
    fn sizes(&self, tensor: usize) -> [usize; 4] {
        match tensor {
            GAMMA => self.gamma_sizes,
            ADD => self.add_sizes,
            _ => [self.n, self.rows[0], self.rows[1], self.rows[2]],
        }
    }

    pub(super) fn strides(&self, tensor: usize) -> [usize; 3] {
        let [columns, rows, channels, _] = self.sizes(tensor);
        let gaps = self.gaps[tensor];
        if self.rows_outside && tensor != GAMMA && tensor != ADD {
            let channel = columns + gaps[1];
            let row = channels * channel + gaps[0];
            return [row, channel, rows * row + gaps[2]];
        }
        let row = columns + gaps[0];
        let channel = rows * row + gaps[1];
        [row, channel, channels * channel + gaps[2]]
    }

    /// Elements from the first to past the last.
    fn elements(&self, tensor: usize) -> usize {
        let [columns, counts @ ..] = self.sizes(tensor);
        if counts.contains(&0) {
            return 0;
        }
        let strides = self.strides(tensor);
        columns + (0..3).map(|d| (counts[d] - 1) * strides[d]).sum::<usize>()
    }

    fn draw(&self, seed: u64) -> Data {
        let mut data = Data {
            row: self.strides(X)[0],
            n: self.n,
            ..Data::default()
        };
        let mut x = Random::named(seed, "x");
        data.tensors[X] = self.kind.draw(&mut x, self.elements(X), self.strides(X)[0]);
        for (tensor, name) in [(RESIDUAL, "residual"), (GAMMA, "gamma"), (ADD, "add")] {
            let mut random = Random::named(seed, name);
            data.tensors[tensor] = match tensor {
                RESIDUAL => self
                    .kind
                    .draw(&mut random, self.elements(tensor), usize::MAX),
                _ => random.normals(self.elements(tensor), 1.0),
            };
        }
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        data
    }

    /// The drawn values of one tensor.
    pub(super) fn drawn(&self, seed: u64, tensor: usize) -> Vec<f32> {
        self.draw(seed).tensors[tensor].clone()
    }

    /// The fields that point to buffers, for calls that follow no pointer: with one row's contents.
    pub(super) fn bound_addresses(&self) -> Vec<Bound> {
        let mut small = self.clone();
        small.n = 1;
        small.rows = [1; 3];
        small.gamma_sizes = [1; 4];
        small.add_sizes = [1; 4];
        small.edit = None;
        small.bound_buffers(0)
    }

    fn gamma_dtype(&self) -> Dtype {
        self.gamma.unwrap_or(Dtype::F32)
    }

    /// The params struct, all pointers null.
    pub(super) fn params(&self, path: i32) -> ffi::rms_norm_params {
        // Packed strides are passed as 0 and as themselves, one half of the cases each.
        let strides = |tensor: usize| {
            let packed = self.gaps[tensor] == [0; 3] && !self.rows_outside;
            if packed && self.n.is_multiple_of(2) {
                return [0; 3];
            }
            self.strides(tensor).map(|s| s as i64)
        };
        let sizes = |sizes: [usize; 4]| {
            let default = sizes == [self.n, 1, 1, 1] && self.n.is_multiple_of(2);
            if default {
                [0; 4]
            } else {
                sizes.map(|s| s as i64)
            }
        };
        let extent = |d: usize| {
            if self.rows[d] == 1 && self.n.is_multiple_of(2) {
                0
            } else {
                self.rows[d] as i64
            }
        };
        ffi::rms_norm_params {
            struct_size: size_of::<ffi::rms_norm_params>() as u32,
            x_dtype: self.x.code(),
            gamma_dtype: self.gamma_dtype().code(),
            y_dtype: self.y.code(),
            residual_dtype: self.residual.unwrap_or(Dtype::F32).code(),
            gamma_mode: self.gamma_mode.code(),
            residual_mode: self.residual_mode.code(),
            quantisation: self.quantisation.code(),
            path,
            eps: self.eps,
            min_scale: match self.quantisation {
                Quantisation::Token { min_scale, .. } => min_scale,
                _ => 0.0,
            },
            reserved: 0.0,
            n: self.n as i64,
            rows: self.rows[0] as i64,
            channels: extent(1),
            samples: extent(2),
            gamma_sizes: sizes(self.gamma_sizes),
            add_sizes: sizes(self.add_sizes),
            x_strides: strides(X),
            residual_strides: strides(RESIDUAL),
            gamma_strides: strides(GAMMA),
            add_strides: strides(ADD),
            y_strides: strides(Y),
            residual_out_strides: strides(RESIDUAL_OUT),
            x: std::ptr::null(),
            residual: std::ptr::null(),
            gamma: std::ptr::null(),
            add: std::ptr::null(),
            tensor_scale: std::ptr::null(),
            y: std::ptr::null_mut(),
            residual_out: std::ptr::null_mut(),
            token_scales: std::ptr::null_mut(),
            rstd: std::ptr::null_mut(),
        }
    }

    /// Inputs, outputs with the oracle's values, and where each pointer goes.
    pub(super) fn bound_buffers(&self, seed: u64) -> Vec<Bound> {
        let data = self.draw(seed);
        let dtypes = [
            Some(self.x),
            self.residual,
            self.gamma,
            self.add.then(|| self.gamma_dtype()),
        ];
        let values: Vec<Option<Values>> = dtypes
            .iter()
            .zip(&data.tensors)
            .map(|(dtype, tensor)| dtype.map(|dtype| Values::of(dtype, tensor)))
            .collect();
        let tensor = |index: usize| {
            values[index].as_ref().map(|values| Tensor {
                elements: values.elements(),
                strides: self.strides(index),
            })
        };
        let repeated = |index: usize| {
            tensor(index).map(|tensor| Repeated {
                tensor,
                sizes: self.sizes(index),
            })
        };
        let rows = self.oracle(
            |x| Problem {
                n: self.n,
                rows: self.rows,
                x: Tensor {
                    elements: x,
                    strides: self.strides(X),
                },
                residual: tensor(RESIDUAL),
                residual_mode: self.residual_mode,
                gamma: repeated(GAMMA),
                gamma_mode: self.gamma_mode,
                add: repeated(ADD),
                eps: self.eps,
                quantisation: self.quantisation,
            },
            &values,
        );

        let mut y = Output::new(self, Y, self.y);
        let mut sum = Output::new(self, RESIDUAL_OUT, self.residual.unwrap_or(Dtype::F32));
        let (mut rstd, mut steps) = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            y.put(self, index, &row.y, &row.codes);
            if self.residual_out || self.residual_in_place {
                sum.put(self, index, &row.sum, &[]);
            }
            rstd.push(row.rstd);
            steps.push(row.step);
        }

        let mut bound = Vec::new();
        if self.alias == Alias::X {
            let buffer = y.in_place(values[X].as_ref(), "x_and_y");
            bound.push(Bound(buffer, |p, x| {
                p.x = x;
                p.y = x;
            }));
        } else {
            bound.extend(input(values[X].as_ref(), "x", |p, x| p.x = x));
        }
        if self.residual_in_place {
            let buffer = sum.in_place(values[RESIDUAL].as_ref(), "residual_and_out");
            bound.push(Bound(buffer, |p, x| {
                p.residual = x;
                p.residual_out = x;
            }));
        } else {
            bound.extend(input(values[RESIDUAL].as_ref(), "residual", |p, x| {
                p.residual = x;
            }));
            if self.residual_out {
                bound.push(Bound(sum.buffer("residual_out"), |p, x| p.residual_out = x));
            }
        }
        bound.extend(input(values[GAMMA].as_ref(), "gamma", |p, x| p.gamma = x));
        if self.alias == Alias::Add {
            let buffer = y.in_place(values[ADD].as_ref(), "add_and_y");
            bound.push(Bound(buffer, |p, x| {
                p.add = x;
                p.y = x;
            }));
        } else {
            bound.extend(input(values[ADD].as_ref(), "add", |p, x| p.add = x));
        }
        if self.alias == Alias::Nothing {
            bound.push(Bound(y.buffer("y"), |p, x| p.y = x));
        }
        match self.quantisation {
            Quantisation::Tensor { scale, .. } => {
                let buffer = Buffer::input("tensor_scale", &[scale]);
                bound.push(Bound(buffer, |p, x| p.tensor_scale = x.cast()));
            }
            Quantisation::Token { .. } => {
                let buffer = Buffer::output("token_scales", &steps);
                bound.push(Bound(buffer, |p, x| p.token_scales = x.cast()));
            }
            Quantisation::None => {}
        }
        if self.rstd {
            bound.push(Bound(Buffer::output("rstd", &rstd), |p, x| {
                p.rstd = x.cast()
            }));
        }
        bound
    }

    fn oracle<'a>(
        &self,
        problem: impl FnOnce(Elements<'a>) -> Problem<'a>,
        values: &'a [Option<Values>],
    ) -> Vec<oracle::Normalised> {
        let Some(x) = &values[X] else {
            return Vec::new();
        };
        let problem = problem(x.elements());
        (0..self.total())
            .map(|index| oracle::norm(&problem, index))
            .collect()
    }

    /// Where row `index` begins in a tensor.
    fn start(&self, tensor: usize, index: usize) -> usize {
        let [rows, channels, _] = self.rows;
        let place = [
            index % rows,
            index / rows % channels,
            index / rows / channels,
        ];
        let strides = self.strides(tensor);
        (0..3).map(|d| place[d] * strides[d]).sum()
    }

    /// The paths that can run it.
    fn paths(&self) -> Vec<Path> {
        if let Some(paths) = &self.paths {
            return paths.clone();
        }
        let mut paths = vec![Path::AUTOMATIC, WARP, BLOCK];
        let token = matches!(self.quantisation, Quantisation::Token { .. });
        if self.n >= 1024 && !token {
            paths.extend(CLUSTERS);
        }
        paths
    }

    fn tags(&self) -> Tags {
        let work = self.total() * self.n;
        let mut tags = self.tags;
        // Other kinds of values take no other way through a kernel.
        let telling = matches!(self.kind, Kind::Normal | Kind::Tiny)
            && (self.x != Dtype::F16 || self.n <= 100);
        if work <= SIMULATED && self.total() <= 40 && telling {
            tags = tags | Tags::SIMULATE;
        }
        if work >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// A call of `rms_norm` that must succeed, on every path that can run it.
    pub(super) fn case(self) -> Case {
        let (id, tags, paths) = (self.id.clone(), self.tags(), self.paths());
        Case::exact(id, "rms_norm", move |variation: &Variation| {
            let (buffers, sets) = split(self.bound_buffers(variation.seed));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = usize::from(self.total() > 0);
            Instance::new(buffers, move |library, pointers, stream| {
                norm(library, &spec.filled(path, &sets, pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(tags)
        .on_paths(&paths)
    }

    /// The same buffers through the baseline or the first entry: packed f32, weighted or not.
    pub(super) fn other_entry(self, entry: &'static str) -> Case {
        let (id, tags) = (format!("{}-{entry}", self.id), self.tags());
        Case::exact(id, entry, move |variation: &Variation| {
            let (buffers, sets) = split(self.bound_buffers(variation.seed));
            let spec = self.clone();
            let nodes = usize::from(self.total() > 0);
            Instance::new(buffers, move |library, pointers, stream| {
                let p = spec.filled(0, &sets, pointers);
                let (x, gamma, y) = (p.x.cast(), p.gamma.cast(), p.y.cast());
                let (rows, n) = (spec.total() as i64, spec.n as i64);
                // SAFETY: the types are the header's prototypes; buffers are live and of these
                // sizes.
                unsafe {
                    if entry == "rms_baseline_f32" {
                        let f = library.function::<ffi::rms_baseline_f32_fn>(entry)?;
                        return Ok(f(x, gamma, y, rows, n, spec.eps, stream));
                    }
                    let f = library.function::<ffi::rms_norm_f32_fn>(entry)?;
                    let (from, to) = (spec.strides(X)[0] as i64, spec.strides(Y)[0] as i64);
                    Ok(f(x, gamma, y, rows, n, from, to, spec.eps, stream))
                }
            })
            .nodes(nodes)
        })
        .tagged(tags)
    }

    /// The params struct with the placed buffers' pointers.
    pub(super) fn filled(
        &self,
        path: i32,
        sets: &[Set],
        pointers: &[*mut c_void],
    ) -> ffi::rms_norm_params {
        let mut params = self.params(path);
        for (set, &pointer) in sets.iter().zip(pointers) {
            set(&mut params, pointer);
        }
        params
    }
}

/// An output tensor: expected values in the rows, everything else untouched.
struct Output {
    dtype: Dtype,
    floats: Vec<f32>,
    codes: Vec<u8>,
    rows: Vec<Range<usize>>,
}

impl Output {
    fn new(spec: &Spec, tensor: usize, dtype: Dtype) -> Output {
        let count = spec.elements(tensor);
        let coded = matches!(dtype, Dtype::Fp8 | Dtype::Int8);
        let rows = (0..spec.total())
            .map(|index| {
                let start = spec.start(tensor, index);
                start..start + spec.n
            })
            .collect();
        Output {
            dtype,
            floats: vec![0.0; if coded { 0 } else { count }],
            codes: vec![0; if coded { count } else { 0 }],
            rows,
        }
    }

    fn put(&mut self, _: &Spec, index: usize, floats: &[f32], codes: &[u8]) {
        let row = self.rows[index].clone();
        if self.floats.is_empty() {
            self.codes[row].copy_from_slice(codes);
        } else {
            self.floats[row].copy_from_slice(floats);
        }
    }

    /// What lies between the rows.
    fn gaps(&self) -> Vec<Range<usize>> {
        let count = self.floats.len() + self.codes.len();
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| row.start);
        rows.push(count..count);
        let mut end = 0;
        let mut gaps = Vec::new();
        for row in rows {
            if row.start > end {
                gaps.push(end..row.start);
            }
            end = end.max(row.end);
        }
        gaps
    }

    fn buffer(&self, name: &'static str) -> Buffer {
        let buffer = match self.dtype {
            Dtype::F32 => Buffer::output(name, &self.floats),
            Dtype::Bf16 => Buffer::output(name, &parity::to_bf16(&self.floats)),
            Dtype::F16 => Buffer::output(name, &parity::to_f16(&self.floats)),
            Dtype::Fp8 | Dtype::Int8 => Buffer::output(name, &self.codes),
        };
        self.gaps().into_iter().fold(buffer, Buffer::untouched)
    }

    /// The output where an input of the same shape and type was.
    fn in_place(&self, before: Option<&Values>, name: &'static str) -> Buffer {
        let buffer = match before {
            Some(Values::F32(x)) => Buffer::in_out(name, x, &self.floats),
            Some(Values::Bf16(x)) => Buffer::in_out(name, x, &parity::to_bf16(&self.floats)),
            Some(Values::F16(x)) => Buffer::in_out(name, x, &parity::to_f16(&self.floats)),
            None => Buffer::output_unwritten::<f32>(name, 0),
        };
        self.gaps().into_iter().fold(buffer, Buffer::untouched)
    }
}

/// Puts a buffer's pointer into its field.
pub(super) type Set = fn(&mut ffi::rms_norm_params, *mut c_void);

/// A buffer and the field that points to it.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

fn input(values: Option<&Values>, name: &'static str, set: Set) -> Option<Bound> {
    values.map(|values| Bound(values.input(name), set))
}

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

/// Calls `rms_norm` of the loaded library.
pub(super) fn norm(
    library: &Library,
    params: &ffi::rms_norm_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let norm = unsafe { library.function::<ffi::rms_norm_fn>("rms_norm") }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { norm(params, stream) })
}

/// A tensor in its element type.
pub(super) enum Values {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
    F16(Vec<f16>),
}

impl Values {
    pub(super) fn of(dtype: Dtype, values: &[f32]) -> Values {
        match dtype {
            Dtype::Bf16 => Values::Bf16(parity::to_bf16(values)),
            Dtype::F16 => Values::F16(parity::to_f16(values)),
            _ => Values::F32(values.to_vec()),
        }
    }

    pub(super) fn elements(&self) -> Elements<'_> {
        match self {
            Values::F32(x) => Elements::F32(x),
            Values::Bf16(x) => Elements::Bf16(x),
            Values::F16(x) => Elements::F16(x),
        }
    }

    pub(super) fn input(&self, name: &'static str) -> Buffer {
        match self {
            Values::F32(x) => Buffer::input(name, x),
            Values::Bf16(x) => Buffer::input(name, x),
            Values::F16(x) => Buffer::input(name, x),
        }
    }
}

pub(super) const WARP: Path = Path::new("warp", ffi::RMS_PATH_WARP as i32);
pub(super) const BLOCK: Path = Path::new("block", ffi::RMS_PATH_BLOCK as i32);
pub(super) const CLUSTERS: [Path; 4] = [
    Path::needing("cluster-2", ffi::RMS_PATH_CLUSTER_2 as i32, 90),
    Path::needing("cluster-4", ffi::RMS_PATH_CLUSTER_4 as i32, 90),
    Path::needing("cluster-8", ffi::RMS_PATH_CLUSTER_8 as i32, 90),
    Path::needing("cluster-16", ffi::RMS_PATH_CLUSTER_16 as i32, 90),
];
