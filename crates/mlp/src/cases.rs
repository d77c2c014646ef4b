//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every case is run on every code path that takes it, and expects the same bytes on each: those of
//! [`oracle`](crate::oracle). Expectations come from `mlp.h` alone.

mod baselines;
mod groups;
mod networks;
mod refusals;
mod spec;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = networks::cases();
    cases.extend(groups::cases());
    cases.extend(refusals::cases());
    cases.extend(baselines::cases());
    cases
}
