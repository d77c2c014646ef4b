//! From a description of a network to buffers, the call, and what must come back.

use crate::ffi;
use crate::oracle::{
    Actions, Activation, Layer, Network, Parameters, accumulated, backward, curiosity_step,
    forward, partials, risk_forward,
};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// Which entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Forward,
    Backward,
    /// With dense actions.
    Dense,
    /// With an index a row.
    Indexed,
    Risk,
}

// Optional inputs, and outputs, as bits of one word.
pub(super) const B1: u32 = 1;
pub(super) const B2: u32 = 1 << 1;
pub(super) const BIASES: u32 = B1 | B2;
pub(super) const D_W1: u32 = 1 << 2;
pub(super) const D_B1: u32 = 1 << 3;
pub(super) const D_W2: u32 = 1 << 4;
pub(super) const D_B2: u32 = 1 << 5;
pub(super) const D_PARAMETERS: u32 = D_W1 | D_B1 | D_W2 | D_B2;
pub(super) const DX: u32 = 1 << 6;
pub(super) const REWARD: u32 = 1 << 7;
pub(super) const LOSS: u32 = 1 << 8;
pub(super) const STATUS: u32 = 1 << 9;
pub(super) const EVERYTHING: u32 = 0x3ff;

// Places of pointers.
pub(super) const X: usize = 0;
pub(super) const EXTRA: usize = 1;
pub(super) const ERROR: usize = 2;
pub(super) const INDEX: usize = 3;
pub(super) const UPSTREAM: usize = 4;
pub(super) const W1: usize = 5;
pub(super) const FIRST_SUM: usize = 9;
pub(super) const Y: usize = 13;
pub(super) const PUT_DX: usize = 14;
pub(super) const PUT_REWARD: usize = 15;
pub(super) const PUT_LOSS: usize = 16;
pub(super) const PUT_STATUS: usize = 17;
pub(super) const WORKSPACE: usize = 18;
pub(super) const PLACES: usize = 19;

/// Where every buffer lies; null where there is none.
pub(super) type Pointers = [*mut c_void; PLACES];

/// A buffer and its place.
pub(super) struct Bound(pub(super) Buffer, pub(super) usize);

/// Every value that the device sees.
#[derive(Debug, Clone)]
pub(super) struct Data {
    /// Inputs, states or h.
    pub(super) x: Vec<f32>,
    /// Actions or isv.
    pub(super) extra: Vec<f32>,
    pub(super) error: Vec<f32>,
    pub(super) index: Vec<i32>,
    /// dy or the next state.
    pub(super) upstream: Vec<f32>,
    /// w1, b1, w2, b2
    pub(super) parameters: [Vec<f32>; 4],
    /// What their gradients are added to.
    pub(super) before: [Vec<f32>; 4],
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A call by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) batch: usize,
    /// Of x, states or h.
    pub(super) inputs: usize,
    /// Of actions or isv.
    pub(super) extra: usize,
    pub(super) hidden: usize,
    pub(super) outputs: usize,
    pub(super) activations: [Activation; 2],
    pub(super) residual: bool,
    /// Between rows of x, of extra and error, of y or upstream, of dx.
    pub(super) gaps: [usize; 4],
    pub(super) beta: f32,
    pub(super) flags: u32,
    pub(super) tags: Tags,
    /// Whatever its size: not in the simulator.
    gpu_only: bool,
    edit: Option<Edit>,
}

/// Multiply-adds up to which a case is run in the simulator, and from which it is large.
const SIMULATED: usize = 40_000;
const LARGE: usize = 1 << 26;

pub(super) const STAGED: Path = Path::new("staged", ffi::MLP_PATH_STAGED as i32);
// Shared memory is that of compute capability 9.0.
const AUTOMATIC: Path = Path::needing("automatic", 0, 90);
pub(super) const FUSED: Path = Path::needing("fused", ffi::MLP_PATH_FUSED as i32, 90);
const FUSED_SHARED: usize = 227 * 1024;

impl Spec {
    /// Sizes: B, I, H, O. Biases, and all outputs that the entry has.
    pub(super) fn new(kind: Kind, id: impl Into<String>, sizes: [usize; 4]) -> Spec {
        let [batch, inputs, hidden, outputs] = sizes;
        Spec {
            id: id.into(),
            kind,
            batch,
            inputs,
            extra: 0,
            hidden,
            outputs,
            activations: [Activation::Relu, Activation::None],
            residual: false,
            gaps: [0; 4],
            beta: 0.0,
            flags: EVERYTHING,
            tags: Tags::NONE,
            gpu_only: false,
            edit: None,
        }
    }

    pub(super) fn extra(mut self, extra: usize) -> Spec {
        self.extra = extra;
        self
    }

    pub(super) fn activations(mut self, first: Activation, second: Activation) -> Spec {
        self.activations = [first, second];
        self
    }

    pub(super) fn residual(mut self) -> Spec {
        self.residual = true;
        self
    }

    pub(super) fn gaps(mut self, gaps: [usize; 4]) -> Spec {
        self.gaps = gaps;
        self
    }

    pub(super) fn beta(mut self, beta: f32) -> Spec {
        self.beta = beta;
        self
    }

    pub(super) fn with(mut self, flags: u32) -> Spec {
        self.flags = flags;
        self
    }

    pub(super) fn gpu_only(mut self) -> Spec {
        self.gpu_only = true;
        self
    }

    pub(super) fn sanitize(mut self) -> Spec {
        self.tags = self.tags | Tags::SANITIZE;
        self
    }

    pub(super) fn simulate(mut self) -> Spec {
        self.tags = self.tags | Tags::SIMULATE;
        self
    }

    pub(super) fn edit(mut self, edit: impl Fn(&mut Data) + Send + Sync + 'static) -> Spec {
        self.edit = Some(Arc::new(edit));
        self
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Rows of w1.
    pub(super) fn weight_rows(&self) -> usize {
        self.inputs + self.extra + usize::from(self.kind == Kind::Risk)
    }

    fn lengths(&self) -> [usize; 4] {
        let rows = self.weight_rows();
        [
            rows * self.hidden,
            self.hidden,
            self.hidden * self.outputs,
            self.outputs,
        ]
    }

    /// Inputs about normal, sums of about unit variance, NaN in the gaps between rows.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let rows = |name: &str, width: usize, gap: usize, most: f32| {
            let mut random = Random::named(seed, name);
            let mut all = vec![f32::NAN; self.batch * (width + gap)];
            for row in all.chunks_mut((width + gap).max(1)) {
                row[..width].fill_with(|| random.uniform(-most, most));
            }
            all
        };
        let [w1, b1, w2, b2] = self.lengths();
        let uniform = |name: &str, count: usize, most: f32| {
            Random::named(seed, name).uniforms(count, -most, most)
        };
        let scale = |terms: usize| 1.7 / (terms as f32).sqrt();
        let mut random = Random::named(seed, "index");
        let mut data = Data {
            x: rows("x", self.inputs, self.gaps[0], 1.7),
            extra: rows("extra", self.extra, self.gaps[1], 1.7),
            error: rows("error", 1, self.gaps[1], 1.7),
            index: (0..self.batch)
                .map(|_| random.below(self.extra.max(1)) as i32)
                .collect(),
            upstream: rows("upstream", self.outputs, self.gaps[2], 1.0),
            parameters: [
                uniform("w1", w1, scale(self.weight_rows())),
                uniform("b1", b1, 0.5),
                uniform("w2", w2, scale(self.hidden)),
                uniform("b2", b2, 0.5),
            ],
            before: [w1, b1, w2, b2].map(|count| {
                if self.beta == 0.0 {
                    vec![f32::NAN; count]
                } else {
                    uniform(&format!("before {count}"), count, 1.0)
                }
            }),
        };
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        data
    }

    fn network<'a>(&self, data: &'a Data) -> Network<'a> {
        let [w1, b1, w2, b2] = &data.parameters;
        let [first, second] = self.activations;
        Network {
            inputs: self.weight_rows(),
            hidden: self.hidden,
            outputs: self.outputs,
            residual: self.residual,
            first: Layer {
                weights: w1,
                bias: self.has(B1).then_some(&b1[..]),
                activation: first,
            },
            second: Layer {
                weights: w2,
                bias: self.has(B2).then_some(&b2[..]),
                activation: second,
            },
        }
    }

    /// Rows without their gaps.
    fn packed(&self, rows: &[f32], width: usize, gap: usize) -> Vec<f32> {
        rows.chunks((width + gap).max(1))
            .flat_map(|row| &row[..width])
            .copied()
            .collect()
    }

    /// An output of rows with gaps.
    fn rows_out(&self, name: &'static str, values: &[f32], width: usize, gap: usize) -> Buffer {
        let stride = width + gap;
        let mut all = vec![0.0f32; self.batch * stride];
        for (row, values) in all.chunks_mut(stride).zip(values.chunks(width)) {
            row[..width].copy_from_slice(values);
        }
        let buffer = Buffer::output(name, &all);
        if gap == 0 {
            return buffer;
        }
        (0..self.batch).fold(buffer, |buffer, b| {
            buffer.untouched(b * stride + width..(b + 1) * stride)
        })
    }

    fn inputs(&self, data: &Data) -> Vec<Bound> {
        let mut bound = vec![Bound(Buffer::input("x", &data.x), X)];
        let has_extra = matches!(self.kind, Kind::Dense | Kind::Risk) && self.extra > 0;
        if has_extra {
            bound.push(Bound(Buffer::input("extra", &data.extra), EXTRA));
        }
        if self.kind == Kind::Risk {
            bound.push(Bound(Buffer::input("error", &data.error), ERROR));
        }
        if self.kind == Kind::Indexed {
            bound.push(Bound(Buffer::input("action_index", &data.index), INDEX));
        }
        if !matches!(self.kind, Kind::Forward | Kind::Risk) {
            bound.push(Bound(Buffer::input("upstream", &data.upstream), UPSTREAM));
        }
        let names = ["w1", "b1", "w2", "b2"];
        let there = [true, self.has(B1), true, self.has(B2)];
        for (i, (name, there)) in names.into_iter().zip(there).enumerate() {
            if there {
                let buffer = Buffer::input(name, &data.parameters[i]);
                bound.push(Bound(buffer, W1 + i));
            }
        }
        bound
    }

    fn sums(&self, data: &Data, sums: &Parameters) -> Vec<Bound> {
        let all = [&sums.w1, &sums.b1, &sums.w2, &sums.b2];
        let names = ["d_w1", "d_b1", "d_w2", "d_b2"];
        let mut bound = Vec::new();
        for (i, (name, sums)) in names.into_iter().zip(all).enumerate() {
            if self.has(D_W1 << i) {
                let before = &data.before[i];
                let after = accumulated(self.beta, before, sums);
                bound.push(Bound(Buffer::in_out(name, before, &after), FIRST_SUM + i));
            }
        }
        bound
    }

    /// All buffers of a call.
    pub(super) fn buffers(&self, seed: u64) -> Vec<Bound> {
        let data = self.draw(seed);
        let network = self.network(&data);
        let mut bound = self.inputs(&data);
        let x = self.packed(&data.x, self.inputs, self.gaps[0]);
        let extra = self.packed(&data.extra, self.extra, self.gaps[1]);
        let upstream = self.packed(&data.upstream, self.outputs, self.gaps[2]);
        match self.kind {
            Kind::Forward | Kind::Risk => {
                let error = self.packed(&data.error, 1, self.gaps[1]);
                let y = if self.kind == Kind::Forward {
                    forward(&network, &x)
                } else {
                    risk_forward(&network, &x, &extra, &error)
                };
                let y = self.rows_out("y", &y, self.outputs, self.gaps[2]);
                bound.push(Bound(y, Y));
                return bound;
            }
            Kind::Backward => {
                let gradients = backward(&network, &x, &upstream);
                bound.extend(self.sums(&data, &gradients.parameters));
                if self.has(DX) {
                    let dx = self.rows_out("dx", &gradients.dx, self.inputs, self.gaps[3]);
                    bound.push(Bound(dx, PUT_DX));
                }
            }
            Kind::Dense | Kind::Indexed => {
                let actions = if self.kind == Kind::Dense {
                    Actions::Dense(&extra)
                } else {
                    Actions::Indexed(&data.index)
                };
                let step = curiosity_step(&network, &x, actions, &upstream);
                bound.extend(self.sums(&data, &step.parameters));
                if self.has(REWARD) {
                    bound.push(Bound(Buffer::output("reward", &step.rewards), PUT_REWARD));
                }
                if self.has(LOSS) {
                    bound.push(Bound(Buffer::output("loss", &[step.loss]), PUT_LOSS));
                }
                if self.has(STATUS) {
                    let bad = data.index.iter().position(|a| {
                        self.kind == Kind::Indexed && !(0..self.extra as i32).contains(a)
                    });
                    let status =
                        bad.map_or(0u32, |row| ffi::MLP_DEVICE_BAD_ACTION << 24 | row as u32);
                    let buffer = Buffer::in_out("status", &[0u32], &[status]);
                    bound.push(Bound(buffer, PUT_STATUS));
                }
            }
        }
        let workspace = Buffer::workspace("workspace", self.workspace_bytes());
        bound.push(Bound(workspace, WORKSPACE));
        bound
    }

    /// Generous: the buffers are fixed before the library can be asked.
    pub(super) fn workspace_bytes(&self) -> usize {
        let quads = |n: usize| n.next_multiple_of(4);
        let columns = (self.weight_rows() + 1) * quads(self.hidden)
            + (self.hidden + 1) * quads(self.outputs)
            + 4;
        let of_row = 2 * self.hidden + self.outputs + 1;
        (partials(self.batch)[1] * columns + self.batch * of_row) * 4 + 64
    }

    /// Packed strides as 0 in one half of the cases.
    fn stride(&self, width: usize, gap: usize) -> i64 {
        if gap == 0 && self.batch % 2 == 1 {
            0
        } else {
            (width + gap) as i64
        }
    }

    fn activation(&self, layer: usize) -> (i32, f32) {
        let (kind, slope) = match self.activations[layer] {
            Activation::None => (ffi::MLP_NONE, 0.0),
            Activation::Relu => (ffi::MLP_RELU, 0.0),
            Activation::LeakyRelu(slope) => (ffi::MLP_LEAKY_RELU, slope),
            Activation::Silu => (ffi::MLP_SILU, 0.0),
            Activation::GeluErf => (ffi::MLP_GELU_ERF, 0.0),
            Activation::GeluTanh => (ffi::MLP_GELU_TANH, 0.0),
            Activation::Tanh => (ffi::MLP_TANH, 0.0),
            Activation::Sigmoid => (ffi::MLP_SIGMOID, 0.0),
        };
        (kind as i32, slope)
    }

    pub(super) fn forward_params(&self, path: i32, p: &Pointers) -> ffi::mlp_forward_params {
        let (activation1, slope1) = self.activation(0);
        let (activation2, slope2) = self.activation(1);
        ffi::mlp_forward_params {
            struct_size: size_of::<ffi::mlp_forward_params>() as u32,
            activation1,
            activation2,
            residual: i32::from(self.residual),
            path,
            slope1,
            slope2,
            batch: self.batch as i64,
            inputs: self.inputs as i64,
            hidden: self.hidden as i64,
            outputs: self.outputs as i64,
            x_stride: self.stride(self.inputs, self.gaps[0]),
            y_stride: self.stride(self.outputs, self.gaps[2]),
            x: p[X].cast(),
            w1: p[W1].cast(),
            b1: p[W1 + 1].cast(),
            w2: p[W1 + 2].cast(),
            b2: p[W1 + 3].cast(),
            y: p[Y].cast(),
        }
    }

    pub(super) fn backward_params(&self, path: i32, p: &Pointers) -> ffi::mlp_backward_params {
        let (activation1, slope1) = self.activation(0);
        let (activation2, slope2) = self.activation(1);
        ffi::mlp_backward_params {
            struct_size: size_of::<ffi::mlp_backward_params>() as u32,
            activation1,
            activation2,
            residual: i32::from(self.residual),
            path,
            slope1,
            slope2,
            beta: self.beta,
            batch: self.batch as i64,
            inputs: self.inputs as i64,
            hidden: self.hidden as i64,
            outputs: self.outputs as i64,
            x_stride: self.stride(self.inputs, self.gaps[0]),
            dy_stride: self.stride(self.outputs, self.gaps[2]),
            dx_stride: self.stride(self.inputs, self.gaps[3]),
            x: p[X].cast(),
            w1: p[W1].cast(),
            b1: p[W1 + 1].cast(),
            w2: p[W1 + 2].cast(),
            b2: p[W1 + 3].cast(),
            dy: p[UPSTREAM].cast(),
            d_w1: p[FIRST_SUM].cast(),
            d_b1: p[FIRST_SUM + 1].cast(),
            d_w2: p[FIRST_SUM + 2].cast(),
            d_b2: p[FIRST_SUM + 3].cast(),
            dx: p[PUT_DX].cast(),
            workspace: p[WORKSPACE],
            workspace_bytes: self.workspace_bytes(),
        }
    }

    pub(super) fn curiosity_params(&self, path: i32, p: &Pointers) -> ffi::mlp_curiosity_params {
        let (activation1, slope1) = self.activation(0);
        let (activation2, slope2) = self.activation(1);
        ffi::mlp_curiosity_params {
            struct_size: size_of::<ffi::mlp_curiosity_params>() as u32,
            activation1,
            activation2,
            path,
            slope1,
            slope2,
            beta: self.beta,
            batch: self.batch as i64,
            state_dim: self.inputs as i64,
            action_dim: self.extra as i64,
            hidden: self.hidden as i64,
            outputs: self.outputs as i64,
            state_stride: self.stride(self.inputs, self.gaps[0]),
            action_stride: self.stride(self.extra, self.gaps[1]),
            next_stride: self.stride(self.outputs, self.gaps[2]),
            state: p[X].cast(),
            action: p[EXTRA].cast(),
            action_index: p[INDEX].cast(),
            next_state: p[UPSTREAM].cast(),
            w1: p[W1].cast(),
            b1: p[W1 + 1].cast(),
            w2: p[W1 + 2].cast(),
            b2: p[W1 + 3].cast(),
            reward: p[PUT_REWARD].cast(),
            loss: p[PUT_LOSS].cast(),
            d_w1: p[FIRST_SUM].cast(),
            d_b1: p[FIRST_SUM + 1].cast(),
            d_w2: p[FIRST_SUM + 2].cast(),
            d_b2: p[FIRST_SUM + 3].cast(),
            status: p[PUT_STATUS].cast(),
            workspace: p[WORKSPACE],
            workspace_bytes: self.workspace_bytes(),
        }
    }

    pub(super) fn risk_params(&self, path: i32, p: &Pointers) -> ffi::mlp_risk_params {
        ffi::mlp_risk_params {
            struct_size: size_of::<ffi::mlp_risk_params>() as u32,
            path,
            batch: self.batch as i64,
            h_dim: self.inputs as i64,
            isv_dim: self.extra as i64,
            hidden: self.hidden as i64,
            outputs: self.outputs as i64,
            h_stride: self.stride(self.inputs, self.gaps[0]),
            isv_stride: self.stride(self.extra, self.gaps[1]),
            error_stride: self.stride(1, self.gaps[1]),
            y_stride: self.stride(self.outputs, self.gaps[2]),
            h: p[X].cast(),
            isv: p[EXTRA].cast(),
            error: p[ERROR].cast(),
            w1: p[W1].cast(),
            b1: p[W1 + 1].cast(),
            w2: p[W1 + 2].cast(),
            b2: p[W1 + 3].cast(),
            y: p[Y].cast(),
        }
    }

    fn call(
        &self,
        library: &Library,
        path: i32,
        pointers: &Pointers,
        stream: *mut c_void,
    ) -> parity::Result<c_int> {
        match self.kind {
            Kind::Forward => call_forward(library, &self.forward_params(path, pointers), stream),
            Kind::Backward => call_backward(library, &self.backward_params(path, pointers), stream),
            Kind::Dense | Kind::Indexed => {
                call_curiosity(library, &self.curiosity_params(path, pointers), stream)
            }
            Kind::Risk => call_risk(library, &self.risk_params(path, pointers), stream),
        }
    }

    fn entry(&self) -> &'static str {
        match self.kind {
            Kind::Forward => "mlp_forward_f32",
            Kind::Backward => "mlp_backward_f32",
            Kind::Dense | Kind::Indexed => "mlp_curiosity_step_f32",
            Kind::Risk => "mlp_risk_forward_f32",
        }
    }

    fn tags(&self) -> Tags {
        let of_row = self.weight_rows() * self.hidden + self.hidden * self.outputs;
        let work = self.batch * of_row;
        let mut tags = self.tags;
        if work <= SIMULATED && !self.gpu_only {
            tags = tags | Tags::SIMULATE;
        }
        if work >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// Whether the fused path takes it on a device of compute capability 9.0.
    pub(super) fn fuses(&self) -> bool {
        let with_dx = self.kind == Kind::Backward && self.has(DX);
        if self.hidden > 128 || self.outputs > 128 || (with_dx && self.inputs > 128) {
            return false;
        }
        let row = |n: usize| n.div_ceil(4) / 2 * 8 + 4;
        let quads = |n: usize| n.next_multiple_of(4);
        let dense = if self.kind == Kind::Indexed {
            self.inputs
        } else {
            self.weight_rows()
        };
        let indexed = self.weight_rows() - dense;
        let weights = (quads(dense) + indexed) * (row(self.hidden) + 2)
            + quads(self.hidden) * row(self.outputs)
            + quads(self.hidden)
            + quads(self.outputs);
        let of_row = row(dense) + 2 * row(self.hidden) + 2 * row(self.outputs) + 2;
        (weights + 8 * of_row) * 4 <= FUSED_SHARED
    }

    fn with_sums(&self) -> bool {
        match self.kind {
            Kind::Forward | Kind::Risk => false,
            Kind::Backward => self.has(D_PARAMETERS),
            Kind::Dense | Kind::Indexed => self.has(D_PARAMETERS | LOSS),
        }
    }

    /// Graph nodes that the header promises.
    pub(super) fn nodes(&self, path: i32) -> usize {
        let sums = usize::from(self.with_sums());
        if self.batch == 0 {
            return sums;
        }
        if path != STAGED.value && self.fuses() {
            return 1 + sums;
        }
        1 + 2 * sums
    }

    /// A call that must succeed, on every path that can run it.
    pub(super) fn case(self) -> Case {
        let (id, tags) = (self.id.clone(), self.tags());
        let mut paths = vec![STAGED, AUTOMATIC];
        if self.fuses() {
            paths.push(FUSED);
        }
        Case::exact(id, self.entry(), move |variation: &Variation| {
            let (buffers, places) = split(self.buffers(variation.seed));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = self.nodes(path);
            Instance::new(buffers, move |library, pointers, stream| {
                spec.call(library, path, &filled(&places, pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(tags)
        .on_paths(&paths)
    }
}

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<usize>) {
    bound
        .into_iter()
        .map(|Bound(buffer, place)| (buffer, place))
        .unzip()
}

/// The placed buffers' pointers, each in its place.
pub(super) fn filled(places: &[usize], pointers: &[*mut c_void]) -> Pointers {
    let mut all = [null_mut(); PLACES];
    for (place, &pointer) in places.iter().zip(pointers) {
        all[*place] = pointer;
    }
    all
}

macro_rules! calls {
    ($($name:ident: $function:ident, $type:ident, $params:ident;)*) => {$(
        /// Calls the function of that name of the loaded library.
        pub(super) fn $name(
            library: &Library,
            params: &ffi::$params,
            stream: *mut c_void,
        ) -> parity::Result<c_int> {
            // SAFETY: the type is the header's prototype.
            let function = unsafe { library.function::<ffi::$type>(stringify!($function)) }?;
            // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
            Ok(unsafe { function(params, stream) })
        }
    )*};
}

calls! {
    call_forward: mlp_forward_f32, mlp_forward_f32_fn, mlp_forward_params;
    call_backward: mlp_backward_f32, mlp_backward_f32_fn, mlp_backward_params;
    call_curiosity: mlp_curiosity_step_f32, mlp_curiosity_step_f32_fn, mlp_curiosity_params;
    call_risk: mlp_risk_forward_f32, mlp_risk_forward_f32_fn, mlp_risk_params;
    call_baseline_backward: mlp_baseline_backward, mlp_baseline_backward_fn, mlp_backward_params;
    call_baseline_curiosity: mlp_baseline_curiosity_step, mlp_baseline_curiosity_step_fn, mlp_curiosity_params;
    call_baseline_risk: mlp_baseline_risk_forward, mlp_baseline_risk_forward_fn, mlp_risk_params;
}

/// Where a network of the first layer alone has exact zeros: weights and biases of zero.
pub(super) fn zero_sums(data: &mut Data) {
    data.parameters[0].fill(0.0);
    data.parameters[1].fill(0.0);
}

/// Every activation, by name.
pub(super) const ACTIVATIONS: [(&str, Activation); 9] = [
    ("none", Activation::None),
    ("relu", Activation::Relu),
    ("leaky-relu", Activation::LeakyRelu(0.01)),
    ("leaky-relu-minus-2", Activation::LeakyRelu(-2.0)),
    ("silu", Activation::Silu),
    ("gelu-erf", Activation::GeluErf),
    ("gelu-tanh", Activation::GeluTanh),
    ("tanh", Activation::Tanh),
    ("sigmoid", Activation::Sigmoid),
];
