//! The typed layer: cudarc slices and views, shapes checked before the launch.

mod state_update;

pub use state_update::{Clamp, Decay, Slots, StateUpdate, Step, state_update};
