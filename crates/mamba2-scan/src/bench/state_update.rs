//! The decode step of real layers: f32 state, updated in place, bf16 inputs.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use half::bf16;
use parity::{Buffer, Class, Library, Random};

use crate::ffi;
use crate::oracle::Dtype;
use crate::oracle::state_update::{Decay, StateUpdate, state_update};

/// States rotate over this much: a decode step never finds its state in the cache.
const COLD_BYTES: usize = 1 << 30;

/// Heads, groups, rows of a head, elements of a row.
const LAYERS: [(&str, [usize; 4]); 3] = [
    ("128x64x128-g8", [128, 8, 64, 128]),
    ("80x64x128-g1", [80, 1, 64, 128]),
    ("48x64x128-g1", [48, 1, 64, 128]),
];

pub(super) fn benches() -> Vec<Bench> {
    let mut benches = Vec::new();
    for (name, [heads, groups, rows, n]) in LAYERS {
        for batch in [1, 8, 64, 256] {
            let shape = Shape([batch, heads, groups, rows, n]);
            benches.push(bench(format!("state-update-b{batch}-{name}"), shape));
        }
    }
    benches
}

fn bench(id: String, shape: Shape) -> Bench {
    Bench {
        id,
        entry: "m2_state_update",
        class: Class::Exact,
        modes: vec![Mode::Cold],
        work: shape.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| shape.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| shape.kernel(library)),
        others: Vec::new(),
        under_floor: None,
    }
}

#[derive(Clone, Copy)]
struct Shape([usize; 5]);

impl Shape {
    fn work(&self) -> Work {
        let [batch, heads, groups, rows, n] = self.0;
        let channels = batch * heads * rows;
        let state = channels * n * size_of::<f32>();
        // x, z and y; B and C; dt.
        let inputs = 2 * channels * size_of::<bf16>()
            + 2 * batch * groups * n * size_of::<bf16>()
            + batch * heads * size_of::<bf16>()
            + 3 * heads * size_of::<f32>();
        Work {
            read: (state + inputs) as u64,
            written: (state + channels * size_of::<bf16>()) as u64,
            fmas: 0,
        }
    }

    fn buffers(&self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let [batch, heads, groups, rows, n] = self.0;
        let channels = heads * rows;
        let uniform = |name: &str, count: usize, low: f32, high: f32| {
            Random::named(seed, name).uniforms(count, low, high)
        };
        let halves = |name: &str, count: usize, low: f32, high: f32| {
            let mut values = uniform(name, count, low, high);
            for value in &mut values {
                *value = Dtype::Bf16.round(*value);
            }
            values
        };
        let state = uniform("state", batch * channels * n, -2.0, 2.0);
        let x = halves("x", batch * channels, -2.0, 2.0);
        let dt = halves("dt", batch * heads, -6.0, 1.0);
        let a = uniform("a", heads, -16.0, -1.0);
        let bias = uniform("dt_bias", heads, -1.0, 0.5);
        let b = halves("b", batch * groups * n, -1.0, 1.0);
        let c = halves("c", batch * groups * n, -1.0, 1.0);
        let d = uniform("d", heads, -1.0, 1.0);
        let z = halves("z", batch * channels, -4.0, 4.0);
        let mut y = vec![0.0; batch * channels];
        let state_buffer = match oracle {
            Oracle::Skip => Buffer::in_out("state", &state, &state),
            Oracle::Run => {
                let step = StateUpdate {
                    io_type: Dtype::Bf16,
                    softplus: true,
                    dt_bias: Some(&bias),
                    d: Some(&d),
                    z: Some(&z),
                    ..StateUpdate::packed(self.0, &x, &dt, Decay::A(&a), [&b, &c])
                };
                let mut next = state.clone();
                state_update(&step, &mut next, &mut y, &mut 0);
                Buffer::in_out("state", &state, &next)
            }
        };
        let input = |name, values: &[f32]| Buffer::input(name, &parity::to_bf16(values));
        vec![
            state_buffer,
            input("x", &x),
            input("dt", &dt),
            Buffer::input("a", &a),
            Buffer::input("dt_bias", &bias),
            input("b", &b),
            input("c", &c),
            Buffer::input("d", &d),
            input("z", &z),
            Buffer::output("y", &parity::to_bf16(&y)),
        ]
    }

    fn kernel(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let update = unsafe { library.function::<ffi::m2_state_update_fn>("m2_state_update")? };
        let [batch, heads, groups, head_dim, state_dim] = self.0.map(|size| size as i64);
        let call = move |x: &[*mut c_void], stream| {
            let params = ffi::m2_state_update_params {
                struct_size: size_of::<ffi::m2_state_update_params>() as u32,
                state_dtype: ffi::M2_F32 as i32,
                io_dtype: ffi::M2_BF16 as i32,
                dt_dtype: ffi::M2_BF16 as i32,
                path: ffi::M2_UPDATE_AUTO as i32,
                decay: ffi::M2_DECAY_A as i32,
                dt_softplus: 1,
                dt_clamp: 0,
                dt_per_channel: 0,
                d_per_channel: 0,
                batch,
                heads,
                groups,
                head_dim,
                state_dim,
                slots: batch,
                slot_stride: 0,
                x_stride: 0,
                dt_stride: 0,
                b_stride: 0,
                c_stride: 0,
                z_stride: 0,
                y_stride: 0,
                dt_min: 0.0,
                dt_max: 0.0,
                state: x[0],
                slots_in: ptr::null(),
                slots_out: ptr::null(),
                x: x[1],
                dt: x[2],
                a: x[3].cast(),
                dt_bias: x[4].cast(),
                b: x[5],
                c: x[6],
                d: x[7].cast(),
                z: x[8],
                y: x[9],
                status: ptr::null_mut(),
            };
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe { update(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }
}
