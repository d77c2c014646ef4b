//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every case is run on every code path that can run it, and expects the same bytes on each: those of
//! [`oracle`](crate::oracle). Expectations come from `gdn_scan.h` alone. This module is for the workspace's tools and tests.

mod arguments;
mod device_values;
mod fast;
mod gates;
mod paths;
mod seed;
mod shapes;
mod slots;
mod spec;
mod tokens;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = seed::cases();
    cases.extend(shapes::cases());
    cases.extend(gates::cases());
    cases.extend(slots::cases());
    cases.extend(tokens::cases());
    cases.extend(device_values::cases());
    cases.extend(fast::cases());
    cases.extend(paths::cases());
    cases.extend(arguments::cases());
    cases
}
