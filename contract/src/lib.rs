//! What a kernel backend promises, and whether it still keeps it: manifest, schema, checks, evidence.
//!
//! A tool-only crate: no kernel crate depends on it.

mod finding;

pub use finding::{Finding, Severity};
