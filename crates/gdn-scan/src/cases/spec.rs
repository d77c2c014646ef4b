//! From a description of a call to buffers, the call and what must come back.

use crate::oracle::{self, Problem, Results};
use crate::{Beta, Decay, Dtype, HeadMap, Layout, Norm, ffi};
use parity::{Buffer, Case, Class, Element, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// How many tokens each sequence has.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tokens {
    /// One, by `gdn_step`.
    Step,
    /// One, by `gdn_step_fast`.
    Fast,
    /// So many.
    Each(usize),
    /// As `cu_seqlens` say, within this bound.
    Ragged(Vec<usize>, usize),
}

// Optional arguments of a case, as bits of one word.
pub(super) const STATUS: u32 = 1;
/// Slots, a permutation of the pool unless edited.
pub(super) const SLOTS_IN: u32 = 1 << 1;
pub(super) const SLOTS_OUT: u32 = 1 << 2;
pub(super) const SOURCE: u32 = 1 << 3;

/// Every value that the device sees, before rounding to its type.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) state: Vec<f32>,
    pub(super) source: Vec<f32>,
    pub(super) slots_in: Vec<i32>,
    pub(super) slots_out: Vec<i32>,
    pub(super) cu_seqlens: Vec<i32>,
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
    pub(super) g: Vec<f32>,
    pub(super) beta: Vec<f32>,
    pub(super) a_log: Vec<f32>,
    pub(super) dt_bias: Vec<f32>,
    pub(super) status: u32,
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// Elements between the end of one row and the start of the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gaps {
    pub(super) slot: usize,
    pub(super) q: usize,
    pub(super) k: usize,
    pub(super) v: usize,
    pub(super) out: usize,
    pub(super) g: usize,
    pub(super) beta: usize,
}

/// A call by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    /// B, H, HV, K, V.
    pub(super) sizes: [usize; 5],
    pub(super) tokens: Tokens,
    pub(super) dtype: Dtype,
    pub(super) state_dtype: Dtype,
    pub(super) layout: Layout,
    pub(super) head_map: HeadMap,
    pub(super) decay: Decay,
    pub(super) beta: Beta,
    pub(super) norm: Norm,
    pub(super) key_decay: bool,
    pub(super) scale: Option<f32>,
    pub(super) snapshots: Option<usize>,
    /// Slots beyond those that the sequences need.
    pub(super) more_slots: usize,
    /// Slots in all, where sequences share some that are read alone.
    pub(super) few_slots: Option<usize>,
    pub(super) gaps: Gaps,
    /// Elements between the slots of a pool of which the host holds the slots alone.
    pub(super) far: Option<usize>,
    pub(super) flags: u32,
    pub(super) tags: Tags,
    edit: Option<Edit>,
}

/// Multiplications of the recurrence up to which a case is run in the simulator.
const SIMULATED: usize = 70_000;
/// From which a case is large.
const LARGE: usize = 1 << 23;

impl Spec {
    /// B, H, HV, K, V.
    pub(super) fn new(id: impl Into<String>, sizes: [usize; 5], tokens: Tokens) -> Spec {
        Spec {
            id: id.into(),
            sizes,
            tokens,
            dtype: Dtype::F32,
            state_dtype: Dtype::F32,
            layout: Layout::Kv,
            head_map: HeadMap::Grouped,
            decay: Decay::Linear,
            beta: Beta::Given,
            norm: Norm::None,
            key_decay: false,
            scale: None,
            snapshots: None,
            more_slots: 0,
            few_slots: None,
            gaps: Gaps::default(),
            far: None,
            flags: 0,
            tags: Tags::NONE,
            edit: None,
        }
    }

    pub(super) fn step(id: impl Into<String>, sizes: [usize; 5]) -> Spec {
        Spec::new(id, sizes, Tokens::Step)
    }

    /// What a model does: 16-bit values, gates and norm computed in the kernel.
    pub(super) fn like_models(mut self) -> Spec {
        self.dtype = Dtype::Bf16;
        self.decay = Decay::Gate;
        self.beta = Beta::Sigmoid;
        self.norm = Norm::EpsInside(1e-6);
        self
    }

    pub(super) fn types(mut self, dtype: Dtype, state: Dtype) -> Spec {
        self.dtype = dtype;
        self.state_dtype = state;
        self
    }

    pub(super) fn change(mut self, change: impl FnOnce(&mut Spec)) -> Spec {
        change(&mut self);
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

    fn one_token(&self) -> bool {
        matches!(self.tokens, Tokens::Step | Tokens::Fast)
    }

    fn rows(&self) -> usize {
        match &self.tokens {
            Tokens::Step | Tokens::Fast => self.sizes[0],
            Tokens::Each(tokens) => self.sizes[0] * tokens,
            Tokens::Ragged(counts, _) => counts.iter().sum(),
        }
    }

    fn max_t(&self) -> usize {
        match &self.tokens {
            Tokens::Step | Tokens::Fast => 1,
            Tokens::Each(tokens) => *tokens,
            Tokens::Ragged(_, bound) => *bound,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.few_slots.unwrap_or(self.sizes[0] + self.more_slots)
    }

    /// Elements of a head's state.
    pub(super) fn head_size(&self) -> usize {
        self.sizes[3] * self.sizes[4]
    }

    fn snapshot_rows(&self) -> usize {
        match self.snapshots {
            None => 0,
            Some(0) => self.rows(),
            Some(count) => self.sizes[0] * count,
        }
    }

    /// The problem without its arrays.
    fn shape(&self) -> Problem<'static> {
        let [_, h, hv, k, v] = self.sizes;
        let decays = if self.key_decay { hv * k } else { hv };
        let gaps = self.gaps;
        Problem {
            total_t: self.rows(),
            slots: self.slots(),
            slot_stride: hv * k * v + gaps.slot,
            q_stride: h * k + gaps.q,
            k_stride: h * k + gaps.k,
            v_stride: hv * v + gaps.v,
            out_stride: hv * v + gaps.out,
            g_stride: decays + gaps.g,
            beta_stride: hv + gaps.beta,
            dtype: self.dtype,
            state_dtype: self.state_dtype,
            layout: self.layout,
            head_map: self.head_map,
            decay: self.decay,
            beta_form: self.beta,
            norm: self.norm,
            key_decay: self.key_decay,
            scale: self.scale,
            snapshots: self.snapshots,
            snapshot_rows: self.snapshot_rows(),
            ..Problem::tokens(self.sizes, self.max_t())
        }
    }

    /// The type of g.
    fn g_dtype(&self) -> Dtype {
        match self.decay {
            Decay::Gate => self.dtype,
            _ => Dtype::F32,
        }
    }

    /// The type of beta.
    fn beta_dtype(&self) -> Dtype {
        match self.beta {
            Beta::Given => Dtype::F32,
            _ => self.dtype,
        }
    }

    /// Contents of each array, rounded to its type, NaN in the gaps between rows.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let p = self.shape();
        let [b, h, hv, k, v] = self.sizes;
        let rows = self.rows();
        let random = |name: &str| Random::named(seed, name);
        let fill = |name: &str,
                    rows: usize,
                    stride: usize,
                    row: usize,
                    next: &dyn Fn(&mut Random) -> f32| {
            let mut source = random(name);
            let mut values = vec![f32::NAN; rows * stride];
            for values in values.chunks_mut(stride.max(1)) {
                values[..row].fill_with(|| next(&mut source));
            }
            values
        };
        // Unit vectors, about: a norm brings those of any length there.
        let key_scale = match self.norm {
            Norm::None => 1.0 / (k as f32).sqrt(),
            _ => 1.0,
        };
        let key = |source: &mut Random| source.normal() * key_scale;
        let normal = |source: &mut Random| source.normal();
        let decay = |source: &mut Random| match self.decay {
            Decay::Linear => source.uniform(0.5, 1.0),
            Decay::Log => source.uniform(-0.7, 0.0),
            Decay::Gate => source.normal(),
        };
        let beta = |source: &mut Random| match self.beta {
            Beta::Given => source.uniform(0.0, 1.0),
            _ => source.normal(),
        };
        let decays = p.g_stride - self.gaps.g;
        let states = p.slot_stride - self.gaps.slot;
        let slots = self.slots();
        let permutation = |name: &str| {
            let mut source = random(name);
            let mut slots: Vec<i32> = (0..slots as i32).collect();
            for i in (1..slots.len()).rev() {
                slots.swap(i, source.below(i + 1));
            }
            slots.truncate(b);
            slots
        };
        let mut cu_seqlens = vec![0];
        if let Tokens::Ragged(counts, _) = &self.tokens {
            for count in counts {
                cu_seqlens.push(cu_seqlens[cu_seqlens.len() - 1] + *count as i32);
            }
        }
        let mut data = Data {
            state: fill("state", slots, p.slot_stride, states, &normal),
            source: fill("source", slots, p.slot_stride, states, &normal),
            slots_in: permutation("slots in"),
            slots_out: permutation("slots out"),
            cu_seqlens,
            q: fill("q", rows, p.q_stride, h * k, &key),
            k: fill("k", rows, p.k_stride, h * k, &key),
            v: fill("v", rows, p.v_stride, hv * v, &normal),
            g: fill("g", rows, p.g_stride, decays, &decay),
            beta: fill("beta", rows, p.beta_stride, hv, &beta),
            a_log: random("a_log").uniforms(hv, -3.0, 1.0),
            dt_bias: random("dt_bias").normals(decays, 1.0),
            status: 0,
        };
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        let round = |values: &mut Vec<f32>, dtype: Dtype| {
            if dtype != Dtype::F32 {
                values.iter_mut().for_each(|x| *x = dtype.round(*x));
            }
        };
        round(&mut data.state, self.state_dtype);
        round(&mut data.source, self.state_dtype);
        for values in [&mut data.q, &mut data.k, &mut data.v] {
            round(values, self.dtype);
        }
        round(&mut data.g, self.g_dtype());
        round(&mut data.beta, self.beta_dtype());
        data
    }

    pub(super) fn problem<'a>(&self, data: &'a Data) -> Problem<'a> {
        let ragged = matches!(self.tokens, Tokens::Ragged(..));
        Problem {
            source: self.has(SOURCE).then_some(&data.source),
            slots_in: self.has(SLOTS_IN).then_some(&data.slots_in),
            slots_out: self.has(SLOTS_OUT).then_some(&data.slots_out),
            cu_seqlens: ragged.then_some(&data.cu_seqlens),
            q: &data.q,
            k: &data.k,
            v: &data.v,
            g: &data.g,
            beta: &data.beta,
            a_log: &data.a_log,
            dt_bias: &data.dt_bias,
            ..self.shape()
        }
    }

    /// The params struct, all pointers null.
    pub(super) fn params(&self, path: i32) -> ffi::gdn_scan_params {
        let p = self.shape();
        // Packed strides are passed as 0 and as themselves, one half of the cases each.
        let zero = self.sizes[2] % 2 == 1;
        let stride = |gap: usize, stride: usize| {
            if gap == 0 && zero { 0 } else { stride as i64 }
        };
        let ragged = matches!(self.tokens, Tokens::Ragged(..));
        ffi::gdn_scan_params {
            struct_size: size_of::<ffi::gdn_scan_params>() as u32,
            dtype: self.dtype.code(),
            state_dtype: self.state_dtype.code(),
            layout: self.layout.code(),
            head_map: self.head_map.code(),
            decay_form: self.decay.code(),
            beta_form: self.beta.code(),
            norm: self.norm.code(),
            key_decay: self.key_decay.into(),
            path,
            has_scale: self.scale.is_some().into(),
            scale: self.scale.unwrap_or(0.0),
            norm_eps: self.norm.eps(),
            reserved: 0,
            sequences: self.sizes[0] as i64,
            key_heads: self.sizes[1] as i64,
            value_heads: self.sizes[2] as i64,
            key_dim: self.sizes[3] as i64,
            value_dim: self.sizes[4] as i64,
            total_t: if ragged { self.rows() as i64 } else { 0 },
            max_t: if self.one_token() {
                0
            } else {
                self.max_t() as i64
            },
            slots: self.slots() as i64,
            slot_stride: match self.far {
                Some(stride) => stride as i64,
                None => stride(self.gaps.slot, p.slot_stride),
            },
            q_stride: stride(self.gaps.q, p.q_stride),
            k_stride: stride(self.gaps.k, p.k_stride),
            v_stride: stride(self.gaps.v, p.v_stride),
            out_stride: stride(self.gaps.out, p.out_stride),
            g_stride: stride(self.gaps.g, p.g_stride),
            beta_stride: stride(self.gaps.beta, p.beta_stride),
            snapshot_count: self.snapshots.unwrap_or(0) as i64,
            snapshot_rows: self.snapshot_rows() as i64,
            state: ptr::null_mut(),
            state_source: ptr::null(),
            slots_in: ptr::null(),
            slots_out: ptr::null(),
            cu_seqlens: ptr::null(),
            q: ptr::null(),
            k: ptr::null(),
            v: ptr::null(),
            g: ptr::null(),
            beta: ptr::null(),
            a_log: ptr::null(),
            dt_bias: ptr::null(),
            out: ptr::null_mut(),
            snapshots: ptr::null_mut(),
            status: ptr::null_mut(),
        }
    }

    /// Inputs, outputs with the oracle's values, and where each pointer goes.
    pub(super) fn bound_buffers(&self, variation: &Variation) -> Vec<Bound> {
        let data = self.draw(variation.seed);
        let problem = self.problem(&data);
        let mut bound = self.inputs(&data);
        if self.tokens == Tokens::Fast {
            bound.extend(self.bounded_outputs(&data, &problem));
        } else {
            let mut state = data.state.clone();
            let results = oracle::scan(&problem, &mut state);
            bound.extend(self.outputs(&data, &problem, &state, &results));
        }
        bound
    }

    fn inputs(&self, data: &Data) -> Vec<Bound> {
        let mut bound = vec![
            Bound(input("q", self.dtype, &data.q), |p, x| p.q = x),
            Bound(input("k", self.dtype, &data.k), |p, x| p.k = x),
            Bound(input("v", self.dtype, &data.v), |p, x| p.v = x),
            Bound(input("g", self.g_dtype(), &data.g), |p, x| p.g = x),
            Bound(input("beta", self.beta_dtype(), &data.beta), |p, x| {
                p.beta = x;
            }),
        ];
        let mut add = |wanted: bool, buffer: Buffer, set: Set| {
            if wanted {
                bound.push(Bound(buffer, set));
            }
        };
        let gated = self.decay == Decay::Gate;
        add(gated, Buffer::input("a_log", &data.a_log), |p, x| {
            p.a_log = x.cast();
        });
        add(gated, Buffer::input("dt_bias", &data.dt_bias), |p, x| {
            p.dt_bias = x.cast();
        });
        add(
            self.has(SOURCE),
            input("state_source", self.state_dtype, &data.source),
            |p, x| p.state_source = x,
        );
        add(
            self.has(SLOTS_IN),
            Buffer::input("slots_in", &data.slots_in),
            |p, x| p.slots_in = x.cast(),
        );
        add(
            self.has(SLOTS_OUT),
            Buffer::input("slots_out", &data.slots_out),
            |p, x| p.slots_out = x.cast(),
        );
        add(
            matches!(self.tokens, Tokens::Ragged(..)),
            Buffer::input("cu_seqlens", &data.cu_seqlens),
            |p, x| p.cu_seqlens = x.cast(),
        );
        bound
    }

    fn outputs(
        &self,
        data: &Data,
        p: &Problem<'_>,
        state: &[f32],
        results: &Results,
    ) -> Vec<Bound> {
        let states = p.value_heads * self.head_size();
        let mut out = output("out", self.dtype, &results.out);
        let values = p.value_heads * p.value_dim;
        for (row, written) in results.written_rows.iter().enumerate() {
            let start = row * p.out_stride;
            if !written {
                out = out.untouched(start..start + values);
            }
            let gap = start + values..(start + p.out_stride).min(out.count());
            if !gap.is_empty() {
                out = out.untouched(gap);
            }
        }
        let mut pool = in_out("state", self.state_dtype, &data.state, state);
        if let Some(stride) = self.far {
            let starts = (0..p.slots).map(|slot| slot * stride);
            pool = pool.islands(
                (p.slots - 1) * stride + states,
                starts.map(|start| start..start + states).collect(),
            );
        }
        let mut bound = vec![
            Bound(pool, |p, x| p.state = x),
            Bound(out, |p, x| p.out = x),
        ];
        if self.snapshots.is_some() {
            let mut snapshots = output("snapshots", self.state_dtype, &results.snapshots);
            for (row, written) in results.written_snapshots.iter().enumerate() {
                if !written {
                    snapshots = snapshots.untouched(row * states..(row + 1) * states);
                }
            }
            bound.push(Bound(snapshots, |p, x| p.snapshots = x));
        }
        if self.has(STATUS) {
            let after = if data.status == 0 {
                results.status
            } else {
                data.status
            };
            bound.push(Bound(
                Buffer::in_out("status", &[data.status], &[after]),
                |p, x| p.status = x.cast(),
            ));
        }
        bound
    }

    fn bounded_outputs(&self, data: &Data, p: &Problem<'_>) -> Vec<Bound> {
        let reference = oracle::reference(p, &data.state);
        let (values, bounds): (Vec<f64>, Vec<f64>) = reference.state.into_iter().unzip();
        let initial = &data.state;
        let state = match self.state_dtype {
            Dtype::F32 => Buffer::in_out_bound("state", initial, values, bounds),
            Dtype::Bf16 => Buffer::in_out_bound("state", &parity::to_bf16(initial), values, bounds),
            Dtype::F16 => Buffer::in_out_bound("state", &parity::to_f16(initial), values, bounds),
        };
        let (values, bounds): (Vec<f64>, Vec<f64>) = reference.out.into_iter().unzip();
        let element = match self.dtype {
            Dtype::F32 => Element::F32,
            Dtype::Bf16 => Element::Bf16,
            Dtype::F16 => Element::F16,
        };
        vec![
            Bound(state, |p, x| p.state = x),
            Bound(
                Buffer::output_bound("out", element, values, bounds),
                |p, x| {
                    p.out = x;
                },
            ),
        ]
    }

    /// The paths that can run it.
    pub(super) fn paths(&self) -> Vec<Path> {
        let [_, _, _, k, v] = self.sizes;
        let kv = self.layout == Layout::Kv;
        let element = match self.state_dtype {
            Dtype::F32 => 4,
            _ => 2,
        };
        let known = (k, v) == (128, 128) || ((k, v) == (96, 192) && self.state_dtype == Dtype::F32);
        let one_token = self.one_token() && self.snapshots.is_none();
        let mut paths = vec![Path::AUTOMATIC, GENERAL];
        if kv && known && (one_token || !self.key_decay) {
            paths.push(SEGMENTS);
        }
        if kv
            && one_token
            && k % 16 == 0
            && v * element % 128 == 0
            && k * (v * element + 12) <= 98 << 10
        {
            paths.push(STREAMED);
        }
        paths
    }

    fn tags(&self) -> Tags {
        let work = self.rows().max(1) * self.sizes[2] * self.head_size();
        let mut tags = self.tags;
        if self.far.is_none()
            && work.max(self.slots() * self.sizes[2] * self.head_size()) <= SIMULATED
        {
            tags = tags | Tags::SIMULATE;
        }
        if work >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    fn entry(&self) -> Entry {
        match self.tokens {
            Tokens::Step => Entry::Step,
            Tokens::Fast => Entry::Fast,
            _ => Entry::Scan,
        }
    }

    /// A call that must succeed, on every path that can run it.
    pub(super) fn case(self) -> Case {
        let (id, tags, paths, entry) = (self.id.clone(), self.tags(), self.paths(), self.entry());
        let class = match self.tokens {
            Tokens::Fast => Class::Tolerance,
            _ => Class::Exact,
        };
        Case::exact(id, entry.name(), move |variation| {
            let (buffers, sets) = split(self.bound_buffers(variation));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = usize::from(self.sizes[0] > 0);
            Instance::new(buffers, move |library, pointers, stream| {
                entry.call(library, &spec.filled(path, &sets, pointers), stream)
            })
            .nodes(nodes)
        })
        .of_class(class)
        .tagged(tags)
        .on_paths(&paths)
    }

    /// The params struct with the placed buffers' pointers.
    pub(super) fn filled(
        &self,
        path: i32,
        sets: &[Set],
        pointers: &[*mut c_void],
    ) -> ffi::gdn_scan_params {
        let mut params = self.params(path);
        for (set, &pointer) in sets.iter().zip(pointers) {
            set(&mut params, pointer);
        }
        params
    }
}

/// The entries that take a params struct.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Step,
    Fast,
    Scan,
}

impl Entry {
    pub(super) fn name(self) -> &'static str {
        match self {
            Entry::Step => "gdn_step",
            Entry::Fast => "gdn_step_fast",
            Entry::Scan => "gdn_scan",
        }
    }

    /// Calls the loaded library.
    pub(super) fn call(
        self,
        library: &Library,
        params: &ffi::gdn_scan_params,
        stream: *mut c_void,
    ) -> parity::Result<c_int> {
        // SAFETY: the three entries have this one prototype in the header.
        let function = unsafe { library.function::<ffi::gdn_scan_fn>(self.name()) }?;
        // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse
        // them.
        Ok(unsafe { function(params, stream) })
    }
}

/// Puts a buffer's pointer into its field.
pub(super) type Set = fn(&mut ffi::gdn_scan_params, *mut c_void);

/// A buffer and the field that points to it.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

pub(super) fn input(name: &'static str, dtype: Dtype, values: &[f32]) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::input(name, values),
        Dtype::Bf16 => Buffer::input(name, &parity::to_bf16(values)),
        Dtype::F16 => Buffer::input(name, &parity::to_f16(values)),
    }
}

pub(super) fn output(name: &'static str, dtype: Dtype, values: &[f32]) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::output(name, values),
        Dtype::Bf16 => Buffer::output(name, &parity::to_bf16(values)),
        Dtype::F16 => Buffer::output(name, &parity::to_f16(values)),
    }
}

pub(super) fn in_out(
    name: &'static str,
    dtype: Dtype,
    initial: &[f32],
    expected: &[f32],
) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::in_out(name, initial, expected),
        Dtype::Bf16 => Buffer::in_out(name, &parity::to_bf16(initial), &parity::to_bf16(expected)),
        Dtype::F16 => Buffer::in_out(name, &parity::to_f16(initial), &parity::to_f16(expected)),
    }
}

pub(super) const GENERAL: Path = Path::new("general", ffi::GDN_PATH_GENERAL as i32);
pub(super) const SEGMENTS: Path = Path::new("segments", ffi::GDN_PATH_SEGMENTS as i32);
pub(super) const STREAMED: Path = Path::needing("streamed", ffi::GDN_PATH_STREAMED as i32, 90);
