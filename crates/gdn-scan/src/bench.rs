//! The cases of the bench: steps as models make them (bf16 q, k, v and o, gates and norm computed in the kernel), the seed's
//! step beside the designs that it replaces, and a long scan.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};

use crate::oracle::{self, Problem};
use crate::{Beta, Decay, Dtype, HeadMap, Norm, ffi};

/// Rotating states of a cold row: models keep gigabytes of weights between two steps of a layer.
const COLD_BYTES: usize = 1 << 30;
/// What the fast step may be off by: o is of size 1 and bf16.
const FAST_WITHIN: f64 = 0.05;

/// What a row calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `gdn_step`, as models call it.
    Step,
    /// `gdn_scan_step_f32`.
    Seed,
    /// `gdn_scan` of so many tokens, as models call it.
    Scan(usize),
}

/// The sizes of a row.
#[derive(Debug, Clone, Copy)]
struct Shape {
    kind: Kind,
    batch: usize,
    key_heads: usize,
    value_heads: usize,
    dim: usize,
    state: Dtype,
}

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    use Mode::{Cold, Hot};
    let step = |batch, state| Shape {
        kind: Kind::Step,
        batch,
        key_heads: 16,
        value_heads: 32,
        dim: 128,
        state,
    };
    let mut benches = Vec::new();
    for batch in [1, 8, 32, 64, 256] {
        let modes: &[Mode] = if batch <= 8 { &[Hot, Cold] } else { &[Cold] };
        let id = format!("step-b{batch}-16x32-128");
        benches.push(bench(&id, step(batch, Dtype::F32), modes));
    }
    for batch in [1, 8, 32, 64, 256] {
        let id = format!("step-b{batch}-16x32-128-bf16-state");
        benches.push(bench(&id, step(batch, Dtype::Bf16), &[Cold]));
    }
    let wide = Shape {
        value_heads: 48,
        ..step(1, Dtype::F32)
    };
    benches.push(bench("step-b1-16x48-128", wide, &[Cold]));
    let seed = Shape {
        kind: Kind::Seed,
        ..wide
    };
    benches.push(bench("seed-step-16x48-128-f32", seed, &[Cold]));
    let scan = Shape {
        kind: Kind::Scan(2048),
        ..step(1, Dtype::F32)
    };
    benches.push(bench("scan-t2048-b1-16x32-128", scan, &[Hot]));
    benches
}

fn bench(id: &str, shape: Shape, modes: &[Mode]) -> Bench {
    let forced = |name: &str, path: u32| {
        Variant::also(name, move |library| {
            shape.general_entry(library, shape.entry(), path)
        })
    };
    let mut others = Vec::new();
    let entry = match shape.kind {
        Kind::Step => {
            others.push(forced("segments", ffi::GDN_PATH_SEGMENTS));
            others.push(forced("streamed", ffi::GDN_PATH_STREAMED));
            others.push(Variant {
                within: Some(FAST_WITHIN),
                ..Variant::also("fast", move |library| {
                    shape.general_entry(library, "gdn_step_fast", ffi::GDN_PATH_AUTO)
                })
            });
            "gdn_step"
        }
        Kind::Seed => {
            for (name, entry) in [
                ("seed two pass", "gdn_baseline_two_pass"),
                ("seed four pass", "gdn_baseline_four_pass"),
            ] {
                others.push(Variant::baseline(name, 0.0, move |library| {
                    shape.seed_entry(library, entry)
                }));
            }
            "gdn_scan_step_f32"
        }
        Kind::Scan(_) => "gdn_scan",
    };
    Bench {
        id: id.into(),
        entry,
        class: Class::Exact,
        modes: modes.to_vec(),
        work: shape.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| shape.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| match shape.kind {
            Kind::Seed => shape.seed_entry(library, "gdn_scan_step_f32"),
            _ => shape.general_entry(library, shape.entry(), ffi::GDN_PATH_AUTO),
        }),
        others,
        under_floor: None,
    }
}

impl Shape {
    fn entry(&self) -> &'static str {
        match self.kind {
            Kind::Step => "gdn_step",
            Kind::Seed => "gdn_scan_step_f32",
            Kind::Scan(_) => "gdn_scan",
        }
    }

    fn tokens(&self) -> usize {
        match self.kind {
            Kind::Scan(tokens) => tokens,
            _ => 1,
        }
    }

    fn io(&self) -> Dtype {
        match self.kind {
            Kind::Seed => Dtype::F32,
            _ => Dtype::Bf16,
        }
    }

    /// Elements of q or k, of v or o, of a gate, of the state.
    fn counts(&self) -> [usize; 4] {
        let rows = self.batch * self.tokens();
        [
            rows * self.key_heads * self.dim,
            rows * self.value_heads * self.dim,
            rows * self.value_heads,
            self.batch * self.value_heads * self.dim * self.dim,
        ]
    }

    fn work(&self) -> Work {
        let [keys, values, gates, states] = self.counts().map(|count| count as u64);
        let bytes = |dtype| if dtype == Dtype::F32 { 4 } else { 2 };
        let (io, state) = (bytes(self.io()), bytes(self.state) * states);
        // Two sums, a decay and a write; one of the four is a whole multiply-add a step's bytes hide.
        let fmas = match self.kind {
            Kind::Scan(tokens) => 2 * states * tokens as u64,
            _ => 0,
        };
        Work {
            read: state + (2 * keys + values + 2 * gates) * io,
            written: state + values * io,
            fmas,
        }
    }

    fn problem(&self) -> Problem<'static> {
        let sizes = [
            self.batch,
            self.key_heads,
            self.value_heads,
            self.dim,
            self.dim,
        ];
        let packed = Problem {
            dtype: self.io(),
            state_dtype: self.state,
            ..Problem::tokens(sizes, self.tokens())
        };
        match self.kind {
            Kind::Seed => Problem {
                head_map: HeadMap::Tiled,
                ..packed
            },
            _ => Problem {
                decay: Decay::Gate,
                beta_form: Beta::Sigmoid,
                norm: Norm::EpsInside(1e-6),
                ..packed
            },
        }
    }

    fn buffers(&self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let [keys, values, gates, states] = self.counts();
        let uniforms = |name: &str, count: usize, dtype: Dtype, low: f32, high: f32| -> Vec<f32> {
            let mut values = Random::named(seed, name).uniforms(count, low, high);
            values.iter_mut().for_each(|x| *x = dtype.round(*x));
            values
        };
        let io = self.io();
        // Keys of a finished norm are of unit length.
        let key = match self.kind {
            Kind::Seed => (3.0 / self.dim as f32).sqrt(),
            _ => 1.0,
        };
        let gate = match self.kind {
            Kind::Seed => (0.5, 1.0),
            _ => (-2.0, 2.0),
        };
        let state = uniforms("state", states, self.state, -1.0, 1.0);
        let q = uniforms("q", keys, io, -key, key);
        let k = uniforms("k", keys, io, -key, key);
        let v = uniforms("v", values, io, -1.0, 1.0);
        let g = uniforms("g", gates, io, gate.0, gate.1);
        let beta = uniforms("beta", gates, io, gate.0, gate.1);
        let a_log = Random::named(seed, "a_log").uniforms(self.value_heads, -3.0, 1.0);
        let dt_bias = Random::named(seed, "dt_bias").uniforms(self.value_heads, -1.0, 1.0);
        let (after, out) = match oracle {
            Oracle::Skip => (state.clone(), vec![0.0; values]),
            Oracle::Run => {
                let problem = Problem {
                    q: &q,
                    k: &k,
                    v: &v,
                    g: &g,
                    beta: &beta,
                    a_log: &a_log,
                    dt_bias: &dt_bias,
                    ..self.problem()
                };
                let mut after = state.clone();
                let out = oracle::scan(&problem, &mut after).out;
                (after, out)
            }
        };
        let input = |name, values: &[f32]| match io {
            Dtype::F32 => Buffer::input(name, values),
            _ => Buffer::input(name, &parity::to_bf16(values)),
        };
        vec![
            match self.state {
                Dtype::F32 => Buffer::in_out("state", &state, &after),
                _ => Buffer::in_out("state", &parity::to_bf16(&state), &parity::to_bf16(&after)),
            },
            input("q", &q),
            input("k", &k),
            input("v", &v),
            input("g", &g),
            input("beta", &beta),
            Buffer::input("a_log", &a_log),
            Buffer::input("dt_bias", &dt_bias),
            match io {
                Dtype::F32 => Buffer::output("out", &out),
                _ => Buffer::output("out", &parity::to_bf16(&out)),
            },
        ]
    }

    fn params(&self, path: u32) -> ffi::gdn_scan_params {
        let p = self.problem();
        ffi::gdn_scan_params {
            struct_size: size_of::<ffi::gdn_scan_params>() as u32,
            dtype: p.dtype.code(),
            state_dtype: p.state_dtype.code(),
            layout: p.layout.code(),
            head_map: p.head_map.code(),
            decay_form: p.decay.code(),
            beta_form: p.beta_form.code(),
            norm: p.norm.code(),
            key_decay: 0,
            path: path as i32,
            has_scale: 0,
            scale: 0.0,
            norm_eps: p.norm.eps(),
            reserved: 0,
            sequences: p.sequences as i64,
            key_heads: p.key_heads as i64,
            value_heads: p.value_heads as i64,
            key_dim: p.key_dim as i64,
            value_dim: p.value_dim as i64,
            total_t: 0,
            max_t: p.max_t as i64,
            slots: p.slots as i64,
            slot_stride: 0,
            q_stride: 0,
            k_stride: 0,
            v_stride: 0,
            out_stride: 0,
            g_stride: 0,
            beta_stride: 0,
            snapshot_count: 0,
            snapshot_rows: 0,
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

    /// An entry that takes a params struct.
    fn general_entry(
        &self,
        library: &Library,
        entry: &'static str,
        path: u32,
    ) -> parity::Result<Prepared> {
        // SAFETY: the three entries have this one prototype in the header.
        let function = unsafe { library.function::<ffi::gdn_scan_fn>(entry)? };
        let params = self.params(path);
        let call = move |x: &[*mut c_void], stream| {
            let params = ffi::gdn_scan_params {
                state: x[0],
                q: x[1],
                k: x[2],
                v: x[3],
                g: x[4],
                beta: x[5],
                a_log: x[6].cast(),
                dt_bias: x[7].cast(),
                out: x[8],
                ..params
            };
            // SAFETY: bench-kit passes live buffers of the sizes above.
            unsafe { function(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    /// The seed's entry, or a design that it replaces.
    fn seed_entry(&self, library: &Library, entry: &'static str) -> parity::Result<Prepared> {
        // SAFETY: the three entries have this one prototype in the header.
        let step = unsafe { library.function::<ffi::gdn_scan_step_f32_fn>(entry)? };
        let [n_v, n_k, d] = [self.value_heads, self.key_heads, self.dim].map(|size| size as c_int);
        let call = move |x: &[*mut c_void], stream| {
            let f = |at: usize| x[at].cast::<f32>();
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe {
                step(
                    f(0),
                    f(1),
                    f(2),
                    f(3),
                    f(4),
                    f(5),
                    f(8),
                    n_v,
                    n_k,
                    d,
                    stream,
                )
            }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bench_kit::bench::class_name;
    use bench_kit::targets::Targets;

    #[test]
    fn every_row_of_the_targets_is_measured_and_no_other() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        let wanted: BTreeSet<_> = targets
            .rows
            .iter()
            .filter(|row| row.backend == "gdn-scan")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let measured: Vec<_> = benches()
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).into()))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(measured.len(), 15);
        assert_eq!(measured.into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn sets_hold_the_sizes_of_their_case_and_the_oracle_s_answer() {
        for bench in benches()
            .into_iter()
            .filter(|bench| bench.work.read < 1 << 22)
        {
            let without = (bench.build)(3, Oracle::Skip);
            let with = (bench.build)(3, Oracle::Run);
            let bytes = |buffers: &[Buffer], places: std::ops::Range<usize>| {
                buffers[places]
                    .iter()
                    .map(|buffer| buffer.initial.len() as u64)
                    .sum::<u64>()
            };
            for buffers in [&without, &with] {
                // A_log and dt_bias are read beside what counts.
                assert_eq!(bytes(buffers, 0..6), bench.work.read, "{}", bench.id);
                let written = bytes(buffers, 0..1) + bytes(buffers, 8..9);
                assert_eq!(written, bench.work.written, "{}", bench.id);
            }
            assert_eq!(without[0].initial, with[0].initial);
            assert_ne!(with[0].initial, *with[0].expected.as_ref().unwrap());
        }
    }

    #[test]
    fn the_replaced_designs_stand_beside_the_seed_s_step() {
        let baselines = |bench: &Bench| bench.others.iter().filter(|v| v.baseline).count();
        for bench in benches() {
            let seed = bench.id.starts_with("seed-");
            assert_eq!(baselines(&bench), if seed { 2 } else { 0 }, "{}", bench.id);
        }
    }
}
