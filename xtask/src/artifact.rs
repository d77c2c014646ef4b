//! Reads compiled libraries back, so that what a manifest claims is what a library holds.

pub mod bindings;
pub mod library;
pub mod machine_code;
pub mod ptxas;
pub mod resources;
