//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every case that calls `cs_score` is run on every code path that can run it, and expects the
//! same bytes on each: those of [`oracle`](crate::oracle). Expectations come from `scoring.h`
//! alone. This module is for the workspace's tools and tests: it reads files of the repository
//! that the published package does not hold.

mod arguments;
mod baselines;
mod device_values;
mod layouts;
mod magnitudes;
mod non_finite;
mod real;
mod seed;
mod sizes;
mod softmax;
mod spec;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = seed::cases();
    cases.extend(real::cases());
    cases.extend(layouts::cases());
    cases.extend(sizes::cases());
    cases.extend(softmax::cases());
    cases.extend(non_finite::cases());
    cases.extend(magnitudes::cases());
    cases.extend(device_values::cases());
    cases.extend(arguments::cases());
    cases.extend(baselines::cases());
    cases
}
