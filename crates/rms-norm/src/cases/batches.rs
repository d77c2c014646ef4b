//! Batch invariance: a row has the same bytes alone and among thousands. The first rows of each of
//! these cases hold the same values, whatever the number of rows: the oracle's answer to them is one.

use super::spec::*;
use crate::Dtype;
use parity::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, dtype) in [("f32", Dtype::F32), ("bf16", Dtype::Bf16)] {
        for n in [128, 256, 1024, 2048] {
            for rows in [0, 1, 255, 256, 257, 4096] {
                if rows * n > 1 << 20 && n != 1024 {
                    continue;
                }
                let spec = Spec::new(format!("batch-{rows}x{n}-{name}"), rows, n);
                cases.push(spec.dtype(dtype).case());
            }
        }
    }
    // Few rows of many columns, where the choice of a cluster depends on the number of rows.
    for rows in [1, 3, 8, 17, 40, 140] {
        cases.push(Spec::new(format!("batch-{rows}x16384-f32"), rows, 16384).case());
    }
    cases
}
