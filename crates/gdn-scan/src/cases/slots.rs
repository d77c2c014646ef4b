//! The state pool: slots, pads, fresh starts, a source; and slots that lie far away.

use super::spec::*;
use crate::{Dtype, Layout};
use parity::{Case, Tags};

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let shapes: [(&str, [usize; 5], Layout); 3] = [
        ("small-kv", [4, 1, 2, 12, 10], Layout::Kv),
        ("small-vk", [4, 1, 2, 12, 10], Layout::Vk),
        ("128x128", [4, 1, 1, 128, 128], Layout::Kv),
    ];
    for (name, sizes, layout) in shapes {
        for tokens in [Tokens::Step, Tokens::Each(2)] {
            let kind = if tokens == Tokens::Step {
                "step"
            } else {
                "scan"
            };
            let spec = |what: &str| {
                Spec::new(format!("slots-{what}-{kind}-{name}"), sizes, tokens.clone()).change(
                    |spec| {
                        spec.layout = layout;
                        spec.more_slots = 3;
                    },
                )
            };
            let set = |slots: [i32; 4]| move |data: &mut Data| data.slots_in = slots.to_vec();
            let small = sizes[3] < 128;
            let mark = |spec: Spec| if small { spec.sanitize() } else { spec };
            specs.push(mark(spec("in-place").with(SLOTS_IN)));
            specs.push(mark(
                spec("in-and-out")
                    .with(SLOTS_IN | SLOTS_OUT)
                    // Reads and writes meet in no slot.
                    .edit(|data| {
                        data.slots_in = vec![6, 0, 4, 2];
                        data.slots_out = vec![3, 5, -1, 1];
                    }),
            ));
            // Pads among live sequences, one of them in slot 0.
            specs.push(mark(
                spec("pads")
                    .with(SLOTS_IN | STATUS)
                    .edit(set([3, -1, 0, -1])),
            ));
            specs.push(
                spec("all-pads")
                    .with(SLOTS_IN)
                    .edit(set([-1, -7, i32::MIN, -1])),
            );
            specs.push(spec("fresh").with(SLOTS_IN | SLOTS_OUT).edit(|data| {
                data.slots_in = vec![-1, 2, -1, -1];
                data.slots_out = vec![0, 2, 5, -1];
            }));
            specs.push(spec("not-stored").with(SLOTS_IN | SLOTS_OUT).edit(|data| {
                data.slots_in = vec![1, 2, 3, 4];
                data.slots_out = vec![-1, 2, -1, 4];
            }));
            specs.push(spec("out-alone").with(SLOTS_OUT).edit(|data| {
                data.slots_out = vec![4, -1, 5, 6];
            }));
            specs.push(spec("source").with(SLOTS_IN | SOURCE));
            specs.push(spec("source-own-slots").with(SOURCE));
            specs.push(
                spec("gap")
                    .with(SLOTS_IN)
                    .change(|spec| spec.gaps.slot = 24),
            );
        }
    }
    let mut cases: Vec<Case> = specs.into_iter().map(Spec::case).collect();
    cases.extend(far());
    cases
}

/// A slot beyond 2^31 elements of a pool: the host holds the slots alone.
fn far() -> Vec<Case> {
    [(Dtype::F32, "f32"), (Dtype::Bf16, "bf16")]
        .map(|(state, name)| {
            Spec::step(format!("far-slot-{name}"), [2, 1, 2, 128, 128])
                .types(Dtype::Bf16, state)
                .with(SLOTS_IN)
                .change(|spec| {
                    spec.more_slots = 2;
                    // Three strides pass 2^31.
                    spec.far = Some((1 << 30) + 64);
                    spec.tags = Tags::LARGE;
                })
                .edit(|data| data.slots_in = vec![3, 0])
                .case()
        })
        .into()
}
