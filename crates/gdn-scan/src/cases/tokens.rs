//! Many tokens: lengths, ragged sequences, snapshots, and cuts of one scan into calls.

use super::spec::*;
use crate::{Dtype, Layout, oracle};
use parity::{Case, Instance, Tags};

const STATES: [(Dtype, &str); 3] = [
    (Dtype::F32, "f32"),
    (Dtype::Bf16, "bf16"),
    (Dtype::F16, "f16"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let scan = |id: String, sizes, tokens| Spec::new(id, sizes, tokens);
    for tokens in [0, 1, 2, 3, 7, 8, 9, 16, 17, 33] {
        let id = |kind: &str| format!("tokens-{tokens}-{kind}");
        let each = Tokens::Each(tokens);
        specs.push(scan(id("small"), [2, 1, 2, 10, 7], each.clone()));
        specs.push(
            scan(id("128x128"), [1, 1, 1, 128, 128], each)
                .like_models()
                .change(|spec| {
                    // Every length meets the segments in the simulator, long ones once a suite.
                    if tokens <= 9 {
                        spec.tags = Tags::SIMULATE;
                    }
                }),
        );
    }
    for (state, name) in STATES {
        for (layout, order) in [(Layout::Kv, "kv"), (Layout::Vk, "vk")] {
            for key_decay in [false, true] {
                let keys = if key_decay { "-keys" } else { "" };
                specs.push(
                    scan(
                        format!("scan-{name}-{order}{keys}"),
                        [2, 1, 2, 12, 34],
                        Tokens::Each(5),
                    )
                    .like_models()
                    .types(Dtype::F16, state)
                    .change(|spec| {
                        spec.layout = layout;
                        spec.key_decay = key_decay;
                        spec.snapshots = Some(0);
                    })
                    .sanitize(),
                );
            }
        }
        specs.push(
            scan(
                format!("scan-{name}-128x128"),
                [1, 1, 1, 128, 128],
                Tokens::Each(4),
            )
            .like_models()
            .types(Dtype::F32, state)
            .change(|spec| spec.snapshots = Some(0))
            .sanitize(),
        );
    }
    specs.push(
        scan(
            "scan-f32-96x192".into(),
            [1, 1, 1, 96, 192],
            Tokens::Each(3),
        )
        .like_models()
        .change(|spec| spec.snapshots = Some(2)),
    );
    // A row T = 0 leaves or carries its state; a bound may lie far above.
    let ragged = |name: &str, counts: &[usize], bound| {
        let tokens = Tokens::Ragged(counts.to_vec(), bound);
        let sizes = |k, v| [counts.len(), 1, 2, k, v];
        let small = scan(format!("ragged-{name}-small"), sizes(12, 9), tokens.clone());
        let large = scan(format!("ragged-{name}-128x128"), sizes(128, 128), tokens)
            .like_models()
            .change(|spec| spec.sizes[2] = 1);
        [small, large]
    };
    specs.extend(ragged("empty-between", &[3, 0, 2], 3));
    specs.extend(ragged("empty-ends", &[0, 4, 0], 9));
    specs.extend(ragged("all-empty", &[0, 0], 0));
    specs.extend(ragged("uneven", &[9, 1, 5], 9));
    for spec in ragged("carried", &[2, 0, 0, 1], 2) {
        let carried = spec
            .with(SLOTS_IN | SLOTS_OUT)
            .change(|spec| spec.more_slots = 4);
        specs.push(carried.edit(|data| {
            data.slots_in = vec![0, 2, -1, 6];
            data.slots_out = vec![1, 3, 4, -1];
        }));
    }
    for spec in ragged("source", &[2, 0, 1], 2) {
        specs.push(spec.with(SOURCE));
    }
    for spec in ragged("pads", &[2, 3, 1], 3) {
        specs.push(
            spec.with(SLOTS_IN)
                .edit(|data| data.slots_in = vec![-1, 1, -1]),
        );
    }
    // Rows before the first sequence and after the last belong to nobody.
    for spec in ragged("rows-of-nobody", &[3, 3, 3], 3) {
        specs.push(spec.edit(|data| data.cu_seqlens = vec![2, 4, 4, 7]));
    }
    // Snapshots by the call's order, not by slots; the last ones where there is room for fewer.
    for count in [0, 1, 2, 4] {
        for spec in ragged(&format!("snapshots-{count}"), &[3, 0, 1], 3) {
            specs.push(
                spec.with(SLOTS_IN)
                    .change(|spec| {
                        spec.snapshots = Some(count);
                        spec.more_slots = 3;
                    })
                    .edit(|data| data.slots_in = vec![5, 4, 3]),
            );
        }
    }
    specs.push(
        Spec::step("snapshots-of-a-step", [2, 1, 2, 12, 9]).change(|spec| spec.snapshots = Some(1)),
    );
    specs.push(
        Spec::step("snapshots-of-a-step-128x128", [1, 1, 1, 128, 128])
            .change(|spec| spec.snapshots = Some(0)),
    );
    // What engines verify drafts with, and a prompt.
    specs.push(
        scan(
            "verify-b4-t5-16x32-128".into(),
            [4, 16, 32, 128, 128],
            Tokens::Each(5),
        )
        .like_models()
        .change(|spec| spec.snapshots = Some(0)),
    );
    specs.push(
        scan(
            "scan-t256-b1-4x8-128".into(),
            [1, 4, 8, 128, 128],
            Tokens::Each(256),
        )
        .like_models(),
    );
    specs.push(
        scan(
            "scan-t2048-b1-16x32-128".into(),
            [1, 16, 32, 128, 128],
            Tokens::Each(2048),
        )
        .like_models(),
    );
    let mut cases: Vec<Case> = specs.into_iter().map(Spec::case).collect();
    for (state, name) in STATES {
        for cut in [1, 3, 8, 10] {
            let cut_case = |kind: &str, sizes| {
                let id = format!("cut-11-at-{cut}-{name}-{kind}");
                cut_in_two(
                    Spec::new(id, sizes, Tokens::Each(11))
                        .like_models()
                        .types(Dtype::F32, state),
                    cut,
                )
            };
            cases.push(cut_case("small", [1, 1, 2, 12, 9]));
            cases.push(cut_case("128x128", [1, 1, 1, 128, 128]));
        }
    }
    for (kind, sizes) in [("small", [1, 1, 1, 6, 5]), ("128x128", [1, 1, 1, 128, 128])] {
        for (state, name) in STATES {
            let id = format!("steps-64-{name}-{kind}");
            cases.push(every_state(
                Spec::new(id, sizes, Tokens::Each(64)).types(Dtype::F32, state),
                64,
            ));
        }
    }
    cases
}

/// One sequence in two calls, `cut` tokens in the first: the bytes of one.
fn cut_in_two(spec: Spec, cut: usize) -> Case {
    let [_, h, hv, k, v] = spec.sizes;
    let Tokens::Each(tokens) = spec.tokens else {
        unreachable!("a cut is made in tokens of equal number")
    };
    let small = k < 128;
    let paths = spec.paths();
    Case::exact(spec.id.clone(), "gdn_scan", move |variation| {
        let (buffers, sets) = split(spec.bound_buffers(variation));
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            params.max_t = cut as i64;
            let code = Entry::Scan.call(library, &params, stream)?;
            if code != 0 {
                return Ok(code);
            }
            // f32 inputs.
            let skip = |row: usize| cut * row * size_of::<f32>();
            params.q = params.q.wrapping_byte_add(skip(h * k));
            params.k = params.k.wrapping_byte_add(skip(h * k));
            params.v = params.v.wrapping_byte_add(skip(hv * v));
            params.g = params.g.wrapping_byte_add(skip(hv));
            params.beta = params.beta.wrapping_byte_add(skip(hv));
            params.out = params.out.wrapping_byte_add(skip(hv * v));
            params.max_t = (tokens - cut) as i64;
            Entry::Scan.call(library, &params, stream)
        })
        .nodes(2)
    })
    .on_paths(&paths)
    .tagged(if small { Tags::SIMULATE } else { Tags::NONE })
}

/// One sequence of `steps` calls of `gdn_step`, each from one slot into the next: the state after every one is compared.
fn every_state(spec: Spec, steps: usize) -> Case {
    let [_, h, hv, k, v] = spec.sizes;
    let (size, small) = (hv * k * v, k < 128);
    Case::exact(spec.id.clone(), "gdn_step", move |variation| {
        let data = spec.draw(variation.seed);
        let mut problem = spec.problem(&data);
        (problem.snapshots, problem.snapshot_rows) = (Some(0), steps);
        let results = oracle::scan(&problem, &mut data.state.clone());
        let mut before = vec![f32::NAN; (steps + 1) * size];
        before[..size].copy_from_slice(&data.state);
        let mut after = data.state.clone();
        after.extend_from_slice(&results.snapshots);
        let slots: Vec<i32> = (0..=steps as i32).collect();
        let buffers = vec![
            in_out("state", spec.state_dtype, &before, &after),
            input("q", spec.dtype, &data.q),
            input("k", spec.dtype, &data.k),
            input("v", spec.dtype, &data.v),
            input("g", Dtype::F32, &data.g),
            input("beta", Dtype::F32, &data.beta),
            output("out", spec.dtype, &results.out),
            parity::Buffer::input("slots", &slots),
        ];
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, x, stream| {
            let mut params = spec.params(path);
            params.slots = steps as i64 + 1;
            for t in 0..steps {
                let row =
                    |at: usize, row: usize| x[at].wrapping_byte_add(t * row * size_of::<f32>());
                params.state = x[0];
                params.q = row(1, h * k);
                params.k = row(2, h * k);
                params.v = row(3, hv * v);
                params.g = row(4, hv);
                params.beta = row(5, hv);
                params.out = row(6, hv * v);
                params.slots_in = row(7, 1).cast();
                params.slots_out = row(7, 1).wrapping_byte_add(size_of::<i32>()).cast();
                let code = Entry::Step.call(library, &params, stream)?;
                if code != 0 {
                    return Ok(code);
                }
            }
            Ok(0)
        })
        .nodes(steps)
    })
    .on_paths(&[parity::Path::AUTOMATIC, GENERAL])
    .tagged(if small { Tags::SIMULATE } else { Tags::NONE })
}
