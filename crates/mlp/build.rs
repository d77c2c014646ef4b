//! Compiles the kernels when the `cuda` feature is on.

fn main() {
    build_support::kernel_crate();
}
