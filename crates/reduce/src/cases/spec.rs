//! From a description of a sum to buffers, the call and what must come back.

use crate::oracle::{self, Columns, Elements, Options, Segments, Values};
use crate::{Sum, ffi};
use half::{bf16, f16};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dtype {
    F32,
    Bf16,
    F16,
}

/// One matrix of a group: its rows, columns, and elements between rows beyond its columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Member {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) gap: usize,
    pub(super) alpha: f32,
    pub(super) beta: f32,
}

/// Which entry, and what it alone needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Columns,
    Rows,
    /// The rows of each segment; they need not cover x.
    Segments(Vec<usize>),
    Grouped(Vec<Member>),
}

// Optional inputs and conditions, as bits of one word.
pub(super) const WEIGHTS: u32 = 1;
pub(super) const MASK: u32 = 1 << 1;
pub(super) const INDEX: u32 = 1 << 2;
pub(super) const STATUS: u32 = 1 << 3;
pub(super) const NO_WORKSPACE: u32 = 1 << 4;
pub(super) const MEAN: u32 = 1 << 5;
pub(super) const OUT_AS_X: u32 = 1 << 6;

/// A path in the low byte, splits above.
const fn cut(path: u32, splits: i32) -> i32 {
    path as i32 | splits << 8
}
pub(super) const FLAT: Path = Path::new("flat-1", cut(ffi::RED_PATH_FLAT, 1));
pub(super) const FLAT_4: Path = Path::new("flat-4", cut(ffi::RED_PATH_FLAT, 4));
pub(super) const TILE_32_2: Path = Path::new("tile-32-2", cut(ffi::RED_PATH_TILE_32, 2));
pub(super) const TILE_64: Path = Path::new("tile-64-1", cut(ffi::RED_PATH_TILE_64, 1));
pub(super) const TILE_64_64: Path = Path::new("tile-64-64", cut(ffi::RED_PATH_TILE_64, 64));
pub(super) const PACKED: Path = Path::new("packed", cut(ffi::RED_PATH_PACKED, 0));
const MAX_FLAT_COLUMNS: usize = 128;

/// Every value that the device sees, before rounding to the element type.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) x: Vec<f32>,
    pub(super) weights: Vec<f32>,
    pub(super) mask: Vec<u8>,
    pub(super) index: Vec<i32>,
    pub(super) offsets: Vec<i64>,
    /// Six words a matrix, as `red_matrix` lies in memory.
    pub(super) matrices: Vec<u64>,
    pub(super) before: Vec<f32>,
    pub(super) status: u32,
    /// What the status word must say afterwards; `None`: what it said before.
    pub(super) status_after: Option<u32>,
    /// Matrices that are not summed.
    pub(super) skipped: Vec<usize>,
    pub(super) ld: usize,
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A sum by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) gap: usize,
    pub(super) dtype: Dtype,
    pub(super) sum: Sum,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) flags: u32,
    pub(super) tags: Tags,
    pub(super) paths: Option<Vec<Path>>,
    edit: Option<Edit>,
}

/// Elements up to which a case is run in the simulator.
const SIMULATED: usize = 4_500;
/// Elements from which a case is large.
const LARGE: usize = 1 << 22;

impl Spec {
    pub(super) fn new(id: impl Into<String>, [rows, cols]: [usize; 2]) -> Spec {
        Spec {
            id: id.into(),
            kind: Kind::Columns,
            rows,
            cols,
            gap: 0,
            dtype: Dtype::F32,
            sum: Sum::F32x2,
            alpha: 1.0,
            beta: 0.0,
            flags: 0,
            tags: Tags::NONE,
            paths: None,
            edit: None,
        }
    }

    pub(super) fn kind(mut self, kind: Kind) -> Spec {
        self.kind = kind;
        self
    }

    pub(super) fn suffixed(mut self, suffix: &str) -> Spec {
        self.id += suffix;
        self
    }

    pub(super) fn dtype(mut self, dtype: Dtype) -> Spec {
        self.dtype = dtype;
        self
    }

    pub(super) fn sum(mut self, sum: Sum) -> Spec {
        self.sum = sum;
        self
    }

    pub(super) fn gap(mut self, gap: usize) -> Spec {
        self.gap = gap;
        self
    }

    pub(super) fn scaled(mut self, alpha: f32, beta: f32) -> Spec {
        self.alpha = alpha;
        self.beta = beta;
        self
    }

    pub(super) fn with(mut self, flags: u32) -> Spec {
        self.flags |= flags;
        self
    }

    pub(super) fn sanitize(mut self) -> Spec {
        self.tags = self.tags | Tags::SANITIZE;
        self
    }

    pub(super) fn on(mut self, paths: &[Path]) -> Spec {
        self.paths = Some(paths.to_vec());
        self
    }

    /// Changes the drawn contents. Later edits see the earlier ones.
    pub(super) fn edit(mut self, edit: impl Fn(&mut Data) + Send + Sync + 'static) -> Spec {
        self.edit = Some(match self.edit.take() {
            None => Arc::new(edit),
            Some(first) => Arc::new(move |data: &mut Data| {
                first(data);
                edit(data);
            }),
        });
        self
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn ld(&self) -> usize {
        self.cols + self.gap
    }

    /// Stored rows of x. A table is another number than the terms.
    fn stored(&self) -> usize {
        if self.has(INDEX) {
            self.rows / 2 + 3
        } else {
            self.rows
        }
    }

    fn results(&self) -> usize {
        match &self.kind {
            Kind::Columns => self.cols,
            Kind::Rows => self.rows,
            Kind::Segments(counts) => counts.len() * self.cols,
            Kind::Grouped(members) => members.iter().map(|m| m.cols + 1).sum(),
        }
    }

    fn max_rows(&self) -> usize {
        match &self.kind {
            Kind::Segments(counts) => counts.iter().copied().max().unwrap_or(0),
            Kind::Grouped(members) => members.iter().map(|m| m.rows).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn out_size(&self) -> usize {
        if self.has(OUT_AS_X) && self.dtype != Dtype::F32 {
            2
        } else {
            4
        }
    }

    /// Normals, with NaN in the gaps between rows.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let mut source = Random::named(seed, "x");
        let mut matrices = Vec::new();
        let x = if let Kind::Grouped(members) = &self.kind {
            let size = if self.dtype == Dtype::F32 { 4 } else { 2 };
            let mut x = Vec::new();
            let mut results = 0;
            for m in members {
                let ld = m.cols + m.gap;
                let factors = u64::from(m.alpha.to_bits()) | u64::from(m.beta.to_bits()) << 32;
                // Packed rows are said as 0 as well.
                let stride = if m.gap == 0 { 0 } else { ld as u64 };
                let at = (x.len() * size) as u64;
                matrices.extend([
                    at,
                    (results * self.out_size()) as u64,
                    m.rows as u64,
                    m.cols as u64,
                    stride,
                    factors,
                ]);
                results += m.cols + 1;
                for _ in 0..m.rows {
                    x.extend(source.normals(m.cols, 1.0));
                    x.extend(vec![f32::NAN; m.gap]);
                }
            }
            x
        } else {
            let mut x = vec![f32::NAN; self.stored() * self.ld()];
            for row in x.chunks_mut(self.ld().max(1)) {
                row[..self.cols].fill_with(|| source.normal());
            }
            x
        };
        let random = |name: &str| Random::named(seed, name);
        let mut source = random("index");
        let index = (0..self.rows)
            .map(|_| source.below(self.stored().max(1)) as i32)
            .collect();
        let mut source = random("mask");
        // Any nonzero byte keeps.
        let mask = (0..self.rows)
            .map(|_| {
                if source.chance(0.3) {
                    0
                } else {
                    source.between(1, 255) as u8
                }
            })
            .collect();
        let mut offsets = vec![0];
        if let Kind::Segments(counts) = &self.kind {
            for &count in counts {
                offsets.push(offsets[offsets.len() - 1] + count as i64);
            }
        }
        let mut data = Data {
            x,
            weights: random("weights").normals(self.rows, 1.0),
            mask,
            index,
            offsets,
            matrices,
            before: random("out").normals(self.results(), 10.0),
            status: 0,
            status_after: None,
            skipped: Vec::new(),
            ld: self.ld(),
        };
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        data
    }

    fn options<'a>(&self, before: Elements<'a>) -> Options<'a> {
        Options {
            sum: self.sum,
            mean: self.has(MEAN),
            alpha: self.alpha,
            beta: self.beta,
            before,
        }
    }

    fn expected(&self, x: &Values, data: &Data, before: &Values) -> Values {
        let options = self.options(before.elements());
        match &self.kind {
            Kind::Columns => oracle::columns(&Columns {
                x: x.elements(),
                rows: self.rows,
                cols: self.cols,
                ld: self.ld(),
                weights: self.has(WEIGHTS).then_some(&data.weights[..]),
                mask: self.has(MASK).then_some(&data.mask[..]),
                index: self.has(INDEX).then_some((&data.index[..], self.stored())),
                options,
            }),
            Kind::Rows => oracle::rows(x.elements(), [self.rows, self.cols], self.ld(), options),
            Kind::Segments(_) => oracle::segments(&Segments {
                x: x.elements(),
                rows: self.rows,
                cols: self.cols,
                ld: self.ld(),
                offsets: &data.offsets,
                max_rows: self.max_rows(),
                options,
            }),
            Kind::Grouped(members) => {
                let (mut first, mut place) = (0, 0);
                let mut out = before.clone();
                for (i, m) in members.iter().enumerate() {
                    if !data.skipped.contains(&i) {
                        let of_member = Columns {
                            ld: m.cols + m.gap,
                            ..Columns::packed(
                                tail(x, first),
                                [m.rows, m.cols],
                                Options {
                                    alpha: m.alpha,
                                    beta: m.beta,
                                    before: tail(before, place),
                                    ..options
                                },
                            )
                        };
                        put(&mut out, place, &oracle::columns(&of_member));
                    }
                    first += m.rows * (m.cols + m.gap);
                    place += m.cols + 1;
                }
                out
            }
        }
    }

    /// The params struct, all pointers null.
    pub(super) fn params(&self, path: i32) -> ffi::red_sum_params {
        let dtype = match self.dtype {
            Dtype::F32 => ffi::RED_F32,
            Dtype::Bf16 => ffi::RED_BF16,
            Dtype::F16 => ffi::RED_F16,
        };
        let out_dtype = if self.has(OUT_AS_X) {
            ffi::RED_OUT_AS_X
        } else {
            ffi::RED_OUT_F32
        };
        let (count, cols) = match &self.kind {
            Kind::Segments(counts) => (counts.len(), self.cols),
            Kind::Grouped(members) => (
                members.len(),
                members.iter().map(|m| m.cols).max().unwrap_or(0),
            ),
            _ => (0, self.cols),
        };
        // Packed rows are passed as 0 and as themselves, one half of the cases each.
        let ld = if self.gap == 0 && self.rows % 2 == 1 {
            0
        } else {
            self.ld()
        };
        ffi::red_sum_params {
            struct_size: size_of::<ffi::red_sum_params>() as u32,
            dtype: dtype as i32,
            out_dtype: out_dtype as i32,
            accumulator: self.sum.code(),
            path: path & 0xff,
            splits: path >> 8,
            mean: self.has(MEAN).into(),
            reserved: 0,
            rows: self.rows as i64,
            cols: cols as i64,
            ld: ld as i64,
            table_rows: self.stored() as i64,
            count: count as i64,
            max_rows: self.max_rows() as i64,
            alpha: self.alpha,
            beta: self.beta,
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

    pub(super) fn entry(&self) -> &'static str {
        match self.kind {
            Kind::Columns => "red_columns",
            Kind::Rows => "red_rows",
            Kind::Segments(_) => "red_segments",
            Kind::Grouped(_) => "red_columns_grouped",
        }
    }

    fn items(&self) -> usize {
        match &self.kind {
            Kind::Columns => 1,
            Kind::Rows => self.rows,
            Kind::Segments(counts) => counts.len(),
            Kind::Grouped(members) => members.len(),
        }
    }

    /// Generous: the buffers are fixed before the library can be asked.
    pub(super) fn workspace_bytes(&self, path: i32) -> usize {
        if self.has(NO_WORKSPACE) {
            return 0;
        }
        let cols = match &self.kind {
            Kind::Rows => 1,
            Kind::Grouped(members) => members.iter().map(|m| m.cols).max().unwrap_or(0),
            _ => self.cols,
        };
        let splits = if path >> 8 == 0 {
            ffi::RED_MAX_SPLITS as usize
        } else {
            (path >> 8) as usize
        };
        self.items() * (cols + 1) * splits * 16
    }

    /// Inputs, the result with the oracle's values, workspace, and where each pointer goes.
    pub(super) fn bound_buffers(&self, variation: &Variation) -> Vec<Bound> {
        let data = self.draw(variation.seed);
        let x = values(self.dtype, &data.x);
        let out_dtype = if self.has(OUT_AS_X) {
            self.dtype
        } else {
            Dtype::F32
        };
        let before = values(out_dtype, &data.before);
        let expected = self.expected(&x, &data, &before);
        let mut bound = vec![Bound(input("x", &x), |p, x| p.x = x)];
        let mut add = |wanted: bool, buffer: Buffer, set: Set| {
            if wanted {
                bound.push(Bound(buffer, set));
            }
        };
        add(
            self.has(WEIGHTS),
            Buffer::input("weights", &data.weights),
            |p, x| {
                p.weights = x.cast();
            },
        );
        add(self.has(MASK), Buffer::input("mask", &data.mask), |p, x| {
            p.mask = x.cast()
        });
        add(
            self.has(INDEX),
            Buffer::input("index", &data.index),
            |p, x| p.index = x.cast(),
        );
        let segments = matches!(self.kind, Kind::Segments(_));
        add(segments, Buffer::input("offsets", &data.offsets), |p, x| {
            p.offsets = x.cast()
        });
        let grouped = matches!(self.kind, Kind::Grouped(_));
        add(
            grouped,
            Buffer::input("matrices", &data.matrices),
            |p, x| {
                p.matrices = x.cast();
            },
        );
        let reads = grouped || self.beta != 0.0;
        let out = match (&before, &expected, reads) {
            (Values::F32(a), Values::F32(b), true) => Buffer::in_out("out", a, b),
            (Values::Bf16(a), Values::Bf16(b), true) => Buffer::in_out("out", a, b),
            (Values::F16(a), Values::F16(b), true) => Buffer::in_out("out", a, b),
            (_, Values::F32(b), _) => Buffer::output("out", b),
            (_, Values::Bf16(b), _) => Buffer::output("out", b),
            (_, Values::F16(b), _) => Buffer::output("out", b),
        };
        add(true, out, |p, x| p.out = x);
        let status = [data.status];
        let after = [data.status_after.unwrap_or(data.status)];
        add(
            self.has(STATUS),
            Buffer::in_out("status", &status, &after),
            |p, x| {
                p.status = x.cast();
            },
        );
        let bytes = self.workspace_bytes(variation.path);
        add(bytes > 0, Buffer::workspace("workspace", bytes), |p, x| {
            p.workspace = x
        });
        bound
    }

    fn elements(&self) -> usize {
        match &self.kind {
            Kind::Grouped(members) => members.iter().map(|m| m.rows * m.cols).sum(),
            _ => self.rows * self.cols,
        }
    }

    /// The cuts that can run it.
    pub(super) fn paths(&self) -> Vec<Path> {
        if let Some(paths) = &self.paths {
            return paths.clone();
        }
        if self.has(NO_WORKSPACE) {
            return vec![Path::AUTOMATIC, FLAT, TILE_64]
                .into_iter()
                .filter(|path| *path != FLAT || self.params(0).cols <= MAX_FLAT_COLUMNS as i64)
                .collect();
        }
        let mut paths = vec![Path::AUTOMATIC];
        let runs = matches!(self.kind, Kind::Segments(_)) && self.cols == 1;
        if runs || self.kind == Kind::Rows {
            paths.push(PACKED);
        }
        if self.params(0).cols <= MAX_FLAT_COLUMNS as i64 || self.kind == Kind::Rows {
            paths.extend([FLAT, FLAT_4]);
        }
        paths.extend([TILE_32_2, TILE_64, TILE_64_64]);
        paths
    }

    fn tags(&self) -> Tags {
        let mut tags = self.tags;
        if self.elements() <= SIMULATED && self.items() <= 12 {
            tags = tags | Tags::SIMULATE;
        }
        if self.elements() >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// A call that must succeed, on every cut that can run it.
    pub(super) fn case(self) -> Case {
        let nodes = usize::from(self.items() > 0 && self.params(0).cols > 0);
        let (id, tags, paths) = (self.id.clone(), self.tags(), self.paths());
        // red_rows with no columns still writes.
        let nodes = if self.kind == Kind::Rows {
            usize::from(self.rows > 0)
        } else {
            nodes
        };
        Case::exact(id, self.entry(), move |variation| {
            let (buffers, sets) = split(self.bound_buffers(variation));
            let (spec, path) = (self.clone(), variation.path);
            Instance::new(buffers, move |library, pointers, stream| {
                spec.call(library, &spec.filled(path, &sets, pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(tags)
        .on_paths(&paths)
    }

    /// The params struct with the placed buffers' pointers.
    pub(super) fn filled(
        &self,
        path: i32,
        sets: &[Set],
        pointers: &[*mut c_void],
    ) -> ffi::red_sum_params {
        let mut params = self.params(path);
        for (set, &pointer) in sets.iter().zip(pointers) {
            set(&mut params, pointer);
        }
        if !params.workspace.is_null() {
            params.workspace_bytes = self.workspace_bytes(path);
        }
        params
    }

    /// Calls the entry of the loaded library.
    pub(super) fn call(
        &self,
        library: &Library,
        params: *const ffi::red_sum_params,
        stream: *mut c_void,
    ) -> parity::Result<c_int> {
        // SAFETY: the four entries have one prototype, the header's.
        let entry = unsafe { library.function::<ffi::red_columns_fn>(self.entry()) }?;
        // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
        Ok(unsafe { entry(params, stream) })
    }
}

/// Puts a buffer's pointer into its field.
pub(super) type Set = fn(&mut ffi::red_sum_params, *mut c_void);

/// A buffer and the field that points to it.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

/// Values rounded to an element type.
pub(super) fn values(dtype: Dtype, x: &[f32]) -> Values {
    match dtype {
        Dtype::F32 => Values::F32(x.to_vec()),
        Dtype::Bf16 => Values::Bf16(parity::to_bf16(x)),
        Dtype::F16 => Values::F16(parity::to_f16(x)),
    }
}

pub(super) fn input(name: &'static str, x: &Values) -> Buffer {
    match x {
        Values::F32(x) => Buffer::input(name, x),
        Values::Bf16(x) => Buffer::input(name, x),
        Values::F16(x) => Buffer::input(name, x),
    }
}

fn tail(x: &Values, first: usize) -> Elements<'_> {
    match x {
        Values::F32(x) => Elements::F32(&x[first..]),
        Values::Bf16(x) => Elements::Bf16(&x[first..]),
        Values::F16(x) => Elements::F16(&x[first..]),
    }
}

fn put(out: &mut Values, place: usize, part: &Values) {
    fn copy<T: Copy>(out: &mut [T], place: usize, part: &[T]) {
        out[place..place + part.len()].copy_from_slice(part);
    }
    match (out, part) {
        (Values::F32(out), Values::F32(part)) => copy::<f32>(out, place, part),
        (Values::Bf16(out), Values::Bf16(part)) => copy::<bf16>(out, place, part),
        (Values::F16(out), Values::F16(part)) => copy::<f16>(out, place, part),
        _ => unreachable!("both are of the results' type"),
    }
}
