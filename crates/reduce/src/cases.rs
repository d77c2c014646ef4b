//! The parity suite: what the library is run on, and the bytes that must come back.
//!
//! Every sum is run on every way of cutting it that can run it, and expects the same bytes on each: those
//! of [`oracle`](crate::oracle). Expectations come from `reduce.h` alone.

mod arguments;
mod baselines;
mod device_values;
mod kan;
mod layouts;
mod moments;
mod seeds;
mod sizes;
mod spec;
mod values;

use parity::Case;

/// Every case, in a fixed order with distinct ids.
pub fn cases() -> Vec<Case> {
    let mut cases = seeds::cases();
    cases.extend(sizes::cases());
    cases.extend(layouts::cases());
    cases.extend(values::cases());
    cases.extend(device_values::cases());
    cases.extend(moments::cases());
    cases.extend(kan::cases());
    cases.extend(arguments::cases());
    cases.extend(baselines::cases());
    cases
}
