//! What a kernel backend promises, and whether it still keeps it: manifest, schema, checks, evidence.
//!
//! [`check`] looks at a whole tree and answers with a [`Report`]. Nothing here runs a compiler, a script or a GPU, and
//! nothing here panics over what a file holds.
//!
//! A tool-only crate: no kernel crate depends on it.

mod check;
mod code;
pub mod evidence;
mod finding;
mod json;
pub mod manifest;
mod matrix;
mod paths;
pub mod schema;
pub mod script_form;
mod tree;
mod workspace_form;

pub use check::{Backend, EvidenceFile, Form, Report, check};
pub use code::Code;
pub use evidence::Evidence;
pub use finding::{Finding, Severity};
pub use manifest::{Manifest, Status};
pub use matrix::{Matrix, MatrixEntry, Skipped, matrix};
