//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every case of the decode step is run on every code path, and expects the same bytes on each: those of
//! [`oracle`](crate::oracle). Expectations come from `mamba2_scan.h` alone.

mod baselines;
mod composed;
mod fast_scan;
mod refusals;
mod scan_refusals;
mod scan_spec;
mod state_update;
mod temporal_scan;
mod update_spec;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = state_update::cases();
    cases.extend(temporal_scan::cases());
    cases.extend(refusals::cases());
    cases.extend(scan_refusals::cases());
    cases.extend(fast_scan::cases());
    cases.extend(baselines::cases());
    cases.extend(composed::cases());
    cases
}
