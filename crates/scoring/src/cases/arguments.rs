//! Host arguments: every way to be refused, each with its code, on buffers of a legal call; and
//! legal calls at the edge of being refused.

use super::spec::*;
use crate::ffi::*;
use parity::{Buffer, Case, Instance, Path, Role, Tags};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

// The kinds of refusal, as `ck/status.h` numbers them; the argument's number is added.
const NULL_POINTER: u32 = 1000;
const BAD_SIZE: u32 = 2000;
const BAD_VALUE: u32 = 3000;
const BAD_ENUM: u32 = 4000;
const BAD_STRIDE: u32 = 5000;
const BAD_STRUCT: u32 = 6000;
const OVERLAP: u32 = 7000;
const UNSUPPORTED: u32 = 8000;
const BAD_WORKSPACE: u32 = 9000;
const MISALIGNED: u32 = 10_000;

const QUESTIONS: usize = 3;
const K: usize = 6;
const DIM: usize = 8;
/// Beyond every extent's limit.
const TOO_LARGE: i64 = 1 << 31;
/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

type Alter = fn(&mut cs_score_params);

/// A legal call on which everything optional is present.
fn legal(id: String, arrange: Arrange) -> Spec {
    let inputs = MASK | BIAS | SCALES | TEMPERATURES;
    Spec::new(id, [QUESTIONS, K, DIM])
        .arrange(arrange)
        .cosine()
        .every_output()
        .with(inputs | QUERY_INVERSE_NORMS | CANDIDATE_INVERSE_NORMS | WORKSPACE)
}

/// A refused call writes nothing.
fn leave_unwritten(buffers: &mut [Buffer]) {
    for buffer in buffers {
        if matches!(buffer.role, Role::Output | Role::InOut) {
            buffer.expected = Some(buffer.initial.clone());
            buffer.untouched.clear();
            buffer.untouched.push(0..buffer.count());
        }
    }
}

/// The altered call is refused with `code`, on the path that the spec's cases run first.
fn refused(spec: Spec, code: u32, alter: Alter) -> Case {
    Case::exact(spec.id.clone(), "cs_score", move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation));
        leave_unwritten(&mut buffers);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            alter(&mut params);
            score(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn dense(id: &str, code: u32, alter: Alter) -> Case {
    refused(legal(format!("refuses-{id}"), Arrange::Dense), code, alter)
}

fn shared(id: &str, code: u32, alter: Alter) -> Case {
    refused(legal(format!("refuses-{id}"), Arrange::Shared), code, alter)
}

fn ragged(id: &str, code: u32, alter: Alter) -> Case {
    refused(
        legal(format!("refuses-{id}"), Arrange::Ragged(vec![2, 0, 6])),
        code,
        alter,
    )
}

fn indexed(id: &str, code: u32, alter: Alter) -> Case {
    let arrange = Arrange::RaggedIndexed(vec![2, 0, 6]);
    refused(legal(format!("refuses-{id}"), arrange), code, alter)
}

fn sizes_and_enums() -> Vec<Case> {
    vec![
        dense("struct-size-0", BAD_STRUCT + CS_ARG_struct_size, |p| {
            p.struct_size = 0
        }),
        dense("struct-size-short", BAD_STRUCT + CS_ARG_struct_size, |p| {
            p.struct_size -= 8
        }),
        dense("struct-size-long", BAD_STRUCT + CS_ARG_struct_size, |p| {
            p.struct_size += 8
        }),
        dense("dtype-3", BAD_ENUM + CS_ARG_dtype, |p| p.dtype = 3),
        dense("dtype-minus-1", BAD_ENUM + CS_ARG_dtype, |p| p.dtype = -1),
        dense("similarity-2", BAD_ENUM + CS_ARG_similarity, |p| {
            p.similarity = 2
        }),
        dense("similarity-minus-1", BAD_ENUM + CS_ARG_similarity, |p| {
            p.similarity = -1
        }),
        dense("layout-4", BAD_ENUM + CS_ARG_layout, |p| p.layout = 4),
        dense("layout-minus-1", BAD_ENUM + CS_ARG_layout, |p| {
            p.layout = -1
        }),
        dense("path-3", BAD_ENUM + CS_ARG_path, |p| p.path = 3),
        dense("path-minus-1", BAD_ENUM + CS_ARG_path, |p| p.path = -1),
        dense("path-35", BAD_ENUM + CS_ARG_path, |p| p.path = 35),
        dense("top-k-33", BAD_SIZE + CS_ARG_top_k, |p| p.top_k = 33),
        dense("top-k-minus-1", BAD_SIZE + CS_ARG_top_k, |p| p.top_k = -1),
        dense("questions-minus-1", BAD_SIZE + CS_ARG_questions, |p| {
            p.questions = -1
        }),
        dense("questions-too-many", BAD_SIZE + CS_ARG_questions, |p| {
            p.questions = TOO_LARGE
        }),
        dense("no-candidates", BAD_SIZE + CS_ARG_max_k, |p| p.max_k = 0),
        dense("max-k-minus-1", BAD_SIZE + CS_ARG_max_k, |p| p.max_k = -1),
        dense("max-k-too-large", BAD_SIZE + CS_ARG_max_k, |p| {
            p.max_k = TOO_LARGE
        }),
        shared("shared-max-k-minus-1", BAD_SIZE + CS_ARG_max_k, |p| {
            p.max_k = -1
        }),
        ragged("ragged-max-k-minus-1", BAD_SIZE + CS_ARG_max_k, |p| {
            p.max_k = -1
        }),
        ragged("sum-k-minus-1", BAD_SIZE + CS_ARG_sum_k, |p| p.sum_k = -1),
        ragged("sum-k-too-large", BAD_SIZE + CS_ARG_sum_k, |p| {
            p.sum_k = TOO_LARGE
        }),
        indexed("table-rows-minus-1", BAD_SIZE + CS_ARG_table_rows, |p| {
            p.table_rows = -1
        }),
        indexed("table-too-long", BAD_SIZE + CS_ARG_table_rows, |p| {
            p.table_rows = TOO_LARGE
        }),
        dense("dim-0", BAD_SIZE + CS_ARG_dim, |p| p.dim = 0),
        dense("dim-minus-1", BAD_SIZE + CS_ARG_dim, |p| p.dim = -1),
        dense("dim-too-large", BAD_SIZE + CS_ARG_dim, |p| {
            p.dim = TOO_LARGE
        }),
        dense("query-stride-7", BAD_STRIDE + CS_ARG_query_stride, |p| {
            p.query_stride = 7
        }),
        dense(
            "query-stride-minus-8",
            BAD_STRIDE + CS_ARG_query_stride,
            |p| p.query_stride = -8,
        ),
        dense(
            "query-stride-absurd",
            BAD_STRIDE + CS_ARG_query_stride,
            |p| {
                p.query_stride = ABSURD;
            },
        ),
        dense(
            "candidate-stride-7",
            BAD_STRIDE + CS_ARG_candidate_stride,
            |p| {
                p.candidate_stride = 7;
            },
        ),
        dense(
            "candidate-stride-minus-8",
            BAD_STRIDE + CS_ARG_candidate_stride,
            |p| {
                p.candidate_stride = -8;
            },
        ),
        ragged(
            "candidate-stride-absurd",
            BAD_STRIDE + CS_ARG_candidate_stride,
            |p| {
                p.candidate_stride = ABSURD;
            },
        ),
        dense(
            "question-stride-1",
            BAD_STRIDE + CS_ARG_question_stride,
            |p| {
                p.question_stride = 1;
            },
        ),
        dense(
            "question-stride-negative",
            BAD_STRIDE + CS_ARG_question_stride,
            |p| {
                p.question_stride = -48;
            },
        ),
        dense(
            "question-stride-absurd",
            BAD_STRIDE + CS_ARG_question_stride,
            |p| {
                p.question_stride = ABSURD;
            },
        ),
    ]
}

fn scalars() -> Vec<Case> {
    let values: [(&str, Alter, Alter); 6] = [
        ("nan", |p| p.scale = f32::NAN, |p| p.temperature = f32::NAN),
        (
            "infinite",
            |p| p.scale = f32::INFINITY,
            |p| p.temperature = f32::INFINITY,
        ),
        ("zero", |p| p.scale = 0.0, |p| p.temperature = 0.0),
        ("minus-zero", |p| p.scale = -0.0, |p| p.temperature = -0.0),
        ("negative", |p| p.scale = -1.0, |p| p.temperature = -1.0),
        // 2^-128, whose inverse is beyond f32.
        (
            "too-small",
            |p| p.scale = f32::from_bits(1 << 21),
            |p| p.temperature = f32::from_bits(1 << 21),
        ),
    ];
    let plain = |id: String| Spec::new(id, [QUESTIONS, K, DIM]).cosine().every_output();
    let mut cases = Vec::new();
    for (name, scale, temperature) in values {
        let id = format!("refuses-scale-{name}");
        cases.push(refused(plain(id), BAD_VALUE + CS_ARG_scale, scale));
        let id = format!("refuses-temperature-{name}");
        cases.push(refused(
            plain(id),
            BAD_VALUE + CS_ARG_temperature,
            temperature,
        ));
    }
    let eps: [(&str, Alter); 4] = [
        ("nan", |p| p.eps = f32::NAN),
        ("infinite", |p| p.eps = f32::INFINITY),
        ("negative", |p| p.eps = -1e-12),
        ("minus-infinite", |p| p.eps = f32::NEG_INFINITY),
    ];
    for (name, alter) in eps {
        let id = format!("refuses-eps-{name}");
        cases.push(refused(plain(id), BAD_VALUE + CS_ARG_eps, alter));
    }
    cases
}

fn pointers() -> Vec<Case> {
    /// A pointer one byte further: no element type but u8 is aligned there.
    fn off<T>(pointer: *const T) -> *const T {
        pointer.wrapping_byte_add(1)
    }
    fn off_mut<T>(pointer: *mut T) -> *mut T {
        pointer.wrapping_byte_add(1)
    }
    let mut cases = vec![
        dense("null-queries", NULL_POINTER + CS_ARG_queries, |p| {
            p.queries = null()
        }),
        dense("null-candidates", NULL_POINTER + CS_ARG_candidates, |p| {
            p.candidates = null()
        }),
        ragged("null-offsets", NULL_POINTER + CS_ARG_offsets, |p| {
            p.offsets = null()
        }),
        indexed("null-indices", NULL_POINTER + CS_ARG_indices, |p| {
            p.indices = null()
        }),
        dense("no-output", NULL_POINTER + CS_ARG_probabilities, |p| {
            p.probabilities = null_mut();
            p.logits = null_mut();
            p.log_probabilities = null_mut();
            p.log_sum_exp = null_mut();
            p.argmax = null_mut();
            p.top_values = null_mut();
            p.top_indices = null_mut();
            p.expected_index = null_mut();
            p.status = null_mut();
        }),
    ];
    let misaligned: [(&str, u32, Alter); 18] = [
        ("queries", CS_ARG_queries, |p| p.queries = off(p.queries)),
        ("candidates", CS_ARG_candidates, |p| {
            p.candidates = off(p.candidates)
        }),
        ("offsets", CS_ARG_offsets, |p| p.offsets = off(p.offsets)),
        ("indices", CS_ARG_indices, |p| p.indices = off(p.indices)),
        ("bias", CS_ARG_bias, |p| p.bias = off(p.bias)),
        ("scales", CS_ARG_scales, |p| p.scales = off(p.scales)),
        ("temperatures", CS_ARG_temperatures, |p| {
            p.temperatures = off(p.temperatures)
        }),
        ("query-inverse-norms", CS_ARG_query_inverse_norms, |p| {
            p.query_inverse_norms = off(p.query_inverse_norms);
        }),
        (
            "candidate-inverse-norms",
            CS_ARG_candidate_inverse_norms,
            |p| {
                p.candidate_inverse_norms = off(p.candidate_inverse_norms);
            },
        ),
        ("probabilities", CS_ARG_probabilities, |p| {
            p.probabilities = off_mut(p.probabilities)
        }),
        ("logits", CS_ARG_logits, |p| p.logits = off_mut(p.logits)),
        ("log-probabilities", CS_ARG_log_probabilities, |p| {
            p.log_probabilities = off_mut(p.log_probabilities);
        }),
        ("log-sum-exp", CS_ARG_log_sum_exp, |p| {
            p.log_sum_exp = off_mut(p.log_sum_exp)
        }),
        ("argmax", CS_ARG_argmax, |p| p.argmax = off_mut(p.argmax)),
        ("top-values", CS_ARG_top_values, |p| {
            p.top_values = off_mut(p.top_values)
        }),
        ("top-indices", CS_ARG_top_indices, |p| {
            p.top_indices = off_mut(p.top_indices)
        }),
        ("expected-index", CS_ARG_expected_index, |p| {
            p.expected_index = off_mut(p.expected_index);
        }),
        ("status", CS_ARG_status, |p| p.status = off_mut(p.status)),
    ];
    for (name, argument, alter) in misaligned {
        cases.push(indexed(
            &format!("misaligned-{name}"),
            MISALIGNED + argument,
            alter,
        ));
    }
    cases.push(dense(
        "misaligned-workspace",
        MISALIGNED + CS_ARG_workspace,
        |p| {
            p.workspace = p.workspace.wrapping_byte_add(8);
            p.workspace_bytes -= 16;
        },
    ));
    for (dtype, name) in [(Dtype::Bf16, "bf16"), (Dtype::F16, "f16")] {
        let spec = |argument: &str| {
            legal(
                format!("refuses-misaligned-{name}-{argument}"),
                Arrange::Dense,
            )
            .dtype(dtype)
        };
        cases.push(refused(spec("queries"), MISALIGNED + CS_ARG_queries, |p| {
            p.queries = off(p.queries);
        }));
        cases.push(refused(
            spec("candidates"),
            MISALIGNED + CS_ARG_candidates,
            |p| {
                p.candidates = off(p.candidates);
            },
        ));
    }
    cases.push(Case::exact("refuses-null-params", "cs_score", |_| {
        let probabilities = Buffer::output_unwritten::<f32>("probabilities", 4);
        Instance::new(vec![probabilities], |library, _, stream| {
            // SAFETY: the type is the header's prototype.
            let score = unsafe { library.function::<cs_score_fn>("cs_score") }?;
            // SAFETY: null params must be refused.
            Ok(unsafe { score(null(), stream) })
        })
        .refused((NULL_POINTER + CS_ARG_params) as c_int)
    }));
    cases
}

fn overlaps() -> Vec<Case> {
    let overlapping: [(&str, u32, Alter); 15] = [
        ("probabilities-on-queries", CS_ARG_probabilities, |p| {
            p.probabilities = p.queries.cast_mut().cast();
        }),
        ("probabilities-on-candidates", CS_ARG_probabilities, |p| {
            p.probabilities = p.candidates.cast_mut().cast();
        }),
        // One element: the last of the candidates, the first of the output.
        (
            "probabilities-on-the-last-candidate",
            CS_ARG_probabilities,
            |p| {
                let last = p.table_rows * p.dim - 1;
                p.probabilities = p
                    .candidates
                    .cast_mut()
                    .cast::<f32>()
                    .wrapping_add(last as usize);
            },
        ),
        ("probabilities-on-bias", CS_ARG_probabilities, |p| {
            p.probabilities = p.bias.cast_mut()
        }),
        ("logits-on-offsets", CS_ARG_logits, |p| {
            p.logits = p.offsets.cast_mut().cast()
        }),
        ("logits-on-indices", CS_ARG_logits, |p| {
            p.logits = p.indices.cast_mut().cast()
        }),
        ("logits-on-probabilities", CS_ARG_logits, |p| {
            p.logits = p.probabilities
        }),
        ("logits-on-the-last-probability", CS_ARG_logits, |p| {
            p.logits = p.probabilities.wrapping_add(p.sum_k as usize - 1);
        }),
        (
            "log-probabilities-on-logits",
            CS_ARG_log_probabilities,
            |p| {
                p.log_probabilities = p.logits;
            },
        ),
        ("log-sum-exp-on-scales", CS_ARG_log_sum_exp, |p| {
            p.log_sum_exp = p.scales.cast_mut()
        }),
        ("argmax-on-log-sum-exp", CS_ARG_argmax, |p| {
            p.argmax = p.log_sum_exp.cast()
        }),
        ("top-values-on-candidate-norms", CS_ARG_top_values, |p| {
            p.top_values = p.candidate_inverse_norms.cast_mut();
        }),
        ("top-indices-on-top-values", CS_ARG_top_indices, |p| {
            p.top_indices = p.top_values.wrapping_add(3).cast();
        }),
        (
            "expected-index-on-query-norms",
            CS_ARG_expected_index,
            |p| {
                p.expected_index = p.query_inverse_norms.cast_mut();
            },
        ),
        ("status-on-argmax", CS_ARG_status, |p| {
            p.status = p.argmax.cast()
        }),
    ];
    let mut cases: Vec<Case> = overlapping
        .into_iter()
        .map(|(name, argument, alter)| indexed(name, OVERLAP + argument, alter))
        .collect();
    cases.push(adjacent());
    cases
}

/// Outputs that touch without a common byte are legal.
fn adjacent() -> Case {
    let spec = Spec::new("adjacent-outputs-do-not-overlap", [QUESTIONS, K, DIM]).cosine();
    Case::exact(spec.id.clone(), "cs_score", move |variation| {
        let buffers = spec.with_problem(variation.seed, |data, problem| {
            let scores = crate::oracle::score(problem);
            vec![
                Buffer::input("queries", &data.queries),
                Buffer::input("candidates", &data.candidates),
                Buffer::output("outputs", &[scores.probabilities, scores.logits].concat()),
            ]
        });
        let spec = spec.clone();
        Instance::new(buffers, move |library, x, stream| {
            let mut params = spec.params(0);
            params.queries = x[0];
            params.candidates = x[1];
            params.probabilities = x[2].cast();
            params.logits = params.probabilities.wrapping_add(QUESTIONS * K);
            score(library, &params, stream)
        })
    })
    .tagged(Tags::SIMULATE)
}

fn workspaces() -> Vec<Case> {
    let spec = |name: &str, k: usize| {
        Spec::new(format!("refuses-{name}"), [1, k, DIM])
            .cosine()
            .with(WORKSPACE)
    };
    let none: Alter = |p| {
        p.workspace = null_mut();
        p.workspace_bytes = 0;
    };
    let on = |case: Case, path: Path| case.on_paths(&[path]);
    let unsupported = UNSUPPORTED + CS_ARG_path;
    let mut cases = vec![
        refused(
            spec("4097-candidates-without-workspace", 4097),
            BAD_WORKSPACE + CS_ARG_workspace,
            none,
        ),
        refused(
            spec("4097-candidates-with-an-empty-workspace", 4097),
            BAD_WORKSPACE + CS_ARG_workspace_bytes,
            |p| p.workspace_bytes = 0,
        ),
        on(
            refused(spec("spread-without-workspace", 64), unsupported, none),
            SPREAD,
        ),
        on(
            refused(spec("two-nodes-without-workspace", 64), unsupported, none),
            TWO_NODES,
        ),
        on(
            refused(spec("sweep-without-workspace", 64), unsupported, none),
            SWEEP,
        ),
        on(
            refused(
                spec("65537-candidates-on-sweep", 65_537).with(WORKSPACE),
                unsupported,
                none,
            ),
            SWEEP,
        ),
    ];
    // Beyond one node, the paths of one node are refused.
    for path in [BLOCK, CLUSTER_2, CLUSTER_4, CLUSTER_8, CLUSTER_16, SPREAD] {
        let name = format!("4097-candidates-on-{}", path.name);
        cases.push(on(refused(spec(&name, 4097), unsupported, |_| {}), path));
    }
    // So is the spread path beyond its table of logits: 3 * 4096 candidates.
    let many = Spec::new("refuses-12288-candidates-on-spread", [3, 4096, DIM]).with(WORKSPACE);
    cases.push(on(refused(many, unsupported, |_| {}), SPREAD));
    // What the library asks for is enough, and a byte less is not.
    for (k, path) in [
        (64, SPREAD),
        (4096, SPREAD),
        (64, TWO_NODES),
        (5000, TWO_NODES),
        (5000, Path::AUTOMATIC),
    ] {
        for enough in [true, false] {
            let said = if enough { "as-asked" } else { "a-byte-short" };
            let id = format!("workspace-{said}-{k}-{}", path.name);
            let spec = Spec::new(id, [2, k, DIM]).cosine().with(WORKSPACE);
            cases.push(asked(spec, enough, path));
        }
    }
    for (k, path) in [(64, SWEEP), (5000, Path::AUTOMATIC)] {
        for enough in [true, false] {
            let said = if enough { "as-asked" } else { "a-byte-short" };
            let id = format!("workspace-{said}-one-question-{k}-{}", path.name);
            let spec = Spec::new(id, [1, k, DIM]).cosine().with(WORKSPACE);
            cases.push(asked(spec, enough, path));
        }
    }
    let two = Spec::new("refuses-two-questions-on-sweep", [2, 64, DIM]).with(WORKSPACE);
    cases.push(on(refused(two, unsupported, |_| {}), SWEEP));
    cases
}

/// Passes the size that `cs_score_workspace_bytes` returns, or one byte less.
fn asked(spec: Spec, enough: bool, path: Path) -> Case {
    Case::exact(spec.id.clone(), "cs_score", move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation));
        if !enough {
            leave_unwritten(&mut buffers);
        }
        let nodes = spec.nodes(path.value);
        let (spec, path) = (spec.clone(), variation.path);
        let instance = Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            // SAFETY: the type is the header's prototype.
            let bytes = unsafe {
                library.function::<cs_score_workspace_bytes_fn>("cs_score_workspace_bytes")
            }?;
            // SAFETY: it reads the struct alone.
            let bytes = unsafe { bytes(&params) };
            if bytes == 0 || bytes > params.workspace_bytes {
                return Ok(-1);
            }
            params.workspace_bytes = if enough { bytes } else { bytes - 1 };
            score(library, &params, stream)
        });
        if enough {
            instance.nodes(nodes)
        } else {
            instance.refused((BAD_WORKSPACE + CS_ARG_workspace_bytes) as c_int)
        }
    })
    .on_paths(&[path])
    .tagged(Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sizes_and_enums();
    cases.extend(scalars());
    cases.extend(pointers());
    cases.extend(overlaps());
    cases.extend(workspaces());
    cases
}
