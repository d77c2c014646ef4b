//! Drives any kernel library of this workspace through its C ABI and compares what it does with
//! the oracle.
//!
//! A kernel crate describes its cases as data ([`Case`], [`Instance`], [`Buffer`]); this crate
//! runs them on a [`Device`]: a GPU ([`Gpu`]) or the simulator ([`Simulator`]). The library is
//! loaded at run time, so one set of cases drives `lib<name>.so` and `lib<name>_sim.so`.
//!
//! ```
//! use parity::{Buffer, Case, Instance, Random, Tags};
//!
//! type Double = unsafe extern "C" fn(
//!     x: *const f32,
//!     y: *mut f32,
//!     count: i64,
//!     stream: *mut std::ffi::c_void,
//! ) -> std::ffi::c_int;
//!
//! let case = Case::exact("double-1000", "ex_double", |variation| {
//!     let x = Random::named(variation.seed, "x").normals(1000, 1.0);
//!     let y: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
//!     let buffers = vec![Buffer::input("x", &x), Buffer::output("y", &y)];
//!     Instance::new(buffers, |library, pointers, stream| {
//!         // SAFETY: `Double` is the prototype in the header.
//!         let double = unsafe { library.function::<Double>("ex_double") }?;
//!         // SAFETY: the runner passes live buffers of the sizes above.
//!         Ok(unsafe { double(pointers[0].cast(), pointers[1].cast(), 1000, stream) })
//!     })
//! })
//! .tagged(Tags::SANITIZE | Tags::SIMULATE);
//! case.self_check(1).unwrap();
//! ```

mod case;
mod compare;
mod conformance;
mod device;
pub mod driver;
mod element;
mod error;
mod gpu;
pub mod known_bad;
mod library;
mod placement;
mod random;
mod report;
mod runner;
mod simulator;
pub mod suite;
pub mod twins;

pub use case::{Buffer, Call, Case, Class, Expect, Instance, Islands, Path, Role, Tags, Variation};
pub use compare::{Compare, Comparison, Worst};
pub use conformance::conformance;
pub use device::{Access, Address, Device, ForeignError, Graph, Info, Kind, Stream, is_simulated};
pub use element::{Element, Scalar, bytes_of};
pub use error::{Error, Result};
pub use gpu::Gpu;
pub use library::Library;
pub use random::{Random, to_bf16, to_f16};
pub use report::{CaseReport, Check, Failure, Outcome, PathReport};
pub use runner::{Options, Runner};
pub use simulator::{Model, Order, Simulator};
