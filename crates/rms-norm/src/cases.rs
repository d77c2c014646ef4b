//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every case that calls `rms_norm` is run on every code path that can run it, and expects the
//! same bytes on each: those of [`oracle`](crate::oracle). Expectations come from `rms_norm.h`
//! alone. This module is for the workspace's tools and tests: it reads files of the repository
//! that the published package does not hold.

mod arguments;
mod backward;
mod batches;
mod dispatch;
mod ggml;
mod large;
mod layouts;
mod options;
mod real;
mod seed;
mod spec;
mod values;
mod widths;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = seed::cases();
    cases.extend(real::cases());
    cases.extend(widths::cases());
    cases.extend(layouts::cases());
    cases.extend(options::cases());
    cases.extend(values::cases());
    cases.extend(batches::cases());
    cases.extend(backward::cases());
    cases.extend(large::cases());
    cases.extend(ggml::cases());
    cases.extend(dispatch::cases());
    cases.extend(arguments::cases());
    cases
}
