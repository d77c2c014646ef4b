//! From a description of a scan to buffers, the calls, forward and backward, and what must come back.

use crate::ffi;
use crate::oracle::temporal_scan::{
    self, Gradients, Readout, Scanned, TemporalScan, Upstream, accumulated,
};
use parity::{Buffer, Case, Instance, Library, Path, Random, Tags, Variation};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

// Optional inputs, and outputs, as bits of one word.
pub(super) const BIAS_A: u32 = 1;
pub(super) const BIAS_B: u32 = 1 << 1;
pub(super) const BIAS_C: u32 = 1 << 2;
pub(super) const BIASES: u32 = BIAS_A | BIAS_B | BIAS_C;
pub(super) const X0: u32 = 1 << 3;
pub(super) const OUT: u32 = 1 << 4;
pub(super) const FINAL: u32 = 1 << 5;
pub(super) const D_FINAL: u32 = 1 << 6;
pub(super) const D_W_A: u32 = 1 << 7;
pub(super) const D_W_B: u32 = 1 << 8;
pub(super) const D_W_C: u32 = 1 << 9;
pub(super) const D_WEIGHTS: u32 = D_W_A | D_W_B | D_W_C;
pub(super) const D_BIAS_A: u32 = 1 << 10;
pub(super) const D_BIAS_B: u32 = 1 << 11;
pub(super) const D_BIAS_C: u32 = 1 << 12;
pub(super) const D_BIASES: u32 = D_BIAS_A | D_BIAS_B | D_BIAS_C;
pub(super) const D_HISTORY: u32 = 1 << 13;
pub(super) const D_CURRENT: u32 = 1 << 14;
pub(super) const D_X0: u32 = 1 << 15;
pub(super) const D_PARAMETERS: u32 = D_WEIGHTS | D_BIASES;
pub(super) const D_INPUTS: u32 = D_HISTORY | D_CURRENT | D_X0;
pub(super) const EVERYTHING: u32 = 0xffff;

/// Every value that the device sees.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) history: Vec<f32>,
    pub(super) current: Vec<f32>,
    pub(super) weights: [Vec<f32>; 3],
    pub(super) biases: [Vec<f32>; 3],
    pub(super) x0: Vec<f32>,
    pub(super) d_out: Vec<f32>,
    pub(super) d_final: Vec<f32>,
    /// What the gradients of weights and biases are added to.
    pub(super) before: [Vec<f32>; 6],
}

type Edit = Arc<dyn Fn(&mut Data) + Send + Sync>;

/// A scan by its sizes and options; contents are drawn from a seed, then edited.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) id: String,
    /// B, K, H, S
    pub(super) sizes: [usize; 4],
    pub(super) readout: Readout,
    /// Between samples and steps of history, and samples of current.
    pub(super) gaps: [usize; 3],
    pub(super) beta: f32,
    pub(super) flags: u32,
    pub(super) tags: Tags,
    /// Whatever its size: not in the simulator.
    gpu_only: bool,
    edit: Option<Edit>,
}

/// Where every buffer lies; null where there is none.
#[derive(Clone, Copy)]
pub(super) struct Pointers {
    pub(super) history: *mut c_void,
    pub(super) current: *mut c_void,
    pub(super) weights: [*mut c_void; 3],
    pub(super) biases: [*mut c_void; 3],
    pub(super) x0: *mut c_void,
    pub(super) out: *mut c_void,
    pub(super) final_state: *mut c_void,
    pub(super) d_out: *mut c_void,
    pub(super) d_final: *mut c_void,
    /// Weights, then biases.
    pub(super) d_parameters: [*mut c_void; 6],
    pub(super) d_history: *mut c_void,
    pub(super) d_current: *mut c_void,
    pub(super) d_x0: *mut c_void,
    pub(super) workspace: *mut c_void,
}

const NOWHERE: Pointers = Pointers {
    history: null_mut(),
    current: null_mut(),
    weights: [null_mut(); 3],
    biases: [null_mut(); 3],
    x0: null_mut(),
    out: null_mut(),
    final_state: null_mut(),
    d_out: null_mut(),
    d_final: null_mut(),
    d_parameters: [null_mut(); 6],
    d_history: null_mut(),
    d_current: null_mut(),
    d_x0: null_mut(),
    workspace: null_mut(),
};

/// Puts a buffer's pointer into its place.
pub(super) type Set = fn(&mut Pointers, *mut c_void);

/// A buffer and its place.
pub(super) struct Bound(pub(super) Buffer, pub(super) Set);

/// Multiply-adds up to which a case is run in the simulator, and from which it is large.
const SIMULATED: usize = 50_000;
const LARGE: usize = 1 << 26;

pub(super) const STAGED: Path = Path::new("staged", ffi::M2_BACKWARD_STAGED as i32);
// Their shared memory is that of compute capability 9.0.
pub(super) const FUSED: Path = Path::needing("fused", ffi::M2_BACKWARD_FUSED as i32, 90);
pub(super) const AUTOMATIC: Path = Path::needing("automatic", 0, 90);

impl Spec {
    pub(super) fn new(id: impl Into<String>, sizes: [usize; 4]) -> Spec {
        Spec {
            id: id.into(),
            sizes,
            readout: Readout::Context,
            gaps: [0; 3],
            beta: 0.0,
            flags: OUT,
            tags: Tags::NONE,
            gpu_only: false,
            edit: None,
        }
    }

    pub(super) fn gpu_only(mut self, gpu_only: bool) -> Spec {
        self.gpu_only = gpu_only;
        self
    }

    pub(super) fn readout(mut self, readout: Readout) -> Spec {
        self.readout = readout;
        self
    }

    /// Optional inputs and outputs, in place of the context alone.
    pub(super) fn with(mut self, flags: u32) -> Spec {
        self.flags = flags;
        self
    }

    pub(super) fn gaps(mut self, gaps: [usize; 3]) -> Spec {
        self.gaps = gaps;
        self
    }

    pub(super) fn beta(mut self, beta: f32) -> Spec {
        self.beta = beta;
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

    fn strides(&self) -> [usize; 3] {
        let [_, steps, features, _] = self.sizes;
        let step = features + self.gaps[1];
        [steps * step + self.gaps[0], step, features + self.gaps[2]]
    }

    fn out_len(&self) -> usize {
        let [batch, _, features, states] = self.sizes;
        batch
            * match self.readout {
                Readout::Context => states,
                Readout::Sum => 1,
                Readout::TileAdd => features,
            }
    }

    /// Features about normal, with NaN in the gaps between rows.
    pub(super) fn draw(&self, seed: u64) -> Data {
        let [batch, steps, features, states] = self.sizes;
        let [of_sample, of_step, of_current] = self.strides();
        let uniform = |name: &str, count: usize, most: f32| {
            Random::named(seed, name).uniforms(count, -most, most)
        };
        let mut random = Random::named(seed, "history");
        let mut history = vec![f32::NAN; batch * of_sample];
        for sample in history.chunks_mut(of_sample) {
            for step in 0..steps {
                sample[step * of_step..][..features].fill_with(|| random.uniform(-1.7, 1.7));
            }
        }
        let mut random = Random::named(seed, "current");
        let mut current = vec![f32::NAN; batch * of_current];
        for row in current.chunks_mut(of_current) {
            row[..features].fill_with(|| random.uniform(-1.7, 1.7));
        }
        // Gates of about unit variance.
        let scale = 1.7 / (features as f32).sqrt();
        let matrix = features * states;
        let names = ["a", "b", "c"];
        let mut data = Data {
            history,
            current,
            weights: names.map(|name| uniform(&format!("w_{name}"), matrix, scale)),
            biases: names.map(|name| uniform(&format!("bias_{name}"), states, 0.5)),
            x0: uniform("x0", batch * states, 1.0),
            d_out: uniform("d_out", self.out_len(), 1.0),
            d_final: uniform("d_final", batch * states, 1.0),
            before: [0, 1, 2, 3, 4, 5].map(|i| {
                let count = if i < 3 { matrix } else { states };
                if self.beta == 0.0 {
                    vec![f32::NAN; count]
                } else {
                    uniform(&format!("before {i}"), count, 1.0)
                }
            }),
        };
        if let Some(edit) = &self.edit {
            edit(&mut data);
        }
        data
    }

    pub(super) fn problem<'a>(&self, data: &'a Data) -> TemporalScan<'a> {
        let [history_stride, step_stride, current_stride] = self.strides();
        let bias = |i: usize| self.has(BIAS_A << i).then_some(&data.biases[i][..]);
        TemporalScan {
            readout: self.readout,
            history_stride,
            step_stride,
            current_stride,
            biases: [bias(0), bias(1), bias(2)],
            initial: self.has(X0).then_some(&data.x0[..]),
            ..TemporalScan::packed(
                self.sizes,
                &data.history,
                &data.current,
                [0, 1, 2].map(|i| &data.weights[i][..]),
            )
        }
    }

    /// Those of the forward call, and what comes from behind.
    pub(super) fn backward_inputs(&self, data: &Data) -> Vec<Bound> {
        let mut bound = self.inputs(data);
        bound.push(Bound(Buffer::input("d_out", &data.d_out), |p, x| {
            p.d_out = x
        }));
        if self.has(D_FINAL) {
            let buffer = Buffer::input("d_final", &data.d_final);
            bound.push(Bound(buffer, |p, x| p.d_final = x));
        }
        bound
    }

    pub(super) fn inputs(&self, data: &Data) -> Vec<Bound> {
        let mut bound = vec![
            Bound(Buffer::input("history", &data.history), |p, x| {
                p.history = x
            }),
            Bound(Buffer::input("current", &data.current), |p, x| {
                p.current = x
            }),
            Bound(Buffer::input("w_a", &data.weights[0]), |p, x| {
                p.weights[0] = x
            }),
            Bound(Buffer::input("w_b", &data.weights[1]), |p, x| {
                p.weights[1] = x
            }),
            Bound(Buffer::input("w_c", &data.weights[2]), |p, x| {
                p.weights[2] = x
            }),
        ];
        let sets: [(&str, Set); 3] = [
            ("bias_a", |p, x| p.biases[0] = x),
            ("bias_b", |p, x| p.biases[1] = x),
            ("bias_c", |p, x| p.biases[2] = x),
        ];
        for (i, (name, set)) in sets.into_iter().enumerate() {
            if self.has(BIAS_A << i) {
                bound.push(Bound(Buffer::input(name, &data.biases[i]), set));
            }
        }
        if self.has(X0) {
            bound.push(Bound(Buffer::input("x0", &data.x0), |p, x| p.x0 = x));
        }
        bound
    }

    /// Buffers of a forward call.
    pub(super) fn forward_buffers(&self, seed: u64) -> Vec<Bound> {
        let data = self.draw(seed);
        let Scanned { out, final_state } = temporal_scan::temporal_scan(&self.problem(&data));
        let mut bound = self.inputs(&data);
        if self.has(OUT) {
            bound.push(Bound(Buffer::output("out", &out), |p, x| p.out = x));
        }
        if self.has(FINAL) {
            let buffer = Buffer::output("final_state", &final_state);
            bound.push(Bound(buffer, |p, x| p.final_state = x));
        }
        bound
    }

    /// Buffers of a backward call.
    pub(super) fn backward_buffers(&self, seed: u64) -> Vec<Bound> {
        let data = self.draw(seed);
        let upstream = Upstream {
            out: &data.d_out,
            final_state: self.has(D_FINAL).then_some(&data.d_final[..]),
        };
        let Gradients {
            weights,
            biases,
            history,
            current,
            initial,
        } = temporal_scan::gradients(&self.problem(&data), &upstream);
        let mut bound = self.backward_inputs(&data);
        let sums = weights.iter().chain(&biases);
        for (i, ((name, set), sums)) in GRADIENT_SETS.into_iter().zip(sums).enumerate() {
            if self.has(D_W_A << i) {
                let before = &data.before[i];
                let after = accumulated(self.beta, before, sums);
                bound.push(Bound(Buffer::in_out(name, before, &after), set));
            }
        }
        let outputs: [(u32, &'static str, Vec<f32>, Set); 3] = [
            (D_HISTORY, "d_history", history, |p, x| p.d_history = x),
            (D_CURRENT, "d_current", current, |p, x| p.d_current = x),
            (D_X0, "d_x0", initial, |p, x| p.d_x0 = x),
        ];
        for (flag, name, values, set) in outputs {
            if self.has(flag) {
                bound.push(Bound(Buffer::output(name, &values), set));
            }
        }
        let workspace = Buffer::workspace("workspace", self.workspace_bytes());
        bound.push(Bound(workspace, |p, x| p.workspace = x));
        bound
    }

    /// Generous: the buffers are fixed before the library can be asked.
    pub(super) fn workspace_bytes(&self) -> usize {
        let [batch, steps, features, states] = self.sizes;
        let padded = states.next_multiple_of(16);
        let partials = temporal_scan::partials(batch)[1];
        (batch * (2 * steps + 1) * padded + partials * 3 * (features + 1) * states) * 4 + 256
    }

    /// Strides, packed ones as 0 in one half of the cases.
    fn passed_strides(&self) -> [i64; 3] {
        let strides = self.strides();
        let packed = self.sizes[0] % 2 == 1;
        std::array::from_fn(|i| {
            if self.gaps == [0; 3] && packed {
                0
            } else {
                strides[i] as i64
            }
        })
    }

    fn readout_enumerator(&self) -> i32 {
        let readout = match self.readout {
            Readout::Context => ffi::M2_READOUT_CONTEXT,
            Readout::Sum => ffi::M2_READOUT_SUM,
            Readout::TileAdd => ffi::M2_READOUT_TILE_ADD,
        };
        readout as i32
    }

    pub(super) fn forward_params(&self, p: &Pointers) -> ffi::m2_temporal_scan_params {
        let [batch, steps, features, states] = self.sizes.map(|size| size as i64);
        let [history_stride, step_stride, current_stride] = self.passed_strides();
        ffi::m2_temporal_scan_params {
            struct_size: size_of::<ffi::m2_temporal_scan_params>() as u32,
            readout: self.readout_enumerator(),
            batch,
            steps,
            features,
            states,
            history_stride,
            step_stride,
            current_stride,
            history: p.history.cast(),
            current: p.current.cast(),
            w_a: p.weights[0].cast(),
            w_b: p.weights[1].cast(),
            w_c: p.weights[2].cast(),
            bias_a: p.biases[0].cast(),
            bias_b: p.biases[1].cast(),
            bias_c: p.biases[2].cast(),
            x0: p.x0.cast(),
            out: p.out.cast(),
            final_state: p.final_state.cast(),
        }
    }

    pub(super) fn backward_params(&self, path: i32, p: &Pointers) -> ffi::m2_scan_backward_params {
        let [batch, steps, features, states] = self.sizes.map(|size| size as i64);
        let [history_stride, step_stride, current_stride] = self.passed_strides();
        ffi::m2_scan_backward_params {
            struct_size: size_of::<ffi::m2_scan_backward_params>() as u32,
            readout: self.readout_enumerator(),
            path,
            beta: self.beta,
            batch,
            steps,
            features,
            states,
            history_stride,
            step_stride,
            current_stride,
            history: p.history.cast(),
            current: p.current.cast(),
            w_a: p.weights[0].cast(),
            w_b: p.weights[1].cast(),
            w_c: p.weights[2].cast(),
            bias_a: p.biases[0].cast(),
            bias_b: p.biases[1].cast(),
            bias_c: p.biases[2].cast(),
            x0: p.x0.cast(),
            d_out: p.d_out.cast(),
            d_final: p.d_final.cast(),
            d_w_a: p.d_parameters[0].cast(),
            d_w_b: p.d_parameters[1].cast(),
            d_w_c: p.d_parameters[2].cast(),
            d_bias_a: p.d_parameters[3].cast(),
            d_bias_b: p.d_parameters[4].cast(),
            d_bias_c: p.d_parameters[5].cast(),
            d_history: p.d_history.cast(),
            d_current: p.d_current.cast(),
            d_x0: p.d_x0.cast(),
            workspace: p.workspace,
            workspace_bytes: self.workspace_bytes(),
        }
    }

    pub(super) fn tags(&self) -> Tags {
        let [batch, steps, features, states] = self.sizes;
        let work = batch * steps * features * states.next_multiple_of(16);
        let mut tags = self.tags;
        if work <= SIMULATED && !self.gpu_only {
            tags = tags | Tags::SIMULATE;
        }
        if work >= LARGE {
            tags = tags | Tags::LARGE;
        }
        tags
    }

    /// A forward call that must succeed.
    pub(super) fn forward_case(self) -> Case {
        let (id, tags) = (self.id.clone(), self.tags());
        Case::exact(id, "m2_temporal_scan_f32", move |variation: &Variation| {
            let (buffers, sets) = split(self.forward_buffers(variation.seed));
            let spec = self.clone();
            let nodes = usize::from(self.sizes[0] > 0);
            Instance::new(buffers, move |library, pointers, stream| {
                forward(
                    library,
                    &spec.forward_params(&filled(&sets, pointers)),
                    stream,
                )
            })
            .nodes(nodes)
        })
        .tagged(tags)
    }

    /// Whether the fused path takes its sizes.
    pub(super) fn fuses(&self) -> bool {
        let [_, steps, features, states] = self.sizes;
        steps <= 8 && features <= 256 && states <= 16
    }

    /// Graph nodes that the header promises.
    pub(super) fn backward_nodes(&self, path: i32) -> usize {
        let weights = usize::from(self.has(D_PARAMETERS));
        if self.sizes[0] == 0 {
            return weights;
        }
        if path != STAGED.value && self.fuses() {
            return 1 + weights;
        }
        1 + 2 * weights + usize::from(self.has(D_HISTORY | D_CURRENT))
    }

    /// A backward call that must succeed, on every path that can run it.
    pub(super) fn backward_case(self) -> Case {
        let (id, tags) = (self.id.clone(), self.tags());
        let mut paths = vec![STAGED, AUTOMATIC];
        if self.fuses() {
            paths.push(FUSED);
        }
        Case::exact(id, "m2_scan_backward_f32", move |variation: &Variation| {
            let (buffers, sets) = split(self.backward_buffers(variation.seed));
            let (spec, path) = (self.clone(), variation.path);
            let nodes = self.backward_nodes(path);
            Instance::new(buffers, move |library, pointers, stream| {
                let params = spec.backward_params(path, &filled(&sets, pointers));
                backward(library, &params, stream)
            })
            .nodes(nodes)
        })
        .tagged(tags)
        .on_paths(&paths)
    }
}

pub(super) fn split(bound: Vec<Bound>) -> (Vec<Buffer>, Vec<Set>) {
    bound
        .into_iter()
        .map(|Bound(buffer, set)| (buffer, set))
        .unzip()
}

/// The placed buffers' pointers, each in its place.
pub(super) fn filled(sets: &[Set], pointers: &[*mut c_void]) -> Pointers {
    let mut places = NOWHERE;
    for (set, &pointer) in sets.iter().zip(pointers) {
        set(&mut places, pointer);
    }
    places
}

/// Calls `m2_temporal_scan_f32` of the loaded library.
pub(super) fn forward(
    library: &Library,
    params: &ffi::m2_temporal_scan_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<ffi::m2_temporal_scan_f32_fn>("m2_temporal_scan_f32") }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { scan(params, stream) })
}

/// Calls `m2_scan_backward_f32` of the loaded library.
pub(super) fn backward(
    library: &Library,
    params: &ffi::m2_scan_backward_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<ffi::m2_scan_backward_f32_fn>("m2_scan_backward_f32") }?;
    // SAFETY: as above.
    Ok(unsafe { scan(params, stream) })
}

/// The gradients of the parameters, and where their buffers go.
pub(super) const GRADIENT_SETS: [(&str, Set); 6] = [
    ("d_w_a", |p, x| p.d_parameters[0] = x),
    ("d_w_b", |p, x| p.d_parameters[1] = x),
    ("d_w_c", |p, x| p.d_parameters[2] = x),
    ("d_bias_a", |p, x| p.d_parameters[3] = x),
    ("d_bias_b", |p, x| p.d_parameters[4] = x),
    ("d_bias_c", |p, x| p.d_parameters[5] = x),
];

pub(super) const READOUTS: [(&str, Readout); 3] = [
    ("context", Readout::Context),
    ("sum", Readout::Sum),
    ("tile-add", Readout::TileAdd),
];

/// Pre-sigmoid gates: at zero, where 1 - a is lost by a subtraction, and where exp vanishes.
pub(super) const GATES: [f32; 12] = [
    0.0, -0.0, 1e-6, 15.0, -15.0, 20.0, -20.0, 88.0, -88.0, 104.0, -104.0, 1e30,
];

/// Strides beyond the packed ones.
pub(super) fn with_gaps(samples: usize) -> impl Iterator<Item = Spec> {
    let gaps = [
        ("of-four", [8, 4, 12]),
        ("odd", [1, 3, 5]),
        ("of-samples", [4, 0, 0]),
        ("of-steps", [0, 1, 0]),
        ("of-current", [0, 0, 2]),
    ];
    gaps.into_iter().map(move |(name, gaps)| {
        let spec = Spec::new(format!("gaps-{name}"), [samples, 3, 36, 5]).gaps(gaps);
        spec.with(EVERYTHING).sanitize()
    })
}

/// Gates from the bias alone.
pub(super) fn with_gates(samples: usize) -> impl Iterator<Item = Spec> {
    GATES.into_iter().enumerate().map(move |(i, gate)| {
        let spec = Spec::new(format!("gates-{i}"), [samples, 8, 8, 16]);
        spec.with(EVERYTHING).edit(move |data| {
            data.weights[0].fill(0.0);
            data.biases[0].fill(gate);
        })
    })
}

pub(super) fn values_spec(name: &str) -> Spec {
    Spec::new(format!("values-{name}"), [9, 3, 8, 5]).with(EVERYTHING)
}

/// Each value in one place of each input; weights of zero; products that vanish.
pub(super) fn with_values(values: &[(&str, f32)]) -> Vec<Spec> {
    let spec = values_spec;
    let mut specs = Vec::new();
    for &(name, value) in values {
        specs.push(spec(&format!("{name}-in-history")).edit(move |data| data.history[25] = value));
        specs.push(spec(&format!("{name}-in-current")).edit(move |data| data.current[9] = value));
        specs.push(spec(&format!("{name}-in-w-b")).edit(move |data| data.weights[1][7] = value));
        specs.push(spec(&format!("{name}-in-x0")).edit(move |data| data.x0[6] = value));
        specs.push(spec(&format!("{name}-in-d-out")).edit(move |data| data.d_out[11] = value));
    }
    specs.push(spec("all-zero").edit(|data| {
        for values in data.weights.iter_mut().chain(&mut data.biases) {
            values.fill(0.0);
        }
    }));
    specs.push(spec("small-products").edit(|data| {
        for values in &mut data.weights {
            for value in values {
                *value *= -1e-30;
            }
        }
        for value in &mut data.history {
            *value *= 1e-15;
        }
    }));
    specs
}
