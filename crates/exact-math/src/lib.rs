//! exact-math
