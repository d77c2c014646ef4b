//! Compiles the kernels when the `cuda` feature is on.

fn main() {}
