//! Values that only the device sees: each bad one has its result, and the status word names it. One
//! bad value a case, because any of several may be the first.

use super::spec::*;
use crate::ffi;
use parity::Case;

const fn status(cause: u32, item: u32) -> u32 {
    cause << 24 | item
}

fn segments(id: &str, offsets: [i64; 4], bad: Option<u32>) -> Spec {
    Spec::new(format!("offsets-{id}"), [300, 3])
        .kind(Kind::Segments(vec![100, 40, 130]))
        .with(STATUS)
        .sanitize()
        .edit(move |d| {
            d.offsets = offsets.to_vec();
            d.status_after = bad.map(|s| status(ffi::RED_DEVICE_BAD_OFFSETS, s));
        })
}

fn group() -> Vec<Member> {
    let member = |rows, cols| Member {
        rows,
        cols,
        gap: 0,
        alpha: 1.0,
        beta: 0.5,
    };
    vec![member(130, 3), member(40, 8), member(200, 2)]
}

/// Word `word` of the second matrix becomes `value`.
fn matrix(id: &str, word: usize, value: u64) -> Spec {
    Spec::new(format!("matrix-{id}"), [1, 1])
        .kind(Kind::Grouped(group()))
        .with(STATUS)
        .sanitize()
        .edit(move |d| {
            d.matrices[6 + word] = value;
            d.skipped.push(1);
            d.status_after = Some(status(ffi::RED_DEVICE_BAD_MATRIX, 1));
        })
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = vec![
        segments("good", [0, 100, 140, 270], None),
        segments("decrease", [0, 100, 40, 41], Some(1)),
        segments("begin-below-0", [-1, 100, 140, 270], Some(0)),
        segments("begin-far-below-0", [i64::MIN, 100, 140, 270], Some(0)),
        segments("end-beyond-rows", [0, 100, 200, 301], Some(2)),
        segments("end-far-beyond-rows", [0, 100, 200, i64::MAX], Some(2)),
        segments("pass-max-rows", [0, 131, 140, 270], Some(0)),
        segments("without-a-word", [0, 100, 40, 41], None).with(0),
        matrix("rows-below-0", 2, u64::MAX),
        matrix("rows-beyond-max", 2, 201),
        matrix("cols-below-0", 3, u64::MAX),
        matrix("cols-beyond-max", 3, 9),
        matrix("ld-below-cols", 4, 7),
        matrix("ld-absurd", 4, 1 << 62),
        matrix("x-misaligned", 0, 1),
        matrix("out-misaligned", 1, 17),
    ];
    let without = specs.iter_mut().find(|s| s.id.ends_with("without-a-word"));
    if let Some(spec) = without {
        spec.flags &= !STATUS;
    }
    for (name, index) in [
        ("minus-1", -1),
        ("one-past-the-table", 153),
        ("largest", i32::MAX),
        ("smallest", i32::MIN),
    ] {
        // The table has 300 / 2 + 3 rows.
        let spec = Spec::new(format!("index-{name}"), [300, 3])
            .with(INDEX | MEAN | STATUS)
            .sanitize();
        specs.push(spec.edit(move |d| {
            d.index[207] = index;
            d.status_after = Some(status(ffi::RED_DEVICE_BAD_INDEX, 207));
        }));
    }
    specs.push(
        Spec::new("index-all-outside", [60, 3])
            .with(INDEX | MEAN)
            .edit(|d| d.index.fill(-5)),
    );
    // The word is set where it is 0, and only there.
    specs.push(
        Spec::new("index-outside-with-the-status-set", [60, 3])
            .with(INDEX | STATUS)
            .edit(|d| {
                d.index[3] = -7;
                d.status = status(ffi::RED_DEVICE_BAD_OFFSETS, 5);
            }),
    );
    specs.into_iter().map(Spec::case).collect()
}
