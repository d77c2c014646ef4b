//! From a description of a decode step to buffers, the call and what must come back.

use crate::ffi;
use crate::oracle::Dtype;
use crate::oracle::state_update::{self, Decay, StateUpdate};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

// Options of a case, as bits of one word.
pub(super) const DIRECT: u32 = 1;
pub(super) const DIRECT_PER_CHANNEL: u32 = 1 << 1;
pub(super) const GATE: u32 = 1 << 2;
pub(super) const BIAS: u32 = 1 << 3;
pub(super) const SOFTPLUS: u32 = 1 << 4;
pub(super) const CLAMP: u32 = 1 << 5;
pub(super) const DT_PER_CHANNEL: u32 = 1 << 6;
pub(super) const A_LOG: u32 = 1 << 7;
pub(super) const STATUS: u32 = 1 << 8;
pub(super) const DT_BF16: u32 = 1 << 9;
/// What a model's layer uses.
pub(super) const MODEL: u32 = DIRECT | GATE | BIAS | SOFTPLUS | A_LOG;

/// Every value that the device sees, before rounding to its type.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) state: Vec<f32>,
    pub(super) x: Vec<f32>,
    pub(super) dt: Vec<f32>,
    pub(super) a: Vec<f32>,
    pub(super) dt_bias: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) c: Vec<f32>,
    pub(super) d: Vec<f32>,
    pub(super) z: Vec<f32>,
    pub(super) slots_in: Option<Vec<i32>>,
    pub(super) slots_out: Option<Vec<i32>>,
    pub(super) status: u32,
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A step by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    /// batch, heads, groups, rows of a head, elements of a row
    pub(super) sizes: [usize; 5],
    pub(super) state_type: Dtype,
    pub(super) io_type: Dtype,
    pub(super) slots: Option<usize>,
    /// Elements between slots, and between the sequences of x, dt, b, c, z, y.
    pub(super) gaps: [usize; 7],
    pub(super) clamp: [f32; 2],
    pub(super) flags: u32,
    pub(super) tags: Tags,
    edit: Option<Edit>,
}

/// State elements up to which a case is run in the simulator.
const SIMULATED: usize = 20_000;
const LARGE: usize = 1 << 22;

pub(super) const PATHS: [Path; 2] = [
    Path::AUTOMATIC,
    Path::new("single", ffi::M2_UPDATE_SINGLE as i32),
];

impl Spec {
    pub(super) fn new(id: impl Into<String>, sizes: [usize; 5]) -> Spec {
        Spec {
            id: id.into(),
            sizes,
            state_type: Dtype::F32,
            io_type: Dtype::F32,
            slots: None,
            gaps: [0; 7],
            clamp: [0.001, 0.1],
            flags: 0,
            tags: Tags::NONE,
            edit: None,
        }
    }

    pub(super) fn types(mut self, state: Dtype, io: Dtype) -> Spec {
        self.state_type = state;
        self.io_type = io;
        self
    }

    pub(super) fn with(mut self, flags: u32) -> Spec {
        self.flags |= flags;
        self
    }

    pub(super) fn gaps(mut self, gaps: [usize; 7]) -> Spec {
        self.gaps = gaps;
        self
    }

    pub(super) fn clamp(mut self, clamp: [f32; 2]) -> Spec {
        self.clamp = clamp;
        self.flags |= CLAMP;
        self
    }

    /// A pool of this many slots.
    pub(super) fn slots(mut self, slots: usize) -> Spec {
        self.slots = Some(slots);
        self
    }

    pub(super) fn sanitize(mut self) -> Spec {
        self.tags = self.tags | Tags::SANITIZE;
        self
    }

    /// Changes the drawn contents.
    pub(super) fn edit(mut self, edit: impl Fn(&mut Data) + Send + Sync + 'static) -> Spec {
        self.edit = Some(Arc::new(edit));
        self
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn channels(&self) -> usize {
        self.sizes[1] * self.sizes[3]
    }

    fn slot_count(&self) -> usize {
        self.slots.unwrap_or(self.sizes[0])
    }

    /// Elements of a slot, and of a sequence of x, dt, b, c, z, y, without gaps.
    fn extents(&self) -> [usize; 7] {
        let [_, heads, groups, _, n] = self.sizes;
        let channels = self.channels();
        let dt = if self.has(DT_PER_CHANNEL) {
            channels
        } else {
            heads
        };
        [
            channels * n,
            channels,
            dt,
            groups * n,
            groups * n,
            channels,
            channels,
        ]
    }

    fn strides(&self) -> [usize; 7] {
        let extents = self.extents();
        std::array::from_fn(|i| extents[i] + self.gaps[i])
    }

    /// Values about those of a trained layer, NaN in the gaps.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let [batch, heads, ..] = self.sizes;
        let extents = self.extents();
        let strides = self.strides();
        let rows = |name: &str, count: usize, which: usize, low: f32, high: f32| {
            let mut random = Random::named(seed, name);
            let mut values = vec![f32::NAN; count * strides[which]];
            for row in values.chunks_mut(strides[which].max(1)) {
                row[..extents[which]].fill_with(|| random.uniform(low, high));
            }
            values
        };
        let uniform =
            |name: &str, count, low, high| Random::named(seed, name).uniforms(count, low, high);
        // With softplus the step is that of dt near -3, without it dt itself.
        let (low, high) = if self.has(SOFTPLUS) {
            (-6.0, 1.0)
        } else {
            (0.0005, 0.3)
        };
        let a = if self.has(A_LOG) {
            uniform("a", heads, 0.0, 2.7)
        } else {
            uniform("a", heads, -16.0, -0.5)
        };
        let mut data = Data {
            state: rows("state", self.slot_count(), 0, -2.0, 2.0),
            x: rows("x", batch, 1, -2.0, 2.0),
            dt: rows("dt", batch, 2, low, high),
            a,
            dt_bias: uniform("dt_bias", heads, -1.0, 0.5),
            b: rows("b", batch, 3, -1.0, 1.0),
            c: rows("c", batch, 4, -1.0, 1.0),
            d: uniform("d", self.channels(), -1.0, 1.0),
            z: rows("z", batch, 5, -4.0, 4.0),
            slots_in: None,
            slots_out: None,
            status: 0,
        };
        if !self.has(DIRECT_PER_CHANNEL) {
            data.d.truncate(heads);
        }
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        let round = |values: &mut [f32], to: Dtype| {
            for value in values {
                *value = to.round(*value);
            }
        };
        round(&mut data.state, self.state_type);
        for values in [&mut data.x, &mut data.b, &mut data.c, &mut data.z] {
            round(values, self.io_type);
        }
        if self.has(DT_BF16) {
            round(&mut data.dt, Dtype::Bf16);
        }
        data
    }

    pub(super) fn problem<'a>(&self, data: &'a Data) -> StateUpdate<'a> {
        let strides = self.strides();
        StateUpdate {
            state_type: self.state_type,
            io_type: self.io_type,
            slots: self.slot_count(),
            slot_stride: strides[0],
            x_stride: strides[1],
            dt_stride: strides[2],
            b_stride: strides[3],
            c_stride: strides[4],
            z_stride: strides[5],
            y_stride: strides[6],
            softplus: self.has(SOFTPLUS),
            clamp: self.has(CLAMP).then_some(self.clamp),
            dt_per_channel: self.has(DT_PER_CHANNEL),
            d_per_channel: self.has(DIRECT_PER_CHANNEL),
            slots_in: data.slots_in.as_deref(),
            slots_out: data.slots_out.as_deref(),
            dt_bias: self.has(BIAS).then_some(&data.dt_bias),
            d: self.has(DIRECT | DIRECT_PER_CHANNEL).then_some(&data.d),
            z: self.has(GATE).then_some(&data.z),
            ..StateUpdate::packed(
                self.sizes,
                &data.x,
                &data.dt,
                if self.has(A_LOG) {
                    Decay::Log(&data.a)
                } else {
                    Decay::A(&data.a)
                },
                [&data.b, &data.c],
            )
        }
    }

    /// The params struct, all pointers null.
    pub(super) fn params(&self, path: i32) -> ffi::m2_state_update_params {
        let [batch, heads, groups, head_dim, state_dim] = self.sizes.map(|size| size as i64);
        // Packed strides are passed as 0 and as themselves, one half of the cases each.
        let strides = self.strides();
        let stride = |i: usize| {
            if self.gaps[i] == 0 && batch % 2 == 1 {
                0
            } else {
                strides[i] as i64
            }
        };
        let dt_type = if self.has(DT_BF16) {
            Dtype::Bf16
        } else {
            Dtype::F32
        };
        ffi::m2_state_update_params {
            struct_size: size_of::<ffi::m2_state_update_params>() as u32,
            state_dtype: enumerator(self.state_type),
            io_dtype: enumerator(self.io_type),
            dt_dtype: enumerator(dt_type),
            path,
            decay: if self.has(A_LOG) {
                ffi::M2_DECAY_A_LOG as i32
            } else {
                ffi::M2_DECAY_A as i32
            },
            dt_softplus: self.has(SOFTPLUS).into(),
            dt_clamp: self.has(CLAMP).into(),
            dt_per_channel: self.has(DT_PER_CHANNEL).into(),
            d_per_channel: self.has(DIRECT_PER_CHANNEL).into(),
            batch,
            heads,
            groups,
            head_dim,
            state_dim,
            slots: self.slot_count() as i64,
            slot_stride: stride(0),
            x_stride: stride(1),
            dt_stride: stride(2),
            b_stride: stride(3),
            c_stride: stride(4),
            z_stride: stride(5),
            y_stride: stride(6),
            dt_min: self.clamp[0],
            dt_max: self.clamp[1],
            state: ptr::null_mut(),
            slots_in: ptr::null(),
            slots_out: ptr::null(),
            x: ptr::null(),
            dt: ptr::null(),
            a: ptr::null(),
            dt_bias: ptr::null(),
            b: ptr::null(),
            c: ptr::null(),
            d: ptr::null(),
            z: ptr::null(),
            y: ptr::null_mut(),
            status: ptr::null_mut(),
        }
    }

    /// Every buffer with the oracle's values, and the field that points to it.
    pub(super) fn bound_buffers(&self, seed: u64) -> Vec<Bound> {
        let data = self.draw(seed);
        let problem = self.problem(&data);
        let strides = self.strides();
        let extents = self.extents();
        let mut state = data.state.clone();
        let mut y = vec![0.0; self.sizes[0] * strides[6]];
        let mut status = data.status;
        state_update::state_update(&problem, &mut state, &mut y, &mut status);
        let io = self.io_type;
        let dt_type = if self.has(DT_BF16) {
            Dtype::Bf16
        } else {
            Dtype::F32
        };
        let mut y_buffer = output("y", io, &y);
        if self.gaps[6] > 0 {
            for b in 0..self.sizes[0] {
                let start = b * strides[6];
                y_buffer = y_buffer.untouched(start + extents[6]..start + strides[6]);
            }
        }
        let mut bound = vec![
            Bound(
                in_out("state", self.state_type, &data.state, &state),
                |p, x| {
                    p.state = x;
                },
            ),
            Bound(input("x", io, &data.x), |p, x| p.x = x),
            Bound(input("dt", dt_type, &data.dt), |p, x| p.dt = x),
            Bound(Buffer::input("a", &data.a), |p, x| p.a = x.cast()),
            Bound(input("b", io, &data.b), |p, x| p.b = x),
            Bound(input("c", io, &data.c), |p, x| p.c = x),
            Bound(y_buffer, |p, x| p.y = x),
        ];
        if self.has(BIAS) {
            let buffer = Buffer::input("dt_bias", &data.dt_bias);
            bound.push(Bound(buffer, |p, x| p.dt_bias = x.cast()));
        }
        if self.has(DIRECT | DIRECT_PER_CHANNEL) {
            bound.push(Bound(Buffer::input("d", &data.d), |p, x| p.d = x.cast()));
        }
        if self.has(GATE) {
            bound.push(Bound(input("z", io, &data.z), |p, x| p.z = x));
        }
        if let Some(slots) = &data.slots_in {
            let buffer = Buffer::input("slots_in", slots);
            bound.push(Bound(buffer, |p, x| p.slots_in = x.cast()));
        }
        if let Some(slots) = &data.slots_out {
            let buffer = Buffer::input("slots_out", slots);
            bound.push(Bound(buffer, |p, x| p.slots_out = x.cast()));
        }
        if self.has(STATUS) {
            let buffer = Buffer::in_out("status", &[data.status], &[status]);
            bound.push(Bound(buffer, |p, x| p.status = x.cast()));
        }
        bound
    }

    fn tags(&self) -> Tags {
        let elements = self.sizes[0] * self.channels() * self.sizes[4];
        let mut tags = self.tags;
        if elements <= SIMULATED {
            tags = tags | Tags::SIMULATE;
        }
        if elements >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// A call that must succeed, on every path.
    pub(super) fn case(self) -> Case {
        let (id, tags) = (self.id.clone(), self.tags());
        Case::exact(id, "m2_state_update", move |variation: &Variation| {
            let (buffers, sets) = split(self.bound_buffers(variation.seed));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = usize::from(self.sizes[0] > 0);
            Instance::new(buffers, move |library, pointers, stream| {
                update(library, &spec.filled(path, &sets, pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(tags)
        .on_paths(&PATHS)
    }

    /// The params struct with the placed buffers' pointers.
    pub(super) fn filled(
        &self,
        path: i32,
        sets: &[Set],
        pointers: &[*mut c_void],
    ) -> ffi::m2_state_update_params {
        let mut params = self.params(path);
        for (set, &pointer) in sets.iter().zip(pointers) {
            set(&mut params, pointer);
        }
        params
    }
}

/// Puts a buffer's pointer into its field.
pub(super) type Set = fn(&mut ffi::m2_state_update_params, *mut c_void);

/// A buffer and the field that points to it.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

/// Calls `m2_state_update` of the loaded library.
pub(super) fn update(
    library: &Library,
    params: &ffi::m2_state_update_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let update = unsafe { library.function::<ffi::m2_state_update_fn>("m2_state_update") }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { update(params, stream) })
}

fn enumerator(dtype: Dtype) -> i32 {
    match dtype {
        Dtype::F32 => ffi::M2_F32 as i32,
        Dtype::Bf16 => ffi::M2_BF16 as i32,
        Dtype::F16 => ffi::M2_F16 as i32,
    }
}

fn input(name: &'static str, dtype: Dtype, values: &[f32]) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::input(name, values),
        Dtype::Bf16 => Buffer::input(name, &parity::to_bf16(values)),
        Dtype::F16 => Buffer::input(name, &parity::to_f16(values)),
    }
}

fn output(name: &'static str, dtype: Dtype, values: &[f32]) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::output(name, values),
        Dtype::Bf16 => Buffer::output(name, &parity::to_bf16(values)),
        Dtype::F16 => Buffer::output(name, &parity::to_f16(values)),
    }
}

fn in_out(name: &'static str, dtype: Dtype, before: &[f32], after: &[f32]) -> Buffer {
    match dtype {
        Dtype::F32 => Buffer::in_out(name, before, after),
        Dtype::Bf16 => Buffer::in_out(name, &parity::to_bf16(before), &parity::to_bf16(after)),
        Dtype::F16 => Buffer::in_out(name, &parity::to_f16(before), &parity::to_f16(after)),
    }
}
