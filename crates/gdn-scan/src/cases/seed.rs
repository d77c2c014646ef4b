//! The seed's entry and the designs it replaces: one step, and many in a row.

use super::spec::Spec;
use crate::{HeadMap, ffi, oracle};
use parity::{Buffer, Case, Instance, Tags};
use std::ffi::c_int;

type Function = ffi::gdn_scan_step_f32_fn;

const ENTRIES: [(&str, &str); 3] = [
    ("gdn_scan_step_f32", "seed"),
    ("gdn_baseline_four_pass", "baseline-four-pass"),
    ("gdn_baseline_two_pass", "baseline-two-pass"),
];

/// `steps` calls one after another on one state; o of each is kept.
fn case(entry: &'static str, name: &str, sizes: [usize; 3], steps: usize) -> Case {
    let [n_v, n_k, d] = sizes;
    named(
        format!("{name}-{n_v}x{n_k}x{d}-steps-{steps}"),
        entry,
        sizes,
        steps,
    )
}

fn named(id: String, entry: &'static str, [n_v, n_k, d]: [usize; 3], steps: usize) -> Case {
    let spec = Spec::step(id.clone(), [steps, n_k, n_v, d, d])
        .change(|spec| spec.head_map = HeadMap::Tiled);
    let work = steps * n_v * d * d;
    Case::exact(id, entry, move |variation| {
        let data = spec.draw(variation.seed);
        let mut problem = spec.problem(&data);
        // The rows of a batch, as the tokens of one sequence.
        (problem.sequences, problem.max_t) = (1, steps);
        let before = data.state[..n_v * d * d].to_vec();
        let mut after = before.clone();
        let results = oracle::scan(&problem, &mut after);
        let buffers = vec![
            Buffer::in_out("state", &before, &after),
            Buffer::input("q", &data.q),
            Buffer::input("k", &data.k),
            Buffer::input("v", &data.v),
            Buffer::input("g", &data.g),
            Buffer::input("beta", &data.beta),
            Buffer::output("out", &results.out),
        ];
        Instance::new(buffers, move |library, x, stream| {
            // SAFETY: the three entries have this one prototype in the header.
            let step = unsafe { library.function::<Function>(entry) }?;
            let sizes = [n_v, n_k, d].map(|size| size as c_int);
            for t in 0..steps {
                let row = |at: usize, elements: usize| -> *mut f32 {
                    x[at].cast::<f32>().wrapping_add(t * elements)
                };
                // SAFETY: the runner passes live buffers of `steps` rows of these sizes.
                let code = unsafe {
                    step(
                        x[0].cast(),
                        row(1, n_k * d),
                        row(2, n_k * d),
                        row(3, n_v * d),
                        row(4, n_v),
                        row(5, n_v),
                        row(6, n_v * d),
                        sizes[0],
                        sizes[1],
                        sizes[2],
                        stream,
                    )
                };
                if code != 0 {
                    return Ok(code);
                }
            }
            Ok(0)
        })
        .nodes(if n_v == 0 { 0 } else { steps })
    })
    .tagged(if work <= 70_000 {
        Tags::SIMULATE | Tags::SANITIZE
    } else {
        Tags::NONE
    })
}

/// A case that must be refused: the legal call with other sizes.
fn refused(id: &str, code: u32, [n_v, n_k, d]: [c_int; 3]) -> Case {
    Case::exact(
        format!("refuses-seed-{id}"),
        "gdn_scan_step_f32",
        move |_| {
            let mut buffers: Vec<Buffer> = ["q", "k", "v", "g", "beta"]
                .into_iter()
                .map(|name| Buffer::input(name, &[1.0f32; 32]))
                .collect();
            buffers.push(Buffer::output_unwritten::<f32>("state", 64));
            buffers.push(Buffer::output_unwritten::<f32>("out", 32));
            Instance::new(buffers, move |library, x, stream| {
                // SAFETY: the type is the header's prototype.
                let step = unsafe { library.function::<Function>("gdn_scan_step_f32") }?;
                let f = |at: usize| x[at].cast::<f32>();
                // SAFETY: the call must be refused before it looks at a buffer.
                Ok(unsafe {
                    step(
                        f(5),
                        f(0),
                        f(1),
                        f(2),
                        f(3),
                        f(4),
                        f(6),
                        n_v,
                        n_k,
                        d,
                        stream,
                    )
                })
            })
            .refused(code as c_int)
        },
    )
    .tagged(Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (entry, name) in ENTRIES {
        cases.push(case(entry, name, [2, 1, 4], 5));
        cases.push(case(entry, name, [4, 2, 8], 64));
        cases.push(case(entry, name, [3, 3, 33], 2));
        cases.push(case(entry, name, [2, 1, 128], 2));
        cases.push(case(entry, name, [32, 16, 128], 4));
    }
    cases.push(case(ENTRIES[0].0, ENTRIES[0].1, [2, 2, 128], 64));
    // The bench's.
    cases.push(named(
        "seed-step-16x48-128-f32".into(),
        ENTRIES[0].0,
        [48, 16, 128],
        1,
    ));
    cases.push(case(ENTRIES[0].0, ENTRIES[0].1, [3, 1, 256], 2));
    cases.push(case(ENTRIES[0].0, ENTRIES[0].1, [5, 1, 1], 3));
    cases.push(case(ENTRIES[0].0, ENTRIES[0].1, [0, 1, 4], 1));
    const SIZE: u32 = 2000;
    cases.extend([
        refused("heads-minus-1", SIZE + ffi::GDN_ARG_n_v, [-1, 1, 4]),
        refused("heads-3-of-2", SIZE + ffi::GDN_ARG_n_k, [3, 2, 4]),
        refused("key-heads-0", SIZE + ffi::GDN_ARG_n_k, [2, 0, 4]),
        refused("d-0", SIZE + ffi::GDN_ARG_d, [2, 1, 0]),
        refused("d-257", SIZE + ffi::GDN_ARG_d, [2, 1, 257]),
    ]);
    cases
}
