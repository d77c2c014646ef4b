//! The designs that the bench compares with: within a bound of the f64 formula.

use super::spec::Spec;
use crate::{Similarity, ffi, oracle};
use parity::{Buffer, Case, Class, Element, Instance, Tags};
use std::ffi::{c_int, c_void};

/// The formula's bound is for 32 lanes of four chains; these sum in chains of up to D and K terms.
const LONGER_CHAINS: f64 = 128.0;

/// The sanitizers watch cases of up to so many candidate elements.
const WATCHED_ELEMENTS: usize = 100_000;

#[derive(Clone, Copy)]
enum Baseline {
    OneBlock { threads: c_int },
    Unfused,
}

fn case(spec: Spec, baseline: Baseline) -> Case {
    let (entry, name, nodes) = match baseline {
        Baseline::OneBlock { threads: 256 } => ("cs_baseline_one_block", "one-block-256", 1),
        Baseline::OneBlock { .. } => ("cs_baseline_one_block", "one-block-1024", 1),
        // The pass for the norms is the cosine's.
        Baseline::Unfused if matches!(spec.similarity, Similarity::Cosine { .. }) => {
            ("cs_baseline_unfused", "unfused", 3)
        }
        Baseline::Unfused => ("cs_baseline_unfused", "unfused", 2),
    };
    let id = format!("baseline-{name}-{}", spec.id);
    let workspace_bytes = spec.questions * (1 + 2 * spec.max_k) * size_of::<f32>();
    // One block reads all of a question: minutes under racecheck where that is much.
    let tags = match spec.questions * spec.max_k * spec.dim {
        0..=WATCHED_ELEMENTS => Tags::SANITIZE,
        _ => Tags::NONE,
    };
    Case::exact(id, entry, move |variation| {
        let mut buffers = spec.with_problem(variation.seed, |data, problem| {
            let expected = oracle::reference(problem).probabilities;
            vec![
                Buffer::input("queries", &data.queries),
                Buffer::input("candidates", &data.candidates),
                Buffer::output_bound(
                    "probabilities",
                    Element::F32,
                    expected.iter().map(|p| p.value).collect(),
                    expected.iter().map(|p| p.bound * LONGER_CHAINS).collect(),
                ),
            ]
        });
        if matches!(baseline, Baseline::Unfused) {
            buffers.push(Buffer::workspace("workspace", workspace_bytes));
        }
        let spec = spec.clone();
        let sizes = [spec.questions, spec.max_k, spec.dim].map(|size| size as c_int);
        let normalize = c_int::from(spec.similarity != Similarity::Dot);
        Instance::new(buffers, move |library, x, stream| {
            let [q, k, d] = sizes;
            let (queries, candidates) = (x[0].cast_const().cast(), x[1].cast_const().cast());
            let (p, scale, temperature) = (x[2].cast(), spec.scale, spec.temperature);
            match baseline {
                Baseline::OneBlock { threads } => {
                    // SAFETY: the type is the header's prototype.
                    let score = unsafe {
                        library.function::<ffi::cs_baseline_one_block_fn>("cs_baseline_one_block")
                    }?;
                    // SAFETY: the runner passes live buffers of these sizes.
                    Ok(unsafe {
                        score(
                            queries,
                            candidates,
                            p,
                            q,
                            k,
                            d,
                            scale,
                            temperature,
                            normalize,
                            threads,
                            stream,
                        )
                    })
                }
                Baseline::Unfused => {
                    let workspace: *mut c_void = x[3];
                    // SAFETY: the type is the header's prototype.
                    let score = unsafe {
                        library.function::<ffi::cs_baseline_unfused_fn>("cs_baseline_unfused")
                    }?;
                    // SAFETY: as above.
                    Ok(unsafe {
                        score(
                            queries,
                            candidates,
                            p,
                            q,
                            k,
                            d,
                            scale,
                            temperature,
                            normalize,
                            workspace,
                            workspace_bytes,
                            stream,
                        )
                    })
                }
            }
        })
        .nodes(nodes)
    })
    .of_class(Class::Tolerance)
    .tagged(tags)
}

pub(super) fn cases() -> Vec<Case> {
    let baselines = [
        Baseline::OneBlock { threads: 256 },
        Baseline::OneBlock { threads: 1024 },
        Baseline::Unfused,
    ];
    let mut cases = Vec::new();
    for baseline in baselines {
        for [q, k, d] in [[1, 5, 512], [3, 64, 100], [8, 255, 256], [2, 1000, 33]] {
            let name = |kind: &str| format!("{kind}-{q}x{k}x{d}");
            cases.push(case(
                Spec::new(name("cosine"), [q, k, d]).cosine(),
                baseline,
            ));
            cases.push(case(Spec::new(name("dot"), [q, k, d]), baseline));
        }
    }
    cases
}
