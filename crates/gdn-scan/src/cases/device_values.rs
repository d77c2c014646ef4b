//! Bad values that only the device sees: the defined result, the status word, no wild access.

use super::spec::*;
use parity::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (name, sizes) in [
        ("small", [3, 1, 2, 12, 9]),
        ("128x128", [3, 1, 1, 128, 128]),
    ] {
        let step = |what: &str| {
            Spec::step(format!("slot-{what}-{name}"), sizes)
                .with(SLOTS_IN | SLOTS_OUT | STATUS)
                .change(|spec| spec.more_slots = 2)
                .edit(|data| {
                    data.slots_in = vec![0, 1, 2];
                    data.slots_out = vec![0, 1, 2];
                })
        };
        specs.push(step("in-one-beyond").edit(|data| data.slots_in[1] = 5));
        specs.push(step("in-largest").edit(|data| data.slots_in[2] = i32::MAX));
        specs.push(step("out-one-beyond").edit(|data| data.slots_out[1] = 5));
        specs.push(step("out-largest").edit(|data| data.slots_out[0] = i32::MAX));
        specs.push(step("beyond-of-a-fresh-one").edit(|data| {
            (data.slots_in[1], data.slots_out[1]) = (-1, 9);
        }));
        specs.push(step("beyond-with-the-status-set").edit(|data| {
            data.slots_in[1] = 5;
            data.status = 7;
        }));
        specs.push(step("last-is-good").edit(|data| {
            (data.slots_in[1], data.slots_out[1]) = (4, 4);
        }));
        let ragged = |what: &str, offsets: [i32; 4]| {
            Spec::new(
                format!("offsets-{what}-{name}"),
                sizes,
                Tokens::Ragged(vec![2, 3, 1], 3),
            )
            .with(STATUS)
            .edit(move |data| data.cu_seqlens = offsets.to_vec())
        };
        // One bad sequence each, so that the status is the same in every order.
        specs.push(ragged("decrease-at-the-end", [0, 2, 5, 4]));
        specs.push(ragged("decrease", [2, 0, 3, 6]));
        specs.push(ragged("begin-below-0", [-1, 2, 5, 6]));
        specs.push(ragged("begin-far-below-0", [i32::MIN, 2, 5, 6]));
        specs.push(ragged("pass-total-t", [0, 2, 5, 7]));
        specs.push(ragged("pass-total-t-by-far", [0, 2, 5, i32::MAX]));
        specs.push(ragged("pass-max-t", [0, 1, 5, 6]));
        specs.push(ragged("good", [0, 2, 5, 6]));
    }
    specs.push(
        Spec::new(
            "offsets-bad-without-a-status-word",
            [2, 1, 1, 8, 8],
            Tokens::Ragged(vec![2, 1], 2),
        )
        .edit(|data| data.cu_seqlens = vec![0, 2, 1]),
    );
    specs.into_iter().map(Spec::case).collect()
}
