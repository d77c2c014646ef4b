//! What every kernel crate of this workspace does around a call through its C ABI.
//!
//! Without features this crate is the shared [`Error`] type and a driver [`probe`], with a
//! dependency tree of two small crates. With `cuda` it adds the typed layer over cudarc:
//! `Call`, which binds the context, holds every borrow guard across the foreign call and
//! turns the returned status into an [`Error`], and `Workspace`.
//!
//! A machine without a driver or a device is answered with [`Error::NoDevice`]; nothing here
//! panics for want of one.

mod error;
pub mod lengths;
mod probe;

#[cfg(feature = "cuda")]
mod call;
#[cfg(feature = "cuda")]
mod workspace;

pub use error::{Error, Result, status};
pub use probe::{DriverInfo, open_driver, probe};

#[cfg(feature = "cuda")]
pub use call::{Call, Device};
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

#[cfg(feature = "cuda")]
pub use cudarc;
