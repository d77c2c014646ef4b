//! build-support
