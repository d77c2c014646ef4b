//! The suite of the readout that this kernel replaces: thirteen fixed cases, four batches and six
//! refused arguments, through its two entries.

use super::spec::{BLOCK, Spec};
use crate::oracle;
use crate::{Similarity, ffi};
use parity::{Buffer, Case, Instance, Library, Tags};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The arguments of the two entries.
#[derive(Clone, Copy)]
struct Arguments {
    batch: bool,
    questions: c_int,
    max_k: c_int,
    dim: c_int,
    scale: f32,
    temperature: f32,
    normalize: c_int,
}

impl Arguments {
    fn of(spec: &Spec, batch: bool) -> Arguments {
        Arguments {
            batch,
            questions: spec.questions as c_int,
            max_k: spec.max_k as c_int,
            dim: spec.dim as c_int,
            scale: spec.scale,
            temperature: spec.temperature,
            normalize: c_int::from(spec.similarity != Similarity::Dot),
        }
    }

    fn entry(self) -> &'static str {
        if self.batch {
            "cs_score_candidates_batch"
        } else {
            "cs_score_candidates"
        }
    }

    /// `pointers`: queries, candidates, probabilities, logits.
    fn call(
        self,
        library: &Library,
        pointers: [*mut c_void; 4],
        stream: *mut c_void,
    ) -> parity::Result<c_int> {
        let [queries, candidates, probabilities, logits] = pointers;
        let Arguments {
            questions,
            max_k,
            dim,
            scale,
            temperature,
            normalize,
            ..
        } = self;
        let (q, c) = (queries.cast_const().cast(), candidates.cast_const().cast());
        let (p, l) = (probabilities.cast(), logits.cast());
        if self.batch {
            // SAFETY: the type is the header's prototype.
            let score = unsafe {
                library.function::<ffi::cs_score_candidates_batch_fn>("cs_score_candidates_batch")
            }?;
            // SAFETY: live buffers of these sizes, or arguments that must be refused.
            Ok(unsafe {
                score(
                    q,
                    c,
                    p,
                    l,
                    questions,
                    max_k,
                    dim,
                    scale,
                    temperature,
                    normalize,
                    stream,
                )
            })
        } else {
            // SAFETY: the type is the header's prototype.
            let score =
                unsafe { library.function::<ffi::cs_score_candidates_fn>("cs_score_candidates") }?;
            // SAFETY: as above.
            Ok(unsafe {
                score(
                    q,
                    c,
                    p,
                    l,
                    max_k,
                    dim,
                    scale,
                    temperature,
                    normalize,
                    stream,
                )
            })
        }
    }
}

/// A call that must succeed. Logits are asked for, or null is passed for them.
fn scored(spec: Spec, batch: bool, logits: bool) -> Case {
    let arguments = Arguments::of(&spec, batch);
    let tags = if spec.max_k * spec.dim * spec.questions <= 40_000 {
        Tags::SIMULATE | Tags::SANITIZE
    } else {
        Tags::NONE
    };
    Case::exact(spec.id.clone(), arguments.entry(), move |variation| {
        let buffers = spec.with_problem(variation.seed, |data, problem| {
            let scores = oracle::score(problem);
            let mut buffers = vec![
                Buffer::input("queries", &data.queries),
                Buffer::input("candidates", &data.candidates),
                Buffer::output("probabilities", &scores.probabilities),
            ];
            if logits {
                buffers.push(Buffer::output("logits", &scores.logits));
            }
            buffers
        });
        Instance::new(buffers, move |library, x, stream| {
            let logits = x.get(3).copied().unwrap_or(ptr::null_mut());
            arguments.call(library, [x[0], x[1], x[2], logits], stream)
        })
    })
    .tagged(tags)
}

/// A refused call on buffers of a legal one.
fn refused(
    id: &str,
    code: i32,
    batch: bool,
    change: impl Fn(&mut Arguments, &mut [*mut c_void; 4]) + Send + Sync + Copy + 'static,
) -> Case {
    let spec = Spec::new(id, [1, 4, 8]).cosine();
    let legal = Arguments::of(&spec, batch);
    Case::exact(
        format!("seed-refuses-{id}"),
        legal.entry(),
        move |variation| {
            let data = spec.draw(variation.seed);
            let buffers = vec![
                Buffer::input("queries", &data.queries),
                Buffer::input("candidates", &data.candidates),
                Buffer::output_unwritten::<f32>("probabilities", 4),
                Buffer::output_unwritten::<f32>("logits", 4),
            ];
            Instance::new(buffers, move |library, x, stream| {
                let (mut arguments, mut pointers) = (legal, [x[0], x[1], x[2], x[3]]);
                change(&mut arguments, &mut pointers);
                arguments.call(library, pointers, stream)
            })
            .refused(code)
        },
    )
    .tagged(Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let random =
        |name: &str, k: usize, d: usize| Spec::new(format!("seed-{name}-{k}x{d}"), [1, k, d]);
    let fixed = [
        random("random-cosine", 5, 512).cosine(),
        random("random-cosine", 64, 512).cosine().scaled(20.0, 0.7),
        random("random-cosine", 17, 100).cosine().scaled(14.3, 2.4),
        random("random-cosine", 2, 384).cosine(),
        random("random-dot", 5, 256),
        random("random-dot", 64, 256).scaled(0.0625, 2.406_05),
        random("random-dot", 31, 33),
        random("random-dot", 3, 2560),
        random("single", 1, 512).cosine(),
        random("identical", 7, 64).cosine().edit(|data| {
            for row in 1..7 {
                data.candidates.copy_within(0..64, row * 64);
            }
        }),
        random("zero-candidate", 5, 64)
            .cosine()
            .edit(|data| data.candidate(2).fill(0.0)),
        random("most-candidates", 255, 512).cosine(),
        // Logits in the thousands, where exp without the shift by the maximum overflows.
        random("overflow-prone-logits", 16, 64).scaled(1000.0, 0.5),
    ];
    let mut cases: Vec<Case> = fixed
        .into_iter()
        .map(|spec| scored(spec, false, true))
        .collect();
    for [q, k, d] in [[1, 4, 256], [8, 4, 256], [4, 17, 64], [3, 255, 32]] {
        let name = |kind: &str| format!("seed-batch-{kind}-{q}x{k}x{d}");
        cases.push(scored(Spec::new(name("dot"), [q, k, d]), true, false));
        cases.push(scored(
            Spec::new(name("cosine"), [q, k, d]).cosine(),
            true,
            true,
        ));
    }
    // 1000 * kind + argument of the header: size 2, value 3, null 1.
    cases.extend([
        refused("256-candidates", 2009, false, |a, _| a.max_k = 256),
        refused("no-candidates", 2009, false, |a, _| a.max_k = 0),
        refused("dim-0", 2012, false, |a, _| a.dim = 0),
        refused("scale-0", 3016, false, |a, _| a.scale = 0.0),
        refused("temperature-minus-1", 3017, false, |a, _| {
            a.temperature = -1.0
        }),
        refused("null-query", 1019, false, |_, x| x[0] = ptr::null_mut()),
        refused("batch-256-candidates", 2009, true, |a, _| a.max_k = 256),
        refused("batch-minus-1-candidates", 2009, true, |a, _| a.max_k = -1),
        refused("batch-dim-minus-1", 2012, true, |a, _| a.dim = -1),
        refused("batch-no-questions", 2008, true, |a, _| a.questions = 0),
        refused("batch-minus-1-questions", 2008, true, |a, _| {
            a.questions = -1
        }),
        refused("batch-nan-scale", 3016, true, |a, _| a.scale = f32::NAN),
        refused("batch-infinite-scale", 3016, true, |a, _| {
            a.scale = f32::INFINITY
        }),
        refused("batch-infinite-temperature", 3017, true, |a, _| {
            a.temperature = f32::INFINITY
        }),
        refused("batch-subnormal-temperature", 3017, true, |a, _| {
            a.temperature = 1e-39
        }),
        refused("batch-null-queries", 1019, true, |_, x| {
            x[0] = ptr::null_mut()
        }),
        refused("batch-null-candidates", 1020, true, |_, x| {
            x[1] = ptr::null_mut()
        }),
        refused("batch-null-probabilities", 1029, true, |_, x| {
            x[2] = ptr::null_mut()
        }),
        refused("batch-logits-on-probabilities", 7030, true, |_, x| {
            x[3] = x[2]
        }),
        refused("batch-probabilities-on-queries", 7029, true, |_, x| {
            x[2] = x[0]
        }),
    ]);
    cases.extend(shapes());
    cases
}

/// The shapes that the bench times, so that what is timed has been compared.
fn shapes() -> Vec<Case> {
    let clm = |name: &str, q, k, d| Spec::new(name, [q, k, d]).cosine();
    let mut cases = vec![
        clm("clm-cosine-5x512", 1, 5, 512).case(),
        clm("clm-cosine-64x512", 1, 64, 512).case(),
        clm("clm-cosine-255x512", 1, 255, 512).case(),
        clm("clm-cosine-batch8-255x512", 8, 255, 512).case(),
        Spec::new("kev-dot-255x256", [1, 255, 256])
            .scaled(0.0625, 2.406_05)
            .case(),
        Spec::new("kev-dot-255x2560", [1, 255, 2560]).case(),
        clm("cosine-4096x1024", 1, 4096, 1024).case(),
        clm("cosine-65536x1024", 1, 65536, 1024).case(),
    ];
    // As many questions as fill the GPU: the paths of one question differ in nothing here.
    let filling = clm("clm-cosine-batch256-255x512", 256, 255, 512).case();
    cases.push(filling.on_paths(&[parity::Path::AUTOMATIC, BLOCK]));
    cases
}
