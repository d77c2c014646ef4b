//! Sizes of real models and awkward ones, types, layouts, head maps, strides.

use super::spec::*;
use crate::{Dtype, HeadMap, Layout, Norm};
use parity::Case;

const TYPES: [(Dtype, &str); 3] = [
    (Dtype::F32, "f32"),
    (Dtype::Bf16, "bf16"),
    (Dtype::F16, "f16"),
];

/// Many sequences that read a few states, so that the host need not hold one for each: the first of each store theirs in
/// slots of their own.
fn of_few_states(spec: Spec) -> Spec {
    const STATES: i32 = 16;
    let batch = spec.sizes[0] as i32;
    spec.with(SLOTS_IN | SLOTS_OUT)
        .change(|spec| spec.few_slots = Some(2 * STATES as usize))
        .edit(move |data| {
            data.slots_in = (0..batch).map(|i| i % STATES).collect();
            data.slots_out = (0..batch)
                .map(|i| if i < STATES { STATES + i } else { -1 })
                .collect();
        })
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (dtype, io) in TYPES {
        for (state, kept) in TYPES {
            let types = |name: &str, sizes| {
                Spec::step(format!("types-{io}-state-{kept}-{name}"), sizes)
                    .like_models()
                    .types(dtype, state)
            };
            specs.push(types("kv", [2, 1, 2, 20, 12]).sanitize());
            specs.push(
                types("vk", [2, 1, 2, 20, 37])
                    .change(|spec| spec.layout = Layout::Vk)
                    .sanitize(),
            );
            specs.push(types("128x128", [1, 1, 2, 128, 128]).sanitize());
        }
    }
    // The benched cases and the shapes of models, k and v heads: with gates and norm in the kernel.
    let model = |id: &str, sizes| Spec::step(id, sizes).like_models();
    specs.extend([
        model("step-b1-16x32-128", [1, 16, 32, 128, 128]),
        model("step-b8-16x32-128", [8, 16, 32, 128, 128]),
        model("step-b1-16x48-128", [1, 16, 48, 128, 128]),
        model("step-b2-16x64-128", [2, 16, 64, 128, 128]),
        model("step-b1-16x16-128", [1, 16, 16, 128, 128]),
        model("step-b3-2x8-128", [3, 2, 8, 128, 128]),
        model("step-b5-4x16-128", [5, 4, 16, 128, 128]),
        model("step-b3-30x30-96x192", [3, 30, 30, 96, 192]),
        model("step-b1-1x1-96x192", [1, 1, 1, 96, 192]).sanitize(),
        model("step-b1-1x1-96x192-bf16-state", [1, 1, 1, 96, 192])
            .types(Dtype::Bf16, Dtype::Bf16)
            .sanitize(),
        model("step-b1-32x32-128-key-decay", [1, 32, 32, 128, 128])
            .change(|spec| spec.key_decay = true),
        model("step-b1-1x2-128-key-decay", [1, 1, 2, 128, 128])
            .change(|spec| spec.key_decay = true)
            .sanitize(),
        model("step-b1-1x2-128-key-decay-bf16-state", [1, 1, 2, 128, 128])
            .types(Dtype::Bf16, Dtype::Bf16)
            .change(|spec| spec.key_decay = true),
        model("step-b1-16x32-128-bf16-state", [1, 16, 32, 128, 128])
            .types(Dtype::Bf16, Dtype::Bf16),
        model("step-b8-16x32-128-bf16-state", [8, 16, 32, 128, 128])
            .types(Dtype::Bf16, Dtype::Bf16),
    ]);
    for batch in [32, 64, 256] {
        for (state, name) in [(Dtype::F32, ""), (Dtype::Bf16, "-bf16-state")] {
            let spec = model(
                &format!("step-b{batch}-16x32-128{name}"),
                [batch, 16, 32, 128, 128],
            );
            specs.push(of_few_states(spec.types(Dtype::Bf16, state)));
        }
    }
    // A grid of more blocks than one of its dimensions but x may have.
    specs.push(model("step-b2100-1x32-4", [2100, 1, 32, 4, 4]));
    // Every key and value size, unequal, so that a transposed state shows in the state itself.
    for (i, (k, v)) in [
        (1, 1),
        (1, 256),
        (256, 1),
        (60, 64),
        (64, 60),
        (96, 192),
        (100, 128),
        (128, 100),
        (192, 96),
        (256, 192),
        (31, 33),
        (33, 31),
        (16, 32),
        (48, 64),
        (112, 160),
    ]
    .into_iter()
    .enumerate()
    {
        let (dtype, _) = TYPES[i % 3];
        let (state, _) = TYPES[i / 3 % 3];
        for layout in [Layout::Kv, Layout::Vk] {
            let name = if layout == Layout::Kv { "kv" } else { "vk" };
            specs.push(
                Spec::step(format!("dims-{k}x{v}-{name}"), [1, 1, 1, k, v])
                    .types(dtype, state)
                    .change(|spec| {
                        spec.layout = layout;
                        spec.norm = Norm::EpsOutside(1e-6);
                    }),
            );
        }
    }
    // Heads in both maps: every ratio, and counts that are no power of two.
    for heads in [1, 3, 12, 30] {
        for ratio in [1, 2, 3, 4] {
            for (map, name) in [(HeadMap::Grouped, "grouped"), (HeadMap::Tiled, "tiled")] {
                specs.push(
                    Spec::step(
                        format!("heads-{heads}x{}-{name}", heads * ratio),
                        [2, heads, heads * ratio, 8, 6],
                    )
                    .change(|spec| spec.head_map = map),
                );
            }
        }
    }
    // Rows of packed buffers: the gaps hold NaN, and odd ones move rows to every alignment.
    let gaps = |name: &str, gaps: Gaps| {
        Spec::step(format!("gaps-{name}"), [3, 2, 4, 12, 10])
            .like_models()
            .change(|spec| spec.gaps = gaps)
    };
    let none = Gaps::default();
    specs.extend([
        gaps("slot", Gaps { slot: 7, ..none }),
        gaps("q", Gaps { q: 5, ..none }),
        gaps("k", Gaps { k: 3, ..none }),
        gaps("v", Gaps { v: 9, ..none }),
        gaps("out", Gaps { out: 11, ..none }),
        // a and b as the columns of one projection.
        gaps(
            "gates",
            Gaps {
                g: 4,
                beta: 4,
                ..none
            },
        ),
        gaps(
            "all",
            Gaps {
                slot: 1,
                q: 104,
                k: 104,
                v: 88,
                out: 2,
                g: 4,
                beta: 4,
            },
        )
        .sanitize(),
    ]);
    for (state, kept) in TYPES {
        // A slot stride that keeps words and sixteen bytes whole, one that does not.
        for gap in [8, 2, 1] {
            specs.push(
                Spec::step(
                    format!("slot-gap-{gap}-128x128-{kept}"),
                    [2, 1, 1, 128, 128],
                )
                .types(Dtype::F32, state)
                .change(|spec| spec.gaps.slot = gap),
            );
        }
    }
    specs.push(Spec::step("sequences-0", [0, 1, 1, 8, 8]));
    specs.into_iter().map(Spec::case).collect()
}
