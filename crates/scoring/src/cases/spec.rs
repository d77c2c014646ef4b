//! From a description of a problem to buffers, the call and what must come back.

use crate::Similarity;
use crate::ffi;
use crate::oracle::{self, Elements, Layout, Problem, Scores};
use half::{bf16, f16};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// Element type of queries and candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dtype {
    F32,
    Bf16,
    F16,
}

/// How candidates are arranged.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arrange {
    Dense,
    Shared,
    /// The number of candidates of each question.
    Ragged(Vec<usize>),
    Indexed,
    RaggedIndexed(Vec<usize>),
}

// Outputs, optional inputs and conditions of a case, as bits of one word.
pub(super) const PROBABILITIES: u32 = 1;
pub(super) const LOGITS: u32 = 1 << 1;
pub(super) const LOG_PROBABILITIES: u32 = 1 << 2;
pub(super) const LOG_SUM_EXP: u32 = 1 << 3;
pub(super) const ARGMAX: u32 = 1 << 4;
pub(super) const TOP_VALUES: u32 = 1 << 5;
pub(super) const EXPECTED_INDEX: u32 = 1 << 6;
pub(super) const STATUS: u32 = 1 << 7;
pub(super) const TOP_INDICES: u32 = 1 << 8;
pub(super) const TOP: u32 = TOP_VALUES | TOP_INDICES;
pub(super) const EVERY_OUTPUT: u32 = 0x1ff;
pub(super) const MASK: u32 = 1 << 9;
pub(super) const BIAS: u32 = 1 << 10;
pub(super) const SCALES: u32 = 1 << 11;
pub(super) const TEMPERATURES: u32 = 1 << 12;
pub(super) const QUERY_INVERSE_NORMS: u32 = 1 << 13;
pub(super) const CANDIDATE_INVERSE_NORMS: u32 = 1 << 14;
/// A workspace also where none is needed.
pub(super) const WORKSPACE: u32 = 1 << 15;

/// Every value that the device sees, before rounding to the element type.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) queries: Vec<f32>,
    pub(super) candidates: Vec<f32>,
    pub(super) offsets: Vec<i32>,
    pub(super) indices: Vec<i32>,
    pub(super) mask: Vec<u8>,
    pub(super) bias: Vec<f32>,
    pub(super) scales: Vec<f32>,
    pub(super) temperatures: Vec<f32>,
    pub(super) query_inverse_norms: Vec<f32>,
    pub(super) candidate_inverse_norms: Vec<f32>,
    pub(super) status: u32,
    /// Elements between rows, to find them.
    pub(super) query_stride: usize,
    pub(super) candidate_stride: usize,
    pub(super) dim: usize,
}

impl Data {
    pub(super) fn query(&mut self, i: usize) -> &mut [f32] {
        &mut self.queries[i * self.query_stride..][..self.dim]
    }

    /// The stored row (dense layouts without a question stride: question * K + k).
    pub(super) fn candidate(&mut self, row: usize) -> &mut [f32] {
        &mut self.candidates[row * self.candidate_stride..][..self.dim]
    }
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A problem by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    pub(super) questions: usize,
    pub(super) max_k: usize,
    pub(super) dim: usize,
    pub(super) dtype: Dtype,
    pub(super) similarity: Similarity,
    pub(super) arrange: Arrange,
    /// Elements between the end of one query, candidate, block and the start of the next.
    pub(super) gaps: [usize; 3],
    pub(super) scale: f32,
    pub(super) temperature: f32,
    pub(super) top_k: usize,
    pub(super) flags: u32,
    pub(super) tags: Tags,
    edit: Option<Edit>,
}

/// Uniform values in (-sqrt(3), sqrt(3)) have variance 1.
const ROOT_3: f32 = 1.732_050_8;
/// Work up to which a case is run in the simulator, in multiplications.
const SIMULATED: usize = 60_000;
/// Work from which a case is large.
const LARGE: usize = 1 << 24;

impl Spec {
    pub(super) fn new(id: impl Into<String>, sizes: [usize; 3]) -> Spec {
        let [questions, max_k, dim] = sizes;
        Spec {
            id: id.into(),
            questions,
            max_k,
            dim,
            dtype: Dtype::F32,
            similarity: Similarity::Dot,
            arrange: Arrange::Dense,
            gaps: [0; 3],
            // The scale of an attention score keeps logits of such vectors near 1.
            scale: 1.0 / (dim as f32).sqrt(),
            temperature: 1.0,
            top_k: 0,
            flags: PROBABILITIES | LOGITS,
            tags: Tags::NONE,
            edit: None,
        }
    }

    pub(super) fn cosine(self) -> Spec {
        self.cosine_eps(crate::DEFAULT_EPS)
    }

    pub(super) fn cosine_eps(mut self, eps: f32) -> Spec {
        self.similarity = Similarity::Cosine { eps };
        self.scale = 20.0;
        self
    }

    pub(super) fn dtype(mut self, dtype: Dtype) -> Spec {
        self.dtype = dtype;
        self
    }

    pub(super) fn arrange(mut self, arrange: Arrange) -> Spec {
        self.arrange = arrange;
        self
    }

    pub(super) fn gaps(mut self, gaps: [usize; 3]) -> Spec {
        self.gaps = gaps;
        self
    }

    pub(super) fn scaled(mut self, scale: f32, temperature: f32) -> Spec {
        self.scale = scale;
        self.temperature = temperature;
        self
    }

    /// Outputs in place of those asked for by default.
    pub(super) fn only(mut self, outputs: u32) -> Spec {
        self.flags = self.flags & !EVERY_OUTPUT | outputs;
        self
    }

    pub(super) fn every_output(mut self) -> Spec {
        self.flags |= EVERY_OUTPUT;
        self.top_k = 5;
        self
    }

    pub(super) fn with(mut self, flags: u32) -> Spec {
        self.flags |= flags;
        self
    }

    pub(super) fn top(mut self, top_k: usize) -> Spec {
        self.flags |= TOP;
        self.top_k = top_k;
        self
    }

    pub(super) fn sanitize(mut self) -> Spec {
        self.tags = self.tags | Tags::SANITIZE;
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

    fn counts(&self) -> Option<&[usize]> {
        match &self.arrange {
            Arrange::Ragged(counts) | Arrange::RaggedIndexed(counts) => Some(counts),
            _ => None,
        }
    }

    fn is_indexed(&self) -> bool {
        matches!(self.arrange, Arrange::Indexed | Arrange::RaggedIndexed(_))
    }

    /// Entries of the per-candidate arrays.
    pub(super) fn positions(&self) -> usize {
        self.counts()
            .map_or(self.questions * self.max_k, |counts| counts.iter().sum())
    }

    /// Stored candidate rows. A table is larger than a question's list, so that lists differ.
    pub(super) fn rows(&self) -> usize {
        match &self.arrange {
            Arrange::Shared => self.max_k,
            Arrange::Indexed | Arrange::RaggedIndexed(_) => 2 * self.max_k + 3,
            _ => self.positions(),
        }
    }

    fn query_stride(&self) -> usize {
        self.dim + self.gaps[0]
    }

    fn candidate_stride(&self) -> usize {
        self.dim + self.gaps[1]
    }

    fn question_stride(&self) -> usize {
        self.max_k * self.candidate_stride() + self.gaps[2]
    }

    fn candidate_elements(&self) -> usize {
        match self.arrange {
            Arrange::Dense => self.questions * self.question_stride(),
            _ => self.rows() * self.candidate_stride(),
        }
    }

    /// Uniform vectors of unit variance, with NaN in the gaps between rows.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let random = |name: &str| Random::named(seed, name);
        let positions = self.positions();
        let rows = self.rows();
        let mut queries = vec![f32::NAN; self.questions * self.query_stride()];
        let mut source = random("queries");
        for row in queries.chunks_mut(self.query_stride()) {
            row[..self.dim].fill_with(|| source.uniform(-ROOT_3, ROOT_3));
        }
        let mut candidates = vec![f32::NAN; self.candidate_elements()];
        let mut source = random("candidates");
        let block = match self.arrange {
            Arrange::Dense => self.question_stride(),
            _ => self.candidate_elements(),
        };
        let filled = block
            - if self.arrange == Arrange::Dense {
                self.gaps[2]
            } else {
                0
            };
        for block in candidates.chunks_mut(block.max(1)) {
            for row in block[..filled].chunks_mut(self.candidate_stride()) {
                row[..self.dim].fill_with(|| source.uniform(-ROOT_3, ROOT_3));
            }
        }
        let mut offsets = vec![0];
        for count in self.counts().unwrap_or_default() {
            offsets.push(offsets[offsets.len() - 1] + *count as i32);
        }
        let mut source = random("indices");
        let indices = (0..positions)
            .map(|_| source.below(rows.max(1)) as i32)
            .collect();
        let mut source = random("mask");
        // Any nonzero byte keeps.
        let mask = (0..positions)
            .map(|_| {
                if source.chance(0.3) {
                    0
                } else {
                    source.between(1, 255) as u8
                }
            })
            .collect();
        let mut data = Data {
            queries,
            candidates,
            offsets,
            indices,
            mask,
            bias: random("bias").normals(positions, 1.0),
            scales: random("scales").uniforms(self.questions, 0.1, 10.0),
            temperatures: random("temperatures").uniforms(self.questions, 0.3, 3.0),
            query_inverse_norms: random("query norms").uniforms(self.questions, 0.01, 0.5),
            candidate_inverse_norms: random("candidate norms").uniforms(rows, 0.01, 0.5),
            status: 0,
            query_stride: self.query_stride(),
            candidate_stride: self.candidate_stride(),
            dim: self.dim,
        };
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        data
    }

    fn problem<'a>(&self, rounded: &'a Rounded, data: &'a Data) -> Problem<'a> {
        let sum_k = self.positions();
        let table_rows = self.rows();
        let (indices, offsets) = (&data.indices[..], &data.offsets[..]);
        let option = |flag| self.has(flag);
        Problem {
            queries: rounded.queries.elements(),
            candidates: rounded.candidates.elements(),
            questions: self.questions,
            max_k: self.max_k,
            dim: self.dim,
            query_stride: self.query_stride(),
            candidate_stride: self.candidate_stride(),
            layout: match self.arrange {
                Arrange::Dense => Layout::Dense {
                    question_stride: self.question_stride(),
                },
                Arrange::Shared => Layout::Shared,
                Arrange::Ragged(_) => Layout::Ragged { offsets, sum_k },
                Arrange::Indexed => Layout::Indexed {
                    indices,
                    table_rows,
                },
                Arrange::RaggedIndexed(_) => Layout::RaggedIndexed {
                    indices,
                    offsets,
                    sum_k,
                    table_rows,
                },
            },
            similarity: self.similarity,
            scale: self.scale,
            temperature: self.temperature,
            scales: option(SCALES).then_some(&data.scales),
            temperatures: option(TEMPERATURES).then_some(&data.temperatures),
            mask: option(MASK).then_some(&data.mask),
            bias: option(BIAS).then_some(&data.bias),
            query_inverse_norms: option(QUERY_INVERSE_NORMS).then_some(&data.query_inverse_norms),
            candidate_inverse_norms: option(CANDIDATE_INVERSE_NORMS)
                .then_some(&data.candidate_inverse_norms),
            top_k: self.top_k,
        }
    }

    /// The params struct, all pointers null.
    pub(super) fn params(&self, path: i32) -> ffi::cs_score_params {
        let layout = match self.arrange {
            Arrange::Dense => ffi::CS_DENSE,
            Arrange::Shared => ffi::CS_SHARED,
            Arrange::Ragged(_) => ffi::CS_RAGGED,
            Arrange::Indexed | Arrange::RaggedIndexed(_) => ffi::CS_INDEXED,
        };
        let (similarity, eps) = match self.similarity {
            Similarity::Dot => (ffi::CS_DOT, 0.0),
            Similarity::Cosine { eps } => (ffi::CS_COSINE, eps),
        };
        let dtype = match self.dtype {
            Dtype::F32 => ffi::CS_F32,
            Dtype::Bf16 => ffi::CS_BF16,
            Dtype::F16 => ffi::CS_F16,
        };
        // Packed strides are passed as 0 and as themselves, one half of the cases each.
        let stride = |gap: usize, stride: usize| {
            if gap == 0 && self.questions % 2 == 1 {
                0
            } else {
                stride as i64
            }
        };
        let dense = self.arrange == Arrange::Dense;
        ffi::cs_score_params {
            struct_size: size_of::<ffi::cs_score_params>() as u32,
            dtype: dtype as i32,
            similarity: similarity as i32,
            layout: layout as i32,
            path,
            top_k: self.top_k as i32,
            questions: self.questions as i64,
            max_k: self.max_k as i64,
            sum_k: if self.counts().is_some() {
                self.positions() as i64
            } else {
                0
            },
            table_rows: if self.is_indexed() {
                self.rows() as i64
            } else {
                0
            },
            dim: self.dim as i64,
            query_stride: stride(self.gaps[0], self.query_stride()),
            candidate_stride: stride(self.gaps[1], self.candidate_stride()),
            question_stride: if dense {
                stride(self.gaps[2], self.question_stride())
            } else {
                0
            },
            scale: self.scale,
            temperature: self.temperature,
            eps,
            reserved: 0.0,
            queries: ptr::null(),
            candidates: ptr::null(),
            offsets: ptr::null(),
            indices: ptr::null(),
            mask: ptr::null(),
            bias: ptr::null(),
            scales: ptr::null(),
            temperatures: ptr::null(),
            query_inverse_norms: ptr::null(),
            candidate_inverse_norms: ptr::null(),
            probabilities: ptr::null_mut(),
            logits: ptr::null_mut(),
            log_probabilities: ptr::null_mut(),
            log_sum_exp: ptr::null_mut(),
            argmax: ptr::null_mut(),
            top_values: ptr::null_mut(),
            top_indices: ptr::null_mut(),
            expected_index: ptr::null_mut(),
            status: ptr::null_mut(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }

    /// Graph nodes that the header promises.
    pub(super) fn nodes(&self, path: i32) -> usize {
        match self.questions {
            0 => 0,
            _ if path == TWO_NODES.value => 2,
            _ if path == 0 && self.max_k > MAX_ONE_NODE_K && !self.sweeps() => 2,
            _ => 1,
        }
    }

    /// Whether the sweep path can run it.
    fn sweeps(&self) -> bool {
        self.questions == 1 && self.max_k <= MAX_SWEEP_K
    }

    fn needs_workspace(&self, path: i32) -> bool {
        self.has(WORKSPACE)
            || self.max_k > MAX_ONE_NODE_K
            || path == SPREAD.value
            || path == TWO_NODES.value
            || path == SWEEP.value
    }

    /// Generous: the buffers are fixed before the library can be asked.
    pub(super) fn workspace_bytes(&self) -> usize {
        16 * self.questions * self.max_k + (self.questions << 10) + (768 << 10)
    }

    /// Inputs, outputs with the oracle's values, workspace, and where each pointer goes.
    pub(super) fn bound_buffers(&self, variation: &Variation) -> Vec<Bound> {
        let data = self.draw(variation.seed);
        let rounded = Rounded::of(self.dtype, &data);
        let problem = self.problem(&rounded, &data);
        let mut scores = Scores::zeroed(&problem);
        scores.status = data.status;
        oracle::score_into(&problem, &mut scores);
        let mut bound = self.inputs(&data, &rounded);
        bound.extend(self.outputs(&scores, data.status, &unowned(&problem)));
        if self.needs_workspace(variation.path) {
            let workspace = Buffer::workspace("workspace", self.workspace_bytes());
            bound.push(Bound(workspace, |p, x| p.workspace = x));
        }
        bound
    }

    fn inputs(&self, data: &Data, rounded: &Rounded) -> Vec<Bound> {
        let mut bound = vec![
            Bound(rounded.queries.input("queries"), |p, x| p.queries = x),
            Bound(rounded.candidates.input("candidates"), |p, x| {
                p.candidates = x
            }),
        ];
        let mut add = |wanted: bool, buffer: Buffer, set: Set| {
            if wanted {
                bound.push(Bound(buffer, set));
            }
        };
        add(
            self.counts().is_some(),
            Buffer::input("offsets", &data.offsets),
            |p, x| {
                p.offsets = x.cast();
            },
        );
        add(
            self.is_indexed(),
            Buffer::input("indices", &data.indices),
            |p, x| {
                p.indices = x.cast();
            },
        );
        add(self.has(MASK), Buffer::input("mask", &data.mask), |p, x| {
            p.mask = x.cast()
        });
        add(self.has(BIAS), Buffer::input("bias", &data.bias), |p, x| {
            p.bias = x.cast()
        });
        add(
            self.has(SCALES),
            Buffer::input("scales", &data.scales),
            |p, x| p.scales = x.cast(),
        );
        add(
            self.has(TEMPERATURES),
            Buffer::input("temperatures", &data.temperatures),
            |p, x| {
                p.temperatures = x.cast();
            },
        );
        let norms = &data.query_inverse_norms;
        add(
            self.has(QUERY_INVERSE_NORMS),
            Buffer::input("query_inverse_norms", norms),
            |p, x| p.query_inverse_norms = x.cast(),
        );
        let norms = &data.candidate_inverse_norms;
        add(
            self.has(CANDIDATE_INVERSE_NORMS),
            Buffer::input("candidate_inverse_norms", norms),
            |p, x| p.candidate_inverse_norms = x.cast(),
        );
        bound
    }

    fn outputs(&self, scores: &Scores, status: u32, unowned: &[Range<usize>]) -> Vec<Bound> {
        let mut bound = Vec::new();
        let mut add = |flag: u32, buffer: Buffer, set: Set| {
            if self.has(flag) {
                bound.push(Bound(buffer, set));
            }
        };
        let per_candidate = |name, values: &[f32]| {
            let buffer = Buffer::output(name, values);
            unowned.iter().cloned().fold(buffer, Buffer::untouched)
        };
        add(
            PROBABILITIES,
            per_candidate("probabilities", &scores.probabilities),
            |p, x| {
                p.probabilities = x.cast();
            },
        );
        add(LOGITS, per_candidate("logits", &scores.logits), |p, x| {
            p.logits = x.cast()
        });
        add(
            LOG_PROBABILITIES,
            per_candidate("log_probabilities", &scores.log_probabilities),
            |p, x| p.log_probabilities = x.cast(),
        );
        add(
            LOG_SUM_EXP,
            Buffer::output("log_sum_exp", &scores.log_sum_exp),
            |p, x| {
                p.log_sum_exp = x.cast();
            },
        );
        add(ARGMAX, Buffer::output("argmax", &scores.argmax), |p, x| {
            p.argmax = x.cast()
        });
        add(
            TOP_VALUES,
            Buffer::output("top_values", &scores.top_values),
            |p, x| {
                p.top_values = x.cast();
            },
        );
        add(
            TOP_INDICES,
            Buffer::output("top_indices", &scores.top_indices),
            |p, x| {
                p.top_indices = x.cast();
            },
        );
        add(
            EXPECTED_INDEX,
            Buffer::output("expected_index", &scores.expected_index),
            |p, x| {
                p.expected_index = x.cast();
            },
        );
        add(
            STATUS,
            Buffer::in_out("status", &[status], &[scores.status]),
            |p, x| {
                p.status = x.cast();
            },
        );
        bound
    }

    /// The paths that can run it.
    fn paths(&self) -> Vec<Path> {
        if self.max_k > MAX_ONE_NODE_K {
            let mut paths = LONG_PATHS.to_vec();
            paths.retain(|path| self.sweeps() || path.value != SWEEP.value);
            paths
        } else {
            let spreads = self.questions * self.max_k <= MAX_SPREAD_CANDIDATES;
            let mut paths = PATHS.to_vec();
            paths.retain(|path| spreads || path.value != SPREAD.value);
            paths.retain(|path| self.sweeps() || path.value != SWEEP.value);
            paths
        }
    }

    fn tags(&self) -> Tags {
        let work = self.questions.max(1) * self.max_k.max(1) * self.dim;
        let lists = self.questions * self.max_k;
        let mut tags = self.tags;
        if work <= SIMULATED && lists <= 6000 {
            tags = tags | Tags::SIMULATE;
        }
        if work >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// A call of `cs_score` that must succeed, on every path that can run it.
    pub(super) fn case(self) -> Case {
        let (id, tags, paths) = (self.id.clone(), self.tags(), self.paths());
        Case::exact(id, "cs_score", move |variation| {
            let (buffers, sets) = split(self.bound_buffers(variation));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = self.nodes(path);
            Instance::new(buffers, move |library, pointers, stream| {
                score(library, &spec.filled(path, &sets, pointers), stream)
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
    ) -> ffi::cs_score_params {
        let mut params = self.params(path);
        for (set, &pointer) in sets.iter().zip(pointers) {
            set(&mut params, pointer);
        }
        if !params.workspace.is_null() {
            params.workspace_bytes = self.workspace_bytes();
        }
        params
    }

    /// The oracle's answers, for the entries that have no params struct.
    pub(super) fn with_problem<T>(
        &self,
        seed: u64,
        use_it: impl FnOnce(&Data, &Problem<'_>) -> T,
    ) -> T {
        let data = self.draw(seed);
        let rounded = Rounded::of(self.dtype, &data);
        use_it(&data, &self.problem(&rounded, &data))
    }
}

/// Puts a buffer's pointer into its field.
pub(super) type Set = fn(&mut ffi::cs_score_params, *mut c_void);

/// A buffer and the field that points to it.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

/// Calls `cs_score` of the loaded library.
pub(super) fn score(
    library: &Library,
    params: &ffi::cs_score_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let score = unsafe { library.function::<ffi::cs_score_fn>("cs_score") }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { score(params, stream) })
}

/// Per-candidate entries that belong to no question.
fn unowned(problem: &Problem<'_>) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut end = 0;
    let mut spans: Vec<_> = (0..problem.questions)
        .filter_map(|i| problem.span(i))
        .collect();
    spans.sort_by_key(|span| span.start);
    spans.push(problem.positions()..problem.positions());
    for span in spans {
        if span.start > end {
            gaps.push(end..span.start);
        }
        end = end.max(span.end);
    }
    gaps
}

/// A vector in its element type.
enum Values {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
    F16(Vec<f16>),
}

impl Values {
    fn of(dtype: Dtype, values: &[f32]) -> Values {
        match dtype {
            Dtype::F32 => Values::F32(values.to_vec()),
            Dtype::Bf16 => Values::Bf16(parity::to_bf16(values)),
            Dtype::F16 => Values::F16(parity::to_f16(values)),
        }
    }

    fn elements(&self) -> Elements<'_> {
        match self {
            Values::F32(x) => Elements::F32(x),
            Values::Bf16(x) => Elements::Bf16(x),
            Values::F16(x) => Elements::F16(x),
        }
    }

    fn input(&self, name: &'static str) -> Buffer {
        match self {
            Values::F32(x) => Buffer::input(name, x),
            Values::Bf16(x) => Buffer::input(name, x),
            Values::F16(x) => Buffer::input(name, x),
        }
    }
}

/// Queries and candidates as the kernel reads them; the oracle reads the same.
struct Rounded {
    queries: Values,
    candidates: Values,
}

impl Rounded {
    fn of(dtype: Dtype, data: &Data) -> Rounded {
        Rounded {
            queries: Values::of(dtype, &data.queries),
            candidates: Values::of(dtype, &data.candidates),
        }
    }
}

pub(super) const MAX_ONE_NODE_K: usize = ffi::CS_MAX_ONE_NODE_K as usize;
const MAX_SPREAD_CANDIDATES: usize = ffi::CS_MAX_SPREAD_CANDIDATES as usize;
pub(super) const BLOCK: Path = Path::new("block", ffi::CS_PATH_BLOCK as i32);
pub(super) const CLUSTER_2: Path = Path::needing("cluster-2", ffi::CS_PATH_CLUSTER_2 as i32, 90);
pub(super) const CLUSTER_4: Path = Path::needing("cluster-4", ffi::CS_PATH_CLUSTER_4 as i32, 90);
pub(super) const CLUSTER_8: Path = Path::needing("cluster-8", ffi::CS_PATH_CLUSTER_8 as i32, 90);
pub(super) const CLUSTER_16: Path = Path::needing("cluster-16", ffi::CS_PATH_CLUSTER_16 as i32, 90);
pub(super) const SPREAD: Path = Path::new("spread", ffi::CS_PATH_SPREAD as i32);
pub(super) const TWO_NODES: Path = Path::new("two-nodes", ffi::CS_PATH_TWO_NODES as i32);
pub(super) const SWEEP: Path = Path::new("sweep", ffi::CS_PATH_SWEEP as i32);
const MAX_SWEEP_K: usize = ffi::CS_MAX_SWEEP_K as usize;
const PATHS: [Path; 9] = [
    Path::AUTOMATIC,
    BLOCK,
    CLUSTER_2,
    CLUSTER_4,
    CLUSTER_8,
    CLUSTER_16,
    SPREAD,
    TWO_NODES,
    SWEEP,
];
const LONG_PATHS: [Path; 3] = [Path::AUTOMATIC, TWO_NODES, SWEEP];
