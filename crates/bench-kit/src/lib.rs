//! bench-kit
