//! Times kernels through their C ABI: graph replays, hot and cold input sets, measured floors,
//! baselines on the same inputs, outputs checked again after timing.
//!
//! A kernel crate describes each row as a [`Bench`]; [`measure()`] times it on a [`Device`];
//! [`results`] puts the times beside floor, target and peers, as JSON, a table and a chart.

pub mod bench;
#[cfg(feature = "charts")]
pub mod chart;
pub mod device;
mod error;
#[cfg(test)]
mod fake;
pub mod floors;
pub mod gpu;
pub mod measure;
#[cfg(feature = "criterion")]
pub mod replay;
pub mod results;
pub mod table;
pub mod targets;
pub mod timing;

pub use bench::{Bench, Call, Launch, Mode, Oracle, Prepared, Variant, Work};
pub use device::{Device, DeviceInfo};
pub use error::{Error, Result};
pub use gpu::Gpu;
pub use measure::{Measured, measure};
